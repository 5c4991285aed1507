/* SPDX-License-Identifier: Apache-2.0 */
#include "asking/message.h"

#include "base/base64.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/jsonwrite.h"
#include "base/utf8.h"
#include "permission/modes.h"

enum { DEPTH = 8 };

static const char *const ends[] = {
    [QUESTION_QUEUE_ANSWERED_ELSEWHERE] = "answeredElsewhere",
    [QUESTION_QUEUE_CANCELLED] = "cancelled",
    [QUESTION_QUEUE_TIMED_OUT] = "timedOut",
};

/* ---- writing ---- */

/* Names and commands are bytes: what JSON cannot hold is sent as {"base64":…}. */
static void put_text(struct json_writer *json, struct str key, struct str text)
{
    cleanup_buf struct buf coded = BUF_INIT(2 * QUESTION_MAX_BYTES);

    json_key(json, key);
    if (utf8_is_valid(text) || base64_append(&coded, text) < 0) {
        json_write_str_lossy(json, text);
        return;
    }
    json_begin_object(json);
    json_put_str(json, STR("base64"), buf_view(&coded));
    json_end_object(json);
}

static void put_resources(struct json_writer *json, const struct question *question)
{
    json_key(json, STR("resources"));
    json_begin_array(json);
    for (size_t i = 0; i < question->resource_count; i++) {
        const struct question_resource *resource = &question->resources[i];

        json_begin_object(json);
        put_text(json, STR("name"), resource->shown);
        json_put_str(json, STR("group"), str_from(catalog_group_name(resource->group)));
        json_put_str(json, STR("operation"),
                     str_from(permission_operation_name(resource->operation)));
        json_end_object(json);
    }
    json_end_array(json);
}

static int finish(struct json_writer *json, struct buf *out)
{
    int r;

    json_end_object(json);
    r = json_writer_finish(json);
    return r == 0 ? buf_append_char(out, '\n') : r;
}

int asking_write_hello(struct str asker, struct buf *out)
{
    struct json_writer json;

    json_writer_init(&json, out);
    json_begin_object(&json);
    put_text(&json, STR("asker"), asker);
    return finish(&json, out);
}

int asking_write_question(uint64_t id, struct str asker, const struct question *question,
                          struct buf *out)
{
    struct json_writer json;

    json_writer_init(&json, out);
    json_begin_object(&json);
    json_put_int(&json, STR("ask"), (int64_t)id);
    put_text(&json, STR("asker"), asker);
    put_text(&json, STR("client"), question->client);
    put_text(&json, STR("tool"), question->tool);
    json_put_str(&json, STR("group"), str_from(catalog_group_name(question->group)));
    put_text(&json, STR("action"), question->action);
    put_text(&json, STR("detail"), question->detail);
    json_put_bool(&json, STR("isDiff"), question->is_diff);
    json_put_bool(&json, STR("deletes"), question->deletes);
    json_put_bool(&json, STR("isFolder"), question->is_folder);
    json_key(&json, STR("choices"));
    json_begin_array(&json);
    for (enum permission_choice choice = 0; choice < CHOICES; choice++)
        if ((question->choices & 1U << choice) != 0)
            json_write_str(&json, str_from(permission_choice_name(choice)));
    json_end_array(&json);
    put_text(&json, STR("folder"), question->folder);
    put_text(&json, STR("pattern"), question->pattern);
    put_resources(&json, question);
    return finish(&json, out);
}

int asking_write_withdrawal(uint64_t id, enum question_queue_end end, struct buf *out)
{
    struct json_writer json;

    json_writer_init(&json, out);
    json_begin_object(&json);
    json_put_int(&json, STR("withdraw"), (int64_t)id);
    json_put_str(&json, STR("why"), str_from(ends[end]));
    return finish(&json, out);
}

int asking_write_answer(uint64_t id, enum permission_choice choice, struct buf *out)
{
    struct json_writer json;

    json_writer_init(&json, out);
    json_begin_object(&json);
    json_put_int(&json, STR("answer"), (int64_t)id);
    json_put_str(&json, STR("choice"), str_from(permission_choice_name(choice)));
    return finish(&json, out);
}

/* ---- reading ---- */

static bool get_text(struct arena *arena, const struct json_value *object, struct str key,
                     struct str *out_text)
{
    cleanup_buf struct buf plain = BUF_INIT(QUESTION_MAX_BYTES);
    const struct json_value *value = json_get(object, key);
    struct str coded;

