/* SPDX-License-Identifier: Apache-2.0 */
/* The pages and frames that there are: how control of them begins and ends. */
#include "browser/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "browser/jsonf.h"
#include "browser/local.h"
#include "browser/pagescript.h"
#include "browser/url.h"

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

struct frame *find_frame(struct page *page, struct str id)
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

bool page_is_main(const struct page *page, struct str frame)
{
    return str_eq_c(frame, page->target);
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

void drop_frame(struct page *page, struct frame *frame)
{
    list_remove(&frame->node);
    page->frame_count--;
    free(frame);
}

void free_message(struct message *message)
{
    free(message->text);
    *message = (struct message){.text = NULL};
}

void free_request(struct request *request)
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
 * for files and private networks too.
 */
void set_up_target(struct host *host, struct str session)
{
    static const char patterns[] =
        "{\"patterns\":[{\"urlPattern\":\"*\",\"resourceType\":\"Document\"},"
        "{\"urlPattern\":\"file:*\"},"
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
                    "{\"source\":%s,\"worldName\":\"" PAGE_WORLD "\",\"runImmediately\":true}",
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

static void join_family(struct host *host, struct page *page, struct str opener)
{
    const struct page *parent = page_by_target(host, opener);

    if (parent != NULL && parent->family[0] != '\0')
        COPY(page->family, str_from(parent->family));
    else
        COPY(page->family, opener.len > 0 ? opener : str_from(page->target));
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
        set_up_target(host, session);
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
    join_family(host, page, text_of(info, "openerId"));
    COPY(page->url, text_of(info, "url"));
    COPY(page->title, text_of(info, "title"));
    frame = need_frame(page, target);
    if (frame != NULL)
        COPY(frame->session, session);
    host->has_news = true;
    set_up_target(host, session);
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

static void on_info(struct host *host, const struct json_value *params)
{
    const struct json_value *info = json_get(params, STR("targetInfo"));
    struct page *page = page_by_target(host, text_of(info, "targetId"));

    /* Tabs are listed, also those whose documents are not shown. */
    if (page == NULL || page->strayed_to[0] != '\0')
        return;
    COPY(page->title, text_of(info, "title"));
    host->has_news = true;
}

bool host_on_target(struct host *host, struct str session, struct str method,
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

/* ---- news for the front end ---- */

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
