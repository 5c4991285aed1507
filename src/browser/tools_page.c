/* SPDX-License-Identifier: Apache-2.0 */
/* Connecting, tabs, navigation, dialogs and waiting. */
#include "browser/internal.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "browser/jsonf.h"
#include "browser/keeper.h"
#include "browser/local.h"
#include "browser/relay.h"
#include "browser/url.h"
#include "protocol/staged.h"

enum { START_MS = 45000, DIALOG_MS = 10000, WAIT_MS = 30000, LIST_BYTES = MAX_PAGES * 8192 };

/* ---- connecting ---- */

static int write_pages(struct browser_task *call)
{
    cleanup_buf struct buf list = BUF_INIT(LIST_BYTES);
    int r = 0;

    list_each (node, &call->host->pages) {
        const struct page *page = list_entry(node, struct page, node);

        if (r == 0)
            r = jsonf(&list, "%r{\"id\":%z,\"title\":%z,\"url\":%z,\"active\":%b%r}",
                      list.len > 0 ? STR(",") : STR_EMPTY, page->id, page->title, page->url,
                      page == call->host->active,
                      page->is_users ? STR(",\"isUsers\":true") : STR_EMPTY);
    }
    return r == 0 ? result_add(call, "pages", "[%r]", buf_view(&list)) : r;
}

/* Others go on meanwhile: a browser takes seconds to end. The keeper does one thing at a time. */
int ask_keeper(struct browser_task *call, struct str request, char room[KEEPER_MAX_PACKET],
               const struct json_value **out_answer, int out_fds[KEEPER_FDS], struct err *err)
{
    struct host *host = call->host;
    struct str answer;
    const struct json_value *document;
    int r;

    while (host->asks_keeper)
        if (!monitor_wait(&host->monitor, call->deadline_ms))
            return err_set(err, ERR_TIMED_OUT, "the browser does not end");
    host->asks_keeper = true;
    monitor_leave(&host->monitor);
    r = browser_keeper_ask(host->config.keeper_fd, request, room, &answer, out_fds, err);
    monitor_enter(&host->monitor);
    host->asks_keeper = false;
    monitor_tell(&host->monitor);
    if (r == 0)
        r = json_parse(&call->arena, answer, JSON_LIMITS_DEFAULT, &document, err);
    if (r < 0)
        return r;
    if (text_of(document, "message").len > 0)
        return err_set(err, ERR_TOOL_FAILED, "%.*s", STR_ARG(text_of(document, "message")));
    call->host->has_windows = flag_of(document, "windows");
    *out_answer = document;
    return 0;
}

/* What the agent says, or else the user's option. */
static struct str given_or_default(const struct browser_task *call, const char *name)
{
    struct str given = text_of(call->arguments, name);

    return given.len > 0 ? given : text_of(call->message, name);
}

static struct str mode_of(const struct browser_task *call)
{
    struct str mode = given_or_default(call, "mode");

    return mode.len > 0 ? mode : STR("ephemeral");
}

static bool is_local(const struct browser_task *call)
{
    return str_eq(mode_of(call), STR("local"));
}

static int launch(struct browser_task *call, struct err *err)
{
    cleanup_buf struct buf request = BUF_INIT(KEEPER_MAX_PACKET);
    struct host *host = call->host;
    char room[KEEPER_MAX_PACKET];
    const struct json_value *answer;
    int fds[KEEPER_FDS] = {-1, -1};
    int r = jsonf(&request, "{\"launch\":{\"mode\":%s,\"profile\":%s,\"browser\":%s,\"own\":%v}}",
                  mode_of(call), given_or_default(call, "profile"),
                  given_or_default(call, "browser"), json_get(call->message, STR("own")));

    if (r < 0)
        return err_set_plain(err, r);
    r = ask_keeper(call, buf_view(&request), room, &answer, fds, err);
    if (r == 0)
        host->knows_addresses = !flag_of(answer, "proxy");
    if (r == 0)
        r = host_open_link(host, fds[0], fds[1], err);
    if (r < 0) {
        for (int i = 0; i < KEEPER_FDS; i++)
            if (fds[i] >= 0)
                close(fds[i]);
    }
    return r;
}

