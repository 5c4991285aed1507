/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway_crowd.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/rand.h"

enum {
    EVENTS = 256,
    READ_BYTES = 64 << 10,
    KEY_BYTES = 48,
    ID_BYTES = 40,
    HEAD_BYTES = 512,
    SOURCES = 16,     /* loopback addresses that connections come from */
    OPENING_MAX = 64, /* streams at once, as long as the server has not accepted them */
    LONGEST_TURN_NS = 20 * 1000 * 1000, /* before streams are opened again */
    FIRST_DELAY_MS = 1000,
    LONGEST_DELAY_MS = 30 * 1000,
};

/* Streams, answers of machines and calls of agents each have a connection of their own. */
enum kind { STREAM, ANSWER, AGENT, KINDS };

struct link {
    int fd;
    enum kind kind;
    struct person *owner;
    char *got; /* not used up yet */
    size_t got_len;
    char *out; /* not sent yet */
    size_t out_len;
};

/* A user: the machine and its agent. */
struct person {
    unsigned number;
    struct link links[KINDS];
    bool wants_stream;
    bool is_opening;
    bool has_stream;
    bool has_initialised;
    bool is_stalled;
    bool is_calling;
    unsigned tries;
    double next_try_ns;
    double called_ns;
    char last_id[ID_BYTES];
    unsigned answering; /* answers that the server has not confirmed, in order */
    bool is_second;     /* the first of these was given already */
};

struct crowd {
    struct crowd_config config;
    struct crowd_counts counts;
    struct person *people;
    int epoll;
    unsigned opening;
    unsigned next_to_open;
    char *answer; /* the body of every answer */
    size_t answer_len;
    char space[READ_BYTES];
};

static const char init_body[] =
    "{\"rootPath\":\"/srv/project\",\"hostIdentifier\":\"load\",\"tools\":[{\"name\":\"read_file\","
    "\"description\":\"Reads a file\",\"inputSchema\":{\"type\":\"object\",\"properties\":{"
    "\"filePath\":{\"type\":\"string\"}},\"required\":[\"filePath\"]}}],\"toolCategories\":[{"
    "\"name\":\"filesystem\",\"enabled\":true,\"writeAccess\":false}]}";
static const char call_body[] =
    "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{\"name\":\"read_file\","
    "\"arguments\":{\"filePath\":\"src/programs/server/front.c\"},\"_meta\":{"
    "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
    "\"io.modelcontextprotocol/clientCapabilities\":{}}}}";

#define GATEWAY "/rest/instance-ai/gateway/"
#define HOST    " HTTP/1.1\r\nHost: 127.0.0.1:%u\r\n"
#define JSON    "Content-Type: application/json\r\nContent-Length: %zu\r\n"

__attribute__((noreturn)) static void die(const char *what)
{
    fprintf(stderr, "crowd: %s: %s\n", what, err_errno_text(errno));
    exit(1);
}

static void *must(void *memory)
{
    if (memory == NULL)
        die("no memory");
    return memory;
}

double crowd_now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* ---- connections ---- */

static void close_link(struct link *link)
{
    if (link->fd >= 0)
        close(link->fd);
    link->fd = -1;
    free(link->got);
    free(link->out);
    link->got = link->out = NULL;
    link->got_len = link->out_len = 0;
}

static void watch(struct crowd *crowd, struct link *link, int how)
{
    bool is_deaf = link->kind == STREAM && link->owner->is_stalled;
    struct epoll_event event = {
        .events = (is_deaf ? 0U : EPOLLIN) | (link->out_len > 0 ? EPOLLOUT : 0U), .data.ptr = link};

    if (epoll_ctl(crowd->epoll, how, link->fd, &event) < 0)
        die("epoll");
}

