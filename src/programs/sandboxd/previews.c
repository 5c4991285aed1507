/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/sandboxd/previews.h"

#include <stdio.h>
#include <stdlib.h>

#include "programs/sandboxd/details.h"

enum { URL_BYTES = 1024, LABEL_BYTES = 64, ANSWER_BYTES = 16 << 10, ARENA_BYTES = 64 << 10 };

#define PATH_PREFIX "/preview/"

/* A ticket that is valid no more, though its time is not over. */
struct revoked {
    struct list node;
    int64_t until_s;
    char ticket[TICKETS_PORT_BYTES];
};

/* Where a request wants to go. */
struct place {
    uint16_t port;
    struct str who;    /* a sandbox, or a ticket */
    struct str target; /* behind it; empty without even a slash */
    struct str prefix; /* before it; empty for a name of its own */
};

/* ---- names ---- */

static bool read_port(struct str text, uint16_t *out_port)
{
    int64_t port;

    if (text.len == 0 || text.ptr[0] < '1' || text.ptr[0] > '9' || text.len > 5 ||
        !str_to_int64(text, &port) || port > UINT16_MAX)
        return false;
    *out_port = (uint16_t)port;
    return true;
}

/* "3000-WHO"; the port stays 0 if it is something else. */
static void read_label(struct str label, struct place *place)
{
    struct str port = STR_EMPTY;

    (void)str_cut(&label, '-', &port);
    if (label.len > 0 && read_port(port, &place->port))
        place->who = label;
}

static size_t span_without(struct str text, char one, char other)
{
    size_t len = 0;

    while (len < text.len && text.ptr[len] != one && text.ptr[len] != other)
        len++;
    return len;
}

/* "/preview/LABEL/rest?query" of the target as it was sent. */
static bool find_by_path(struct str target, struct place *out_place)
{
    const struct str prefix = STR(PATH_PREFIX);
    size_t label_len;

    if (!str_starts_with(target, prefix))
        return false;
    label_len = span_without(str_slice(target, prefix.len, target.len), '/', '?');
    *out_place = (struct place){.prefix = str_slice(target, 0, prefix.len + label_len)};
    out_place->target = str_slice(target, prefix.len + label_len, target.len);
    read_label(str_slice(target, prefix.len, label_len), out_place);
    return true;
}

/* "LABEL.DOMAIN" of the host. */
static bool find_by_host(const struct previews *previews, const struct http_request *request,
                         struct place *out_place)
{
    const struct str domain = previews->host;
    size_t label_len;

    if (domain.len == 0 || request->host.len <= domain.len + 1)
        return false;
    label_len = request->host.len - domain.len - 1;
    if (request->host.ptr[label_len] != '.' ||
        !str_eq_nocase(str_slice(request->host, label_len + 1, domain.len), domain))
        return false;
    *out_place = (struct place){.target = request->target};
    read_label(str_slice(request->host, 0, label_len), out_place);
    return true;
}

/* ---- who may ---- */

static bool is_revoked(const struct previews *previews, struct str ticket)
{
    list_each (node, &previews->revoked)
        if (str_eq_c(ticket, list_entry(node, struct revoked, node)->ticket))
            return true;
    return false;
}

/* By its header, or by the parameter of its query. */
static bool find_ticket(const struct http_request *request, struct str *out_ticket)
{
    struct str query = request->query;
    struct str pair;
    struct str name;

    if (http_header(request, STR(FORWARD_TICKET_HEADER), out_ticket))
        return true;
    while (str_cut(&query, '&', &pair)) {
        if (!str_cut(&pair, '=', &name) || !str_eq(name, STR(FORWARD_TICKET_QUERY)))
            continue;
        *out_ticket = pair;
        return true;
    }
    return false;
}

static bool is_public(const struct sandbox *sandbox)
{
    return sandbox != NULL && sandbox->details != NULL && sandbox->details->is_public;
}

static bool is_ticket(const struct previews *previews, const struct sandbox *sandbox, uint16_t port,
                      struct str ticket)
{
    return port == PREVIEWS_TOOLBOX_PORT
               ? tickets_open_toolbox(&previews->tickets, ticket, &sandbox->record)
               : tickets_open_sandbox(&previews->tickets, ticket, &sandbox->record);
}

