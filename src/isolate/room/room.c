/* SPDX-License-Identifier: Apache-2.0 */
/* The service's side: the keeper and the life of rooms. */
#include "isolate/room/room.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "isolate/companion.h"
#include "isolate/room/outer.h"

enum { HELLO_PATIENCE_MS = 60000, RETRY_MS = 2, NAMES_MAX_BYTES = 64 << 20 };

/* A call to the keeper that waits for its answer. */
struct keeper_call {
    struct list node;
    uint64_t number;
    room_done *done;
    room_names *names;
    room_used *used;
    void *data;
};

/* ---- Packets ---- */

struct parcel *parcel_new(const void *head, size_t head_len, struct str rest, const int *fds,
                          size_t fd_count)
{
    struct parcel *parcel = malloc(sizeof(*parcel) + head_len + rest.len);

    if (parcel == NULL) {
        for (size_t i = 0; i < fd_count; i++)
            close(fds[i]);
        return NULL;
    }
    list_init(&parcel->node);
    parcel->fd_count = fd_count;
    if (fd_count > 0)
        memcpy(parcel->fds, fds, fd_count * sizeof(*fds));
    parcel->len = head_len + rest.len;
    memcpy(parcel->bytes, head, head_len);
    if (rest.len > 0)
        memcpy(parcel->bytes + head_len, rest.ptr, rest.len);
    return parcel;
}

void parcel_free(struct parcel *parcel)
{
    if (parcel == NULL)
        return;
    list_remove(&parcel->node);
    for (size_t i = 0; i < parcel->fd_count; i++)
        close(parcel->fds[i]);
    free(parcel);
}

/* False while the other end must read first. One that is gone takes everything, unread. */
static bool send_all(int socket, struct list *outbox)
{
    while (!list_is_empty(outbox)) {
        struct parcel *parcel = list_entry(outbox->next, struct parcel, node);

        if (packet_send(socket, (struct str){parcel->bytes, parcel->len}, parcel->fds,
                        parcel->fd_count, MSG_DONTWAIT) < 0 &&
            (errno == EAGAIN || errno == ENOBUFS || errno == ETOOMANYREFS))
            return false;
        parcel_free(parcel);
    }
    return true;
}

static void retry(void *data)
{
    struct room_keeper *keeper = data;
    bool is_done = send_all(keeper->socket, &keeper->outbox);

    list_each (node, &keeper->rooms) {
        struct room *room = list_entry(node, struct room, node);

        is_done = send_all(room->socket, &room->outbox) && is_done;
    }
    if (!is_done)
        timer_start(&keeper->retry, RETRY_MS);
}

static void post(struct room_keeper *keeper, int socket, struct list *outbox, struct parcel *parcel)
{
    list_append(outbox, &parcel->node);
    if (!send_all(socket, outbox) && !keeper->retry.is_started)
        timer_start(&keeper->retry, RETRY_MS);
}

void room_post(struct room *room, struct parcel *parcel)
{
    post(room->keeper, room->socket, &room->outbox, parcel);
}

/* Takes over the descriptors. */
static int ask_keeper(struct room_keeper *keeper, const struct room_ask *ask, struct str rest,
                      const int *fds, size_t fd_count)
{
    struct parcel *parcel = parcel_new(ask, sizeof(*ask), rest, fds, fd_count);

    if (parcel == NULL)
        return ERR_NO_MEMORY;
    post(keeper, keeper->socket, &keeper->outbox, parcel);
    return 0;
}

char *room_read_memory(int fd, size_t max, size_t *out_len)
{
    struct stat about;
    char *bytes;
    size_t len = 0;

    if (fd < 0 || fstat(fd, &about) < 0 || !S_ISREG(about.st_mode) || about.st_size < 0 ||
        (uint64_t)about.st_size > max)
        return NULL;
    bytes = malloc((size_t)about.st_size + 1);
    while (bytes != NULL && len < (size_t)about.st_size) {
        ssize_t got = pread(fd, bytes + len, (size_t)about.st_size - len, (off_t)len);

        if (got <= 0) {
            free(bytes);
            return NULL;
        }
        len += (size_t)got;
    }
    if (bytes != NULL)
        bytes[len] = '\0';
    *out_len = len;
    return bytes;
}

