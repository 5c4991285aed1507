/* SPDX-License-Identifier: Apache-2.0 */
/* What happens in the browser, as its events tell it: pages, frames, requests, dialogs. */
#include "browser/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/clock.h"
#include "browser/jsonf.h"
#include "browser/local.h"
#include "browser/pagescript.h"
#include "browser/relay.h"
#include "browser/url.h"

enum { PARAMS_BYTES = 8 << 20 };

#define WORLD "gatehouse"
/* Pages and frames, no workers: those have no document. */
#define ATTACH                                                                                     \
    "{\"autoAttach\":true,\"waitForDebuggerOnStart\":true,\"flatten\":true,"                       \
    "\"filter\":[{\"type\":\"page\"},{\"type\":\"iframe\"},{\"exclude\":true}]}"

/* ---- texts ---- */

void copy_text(char *room, size_t size, struct str text)
{
    snprintf(room, size, "%.*s", STR_ARG(text));
}

struct str text_of(const struct json_value *object, const char *name)
{
    struct str text = STR_EMPTY;

    if (object != NULL)
        (void)json_get_str(object, str_from(name), &text);
    return text;
}

bool flag_of(const struct json_value *object, const char *name)
{
    bool is_set = false;

    if (object != NULL)
        (void)json_get_bool(object, str_from(name), &is_set);
    return is_set;
}

int64_t whole_of(const struct json_value *object, const char *name, int64_t fallback)
{
    int64_t number = fallback;

    if (object != NULL)
        (void)json_get_whole(object, str_from(name), &number);
    return number;
}

double number_of(const struct json_value *object, const char *name, double fallback)
{
    const struct json_value *value = object != NULL ? json_get(object, str_from(name)) : NULL;
    char text[64];

    if (value == NULL)
        return fallback;
    if (value->type == JSON_INT)
        return (double)value->integer;
    if (value->type != JSON_NUMBER || value->size >= sizeof(text))
        return fallback;
    snprintf(text, sizeof(text), "%.*s", STR_ARG(json_str(value)));
    return strtod(text, NULL);
}

static char *own_text(struct str text, size_t max)
{
    return strndup(text.ptr, text.len < max ? text.len : max);
}

/* ---- pages and frames ---- */

struct page *page_by_id(struct host *host, struct str id)
{
    list_each (node, &host->pages) {
        struct page *page = list_entry(node, struct page, node);

        if (str_eq_c(id, page->id))
            return page;
    }
    return NULL;
}

struct page *page_by_target(struct host *host, struct str target)
{
    list_each (node, &host->pages) {
        struct page *page = list_entry(node, struct page, node);

        if (str_eq_c(target, page->target))
            return page;
    }
    return NULL;
}

static struct frame *find_frame(struct page *page, struct str id)
{
    list_each (node, &page->frames) {
        struct frame *frame = list_entry(node, struct frame, node);

        if (str_eq_c(id, frame->id))
            return frame;
    }
    return NULL;
}

struct frame *page_main_frame(struct page *page)
{
    return find_frame(page, str_from(page->target)); /* they have one name */
}

struct page *page_by_session(struct host *host, struct str session)
{
    if (session.len == 0)
        return NULL; /* the browser itself */
    list_each (node, &host->pages) {
        struct page *page = list_entry(node, struct page, node);

        if (str_eq_c(session, page->session))
            return page;
        list_each (inner, &page->frames)
            if (str_eq_c(session, list_entry(inner, struct frame, node)->session))
                return page;
    }
    return NULL;
}

struct str page_host(const struct page *page)
{
    struct browser_url url;

    return browser_url_parse(str_from(page->url), &url) ? url.host : STR_EMPTY;
}

struct frame *need_frame(struct page *page, struct str id)
{
    struct frame *frame = find_frame(page, id);

    if (frame != NULL || page->frame_count >= MAX_FRAMES)
        return frame;
    frame = calloc(1, sizeof(*frame));
    if (frame == NULL)
        return NULL;
    COPY(frame->id, id);
    frame->number = -1;
    list_append(&page->frames, &frame->node);
    page->frame_count++;
    return frame;
}

