/* SPDX-License-Identifier: Apache-2.0 */
/* The place "inside" is writable in these sandboxes, and "outside" is read-only. */
#include "child.h"

#include <signal.h>
#include <sys/file.h>

#include "isolate/landlock.h"

enum { OUTPUT_BYTES = 4096, WAIT_MS = 50 };

static const char *const plain_env[] = {"PATH=/usr/bin:/bin", NULL};

/* A command that was started, and what it has printed. */
struct running {
    struct box *box;
    struct box_process process;
    int output_fd;
    char output[OUTPUT_BYTES];
    size_t len;
};

/* Opens a file of the test's own side. */
static int open_host(const struct place *place, const char *name)
{
    int fd = openat(place->base_fd, name, O_RDONLY | O_CLOEXEC);

    assert_true(fd >= 0);
    return fd;
}

static bool can_lock(const struct place *place, const char *name)
{
    int fd = open_host(place, name);
    bool is_free = flock(fd, LOCK_EX | LOCK_NB) == 0;

    close(fd);
    return is_free;
}

static void begin(struct running *running, const struct place *place, const char *script)
{
    const struct box_place places[] = {{.path = place->inside, .access = BOX_WRITE},
                                       {.path = place->outside, .access = BOX_READ}};
    const struct box_plan plan = {.places = places,
                                  .place_count = array_size(places),
                                  .may_lack_landlock = landlock_abi() < LANDLOCK_MIN_ABI};
    const char *argv[] = {"sh", "-c", script, NULL};
    struct err err = ERR_INIT;
    int ends[2];
    int r;

    *running = (struct running){.process = BOX_PROCESS_INIT};
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_int_equal(box_new(&plan, &running->box, &err), 0);
    r = box_start(running->box,
                  &(struct box_command){.argv = argv,
                                        .env = plain_env,
                                        .cwd = place->base,
                                        .fds = {BOX_FD_NULL, ends[1], ends[1]}},
                  &running->process, &err);
    close(ends[1]);
    running->output_fd = ends[0];
    if (r < 0)
        fail_msg("%s", err.message);
}

/* Reads up to this text, or to the end if it is NULL. */
static void read_to(struct running *running, const char *text)
{
    ssize_t got;

    while ((text == NULL || strstr(running->output, text) == NULL) &&
           (got = read(running->output_fd, running->output + running->len,
                       OUTPUT_BYTES - 1 - running->len)) > 0) {
        running->len += (size_t)got;
        running->output[running->len] = '\0';
    }
    if (text != NULL && strstr(running->output, text) == NULL)
        fail_msg("\"%s\" is missing in: %s", text, running->output);
}

/* What a command does that runs to its end. */
static const char *finish(struct running *running)
{
    struct box_end end;

    read_to(running, NULL);
    box_finish(&running->process, &end);
    close(running->output_fd);
    box_free(running->box);
    assert_true(end.is_known && !end.is_signal && end.value == 0);
    return running->output;
}

/* The scripts wait for that: until [ -e inside/go ]. */
static void let_go(const struct place *place)
{
    place_write(place->base_fd, "inside/go", "");
}

#define skip_without_questions()                                                                   \
    do {                                                                                           \
        skip_without_boxes();                                                                      \
        if (ISOLATE_IS_SANITIZED)                                                                  \
            skip_because("sanitized sandboxes ask about no locks");                                \
    } while (0)

#define UNTIL_GO "until [ -e inside/go ]; do sleep 0.01; done"

static void a_file_that_is_only_read_cannot_be_locked(void **state)
{
    const struct place *place = *state;
    struct running running;

    skip_without_questions();
    begin(&running, place,
          "for i in outside/secret outside /usr/bin/env /usr /etc/passwd; do"
          " flock -n -x $i echo held || true; done; echo told 1>&2; exec 9< outside/secret;"
          "flock -n -x 9 && echo held; echo done; " UNTIL_GO);
    read_to(&running, "done");
    assert_true(can_lock(place, "outside/secret"));
    assert_true(can_lock(place, "outside"));
    let_go(place);
    finish(&running);
    assert_null(strstr(running.output, "held"));
    assert_non_null(strstr(running.output, "not supported"));
}

