/* SPDX-License-Identifier: Apache-2.0 */
/*
 * edit_file and edit_files. Makes all edits in memory first; then replaces the files, all or none,
 * and only if each is still what was read. If somebody else was faster, it starts over.
 */
#include "files/change.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "files/diff.h"
#include "files/missing.h"
#include "files/passage.h"
#include "protocol/toolids.h"

enum {
    EDIT_MAX_BYTES = 128 << 20,  /* of all files of one call, before and after */
    EDIT_DIFF_BYTES = 256 << 10, /* of a dry run */
    EDIT_DONE_BYTES = 16 << 10,  /* of the diff of what was done */
    EDIT_NOTE_BYTES = 64 << 10,
    /* Others that edit the same file each win some; who loses so often is in somebody's way. */
    EDIT_MAX_TRIES = 64,
};

struct edited_file {
    size_t resource; /* the first that names it */
    size_t edits;
    size_t replacements;
    struct buf inexact; /* what is said about matches that were not exact */
    struct buf before;
    struct buf after;
    /* The same as in the file, if that is not UTF-8. */
    struct buf encoded_before;
    struct buf encoded_after;
    struct change_source read;
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
        buf_done(&editing->files[i].inexact);
        buf_done(&editing->files[i].before);
        buf_done(&editing->files[i].after);
        buf_done(&editing->files[i].encoded_before);
        buf_done(&editing->files[i].encoded_after);
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

    buf_init(&file->inexact, EDIT_NOTE_BYTES);
    buf_init(&file->before, limit);
    buf_init(&file->encoded_before, limit);
    r = change_read(editing->call, file->resource, &file->before, &file->read, err);
    buf_init(&file->after, file->before.max);
    buf_init(&file->encoded_after, file->before.max);
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

static int not_found(struct str given, struct str text, struct str old, const char *which,
                     struct err *err)
{
    char hint[MISSING_HINT_BYTES];

    missing_explain(text, old, hint);
    return change_fail(err, ERR_NOT_FOUND, given, "%soldString was not found: %s", which, hint);
}

static int not_unique(struct str given, const struct passage *passage, const char *which,
                      struct err *err)
{
    char lines[PASSAGE_HINT_BYTES];

    passage_name_lines(passage, lines);
    if (passage->kind == PASSAGE_BLANKS)
        return change_fail(err, ERR_INVALID_ARGUMENT, given,
                           "%soldString was not found, but with other whitespace: %zu matches: %s; "
                           "copy it exactly",
                           which, passage->count, lines);
    return change_fail(err, ERR_INVALID_ARGUMENT, given,
                       "%soldString is not unique, %zu matches: %s; add context or set replaceAll",
                       which, passage->count, lines);
}

/* Says in the result that a match was not exact. */
static int note_inexact(struct edited_file *file, const struct passage *passage, const char *which)
{
    char lines[PASSAGE_HINT_BYTES];

    if (passage->kind == PASSAGE_EXACT)
        return 0;
    passage_name_lines(passage, lines);
    return buf_printf(&file->inexact,
                      "%s%soldString matched %s with other %s; the file's own were kept",
                      file->inexact.len > 0 ? "; " : "", which, lines,
                      passage->kind == PASSAGE_BLANKS ? "blanks" : "line ends");
}

/* One replacement in memory: `which` edit it is, for messages. */
static int replace(struct editing *editing, struct edited_file *file, struct str old,
                   struct str new, bool is_all, const char *which, struct err *err)
{
    cleanup_passage struct passage passage = {0};
    struct buf changed = BUF_INIT(file->after.max);
    struct str given = given_of(editing, file);
    uint64_t size;
    int r = passage_find(&passage, buf_view(&file->after), old);

