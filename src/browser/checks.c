/* SPDX-License-Identifier: Apache-2.0 */
/* Who may go where: requests of pages stop until the rules have decided. */
#include "browser/internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/hostrange.h"
#include "browser/jsonf.h"
#include "browser/relay.h"
#include "browser/url.h"

enum { FILE_CHECK_BYTES = 64 << 10 };

static void answer_request(struct host *host, struct str session, struct str request,
                           bool is_allowed)
{
    if (is_allowed)
        tell_browser(host, session, "Fetch.continueRequest", "{\"requestId\":%s}", request);
    else
        tell_browser(host, session, "Fetch.failRequest",
                     "{\"requestId\":%s,\"errorReason\":\"BlockedByClient\"}", request);
}

static void refuse_page(struct page *page, struct str host)
{
    COPY(page->blocked, host);
    page->no_file[0] = '\0';
    page->blocks++;
}

static void refuse_file(struct page *page, struct str why)
{
    refuse_page(page, STR("a file"));
    COPY(page->no_file, why);
}

/* Of a stopped request; NULL: it stays stopped. */
static struct check *add_check(struct host *host, struct page *page, struct str session,
                               const struct json_value *params)
{
    struct check *check = calloc(1, sizeof(*check));

    if (check == NULL)
        return NULL;
    check->id = ++host->last_check;
    COPY(check->session, session);
    COPY(check->request, text_of(params, "requestId"));
    check->page = page;
    if (page != NULL)
        page->refs++;
    list_append(&host->checks, &check->node);
    return check;
}

/* Asks the front end, which knows the rules. */
static void ask_front(struct host *host, struct page *page, struct str session,
                      const struct json_value *params, const struct browser_url *url,
                      bool is_agreed)
{
    cleanup_buf struct buf text = BUF_INIT(4096);
    struct check *check = add_check(host, page, session, params);

    if (check == NULL)
        return;
    COPY(check->host, url->host);
    if (jsonf(&text, "{\"check\":%d,\"host\":%s,\"port\":%d,\"agreed\":%b}", check->id, url->host,
              (int64_t)url->port, is_agreed) == 0)
        (void)host_send(host, buf_view(&text));
}

/* ---- files ---- */

static bool is_file(const char *text)
{
    struct browser_url url;

    return browser_url_parse(str_from(text), &url) && url.scheme == BROWSER_FILE;
}

/*
 * What a page of a file shows or runs may come from files, as in any browser; what its scripts read
 * may not. A page of the web has none.
 */
static bool may_have_files(const struct page *page, struct str type)
{
    static const struct str types[] = {STR_LITERAL("Document"), STR_LITERAL("Stylesheet"),
                                       STR_LITERAL("Script"),   STR_LITERAL("Image"),
                                       STR_LITERAL("Media"),    STR_LITERAL("Font"),
                                       STR_LITERAL("TextTrack")};

    for (size_t i = 0; i < array_size(types); i++)
        if (str_eq(type, types[i])) /* the page's arrival may be told later than its requests */
            return is_file(page->url) || is_file(page->going_to);
    return false;
}

/* A page could run or read a file of another type in part, which is not meant for it. */
static const char *wanted_type(struct str resource_type)
{
    return str_eq(resource_type, STR("Script"))       ? "text/javascript"
           : str_eq(resource_type, STR("Stylesheet")) ? "text/css"
                                                      : "";
}

/* The front end has the file read. A document of the main frame needs no page before. */
static void want_file(struct host *host, struct page *page, struct str session,
                      const struct json_value *params, bool is_going)
{
    cleanup_buf struct buf text = BUF_INIT(FILE_CHECK_BYTES);
    struct check *check;

    if (host->link == NULL || host->link->is_local) {
        if (is_going)
            refuse_file(page, STR("files are shown in a browser that browser_connect starts, not "
                                  "in the user's own"));
        answer_request(host, session, text_of(params, "requestId"), false);
        return;
    }
    if (!is_going && !may_have_files(page, text_of(params, "resourceType"))) {
        answer_request(host, session, text_of(params, "requestId"), false);
        return;
    }
    check = add_check(host, is_going ? page : NULL, session, params);
    if (check == NULL)
        return;
    check->wanted_type = wanted_type(text_of(params, "resourceType"));
    if (jsonf(&text, "{\"check\":%d,\"file\":%s}", check->id,
              text_of(json_get(params, STR("request")), "url")) == 0)
        (void)host_send(host, buf_view(&text));
}

static void take_file(struct host *host, const struct check *check,
                      const struct json_value *message)
{
    struct str type = text_of(message, "type");

    if (host->link == NULL)
        return;
    if (flag_of(message, "allowed") && str_starts_with(type, str_from(check->wanted_type))) {
        tell_browser(host, str_from(check->session), "Fetch.fulfillRequest",
                     "{\"requestId\":%z,\"responseCode\":200,\"responseHeaders\":[{\"name\":"
                     "\"Content-Type\",\"value\":%s}],\"body\":%s}",
                     check->request, type, text_of(message, "data"));
        return;
    }
    if (check->page != NULL)
        refuse_file(check->page, text_of(message, "why"));
    answer_request(host, str_from(check->session), str_from(check->request), false);
}

/* ---- verdicts ---- */

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

static void take_host(struct host *host, const struct check *check,
                      const struct json_value *message)
{
    bool is_allowed = flag_of(message, "allowed");
    struct str name = str_from(check->host);

    if (!is_allowed && check->page != NULL)
        refuse_page(check->page, name);
    else if (check->page != NULL)
        COPY(check->page->named, flag_of(message, "named") ? name : STR_EMPTY);
    if (host->link != NULL)
        answer_request(host, str_from(check->session), str_from(check->request), is_allowed);
}

