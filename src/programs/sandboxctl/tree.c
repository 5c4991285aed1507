/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/sandboxctl/tree.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/printable.h"
#include "cli/output.h"
#include "cli/sandbox.h"
#include "programs/sandboxctl/ctl.h"

enum {
    MAX_ENTRIES = 100000,
    NAMES_BYTES = 256 << 20,
    FIRST_ROOM = 64,
    /* Of tar. */
    BLOCK_BYTES = 512,
    NAME_BYTES = 100,
};

static const volatile sig_atomic_t never = 0;

void tree_init(struct tree *tree)
{
    *tree = (struct tree){.scope = NULL};
    arena_init(&tree->names, NAMES_BYTES);
}

void tree_done(struct tree *tree)
{
    authority_scope_free(tree->scope);
    session_state_close(&tree->state);
    arena_done(&tree->names);
}

int tree_open(struct tree *tree, const struct option_values *values, const char *path,
              bool may_write, struct err *err)
{
    const struct session_state_config config = {
        .state_dir = options_text(values, SANDBOX_ASK_STATE_DIR), .only_reads = !may_write};
    const unsigned reads = AUTHORITY_READ | AUTHORITY_LIST | AUTHORITY_METADATA;
    const struct authority_request request = {
        .subject = {.type = AUTHORITY_CORE, .id = "sandbox-cp"},
        .root = {.kind = AUTHORITY_WORKSPACE, .id = "folder", .path = tree->folder},
        .access = may_write ? reads | AUTHORITY_WRITE : reads,
        .reason = "the user copies files",
        .source = AUTHORITY_FROM_USER_APPROVAL,
        .limits = {.symlinks = AUTHORITY_SYMLINKS_REJECT,
                   .hardlinks = may_write ? AUTHORITY_HARDLINKS_REJECT : AUTHORITY_HARDLINKS_ALLOW},
    };
    struct err why = ERR_INIT;
    char *slash;
    int r = session_state_absolute_path(path, tree->folder, err);

    if (r < 0)
        return r;
    slash = strrchr(tree->folder, '/');
    snprintf(tree->name, sizeof(tree->name), "%s", slash + 1);
    slash[slash == tree->folder ? 1 : 0] = '\0';
    r = session_state_open(&config, &tree->state, err);
    if (r < 0)
        return r;
    r = authority_request_root(tree->state.authority, &request, &tree->scope, &why);
    return r < 0 ? err_set(err, r, "cannot use '%.200s': %s", tree->folder,
                           why.code != 0 ? why.message : err_text(r))
                 : 0;
}

int tree_add(struct tree *tree, const struct tree_item *item, struct err *err)
{
    if (tree->count == MAX_ENTRIES)
        return err_set(err, ERR_TOO_LARGE,
                       "more than %d files: copy fewer at a time, or an archive", MAX_ENTRIES);
    if (tree->count == tree->room) {
        size_t room = tree->room > 0 ? 2 * tree->room : FIRST_ROOM;
        struct tree_item *grown = arena_alloc_array(&tree->names, room, sizeof(*grown));

        if (grown == NULL)
            return err_set_plain(err, ERR_NO_MEMORY);
        if (tree->count > 0)
            memcpy(grown, tree->items, tree->count * sizeof(*grown));
        tree->items = grown;
        tree->room = room;
    }
    tree->items[tree->count] = *item;
    if (!arena_copy_str(&tree->names, item->name, &tree->items[tree->count].name))
        return err_set_plain(err, ERR_NO_MEMORY);
    tree->count++;
    tree->files += item->is_directory ? 0 : 1;
    return 0;
}

void tree_leave_out(struct tree *tree, struct str name, const char *why)
{
    cleanup_output struct output output = OUTPUT_INIT(STDERR_FILENO, &never);

    ctl_progress(NULL);
    tree->left_out++;
    output_str(&output, STR("gatehouse sandbox: left out "));
    output_shown(&output, name, PRINTABLE_LINE);
    output_printf(&output, ": %s", why);
    output_line_end(&output);
    (void)output_finish(&output, NULL);
}

/* ---- what is there ---- */

struct walk {
    struct tree *tree;
    struct err *err;
};

static int visit(void *data, const struct authority_entry *entry)
{
    const struct walk *walk = data;
    const struct tree_item item = {.name = entry->name,
                                   .is_directory = entry->type == AUTHORITY_DIRECTORY,
                                   .may_run = (entry->stat.mode & 0100U) != 0,
                                   .size = entry->stat.size};

    if (entry->type == AUTHORITY_FILE || entry->type == AUTHORITY_DIRECTORY)
        return tree_add(walk->tree, &item, walk->err);
    tree_leave_out(walk->tree, entry->name, "neither a file nor a folder");
    return 0;
}

int tree_gather(struct tree *tree, struct err *err)
{
    const struct authority_walk_options options = {.with_stat = true, .is_sorted = true};
    struct walk walk = {tree, err};
    struct str name = str_from(tree->name);
    struct authority_stat about;
    struct tree_item top = {.name = STR_EMPTY};
    struct err why = ERR_INIT;
    int r = authority_stat(tree->scope, name, &about, &why);

    if (r == 0) {
        top.is_directory = about.type == AUTHORITY_DIRECTORY;
        top.may_run = (about.mode & 0100U) != 0;
        top.size = about.size;
        r = tree_add(tree, &top, &why);
    }
    if (r == 0 && top.is_directory)
        r = authority_walk(tree->scope, name, &options, visit, &walk, &why);
    if (r < 0 && err->code == 0)
        err_set(err, r, "cannot read '%.200s': %s", tree->name,
                why.code != 0 ? why.message : err_text(r));
    return r;
}