    if (r < 0)
        return err_set_plain(err, r);
    if (passage.count == 0)
        return not_found(given, buf_view(&file->after), old, which, err);
    if (passage.count > 1 && (!is_all || passage.kind == PASSAGE_BLANKS))
        return not_unique(given, &passage, which, err);
    r = passage_replace_with(&passage, new, &size);
    if (r < 0)
        return err_set_plain(err, r);
    /* Other encodings are shorter, up to so much. */
    if (file->read.encoding == ENCODING_UTF_8 || size > file->after.max)
        r = change_check_size(editing->call, given, size, err);
    if (r == 0)
        r = hold(editing, (size_t)size, err);
    if (r < 0)
        return r;
    if (buf_reserve(&changed, (size_t)size) < 0 || note_inexact(file, &passage, which) < 0) {
        buf_done(&changed);
        return err_set_plain(err, ERR_NO_MEMORY);
    }
    (void)passage_append_replaced(&passage, &changed); /* there is room */
    editing->held -= file->after.len;
    buf_done(&file->after);
    file->after = changed;
    file->edits++;
    file->replacements += passage.count;
    return 0;
}

/* Keeps the encoding of each file. */
static int encode_all(struct editing *editing, struct err *err)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < editing->file_count; i++) {
        struct edited_file *file = &editing->files[i];
        enum encoding encoding = file->read.encoding;

        if (encoding == ENCODING_UTF_8)
            continue;
        r = change_encode(editing->call, file->resource, encoding, buf_view(&file->before),
                          &file->encoded_before, err);
        if (r == 0)
            r = change_encode(editing->call, file->resource, encoding, buf_view(&file->after),
                              &file->encoded_after, err);
        if (r == 0)
            r = change_check_size(editing->call, given_of(editing, file), file->encoded_after.len,
                                  err);
        if (r == 0)
            r = hold(editing, file->encoded_before.len + file->encoded_after.len, err);
    }
    return r;
}

static int edit(struct editing *editing, size_t index, const struct json_value *arguments,
                const char *which, struct err *err)
{
    struct str old = STR_EMPTY;
    struct str new = STR_EMPTY;
    bool is_all = false;
    int r = 0;
    struct edited_file *file = find_file(editing, index, &r, err);

    if (file == NULL)
        return r;
    (void)json_get_str(arguments, STR("oldString"), &old);
    (void)json_get_str(arguments, STR("newString"), &new);
    (void)json_get_bool(arguments, STR("replaceAll"), &is_all);
    return replace(editing, file, old, new, is_all, which, err);
}

/* ---- on disk ---- */

/* The files that the edits change; `which` are theirs in `editing`. */
struct changed_files {
    struct authority_replacement files[AUTHORITY_MAX_REPLACEMENTS];
    struct str before[AUTHORITY_MAX_REPLACEMENTS];
    const struct edited_file *which[AUTHORITY_MAX_REPLACEMENTS];
    size_t count;
};

static int find_changed(const struct editing *editing, struct changed_files *out, struct err *err)
{
    for (size_t i = 0; i < editing->file_count; i++) {
        const struct edited_file *file = &editing->files[i];
        bool is_encoded = file->read.encoding != ENCODING_UTF_8;

        if (str_eq(buf_view(&file->before), buf_view(&file->after)))
            continue;
        /* The schema allows no more edits. */
        if (out->count == AUTHORITY_MAX_REPLACEMENTS)
            return err_set_plain(err, ERR_INTERNAL);
        out->before[out->count] = buf_view(is_encoded ? &file->encoded_before : &file->before);
        out->which[out->count] = file;
        out->files[out->count] = (struct authority_replacement){
            .name = name_of(editing, file),
            .content = buf_view(is_encoded ? &file->encoded_after : &file->after),
            .exchange = {.expected = &file->read.about,
                         .expected_content = &out->before[out->count]},
        };
        out->count++;
    }
    return 0;
}