/* ---- The end of a room ---- */

static void free_outbox(struct list *outbox)
{
    list_each_safe (node, outbox)
        parcel_free(list_entry(node, struct parcel, node));
}

static void close_refusals(struct room *room)
{
    if (room->refusals_watch != NULL)
        ready_watch_free(steal_ptr(&room->refusals_watch));
    if (room->refusals >= 0)
        close(steal_fd(&room->refusals));
}

/* No more than its relay has to say at a time; the rest comes the next time. */
static void on_refusals_ready(void *data)
{
    struct room *room = data;

    for (unsigned i = 0; i < ROOM_REFUSALS && room->refusals >= 0; i++) {
        struct room_refusal refusal;
        const ssize_t got =
            packet_receive(room->refusals, &refusal, sizeof(refusal), NULL, 0, MSG_DONTWAIT);

        if (got < 0 && errno == EAGAIN)
            return;
        if (got == (ssize_t)sizeof(refusal) && (unsigned)refusal.kind < ROOM_REFUSALS)
            room->on_refused(room->data, &refusal);
        else
            close_refusals(room); /* it has ended */
    }
}

static void close_room(struct room *room)
{
    list_remove(&room->node);
    free_outbox(&room->outbox);
    close_refusals(room);
    if (room->watch != NULL)
        ready_watch_free(room->watch);
    if (room->socket >= 0)
        close(room->socket);
}

static void on_room_ready(void *data);

static void say_started(struct room *room, const struct err *err,
                        const struct room_reached *reached)
{
    room_started *started = room->started;

    room->started = NULL;
    started(room->started_data, err, err == NULL ? room : NULL, reached);
}

static void finish_room(struct room *room, const struct err *why)
{
    struct err over = ERR_INIT;

    /* What it had still to say. */
    on_room_ready(room);
    on_refusals_ready(room);
    err_set(&over, ERR_SESSION_OVER, "%s",
            why->code != 0 ? why->message : "the sandbox was stopped");
    room_file_end_all(room, &over);
    room_exec_end_all(room, &over);
    close_room(room);
    if (room->started != NULL) {
        struct err died = ERR_INIT;

        err_set(&died, why->code != 0 ? why->code : ERR_SESSION_OVER, "%s",
                why->code != 0 ? why->message : "the sandbox was stopped before it had started");
        say_started(room, &died, NULL);
    }
    if (room->is_ready && room->on_end != NULL)
        room->on_end(room->data, why->code != 0 ? why : NULL);
    list_each_safe (node, &room->stops) {
        struct keeper_call *call = list_entry(node, struct keeper_call, node);

        list_remove(&call->node);
        if (call->done != NULL)
            call->done(call->data, NULL);
        free(call);
    }
    free(room);
}

/* ---- What a room says ---- */

static void take_report(struct room *room, const struct room_report *report, int fd)
{
    switch (report->kind) {
    case ROOM_REPORT_READY:
        if (room->started == NULL)
            break;
        room->is_ready = true;
        room->is_in_memory = report->reached.is_in_memory;
        say_started(room, NULL, &report->reached);
        break;
    case ROOM_REPORT_FAILED:
        if (room->started != NULL && report->err.code < 0)
            say_started(room, &report->err, NULL);
        break;
    case ROOM_REPORT_STARTED:
    case ROOM_REPORT_REFUSED:
    case ROOM_REPORT_EXITED:
        room_exec_report(room, report, steal_fd(&fd));
        break;
    case ROOM_REPORT_FILE:
        room_file_report(room, report, steal_fd(&fd));
        break;
    }
    if (fd >= 0)
        close(fd);
}

