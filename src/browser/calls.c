/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of tools: their threads, what they ask the browser, their results. */
#include "browser/internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/secret.h"
#include "browser/jsonf.h"
#include "browser/local.h"

enum {
    CALL_ARENA_BYTES = 256 << 20,
    RESULT_BYTES = 128 << 20,
    PARAMS_BYTES = 64 << 20,
    CALL_MS = 120000,
};

/* ---- asking the browser ---- */

static bool is_defective(const struct browser_task *call)
{
    return call->page != NULL && call->page->defect[0] != '\0';
}

bool call_is_over(void *data)
{
    const struct browser_task *call = data;

    return call->is_cancelled ||
           (call->page != NULL && (call->page->is_closed || call->page->has_crashed)) ||
           (call->heeds_defect && is_defective(call)) ||
           (call->heeds_dialog && call->page != NULL && call->page->dialog.is_open);
}

static int say_defect(const struct page *page, struct err *err)
{
    if (page->strayed_to[0] != '\0')
        return err_set(err, ERR_DENIED_BY_POLICY,
                       "%s leads to %s, which is this machine or on a private network and needs a "
                       "rule for that name: gatehouse rules add allow browser host:%s\nThe page is "
                       "not used any more: close it with browser_tab_close",
                       page->strayed_to, page->defect, page->strayed_to);
    return err_set(err, ERR_TOOL_FAILED,
                   "The page cannot be controlled, so it is not used: %s\nClose it with "
                   "browser_tab_close and open another",
                   page->defect);
}

static int explain_over(const struct browser_task *call, int r, struct err *err)
{
    if (r != ERR_CANCELLED)
        return r;
    if (is_defective(call))
        return say_defect(call->page, err);
    if (call->page != NULL && call->page->has_crashed)
        return err_set(err, ERR_TOOL_FAILED, "the page has crashed: reload it or open another");
    if (call->page != NULL && call->page->is_closed && !call->is_cancelled)
        return err_set(err, ERR_TOOL_FAILED, "the page was closed");
    return r;
}

int await(struct browser_task *call, struct cdp_command *command, int64_t ms,
          struct cdp_answer *out_answer, struct err *err)
{
    int64_t deadline_ms = monitor_now_ms() + ms;
    int r;

    if (deadline_ms > call->deadline_ms)
        deadline_ms = call->deadline_ms;
    r = cdp_finish(call->link->cdp, command, deadline_ms, call_is_over, call, out_answer, err);
    return explain_over(call, r, err);
}

static int begin_list(struct browser_task *call, const char *session, const char *method,
                      struct cdp_command **out_command, struct err *err, const char *pattern,
                      va_list values)
{
    cleanup_buf struct buf params = BUF_INIT(PARAMS_BYTES);
    int r = jsonf_list(&params, pattern, values);

    return r < 0 ? err_set_plain(err, r)
                 : cdp_begin(call->link->cdp, str_from(session), method, buf_view(&params),
                             out_command, err);
}

int ask_begin(struct browser_task *call, const char *session, const char *method,
              struct cdp_command **out_command, struct err *err, const char *pattern, ...)
{
    va_list values;
    int r;

    va_start(values, pattern);
    r = begin_list(call, session, method, out_command, err, pattern, values);
    va_end(values);
    return r;
}

static int ask_list(struct browser_task *call, const char *session, const char *method, int64_t ms,
                    struct cdp_answer *out_answer, struct err *err, const char *pattern,
                    va_list values)
{
    struct cdp_command *command;
    int r = begin_list(call, session, method, &command, err, pattern, values);

    return r == 0 ? await(call, command, ms, out_answer, err) : r;
}

int ask(struct browser_task *call, const char *session, const char *method,
        struct cdp_answer *out_answer, struct err *err, const char *pattern, ...)
{
    va_list values;
    int r;

    va_start(values, pattern);
    r = ask_list(call, session, method, COMMAND_MS, out_answer, err, pattern, values);
    va_end(values);
    return r;
}

int ask_within(struct browser_task *call, const char *session, const char *method, int64_t ms,
               struct cdp_answer *out_answer, struct err *err, const char *pattern, ...)
{
    va_list values;
    int r;

    va_start(values, pattern);
    r = ask_list(call, session, method, ms, out_answer, err, pattern, values);
    va_end(values);
    return r;
}

int result_add(struct browser_task *call, const char *name, const char *pattern, ...)
{
    va_list values;
    int r = buf_append_str(&call->result, call->result.len > 0 ? STR(",") : STR_EMPTY);

    if (r == 0)
        r = jsonf(&call->result, "%z:", name);
    va_start(values, pattern);
    if (r == 0)
        r = jsonf_list(&call->result, pattern, values);
    va_end(values);
    return r;
}

