/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/server/board.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/map.h"
#include "base/printable.h"
#include "loop/timer.h"
#include "net/sse/writer.h"

enum {
    AGENT_BYTES = 64,
    NAME_BYTES = 65,
    CLOSED_BY_BYTES = 60,
    REQUEST_BYTES = 32,
    DECISION_BYTES = 32,
    TOOL_BYTES = 64,
    WHAT_BYTES = 200, /* the longest of the three */
    FIRST_CALLS = 16, /* room for these at first */
    ERROR_BYTES = 200,
    RULE_BYTES = 200,
    RESOURCE_BYTES = 2000,
    DESCRIPTION_BYTES = 8000,
    EVENT_BYTES = 256 << 10,
};

/* Of a call, as the page shows it. */
struct shown_call {
    struct list node; /* of its user's, the oldest first */
    struct list age;  /* of all */
    struct board_user *user;
    uint64_t place;  /* among all calls, and how many there were before it */
    uint64_t number; /* among its user's, who must not see how many others make */
    int64_t began_wall_ms;
    int64_t began_ms;
    int64_t took_ms; /* -1: it runs */
    const char *outcome;
    board_stop *stop; /* while it runs; or NULL */
    void *stop_data;
    char request[REQUEST_BYTES];
    char decision[DECISION_BYTES + PRINTABLE_CUT_BYTES];
    const char *agent; /* these three in `texts` */
    const char *tool;
    const char *what;
    char *error; /* or NULL, as the next one */
    char *rule;  /* that decided, as text */
    char texts[];
};

struct board_user {
    struct board *board;
    int64_t id;
    struct list stale; /* in board->stale, if its pages must be told of the machine */
    struct list pages;
    size_t page_count;
    struct list questions;
    size_t question_count;
    struct list calls;
    size_t call_count;
    uint64_t last_call;
};

struct page {
    struct list node;
    struct board_user *user;
    int64_t login;
    struct sse_stream *stream;
};

struct open_question {
    struct list node;
    struct board_user *user;
    uint64_t id;
    int64_t asked_wall_ms;
    unsigned choices;
    char name[NAME_BYTES]; /* by which the machine knows it; empty: it waits for a call's answer */
    board_answered *answered; /* then NULL */
    void *data;
    struct timer patience;
    char agent[AGENT_BYTES + PRINTABLE_CUT_BYTES];
    char group[TOOL_BYTES + PRINTABLE_CUT_BYTES];
    char resource[RESOURCE_BYTES + PRINTABLE_CUT_BYTES];
    char description[DESCRIPTION_BYTES + PRINTABLE_CUT_BYTES];
};

struct board {
    struct board_config config;
    struct loop *loop;
    struct loop_task tell;
    struct sse_hub *streams;
    struct map users;        /* by the bytes of their ids */
    struct board_user *last; /* found: several questions about one call follow each other */
    struct list stale;
    struct shown_call **calls; /* by place; all are taken */
    size_t call_count;
    size_t call_room;
    struct list ages; /* of them, the oldest first */
    uint64_t last_call;
    uint64_t last_question;
    bool is_closed;
};

static struct str key_of(const int64_t *id)
{
    return (struct str){(const char *)id, sizeof(*id)};
}

static struct board_user *find_user(struct board *board, int64_t id)
{
    struct board_user *user = board->last;

    if (user == NULL || user->id != id)
        user = map_get(&board->users, key_of(&id));
    if (user != NULL)
        board->last = user;
    return user;
}

static struct board_user *need_user(struct board *board, int64_t id)
{
    struct board_user *user = find_user(board, id);

    if (user != NULL || board->is_closed)
        return user;
    user = calloc(1, sizeof(*user));
    if (user == NULL)
        return NULL;
    *user = (struct board_user){.board = board, .id = id};
    list_init(&user->stale);
    list_init(&user->pages);
    list_init(&user->questions);
    list_init(&user->calls);
    if (map_add(&board->users, key_of(&user->id), user) < 0) {
        free(user);
        return NULL;
    }
    return user;
}

/* ---- pages ---- */