/* Texts of a room are cut, should it ever send more than it may. */
static void end_texts(struct err *err)
{
    err->message[sizeof(err->message) - 1] = '\0';
    err->field[sizeof(err->field) - 1] = '\0';
    if (err->code > 0 || err->code < -ERR_COUNT)
        err->code = ERR_INTERNAL;
}

static void on_room_ready(void *data)
{
    struct room *room = data;

    for (;;) {
        struct room_report report;
        int fd = -1;
        ssize_t got = packet_receive(room->socket, &report, sizeof(report), &fd, 1, MSG_DONTWAIT);

        if (got == (ssize_t)sizeof(report)) {
            end_texts(&report.err);
            take_report(room, &report, fd);
            continue;
        }
        if (fd >= 0)
            close(fd);
        if (got < 0 && (errno == EAGAIN || errno == EMFILE || errno == ENFILE))
            return;
        /* It has ended, or says nonsense: the keeper tells when nothing is left. */
        if (room->watch != NULL)
            ready_watch_free(steal_ptr(&room->watch));
        if (got != 0 && !room->keeper->has_died) {
            const struct room_ask ask = {.kind = ROOM_ASK_STOP, .number = room->number};

            (void)ask_keeper(room->keeper, &ask, STR_EMPTY, NULL, 0);
        }
        return;
    }
}

/* ---- What the keeper says ---- */

static struct room *find_room(const struct room_keeper *keeper, uint64_t number)
{
    list_each (node, &keeper->rooms) {
        struct room *room = list_entry(node, struct room, node);

        if (room->number == number)
            return room;
    }
    return NULL;
}

/* SAFETY: the callback's strings lie in `bytes`, which it does not keep. */
static void pass_names(const struct keeper_call *call, char *bytes, size_t len)
{
    size_t count = 0;
    cleanup_free const char **names = NULL;

    for (size_t i = 0; i < len; i++)
        count += bytes[i] == '\0';
    names = calloc(count + 1, sizeof(*names));
    if (names == NULL) {
        struct err err = ERR_INIT;

        err_set_plain(&err, ERR_NO_MEMORY);
        call->names(call->data, &err, NULL, 0);
        return;
    }
    for (size_t i = 0, at = 0; i < count; i++) {
        names[i] = bytes + at;
        at += strlen(bytes + at) + 1;
    }
    call->names(call->data, NULL, names, count);
}

/* Frees the call. */
static void finish_call(struct keeper_call *call, const struct room_answer *answer, int fd)
{
    const struct err *err = answer->err.code != 0 ? &answer->err : NULL;
    size_t len = 0;
    cleanup_free char *bytes =
        call->names != NULL && err == NULL ? room_read_memory(fd, NAMES_MAX_BYTES, &len) : NULL;

    list_remove(&call->node);
    if (call->used != NULL)
        call->used(call->data, err, &answer->usage);
    else if (call->names != NULL && bytes != NULL)
        pass_names(call, bytes, len);
    else if (call->names != NULL)
        call->names(call->data, err, NULL, 0);
    else if (call->done != NULL)
        call->done(call->data, err);
    free(call);
}

static void take_answer(struct room_keeper *keeper, const struct room_answer *answer, int fd)
{
    if (answer->kind == ROOM_ANSWER_ENDED) {
        struct room *room = find_room(keeper, answer->number);

        if (room != NULL)
            finish_room(room, &answer->err);
        return;
    }
    list_each (node, &keeper->calls) {
        struct keeper_call *call = list_entry(node, struct keeper_call, node);

        if (call->number == answer->number) {
            finish_call(call, answer, fd);
            return;
        }
    }
}

static void end_keeper(struct room_keeper *keeper)
{
    struct room_answer over = {.kind = ROOM_ANSWER_DONE};

    if (keeper->has_died)
        return;
    keeper->has_died = true;
    ready_watch_free(steal_ptr(&keeper->watch));
    err_set(&over.err, ERR_SESSION_OVER, "the keeper of the sandboxes has died");
    while (!list_is_empty(&keeper->rooms))
        finish_room(list_entry(keeper->rooms.next, struct room, node), &over.err);
    while (!list_is_empty(&keeper->calls))
        finish_call(list_entry(keeper->calls.next, struct keeper_call, node), &over, -1);
    if (keeper->on_end != NULL)
        keeper->on_end(keeper->data);
}