static int wait_for_page(struct browser_task *call, struct err *err)
{
    int64_t deadline_ms = monitor_now_ms() + START_MS;

    while (call->host->active == NULL ||
           !(call->host->active->is_set_up || call->host->active->defect[0] != '\0')) {
        if (cdp_has_ended(call->link->cdp) || !monitor_wait(&call->host->monitor, deadline_ms))
            return err_set(err, ERR_TOOL_FAILED, "the browser opened no page");
    }
    if (call->host->active->defect[0] != '\0')
        return err_set(err, ERR_TOOL_FAILED, "the browser cannot be controlled: %s",
                       call->host->active->defect);
    return 0;
}

/* They go to a directory of their own; save_download copies from there. */
static int allow_downloads(struct browser_task *call, struct err *err)
{
    cleanup_buf struct buf path = BUF_INIT(PATH_MAX);
    struct str staging = call_staging(call);

    if (staging.len == 0)
        return ask(call, "", "Browser.setDownloadBehavior", NULL, err, "{\"behavior\":\"deny\"}");
    if (buf_printf(&path, "%.*s/" STAGED_DOWNLOADS, STR_ARG(staging)) < 0)
        return err_set_plain(err, ERR_TOO_LARGE);
    return ask(call, "", "Browser.setDownloadBehavior", NULL, err,
               "{\"behavior\":\"allowAndName\",\"downloadPath\":%s,\"eventsEnabled\":true}",
               buf_view(&path));
}

static int set_up_browser(struct browser_task *call, struct err *err)
{
    struct host *host = call->host;
    cleanup_cdp_answer struct cdp_answer version = CDP_ANSWER_INIT;
    int r = ask_within(call, "", "Browser.getVersion", START_MS, &version, err, "{}");

    if (r == 0) {
        struct str product = text_of(version.result, "product");

        COPY(host->browser, product);
        r = allow_downloads(call, err);
    }
    if (r == 0)
        r = ask(call, "", "Target.setDiscoverTargets", NULL, err,
                "{\"discover\":true,\"filter\":[{\"type\":\"page\"},{\"exclude\":true}]}");
    if (r == 0)
        r = ask(call, "", "Target.setAutoAttach", NULL, err,
                "{\"autoAttach\":true,\"waitForDebuggerOnStart\":true,\"flatten\":true,"
                "\"filter\":[{\"type\":\"page\"},{\"exclude\":true}]}");
    if (r == 0 && host->page_count == 0)
        r = ask_within(call, "", "Target.createTarget", START_MS, NULL, err,
                       "{\"url\":\"about:blank\"}");
    return r == 0 ? wait_for_page(call, err) : r;
}

/* Ends the browser, and waits until nothing is left of it. */
static int stop(struct browser_task *call, struct err *err)
{
    int fds[KEEPER_FDS] = {-1, -1};
    char room[KEEPER_MAX_PACKET];
    const struct json_value *answer;

    host_close_link(call->host);
    return ask_keeper(call, STR("{\"stop\":true}"), room, &answer, fds, err);
}

/* Why there is none: the keeper knows how it ended. */
static int explain_start(struct browser_task *call, int r, struct err *err)
{
    struct err why = ERR_INIT;

    if (stop(call, &why) < 0 && why.message[0] != '\0')
        return err_set(err, ERR_TOOL_FAILED, "%s", why.message);
    return r;
}

int tool_connect(struct browser_task *call, struct err *err)
{
    struct host *host = call->host;
    int r = 0;

    if (host->is_connecting)
        return err_set(err, ERR_TOOL_FAILED, "Another call is connecting just now\nTry again");
    if (host->link == NULL) {
        struct err ignored = ERR_INIT;

        host->is_connecting = true;
        host->was_lost = false;
        (void)stop(call, &ignored); /* what is left of one that was lost */
        if (!is_local(call))
            relay_close(host);
        r = is_local(call) ? local_connect(call, err) : launch(call, err);
        if (r == 0) {
            call->link = host->link;
            call->link->refs++;
            r = is_local(call) ? local_set_up(call, err) : set_up_browser(call, err);
            if (r < 0)
                r = explain_start(call, r, err);
        }
        host->is_connecting = false;
        if (r < 0)
            return r;
        COPY(host->mode, mode_of(call));
    }
    r = result_add(call, "browser", "%z", host->browser);
    if (r == 0)
        r = result_add(call, "mode", "%z", host->mode);
    if (r == 0)
        r = result_add(call, "headless", "%b", !host->has_windows);
    return r == 0 ? write_pages(call) : r;
}

