/* SPDX-License-Identifier: Apache-2.0 */
#include "room_scene.h"

#include <dirent.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "isolate/room/keeper.h"
#include "isolate/room/outer.h"

/* How many processes of the room sleep. */
#define SLEEPERS              "grep -lsx sleep /proc/[0-9]*/comm | wc -l"
/* Ends when there are so many: a process needs a moment to begin, and to be gone. */
#define UNTIL_SLEEPERS(count) "until [ $(" SLEEPERS ") -eq " count " ]; do :; done; echo " count

static struct scene scene;

static int open_scene(void **state)
{
    (void)state;
    if (scene.loop == NULL)
        scene_open(&scene);
    return 0;
}

static int close_scene(void **state)
{
    (void)state;
    scene_clear(&scene);
    return 0;
}

/* A first process that has just been made has the keeper's name, and no children. */
static bool has_children(const char *pid)
{
    char path[600];
    char byte;
    int fd;
    bool has;

    snprintf(path, sizeof(path), "/proc/%s/task/%s/children", pid, pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    has = read(fd, &byte, 1) == 1;
    close(fd);
    return has;
}

/* A child of this name: a room's first process, which has another number inside, or the keeper. */
static pid_t child_named(pid_t parent, const char *name, bool is_room, int index)
{
    DIR *proc = opendir("/proc");
    char first_line[64];
    pid_t found = 0;

    snprintf(first_line, sizeof(first_line), "Name:\t%s\n", name);

    assert_non_null(proc);
    for (const struct dirent *entry; found == 0 && (entry = readdir(proc)) != NULL;) {
        char path[300];
        char text[2048];
        const char *line;
        const char *numbers;
        ssize_t got;
        int fd;

        snprintf(path, sizeof(path), "/proc/%s/status", entry->d_name);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        got = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
        if (fd >= 0)
            close(fd);
        if (got <= 0)
            continue;
        text[got] = '\0';
        line = strstr(text, "\nPPid:\t");
        numbers = strstr(text, "\nNSpid:\t");
        if (strstr(text, first_line) == NULL || line == NULL || numbers == NULL ||
            strtol(line + 7, NULL, 10) != parent ||
            (strcspn(numbers + 8, "\t") < strcspn(numbers + 8, "\n")) != is_room ||
            (is_room && strcmp(name, "gatehouse-init") == 0 && !has_children(entry->d_name)))
            continue;
        if (index-- == 0)
            found = (pid_t)strtol(entry->d_name, NULL, 10);
    }
    closedir(proc);
    return found;
}

/* The keeper of a service, or the first process of a room in which a command runs. */
static pid_t child_of(pid_t parent, bool is_room, int index)
{
    return child_named(parent, "gatehouse-init", is_room, index);
}

/* ---- Rooms ---- */

static void a_room_runs_commands_as_its_user(void **state)
{
    static struct scene_result result;
    struct room *room = scene_room(&scene, "one", &result);

    (void)state;
    scene_expect(&scene, room, "id -u; pwd; echo $HOME; hostname; cat /proc/1/comm",
                 "1000\n/home/user\n/home/user\nsandbox\ngatehouse-init\n");
    assert_int_equal(scene_delete(&scene, "one"), 0);
    assert_true(result.has_ended);
}

static void files_outlive_a_stop_and_a_new_keeper_and_not_a_delete(void **state)
{
    static struct scene_result result;
    struct room *room = scene_room(&scene, "files", &result);
    struct err err = ERR_INIT;

    (void)state;
    scene_expect(&scene, room, "echo kept > note; mkdir -p a/b; echo deep > a/b/c", "");
    assert_int_equal(scene_await(&scene, &result, room_stop(room, scene_on_done, &result)), 0);
    assert_true(result.has_ended);
    room = scene_room(&scene, "files", &result);
    scene_expect(&scene, room, "cat note a/b/c", "kept\ndeep\n");
    room_keeper_free(scene.keeper);
    assert_int_equal(scene_keeper(&scene, &err), 0);
    room = scene_room(&scene, "files", &result);
    scene_expect(&scene, room, "cat note", "kept\n");
    assert_int_equal(scene_delete(&scene, "files"), 0);
    assert_int_equal(scene_delete(&scene, "files"), ERR_NOT_FOUND);
    room = scene_room(&scene, "files", &result);
    scene_expect(&scene, room, "ls", "");
}

static void a_room_over_layers_sees_their_files_and_leaves_them_alone(void **state)
{
    static const char *const layers[] = {"low", "high"};
    static struct scene_result result;
    struct room *room = scene_room(&scene, "build", &result);

    (void)state;
    scene_expect(&scene, room, "echo one > one; echo two > two", "");
    scene_await(&scene, &result, room_stop(room, scene_on_done, &result));
    assert_int_equal(scene_await(&scene, &result,
                                 room_freeze(scene.keeper, "build", "low", scene_on_done, &result)),
                     0);
    assert_int_equal(
        scene_start(&scene, (struct room_plan){.id = "build", .layers = layers, .layer_count = 1},
                    &result),
        0);
    scene_expect(&scene, result.room, "cat one; rm one; echo three > three", "one\n");
    scene_await(&scene, &result, room_stop(result.room, scene_on_done, &result));
    assert_int_equal(
        scene_await(&scene, &result,
                    room_freeze(scene.keeper, "build", "high", scene_on_done, &result)),
        0);
    assert_int_equal(
        scene_start(&scene, (struct room_plan){.id = "over", .layers = layers, .layer_count = 2},
                    &result),
        0);
    scene_expect(&scene, result.room, "ls; cat two three; echo changed > two",
                 "three\ntwo\ntwo\nthree\n");
    {
        struct scene_result other = {0};

        assert_int_equal(scene_await(&scene, &other,
                                     room_layer_delete(scene.keeper, "low", scene_on_done, &other)),
                         ERR_BUSY);
    }
    assert_int_equal(scene_delete(&scene, "over"), 0);
    assert_int_equal(
        scene_start(&scene, (struct room_plan){.id = "over", .layers = layers, .layer_count = 1},
                    &result),
        0);
    scene_expect(&scene, result.room, "cat one two", "one\ntwo\n");
    assert_int_equal(scene_start(&scene,
                                 (struct room_plan){.id = "none",
                                                    .layers = (const char *const[]){"missing"},
                                                    .layer_count = 1},
                                 &(struct scene_result){0}),
                     ERR_NOT_FOUND);
}

static void a_second_start_of_a_running_room_is_refused(void **state)
{
    static struct scene_result result;
    static struct scene_result again;
    struct room *room = scene_room(&scene, "twice", &result);

    (void)state;
    assert_int_equal(scene_start(&scene, (struct room_plan){.id = "twice"}, &again),
                     ERR_ALREADY_EXISTS);
    assert_int_equal(scene_start(&scene, (struct room_plan){.id = "../x"}, &again),
                     ERR_INVALID_ARGUMENT);
    assert_int_equal(scene_start(&scene, (struct room_plan){.id = ""}, &again),
                     ERR_INVALID_ARGUMENT);
    scene_expect(&scene, room, "echo fine", "fine\n");
}

static void files_in_memory_are_limited_and_gone_after_a_stop(void **state)
{
    const struct room_plan plan = {.id = "memory", .is_in_memory = true, .disk_bytes = 4 << 20};
    static struct scene_result result;

    (void)state;
    assert_int_equal(scene_start(&scene, plan, &result), 0);
    assert_true(result.reached.limits_disk);
    scene_expect(&scene, result.room,
                 "head -c 3000000 /dev/zero > a && echo fits; "
                 "head -c 3000000 /dev/zero > b 2>/dev/null || echo full; rm a b; echo x > /tmp/y",
                 "fits\nfull\n");
    scene_await(&scene, &result, room_stop(result.room, scene_on_done, &result));
    assert_int_equal(scene_start(&scene, plan, &result), 0);
    scene_expect(&scene, result.room, "ls; ls /tmp", "");
    assert_int_equal(scene_delete(&scene, "memory"), 0);
}

static void a_room_whose_first_process_is_killed_says_so(void **state)
{
    static struct scene_result result;
    struct room *room = scene_room(&scene, "killed", &result);
    struct scene_run run = {0};
    pid_t found;

    (void)state;
    /* From inside nobody can. */
    scene_expect(&scene, room, "kill -9 1; kill -STOP 1; kill -TERM 1; echo alive 2>&1", "alive\n");
    scene_begin(room, &(struct room_command){.shell = "echo x; sleep 1000"}, &run);
    loop_until(scene.loop, run.bytes > 0);
    /* From outside, as the kernel would for lack of memory. */
    found = child_of(scene.keeper->pid, true, 0);
    assert_true(found > 0);
    assert_int_equal(kill(found, SIGKILL), 0);
    loop_until(scene.loop, result.has_ended);
    assert_int_equal(result.ended.code, ERR_SESSION_OVER);
    assert_true(run.has_failed);
    assert_int_equal(run.err.code, ERR_SESSION_OVER);
    scene_forget(&run);
    room = scene_room(&scene, "killed", &result);
    scene_expect(&scene, room, "echo again", "again\n");
}

enum { WAITING = KEEP_MAX_SPARES + KEEP_MAX_AHEAD };

static void wait_for_waiting(int count)
{
    for (int i = 0; i < PATIENCE_MS; i++) {
        if (child_named(scene.keeper->pid, "gatehouse-spare", true, count - 1) != 0)
            return;
        usleep(1000);
    }
    fail_msg("fewer than %d wait for a room", count);
}

/* Waits until the keeper has as many that wait, and kills them, until it has buried them. */
static void kill_waiting(int count)
{
    pid_t waiting[16];

    assert_true(count <= 16);
    wait_for_waiting(count);
    for (int i = 0; i < count; i++)
        waiting[i] = child_named(scene.keeper->pid, "gatehouse-spare", true, i);
    for (int i = 0; i < count; i++)
        while (kill(waiting[i], SIGKILL) == 0)
            sched_yield();
}

static void a_start_does_without_what_waits_for_it(void **state)
{
    static struct scene_result result;

    (void)state;
    for (int i = 1; i <= WAITING; i++) {
        struct room *room;

        kill_waiting(i);
        room = scene_room(&scene, "after", &result);
        scene_expect(&scene, room, "ls; echo x > x; cat x", "x\n");
        assert_int_equal(scene_delete(&scene, "after"), 0);
    }
}

/* Namespaces would end with whoever has them last, while somebody waits for its room. */
static void those_who_wait_have_no_mounts_of_deleted_rooms(void **state)
{
    static struct scene_result result;

    (void)state;
    if (geteuid() != 0)
        skip_because("only root sees what descriptors they have");
    for (int i = 0; i < 3; i++) {
        scene_expect(&scene, scene_room(&scene, "mounts", &result), "ls", "");
        assert_int_equal(scene_delete(&scene, "mounts"), 0);
    }
    wait_for_waiting(WAITING);
    for (int i = 0; i < WAITING; i++) {
        char path[64];
        DIR *dir;

        snprintf(path, sizeof(path), "/proc/%d/fd",
                 (int)child_named(scene.keeper->pid, "gatehouse-spare", true, i));
        dir = opendir(path);
        assert_non_null(dir);
        for (const struct dirent *entry; (entry = readdir(dir)) != NULL;) {
            char target[64] = "";

            (void)readlinkat(dirfd(dir), entry->d_name, target, sizeof(target) - 1);
            assert_int_not_equal(strncmp(target, "mnt:", 4), 0);
        }
        closedir(dir);
    }
}

static void a_room_that_waits_does_not_keep_its_layers(void **state)
{
    static const char *const layers[] = {"used"};
    static struct scene_result result;
    struct room *room = scene_room(&scene, "use", &result);

    (void)state;
    scene_expect(&scene, room, "echo one > one", "");
    scene_await(&scene, &result, room_stop(room, scene_on_done, &result));
    assert_int_equal(scene_await(&scene, &result,
                                 room_freeze(scene.keeper, "use", "used", scene_on_done, &result)),
                     0);
    for (int i = 0; i < 3; i++) {
        const struct room_plan plan = {.id = "use", .layers = layers, .layer_count = 1};

        assert_int_equal(scene_start(&scene, plan, &result), 0);
        scene_expect(&scene, result.room, "cat one; echo two > one", "one\n");
        assert_int_equal(scene_delete(&scene, "use"), 0);
        /* Another plan in between. */
        scene_expect(&scene, scene_room(&scene, "plain", &result), "ls", "");
        assert_int_equal(scene_delete(&scene, "plain"), 0);
    }
    assert_int_equal(scene_await(&scene, &result,
                                 room_layer_delete(scene.keeper, "used", scene_on_done, &result)),
                     0);
    scene_expect(&scene, scene_room(&scene, "plain", &result), "ls", "");
}

/* ---- Commands ---- */

static void output_errors_and_status_are_told_apart(void **state)
{
    static struct scene_result result;
    struct room *room = scene_room(&scene, "c", &result);
    struct scene_run run;
    const char *const argv[] = {"printf", "%s-%s", "a b", "c", NULL};
    const char *const env[] = {"A=1 2", "PATH=/bin", NULL};

    (void)state;
    scene_run(&scene, room, &(struct room_command){.shell = "echo out; echo err >&2; exit 3"},
              &run);
    assert_true(run.has_started && run.has_exited);
    assert_string_equal(run.out.data, "out\n");
    assert_string_equal(run.errors.data, "err\n");
    assert_int_equal(run.exit.code, 3);
    assert_false(run.exit.killed || run.exit.timed_out);
    scene_forget(&run);
    scene_run(&scene, room, &(struct room_command){.shell = "kill -9 $$"}, &run);
    assert_int_equal(run.exit.code, -1);
    assert_int_equal(run.exit.signal, SIGKILL);
    assert_true(run.exit.killed);
    scene_forget(&run);
    scene_run(&scene, room, &(struct room_command){.argv = argv}, &run);
    assert_string_equal(run.out.data, "a b-c");
    scene_forget(&run);
    scene_run(&scene, room,
              &(struct room_command){.shell = "echo $A $PATH; pwd", .env = env, .workdir = "/tmp"},
              &run);
    assert_string_equal(run.out.data, "1 2 /bin\n/tmp\n");
    scene_forget(&run);
}

static void what_cannot_start_is_refused_with_its_reason(void **state)
{
    static struct scene_result result;
    struct room *room = scene_room(&scene, "c", &result);
    const char *const argv[] = {"no-such-program", NULL};
    struct scene_run run;
    struct err err = ERR_INIT;
    const struct room_exec_events events = {0};
    struct room_exec *exec = NULL;

    (void)state;
    scene_run(&scene, room, &(struct room_command){.shell = "true", .workdir = "/missing"}, &run);
    assert_true(run.has_failed && !run.has_started);
    assert_int_equal(run.err.code, ERR_NOT_FOUND);
    assert_string_equal(run.err.field, "workdir");
    scene_forget(&run);
    scene_run(&scene, room, &(struct room_command){.argv = argv}, &run);
    assert_int_equal(run.err.code, ERR_NOT_FOUND);
    scene_forget(&run);
    assert_int_equal(room_exec(room, &(struct room_command){.shell = ""}, &events, &exec, &err),
                     ERR_INVALID_ARGUMENT);
    assert_int_equal(room_exec(room, &(struct room_command){.shell = "x", .workdir = "rel"},
                               &events, &exec, &err),
                     ERR_INVALID_PATH);
}

static void a_long_command_runs_whole(void **state)
{
    enum { LINES = 60000 };
    static struct scene_result result;
    struct room *room = scene_room(&scene, "long", &result);
    char *command = malloc(LINES * 16 + 64);
    size_t len = 0;

    (void)state;
    assert_non_null(command);
    for (int i = 0; i < LINES; i++)
        len += (size_t)snprintf(command + len, 16, "n=$((n+1))\n");
    snprintf(command + len, 16, "echo $n\n");
    scene_expect(&scene, room, command, "60000\n");
    free(command);
}

static void a_timeout_kills_the_whole_tree_with_children_that_left_the_session(void **state)
{
    static struct scene_result result;
    struct room *room = scene_room(&scene, "tree", &result);
    static const int64_t timeouts_ms[] = {300, 3000, 30000}; /* for a machine that is slow */
    bool has_begun = false;

    (void)state;
    for (size_t i = 0; i < array_size(timeouts_ms) && !has_begun; i++) {
        struct scene_run run;

        scene_run(&scene, room,
                  &(struct room_command){
                      .shell = "setsid sh -c 'sleep 1001 & sleep 1002' & (setsid sleep 1003 &) ; "
                               "echo partial; sleep 1004",
                      .timeout_ms = timeouts_ms[i]},
                  &run);
        assert_true(run.has_exited);
        assert_true(run.exit.timed_out && run.exit.killed);
        assert_int_equal(run.exit.code, -1);
        has_begun = run.bytes > 0;
        if (has_begun)
            assert_string_equal(run.out.data, "partial\n");
        scene_forget(&run);
    }
    assert_true(has_begun);
    scene_expect(&scene, room, UNTIL_SLEEPERS("0"), "0\n");
}

static void a_background_child_does_not_hold_the_end_and_lives_on(void **state)
{
    static struct scene_result result;
    struct room *room = scene_room(&scene, "bg", &result);
    struct scene_run run;
    struct scene_run other;

    (void)state;
    scene_run(&scene, room,
              &(struct room_command){
                  .shell = "(while [ ! -e stop ]; do echo noise; sleep 0.02; done; echo over > end)"
                           " & echo front"},
              &run);
    assert_int_equal(run.exit.code, 0);
    assert_true(strstr(run.out.data, "front\n") != NULL);
    assert_true(run.exit.time_ms < 10000);
    scene_forget(&run);
    scene_run(
        &scene, room,
        &(struct room_command){.shell = "touch stop; while [ ! -e end ]; do sleep 0.02; done"},
        &other);
    assert_int_equal(other.exit.code, 0);
    scene_forget(&other);
}

static void killing_after_the_end_ends_what_was_left_in_the_background(void **state)
{
    static struct scene_result result;
    struct room *room = scene_room(&scene, "left", &result);
    struct scene_run run;

    (void)state;
    scene_run(&scene, room, &(struct room_command){.shell = "setsid sleep 1005 & echo x"}, &run);
    scene_expect(&scene, room, UNTIL_SLEEPERS("1"), "1\n");
    room_exec_kill(run.exec);
    scene_expect(&scene, room, UNTIL_SLEEPERS("0"), "0\n");
    scene_forget(&run);
}

static void nothing_is_read_while_paused_and_nothing_is_lost(void **state)
{
    enum { BYTES = 8 << 20 };
    static struct scene_result result;
    struct room *room = scene_room(&scene, "much", &result);
    struct scene_run run = {.drops = true};
    struct scene_run probe;
    size_t before;

    (void)state;
    scene_begin(room, &(struct room_command){.shell = "head -c 8388608 /dev/zero; touch written"},
                &run);
    loop_until(scene.loop, run.has_started);
    room_exec_pause(run.exec);
    before = run.bytes;
    scene_run(&scene, room, &(struct room_command){.shell = "sleep 0.3; [ ! -e written ]"}, &probe);
    assert_int_equal(probe.exit.code, 0);
    scene_forget(&probe);
    assert_int_equal(run.bytes, before);
    room_exec_resume(run.exec);
    loop_until(scene.loop, run.has_exited);
    assert_int_equal(run.bytes, BYTES);
    scene_forget(&run);
}

static void input_and_a_terminal_work(void **state)
{
    static struct scene_result result;
    struct room *room = scene_room(&scene, "tty", &result);
    struct scene_run run = {0};

    (void)state;
    scene_begin(room, &(struct room_command){.shell = "cat; echo end", .has_input = true}, &run);
    assert_int_equal(room_exec_write(run.exec, STR("typed\n")), 6);
    room_exec_close_input(run.exec);
    scene_wait(&scene, &run);
    assert_string_equal(run.out.data, "typed\nend\n");
    scene_forget(&run);
    scene_begin(room,
                &(struct room_command){.shell = "stty size; tty; read x; echo got $x",
                                       .has_terminal = true,
                                       .rows = 33,
                                       .columns = 77},
                &run);
    loop_until(scene.loop, run.bytes > 8);
    assert_true(room_exec_write(run.exec, STR("word\n")) == 5);
    scene_wait(&scene, &run);
    assert_true(strstr(run.out.data, "33 77\r\n/dev/pts/0\r\n") != NULL);
    assert_true(strstr(run.out.data, "got word\r\n") != NULL);
    scene_forget(&run);
    scene_expect(&scene, room, "cat; echo empty", "empty\n");
}

static void usage_counts_processes_memory_and_time(void **state)
{
    static struct scene_result result;
    struct room *room = scene_room(&scene, "used", &result);
    struct scene_run run = {0};

    (void)state;
    scene_begin(room,
                &(struct room_command){.shell = "i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done; "
                                                "sh -c 'echo x; exec sleep 100'; true"},
                &run);
    loop_until(scene.loop, run.bytes > 0);
    assert_int_equal(scene_await(&scene, &result, room_usage(room, scene_on_used, &result)), 0);
    assert_true(result.usage.processes >= 3 && result.usage.processes < 20);
    assert_true(result.usage.memory_bytes > 10000);
    assert_true(result.usage.cpu_us > 10000);
    room_exec_kill(run.exec);
    scene_wait(&scene, &run);
    scene_forget(&run);
}

static void limits_hold(void **state)
{
    static struct scene_result result;
    struct scene_run run;

    (void)state;
    assert_int_equal(scene_start(&scene,
                                 (struct room_plan){.id = "small",
                                                    .memory_bytes = 64 << 20,
                                                    .processes = 32,
                                                    .cpu_percent = 50},
                                 &result),
                     0);
    if (!result.reached.limits_memory)
        skip_because("no cgroups");
    scene_run(&scene, result.room,
              &(struct room_command){.shell = "exec python3 -c 'x = bytearray(200 << 20)'"}, &run);
    assert_true(run.exit.code != 0);
    scene_forget(&run);
    scene_expect(&scene, result.room,
                 "python3 -c 'import os, time\n"
                 "n = 0\n"
                 "try:\n"
                 "    while n < 100:\n"
                 "        if os.fork() == 0: time.sleep(1000)\n"
                 "        n += 1\n"
                 "except BlockingIOError: print(10 < n < 32)'",
                 "True\n");
}

/* ---- Walls ---- */

static void a_room_sees_nothing_of_the_host_and_of_its_neighbours(void **state)
{
    static struct scene_result result;
    static struct scene_result beside;
    struct room *room = scene_room(&scene, "wall", &result);
    struct room *other = scene_room(&scene, "beside", &beside);
    struct scene_run run = {0};
    char command[2048];

    (void)state;
    scene_begin(other, &(struct room_command){.shell = "echo secret > /tmp/s; echo x; sleep 1000"},
                &run);
    loop_until(scene.loop, run.bytes > 0);
    snprintf(
        command, sizeof(command),
        "ls -d %s /sys/fs/cgroup/* /var/lib/dpkg /home/[!u]* 2>/dev/null; cat /tmp/s 2>/dev/null; "
        "cat /etc/shadow 2>/dev/null; ls /root 2>/dev/null; ls /dev/shm /sys /mnt; " SLEEPERS
        "; wc -l < /proc/net/dev",
        scene.directory);
    /* Two lines of titles and the loopback. */
    scene_expect(&scene, room, command, "/dev/shm:\n\n/mnt:\n\n/sys:\n0\n3\n");
    room_exec_kill(run.exec);
    scene_wait(&scene, &run);
    scene_forget(&run);
}

/* Each line prints nothing if it is refused. */
static void the_kernel_gives_a_command_nothing_more(void **state)
{
    static const char *const attempts[] = {
        "unshare -U true 2>/dev/null && echo user namespace",
        "unshare -m true 2>/dev/null && echo mount namespace",
        "unshare -n true 2>/dev/null && echo network namespace",
        "mount -t tmpfs t /mnt 2>/dev/null && echo mount",
        "mount -o remount,rw /usr 2>/dev/null && echo remount",
        "umount /proc 2>/dev/null && echo umount",
        "chroot / true 2>/dev/null && echo chroot",
        "mknod d b 8 0 2>/dev/null && echo device",
        "nsenter -t 1 -m true 2>/dev/null && echo nsenter",
        "ls /proc/1/root/ 2>/dev/null && echo root of the first process",
        "cat /proc/1/environ 2>/dev/null && echo environment of the first process",
        "ls -l /proc/1/fd 2>/dev/null | grep socket && echo descriptors of the first process",
        "echo 1 > /proc/sys/kernel/panic 2>/dev/null && echo sysctl",
        "echo b > /proc/sysrq-trigger 2>/dev/null && echo sysrq",
        "mkdir /sys/fs/cgroup/x 2>/dev/null && echo cgroup",
        "mount -t cgroup2 c /mnt 2>/dev/null && echo cgroup mount",
        "chmod u+s /bin/true 2>/dev/null && echo set-user-ID",
        "cp /bin/true t; chmod u+s t 2>/dev/null && echo own set-user-ID",
        "su -c true 2>/dev/null && echo su",
        "cat /proc/keys /proc/key-users | grep . && echo keys",
        "dmesg 2>/dev/null && echo log of the kernel",
        "grep -q '^CapEff:.*[1-9a-f]' /proc/self/status && echo capabilities",
        "grep -q 'NoNewPrivs:.0' /proc/self/status && echo new privileges",
        "grep -q 'Seccomp:.0' /proc/self/status && echo no filter",
        "grep -vq '^0::/$' /proc/self/cgroup && grep -v ':/$' /proc/self/cgroup && echo way up",
        "setfattr -n user.overlay.opaque -v y . 2>/dev/null; ls -d /usr >/dev/null || echo opaque",
    };
    static struct scene_result result;
    struct room *room = scene_room(&scene, "escape", &result);

    (void)state;
    for (size_t i = 0; i < array_size(attempts); i++) {
        char command[512];
        char *text;

        snprintf(command, sizeof(command), "%s; true", attempts[i]);
        text = scene_output(&scene, room, command);
        if (text[0] != '\0')
            fail_msg("%s: %s", attempts[i], text);
        free(text);
    }
}

static void root_of_a_room_is_nobody_outside_and_a_command_is_not_root(void **state)
{
    static struct scene_result result;
    struct scene_run run;
    struct room *room;

    (void)state;
    assert_int_equal(
        scene_start(&scene, (struct room_plan){.id = "root", .is_build = true}, &result), 0);
    room = result.room;
    if (result.reached.ids != ROOM_IDS_RANGE)
        skip_because("the system's files belong to nobody in a room of an ordinary user");
    scene_run(&scene, room,
              &(struct room_command){.shell =
                                         "id -u; touch /usr/bin/new /etc/new && echo made; "
                                         "chown 1000 /etc/new && echo given; "
                                         "mount -t tmpfs t /mnt 2>/dev/null || echo no mounts; "
                                         "mknod d b 8 0 2>/dev/null || echo no devices",
                                     .is_root = true},
              &run);
    assert_string_equal(run.out.data, "0\nmade\ngiven\nno mounts\nno devices\n");
    scene_forget(&run);
    assert_int_not_equal(access("/usr/bin/new", F_OK), 0);
    /* A room without need for it keeps what one that built has made. */
    scene_await(&scene, &result, room_stop(room, scene_on_done, &result));
    room = scene_room(&scene, "root", &result);
    scene_expect(&scene, room, "ls /usr/bin/new", "/usr/bin/new\n");
    scene_expect(&scene, room,
                 "touch /usr/bin/mine 2>/dev/null || echo refused; stat -c %U /usr/bin/env; "
                 "head -c 20 /proc/self/uid_map | tr -s ' ' | cut -d' ' -f2",
                 "refused\nroot\n0\n");
}

/* Of /etc/subuid: nobody in the room has the number of the service's user but its root. */
static void with_a_range_of_its_user_a_command_is_somebody_else(void **state)
{
    static struct scene_result result;
    struct scene_run run;
    struct room *room = scene_room(&scene, "shared", &result);
    char path[512];
    struct stat about;

    (void)state;
    if (result.reached.ids != ROOM_IDS_SHARED)
        skip_because("this user is root or has no range of ids");
    assert_false(result.reached.is_degraded);
    scene_expect(&scene, room,
                 "id -u; kill -0 1 2>/dev/null || echo refused; stat -c %u /etc/passwd; "
                 "touch /etc/new 2>/dev/null || echo refused; mkdir a; echo kept > a/note",
                 "1000\nrefused\n0\nrefused\n");
    snprintf(path, sizeof(path), "%s/rooms/shared/%s/home/user/a/note", scene.directory,
             ROOM_UPPER_ROOT);
    assert_int_equal(stat(path, &about), 0);
    assert_true(about.st_uid != geteuid() && about.st_uid > UINT16_MAX);
    assert_true(about.st_gid != getegid() && about.st_gid > UINT16_MAX);
    scene_run(&scene, room,
              &(struct room_command){.shell = "id -u; touch /etc/new && chown 1000:5 /etc/new && "
                                              "echo given; cat /home/user/a/note; "
                                              "mount -t tmpfs t /mnt 2>/dev/null || echo no mounts",
                                     .is_root = true},
              &run);
    assert_string_equal(run.out.data, "0\ngiven\nkept\nno mounts\n");
    scene_forget(&run);
    scene_await(&scene, &result, room_stop(room, scene_on_done, &result));
    room = scene_room(&scene, "shared", &result);
    scene_expect(&scene, room, "cat a/note; stat -c %u:%g /etc/new", "kept\n1000:5\n");
}

/* ---- Ends ---- */

/* The cgroups of sandboxes, wherever they are, a line each. */
static void list_cgroups(struct buf *out_list)
{
    char text[4096];
    int ends[2];
    ssize_t got;
    pid_t child;

    buf_clear(out_list);
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    child = fork();
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        execlp("find", "find", "/sys/fs/cgroup", "-maxdepth", "7", "-name", "gatehouse-box.*",
               NULL);
        _exit(1);
    }
    close(ends[1]);
    while ((got = read(ends[0], text, sizeof(text))) > 0)
        assert_int_equal(buf_append(out_list, text, (size_t)got), 0);
    close(ends[0]);
    assert_int_equal(waitpid(child, NULL, 0), child);
}