struct sandbox *previews_find_toolbox(const struct previews *previews,
                                      const struct http_request *request, struct str id)
{
    struct sandbox *sandbox =
        call_is_uuid(id) ? map_get(&previews->config.service->sandboxes, id) : NULL;
    struct str ticket;
    struct str upgrade;

    return sandbox != NULL && http_header(request, STR("Upgrade"), &upgrade) &&
                   str_eq_nocase(upgrade, STR("websocket")) && find_ticket(request, &ticket) &&
                   tickets_open_toolbox(&previews->tickets, ticket, &sandbox->record)
               ? sandbox
               : NULL;
}

/* Of a place that is named by a port's ticket. */
static struct sandbox *admit_port(const struct previews *previews, const struct place *place)
{
    struct service *service = previews->config.service;
    const int64_t now_s = loop_wall_ms(service->config.loop) / 1000;
    char id[SANDBOXSTORE_ID_BYTES];
    struct sandbox *sandbox =
        tickets_read_sandbox(place->who, id) ? map_get(&service->sandboxes, str_from(id)) : NULL;
    int64_t until_s;

    return sandbox != NULL &&
                   tickets_open_port(&previews->tickets, place->who, &sandbox->record, place->port,
                                     now_s, &until_s) &&
                   !is_revoked(previews, place->who)
               ? sandbox
               : NULL;
}

/* NULL without a right to it; then nobody is told whether it exists. */
static struct sandbox *admit(const struct previews *previews, const struct http_request *request,
                             const struct place *place)
{
    struct str ticket = STR_EMPTY;
    struct sandbox *sandbox;

    if (place->who.len == TICKETS_PORT_BYTES - 1)
        return admit_port(previews, place);
    sandbox =
        call_is_uuid(place->who) ? map_get(&previews->config.service->sandboxes, place->who) : NULL;
    return sandbox != NULL &&
                   (is_public(sandbox) || (find_ticket(request, &ticket) &&
                                           is_ticket(previews, sandbox, place->port, ticket)))
               ? sandbox
               : NULL;
}

/* ---- requests ---- */

/* Links of the page are relative to the folder. */
static void redirect(struct exchange *exchange, const struct place *place)
{
    cleanup_buf struct buf location = BUF_INIT(2 * HTTP_MAX_LINE_BYTES);
    struct http_field field = {STR("Location"), STR_EMPTY};

    if (buf_printf(&location, "%.*s/%.*s", STR_ARG(place->prefix), STR_ARG(place->target)) < 0) {
        call_fail(exchange, 503, err_text(ERR_NO_MEMORY));
        return;
    }
    field.value = buf_view(&location);
    exchange_answer(exchange,
                    &(struct http_answer){.status = 308, .fields = &field, .field_count = 1});
}

static void handle(struct previews *previews, struct exchange *exchange, const struct place *place)
{
    const struct http_request *request = exchange_request(exchange);
    struct sandbox *sandbox = NULL;

    if (place->port == 0) {
        call_fail(exchange, 404, "a preview is named PORT-SANDBOX or PORT-TICKET");
        return;
    }
    sandbox = admit(previews, request, place);
    if (sandbox == NULL) {
        call_fail(exchange, 401, "the preview needs a valid token");
        return;
    }
    exchange_mark_connection(exchange);
    if (sandbox->state == SANDBOX_DELETING)
        call_fail(exchange, 404, "there is no such sandbox");
    else if (sandbox->state != SANDBOX_RUNNING || sandbox->room == NULL)
        call_fail(exchange, 400, "the sandbox is not running");
    else if (place->target.len == 0 || place->target.ptr[0] == '?')
        redirect(exchange, place);
    else if (place->target.ptr[0] != '/')
        call_fail(exchange, 400, "the request's target is no path");
    else
        proxy_start(&previews->proxies, exchange, sandbox,
                    &(struct forward_plan){.port = place->port,
                                           .target = place->target,
                                           .prefix = place->prefix,
                                           .has_tls = previews->config.service->config.has_tls,
                                           .is_key = previews->config.is_key,
                                           .data = previews->config.data});
}

bool previews_take(struct previews *previews, struct exchange *exchange)
{
    const struct http_request *request = exchange_request(exchange);
    const struct origin_policy *policy = previews->config.policy;
    struct place place;
    int r;

    if (find_by_host(previews, request, &place)) {
        handle(previews, exchange, &place);
        return true;
    }
    if (!find_by_path(request->target, &place))
        return false;
    r = policy != NULL ? origin_check_host(policy, request->host) : 0;
    if (r < 0)
        call_fail(exchange, err_http_status(r), err_text(r));
    else
        handle(previews, exchange, &place);
    return true;
}