static void on_keeper_ready(void *data)
{
    struct room_keeper *keeper = data;

    while (!keeper->has_died) {
        struct room_answer answer;
        int fd = -1;
        ssize_t got = packet_receive(keeper->socket, &answer, sizeof(answer), &fd, 1, MSG_DONTWAIT);

        if (got == (ssize_t)sizeof(answer))
            take_answer(keeper, &answer, fd);
        if (fd >= 0)
            close(fd);
        if (got == (ssize_t)sizeof(answer))
            continue;
        if (got < 0 && (errno == EAGAIN || errno == EMFILE || errno == ENFILE))
            return;
        end_keeper(keeper);
    }
}

static void on_keeper_exit(void *data, struct child_exit exit)
{
    struct room_keeper *keeper = data;

    (void)exit;
    child_free(steal_ptr(&keeper->process));
    keeper->pid = 0;
    /*
     * First what it has still said. Its socket need not be at its end by then: first processes
     * that wait for a room have copies of it, and die after it.
     */
    on_keeper_ready(keeper);
    end_keeper(keeper);
}

/* ---- Starting the keeper ---- */

static int greet(struct room_keeper *keeper, const struct room_keeper_config *config,
                 struct err *err)
{
    const struct room_ask hello = {.kind = ROOM_ASK_HELLO,
                                   .is_degraded = config->is_degraded,
                                   .memory_bytes = config->memory_bytes,
                                   .processes = config->processes,
                                   .disk_bytes = config->free_bytes};
    struct pollfd wait = {.fd = keeper->socket, .events = POLLIN};
    struct room_answer answer;
    int fd = -1;

    if (ask_keeper(keeper, &hello, (struct str){config->directory, strlen(config->directory) + 1},
                   NULL, 0) < 0)
        return err_set_plain(err, ERR_NO_MEMORY);
    if (poll(&wait, 1, HELLO_PATIENCE_MS) <= 0 ||
        packet_receive(keeper->socket, &answer, sizeof(answer), &fd, 1, 0) !=
            (ssize_t)sizeof(answer))
        return err_set(err, ERR_INTERNAL, "gatehouse-init does not answer");
    keeper->abilities = answer.abilities;
    if (answer.err.code != 0 && err != NULL)
        *err = answer.err;
    return answer.err.code;
}

/* Over its lifeline the keeper gets the socket for packets. */
static int connect_keeper(struct room_keeper *keeper, struct err *err)
{
    cleanup_fd int theirs = -1;
    int ends[2];

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return err_set(err, err_from_errno(errno), "cannot create a socket pair: %s",
                       err_errno_text(errno));
    keeper->socket = ends[0];
    theirs = ends[1];
    return packet_send(keeper->lifeline, STR("s"), &theirs, 1, 0) < 0
               ? err_set(err, err_from_errno(errno), "gatehouse-init does not answer")
               : 0;
}

/* The keeper has made the directory. */
static int find_floor(struct room_keeper *keeper, const struct room_keeper_config *config,
                      struct err *err)
{
    keeper->directory = open(config->directory, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return keeper->directory >= 0 &&
                   space_floor(keeper->directory, config->free_bytes, &keeper->floor)
               ? 0
               : err_set(err, err_from_errno(errno), "cannot tell what is free on the disk: %s",
                         err_errno_text(errno));
}

int room_keeper_new(const struct room_keeper_config *config, struct room_keeper **out_keeper,
                    struct err *err)
{
    static const char *const argv[] = {"gatehouse-init", NULL};
    struct room_keeper *keeper;
    struct companion companion;
    int r;