int tool_disconnect(struct browser_task *call, struct err *err)
{
    int r = stop(call, err);

    relay_close(call->host);
    return r == 0 ? result_add(call, "disconnected", "true") : r;
}

/* ---- tabs ---- */

static int go_to(struct browser_task *call, struct str url, struct err *err);

/* What the call names, or the whole address of a file. */
static struct str address_of(const struct browser_task *call)
{
    struct str file = text_of(call->message, "file");

    return file.len > 0 ? file : text_of(call->arguments, "url");
}

int tool_tab_open(struct browser_task *call, struct err *err)
{
    cleanup_cdp_answer struct cdp_answer answer = CDP_ANSWER_INIT;
    struct host *host = call->host;
    struct str url = address_of(call);
    int64_t deadline_ms = monitor_now_ms() + START_MS;
    struct mark mark = {0};
    struct str target;
    int r = ask(call, "", "Target.createTarget", &answer, err, "{\"url\":\"about:blank\"}");

    if (r < 0)
        return r;
    target = text_of(answer.result, "targetId");
    if (call->link->is_local)
        r = local_adopt(call, target, err);
    if (r < 0)
        return r;
    while (call->page == NULL) {
        list_each (node, &host->pages) {
            struct page *page = list_entry(node, struct page, node);

            if (str_eq_c(target, page->target) && (page->is_set_up || page->defect[0] != '\0'))
                call->page = page;
        }
        if (call->page == NULL && !monitor_wait(&host->monitor, deadline_ms))
            return err_set(err, ERR_TIMED_OUT, "the browser did not open the tab in time");
    }
    call->page->refs++;
    call->heeds_dialog = true;
    host->active = call->page;
    host->has_news = true;
    mark_now(call->page, &mark);
    COPY(call->page->agreed, text_of(call->message, "agreed"));
    if (url.len > 0)
        r = go_to(call, url, err);
    if (r == 0)
        r = result_add(call, "pageId", "%z", call->page->id);
    return r == 0 ? add_outcome(call, &mark, true, err) : r;
}

int tool_tab_list(struct browser_task *call, struct err *err)
{
    int r = local_refresh(call, err);

    if (r == 0 && write_pages(call) < 0)
        r = err_set_plain(err, ERR_TOO_LARGE);
    return r;
}

int tool_tab_focus(struct browser_task *call, struct err *err)
{
    int r =
        ask(call, "", "Target.activateTarget", NULL, err, "{\"targetId\":%z}", call->page->target);

    if (r < 0)
        return r;
    call->host->active = call->page;
    call->host->has_news = true;
    return result_add(call, "activePageId", "%z", call->page->id);
}

/* A page that asks before it goes is not asked. */
int tool_tab_close(struct browser_task *call, struct err *err)
{
    struct page *page = call->page;
    int64_t deadline_ms = monitor_now_ms() + DIALOG_MS;
    int r;

    if (page->is_users)
        return err_set(err, ERR_TOOL_FAILED,
                       "This tab is the user's: only tabs that you opened can be closed");
    r = ask(call, "", "Target.closeTarget", NULL, err, "{\"targetId\":%z}", page->target);
    if (r < 0 && !page->is_closed)
        return r;
    while (!page->is_closed && monitor_wait(&call->host->monitor, deadline_ms))
        ;
    r = result_add(call, "closed", "%b", page->is_closed);
    return r == 0 ? result_add(call, "pageId", "%z", page->id) : r;
}

/* ---- navigation ---- */

