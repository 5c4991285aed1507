/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/mcp/elicit.h"

#include <string.h>

#include "base/err.h"
#include "base/utf8.h"

enum {
    MESSAGE_BYTES = 1 << 20,
    /* Clients show it in a box. */
    DETAIL_BYTES = 8 << 10,
};

/*
 * The texts are the values: a client that shows no titles shows these. They are the only restricted
 * schema that every revision of MCP has.
 */
/* The wider choices are for terminals: their words would not be fixed. */
static const struct str words[CHOICES] = {
    [CHOICE_DENY_ONCE] = STR_LITERAL("Deny once"),
    [CHOICE_ALLOW_ONCE] = STR_LITERAL("Allow once"),
    [CHOICE_ALLOW_SESSION] = STR_LITERAL("Allow for this session"),
    [CHOICE_ALWAYS_ALLOW] = STR_LITERAL("Always allow"),
    [CHOICE_ALWAYS_DENY] = STR_LITERAL("Always deny"),
};

/* The saved rule names the command and no folder, unlike what is shown. */
static struct str word_of(enum permission_choice choice, bool is_command)
{
    if (is_command && choice == CHOICE_ALWAYS_ALLOW)
        return STR("Always allow, in any folder");
    if (is_command && choice == CHOICE_ALWAYS_DENY)
        return STR("Always deny, in any folder");
    return words[choice];
}

/* Cuts at the end of a line, if there is one near. */
static struct str head_of(struct str detail)
{
    struct str head = str_slice(detail, 0, DETAIL_BYTES / 2);
    size_t len = head.len;

    while (len > 0 && head.ptr[len - 1] != '\n')
        len--;
    return len > 0 ? str_slice(head, 0, len) : utf8_cut(head, head.len);
}

static struct str tail_of(struct str detail)
{
    struct str tail = str_slice(detail, detail.len - DETAIL_BYTES / 2, detail.len);
    const char *end = memchr(tail.ptr, '\n', tail.len - 1);

    if (end != NULL)
        return str_slice(tail, (size_t)(end - tail.ptr) + 1, tail.len);
    while (tail.len > 0 && ((unsigned char)tail.ptr[0] & 0xC0) == 0x80)
        tail = str_slice(tail, 1, tail.len);
    return tail;
}

/*
 * Shows both ends of a long text, and says so. What is run or typed is shown whole: its middle may
 * be what matters, and if it is too long for that, nobody is asked.
 */
static int write_detail(const struct question *question, struct buf *out)
{
    struct str detail = question->detail;
    struct str head;
    struct str tail;
    int r;

    if (detail.len == 0)
        return 0;
    r = buf_append_str(out, STR("\n\n"));
    if (r < 0)
        return r;
    if (question->group == CATALOG_SHELL || detail.len <= DETAIL_BYTES)
        return question_add_lines(out, detail);
    head = head_of(detail);
    tail = tail_of(detail);
    r = question_add_lines(out, head);
    if (r == 0)
        r = buf_printf(out, "\n(%zu bytes omitted)\n", detail.len - head.len - tail.len);
    return r == 0 ? question_add_lines(out, tail) : r;
}

static int write_message(const struct question *question, struct buf *out)
{
    int r = buf_printf(out, "%.*s (%s): ", STR_ARG(question->tool),
                       catalog_group_name(question->group));

    if (r == 0)
        r = question_add_line(out, question->action);
    for (size_t i = 0; i < question->resource_count && r == 0; i++) {
        if (question_first_of(question, i) != i)
            continue;
        r = buf_append_str(out, STR("\n- "));
        if (r == 0)
            r = question_add_operations(question, i, out);
        if (r == 0 && question->resources[i].operation != PERMISSION_USES)
            r = buf_append_str(out, STR(": "));
        if (r == 0)
            r = question_add_line(out, question->resources[i].shown);
    }
    return r == 0 ? write_detail(question, out) : r;
}

int elicit_write(const struct question *question, struct buf *out)
{
    cleanup_buf struct buf message = BUF_INIT(MESSAGE_BYTES);
    struct mcp_form form = {.standard = words[CHOICE_DENY_ONCE]};
    struct str offered[CHOICES];
    int r = write_message(question, &message);

    if (r < 0)
        return r;
    for (enum permission_choice choice = 0; choice < CHOICES; choice++)
        if ((question->choices & 1U << choice) != 0)
            offered[form.word_count++] = word_of(choice, question->group == CATALOG_SHELL);
    form.message = buf_view(&message);
    form.words = offered;
    return mcp_form_write(&form, out);
}

enum permission_choice elicit_read(const struct mcp_call *call, unsigned choices)
{
    struct mcp_answer answer = mcp_call_answer(call, ELICIT_KEY);
    struct str word;

    if (answer.status != MCP_ACCEPTED || !json_get_str(answer.content, STR("decision"), &word))
        return CHOICE_DENY_ONCE;
    for (enum permission_choice choice = 0; choice < CHOICES; choice++)
        if ((choices & 1U << choice) != 0 &&
            (str_eq(word, words[choice]) || str_eq(word, word_of(choice, true))))
            return choice;
    return CHOICE_DENY_ONCE;
}

bool elicit_is_late(const struct mcp_call *call)
{
    struct mcp_answer answer = mcp_call_answer(call, ELICIT_KEY);

    return answer.status == MCP_FAILED && answer.error == ERR_TIMED_OUT;
}
