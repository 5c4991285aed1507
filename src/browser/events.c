/* SPDX-License-Identifier: Apache-2.0 */
/* What happens in a page, as events tell it: documents, requests, the console, dialogs. */
#include "browser/internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "browser/jsonf.h"

enum { PARAMS_BYTES = 8 << 20 };

static char *own_text(struct str text, size_t max)
{
    return strndup(text.ptr, text.len < max ? text.len : max);
}

/* ---- frames and their documents ---- */

static void on_context(struct page *page, struct str session, const struct json_value *params)
{
    const struct json_value *context = json_get(params, STR("context"));
    struct frame *frame;

    if (context == NULL || !str_eq(text_of(context, "name"), STR(PAGE_WORLD)))
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
        if (frame != NULL && !page_is_main(page, id))
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
    if (!page_is_main(page, id))
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

    if (!page_is_main(page, text_of(params, "frameId")))
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
    if (str_eq_c(STR("Document"), request->kind) && page_is_main(page, str_from(page->target)))
        page->status = request->status;
}

static void on_request(struct page *page, struct str session, const struct json_value *params)
{
    static const char *const awaited[] = {"Document", "Script", "Stylesheet", "XHR", "Fetch"};
    const struct json_value *about = json_get(params, STR("request"));
    const struct json_value *redirect = json_get(params, STR("redirectResponse"));
    struct str id = text_of(params, "requestId");
    struct str kind = text_of(params, "type");
    bool is_document =
        str_eq(kind, STR("Document")) && page_is_main(page, text_of(params, "frameId"));
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

static void on_response(struct page *page, const struct json_value *params, bool is_foreign)
{
    struct request *request = find_request(page, text_of(params, "requestId"));
    const struct json_value *response = json_get(params, STR("response"));

    if (request == NULL || response == NULL)
        return;
    request->is_foreign = is_foreign;
    request->status = (int)whole_of(response, "status", 0);
    COPY(request->type, text_of(response, "mimeType"));
    if (str_eq_c(STR("Document"), request->kind) && page_is_main(page, text_of(params, "frameId")))
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

static void on_page_event(struct host *host, struct page *page, struct str session,
                          struct str method, const struct json_value *params)
{
    if (str_eq(method, STR("Fetch.requestPaused"))) {
        host_on_paused(host, page, session, params);
    } else if (str_eq(method, STR("Network.requestWillBeSent"))) {
        on_request(page, session, params);
    } else if (str_eq(method, STR("Network.responseReceived"))) {
        on_response(page, params, !host_check_address(host, page, params));
    } else if (str_eq(method, STR("Network.webSocketWillSendHandshakeRequest"))) {
        host_check_socket(host, page, params);
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
        if (page_is_main(page, text_of(params, "frameId"))) {
            COPY(page->url, text_of(params, "url"));
            page->commits++;
            host->has_news = true;
        }
    } else if (str_eq(method, STR("Page.frameRequestedNavigation")) ||
               str_eq(method, STR("Page.frameStartedNavigating"))) {
        if (page_is_main(page, text_of(params, "frameId")) &&
            !str_eq(text_of(params, "navigationType"), STR("sameDocument")) &&
            !str_eq(text_of(params, "navigationType"), STR("historySameDocument")) &&
            !str_eq(text_of(params, "disposition"), STR("newTab")) &&
            !str_eq(text_of(params, "disposition"), STR("newWindow")) &&
            !str_eq(text_of(params, "disposition"), STR("download")))
            begin_going(page, text_of(params, "loaderId"));
    } else if (str_eq(method, STR("Page.frameStoppedLoading"))) {
        if (page_is_main(page, text_of(params, "frameId")))
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
        set_up_target(host, session);
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

    if (!host_on_target(host, session, method, params) && !host_on_download(host, method, params)) {
        page = page_by_session(host, session);
        if (page == NULL)
            return;
        on_page_event(host, page, session, method, params);
    }
    monitor_tell(&host->monitor);
}
