/* SPDX-License-Identifier: Apache-2.0 */
#include "report/report.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/sha256.h"
#include "base/utf8.h"
#include "gatehouse/audit.h"
#include "protocol/catalog.h"
#include "report/report_internal.h"

enum {
    OTHER_BYTES = 1 << 20, /* of the page: the list of files, the style sheet */
    CALL_BYTES = 512 << 10,
    MAX_PENDING = 64, /* changes whose end was not met yet */
    MAX_CLIENTS = 8,
    SMALL_TEXT_BYTES = 96,
    FILE_NAME_BYTES = 256,
};

/* A change or a command that has begun. */
struct pending {
    char call[24];
    char operation[24];
    int64_t ms;
    size_t len;
    char name[PATH_MAX];
};

struct changed_file {
    char name[FILE_NAME_BYTES];
    uint64_t added;
    uint64_t removed;
    uint64_t call; /* the first that changed it */
};

struct counts {
    uint64_t calls;
    uint64_t changes;
    uint64_t commands;
    uint64_t questions;
    uint64_t denied;
    uint64_t failed;
    uint64_t left_out;
    uint64_t files_left_out;
};

struct report {
    char session[SMALL_TEXT_BYTES];
    char folder[FILE_NAME_BYTES];
    char clients[MAX_CLIENTS][SMALL_TEXT_BYTES];
    size_t client_count;
    int64_t first_ms;
    int64_t last_ms;
    struct counts counts;
    struct changed_file *files;
    size_t file_count;
    struct pending *pending; /* the oldest first */
    size_t pending_count;
    struct buf calls; /* HTML */
};

static void copy_text(char *out, size_t size, struct str text)
{
    struct str kept = utf8_cut(text, size - 1);

    if (kept.len > 0)
        memcpy(out, kept.ptr, kept.len);
    out[kept.len] = '\0';
}

/* Escaped, a byte of a name may take six, or be an escape of its own. */
_Static_assert((REPORT_MAX_FILES + 2 * MAX_PENDING) * (FILE_NAME_BYTES * 6 + 256) + (64 << 10) <=
                   OTHER_BYTES,
               "the lists of files fit");

int report_new(struct str session, size_t max_bytes, struct report **out_report)
{
    struct report *report = calloc(1, sizeof(*report));

    if (report == NULL)
        return ERR_NO_MEMORY;
    report->files = calloc(REPORT_MAX_FILES, sizeof(*report->files));
    report->pending = calloc(MAX_PENDING, sizeof(*report->pending));
    buf_init(&report->calls, max_bytes - OTHER_BYTES);
    if (report->files == NULL || report->pending == NULL) {
        report_free(report);
        return ERR_NO_MEMORY;
    }
    copy_text(report->session, sizeof(report->session), session);
    *out_report = report;
    return 0;
}

void report_free(struct report *report)
{
    if (report == NULL)
        return;
    buf_done(&report->calls);
    free(report->pending);
    free(report->files);
    free(report);
}

uint64_t report_calls(const struct report *report)
{
    return report->counts.calls;
}

/* ---- reading records ---- */

static struct str text_of(const struct json_value *object, const char *key)
{
    struct str text = STR_EMPTY;

    if (object != NULL)
        (void)json_get_str(object, str_from(key), &text);
    return text;
}

static int64_t time_of(const struct json_value *record)
{
    struct clock_iso time;

    return clock_parse_iso(text_of(record, "timestamp"), &time) ? clock_iso_ms(&time) : 0;
}

static bool is_of_session(const struct report *report, const struct json_value *record)
{
    const struct json_value *subject = json_get(record, STR("subject"));

    return str_eq_c(text_of(subject, "id"), report->session) ||
           str_eq_c(text_of(subject, "runId"), report->session);
}

static struct pending *find_pending(const struct report *report, struct str call)
{
    for (size_t i = 0; i < report->pending_count; i++)
        if (str_eq_c(call, report->pending[i].call))
            return &report->pending[i];
    return NULL;
}

static void forget_pending(struct report *report, struct pending *pending)
{
    report->pending_count--;
    memmove(pending, pending + 1,
            (size_t)(report->pending + report->pending_count - pending) * sizeof(*pending));
}