/* Programs that only read do that, and must go on working. */
static void a_shared_lock_of_such_a_file_keeps_nobody_out(void **state)
{
    const struct place *place = *state;
    struct running running;

    skip_without_questions();
    begin(&running, place, "flock -n -s outside/secret sh -c 'echo held; " UNTIL_GO "'");
    read_to(&running, "held");
    assert_true(can_lock(place, "outside/secret"));
    let_go(place);
    finish(&running);
}

static void it_still_waits_for_a_writer(void **state)
{
    const struct place *place = *state;
    struct running running;
    int fd;

    skip_without_questions();
    fd = open_host(place, "outside/secret");
    assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
    begin(&running, place,
          "flock -n -s outside/secret true || echo busy;"
          "flock -w 0.1 -s outside/secret true || echo late;"
          "flock -s outside/secret echo held");
    read_to(&running, "late");
    usleep(WAIT_MS * 1000);
    assert_int_equal(flock(fd, LOCK_UN), 0);
    assert_string_equal(finish(&running), "busy\nlate\nheld\n");
    close(fd);
}

static void what_can_be_written_is_locked_as_ever(void **state)
{
    const struct place *place = *state;
    struct running running;
    int fd;

    skip_without_boxes();
    begin(&running, place,
          "exec 9< inside/one 8> /tmp/own; flock -x 8; flock -x 9;"
          "flock -n -x inside/one true || echo excluded; flock -n -x inside true;"
          "flock -n -s inside/one true || echo also; echo held; " UNTIL_GO
          "; flock -u 9; flock -n -x inside/one echo free");
    read_to(&running, "held");
    assert_false(can_lock(place, "inside/one"));
    let_go(place);
    assert_string_equal(finish(&running), "excluded\nalso\nheld\nfree\n");

    /* And the other way round. */
    fd = open_host(place, "inside/one");
    assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
    begin(&running, place, "echo waits; flock -x inside/one echo has it");
    read_to(&running, "waits");
    usleep(WAIT_MS * 1000);
    assert_int_equal(flock(fd, LOCK_UN), 0);
    assert_string_equal(finish(&running), "waits\nhas it\n");
    close(fd);
}

/* Each adds a line to a file that loses some if two do it at a time. */
static void many_that_want_the_same_lock_get_it_in_turn(void **state)
{
    const struct place *place = *state;
    struct running running;

    skip_without_boxes();
    begin(&running, place,
          "echo 0 > inside/count; for i in 1 2 3 4 5 6 7 8; do (for k in 1 2 3 4 5; do"
          " flock inside/lock sh -c 'read n < inside/count; echo $((n + 1)) > inside/count'; done)"
          " & done; wait; cat inside/count");
    assert_string_equal(finish(&running), "40\n");
}

static void who_is_killed_while_it_waits_takes_no_lock(void **state)
{
    const struct place *place = *state;
    struct running running;
    int fd;

    skip_without_boxes();
    fd = open_host(place, "inside/one");
    assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
    begin(&running, place,
          "exec 9< inside/one; for i in 1 2 3; do flock -x inside/one echo wrong & all=\"$all $!\";"
          "done; sleep 0.1; kill -9 $all; wait; echo gone; " UNTIL_GO);
    read_to(&running, "gone");
    assert_int_equal(flock(fd, LOCK_UN), 0);
    usleep(WAIT_MS * 1000);
    assert_true(can_lock(place, "inside/one"));
    let_go(place);
    assert_string_equal(finish(&running), "gone\n");
    close(fd);
}

#if defined(__x86_64__)
#define FLOCK "73"
#define PRCTL "157"
#else
#define FLOCK "32"
#define PRCTL "167"
#endif

static void mistakes_get_the_usual_errors(void **state)
{
    const struct place *place = *state;
    struct running running;

    skip_without_boxes();
    begin(&running, place,
          "perl -e 'open(F, \"<\", \"inside/one\"); $n = fileno(F);"
          "for ([77, 2], [$n, 0], [$n, 64], [$n, 12]) {"
          " print syscall(" FLOCK ", $$_[0], $$_[1]) == 0 ? 0 : $! + 0, \"\\n\" }'");
    assert_string_equal(finish(&running), "9\n22\n22\n0\n");
}

