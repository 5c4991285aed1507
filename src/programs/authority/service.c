/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/authority/service.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hex.h"
#include "base/utf8.h"
#include "programs/authority/internal.h"
#include "programs/authority/request.h"

enum {
    READ_BYTES = 256 << 10,
    REQUEST_ARENA_BYTES = 64 << 20,
    JSON_COST = 10,      /* of a byte of JSON, in memory */
    WATCHES_AT_ONCE = 8, /* that are read before the input */
    TICK_MS = 1000,      /* until the audit log is flushed, and the ends of grants are told */
    OWN_FDS = 2,         /* the input, and the pipe that wakes */
    END_MS = 10000,      /* for what runs when the host is gone */
    ERROR_BYTES = 4 << 10,
    ONE_WRITE_BYTES = 16 << 10,
};

/* ---- out ---- */

static bool write_all(int fd, struct str bytes)
{
    while (bytes.len > 0) {
        ssize_t written = write(fd, bytes.ptr, bytes.len);

        if (written < 0 && errno != EINTR)
            return false;
        if (written > 0)
            bytes = str_slice(bytes, (size_t)written, bytes.len);
    }
    return true;
}

void service_send(struct authority_service *service, uint32_t number, enum wire_type type,
                  struct str json, struct str content)
{
    cleanup_buf struct buf front = BUF_INIT(SIZE_MAX);
    char head[WIRE_HEAD];

    wire_write_head(number, type, json.len, content.len, head);
    pthread_mutex_lock(&service->output);
    /* What is small goes in one call, so that the host is woken once. */
    if (!service->is_broken && json.len + content.len <= ONE_WRITE_BYTES &&
        buf_append(&front, head, sizeof(head)) == 0 && buf_append_str(&front, json) == 0 &&
        buf_append_str(&front, content) == 0)
        service->is_broken = !write_all(service->config.out_fd, buf_view(&front));
    else if (!service->is_broken)
        service->is_broken = !write_all(service->config.out_fd, (struct str){head, sizeof(head)}) ||
                             !write_all(service->config.out_fd, json) ||
                             !write_all(service->config.out_fd, content);
    pthread_mutex_unlock(&service->output);
}

void service_put_name(struct json_writer *w, struct str key, struct str hex_key, struct str name)
{
    char digits[2 * PATH_MAX];

    /* No name is longer in the authority; one of a request may be, and is refused there. */
    name = str_slice(name, 0, PATH_MAX);
    if (utf8_is_valid(name)) {
        json_put_str(w, key, name);
        return;
    }
    hex_write(digits, name);
    json_put_str(w, hex_key, (struct str){digits, 2 * name.len});
}

static void send_error(struct authority_service *service, uint32_t number, struct str op,
                       const struct err *err)
{
    cleanup_buf struct buf json = BUF_INIT(ERROR_BYTES);
    struct json_writer w;

    json_writer_init(&w, &json);
    json_begin_object(&w);
    json_put_str(&w, STR("code"), str_from(err_name(err->code)));
    json_put_str(&w, STR("category"), str_from(err_category_name(err_category(err->code))));
    json_put_str_lossy(&w, STR("message"),
                       str_from(err->message[0] != '\0' ? err->message : err_text(err->code)));
    json_put_str_lossy(&w, STR("operation"), str_slice(op, 0, ERR_FIELD_BYTES));
    json_end_object(&w);
    if (json_writer_finish(&w) == 0)
        service_send(service, number, WIRE_ERROR, buf_view(&json), STR_EMPTY);
}

/* ---- requests ---- */

static void free_request(struct served_request *request)
{
    buf_done(&request->out);
    arena_done(&request->arena);
    free(request->body);
    free(request);
}