static void open_link(struct crowd *crowd, struct link *link)
{
    struct sockaddr_in from = {.sin_family = AF_INET};
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(crowd->config.port)};
    const int on = 1;

    from.sin_addr.s_addr = htonl(INADDR_LOOPBACK + link->owner->number % SOURCES);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    link->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (link->fd < 0)
        die("no more sockets");
    setsockopt(link->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    setsockopt(link->fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof(on));
    if (bind(link->fd, (struct sockaddr *)&from, sizeof(from)) < 0)
        die("bind");
    /* What goes wrong here shows when the link is used. */
    (void)!connect(link->fd, (struct sockaddr *)&to, sizeof(to));
    watch(crowd, link, EPOLL_CTL_ADD);
}

static void keep(char **bytes, size_t *len, const char *more, size_t more_len)
{
    *bytes = must(realloc(*bytes, *len + more_len + 1));
    memcpy(*bytes + *len, more, more_len);
    *len += more_len;
    (*bytes)[*len] = '\0';
}

static void send_bytes(struct crowd *crowd, struct link *link, const char *text, size_t len)
{
    if (link->fd < 0)
        open_link(crowd, link);
    if (link->out_len == 0) {
        ssize_t sent = send(link->fd, text, len, MSG_NOSIGNAL);

        if (sent > 0) {
            text += sent;
            len -= (size_t)sent;
        }
    }
    if (len > 0) {
        keep(&link->out, &link->out_len, text, len);
        watch(crowd, link, EPOLL_CTL_MOD);
    }
}

static void flush(struct crowd *crowd, struct link *link)
{
    ssize_t sent = send(link->fd, link->out, link->out_len, MSG_NOSIGNAL);

    if (sent <= 0)
        return;
    link->out_len -= (size_t)sent;
    memmove(link->out, link->out + sent, link->out_len);
    if (link->out_len == 0) {
        free(link->out);
        link->out = NULL;
        watch(crowd, link, EPOLL_CTL_MOD);
    }
}

/* ---- what machines and agents send ---- */

static void send_request(struct crowd *crowd, struct link *link, const char *head, int head_len,
                         const char *body, size_t body_len)
{
    static char request[READ_BYTES];

    if (head_len <= 0 || head_len >= HEAD_BYTES || (size_t)head_len + body_len > sizeof(request))
        die("a request that is too long");
    memcpy(request, head, (size_t)head_len);
    if (body_len > 0)
        memcpy(request + head_len, body, body_len);
    send_bytes(crowd, link, request, (size_t)head_len + body_len);
}

static void ask_for_stream(struct crowd *crowd, struct person *person)
{
    char head[HEAD_BYTES];
    int len;

    if (crowd->config.begins_with_init && !person->has_initialised) {
        len = snprintf(head, sizeof(head),
                       "POST " GATEWAY "init" HOST JSON "X-Gateway-Key: sess_%032u\r\n\r\n",
                       crowd->config.port, sizeof(init_body) - 1, person->number);
        send_request(crowd, &person->links[STREAM], head, len, init_body, sizeof(init_body) - 1);
        return;
    }
    len = snprintf(head, sizeof(head),
                   "GET " GATEWAY "events" HOST
                   "Accept: text/event-stream\r\nX-Gateway-Key: sess_%032u\r\n\r\n",
                   crowd->config.port, person->number);
    send_request(crowd, &person->links[STREAM], head, len, NULL, 0);
}

static void send_answer(struct crowd *crowd, struct person *person)
{
    char head[HEAD_BYTES];
    int len = snprintf(head, sizeof(head),
                       "POST " GATEWAY "response/%s" HOST JSON "X-Gateway-Key: sess_%032u\r\n\r\n",
                       person->last_id, crowd->config.port, crowd->answer_len, person->number);

    person->answering++;
    send_request(crowd, &person->links[ANSWER], head, len, crowd->answer, crowd->answer_len);
}

bool crowd_call(struct crowd *crowd, unsigned user)
{
    struct person *person = &crowd->people[user - 1];
    char head[HEAD_BYTES];
    int len;

    if (person->is_calling)
        return false;
    person->is_calling = true;
    crowd->counts.calling++;
    person->called_ns = crowd_now_ns();
    len = snprintf(head, sizeof(head),
                   "POST /mcp" HOST JSON "Accept: application/json, text/event-stream\r\n"
                   "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\n"
                   "Mcp-Name: read_file\r\nAuthorization: Bearer agent_%032u\r\n\r\n",
                   crowd->config.port, sizeof(call_body) - 1, user);
    send_request(crowd, &person->links[AGENT], head, len, call_body, sizeof(call_body) - 1);
    return true;
}

