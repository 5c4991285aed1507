/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/sandboxd/daytona/multipart.h"

#include <string.h>

#include "base/err.h"

enum { GO_ON = MULTIPART_END + 1 }; /* no event, but there may be more to do */

/* ---- headers ---- */

/*
 * The value of a parameter of a header, `; name=value` or `; name="value"`; a backslash in quotes
 * is itself, as browsers and form-data send it.
 */
static bool find_parameter(struct str header, struct str name, struct str *out_value)
{
    size_t at = 0;

    while (at < header.len) {
        struct str rest;
        struct str key;
        size_t end;

        while (at < header.len && header.ptr[at] != ';')
            at++;
        rest = str_trim(str_slice(header, at + 1, header.len));
        if (at + 1 >= header.len || !str_cut(&rest, '=', &key) || rest.len == 0)
            return false;
        at = (size_t)(rest.ptr - header.ptr);
        if (rest.ptr[0] == '"') {
            rest = str_slice(rest, 1, rest.len);
            end = str_find(rest, STR("\""));
            if (end == SIZE_MAX)
                return false;
            at += end + 2;
        } else {
            end = str_find(rest, STR(";"));
            end = end == SIZE_MAX ? rest.len : end;
            at += end;
        }
        if (str_eq_nocase(str_trim(key), name)) {
            *out_value = str_slice(rest, 0, end);
            return true;
        }
    }
    return false;
}

int multipart_init(struct multipart *multipart, struct str content_type)
{
    const struct str kind = STR("multipart/form-data");
    struct str boundary;

    *multipart = (struct multipart){.head = BUF_INIT(MULTIPART_MAX_HEAD_BYTES),
                                    .matched = 2}; /* as if a newline came before */
    if (!str_eq_nocase(str_slice(content_type, 0, kind.len), kind) ||
        !find_parameter(content_type, STR("boundary"), &boundary))
        return ERR_INVALID_ARGUMENT;
    boundary = str_trim(boundary);
    if (boundary.len == 0 || boundary.len > MULTIPART_MAX_BOUNDARY)
        return ERR_INVALID_ARGUMENT;
    memcpy(multipart->delimiter, "\r\n--", 4);
    memcpy(multipart->delimiter + 4, boundary.ptr, boundary.len);
    multipart->delimiter_len = boundary.len + 4;
    return 0;
}

void multipart_done(struct multipart *multipart)
{
    buf_done(&multipart->head);
}

struct str multipart_name(const struct multipart *multipart)
{
    return multipart->name;
}

/* The name in the head's Content-Disposition. */
static int read_head(struct multipart *multipart)
{
    struct str rest = buf_view(&multipart->head);
    struct str line;

    while (str_cut(&rest, '\n', &line)) {
        struct str key;

        if (!str_cut(&line, ':', &key) || !str_eq_nocase(str_trim(key), STR("Content-Disposition")))
            continue;
        return find_parameter(str_trim(line), STR("name"), &multipart->name) ? 0
                                                                             : ERR_INVALID_REQUEST;
    }
    return ERR_INVALID_REQUEST;
}

/* ---- content ---- */

/*
 * Takes content up to the next delimiter off *bytes. What was held back of a delimiter that turned
 * out to be none is content, too: it equals the delimiter's own beginning.
 */
static bool take_content(struct multipart *multipart, struct str *bytes, struct str *out_data)
{
    const struct str delimiter = {multipart->delimiter, multipart->delimiter_len};
    size_t at;

    if (multipart->matched > 0) {
        size_t more =
            str_common_prefix(str_slice(delimiter, multipart->matched, delimiter.len), *bytes);

        if (multipart->matched + more < delimiter.len && more < bytes->len) {
            /*
             * Not a delimiter. No part of what was held can begin one: only its first byte is a
             * carriage return, except that the boundary itself has none.
             */
            *out_data = str_slice(delimiter, 0, multipart->matched);
            multipart->matched = 0;
            return true;
        }
        multipart->matched += more;
        *bytes = str_slice(*bytes, more, bytes->len);
        *out_data = STR_EMPTY;
        return false;
    }
    at = str_find(*bytes, delimiter);
    if (at == SIZE_MAX) {
        size_t most = bytes->len < delimiter.len - 1 ? bytes->len : delimiter.len - 1;

        at = bytes->len;
        for (size_t len = most; len > 0; len--)
            if (memcmp(bytes->ptr + bytes->len - len, delimiter.ptr, len) == 0) {
                at = bytes->len - len;
                break;
            }
        multipart->matched = bytes->len - at;
        *out_data = str_slice(*bytes, 0, at);
        *bytes = STR_EMPTY;
        return at > 0;
    }
    *out_data = str_slice(*bytes, 0, at);
    multipart->matched = delimiter.len;
    *bytes = str_slice(*bytes, at + delimiter.len, bytes->len);
    return at > 0;
}