static void send_to(struct board_user *user, struct str kind, struct str json)
{
    cleanup_buf struct buf text = BUF_INIT(2 * EVENT_BYTES);

    if (list_is_empty(&user->pages) ||
        sse_format(&(struct sse_event){.event = kind, .data = json}, &text) < 0)
        return;
    list_each_safe (node, &user->pages)
        sse_send_formatted(list_entry(node, struct page, node)->stream, buf_view(&text));
}

void board_tell(struct board *board, int64_t user, struct str kind, struct str json)
{
    struct board_user *found = find_user(board, user);

    if (found != NULL)
        send_to(found, kind, json);
}

static void tell_stale(void *data)
{
    struct board *board = data;

    while (!list_is_empty(&board->stale)) {
        struct board_user *user = list_entry(board->stale.next, struct board_user, stale);

        list_remove(&user->stale);
        board->config.tell_machine(board->config.data, user->id);
    }
}

void board_machine_changed(struct board *board, int64_t id)
{
    struct board_user *user = find_user(board, id);

    if (user == NULL || list_is_empty(&user->pages) || board->is_closed)
        return;
    list_remove(&user->stale);
    list_append(&board->stale, &user->stale);
    loop_defer(board->loop, &board->tell);
}

static void on_gone(void *data)
{
    struct page *page = data;

    page->user->page_count--;
    list_remove(&page->node);
    free(page);
}

void board_open_stream(struct board *board, int64_t id, int64_t login, struct exchange *exchange)
{
    struct board_user *user = need_user(board, id);
    struct page *page;

    if (user == NULL || user->page_count >= BOARD_MAX_PAGES || board->is_closed) {
        exchange_answer_error(exchange, user == NULL ? ERR_NO_MEMORY : ERR_BUSY);
        return;
    }
    page = calloc(1, sizeof(*page));
    if (page == NULL) {
        exchange_answer_error(exchange, ERR_NO_MEMORY);
        return;
    }
    page->user = user;
    page->login = login;
    if (sse_open(board->streams, exchange, on_gone, page, &page->stream) < 0) {
        free(page);
        return;
    }
    list_append(&user->pages, &page->node);
    user->page_count++;
}

static void end_pages(struct board_user *user)
{
    list_each_safe (node, &user->pages) {
        struct page *page = list_entry(node, struct page, node);

        sse_close(page->stream);
        on_gone(page);
    }
}

void board_sweep(struct board *board, bool (*is_good)(void *data, int64_t id, int64_t login),
                 void *data)
{
    size_t cursor = 0;
    struct str key;
    void *value;

    while (map_next(&board->users, &cursor, &key, &value)) {
        struct board_user *user = value;

        list_each_safe (node, &user->pages) {
            struct page *page = list_entry(node, struct page, node);

            if (is_good(data, user->id, page->login))
                continue;
            sse_close(page->stream);
            on_gone(page);
        }
    }
}

void board_end_streams(struct board *board, int64_t id)
{
    struct board_user *user = find_user(board, id);

    if (user != NULL)
        end_pages(user);
}

bool board_is_watched(struct board *board, int64_t id)
{
    struct board_user *user = find_user(board, id);

    return user != NULL && !list_is_empty(&user->pages);
}

/* ---- calls ---- */

static void write_call(struct json_writer *json, const struct shown_call *call)
{
    char number[32];

    snprintf(number, sizeof(number), "%llu", (unsigned long long)call->number);
    json_begin_object(json);
    json_put_str(json, STR("id"), str_from(number));
    json_put_int(json, STR("at"), call->began_wall_ms);
    json_put_str_lossy(json, STR("agent"), str_from(call->agent));
    json_put_str_lossy(json, STR("tool"), str_from(call->tool));
    json_put_str_lossy(json, STR("what"), str_from(call->what));
    if (call->outcome != NULL) {
        json_put_str(json, STR("outcome"), str_from(call->outcome));
        json_put_int(json, STR("ms"), call->took_ms);
    }
    if (call->error != NULL)
        json_put_str_lossy(json, STR("error"), str_from(call->error));
    if (call->decision[0] != '\0')
        json_put_str_lossy(json, STR("decision"), str_from(call->decision));
    if (call->rule != NULL)
        json_put_str_lossy(json, STR("rule"), str_from(call->rule));
    json_end_object(json);
}