/* ---- the tool of a call ---- */

static const struct {
    struct str name;
    tool_fn *run;
    bool needs_page;
    bool heeds_dialog;
} tools[] = {
    {STR_LITERAL("browser_connect"), tool_connect, false, false},
    {STR_LITERAL("browser_disconnect"), tool_disconnect, false, false},
    {STR_LITERAL("browser_tab_open"), tool_tab_open, false, false},
    {STR_LITERAL("browser_tab_list"), tool_tab_list, false, false},
    {STR_LITERAL("browser_tab_focus"), tool_tab_focus, true, false},
    {STR_LITERAL("browser_tab_close"), tool_tab_close, true, false},
    {STR_LITERAL("browser_navigate"), tool_navigate, true, true},
    {STR_LITERAL("browser_back"), tool_back, true, true},
    {STR_LITERAL("browser_forward"), tool_forward, true, true},
    {STR_LITERAL("browser_reload"), tool_reload, true, true},
    {STR_LITERAL("browser_click"), tool_click, true, true},
    {STR_LITERAL("browser_mouse_click_xy"), tool_click_xy, true, true},
    {STR_LITERAL("browser_type"), tool_type, true, true},
    {STR_LITERAL("browser_select"), tool_select, true, true},
    {STR_LITERAL("browser_fill_form"), tool_fill_form, true, true},
    {STR_LITERAL("browser_drag"), tool_drag, true, true},
    {STR_LITERAL("browser_hover"), tool_hover, true, true},
    {STR_LITERAL("browser_press"), tool_press, true, true},
    {STR_LITERAL("browser_scroll"), tool_scroll, true, true},
    {STR_LITERAL("browser_upload"), tool_upload, true, true},
    {STR_LITERAL("browser_dialog"), tool_dialog, true, false},
    {STR_LITERAL("browser_snapshot"), tool_snapshot, true, true},
    {STR_LITERAL("browser_screenshot"), tool_screenshot, true, true},
    {STR_LITERAL("browser_content"), tool_content, true, true},
    {STR_LITERAL("browser_evaluate"), tool_evaluate, true, true},
    {STR_LITERAL("browser_console"), tool_console, true, false},
    {STR_LITERAL("browser_pdf"), tool_pdf, true, true},
    {STR_LITERAL("browser_network"), tool_network, true, false},
    {STR_LITERAL("browser_wait"), tool_wait, true, true},
    {STR_LITERAL("browser_cookies"), tool_cookies, true, false},
    {STR_LITERAL("browser_storage"), tool_storage, true, true},
    {STR_LITERAL("browser_downloads"), tool_downloads, false, false},
    {STR_LITERAL("browser_capture_secret"), tool_capture_secret, true, true},
    {STR_LITERAL("browser_resize"), tool_resize, true, false},
};

static int find_page(struct browser_task *call, struct err *err)
{
    struct host *host = call->host;
    struct str id = text_of(call->message, "page");
    struct page *page = id.len > 0 ? page_by_id(host, id) : host->active;

    if (id.len > 0 && page == NULL)
        return err_set(err, ERR_TOOL_FAILED,
                       "There is no page %.*s\nbrowser_tab_list names those that are open",
                       STR_ARG(id));
    if (page == NULL)
        return err_set(err, ERR_TOOL_FAILED, "No page is open\nOpen one with browser_tab_open");
    call->page = page;
    page->refs++;
    return 0;
}

/*
 * The browser navigates on its own, and the page's process tells about it. If that process is still
 * starting, it does not yet know what to tell.
 */
static int wait_for_set_up(struct browser_task *call, struct err *err)
{
    const struct page *page = call->page;

    while (!page->is_set_up && !call_is_over(call) && !cdp_has_ended(call->link->cdp))
        if (!monitor_wait(&call->host->monitor, call->deadline_ms))
            return err_set(err, ERR_TIMED_OUT, "the page does not respond");
    return 0;
}

/*
 * The call was allowed for the host that the front end knew; the page may have moved since. What it
 * may lead to is for the time of this call.
 */
static int check_host(struct browser_task *call, struct err *err)
{
    struct str expected = text_of(call->message, "host");
    struct str to = text_of(call->message, "agreed");

    if (call->page == NULL)
        return 0;
    /* One that was opened may be led away from anywhere, one of the user may not. */
    if ((to.len == 0 || call->page->is_users) && !str_eq(expected, page_host(call->page)))
        return err_set(err, ERR_TOOL_FAILED, "The page has gone to another site since\nCall again");
    COPY(call->page->agreed, to);
    return 0;
}