/* Waits for the end of a process that is not our child; the room's are, as its subreaper. */
static void wait_for_end(pid_t pid)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    for (int i = 0; i < PATIENCE_MS && access(path, F_OK) == 0; i++) {
        (void)waitpid(-1, NULL, WNOHANG);
        usleep(1000);
    }
    assert_int_not_equal(access(path, F_OK), 0);
}

enum { SERVED_ROOMS = 3, LIST_MAX_BYTES = 1 << 20 };

struct served {
    pid_t service;
    pid_t keeper;
    pid_t rooms[SERVED_ROOMS];
    struct buf earlier; /* cgroups: an earlier keeper may have had the same number */
};

/* Cgroups that its keeper has made. */
static int count_cgroups(const struct served *served)
{
    const struct str earlier = buf_view(&served->earlier);
    cleanup_buf struct buf list = BUF_INIT(LIST_MAX_BYTES);
    struct str rest;
    struct str line;
    char part[64];
    int count = 0;

    snprintf(part, sizeof(part), "/gatehouse-box.%d.", (int)served->keeper);
    list_cgroups(&list);
    rest = buf_view(&list);
    while (str_cut(&rest, '\n', &line))
        count += str_find(line, str_from(part)) != SIZE_MAX && str_find(earlier, line) == SIZE_MAX;
    return count;
}