static void drop_frame(struct page *page, struct frame *frame)
{
    list_remove(&frame->node);
    page->frame_count--;
    free(frame);
}

static void free_message(struct message *message)
{
    free(message->text);
    *message = (struct message){.text = NULL};
}

static void free_request(struct request *request)
{
    free(request->url);
    *request = (struct request){.url = NULL};
}

void page_unref(struct page *page)
{
    if (page == NULL || --page->refs > 0)
        return;
    list_each_safe (node, &page->frames)
        drop_frame(page, list_entry(node, struct frame, node));
    for (size_t i = 0; i < MAX_MESSAGES; i++)
        free_message(&page->messages[i]);
    for (size_t i = 0; i < MAX_REQUESTS; i++)
        free_request(&page->requests[i]);
    free(page->dialog.words);
    free(page->drag);
    free(page);
}

/* A tab of the user becomes active only if a call says so. */
static struct page *last_page(const struct host *host)
{
    struct page *last = NULL;

    list_each (node, &host->pages)
        if (!list_entry(node, struct page, node)->is_users)
            last = list_entry(node, struct page, node);
    return last;
}

void close_page(struct host *host, struct page *page)
{
    list_remove(&page->node);
    host->page_count--;
    page->is_closed = true;
    if (host->active == page)
        host->active = last_page(host);
    host->has_news = true;
    page_unref(page);
}

void pages_clear(struct host *host)
{
    list_each_safe (node, &host->pages)
        close_page(host, list_entry(node, struct page, node));
}

struct page *new_page(struct host *host, struct str target)
{
    struct page *page = calloc(1, sizeof(*page));

    if (page == NULL)
        return NULL;
    page->refs = 1;
    list_init(&page->frames);
    page->order = ++host->page_order;
    snprintf(page->id, sizeof(page->id), "p%llu", (unsigned long long)page->order);
    COPY(page->target, target);
    list_append(&host->pages, &page->node);
    host->page_count++;
    if (host->active == NULL)
        host->active = page;
    return page;
}

/* ---- a new target ---- */

#define FIRST_COMMAND "Fetch.enable"
#define LAST_COMMAND  "Runtime.runIfWaitingForDebugger"

/*
 * Nothing of the target runs before its requests are intercepted: it waits for the last command of
 * finish_set_up(), which is not sent if this one fails. Requests for documents stop at Fetch, those
 * for private networks too.
 */
static void set_up(struct host *host, struct str session)
{
    static const char patterns[] =
        "{\"patterns\":[{\"urlPattern\":\"*\",\"resourceType\":\"Document\"},"
        "{\"urlPattern\":\"*://localhost*\"},{\"urlPattern\":\"*localhost/*\"},"
        "{\"urlPattern\":\"*localhost:*\"},{\"urlPattern\":\"*://127.*\"},"
        "{\"urlPattern\":\"*://0.*\"},{\"urlPattern\":\"*://10.*\"},"
        "{\"urlPattern\":\"*://100.*\"},{\"urlPattern\":\"*://169.254.*\"},"
        "{\"urlPattern\":\"*://172.*\"},{\"urlPattern\":\"*://192.168.*\"},"
        "{\"urlPattern\":\"*://198.1*\"},{\"urlPattern\":\"*://[*\"},"
        "{\"urlPattern\":\"*.local/*\"},{\"urlPattern\":\"*.local:*\"},"
        "{\"urlPattern\":\"*.internal/*\"},{\"urlPattern\":\"*.internal:*\"},"
        "{\"urlPattern\":\"*.lan/*\"},{\"urlPattern\":\"*.lan:*\"},"
        "{\"urlPattern\":\"*.intranet/*\"},{\"urlPattern\":\"*.home.arpa/*\"}]}";

    need_of_browser(host, session, FIRST_COMMAND, patterns);
}

