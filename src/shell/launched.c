/* SPDX-License-Identifier: Apache-2.0 */
#include "shell/launched.h"

#include <assert.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/list.h"
#include "loop/reader.h"
#include "loop/timer.h"

enum {
    RETRY_MS = 10,    /* until a busy launcher accepts a kill */
    HANG_MS = 30000,  /* without a word about a command that is to start */
    NOTICES_MAX = 64, /* in one turn of the loop */
};

struct launched {
    struct loop *loop;
    struct launcher *launcher;
    struct starter starter;
    struct ready_watch *watch;
    launched_narrow_fn *narrow; /* or NULL */
    void *narrow_data;
    launched_final_fn *final; /* or NULL: not wanted, or already called */
    void *final_data;
    struct list commands;
    uint32_t last_number;
    bool is_gone; /* the next command gets another one */
    struct timer retry;
    struct timer hang;
};

/* A command, from the request until no process of it is left. */
struct command {
    struct list link;
    uint32_t number;
    int64_t asked_ms;
    struct starter_events events;
    bool has_terminal;
    bool is_started;
    bool is_forgotten;
    bool is_kill_due; /* the launcher did not take it */
};

static struct command *find(const struct launched *launched, uint64_t number)
{
    list_each (node, &launched->commands) {
        struct command *command = list_entry(node, struct command, link);

        if (command->number == number)
            return command;
    }
    return NULL;
}

static void drop(struct command *command)
{
    list_remove(&command->link);
    free(command);
}

/* ---- signals ---- */

static void kill_now(struct launched *launched, struct command *command)
{
    /* This message must arrive; a launcher that has died has killed everything. */
    command->is_kill_due =
        launcher_signal(launched->launcher, command->number, SIGKILL) == ERR_BUSY;
    if (command->is_kill_due && !launched->retry.is_started)
        timer_start(&launched->retry, RETRY_MS);
}

static void retry_kills(void *data)
{
    struct launched *launched = data;

    list_each (node, &launched->commands) {
        struct command *command = list_entry(node, struct command, link);

        if (command->is_kill_due)
            kill_now(launched, command);
    }
}

static void send_signal(void *data, uint64_t id, int signum)
{
    struct launched *launched = data;
    struct command *command = find(launched, id);

    if (command == NULL || launched->is_gone)
        return;
    if (signum == SIGKILL)
        kill_now(launched, command);
    else
        (void)launcher_signal(launched->launcher, command->number, signum);
}

static void forget(void *data, uint64_t id)
{
    struct launched *launched = data;
    struct command *command = find(launched, id);

    if (command == NULL)
        return;
    /* It stays in the list until the launcher reports its end. */
    command->is_forgotten = true;
    send_signal(launched, id, SIGKILL);
}

/* ---- launchers that are replaced ---- */

static void on_ready(void *data);
static void end(struct command *command, const struct err *refusal, struct starter_end how);

/* Ends only those that existed before: a callback may start others. */
static void end_all(struct launched *launched, const struct err *err)
{
    const uint32_t last = launched->last_number;
    bool has_found;

    do {
        has_found = false;
        list_each (node, &launched->commands) {
            struct command *command = list_entry(node, struct command, link);

            if (command->number > last)
                continue;
            end(command, err, (struct starter_end){.error = err->code});
            has_found = true;
            break;
        }
    } while (has_found);
}

static void tell_if_final(struct launched *launched)
{
    launched_final_fn *final = launched->final;

    if (final == NULL || !launcher_is_final(launched->launcher))
        return;
    launched->final = NULL;
    final(launched->final_data);
}

static void lose(struct launched *launched, const char *why)
{
    struct err err = ERR_INIT;

    launched->is_gone = true;
    ready_watch_free(steal_ptr(&launched->watch));
    timer_stop(&launched->hang);
    err_set(&err, ERR_IO, "the launcher of commands %s; %s", why,
            launcher_is_final(launched->launcher) ? "restart gatehouse to run commands"
                                                  : "the next command starts a new one");
    tell_if_final(launched);
    end_all(launched, &err);
}

static void on_hang(void *data)
{
    struct launched *launched = data;
    int64_t now = loop_now_ms(launched->loop);
    int64_t oldest = now;
    bool has_any = false;

    list_each (node, &launched->commands) {
        const struct command *command = list_entry(node, struct command, link);

        if (command->is_started)
            continue;
        has_any = true;
        if (command->asked_ms < oldest)
            oldest = command->asked_ms;
    }
    if (has_any && now - oldest >= HANG_MS)
        lose(launched, "does not respond");
    else if (has_any)
        timer_start(&launched->hang, HANG_MS - (now - oldest));
}

static int replace(struct launched *launched, struct err *err)
{
    int r = launcher_renew(launched->launcher, err);

    if (r == 0)
        r = ready_watch_new(launched->loop, launcher_fd(launched->launcher), on_ready, launched,
                            &launched->watch);
    launched->is_gone = r < 0;
    if (r < 0)
        tell_if_final(launched);
    return r;
}

/* ---- starting ---- */

