/* SPDX-License-Identifier: Apache-2.0 */
/* Commands without a sandbox: nothing is restricted, and what still applies. */
#include "child.h"

#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>

#include "base/cleanup.h"
#include "isolate/box/box.h"
#include "isolate/launcher/launcher.h"
#include "isolate/sanitized.h"

enum { OUTPUT_BYTES = 8192, MAX_TOLD = 4 };

static const char *const plain_env[] = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "SEEN=yes", NULL};

/* A command, and what came of it. */
struct trial {
    const char *script;
    const char *const *argv; /* in place of the script */
    const char *cwd;
    struct box_place place;
    struct cgroup_limits limits;
    bool wants_pty;
    struct err err;
    struct box_end end;
    char output[OUTPUT_BYTES];
};

/* What leaves its session, its parents and its streams behind, and says its number before that. */
#define DAEMON "$(setsid sh -c '(sleep 1000 </dev/null >/dev/null 2>&1 & echo $!)')"
/* The same at the end of a living line of sessions. */
#define DEEP_DAEMON                                                                                \
    "$(setsid sh -c 'setsid sh -c \"setsid sleep 1000 >/dev/null 2>&1 & echo \\$!;"                \
    " exec >/dev/null 2>&1; wait\" & exec >/dev/null 2>&1; wait' &)"

static struct box *make_box(struct trial *trial)
{
    const struct box_plan plan = {.places = &trial->place,
                                  .place_count = trial->place.path != NULL ? 1 : 0,
                                  .limits = trial->limits,
                                  .is_open = true};
    struct box *box = NULL;

    if (box_new(&plan, &box, &trial->err) < 0)
        fail_msg("%s", trial->err.message);
    return box;
}

static void read_all(int fd, char *out_text, size_t size)
{
    size_t len = 0;

    for (;;) {
        struct pollfd wait = {.fd = fd, .events = POLLIN};
        ssize_t got = read(fd, out_text + len, size - 1 - len);

        if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR))
            break;
        len += got > 0 ? (size_t)got : 0;
        (void)poll(&wait, 1, -1);
    }
    out_text[len] = '\0';
}

static void read_line(int fd, char *out_line, size_t size)
{
    size_t len = 0;

    while (len < size - 1 && read(fd, out_line + len, 1) == 1 && out_line[len] != '\n')
        len++;
    out_line[len] = '\0';
}

static int start_in(struct box *box, struct trial *trial, int output_fd,
                    struct box_process *out_process)
{
    const char *shell[] = {"sh", "-c", trial->script, NULL};
    struct box_command command = {.argv = trial->argv != NULL ? trial->argv : shell,
                                  .env = plain_env,
                                  .cwd = trial->cwd != NULL ? trial->cwd : "/",
                                  .fds = {BOX_FD_NULL, output_fd, output_fd},
                                  .rows = 30,
                                  .columns = 100};

    for (int i = 0; i < 3 && trial->wants_pty; i++)
        command.fds[i] = BOX_FD_PTY;
    return box_start(box, &command, out_process, &trial->err);
}

static int run(struct trial *trial)
{
    struct box *box = make_box(trial);
    struct box_process process = BOX_PROCESS_INIT;
    int ends[2] = {-1, -1};
    int r = pipe2(ends, O_CLOEXEC) < 0 ? ERR_IO : start_in(box, trial, ends[1], &process);

    close(ends[1]);
    if (r == 0) {
        read_all(trial->wants_pty ? process.pty : ends[0], trial->output, sizeof(trial->output));
        box_finish(&process, &trial->end);
    }
    close(ends[0]);
    box_free(box);
    return r;
}

#define assert_runs(trial)                                                                         \
    do {                                                                                           \
        if (run(&(trial)) < 0)                                                                     \
            fail_msg("%s", (trial).err.message);                                                   \
    } while (0)

#define assert_says(trial, text)                                                                   \
    do {                                                                                           \
        if (strstr((trial).output, (text)) == NULL)                                                \
            fail_msg("\"%s\" is missing in: %s", (text), (trial).output);                          \
    } while (0)

/* Numbers of processes, separated by white space. */
static size_t numbers_in(const char *text, pid_t out_pids[MAX_TOLD])
{
    size_t count = 0;
    char *end;

    for (long pid; count < MAX_TOLD && (pid = strtol(text, &end, 10)) > 0; text = end)
        out_pids[count++] = (pid_t)pid;
    return count;
}