/* How many a room has: one in each hierarchy that limits something. */
static int cgroups_of_a_room(const struct served *served)
{
    cleanup_buf struct buf list = BUF_INIT(LIST_MAX_BYTES);
    struct str rest;
    struct str line;
    char part[64];
    size_t at = SIZE_MAX;
    int count = 0;

    snprintf(part, sizeof(part), "/gatehouse-box.%d.", (int)served->keeper);
    list_cgroups(&list);
    rest = buf_view(&list);
    while (at == SIZE_MAX && str_cut(&rest, '\n', &line))
        at = str_find(line, str_from(part));
    if (at == SIZE_MAX)
        return 0;
    line = str_slice(line, at, line.len);
    rest = buf_view(&list);
    for (struct str other; str_cut(&rest, '\n', &other);)
        count += str_ends_with(other, line);
    return count;
}

/* Until nobody has any but those who wait. */
static void wait_for_cgroups(const struct served *served, int each)
{
    wait_for_waiting(WAITING);
    for (int i = 0; i < PATIENCE_S * 10 && count_cgroups(served) != WAITING * each; i++)
        usleep(100000);
    assert_int_equal(count_cgroups(served), WAITING * each);
}

static void the_cgroup_of_a_room_goes_even_if_its_remover_is_killed(void **state)
{
    static struct scene_result result;
    struct served served = {.keeper = scene.keeper->pid, .earlier = BUF_INIT(LIST_MAX_BYTES)};
    pid_t remover = 0;
    int each;

    (void)state;
    wait_for_waiting(WAITING);
    each = cgroups_of_a_room(&served);
    if (each == 0)
        skip_because("no cgroups");
    wait_for_cgroups(&served, each);
    scene_expect(&scene, scene_room(&scene, "much", &result), "seq 5000 | xargs touch", "");
    assert_int_equal(scene_delete(&scene, "much"), 0);
    /* On a busy machine it may be gone before we see it. */
    for (int i = 0; i < 1000 && remover == 0; i++) {
        remover = child_named(served.keeper, "gatehouse-init", false, 0);
        usleep(1000);
    }
    if (remover > 0)
        (void)kill(remover, SIGKILL);
    wait_for_cgroups(&served, each);
}