/* ERR_BUSY, without a message that matters, if somebody else has changed one of them. */
static int write_all(const struct editing *editing, struct err *err)
{
    struct undo_log *undo = editing->call->box->undo;
    const struct cancel *cancel = editing->call->cancel;
    cleanup_free struct changed_files *changed = calloc(1, sizeof(*changed));
    struct err why = ERR_INIT;
    size_t at = 0;
    int r;

    if (changed == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    r = find_changed(editing, changed, err);
    if (r < 0 || changed->count == 0)
        return r;
    for (size_t i = 0; r == 0 && i < changed->count; i++) {
        at = i;
        r = undo_will_write(undo, changed->files[i].name, cancel, &why);
    }
    if (r == 0)
        r = authority_replace_all(editing->call->box->config.files, changed->files, changed->count,
                                  cancel, &at, &why);
    if (r == 0) {
        undo_did(undo);
        return 0;
    }
    if (r == ERR_BUSY) {
        undo_was_too_late(undo);
        err_set(&why, r, "somebody else keeps changing it: read it and edit again");
    } else {
        undo_did_not(undo);
    }
    return change_refuse(err, r, given_of(editing, changed->which[at]), &why);
}

/* ---- results ---- */

static int write_diffs(const struct editing *editing, size_t max_bytes, struct buf *out)
{
    for (size_t i = 0; i < editing->file_count; i++) {
        const struct edited_file *file = &editing->files[i];
        const struct diff_options options = {
            .name = tool_name_in_diff(editing->call->box, given_of(editing, file)),
            .max_bytes = out->len < max_bytes ? max_bytes - out->len : 1,
        };
        int r = diff_unified(buf_view(&file->before), buf_view(&file->after), &options, out);

        if (r < 0)
            return r;
    }
    return 0;
}

static void write_diff_key(const struct editing *editing, bool is_dry, struct json_writer *w)
{
    /* Notes, one for each file that is cut, come on top. */
    cleanup_buf struct buf diff = BUF_INIT(2 * (size_t)EDIT_DIFF_BYTES);
    int r = write_diffs(editing, is_dry ? EDIT_DIFF_BYTES : EDIT_DONE_BYTES, &diff);

    json_put_str_lossy(w, STR("diff"), r == 0 ? buf_view(&diff) : str_from(err_text(r)));
    if (r == 0 && !is_dry)
        change_show_diff(editing->call, buf_view(&diff));
}

static void write_counts(const struct edited_file *file, struct json_writer *w)
{
    json_put_int(w, STR("replacements"), (int64_t)file->replacements);
    if (file->read.encoding != ENCODING_UTF_8)
        json_put_str(w, STR("encoding"), str_from(encoding_name(file->read.encoding)));
    if (file->inexact.len > 0)
        json_put_str_lossy(w, STR("inexact"), buf_view(&file->inexact));
}

static void write_files(const struct editing *editing, struct json_writer *w)
{
    json_key(w, STR("files"));
    json_begin_array(w);
    for (size_t i = 0; i < editing->file_count; i++) {
        json_begin_object(w);
        json_put_str_lossy(w, STR("path"), given_of(editing, &editing->files[i]));
        json_put_int(w, STR("edits"), (int64_t)editing->files[i].edits);
        write_counts(&editing->files[i], w);
        json_end_object(w);
    }
    json_end_array(w);
}

/* The result has `files` or `path`. */
static int write_result(const struct editing *editing, bool is_dry, const struct undo_note *note,
                        struct buf *out)
{
    struct json_writer w;

    json_writer_init(&w, out);
    json_begin_object(&w);
    if (editing->call->tool->id == TOOL_EDIT_FILES) {
        write_files(editing, &w);
        json_put_bool(&w, STR("dryRun"), is_dry);
    } else {
        json_put_str_lossy(&w, STR("path"), given_of(editing, &editing->files[0]));
        write_counts(&editing->files[0], &w);
    }
    write_diff_key(editing, is_dry, &w);
    change_write_note(&w, note);
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

static int edit_all(struct editing *editing, struct tool_call *call, struct err *err)
{
    int r = call->tool->id == TOOL_EDIT_FILES ? edit_several(editing, call, err)
                                              : edit_one(editing, call, err);

    return r < 0 ? r : encode_all(editing, err);
}

int change_foresee_edits(struct tool_call *call, change_foreseen_fn *visit, void *data,
                         struct err *err)
{
    cleanup_editing struct editing editing = {0};
    int r = edit_all(&editing, call, err);

    for (size_t i = 0; i < editing.file_count && r == 0; i++) {
        const struct edited_file *file = &editing.files[i];

        r = visit(data, file->resource, buf_view(&file->before), buf_view(&file->after));
    }
    return r;
}

/* Once: ERR_BUSY if somebody else has changed one of the files since it was read. */
static int try_edit(struct tool_call *call, bool is_dry, struct buf *out, struct err *err)
{
    cleanup_editing struct editing editing = {0};
    struct undo_note note = {0};
    int r = edit_all(&editing, call, err);

    if (r == 0 && !is_dry) {
        change_begin(call);
        r = write_all(&editing, err);
        undo_close(call->box->undo, &note);
    }
    return r < 0 ? r : write_result(&editing, is_dry, &note, out);
}

int tool_edit(struct tool_call *call, struct buf *out, struct err *err)
{
    bool is_dry = false;
    int r = ERR_BUSY;

    (void)json_get_bool(call->arguments, STR("dryRun"), &is_dry);
    for (int i = 0; r == ERR_BUSY && i < EDIT_MAX_TRIES; i++)
        r = try_edit(call, is_dry, out, err);
    return r;
}
