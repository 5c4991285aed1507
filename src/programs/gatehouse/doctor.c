/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/gatehouse/doctor.h"

#include "base/jsonwrite.h"
#include "base/options/help.h"
#include "programs/gatehouse/probe.h"

#define COLOUR_GREEN  "\033[32m"
#define COLOUR_YELLOW "\033[33m"
#define COLOUR_RED    "\033[31m"
#define COLOUR_OFF    "\033[0m"

/* Columns of a line: "  ok       Kernel           text", "           for: text". */
enum { TITLE_INDENT = 11, LABEL = 5, INDENT = 28 };

static const char *colour_of(enum probe_status status)
{
    switch (status) {
    case PROBE_OK:
        return COLOUR_GREEN;
    case PROBE_LIMITED:
        return COLOUR_YELLOW;
    case PROBE_MISSING:
        return COLOUR_RED;
    }
    return "";
}

/* Continues in the line, which has INDENT columns already. */
static int put_text(const char *text, size_t width, struct buf *out)
{
    return options_wrap(str_from(text), INDENT, INDENT, width, out);
}

static int put_lack(const struct probe *probe, size_t width, struct buf *out)
{
    int r = buf_printf(out, "%*sfor: ", TITLE_INDENT, "");

    if (r == 0)
        r = options_wrap(str_from(probe->purpose), TITLE_INDENT + LABEL, TITLE_INDENT + LABEL,
                         width, out);
    if (r == 0)
        r = buf_printf(out, "%*snow: ", TITLE_INDENT, "");
    return r < 0 ? r
                 : options_wrap(str_from(probe->lack), TITLE_INDENT + LABEL, TITLE_INDENT + LABEL,
                                width, out);
}

int doctor_tell(bool use_colour, size_t width, struct buf *out)
{
    unsigned lacking = 0;
    int r = buf_printf(out, "gatehouse %s: what this machine supports\n\n", GATEHOUSE_VERSION);

    for (size_t i = 0; i < probe_count && r == 0; i++) {
        struct probe_finding finding = {0};

        probes[i].run(&finding);
        r = buf_printf(out, "  %s%-8s%s %-16s ", use_colour ? colour_of(finding.status) : "",
                       probe_status_name(finding.status), use_colour ? COLOUR_OFF : "",
                       probes[i].title);
        if (r == 0)
            r = put_text(finding.detail, width, out);
        if (r < 0 || finding.status == PROBE_OK)
            continue;
        lacking++;
        r = put_lack(&probes[i], width, out);
    }
    if (r < 0)
        return r;
    if (lacking == 0)
        return buf_printf(out, "\nNothing is missing.\n");
    return buf_printf(out, "\n%u of %zu are limited or missing.\n", lacking, probe_count);
}

int doctor_tell_json(struct buf *out)
{
    struct json_writer w;
    int r;

    json_writer_init(&w, out);
    json_writer_set_pretty(&w);
    json_begin_object(&w);
    json_key(&w, STR("version"));
    json_write_str(&w, STR(GATEHOUSE_VERSION));
    json_key(&w, STR("findings"));
    json_begin_array(&w);
    for (size_t i = 0; i < probe_count; i++) {
        struct probe_finding finding = {0};

        probes[i].run(&finding);
        json_begin_object(&w);
        json_key(&w, STR("id"));
        json_write_str(&w, str_from(probes[i].id));
        json_key(&w, STR("status"));
        json_write_str(&w, str_from(probe_status_name(finding.status)));
        json_key(&w, STR("detail"));
        /* A path or a variable of the user's may be any bytes. */
        json_write_str_lossy(&w, str_from(finding.detail));
        json_key(&w, STR("purpose"));
        json_write_str(&w, str_from(probes[i].purpose));
        if (finding.status != PROBE_OK) {
            json_key(&w, STR("lack"));
            json_write_str(&w, str_from(probes[i].lack));
        }
        json_end_object(&w);
    }
    json_end_array(&w);
    json_end_object(&w);
    r = json_writer_finish(&w);
    return r < 0 ? r : buf_append_char(out, '\n');
}