/* ---- what they get ---- */

static void end_call(struct crowd *crowd, struct person *person, int status)
{
    if (!person->is_calling)
        return;
    person->is_calling = false;
    crowd->counts.calling--;
    if (crowd->config.answered != NULL)
        crowd->config.answered(crowd->config.data, person->number, status,
                               crowd_now_ns() - person->called_ns);
}

/* The daemon's delays: 1 s, 2 s, 4 s, … 30 s, each up to a fifth longer or shorter. */
static void try_again(struct crowd *crowd, struct person *person)
{
    double delay_ms = FIRST_DELAY_MS;

    crowd->opening -= person->is_opening;
    person->is_opening = false;
    person->wants_stream = crowd->config.comes_back;
    for (unsigned i = 0; i < person->tries && delay_ms < LONGEST_DELAY_MS; i++)
        delay_ms *= 2;
    if (delay_ms > LONGEST_DELAY_MS)
        delay_ms = LONGEST_DELAY_MS;
    person->tries++;
    delay_ms *= 0.8 + 0.4 * (double)rand_below(1000) / 1000;
    person->next_try_ns = crowd_now_ns() + delay_ms * 1e6;
}

static void lose(struct crowd *crowd, struct link *link)
{
    struct person *person = link->owner;

    close_link(link);
    switch (link->kind) {
    case STREAM:
        crowd->counts.lost += person->has_stream;
        crowd->counts.streams -= person->has_stream;
        person->has_stream = false;
        try_again(crowd, person);
        break;
    case ANSWER:
        person->is_second = false;
        person->answering = 0;
        break;
    case AGENT:
        end_call(crowd, person, 0);
        break;
    case KINDS:
        break;
    }
}

/* The status of a complete response, whose length is stored; 0: more is needed. */
static int response_of(const struct link *link, size_t *out_len, const char **out_body)
{
    const char *end = link->got != NULL ? strstr(link->got, "\r\n\r\n") : NULL;
    size_t body = 0;

    if (end == NULL)
        return 0;
    for (const char *line = strstr(link->got, "\r\n"); line < end; line = strstr(line + 2, "\r\n"))
        if (strncasecmp(line + 2, "content-length:", 15) == 0)
            body = strtoul(line + 17, NULL, 10);
    *out_body = end + 4;
    *out_len = (size_t)(end + 4 - link->got) + body;
    return link->got_len >= *out_len ? (int)strtol(link->got + 9, NULL, 10) : 0;
}

static void use_up(struct link *link, size_t len)
{
    link->got_len -= len;
    if (link->got_len == 0) {
        free(link->got);
        link->got = NULL;
    } else {
        memmove(link->got, link->got + len, link->got_len + 1);
    }
}

static void take_event(struct crowd *crowd, struct person *person, const char *event)
{
    static const char mark[] = "\"requestId\":\"";
    const char *id = strstr(event, mark);
    size_t len;

    if (strstr(event, "gateway-disconnect") != NULL) {
        crowd->counts.dismissed++;
        return;
    }
    if (id == NULL) {
        if (strstr(event, ": ping") != NULL && crowd->config.pinged != NULL)
            crowd->config.pinged(crowd->config.data, person->number, crowd_now_ns());
        return;
    }
    id += sizeof(mark) - 1;
    len = strcspn(id, "\"");
    if (len >= ID_BYTES) {
        crowd->counts.bad++;
        return;
    }
    crowd->counts.repeated +=
        strlen(person->last_id) == len && strncmp(person->last_id, id, len) == 0;
    memcpy(person->last_id, id, len);
    person->last_id[len] = '\0';
    send_answer(crowd, person);
}