/* Keepers of keys do. */
static void a_process_that_hides_its_memory_can_lock(void **state)
{
    const struct place *place = *state;
    struct running running;

    skip_without_boxes();
    begin(&running, place,
          "perl -e 'syscall(" PRCTL ", 4, 0) == 0 or die; open(F, \"<\", \"inside/one\");"
          "flock(F, 6) or die $!; system(\"flock -n inside/one true\") == 0 or print \"held\"'");
    assert_string_equal(finish(&running), "held");
}

/* Two numbers 50: the first thread's and another's, which has descriptors of its own if that is
 * wished. */
static void begin_thread(struct running *running, const struct place *place, bool is_apart)
{
    static const char script[] = "cd inside; exec python3 -c '\n"
                                 "import ctypes, fcntl, os, threading, time\n"
                                 "def take(name):\n"
                                 "    os.dup2(os.open(name, os.O_RDWR | os.O_CREAT), 50)\n"
                                 "def work():\n"
                                 "    if %d:\n"
                                 "        assert ctypes.CDLL(None).unshare(0x400) == 0\n"
                                 "        take(\"two\")\n"
                                 "    try:\n"
                                 "        fcntl.flock(50, fcntl.LOCK_EX | fcntl.LOCK_NB)\n"
                                 "    except OSError as error:\n"
                                 "        print(error.strerror)\n"
                                 "    print(\"done\", flush=True)\n"
                                 "    while not os.path.exists(\"go\"):\n"
                                 "        time.sleep(0.01)\n"
                                 "take(\"one\")\n"
                                 "thread = threading.Thread(target=work)\n"
                                 "thread.start()\n"
                                 "thread.join()'";
    char text[sizeof(script) + 8];

    snprintf(text, sizeof(text), script, is_apart);
    begin(running, place, text);
    read_to(running, "done");
}

static void a_thread_locks_what_is_open_in_it(void **state)
{
    const struct place *place = *state;
    struct running running;

    skip_without_boxes();
    if (syscall(SYS_pidfd_open, getpid(), O_EXCL) < 0)
        skip_because("the kernel cannot open threads");
    begin_thread(&running, place, true);
    assert_true(can_lock(place, "inside/one"));
    assert_false(can_lock(place, "inside/two"));
    let_go(place);
    assert_string_equal(finish(&running), "done\n");
}