struct str previews_shown(struct str target)
{
    static const struct str before[] = {STR_LITERAL(PATH_PREFIX), STR_LITERAL(FORWARD_TICKET_QUERY),
                                        STR_LITERAL("signature=")};

    for (size_t i = 0; i < array_size(before); i++) {
        size_t at = str_find(target, before[i]);

        if (at != SIZE_MAX)
            target = str_slice(target, 0, at + before[i].len);
    }
    return target;
}

/* ---- URLs ---- */

static int write_url(const struct api_call *call, uint16_t port, const char *who,
                     char out_url[URL_BYTES])
{
    const struct previews *previews = call->service->previews;
    const struct str scheme = forward_scheme(call->request, call->service->config.has_tls);
    int len;

    if (previews->host.len > 0)
        len = snprintf(out_url, URL_BYTES, "%.*s%u-%s.%.*s", STR_ARG(previews->scheme), port, who,
                       STR_ARG(previews->host));
    else
        len = snprintf(out_url, URL_BYTES, "%.*s://%.*s" PATH_PREFIX "%u-%s", STR_ARG(scheme),
                       STR_ARG(call->request->host), port, who);
    return len >= URL_BYTES ? ERR_TOO_LARGE : 0;
}

/* NULL after an answer. */
static struct sandbox *find_port(const struct api_call *call, uint16_t *out_port)
{
    struct sandbox *sandbox = service_find_named(call->service, call->ids[0], call->owner);

    if (sandbox == NULL)
        call_fail(call->exchange, 404, "there is no such sandbox");
    else if (!read_port(call->ids[1], out_port))
        call_fail(call->exchange, 400, "a port is a number from 1 to 65535");
    else
        return sandbox;
    return NULL;
}

static void answer_url(const struct api_call *call, const struct sandbox *sandbox, uint16_t port,
                       bool shows_port, const char *ticket, const char *who)
{
    cleanup_buf struct buf out = BUF_INIT(ANSWER_BYTES);
    struct json_writer json;
    char url[URL_BYTES];
    int r = write_url(call, port, who, url);

    if (r < 0) {
        call_fail(call->exchange, 503, err_text(r));
        return;
    }
    json_writer_init(&json, &out);
    json_begin_object(&json);
    json_put_str(&json, STR("sandboxId"), str_from(sandbox->record.id));
    if (shows_port)
        json_put_int(&json, STR("port"), port);
    json_put_str(&json, STR("token"), str_from(ticket));
    json_put_str(&json, STR("url"), str_from(url));
    json_end_object(&json);
    call_answer_written(call->exchange, 200, &json, &out);
}

static void tell_url(const struct api_call *call)
{
    char ticket[TICKETS_SANDBOX_BYTES];
    uint16_t port;
    const struct sandbox *sandbox = find_port(call, &port);

    if (sandbox == NULL)
        return;
    if (port == PREVIEWS_TOOLBOX_PORT)
        tickets_for_toolbox(&call->service->previews->tickets, &sandbox->record, ticket);
    else
        tickets_for_sandbox(&call->service->previews->tickets, &sandbox->record, ticket);
    answer_url(call, sandbox, port, false, ticket, sandbox->record.id);
}

static void sign_url(const struct api_call *call)
{
    cleanup_arena struct arena arena = ARENA_INIT(ARENA_BYTES);
    const int64_t now_s = loop_wall_ms(call->service->config.loop) / 1000;
    char ticket[TICKETS_PORT_BYTES];
    int64_t for_s = PREVIEWS_SIGNED_S;
    struct str text;
    int error = 0;
    uint16_t port;
    const struct sandbox *sandbox = find_port(call, &port);

    if (sandbox == NULL)
        return;
    if (call_query(call, &arena, STR("expiresInSeconds"), &text, &error) &&
        (!str_to_int64(text, &for_s) || for_s < 1 || for_s > PREVIEWS_MOST_S))
        error = ERR_INVALID_ARGUMENT;
    if (error < 0) {
        call_fail(call->exchange, 400, "expiresInSeconds is a number from 1 to 86400");
        return;
    }
    tickets_for_port(&call->service->previews->tickets, &sandbox->record, port, now_s + for_s,
                     ticket);
    answer_url(call, sandbox, port, true, ticket, ticket);
}