int tree_name(const struct tree *tree, struct str item, char out_name[PATH_MAX], struct err *err)
{
    int len = snprintf(out_name, PATH_MAX, "%s%s%.*s", tree->name,
                       tree->name[0] != '\0' && item.len > 0 ? "/" : "", STR_ARG(item));

    return len < 0 || len >= PATH_MAX ? err_set(err, ERR_INVALID_PATH, "the path is too long") : 0;
}

/* ---- an archive ---- */

/* POSIX 1003.1-1988, "ustar": numbers are octal text. */
struct tar_head {
    char name[NAME_BYTES];
    char mode[8];
    char uid[8];
    char gid[8];
    char size[12];
    char time[12];
    char sum[8];
    char type;
    char link[NAME_BYTES];
    char magic[6];
    char version[2];
    char user[32];
    char group[32];
    char device[16];
    char prefix[155];
    char rest[12];
};

/* No owner and no time: the same files give the same archive. */
static void fill_head(struct tar_head *head, char type, struct str name, unsigned mode,
                      uint64_t size)
{
    const unsigned char *bytes;
    unsigned sum = 0;

    *head = (struct tar_head){.type = type};
    memcpy(head->name, name.ptr, name.len < NAME_BYTES ? name.len : NAME_BYTES);
    snprintf(head->mode, sizeof(head->mode), "%07o", mode);
    snprintf(head->uid, sizeof(head->uid), "%07o", 0U);
    snprintf(head->gid, sizeof(head->gid), "%07o", 0U);
    snprintf(head->size, sizeof(head->size), "%011llo", (unsigned long long)size);
    snprintf(head->time, sizeof(head->time), "%011o", 0U);
    memcpy(head->magic, "ustar", sizeof(head->magic));
    memcpy(head->version, "00", sizeof(head->version));
    memset(head->sum, ' ', sizeof(head->sum));
    bytes = (const unsigned char *)head;
    for (size_t i = 0; i < sizeof(*head); i++)
        sum += bytes[i];
    snprintf(head->sum, sizeof(head->sum), "%06o", sum);
}

static int pad(struct buf *out, size_t blocks)
{
    static const char zeros[BLOCK_BYTES];
    int r = 0;

    if (out->len % BLOCK_BYTES != 0)
        r = buf_append(out, zeros, BLOCK_BYTES - out->len % BLOCK_BYTES);
    while (r == 0 && blocks-- > 0)
        r = buf_append(out, zeros, BLOCK_BYTES);
    return r;
}

/* GNU's way: an entry before it has the name as its content. */
static int put_long_name(struct buf *out, struct str name)
{
    struct tar_head head;
    int r;

    fill_head(&head, 'L', STR("././@LongLink"), 0644U, name.len + 1);
    r = buf_append(out, &head, sizeof(head));
    if (r == 0)
        r = buf_append_str(out, name);
    if (r == 0)
        r = buf_append_char(out, '\0');
    return r == 0 ? pad(out, 0) : r;
}

static int put_entry(struct buf *out, const struct tree_item *item, struct str content)
{
    struct tar_head head;
    int r = item->name.len > NAME_BYTES ? put_long_name(out, item->name) : 0;

    fill_head(&head, item->is_directory ? '5' : '0', item->name,
              item->is_directory || item->may_run ? 0755U : 0644U, content.len);
    if (r == 0)
        r = buf_append(out, &head, sizeof(head));
    if (r == 0)
        r = buf_append_str(out, content);
    return r == 0 ? pad(out, 0) : r;
}

static int pack_item(struct tree *tree, const struct tree_item *item, struct buf *out,
                     struct err *err)
{
    cleanup_buf struct buf content = BUF_INIT(out->max);
    const struct authority_read_options options = {.offset = 0};
    struct err why = ERR_INIT;
    char name[PATH_MAX];
    int r = tree_name(tree, item->name, name, err);

    if (r < 0)
        return r;
    if (!item->is_directory)
        r = authority_read_bytes(tree->scope, str_from(name), &options, &content, &why);
    if (r < 0 && r != ERR_TOO_LARGE)
        return err_set(err, r, "cannot read '%.200s': %s", name, why.message);
    if (r == 0)
        r = put_entry(out, item, buf_view(&content));
    return r < 0 ? err_set(err, r, "the folder is too large: a build context has at most %zu MiB",
                           out->max >> 20)
                 : 0;
}

int tree_pack(struct tree *tree, struct buf *out, struct err *err)
{
    int r = 0;

    for (size_t i = 0; i < tree->count && r == 0; i++)
        if (tree->items[i].name.len > 0)
            r = pack_item(tree, &tree->items[i], out, err);
    if (r == 0 && pad(out, 2) < 0)
        r = err_set_plain(err, ERR_TOO_LARGE);
    return r;
}
