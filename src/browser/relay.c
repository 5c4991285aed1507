/* SPDX-License-Identifier: Apache-2.0 */
#include "browser/relay.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/hostrange.h"
#include "base/rand.h"
#include "base/secret.h"
#include "browser/jsonf.h"
#include "browser/socket.h"
#include "net/http/origin.h"

enum {
    ARENA_BYTES = 1 << 30,
    TEXT_BYTES = CDP_MAX_MESSAGE,
    OUTLET_BYTES = 64 << 20,
    PING_MS = 5000,
    DEAD_MS = 15000, /* without a sign of life */
    RETURN_MS = 15000,
    IDLE_MS = 600000, /* nobody has come */
    CALLER_MS = 3000, /* to say who it is */
    UUID_BYTES = 16,
    UUID_CHARS = 36,
};

#define SESSION "tab-" /* before the name of a tab */

enum pending_kind {
    PENDING_FORWARD, /* the result is the answer */
    PENDING_NOTHING, /* an empty answer */
    PENDING_DISCOVER,
    PENDING_LIST,
    PENDING_CREATE,
    PENDING_ATTACH,
};

/* A command that the extension has not answered. */
struct pending {
    struct list node;
    int64_t id;  /* of the extension's */
    int64_t cdp; /* of ours */
    enum pending_kind kind;
    char tab[ID_BYTES];
};

/* A connection. */
struct caller {
    struct host *host;
    struct outlet out;
    struct browser_socket *socket;
    int64_t since_ms;
};

struct relay {
    int listen_fd;
    uint16_t port;
    struct secret path;
    struct caller *extension;              /* NULL: it is not connected */
    struct caller *callers[RELAY_CALLERS]; /* who have not said who they are, the oldest first */
    size_t caller_count;
    struct list pending;
    int64_t last_id;
    bool was_shown;     /* the user's browser has opened the address */
    bool was_connected; /* by somebody who may return */
    int64_t heard_ms;   /* the last sign of life, or when it went */
    int64_t pinged_ms;
};

/* ---- names ---- */

/* They come back as names of sessions and in commands. */
static bool is_name(struct str text)
{
    for (size_t i = 0; i < text.len; i++)
        if (!isalnum((unsigned char)text.ptr[i]) && text.ptr[i] != '-' && text.ptr[i] != '_')
            return false;
    return text.len > 0 && text.len + strlen(SESSION) < ID_BYTES;
}

static int make_path(struct secret *out_path)
{
    unsigned char bytes[UUID_BYTES];
    char text[sizeof("/extension/") + UUID_CHARS];
    size_t len = (size_t)snprintf(text, sizeof(text), "/extension/");

    rand_bytes(bytes, sizeof(bytes));
    bytes[6] = (unsigned char)((bytes[6] & 0x0F) | 0x40);
    bytes[8] = (unsigned char)((bytes[8] & 0x3F) | 0x80);
    for (size_t i = 0; i < UUID_BYTES; i++)
        len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%02x",
                                i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", bytes[i]);
    return secret_set(out_path, str_from(text));
}

void relay_address(const struct host *host, char out_address[USERBROWSER_ADDRESS_BYTES])
{
    (void)userbrowser_address(host->relay->port, relay_path(host), out_address);
}

uint16_t relay_port(const struct host *host)
{
    return host->relay->port;
}

struct str relay_path(const struct host *host)
{
    return (struct str){host->relay->path.bytes, host->relay->path.len};
}

bool relay_was_shown(const struct host *host)
{
    return host->relay != NULL && host->relay->was_shown;
}

void relay_set_shown(struct host *host)
{
    host->relay->was_shown = true;
}

/* ---- the connection ---- */

static void drop_pending(struct relay *relay)
{
    list_each_safe (node, &relay->pending) {
        list_remove(node);
        free(list_entry(node, struct pending, node));
    }
}

static void free_caller(struct caller *caller)
{
    if (caller == NULL)
        return;
    browser_socket_free(caller->socket);
    close(caller->out.fd);
    buf_done(&caller->out.bytes);
    free(caller);
}

