/* SPDX-License-Identifier: Apache-2.0 */
#include "child.h"

#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "isolate/box/internal.h"
#include "isolate/confine.h"
#include "isolate/landlock.h"
#include "isolate/launcher/launcher.h"

enum { OUTPUT_BYTES = 4096 };

/* The words of a command for a shell. */
#define SH(text) ((const char *const[]){"/bin/sh", "-c", (text), NULL})

static const char *const envelope_env[] = {"PATH=/usr/bin:/bin", "ONE=1", "TWO=2", NULL};

static struct launcher *launcher_denying(const struct box_place *places, size_t count,
                                         const struct box_denial *denials, size_t denial_count)
{
    const struct box_plan plan = {.places = places,
                                  .place_count = count,
                                  .may_lack_landlock = landlock_abi() < LANDLOCK_MIN_ABI};
    const struct launcher_envelope envelope = {
        .plan = &plan, .env = envelope_env, .denials = denials, .denial_count = denial_count};
    struct launcher *launcher = NULL;
    struct err err = ERR_INIT;

    if (launcher_new(&envelope, &launcher, &err) < 0)
        fail_msg("%s", err.message);
    return launcher;
}

static struct launcher *launcher_for(const struct box_place *places, size_t count)
{
    return launcher_denying(places, count, NULL, 0);
}

/* The next notice, waited for. */
static int next(struct launcher *launcher, struct launcher_notice *out_notice,
                struct launcher_fds *out_fds)
{
    int r;

    while ((r = launcher_read(launcher, out_notice, out_fds)) == ERR_NOT_FOUND) {
        struct pollfd wait = {.fd = launcher_fd(launcher), .events = POLLIN};

        (void)poll(&wait, 1, -1);
    }
    return r;
}

static void read_all(int fd, char out_text[OUTPUT_BYTES])
{
    size_t len = 0;

    for (;;) {
        struct pollfd wait = {.fd = fd, .events = POLLIN};
        ssize_t got = read(fd, out_text + len, OUTPUT_BYTES - 1 - len);

        if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR))
            break;
        len += got > 0 ? (size_t)got : 0;
        (void)poll(&wait, 1, -1);
    }
    out_text[len] = '\0';
}

static void close_fds(const struct launcher_fds *fds)
{
    for (int i = 0; i < LAUNCHER_MAX_FDS; i++)
        if (fds->fds[i] >= 0)
            close(fds->fds[i]);
}

static void start(struct launcher *launcher, uint32_t number,
                  const struct launcher_command *command, struct launcher_fds *out_fds)
{
    struct launcher_notice notice;

    assert_int_equal(launcher_start(launcher, number, command, NULL), 0);
    assert_int_equal(next(launcher, &notice, out_fds), 0);
    if (notice.kind != LAUNCHER_STARTED)
        fail_msg("%s", notice.err.message);
    assert_int_equal(notice.number, number);
}

static struct launcher_notice end_of(struct launcher *launcher, uint32_t number)
{
    struct launcher_notice notice;
    struct launcher_fds fds;

    assert_int_equal(next(launcher, &notice, &fds), 0);
    assert_int_equal(notice.kind, LAUNCHER_ENDED);
    assert_int_equal(notice.number, number);
    return notice;
}

static void commands_give_their_output_and_their_end(void **state)
{
    static const char *const variables[] = {"TWO=zwei", "THREE=3", NULL};
    struct launcher *launcher;
    struct launcher_command command = {
        .argv = SH("echo $ONE $TWO $THREE; echo err >&2; cat; exit 3"),
        .cwd = "/",
        .variables = variables,
        .wants_stdin = true,
    };
    struct launcher_notice notice;
    struct launcher_fds fds;
    char output[OUTPUT_BYTES];

    (void)state;
    skip_without_boxes();
    launcher = launcher_for(NULL, 0);
    start(launcher, 5, &command, &fds);
    assert_int_equal(write(fds.fds[0], "typed\n", 6), 6);
    close(steal_fd(&fds.fds[0]));
    read_all(fds.fds[1], output);
    assert_string_equal(output, "1 zwei 3\ntyped\n");
    read_all(fds.fds[2], output);
    assert_string_equal(output, "err\n");
    notice = end_of(launcher, 5);
    assert_true(!notice.is_signal && notice.value == 3);
    close_fds(&fds);

    /* Without stdin there is none to be written to. */
    command.wants_stdin = false;
    start(launcher, 5, &command, &fds);
    assert_int_equal(fds.fds[0], -1);
    read_all(fds.fds[1], output);
    assert_string_equal(output, "1 zwei 3\n");
    (void)end_of(launcher, 5);
    close_fds(&fds);
    launcher_free(launcher);
}