/* The head of the stream, or the answer to init before it. False: there is no stream. */
static bool take_stream_head(struct crowd *crowd, struct link *link)
{
    struct person *person = link->owner;
    const char *body;
    size_t len;
    int status = response_of(link, &len, &body);

    if (status == 0)
        return false;
    if (status != 200) {
        crowd->counts.dismissed += status == 403;
        crowd->counts.bad += status != 403 && status != 503;
        lose(crowd, link);
        return false;
    }
    use_up(link, len);
    if (crowd->config.begins_with_init && !person->has_initialised) {
        person->has_initialised = true;
        ask_for_stream(crowd, person);
        return false;
    }
    crowd->opening--;
    person->is_opening = false;
    person->has_stream = true;
    person->tries = 0;
    crowd->counts.streams++;
    if (crowd->config.opened != NULL)
        crowd->config.opened(crowd->config.data, person->number, crowd_now_ns());
    return true;
}

static void take_stream(struct crowd *crowd, struct link *link)
{
    struct person *person = link->owner;
    char *end;

    if (!person->has_stream && !take_stream_head(crowd, link))
        return;
    while (link->got != NULL && (end = strstr(link->got, "\n\n")) != NULL) {
        *end = '\0';
        take_event(crowd, person, link->got);
        /* With the end of its chunk, if there are chunks. */
        end += strncmp(end + 2, "\r\n", 2) == 0 ? 4 : 2;
        use_up(link, (size_t)(end - link->got));
    }
}

static bool take_answered(struct crowd *crowd, struct link *link)
{
    struct person *person = link->owner;
    const char *body;
    size_t len;
    int status = response_of(link, &len, &body);

    if (status == 0)
        return false;
    use_up(link, len);
    person->answering--;
    if (person->is_second) {
        crowd->counts.twice += status == 200;
        person->is_second = false;
        return true;
    }
    crowd->counts.served += status == 200;
    crowd->counts.bad += status != 200 && status != 404 && status != 403;
    /* The next call may be here already: then last_id is another. */
    if (status == 200 && crowd->config.answers_twice && person->answering == 0) {
        person->is_second = true;
        send_answer(crowd, person);
    }
    return true;
}

static void take_result(struct crowd *crowd, struct link *link)
{
    const char *body;
    size_t len;
    int status = response_of(link, &len, &body);
    size_t text = 0;

    if (status == 0)
        return;
    if (status == 200) {
        text = len - (size_t)(body - link->got);
        /* A result that is shorter is an error of the server or of its machine. */
        if (text < crowd->config.answer_bytes)
            status = 502;
    }
    use_up(link, len);
    end_call(crowd, link->owner, status);
}

static void take(struct crowd *crowd, struct link *link)
{
    ssize_t got = recv(link->fd, crowd->space, sizeof(crowd->space), 0);

    if (got < 0 && errno == EAGAIN)
        return;
    if (got <= 0) {
        lose(crowd, link);
        return;
    }
    keep(&link->got, &link->got_len, crowd->space, (size_t)got);
    switch (link->kind) {
    case STREAM:
        take_stream(crowd, link);
        break;
    case ANSWER:
        while (take_answered(crowd, link))
            continue;
        break;
    case AGENT:
        take_result(crowd, link);
        break;
    case KINDS:
        break;
    }
}

/* ---- the loop ---- */

/* Not all at once: the server's queue of new connections is short. */
static void open_streams(struct crowd *crowd)
{
    double now = crowd_now_ns();

    for (unsigned i = 0; i < crowd->config.count && crowd->opening < OPENING_MAX; i++) {
        struct person *person = &crowd->people[crowd->next_to_open];

        crowd->next_to_open = (crowd->next_to_open + 1) % crowd->config.count;
        if (!person->wants_stream || person->next_try_ns > now)
            continue;
        person->wants_stream = false;
        person->is_opening = true;
        crowd->opening++;
        ask_for_stream(crowd, person);
    }
}