/*
 * The other process: it must not fail an assertion, which would go on with the tests in both, nor
 * hold what belongs to the first keeper, which would then wait for its end.
 */
static _Noreturn void be_service(pid_t parent, int ready)
{
    static struct scene_result results[SERVED_ROOMS];
    static struct scene_run runs[SERVED_ROOMS];
    struct scene own = scene;
    struct err err = ERR_INIT;
    int r;

    if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 || getppid() != parent)
        _exit(1);
    close(scene.keeper->lifeline);
    close(scene.keeper->socket);
    if (loop_new(&clock_system, &own.loop) < 0)
        _exit(1);
    snprintf(own.directory + strlen(own.directory), 8, "-other");
    r = scene_keeper(&own, &err);
    for (int i = 0; i < SERVED_ROOMS && r == 0; i++) {
        char id[8];

        snprintf(id, sizeof(id), "x%d", i);
        r = scene_start(&own, (struct room_plan){.id = id}, &results[i]);
        if (r < 0)
            break;
        scene_begin(results[i].room,
                    &(struct room_command){.shell = "setsid sleep 1000 & echo x; sleep 1000"},
                    &runs[i]);
        loop_until(own.loop, runs[i].bytes > 0);
    }
    if (r < 0 || write(ready, "r", 1) != 1)
        _exit(1);
    for (;;)
        pause();
}

