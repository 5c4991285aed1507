/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/server/metrics.h"

#include <inttypes.h>
#include <malloc.h>
#include <sys/resource.h>

enum { FIRST_STATUS = 100, REFUSALS = 400 };

static const int64_t bounds_ms[METRICS_BUCKETS] = {1,   2,   5,    10,   25,    50,   100,
                                                   250, 500, 1000, 5000, 15000, 60000};

static const char *const outcomes[METRICS_OUTCOMES] = {
    [METRICS_OK] = "ok", [METRICS_ERROR] = "error", [METRICS_CANCELLED] = "cancelled"};

void metrics_count_call(struct metrics *metrics, enum metrics_outcome outcome, int64_t took_ms)
{
    size_t i = 0;

    while (i < METRICS_BUCKETS && took_ms > bounds_ms[i])
        i++;
    metrics->buckets[i]++;
    metrics->calls[outcome]++;
    metrics->call_ms += took_ms > 0 ? (uint64_t)took_ms : 0;
}

void metrics_count_request(struct metrics *metrics, const struct http_access *access)
{
    metrics->broken += access->status == 0 || !access->is_complete;
    metrics->sent_bytes += access->sent_bytes;
    if (access->status >= FIRST_STATUS && access->status < FIRST_STATUS + METRICS_STATUSES)
        metrics->statuses[access->status - FIRST_STATUS]++;
    if (str_starts_with(access->target, STR("/login")) && access->status != 0)
        metrics->logins[access->status < REFUSALS]++;
}

/* ---- the page ---- */

/* "# TYPE" needs its metric right below. */
static int write_one(struct buf *out, const char *type, const char *name, const char *help,
                     double value)
{
    return buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n%s %.15g\n", name, help, name, type, name,
                      value);
}

static int write_head(struct buf *out, const char *type, const char *name, const char *help)
{
    return buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static int write_calls(const struct metrics *metrics, struct buf *out)
{
    uint64_t count = 0;
    int r = write_head(out, "counter", "gatehouse_calls_total", "Calls of agents that have ended.");

    for (size_t i = 0; r == 0 && i < METRICS_OUTCOMES; i++)
        r = buf_printf(out, "gatehouse_calls_total{outcome=\"%s\"} %" PRIu64 "\n", outcomes[i],
                       metrics->calls[i]);
    if (r == 0)
        r = write_head(out, "histogram", "gatehouse_call_seconds",
                       "From an agent's call to its answer, the machine's work included.");
    for (size_t i = 0; r == 0 && i < METRICS_BUCKETS; i++) {
        count += metrics->buckets[i];
        r = buf_printf(out, "gatehouse_call_seconds_bucket{le=\"%g\"} %" PRIu64 "\n",
                       (double)bounds_ms[i] / 1e3, count);
    }
    count += metrics->buckets[METRICS_BUCKETS];
    if (r == 0)
        r = buf_printf(out,
                       "gatehouse_call_seconds_bucket{le=\"+Inf\"} %" PRIu64
                       "\ngatehouse_call_seconds_sum %.15g\ngatehouse_call_seconds_count %" PRIu64
                       "\n",
                       count, (double)metrics->call_ms / 1e3, count);
    return r;
}

static int write_requests(const struct metrics *metrics, struct buf *out)
{
    int r = write_head(out, "counter", "gatehouse_http_requests_total",
                       "Requests by the status of their answer; 401, 403, 413, 429 and 503 are "
                       "refusals.");

    for (size_t i = 0; r == 0 && i < METRICS_STATUSES; i++)
        if (metrics->statuses[i] > 0)
            r = buf_printf(out, "gatehouse_http_requests_total{status=\"%zu\"} %" PRIu64 "\n",
                           i + FIRST_STATUS, metrics->statuses[i]);
    if (r == 0)
        r = write_one(out, "counter", "gatehouse_http_broken_total",
                      "Requests whose client left before the whole answer was sent.",
                      (double)metrics->broken);
    if (r == 0)
        r = write_one(out, "counter", "gatehouse_http_sent_bytes_total", "Bytes of answers.",
                      (double)metrics->sent_bytes);
    if (r == 0)
        r = write_head(out, "counter", "gatehouse_logins_total", "Requests to log in.");
    if (r == 0)
        r = buf_printf(out,
                       "gatehouse_logins_total{outcome=\"ok\"} %" PRIu64
                       "\ngatehouse_logins_total{outcome=\"refused\"} %" PRIu64 "\n",
                       metrics->logins[1], metrics->logins[0]);
    return r;
}

static int write_machines(struct hubhttp *gateway, struct buf *out)
{
    struct hub_counts counts;
    int r;

    hub_count(hubhttp_hub(gateway), &counts);
    r = write_one(out, "gauge", "gatehouse_machines", "Machines that have a session.",
                  (double)counts.machines);
    if (r == 0)
        r = write_one(out, "gauge", "gatehouse_machines_connected",
                      "Machines that are connected, or are awaited after a lost stream.",
                      (double)counts.connected);
    if (r == 0)
        r = write_one(out, "gauge", "gatehouse_streams", "Open event streams of machines.",
                      (double)hubhttp_stream_count(gateway));
    if (r == 0)
        r = write_one(out, "gauge", "gatehouse_calls_waiting", "Calls that wait for a machine.",
                      (double)counts.calls);
    return r;
}

static double seconds_of(struct timeval time)
{
    return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

static int write_process(const struct metrics *metrics, struct buf *out)
{
    struct mallinfo2 heap = mallinfo2();
    struct rusage usage;
    int r;

    getrusage(RUSAGE_SELF, &usage);
    r = write_one(out, "counter", "process_cpu_seconds_total", "CPU time, user and system.",
                  seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime));
    if (r == 0)
        r = write_one(out, "gauge", "process_start_time_seconds", "When it started, since 1970.",
                      (double)metrics->started_wall_ms / 1e3);
    if (r == 0)
        r = write_one(out, "gauge", "gatehouse_heap_bytes", "Memory in use.",
                      (double)heap.uordblks + (double)heap.hblkhd);
    if (r == 0)
        r = write_one(out, "gauge", "gatehouse_peak_resident_bytes",
                      "The most memory that it has held.", (double)usage.ru_maxrss * 1024);
    if (r == 0)
        r = write_head(out, "gauge", "gatehouse_build_info", "The version.");
    if (r == 0)
        r = buf_printf(out, "gatehouse_build_info{version=\"%s\"} 1\n", GATEHOUSE_VERSION);
    return r;
}

int metrics_write(const struct metrics *metrics, struct hubhttp *gateway, struct buf *out)
{
    int r = write_calls(metrics, out);

    if (r == 0)
        r = write_requests(metrics, out);
    if (r == 0)
        r = write_machines(gateway, out);
    return r == 0 ? write_process(metrics, out) : r;
}