static int say_blocked(const struct browser_task *call, struct err *err)
{
    if (call->page->no_file[0] != '\0')
        return err_set(err, ERR_TOOL_FAILED, "The file cannot be shown: %s", call->page->no_file);
    return err_set(err, ERR_TOOL_FAILED,
                   "The page was not allowed to go to %s\nCall browser_navigate with that address, "
                   "which asks for permission",
                   call->page->blocked);
}

/* A document's arrival is told before or after the answer, and another one's may be told first. */
static bool let_arrive(struct browser_task *call, struct str loader, int64_t ms)
{
    int64_t deadline_ms = monitor_now_ms() + ms;

    while (loader.len > 0 && !page_has_had(call->page, loader) && !call_is_over(call) &&
           !cdp_has_ended(call->link->cdp))
        if (!monitor_wait(&call->host->monitor, deadline_ms))
            return false;
    return true;
}

static int go_to(struct browser_task *call, struct str url, struct err *err)
{
    cleanup_cdp_answer struct cdp_answer answer = CDP_ANSWER_INIT;
    struct page *page = call->page;
    struct str wish = text_of(call->arguments, "waitUntil");
    uint64_t blocks = page->blocks;
    struct str failure;
    struct str loader;
    int r;

    page->status = 0;
    page->has_crashed = false; /* it gets a new process */
    r = ask_within(call, page->session, "Page.navigate", NAVIGATE_MS, &answer, err, "{\"url\":%s}",
                   url);
    failure = text_of(answer.result, "errorText");
    loader = text_of(answer.result, "loaderId"); /* none: the document stays */
    if (r == 0 && str_eq(failure, STR("net::ERR_ABORTED")) && page->blocks == blocks)
        return 0; /* a download, or an answer without content */
    /* A failure has a document, too; what comes next must not meet it. */
    if (failure.len > 0)
        (void)let_arrive(call, loader, ACTION_MS);
    if (page->blocks != blocks)
        return say_blocked(call, err);
    if (r < 0)
        return r;
    if (failure.len > 0)
        return err_set(err, ERR_TOOL_FAILED, "Cannot load %.*s: %.*s",
                       url.len < 150 ? (int)url.len : 150, url.ptr, STR_ARG(failure));
    if (!let_arrive(call, loader, NAVIGATE_MS))
        return err_set(err, ERR_TIMED_OUT, "the page did not load in time");
    r = wait_for_state(call, wish, NAVIGATE_MS, SETTLE_NAVIGATION_MS, err);
    return r == ERR_CANCELLED && page->dialog.is_open ? 0 : r;
}

int tool_navigate(struct browser_task *call, struct err *err)
{
    struct mark mark;
    int r;

    mark_now(call->page, &mark);
    r = go_to(call, address_of(call), err);
    return r == 0 ? add_outcome(call, &mark, true, err) : r;
}

/* Until the new document is as far as wished. */
static int arrive(struct browser_task *call, const struct mark *mark, struct err *err)
{
    struct page *page = call->page;
    int64_t deadline_ms = monitor_now_ms() + NAVIGATE_MS;
    int r;

    while (page->commits == mark->commits && page->blocks == mark->blocks && !call_is_over(call) &&
           !cdp_has_ended(call->link->cdp))
        if (!monitor_wait(&call->host->monitor, deadline_ms))
            return err_set(err, ERR_TIMED_OUT, "the page did not load in time");
    if (page->blocks != mark->blocks)
        return say_blocked(call, err);
    r = wait_for_state(call, text_of(call->arguments, "waitUntil"), NAVIGATE_MS,
                       SETTLE_NAVIGATION_MS, err);
    if (r < 0 && !(r == ERR_CANCELLED && page->dialog.is_open))
        return r;
    return add_outcome(call, mark, true, err);
}

