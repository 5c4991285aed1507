/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/report.h"

#include "base/clock.h"
#include "base/jsonwrite.h"

static void write_dir(struct json_writer *writer, const struct report *report)
{
    json_key(writer, STR("dir"));
    json_write_str_lossy(writer, report->dir);
}

static void write_connected(struct json_writer *writer, const struct report *report)
{
    json_key(writer, STR("connected"));
    json_write_bool(writer, report->is_connected);
}

int report_health(const struct report *report, struct buf *out)
{
    struct json_writer writer;

    json_writer_init(&writer, out);
    json_begin_object(&writer);
    json_key(&writer, STR("status"));
    json_write_str(&writer, STR("ok"));
    write_dir(&writer, report);
    write_connected(&writer, report);
    json_end_object(&writer);
    return json_writer_finish(&writer);
}

int report_status(const struct report *report, struct buf *out)
{
    char time[CLOCK_ISO_BYTES];
    struct json_writer writer;

    json_writer_init(&writer, out);
    json_begin_object(&writer);
    write_connected(&writer, report);
    write_dir(&writer, report);
    json_key(&writer, STR("connectedAt"));
    if (report->is_connected) {
        clock_format_iso(report->connected_wall_ms, time);
        json_write_str(&writer, str_from(time));
    } else {
        json_write_null(&writer);
    }
    json_key(&writer, STR("url"));
    if (report->is_connected)
        json_write_str_lossy(&writer, report->url);
    else
        json_write_null(&writer);
    json_end_object(&writer);
    return json_writer_finish(&writer);
}

int report_connected(const struct report *report, struct buf *out)
{
    struct json_writer writer;

    json_writer_init(&writer, out);
    json_begin_object(&writer);
    json_key(&writer, STR("status"));
    json_write_str(&writer, STR("connected"));
    write_dir(&writer, report);
    json_end_object(&writer);
    return json_writer_finish(&writer);
}