/* Once: to the calls that were under way, or else to the next one. */
static int say_lost(struct host *host, struct err *err)
{
    host->was_lost = false;
    return err_set(err, ERR_TOOL_FAILED,
                   "The browser has ended\nCall browser_connect to start it again");
}

static int run_tool(struct browser_task *call, struct err *err)
{
    struct host *host = call->host;

    for (size_t i = 0; i < array_size(tools); i++) {
        int r = 0;

        if (!str_eq(tools[i].name, call->tool))
            continue;
        if (tools[i].run == tool_connect)
            return tool_connect(call, err);
        if (host->link == NULL)
            return host->was_lost
                       ? say_lost(host, err)
                       : err_set(err, ERR_TOOL_FAILED,
                                 "Not connected to a browser\nCall browser_connect first");
        call->link = host->link;
        call->link->refs++;
        call->first_new_page = host->page_order;
        call->first_new_download = host->download_count;
        if (tools[i].needs_page)
            r = find_page(call, err);
        if (r == 0)
            r = check_host(call, err);
        if (r == 0 && tools[i].run != tool_tab_close && tools[i].run != tool_tab_focus)
            r = local_use(call, err);
        call->heeds_dialog = tools[i].heeds_dialog;
        call->heeds_defect = tools[i].run != tool_tab_close;
        if (r == 0 && call->page != NULL && call->heeds_defect)
            r = wait_for_set_up(call, err);
        if (r == 0 && call->heeds_defect && is_defective(call))
            r = say_defect(call->page, err);
        if (r == 0 && call->page != NULL && tools[i].heeds_dialog && call->page->dialog.is_open)
            r = err_set(err, ERR_TOOL_FAILED,
                        "A dialog is open (%s: %.150s)\nAnswer it with browser_dialog first",
                        call->page->dialog.kind,
                        call->page->dialog.words != NULL ? call->page->dialog.words : "");
        if (r == 0)
            r = tools[i].run(call, err);
        if (call->heeds_defect && is_defective(call))
            r = say_defect(call->page, err);
        if (r == ERR_CONNECTION_LOST && cdp_has_ended(call->link->cdp))
            r = say_lost(host, err);
        if (call->page != NULL)
            call->page->agreed[0] = '\0';
        return r;
    }
    return err_set(err, ERR_UNSUPPORTED, "unknown tool");
}

/* ---- results ---- */

/* What follows a line break in a message is what to do next. */
static int write_failure(struct buf *out, int64_t id, struct str message)
{
    struct str what = message;
    int r;

    (void)str_cut(&message, '\n', &what);
    r = jsonf(out, "{\"done\":%d,\"isError\":true,\"result\":{\"error\":%s", id, what);
    if (r == 0 && message.len > 0)
        r = jsonf(out, ",\"hint\":%s", message);
    return r == 0 ? buf_append_str(out, STR("}}")) : r;
}

static void send_result(struct browser_task *call, int r, const struct err *err)
{
    cleanup_buf struct buf text = BUF_INIT(BROWSER_MAX_MESSAGE);
    int written;

    if (r < 0)
        written = write_failure(&text, call->id, str_from(err->message));
    else if (call->secret.len > 0)
        written = jsonf(&text, "{\"done\":%d,\"isError\":false,\"secret\":%s,\"result\":{}}",
                        call->id, buf_view(&call->secret));
    else
        written = jsonf(&text, "{\"done\":%d,\"isError\":false,\"image\":%s,\"result\":{%r}}",
                        call->id, buf_view(&call->image), buf_view(&call->result));
    if (written < 0) {
        buf_clear(&text);
        written = write_failure(&text, call->id, STR("the result is too large"));
    }
    if (written == 0)
        (void)host_send(call->host, buf_view(&text));
    if (call->secret.len > 0)
        secret_wipe(text.data, text.len);
}

static void free_call(struct browser_task *call)
{
    page_unref(call->page);
    link_unref(call->link);
    buf_done(&call->result);
    buf_done(&call->image);
    if (call->secret.len > 0)
        secret_wipe(call->secret.data, call->secret.len);
    buf_done(&call->secret);
    arena_done(&call->arena);
    free(call->text);
    free(call);
}

/* ---- threads ---- */

static void live_call(struct browser_task *call)
{
    struct host *host = call->host;
    struct err err = ERR_INIT;
    int r = run_tool(call, &err);

    if (r < 0 && err.code == 0)
        err_set_plain(&err, r);
    host_tell_pages(host); /* before the result, so that the front end knows where the page is */
    send_result(call, r, &err);
    list_remove(&call->node);
    host->call_count--;
    free_call(call);
    monitor_tell(&host->monitor);
}