static int go_in_history(struct browser_task *call, int64_t by, struct err *err)
{
    cleanup_cdp_answer struct cdp_answer answer = CDP_ANSWER_INIT;
    const struct json_value *entries;
    int64_t wanted;
    int64_t at = 0;
    struct mark mark;
    int r = ask(call, call->page->session, "Page.getNavigationHistory", &answer, err, "{}");

    if (r < 0)
        return r;
    wanted = whole_of(answer.result, "currentIndex", 0) + by;
    entries = json_get(answer.result, STR("entries"));
    mark_now(call->page, &mark);
    if (entries != NULL)
        json_each_item (entry, entries) {
            if (at++ != wanted)
                continue;
            r = ask(call, call->page->session, "Page.navigateToHistoryEntry", NULL, err,
                    "{\"entryId\":%d}", whole_of(entry, "id", 0));
            return r == 0 ? arrive(call, &mark, err) : r;
        }
    return err_set(err, ERR_TOOL_FAILED, "there is no %s page in the history",
                   by < 0 ? "earlier" : "later");
}

int tool_back(struct browser_task *call, struct err *err)
{
    return go_in_history(call, -1, err);
}

int tool_forward(struct browser_task *call, struct err *err)
{
    return go_in_history(call, 1, err);
}

int tool_reload(struct browser_task *call, struct err *err)
{
    struct mark mark;
    int r;

    mark_now(call->page, &mark);
    call->page->has_crashed = false;
    r = ask(call, call->page->session, "Page.reload", NULL, err, "{}");
    return r == 0 ? arrive(call, &mark, err) : r;
}

/* ---- dialogs ---- */

int tool_dialog(struct browser_task *call, struct err *err)
{
    struct page *page = call->page;
    bool is_accepted = str_eq(text_of(call->arguments, "action"), STR("accept"));
    int64_t deadline_ms = monitor_now_ms() + DIALOG_MS;
    struct mark mark;
    char kind[16];
    int r;

    while (!page->dialog.is_open)
        if (call_is_over(call) || !monitor_wait(&call->host->monitor, deadline_ms))
            return err_set(err, ERR_TOOL_FAILED, "no dialog is open");
    mark_now(page, &mark);
    COPY(kind, str_from(page->dialog.kind));
    r = ask(call, page->dialog.session, "Page.handleJavaScriptDialog", NULL, err,
            "{\"accept\":%b,\"promptText\":%s}", is_accepted, text_of(call->arguments, "text"));
    if (r < 0)
        return r;
    page->dialog.is_open = false;
    call->heeds_dialog = true;
    r = result_add(call, "handled", "true");
    if (r == 0)
        r = result_add(call, "action", "%s", text_of(call->arguments, "action"));
    if (r == 0)
        r = result_add(call, "dialogType", "%z", kind);
    if (r == 0)
        r = settle(call, &mark, err);
    return r == 0 ? add_outcome(call, &mark, false, err) : r;
}

/* ---- waiting ---- */

/* '*' is anything. */
bool browser_glob(struct str pattern, struct str text)
{
    size_t p = 0;
    size_t t = 0;
    size_t star = SIZE_MAX;
    size_t from = 0;

    while (t < text.len) {
        if (p < pattern.len && pattern.ptr[p] == '*') {
            star = p++;
            from = t;
        } else if (p < pattern.len && (pattern.ptr[p] == text.ptr[t] || pattern.ptr[p] == '?')) {
            p++;
            t++;
        } else if (star != SIZE_MAX) {
            p = star + 1;
            t = ++from;
        } else {
            return false;
        }
    }
    while (p < pattern.len && pattern.ptr[p] == '*')
        p++;
    return p == pattern.len;
}

static bool is_at(const struct browser_task *call, struct str pattern)
{
    struct str url = str_from(call->page->url);

    return browser_glob(pattern, url) || str_eq(pattern, url);
}

static int wait_for_url(struct browser_task *call, struct str pattern, int64_t deadline_ms,
                        struct err *err)
{
    while (!is_at(call, pattern)) {
        if (call_is_over(call) || cdp_has_ended(call->link->cdp))
            return err_set(err, ERR_TOOL_FAILED, "interrupted while waiting for the address");
        if (!monitor_wait(&call->host->monitor, deadline_ms))
            return err_set(err, ERR_TIMED_OUT, "Timed out: the address is still %.150s%s",
                           call->page->url,
                           str_find(pattern, STR("*")) == SIZE_MAX
                               ? "\nurl is all of the address; * in it is anything, as in */done*"
                               : "");
    }
    return 0;
}

