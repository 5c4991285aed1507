/* SPDX-License-Identifier: Apache-2.0 */
#include "permission/question.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/printable.h"

static const char *const choice_names[CHOICES] = {
    [CHOICE_DENY_ONCE] = "denyOnce",
    [CHOICE_ALLOW_ONCE] = "allowOnce",
    [CHOICE_ALLOW_SESSION] = "allowForSession",
    [CHOICE_ALLOW_FOLDER] = "allowFolderForSession",
    [CHOICE_ALLOW_MATCHING] = "allowMatchingForSession",
    [CHOICE_ALWAYS_ALLOW] = "alwaysAllow",
    [CHOICE_ALWAYS_MATCHING] = "alwaysAllowMatching",
    [CHOICE_ALWAYS_DENY] = "alwaysDeny",
};

const char *permission_choice_name(enum permission_choice choice)
{
    return choice < CHOICES ? choice_names[choice] : "unknown";
}

bool permission_choice_from(struct str name, enum permission_choice *out_choice)
{
    size_t index = str_index(name, choice_names, CHOICES);

    if (index != SIZE_MAX)
        *out_choice = (enum permission_choice)index;
    return index != SIZE_MAX;
}

bool permission_choice_allows(enum permission_choice choice)
{
    switch (choice) {
    case CHOICE_ALLOW_ONCE:
    case CHOICE_ALLOW_SESSION:
    case CHOICE_ALLOW_FOLDER:
    case CHOICE_ALLOW_MATCHING:
    case CHOICE_ALWAYS_ALLOW:
    case CHOICE_ALWAYS_MATCHING:
        return true;
    case CHOICE_DENY_ONCE:
    case CHOICE_ALWAYS_DENY:
    case CHOICES:
        break;
    }
    return false;
}

size_t question_first_of(const struct question *question, size_t index)
{
    for (size_t i = 0; i < index; i++)
        if (str_eq(question->resources[i].shown, question->resources[index].shown))
            return i;
    return index;
}

int question_add_operations(const struct question *question, size_t index, struct buf *out)
{
    int r = 0;

    if (question->resources[index].operation == PERMISSION_USES)
        return 0;
    for (size_t i = index; i < question->resource_count && r == 0; i++) {
        if (!str_eq(question->resources[i].shown, question->resources[index].shown))
            continue;
        r = buf_printf(out, "%s%s", i > index ? ", " : "",
                       permission_operation_words(question->resources[i].operation));
    }
    return r;
}

size_t question_bytes(const struct question *question)
{
    const struct str texts[] = {question->asker,  question->client, question->tool,
                                question->action, question->detail, question->folder,
                                question->pattern};
    size_t total = 0;

    for (size_t i = 0; i < array_size(texts); i++)
        if (!checked_add(total, texts[i].len, &total))
            return SIZE_MAX;
    for (size_t i = 0; i < question->resource_count; i++)
        if (!checked_add(total, question->resources[i].shown.len, &total))
            return SIZE_MAX;
    return total;
}

/* Copies the text to *room and advances it. */
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
    copy->asker = keep(&room, question->asker);
    copy->client = keep(&room, question->client);
    copy->tool = keep(&room, question->tool);
    copy->action = keep(&room, question->action);
    copy->detail = keep(&room, question->detail);
    copy->folder = keep(&room, question->folder);
    copy->pattern = keep(&room, question->pattern);
    for (size_t i = 0; i < count; i++)
        resources[i] = (struct question_resource){
            .group = question->resources[i].group,
            .operation = question->resources[i].operation,
            .shown = keep(&room, question->resources[i].shown),
        };
    *out_copy = copy;
    return 0;
}

/* ---- showing ---- */

static int add_text(struct buf *out, struct str text, unsigned rule)
{
    int r = 0;

    while (text.len > 0 && r == 0) {
        char shown[PRINTABLE_BLANKS_BYTES];
        size_t len = printable_blanks(&text, true, shown);

        if (len == 0)
            len = printable_next(&text, rule, shown);
        r = buf_append(out, shown, len);
    }
    return r;
}

int question_add_line(struct buf *out, struct str text)
{
    return add_text(out, text, PRINTABLE_LINE);
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
            r = add_text(out, line, PRINTABLE_TABS);
        is_first = false;
    }
    return r;
}