/* Of a call that begins several changes, the first. */
static void note_intent(struct report *report, const struct json_value *record)
{
    struct str call = text_of(record, "callId");
    struct pending *pending;

    if (call.len == 0 || find_pending(report, call) != NULL)
        return;
    if (report->pending_count == MAX_PENDING)
        forget_pending(report, &report->pending[0]);
    pending = &report->pending[report->pending_count++];
    *pending = (struct pending){.ms = time_of(record)};
    copy_text(pending->call, sizeof(pending->call), call);
    copy_text(pending->operation, sizeof(pending->operation), text_of(record, "operation"));
    if (!audit_record_name(record, STR("relativePath"), pending->name, &pending->len))
        pending->len = 0;
}

static void note_client(struct report *report, struct str client)
{
    char name[SMALL_TEXT_BYTES];

    copy_text(name, sizeof(name), client);
    for (size_t i = 0; i < report->client_count; i++)
        if (strcmp(report->clients[i], name) == 0)
            return;
    if (client.len > 0 && report->client_count < MAX_CLIENTS)
        memcpy(report->clients[report->client_count++], name, sizeof(name));
}

/* Its last component: where the folder is on the machine is nobody else's business. */
static void note_folder(struct report *report, const struct json_value *record)
{
    struct str path = text_of(json_get(record, STR("root")), "displayName");
    const char *slash = path.len > 0 ? memrchr(path.ptr, '/', path.len) : NULL;

    if (report->folder[0] == '\0' && path.len > 0)
        copy_text(report->folder, sizeof(report->folder),
                  slash != NULL ? str_slice(path, (size_t)(slash - path.ptr) + 1, path.len) : path);
}

/* ---- changed files ---- */

static struct changed_file *find_file(struct report *report, struct str name)
{
    char kept[FILE_NAME_BYTES];
    struct changed_file *file;

    copy_text(kept, sizeof(kept), name);
    for (size_t i = 0; i < report->file_count; i++)
        if (strcmp(report->files[i].name, kept) == 0)
            return &report->files[i];
    if (report->file_count == REPORT_MAX_FILES) {
        report->counts.files_left_out++;
        return NULL;
    }
    file = &report->files[report->file_count++];
    memcpy(file->name, kept, sizeof(kept));
    file->call = report->counts.calls;
    return file;
}

static void count_diff(struct report *report, struct str diff)
{
    struct changed_file *file = NULL;
    struct report_hunk hunk = {0};
    struct str line;

    while (str_cut(&diff, '\n', &line)) {
        enum report_line kind = report_read_line(&hunk, line);

        if (kind == REPORT_LINE_NAME && str_starts_with(line, STR("+++ b/")))
            file = find_file(report, str_slice(line, 6, line.len));
        else if (kind == REPORT_LINE_ADDED && file != NULL)
            file->added++;
        else if (kind == REPORT_LINE_REMOVED && file != NULL)
            file->removed++;
    }
}

/* ---- a call ---- */

struct shown {
    struct str tool;
    struct str outcome;
    struct str decision;
    struct str source;
    struct str answer;
    struct str reason;
    struct str diff;
    struct str output;
    struct str name;
    struct str destination;
    int64_t ms;
    bool has_ms;
    bool is_cut;
    bool is_change;
    bool is_command;
};

static const char *words_of_answer(struct str answer)
{
    static const struct {
        const char *name;
        const char *words;
    } rows[] = {
        {"denyOnce", "asked: denied"},
        {"allowOnce", "asked: allowed once"},
        {"allowForSession", "asked: allowed for the session"},
        {"allowFolderForSession", "asked: allowed in this folder for the session"},
        {"allowMatchingForSession", "asked: allowed what is like it for the session"},
        {"alwaysAllow", "asked: always allowed"},
        {"alwaysAllowMatching", "asked: always allowed what is like it"},
        {"alwaysDeny", "asked: always denied"},
    };

    for (size_t i = 0; i < array_size(rows); i++)
        if (str_eq_c(answer, rows[i].name))
            return rows[i].words;
    return "asked";
}