static void finish_set_up(struct host *host, struct str session, bool is_page)
{
    need_of_browser(host, session, "Page.enable", "{}");
    need_of_browser(host, session, "Page.setLifecycleEventsEnabled", "{\"enabled\":true}");
    need_of_browser(host, session, "Runtime.enable", "{}");
    need_of_browser(host, session, "Page.addScriptToEvaluateOnNewDocument",
                    "{\"source\":%s,\"worldName\":\"" WORLD "\",\"runImmediately\":true}",
                    browser_page_script);
    need_of_browser(host, session, "Network.enable", "{\"maxPostDataSize\":0}");
    need_of_browser(host, session, "Log.enable", "{}");
    need_of_browser(host, session, "Target.setAutoAttach", ATTACH);
    if (is_page) /* browser_upload answers it: a dialog would stay open */
        need_of_browser(host, session, "Page.setInterceptFileChooserDialog", "{\"enabled\":true}");
    need_of_browser(host, session, LAST_COMMAND, "{}");
}

/* A page that could do something unseen, or a frame of it, is given up as a whole. */
static void give_up(struct host *host, struct page *page, const char *method, const char *why)
{
    if (page->defect[0] != '\0')
        return;
    snprintf(page->defect, sizeof(page->defect), "%.60s: %.90s", method, why);
    tell_browser(host, str_from(page->session), "Page.stopLoading", "{}");
}

/* Of a target that goes away meanwhile every command fails. */
static bool says_gone(const char *refusal)
{
    return strstr(refusal, "Session with given id not found") != NULL ||
           strstr(refusal, "Target closed") != NULL || strstr(refusal, "Inspected target") != NULL;
}

void host_on_answer(void *data, struct str session, const char *method, const char *refusal)
{
    struct host *host = data;
    struct page *page = page_by_session(host, session);
    bool is_page = page != NULL && str_eq_c(session, page->session);
    bool is_first = strcmp(method, FIRST_COMMAND) == 0;
    bool is_last = strcmp(method, LAST_COMMAND) == 0;

    if (page == NULL)
        return; /* it has gone */
    if (refusal != NULL) {
        if (!says_gone(refusal))
            give_up(host, page, method, refusal);
    } else if (is_first && page->defect[0] == '\0') {
        finish_set_up(host, session, is_page);
    } else if (is_last && is_page) {
        page->is_set_up = true;
    }
    monitor_tell(&host->monitor);
}

static void on_attached(struct host *host, struct str parent, const struct json_value *params)
{
    const struct json_value *info = json_get(params, STR("targetInfo"));
    struct str session = text_of(params, "sessionId");
    struct str target = text_of(info, "targetId");
    bool is_page = str_eq(text_of(info, "type"), STR("page"));
    struct page *page;
    struct frame *frame;

    if (target.len == 0 || session.len == 0)
        return;
    if (!is_page) {
        page = page_by_session(host, parent);
        frame = page != NULL ? need_frame(page, target) : NULL;
        if (frame == NULL)
            return;
        COPY(frame->session, session);
        frame->context = 0;
        frame->number = -1;
        set_up(host, session);
        return;
    }
    page = page_by_target(host, target);
    if (page == NULL && host->page_count < MAX_PAGES)
        page = new_page(host, target);
    if (page == NULL) { /* too many: it goes without having begun */
        tell_browser(host, STR_EMPTY, "Target.closeTarget", "{\"targetId\":%s}", target);
        return;
    }
    COPY(page->session, session);
    COPY(page->opener, text_of(info, "openerId"));
    COPY(page->url, text_of(info, "url"));
    COPY(page->title, text_of(info, "title"));
    frame = need_frame(page, target);
    if (frame != NULL)
        COPY(frame->session, session);
    host->has_news = true;
    set_up(host, session);
}

static void on_detached(struct host *host, const struct json_value *params)
{
    struct str session = text_of(params, "sessionId");
    struct page *page = page_by_session(host, session);

    if (page == NULL)
        return;
    if (str_eq_c(session, page->session)) {
        close_page(host, page);
        return;
    }
    list_each_safe (node, &page->frames) {
        struct frame *frame = list_entry(node, struct frame, node);

        if (str_eq_c(session, frame->session)) {
            frame->context = 0;
            COPY(frame->session, str_from(page->session));
        }
    }
}

