/* SPDX-License-Identifier: Apache-2.0 */
/*
 * edit_file and edit_files. Makes all edits in memory first; then writes the files, each only if it
 * is still what was read, and if one fails, restores the ones before it.
 */
#include "files/change.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "files/diff.h"
#include "files/passage.h"
#include "protocol/toolids.h"

enum {
    EDIT_MAX_BYTES = 128 << 20, /* of all files of one call, before and after */
    EDIT_DIFF_BYTES = 256 << 10,
};

struct edited_file {
    size_t resource; /* the first that names it */
    size_t edits;
    struct buf before;
    struct buf after;
    struct authority_stat read;    /* when it was read */
    struct authority_stat written; /* right after it was written */
    bool is_written;
};

struct editing {
    struct tool_call *call;
    struct edited_file *files;
    size_t file_count;
    size_t held; /* bytes */
};

static void editing_done(struct editing *editing)
{
    for (size_t i = 0; i < editing->file_count; i++) {
        buf_done(&editing->files[i].before);
        buf_done(&editing->files[i].after);
    }
    free(editing->files);
}
#define cleanup_editing cleanup_with(editing_done)

static struct str name_of(const struct editing *editing, const struct edited_file *file)
{
    return tool_name(editing->call, file->resource);
}

static struct str given_of(const struct editing *editing, const struct edited_file *file)
{
    return change_given(editing->call, file->resource);
}

/* ---- in memory ---- */

static int start_editing(struct editing *editing, struct tool_call *call, struct err *err)
{
    editing->call = call;
    editing->files = calloc(call->resource_count, sizeof(*editing->files));
    return editing->files == NULL ? err_set_plain(err, ERR_NO_MEMORY) : 0;
}

static int hold(struct editing *editing, size_t bytes, struct err *err)
{
    editing->held += bytes;
    if (editing->held <= EDIT_MAX_BYTES)
        return 0;
    return err_set(err, ERR_TOO_LARGE,
                   "these files are too large to edit in one call: use several calls");
}

static int read_first(struct editing *editing, struct edited_file *file, struct err *err)
{
    size_t limit = (size_t)editing->call->box->config.max_file_bytes;
    int r;

    buf_init(&file->before, limit);
    buf_init(&file->after, limit);
    r = change_read(editing->call, file->resource, &file->before, &file->read, err);
    if (r == 0)
        r = hold(editing, file->before.len, err);
    if (r == 0 && buf_append_str(&file->after, buf_view(&file->before)) < 0)
        r = err_set_plain(err, ERR_NO_MEMORY);
    return r;
}

/* The file that resource `index` names, read at its first edit; NULL on an error. */
static struct edited_file *find_file(struct editing *editing, size_t index, int *out_error,
                                     struct err *err)
{
    struct str name = tool_name(editing->call, index);
    struct edited_file *file;

    for (size_t i = 0; i < editing->file_count; i++)
        if (str_eq(name_of(editing, &editing->files[i]), name))
            return &editing->files[i];
    file = &editing->files[editing->file_count++];
    file->resource = index;
    *out_error = read_first(editing, file, err);
    return *out_error == 0 ? file : NULL;
}

static int not_found(struct str given, struct str text, struct str passage, const char *which,
                     struct err *err)
{
    char hint[PASSAGE_HINT_BYTES];

    passage_explain_missing(text, passage, hint);
    return change_fail(err, ERR_NOT_FOUND, given, "%soldString was not found: %s", which, hint);
}

/* Replaces the first literal occurrence. */
static int replace_first(struct editing *editing, struct edited_file *file, struct str old,
                         struct str new, const char *which, struct err *err)
{
    struct str text = buf_view(&file->after);
    size_t at = old.len > 0 ? str_find(text, old) : SIZE_MAX;
    struct buf changed = BUF_INIT(file->after.max);
    uint64_t size;
    int r;

