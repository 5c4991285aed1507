/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/connect/control.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/status.h"
#include "gatehouse/audit.h"
#include "net/http/router.h"
#include "net/http/server.h"
#include "permission/settings/dir.h"
#include "programs/connect/localanswer.h"

enum {
    BACKLOG = 16,
    SOCKET_MODE = 0600,
    LOCK_NAME_BYTES = STATUS_NAME_BYTES + 8,
    /* Clients here send one line and read at once. */
    HEAD_MS = 5000,
    IDLE_MS = 5000,
};

struct control {
    int dir_fd;
    int lock_fd; /* held as long as the name is ours */
    int listen_fd;
    char name[STATUS_NAME_BYTES];
    char lock_name[LOCK_NAME_BYTES];
    void (*report)(void *data, struct report *out_report);
    void *data;
    const struct control_taker *taker; /* NULL: no tokens are accepted */
    struct exchange *brought;          /* with a token that is not answered yet; or NULL */
    struct router router;
    struct httpserver *server;
};

/* ---- answers ---- */

static void answer(const struct control *control, struct exchange *exchange,
                   int (*write)(const struct report *report, struct buf *out))
{
    struct report report = {.dir = STR_EMPTY, .url = STR_EMPTY};

    control->report(control->data, &report);
    localanswer_report(&(struct localanswer){.exchange = exchange}, &report, write);
}

static void on_health(void *data, struct exchange *exchange)
{
    answer(data, exchange, report_health);
}

static void on_status(void *data, struct exchange *exchange)
{
    answer(data, exchange, report_whole);
}

/* ---- tokens ---- */

static void answer_words(struct exchange *exchange, int status, const char *key, const char *words)
{
    localanswer_words(&(struct localanswer){.exchange = exchange}, status, key, str_from(words));
}

static void refuse_token(struct exchange *exchange, const struct err *err)
{
    answer_words(exchange, HANDOVER_NOT_TAKEN, "error",
                 err->message[0] != '\0' ? err->message : err_text(err->code));
}

static void on_bringer_gone(void *data)
{
    struct control *control = data;

    control->brought = NULL;
    control->taker->gone(control->data);
}

static void take_token(struct control *control, struct exchange *exchange,
                       const struct handover *handover)
{
    static const struct exchange_events events = {.on_gone = on_bringer_gone};
    struct err err = ERR_INIT;

    if (control->brought != NULL) {
        err_set(&err, ERR_BUSY, "it is already trying another token");
        refuse_token(exchange, &err);
        return;
    }
    control->brought = exchange;
    exchange_watch(exchange, &events, control);
    if (control->taker->take(control->data, handover, &err) == 0)
        return;
    control->brought = NULL;
    refuse_token(exchange, &err);
}

static void ask_about_token(const struct control *control, struct exchange *exchange,
                            const struct handover *handover)
{
    struct err err = ERR_INIT;

    if (control->taker->take(control->data, handover, &err) < 0)
        refuse_token(exchange, &err);
    else
        answer_words(exchange, HANDOVER_GOOD, "status", "wanted");
}

/* It contains the token. */
static void wipe_body(struct str body)
{
    char *bytes;

    if (body.len == 0)
        return;
    /* SAFETY: it is the buffer of this request, which is not read again. */
    memcpy(&bytes, &body.ptr, sizeof(bytes));
    secret_wipe(bytes, body.len);
}

static void on_token(void *data, struct exchange *exchange)
{
    struct control *control = data;
    struct handover handover = {.token = SECRET_INIT};
    uid_t uid;
    int r;

    if (control->taker == NULL) {
        exchange_answer_error(exchange, ERR_NOT_FOUND);
        return;
    }
    /* The modes say so already, but a token is worth a second look. */
    if (exchange_peer_uid(exchange, &uid) < 0 || uid != geteuid()) {
        exchange_answer_error(exchange, ERR_PERMISSION_DENIED);
        return;
    }
    r = handover_parse(exchange_request(exchange)->body, &handover);
    wipe_body(exchange_request(exchange)->body);
    if (r < 0)
        exchange_answer_error(exchange, r);
    else if (handover.token.len > 0)
        take_token(control, exchange, &handover);
    else
        ask_about_token(control, exchange, &handover);
    secret_done(&handover.token);
}

void control_take_tokens(struct control *control, const struct control_taker *taker)
{
    control->taker = taker;
}

