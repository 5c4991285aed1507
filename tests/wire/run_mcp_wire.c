/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plays conversations with an MCP session over tests/support/mcp_fixture.
 * Each argument is a file of lines:
 *
 *     > {"jsonrpc":"2.0",…}    the client sends this
 *     < {"jsonrpc":"2.0",…}    the server must send this next, members in any order
 *     ! finish                 the oldest waiting call finishes
 *     ! fail NAME              it fails with that error
 *     ! withdraw               it takes its questions back
 *     ! update URI             that resource changed
 *     ! changed                the list of them did
 *     ! offer N                other tools and prompts
 *     ! released N             so many offers are used by nobody any more
 *     ! pass MS                time passes
 *     ! open, ! close          the connection begins anew, ends
 *     ! leave                  the server says goodbye to its streams
 *     ! cancelled N            so many calls were cancelled so far
 *     ! unsubscribed URI …     these were let go since the last such line, in this order
 *     ! roots JSON             the host was given these
 *     ! origin N               messages from here on come with this origin
 *     ! gone N                 nobody reads from that origin any more
 *     ! about KIND N STATUS    what was sent last: result, error, notification or question; its
 *                              origin; what HTTP makes of it
 *     ! set page=N             for the sessions to come; bytes=N: the longest message;
 *                              more=1: see mcp_fixture.h; stateless=1, principal=N
 *     # anything, and empty lines
 *
 * @q1 and so on stand for the ids of questions in the order they were asked, with their quotes, @s1
 * and so on for the request states, without.
 *
 * What the server sends and no line expects is a failure.
 */
#include <stdio.h>

#include "base/err.h"
#include "base/json.h"
#include "mcp_fixture.h"
#include "wire_file.h"

enum { ARENA_BYTES = 64 << 20 };

struct play {
    struct mcp_fixture fixture;
    const char *path;
    size_t line;
    bool has_failed;
    char principal[32];
};

static void complain(struct play *play, const char *what, struct str detail)
{
    fprintf(stderr, "%s:%zu: %s: %.*s\n", play->path, play->line, what, STR_ARG(detail));
    play->has_failed = true;
}

static void expect_silence(struct play *play)
{
    struct str line;

    while (fixture_next(&play->fixture, &line))
        complain(play, "sent and not expected", line);
}

static bool is_same_json(struct str a, struct str b)
{
    cleanup_arena struct arena arena = ARENA_INIT(ARENA_BYTES);
    const struct json_value *left;
    const struct json_value *right;

    return json_parse(&arena, a, JSON_LIMITS_DEFAULT, &left, NULL) == 0 &&
           json_parse(&arena, b, JSON_LIMITS_DEFAULT, &right, NULL) == 0 && json_eq(left, right);
}

static void expect_line(struct play *play, struct str wanted)
{
    struct str line;

    if (!fixture_next(&play->fixture, &line))
        complain(play, "nothing was sent instead of", wanted);
    else if (!is_same_json(line, wanted))
        complain(play, "sent something else", line);
}

static void expect_text(struct play *play, struct str got, struct str wanted)
{
    if (!str_eq(str_trim(got), wanted))
        complain(play, "it is", got);
}

static int error_named(struct str name)
{
    for (int i = 0; i < ERR_COUNT; i++) {
        if (str_eq_c(name, err_name(-i - 1)))
            return -i - 1;
    }
    return ERR_INTERNAL;
}

static void set_option(struct play *play, struct str name, struct str value)
{
    int64_t number = 0;

    if (!str_to_int64(value, &number))
        complain(play, "not a number", value);
    if (str_eq(name, STR("page")))
        play->fixture.server.page_size = (size_t)number;
    else if (str_eq(name, STR("bytes")))
        play->fixture.server.max_message_bytes = (size_t)number;
    else if (str_eq(name, STR("more")))
        fixture_offer_more(&play->fixture);
    else if (str_eq(name, STR("stateless")))
        play->fixture.config.is_stateless = number != 0;
    else if (str_eq(name, STR("principal"))) {
        snprintf(play->principal, sizeof(play->principal), "%.*s", STR_ARG(value));
        play->fixture.config.principal = str_from(play->principal);
    } else
        complain(play, "no such option", name);
}

static void expect_number(struct play *play, size_t number, struct str wanted)
{
    char text[32];

    snprintf(text, sizeof(text), "%zu", number);
    expect_text(play, str_from(text), wanted);
}