/* All that were told of are gone already. */
static void assert_gone(const char *text, size_t count)
{
    pid_t pids[MAX_TOLD];

    assert_int_equal(numbers_in(text, pids), count);
    for (size_t i = 0; i < count; i++) {
        errno = 0;
        assert_int_equal(kill(pids[i], 0), -1);
        assert_int_equal(errno, ESRCH);
    }
}

/* ---- What a command finds ---- */

static void a_command_runs_and_its_end_is_told(void **state)
{
    struct trial trial = {.script = "echo out; echo err >&2; echo $SEEN; pwd; exit 7",
                          .cwd = "/usr"};

    (void)state;
    assert_runs(trial);
    assert_string_equal(trial.output, "out\nerr\nyes\n/usr\n");
    assert_true(trial.end.is_known && !trial.end.is_signal);
    assert_int_equal(trial.end.value, 7);

    trial = (struct trial){.script = "kill -TERM $$"};
    assert_runs(trial);
    assert_true(trial.end.is_known && trial.end.is_signal);
    assert_int_equal(trial.end.value, SIGTERM);
}

static const char look_around[] =
    "for n in user mnt pid net ipc uts cgroup; do readlink /proc/self/ns/$n; done; id;"
    "grep -E '^(Cap|NoNewPrivs|Seccomp:)' /proc/self/status";

static void look_outside(void *data)
{
    expect(dup2(*(int *)data, STDOUT_FILENO) == STDOUT_FILENO);
    execl("/bin/sh", "sh", "-c", look_around, NULL);
    expect(false);
}

static void it_runs_as_the_user_does(void **state)
{
    struct trial trial = {.script = look_around};
    char outside[OUTPUT_BYTES];
    int ends[2];

    (void)state;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    in_child(look_outside, &ends[1]);
    close(ends[1]);
    read_all(ends[0], outside, sizeof(outside));
    close(ends[0]);
    assert_runs(trial);
    assert_non_null(strstr(outside, "NoNewPrivs"));
    assert_string_equal(trial.output, outside);
}

static void places_of_the_plan_are_not_held(void **state)
{
    const struct place *place = *state;
    struct trial trial = {
        .place = {.path = "/nowhere/at/all", .access = BOX_WRITE},
        .cwd = place->base,
        .script = "echo 2 > outside/new; cat outside/secret",
    };

    assert_runs(trial);
    assert_string_equal(trial.output, "secret");
    assert_int_equal(faccessat(place->base_fd, "outside/new", F_OK, 0), 0);
}

static void it_gets_the_environment_that_it_is_given_and_no_descriptors(void **state)
{
    static const char *const environment[] = {"env", NULL};
    static const char *const descriptors[] = {"ls", "/proc/self/fd", NULL};
    struct trial trial = {.argv = environment};
    int leaked = open("/", O_RDONLY | O_DIRECTORY); /* NOLINT(android-cloexec-open): on purpose */

    (void)state;
    assert_true(leaked >= 0);
    assert_int_equal(setenv("GATEHOUSE_LEAKED", "yes", 1), 0);
    assert_runs(trial);
    assert_int_equal(unsetenv("GATEHOUSE_LEAKED"), 0);
    assert_string_equal(trial.output, "PATH=/usr/sbin:/usr/bin:/sbin:/bin\nSEEN=yes\n");

    trial = (struct trial){.argv = descriptors};
    assert_runs(trial);
    assert_string_equal(trial.output, "0\n1\n2\n3\n"); /* the last is its own */
    close(leaked);
}

static void run_at_a_terminal(void *data)
{
    struct trial trial = {.script = "cut -d' ' -f6,7 /proc/$$/stat; echo $$;"
                                    "(: </dev/tty) 2>/dev/null || echo none"};
    int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    char name[64];
    long session;
    char *rest;
    int fd;

    (void)data;
    expect(setsid() > 0 && master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0);
    expect(ptsname_r(master, name, sizeof(name)) == 0);
    expect(open(name, O_RDWR | O_CLOEXEC) >= 0); /* becomes the terminal of this session */
    fd = open("/dev/tty", O_RDWR | O_CLOEXEC);
    expect(fd >= 0);
    expect(run(&trial) == 0);
    /* Its session is its own, and has no terminal. */
    session = strtol(trial.output, &rest, 10);
    expect(session > 0 && strncmp(rest, " 0\n", 3) == 0);
    expect(strtol(rest + 3, &rest, 10) == session);
    expect(strcmp(rest, "\nnone\n") == 0);
    /* Nor is the caller's one of its streams. */
    expect(start_in(make_box(&trial), &trial, fd, &(struct box_process)BOX_PROCESS_INIT) ==
           ERR_DENIED_BY_POLICY);
}

