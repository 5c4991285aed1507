/* SPDX-License-Identifier: Apache-2.0 */
#include "asking/desktop.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/plain.h"
#include "isolate/helper.h"
#include "loop/child.h"
#include "loop/timer.h"

/* How the program finds the session, and its language. */
static const char *const VARIABLES[] = {
    "DBUS_SESSION_BUS_ADDRESS",
    "XDG_RUNTIME_DIR",
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "XAUTHORITY",
    "HOME",
    "LANG",
    "LC_ALL",
};

enum {
    MAX_VARIABLES = array_size(VARIABLES),
    VARIABLE_BYTES = 1024,
    GATEWAY_SESSION_VARIABLES = 2,              /* without the first of them there is no desktop */
    ESCAPED_BYTES = DESKTOP_TEXT_BYTES * 5 + 1, /* "&amp;" for each */
    ANSWER_BYTES = 16,
    MAX_WORDS = 8,
};

struct note {
    bool has_buttons;
    bool may_allow;
    char title[DESKTOP_TITLE_BYTES + 1];
    char text[ESCAPED_BYTES];
};

struct desktop {
    struct loop *loop;
    const char *program;
    bool is_there;
    struct child *child; /* NULL: nothing is being shown */
    pid_t pid;
    struct timer too_long;
    bool has_next;
    struct note next;
    /* Of the one being shown, if it has buttons: */
    struct note asked;
    bool is_asking;
    bool is_withdrawn;
    int answer_fd; /* what the program writes about the button; or -1 */
    int64_t asked_ms;
    bool lacks_buttons; /* the program does not know them */
    void (*on_button)(void *data, bool allows);
    void *data;
};

static void show_next(struct desktop *desktop);

/* ---- the program ---- */

static void collect_environment(char space[MAX_VARIABLES][VARIABLE_BYTES],
                                const char *out_env[MAX_VARIABLES + 1])
{
    size_t count = 0;

    for (size_t i = 0; i < MAX_VARIABLES; i++) {
        const char *value = getenv(VARIABLES[i]);

        if (value != NULL &&
            snprintf(space[count], VARIABLE_BYTES, "%s=%s", VARIABLES[i], value) < VARIABLE_BYTES) {
            out_env[count] = space[count];
            count++;
        }
    }
    out_env[count] = NULL;
}

static bool has_session(void)
{
    for (size_t i = 0; i < GATEWAY_SESSION_VARIABLES; i++)
        if (getenv(VARIABLES[i]) != NULL)
            return true;
    return false;
}

/* Its process group is its own as long as it was not reaped. */
static void kill_it(void *data)
{
    const struct desktop *desktop = data;

    (void)kill(-desktop->pid, SIGKILL);
}

/* What it wrote before it ended: the name of a button, or nothing. */
static struct str read_answer(struct desktop *desktop, char room[ANSWER_BYTES])
{
    ssize_t got = desktop->answer_fd >= 0 ? read(desktop->answer_fd, room, ANSWER_BYTES) : 0;

    cleanup_fd_(&desktop->answer_fd);
    desktop->answer_fd = -1;
    return str_trim((struct str){room, got > 0 ? (size_t)got : 0});
}

static void end_asking(struct desktop *desktop, struct child_exit exit)
{
    bool is_early = loop_now_ms(desktop->loop) - desktop->asked_ms < DESKTOP_GUARD_MS;
    char room[ANSWER_BYTES];
    struct str answer = read_answer(desktop, room);

    desktop->is_asking = false;
    if (desktop->is_withdrawn)
        return;
    if (str_eq(answer, STR("deny"))) {
        desktop->on_button(desktop->data, false);
    } else if (str_eq(answer, STR("allow")) && desktop->asked.may_allow && !is_early) {
        desktop->on_button(desktop->data, true);
    } else if (answer.len == 0 && exit.end == CHILD_EXITED && exit.value != 0 &&
               !desktop->has_next) {
        /* An older notify-send, or a desktop without buttons: once more, like others. */
        desktop->lacks_buttons = true;
        desktop->next = desktop->asked;
        desktop->has_next = true;
    }
}

static void on_exit_of_it(void *data, struct child_exit exit)
{
    struct desktop *desktop = data;

    /* Failing to show a notification is not worth a message. */
    child_free(desktop->child);
    desktop->child = NULL;
    timer_stop(&desktop->too_long);
    if (desktop->is_asking)
        end_asking(desktop, exit);
    show_next(desktop);
}