/* Outside of the monitor. */
static void run_request(struct served_request *request)
{
    cleanup_buf struct buf json = BUF_INIT(WIRE_MAX_CONTENT);
    struct authority_service *service = request->service;
    struct err err = ERR_INIT;
    /* The first half of a release is done. */
    int r = str_eq(request->op, STR("release")) ? 0 : cancel_check(&request->cancel);

    json_writer_init(&request->result, &json);
    json_begin_object(&request->result);
    questions_begin_request(request);
    if (r == 0)
        r = operations_run(request, &err);
    questions_begin_request(NULL);
    json_end_object(&request->result);
    if (r == 0)
        r = json_writer_finish(&request->result);
    /* A question that was given up looks like a denial. */
    if (r < 0 && cancel_check(&request->cancel) == ERR_CANCELLED)
        r = ERR_CANCELLED;
    if (r == 0) {
        service_send(service, request->number, WIRE_RESULT, buf_view(&json),
                     buf_view(&request->out));
        watches_tell(service, request->watch);
        return;
    }
    if (err.code != r)
        err_set_plain(&err, r);
    send_error(service, request->number, request->op, &err);
}

static void *live(void *data)
{
    struct authority_service *service = data;

    monitor_enter(&service->monitor);
    while (true) {
        struct served_request *request = parties_begin_next(service);

        if (request != NULL) {
            monitor_leave(&service->monitor);
            run_request(request);
            monitor_enter(&service->monitor);
            parties_end(request);
            free_request(request);
        } else if (service->is_over || service->parked_count >= MAX_PARKED) {
            break;
        } else {
            service->parked_count++;
            monitor_park(&service->monitor);
            service->parked_count--;
        }
    }
    service->thread_count--;
    monitor_leave_for_good(&service->monitor);
    return NULL;
}

static int start_thread(struct authority_service *service)
{
    int r = monitor_start_thread(live, service);

    service->thread_count += r == 0;
    return r;
}

void service_use_threads(struct authority_service *service)
{
    unsigned wanted = parties_ready(service);

    for (unsigned i = 0; i < wanted && i < service->parked_count; i++)
        monitor_want_one(&service->monitor);
    /* A thread that ends a request takes the next one, so one failure to start them is no loss. */
    for (unsigned i = service->parked_count; i < wanted && service->thread_count < MAX_THREADS; i++)
        if (start_thread(service) < 0)
            break;
}

/* ---- in ---- */

/* What must not run beside the reading of watches. False: the rest is for a thread. */
static bool run_at_once(struct authority_service *service, struct served_request *request,
                        struct err *err)
{
    uint64_t id = 0;

    if (str_eq(request->op, STR("configure"))) {
        (void)questions_configure(service, request->json, err);
    } else if (str_eq(request->op, STR("release"))) {
        if (request_number(request->json, STR("scope"), &id, err) == 0 &&
            scopes_begin_release(service, id))
            return false;
    } else if (str_eq(request->op, STR("unwatch"))) {
        if (request_number(request->json, STR("watch"), &id, err) == 0 &&
            !watches_remove(service, (uint32_t)id))
            err_set(err, ERR_NOT_FOUND, "there is no watch %u", (unsigned)id);
    } else {
        return false;
    }
    return true;
}

static struct served_request *make_request(struct authority_service *service,
                                           const struct ipc_frame *frame, struct err *err)
{
    const struct json_limits limits = {WIRE_MAX_JSON, JSON_DEFAULT_MAX_DEPTH};
    struct served_request *request = calloc(1, sizeof(*request));
    char *body = malloc(frame->body.len);
    struct str json;
    int r;

    if (request == NULL || body == NULL) {
        free(request);
        free(body);
        err_set_plain(err, ERR_NO_MEMORY);
        return NULL;
    }
    memcpy(body, frame->body.ptr, frame->body.len);
    request->service = service;
    request->number = frame->number;
    request->body = body;
    arena_init(&request->arena, REQUEST_ARENA_BYTES);
    buf_init(&request->out, WIRE_MAX_CONTENT);
    cancel_init(&request->cancel, &clock_system, CANCEL_NO_DEADLINE);
    list_init(&request->turn);
    r = wire_parse_body((struct str){body, frame->body.len}, &json, &request->content, err);
    if (r == 0)
        request->bytes = request->content.len + JSON_COST * json.len;
    if (r == 0)
        r = json_parse(&request->arena, json, limits, &request->json, err);
    if (r == 0 && !json_get_str(request->json, STR("op"), &request->op))
        r = err_set(err, ERR_INVALID_ARGUMENT, "a request has no \"op\"");
    if (r == 0)
        return request;
    free_request(request);
    return NULL;
}