static struct browser_task *take_call(struct host *host)
{
    list_each (node, &host->calls) {
        struct browser_task *call = list_entry(node, struct browser_task, node);

        if (call->is_taken)
            continue;
        call->is_taken = true;
        host->waiting_count--;
        return call;
    }
    return NULL;
}

/* A thread lives one call after the other: a new one for each would cost more than some calls. */
static void *live_calls(void *data)
{
    struct host *host = data;

    monitor_enter(&host->monitor);
    while (true) {
        struct browser_task *call = take_call(host);

        if (call != NULL) {
            live_call(call);
        } else if (host->is_over || host->parked_count >= MAX_PARKED) {
            break;
        } else {
            host->parked_count++;
            monitor_park(&host->monitor);
            host->parked_count--;
        }
    }
    host->thread_count--;
    monitor_leave_for_good(&host->monitor);
    return NULL;
}

static int start_thread(struct host *host)
{
    int r = monitor_start_thread(live_calls, host);

    host->thread_count += r == 0;
    return r;
}

/* ---- messages of the front end ---- */

static void refuse_call(struct host *host, int64_t id, int code)
{
    struct browser_task call = {.host = host, .id = id};
    struct err err = ERR_INIT;

    err_set_plain(&err, code);
    send_result(&call, code, &err);
}

/* To start or end a browser takes seconds, in which others' answers are to be read. */
static bool can_be_own(const struct host *host, const struct browser_task *call)
{
    return host->own == NULL && !str_eq(call->tool, STR("browser_connect")) &&
           !str_eq(call->tool, STR("browser_disconnect"));
}

/* By a thread that waits for one, or a new one. */
static int give_away(struct host *host)
{
    if (host->parked_count < host->waiting_count)
        return start_thread(host);
    monitor_want_one(&host->monitor);
    return 0;
}

void host_run_own(struct host *host)
{
    if (host->own != NULL)
        live_call(host->own);
    host->own = NULL;
}

/* Takes the parsed message over. */
static void begin_call(struct host *host, struct browser_task *parsed, int64_t id)
{
    struct browser_task *call = host->call_count < MAX_CALLS ? calloc(1, sizeof(*call)) : NULL;

    if (call == NULL) {
        refuse_call(host, id, ERR_BUSY);
        return;
    }
    *call = *parsed;
    *parsed = (struct browser_task){.host = host};
    call->id = id;
    call->tool = text_of(call->message, "tool");
    call->arguments = json_get(call->message, STR("arguments"));
    call->deadline_ms = monitor_now_ms() + whole_of(call->message, "ms", CALL_MS);
    buf_init(&call->result, RESULT_BYTES);
    buf_init(&call->image, RESULT_BYTES);
    buf_init(&call->secret, SECRET_TEXT_MAX_BYTES + 1);
    list_append(&host->calls, &call->node);
    host->call_count++;
    if (can_be_own(host, call)) {
        call->is_taken = true;
        host->own = call;
        return;
    }
    host->waiting_count++;
    if (give_away(host) < 0) {
        list_remove(&call->node);
        host->call_count--;
        host->waiting_count--;
        refuse_call(host, id, ERR_BUSY);
        free_call(call);
    }
}

static void cancel_call(struct host *host, int64_t id)
{
    list_each (node, &host->calls) {
        struct browser_task *call = list_entry(node, struct browser_task, node);

        call->is_cancelled = call->is_cancelled || call->id == id;
    }
    monitor_tell(&host->monitor);
}

int host_take_message(struct host *host, struct str text)
{
    struct browser_task parsed = {.host = host, .arena = ARENA_INIT(CALL_ARENA_BYTES)};
    const struct json_limits limits = {BROWSER_MAX_MESSAGE, JSON_DEFAULT_MAX_DEPTH};
    int64_t id;
    int r;

    parsed.text = malloc(text.len);
    if (parsed.text == NULL)
        return ERR_NO_MEMORY;
    memcpy(parsed.text, text.ptr, text.len);
    r = json_parse(&parsed.arena, (struct str){parsed.text, text.len}, limits, &parsed.message,
                   NULL);
    if (r == 0 && json_get_int(parsed.message, STR("call"), &id))
        begin_call(host, &parsed, id);
    else if (r == 0 && json_get_int(parsed.message, STR("verdict"), &id))
        host_take_verdict(host, id, parsed.message);
    else if (r == 0 && json_get_int(parsed.message, STR("cancel"), &id))
        cancel_call(host, id);
    arena_done(&parsed.arena);
    free(parsed.text);
    return r;
}