void crowd_turn(struct crowd *crowd, double wait_ns)
{
    struct epoll_event events[EVENTS];
    struct timespec wait = {.tv_nsec = wait_ns > 0 ? (long)wait_ns % 1000000000 : 0,
                            .tv_sec = wait_ns > 0 ? (time_t)(wait_ns / 1e9) : 0};
    int ready = epoll_pwait2(crowd->epoll, events, EVENTS, &wait, NULL);

    for (int i = 0; i < ready; i++) {
        struct link *link = events[i].data.ptr;

        if (link->fd >= 0 && (events[i].events & EPOLLOUT) != 0 && link->out_len > 0)
            flush(crowd, link);
        if (link->fd >= 0 && (events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0)
            take(crowd, link);
    }
}

void crowd_run(struct crowd *crowd, double for_ns)
{
    double end = crowd_now_ns() + for_ns;
    double left = for_ns;

    while (left > 0) {
        open_streams(crowd);
        crowd_turn(crowd, left < LONGEST_TURN_NS ? left : LONGEST_TURN_NS);
        left = end - crowd_now_ns();
    }
}

bool crowd_wait_streams(struct crowd *crowd, unsigned streams, double within_ns)
{
    double end = crowd_now_ns() + within_ns;

    while (crowd->counts.streams < streams && crowd_now_ns() < end) {
        open_streams(crowd);
        crowd_turn(crowd, 5e6);
    }
    return crowd->counts.streams >= streams;
}

void crowd_connect(struct crowd *crowd, unsigned first, unsigned last)
{
    for (unsigned i = first; i <= last; i++)
        crowd->people[i - 1].wants_stream = true;
    open_streams(crowd);
}

void crowd_stall(struct crowd *crowd, unsigned user, bool is_stalled)
{
    struct person *person = &crowd->people[user - 1];

    person->is_stalled = is_stalled;
    if (person->links[STREAM].fd >= 0)
        watch(crowd, &person->links[STREAM], EPOLL_CTL_MOD);
}

void crowd_cut(struct crowd *crowd, unsigned user)
{
    struct link *link = &crowd->people[user - 1].links[STREAM];

    if (link->fd >= 0)
        lose(crowd, link);
}

const struct crowd_counts *crowd_counts(const struct crowd *crowd)
{
    return &crowd->counts;
}

/* ---- making ---- */

static void write_answer(struct crowd *crowd)
{
    static const char start[] = "{\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"";
    static const char end[] = "\"}]}}";
    static const char line[] = "    return is_open ? 0 : err_set(err, ERR_IO, 'no');\\n";
    size_t len = 0;

    crowd->answer = must(malloc(crowd->config.answer_bytes + sizeof(start) + sizeof(end)));
    memcpy(crowd->answer, start, sizeof(start) - 1);
    len = sizeof(start) - 1;
    for (size_t i = 0; i + sizeof(line) - 1 <= crowd->config.answer_bytes; i += sizeof(line) - 1) {
        memcpy(crowd->answer + len, line, sizeof(line) - 1);
        len += sizeof(line) - 1;
    }
    while (len < sizeof(start) - 1 + crowd->config.answer_bytes)
        crowd->answer[len++] = 'x';
    memcpy(crowd->answer + len, end, sizeof(end) - 1);
    crowd->answer_len = len + sizeof(end) - 1;
}

struct crowd *crowd_new(const struct crowd_config *config)
{
    struct crowd *crowd = must(calloc(1, sizeof(*crowd)));

    crowd->config = *config;
    crowd->people = must(calloc(config->count, sizeof(*crowd->people)));
    for (unsigned i = 0; i < config->count; i++) {
        crowd->people[i].number = i + 1;
        for (unsigned j = 0; j < KINDS; j++)
            crowd->people[i].links[j] =
                (struct link){.fd = -1, .kind = (enum kind)j, .owner = &crowd->people[i]};
    }
    crowd->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (crowd->epoll < 0)
        die("epoll");
    write_answer(crowd);
    return crowd;
}

void crowd_free(struct crowd *crowd)
{
    for (unsigned i = 0; i < crowd->config.count; i++)
        for (unsigned j = 0; j < KINDS; j++)
            close_link(&crowd->people[i].links[j]);
    close(crowd->epoll);
    free(crowd->people);
    free(crowd->answer);
    free(crowd);
}