/* Those of a subject that is wrong or missing are refused later, as the host's. */
static struct party *find_party(struct authority_service *service, struct served_request *request)
{
    struct authority_subject subject = {.type = AUTHORITY_CORE, .id = ""};
    struct party *party = NULL;
    uint64_t id;

    if (json_get(request->json, STR("scope")) != NULL &&
        request_number(request->json, STR("scope"), &id, NULL) == 0)
        party = scopes_party(service, id);
    if (party != NULL) {
        party->refs++;
        return party;
    }
    (void)request_parse_subject(&request->arena, json_get(request->json, STR("subject")), &subject,
                                NULL);
    return parties_take(service, &subject);
}

static int queue(struct authority_service *service, struct served_request *request)
{
    uint64_t question;
    int r;

    request->is_helping = json_get(request->json, STR("answers")) != NULL &&
                          request_number(request->json, STR("answers"), &question, NULL) == 0 &&
                          questions_has(service, (uint32_t)question);
    request->party = find_party(service, request);
    if (request->party == NULL)
        return ERR_NO_MEMORY;
    r = parties_queue(request);
    if (r == 0)
        service_use_threads(service);
    else
        parties_drop(request->party);
    return r;
}

/* Never waits, so that the host can end grants whatever else is under way. */
static bool is_for_reader(const struct served_request *request)
{
    return str_eq(request->op, STR("grants")) || str_eq(request->op, STR("revoke"));
}

static int take_request_frame(struct authority_service *service, const struct ipc_frame *frame,
                              struct err *err)
{
    struct served_request *request = make_request(service, frame, err);
    struct err why = ERR_INIT;
    int r;

    if (request == NULL)
        return err->code;
    if (!service->is_configured && !str_eq(request->op, STR("configure"))) {
        err_set(&why, ERR_INVALID_ARGUMENT, "the first request must be \"configure\"");
    } else if (is_for_reader(request)) {
        monitor_leave(&service->monitor);
        run_request(request);
        monitor_enter(&service->monitor);
    } else if (run_at_once(service, request, &why)) {
        if (why.code == 0)
            service_send(service, request->number, WIRE_RESULT, STR("{}"), STR_EMPTY);
    } else {
        r = queue(service, request);
        if (r == 0)
            return 0;
        err_set_plain(&why, r);
    }
    if (why.code < 0)
        send_error(service, request->number, request->op, &why);
    free_request(request);
    return 0;
}

static void cancel_request(struct authority_service *service, uint32_t number)
{
    list_each (node, &service->requests) {
        struct served_request *request = list_entry(node, struct served_request, node);

        if (request->number == number) {
            cancel_now(&request->cancel);
            monitor_tell(&service->monitor);
        }
    }
}

static int take_answer_frame(struct authority_service *service, const struct ipc_frame *frame,
                             struct err *err)
{
    const struct json_limits limits = {WIRE_MAX_JSON, JSON_DEFAULT_MAX_DEPTH};
    cleanup_arena struct arena arena = ARENA_INIT(REQUEST_ARENA_BYTES);
    const struct json_value *json;
    struct str text;
    struct str content;
    int r = wire_parse_body(frame->body, &text, &content, err);

    if (r == 0)
        r = json_parse(&arena, text, limits, &json, err);
    if (r == 0)
        questions_take_answer(service, frame->number, json);
    return r;
}