/* Whatever the places say: above one, in one, by a link, and what is not there. */
static void what_is_denied_lies_over_all_places(void **state)
{
    const struct place *place = *state;
    char secret[PLACE_PATH_BYTES + 16];
    char fixed[PLACE_PATH_BYTES + 16];
    char linked[PLACE_PATH_BYTES + 16];
    char missing[PLACE_PATH_BYTES + 16];
    const struct box_place places[] = {{.path = place->base, .access = BOX_WRITE},
                                       {.path = place->inside, .access = BOX_WRITE}};
    const struct box_denial denials[] = {{missing, BOX_HIDDEN, false},
                                         {fixed, BOX_READ, false},
                                         {secret, BOX_HIDDEN, false},
                                         {linked, BOX_HIDDEN, false}};
    struct launcher *launcher;
    const struct launcher_command command = {
        .argv = SH("cat outside/secret inside/a/hidden; cat inside/a/f; echo 2 > inside/a/f;"
                   "mv inside/a inside/c; rm inside/a/f; echo 2 > inside/new; echo done"),
        .cwd = place->base};
    /* What one command is denied besides. */
    const struct box_denial besides = {fixed, BOX_HIDDEN, false};
    const struct launcher_command more = {
        .argv = command.argv, .cwd = place->base, .denials = &besides, .denial_count = 1};
    struct launcher_fds fds;
    char output[OUTPUT_BYTES];

    skip_without_boxes();
    snprintf(secret, sizeof(secret), "%s/secret", place->outside);
    snprintf(fixed, sizeof(fixed), "%s/a", place->inside);
    snprintf(linked, sizeof(linked), "%s/link/a/hidden", place->base);
    snprintf(missing, sizeof(missing), "%s/missing", place->inside);
    assert_int_equal(symlinkat("inside", place->base_fd, "link"), 0);
    place_write(place->base_fd, "inside/a/f", "kept\n");
    place_write(place->base_fd, "inside/a/hidden", "hidden\n");
    launcher = launcher_denying(places, 2, denials, 4);
    start(launcher, 1, &command, &fds);
    read_all(fds.fds[1], output);
    assert_string_equal(output, "kept\ndone\n");
    (void)end_of(launcher, 1);
    close_fds(&fds);
    start(launcher, 2, &more, &fds);
    read_all(fds.fds[1], output);
    assert_string_equal(output, "done\n");
    (void)end_of(launcher, 2);
    close_fds(&fds);
    launcher_free(launcher);
    assert_int_equal(faccessat(place->base_fd, "inside/a/f", F_OK, 0), 0);
    assert_int_equal(faccessat(place->base_fd, "inside/new", F_OK, 0), 0);
}

/* Nothing can lie over the root of a file system tree: no command is better than that. */
static void who_denies_everything_has_no_commands(void **state)
{
    const struct box_denial everything = {"/", BOX_HIDDEN, false};
    const struct launcher_command command = {.argv = SH("true"), .cwd = "/"};
    struct launcher_notice notice;
    struct launcher_fds fds;
    struct launcher *launcher;

    (void)state;
    skip_without_boxes();
    launcher = launcher_denying(NULL, 0, &everything, 1);
    assert_int_equal(launcher_start(launcher, 1, &command, NULL), 0);
    assert_int_equal(next(launcher, &notice, &fds), 0);
    assert_int_equal(notice.kind, LAUNCHER_REFUSED);
    assert_non_null(strstr(notice.err.message, "whole file system"));
    launcher_free(launcher);
}