/* Before Linux 6.9. */
static void lack_thread_descriptors(void *data)
{
    const struct place *place = data;
    const struct seccomp_rule rule = {.first = SYS_pidfd_open,
                                      .last = SYS_pidfd_open,
                                      .answer = SECCOMP_RET_ERRNO | EINVAL,
                                      .test_count = 1,
                                      .tests = {{1, UINT32_MAX, O_EXCL}}};
    struct seccomp_program program;
    struct running running;

    expect(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    expect(seccomp_compile(&(struct seccomp_policy){.machine = SECCOMP_ON_THIS,
                                                    .rules = &rule,
                                                    .rule_count = 1,
                                                    .otherwise = SECCOMP_RET_ALLOW},
                           &program, NULL) == 0);
    expect(seccomp_install(&program, NULL) == 0);
    begin_thread(&running, place, false);
    expect(!can_lock(place, "inside/one"));
    let_go(place);
    expect(strcmp(finish(&running), "done\n") == 0);
    expect(unlinkat(place->base_fd, "inside/go", 0) == 0);

    begin_thread(&running, place, true);
    expect(ISOLATE_IS_SANITIZED || can_lock(place, "inside/two"));
    expect(can_lock(place, "inside/one"));
    let_go(place);
    expect(ISOLATE_IS_SANITIZED || strstr(finish(&running), "not supported") != NULL);
}

static void an_older_kernel_takes_no_thread_for_another(void **state)
{
    skip_without_boxes();
    in_child(lack_thread_descriptors, *state);
}

/* It has the name of the first process. Landlock may keep commands from signals to it. */
#define FIND_LOCKER                                                                                \
    "flock inside/one true; for i in /proc/[0-9]*/comm; do"                                        \
    " [ \"$(cat $i)\" != \"$(cat /proc/1/comm)\" ] || locker=${i%/comm}; done;"                    \
    "locker=${locker#/proc/}; [ $locker != 1 ] || exit 1;"

static void a_killed_locker_is_replaced(void **state)
{
    const struct place *place = *state;
    struct running running;

    skip_without_questions();
    begin(&running, place,
          FIND_LOCKER
          "if kill -9 $locker; then while [ -e /proc/$locker ]; do sleep 0.01; done; fi;"
          "flock inside/one echo held; flock -n outside/secret true || echo refused");
    finish(&running);
    assert_non_null(strstr(running.output, "held\n"));
    assert_non_null(strstr(running.output, "refused\n"));
}

/* As one does that closes what the command has made slow to close. */
static void a_locker_that_hangs_keeps_no_sandbox(void **state)
{
    const struct place *place = *state;
    struct running running;

    skip_without_questions();
    begin(&running, place,
          FIND_LOCKER "kill -STOP $locker && flock inside/one echo wrong & sleep 0.05; echo end");
    finish(&running);
    assert_non_null(strstr(running.output, "end\n"));
    assert_null(strstr(running.output, "wrong"));
}

static void many_may_wait_for_a_lock(void **state)
{
    const struct place *place = *state;
    struct running running;
    int fd;

    skip_without_boxes();
    fd = open_host(place, "inside/one");
    assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
    begin(&running, place,
          "for i in 1 2 3 4 5 6 7 8 9 10; do for k in 1 2 3 4 5 6 7 8 9 10; do"
          " flock inside/one true || echo failed & done; done; echo wait; wait; echo done");
    read_to(&running, "wait");
    usleep(WAIT_MS * 1000);
    assert_int_equal(flock(fd, LOCK_UN), 0);
    close(fd);
    assert_string_equal(finish(&running), "wait\ndone\n");
}

/* As in a container whose manager decides about system calls. */
static void have_another_listener(void *data)
{
    const struct seccomp_rule rule = {
        .first = SYS_acct, .last = SYS_acct, .answer = SECCOMP_RET_USER_NOTIF};
    struct seccomp_program program;
    cleanup_buf struct buf words = BUF_INIT(4096);
    const char *text;
    struct running running;

    expect(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    expect(seccomp_compile(&(struct seccomp_policy){.machine = SECCOMP_ON_THIS,
                                                    .rules = &rule,
                                                    .rule_count = 1,
                                                    .otherwise = SECCOMP_RET_ALLOW},
                           &program, NULL) == 0);
    expect(seccomp_install_listener(&program) >= 0);
    begin(&running, data, "flock -n -x inside/one echo held");
    expect(box_describe(running.box, &words) == 0 && buf_terminate(&words, &text) == 0);
    expect(strstr(text, "flock: NOT CHECKED") != NULL);
    expect(strcmp(finish(&running), "held\n") == 0);
}

static void where_another_program_decides_commands_still_run(void **state)
{
    skip_without_boxes();
    in_child(have_another_listener, *state);
}

#define with_place(test) cmocka_unit_test_setup_teardown(test, place_setup, place_teardown)

TEST_MAIN(with_place(a_file_that_is_only_read_cannot_be_locked),
          with_place(a_shared_lock_of_such_a_file_keeps_nobody_out),
          with_place(it_still_waits_for_a_writer),
          with_place(what_can_be_written_is_locked_as_ever),
          with_place(many_that_want_the_same_lock_get_it_in_turn),
          with_place(who_is_killed_while_it_waits_takes_no_lock),
          with_place(mistakes_get_the_usual_errors),
          with_place(a_process_that_hides_its_memory_can_lock),
          with_place(a_thread_locks_what_is_open_in_it),
          with_place(an_older_kernel_takes_no_thread_for_another),
          with_place(a_killed_locker_is_replaced), with_place(a_locker_that_hangs_keeps_no_sandbox),
          with_place(many_may_wait_for_a_lock),
          with_place(where_another_program_decides_commands_still_run))