static void tell_call(const struct shown_call *call)
{
    cleanup_buf struct buf text = BUF_INIT(EVENT_BYTES);
    struct json_writer json;

    if (list_is_empty(&call->user->pages))
        return;
    json_writer_init(&json, &text);
    write_call(&json, call);
    if (json_writer_finish(&json) == 0)
        send_to(call->user, STR("call"), buf_view(&text));
}

/* The argument that says most. */
static struct str find_what(const struct json_value *arguments)
{
    static const struct str names[] = {
        STR_LITERAL("command"),    STR_LITERAL("filePath"), STR_LITERAL("path"),
        STR_LITERAL("sourcePath"), STR_LITERAL("dirPath"),  STR_LITERAL("url"),
        STR_LITERAL("query"),      STR_LITERAL("pattern"),  STR_LITERAL("name"),
    };
    struct str text = STR_EMPTY;

    for (size_t i = 0; arguments != NULL && i < array_size(names); i++)
        if (json_get_str(arguments, names[i], &text))
            break;
    return text;
}

static struct shown_call *new_call(struct str agent, struct str tool, struct str what)
{
    char texts[3][WHAT_BYTES + PRINTABLE_CUT_BYTES];
    const struct str given[] = {agent, tool, what};
    const size_t most[] = {AGENT_BYTES, TOOL_BYTES, WHAT_BYTES};
    size_t sizes[3];
    struct shown_call *call;

    for (size_t i = 0; i < array_size(given); i++) {
        printable_cut(given[i], PRINTABLE_LINE, texts[i], most[i]);
        sizes[i] = strlen(texts[i]) + 1;
    }
    call = malloc(sizeof(*call) + sizes[0] + sizes[1] + sizes[2]);
    if (call == NULL)
        return NULL;
    *call = (struct shown_call){.took_ms = -1,
                                .agent = call->texts,
                                .tool = call->texts + sizes[0],
                                .what = call->texts + sizes[0] + sizes[1]};
    memcpy(call->texts, texts[0], sizes[0]);
    memcpy(call->texts + sizes[0], texts[1], sizes[1]);
    memcpy(call->texts + sizes[0] + sizes[1], texts[2], sizes[2]);
    return call;
}

static void forget_call(struct shown_call *call)
{
    call->user->call_count--;
    list_remove(&call->node);
    list_remove(&call->age);
    free(call->error);
    free(call->rule);
    free(call);
}

static struct shown_call *at_place(const struct board *board, uint64_t place)
{
    size_t index = place % BOARD_ALL_CALLS;

    return index < board->call_count ? board->calls[index] : NULL;
}

/* Grows the table by one. */
static bool add_place(struct board *board)
{
    size_t room = board->call_room < FIRST_CALLS ? FIRST_CALLS : 2 * board->call_room;
    struct shown_call **calls;

    if (board->call_count == board->call_room) {
        room = room < BOARD_ALL_CALLS ? room : BOARD_ALL_CALLS;
        calls = realloc(board->calls, room * sizeof(struct shown_call *));
        if (calls == NULL)
            return false;
        board->calls = calls;
        board->call_room = room;
    }
    board->calls[board->call_count++] = NULL;
    return true;
}

/*
 * A user with many calls makes way for itself, and only if there is no room at all, the oldest call
 * does. Returns the index of a place that is empty, or BOARD_ALL_CALLS without memory.
 */
static size_t make_way(struct board *board, struct board_user *user)
{
    struct shown_call *oldest;
    size_t index;

    if (user->call_count == BOARD_MAX_CALLS)
        oldest = list_entry(user->calls.next, struct shown_call, node);
    else if (board->call_count == BOARD_ALL_CALLS)
        oldest = list_entry(board->ages.next, struct shown_call, age);
    else
        return add_place(board) ? board->call_count - 1 : BOARD_ALL_CALLS;
    index = oldest->place % BOARD_ALL_CALLS;
    forget_call(oldest);
    return index;
}