/* ---- states ---- */

/* Adds one byte to the head; whether it ends with `end`. */
static int take_head(struct multipart *multipart, struct str *bytes, struct str end)
{
    while (bytes->len > 0) {
        int r = buf_append_char(&multipart->head, bytes->ptr[0]);

        if (r < 0)
            return r;
        *bytes = str_slice(*bytes, 1, bytes->len);
        if (str_ends_with(buf_view(&multipart->head), end))
            return 1;
    }
    return 0;
}

/* After a boundary: the next part, or the end. Spaces may follow the boundary. */
static int read_boundary_end(struct multipart *multipart, struct str *bytes)
{
    struct str line;
    int r;

    if (multipart->head.len < 2) {
        while (bytes->len > 0 && multipart->head.len < 2) {
            r = buf_append_char(&multipart->head, bytes->ptr[0]);
            if (r < 0)
                return r;
            *bytes = str_slice(*bytes, 1, bytes->len);
        }
        if (multipart->head.len < 2)
            return MULTIPART_MORE;
        if (str_eq(buf_view(&multipart->head), STR("--"))) {
            multipart->state = MULTIPART_IN_EPILOGUE;
            return MULTIPART_END;
        }
    }
    r = str_ends_with(buf_view(&multipart->head), STR("\r\n"))
            ? 1
            : take_head(multipart, bytes, STR("\r\n"));
    if (r <= 0)
        return r;
    line = str_trim(buf_view(&multipart->head));
    if (line.len > 0)
        return ERR_INVALID_REQUEST;
    if (multipart->parts++ >= MULTIPART_MAX_PARTS)
        return ERR_TOO_LARGE;
    buf_clear(&multipart->head);
    multipart->state = MULTIPART_IN_HEAD;
    return GO_ON;
}

static int next_event(struct multipart *multipart, struct str *bytes, struct str *out_data)
{
    int r;

    switch (multipart->state) {
    case MULTIPART_IN_PREAMBLE:
    case MULTIPART_IN_CONTENT:
        if (multipart->matched < multipart->delimiter_len) {
            bool has_data = take_content(multipart, bytes, out_data);

            if (has_data && multipart->state == MULTIPART_IN_CONTENT)
                return MULTIPART_DATA;
            if (multipart->matched < multipart->delimiter_len)
                return bytes->len > 0 ? GO_ON : MULTIPART_MORE;
        }
        r = multipart->state == MULTIPART_IN_CONTENT ? MULTIPART_PART_END : GO_ON;
        multipart->matched = 0;
        buf_clear(&multipart->head);
        multipart->name = STR_EMPTY;
        multipart->state = MULTIPART_AFTER_BOUNDARY;
        return r;
    case MULTIPART_AFTER_BOUNDARY:
        return read_boundary_end(multipart, bytes);
    case MULTIPART_IN_HEAD:
        r = take_head(multipart, bytes, STR("\r\n\r\n"));
        if (r == 0)
            return MULTIPART_MORE;
        if (r == 1)
            r = read_head(multipart);
        if (r < 0)
            return r;
        multipart->state = MULTIPART_IN_CONTENT;
        multipart->matched = 0;
        return MULTIPART_PART;
    case MULTIPART_IN_EPILOGUE:
        *bytes = STR_EMPTY;
        return MULTIPART_MORE;
    }
    return ERR_INTERNAL;
}

int multipart_next(struct multipart *multipart, struct str *bytes, struct str *out_data)
{
    int event = GO_ON;

    if (multipart->error < 0)
        return multipart->error;
    while (event == GO_ON)
        event = next_event(multipart, bytes, out_data);
    if (event < 0)
        multipart->error = event;
    return event;
}