static int on_frame(void *data, const struct ipc_frame *frame, struct err *err)
{
    struct authority_service *service = data;

    if (frame->type == WIRE_REQUEST)
        return take_request_frame(service, frame, err);
    if (frame->type == WIRE_ANSWER)
        return take_answer_frame(service, frame, err);
    cancel_request(service, frame->number);
    return 0;
}

/* ---- the reading thread ---- */

struct reading {
    struct authority_service *service;
    struct frames_decoder decoder;
    struct pollfd fds[OWN_FDS + MAX_WATCHES];
    uint32_t ids[OWN_FDS + MAX_WATCHES]; /* of watches */
    nfds_t turn;                         /* of watches: who is first */
    nfds_t due;                          /* how many are read whether they have news or not */
    char room[READ_BYTES];
};

void service_wake(struct authority_service *service)
{
    ssize_t ignored = write(service->wake[1], "", 1);

    (void)ignored; /* full is as good */
}

static nfds_t list_fds(struct reading *reading)
{
    struct authority_service *service = reading->service;
    nfds_t count = OWN_FDS;

    reading->fds[0] = (struct pollfd){.fd = service->config.in_fd, .events = POLLIN};
    reading->fds[1] = (struct pollfd){.fd = service->wake[0], .events = POLLIN};
    list_each (node, &service->watches) {
        const struct held_watch *watch = list_entry(node, struct held_watch, node);

        if (!watch->is_told)
            continue;
        reading->fds[count] = (struct pollfd){.fd = watch->fd, .events = POLLIN};
        reading->ids[count++] = watch->id;
    }
    return count;
}

/* False: the host has closed its end. */
static bool read_input(struct reading *reading, struct err *err)
{
    const struct frames_events events = {
        .check = wire_check, .on_frame = on_frame, .data = reading->service};
    ssize_t got = read(reading->service->config.in_fd, reading->room, sizeof(reading->room));

    if (got < 0)
        return errno == EINTR || errno == EAGAIN;
    if (got == 0)
        return false;
    return frames_feed(&reading->decoder, (struct str){reading->room, (size_t)got}, &events, err) ==
           0;
}

/*
 * A few in turn, since the input comes in between. A grant's end is no event of its directory, so
 * from time to time all are due.
 */
static void look_at_watches(struct reading *reading, nfds_t count)
{
    nfds_t watches = count > OWN_FDS ? count - OWN_FDS : 0;
    nfds_t first = reading->turn;
    unsigned seen = 0;

    for (nfds_t i = 0; i < watches && seen < WATCHES_AT_ONCE; i++) {
        nfds_t at = OWN_FDS + (first + i) % watches;
        bool is_due = reading->due > 0;

        reading->due -= is_due;
        if (!is_due && reading->fds[at].revents == 0)
            continue;
        watches_read(reading->service, reading->ids[at]);
        reading->turn = (first + i + 1) % watches;
        seen++;
    }
    if (watches == 0)
        reading->due = 0;
}

static void drain_wake(struct reading *reading)
{
    while (read(reading->service->wake[0], reading->room, sizeof(reading->room)) > 0)
        ;
}

static int milliseconds_until(int64_t tick_ms)
{
    int64_t left_ms = tick_ms - monitor_now_ms();

    if (tick_ms == 0)
        return -1;
    return left_ms > 0 ? (int)left_ms : 0;
}