static void a_terminal_comes_alone(void **state)
{
    struct launcher *launcher;
    const struct launcher_command command = {
        .argv = SH("stty size; tty"), .cwd = "/", .wants_pty = true, .rows = 10, .columns = 20};
    struct launcher_fds fds;
    char output[OUTPUT_BYTES];

    (void)state;
    skip_without_boxes();
    launcher = launcher_for(NULL, 0);
    start(launcher, 1, &command, &fds);
    assert_true(fds.fds[0] >= 0 && fds.fds[1] < 0 && fds.fds[2] < 0);
    read_all(fds.fds[0], output);
    assert_non_null(strstr(output, "10 20"));
    assert_non_null(strstr(output, "/dev/pts/"));
    (void)end_of(launcher, 1);
    close_fds(&fds);
    launcher_free(launcher);
}

static void a_kill_ends_everything(void **state)
{
    struct launcher *launcher;
    const struct launcher_command command = {
        .argv = SH("echo partial; setsid sleep 1000 & sleep 1000"), .cwd = "/"};
    struct launcher_notice notice;
    struct launcher_fds fds;
    char output[OUTPUT_BYTES];

    (void)state;
    skip_without_boxes();
    launcher = launcher_for(NULL, 0);
    start(launcher, 1, &command, &fds);
    assert_int_equal(launcher_signal(launcher, 1, SIGKILL), 0);
    /* To the end of the pipe, which the detached one holds as well. */
    read_all(fds.fds[1], output);
    assert_true(strcmp(output, "partial\n") == 0 || output[0] == '\0');
    notice = end_of(launcher, 1);
    assert_true(notice.is_signal && notice.value == SIGKILL);
    close_fds(&fds);
    launcher_free(launcher);
}

static void signals_reach_one_command(void **state)
{
    struct launcher *launcher;
    const struct launcher_command command = {
        .argv = SH("trap 'exit 9' INT; echo ready; while :; do sleep 0.01; done"), .cwd = "/"};
    struct launcher_notice notice;
    struct launcher_fds one;
    struct launcher_fds other;
    struct pollfd wait;

    (void)state;
    skip_without_boxes();
    launcher = launcher_for(NULL, 0);
    start(launcher, 1, &command, &one);
    start(launcher, 2, &command, &other);
    wait = (struct pollfd){.fd = one.fds[1], .events = POLLIN};
    assert_int_equal(poll(&wait, 1, -1), 1);
    assert_int_equal(launcher_signal(launcher, 99, SIGINT), 0); /* nobody */
    assert_int_equal(launcher_signal(launcher, 1, SIGINT), 0);
    notice = end_of(launcher, 1);
    assert_true(!notice.is_signal && notice.value == 9);
    assert_int_equal(launcher_signal(launcher, 2, SIGKILL), 0);
    notice = end_of(launcher, 2);
    assert_true(notice.is_signal && notice.value == SIGKILL);
    close_fds(&one);
    close_fds(&other);
    launcher_free(launcher);
}

static void requests_take_away_and_add_nothing(void **state)
{
    static const enum box_access more[] = {BOX_WRITE, BOX_WRITE};
    static const enum box_access less[] = {BOX_READ, BOX_HIDDEN};
    const struct place *place = *state;
    const struct box_place places[] = {{.path = place->inside, .access = BOX_WRITE},
                                       {.path = place->outside, .access = BOX_READ}};
    struct launcher *launcher;
    struct launcher_command command = {
        .argv = SH("echo 2 > inside/new && echo wrote; echo 2 > outside/new; cat outside/secret"),
        .cwd = place->base,
        .at_most = more,
        .at_most_count = 2,
    };
    struct launcher_fds fds;
    char output[OUTPUT_BYTES];

    skip_without_boxes();
    launcher = launcher_for(places, 2);
    start(launcher, 1, &command, &fds);
    read_all(fds.fds[1], output);
    assert_string_equal(output, "wrote\nsecret");
    (void)end_of(launcher, 1);
    close_fds(&fds);
    assert_int_equal(faccessat(place->base_fd, "inside/new", F_OK, 0), 0);
    assert_int_equal(faccessat(place->base_fd, "outside/new", F_OK, 0), -1);

    command.at_most = less;
    start(launcher, 1, &command, &fds);
    read_all(fds.fds[1], output);
    assert_string_equal(output, "");
    (void)end_of(launcher, 1);
    close_fds(&fds);
    launcher_free(launcher);
}