    if (config->directory == NULL || config->directory[0] != '/' ||
        strlen(config->directory) >= ROOM_PATH_BYTES)
        return err_set(err, ERR_INVALID_PATH, "the directory must be an absolute path");
    keeper = calloc(1, sizeof(*keeper));
    if (keeper == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    *keeper = (struct room_keeper){.on_end = config->on_end,
                                   .data = config->data,
                                   .lifeline = -1,
                                   .socket = -1,
                                   .directory = -1};
    list_init(&keeper->rooms);
    list_init(&keeper->calls);
    list_init(&keeper->outbox);
    r = companion_start(argv[0], config->libexec != NULL ? config->libexec : "", argv,
                        config->error_fd, &companion, err);
    if (r < 0) {
        free(keeper);
        return r;
    }
    keeper->lifeline = companion.fd;
    keeper->pid = companion.pid;
    r = connect_keeper(keeper, err);
    if (r == 0)
        r = greet(keeper, config, err);
    if (r == 0)
        r = find_floor(keeper, config, err);
    if (r < 0) {
        room_keeper_free(keeper);
        return r;
    }
    *out_keeper = keeper;
    return 0;
}

int room_keeper_watch(struct room_keeper *keeper, struct loop *loop)
{
    int r;

    keeper->loop = loop;
    timer_init(&keeper->retry, loop, retry, keeper);
    r = ready_watch_new(loop, keeper->socket, on_keeper_ready, keeper, &keeper->watch);
    return r == 0 ? child_watch(loop, keeper->pid, on_keeper_exit, keeper, &keeper->process) : r;
}

void room_keeper_free(struct room_keeper *keeper)
{
    if (keeper == NULL)
        return;
    keeper->on_end = NULL;
    list_each (node, &keeper->rooms)
        list_entry(node, struct room, node)->on_end = NULL;
    timer_stop(&keeper->retry);
    if (keeper->watch != NULL)
        ready_watch_free(keeper->watch);
    /* Nobody is told: the events of commands and calls are dropped. */
    while (!list_is_empty(&keeper->rooms)) {
        struct room *room = list_entry(keeper->rooms.next, struct room, node);

        room_file_end_all(room, NULL);
        room_exec_end_all(room, NULL);
        list_each_safe (node, &room->stops)
            free(list_entry(node, struct keeper_call, node));
        close_room(room);
        free(room);
    }
    list_each_safe (node, &keeper->calls)
        free(list_entry(node, struct keeper_call, node));
    free_outbox(&keeper->outbox);
    /* It ends everything and then itself; nobody waits longer than that takes. */
    if (keeper->lifeline >= 0)
        close(keeper->lifeline);
    if (keeper->socket >= 0)
        close(keeper->socket);
    if (keeper->directory >= 0)
        close(keeper->directory);
    child_free(keeper->process);
    while (keeper->pid > 0 && waitpid(keeper->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    free(keeper);
}

const struct room_abilities *room_keeper_abilities(const struct room_keeper *keeper)
{
    return &keeper->abilities;
}

/* What cannot be told counts as too little. */
void room_keeper_space(const struct room_keeper *keeper, struct room_space *out_space)
{
    struct space free = {0};

    (void)space_free(keeper->directory, &free);
    *out_space = (struct room_space){.free_bytes = free.bytes,
                                     .floor_bytes = keeper->floor.bytes,
                                     .is_low = space_is_low(&free, &keeper->floor)};
}

/* ---- Calls ---- */

static int check_alive(const struct room_keeper *keeper, struct err *err)
{
    return keeper->has_died ? err_set(err, ERR_SESSION_OVER, "the keeper of the sandboxes has died")
                            : 0;
}

static void copy_name(char out_name[ROOM_ID_BYTES], const char *name)
{
    memset(out_name, 0, ROOM_ID_BYTES);
    memcpy(out_name, name, strlen(name));
}

static int open_pair(int *out_ours, int *out_theirs)
{
    int ends[2];

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return err_from_errno(errno);
    *out_ours = ends[0];
    *out_theirs = ends[1];
    return 0;
}

/* One for the first process and, with listed addresses, one for the relay; all or none of theirs.
 */
static int open_sockets(struct room *room, int theirs[ROOM_START_FDS], size_t *out_count)
{
    struct loop *loop = room->keeper->loop;
    const bool has_relay = room->network == ROOM_NETWORK_LISTED && room->on_refused != NULL;
    size_t count = 0;
    int r = open_pair(&room->socket, &theirs[0]);

    count += r == 0;
    if (r == 0 && has_relay)
        r = open_pair(&room->refusals, &theirs[1]);
    count += r == 0 && has_relay;
    if (r == 0)
        r = ready_watch_new(loop, room->socket, on_room_ready, room, &room->watch);
    if (r == 0 && has_relay)
        r = ready_watch_new(loop, room->refusals, on_refusals_ready, room, &room->refusals_watch);
    for (size_t i = 0; r < 0 && i < count; i++)
        close(theirs[i]);
    *out_count = count;
    return r;
}

int room_start(struct room_keeper *keeper, const struct room_plan *plan, room_started *done,
               void *data, struct err *err)
{
    struct room_ask ask = {.kind = ROOM_ASK_START,
                           .memory_bytes = plan->memory_bytes,
                           .disk_bytes = plan->disk_bytes,
                           .cpu_percent = plan->cpu_percent,
                           .processes = plan->processes,
                           .layer_count = (unsigned)plan->layer_count,
                           .network = plan->network,
                           .is_in_memory = plan->is_in_memory,
                           .is_build = plan->is_build};
    cleanup_free char(*layers)[ROOM_ID_BYTES] = NULL;
    cleanup_free struct room *room = NULL;
    struct room_space space;
    int theirs[ROOM_START_FDS];
    size_t their_count = 0;
    int r = check_alive(keeper, err);

    if (r < 0)
        return r;
    if (plan->id == NULL || !room_is_name(plan->id))
        return err_set_field(err, ERR_INVALID_ARGUMENT, "id", "not a valid id");
    if (plan->layer_count > ROOM_MAX_LAYERS)
        return err_set_field(err, ERR_TOO_LARGE, "layers", "a sandbox has at most %d layers",
                             ROOM_MAX_LAYERS);
    if (plan->disk_bytes > 0 && !plan->is_in_memory && plan->disk_bytes < ROOM_LEAST_DISK_BYTES)
        return err_set_field(err, ERR_INVALID_ARGUMENT, "disk", "disk space is at least %d MiB",
                             ROOM_LEAST_DISK_BYTES >> 20);
    room_keeper_space(keeper, &space);
    if (plan->is_build && space.is_low)
        return err_set(err, ERR_NO_SPACE, ROOM_DISK_NEARLY_FULL);
    if (plan->network == ROOM_NETWORK_LISTED) {
        if (!keeper->abilities.has_listed_network)
            return err_set_field(err, ERR_UNSUPPORTED, "network",
                                 "this machine cannot limit a sandbox's network to addresses");
        ask.addresses = *plan->addresses;
    }
    layers = calloc(plan->layer_count + 1, sizeof(*layers));
    room = calloc(1, sizeof(*room));
    if (layers == NULL || room == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    for (size_t i = 0; i < plan->layer_count; i++) {
        if (!room_is_name(plan->layers[i]))
            return err_set_field(err, ERR_INVALID_ARGUMENT, "layers", "not a valid layer");
        copy_name(layers[i], plan->layers[i]);
    }
    *room = (struct room){.keeper = keeper,
                          .number = ++keeper->last_number,
                          .socket = -1,
                          .started = done,
                          .started_data = data,
                          .network = plan->network,
                          .variables = plan->variables,
                          .refusals = -1,
                          .on_refused = plan->on_refused,
                          .on_end = plan->on_end,
                          .data = plan->data};
    list_init(&room->node);
    list_init(&room->outbox);
    list_init(&room->execs);
    list_init(&room->files);
    list_init(&room->stops);
    ask.number = room->number;
    copy_name(ask.id, plan->id);
    r = open_sockets(room, theirs, &their_count);
    if (r == 0)
        r = ask_keeper(keeper, &ask,
                       (struct str){(const char *)layers, plan->layer_count * sizeof(*layers)},
                       theirs, their_count);
    if (r < 0) {
        close_room(room);
        return err_set(err, r, "cannot start the sandbox: %s", err_text(r));
    }
    list_append(&keeper->rooms, &room->node);
    (void)steal_ptr(&room);
    return 0;
}

int room_stop(struct room *room, room_done *done, void *data)
{
    const struct room_ask ask = {.kind = ROOM_ASK_STOP, .number = room->number};
    struct keeper_call *call = calloc(1, sizeof(*call));
    int r;

    if (call == NULL)
        return ERR_NO_MEMORY;
    *call = (struct keeper_call){.done = done, .data = data};
    r = ask_keeper(room->keeper, &ask, STR_EMPTY, NULL, 0);
    if (r < 0) {
        free(call);
        return r;
    }
    list_append(&room->stops, &call->node);
    return 0;
}

/* Takes over neither of the two. */
static int start_call(struct room_keeper *keeper, struct room_ask *ask,
                      const struct keeper_call *answers)
{
    struct keeper_call *call;
    int r = check_alive(keeper, NULL);

    if (r < 0)
        return r;
    call = malloc(sizeof(*call));
    if (call == NULL)
        return ERR_NO_MEMORY;
    *call = *answers;
    call->number = ++keeper->last_number;
    if (ask->kind == ROOM_ASK_USAGE)
        ask->call = call->number;
    else
        ask->number = call->number;
    r = ask_keeper(keeper, ask, STR_EMPTY, NULL, 0);
    if (r < 0) {
        free(call);
        return r;
    }
    list_append(&keeper->calls, &call->node);
    return 0;
}

int room_delete(struct room_keeper *keeper, const char *id, room_done *done, void *data)
{
    struct room_ask ask = {.kind = ROOM_ASK_DELETE};

    if (!room_is_name(id))
        return ERR_INVALID_ARGUMENT;
    copy_name(ask.id, id);
    return start_call(keeper, &ask, &(struct keeper_call){.done = done, .data = data});
}

static int freeze(struct room_keeper *keeper, const char *id, const char *layer, bool is_system,
                  room_done *done, void *data)
{
    struct room_ask ask = {.kind = ROOM_ASK_FREEZE, .is_system = is_system};

    if (!room_is_name(id) || !room_is_name(layer))
        return ERR_INVALID_ARGUMENT;
    copy_name(ask.id, id);
    copy_name(ask.layer, layer);
    return start_call(keeper, &ask, &(struct keeper_call){.done = done, .data = data});
}

int room_freeze(struct room_keeper *keeper, const char *id, const char *layer, room_done *done,
                void *data)
{
    return freeze(keeper, id, layer, false, done, data);
}

int room_freeze_system(struct room_keeper *keeper, const char *id, const char *layer,
                       room_done *done, void *data)
{
    return freeze(keeper, id, layer, true, done, data);
}

int room_layer_delete(struct room_keeper *keeper, const char *layer, room_done *done, void *data)
{
    struct room_ask ask = {.kind = ROOM_ASK_LAYER_DELETE};

    if (!room_is_name(layer))
        return ERR_INVALID_ARGUMENT;
    copy_name(ask.layer, layer);
    return start_call(keeper, &ask, &(struct keeper_call){.done = done, .data = data});
}

int room_list(struct room_keeper *keeper, bool is_layers, room_names *done, void *data)
{
    struct room_ask ask = {.kind = ROOM_ASK_LIST, .is_layers = is_layers};

    return start_call(keeper, &ask, &(struct keeper_call){.names = done, .data = data});
}

int room_usage(struct room *room, room_used *done, void *data)
{
    struct room_ask ask = {.kind = ROOM_ASK_USAGE, .number = room->number};

    return start_call(room->keeper, &ask, &(struct keeper_call){.used = done, .data = data});
}