static void read_until_end(struct reading *reading, struct err *err)
{
    struct authority_service *service = reading->service;
    int64_t tick_ms = 0; /* when something is due at the latest; 0: nothing is */
    bool goes_on = true;

    while (goes_on) {
        nfds_t count = list_fds(reading);
        bool has_input;
        bool is_time;

        monitor_leave(&service->monitor);
        if (poll(reading->fds, count, reading->due > 0 ? 0 : milliseconds_until(tick_ms)) < 0)
            count = 0; /* interrupted: it is unknown what there is */
        is_time = tick_ms != 0 && milliseconds_until(tick_ms) == 0;
        if (is_time) {
            service->config.flush(service->config.data);
            reading->due = count > OWN_FDS ? count - OWN_FDS : 0;
        }
        look_at_watches(reading, count);
        if (count > 0 && reading->fds[1].revents != 0)
            drain_wake(reading);
        has_input = count > 0 && reading->fds[0].revents != 0;
        monitor_enter(&service->monitor);
        if (has_input)
            goes_on = read_input(reading, err);
        if (is_time || tick_ms == 0)
            tick_ms =
                has_input || !list_is_empty(&service->watches) ? monitor_now_ms() + TICK_MS : 0;
    }
}

/* What runs is cancelled, and no answer will come any more. */
static bool end_requests(struct authority_service *service)
{
    int64_t deadline_ms = monitor_now_ms() + END_MS;

    service->is_over = true;
    list_each (node, &service->requests)
        cancel_now(&list_entry(node, struct served_request, node)->cancel);
    service_use_threads(service);
    monitor_tell(&service->monitor);
    monitor_want_all(&service->monitor);
    while (service->thread_count > 0 && monitor_wait(&service->monitor, deadline_ms))
        ;
    return service->thread_count == 0;
}

static void send_ready(struct authority_service *service)
{
    cleanup_buf struct buf json = BUF_INIT(ERROR_BYTES);
    struct json_writer w;

    json_writer_init(&w, &json);
    json_begin_object(&w);
    json_put_str(&w, STR("version"), STR(GATEHOUSE_VERSION));
    json_put_int(&w, STR("maxContentBytes"), WIRE_MAX_CONTENT);
    json_put_bool(&w, STR("memory"), service->config.directories == NULL);
    json_end_object(&w);
    if (json_writer_finish(&w) == 0)
        service_send(service, 0, WIRE_READY, buf_view(&json), STR_EMPTY);
}

static void free_service(struct authority_service *service)
{
    scopes_free_all(service);
    questions_done(service);
    close(service->wake[0]);
    close(service->wake[1]);
    pthread_mutex_destroy(&service->output);
    monitor_done(&service->monitor);
    free(service);
}

int service_run(const struct authority_service_config *config, struct err *err)
{
    struct authority_service *service = calloc(1, sizeof(*service));
    struct reading *reading = calloc(1, sizeof(*reading));
    struct err why = ERR_INIT;
    bool has_ended;
    int r = service != NULL && reading != NULL ? monitor_init(&service->monitor) : ERR_NO_MEMORY;

    if (r == 0 && pipe2(service->wake, O_CLOEXEC | O_NONBLOCK) < 0)
        r = err_from_errno(errno);
    if (r < 0) {
        free(service);
        free(reading);
        return err_set_plain(err, r);
    }
    service->config = *config;
    (void)pthread_mutex_init(&service->output, NULL);
    list_init(&service->requests);
    list_init(&service->parties);
    list_init(&service->helping);
    list_init(&service->scopes);
    list_init(&service->watches);
    list_init(&service->questions);
    reading->service = service;
    frames_decoder_init(&reading->decoder, WIRE_MAX_BODY);
    questions_begin(service);
    send_ready(service);
    monitor_enter(&service->monitor);
    read_until_end(reading, &why);
    has_ended = end_requests(service);
    monitor_leave(&service->monitor);
    frames_decoder_done(&reading->decoder);
    free(reading);
    if (!has_ended) {
        /* A thread that hangs in the kernel still uses the files. */
        log_write(config->log, LOG_WARN, "exiting although threads still hang in the kernel");
        _exit(EXIT_FAILURE);
    }
    free_service(service);
    return why.code < 0 ? err_set(err, why.code, "protocol error from the host: %s", why.message)
                        : 0;
}