static void drop_caller(struct relay *relay, size_t index)
{
    free_caller(relay->callers[index]);
    relay->caller_count--;
    for (size_t i = index; i < relay->caller_count; i++)
        relay->callers[i] = relay->callers[i + 1];
}

static void drop_callers(struct relay *relay)
{
    while (relay->caller_count > 0)
        drop_caller(relay, relay->caller_count - 1);
}

static void hang_up(struct relay *relay)
{
    free_caller(relay->extension);
    relay->extension = NULL;
    drop_pending(relay);
    relay->heard_ms = monitor_now_ms();
}

int relay_open(struct host *host, int listen_fd, uint16_t port, struct err *err)
{
    struct relay *relay = calloc(1, sizeof(*relay));

    if (relay == NULL || make_path(&relay->path) < 0) {
        free(relay);
        close(listen_fd);
        return err_set_plain(err, ERR_NO_MEMORY);
    }
    relay->listen_fd = listen_fd;
    relay->port = port;
    list_init(&relay->pending);
    hang_up(relay);
    host->relay = relay;
    host_wake(host);
    return 0;
}

void relay_close(struct host *host)
{
    struct relay *relay = host->relay;

    if (relay == NULL)
        return;
    host->relay = NULL;
    hang_up(relay);
    drop_callers(relay);
    close(relay->listen_fd);
    secret_done(&relay->path);
    free(relay);
    host_wake(host);
}

bool relay_is_connected(const struct host *host)
{
    return host->relay != NULL && host->relay->extension != NULL;
}

bool relay_is_expected(const struct host *host)
{
    return host->relay != NULL && host->relay->was_connected && !relay_is_connected(host) &&
           monitor_now_ms() - host->relay->heard_ms < RETURN_MS;
}

bool relay_is_at(const struct host *host, struct str name, uint16_t port)
{
    return host->relay != NULL && port == host->relay->port && hostrange_is_loopback(name);
}

void relay_begin(struct host *host)
{
    drop_pending(host->relay);
}

/* A page can make its browser ask here, but not name this origin; other programs lack the path. */
static bool may_open(void *data, const struct http_request *request)
{
    const struct caller *caller = data;
    const struct host *host = caller->host;
    const struct origin_policy policy = {.is_loopback = true, .port = host->relay->port};
    struct str origin;

    return origin_check_host(&policy, request->host) == 0 &&
           http_header(request, STR("Origin"), &origin) &&
           str_eq(origin, STR(USERBROWSER_ORIGIN)) &&
           secret_eq(&host->relay->path, request->target);
}

static int send_parts(void *data, const struct str *parts, size_t count)
{
    struct caller *caller = data;
    int r = outlet_send(&caller->out, parts, count);

    if (caller->out.bytes.len > 0)
        host_wake(caller->host);
    return r;
}

static int on_message(void *data, struct str text);

static struct caller *new_caller(struct host *host, int fd)
{
    struct caller *caller = calloc(1, sizeof(*caller));
    const struct browser_socket_config config = {.max_message_bytes = CDP_MAX_MESSAGE,
                                                 .send = send_parts,
                                                 .on_message = on_message,
                                                 .may_open = may_open,
                                                 .data = caller};

    if (caller == NULL) {
        close(fd);
        return NULL;
    }
    *caller = (struct caller){.host = host, .out = {.fd = fd}, .since_ms = monitor_now_ms()};
    buf_init(&caller->out.bytes, OUTLET_BYTES);
    if (browser_socket_answer(&config, &caller->socket) == 0)
        return caller;
    free_caller(caller);
    return NULL;
}

/*
 * Programs of this machine may call as often as they like: the one that has waited longest gives
 * way, and what the extension sends with its call is read before anybody else is let in.
 */