/* ---- frames and their documents ---- */

static void on_context(struct page *page, struct str session, const struct json_value *params)
{
    const struct json_value *context = json_get(params, STR("context"));
    struct frame *frame;

    if (context == NULL || !str_eq(text_of(context, "name"), STR(WORLD)))
        return;
    frame = need_frame(page, text_of(json_get(context, STR("auxData")), "frameId"));
    if (frame == NULL)
        return;
    COPY(frame->session, session);
    frame->context = whole_of(context, "id", 0);
    frame->number = -1;
}

static void on_context_gone(struct page *page, struct str session, int64_t context)
{
    list_each (node, &page->frames) {
        struct frame *frame = list_entry(node, struct frame, node);

        if (str_eq_c(session, frame->session) && (context == 0 || frame->context == context)) {
            frame->context = 0;
            frame->number = -1;
        }
    }
}

static bool is_main(const struct page *page, struct str frame)
{
    return str_eq_c(frame, page->target);
}

static void on_frame(struct page *page, struct str session, struct str method,
                     const struct json_value *params)
{
    struct str id = text_of(params, "frameId");
    struct frame *frame;

    if (str_eq(method, STR("Page.frameAttached"))) {
        frame = need_frame(page, id);
        if (frame == NULL)
            return;
        COPY(frame->parent, text_of(params, "parentFrameId"));
        COPY(frame->session, session);
    } else if (str_eq(text_of(params, "reason"), STR("remove"))) {
        frame = find_frame(page, id);
        if (frame != NULL && !is_main(page, id))
            drop_frame(page, frame);
    }
}

bool page_has_had(const struct page *page, struct str loader)
{
    for (size_t i = 0; i < MAX_PAST; i++)
        if (loader.len > 0 && str_eq_c(loader, page->past[i]))
            return true;
    return false;
}

/*
 * The browser and the page's own process both tell about a navigation: what is told of one that has
 * already arrived is late, and begins nothing.
 */
static void begin_going(struct page *page, struct str loader)
{
    if (page_has_had(page, loader))
        return;
    page->goings += page->is_going ? 0 : 1;
    page->is_going = true;
}

/* From here on it is told how far this document is. */
static void begin_telling(struct page *page, struct str loader)
{
    if (str_eq_c(loader, page->told))
        return;
    COPY(page->told, loader);
    page->is_ready = page->is_loaded = page->is_idle = false;
}

static void on_navigated(struct host *host, struct page *page, struct str session,
                         const struct json_value *params)
{
    const struct json_value *about = json_get(params, STR("frame"));
    struct str id = text_of(about, "id");
    struct frame *frame = need_frame(page, id);

    if (frame != NULL) {
        COPY(frame->session, session);
        if (text_of(about, "parentId").len > 0)
            COPY(frame->parent, text_of(about, "parentId"));
    }
    if (!is_main(page, id))
        return;
    COPY(page->url, text_of(about, "url"));
    if (text_of(about, "unreachableUrl").len > 0)
        COPY(page->url, text_of(about, "unreachableUrl"));
    COPY(page->loader, text_of(about, "loaderId"));
    COPY(page->past[page->commits % MAX_PAST], text_of(about, "loaderId"));
    begin_telling(page, text_of(about, "loaderId"));
    page->title[0] = '\0';
    page->chooser.is_open = false;
    page->commits++;
    page->is_going = false;
    page->has_crashed = false;
    host->has_news = true;
}

static void on_lifecycle(struct page *page, const struct json_value *params)
{
    struct str name = text_of(params, "name");
    struct str loader = text_of(params, "loaderId");

    if (!is_main(page, text_of(params, "frameId")))
        return;
    if (!str_eq_c(loader, page->loader) && page_has_had(page, loader))
        return; /* of one that has gone */
    begin_telling(page, loader);
    if (str_eq(name, STR("DOMContentLoaded")))
        page->is_ready = true;
    else if (str_eq(name, STR("load")))
        page->is_ready = page->is_loaded = true;
    else if (str_eq(name, STR("networkIdle")))
        page->is_idle = true;
}