static const char *words_of_source(struct str source)
{
    static const struct {
        const char *name;
        const char *words;
    } rows[] = {
        {"allow-rule", "allowed by a rule"}, {"session-rule", "allowed for the session"},
        {"deny-rule", "denied by a rule"},   {"user", "asked"},
        {"nobody", "nobody answered"},       {"protected", "always protected"},
        {"malformed", "malformed"},
    };

    for (size_t i = 0; i < array_size(rows); i++)
        if (str_eq_c(source, rows[i].name))
            return rows[i].words;
    return "";
}

static const char *how_decided(const struct shown *shown)
{
    bool was_denied = str_eq_c(shown->outcome, "denied");

    if (str_eq_c(shown->source, "nobody"))
        return words_of_source(shown->source);
    if (shown->answer.len > 0)
        return words_of_answer(shown->answer);
    return words_of_source(was_denied ? shown->source : shown->decision);
}

static int put(struct buf *out, const char *html)
{
    return buf_append_str(out, str_from(html));
}

static int put_time(struct buf *out, int64_t ms)
{
    char iso[CLOCK_ISO_BYTES];

    clock_format_iso(ms, iso);
    return buf_printf(out, "<time datetime=\"%s\">%.8s</time>", iso, iso + 11);
}

static int put_what(struct buf *out, const struct shown *shown)
{
    int r = put(out, "<span class=\"what mono\">");

    if (r == 0 && !shown->is_command)
        r = report_put_line(out, shown->name);
    if (r == 0 && !shown->is_command && shown->destination.len > 0)
        r = put(out, " → ");
    if (r == 0 && !shown->is_command && shown->destination.len > 0)
        r = report_put_line(out, shown->destination);
    return r == 0 ? put(out, "</span>") : r;
}

static int put_head(struct buf *out, const struct shown *shown, int64_t at_ms)
{
    const char *how = how_decided(shown);
    int r = put(out, "<div class=\"head\">");

    if (r == 0)
        r = put_time(out, at_ms);
    if (r == 0)
        r = put(out, "<code>");
    if (r == 0)
        r = report_put_line(out, shown->tool);
    if (r == 0)
        r = put(out, "</code>");
    if (r == 0)
        r = put_what(out, shown);
    if (r == 0)
        r = buf_printf(out, "<span class=\"how\">%s%s", how,
                       how[0] != '\0' && shown->has_ms ? " · " : "");
    if (r == 0 && shown->has_ms)
        r = buf_printf(out, "%lld ms", (long long)shown->ms);
    if (r == 0)
        r = buf_printf(out, "</span><span class=\"chip\">%s</span></div>",
                       str_eq_c(shown->outcome, "success")  ? "done"
                       : str_eq_c(shown->outcome, "denied") ? "denied"
                                                            : "failed");
    return r;
}

static int put_block(struct buf *out, const char *kind, struct str text,
                     int (*put_text)(struct buf *out, struct str text))
{
    int r = buf_printf(out, "<pre class=\"%s\">", kind);

    if (r == 0)
        r = put_text(out, text);
    return r == 0 ? put(out, "</pre>") : r;
}

static int put_body(struct buf *out, const struct shown *shown)
{
    int r = 0;

    if (shown->is_command && shown->name.len > 0)
        r = put_block(out, "command", shown->name, report_put_block);
    if (r == 0 && shown->output.len > 0)
        r = put_block(out, "output", shown->output, report_put_block);
    if (r == 0 && shown->diff.len > 0)
        r = put_block(out, "diff", shown->diff, report_put_diff);
    if (r == 0 && shown->is_cut)
        r = put(out, "<p class=\"why quiet\">The rest was not recorded.</p>");
    if (r == 0 && shown->reason.len > 0) {
        r = put(out, "<p class=\"why\">");
        if (r == 0)
            r = report_put_line(out, shown->reason);
        if (r == 0)
            r = put(out, "</p>");
    }
    return r;
}