static void what_cannot_be_started_is_refused(void **state)
{
    static const char *const missing[] = {"no-such-command", NULL};
    const struct launcher_command sleeping = {.argv = SH("sleep 1000"), .cwd = "/"};
    const struct launcher_command unknown = {.argv = missing, .cwd = "/"};
    struct launcher *launcher;
    struct launcher_notice notice;
    struct launcher_fds fds;
    struct launcher_fds none;

    (void)state;
    skip_without_boxes();
    launcher = launcher_for(NULL, 0);
    start(launcher, 1, &sleeping, &fds);
    assert_int_equal(launcher_start(launcher, 1, &sleeping, NULL), 0);
    assert_int_equal(next(launcher, &notice, &none), 0);
    assert_true(notice.kind == LAUNCHER_REFUSED && notice.err.code == ERR_ALREADY_EXISTS);
    assert_int_equal(launcher_start(launcher, 2, &unknown, NULL), 0);
    assert_int_equal(next(launcher, &notice, &none), 0);
    assert_true(notice.kind == LAUNCHER_REFUSED && notice.err.code == ERR_NOT_FOUND);
    assert_string_equal(notice.err.field, "command");
    close_fds(&fds);
    launcher_free(launcher);
}

static void a_launcher_ends_with_its_client(void **state)
{
    const struct launcher_command command = {.argv = SH("echo ready; sleep 1000"), .cwd = "/"};
    char output[OUTPUT_BYTES];
    struct launcher_fds fds;
    struct launcher *launcher;
    struct pollfd wait;

    (void)state;
    skip_without_boxes();
    launcher = launcher_for(NULL, 0);
    start(launcher, 1, &command, &fds);
    wait = (struct pollfd){.fd = fds.fds[1], .events = POLLIN};
    assert_int_equal(poll(&wait, 1, -1), 1);
    launcher_free(launcher);
    read_all(fds.fds[1], output);
    assert_string_equal(output, "ready\n");
    close_fds(&fds);
}

static void no_command_outlives_the_launcher_that_was_freed(void **state)
{
    const struct launcher_command command = {
        .argv = SH("for i in 1 2 3 4 5 6 7 8 9; do sleep 1000 & sleep 1000 & sleep 1000 & done; "
                   "echo ready; wait"),
        .cwd = "/"};
    struct launcher_fds fds;
    struct launcher *launcher;
    struct pollfd wait;
    char ready[sizeof("ready")];

    (void)state;
    skip_without_boxes();
    launcher = launcher_for(NULL, 0);
    start(launcher, 1, &command, &fds);
    wait = (struct pollfd){.fd = fds.fds[1], .events = POLLIN};
    assert_int_equal(poll(&wait, 1, -1), 1);
    assert_int_equal(read(fds.fds[1], ready, sizeof(ready)), sizeof(ready));
    launcher_free(launcher);
    /* Each of them had the other end of it. */
    assert_int_equal(poll(&wait, 1, 0), 1);
    assert_true((wait.revents & POLLHUP) != 0);
    close_fds(&fds);
}