/* ---- requests ---- */

static struct request *find_request(struct page *page, struct str id)
{
    for (size_t i = page->request_count; i > 0; i--) {
        struct request *request = &page->requests[(page->request_first + i - 1) % MAX_REQUESTS];

        if (str_eq_c(id, request->id))
            return request;
    }
    return NULL;
}

static struct request *new_request(struct page *page)
{
    struct request *request;

    if (page->request_count == MAX_REQUESTS) {
        page->request_first = (page->request_first + 1) % MAX_REQUESTS;
        page->request_count--;
    }
    request = &page->requests[(page->request_first + page->request_count) % MAX_REQUESTS];
    page->request_count++;
    free_request(request);
    request->order = ++page->request_order;
    return request;
}

static void take_response(struct page *page, struct request *request,
                          const struct json_value *response)
{
    request->status = (int)whole_of(response, "status", 0);
    COPY(request->type, text_of(response, "mimeType"));
    if (str_eq_c(STR("Document"), request->kind) && is_main(page, str_from(page->target)))
        page->status = request->status;
}

static void on_request(struct page *page, struct str session, const struct json_value *params)
{
    static const char *const awaited[] = {"Document", "Script", "Stylesheet", "XHR", "Fetch"};
    const struct json_value *about = json_get(params, STR("request"));
    const struct json_value *redirect = json_get(params, STR("redirectResponse"));
    struct str id = text_of(params, "requestId");
    struct str kind = text_of(params, "type");
    bool is_document = str_eq(kind, STR("Document")) && is_main(page, text_of(params, "frameId"));
    struct request *request = find_request(page, id);

    if (request != NULL && redirect != NULL) {
        take_response(page, request, redirect);
        request->is_done = true;
        request->id[0] = '\0';
    }
    request = new_request(page);
    COPY(request->id, id);
    COPY(request->session, session);
    COPY(request->method, text_of(about, "method"));
    COPY(request->kind, kind);
    request->url = own_text(text_of(about, "url"), URL_BYTES);
    request->at_ms = clock_wall_ms(&clock_system);
    request->counts = str_index(kind, awaited, array_size(awaited)) != SIZE_MAX;
    if (is_document) {
        begin_going(page, text_of(params, "loaderId"));
        page->status = 0;
        page->failure[0] = '\0';
    }
}

static void on_response(struct page *page, const struct json_value *params)
{
    struct request *request = find_request(page, text_of(params, "requestId"));
    const struct json_value *response = json_get(params, STR("response"));

    if (request == NULL || response == NULL)
        return;
    request->status = (int)whole_of(response, "status", 0);
    COPY(request->type, text_of(response, "mimeType"));
    if (str_eq_c(STR("Document"), request->kind) && is_main(page, text_of(params, "frameId")))
        page->status = request->status;
}

static void on_request_end(struct page *page, const struct json_value *params, bool has_failed)
{
    struct request *request = find_request(page, text_of(params, "requestId"));

    if (request == NULL)
        return;
    request->is_done = true;
    request->has_failed = has_failed;
    if (has_failed && page->is_going && str_eq_c(STR("Document"), request->kind))
        COPY(page->failure, text_of(params, "errorText"));
}

/* ---- who may go where ---- */

static void answer_request(struct host *host, const char *session, const char *request,
                           bool is_allowed)
{
    if (is_allowed)
        tell_browser(host, str_from(session), "Fetch.continueRequest", "{\"requestId\":%z}",
                     request);
    else
        tell_browser(host, str_from(session), "Fetch.failRequest",
                     "{\"requestId\":%z,\"errorReason\":\"BlockedByClient\"}", request);
}

static void refuse_page(struct page *page, struct str host)
{
    COPY(page->blocked, host);
    page->blocks++;
}

