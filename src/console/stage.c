/* SPDX-License-Identifier: Apache-2.0 */
#include "console/stage.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/colour.h"
#include "base/err.h"
#include "console/terminal.h"
#include "loop/reader.h"
#include "loop/signal.h"
#include "loop/timer.h"
#include "loop/writer.h"

/* The alternate screen, so that nothing of the user's is overwritten; with bracketed paste. */
#define SCREEN_ENTER "\x1b[?1049h\x1b[?2004h"
#define SCREEN_LEAVE "\x1b[?2004l\x1b[H\x1b[2J\x1b[?1049l\r"
/* Without wrapping at the edge: a line wider than expected stays one line. */
#define FRAME_BEGIN  "\x1b[?7l\x1b[H\x1b[2J"
#define FRAME_END    "\x1b[?7h"

enum { CONTROL_C = 0x03 };

/*
 *   RESTING -> WAITING -> GUARDED <-> OPEN
 *      ^----------`-----------`--------'    every one of them -> GONE
 */
enum stage_state {
    STAGE_RESTING, /* no act; the last message may still be on its way */
    STAGE_WAITING, /* another job of the shell has the terminal */
    STAGE_GUARDED, /* the act is on, or on its way to the screen: input is dropped */
    STAGE_OPEN,
    STAGE_GONE,
};

static const int watched_signals[] = {SIGTSTP, SIGCONT, SIGWINCH, SIGHUP, SIGINT, SIGTERM, SIGQUIT};

struct stage {
    struct stage_config config;
    enum stage_state state;
    struct stage_act act;
    struct terminal terminal;
    int out_fd; /* our own number for config.out_fd: the loop takes each one once */
    struct reader *reader;
    struct writer *writer;
    struct signal_watch *signals[array_size(watched_signals)];
    struct timer timer;  /* of the guard, or of the turn */
    struct timer escape; /* whether it was the key */
    struct keys keys;
    struct buf line;
    bool is_line_too_long;
    bool is_screen_on;
    bool needs_draw;
    struct loop_task rest;
    struct loop_task tell_gone;
};

static void enter(struct stage *stage);

static bool is_plain(const struct stage *stage)
{
    return stage->config.look.is_plain;
}

/* The act is on the terminal, or should be. */
static bool is_standing(const struct stage *stage)
{
    return stage->state == STAGE_WAITING || stage->state == STAGE_GUARDED ||
           stage->state == STAGE_OPEN;
}

/* ---- ways out ---- */

static void unwatch_signals(struct stage *stage)
{
    for (size_t i = 0; i < array_size(watched_signals); i++) {
        signal_watch_free(stage->signals[i]);
        stage->signals[i] = NULL;
    }
}

static void close_ends(struct stage *stage)
{
    loop_task_cancel(&stage->rest);
    writer_free(stage->writer);
    stage->writer = NULL;
    reader_free(stage->reader);
    stage->reader = NULL;
    terminal_restore_flags(&stage->terminal);
}

/* Clears our screen and restores the modes. Drops input that was typed for us, not the shell. */
static void leave(struct stage *stage, struct str words)
{
    const struct str parts[] = {
        stage->is_screen_on ? STR(SCREEN_LEAVE) : STR_EMPTY,
        words,
        words.len > 0 ? STR("\r\n") : STR_EMPTY,
    };

    timer_stop(&stage->timer);
    timer_stop(&stage->escape);
    unwatch_signals(stage);
    stage->needs_draw = false;
    if (stage->writer != NULL && terminal_is_ours(&stage->terminal))
        (void)writer_send(stage->writer, parts, array_size(parts));
    stage->is_screen_on = false;
    if (stage->terminal.is_entered && terminal_is_ours(&stage->terminal))
        terminal_discard_input(&stage->terminal);
    terminal_leave(&stage->terminal);
}

static void go(struct stage *stage)
{
    if (stage->state == STAGE_GONE)
        return;
    leave(stage, STR_EMPTY);
    close_ends(stage);
    stage->state = STAGE_GONE;
    loop_defer(stage->config.loop, &stage->tell_gone);
}

static void tell_gone(void *data)
{
    struct stage *stage = data;

    stage->config.on_gone(stage->config.data);
}

static void rest(void *data)
{
    struct stage *stage = data;

    if (stage->state == STAGE_RESTING)
        close_ends(stage);
}

/* ---- signals ---- */