static void drop_revoked(struct previews *previews, struct revoked *revoked)
{
    list_remove(&revoked->node);
    previews->revoked_count--;
    free(revoked);
}

/* ERR_BUSY if too many are revoked that would be valid. */
static int add_revoked(struct previews *previews, struct str ticket, int64_t until_s, int64_t now_s)
{
    struct revoked *revoked;

    list_each_safe (node, &previews->revoked) {
        struct revoked *each = list_entry(node, struct revoked, node);

        if (each->until_s <= now_s)
            drop_revoked(previews, each);
    }
    if (is_revoked(previews, ticket))
        return 0;
    if (previews->revoked_count >= PREVIEWS_MOST_REVOKED)
        return ERR_BUSY;
    revoked = calloc(1, sizeof(*revoked));
    if (revoked == NULL)
        return ERR_NO_MEMORY;
    revoked->until_s = until_s;
    memcpy(revoked->ticket, ticket.ptr, ticket.len);
    list_init(&revoked->node);
    list_append(&previews->revoked, &revoked->node);
    previews->revoked_count++;
    return 0;
}

static void expire_url(const struct api_call *call)
{
    struct previews *previews = call->service->previews;
    const int64_t now_s = loop_wall_ms(call->service->config.loop) / 1000;
    int64_t until_s;
    uint16_t port;
    const struct sandbox *sandbox = find_port(call, &port);
    int r;

    if (sandbox == NULL)
        return;
    if (!tickets_open_port(&previews->tickets, call->ids[2], &sandbox->record, port, now_s,
                           &until_s)) {
        call_fail(call->exchange, 404, "there is no such token");
        return;
    }
    r = add_revoked(previews, call->ids[2], until_s, now_s);
    if (r < 0)
        call_fail(call->exchange, 503, err_text(r));
    else
        call_answer_nothing(call->exchange);
}

/* clang-format off */
static const struct endpoint endpoints[] = {
    {HTTP_METHOD_GET,  "/api/sandbox/*/ports/*/preview-url", ENDPOINT_KEY, 0, tell_url},
    {HTTP_METHOD_GET,  "/api/sandbox/*/ports/*/signed-preview-url", ENDPOINT_KEY, 0, sign_url},
    {HTTP_METHOD_POST, "/api/sandbox/*/ports/*/signed-preview-url/*/expire", ENDPOINT_KEY, 0, expire_url},
};
/* clang-format on */

const struct endpoint_table previews_endpoints = {endpoints, array_size(endpoints)};

/* ---- lives ---- */

static bool split_url(struct str url, struct str *out_scheme, struct str *out_host)
{
    const struct str schemes[] = {STR("http://"), STR("https://")};

    for (size_t i = 0; i < array_size(schemes); i++)
        if (str_starts_with(url, schemes[i])) {
            *out_scheme = schemes[i];
            *out_host = str_slice(url, schemes[i].len, url.len);
            return true;
        }
    return false;
}

bool previews_is_url(struct str url)
{
    struct str scheme;
    struct str host;

    if (!split_url(url, &scheme, &host) || host.len == 0 || url.len > URL_BYTES / 2)
        return false;
    for (size_t i = 0; i < host.len; i++) {
        const char c = host.ptr[i];

        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
              c == '.' || c == '-' || c == ':'))
            return false;
    }
    return true;
}

int previews_new(const struct previews_config *config, struct previews **out_previews)
{
    struct previews *previews = calloc(1, sizeof(*previews));
    int r;

    if (previews == NULL)
        return ERR_NO_MEMORY;
    previews->config = *config;
    list_init(&previews->revoked);
    tickets_init(&previews->tickets, config->admin_key);
    previews->config.admin_key = STR_EMPTY;
    if (!split_url(config->url, &previews->scheme, &previews->host))
        previews->host = STR_EMPTY;
    r = proxies_init(&previews->proxies, config->service->config.loop, call_fail);
    if (r < 0) {
        free(previews);
        return r;
    }
    *out_previews = previews;
    return 0;
}

void previews_free(struct previews *previews)
{
    if (previews == NULL)
        return;
    while (!list_is_empty(&previews->revoked))
        drop_revoked(previews, list_entry(previews->revoked.next, struct revoked, node));
    proxies_done(&previews->proxies);
    tickets_done(&previews->tickets);
    free(previews);
}
