/* SPDX-License-Identifier: Apache-2.0 */
/* move, copy_file and delete. A link at the end is moved or deleted itself, never its target. */
#include "files/change.h"

#include <inttypes.h>

#include "authority/names/path.h"

enum { SOURCE, DESTINATION };

static int end_with_both(const struct tool_call *call, struct buf *out)
{
    const struct change_field fields[] = {
        {STR("sourcePath"), change_given(call, SOURCE)},
        {STR("destinationPath"), change_given(call, DESTINATION)},
    };

    return change_end(call, fields, 2, out);
}

/* ---- move ---- */

/* "new/" is a place in a directory that is not there: the file would get its name. */
static int check_slash(const struct tool_call *call, struct err *err)
{
    struct str given = change_given(call, DESTINATION);

    return str_ends_with(given, STR("/"))
               ? change_fail(
                     err, ERR_INVALID_ARGUMENT, given,
                     "ends with a slash: give the path of the file to create, with its name")
               : 0;
}

/* A file may be replaced by anything but a directory, an empty directory by a directory. */
static int check_destination(const struct tool_call *call, const struct authority_stat *source,
                             struct err *err)
{
    struct authority_scope *files = call->box->config.files;
    struct str to = tool_name(call, DESTINATION);
    struct str given = change_given(call, DESTINATION);
    bool is_directory = source->type == AUTHORITY_DIRECTORY;
    struct authority_stat target;

    if (authority_stat(files, to, &target, NULL) < 0) /* or the move itself reports the error */
        return is_directory ? 0 : check_slash(call, err);
    if (target.type != AUTHORITY_DIRECTORY)
        return is_directory ? change_fail(err, ERR_NOT_A_DIRECTORY, given,
                                          "is a file, and a directory cannot replace it")
                            : check_slash(call, err);
    if (!is_directory)
        return change_fail(err, ERR_ALREADY_EXISTS, given,
                           "is a directory: give the path of the file to create in it");
    if (tool_has_entries(files, to))
        return change_fail(
            err, ERR_NOT_EMPTY, given,
            "is a directory that is not empty: delete it first, or give a path inside it");
    return 0;
}

int change_check_move(const struct tool_call *call, struct err *err)
{
    struct str from = tool_name(call, SOURCE);
    struct str given = change_given(call, SOURCE);
    struct authority_stat source;
    struct err why = ERR_INIT;
    int r;

    if (call->resources[SOURCE].is_root || call->resources[DESTINATION].is_root)
        return err_set_plain(err, ERR_ROOT_PROTECTED);
    r = authority_stat(call->box->config.files, from, &source, &why);
    if (r < 0)
        return change_refuse(err, r, given, &why);
    if (str_eq(from, tool_name(call, DESTINATION)))
        return 0;
    if (path_is_within(tool_name(call, DESTINATION), from))
        return change_fail(err, ERR_INVALID_ARGUMENT, given, "cannot be moved into itself");
    return check_destination(call, &source, err);
}

/* The message for a move or copy that failed at one of its ends. */
static int explain(const struct tool_call *call, int code, const struct err *why, struct err *err)
{
    struct authority_stat target;

    switch (code) {
    case ERR_ALREADY_EXISTS:
    case ERR_NOT_EMPTY:
        return change_refuse(err, code, change_given(call, DESTINATION), why);
    case ERR_NOT_A_DIRECTORY:
        return change_fail(err, code, change_given(call, DESTINATION),
                           "one of its parents is a file, not a directory");
    case ERR_NOT_REGULAR_FILE:
        return authority_stat(call->box->config.files, tool_name(call, DESTINATION), &target,
                              NULL) == 0 &&
                       target.type == AUTHORITY_OTHER
                   ? change_refuse_write(call, DESTINATION, code, why, err)
                   : change_refuse(err, code, change_given(call, SOURCE), why);
    default:
        return change_refuse(err, code, change_given(call, SOURCE), why);
    }
}

int tool_move(struct tool_call *call, struct buf *out, struct err *err)
{
    const struct authority_move_options options = {.may_replace = true,
                                                   .make_parents = true,
                                                   .is_exact = true,
                                                   .max_copy_bytes =
                                                       call->box->config.max_copy_bytes,
                                                   .cancel = call->cancel};
    struct str from = tool_name(call, SOURCE);
    struct str to = tool_name(call, DESTINATION);
    struct err why = ERR_INIT;
    int r = change_check_move(call, err);

    if (r < 0)
        return r;
    if (str_eq(from, to)) /* nothing to do */
        return end_with_both(call, out);
    change_begin(call);
    r = undo_will_move(call->box->undo, from, to, call->cancel, &why);
    if (r == 0)
        r = authority_move(call->box->config.files, from, to, &options, &why);
    if (r == 0)
        return end_with_both(call, out);
    change_give_up(call);
    return explain(call, r, &why, err);
}

/* ---- copy_file ---- */

int change_check_copy(const struct tool_call *call, struct err *err)
{
    struct authority_scope *files = call->box->config.files;
    struct str to = tool_name(call, DESTINATION);
    struct authority_stat about;
    struct err why = ERR_INIT;
    int r = authority_stat(files, tool_name(call, SOURCE), &about, &why);

    if (r < 0)
        return change_refuse(err, r, change_given(call, SOURCE), &why);
    if (about.type == AUTHORITY_DIRECTORY)
        return change_fail(err, ERR_NOT_REGULAR_FILE, change_given(call, SOURCE),
                           "is a directory; only files can be copied");
    if (str_eq(tool_name(call, SOURCE), to))
        return 0;
    if (to.len == 0 ||
        (authority_stat(files, to, &about, NULL) == 0 && about.type == AUTHORITY_DIRECTORY))
        return change_fail(err, ERR_ALREADY_EXISTS, change_given(call, DESTINATION),
                           "is a directory: give the path of the file to create in it");
    return check_slash(call, err);
}

int tool_copy_file(struct tool_call *call, struct buf *out, struct err *err)
{
    const struct authority_move_options options = {.may_replace = true,
                                                   .make_parents = true,
                                                   .max_copy_bytes =
                                                       call->box->config.max_copy_bytes,
                                                   .cancel = call->cancel};
    struct str to = tool_name(call, DESTINATION);
    struct err why = ERR_INIT;
    int r = change_check_copy(call, err);

    if (r < 0)
        return r;
    if (str_eq(tool_name(call, SOURCE), to))
        return end_with_both(call, out);
    change_begin(call);
    r = undo_will_write(call->box->undo, to, call->cancel, &why);
    if (r == 0)
        r = authority_copy(call->box->config.files, tool_name(call, SOURCE), to, &options, &why);
    if (r == 0)
        return end_with_both(call, out);
    change_give_up(call);
    if (r == ERR_TOO_LARGE)
        return change_fail(err, r, change_given(call, SOURCE),
                           "is too large: one call copies at most %" PRIu64
                           " bytes, not counting holes",
                           call->box->config.max_copy_bytes);
    return explain(call, r, &why, err);
}

/* ---- delete ---- */

int tool_delete(struct tool_call *call, struct buf *out, struct err *err)
{
    struct str given = change_given(call, 0);
    struct err why = ERR_INIT;
    int r;

    if (call->resources[0].is_root)
        return err_set_plain(err, ERR_ROOT_PROTECTED);
    change_begin(call);
    r = undo_delete(call->box->undo, tool_name(call, 0), call->cancel, &why);
    if (r == 0)
        return change_end(call, &(struct change_field){STR("path"), given}, 1, out);
    change_give_up(call);
    return change_refuse(err, r, given, &why);
}
