/* SPDX-License-Identifier: Apache-2.0 */
/* What the daemon tells a server of ours without being asked: gathered, and sent in one request. */
#include "gateway/internal.h"

#include <stdlib.h>
#include <string.h>

struct report {
    struct list node;
    size_t key_len;
    size_t len;
    char bytes[]; /* the key, then the event */
};

static struct str key_of(const struct report *report)
{
    return (struct str){report->bytes, report->key_len};
}

static void free_report(struct gateway *gateway, struct report *report)
{
    list_remove(&report->node);
    gateway->report_count--;
    gateway->report_bytes -= report->len;
    free(report);
}

static void schedule(struct gateway *gateway, int64_t ms)
{
    if (gateway->reporting == NULL && !gateway->report_timer.is_started)
        timer_start(&gateway->report_timer, ms);
}

/* ---- sending ---- */

static void on_sent(void *data, const struct httpclient_result *result)
{
    struct gateway *gateway = data;
    int status = result->response != NULL ? result->response->status : 0;

    gateway->reporting = NULL;
    if (result->code == 0 && (status == 404 || status == 405))
        gateway->has_extensions = false; /* another server than before */
    if ((result->code < 0 || status >= 500) && gateway->report_tries < GATEWAY_MAX_TRIES) {
        buf_done(&gateway->report_body);
        gateway->report_body = *result->sent;
        buf_init(result->sent, 0);
        schedule(gateway, GATEWAY_RETRY_MS);
        return;
    }
    gateway->report_tries = 0;
    if (!gateway->has_extensions)
        gateway_reports_drop(gateway);
    else if (!list_is_empty(&gateway->reports))
        schedule(gateway, GATEWAY_REPORT_MS);
}

static const struct httpclient_events SENT = {.on_done = on_sent};

static int write_body(struct gateway *gateway, struct buf *body)
{
    int r = buf_append_str(body, STR("{\"events\":["));

    for (size_t i = 0; i < GATEWAY_REPORT_EVENTS && !list_is_empty(&gateway->reports); i++) {
        struct report *report = list_entry(gateway->reports.next, struct report, node);

        if (r == 0 && i > 0)
            r = buf_append_char(body, ',');
        if (r == 0)
            r = buf_append(body, report->bytes + report->key_len, report->len);
        free_report(gateway, report);
    }
    return r == 0 ? buf_append_str(body, STR("]}")) : r;
}

static void on_report_time(void *data)
{
    struct gateway *gateway = data;
    /* They are sent again after a failure anyway, so a kept connection may be tried as well. */
    const struct gateway_post request = {.endpoint = STR("extension"),
                                         .body = &gateway->report_body,
                                         .may_repeat = true,
                                         .whole_ms = GATEWAY_ANSWER_MS};
    int r = 0;

    timer_stop(&gateway->report_timer);
    if (gateway->report_body.len == 0) {
        buf_done(&gateway->report_body);
        buf_init(&gateway->report_body, GATEWAY_MAX_ANSWER_BYTES);
        r = write_body(gateway, &gateway->report_body);
    }
    if (r == 0)
        r = gateway_post(gateway, &request, &SENT, gateway, &gateway->reporting, NULL);
    if (r == 0)
        gateway->report_tries++;
    else
        buf_clear(&gateway->report_body); /* answers have the connections: these are lost */
}

/* ---- gathering ---- */

static struct report *find(struct gateway *gateway, struct str key)
{
    if (key.len > 0)
        list_each (node, &gateway->reports) {
            struct report *report = list_entry(node, struct report, node);

            if (str_eq(key_of(report), key))
                return report;
        }
    return NULL;
}

int gateway_report(struct gateway *gateway, const struct gateway_report *given)
{
    struct report *old = find(gateway, given->key);
    size_t share = given->is_vital ? 2 : 1; /* others leave room for those */
    struct report *report;

    if (!gateway->has_extensions || gateway->key.len == 0)
        return ERR_UNSUPPORTED;
    if (old != NULL)
        free_report(gateway, old);
    if (gateway->report_count >= share * GATEWAY_MAX_REPORTS ||
        gateway->report_bytes + given->event.len > share * GATEWAY_MAX_REPORT_BYTES)
        return ERR_BUSY;
    report = malloc(sizeof(*report) + given->key.len + given->event.len);
    if (report == NULL)
        return ERR_NO_MEMORY;
    *report = (struct report){.key_len = given->key.len, .len = given->event.len};
    if (given->key.len > 0)
        memcpy(report->bytes, given->key.ptr, given->key.len);
    memcpy(report->bytes + given->key.len, given->event.ptr, given->event.len);
    list_append(&gateway->reports, &report->node);
    gateway->report_count++;
    gateway->report_bytes += report->len;
    schedule(gateway, given->is_vital ? 0 : GATEWAY_REPORT_MS);
    return 0;
}

void gateway_reports_init(struct gateway *gateway)
{
    list_init(&gateway->reports);
    timer_init(&gateway->report_timer, gateway->config.loop, on_report_time, gateway);
    buf_init(&gateway->report_body, GATEWAY_MAX_ANSWER_BYTES);
}

void gateway_reports_drop(struct gateway *gateway)
{
    timer_stop(&gateway->report_timer);
    httpclient_cancel(gateway->reporting);
    gateway->reporting = NULL;
    gateway->report_tries = 0;
    buf_done(&gateway->report_body);
    buf_init(&gateway->report_body, GATEWAY_MAX_ANSWER_BYTES);
    while (!list_is_empty(&gateway->reports))
        free_report(gateway, list_entry(gateway->reports.next, struct report, node));
}
