/* SPDX-License-Identifier: Apache-2.0 */
#include "isolate/launcher/wire.h"

#include <limits.h>
#include <signal.h>
#include <string.h>

#include "base/cleanup.h"

enum { WANTS_STDIN = 1 << 0, WANTS_PTY = 1 << 1, ALL_FLAGS = (1 << 2) - 1 };
enum { DENIAL_IS_PATTERN = 1 << 2, DENIAL_ACCESS = DENIAL_IS_PATTERN - 1 };

/* The parts of fixed size, fully initialised so that no padding leaks. */
struct request_head {
    uint32_t kind;
    uint32_t number;
    int32_t signal;
    uint32_t flags;
    uint16_t rows;
    uint16_t columns;
    uint16_t word_count;
    uint16_t variable_count;
    uint32_t at_most_count;
    uint32_t cwd_bytes;
    uint32_t denial_count;
};

struct notice_head {
    uint32_t kind;
    uint32_t number;
    int32_t code;
    uint32_t is_signal;
    int32_t value;
};

_Static_assert(sizeof(struct request_head) == 36, "no padding");
_Static_assert(sizeof(struct notice_head) == 20, "no padding");

/* ---- Writing ---- */

static int put_text(struct buf *out, const char *text)
{
    return buf_append(out, text, strlen(text) + 1);
}

static size_t count_of(const char *const *list)
{
    size_t count = 0;

    while (count <= LAUNCHER_MAX_WORDS && list[count] != NULL)
        count++;
    return count;
}

static bool is_variable(const char *text)
{
    const char *equals = strchr(text, '=');

    return equals != NULL && equals > text;
}

static bool is_sound_start(const struct launcher_request *request)
{
    if (request->word_count < 1 || request->word_count > LAUNCHER_MAX_WORDS ||
        request->variable_count > LAUNCHER_MAX_WORDS || request->at_most_count > BOX_MAX_PLACES ||
        request->denial_count > LAUNCHER_MAX_DENIALS)
        return false;
    if (request->cwd == NULL || request->cwd[0] != '/')
        return false;
    if (request->wants_pty && request->wants_stdin)
        return false;
    for (size_t i = 0; i < request->variable_count; i++)
        if (!is_variable(request->variables[i]))
            return false;
    for (size_t i = 0; i < request->at_most_count; i++)
        if (request->at_most[i] > BOX_WRITE)
            return false;
    for (size_t i = 0; i < request->denial_count; i++)
        if ((request->denials[i].path[0] != '/' && !request->denials[i].is_pattern) ||
            request->denials[i].at_most > BOX_READ)
            return false;
    return request->signal == 0;
}

static bool is_sound(const struct launcher_request *request)
{
    switch (request->kind) {
    case LAUNCHER_START:
        return is_sound_start(request);
    case LAUNCHER_SIGNAL:
        return request->signal >= 1 && request->signal <= SIGRTMAX;
    }
    return false;
}

int launcher_wire_write_request(const struct launcher_request *request, struct buf *out)
{
    bool is_start = request->kind == LAUNCHER_START;
    struct request_head head = {
        .kind = request->kind, .number = request->number, .signal = request->signal};
    size_t before = out->len;
    int r;

    if (!is_sound(request) ||
        (is_start && (count_of(request->words) != request->word_count ||
                      count_of(request->variables) != request->variable_count)))
        return ERR_INVALID_ARGUMENT;
    if (is_start) {
        head.flags =
            (request->wants_stdin ? WANTS_STDIN : 0U) | (request->wants_pty ? WANTS_PTY : 0U);
        head.rows = request->rows;
        head.columns = request->columns;
        head.word_count = (uint16_t)request->word_count;
        head.variable_count = (uint16_t)request->variable_count;
        head.at_most_count = (uint32_t)request->at_most_count;
        head.denial_count = (uint32_t)request->denial_count;
        head.cwd_bytes = (uint32_t)strlen(request->cwd) + 1;
    }
    r = buf_append(out, &head, sizeof(head));
    if (is_start && r == 0)
        r = put_text(out, request->cwd);
    for (size_t i = 0; is_start && i < request->word_count && r == 0; i++)
        r = put_text(out, request->words[i]);
    for (size_t i = 0; is_start && i < request->variable_count && r == 0; i++)
        r = put_text(out, request->variables[i]);
    for (size_t i = 0; is_start && i < request->at_most_count && r == 0; i++)
        r = buf_append_char(out, (char)request->at_most[i]);
    for (size_t i = 0; is_start && i < request->denial_count && r == 0; i++) {
        r = buf_append_char(out, (char)(request->denials[i].at_most |
                                        (request->denials[i].is_pattern ? DENIAL_IS_PATTERN : 0U)));
        if (r == 0)
            r = put_text(out, request->denials[i].path);
    }
    return r == 0 && out->len - before > LAUNCHER_MAX_MESSAGE ? ERR_TOO_LARGE : r;
}

int launcher_wire_write_notice(const struct launcher_notice *notice, struct buf *out)
{
    const struct notice_head head = {
        .kind = notice->kind,
        .number = notice->number,
        .code = notice->err.code,
        .is_signal = notice->is_signal,
        .value = notice->value,
    };
    int r = buf_append(out, &head, sizeof(head));

    if (r == 0)
        r = put_text(out, notice->err.message);
    return r == 0 ? put_text(out, notice->err.field) : r;
}

