/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sends bytes to a server of tests/support/http_fixture and compares what comes back. Each argument
 * is a file of cases:
 *
 *     == what the case shows
 *     > GET /hello HTTP/1.1\r\n    the client sends this; lines are put together without anything
 *     >*300 a                      the same, so many times           between them
 *     < HTTP/1.1 200 OK\r\n        the server answers this
 *     ! open                       and keeps the connection, or has `closed` it
 *     # anything, and empty lines
 *
 * Lines know the escapes \r \n \t \\ and \x00. A line `<= 400` stands for the whole answer of a
 * refusal with that status. Every case is played whole, byte by byte, and cut in two at each place;
 * the answer is the same.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "http_fixture.h"
#include "wire_file.h"

enum { MAX_CASE_BYTES = 4 << 20, EVERY_CUT_BYTES = 600, CUTS = 40 };

struct play {
    struct http_fixture fixture;
    const char *path;
    size_t line;
    char name[128];
    struct buf sent;
    struct buf wanted;
    bool wants_closed;
    bool has_verdict;
    unsigned cases;
    bool has_failed;
};

static void complain(struct play *play, const char *what, struct str detail)
{
    fprintf(stderr, "%s:%zu: %s: %s: %.*s\n", play->path, play->line, play->name, what,
            STR_ARG(detail));
    play->has_failed = true;
}

static int hex(char c)
{
    const char *digits = "0123456789abcdef";
    const char *found = c != '\0' ? strchr(digits, c) : NULL;

    return found != NULL ? (int)(found - digits) : -1;
}

static void unescape(struct play *play, struct str text, struct buf *out)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];

        if (c == '\\' && i + 1 < text.len) {
            c = text.ptr[++i];
            if (c == 'r')
                c = '\r';
            else if (c == 'n')
                c = '\n';
            else if (c == 't')
                c = '\t';
            else if (c == 'x' && i + 2 < text.len && hex(text.ptr[i + 1]) >= 0 &&
                     hex(text.ptr[i + 2]) >= 0) {
                c = (char)(hex(text.ptr[i + 1]) * 16 + hex(text.ptr[i + 2]));
                i += 2;
            } else if (c != '\\') {
                complain(play, "no such escape", text);
            }
        }
        if (buf_append_char(out, c) < 0)
            complain(play, "too long", text);
    }
}

/* Sends the bytes in pieces of `step`, the first of them `first` long. */
static void play_cut(struct play *play, size_t first, size_t step)
{
    cleanup_buf struct buf got = BUF_INIT(MAX_CASE_BYTES);
    struct http_fixture *fixture = &play->fixture;
    struct str rest = buf_view(&play->sent);
    int fd = http_fixture_connect(fixture);
    bool is_closed;
    char cut[64];

    snprintf(cut, sizeof(cut), "%zu, then by %zu", first, step);
    while (rest.len > 0) {
        if (!http_fixture_send(fixture, fd, str_slice(rest, 0, first)))
            break;
        rest = str_slice(rest, first, SIZE_MAX);
        first = step;
    }
    http_fixture_turn(fixture);
    is_closed = http_fixture_receive(fixture, fd, &got);
    if (!str_eq(buf_view(&got), buf_view(&play->wanted))) {
        complain(play, "another answer when cut after", str_from(cut));
        complain(play, "it is", buf_view(&got));
    } else if (is_closed != play->wants_closed) {
        complain(play, is_closed ? "closed when cut after" : "open when cut after", str_from(cut));
    }
    close(fd);
    http_fixture_turn(fixture);
    if (http_fixture_connections(fixture) != 0)
        complain(play, "a connection is left when cut after", str_from(cut));
}

