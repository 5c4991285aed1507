/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/connect/report.h"

#include "base/clock.h"
#include "base/jsonwrite.h"

static void write_dir(struct json_writer *writer, const struct report *report)
{
    json_put_str_lossy(writer, STR("dir"), report->dir);
}

static void write_connected(struct json_writer *writer, const struct report *report)
{
    json_put_bool(writer, STR("connected"), report->is_connected);
}

int report_health(const struct report *report, struct buf *out)
{
    struct json_writer writer;

    json_writer_init(&writer, out);
    json_begin_object(&writer);
    json_put_str(&writer, STR("status"), STR("ok"));
    write_dir(&writer, report);
    write_connected(&writer, report);
    json_end_object(&writer);
    return json_writer_finish(&writer);
}

static void write_text(struct json_writer *writer, struct str name, struct str text)
{
    json_key(writer, name);
    if (text.len > 0)
        json_write_str_lossy(writer, text);
    else
        json_write_null(writer);
}

static void write_status(struct json_writer *writer, const struct report *report)
{
    char time[CLOCK_ISO_BYTES] = "";

    if (report->is_connected)
        clock_format_iso(report->connected_wall_ms, time);
    write_connected(writer, report);
    write_dir(writer, report);
    write_text(writer, STR("connectedAt"), str_from(time));
    write_text(writer, STR("url"), report->is_connected ? report->url : STR_EMPTY);
}

int report_status(const struct report *report, struct buf *out)
{
    struct json_writer writer;

    json_writer_init(&writer, out);
    json_begin_object(&writer);
    write_status(&writer, report);
    json_end_object(&writer);
    return json_writer_finish(&writer);
}

static struct str state_name(enum report_state state)
{
    switch (state) {
    case REPORT_IDLE:
        return STR("idle");
    case REPORT_ASKING:
        return STR("asking");
    case REPORT_CONNECTING:
        return STR("connecting");
    case REPORT_CONNECTED:
        return STR("connected");
    case REPORT_RECONNECTING:
        return STR("reconnecting");
    case REPORT_REFUSED:
        return STR("refused");
    case REPORT_LEAVING:
        return STR("leaving");
    }
    return STR_EMPTY;
}

static void write_others(struct json_writer *writer, const struct report *report)
{
    if (report->other_count == 0)
        return;
    json_key(writer, STR("otherFolders"));
    json_begin_array(writer);
    for (size_t i = 0; i < report->other_count; i++) {
        json_begin_object(writer);
        json_put_str_lossy(writer, STR("path"), report->others[i].path);
        json_put_str(writer, STR("access"),
                     report->others[i].may_write ? STR("write") : STR("read"));
        json_end_object(writer);
    }
    json_end_array(writer);
}

static void write_globs(struct json_writer *writer, struct str name, const char *const *globs)
{
    if (globs == NULL || globs[0] == NULL)
        return;
    json_key(writer, name);
    json_begin_array(writer);
    for (; *globs != NULL; globs++)
        json_write_str(writer, str_from(*globs));
    json_end_array(writer);
}

int report_whole(const struct report *report, struct buf *out)
{
    struct json_writer writer;

    json_writer_init(&writer, out);
    json_begin_object(&writer);
    write_status(&writer, report);
    write_others(&writer, report);
    write_globs(&writer, STR("denied"), report->denied);
    write_globs(&writer, STR("allowed"), report->allowed);
    write_text(&writer, STR("state"), state_name(report->state));
    write_text(&writer, STR("server"), report->url);
    write_text(&writer, STR("reason"), str_from(report->why));
    json_put_str(&writer, STR("command"), report->is_of_up ? STR("up") : STR("connect"));
    json_end_object(&writer);
    return json_writer_finish(&writer);
}

int report_connected(const struct report *report, struct buf *out)
{
    struct json_writer writer;

    json_writer_init(&writer, out);
    json_begin_object(&writer);
    json_put_str(&writer, STR("status"), STR("connected"));
    write_dir(&writer, report);
    json_end_object(&writer);
    return json_writer_finish(&writer);
}
