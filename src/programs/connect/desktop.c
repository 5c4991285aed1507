/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/connect/desktop.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "isolate/helper.h"
#include "loop/child.h"
#include "loop/timer.h"
#include "programs/connect/plain.h"

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
};

struct note {
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

static void on_exit_of_it(void *data, struct child_exit exit)
{
    struct desktop *desktop = data;

    (void)exit; /* failing to show a notification is not worth a message */
    child_free(desktop->child);
    desktop->child = NULL;
    timer_stop(&desktop->too_long);
    show_next(desktop);
}

static int start(struct desktop *desktop, const struct note *note)
{
    char space[MAX_VARIABLES][VARIABLE_BYTES];
    const char *env[MAX_VARIABLES + 1];
    const char *const argv[] = {
        "notify-send", "--app-name=Gatehouse", "--", note->title, note->text, NULL};
    int r;

    collect_environment(space, env);
    r = helper_start(&(struct helper){.path = desktop->program, .argv = argv, .env = env},
                     &desktop->pid, NULL);
    if (r < 0)
        return r;
    r = child_watch(desktop->loop, desktop->pid, on_exit_of_it, desktop, &desktop->child);
    if (r < 0) {
        kill_it(desktop);
        (void)waitpid(desktop->pid, NULL, 0);
        return r;
    }
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

void desktop_show(struct desktop *desktop, struct str title, struct str text)
{
    if (!desktop->is_there)
        return;
    put_title(title, desktop->next.title);
    put_text(text, desktop->next.text);
    desktop->has_next = true;
    show_next(desktop);
}

bool desktop_is_there(const struct desktop *desktop)
{
    return desktop->is_there;
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
    free(desktop);
}
