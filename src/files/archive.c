/* SPDX-License-Identifier: Apache-2.0 */
/* extract_archive. The authority guarantees that it extracts everything or nothing. */
#include "files/change.h"

enum { ARCHIVE, DESTINATION };

static int write_result(const struct tool_call *call, const struct authority_archive_result *result,
                        const struct undo_note *note, struct buf *out)
{
    struct json_writer w;

    json_writer_init(&w, out);
    json_begin_object(&w);
    json_put_str_lossy(&w, STR("destinationPath"), change_given(call, DESTINATION));
    json_put_int(&w, STR("files"), (int64_t)result->files);
    json_put_int(&w, STR("directories"), (int64_t)result->directories);
    json_put_int(&w, STR("bytes"), (int64_t)result->bytes);
    change_write_note(&w, note);
    json_end_object(&w);
    return json_writer_finish(&w);
}

static int explain(const struct tool_call *call, int code, const struct err *why, struct err *err)
{
    struct str given = change_given(call, DESTINATION);

    switch (code) {
    case ERR_NOT_EMPTY:
    case ERR_ALREADY_EXISTS:
        return change_fail(err, code, given, "must be missing or an empty directory");
    case ERR_NOT_A_DIRECTORY:
        return change_fail(err, code, given, "is a file, or one of its parents is a file");
    case ERR_ROOT_PROTECTED:
        return change_fail(err, code, given, "name a directory below the root");
    default:
        return change_refuse(err, code, change_given(call, ARCHIVE), why);
    }
}

/* Call before the undo log removes an empty directory for it. */
int change_check_extract(const struct tool_call *call, struct err *err)
{
    struct authority_scope *files = call->box->config.files;
    struct authority_stat about;
    struct err why = ERR_INIT;
    int r = authority_stat(files, tool_name(call, ARCHIVE), &about, &why);

    if (r < 0)
        return change_refuse(err, r, change_given(call, ARCHIVE), &why);
    if (call->resources[DESTINATION].is_root)
        return explain(call, ERR_ROOT_PROTECTED, &why, err);
    if (authority_stat(files, tool_name(call, DESTINATION), &about, NULL) < 0)
        return 0;
    if (about.type != AUTHORITY_DIRECTORY)
        return explain(call, ERR_NOT_A_DIRECTORY, &why, err);
    return tool_has_entries(files, tool_name(call, DESTINATION))
               ? explain(call, ERR_NOT_EMPTY, &why, err)
               : 0;
}

static void report(void *data, uint64_t bytes, uint64_t total_bytes)
{
    const struct tool_call *call = data;

    tool_report(call, bytes, total_bytes, "unpacking");
}

int tool_extract_archive(struct tool_call *call, struct buf *out, struct err *err)
{
    const struct authority_archive_options options = {
        .cancel = call->cancel, .progress = report, .progress_data = call};
    struct str destination = tool_name(call, DESTINATION);
    struct authority_archive_result result;
    struct undo_note note;
    struct err why = ERR_INIT;
    int r = change_check_extract(call, err);

    if (r < 0)
        return r;
    change_begin(call);
    r = undo_will_extract(call->box->undo, destination, call->cancel, &why);
    if (r == 0)
        r = authority_extract_archive(call->box->config.files, tool_name(call, ARCHIVE),
                                      destination, &options, &result, &why);
    if (r < 0) {
        change_give_up(call);
        return explain(call, r, &why, err);
    }
    undo_did(call->box->undo);
    undo_close(call->box->undo, &note);
    return write_result(call, &result, &note, out);
}
