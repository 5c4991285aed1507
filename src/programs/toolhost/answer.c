/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/toolhost/answer.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/jsonwrite.h"
#include "files/consent.h"
#include "protocol/toolwire.h"

enum { MARK_BYTES = 17 };

static struct str access_name(enum catalog_access access)
{
    switch (access) {
    case CATALOG_READS:
        return STR("reads");
    case CATALOG_WRITES:
        return STR("writes");
    case CATALOG_DELETES:
        return STR("deletes");
    case CATALOG_LISTS:
        return STR("lists");
    case CATALOG_EXECUTES:
        return STR("executes");
    }
    return STR("unknown");
}

static void write_tools(struct json_writer *w, const struct toolbox *box)
{
    json_begin_array(w);
    for (size_t i = 0; i < catalog_tool_count; i++)
        if (toolbox_has(box, &catalog_tools[i]))
            json_write_str(w, catalog_tools[i].name);
    json_end_array(w);
}

static void write_walls(struct json_writer *w, const struct confine_report *report)
{
    json_begin_array(w);
    for (enum confine_wall wall = 0; wall < CONFINE_WALLS; wall++) {
        json_begin_object(w);
        json_key(w, STR("name"));
        json_write_str(w, str_from(confine_wall_name(wall)));
        json_key(w, STR("stands"));
        json_write_bool(w, report->walls[wall].is_up);
        json_key(w, STR("detail"));
        json_write_str_lossy(w, str_from(report->walls[wall].words));
        json_end_object(w);
    }
    json_end_array(w);
}

int answer_write_ready(const struct answer_ready *ready, struct buf *out)
{
    struct json_writer w;

    json_writer_init(&w, out);
    json_begin_object(&w);
    json_key(&w, STR("wire"));
    json_write_int(&w, TOOLWIRE_VERSION);
    json_key(&w, STR("version"));
    json_write_str(&w, STR(GATEHOUSE_VERSION));
    json_key(&w, STR("root"));
    json_write_str(&w, ready->root);
    json_key(&w, STR("tools"));
    write_tools(&w, ready->box);
    json_key(&w, STR("walls"));
    write_walls(&w, ready->walls);
    json_key(&w, STR("maxRequestBytes"));
    json_write_int(&w, (int64_t)ready->max_request_bytes);
    json_key(&w, STR("maxAnswerBytes"));
    json_write_int(&w, (int64_t)ready->max_answer_bytes);
    json_end_object(&w);
    return json_writer_finish(&w);
}

static void write_resources(struct json_writer *w, const struct tool_call *call)
{
    size_t count;
    const struct tool_resource *resources = tool_resources(call, &count);

    json_begin_array(w);
    for (size_t i = 0; i < count; i++) {
        json_begin_object(w);
        json_key(w, STR("access"));
        json_write_str(w, access_name(resources[i].access));
        json_key(w, STR("given"));
        json_write_str(w, resources[i].given);
        json_key(w, STR("resolved"));
        json_write_str(w, resources[i].resolved);
        json_end_object(w);
    }
    json_end_array(w);
}

static void write_consent(struct json_writer *w, const struct permission_resource *resources,
                          size_t count)
{
    json_begin_array(w);
    for (size_t i = 0; i < count; i++) {
        json_begin_object(w);
        json_key(w, STR("group"));
        json_write_str(w, str_from(catalog_group_name(resources[i].group)));
        json_key(w, STR("given"));
        json_write_str(w, resources[i].given);
        json_key(w, STR("resolved"));
        json_write_str(w, resources[i].resolved);
        json_key(w, STR("operation"));
        json_write_str(w, str_from(permission_operation_name(resources[i].operation)));
        json_end_object(w);
    }
    json_end_array(w);
}

int answer_write_prepared(const struct tool_call *call, const struct provider_subject *subject,
                          struct buf *out)
{
    struct json_writer w;
    char mark[MARK_BYTES];

    snprintf(mark, sizeof(mark), "%016" PRIx64, subject->mark);
    json_writer_init(&w, out);
    json_begin_object(&w);
    json_key(&w, STR("resources"));
    write_resources(&w, call);
    json_key(&w, STR("consent"));
    write_consent(&w, subject->resources, subject->count);
    json_key(&w, STR("mark"));
    json_write_str(&w, str_from(mark));
    json_key(&w, STR("deletes"));
    json_write_bool(&w, tool_deletes(call));
    json_key(&w, STR("isFolder"));
    json_write_bool(&w, tool_is_on_folder(call));
    json_end_object(&w);
    return json_writer_finish(&w);
}

int answer_write_previewed(const struct question *question, struct buf *out)
{
    struct json_writer w;

    json_writer_init(&w, out);
    json_begin_object(&w);
    json_key(&w, STR("action"));
    json_write_str(&w, question->action);
    json_key(&w, STR("detail"));
    json_write_str(&w, question->detail);
    json_key(&w, STR("isDiff"));
    json_write_bool(&w, question->is_diff);
    json_end_object(&w);
    return json_writer_finish(&w);
}