static int put_call(struct buf *out, uint64_t number, const struct shown *shown, int64_t at_ms)
{
    bool is_success = str_eq_c(shown->outcome, "success");
    const char *kind = str_eq_c(shown->outcome, "denied")        ? " denied"
                       : !is_success                             ? " failed"
                       : !shown->is_change && !shown->is_command ? " slight"
                                                                 : "";
    int r = buf_printf(out, "<li class=\"call%s\" id=\"c%llu\">", kind, (unsigned long long)number);

    if (r == 0)
        r = put_head(out, shown, at_ms);
    if (r == 0)
        r = put_body(out, shown);
    return r == 0 ? put(out, "</li>\n") : r;
}

static void read_shown(const struct json_value *record, struct shown *shown)
{
    const struct json_value *details = json_get(record, STR("details"));
    enum catalog_group group = CATALOG_FILESYSTEM_READ; /* also if the tool is unknown */

    *shown = (struct shown){
        .tool = text_of(record, "tool"),
        .outcome = text_of(record, "outcome"),
        .decision = text_of(record, "decision"),
        .source = text_of(record, "policySource"),
        .answer = text_of(details, "answer"),
        .diff = text_of(details, "diff"),
        .output = text_of(details, "output"),
    };
    /* Of a call that succeeded it is that of the grant. */
    if (!str_eq_c(shown->outcome, "success"))
        shown->reason = text_of(record, "reason");
    if (details != NULL) {
        shown->has_ms = json_get_int(details, STR("ms"), &shown->ms);
        (void)json_get_bool(details, STR("cut"), &shown->is_cut);
    }
    (void)catalog_group_of(shown->tool, &group);
    shown->is_change = shown->diff.len > 0 || group == CATALOG_FILESYSTEM_WRITE;
    shown->is_command = group == CATALOG_SHELL;
}

static void count(struct report *report, const struct shown *shown)
{
    bool is_success = str_eq_c(shown->outcome, "success");

    report->counts.calls++;
    if (str_eq_c(shown->outcome, "denied"))
        report->counts.denied++;
    else if (!is_success)
        report->counts.failed++;
    if (shown->answer.len > 0)
        report->counts.questions++;
    if (shown->is_command && !str_eq_c(shown->outcome, "denied"))
        report->counts.commands++;
    if (!shown->is_change || !is_success)
        return;
    report->counts.changes++;
    if (shown->diff.len > 0)
        count_diff(report, shown->diff);
    else if (shown->name.len > 0)
        (void)find_file(report, shown->name);
}

static int add_call(struct report *report, const struct json_value *record)
{
    cleanup_buf struct buf html = BUF_INIT(CALL_BYTES);
    char name[PATH_MAX];
    char destination[PATH_MAX];
    struct pending *begun = find_pending(report, text_of(record, "callId"));
    struct shown shown;
    size_t len = 0;
    int r;

    read_shown(record, &shown);
    if (audit_record_name(record, STR("relativePath"), name, &len))
        shown.name = (struct str){name, len};
    if (audit_record_name(record, STR("destinationPath"), destination, &len))
        shown.destination = (struct str){destination, len};
    /* The end of a call keeps only the beginning of a command. */
    if (shown.is_command && begun != NULL && begun->len > shown.name.len)
        shown.name = (struct str){begun->name, begun->len};
    note_client(report, text_of(record, "client"));
    note_folder(report, record);
    count(report, &shown);
    r = put_call(&html, report->counts.calls, &shown, time_of(record));
    if (begun != NULL)
        forget_pending(report, begun);
    if (r == ERR_NO_MEMORY)
        return r;
    if (r < 0 || report->counts.calls > REPORT_MAX_CALLS ||
        html.len > report->calls.max - report->calls.len) {
        report->counts.left_out++;
        return 0;
    }
    return buf_append_str(&report->calls, buf_view(&html));
}

int report_add(struct report *report, const struct json_value *record)
{
    int64_t ms = time_of(record);

    if (!is_of_session(report, record))
        return 0;
    if (report->first_ms == 0 || ms < report->first_ms)
        report->first_ms = ms;
    if (ms > report->last_ms)
        report->last_ms = ms;
    if (str_eq_c(text_of(record, "operation"), authority_operation_name(AUTHORITY_OP_CALL)))
        return add_call(report, record);
    if (str_eq_c(text_of(record, "outcome"), authority_outcome_name(AUTHORITY_INTENT)))
        note_intent(report, record);
    return 0;
}