static int start(void *data, const struct starter_command *asked,
                 const struct starter_events *events, uint64_t *out_id, struct err *err)
{
    struct launched *launched = data;
    struct launched_less less;
    struct launcher_command request = {
        .argv = asked->argv,
        .cwd = asked->cwd,
        .variables = asked->variables,
        .wants_stdin = asked->has_input,
        .wants_pty = asked->has_terminal,
        .rows = asked->rows,
        .columns = asked->columns,
    };
    struct command *command;
    int r;

    if (launched->is_gone) {
        r = replace(launched, err);
        if (r < 0)
            return r;
    }
    if (launched->narrow != NULL) {
        less.at_most_count = less.denial_count = 0;
        r = launched->narrow(launched->narrow_data, &less, err);
        if (r < 0)
            return r;
        request.at_most = less.at_most;
        request.at_most_count = less.at_most_count;
        request.denials = less.denials;
        request.denial_count = less.denial_count;
    }
    command = malloc(sizeof(*command));
    if (command == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    *command = (struct command){
        .number = ++launched->last_number,
        .asked_ms = loop_now_ms(launched->loop),
        .events = *events,
        .has_terminal = asked->has_terminal,
    };
    r = launcher_start(launched->launcher, command->number, &request, err);
    if (r < 0) {
        free(command);
        return r;
    }
    list_append(&launched->commands, &command->link);
    if (!launched->hang.is_started)
        timer_start(&launched->hang, HANG_MS);
    *out_id = command->number;
    return 0;
}

/* ---- what the launcher tells ---- */

static void close_fds(const struct launcher_fds *fds)
{
    for (size_t i = 0; i < LAUNCHER_MAX_FDS; i++)
        if (fds->fds[i] >= 0)
            close(fds->fds[i]);
}

/* We cannot open more files: a command whose output nobody can read must not continue. */
static void give_up_start(struct launched *launched, struct command *command)
{
    struct err err = ERR_INIT;

    command->is_forgotten = true;
    kill_now(launched, command);
    err_set_plain(&err, ERR_TOO_MANY_FILES);
    command->events.on_started(command->events.data, err.code, &err,
                               (struct starter_fds){-1, -1, -1});
}

static void on_start_told(struct launched *launched, struct command *command,
                          const struct launcher_fds *fds)
{
    struct starter_fds ours = {fds->fds[0], fds->fds[1], fds->fds[2]};

    command->is_started = true;
    if (command->is_forgotten) {
        close_fds(fds);
        return;
    }
    if (command->has_terminal)
        ours = (struct starter_fds){.input = -1, .output = fds->fds[0], .errors = -1};
    if (ours.output < 0) {
        give_up_start(launched, command);
        return;
    }
    command->events.on_started(command->events.data, 0, NULL, ours);
}

/* Unlinks the command before reporting its end. */
static void end(struct command *command, const struct err *refusal, struct starter_end how)
{
    const struct command told = *command;

    drop(command);
    if (told.is_forgotten)
        return;
    if (told.is_started)
        told.events.on_ended(told.events.data, how);
    else
        told.events.on_started(told.events.data, refusal->code, refusal,
                               (struct starter_fds){-1, -1, -1});
}

static void take_notice(struct launched *launched, const struct launcher_notice *notice,
                        const struct launcher_fds *fds)
{
    struct command *command = find(launched, notice->number);
    struct err unknown = ERR_INIT;

    /* Not requested, or already started: what came with it is closed. */
    if (command == NULL || (notice->kind == LAUNCHER_STARTED && command->is_started)) {
        if (notice->kind == LAUNCHER_STARTED)
            close_fds(fds);
        return;
    }
    switch (notice->kind) {
    case LAUNCHER_STARTED:
        on_start_told(launched, command, fds);
        break;
    case LAUNCHER_REFUSED:
        end(command, &notice->err, (struct starter_end){0});
        break;
    case LAUNCHER_ENDED:
        /* Without a start before it, it is unclear what happened. */
        err_set_plain(&unknown, ERR_IO);
        end(command, &unknown,
            (struct starter_end){.is_signal = notice->is_signal, .value = notice->value});
        break;
    }
}

static void on_ready(void *data)
{
    struct launched *launched = data;
    struct launcher_notice notice;
    struct launcher_fds fds;
    int r = 0;

    for (int i = 0; i < NOTICES_MAX && r == 0; i++) {
        r = launcher_read(launched->launcher, &notice, &fds);
        if (r == 0)
            take_notice(launched, &notice, &fds);
    }
    if (r == 0 || r == ERR_NOT_FOUND)
        return;
    lose(launched, "has died");
}

/* ---- life ---- */

int launched_new(struct loop *loop, struct launcher *launcher, struct launched **out_launched)
{
    struct launched *launched = calloc(1, sizeof(*launched));
    int r;

    if (launched == NULL)
        return ERR_NO_MEMORY;
    launched->loop = loop;
    launched->launcher = launcher;
    launched->starter =
        (struct starter){.start = start, .signal = send_signal, .forget = forget, .data = launched};
    list_init(&launched->commands);
    timer_init(&launched->retry, loop, retry_kills, launched);
    timer_init(&launched->hang, loop, on_hang, launched);
    r = ready_watch_new(loop, launcher_fd(launcher), on_ready, launched, &launched->watch);
    if (r < 0) {
        free(launched);
        return r;
    }
    *out_launched = launched;
    return 0;
}

void launched_free(struct launched *launched)
{
    if (launched == NULL)
        return;
    ready_watch_free(launched->watch);
    timer_stop(&launched->retry);
    timer_stop(&launched->hang);
    while (!list_is_empty(&launched->commands)) {
        struct command *command = list_entry(launched->commands.next, struct command, link);

        assert(command->is_forgotten);
        drop(command);
    }
    free(launched);
}

const struct starter *launched_starter(const struct launched *launched)
{
    return &launched->starter;
}

void launched_set_narrow(struct launched *launched, launched_narrow_fn *narrow, void *data)
{
    launched->narrow = narrow;
    launched->narrow_data = data;
}

void launched_set_final(struct launched *launched, launched_final_fn *final, void *data)
{
    launched->final = final;
    launched->final_data = data;
}