void host_take_verdict(struct host *host, int64_t id, const struct json_value *message)
{
    list_each_safe (node, &host->checks) {
        struct check *check = list_entry(node, struct check, node);

        if (check->id != id)
            continue;
        if (check->host[0] != '\0')
            take_host(host, check, message);
        else
            take_file(host, check, message);
        drop_check(check);
    }
    monitor_tell(&host->monitor);
}

/*
 * A page may stay where it is, and go where the call that runs was allowed to. A frame and what is
 * loaded into a page may come from anywhere but this machine and private networks.
 */
void host_on_paused(struct host *host, struct page *page, struct str session,
                    const struct json_value *params)
{
    struct str request = text_of(params, "requestId");
    struct browser_url url;
    bool is_going = str_eq(text_of(params, "resourceType"), STR("Document")) &&
                    page_is_main(page, text_of(params, "frameId"));
    bool is_agreed;

    if (is_going)
        COPY(page->going_to, text_of(json_get(params, STR("request")), "url"));
    if (!browser_url_parse(text_of(json_get(params, STR("request")), "url"), &url) ||
        url.scheme == BROWSER_OTHER || relay_is_at(host, url.host, url.port)) {
        if (is_going)
            refuse_page(page, STR("an address that is not of the web"));
        answer_request(host, session, request, false);
        return;
    }
    if (url.scheme == BROWSER_FILE) {
        want_file(host, page, session, params, is_going);
        return;
    }
    if (url.scheme == BROWSER_BLANK) {
        answer_request(host, session, request, true);
        return;
    }
    is_agreed = is_going && (str_eq_c(url.host, page->agreed) || str_eq(url.host, page_host(page)));
    /* The front end knows the rules, and what Gatehouse itself is. */
    if (!is_going && !hostrange_is_private(url.host))
        answer_request(host, session, request, true);
    else
        ask_front(host, is_going ? page : NULL, session, params, &url, is_agreed);
}

static bool is_of_same_windows(const struct page *page, const struct page *other)
{
    return page == other || (page->family[0] != '\0' && strcmp(page->family, other->family) == 0);
}

static bool is_on_private_network(const struct page *page)
{
    struct str host = page_host(page);

    return host.len > 0 && (hostrange_is_private(host) || str_eq_c(host, page->inside));
}

/* The page is on a private network itself, or is a window without an address of one that is. */
static bool is_inside(const struct host *host, const struct page *page)
{
    if (page_host(page).len > 0)
        return is_on_private_network(page);
    list_each (node, &host->pages) {
        const struct page *other = list_entry(node, struct page, node);

        if (is_of_same_windows(page, other) && is_on_private_network(other))
            return true;
    }
    return false;
}

/* `to` may be empty, and `why` the whole reason then. */
static void give_up_strayed(struct host *host, struct page *page, struct str to, struct str why)
{
    if (page->defect[0] != '\0')
        return;
    COPY(page->strayed_to, to);
    COPY(page->defect, why);
    tell_browser(host, str_from(page->session), "Page.navigate", "{\"url\":\"about:blank\"}");
}

/* Of pages without an address, those that opened each other can read what one of them has. */
static void give_up_windows(struct host *host, struct page *page, struct str to, struct str why)
{
    list_each (node, &host->pages) {
        struct page *other = list_entry(node, struct page, node);

        if (is_of_same_windows(page, other) && page_host(other).len == 0)
            give_up_strayed(host, other, to, why);
    }
}

/*
 * Any name can lead to this machine or into a private network, and to another address the next
 * time. The request was sent, but nothing of the answer is shown. What a page from the web loads
 * Chromium itself keeps from private addresses; a page without an address, where only an agent's
 * scripts load anything, it does not know where to put.
 */
bool host_check_address(struct host *host, struct page *page, const struct json_value *params)
{
    const struct json_value *response = json_get(params, STR("response"));
    bool is_document = str_eq(text_of(params, "type"), STR("Document"));
    bool is_main = is_document && page_is_main(page, text_of(params, "frameId"));
    struct str address = text_of(response, "remoteIPAddress"); /* empty: nobody was connected to */
    bool is_private = hostrange_is_private(address);
    struct browser_url url;

    if (!host->knows_addresses || !browser_url_parse(text_of(response, "url"), &url))
        return true;
    /* Of a host that looks private, the rules were asked before the request. */
    if (is_private && !hostrange_is_private(url.host) &&
        !(is_main ? str_eq_c(url.host, page->named) : is_inside(host, page))) {
        if (page_host(page).len == 0)
            give_up_windows(host, page, url.host, address);
        else if (is_document)
            give_up_strayed(host, page, url.host, address);
        return false;
    }
    if (is_main)
        COPY(page->inside, is_private ? url.host : STR_EMPTY);
    return true;
}

/*
 * A WebSocket stops nowhere, and no event tells its address. Chromium judges those of documents
 * from the web, which have an origin. It comes before anything that is received.
 */
void host_check_socket(struct host *host, struct page *page, const struct json_value *params)
{
    const struct json_value *headers = json_get(json_get(params, STR("request")), STR("headers"));

    if (page_host(page).len == 0 && !is_inside(host, page) &&
        !str_starts_with(text_of(headers, "Origin"), STR("http")))
        give_up_windows(host, page, STR_EMPTY,
                        STR("it opened a WebSocket without having an address of its own. Scripts "
                            "of a page from the web may open them"));
}