static void the_callers_terminal_is_out_of_its_reach(void **state)
{
    (void)state;
    in_child(run_at_a_terminal, NULL);
}

static void a_terminal_can_be_had(void **state)
{
    struct trial trial = {.script = "tty; stty size; echo shown > /dev/tty; exit 4",
                          .wants_pty = true};

    (void)state;
    assert_runs(trial);
    assert_says(trial, "/dev/pts/");
    assert_says(trial, "30 100");
    assert_says(trial, "shown");
    assert_int_equal(trial.end.value, 4);
}

static void commands_that_cannot_start_say_why(void **state)
{
    static const char *const missing[] = {"no-such-command", NULL};
    struct trial trial = {.argv = missing};

    (void)state;
    assert_int_equal(run(&trial), ERR_NOT_FOUND);
    assert_string_equal(trial.err.field, "command");
    trial = (struct trial){.script = "true", .cwd = "/no/such/directory"};
    assert_int_equal(run(&trial), ERR_NOT_FOUND);
    assert_string_equal(trial.err.field, "cwd");
}

static void the_description_is_plain(void **state)
{
    struct trial trial = {0};
    struct box *box = make_box(&trial);
    cleanup_buf struct buf words = BUF_INIT(4096);
    const char *text;

    (void)state;
    assert_int_equal(box_describe(box, &words), 0);
    assert_int_equal(buf_terminate(&words, &text), 0);
    assert_non_null(strstr(text, "NOTHING IS HELD"));
    assert_null(strstr(text, "namespaces"));
    assert_null(strstr(text, "Landlock"));
    box_free(box);
}

static void limits_hold_as_far_as_they_are_said_to(void **state)
{
    struct trial trial = {.script = "for i in 1 2 3 4 5 6 7 8 9 10 11 12; do sleep 1000 & done;"
                                    "echo all of them",
                          .limits = {.processes = 6, .memory_bytes = 64 << 20}};
    struct box *box = make_box(&trial);
    struct box_process process = BOX_PROCESS_INIT;
    cleanup_buf struct buf words = BUF_INIT(4096);
    const char *text;
    int ends[2];

    (void)state;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_int_equal(start_in(box, &trial, ends[1], &process), 0);
    close(ends[1]);
    assert_int_equal(box_describe(box, &words), 0);
    assert_int_equal(buf_terminate(&words, &text), 0);
    read_all(ends[0], trial.output, sizeof(trial.output));
    box_finish(&process, &trial.end);
    close(ends[0]);
    box_free(box);
    assert_true(strstr(text, "memory: limited") != NULL || ISOLATE_IS_SANITIZED);
    /* All that the user runs anywhere would be counted with these: not limited is the truth. */
    assert_null(strstr(text, "processes: limited for each"));
    assert_true((strstr(text, "processes: limited") != NULL) ==
                (strstr(trial.output, "all of them") == NULL));
}

/* ---- How it ends ---- */

static void nothing_outlives_the_command(void **state)
{
    struct trial trial = {.script = "a=" DAEMON "; b=" DEEP_DAEMON
                                    "; (trap '' TERM INT HUP; sleep 1000) &"
                                    "setsid sleep 1000 & echo $a $b; exit 3"};

    (void)state;
    /* The last two hold the pipe that run() reads to its end; the others do not. */
    assert_runs(trial);
    assert_int_equal(trial.end.value, 3);
    assert_gone(trial.output, 2);
}

static void what_always_moves_on_is_caught(void **state)
{
    /* Each forks the next in a session of its own and ends; the last one tells. */
    struct trial trial = {
        .script = "hop='n=$((n - 1)); [ $n -gt 0 ] || exec echo escaped; setsid sh -c \"$hop\" &';"
                  "n=20000; export hop n; setsid sh -c \"$hop\" & exit 0"};

    (void)state;
    assert_runs(trial);
    assert_int_equal(trial.end.value, 0);
    assert_string_equal(trial.output, "");
}

static void signals_reach_the_command(void **state)
{
    struct trial trial = {.script = "trap 'exit 5' TERM; echo; while :; do sleep 0.01; done"};
    struct box *box = make_box(&trial);
    struct box_process process = BOX_PROCESS_INIT;
    char line[64];
    int ends[2];

    (void)state;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_int_equal(start_in(box, &trial, ends[1], &process), 0);
    read_line(ends[0], line, sizeof(line));
    assert_int_equal(box_signal(&process, SIGTERM), 0);
    box_finish(&process, &trial.end);
    assert_true(trial.end.is_known && !trial.end.is_signal && trial.end.value == 5);
    box_free(box);
    close(ends[0]);
    close(ends[1]);
}