static int left_ms(int64_t deadline_ms)
{
    int64_t left = deadline_ms - monitor_now_ms();

    return left > 0 ? (int)left : 0;
}

/* A document that goes away takes its waiting along: the next one is waited for again. */
static int wait_in_page(struct browser_task *call, int64_t deadline_ms, struct err *err)
{
    struct str selector = text_of(call->arguments, "selector");
    struct str text = text_of(call->arguments, "text");
    struct str gone = text_of(call->arguments, "textGone");
    int r;

    if (selector.len == 0 && text.len == 0 && gone.len == 0)
        return 0;
    do {
        cleanup_buf struct buf options = BUF_INIT(1 << 20);
        cleanup_cdp_answer struct cdp_answer answer = CDP_ANSWER_INIT;
        const struct json_value *result;
        struct place place;
        uint64_t commits = call->page->commits;
        int ms = left_ms(deadline_ms);

        r = jsonf(&options, "{\"timeoutMs\":%d", (int64_t)ms);
        if (r == 0 && selector.len > 0)
            r = jsonf(&options, ",\"selector\":%s", selector);
        if (r == 0 && text.len > 0)
            r = jsonf(&options, ",\"text\":%s", text);
        if (r == 0 && gone.len > 0)
            r = jsonf(&options, ",\"gone\":%s", gone);
        if (r == 0)
            r = buf_append_char(&options, '}');
        if (r == 0)
            r = place_main(call, &place, err);
        if (r == 0)
            r = script(call, &place, "wait", ms, &answer, &result, err, "%r", buf_view(&options));
        if (r == 0 && ms == 0 && !flag_of(result, "holds"))
            r = err_set(err, ERR_TIMED_OUT, "Timed out");
        if (r == ERR_TOOL_FAILED && call->page->commits == commits)
            return r;
    } while (r == ERR_TOOL_FAILED && left_ms(deadline_ms) > 0 && !call_is_over(call));
    return r;
}

/* Looks when something happened in the page, and every moment: a condition may depend on time. */
static int wait_for_predicate(struct browser_task *call, struct str predicate, int64_t deadline_ms,
                              struct err *err)
{
    enum { LOOK_MS = 100 };
    char thrown[128] = "";

    while (true) {
        cleanup_cdp_answer struct cdp_answer answer = CDP_ANSWER_INIT;
        bool holds = false;
        int r = ask(call, call->page->session, "Runtime.evaluate", &answer, err,
                    "{\"expression\":%s,\"awaitPromise\":true,\"returnByValue\":true,"
                    "\"objectGroup\":\"console\"}",
                    predicate);
        int64_t next = monitor_now_ms() + LOOK_MS;

        if (r == 0 && is_function(&answer))
            r = call_function(call, &answer, err);
        if (r == ERR_CONNECTION_LOST || r == ERR_CANCELLED)
            return r;
        thrown[0] = '\0';
        if (r == 0 && json_get(answer.result, STR("exceptionDetails")) != NULL) {
            struct str words = text_of(json_get(answer.result, STR("result")), "description");
            struct str line = words;

            (void)str_cut(&words, '\n', &line);
            snprintf(thrown, sizeof(thrown), "%.*s", str_print_length(line), line.ptr);
        } else if (r == 0) {
            const struct json_value *value = value_of(&answer);

            holds = value != NULL && value->type != JSON_NULL &&
                    !(value->type == JSON_BOOL && value->integer == 0) &&
                    !(value->type == JSON_INT && value->integer == 0) &&
                    !(value->type == JSON_STRING && value->size == 0);
        }
        if (holds)
            return 0;
        if (left_ms(deadline_ms) == 0)
            return err_set(err, ERR_TIMED_OUT, "Timed out: the predicate %s%s",
                           thrown[0] != '\0' ? "throws " : "does not hold", thrown);
        while (monitor_now_ms() < next && !call_is_over(call))
            (void)monitor_wait(&call->host->monitor, next < deadline_ms ? next : deadline_ms + 1);
        if (call_is_over(call))
            return err_set(err, ERR_CANCELLED, "interrupted");
    }
}

