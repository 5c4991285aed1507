/* SPDX-License-Identifier: Apache-2.0 */
#include "permission/question.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/utf8.h"

static const char *const choice_names[CHOICES] = {
    [CHOICE_DENY_ONCE] = "denyOnce",
    [CHOICE_ALLOW_ONCE] = "allowOnce",
    [CHOICE_ALLOW_SESSION] = "allowForSession",
    [CHOICE_ALWAYS_ALLOW] = "alwaysAllow",
    [CHOICE_ALWAYS_DENY] = "alwaysDeny",
};

const char *permission_choice_name(enum permission_choice choice)
{
    return choice < CHOICES ? choice_names[choice] : "unknown";
}

bool permission_choice_from(struct str name, enum permission_choice *out_choice)
{
    for (int i = 0; i < CHOICES; i++) {
        if (str_eq_c(name, choice_names[i])) {
            *out_choice = (enum permission_choice)i;
            return true;
        }
    }
    return false;
}

bool permission_choice_allows(enum permission_choice choice)
{
    switch (choice) {
    case CHOICE_ALLOW_ONCE:
    case CHOICE_ALLOW_SESSION:
    case CHOICE_ALWAYS_ALLOW:
        return true;
    case CHOICE_DENY_ONCE:
    case CHOICE_ALWAYS_DENY:
    case CHOICES:
        break;
    }
    return false;
}

size_t question_bytes(const struct question *question)
{
    const struct str texts[] = {question->tool, question->action, question->detail};
    size_t total = 0;

    for (size_t i = 0; i < array_size(texts); i++)
        if (!checked_add(total, texts[i].len, &total))
            return SIZE_MAX;
    for (size_t i = 0; i < question->resource_count; i++)
        if (!checked_add(total, question->resources[i].shown.len, &total))
            return SIZE_MAX;
    return total;
}

/* Moves *room on. */
static struct str keep(char **room, struct str text)
{
    struct str kept = {*room, text.len};

    if (text.len == 0)
        return STR_EMPTY;
    memcpy(*room, text.ptr, text.len);
    *room += text.len;
    return kept;
}

int question_copy(const struct question *question, struct question **out_copy)
{
    size_t count = question->resource_count;
    size_t bytes;
    struct question_resource *resources;
    struct question *copy;
    char *room;

    if (count > QUESTION_MAX_RESOURCES)
        return ERR_TOO_LARGE;
    bytes = question_bytes(question);
    if (bytes > QUESTION_MAX_BYTES)
        return ERR_TOO_LARGE;
    copy = malloc(sizeof(*copy) + count * sizeof(*resources) + bytes);
    if (copy == NULL)
        return ERR_NO_MEMORY;
    /* SAFETY: a question is aligned for pointers, and so is what follows it. */
    resources = (struct question_resource *)(void *)(copy + 1);
    room = (char *)(resources + count);
    *copy = *question;
    copy->resources = resources;
    copy->choices |= 1U << CHOICE_DENY_ONCE;
    copy->choices &= (1U << CHOICES) - 1;
    copy->tool = keep(&room, question->tool);
    copy->action = keep(&room, question->action);
    copy->detail = keep(&room, question->detail);
    for (size_t i = 0; i < count; i++)
        resources[i] = (struct question_resource){question->resources[i].group,
                                                  keep(&room, question->resources[i].shown)};
    *out_copy = copy;
    return 0;
}

/* ---- showing ---- */

enum { MANY_BLANKS = 64 }; /* more of them in a row could push the rest out of sight */

/* Many blanks are told by their number; false: there are not many. */
static bool add_blanks(struct buf *out, struct str *text, int *result)
{
    size_t count = 0;

    while (count < text->len && (text->ptr[count] == ' ' || text->ptr[count] == '\t'))
        count++;
    if (count <= MANY_BLANKS)
        return false;
    *result = buf_printf(out, "\\s{%zu}", count);
    *text = str_slice(*text, count, text->len);
    return true;
}

/* Looks like a space and is none: to a shell it is a part of the word, or of the program's name. */
static bool is_odd_blank(uint32_t code_point)
{
    return code_point == 0xA0 || code_point == 0x1680 ||
           (code_point >= 0x2000 && code_point <= 0x200A) || code_point == 0x202F ||
           code_point == 0x205F || code_point == 0x2800 || code_point == 0x3000;
}

static int add_escaped(struct buf *out, uint32_t code_point, bool is_valid, unsigned char byte)
{
    switch (code_point) {
    case '\n':
        return buf_append_str(out, STR("\\n"));
    case '\r':
        return buf_append_str(out, STR("\\r"));
    case '\t':
        return buf_append_str(out, STR("\\t"));
    default:
        return is_valid && code_point >= 0x80 ? buf_printf(out, "\\u{%x}", (unsigned)code_point)
                                              : buf_printf(out, "\\x%02x", byte);
    }
}

static int add_text(struct buf *out, struct str text, bool keeps_tabs)
{
    int r = 0;

    while (text.len > 0 && r == 0) {
        const char *start = text.ptr;
        uint32_t code_point;
        bool is_valid;

        if (add_blanks(out, &text, &r))
            continue;
        is_valid = utf8_next(&text, &code_point);
        if (is_valid && ((utf8_is_printable(code_point) && !is_odd_blank(code_point)) ||
                         (keeps_tabs && code_point == '\t')))
            r = buf_append(out, start, (size_t)(text.ptr - start));
        else
            r = add_escaped(out, code_point, is_valid, (unsigned char)*start);
    }
    return r;
}

int question_add_line(struct buf *out, struct str text)
{
    return add_text(out, text, false);
}

int question_add_lines(struct buf *out, struct str text)
{
    struct str line;
    bool is_first = true;
    int r = 0;

    if (text.len == 0)
        return 0;
    if (str_ends_with(text, STR("\n")))
        text.len--;
    while (r == 0 && str_cut(&text, '\n', &line)) {
        r = buf_append_str(out, is_first ? STR("| ") : STR("\n| "));
        if (r == 0)
            r = add_text(out, line, true);
        is_first = false;
    }
    return r;
}