uint64_t board_begin_call(struct board *board, int64_t id, struct str agent, struct str tool,
                          const struct json_value *arguments)
{
    struct board_user *user = need_user(board, id);
    struct shown_call *call = user != NULL ? new_call(agent, tool, find_what(arguments)) : NULL;
    size_t index = call != NULL ? make_way(board, user) : BOARD_ALL_CALLS;

    if (index == BOARD_ALL_CALLS) {
        free(call);
        return 0;
    }
    call->user = user;
    call->place = ++board->last_call * BOARD_ALL_CALLS + index;
    call->number = ++user->last_call;
    board->calls[index] = call;
    list_append(&user->calls, &call->node);
    list_append(&board->ages, &call->age);
    user->call_count++;
    call->began_wall_ms = loop_wall_ms(board->loop);
    call->began_ms = loop_now_ms(board->loop);
    tell_call(call);
    return call->place;
}

/* NULL if it is forgotten, or has ended. */
static struct shown_call *find_running(const struct board *board, uint64_t place)
{
    struct shown_call *call = place != 0 ? at_place(board, place) : NULL;

    return call != NULL && call->place == place && call->outcome == NULL ? call : NULL;
}

void board_set_request(struct board *board, uint64_t place, struct str request)
{
    struct shown_call *call = find_running(board, place);

    if (call == NULL || request.len >= REQUEST_BYTES)
        return;
    if (request.len > 0)
        memcpy(call->request, request.ptr, request.len);
    call->request[request.len] = '\0';
}

void board_note_decision(struct board *board, int64_t id, struct str request, struct str decision,
                         struct str rule)
{
    char words[RULE_BYTES + PRINTABLE_CUT_BYTES] = "";
    struct board_user *user = find_user(board, id);

    if (user == NULL || request.len == 0)
        return;
    /* It is one of the last: the machine tells it soon after the answer. */
    for (struct list *node = user->calls.prev; node != &user->calls; node = node->prev) {
        struct shown_call *call = list_entry(node, struct shown_call, node);

        if (!str_eq_c(request, call->request))
            continue;
        printable_cut(decision, PRINTABLE_LINE, call->decision, DECISION_BYTES);
        printable_cut(rule, PRINTABLE_LINE, words, RULE_BYTES);
        free(call->rule);
        call->rule = words[0] != '\0' ? strdup(words) : NULL; /* the kind of it must do */
        tell_call(call);
        return;
    }
}

void board_progress(struct board *board, uint64_t place, int64_t done, int64_t total,
                    const char *what)
{
    cleanup_buf struct buf text = BUF_INIT(EVENT_BYTES);
    const struct shown_call *call = find_running(board, place);
    struct json_writer json;
    char name[32];

    if (call == NULL || list_is_empty(&call->user->pages))
        return;
    snprintf(name, sizeof(name), "%llu", (unsigned long long)call->number);
    json_writer_init(&json, &text);
    json_begin_object(&json);
    json_put_str(&json, STR("id"), str_from(name));
    json_put_int(&json, STR("done"), done);
    if (total > 0)
        json_put_int(&json, STR("total"), total);
    if (what != NULL)
        json_put_str_lossy(&json, STR("progress"), str_from(what));
    json_end_object(&json);
    if (json_writer_finish(&json) == 0)
        send_to(call->user, STR("progress"), buf_view(&text));
}

void board_allow_stop(struct board *board, uint64_t place, board_stop *stop, void *data)
{
    struct shown_call *call = find_running(board, place);

    if (call != NULL) {
        call->stop = stop;
        call->stop_data = data;
    }
}

int board_stop_call(struct board *board, int64_t id, uint64_t number)
{
    const struct board_user *user = find_user(board, id);

    if (user != NULL)
        list_each (node, &user->calls) {
            const struct shown_call *call = list_entry(node, struct shown_call, node);

            if (call->number == number)
                return call->stop != NULL && call->stop(call->stop_data) ? 0 : ERR_NOT_FOUND;
        }
    return ERR_NOT_FOUND;
}

/* The first text of an error; a machine that refused says "denied" in it. */
static struct str find_error(const struct json_value *result)
{
    const struct json_value *structured = json_get(result, STR("structuredContent"));
    const struct json_value *content = json_get(result, STR("content"));
    struct str text = STR_EMPTY;