/* A service in another process, with three rooms that work. */
static void start_service(struct served *served)
{
    const pid_t parent = getpid();
    int ends[2];
    char byte;

    buf_init(&served->earlier, LIST_MAX_BYTES);
    list_cgroups(&served->earlier);
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    served->service = fork();
    assert_true(served->service >= 0);
    if (served->service == 0)
        be_service(parent, ends[1]);
    close(ends[1]);
    assert_int_equal(read(ends[0], &byte, 1), 1);
    close(ends[0]);
    served->keeper = child_of(served->service, false, 0);
    assert_true(served->keeper > 0);
    for (int i = 0; i < SERVED_ROOMS; i++) {
        served->rooms[i] = child_of(served->keeper, true, i);
        assert_true(served->rooms[i] > 0);
    }
}

static void nothing_is_left_when_a_service_is_killed(void **state)
{
    struct served served;

    (void)state;
    start_service(&served);
    assert_int_equal(kill(served.service, SIGKILL), 0);
    assert_int_equal(waitpid(served.service, NULL, 0), served.service);
    wait_for_end(served.keeper);
    for (int i = 0; i < SERVED_ROOMS; i++)
        wait_for_end(served.rooms[i]);
    assert_int_equal(count_cgroups(&served), 0);
    buf_done(&served.earlier);
}