    if (at == SIZE_MAX)
        return not_found(given_of(editing, file), text, old, which, err);
    size = (uint64_t)text.len - old.len + new.len;
    r = change_check_size(editing->call, given_of(editing, file), size, err);
    if (r == 0)
        r = hold(editing, (size_t)size, err);
    if (r < 0)
        return r;
    if (buf_reserve(&changed, (size_t)size) < 0)
        return err_set_plain(err, ERR_NO_MEMORY);
    (void)buf_append_str(&changed, str_slice(text, 0, at));
    (void)buf_append_str(&changed, new);
    (void)buf_append_str(&changed, str_slice(text, at + old.len, text.len));
    editing->held -= file->after.len;
    buf_done(&file->after);
    file->after = changed;
    file->edits++;
    return 0;
}

static int edit(struct editing *editing, size_t index, const struct json_value *arguments,
                const char *which, struct err *err)
{
    struct str old = STR_EMPTY;
    struct str new = STR_EMPTY;
    int r = 0;
    struct edited_file *file = find_file(editing, index, &r, err);

    if (file == NULL)
        return r;
    (void)json_get_str(arguments, STR("oldString"), &old);
    (void)json_get_str(arguments, STR("newString"), &new);
    return replace_first(editing, file, old, new, which, err);
}

/* ---- on disk ---- */

static int write_one(const struct editing *editing, struct edited_file *file, struct err *err)
{
    const struct authority_write_options options = {.create = AUTHORITY_REPLACE_OLD,
                                                    .cancel = editing->call->cancel};
    struct authority_scope *files = editing->call->box->config.files;
    struct str name = name_of(editing, file);
    struct authority_stat about;
    struct err why = ERR_INIT;
    int r = undo_will_write(editing->call->box->undo, name, editing->call->cancel, &why);

    if (r == 0)
        r = authority_stat(files, name, &about, &why);
    if (r == 0 && !change_is_same(&about, &file->read))
        r = err_set(&why, ERR_BUSY,
                    "somebody else has changed it in the meantime: read it and edit again");
    if (r == 0)
        r = authority_write_text(files, name, buf_view(&file->after), &options, &why);
    if (r < 0) {
        undo_did_not(editing->call->box->undo);
        return change_refuse(err, r, given_of(editing, file), &why);
    }
    undo_did(editing->call->box->undo);
    file->is_written = authority_stat(files, name, &file->written, NULL) == 0;
    return 0;
}

/* Restores the old content, if the file is still what we wrote. */
static bool put_back(const struct editing *editing, struct edited_file *file)
{
    static const struct authority_write_options options = {.create = AUTHORITY_REPLACE_OLD};
    struct authority_scope *files = editing->call->box->config.files;
    struct str name = name_of(editing, file);
    struct authority_stat about;

    if (!file->is_written || authority_stat(files, name, &about, NULL) < 0 ||
        !change_is_same(&about, &file->written) ||
        authority_write_text(files, name, buf_view(&file->before), &options, NULL) < 0)
        return false;
    undo_rolled_back(editing->call->box->undo, name);
    return true;
}

static int write_all(struct editing *editing, struct err *err)
{
    char message[ERR_MESSAGE_BYTES];
    struct str stuck = STR_EMPTY;
    size_t done = 0;
    size_t i;
    int r = 0;

    for (i = 0; i < editing->file_count; i++) {
        struct edited_file *file = &editing->files[i];

        if (str_eq(buf_view(&file->before), buf_view(&file->after)))
            continue;
        r = write_one(editing, file, err);
        if (r < 0)
            break;
        done++;
    }
    if (r == 0 || done == 0)
        return r;
    while (i-- > 0) {
        struct edited_file *file = &editing->files[i];

        if (!str_eq(buf_view(&file->before), buf_view(&file->after)) && !put_back(editing, file))
            stuck = given_of(editing, file);
    }
    if (err == NULL)
        return r;
    memcpy(message, err->message, sizeof(message));
    if (stuck.len > 0)
        return err_set(err, r,
                       "%.120s; %.*s was edited and could not be restored: use undo_changes",
                       message, (int)(stuck.len < 80 ? stuck.len : 80), stuck.ptr);
    return err_set(err, r, "%.180s; the other files were restored", message);
}

/* ---- results ---- */