static void play_case(struct play *play)
{
    size_t len = play->sent.len;
    size_t step = len > EVERY_CUT_BYTES ? len / CUTS : 1;

    if (play->name[0] == '\0')
        return;
    if (!play->has_verdict) {
        complain(play, "does not say whether the connection stays", STR_EMPTY);
        return;
    }
    play->cases++;
    play_cut(play, len, len);
    if (len <= EVERY_CUT_BYTES)
        play_cut(play, 1, 1);
    else
        play_cut(play, 1, 97);
    for (size_t at = 1; at < len && !play->has_failed; at += step)
        play_cut(play, at, len);
}

static void expect_refusal(struct play *play, struct str status_text)
{
    static const int errors[] = {ERR_HTTP_SYNTAX,      ERR_HTTP_HOST,          ERR_HTTP_FRAMING,
                                 ERR_HTTP_HEAD_LENGTH, ERR_HTTP_TARGET_LENGTH, ERR_HTTP_EXPECTATION,
                                 ERR_HTTP_METHOD,      ERR_HTTP_CODING,        ERR_HTTP_VERSION,
                                 ERR_TOO_LARGE};
    struct str name = STR_EMPTY;
    char body[256];
    int len;

    str_cut(&status_text, ' ', &name);
    for (size_t i = 0; i < array_size(errors); i++) {
        int status = err_http_status(errors[i]);

        if (!str_eq_c(name, err_name(errors[i])))
            continue;
        len = snprintf(body, sizeof(body), "{\"error\":{\"name\":\"%s\",\"message\":\"%s\"}}\n",
                       err_name(errors[i]), err_text(errors[i]));
        (void)buf_printf(&play->wanted,
                         "HTTP/1.1 %d %s\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\nContent-Type: "
                         "application/json\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s",
                         status, http_reason(status), len, body);
        play->wants_closed = true;
        play->has_verdict = true;
        return;
    }
    complain(play, "no such refusal", name);
}

static void repeat(struct play *play, struct str rest)
{
    struct str count = STR_EMPTY;
    int64_t times = 0;

    str_cut(&rest, ' ', &count);
    if (!str_to_int64(count, &times) || rest.ptr == NULL) {
        complain(play, "not a number and a text", count);
        return;
    }
    while (times-- > 0)
        unescape(play, rest, &play->sent);
}

static void play_line(struct play *play, struct str line)
{
    struct str rest = str_slice(line, 2, SIZE_MAX);

    if (line.len == 0 || line.ptr[0] == '#')
        return;
    if (str_starts_with(line, STR("=="))) {
        play_case(play);
        rest = str_trim(rest);
        snprintf(play->name, sizeof(play->name), "%.*s", STR_ARG(rest));
        buf_clear(&play->sent);
        buf_clear(&play->wanted);
        play->has_verdict = false;
    } else if (str_starts_with(line, STR(">*"))) {
        repeat(play, rest);
    } else if (str_starts_with(line, STR("> "))) {
        unescape(play, rest, &play->sent);
    } else if (str_starts_with(line, STR("<="))) {
        expect_refusal(play, str_trim(rest));
    } else if (str_starts_with(line, STR("< "))) {
        unescape(play, rest, &play->wanted);
    } else if (str_eq(line, STR("! open")) || str_eq(line, STR("! closed"))) {
        play->wants_closed = str_eq(line, STR("! closed"));
        play->has_verdict = true;
    } else {
        complain(play, "not a line of a case", line);
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
    http_fixture_init(&play.fixture, NULL);
    buf_init(&play.sent, MAX_CASE_BYTES);
    buf_init(&play.wanted, MAX_CASE_BYTES);
    rest = buf_view(&text);
    while (str_cut(&rest, '\n', &line)) {
        play.line++;
        play_line(&play, line);
    }
    play_case(&play);
    printf("%s: %u cases\n", path, play.cases);
    http_fixture_done(&play.fixture);
    buf_done(&play.sent);
    buf_done(&play.wanted);
    return !play.has_failed && play.cases > 0;
}

int main(int argc, char **argv)
{
    return wire_file_main(argc, argv, play_file);
}