static void nothing_is_left_when_service_and_keeper_are_killed(void **state)
{
    struct served served;
    static struct scene_result result;
    struct room *room;

    (void)state;
    start_service(&served);
    assert_int_equal(kill(served.keeper, SIGKILL), 0);
    assert_int_equal(kill(served.service, SIGKILL), 0);
    assert_int_equal(waitpid(served.service, NULL, 0), served.service);
    wait_for_end(served.keeper);
    for (int i = 0; i < SERVED_ROOMS; i++)
        wait_for_end(served.rooms[i]);
    /* Starts of rooms remove the cgroups, not all of them. */
    for (int i = 0; i < PATIENCE_S && (i == 0 || count_cgroups(&served) > 0); i++) {
        room = scene_room(&scene, "next", &result);
        scene_expect(&scene, room, "echo fine; sleep 0.2", "fine\n");
        assert_int_equal(scene_delete(&scene, "next"), 0);
    }
    assert_int_equal(count_cgroups(&served), 0);
    buf_done(&served.earlier);
}

static void a_service_is_told_when_its_keeper_dies(void **state)
{
    static struct scene_result result;
    struct room *room = scene_room(&scene, "told", &result);
    struct scene_run run = {0};
    struct err err = ERR_INIT;

    (void)state;
    scene_begin(room, &(struct room_command){.shell = "echo x; sleep 1000"}, &run);
    loop_until(scene.loop, run.bytes > 0);
    assert_int_equal(kill(scene.keeper->pid, SIGKILL), 0);
    loop_until(scene.loop, scene.keeper_ended);
    assert_true(result.has_ended && run.has_failed);
    scene_forget(&run);
    assert_int_equal(
        room_start(scene.keeper, &(struct room_plan){.id = "y"}, scene_on_started, &result, &err),
        ERR_SESSION_OVER);
    room_keeper_free(scene.keeper);
    if (scene_keeper(&scene, &err) < 0)
        fail_msg("%s", err.message);
    room = scene_room(&scene, "told", &result);
    scene_expect(&scene, room, "echo again", "again\n");
}

