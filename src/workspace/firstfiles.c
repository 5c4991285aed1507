/* SPDX-License-Identifier: Apache-2.0 */
#include "workspace/firstfiles.h"

#include <limits.h>
#include <sys/stat.h>

#include "authority/names/sensitive.h"
#include "base/cleanup.h"
#include "workspace/wire.h"
#include "workspace/workspace.h"

struct reading {
    struct authority_scope *scope;
    char root[PATH_MAX]; /* without links */
    bool with_sensitive;
    struct buf *out;
    size_t count;
    size_t bytes;
    size_t left_out;
    struct err err; /* of a file */
};

static int take_file(struct reading *reading, struct str name, const struct authority_stat *about)
{
    cleanup_buf struct buf content = BUF_INIT(WORKSPACE_MAX_FILE_BYTES);
    const struct authority_read_options options = {.max_bytes = 0};
    struct workspace_wire_file head = {.path_len = (uint32_t)name.len,
                                       .is_executable = (about->mode & S_IXUSR) != 0};
    int r = authority_read_bytes(reading->scope, name, &options, &content, &reading->err);

    if (r < 0)
        return r;
    head.content_len = (uint32_t)content.len;
    reading->bytes += content.len;
    if (++reading->count > WORKSPACE_MAX_FILES || reading->bytes > WORKSPACE_MAX_FILES_BYTES)
        return err_set(&reading->err, ERR_TOO_LARGE,
                       "a workspace begins with at most %d files and %d MB", WORKSPACE_MAX_FILES,
                       WORKSPACE_MAX_FILES_BYTES >> 20);
    r = buf_append_str(reading->out, (struct str){(const char *)&head, sizeof(head)});
    if (r == 0)
        r = buf_append_str(reading->out, name);
    if (r == 0)
        r = buf_append_str(reading->out, buf_view(&content));
    return r < 0 ? err_set_plain(&reading->err, r) : 0;
}

static int visit(void *data, const struct authority_entry *entry)
{
    struct reading *reading = data;

    if (!reading->with_sensitive && sensitive_is_below(str_from(reading->root), entry->name)) {
        reading->left_out++;
        return entry->type == AUTHORITY_DIRECTORY ? AUTHORITY_WALK_SKIP : 0;
    }
    return entry->type == AUTHORITY_FILE ? take_file(reading, entry->name, &entry->stat) : 0;
}

int firstfiles_read(struct authority *authority, const struct firstfiles_folder *folder,
                    struct buf *out, size_t *out_left_out, struct err *err)
{
    const struct authority_request request = {
        .subject = {.type = AUTHORITY_CORE, .id = "workspace"},
        .root = {.kind = AUTHORITY_WORKSPACE, .id = "workspace-files", .path = folder->path},
        .access = AUTHORITY_READ | AUTHORITY_LIST | AUTHORITY_METADATA,
        .reason = "the folder of --workspace-files",
        .source = AUTHORITY_FROM_USER_APPROVAL,
        /* A secret may have a second name that nobody knows for one. */
        .limits = {.symlinks = AUTHORITY_SYMLINKS_REJECT,
                   .hardlinks = folder->with_sensitive ? AUTHORITY_HARDLINKS_ALLOW
                                                       : AUTHORITY_HARDLINKS_REJECT},
    };
    const struct authority_walk_options options = {.with_stat = true, .is_sorted = true};
    struct reading reading = {.with_sensitive = folder->with_sensitive, .out = out};
    struct err why = ERR_INIT;
    int r = authority_request_root(authority, &request, &reading.scope, &why);

    if (r == 0)
        r = authority_scope_path(reading.scope, reading.root);
    if (r == 0)
        r = authority_walk(reading.scope, STR("."), &options, visit, &reading, &why);
    authority_scope_free(reading.scope);
    *out_left_out = reading.left_out;
    if (reading.err.code != 0)
        why = reading.err;
    return r < 0 ? err_set(err, r, "--workspace-files: '%.200s': %s", folder->given,
                           why.code != 0 ? why.message : err_text(r))
                 : 0;
}
