/* SPDX-License-Identifier: Apache-2.0 */
/* Files on their way to a browser and from it: copies, in a directory that both sides see. */
#include "files/change.h"

#include <inttypes.h>
#include <stdio.h>

#include "protocol/staged.h"

enum { MAX_SEEN = 4 * STAGED_CALLS };

/* ---- to a page ---- */

struct earlier {
    uint64_t numbers[MAX_SEEN];
    size_t count;
};

static int note_earlier(void *data, const struct authority_entry *entry)
{
    struct earlier *earlier = data;
    int64_t number;

    if (earlier->count < MAX_SEEN && str_to_int64(entry->name, &number) && number >= 0)
        earlier->numbers[earlier->count++] = (uint64_t)number;
    return 0;
}

/* A page has read its files long before; a copy must not stay for ever. */
static void remove_earlier(const struct tool_call *call, uint64_t number)
{
    const struct authority_remove_options options = {.is_recursive = true, .may_miss = true};
    struct authority_scope *uploads = call->box->config.uploads;
    struct earlier earlier = {.count = 0};
    char name[32];

    (void)authority_list(uploads, STR_EMPTY, NULL, note_earlier, &earlier, NULL);
    for (size_t i = 0; i < earlier.count; i++) {
        if (earlier.numbers[i] + STAGED_CALLS > number)
            continue;
        snprintf(name, sizeof(name), "%" PRIu64, earlier.numbers[i]);
        (void)authority_remove(uploads, str_from(name), &options, NULL);
    }
}

static int stage(const struct tool_call *call, uint64_t number, size_t index, uint64_t *left,
                 struct err *err)
{
    const struct authority_move_options options = {
        .make_parents = true, .max_copy_bytes = *left, .cancel = call->cancel};
    struct authority_stat about;
    char name[STAGED_NAME_BYTES];
    struct err why = ERR_INIT;
    int r = authority_stat(call->box->config.files, tool_name(call, index), &about, &why);

    if (r < 0)
        return change_refuse(err, r, change_given(call, index), &why);
    if (about.type != AUTHORITY_FILE)
        return change_fail(err, ERR_NOT_REGULAR_FILE, change_given(call, index),
                           "is not a file; only files can be uploaded");
    if (about.size > *left)
        return change_fail(err, ERR_TOO_LARGE, change_given(call, index),
                           "is too large: one call uploads at most %" PRIu64 " bytes",
                           call->box->config.max_copy_bytes);
    if (!staged_name(number, index, change_given(call, index), name))
        return change_fail(err, ERR_INVALID_PATH, change_given(call, index), "has too long a name");
    r = authority_copy_in(call->box->config.uploads, str_from(name), call->box->config.files,
                          tool_name(call, index), &options, &why);
    if (r < 0)
        return change_refuse(err, r, change_given(call, index), &why);
    *left -= about.size;
    return 0;
}

int tool_stage_upload(struct tool_call *call, struct buf *out, struct err *err)
{
    uint64_t number = (uint64_t)tool_int(call, STR("number"), 0);
    uint64_t left = call->box->config.max_copy_bytes;
    int r = tool_take_turn(call->box, call->cancel);

    if (r < 0)
        return r;
    remove_earlier(call, number);
    for (size_t i = 0; i < call->resource_count && r == 0; i++)
        r = stage(call, number, i, &left, err);
    tool_leave_turn(call->box);
    return r == 0 ? buf_printf(out, "{\"staged\":%zu}", call->resource_count) : r;
}

/* ---- from a page ---- */

int change_check_download(const struct tool_call *call, struct err *err)
{
    struct str id = change_text(call, STR("downloadId"));
    struct str to = tool_name(call, 0);
    struct authority_stat about;

    if (!staged_is_download(id) ||
        authority_stat(call->box->config.downloads, id, &about, NULL) < 0)
        return change_fail(err, ERR_NOT_FOUND, id,
                           "there is no such download, or it is not complete: browser_downloads "
                           "lists them");
    if (to.len == 0 || (authority_stat(call->box->config.files, to, &about, NULL) == 0 &&
                        about.type == AUTHORITY_DIRECTORY))
        return change_fail(err, ERR_ALREADY_EXISTS, change_given(call, 0),
                           "is a directory: give the path of the file to create in it");
    return 0;
}

int tool_save_download(struct tool_call *call, struct buf *out, struct err *err)
{
    const struct authority_move_options options = {.may_replace = true,
                                                   .make_parents = true,
                                                   .max_copy_bytes =
                                                       call->box->config.max_copy_bytes,
                                                   .cancel = call->cancel};
    struct str id = change_text(call, STR("downloadId"));
    const struct change_field fields[] = {
        {STR("downloadId"), id},
        {STR("path"), change_given(call, 0)},
    };
    struct err why = ERR_INIT;
    int r = change_check_download(call, err);

    if (r < 0)
        return r;
    change_begin(call);
    r = undo_will_write(call->box->undo, tool_name(call, 0), call->cancel, &why);
    if (r == 0)
        r = authority_copy_in(call->box->config.files, tool_name(call, 0),
                              call->box->config.downloads, id, &options, &why);
    if (r == 0)
        return change_end(call, fields, array_size(fields), out);
    change_give_up(call);
    return change_refuse_write(call, 0, r, &why, err);
}