static void expect_about(struct play *play, struct str wanted)
{
    static const char *const kinds[] = {"result", "error", "notification", "question"};
    const struct mcp_outgoing *about = &play->fixture.about;
    char text[64];

    snprintf(text, sizeof(text), "%s %zu %d", kinds[about->kind], (size_t)about->origin,
             about->http_status);
    expect_text(play, str_from(text), wanted);
}

static bool command_with_number(struct play *play, struct str verb, struct str rest)
{
    struct mcp_fixture *fixture = &play->fixture;
    int64_t number = 0;

    str_to_int64(rest, &number);
    if (str_eq(verb, STR("offer")))
        fixture_set_offer(fixture, (size_t)number);
    else if (str_eq(verb, STR("released")))
        expect_number(play, fixture->released, rest);
    else if (str_eq(verb, STR("cancelled")))
        expect_number(play, fixture->cancelled, rest);
    else if (str_eq(verb, STR("pass")))
        fixture_pass(fixture, number);
    else if (str_eq(verb, STR("origin")))
        fixture->origin = (uint64_t)number;
    else
        return false;
    return true;
}

static void command(struct play *play, struct str rest)
{
    struct mcp_fixture *fixture = &play->fixture;
    struct str verb = STR_EMPTY;

    str_cut(&rest, ' ', &verb);
    if (rest.ptr == NULL)
        rest = STR_EMPTY;
    if (str_eq(verb, STR("set"))) {
        struct str name = STR_EMPTY;

        str_cut(&rest, '=', &name);
        set_option(play, name, rest);
        return;
    }
    if (fixture->session == NULL && fixture_open(fixture) < 0) {
        complain(play, "no session", verb);
        return;
    }
    if (command_with_number(play, verb, rest))
        return;
    if ((str_eq(verb, STR("finish")) || str_eq(verb, STR("fail"))) && fixture->parked_count == 0)
        complain(play, "no call waits", verb);
    else if (str_eq(verb, STR("finish")))
        fixture_finish(fixture, 0);
    else if (str_eq(verb, STR("fail")))
        fixture_fail(fixture, 0, error_named(rest));
    else if (str_eq(verb, STR("about")))
        expect_about(play, rest);
    else if (str_eq(verb, STR("update")))
        mcp_session_resource_updated(fixture->session, rest);
    else if (str_eq(verb, STR("changed")))
        mcp_session_resources_changed(fixture->session);
    else if (str_eq(verb, STR("close")))
        fixture_close(fixture);
    else if (str_eq(verb, STR("leave")))
        mcp_session_end_streams(fixture->session);
    else if (str_eq(verb, STR("unsubscribed"))) {
        expect_text(play, buf_view(&fixture->unsubscribed), rest);
        buf_clear(&fixture->unsubscribed);
    } else if (str_eq(verb, STR("roots")))
        expect_text(play, buf_view(&fixture->roots), rest);
    else if (!str_eq(verb, STR("open")))
        complain(play, "no such command", verb);
}

static void play_line(struct play *play, struct str line)
{
    cleanup_buf struct buf expanded = BUF_INIT(WIRE_FILE_BYTES);
    struct str rest;

    if (fixture_expand(&play->fixture, str_slice(line, 2, SIZE_MAX), &expanded) < 0)
        complain(play, "too long", line);
    rest = buf_view(&expanded);
    if (line.len == 0 || line.ptr[0] == '#')
        return;
    switch (line.ptr[0]) {
    case '<':
        expect_line(play, rest);
        return;
    case '!':
        expect_silence(play);
        command(play, rest);
        return;
    case '>':
        expect_silence(play);
        if (play->fixture.session == NULL && fixture_open(&play->fixture) < 0)
            complain(play, "no session", rest);
        else
            fixture_say(&play->fixture, rest);
        return;
    default:
        complain(play, "not a line of a conversation", line);
    }
}

static bool play_file(const char *path)
{
    cleanup_buf struct buf text = BUF_INIT(WIRE_FILE_BYTES);
    struct play play = {.path = path};
    struct str rest;
    struct str line;

    if (!wire_file_read(path, &text))
        return false;
    fixture_init(&play.fixture);
    rest = buf_view(&text);
    while (str_cut(&rest, '\n', &line)) {
        play.line++;
        play_line(&play, line);
    }
    expect_silence(&play);
    fixture_done(&play.fixture);
    return !play.has_failed;
}

int main(int argc, char **argv)
{
    return wire_file_main(argc, argv, play_file);
}