/* ---- the page ---- */

/* No script, nothing from elsewhere, and only this sheet. */
static int put_policy(struct buf *out)
{
    cleanup_buf struct buf hash = BUF_INIT(SMALL_TEXT_BYTES);
    unsigned char digest[SHA256_BYTES];
    int r;

    sha256_of(str_from(report_style), digest);
    r = base64_append(&hash, (struct str){(const char *)digest, sizeof(digest)});
    if (r == 0)
        r = buf_printf(out,
                       "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src "
                       "'none'; style-src 'sha256-%.*s'; base-uri 'none'; form-action 'none'\">\n",
                       STR_ARG(buf_view(&hash)));
    return r;
}

static int put_clients(const struct report *report, struct buf *out)
{
    int r = report->client_count == 0 ? put(out, "an agent") : 0;

    /* A daemon knows the server that its calls come from, and no more. */
    if (str_starts_with(str_from(report->session), STR("gateway-")))
        r = put(out, "agents of ");

    for (size_t i = 0; r == 0 && i < report->client_count; i++) {
        r = put(out, i > 0 ? ", " : "");
        if (r == 0)
            r = report_put_line(out, str_from(report->clients[i]));
    }
    return r;
}

static int put_beginning(const struct report *report, struct buf *out)
{
    int r = put(out, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");

    if (r == 0)
        r = put_policy(out);
    if (r == 0)
        r = put(out, "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                     "<meta name=\"referrer\" content=\"no-referrer\">\n<title>");
    if (r == 0)
        r = put_clients(report, out);
    if (r == 0)
        r = put(out, " · Gatehouse report</title>\n<style>");
    if (r == 0)
        r = put(out, report_style);
    return r == 0 ? put(out, "</style>\n</head>\n<body>\n<main>\n") : r;
}

static int put_title(const struct report *report, struct buf *out)
{
    char first[CLOCK_ISO_BYTES];
    char last[CLOCK_ISO_BYTES];
    bool is_one_day;
    int r = put(out, "<h1>What ");

    clock_format_iso(report->first_ms, first);
    clock_format_iso(report->last_ms, last);
    is_one_day = memcmp(first, last, 10) == 0;
    if (r == 0)
        r = put_clients(report, out);
    if (r == 0 && report->folder[0] != '\0') {
        r = put(out, " did in ");
        if (r == 0)
            r = report_put_line(out, str_from(report->folder));
    } else if (r == 0) {
        r = put(out, " did");
    }
    if (r == 0)
        r = buf_printf(out, "</h1>\n<p class=\"quiet\">%.10s, %.8s to %.10s%s%.8s UTC · session ",
                       first, first + 11, is_one_day ? "" : last, is_one_day ? "" : ", ",
                       last + 11);
    if (r == 0)
        r = report_put_line(out, str_from(report->session));
    return r == 0 ? put(out, "</p>\n") : r;
}

static int put_tile(struct buf *out, uint64_t number, const char *one, const char *many,
                    bool is_bad)
{
    return buf_printf(out, "<li%s><b>%llu</b>%s</li>\n",
                      is_bad && number > 0 ? " class=\"bad\"" : "", (unsigned long long)number,
                      number == 1 ? one : many);
}

static int put_tiles(const struct report *report, struct buf *out)
{
    const struct counts *counts = &report->counts;
    int r = put(out, "<ul class=\"tiles\">\n");

    if (r == 0)
        r = put_tile(out, counts->calls, "call", "calls", false);
    if (r == 0)
        r = put_tile(out, counts->changes, "change", "changes", false);
    if (r == 0)
        r = put_tile(out, counts->commands, "command", "commands", false);
    if (r == 0)
        r = put_tile(out, counts->questions, "question", "questions", false);
    if (r == 0)
        r = put_tile(out, counts->denied, "refusal", "refusals", true);
    if (r == 0)
        r = put_tile(out, counts->failed, "failure", "failures", true);
    return r == 0 ? put(out, "</ul>\n") : r;
}

static int put_file(struct buf *out, const struct changed_file *file)
{
    int r = file->call <= REPORT_MAX_CALLS
                ? buf_printf(out, "<tr><td class=\"mono\"><a href=\"#c%llu\">",
                             (unsigned long long)file->call)
                : put(out, "<tr><td class=\"mono\"><a>");

    if (r == 0)
        r = report_put_line(out, str_from(file->name));
    if (r == 0)
        r = put(out, "</a></td><td>");
    if (r == 0 && file->added + file->removed > 0)
        r = buf_printf(out, "<span class=\"plus\">+%llu</span> <span class=\"minus\">−%llu</span>",
                       (unsigned long long)file->added, (unsigned long long)file->removed);
    return r == 0 ? put(out, "</td></tr>\n") : r;
}

static int put_files(const struct report *report, struct buf *out)
{
    int r;

    if (report->file_count == 0)
        return 0;
    r = put(out, "<h2>Changed files</h2>\n<table>\n");
    for (size_t i = 0; r == 0 && i < report->file_count; i++)
        r = put_file(out, &report->files[i]);
    if (r == 0)
        r = put(out, "</table>\n");
    if (r == 0 && report->counts.files_left_out > 0)
        r = put(out, "<p class=\"quiet\">There are more, which this list leaves out.</p>\n");
    return r;
}

static int put_unfinished(const struct report *report, struct buf *out)
{
    int r = 0;

    if (report->pending_count > 0)
        r = put(out, "<h2>Not finished</h2>\n<p>These began, and no end is recorded: they still "
                     "run, or Gatehouse was stopped.</p>\n<ol>\n");
    for (size_t i = 0; r == 0 && i < report->pending_count; i++) {
        const struct pending *pending = &report->pending[i];

        r = put(out, "<li class=\"call failed\"><div class=\"head\">");
        if (r == 0)
            r = put_time(out, pending->ms);
        if (r == 0)
            r = put(out, "<code>");
        if (r == 0)
            r = report_put_line(out, str_from(pending->operation));
        if (r == 0)
            r = put(out, "</code><span class=\"what mono\">");
        if (r == 0)
            r = report_put_line(
                out, utf8_cut((struct str){pending->name, pending->len}, 2 * FILE_NAME_BYTES));
        if (r == 0)
            r = put(out, "</span></div></li>\n");
    }
    return r == 0 && report->pending_count > 0 ? put(out, "</ol>\n") : r;
}

static int put_end(const struct report *report, int64_t now_ms, struct buf *out)
{
    char now[CLOCK_ISO_BYTES];
    int r = 0;

    clock_format_iso(now_ms, now);
    if (report->counts.left_out > 0)
        r = buf_printf(out, "<p>%llu more calls are not shown.</p>\n",
                       (unsigned long long)report->counts.left_out);
    if (r == 0)
        r = buf_printf(out,
                       "<footer>Made by Gatehouse " GATEHOUSE_VERSION
                       " from its audit log, %.10s %.8s UTC. What looks like a secret was replaced "
                       "by [redacted]; contents of files that usually hold secrets are not "
                       "recorded.</footer>\n</main>\n</body>\n</html>\n",
                       now, now + 11);
    return r;
}

int report_write(struct report *report, int64_t now_ms, struct buf *out)
{
    int r = put_beginning(report, out);

    if (r == 0)
        r = put_title(report, out);
    if (r == 0)
        r = put_tiles(report, out);
    if (r == 0)
        r = put_files(report, out);
    if (r == 0)
        r = put(out, report->counts.calls > 0
                         ? "<h2>What happened</h2>\n<ol>\n"
                         : "<h2>What happened</h2>\n<p>The agent called no tool.</p>\n<ol>\n");
    if (r == 0)
        r = buf_append_str(out, buf_view(&report->calls));
    if (r == 0)
        r = put(out, "</ol>\n");
    if (r == 0)
        r = put_unfinished(report, out);
    return r == 0 ? put_end(report, now_ms, out) : r;
}
