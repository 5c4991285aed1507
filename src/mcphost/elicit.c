/* SPDX-License-Identifier: Apache-2.0 */
#include "mcphost/elicit.h"

#include "base/jsonwrite.h"

enum {
    MESSAGE_BYTES = 1 << 20,
    /* Clients show it in a box, some to its end only. */
    DETAIL_BYTES = 8 << 10,
};

/*
 * The words are the values: a client that shows no titles shows these. They are the only
 * restricted schema that every revision of MCP knows.
 */
static const struct str words[CHOICES] = {
    [CHOICE_DENY_ONCE] = STR_LITERAL("Deny once"),
    [CHOICE_ALLOW_ONCE] = STR_LITERAL("Allow once"),
    [CHOICE_ALLOW_SESSION] = STR_LITERAL("Allow for this session"),
    [CHOICE_ALWAYS_ALLOW] = STR_LITERAL("Always allow"),
    [CHOICE_ALWAYS_DENY] = STR_LITERAL("Always deny"),
};

/* Cut at a line's end, and said so. */
static int write_detail(struct str detail, struct buf *out)
{
    struct str shown = str_slice(detail, 0, DETAIL_BYTES);
    int r;

    if (detail.len == 0)
        return 0;
    while (shown.len < detail.len && shown.len > 0 && shown.ptr[shown.len - 1] != '\n')
        shown.len--;
    if (shown.len == 0)
        shown = str_slice(detail, 0, DETAIL_BYTES);
    r = buf_append_str(out, STR("\n\n"));
    if (r == 0)
        r = question_add_lines(out, shown);
    if (r == 0 && shown.len < detail.len)
        r = buf_printf(out, "\n(%zu more bytes are not shown)", detail.len - shown.len);
    return r;
}

static int write_message(const struct question *question, struct buf *out)
{
    int r = buf_printf(out, "%.*s (%s): ", STR_ARG(question->tool),
                       catalog_group_name(question->group));

    if (r == 0)
        r = question_add_line(out, question->action);
    for (size_t i = 0; i < question->resource_count && r == 0; i++) {
        r = buf_append_str(out, STR("\n- "));
        if (r == 0)
            r = question_add_line(out, question->resources[i].shown);
    }
    return r == 0 ? write_detail(question->detail, out) : r;
}

static void write_schema(struct json_writer *json, const struct question *question)
{
    json_begin_object(json);
    json_key(json, STR("type"));
    json_write_str(json, STR("object"));
    json_key(json, STR("properties"));
    json_begin_object(json);
    json_key(json, STR("decision"));
    json_begin_object(json);
    json_key(json, STR("type"));
    json_write_str(json, STR("string"));
    json_key(json, STR("title"));
    json_write_str(json, STR("Decision"));
    json_key(json, STR("enum"));
    json_begin_array(json);
    for (enum permission_choice choice = 0; choice < CHOICES; choice++)
        if ((question->choices & 1U << choice) != 0)
            json_write_str(json, words[choice]);
    json_end_array(json);
    json_key(json, STR("default"));
    json_write_str(json, words[CHOICE_DENY_ONCE]);
    json_end_object(json);
    json_end_object(json);
    json_key(json, STR("required"));
    json_begin_array(json);
    json_write_str(json, STR("decision"));
    json_end_array(json);
    json_end_object(json);
}

int elicit_write(const struct question *question, struct buf *out)
{
    cleanup_buf struct buf message = BUF_INIT(MESSAGE_BYTES);
    struct json_writer json;
    int r = write_message(question, &message);

    if (r < 0)
        return r;
    json_writer_init(&json, out);
    json_begin_object(&json);
    json_key(&json, STR("message"));
    json_write_str_lossy(&json, buf_view(&message));
    json_key(&json, STR("requestedSchema"));
    write_schema(&json, question);
    json_end_object(&json);
    return json_writer_finish(&json);
}

enum permission_choice elicit_read(const struct mcp_call *call, unsigned choices)
{
    struct mcp_answer answer = mcp_call_answer(call, ELICIT_KEY);
    struct str word;

    if (answer.status != MCP_ACCEPTED || !json_get_str(answer.content, STR("decision"), &word))
        return CHOICE_DENY_ONCE;
    for (enum permission_choice choice = 0; choice < CHOICES; choice++)
        if ((choices & 1U << choice) != 0 && str_eq(word, words[choice]))
            return choice;
    return CHOICE_DENY_ONCE;
}
