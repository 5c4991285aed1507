/* SPDX-License-Identifier: Apache-2.0 */
#include "browser/local.h"

#include <unistd.h>

#include "base/cleanup.h"
#include "browser/jsonf.h"
#include "browser/keeper.h"
#include "browser/relay.h"
#include "browser/url.h"

enum {
    ALLOW_MS = 60000, /* for the user to press a button */
    PRESS_MS = 30000, /* the same in a page that was just opened */
    LOOK_MS = 500,
    OPEN_MS = 30000,
    MAX_USERS = MAX_PAGES / 2, /* tabs of the user that are listed: others need room, too */
    MAX_LEVELS = 64,
};

#define HOW_TO                                                                                     \
    "The user can allow it at chrome://inspect/#remote-debugging, or start the browser with "      \
    "--remote-debugging-port=0"

/* ---- connecting ---- */

static int open_relay(struct browser_task *call, struct err *err)
{
    char room[KEEPER_MAX_PACKET];
    const struct json_value *answer;
    int fds[KEEPER_FDS] = {-1, -1};
    int r = ask_keeper(call, STR("{\"listen\":true}"), room, &answer, fds, err);

    return r == 0 ? relay_open(call->host, fds[0], (uint16_t)whole_of(answer, "port", 0), err) : r;
}

/* Shows the user where to press Connect, once; ERR_NOT_FOUND: no browser has the extension. */
static int show_relay(struct browser_task *call)
{
    cleanup_buf struct buf request = BUF_INIT(KEEPER_MAX_PACKET);
    char room[KEEPER_MAX_PACKET];
    const struct json_value *answer;
    int fds[KEEPER_FDS] = {-1, -1};
    int r = jsonf(&request, "{\"open\":{\"browser\":%s,\"port\":%d,\"path\":%s}}",
                  text_of(call->arguments, "browser"), (int64_t)relay_port(call->host),
                  relay_path(call->host));

    if (r == 0)
        r = ask_keeper(call, buf_view(&request), room, &answer, fds, NULL);
    if (r == 0)
        r = (int)whole_of(answer, "opened", 0);
    if (r == 0 && call->host->relay != NULL)
        relay_set_shown(call->host);
    return r;
}

/* With the address, in what fits into a message. */
static int explain_relay(const struct host *host, int why, struct err *err)
{
    char address[USERBROWSER_ADDRESS_BYTES];

    relay_address(host, address);
    if (relay_was_shown(host))
        return err_set(
            err, ERR_TOOL_FAILED,
            "The user has not pressed Connect yet\nCall again after that, in the page %s", address);
    return err_set(err, ERR_TOOL_FAILED,
                   why == ERR_NOT_FOUND
                       ? "No browser has n8n's extension\nThe user allows "
                         "chrome://inspect/#remote-debugging, or installs it and opens %s"
                       : "The user's browser cannot be reached\nThe user allows "
                         "chrome://inspect/#remote-debugging, or opens %s",
                   address);
}

/* By the extension, if the user lets it in there: the result says how. */
static int connect_relay(struct browser_task *call, struct err *err)
{
    struct host *host = call->host;
    int64_t until_ms;
    int why = 0;
    int r = host->relay == NULL ? open_relay(call, err) : 0;

    if (r < 0)
        return r;
    while (relay_is_expected(host) && !call->is_cancelled)
        (void)monitor_wait(&host->monitor, monitor_now_ms() + LOOK_MS);
    if (host->relay != NULL && !relay_is_connected(host) && !relay_was_shown(host))
        why = show_relay(call);
    until_ms = monitor_now_ms() + PRESS_MS;
    while (relay_was_shown(host) && !relay_is_connected(host) && !call->is_cancelled &&
           monitor_now_ms() < until_ms)
        (void)monitor_wait(&host->monitor, monitor_now_ms() + LOOK_MS);
    if (relay_is_connected(host))
        return host_open_relayed(host, err);
    if (host->relay == NULL || call->is_cancelled)
        return err_set_plain(err, ERR_CANCELLED);
    return explain_relay(host, why, err);
}

int local_connect(struct browser_task *call, struct err *err)
{
    cleanup_buf struct buf request = BUF_INIT(KEEPER_MAX_PACKET);
    struct str browser = text_of(call->arguments, "browser");
    char room[KEEPER_MAX_PACKET];
    const struct json_value *answer;
    int fds[KEEPER_FDS] = {-1, -1};
    char path[ID_BYTES * 2];
    int r = jsonf(&request, "{\"attach\":{\"browser\":%s}}", browser);

    call->host->knows_addresses = false; /* it may use a proxy */
    if (r == 0)
        r = ask_keeper(call, buf_view(&request), room, &answer, fds, err);
    if (r < 0)
        return r;
    if (fds[0] < 0) {
        r = connect_relay(call, err);
        call->host->has_windows = true;
        return r;
    }
    relay_close(call->host);
    COPY(path, text_of(answer, "path"));
    r = host_open_socket(call->host, fds[0], (uint16_t)whole_of(answer, "port", 0), path, err);
    call->host->has_windows = true;
    return r;
}