static void take_caller(struct host *host)
{
    struct relay *relay = host->relay;
    int fd = accept4(relay->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    struct caller *caller;

    if (fd < 0)
        return;
    if (relay->extension != NULL) {
        close(fd); /* one at a time */
        return;
    }
    caller = new_caller(host, fd);
    if (caller == NULL)
        return;
    if (relay->caller_count == RELAY_CALLERS)
        drop_caller(relay, 0);
    relay->callers[relay->caller_count++] = caller;
}

/* ---- to the extension ---- */

static int tell_extension(struct host *host, int64_t cdp, enum pending_kind kind, struct str tab,
                          const char *method, struct str params)
{
    cleanup_buf struct buf text = BUF_INIT(TEXT_BYTES);
    struct relay *relay = host->relay;
    struct pending *pending = calloc(1, sizeof(*pending));
    int r = pending != NULL ? jsonf(&text, "{\"id\":%d,\"method\":%z,\"params\":%r}",
                                    relay->last_id + 1, method, params)
                            : ERR_NO_MEMORY;

    if (r == 0)
        r = browser_socket_send(relay->extension->socket, buf_view(&text));
    if (r < 0) {
        free(pending);
        return r;
    }
    *pending = (struct pending){.id = ++relay->last_id, .cdp = cdp, .kind = kind};
    COPY(pending->tab, tab);
    list_append(&relay->pending, &pending->node);
    return 0;
}

static int tell_about_tab(struct host *host, int64_t cdp, enum pending_kind kind, struct str tab,
                          const char *method)
{
    cleanup_buf struct buf params = BUF_INIT(1024);
    int r = is_name(tab) ? jsonf(&params, "{\"id\":%s}", tab) : ERR_INVALID_ARGUMENT;

    return r == 0 ? tell_extension(host, cdp, kind, tab, method, buf_view(&params)) : r;
}

static int forward(struct host *host, int64_t cdp, enum pending_kind kind, struct str tab,
                   struct str method, const struct json_value *given)
{
    cleanup_buf struct buf params = BUF_INIT(TEXT_BYTES);
    int r = is_name(tab) ? jsonf(&params, "{\"id\":%s,\"method\":%s", tab, method)
                         : ERR_INVALID_ARGUMENT;

    if (r == 0 && given != NULL)
        r = jsonf(&params, ",\"params\":%v", given);
    if (r == 0)
        r = buf_append_char(&params, '}');
    return r == 0 ? tell_extension(host, cdp, kind, tab, "forwardCDPCommand", buf_view(&params))
                  : r;
}

/* ---- to our own client ---- */

static int say(struct host *host, const char *pattern, ...)
{
    cleanup_buf struct buf text = BUF_INIT(TEXT_BYTES);
    va_list values;
    int r;

    va_start(values, pattern);
    r = jsonf_list(&text, pattern, values);
    va_end(values);
    if (r == 0 && host->link != NULL)
        r = cdp_take(host->link->cdp, buf_view(&text));
    return r;
}

static int say_info(struct host *host, const char *method, struct str tab,
                    const struct json_value *about)
{
    return say(host,
               "{\"method\":%z,\"params\":{\"sessionId\":\"" SESSION "%r\",\"targetInfo\":{"
               "\"targetId\":%s,\"type\":\"page\",\"url\":%s,\"title\":%s}}}",
               method, tab, tab, text_of(about, "url"), text_of(about, "title"));
}

/* The extension's list, which may be the result itself or a member of it. */
static const struct json_value *tabs_of(const struct json_value *result)
{
    const struct json_value *tabs = result;

    if (tabs != NULL && tabs->type == JSON_OBJECT)
        tabs = json_get(tabs, STR("tabs"));
    return tabs != NULL && tabs->type == JSON_ARRAY ? tabs : NULL;
}

static int take_tabs(struct host *host, const struct json_value *result)
{
    const struct json_value *tabs = tabs_of(result);
    int r = 0;

    if (tabs != NULL)
        json_each_item (tab, tabs)
            if (r == 0 && tab->type == JSON_OBJECT && is_name(text_of(tab, "id")))
                r = say_info(host, "Target.targetCreated", text_of(tab, "id"), tab);
    return r;
}

static int answer_list(struct host *host, int64_t cdp, const struct json_value *result)
{
    cleanup_buf struct buf list = BUF_INIT(TEXT_BYTES);
    const struct json_value *tabs = tabs_of(result);
    int r = 0;

    if (tabs != NULL)
        json_each_item (tab, tabs)
            if (r == 0 && tab->type == JSON_OBJECT && is_name(text_of(tab, "id")))
                r = jsonf(&list, "%r{\"targetId\":%s,\"type\":\"page\",\"url\":%s,\"title\":%s}",
                          list.len > 0 ? STR(",") : STR_EMPTY, text_of(tab, "id"),
                          text_of(tab, "url"), text_of(tab, "title"));
    return r == 0 ? say(host, "{\"id\":%d,\"result\":{\"targetInfos\":[%r]}}", cdp, buf_view(&list))
                  : r;
}

static int answer_nothing(struct host *host, int64_t cdp)
{
    return say(host, "{\"id\":%d,\"result\":{}}", cdp);
}

static int answer_refusal(struct host *host, int64_t cdp, struct str why)
{
    return say(host, "{\"id\":%d,\"error\":{\"message\":%s}}", cdp, why);
}

static int answer_created(struct host *host, int64_t cdp, const struct json_value *result)
{
    struct str tab = result->type == JSON_STRING ? json_str(result) : text_of(result, "id");

    return is_name(tab) ? say(host, "{\"id\":%d,\"result\":{\"targetId\":%s}}", cdp, tab)
                        : answer_refusal(host, cdp, STR("the extension named no tab"));
}

static int answer_attached(struct host *host, const struct pending *pending)
{
    const struct page *page = page_by_target(host, str_from(pending->tab));
    int r = say(host,
                "{\"method\":\"Target.attachedToTarget\",\"params\":{\"sessionId\":\"" SESSION
                "%r\",\"targetInfo\":{\"targetId\":%z,\"type\":\"page\",\"url\":%z,\"title\":%z}}}",
                str_from(pending->tab), pending->tab, page != NULL ? page->url : "",
                page != NULL ? page->title : "");

    return r == 0 ? say(host, "{\"id\":%d,\"result\":{\"sessionId\":\"" SESSION "%r\"}}",
                        pending->cdp, str_from(pending->tab))
                  : r;
}

static int take_result(struct host *host, const struct pending *pending,
                       const struct json_value *result)
{
    int r = 0;

    switch (pending->kind) {
    case PENDING_DISCOVER:
        r = take_tabs(host, result);
        return r == 0 ? answer_nothing(host, pending->cdp) : r;
    case PENDING_LIST:
        return answer_list(host, pending->cdp, result);
    case PENDING_CREATE:
        return answer_created(host, pending->cdp, result);
    case PENDING_ATTACH:
        return answer_attached(host, pending);
    case PENDING_FORWARD:
        if (result->type == JSON_OBJECT)
            return say(host, "{\"id\":%d,\"result\":%v}", pending->cdp, result);
        break;
    case PENDING_NOTHING:
        break;
    }
    return answer_nothing(host, pending->cdp);
}

/* ---- from the extension ---- */

static int take_answer(struct host *host, int64_t id, const struct json_value *message)
{
    const struct json_value *result = json_get(message, STR("result"));
    const struct json_value *error = json_get(message, STR("error"));

    list_each_safe (node, &host->relay->pending) {
        struct pending *pending = list_entry(node, struct pending, node);
        struct pending mine = *pending;

        if (mine.id != id)
            continue;
        list_remove(node);
        free(pending);
        if (error != NULL && error->type == JSON_STRING)
            return answer_refusal(host, mine.cdp, json_str(error));
        if (error != NULL && error->type == JSON_OBJECT)
            return answer_refusal(host, mine.cdp, text_of(error, "message"));
        return take_result(host, &mine, result != NULL ? result : message);
    }
    return 0; /* it was late */
}

static int take_event(struct host *host, struct str method, const struct json_value *params)
{
    static const struct json_value nothing = {.type = JSON_OBJECT, .span = 1};
    struct str tab = text_of(params, "id");
    const struct json_value *inner = json_get(params, STR("params"));
    char session[ID_BYTES];

    if (!is_name(tab))
        return 0;
    if (str_eq(method, STR("tabOpened")))
        return say_info(host, "Target.targetCreated", tab, params);
    if (str_eq(method, STR("tabClosed")))
        return say(host, "{\"method\":\"Target.targetDestroyed\",\"params\":{\"targetId\":%s}}",
                   tab);
    if (inner == NULL)
        inner = &nothing;
    if (!str_eq(method, STR("forwardCDPEvent")) || inner->type != JSON_OBJECT ||
        str_starts_with(text_of(params, "method"), STR("Target.")))
        return 0; /* it has no say in who is attached */
    snprintf(session, sizeof(session), SESSION "%.*s", STR_ARG(tab));
    host_on_event(host, str_from(session), text_of(params, "method"), inner);
    return 0;
}

static int on_message(void *data, struct str text)
{
    cleanup_arena struct arena arena = ARENA_INIT(ARENA_BYTES);
    const struct json_limits limits = {CDP_MAX_MESSAGE, CDP_MAX_DEPTH};
    const struct caller *caller = data;
    struct host *host = caller->host;
    const struct json_value *message;
    const struct json_value *params;
    struct str method;
    int64_t id;
    int r = json_parse_mended(&arena, text, limits, &message, NULL);

    if (r < 0 || message->type != JSON_OBJECT)
        return r < 0 ? r : ERR_INVALID_JSON;
    if (host->link == NULL || !host->link->is_relayed)
        return 0; /* nobody has asked for anything */
    params = json_get(message, STR("params"));
    if (json_get_str(message, STR("method"), &method))
        return params != NULL && params->type == JSON_OBJECT ? take_event(host, method, params) : 0;
    return json_get_int(message, STR("id"), &id) ? take_answer(host, id, message)
                                                 : ERR_INVALID_JSON;
}

/* ---- commands ---- */

static int send_to_tab(struct host *host, int64_t cdp, struct str session, struct str method,
                       const struct json_value *params)
{
    struct str tab = str_slice(session, strlen(SESSION), session.len);

    /* The extension has no sessions for frames of other processes: they would wait forever. */
    if (str_eq(method, STR("Target.setAutoAttach")))
        return answer_nothing(host, cdp);
    return forward(host, cdp, PENDING_FORWARD, tab, method, params);
}

static int send_to_browser(struct host *host, int64_t cdp, struct str method,
                           const struct json_value *params)
{
    struct str tab = text_of(params, "targetId");

    if (str_eq(method, STR("Browser.getVersion")))
        return say(host, "{\"id\":%d,\"result\":{\"product\":\"the user's browser\"}}", cdp);
    if (str_eq(method, STR("Target.setAutoAttach")) ||
        str_eq(method, STR("Target.detachFromTarget")))
        return answer_nothing(host, cdp);
    if (str_eq(method, STR("Target.setDiscoverTargets")))
        return tell_extension(host, cdp, PENDING_DISCOVER, STR_EMPTY, "listRegisteredTabs",
                              STR("{}"));
    if (str_eq(method, STR("Target.getTargets")))
        return tell_extension(host, cdp, PENDING_LIST, STR_EMPTY, "listRegisteredTabs", STR("{}"));
    if (str_eq(method, STR("Target.createTarget")))
        return tell_extension(host, cdp, PENDING_CREATE, STR_EMPTY, "createTab",
                              STR("{\"url\":\"about:blank\"}"));
    if (str_eq(method, STR("Target.attachToTarget")))
        return tell_about_tab(host, cdp, PENDING_ATTACH, tab, "attachTab");
    if (str_eq(method, STR("Target.closeTarget")))
        return tell_about_tab(host, cdp, PENDING_NOTHING, tab, "closeTab");
    if (str_eq(method, STR("Target.activateTarget")))
        return forward(host, cdp, PENDING_NOTHING, tab, STR("Page.bringToFront"), NULL);
    return answer_refusal(host, cdp, STR("the extension cannot do this"));
}

int relay_send(struct host *host, struct str message)
{
    cleanup_arena struct arena arena = ARENA_INIT(ARENA_BYTES);
    const struct json_limits limits = {CDP_MAX_MESSAGE, CDP_MAX_DEPTH};
    const struct json_value *command;
    struct str session;
    struct str method;
    int64_t id = 0;
    int r;

    if (!relay_is_connected(host))
        return ERR_CONNECTION_LOST;
    r = json_parse(&arena, message, limits, &command, NULL);
    if (r < 0)
        return r;
    (void)json_get_int(command, STR("id"), &id);
    session = text_of(command, "sessionId");
    method = text_of(command, "method");
    return session.len > 0
               ? send_to_tab(host, id, session, method, json_get(command, STR("params")))
               : send_to_browser(host, id, method, json_get(command, STR("params")));
}

/* ---- the reading thread ---- */

enum { FD_LISTENS, FD_EXTENSION, FD_CALLERS };

int relay_watch(struct host *host, struct pollfd out_fds[RELAY_FDS])
{
    const struct relay *relay = host->relay;

    for (size_t i = 0; i < RELAY_FDS; i++)
        out_fds[i] = (struct pollfd){.fd = -1, .events = POLLIN};
    if (relay == NULL)
        return -1;
    out_fds[FD_LISTENS].fd = relay->listen_fd;
    if (relay->extension != NULL) {
        out_fds[FD_EXTENSION].fd = relay->extension->out.fd;
        if (relay->extension->out.bytes.len > 0)
            out_fds[FD_EXTENSION].events |= POLLOUT;
    }
    for (size_t i = 0; i < relay->caller_count; i++)
        out_fds[FD_CALLERS + i].fd = relay->callers[i]->out.fd;
    return relay->caller_count > 0 ? CALLER_MS / 2 : PING_MS / 2;
}

/* False: it does not live. */
static bool keep_alive(struct relay *relay)
{
    int64_t now = monitor_now_ms();

    if (now - relay->heard_ms > DEAD_MS)
        return false;
    if (now - relay->pinged_ms < PING_MS)
        return true;
    relay->pinged_ms = now;
    return browser_socket_ping(relay->extension->socket) == 0;
}

static bool take_bytes(struct caller *caller, char *room, size_t size)
{
    ssize_t got = read(caller->out.fd, room, size);

    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return true;
    return got > 0 &&
           browser_socket_receive(caller->socket, (struct str){room, (size_t)got}) == 0 &&
           !browser_socket_is_over(caller->socket);
}

static void look_at_extension(struct relay *relay, const struct pollfd *fd, char *room, size_t size)
{
    struct caller *extension = relay->extension;
    bool lives = true;

    if (extension == NULL)
        return;
    if (extension->out.fd == fd->fd && (fd->revents & POLLOUT) != 0)
        outlet_flush(&extension->out);
    if (extension->out.fd == fd->fd && (fd->revents & (POLLIN | POLLHUP | POLLERR)) != 0) {
        relay->heard_ms = monitor_now_ms();
        lives = take_bytes(extension, room, size);
    }
    if (!lives || !keep_alive(relay))
        hang_up(relay);
}

/* What this one says, as soon as it is there; whoever may open the relay is the extension. */
static void look_at_callers(struct relay *relay, char *room, size_t size)
{
    int64_t now = monitor_now_ms();

    for (size_t i = relay->caller_count; i-- > 0 && relay->extension == NULL;) {
        struct caller *caller = relay->callers[i];

        if (!take_bytes(caller, room, size) || now - caller->since_ms > CALLER_MS) {
            drop_caller(relay, i);
        } else if (browser_socket_is_open(caller->socket)) {
            relay->extension = caller;
            relay->callers[i] = NULL;
            relay->heard_ms = now;
            relay->was_connected = true;
        }
    }
    if (relay->extension != NULL)
        drop_callers(relay);
}

bool relay_look(struct host *host, const struct pollfd fds[RELAY_FDS], char *room, size_t size)
{
    struct relay *relay = host->relay;
    bool was_open = relay_is_connected(host);

    if (relay == NULL || relay->listen_fd != fds[FD_LISTENS].fd)
        return true;
    look_at_extension(relay, &fds[FD_EXTENSION], room, size);
    if (was_open == relay_is_connected(host)) { /* that it has gone is told before another comes */
        if (fds[FD_LISTENS].revents != 0)
            take_caller(host);
        look_at_callers(relay, room, size);
    }
    if (relay->extension == NULL && monitor_now_ms() - relay->heard_ms > IDLE_MS)
        relay_close(host);
    if (was_open != relay_is_connected(host))
        monitor_tell(&host->monitor);
    return !was_open || relay_is_connected(host);
}