static void what_is_held_lasts_as_long_as_what_was_started(void **state)
{
    const struct launcher_command command = {.argv = SH("echo ready; sleep 1000"), .cwd = "/"};
    const struct box_plan plan = {.may_lack_landlock = landlock_abi() < LANDLOCK_MIN_ABI};
    struct launcher_envelope envelope = {.plan = &plan, .env = envelope_env};
    struct launcher_fds fds;
    struct launcher *launcher;
    struct pollfd wait;
    int ends[2];

    (void)state;
    skip_without_boxes();
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    envelope.held_fd = ends[1];
    assert_int_equal(launcher_new(&envelope, &launcher, NULL), 0);
    close(ends[1]);
    start(launcher, 1, &command, &fds);
    wait = (struct pollfd){.fd = ends[0], .events = POLLIN};
    assert_int_equal(poll(&wait, 1, 0), 0);
    launcher_free(launcher);
    assert_int_equal(poll(&wait, 1, 0), 1);
    assert_true((wait.revents & POLLHUP) != 0);
    close(ends[0]);
    close_fds(&fds);
}

static void a_launcher_does_not_serve_nonsense(void **state)
{
    struct launcher *launcher;
    struct launcher_notice notice;
    struct launcher_fds fds;

    (void)state;
    launcher = launcher_for(NULL, 0);
    assert_int_equal(send(launcher_fd(launcher), "nonsense", 8, MSG_NOSIGNAL), 8);
    assert_int_equal(next(launcher, &notice, &fds), ERR_IO);
    launcher_free(launcher);
}

/* The client's side needs no more than what is left inside the walls. */
static void confined_client(void *data)
{
    const struct launcher_command command = {.argv = SH("echo out"), .cwd = "/"};
    struct launcher *launcher = data;
    const struct confine_plan plan = {.passes_messages = true, .has_closed_fds = true};
    struct confine_report report;
    struct launcher_notice notice;
    struct launcher_fds fds;
    char output[OUTPUT_BYTES];

    expect(confine_process(&plan, &report, NULL) == 0);
    expect(launcher_start(launcher, 1, &command, NULL) == 0);
    expect(next(launcher, &notice, &fds) == 0 && notice.kind == LAUNCHER_STARTED);
    read_all(fds.fds[1], output);
    expect(strcmp(output, "out\n") == 0);
    expect(next(launcher, &notice, &fds) == 0 && notice.kind == LAUNCHER_ENDED);
    expect(launcher_renew(launcher, NULL) == 0);
    expect(launcher_start(launcher, 1, &command, NULL) == 0);
    expect(next(launcher, &notice, &fds) == 0 && notice.kind == LAUNCHER_STARTED);
}

/* The youngest child of a process: one before it may not have been waited for yet. */
static pid_t child_of(pid_t pid)
{
    char path[64];
    char text[64];
    ssize_t got;
    int fd;

    snprintf(path, sizeof(path), "/proc/%d/task/%d/children", pid, pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    got = read(fd, text, sizeof(text) - 1);
    assert_true(got > 0);
    text[got - 1] = '\0'; /* for the blank at its end */
    close(fd);
    return (pid_t)strtol(strrchr(text, ' ') != NULL ? strrchr(text, ' ') : text, NULL, 10);
}

static void assert_works(struct launcher *launcher, uint32_t number)
{
    const struct launcher_command command = {.argv = SH("echo out"), .cwd = "/"};
    struct launcher_fds fds;
    char output[OUTPUT_BYTES];

    start(launcher, number, &command, &fds);
    read_all(fds.fds[1], output);
    assert_string_equal(output, "out\n");
    close_fds(&fds);
    (void)end_of(launcher, number);
}

static void one_that_was_killed_is_replaced(void **state)
{
    struct launcher *launcher;
    struct launcher_notice notice;
    struct launcher_fds fds;

    (void)state;
    skip_without_boxes();
    launcher = launcher_for(NULL, 0);
    assert_works(launcher, 1);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(kill(child_of(child_of(getpid())), SIGKILL), 0);
        assert_int_equal(next(launcher, &notice, &fds), ERR_IO);
        assert_int_equal(launcher_renew(launcher, NULL), 0);
        assert_works(launcher, 1);
    }
    launcher_free(launcher);
}

