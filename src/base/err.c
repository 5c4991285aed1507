/* SPDX-License-Identifier: Apache-2.0 */
#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

struct err_row {
    const char *name;
    const char *text;
    enum err_category category;
    int http_status;
    int rpc_code;
};

static const struct err_row rows[ERR_COUNT] = {
#define X(code, name, category, http, rpc, text)                                                   \
    [code##_INDEX] = {name, text, ERR_##category, http, rpc},
    ERR_TABLE(X)
#undef X
};

/* A code outside the table is a bug of ours; it must still read as an error. */
static const struct err_row *row_of(int code)
{
    if (code >= 0 || code < -(int)ERR_COUNT)
        return &rows[ERR_INTERNAL_INDEX];
    return &rows[-code - 1];
}

/* Whether a character begins here that is cut off by the end of the text. */
static bool is_cut_off(struct str text)
{
    unsigned char first = (unsigned char)text.ptr[0];
    size_t whole = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;

    if (first < 0xC2 || first > 0xF4 || text.len >= whole)
        return false;
    for (size_t i = 1; i < text.len; i++)
        if (((unsigned char)text.ptr[i] & 0xC0) != 0x80)
            return false;
    return true;
}

/* Untrusted names and texts are used here, and JSON needs UTF-8. */
static void make_valid(char *bytes)
{
    struct str rest = str_from(bytes);

    for (;;) {
        size_t valid = utf8_valid_length(rest);
        char *bad = bytes + valid;

        if (valid == rest.len)
            return;
        if (is_cut_off((struct str){bad, rest.len - valid})) {
            *bad = '\0';
            return;
        }
        *bad = '?';
        rest = str_slice(rest, valid, rest.len);
        bytes = bad;
    }
}

__attribute__((format(printf, 4, 0))) static void fill(struct err *err, int code, const char *field,
                                                       const char *format, va_list args)
{
    err->code = code;
    snprintf(err->field, sizeof(err->field), "%s", field);
    vsnprintf(err->message, sizeof(err->message), format, args);
    make_valid(err->field);
    make_valid(err->message);
}

int err_set(struct err *err, int code, const char *format, ...)
{
    va_list args;

    if (err == NULL)
        return code;
    va_start(args, format);
    fill(err, code, "", format, args);
    va_end(args);
    return code;
}

int err_set_field(struct err *err, int code, const char *field, const char *format, ...)
{
    va_list args;

    if (err == NULL)
        return code;
    va_start(args, format);
    fill(err, code, field, format, args);
    va_end(args);
    return code;
}

int err_set_plain(struct err *err, int code)
{
    return err_set(err, code, "%s", err_text(code));
}

const char *err_name(int code)
{
    return row_of(code)->name;
}

int err_from_name(const char *name, size_t len)
{
    for (int i = 0; i < (int)ERR_COUNT; i++)
        if (strlen(rows[i].name) == len && memcmp(rows[i].name, name, len) == 0)
            return -i - 1;
    return ERR_INTERNAL;
}

const char *err_text(int code)
{
    return row_of(code)->text;
}

enum err_category err_category(int code)
{
    return row_of(code)->category;
}

const char *err_category_name(enum err_category category)
{
    switch (category) {
    case ERR_POLICY:
        return "policy";
    case ERR_OPERATIONAL:
        return "operational";
    }
    return "operational";
}

int err_http_status(int code)
{
    return row_of(code)->http_status;
}

int err_rpc_code(int code)
{
    return row_of(code)->rpc_code;
}

int err_from_errno(int errno_value)
{
    switch (errno_value) {
    case 0:
        return 0;
    case ENOMEM:
        return ERR_NO_MEMORY;
    case ENOENT:
        return ERR_NOT_FOUND;
    case EEXIST:
        return ERR_ALREADY_EXISTS;
    case EACCES:
    case EPERM:
    case EROFS:
        return ERR_PERMISSION_DENIED;
    case ENOSPC:
    case EDQUOT:
        return ERR_NO_SPACE;
    case EMFILE:
    case ENFILE:
        return ERR_TOO_MANY_FILES;
    case EXDEV:
        return ERR_CROSS_DEVICE;
    case ENOTDIR:
        return ERR_NOT_A_DIRECTORY;
    case ENOTEMPTY:
        return ERR_NOT_EMPTY;
    case ENAMETOOLONG:
        return ERR_INVALID_PATH;
    case EFBIG:
        return ERR_TOO_LARGE;
    case ENOSYS:
    case EOPNOTSUPP:
        return ERR_UNSUPPORTED;
    case EAGAIN:
    case EBUSY:
        return ERR_BUSY;
    case ETIMEDOUT:
        return ERR_TIMED_OUT;
    case ECANCELED:
        return ERR_CANCELLED;
    default:
        return ERR_IO;
    }
}

const char *err_errno_text(int errno_value)
{
    const char *text = strerrordesc_np(errno_value);

    return text != NULL ? text : "unknown system error";
}