/* Asks the front end, which knows the rules. */
static void ask_front(struct host *host, struct page *page, struct str session,
                      const struct json_value *params, const struct browser_url *url,
                      bool is_agreed)
{
    cleanup_buf struct buf text = BUF_INIT(4096);
    struct check *check = calloc(1, sizeof(*check));

    if (check == NULL)
        return; /* it stays stopped */
    check->id = ++host->last_check;
    COPY(check->session, session);
    COPY(check->request, text_of(params, "requestId"));
    COPY(check->host, url->host);
    check->page = page;
    if (page != NULL)
        page->refs++;
    list_append(&host->checks, &check->node);
    if (jsonf(&text, "{\"check\":%d,\"host\":%s,\"port\":%d,\"agreed\":%b}", check->id, url->host,
              (int64_t)url->port, is_agreed) == 0)
        (void)host_send(host, buf_view(&text));
}

static void drop_check(struct check *check)
{
    list_remove(&check->node);
    page_unref(check->page);
    free(check);
}

void host_drop_checks(struct host *host)
{
    list_each_safe (node, &host->checks)
        drop_check(list_entry(node, struct check, node));
}

void host_take_verdict(struct host *host, int64_t id, bool is_allowed)
{
    list_each_safe (node, &host->checks) {
        struct check *check = list_entry(node, struct check, node);

        if (check->id != id)
            continue;
        if (!is_allowed && check->page != NULL)
            refuse_page(check->page, str_from(check->host));
        if (host->link != NULL)
            answer_request(host, check->session, check->request, is_allowed);
        drop_check(check);
    }
    monitor_tell(&host->monitor);
}

/*
 * A page may stay where it is, and go where the call that runs was allowed to. A frame and what is
 * loaded into a page may come from anywhere but this machine and private networks.
 */
static void on_paused(struct host *host, struct page *page, struct str session,
                      const struct json_value *params)
{
    struct str request = text_of(params, "requestId");
    struct browser_url url;
    bool is_going = str_eq(text_of(params, "resourceType"), STR("Document")) &&
                    is_main(page, text_of(params, "frameId"));
    bool is_agreed;
    char id[ID_BYTES];
    char session_id[ID_BYTES];

    COPY(id, request);
    COPY(session_id, session);
    if (!browser_url_parse(text_of(json_get(params, STR("request")), "url"), &url) ||
        url.scheme == BROWSER_OTHER || relay_is_at(host, url.host, url.port)) {
        if (is_going)
            refuse_page(page, STR("an address that is not of the web"));
        answer_request(host, session_id, id, false);
        return;
    }
    if (url.scheme == BROWSER_BLANK) {
        answer_request(host, session_id, id, true);
        return;
    }
    is_agreed = is_going && (str_eq_c(url.host, page->agreed) || str_eq(url.host, page_host(page)));
    /* The front end knows the rules, and what Gatehouse itself is. */
    if (!is_going && !browser_host_is_private(url.host))
        answer_request(host, session_id, id, true);
    else
        ask_front(host, is_going ? page : NULL, session, params, &url, is_agreed);
}

/* ---- the console and dialogs ---- */

static void add_message(struct page *page, struct str level, struct str text)
{
    struct message *message;

    if (page->message_count == MAX_MESSAGES) {
        page->message_first = (page->message_first + 1) % MAX_MESSAGES;
        page->message_count--;
    }
    message = &page->messages[(page->message_first + page->message_count) % MAX_MESSAGES];
    page->message_count++;
    free_message(message);
    if (str_eq(level, STR("warning")))
        level = STR("warn");
    else if (str_eq(level, STR("verbose")))
        level = STR("debug");
    else if (str_eq(level, STR("assert")))
        level = STR("error");
    COPY(message->level, level);
    message->text = own_text(text, MESSAGE_BYTES);
    message->at_ms = clock_wall_ms(&clock_system);
    page->error_count += str_eq(level, STR("error"));
    page->warning_count += str_eq(level, STR("warn"));
}