/* For pages that show nothing to wait for. */
static void pause_for(struct browser_task *call, int64_t deadline_ms)
{
    while (!call_is_over(call) && !cdp_has_ended(call->link->cdp) &&
           monitor_wait(&call->host->monitor, deadline_ms))
        ;
}

static bool has_condition(const struct browser_task *call)
{
    static const char *const conditions[] = {"selector", "url",      "loadState",
                                             "text",     "textGone", "predicate"};

    for (size_t i = 0; i < array_size(conditions); i++)
        if (text_of(call->arguments, conditions[i]).len > 0)
            return true;
    return false;
}

int tool_wait(struct browser_task *call, struct err *err)
{
    int64_t ms = whole_of(call->arguments, "timeoutMs", WAIT_MS);
    int64_t since = monitor_now_ms();
    int64_t deadline_ms = since + ms;
    struct str url = text_of(call->arguments, "url");
    struct str state = text_of(call->arguments, "loadState");
    struct str predicate = text_of(call->arguments, "predicate");
    struct mark mark;
    int r = 0;

    if (!has_condition(call) && json_get(call->arguments, STR("timeoutMs")) == NULL)
        return err_set(
            err, ERR_TOOL_FAILED,
            "There is nothing to wait for\nName selector, url, loadState, text, textGone "
            "or predicate; timeoutMs alone is a pause");
    mark_now(call->page, &mark);
    if (call->deadline_ms < deadline_ms + SETTLE_REQUESTS_MS)
        call->deadline_ms = deadline_ms + SETTLE_REQUESTS_MS;
    if (!has_condition(call))
        pause_for(call, deadline_ms);
    if (url.len > 0)
        r = wait_for_url(call, url, deadline_ms, err);
    if (r == 0 && state.len > 0)
        r = wait_for_state(call, state, left_ms(deadline_ms), left_ms(deadline_ms), err);
    if (r == 0)
        r = wait_in_page(call, deadline_ms, err);
    if (r == 0 && predicate.len > 0)
        r = wait_for_predicate(call, predicate, deadline_ms, err);
    if (r == 0)
        r = result_add(call, "waited", "true");
    if (r == 0)
        r = result_add(call, "elapsedMs", "%d", monitor_now_ms() - since);
    return r == 0 ? add_outcome(call, &mark, false, err) : r;
}

/* ---- the size of the page ---- */

int tool_resize(struct browser_task *call, struct err *err)
{
    int64_t width = whole_of(call->arguments, "width", 0);
    int64_t height = whole_of(call->arguments, "height", 0);
    double scale = number_of(call->arguments, "deviceScaleFactor", 1);
    bool is_mobile = flag_of(call->arguments, "mobile");
    struct str agent = text_of(call->arguments, "userAgent");
    struct str scheme = text_of(call->arguments, "colorScheme");
    int r = ask(call, call->page->session, "Emulation.setDeviceMetricsOverride", NULL, err,
                "{\"width\":%d,\"height\":%d,\"deviceScaleFactor\":%f,\"mobile\":%b}", width,
                height, scale, is_mobile);

    if (r == 0)
        r = ask(call, call->page->session, "Emulation.setTouchEmulationEnabled", NULL, err,
                "{\"enabled\":%b}", is_mobile);
    if (r == 0 && agent.len > 0)
        r = ask(call, call->page->session, "Emulation.setUserAgentOverride", NULL, err,
                "{\"userAgent\":%s}", agent);
    if (r == 0 && scheme.len > 0)
        r = ask(call, call->page->session, "Emulation.setEmulatedMedia", NULL, err,
                "{\"features\":[{\"name\":\"prefers-color-scheme\",\"value\":%s}]}", scheme);
    if (r == 0)
        r = result_add(call, "width", "%d", width);
    return r == 0 ? result_add(call, "height", "%d", height) : r;
}