static bool has_disposition(int signum, void (*handler)(int))
{
    struct sigaction action;

    return sigaction(signum, NULL, &action) == 0 && action.sa_handler == handler;
}

static void watch_signal(struct stage *stage, size_t index);

/* Delivered before it returns, even if the loop runs on a thread with signals blocked. */
static void raise_here(int signum)
{
    sigset_t one;
    sigset_t before;

    sigemptyset(&one);
    sigaddset(&one, signum);
    pthread_sigmask(SIG_UNBLOCK, &one, &before);
    raise(signum);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* The program decides; if it does nothing, the signal has its default effect. */
static void end_by_signal(struct stage *stage, size_t index)
{
    int signum = watched_signals[index];
    bool is_default;

    signal_watch_free(stage->signals[index]);
    stage->signals[index] = NULL;
    is_default = has_disposition(signum, SIG_DFL);
    if (!is_default && signum == SIGHUP) {
        watch_signal(stage, index); /* a terminal that is really hung up is found by reading */
        return;
    }
    go(stage);
    if (is_default)
        raise_here(signum);
}

static void stop_by_signal(struct stage *stage)
{
    leave(stage, STR_EMPTY);
    close_ends(stage);
    raise_here(SIGTSTP); /* without our watch it stops us here, until the shell continues us */
    enter(stage);
}

static void on_signal(void *data, int signum)
{
    struct stage *stage = data;

    switch (signum) {
    case SIGWINCH:
        stage_redraw(stage);
        break;
    case SIGTSTP:
        stop_by_signal(stage);
        break;
    case SIGCONT:
        /* Stopped without being asked: the shell may have set other modes, and drawn. */
        leave(stage, STR_EMPTY);
        enter(stage);
        break;
    default:
        for (size_t i = 0; i < array_size(watched_signals); i++)
            if (watched_signals[i] == signum)
                end_by_signal(stage, i);
    }
}

/* Signals ignored before stay ignored. */
static void watch_signal(struct stage *stage, size_t index)
{
    int signum = watched_signals[index];

    if (!has_disposition(signum, SIG_IGN))
        (void)signal_watch_new(stage->config.loop, signum, on_signal, stage,
                               &stage->signals[index]);
}

/* ---- output ---- */

static void start_guard(struct stage *stage)
{
    timer_start(&stage->timer, STAGE_GUARD_MS);
}

static void put_out(struct stage *stage, struct str text)
{
    if (writer_send(stage->writer, &text, 1) < 0)
        go(stage);
}

static void draw(struct stage *stage, bool is_new)
{
    cleanup_buf struct buf frame = BUF_INIT(STAGE_FRAME_MAX);
    struct stage_size size;
    int r;

    /* One frame at a time: frames do not pile up for a stopped terminal. */
    if (writer_kept(stage->writer) > 0) {
        stage->needs_draw = true;
        return;
    }
    stage->needs_draw = false;
    terminal_size(&stage->terminal, &size.rows, &size.columns);
    if (is_plain(stage)) {
        if (is_new)
            stage->act.draw(stage->act.data, &size, &frame);
        put_out(stage, buf_view(&frame));
        return;
    }
    r = buf_append_str(&frame, stage->is_screen_on ? STR_EMPTY : STR(SCREEN_ENTER));
    if (r == 0)
        r = buf_append_str(&frame, STR(FRAME_BEGIN));
    stage->act.draw(stage->act.data, &size, &frame);
    if (r == 0)
        r = buf_append_str(&frame, STR(FRAME_END));
    stage->is_screen_on = true;
    if (r < 0)
        go(stage);
    else
        put_out(stage, buf_view(&frame));
}

/* Something new to answer. Its guard time begins when it is visible. */
static void show(struct stage *stage)
{
    stage->state = STAGE_GUARDED;
    timer_stop(&stage->timer);
    timer_stop(&stage->escape);
    draw(stage, true);
    if (stage->state == STAGE_GUARDED)
        start_guard(stage); /* once more when the terminal has taken all of it */
}

static void on_stream_end(void *data, int error)
{
    (void)error;
    go(data);
}

static void on_drained(void *data)
{
    struct stage *stage = data;

    if (stage->state == STAGE_RESTING)
        loop_defer(stage->config.loop, &stage->rest);
    else if (stage->state == STAGE_GUARDED && stage->needs_draw)
        show(stage);
    else if (stage->state == STAGE_GUARDED)
        start_guard(stage);
}

void stage_redraw(struct stage *stage)
{
    if ((stage->state != STAGE_GUARDED && stage->state != STAGE_OPEN) || is_plain(stage))
        return;
    draw(stage, false);
    /* Nobody answers what is not visible yet. */
    if (stage->state == STAGE_OPEN && writer_kept(stage->writer) > 0)
        stage->state = STAGE_GUARDED;
}

void stage_renew(struct stage *stage)
{
    if (stage->state == STAGE_GUARDED || stage->state == STAGE_OPEN)
        show(stage);
}

void stage_print(struct stage *stage, struct str text)
{
    if (stage->state == STAGE_OPEN && is_plain(stage))
        put_out(stage, text);
}

/* ---- input ---- */

static void give_key(struct stage *stage, const struct key *key)
{
    if (key->code != KEY_NONE)
        stage->act.key(stage->act.data, key);
}

static void give_line(struct stage *stage)
{
    struct str line = buf_view(&stage->line);

    if (str_ends_with(line, STR("\r")))
        line.len--;
    /* Too long to be kept is nothing that can be meant. */
    stage->act.line(stage->act.data, stage->is_line_too_long ? STR("?") : line);
    buf_clear(&stage->line);
    stage->is_line_too_long = false;
}

static void take_line_byte(struct stage *stage, char byte)
{
    const struct key interrupt = {.code = KEY_INTERRUPT};

    if (byte == CONTROL_C)
        give_key(stage, &interrupt);
    else if (byte == '\n')
        give_line(stage);
    else if (buf_append_char(&stage->line, byte) < 0)
        stage->is_line_too_long = true;
}

static void take_key_byte(struct stage *stage, char byte)
{
    struct key key = keys_take(&stage->keys, byte);

    timer_stop(&stage->escape);
    give_key(stage, &key);
}

/* What ends or renews the act leaves the open state: the rest of the input is dropped. */
static void on_bytes(void *data, struct str bytes)
{
    struct stage *stage = data;

    for (size_t i = 0; i < bytes.len && stage->state == STAGE_OPEN; i++) {
        if (is_plain(stage))
            take_line_byte(stage, bytes.ptr[i]);
        else
            take_key_byte(stage, bytes.ptr[i]);
    }
    if (stage->state == STAGE_OPEN && keys_is_escape_open(&stage->keys))
        timer_start(&stage->escape, STAGE_ESCAPE_MS);
}

static void on_escape(void *data)
{
    struct stage *stage = data;
    struct key key = keys_end_escape(&stage->keys);

    if (stage->state == STAGE_OPEN)
        give_key(stage, &key);
}

static void on_timer(void *data)
{
    struct stage *stage = data;

    if (stage->state == STAGE_WAITING) {
        enter(stage);
    } else if (stage->state == STAGE_GUARDED && writer_kept(stage->writer) == 0) {
        /* Also what came while the loop was busy. */
        terminal_discard_input(&stage->terminal);
        keys_reset(&stage->keys);
        buf_clear(&stage->line);
        stage->is_line_too_long = false;
        stage->state = STAGE_OPEN;
    }
}

/* ---- ways in ---- */

static int open_ends(struct stage *stage)
{
    const struct reader_events in = {on_bytes, on_stream_end, stage};
    const struct writer_events out = {on_drained, on_stream_end, stage};
    int r = terminal_save_flags(&stage->terminal);

    if (r == 0 && stage->reader == NULL)
        r = reader_new(stage->config.loop, stage->config.in_fd, &in, &stage->reader);
    if (r == 0 && stage->writer == NULL)
        r = writer_new_terminal(stage->config.loop, stage->out_fd, STAGE_FRAME_MAX, &out,
                                &stage->writer);
    if (r == 0)
        reader_resume(stage->reader);
    return r;
}

static void enter(struct stage *stage)
{
    if (!terminal_is_ours(&stage->terminal)) {
        close_ends(stage);
        stage->state = STAGE_WAITING;
        timer_start(&stage->timer, STAGE_TURN_MS);
        return;
    }
    loop_task_cancel(&stage->rest);
    if (open_ends(stage) < 0 ||
        terminal_enter(&stage->terminal, is_plain(stage) ? TERMINAL_LINES : TERMINAL_KEYS) < 0) {
        go(stage);
        return;
    }
    for (size_t i = 0; i < array_size(watched_signals); i++)
        watch_signal(stage, i);
    terminal_discard_input(&stage->terminal);
    show(stage);
}

int stage_begin(struct stage *stage, const struct stage_act *act)
{
    if (stage->state == STAGE_GONE)
        return ERR_IO;
    stage->act = *act;
    enter(stage);
    return 0;
}

void stage_end(struct stage *stage, struct str words)
{
    if (!is_standing(stage))
        return;
    leave(stage, words);
    stage->state = STAGE_RESTING;
    if (stage->reader != NULL)
        reader_pause(stage->reader);
    /* Not from inside a callback of the reader; and pending output is written first. */
    if (stage->writer != NULL && writer_kept(stage->writer) == 0)
        loop_defer(stage->config.loop, &stage->rest);
}

bool stage_is_taken(const struct stage *stage)
{
    return is_standing(stage);
}

struct stage_look stage_look_of(const struct stage *stage)
{
    return stage->config.look;
}

int stage_new(const struct stage_config *config, struct stage **out_stage)
{
    struct stage *stage = calloc(1, sizeof(*stage));

    if (stage == NULL)
        return ERR_NO_MEMORY;
    stage->config = *config;
    stage->out_fd = fcntl(config->out_fd, F_DUPFD_CLOEXEC, 3);
    if (stage->out_fd < 0) {
        free(stage);
        return err_from_errno(errno);
    }
    terminal_init(&stage->terminal, config->in_fd, config->out_fd);
    if (!stage->terminal.is_terminal)
        stage->config.look.is_plain = true;
    if (stage->config.look.is_plain)
        stage->config.look.has_colour = false;
    buf_init(&stage->line, STAGE_LINE_MAX);
    timer_init(&stage->timer, config->loop, on_timer, stage);
    timer_init(&stage->escape, config->loop, on_escape, stage);
    loop_task_init(&stage->rest, rest, stage);
    loop_task_init(&stage->tell_gone, tell_gone, stage);
    *out_stage = stage;
    return 0;
}

void stage_free(struct stage *stage)
{
    if (stage == NULL)
        return;
    leave(stage, STR_EMPTY);
    close_ends(stage);
    loop_task_cancel(&stage->tell_gone);
    buf_done(&stage->line);
    close(stage->out_fd);
    free(stage);
}

/* ---- how it looks ---- */

static const char *first_set(const char *a, const char *b, const char *c)
{
    if (a != NULL && a[0] != '\0')
        return a;
    return b != NULL && b[0] != '\0' ? b : c;
}

struct stage_look stage_look(const char *term, const char *no_color, const char *lc_all,
                             const char *lc_ctype, const char *lang)
{
    const char *locale = first_set(lc_all, lc_ctype, lang);
    const char *coding = locale == NULL ? NULL : strchr(locale, '.');

    return (struct stage_look){
        .is_plain = !colour_can_draw(term),
        .has_colour = colour_can_colour(term, no_color),
        .is_utf8 = coding != NULL &&
                   (strncasecmp(coding, ".utf-8", 6) == 0 || strncasecmp(coding, ".utf8", 5) == 0),
    };
}

static const char *const styles[PAGE_STYLES] = {
    [PAGE_PLAIN] = "",         [PAGE_BOLD] = "\x1b[1m",     [PAGE_WARNING] = "\x1b[1;31m",
    [PAGE_ADDED] = "\x1b[32m", [PAGE_REMOVED] = "\x1b[31m", [PAGE_FAINT] = "\x1b[2m",
    [PAGE_CHOSEN] = "\x1b[7m",
};

void stage_lines(const struct stage_look *look, const struct console_page *page, size_t first,
                 size_t count, struct buf *out)
{
    struct str rest_of_page = buf_view(&page->text);
    enum page_style style;
    struct str line;
    int r = 0;

    for (size_t i = 0; r == 0 && i < first + count && page_next(&rest_of_page, &style, &line);
         i++) {
        bool is_styled = look->has_colour && styles[style][0] != '\0';

        if (i < first)
            continue;
        if (!look->is_plain && out->len > 0 && i > first)
            r = buf_append_str(out, STR("\r\n"));
        if (r == 0 && is_styled)
            r = buf_append_str(out, str_from(styles[style]));
        if (r == 0)
            r = buf_append_str(out, line);
        if (r == 0 && is_styled)
            r = buf_append_str(out, STR("\x1b[0m"));
        if (r == 0 && look->is_plain)
            r = buf_append_char(out, '\n');
    }
}