/* A value as the console shows it, roughly. */
static int add_argument(struct buf *out, const struct json_value *argument)
{
    const struct json_value *value = json_get(argument, STR("value"));
    struct str text = text_of(argument, "description");

    if (value != NULL && value->type == JSON_STRING)
        return buf_append_str(out, json_str(value));
    if (text.len == 0)
        text = text_of(argument, "unserializableValue");
    if (text.len > 0)
        return buf_append_str(out, text);
    return value != NULL ? jsonf(out, "%v", value) : buf_append_str(out, STR("undefined"));
}

static void on_console(struct page *page, const struct json_value *params)
{
    cleanup_buf struct buf text = BUF_INIT(4 * MESSAGE_BYTES);
    const struct json_value *arguments = json_get(params, STR("args"));
    int r = 0;

    if (arguments != NULL)
        json_each_item (argument, arguments) {
            if (r == 0 && text.len > 0)
                r = buf_append_char(&text, ' ');
            if (r == 0)
                r = add_argument(&text, argument);
        }
    add_message(page, text_of(params, "type"), buf_view(&text));
}

static void on_exception(struct page *page, const struct json_value *params)
{
    const struct json_value *details = json_get(params, STR("exceptionDetails"));
    struct str text;

    if (details == NULL)
        return;
    text = text_of(json_get(details, STR("exception")), "description");
    add_message(page, STR("error"), text.len > 0 ? text : text_of(details, "text"));
}

static void on_dialog(struct page *page, struct str session, const struct json_value *params)
{
    free(page->dialog.words);
    page->dialog = (struct dialog){.is_open = true,
                                   .words = own_text(text_of(params, "message"), MESSAGE_BYTES)};
    COPY(page->dialog.kind, text_of(params, "type"));
    COPY(page->dialog.session, session);
}

static void on_drag(struct page *page, const struct json_value *params)
{
    cleanup_buf struct buf text = BUF_INIT(PARAMS_BYTES);

    free(page->drag);
    page->drag = NULL;
    if (jsonf(&text, "%v", json_get(params, STR("data"))) == 0)
        page->drag = strndup(text.data, text.len);
}

/* ---- the events ---- */

static void on_info(struct host *host, const struct json_value *params)
{
    const struct json_value *info = json_get(params, STR("targetInfo"));
    struct page *page = page_by_target(host, text_of(info, "targetId"));

    if (page == NULL)
        return;
    COPY(page->title, text_of(info, "title"));
    host->has_news = true;
}

static bool on_target_event(struct host *host, struct str session, struct str method,
                            const struct json_value *params)
{
    if (session.len == 0 && host->link != NULL && host->link->is_local &&
        local_on_target(host, method, params))
        return true;
    if (str_eq(method, STR("Target.attachedToTarget")))
        on_attached(host, session, params);
    else if (str_eq(method, STR("Target.detachedFromTarget")))
        on_detached(host, params);
    else if (str_eq(method, STR("Target.targetInfoChanged")))
        on_info(host, params);
    else
        return false;
    return true;
}