static int start(struct desktop *desktop, const struct note *note)
{
    char space[MAX_VARIABLES][VARIABLE_BYTES];
    const char *env[MAX_VARIABLES + 1];
    const char *argv[MAX_WORDS];
    size_t count = 0;
    bool has_buttons = note->has_buttons && !desktop->lacks_buttons;
    struct helper helper = {.path = desktop->program, .argv = argv, .env = env};
    cleanup_fd int theirs = -1;
    int ends[2];
    int r;

    if (has_buttons && pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0) {
        desktop->answer_fd = ends[0];
        theirs = ends[1];
        helper.has_output = true;
        helper.output_fd = theirs;
    } else {
        has_buttons = false;
    }
    argv[count++] = "notify-send";
    argv[count++] = "--app-name=Gatehouse";
    if (has_buttons)
        argv[count++] = "--action=deny=Deny";
    if (has_buttons && note->may_allow)
        argv[count++] = "--action=allow=Allow once";
    argv[count++] = "--";
    argv[count++] = note->title;
    argv[count++] = note->text;
    argv[count] = NULL;
    collect_environment(space, env);
    r = helper_start(&helper, &desktop->pid, NULL);
    if (r < 0)
        return r;
    r = child_watch(desktop->loop, desktop->pid, on_exit_of_it, desktop, &desktop->child);
    if (r < 0) {
        kill_it(desktop);
        (void)waitpid(desktop->pid, NULL, 0);
        return r;
    }
    desktop->is_asking = has_buttons;
    desktop->is_withdrawn = false;
    desktop->asked_ms = loop_now_ms(desktop->loop);
    if (has_buttons)
        desktop->asked = *note;
    else
        timer_start(&desktop->too_long, DESKTOP_MS);
    return 0;
}

static void show_next(struct desktop *desktop)
{
    struct note note;

    if (!desktop->has_next || desktop->child != NULL)
        return;
    note = desktop->next;
    desktop->has_next = false;
    /* What failed once, because it is missing or forbidden, is not tried for each. */
    if (start(desktop, &note) < 0)
        desktop->is_there = false;
}

/* ---- words ---- */

static void put_title(struct str text, char out_title[DESKTOP_TITLE_BYTES + 1])
{
    cleanup_buf struct buf line = BUF_INIT(DESKTOP_TITLE_BYTES);

    (void)plain_line(text, DESKTOP_TITLE_BYTES, &line);
    snprintf(out_title, DESKTOP_TITLE_BYTES + 1, "%.*s", STR_ARG(buf_view(&line)));
}

/* Desktops interpret markup in it, including links and pictures. */
static void put_text(struct str text, char out_text[ESCAPED_BYTES])
{
    cleanup_buf struct buf line = BUF_INIT(DESKTOP_TEXT_BYTES);
    cleanup_buf struct buf escaped = BUF_INIT(ESCAPED_BYTES);
    int r = plain_line(text, DESKTOP_TEXT_BYTES, &line);

    for (size_t i = 0; i < line.len && r == 0; i++)
        switch (line.data[i]) {
        case '&':
            r = buf_append_str(&escaped, STR("&amp;"));
            break;
        case '<':
            r = buf_append_str(&escaped, STR("&lt;"));
            break;
        case '>':
            r = buf_append_str(&escaped, STR("&gt;"));
            break;
        default:
            r = buf_append_char(&escaped, line.data[i]);
        }
    snprintf(out_text, ESCAPED_BYTES, "%.*s", STR_ARG(buf_view(&escaped)));
}

static void show(struct desktop *desktop, struct str title, struct str text, bool has_buttons,
                 bool may_allow)
{
    if (!desktop->is_there)
        return;
    put_title(title, desktop->next.title);
    put_text(text, desktop->next.text);
    desktop->next.has_buttons = has_buttons;
    desktop->next.may_allow = may_allow;
    desktop->has_next = true;
    show_next(desktop);
}

void desktop_show(struct desktop *desktop, struct str title, struct str text)
{
    show(desktop, title, text, false, false);
}

void desktop_ask(struct desktop *desktop, struct str title, struct str text, bool may_allow)
{
    show(desktop, title, text, true, may_allow);
}

/* An interrupt has notify-send close the notification. */
void desktop_withdraw(struct desktop *desktop)
{
    if (desktop->has_next && desktop->next.has_buttons)
        desktop->has_next = false;
    if (!desktop->is_asking || desktop->is_withdrawn)
        return;
    desktop->is_withdrawn = true;
    (void)kill(-desktop->pid, SIGINT);
    timer_start(&desktop->too_long, DESKTOP_CLOSE_MS);
}

void desktop_on_button(struct desktop *desktop, void (*on_button)(void *data, bool allows),
                       void *data)
{
    desktop->on_button = on_button;
    desktop->data = data;
}

/* ---- making ---- */

int desktop_new(struct loop *loop, const char *program, struct desktop **out_desktop)
{
    struct desktop *desktop = calloc(1, sizeof(*desktop));

    if (desktop == NULL)
        return ERR_NO_MEMORY;
    desktop->loop = loop;
    desktop->program = program;
    desktop->is_there = has_session();
    desktop->answer_fd = -1;
    timer_init(&desktop->too_long, loop, kill_it, desktop);
    *out_desktop = desktop;
    return 0;
}

void desktop_free(struct desktop *desktop)
{
    if (desktop == NULL)
        return;
    timer_stop(&desktop->too_long);
    if (desktop->child != NULL) {
        kill_it(desktop);
        child_free(desktop->child);
        (void)waitpid(desktop->pid, NULL, 0);
    }
    cleanup_fd_(&desktop->answer_fd);
    free(desktop);
}