static int explain(int r, struct err *err)
{
    if (r == ERR_CONNECTION_LOST)
        return err_set(err, ERR_TOOL_FAILED, "The user's browser refused the connection\n" HOW_TO);
    if (r == ERR_TIMED_OUT)
        return err_set(err, ERR_TOOL_FAILED,
                       "The user's browser did not answer\nThe user has to press Allow in it; "
                       "then call again");
    return r;
}

int local_set_up(struct browser_task *call, struct err *err)
{
    cleanup_cdp_answer struct cdp_answer version = CDP_ANSWER_INIT;
    cleanup_cdp_answer struct cdp_answer tab = CDP_ANSWER_INIT;
    int r = ask_within(call, "", "Browser.getVersion", ALLOW_MS, &version, err, "{}");

    if (r < 0)
        return explain(r, err);
    COPY(call->host->browser, text_of(version.result, "product"));
    r = ask(call, "", "Target.setDiscoverTargets", NULL, err,
            "{\"discover\":true,\"filter\":[{\"type\":\"page\"},{\"exclude\":true}]}");
    /* So that what a controlled page opens waits for its set-up. Others are let go at once. */
    if (r == 0)
        r = ask(call, "", "Target.setAutoAttach", NULL, err,
                "{\"autoAttach\":true,\"waitForDebuggerOnStart\":true,\"flatten\":true,"
                "\"filter\":[{\"type\":\"page\"},{\"exclude\":true}]}");
    if (r == 0)
        r = ask_within(call, "", "Target.createTarget", OPEN_MS, &tab, err,
                       "{\"url\":\"about:blank\"}");
    if (r == 0)
        r = local_adopt(call, text_of(tab.result, "targetId"), err);
    return r == 0 ? local_refresh(call, err) : r;
}

/* ---- controlling a tab ---- */

/* What was there before we came: frames, and which document it is. */
static void take_frames(struct page *page, const struct json_value *tree, const char *parent,
                        unsigned level)
{
    const struct json_value *about = json_get(tree, STR("frame"));
    const struct json_value *children = json_get(tree, STR("childFrames"));
    struct frame *frame = about != NULL ? need_frame(page, text_of(about, "id")) : NULL;

    if (frame == NULL || level > MAX_LEVELS)
        return;
    COPY(frame->parent, str_from(parent));
    if (frame->session[0] == '\0')
        COPY(frame->session, str_from(page->session));
    if (children != NULL && children->type == JSON_ARRAY)
        json_each_item (child, children)
            take_frames(page, child, frame->id, level + 1);
}

static int read_frames(struct browser_task *call, struct page *page, struct err *err)
{
    cleanup_cdp_answer struct cdp_answer answer = CDP_ANSWER_INIT;
    int r = ask(call, page->session, "Page.getFrameTree", &answer, err, "{}");
    const struct json_value *tree = r == 0 ? json_get(answer.result, STR("frameTree")) : NULL;
    const struct json_value *about = tree != NULL ? json_get(tree, STR("frame")) : NULL;

    if (about == NULL)
        return r;
    take_frames(page, tree, "", 0);
    if (page->commits == 0) {
        COPY(page->url, text_of(about, "url"));
        COPY(page->loader, text_of(about, "loaderId"));
        COPY(page->past[0], text_of(about, "loaderId"));
        page->commits = 1;
    }
    call->host->has_news = true;
    return 0;
}

static int attach(struct browser_task *call, struct page *page, struct err *err)
{
    struct host *host = call->host;
    int64_t deadline_ms = monitor_now_ms() + OPEN_MS;
    int r;

    page->is_wanted = true;
    r = ask(call, "", "Target.attachToTarget", NULL, err, "{\"targetId\":%z,\"flatten\":true}",
            page->target);
    while (r == 0 && !page->is_set_up && page->defect[0] == '\0' && !page->is_closed &&
           !cdp_has_ended(call->link->cdp))
        if (!monitor_wait(&host->monitor, deadline_ms))
            r = err_set(err, ERR_TIMED_OUT, "the tab does not respond");
    if (r == 0 && page->is_closed)
        r = err_set(err, ERR_TOOL_FAILED, "the tab was closed");
    if (r == 0 && page->is_set_up)
        r = read_frames(call, page, err);
    if (r < 0)
        page->is_wanted = false;
    return r;
}