static void rounds_of_kills_leave_nothing(void **state)
{
    const char *asked = getenv("GATEHOUSE_ROOM_ROUNDS");
    const long rounds = asked != NULL ? strtol(asked, NULL, 10) : 1;

    (void)state;
    for (long i = 0; i < rounds; i++) {
        nothing_is_left_when_a_service_is_killed(state);
        nothing_is_left_when_service_and_keeper_are_killed(state);
        scene_clear(&scene);
    }
}

static void a_limit_that_cannot_be_held_is_refused(void **state)
{
    static struct scene_result result;
    const struct room_plan plan = {.id = "disk", .disk_bytes = ROOM_LEAST_DISK_BYTES};
    const struct room_plan tiny = {.id = "disk", .disk_bytes = ROOM_LEAST_DISK_BYTES - 1};

    (void)state;
    assert_int_equal(scene_start(&scene, tiny, &result), ERR_INVALID_ARGUMENT);
    if (room_keeper_abilities(scene.keeper)->has_disk_images)
        skip_because("this machine can limit disk space");
    if (geteuid() == 0) {
        assert_int_equal(scene_start(&scene, plan, &result), ERR_UNSUPPORTED);
        return;
    }
    /* Allowed to be degraded, and recorded. */
    assert_int_equal(scene_start(&scene, plan, &result), 0);
    assert_true(result.reached.is_degraded && !result.reached.limits_disk);
    assert_int_not_equal(result.reached.ids, ROOM_IDS_RANGE);
}

enum { MOST_LOOPS = 256 };

/* How many loop devices lie over files of this test. */
static int count_loops(void)
{
    int count = 0;

    for (int i = 0; i < MOST_LOOPS; i++) {
        char path[64];
        char text[PATH_MAX] = "";
        int fd;

        snprintf(path, sizeof(path), "/sys/block/loop%d/loop/backing_file", i);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
            continue;
        if (read(fd, text, sizeof(text) - 1) > 0 && strstr(text, scene.directory) != NULL)
            count++;
        close(fd);
    }
    return count;
}

static void wait_for_no_loops(void)
{
    for (int i = 0; i < PATIENCE_MS / 10 && count_loops() > 0; i++)
        usleep(10000);
    assert_int_equal(count_loops(), 0);
}