    if (structured != NULL && json_get_str(structured, STR("error"), &text))
        return text;
    if (content != NULL)
        json_each_item (block, content)
            if (json_get_str(block, STR("text"), &text))
                return text;
    return text;
}

void board_end_call(struct board *board, uint64_t place, const struct json_value *result,
                    const char *error)
{
    struct shown_call *call = find_running(board, place);
    char words[ERROR_BYTES + PRINTABLE_CUT_BYTES] = "";
    bool is_error = false;

    if (call == NULL)
        return;
    call->stop = NULL;
    call->took_ms = loop_now_ms(board->loop) - call->began_ms;
    if (result != NULL && json_get_bool(result, STR("isError"), &is_error) && is_error)
        printable_cut(find_error(result), PRINTABLE_LINE, words, ERROR_BYTES);
    else if (result == NULL)
        printable_cut(str_from(error), PRINTABLE_LINE, words, ERROR_BYTES);
    if (words[0] != '\0')
        call->error = strdup(words); /* without memory the outcome must do */
    call->outcome = result != NULL && !is_error           ? "ok"
                    : strcasestr(words, "denied") != NULL ? "denied"
                                                          : "error";
    tell_call(call);
}

/* ---- questions ---- */

static bool is_machines(const struct open_question *question)
{
    return question->name[0] != '\0';
}

/* Until it is given up; a page's clock may be another one. */
static int64_t left_ms(const struct open_question *question)
{
    int64_t now_ms = loop_wall_ms(question->user->board->loop);
    int64_t left_ms = question->asked_wall_ms + BOARD_QUESTION_MS - now_ms;

    return left_ms > 0 ? left_ms : 0;
}

static void write_question(struct json_writer *json, const struct open_question *question)
{
    char id[32];

    snprintf(id, sizeof(id), "%llu", (unsigned long long)question->id);
    json_begin_object(json);
    json_put_str(json, STR("id"), str_from(id));
    json_put_int(json, STR("askedAt"), question->asked_wall_ms);
    /* For how long the machine waits only the machine knows. */
    if (!is_machines(question))
        json_put_int(json, STR("leftMs"), left_ms(question));
    json_put_str_lossy(json, STR("agent"), str_from(question->agent));
    json_put_str_lossy(json, STR("toolGroup"), str_from(question->group));
    json_put_str_lossy(json, STR("resource"), str_from(question->resource));
    json_put_str_lossy(json, STR("description"), str_from(question->description));
    json_key(json, STR("options"));
    json_begin_array(json);
    for (size_t i = 0; i < MACHINE_CHOICES; i++)
        if ((question->choices & 1U << i) != 0)
            json_write_str(json, machine_choices[i].name);
    json_end_array(json);
    json_end_object(json);
}

static void tell_question(const struct open_question *question)
{
    cleanup_buf struct buf text = BUF_INIT(EVENT_BYTES);
    struct json_writer json;

    json_writer_init(&json, &text);
    write_question(&json, question);
    if (json_writer_finish(&json) == 0)
        send_to(question->user, STR("question"), buf_view(&text));
}

static void tell_closed(struct board_user *user, uint64_t id, const char *by)
{
    cleanup_buf struct buf text = BUF_INIT(EVENT_BYTES);
    struct json_writer json;
    char number[32];

    snprintf(number, sizeof(number), "%llu", (unsigned long long)id);
    json_writer_init(&json, &text);
    json_begin_object(&json);
    json_put_str(&json, STR("id"), str_from(number));
    json_put_str(&json, STR("by"), str_from(by));
    json_end_object(&json);
    if (json_writer_finish(&json) == 0)
        send_to(user, STR("question-closed"), buf_view(&text));
}

static void close_question(struct open_question *question, const char *by)
{
    question->user->question_count--;
    list_remove(&question->node);
    timer_stop(&question->patience);
    tell_closed(question->user, question->id, by);
    free(question);
}