/* Also when somebody has stopped the process that is to do it. */
static void killing_takes_all_that_descends_from_the_command(void **state)
{
    (void)state;
    for (int is_stopped = 0; is_stopped < 2; is_stopped++) {
        struct trial trial = {.script = "echo " DAEMON " " DEEP_DAEMON "; sleep 1000"};
        struct box *box = make_box(&trial);
        struct box_process process = BOX_PROCESS_INIT;
        char line[64];
        int ends[2];

        assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
        assert_int_equal(start_in(box, &trial, ends[1], &process), 0);
        close(ends[1]);
        read_line(ends[0], line, sizeof(line));
        if (is_stopped)
            assert_int_equal(kill(process.pid, SIGSTOP), 0);
        assert_int_equal(box_signal(&process, SIGKILL), 0);
        box_finish(&process, &trial.end);
        assert_true(!trial.end.is_known && trial.end.is_signal && trial.end.value == SIGKILL);
        assert_gone(line, 2);
        close(ends[0]);
        box_free(box);
    }
}

static void its_first_process_takes_no_signals_from_it(void **state)
{
    struct trial trial = {.script = "for s in HUP INT QUIT TERM USR1 USR2 PIPE ALRM CHLD; do"
                                    " kill -$s $PPID; done; echo " DAEMON "; exit 6"};

    (void)state;
    assert_runs(trial);
    assert_true(trial.end.is_known && trial.end.value == 6);
    assert_gone(trial.output, 1);
}

static void the_command_dies_with_its_first_process(void **state)
{
    struct trial trial = {.script = "echo; exec sleep 1000"};
    struct box *box = make_box(&trial);
    struct box_process process = BOX_PROCESS_INIT;
    char line[64];
    int ends[2];

    (void)state;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_int_equal(start_in(box, &trial, ends[1], &process), 0);
    close(ends[1]);
    read_line(ends[0], line, sizeof(line));
    assert_int_equal(kill(process.pid, SIGKILL), 0);
    read_all(ends[0], trial.output, sizeof(trial.output));
    box_finish(&process, &trial.end);
    assert_false(trial.end.is_known);
    close(ends[0]);
    box_free(box);
}

static void start_and_stay(struct box *box, struct trial *trial, int output_fd, bool stops_it)
{
    struct box_process process = BOX_PROCESS_INIT;

    expect(setpgid(0, 0) == 0 && start_in(box, trial, output_fd, &process) == 0);
    expect(!stops_it || kill(process.pid, SIGSTOP) == 0);
    expect(write(output_fd, "\n", 1) == 1);
    for (;;)
        pause();
}

/* The starter alone is killed, or all that are in its group; also with the first process stopped.
 */
static void nothing_outlives_its_starter(void **state)
{
    static const struct {
        int sign;
        bool stops_it;
    } ways[] = {{1, false}, {-1, false}, {1, true}};

    (void)state;
    for (size_t way = 0; way < array_size(ways); way++) {
        struct trial trial = {.script = "echo " DAEMON " " DEEP_DAEMON "; sleep 1000"};
        struct box *box = make_box(&trial);
        pid_t pids[MAX_TOLD];
        int pidfds[MAX_TOLD];
        char lines[2][64];
        int ends[2];
        int status;
        pid_t pid;

        assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
        pid = fork();
        assert_true(pid >= 0);
        if (pid == 0)
            start_and_stay(box, &trial, ends[1], ways[way].stops_it);
        close(ends[1]);
        /* The command's, and the empty one of its starter, in any order. */
        read_line(ends[0], lines[0], sizeof(lines[0]));
        read_line(ends[0], lines[1], sizeof(lines[1]));
        assert_int_equal(numbers_in(lines[lines[0][0] == '\0' ? 1 : 0], pids), 2);
        for (int i = 0; i < 2; i++) {
            pidfds[i] = (int)syscall(SYS_pidfd_open, pids[i], 0);
            assert_true(pidfds[i] >= 0);
        }
        assert_int_equal(kill(ways[way].sign * pid, SIGKILL), 0);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        for (int i = 0; i < 2; i++) {
            struct pollfd wait = {.fd = pidfds[i], .events = POLLIN};

            assert_int_equal(poll(&wait, 1, -1), 1);
            close(pidfds[i]);
        }
        read_all(ends[0], trial.output, sizeof(trial.output));
        close(ends[0]);
        box_free(box);
    }
}