static void disk_space_is_limited_for_files_that_stay(void **state)
{
    static struct scene_result result;
    static const char fill[] = "head -c 50000000 /dev/zero > big 2>/dev/null || echo full; rm big";
    const struct room_plan plan = {.id = "disk", .disk_bytes = 2 * ROOM_LEAST_DISK_BYTES};

    (void)state;
    if (!room_keeper_abilities(scene.keeper)->has_disk_images)
        skip_because("this machine has no loop devices for us");
    assert_int_equal(scene_start(&scene, plan, &result), 0);
    assert_true(result.reached.limits_disk && !result.reached.is_degraded);
    scene_expect(&scene, result.room, fill, "full\n");
    scene_expect(&scene, result.room, "echo kept > kept; stat -c %U kept", "user\n");
    scene_await(&scene, &result, room_stop(result.room, scene_on_done, &result));
    wait_for_no_loops();
    assert_int_equal(scene_await(&scene, &result,
                                 room_freeze(scene.keeper, "disk", "l", scene_on_done, &result)),
                     ERR_UNSUPPORTED);
    /* The limit belongs to its files, not to the start. */
    scene_room(&scene, "disk", &result);
    assert_true(result.reached.limits_disk);
    scene_expect(&scene, result.room, fill, "full\n");
    scene_expect(&scene, result.room, "cat kept", "kept\n");
    assert_int_equal(scene_delete(&scene, "disk"), 0);
    wait_for_no_loops();
    /* One whose files were not limited stays so. */
    scene_room(&scene, "free", &result);
    scene_await(&scene, &result, room_stop(result.room, scene_on_done, &result));
    assert_int_equal(scene_start(&scene,
                                 (struct room_plan){.id = "free", .disk_bytes = plan.disk_bytes},
                                 &result),
                     0);
    assert_false(result.reached.limits_disk);
}

static void without_ids_of_its_own_no_keeper_starts_unless_that_is_allowed(void **state)
{
    struct room_keeper_config config = {.libexec = scene.libexec, .error_fd = STDERR_FILENO};
    struct room_keeper *keeper = NULL;
    char directory[512];
    struct err err = ERR_INIT;

    (void)state;
    snprintf(directory, sizeof(directory), "%s-other", scene.directory);
    config.directory = directory;
    if (room_keeper_abilities(scene.keeper)->ids != ROOM_IDS_SINGLE) {
        assert_int_equal(room_keeper_new(&config, &keeper, &err), 0);
        assert_int_equal(room_keeper_abilities(keeper)->ids,
                         geteuid() == 0 ? ROOM_IDS_RANGE : ROOM_IDS_SHARED);
        assert_false(room_keeper_abilities(keeper)->is_degraded);
        room_keeper_free(keeper);
    } else {
        assert_int_equal(room_keeper_new(&config, &keeper, &err), ERR_UNSUPPORTED);
        /* It says what would be weaker, and how to allow that. */
        assert_non_null(strstr(err.message, "under your own user id"));
        assert_non_null(strstr(err.message, "GATEHOUSE_SANDBOX_ALLOW_WEAKER=true"));
    }
    /* Nor does a second one in the same directory. */
    config.directory = scene.directory;
    assert_int_equal(room_keeper_new(&config, &keeper, &err), ERR_BUSY);
}

/* ---- Many ---- */

enum { MANY = 50 };

static void fifty_starts_at_once_all_work(void **state)
{
    static struct scene_result results[MANY];
    static struct scene_run runs[MANY];
    char id[16];

    (void)state;
    for (int i = 0; i < MANY; i++) {
        snprintf(id, sizeof(id), "many-%d", i);
        assert_int_equal(
            room_start(scene.keeper,
                       &(struct room_plan){.id = id, .on_end = scene_on_end, .data = &results[i]},
                       scene_on_started, &results[i], NULL),
            0);
    }
    for (int i = 0; i < MANY; i++) {
        loop_until(scene.loop, results[i].is_done);
        if (results[i].err.code != 0)
            fail_msg("%d: %s", i, results[i].err.message);
        scene_begin(results[i].room, &(struct room_command){.shell = "echo hello"}, &runs[i]);
    }
    for (int i = 0; i < MANY; i++) {
        scene_wait(&scene, &runs[i]);
        assert_string_equal(runs[i].out.data, "hello\n");
        scene_forget(&runs[i]);
    }
}

static int end_scene(void **state)
{
    char other[512];

    close_scene(state);
    snprintf(other, sizeof(other), "%s-other", scene.directory);
    room_remove_tree(AT_FDCWD, other);
    scene_close(&scene);
    return 0;
}

#define T(name) cmocka_unit_test_setup_teardown(name, open_scene, close_scene)
TEST_MAIN(
    T(a_room_runs_commands_as_its_user), T(files_outlive_a_stop_and_a_new_keeper_and_not_a_delete),
    T(a_room_over_layers_sees_their_files_and_leaves_them_alone),
    T(a_start_does_without_what_waits_for_it), T(those_who_wait_have_no_mounts_of_deleted_rooms),
    T(a_room_that_waits_does_not_keep_its_layers), T(a_second_start_of_a_running_room_is_refused),
    T(files_in_memory_are_limited_and_gone_after_a_stop),
    T(a_room_whose_first_process_is_killed_says_so), T(output_errors_and_status_are_told_apart),
    T(what_cannot_start_is_refused_with_its_reason), T(a_long_command_runs_whole),
    T(a_timeout_kills_the_whole_tree_with_children_that_left_the_session),
    T(a_background_child_does_not_hold_the_end_and_lives_on),
    T(killing_after_the_end_ends_what_was_left_in_the_background),
    T(nothing_is_read_while_paused_and_nothing_is_lost), T(input_and_a_terminal_work),
    T(usage_counts_processes_memory_and_time), T(limits_hold),
    T(a_room_sees_nothing_of_the_host_and_of_its_neighbours),
    T(the_kernel_gives_a_command_nothing_more),
    T(root_of_a_room_is_nobody_outside_and_a_command_is_not_root),
    T(with_a_range_of_its_user_a_command_is_somebody_else),
    T(the_cgroup_of_a_room_goes_even_if_its_remover_is_killed),
    T(nothing_is_left_when_a_service_is_killed),
    T(nothing_is_left_when_service_and_keeper_are_killed), T(rounds_of_kills_leave_nothing),
    T(a_service_is_told_when_its_keeper_dies), T(a_limit_that_cannot_be_held_is_refused),
    T(disk_space_is_limited_for_files_that_stay),
    T(without_ids_of_its_own_no_keeper_starts_unless_that_is_allowed),
    cmocka_unit_test_setup_teardown(fifty_starts_at_once_all_work, open_scene, end_scene))