int local_adopt(struct browser_task *call, struct str target, struct err *err)
{
    struct host *host = call->host;
    struct page *page = page_by_target(host, target);
    int r;

    if (page == NULL && host->page_count < MAX_PAGES)
        page = new_page(host, target);
    if (page == NULL)
        return err_set(err, ERR_TOOL_FAILED, "Too many tabs are open\nClose some first");
    page->is_users = false;
    page->refs++;
    r = attach(call, page, err);
    if (r == 0 && page->defect[0] != '\0')
        r = err_set(err, ERR_TOOL_FAILED, "the tab cannot be controlled: %s", page->defect);
    if (r == 0)
        host->active = page;
    host->has_news = true;
    page_unref(page);
    return r;
}

int local_use(struct browser_task *call, struct err *err)
{
    struct page *page = call->page;
    char before[HOST_BYTES];
    int r;

    if (page == NULL || page->session[0] != '\0' || page->is_wanted)
        return 0;
    COPY(before, page_host(page));
    r = attach(call, page, err);
    if (r == 0 && !str_eq_c(page_host(page), before))
        r = err_set(err, ERR_TOOL_FAILED, "The page has gone to another site since\nCall again");
    return r;
}

/* ---- what the browser tells ---- */

static bool is_web(struct str text)
{
    struct browser_url url;

    return browser_url_parse(text, &url) && url.scheme == BROWSER_WEB && url.host.len > 0;
}

static size_t count_users(const struct host *host)
{
    size_t count = 0;

    list_each (node, &host->pages)
        count += list_entry(node, struct page, node)->is_users;
    return count;
}

/* A tab of the user is listed while it shows a page of the web. */
static void on_info(struct host *host, struct page *page, const struct json_value *info)
{
    struct str url = text_of(info, "url");

    if (page == NULL && is_web(url) && count_users(host) < MAX_USERS &&
        host->page_count < MAX_PAGES) {
        page = new_page(host, text_of(info, "targetId"));
        if (page == NULL)
            return;
        page->is_users = true;
        if (host->active == page)
            host->active = NULL; /* a call has to name it */
    }
    if (page == NULL)
        return;
    if (page->is_users && !page->is_wanted && !is_web(url)) {
        close_page(host, page);
        return;
    }
    COPY(page->title, text_of(info, "title"));
    if (page->session[0] == '\0')
        COPY(page->url, url);
    host->has_news = true;
}

int local_refresh(struct browser_task *call, struct err *err)
{
    cleanup_cdp_answer struct cdp_answer answer = CDP_ANSWER_INIT;
    const struct json_value *infos;
    int r;

    if (!call->link->is_local)
        return 0;
    r = ask(call, "", "Target.getTargets", &answer, err,
            "{\"filter\":[{\"type\":\"page\"},{\"exclude\":true}]}");
    infos = r == 0 ? json_get(answer.result, STR("targetInfos")) : NULL;
    if (infos != NULL && infos->type == JSON_ARRAY)
        json_each_item (info, infos)
            on_info(call->host, page_by_target(call->host, text_of(info, "targetId")), info);
    return r;
}

/* Ours are those that a call wants, and what those open. */
static bool is_ours(struct host *host, const struct json_value *info)
{
    const struct page *page = page_by_target(host, text_of(info, "targetId"));
    const struct page *opener = page_by_target(host, text_of(info, "openerId"));

    if (page != NULL && page->is_wanted)
        return page->session[0] == '\0';
    return opener != NULL && opener->session[0] != '\0';
}

bool local_on_target(struct host *host, struct str method, const struct json_value *params)
{
    const struct json_value *info = json_get(params, STR("targetInfo"));
    struct page *page;

    if (str_eq(method, STR("Target.targetDestroyed"))) {
        page = page_by_target(host, text_of(params, "targetId"));
        if (page != NULL)
            close_page(host, page);
        return true;
    }
    if (info == NULL || !str_eq(text_of(info, "type"), STR("page")))
        return false;
    page = page_by_target(host, text_of(info, "targetId"));
    if (str_eq(method, STR("Target.targetCreated")) ||
        str_eq(method, STR("Target.targetInfoChanged"))) {
        on_info(host, page, info);
        return true;
    }
    if (!str_eq(method, STR("Target.attachedToTarget")))
        return false;
    if (is_ours(host, info)) {
        if (page != NULL && !page->is_wanted)
            page->is_users = false; /* a controlled page has opened it */
        return false;
    }
    tell_browser(host, text_of(params, "sessionId"), "Runtime.runIfWaitingForDebugger", "{}");
    tell_browser(host, STR_EMPTY, "Target.detachFromTarget", "{\"sessionId\":%s}",
                 text_of(params, "sessionId"));
    return true;
}
