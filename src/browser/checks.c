/* SPDX-License-Identifier: Apache-2.0 */
/* Who may go where: requests of pages stop until the rules have decided. */
#include "browser/internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/hostrange.h"
#include "browser/jsonf.h"
#include "browser/relay.h"
#include "browser/url.h"

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

void host_take_verdict(struct host *host, int64_t id, bool is_allowed, bool is_named)
{
    list_each_safe (node, &host->checks) {
        struct check *check = list_entry(node, struct check, node);

        if (check->id != id)
            continue;
        if (!is_allowed && check->page != NULL)
            refuse_page(check->page, str_from(check->host));
        else if (check->page != NULL)
            COPY(check->page->named, is_named ? str_from(check->host) : STR_EMPTY);
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
void host_on_paused(struct host *host, struct page *page, struct str session,
                    const struct json_value *params)
{
    struct str request = text_of(params, "requestId");
    struct browser_url url;
    bool is_going = str_eq(text_of(params, "resourceType"), STR("Document")) &&
                    page_is_main(page, text_of(params, "frameId"));
    bool is_agreed;
    char id[ID_BYTES];
    char session_id[ID_BYTES];

    COPY(id, request);
    COPY(session_id, session);
    if (is_going)
        COPY(page->going_to, text_of(json_get(params, STR("request")), "url"));
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
    if (!is_going && !hostrange_is_private(url.host))
        answer_request(host, session_id, id, true);
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