/* It hangs; what it ran goes with it. */
static void one_that_stands_still_is_replaced(void **state)
{
    const struct launcher_command command = {.argv = SH("echo $$; sleep 1000"), .cwd = "/"};
    struct launcher *launcher;
    struct launcher_fds fds;
    char output[OUTPUT_BYTES];

    (void)state;
    skip_without_boxes();
    launcher = launcher_for(NULL, 0);
    start(launcher, 1, &command, &fds);
    assert_int_equal(kill(child_of(child_of(getpid())), SIGSTOP), 0);
    assert_int_equal(launcher_renew(launcher, NULL), 0);
    read_all(fds.fds[1], output); /* to its end */
    close_fds(&fds);
    assert_works(launcher, 1);
    launcher_free(launcher);
}

static void without_the_guard_there_is_none(void **state)
{
    struct launcher *launcher;
    struct launcher_notice notice;
    struct launcher_fds fds;

    (void)state;
    launcher = launcher_for(NULL, 0);
    assert_false(launcher_is_final(launcher));
    assert_int_equal(kill(child_of(getpid()), SIGKILL), 0);
    assert_int_equal(next(launcher, &notice, &fds), ERR_IO);
    assert_true(launcher_is_final(launcher));
    assert_int_equal(launcher_renew(launcher, NULL), ERR_IO);
    assert_true(launcher_is_final(launcher));
    assert_int_equal(launcher_renew(launcher, NULL), ERR_IO);
    launcher_free(launcher);
}

static int next_free_fd(void)
{
    int fd = dup(STDERR_FILENO);

    assert_true(fd >= 0);
    close(fd);
    return fd;
}

/* A client that may open one descriptor more, where three would come. */
static void descriptors_come_all_or_not_at_all(void **state)
{
    const struct launcher_command command = {.argv = SH("cat"), .cwd = "/", .wants_stdin = true};
    struct launcher *launcher;
    struct launcher_fds fds;
    struct rlimit before;
    struct rlimit tight;
    int free_fd;

    (void)state;
    skip_without_boxes();
    launcher = launcher_for(NULL, 0);
    free_fd = next_free_fd();
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    tight = (struct rlimit){.rlim_cur = (rlim_t)free_fd + 1, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &tight), 0);
    start(launcher, 1, &command, &fds);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    for (int i = 0; i < LAUNCHER_MAX_FDS; i++)
        assert_int_equal(fds.fds[i], -1);
    assert_int_equal(next_free_fd(), free_fd);
    assert_int_equal(launcher_signal(launcher, 1, SIGKILL), 0);
    (void)end_of(launcher, 1);
    launcher_free(launcher);
}

static void make_and_confine(void *data)
{
    (void)data;
    confined_client(launcher_for(NULL, 0));
}

static void a_confined_process_has_commands_run(void **state)
{
    (void)state;
    skip_without_boxes();
    in_child(make_and_confine, NULL);
}

TEST_MAIN(cmocka_unit_test(commands_give_their_output_and_their_end),
          place_test(what_is_denied_lies_over_all_places),
          cmocka_unit_test(who_denies_everything_has_no_commands),
          cmocka_unit_test(a_terminal_comes_alone), cmocka_unit_test(a_kill_ends_everything),
          cmocka_unit_test(signals_reach_one_command),
          place_test(requests_take_away_and_add_nothing),
          cmocka_unit_test(what_cannot_be_started_is_refused),
          cmocka_unit_test(a_launcher_ends_with_its_client),
          cmocka_unit_test(no_command_outlives_the_launcher_that_was_freed),
          cmocka_unit_test(what_is_held_lasts_as_long_as_what_was_started),
          cmocka_unit_test(a_launcher_does_not_serve_nonsense),
          cmocka_unit_test(one_that_was_killed_is_replaced),
          cmocka_unit_test(one_that_stands_still_is_replaced),
          cmocka_unit_test(without_the_guard_there_is_none),
          cmocka_unit_test(descriptors_come_all_or_not_at_all),
          cmocka_unit_test(a_confined_process_has_commands_run))