    if (json_get_str(object, key, out_text))
        return true;
    return value != NULL && json_get_str(value, STR("base64"), &coded) &&
           base64_decode(&plain, coded) == 0 && arena_copy_str(arena, buf_view(&plain), out_text);
}

static bool get_group(const struct json_value *object, enum catalog_group *out_group)
{
    struct str name;

    if (!json_get_str(object, STR("group"), &name))
        return false;
    for (size_t i = 0; i < PERMISSION_GROUPS; i++)
        if (str_eq_c(name, catalog_group_name((enum catalog_group)i))) {
            *out_group = (enum catalog_group)i;
            return true;
        }
    return false;
}

static bool read_resources(struct arena *arena, const struct json_value *array,
                           struct question *question)
{
    struct question_resource *resources;

    if (array == NULL || array->type != JSON_ARRAY || array->size > QUESTION_MAX_RESOURCES)
        return false;
    resources = arena_alloc_array(arena, array->size, sizeof(*resources));
    if (resources == NULL)
        return false;
    question->resources = resources;
    json_each_item (item, array) {
        struct question_resource *resource = &resources[question->resource_count++];
        struct str operation;

        if (!get_text(arena, item, STR("name"), &resource->shown) ||
            !get_group(item, &resource->group) ||
            !json_get_str(item, STR("operation"), &operation) ||
            !permission_operation_from(operation, &resource->operation))
            return false;
    }
    return true;
}

static unsigned read_choices(const struct json_value *array)
{
    unsigned choices = 1U << CHOICE_DENY_ONCE;
    enum permission_choice choice;

    if (array != NULL)
        json_each_item (item, array)
            if (item->type == JSON_STRING && permission_choice_from(json_str(item), &choice))
                choices |= 1U << choice;
    return choices;
}

static int read_question(struct arena *arena, const struct json_value *object,
                         struct asking_message *message)
{
    struct question *question = &message->question;

    message->kind = ASKING_QUESTION;
    *question = (struct question){.choices = read_choices(json_get(object, STR("choices")))};
    if (!get_text(arena, object, STR("asker"), &question->asker) ||
        !get_text(arena, object, STR("client"), &question->client) ||
        !get_text(arena, object, STR("tool"), &question->tool) ||
        !get_group(object, &question->group) ||
        !get_text(arena, object, STR("action"), &question->action) ||
        !get_text(arena, object, STR("detail"), &question->detail) ||
        !get_text(arena, object, STR("folder"), &question->folder) ||
        !get_text(arena, object, STR("pattern"), &question->pattern) ||
        !json_get_bool(object, STR("isDiff"), &question->is_diff) ||
        !json_get_bool(object, STR("deletes"), &question->deletes) ||
        !read_resources(arena, json_get(object, STR("resources")), question))
        return ERR_INVALID_ARGUMENT;
    /* A program that runs since before an upgrade does not say it. */
    (void)json_get_bool(object, STR("isFolder"), &question->is_folder);
    return 0;
}

int asking_parse(struct arena *arena, struct str line, struct asking_message *out_message)
{
    const struct json_limits limits = {ASKING_QUESTION_BYTES, DEPTH};
    struct asking_message message = {.id = 0};
    const struct json_value *object;
    struct str word;
    size_t index;
    int64_t id = 1;
    int r = json_parse(arena, line, limits, &object, NULL);

    if (r < 0)
        return r;
    if (json_get_int(object, STR("ask"), &id)) {
        r = read_question(arena, object, &message);
    } else if (json_get_int(object, STR("withdraw"), &id) &&
               json_get_str(object, STR("why"), &word)) {
        index = str_index(word, ends, array_size(ends));
        message.kind = ASKING_WITHDRAWAL;
        message.end = index != SIZE_MAX ? (enum question_queue_end)index : QUESTION_QUEUE_CANCELLED;
    } else if (json_get_int(object, STR("answer"), &id) &&
               json_get_str(object, STR("choice"), &word) &&
               permission_choice_from(word, &message.choice)) {
        message.kind = ASKING_ANSWER;
    } else if (get_text(arena, object, STR("asker"), &message.asker)) {
        message.kind = ASKING_HELLO;
    } else {
        r = ERR_INVALID_ARGUMENT;
    }
    if (r < 0)
        return r;
    if (id <= 0)
        return ERR_INVALID_ARGUMENT;
    message.id = (uint64_t)id;
    *out_message = message;
    return 0;
}