static void decide(struct open_question *question, struct str choice, const char *by)
{
    struct board *board = question->user->board;
    int64_t user = question->user->id;
    board_answered *answered = question->answered;
    void *data = question->data;
    char name[NAME_BYTES];

    memcpy(name, question->name, sizeof(name));
    close_question(question, by);
    if (name[0] == '\0')
        answered(data, choice);
    else if (!board->is_closed)
        board->config.decide(board->config.data, user, str_from(name), choice);
}

static void on_patience(void *data)
{
    decide(data, STR_EMPTY, "nobody in time");
}

/* Line by line: what is in one cannot look like another. */
static void copy_lines(struct str text, char *out, size_t room)
{
    size_t len = 0;
    struct str line;

    for (bool has_more = true; has_more && room - len > PRINTABLE_CUT_BYTES + 1;) {
        has_more = str_cut(&text, '\n', &line) && text.ptr != NULL;
        printable_cut(line, PRINTABLE_TABS, out + len, room - len - PRINTABLE_CUT_BYTES - 1);
        len += strlen(out + len);
        if (has_more)
            out[len++] = '\n';
    }
    out[len] = '\0';
}

static struct open_question *open_question(struct board_user *user, struct str agent,
                                           const struct machine_question *asked)
{
    struct board *board = user->board;
    struct open_question *question;

    if (board->is_closed || asked->choices == 0 || user->question_count >= BOARD_MAX_QUESTIONS)
        return NULL;
    question = calloc(1, sizeof(*question));
    if (question == NULL)
        return NULL;
    question->user = user;
    question->id = ++board->last_question;
    question->asked_wall_ms = loop_wall_ms(board->loop);
    question->choices = asked->choices;
    printable_cut(agent, PRINTABLE_LINE, question->agent, AGENT_BYTES);
    printable_cut(asked->group, PRINTABLE_LINE, question->group, TOOL_BYTES);
    printable_cut(asked->resource, PRINTABLE_LINE, question->resource, RESOURCE_BYTES);
    copy_lines(asked->description, question->description, sizeof(question->description));
    timer_init(&question->patience, board->loop, on_patience, question);
    list_append(&user->questions, &question->node);
    user->question_count++;
    return question;
}

int board_ask(struct board *board, int64_t id, struct str agent,
              const struct machine_question *asked, board_answered *answered, void *data,
              uint64_t *out_id)
{
    struct board_user *user = find_user(board, id);
    struct open_question *question =
        user != NULL && !list_is_empty(&user->pages) ? open_question(user, agent, asked) : NULL;

    if (question == NULL)
        return ERR_ASK_UNAVAILABLE;
    question->answered = answered;
    question->data = data;
    timer_start(&question->patience, BOARD_QUESTION_MS);
    *out_id = question->id;
    tell_question(question);
    return 0;
}

static struct open_question *find_named(struct board *board, int64_t id, struct str name)
{
    struct board_user *user = find_user(board, id);

    if (user != NULL && name.len > 0)
        list_each (node, &user->questions) {
            struct open_question *question = list_entry(node, struct open_question, node);

            if (str_eq_c(name, question->name))
                return question;
        }
    return NULL;
}

/* "name@host", where the host is this server. */
static struct str agent_of(struct str client)
{
    const char *at = client.len > 0 ? memrchr(client.ptr, '@', client.len) : NULL;

    return at != NULL && at != client.ptr ? str_slice(client, 0, (size_t)(at - client.ptr))
                                          : STR("The machine");
}

void board_take_question(struct board *board, int64_t id, struct str name, struct str client,
                         const struct machine_question *asked)
{
    struct board_user *user = need_user(board, id);
    struct open_question *question;

    if (user == NULL || name.len == 0 || name.len >= NAME_BYTES ||
        find_named(board, id, name) != NULL)
        return;
    question = open_question(user, agent_of(client), asked);
    if (question == NULL)
        return;
    snprintf(question->name, sizeof(question->name), "%.*s", STR_ARG(name));
    tell_question(question);
}

void board_close_question(struct board *board, int64_t id, struct str name, struct str by)
{
    struct open_question *question = find_named(board, id, name);
    char words[CLOSED_BY_BYTES + PRINTABLE_CUT_BYTES];

    if (question == NULL)
        return;
    printable_cut(by, PRINTABLE_ASCII, words, CLOSED_BY_BYTES);
    close_question(question, words);
}