static void on_page_event(struct host *host, struct page *page, struct str session,
                          struct str method, const struct json_value *params)
{
    if (str_eq(method, STR("Fetch.requestPaused"))) {
        on_paused(host, page, session, params);
    } else if (str_eq(method, STR("Network.requestWillBeSent"))) {
        on_request(page, session, params);
    } else if (str_eq(method, STR("Network.responseReceived"))) {
        on_response(page, params);
    } else if (str_eq(method, STR("Network.loadingFinished"))) {
        on_request_end(page, params, false);
    } else if (str_eq(method, STR("Network.loadingFailed"))) {
        on_request_end(page, params, true);
    } else if (str_eq(method, STR("Runtime.executionContextCreated"))) {
        on_context(page, session, params);
    } else if (str_eq(method, STR("Runtime.executionContextDestroyed"))) {
        on_context_gone(page, session, whole_of(params, "executionContextId", -1));
    } else if (str_eq(method, STR("Runtime.executionContextsCleared"))) {
        on_context_gone(page, session, 0);
    } else if (str_eq(method, STR("Page.lifecycleEvent"))) {
        on_lifecycle(page, params);
    } else if (str_eq(method, STR("Page.frameNavigated"))) {
        on_navigated(host, page, session, params);
    } else if (str_eq(method, STR("Page.frameAttached")) ||
               str_eq(method, STR("Page.frameDetached"))) {
        on_frame(page, session, method, params);
    } else if (str_eq(method, STR("Page.navigatedWithinDocument"))) {
        if (is_main(page, text_of(params, "frameId"))) {
            COPY(page->url, text_of(params, "url"));
            page->commits++;
            host->has_news = true;
        }
    } else if (str_eq(method, STR("Page.frameRequestedNavigation")) ||
               str_eq(method, STR("Page.frameStartedNavigating"))) {
        if (is_main(page, text_of(params, "frameId")) &&
            !str_eq(text_of(params, "navigationType"), STR("sameDocument")) &&
            !str_eq(text_of(params, "navigationType"), STR("historySameDocument")) &&
            !str_eq(text_of(params, "disposition"), STR("newTab")) &&
            !str_eq(text_of(params, "disposition"), STR("newWindow")) &&
            !str_eq(text_of(params, "disposition"), STR("download")))
            begin_going(page, text_of(params, "loaderId"));
    } else if (str_eq(method, STR("Page.frameStoppedLoading"))) {
        if (is_main(page, text_of(params, "frameId")))
            page->is_going = false;
    } else if (str_eq(method, STR("Page.javascriptDialogOpening"))) {
        on_dialog(page, session, params);
    } else if (str_eq(method, STR("Page.javascriptDialogClosed"))) {
        page->dialog.is_open = false;
    } else if (str_eq(method, STR("Page.fileChooserOpened"))) {
        host_on_chooser(page, session, params);
    } else if (str_eq(method, STR("Input.dragIntercepted"))) {
        on_drag(page, params);
    } else if (str_eq(method, STR("Runtime.consoleAPICalled"))) {
        on_console(page, params);
    } else if (str_eq(method, STR("Runtime.exceptionThrown"))) {
        on_exception(page, params);
    } else if (str_eq(method, STR("Log.entryAdded"))) {
        const struct json_value *entry = json_get(params, STR("entry"));

        add_message(page, text_of(entry, "level"), text_of(entry, "text"));
    } else if (str_eq(method, STR("Page.domContentEventFired"))) {
        page->is_ready = page->is_ready || str_eq_c(session, page->session);
    } else if (str_eq(method, STR("Page.loadEventFired"))) {
        page->is_loaded = page->is_loaded || str_eq_c(session, page->session);
    } else if (str_eq(method, STR("Inspector.targetReloadedAfterCrash"))) {
        page->has_crashed = false;
        set_up(host, session);
    } else if (str_eq(method, STR("Inspector.targetCrashed"))) {
        page->has_crashed = true;
        page->is_going = false;
    }
}

void host_on_event(void *data, struct str session, struct str method,
                   const struct json_value *params)
{
    struct host *host = data;
    struct page *page;

    if (!on_target_event(host, session, method, params) &&
        !host_on_download(host, method, params)) {
        page = page_by_session(host, session);
        if (page == NULL)
            return;
        on_page_event(host, page, session, method, params);
    }
    monitor_tell(&host->monitor);
}

void host_tell_pages(struct host *host)
{
    cleanup_buf struct buf text = BUF_INIT(MAX_PAGES * 2 * (URL_BYTES + TITLE_BYTES));
    bool is_first = true;
    int r;

    if (!host->has_news)
        return;
    host->has_news = false;
    r = buf_append_str(&text, STR("{\"pages\":["));
    list_each (node, &host->pages) {
        const struct page *page = list_entry(node, struct page, node);

        if (r == 0 && !is_first)
            r = buf_append_char(&text, ',');
        is_first = false;
        if (r == 0)
            r = jsonf(&text, "{\"id\":%z,\"url\":%z,\"active\":%b,\"users\":%b}", page->id,
                      page->url, page == host->active, page->is_users);
    }
    if (r == 0)
        r = buf_append_str(&text, STR("]}"));
    if (r == 0)
        (void)host_send(host, buf_view(&text));
}