/* ---- Reading ---- */

/* Takes a NUL-terminated text off the front; it stays in the message. */
static bool take_text(struct str *rest, const char **out_text)
{
    const char *end = rest->len > 0 ? memchr(rest->ptr, '\0', rest->len) : NULL;

    if (end == NULL)
        return false;
    *out_text = rest->ptr;
    *rest = str_slice(*rest, (size_t)(end - rest->ptr) + 1, rest->len);
    return true;
}

static bool take_texts(struct str *rest, size_t count, const char **out_list)
{
    for (size_t i = 0; i < count; i++)
        if (!take_text(rest, &out_list[i]))
            return false;
    out_list[count] = NULL;
    return true;
}

/* Access and path of each, up to the end of the message. */
static bool take_denials(struct str rest, size_t count, struct launcher_request *out)
{
    for (size_t i = 0; i < count; i++) {
        unsigned char byte = rest.len > 0 ? (unsigned char)rest.ptr[0] : UCHAR_MAX;

        if ((byte & ~(DENIAL_ACCESS | DENIAL_IS_PATTERN)) != 0)
            return false;
        out->denials[i].at_most = (enum box_access)(byte & DENIAL_ACCESS);
        out->denials[i].is_pattern = (byte & DENIAL_IS_PATTERN) != 0;
        rest = str_slice(rest, 1, rest.len);
        if (!take_text(&rest, &out->denials[i].path))
            return false;
    }
    out->denial_count = count;
    return rest.len == 0;
}

static bool read_start(const struct request_head *head, struct str rest,
                       struct launcher_request *out)
{
    if (head->word_count > LAUNCHER_MAX_WORDS || head->variable_count > LAUNCHER_MAX_WORDS ||
        head->at_most_count > BOX_MAX_PLACES || head->denial_count > LAUNCHER_MAX_DENIALS ||
        (head->flags & ~(uint32_t)ALL_FLAGS) != 0)
        return false;
    out->wants_stdin = (head->flags & WANTS_STDIN) != 0;
    out->wants_pty = (head->flags & WANTS_PTY) != 0;
    out->rows = head->rows;
    out->columns = head->columns;
    out->word_count = head->word_count;
    out->variable_count = head->variable_count;
    out->at_most_count = head->at_most_count;
    if (!take_text(&rest, &out->cwd) || strlen(out->cwd) + 1 != head->cwd_bytes ||
        !take_texts(&rest, out->word_count, out->words) ||
        !take_texts(&rest, out->variable_count, out->variables) || rest.len < out->at_most_count)
        return false;
    for (size_t i = 0; i < out->at_most_count; i++)
        out->at_most[i] = (enum box_access)(unsigned char)rest.ptr[i];
    return take_denials(str_slice(rest, out->at_most_count, rest.len), head->denial_count, out);
}

static bool is_plain_signal(const struct request_head *head, struct str rest)
{
    const struct request_head plain = {
        .kind = head->kind, .number = head->number, .signal = head->signal};

    return rest.len == 0 && memcmp(head, &plain, sizeof(plain)) == 0;
}

int launcher_wire_read_request(struct str message, struct launcher_request *out_request)
{
    struct request_head head;
    struct str rest;

    if (message.len < sizeof(head) || message.len > LAUNCHER_MAX_MESSAGE)
        return ERR_INVALID_REQUEST;
    memcpy(&head, message.ptr, sizeof(head));
    rest = str_slice(message, sizeof(head), message.len);
    *out_request = (struct launcher_request){.number = head.number, .signal = head.signal};
    if (head.kind == LAUNCHER_START) {
        out_request->kind = LAUNCHER_START;
        if (!read_start(&head, rest, out_request))
            return ERR_INVALID_REQUEST;
    } else if (head.kind == LAUNCHER_SIGNAL) {
        out_request->kind = LAUNCHER_SIGNAL;
        if (!is_plain_signal(&head, rest))
            return ERR_INVALID_REQUEST;
    } else {
        return ERR_INVALID_REQUEST;
    }
    return is_sound(out_request) ? 0 : ERR_INVALID_REQUEST;
}

int launcher_wire_read_notice(struct str message, struct launcher_notice *out_notice)
{
    struct notice_head head;
    struct str rest;
    const char *text;
    const char *field;

    if (message.len < sizeof(head) || message.len > LAUNCHER_MAX_MESSAGE)
        return ERR_INVALID_REQUEST;
    memcpy(&head, message.ptr, sizeof(head));
    rest = str_slice(message, sizeof(head), message.len);
    if (head.kind > LAUNCHER_ENDED || head.is_signal > 1 || head.code > 0 ||
        head.code < -ERR_COUNT || !take_text(&rest, &text) || !take_text(&rest, &field) ||
        rest.len != 0 || strlen(text) >= ERR_MESSAGE_BYTES || strlen(field) >= ERR_FIELD_BYTES)
        return ERR_INVALID_REQUEST;
    *out_notice = (struct launcher_notice){
        .kind = (enum launcher_notice_kind)head.kind,
        .number = head.number,
        .err = {.code = head.code},
        .is_signal = head.is_signal != 0,
        .value = head.value,
    };
    memcpy(out_notice->err.message, text, strlen(text) + 1);
    memcpy(out_notice->err.field, field, strlen(field) + 1);
    return 0;
}
