/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/server/machinequestion.h"

enum { QUESTION_BYTES = 128 << 10 };

#define CONFIRMATION_PREFIX "GATEWAY_CONFIRMATION_REQUIRED::"

const struct machine_choice machine_choices[MACHINE_CHOICES] = {
    {STR_LITERAL("denyOnce"), STR_LITERAL("Deny once")},
    {STR_LITERAL("allowOnce"), STR_LITERAL("Allow once")},
    {STR_LITERAL("allowForSession"), STR_LITERAL("Allow for this session")},
    {STR_LITERAL("alwaysAllow"), STR_LITERAL("Always allow")},
    {STR_LITERAL("alwaysDeny"), STR_LITERAL("Always deny")},
};

/* The text of an error, wherever the machine put it. */
static struct str error_text(struct arena *arena, const struct json_value *result)
{
    const struct json_limits limits = {QUESTION_BYTES, JSON_DEFAULT_MAX_DEPTH};
    const struct json_value *structured = json_get(result, STR("structuredContent"));
    const struct json_value *content = json_get(result, STR("content"));
    const struct json_value *object;
    struct str text = STR_EMPTY;
    bool is_error = false;

    if (!json_get_bool(result, STR("isError"), &is_error) || !is_error)
        return STR_EMPTY;
    if (structured != NULL && json_get_str(structured, STR("error"), &text))
        return text;
    if (content != NULL)
        json_each_item (block, content) {
            if (json_get_str(block, STR("text"), &text))
                break;
        }
    if (json_parse(arena, text, limits, &object, NULL) == 0)
        json_get_str(object, STR("error"), &text);
    return text;
}

void machinequestion_read_members(const struct json_value *object, struct machine_question *out)
{
    const struct json_value *options = json_get(object, STR("options"));

    *out = (struct machine_question){
        .description = STR_EMPTY, .resource = STR_EMPTY, .group = STR_EMPTY};
    json_get_str(object, STR("description"), &out->description);
    json_get_str(object, STR("resource"), &out->resource);
    json_get_str(object, STR("toolGroup"), &out->group);
    if (options != NULL)
        json_each_item (option, options)
            for (size_t i = 0; i < MACHINE_CHOICES; i++)
                if (option->type == JSON_STRING &&
                    str_eq(json_str(option), machine_choices[i].name))
                    out->choices |= 1U << i;
}

bool machinequestion_read(struct arena *arena, const struct json_value *result,
                          struct machine_question *out)
{
    const struct json_limits limits = {QUESTION_BYTES, JSON_DEFAULT_MAX_DEPTH};
    const struct str prefix = STR(CONFIRMATION_PREFIX);
    struct str text = error_text(arena, result);
    const struct json_value *object;
    char *copy;

    if (!str_starts_with(text, prefix))
        return false;
    text = str_slice(text, prefix.len, text.len);
    copy = arena_copy(arena, text);
    *out = (struct machine_question){
        .description = STR_EMPTY, .resource = STR_EMPTY, .group = STR_EMPTY};
    if (copy == NULL || json_parse(arena, (struct str){copy, text.len}, limits, &object, NULL) < 0)
        return true; /* a question that nobody can be asked */
    machinequestion_read_members(object, out);
    return true;
}