void board_drop_questions(struct board *board, int64_t id)
{
    struct board_user *user = find_user(board, id);

    if (user != NULL)
        list_each_safe (node, &user->questions) {
            struct open_question *question = list_entry(node, struct open_question, node);

            if (is_machines(question))
                close_question(question, "the machine, which is gone");
        }
}

static struct open_question *find_question(struct board *board, int64_t id, uint64_t number)
{
    struct board_user *user = find_user(board, id);

    if (user != NULL)
        list_each (node, &user->questions) {
            struct open_question *question = list_entry(node, struct open_question, node);

            if (question->id == number)
                return question;
        }
    return NULL;
}

void board_withdraw(struct board *board, int64_t id, uint64_t number)
{
    struct open_question *question = find_question(board, id, number);

    if (question != NULL)
        close_question(question, "the agent, who gave up");
}

int board_answer(struct board *board, int64_t id, uint64_t number, struct str choice)
{
    struct open_question *question = find_question(board, id, number);

    if (question == NULL)
        return ERR_NOT_FOUND;
    for (size_t i = 0; i < MACHINE_CHOICES; i++)
        if ((question->choices & 1U << i) != 0 && str_eq(choice, machine_choices[i].name)) {
            decide(question, machine_choices[i].name, "page");
            return 0;
        }
    return ERR_INVALID_ARGUMENT;
}

/* ---- all of it ---- */

void board_write_calls(struct board *board, int64_t id, uint64_t most, struct json_writer *json)
{
    const struct board_user *user = find_user(board, id);

    json_key(json, STR("calls"));
    json_begin_array(json);
    if (user != NULL)
        list_each (node, &user->calls) {
            const struct shown_call *call = list_entry(node, struct shown_call, node);

            if (call->number + most > user->last_call)
                write_call(json, call);
        }
    json_end_array(json);
}

void board_write(struct board *board, int64_t id, struct json_writer *json)
{
    struct board_user *user = find_user(board, id);

    json_key(json, STR("questions"));
    json_begin_array(json);
    if (user != NULL)
        list_each (node, &user->questions)
            write_question(json, list_entry(node, struct open_question, node));
    json_end_array(json);
    board_write_calls(board, id, BOARD_FIRST_CALLS, json);
}

int board_new(const struct board_config *config, struct board **out_board)
{
    struct board *board = calloc(1, sizeof(*board));
    int r;

    if (board == NULL)
        return ERR_NO_MEMORY;
    *board =
        (struct board){.config = *config, .loop = config->loop, .users = MAP_INIT(BOARD_MAX_USERS)};
    list_init(&board->stale);
    list_init(&board->ages);
    loop_task_init(&board->tell, tell_stale, board);
    r = sse_hub_new(board->loop, &(struct sse_hub_config){.max_kept_bytes = 4 << 20},
                    &board->streams);
    if (r < 0) {
        free(board);
        return r;
    }
    *out_board = board;
    return 0;
}

void board_unanswered(struct err *err)
{
    err_set(err, ERR_DENIED_BY_POLICY,
            "nobody answered the question on the server's page within %d minutes, so it was "
            "denied; try again when the user is there",
            BOARD_QUESTION_MS / 60000);
}

void board_close(struct board *board)
{
    size_t cursor = 0;
    struct str key;
    void *value;

    board->is_closed = true;
    loop_task_cancel(&board->tell);
    while (map_next(&board->users, &cursor, &key, &value)) {
        struct board_user *user = value;

        while (!list_is_empty(&user->questions))
            decide(list_entry(user->questions.next, struct open_question, node), STR_EMPTY,
                   "the end of the server");
        end_pages(user);
    }
}

void board_free(struct board *board)
{
    size_t cursor = 0;
    struct str key;
    void *value;

    if (board == NULL)
        return;
    board_close(board);
    while (map_next(&board->users, &cursor, &key, &value)) {
        struct board_user *user = value;

        while (!list_is_empty(&user->calls))
            forget_call(list_entry(user->calls.next, struct shown_call, node));
        free(user);
    }
    free(board->calls);
    map_done(&board->users);
    sse_hub_free(board->streams);
    free(board);
}