void control_answer(struct control *control, const struct err *err)
{
    struct exchange *exchange = control->brought;

    control->brought = NULL;
    if (exchange == NULL)
        return;
    if (err == NULL)
        answer_words(exchange, HANDOVER_GOOD, "status", "connected");
    else
        answer_words(exchange, HANDOVER_FAILED, "error",
                     err->message[0] != '\0' ? err->message : err_text(err->code));
}

static const struct route routes[] = {
    {.method = HTTP_METHOD_GET, .path = STR_LITERAL("/health"), .handle = on_health},
    {.method = HTTP_METHOD_GET, .path = STR_LITERAL("/status"), .handle = on_status},
    {.method = HTTP_METHOD_POST,
     .path = STR_LITERAL(HANDOVER_PATH),
     .max_body_bytes = HANDOVER_MAX_BYTES,
     .handle = on_token},
};

/* ---- the name ---- */

static int refuse(struct err *err, const char *directory, int errno_value)
{
    return err_set_field(err, err_from_errno(errno_value), directory,
                         "cannot create the control socket in %s: %s", directory,
                         err_errno_text(errno_value));
}

/* Of two daemons that start at once only one gets the lock; so an existing socket is stale. */
static int take_name(struct control *control, const char *directory, uint16_t port, struct err *err)
{
    int r;

    status_socket_name(port, control->name);
    snprintf(control->lock_name, sizeof(control->lock_name), "%s.lock", control->name);
    r = settingsdir_lock(control->dir_fd, control->lock_name, 0, &control->lock_fd, err);
    if (r == ERR_BUSY)
        return err_set(err, ERR_ALREADY_EXISTS,
                       "a daemon for port %u is already running: see 'gatehouse status', stop that "
                       "one, or choose another port with --port",
                       port);
    if (r < 0)
        return r;
    if (unlinkat(control->dir_fd, control->name, 0) < 0 && errno != ENOENT)
        return refuse(err, directory, errno);
    return 0;
}

static int listen_there(struct control *control, const char *directory, struct err *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    /* A path by the directory's descriptor: short enough always, and of that very directory. */
    snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/%s", control->dir_fd,
             control->name);
    control->listen_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    /* The mode of the socket is that of the name: at no moment may others connect. */
    if (control->listen_fd < 0 || fchmod(control->listen_fd, SOCKET_MODE) < 0 ||
        bind(control->listen_fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
        listen(control->listen_fd, BACKLOG) < 0)
        return refuse(err, directory, errno);
    return 0;
}

int control_open(const char *directory, uint16_t port, struct control **out_control,
                 struct err *err)
{
    struct control *control = calloc(1, sizeof(*control));
    int r;

    if (control == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    control->dir_fd = -1;
    control->lock_fd = -1;
    control->listen_fd = -1;
    r = audit_dir_open(directory, &control->dir_fd, err);
    if (r < 0)
        err_set_field(err, r, directory, "cannot put the control socket into %s: %s", directory,
                      err_text(r));
    if (r == 0)
        r = take_name(control, directory, port, err);
    if (r == 0)
        r = listen_there(control, directory, err);
    if (r < 0) {
        control_free(control);
        return r;
    }
    *out_control = control;
    return 0;
}

int control_serve(struct control *control, struct loop *loop,
                  void (*report)(void *data, struct report *out_report), void *data)
{
    const struct httpserver_config config = {
        .on_request = router_handle,
        .data = &control->router,
        .max_connections = CONTROL_MAX_CONNECTIONS,
        .max_kept_bytes = REPORT_WHOLE_BYTES * 2,
        .head_ms = HEAD_MS,
        .idle_ms = IDLE_MS,
        .max_collected_bytes = CONTROL_MAX_CONNECTIONS * HANDOVER_MAX_BYTES,
    };

    control->report = report;
    control->data = data;
    control->router =
        (struct router){.routes = routes, .count = array_size(routes), .data = control};
    return httpserver_new(loop, steal_fd(&control->listen_fd), &config, &control->server);
}

void control_free(struct control *control)
{
    if (control == NULL)
        return;
    /* Before the server goes, which would tell of it. */
    if (control->brought != NULL)
        exchange_cut(control->brought);
    if (control->server != NULL)
        httpserver_free(control->server);
    /*
     * Only the owner of the lock owns the name. The lock file is removed last, and whoever has it
     * open notices.
     */
    if (control->lock_fd >= 0) {
        (void)unlinkat(control->dir_fd, control->name, 0);
        (void)unlinkat(control->dir_fd, control->lock_name, 0);
    }
    cleanup_fd_(&control->listen_fd);
    cleanup_fd_(&control->lock_fd);
    cleanup_fd_(&control->dir_fd);
    free(control);
}