static int write_diffs(const struct editing *editing, struct buf *out)
{
    for (size_t i = 0; i < editing->file_count; i++) {
        const struct edited_file *file = &editing->files[i];
        const struct diff_options options = {
            .name = given_of(editing, file),
            .max_bytes = out->len < EDIT_DIFF_BYTES ? EDIT_DIFF_BYTES - out->len : 1,
        };
        int r = diff_unified(buf_view(&file->before), buf_view(&file->after), &options, out);

        if (r < 0)
            return r;
    }
    return 0;
}

static void write_diff_key(const struct editing *editing, struct json_writer *w)
{
    /* Notes, one for each file that is cut, come on top. */
    cleanup_buf struct buf diff = BUF_INIT(2 * (size_t)EDIT_DIFF_BYTES);
    int r = write_diffs(editing, &diff);

    json_put_str_lossy(w, STR("diff"), r == 0 ? buf_view(&diff) : str_from(err_text(r)));
}

static void write_files(const struct editing *editing, struct json_writer *w)
{
    json_key(w, STR("files"));
    json_begin_array(w);
    for (size_t i = 0; i < editing->file_count; i++) {
        json_begin_object(w);
        json_put_str_lossy(w, STR("path"), given_of(editing, &editing->files[i]));
        json_put_int(w, STR("edits"), (int64_t)editing->files[i].edits);
        json_end_object(w);
    }
    json_end_array(w);
}

/* Writes the files, unless it is a dry run; the result has `files` or `path`. */
static int finish(struct editing *editing, bool has_list, struct buf *out, struct err *err)
{
    struct undo_note note = {0};
    struct json_writer w;
    bool is_dry = false;
    int r = 0;

    (void)json_get_bool(editing->call->arguments, STR("dryRun"), &is_dry);
    if (!is_dry) {
        change_begin(editing->call);
        r = write_all(editing, err);
        undo_close(editing->call->box->undo, &note);
    }
    if (r < 0)
        return r;
    json_writer_init(&w, out);
    json_begin_object(&w);
    if (has_list) {
        write_files(editing, &w);
        json_put_bool(&w, STR("dryRun"), is_dry);
    } else {
        json_put_str_lossy(&w, STR("path"), given_of(editing, &editing->files[0]));
    }
    if (is_dry)
        write_diff_key(editing, &w);
    change_write_note(&w, &note);
    json_end_object(&w);
    return json_writer_finish(&w);
}

/* ---- the tools ---- */

static int edit_one(struct editing *editing, struct tool_call *call, struct err *err)
{
    int r = start_editing(editing, call, err);

    return r < 0 ? r : edit(editing, 0, call->arguments, "", err);
}

static int edit_several(struct editing *editing, struct tool_call *call, struct err *err)
{
    const struct json_value *edits = json_get(call->arguments, STR("edits"));
    size_t index = 0;
    int r = start_editing(editing, call, err);

    if (r < 0)
        return r;
    /* The toolbox names one resource for each edit. */
    if (edits == NULL || edits->size != call->resource_count)
        return err_set_plain(err, ERR_INTERNAL);
    json_each_item (item, edits) {
        char which[40];

        snprintf(which, sizeof(which), "edits[%zu]: ", index);
        r = edit(editing, index++, item, which, err);
        if (r < 0)
            return r;
    }
    return 0;
}

int change_foresee_edits(struct tool_call *call, change_foreseen_fn *visit, void *data,
                         struct err *err)
{
    cleanup_editing struct editing editing = {0};
    int r = call->tool->id == TOOL_EDIT_FILES ? edit_several(&editing, call, err)
                                              : edit_one(&editing, call, err);

    for (size_t i = 0; i < editing.file_count && r == 0; i++) {
        const struct edited_file *file = &editing.files[i];

        r = visit(data, file->resource, buf_view(&file->before), buf_view(&file->after));
    }
    return r;
}

int tool_edit_file(struct tool_call *call, struct buf *out, struct err *err)
{
    cleanup_editing struct editing editing = {0};
    int r = edit_one(&editing, call, err);

    return r < 0 ? r : finish(&editing, false, out, err);
}

int tool_edit_files(struct tool_call *call, struct buf *out, struct err *err)
{
    cleanup_editing struct editing editing = {0};
    int r = edit_several(&editing, call, err);

    return r < 0 ? r : finish(&editing, true, out, err);
}