/* ---- Other users' processes ---- */

static const char other_user[] =
    "echo $(setpriv --reuid=65534 --clear-groups"
    " sh -c 'echo $$; exec sleep 1000 </dev/null >/dev/null 2>&1' &); exit 2";

static void lose_power_over_others(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2];

    expect(syscall(SYS_capget, &header, data) == 0);
    data[0].effective &= ~(1U << CAP_KILL);
    data[0].permitted &= ~(1U << CAP_KILL);
    expect(syscall(SYS_capset, &header, data) == 0);
}

static void run_without_power(void *data)
{
    struct trial trial = {.script = other_user};
    int out_fd = *(int *)data;

    lose_power_over_others();
    expect(run(&trial) == 0);
    expect(trial.end.is_known && trial.end.value == 2);
    expect(write(out_fd, trial.output, strlen(trial.output)) > 0);
}

/* As with what an ordinary user starts by sudo. */
static void what_became_another_user_is_not_waited_for(void **state)
{
    struct trial trial = {.script = other_user};
    pid_t pids[MAX_TOLD];
    char line[64];
    int ends[2];

    (void)state;
    if (geteuid() != 0)
        skip_because("only root can become others");
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    in_child(run_without_power, &ends[1]);
    read_line(ends[0], line, sizeof(line));
    assert_int_equal(numbers_in(line, pids), 1);
    assert_int_equal(kill(pids[0], SIGKILL), 0);
    close(ends[0]);
    close(ends[1]);

    assert_runs(trial);
    assert_int_equal(trial.end.value, 2);
    assert_gone(trial.output, 1);
}

/* ---- By the launcher ---- */

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

static void a_launcher_starts_them_and_ends_them(void **state)
{
    const struct box_plan plan = {.is_open = true};
    const struct launcher_envelope envelope = {.plan = &plan, .env = plain_env};
    static const char *const words[] = {"/bin/sh", "-c", "echo " DAEMON "; sleep 1000", NULL};
    const struct launcher_command command = {.argv = words, .cwd = "/"};
    struct launcher *launcher = NULL;
    struct launcher_notice notice;
    struct launcher_fds fds;
    struct launcher_fds none;
    char output[OUTPUT_BYTES];
    struct pollfd wait = {.events = POLLIN};

    (void)state;
    assert_int_equal(launcher_new(&envelope, &launcher, NULL), 0);
    assert_int_equal(launcher_start(launcher, 1, &command, NULL), 0);
    assert_int_equal(next(launcher, &notice, &fds), 0);
    assert_int_equal(notice.kind, LAUNCHER_STARTED);
    wait.fd = fds.fds[1];
    assert_int_equal(poll(&wait, 1, -1), 1);
    assert_int_equal(launcher_signal(launcher, 1, SIGKILL), 0);
    read_all(fds.fds[1], output, sizeof(output));
    assert_int_equal(next(launcher, &notice, &none), 0);
    assert_int_equal(notice.kind, LAUNCHER_ENDED);
    assert_true(notice.is_signal && notice.value == SIGKILL);
    assert_gone(output, 1);
    close(fds.fds[1]);
    close(fds.fds[2]);
    launcher_free(launcher);
}

TEST_MAIN(cmocka_unit_test(a_command_runs_and_its_end_is_told),
          cmocka_unit_test(it_runs_as_the_user_does), place_test(places_of_the_plan_are_not_held),
          cmocka_unit_test(it_gets_the_environment_that_it_is_given_and_no_descriptors),
          cmocka_unit_test(the_callers_terminal_is_out_of_its_reach),
          cmocka_unit_test(a_terminal_can_be_had),
          cmocka_unit_test(commands_that_cannot_start_say_why),
          cmocka_unit_test(the_description_is_plain),
          cmocka_unit_test(limits_hold_as_far_as_they_are_said_to),
          cmocka_unit_test(nothing_outlives_the_command),
          cmocka_unit_test(what_always_moves_on_is_caught),
          cmocka_unit_test(signals_reach_the_command),
          cmocka_unit_test(killing_takes_all_that_descends_from_the_command),
          cmocka_unit_test(its_first_process_takes_no_signals_from_it),
          cmocka_unit_test(the_command_dies_with_its_first_process),
          cmocka_unit_test(nothing_outlives_its_starter),
          cmocka_unit_test(what_became_another_user_is_not_waited_for),
          cmocka_unit_test(a_launcher_starts_them_and_ends_them))
