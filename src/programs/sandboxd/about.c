/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/sandboxd/about.h"

#include "programs/sandboxd/service.h"

enum { METRICS_BYTES = 16 << 10 };

void about_health(const struct api_call *call)
{
    if (call->service->config.keeper == NULL)
        call_fail(call->exchange, 503, "the service cannot start sandboxes now");
    else
        call_answer_json(call->exchange, 200, STR("{\"status\":\"ok\"}"));
}

void about_metrics(const struct api_call *call)
{
    cleanup_buf struct buf out = BUF_INIT(METRICS_BYTES);
    const struct service *service = call->service;
    struct room_space space = {0};
    struct str body;
    size_t running = 0;

    list_each (node, &service->order)
        if (list_entry(node, struct sandbox, node)->state == SANDBOX_RUNNING)
            running++;
    if (service->config.keeper != NULL)
        room_keeper_space(service->config.keeper, &space);
    if (buf_printf(&out,
                   "# HELP gatehouse_sandboxes Sandboxes that exist.\n"
                   "# TYPE gatehouse_sandboxes gauge\n"
                   "gatehouse_sandboxes{status=\"running\"} %zu\n"
                   "gatehouse_sandboxes{status=\"stopped\"} %zu\n"
                   "# HELP gatehouse_sandboxes_created_total Sandboxes created since the start.\n"
                   "# TYPE gatehouse_sandboxes_created_total counter\n"
                   "gatehouse_sandboxes_created_total %llu\n"
                   "# HELP gatehouse_executions_total Commands run since the start.\n"
                   "# TYPE gatehouse_executions_total counter\n"
                   "gatehouse_executions_total %llu\n"
                   "# HELP gatehouse_refused_connections_total Connections that network policies "
                   "refused.\n"
                   "# TYPE gatehouse_refused_connections_total counter\n"
                   "gatehouse_refused_connections_total %llu\n"
                   "# HELP gatehouse_ended_for_space_total Sandboxes that were ended because the "
                   "disk was nearly full.\n"
                   "# TYPE gatehouse_ended_for_space_total counter\n"
                   "gatehouse_ended_for_space_total %llu\n"
                   "# HELP gatehouse_disk_free_bytes What is free on the disk of the sandboxes.\n"
                   "# TYPE gatehouse_disk_free_bytes gauge\n"
                   "gatehouse_disk_free_bytes %llu\n"
                   "# HELP gatehouse_disk_keep_free_bytes What has to stay free there.\n"
                   "# TYPE gatehouse_disk_keep_free_bytes gauge\n"
                   "gatehouse_disk_keep_free_bytes %llu\n"
                   "# HELP gatehouse_executions_kept Executions whose events are kept.\n"
                   "# TYPE gatehouse_executions_kept gauge\n"
                   "gatehouse_executions_kept %zu\n"
                   "# HELP gatehouse_history_bytes Output that is kept.\n"
                   "# TYPE gatehouse_history_bytes gauge\n"
                   "gatehouse_history_bytes %zu\n",
                   running, service->sandboxes.count - running,
                   (unsigned long long)service->created, (unsigned long long)service->executed,
                   (unsigned long long)service->refused,
                   (unsigned long long)service->ended_for_space,
                   (unsigned long long)space.free_bytes, (unsigned long long)space.floor_bytes,
                   service->executions.count, service->history_bytes) < 0) {
        call_fail(call->exchange, 503, err_text(ERR_NO_MEMORY));
        return;
    }
    body = buf_view(&out);
    exchange_answer(call->exchange,
                    &(struct http_answer){.status = 200,
                                          .type = STR("text/plain; version=0.0.4; charset=utf-8"),
                                          .parts = &body,
                                          .part_count = 1});
}

void about_capabilities(const struct api_call *call)
{
    cleanup_buf struct buf out = BUF_INIT(CALL_MAX_ANSWER_BYTES);
    const struct room_abilities *has;
    struct json_writer json;
    struct room_space space;

    if (call->service->config.keeper == NULL) {
        call_fail(call->exchange, 503, "the service cannot start sandboxes now");
        return;
    }
    has = room_keeper_abilities(call->service->config.keeper);
    json_writer_init(&json, &out);
    json_begin_object(&json);
    json_put_str(&json, STR("provider"), STR("isolated"));
    json_put_str(&json, STR("version"), STR(GATEHOUSE_VERSION));
    json_put_bool(&json, STR("degraded"), has->is_degraded);
    json_put_str_lossy(&json, STR("weaker"), str_from(has->words));
    json_put_str(&json, STR("user_ids"),
                 has->ids == ROOM_IDS_RANGE    ? STR("range")
                 : has->ids == ROOM_IDS_SHARED ? STR("shared")
                                               : STR("single"));
    json_put_bool(&json, STR("root"), has->is_root);
    json_put_bool(&json, STR("overlay"), has->has_overlay);
    json_put_bool(&json, STR("landlock"), has->has_landlock);
    json_put_bool(&json, STR("cgroups"), has->has_cgroups);
    json_put_bool(&json, STR("cpu_limited"), has->limits_cpu);
    json_put_bool(&json, STR("disk_images"), has->has_disk_images);
    json_put_int(&json, STR("disk_limit_bytes"), (int64_t)call->service->config.disk_bytes);
    room_keeper_space(call->service->config.keeper, &space);
    json_put_int(&json, STR("keep_free_bytes"), (int64_t)space.floor_bytes);
    json_put_bool(&json, STR("files_in_memory"), call->service->config.is_in_memory);
    json_put_str(&json, STR("network"), STR("none"));
    json_put_bool(&json, STR("allowed_ips"), has->has_listed_network);
    json_put_bool(&json, STR("allowed_domains"), call->service->config.web != NULL);
    json_put_int(&json, STR("max_sandboxes"), call->service->config.max_sandboxes);
    json_end_object(&json);
    call_answer_written(call->exchange, 200, &json, &out);
}
