/* SPDX-License-Identifier: Apache-2.0 */
#include "child.h"

#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/socket.h>

#include "isolate/box/box.h"
#include "isolate/box/internal.h"
#include "isolate/landlock.h"
#include "isolate/sanitized.h"

enum { OUTPUT_BYTES = 4096, MAX_TEST_PLACES = 5 };

static const char *const plain_env[] = {"PATH=/usr/bin:/bin", "SEEN=yes", NULL};

/* A shell command in a box with these places, and what came of it. */
struct trial {
    struct box_place places[MAX_TEST_PLACES];
    size_t place_count;
    struct cgroup_limits limits;
    enum box_network network;
    const char *script;
    const char *cwd;
    const enum box_access *at_most;
    bool wants_pty;
    struct err err;
    struct box_end end;
    char output[OUTPUT_BYTES];
};

static struct box *make_box(struct trial *trial)
{
    const struct box_plan plan = {.places = trial->places,
                                  .place_count = trial->place_count,
                                  .limits = trial->limits,
                                  .network = trial->network,
                                  .may_lack_landlock = landlock_abi() < LANDLOCK_MIN_ABI};
    struct box *box = NULL;

    if (box_new(&plan, &box, &trial->err) < 0)
        return NULL;
    return box;
}

static void read_all(int fd, char *out_text, size_t size)
{
    size_t len = 0;
    ssize_t got;

    while (len < size - 1 && ((got = read(fd, out_text + len, size - 1 - len)) > 0 ||
                              (got < 0 && (errno == EINTR || errno == EAGAIN)))) {
        struct pollfd wait = {.fd = fd, .events = POLLIN};

        len += got > 0 ? (size_t)got : 0;
        (void)poll(&wait, 1, -1);
    }
    out_text[len] = '\0';
}

static int start_in(struct box *box, struct trial *trial, int output_fd,
                    struct box_process *out_process)
{
    const char *argv[] = {"sh", "-c", trial->script, NULL};
    struct box_command command = {.argv = argv,
                                  .env = plain_env,
                                  .cwd = trial->cwd != NULL ? trial->cwd : "/",
                                  .fds = {BOX_FD_NULL, output_fd, output_fd},
                                  .rows = 30,
                                  .columns = 100,
                                  .at_most = trial->at_most};

    for (int i = 0; i < 3 && trial->wants_pty; i++)
        command.fds[i] = BOX_FD_PTY;
    return box_start(box, &command, out_process, &trial->err);
}

static int run(struct trial *trial)
{
    struct box *box = make_box(trial);
    struct box_process process = BOX_PROCESS_INIT;
    int ends[2];
    int r;

    if (box == NULL)
        return trial->err.code;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    r = start_in(box, trial, ends[1], &process);
    close(ends[1]);
    if (r == 0) {
        read_all(trial->wants_pty ? process.pty : ends[0], trial->output, sizeof(trial->output));
        box_finish(&process, &trial->end);
    }
    close(ends[0]);
    box_free(box);
    return r;
}

#define assert_says(trial, text)                                                                   \
    do {                                                                                           \
        if (strstr((trial).output, (text)) == NULL)                                                \
            fail_msg("\"%s\" is missing in: %s", (text), (trial).output);                          \
    } while (0)

#define assert_runs(trial)                                                                         \
    do {                                                                                           \
        if (run(&(trial)) < 0)                                                                     \
            fail_msg("%s", (trial).err.message);                                                   \
    } while (0)

/* ---- What a command finds ---- */

static void a_command_runs_and_its_end_is_told(void **state)
{
    struct trial trial = {.script = "echo out; echo err >&2; echo $SEEN $(($$ <= 3)); exit 7"};

    (void)state;
    skip_without_boxes();
    assert_runs(trial);
    assert_string_equal(trial.output, "out\nerr\nyes 1\n");
    assert_true(trial.end.is_known && !trial.end.is_signal);
    assert_int_equal(trial.end.value, 7);

    trial = (struct trial){.script = "kill -TERM $$"};
    assert_runs(trial);
    assert_true(trial.end.is_known && trial.end.is_signal);
    assert_int_equal(trial.end.value, SIGTERM);
}

static void it_has_no_privileges_and_cannot_gain_any(void **state)
{
    struct trial trial = {.script =
                              "grep -E '^(Cap|NoNewPrivs|Seccomp:)' /proc/self/status; id -u"};
    char uid[16];

    (void)state;
    skip_without_boxes();
    assert_runs(trial);
    assert_says(trial, "CapEff:\t0000000000000000");
    assert_says(trial, "CapPrm:\t0000000000000000");
    assert_says(trial, "CapBnd:\t0000000000000000");
    assert_says(trial, "NoNewPrivs:\t1");
    assert_says(trial, "Seccomp:\t2");
    snprintf(uid, sizeof(uid), "\n%u\n", geteuid());
    assert_says(trial, uid);
}

/* Also when its process was created on another processor than the rest. */
static void it_may_run_on_the_same_processors_as_we_may(void **state)
{
    enum { ROUNDS = 8 };
    cpu_set_t processors;
    char expected[32];

    (void)state;
    skip_without_boxes();
    assert_int_equal(sched_getaffinity(0, sizeof(processors), &processors), 0);
    snprintf(expected, sizeof(expected), "%d\n", CPU_COUNT(&processors));
    for (int i = 0; i < ROUNDS; i++) {
        struct trial trial = {.script = "nproc"};

        assert_runs(trial);
        assert_string_equal(trial.output, expected);
    }
}

static void only_writable_places_can_be_written(void **state)
{
    const struct place *place = *state;
    struct trial trial = {
        .places = {{.path = place->inside, .access = BOX_WRITE},
                   {.path = place->outside, .access = BOX_READ}},
        .place_count = 2,
        .cwd = place->base,
        .script = "cat inside/one outside/secret; echo 2 > inside/new && echo wrote;"
                  "echo 2 > outside/new || echo kept; echo 2 > /usr/new || echo kept too;"
                  "echo private > /tmp/private; cat /tmp/private",
    };
    struct stat about;

    skip_without_boxes();
    assert_runs(trial);
    assert_says(trial, "1secret");
    assert_says(trial, "wrote");
    assert_says(trial, "kept\n");
    assert_says(trial, "kept too\n");
    assert_says(trial, "private\n");
    assert_int_equal(fstatat(place->base_fd, "inside/new", &about, 0), 0);
    assert_int_equal(about.st_uid, geteuid());
    assert_int_equal(fstatat(place->base_fd, "outside/new", &about, 0), -1);
    assert_int_equal(access("/tmp/private", F_OK), -1);
}

static void what_is_only_read_stays_where_it_is(void **state)
{
    const struct place *place = *state;
    char deep[PLACE_PATH_BYTES + 16];
    struct trial trial = {
        .places = {{.path = place->inside, .access = BOX_WRITE},
                   {.path = deep, .access = BOX_READ}},
        .place_count = 2,
        .cwd = place->inside,
        .script = "echo x > b/deep/new || echo kept; mv b c || echo kept too; echo x > b/new;"
                  "rmdir b/deep || echo still kept",
    };

    skip_without_boxes();
    assert_int_equal(mkdirat(place->base_fd, "inside/b/deep", 0700), 0);
    snprintf(deep, sizeof(deep), "%s/b/deep", place->inside);
    assert_runs(trial);
    assert_says(trial, "kept\n");
    assert_says(trial, "kept too\n");
    assert_says(trial, "still kept\n");
    /* So the next one starts, and the rest can be written. */
    assert_runs(trial);
    assert_int_equal(faccessat(place->base_fd, "inside/b/new", F_OK, 0), 0);
}

static bool write_text(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool is_written = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

    if (fd >= 0)
        close(fd);
    return is_written;
}

/* Mounts that go with this process; somebody else than root needs a namespace to make them. */
static void take_own_mounts(void)
{
    const bool is_root = geteuid() == 0;
    char map[64];

    snprintf(map, sizeof(map), "%u %u 1", geteuid(), geteuid());
    expect(unshare(CLONE_NEWNS | (is_root ? 0 : CLONE_NEWUSER)) == 0);
    expect(is_root || write_text("/proc/self/uid_map", map));
    snprintf(map, sizeof(map), "%u %u 1", getegid(), getegid());
    expect(is_root ||
           (write_text("/proc/self/setgroups", "deny") && write_text("/proc/self/gid_map", map)));
    expect(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0);
}

static void look_at_a_second_proc(void *data)
{
    const struct place *place = data;
    char path[PLACE_PATH_BYTES + 16];
    struct trial trial = {
        .places = {{.path = place->inside, .access = BOX_WRITE}},
        .place_count = 1,
        .cwd = place->inside,
        .script = "test -e a/self || echo hidden; test -e 'a room/hostname' || echo hidden too;"
                  "test -e /proc/self && test -c /dev/null && echo ours; ls a",
    };

    take_own_mounts();
    snprintf(path, sizeof(path), "%s/a", place->inside);
    expect(mount("/proc", path, NULL, MS_BIND | MS_REC, NULL) == 0);
    snprintf(path, sizeof(path), "%s/a room", place->inside);
    expect(mkdir(path, 0755) == 0);
    expect(mount("/proc/sys/kernel", path, NULL, MS_BIND | MS_REC, NULL) == 0);
    expect(run(&trial) == 0);
    expect(strcmp(trial.output, "hidden\nhidden too\nours\n") == 0);
    /* A place may be in one itself, with nothing mounted below. */
    trial.places[0] = (struct box_place){.path = path, .access = BOX_WRITE};
    trial.cwd = path;
    trial.script = "ls; test -e /proc/self && echo ours";
    expect(run(&trial) == 0);
    expect(strcmp(trial.output, "ours\n") == 0);
}

static void what_is_the_kernels_is_shown_nowhere_else(void **state)
{
    skip_without_boxes();
    in_child(look_at_a_second_proc, *state);
}

static void what_is_hidden_is_empty_and_stays_so(void **state)
{
    const struct place *place = *state;
    char directory[PLACE_PATH_BYTES + 8];
    char file[PLACE_PATH_BYTES + 8];
    struct trial trial = {
        .places = {{.path = place->inside, .access = BOX_WRITE},
                   {.path = directory, .access = BOX_HIDDEN},
                   {.path = file, .access = BOX_HIDDEN},
                   {.path = "/nowhere/at/all", .access = BOX_HIDDEN}},
        .place_count = 4,
        .cwd = place->inside,
        .script = "ls a; cat one; echo x > a/new || echo kept; echo x > one || echo kept;"
                  "rm one || echo kept; mv a b/a || echo kept; cat b/f; rm -rf a; ls",
    };
    struct stat about;

    skip_without_boxes();
    snprintf(directory, sizeof(directory), "%s/a", place->inside);
    snprintf(file, sizeof(file), "%s/one", place->inside);
    assert_runs(trial);
    assert_null(strstr(trial.output, "text"));
    assert_null(strstr(trial.output, "1\n"));
    assert_says(trial, "kept");
    assert_int_equal(fstatat(place->base_fd, "inside/a/f", &about, 0), 0);
    assert_int_equal(fstatat(place->base_fd, "inside/one", &about, 0), 0);
    assert_int_equal(about.st_size, 1);
}

/* Of the mount that is seen at `path`, which the output has as /proc/self/mountinfo writes it. */
static void assert_mount_has(const char *mountinfo, const char *path, const char *options)
{
    char wanted[PLACE_PATH_BYTES + 64];
    const char *line;

    snprintf(wanted, sizeof(wanted), " %s %s,", path, options);
    line = strstr(mountinfo, wanted);
    if (line == NULL)
        fail_msg("no mount\"%s\" in:\n%s", wanted, mountinfo);
}

/* What lies there is ours and empty: neither a program nor a device may come to be in it. */
static void covers_hold_nothing_that_runs(void **state)
{
    const struct place *place = *state;
    char hidden[PLACE_PATH_BYTES + 8];
    char bearing[PLACE_PATH_BYTES + 8];
    char shown[PLACE_PATH_BYTES + 16];
    char file[PLACE_PATH_BYTES + 8];
    struct trial trial = {
        .places = {{.path = place->inside, .access = BOX_WRITE},
                   {.path = hidden, .access = BOX_HIDDEN},
                   {.path = file, .access = BOX_HIDDEN},
                   {.path = bearing, .access = BOX_HIDDEN},
                   {.path = shown, .access = BOX_READ}},
        .place_count = 5,
        .script = "grep /inside/ /proc/self/mountinfo",
    };

    skip_without_boxes();
    snprintf(hidden, sizeof(hidden), "%s/a", place->inside);
    snprintf(file, sizeof(file), "%s/one", place->inside);
    snprintf(bearing, sizeof(bearing), "%s/b", place->inside);
    snprintf(shown, sizeof(shown), "%s/b/shown", place->inside);
    assert_int_equal(mkdir(bearing, 0755) == 0 || errno == EEXIST, 1);
    assert_int_equal(mkdir(shown, 0755), 0);
    assert_runs(trial);
    assert_mount_has(trial.output, hidden, "ro,nosuid,nodev,noexec");
    assert_mount_has(trial.output, file, "ro,nosuid,nodev,noexec");
    assert_mount_has(trial.output, bearing, "rw,nosuid,nodev,noexec");
}

static void a_command_can_be_given_less_than_the_plan(void **state)
{
    static const enum box_access read_only[] = {BOX_READ};
    static const enum box_access nothing[] = {BOX_HIDDEN};
    const struct place *place = *state;
    struct trial trial = {
        .places = {{.path = place->inside, .access = BOX_WRITE}},
        .place_count = 1,
        .script = "cat one && echo 2 > new || echo kept",
        .cwd = place->inside,
        .at_most = read_only,
    };

    skip_without_boxes();
    assert_runs(trial);
    assert_says(trial, "1");
    assert_says(trial, "kept");
    assert_int_equal(faccessat(place->base_fd, "inside/new", F_OK, 0), -1);

    trial.at_most = nothing;
    trial.cwd = "/";
    snprintf(trial.output, sizeof(trial.output), "-");
    trial.script = "cat /tmp/*/inside/one 2>&1; ls /tmp";
    assert_runs(trial);
    assert_null(strstr(trial.output, "1\n"));
}

static void the_host_is_out_of_sight(void **state)
{
    struct trial trial = {.script = "ls /proc | grep -cE '^[0-9]+$'; ls -A /run | wc -l;"
                                    "hostname; ls /sys; ls /dev/pts; cat /proc/1/environ"};

    (void)state;
    skip_without_boxes();
    assert_runs(trial);
    assert_says(trial, "sandbox\n");
    assert_says(trial, "devices\nptmx\n"); /* of /sys and of /dev/pts, and nothing else */
    assert_says(trial, "ermission denied");
    assert_true(strtol(trial.output, NULL, 10) <= 5);
}

static void a_network_of_its_own_leads_nowhere(void **state)
{
    struct trial trial = {.script = "cat /proc/net/dev | wc -l; cat /proc/net/route | wc -l;"
                                    "cat /proc/1/net/dev | wc -l; set -- /proc/[0-9]*; echo $#"};

    (void)state;
    skip_without_boxes();
    assert_runs(trial);
    /*
     * Two lines of headings and the loopback; no route. The first process has no other, and whoever
     * made the network has gone.
     */
    assert_says(trial, "3\n1\n3\n2\n");
}

static void a_terminal_is_its_own(void **state)
{
    struct trial trial = {.script = "tty; stty size; echo shown > /dev/tty", .wants_pty = true};

    (void)state;
    skip_without_boxes();
    assert_runs(trial);
    assert_says(trial, "/dev/pts/0");
    assert_says(trial, "30 100");
    assert_says(trial, "shown");
}

/* ---- What is refused ---- */

static void commands_that_cannot_start_say_why(void **state)
{
    static const char *const missing[] = {"no-such-command", NULL};
    static const char *const not_a_program[] = {"/etc/passwd", NULL};
    struct box_command command = {
        .argv = missing, .env = plain_env, .cwd = "/", .fds = {-1, -1, -1}};
    struct box_process process = BOX_PROCESS_INIT;
    struct trial trial = {0};
    struct box *box = make_box(&trial);
    struct err err = ERR_INIT;

    (void)state;
    assert_non_null(box);
    skip_without_boxes();
    assert_int_equal(box_start(box, &command, &process, &err), ERR_NOT_FOUND);
    assert_string_equal(err.field, "command");
    command.argv = not_a_program;
    assert_int_equal(box_start(box, &command, &process, &err), ERR_PERMISSION_DENIED);
    assert_string_equal(err.field, "command");
    command.cwd = "/no/such/directory";
    assert_int_equal(box_start(box, &command, &process, &err), ERR_NOT_FOUND);
    assert_string_equal(err.field, "cwd");
    box_free(box);
}

static void streams_that_lead_out_are_refused(void **state)
{
    const struct place *place = *state;
    static const char *const argv[] = {"true", NULL};
    struct box_command command = {
        .argv = argv, .env = plain_env, .cwd = "/", .fds = {place->base_fd, -1, -1}};
    struct box_process process = BOX_PROCESS_INIT;
    struct trial trial = {0};
    struct box *box = make_box(&trial);
    int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);

    assert_non_null(box);
    assert_int_equal(box_start(box, &command, &process, NULL), ERR_DENIED_BY_POLICY);
    assert_true(master >= 0);
    command.fds[0] = master;
    assert_int_equal(box_start(box, &command, &process, NULL), ERR_DENIED_BY_POLICY);
    close(master);
    box_free(box);
}

/* Its mode and attributes stay out of reach, and reading goes on where somebody stopped. */
static void a_stream_to_read_from_cannot_be_changed(void **state)
{
    const struct place *place = *state;
    static const char script[] = "import os\n"
                                 "print(os.read(0, 9))\n"
                                 "try: os.fchmod(0, 0o777); print('changed')\n"
                                 "except OSError as error: print(error.strerror)";
    static const char *const argv[] = {"python3", "-c", script, NULL};
    cleanup_fd int fd = openat(place->base_fd, "stream", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    cleanup_fd int input = openat(place->base_fd, "stream", O_RDONLY | O_CLOEXEC);
    struct trial trial = {0};
    struct box *box = make_box(&trial);
    struct box_command command = {.argv = argv, .env = plain_env, .cwd = "/", .fds = {-1, -1, -1}};
    struct stat about;
    int ends[2];

    assert_non_null(box);
    skip_without_boxes();
    assert_int_equal(write(fd, "onetwo", 6), 6);
    assert_int_equal(lseek(input, 3, SEEK_SET), 3);
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    for (int i = 0; i < 2; i++) {
        struct box_process process = BOX_PROCESS_INIT;

        /* At last without a name: it ends with its descriptors. */
        if (i == 1)
            assert_int_equal(unlinkat(place->base_fd, "stream", 0), 0);
        command.fds[0] = input;
        command.fds[1] = command.fds[2] = ends[1];
        assert_int_equal(box_start(box, &command, &process, &trial.err), 0);
        box_finish(&process, &trial.end);
        trial.output[read(ends[0], trial.output, sizeof(trial.output) - 1)] = '\0';
        assert_says(trial, "b'two'\n");
        assert_int_equal(fstat(fd, &about), 0);
        assert_int_equal(about.st_mode & 0777, i == 0 ? 0600 : 0777);
    }
    close(ends[0]);
    close(ends[1]);
    box_free(box);
}

/* With root's number the modes of the host's devices would be changed for everybody. */
static void devices_cannot_be_changed(void **state)
{
    struct trial trial = {.script = "cd /dev; for f in null zero full random urandom; do\n"
                                    "chmod $(stat -c %a $f) $f || echo held; done 2>&1\n"
                                    "chmod $(stat -L -c %a /proc/self/fd/0) /proc/self/fd/0 ||"
                                    "echo held; echo x >null; head -c 0 <&0 && echo usable"};
    int held = 0;

    (void)state;
    skip_without_boxes();
    assert_runs(trial);
    for (const char *at = trial.output; (at = strstr(at, "held\n")) != NULL; at++)
        held++;
    assert_int_equal(held, 6);
    assert_says(trial, "usable\n");
}

/* Folders cannot get the group's bit either, but those that inherit it keep it. */
static void no_program_is_left_that_makes_others_the_user(void **state)
{
    const struct place *place = *state;
    char path[PLACE_PATH_BYTES + 8];
    struct trial trial = {.places = {{.path = place->inside, .access = BOX_WRITE}},
                          .place_count = 1,
                          .cwd = place->inside,
                          .script =
                              "cp /bin/true own; chmod 4755 own; chmod u+s own; chmod 755 own;"
                              "mkdir ours; chmod 2775 ours; cp own group; chmod 2755 group;"
                              "chmod g+s group; mkdir shared/below; cp own shared;"
                              "stat -c %a own ours group shared/below shared/own"};

    skip_without_boxes();
    snprintf(path, sizeof(path), "%s/shared", place->inside);
    assert_int_equal(mkdir(path, 0755), 0);
    assert_int_equal(chmod(path, 02755), 0);
    assert_runs(trial);
    assert_says(trial, "755\n755\n755\n2755\n755\n");
}

static void a_place_is_what_it_was_or_nothing(void **state)
{
    const struct place *place = *state;
    struct trial trial = {
        .places = {{.path = place->inside, .access = BOX_WRITE}}, .place_count = 1, .script = "ls"};
    struct box_process process = BOX_PROCESS_INIT;
    struct box *box = make_box(&trial);
    char path[PLACE_PATH_BYTES + 8];

    assert_non_null(box);
    skip_without_boxes();
    /* Somebody puts another directory, and then a link, where the place was. */
    assert_int_equal(renameat(place->base_fd, "inside", place->base_fd, "moved"), 0);
    assert_int_equal(mkdirat(place->base_fd, "inside", 0755), 0);
    assert_true(start_in(box, &trial, BOX_FD_NULL, &process) < 0);
    assert_non_null(strstr(trial.err.message, "something else"));
    assert_int_equal(unlinkat(place->base_fd, "inside", AT_REMOVEDIR), 0);
    assert_int_equal(symlinkat("moved", place->base_fd, "inside"), 0);
    assert_true(start_in(box, &trial, BOX_FD_NULL, &process) < 0);
    box_free(box);

    assert_null(make_box(&trial));
    assert_non_null(strstr(trial.err.message, "symbolic link"));
    snprintf(path, sizeof(path), "%s/a", place->inside);
    trial.places[0].path = path;
    assert_null(make_box(&trial));
}

static void the_machine_itself_is_no_place(void **state)
{
    static const char *const paths[] = {"/",    "/proc",    "/proc/sys", "/sys",
                                        "/dev", "/dev/shm", "relative",  "/nowhere"};

    (void)state;
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        struct trial trial = {.places = {{.path = paths[i], .access = BOX_WRITE}},
                              .place_count = 1};

        assert_null(make_box(&trial));
        assert_true(trial.err.code < 0);
    }
}

/* ---- How it ends ---- */

static void nothing_outlives_the_command(void **state)
{
    struct trial trial = {.script =
                              "setsid sleep 1000 & (trap '' TERM INT HUP; sleep 1000) & exit 0"};

    (void)state;
    skip_without_boxes();
    /* Both hold the pipe that run() reads to its end. */
    assert_runs(trial);
    assert_int_equal(trial.end.value, 0);
}

static void signals_reach_the_command(void **state)
{
    struct trial trial = {.script = "trap 'exit 5' TERM; echo ready; while :; do sleep 0.01; done"};
    struct box *box = make_box(&trial);
    struct box_process process = BOX_PROCESS_INIT;
    int ends[2];
    char byte;

    (void)state;
    assert_non_null(box);
    skip_without_boxes();
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_int_equal(start_in(box, &trial, ends[1], &process), 0);
    assert_int_equal(read(ends[0], &byte, 1), 1);
    assert_int_equal(box_signal(&process, 0), ERR_INVALID_ARGUMENT);
    assert_int_equal(box_signal(&process, SIGTERM), 0);
    box_finish(&process, &trial.end);
    assert_true(trial.end.is_known && trial.end.value == 5);

    assert_int_equal(start_in(box, &trial, ends[1], &process), 0);
    assert_int_equal(box_signal(&process, SIGKILL), 0);
    box_finish(&process, &trial.end);
    assert_true(!trial.end.is_known && trial.end.is_signal && trial.end.value == SIGKILL);
    close(ends[0]);
    close(ends[1]);
    box_free(box);
}

static void end_badly(int signal_number)
{
    _exit(signal_number);
}

static void start_with_strange_signals(void *data)
{
    struct trial trial = {.script = "kill -USR1 1; kill -CHLD $$; exit 7"};

    (void)data;
    alarm(PATIENCE_S); /* where the end is not heard of */
    expect(signal(SIGCHLD, SIG_IGN) != SIG_ERR && signal(SIGUSR1, end_badly) != SIG_ERR);
    expect(run(&trial) == 0);
    expect(trial.end.is_known && !trial.end.is_signal && trial.end.value == 7);
}

static void what_the_starter_did_with_signals_stays_outside(void **state)
{
    (void)state;
    skip_without_boxes();
    in_child(start_with_strange_signals, NULL);
}

static void a_box_dies_with_its_starter(void **state)
{
    struct trial trial = {.script = "setsid sleep 1000 & echo ready; sleep 1000"};
    struct box *box = make_box(&trial);
    char output[16];
    int ends[2];
    int status;
    char byte;
    pid_t pid;

    (void)state;
    assert_non_null(box);
    skip_without_boxes();
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct box_process process = BOX_PROCESS_INIT;

        if (start_in(box, &trial, ends[1], &process) == 0)
            for (;;)
                pause();
        _exit(1);
    }
    close(ends[1]);
    assert_int_equal(read(ends[0], &byte, 1), 1);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    /* The end of the file comes when the last of them is gone. */
    read_all(ends[0], output, sizeof(output));
    close(ends[0]);
    box_free(box);
}

/* Also what is said about its limits. */
static const char *run_limited(struct trial *trial, struct buf *words)
{
    struct box *box = make_box(trial);
    struct box_process process = BOX_PROCESS_INIT;
    const char *text;
    int ends[2];

    assert_non_null(box);
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_int_equal(start_in(box, trial, ends[1], &process), 0);
    close(ends[1]);
    assert_int_equal(box_describe(box, words), 0);
    assert_int_equal(buf_terminate(words, &text), 0);
    read_all(ends[0], trial->output, sizeof(trial->output));
    box_finish(&process, &trial->end);
    close(ends[0]);
    box_free(box);
    return text;
}

static void limits_hold_as_far_as_they_are_said_to(void **state)
{
    struct trial trial = {.script = "for i in 1 2 3 4 5 6 7 8 9 10 11 12; do sleep 1000 & done;"
                                    "echo all of them",
                          .limits = {.processes = 6, .memory_bytes = 64 << 20, .cpu_percent = 200}};
    cleanup_buf struct buf words = BUF_INIT(4096);
    const char *text;

    (void)state;
    skip_without_boxes();
    text = run_limited(&trial, &words);
    assert_non_null(strstr(text, "cores: "));
    assert_true(strstr(text, "memory: limited") != NULL || ISOLATE_IS_SANITIZED);
    assert_true((strstr(text, "processes: limited") != NULL) ==
                (strstr(trial.output, "all of them") == NULL));
}

static void limits_that_nobody_asked_for_hold_as_well(void **state)
{
    struct trial trial = {
        /* More than the kernel gives root numbers for at first, one after the other. */
        .script = "ulimit -d; i=0; while [ $i -lt 400 ]; do (:); i=$((i + 1)); done;"
                  "i=3; while [ $i -le 21 ]; do sleep 1000 & echo $i; i=$((i + 1)); done;"
                  "echo all of them",
        .limits = {.processes_unasked = 20, .memory_unasked = 512 << 20}};
    cleanup_buf struct buf words = BUF_INIT(4096);
    const char *text;

    (void)state;
    skip_without_boxes();
    text = run_limited(&trial, &words);
    assert_null(strstr(text, "cores: "));
    assert_true(strstr(text, "memory: limited by default") != NULL || ISOLATE_IS_SANITIZED);
    assert_true(strncmp(trial.output, "524288\n", 7) == 0 || ISOLATE_IS_SANITIZED);
    /* For root before Linux 6.14 by a cgroup. */
    assert_true((strstr(text, "processes: limited") != NULL) ==
                (strstr(trial.output, "all of them") == NULL));
    /* The first process and the command count, and a sanitizer's command has a number of its own.
     */
    assert_non_null(strstr(trial.output, "\n19\n"));
}

/* ---- Layers that are missing ---- */

static void probe_without(void *data)
{
    const struct {
        long number;
        const char *word;
    } *gone = data;
    struct err err = ERR_INIT;

    take_call_away(gone->number, ENOSYS);
    expect(box_probe(&err) == ERR_UNSUPPORTED);
    expect(strstr(err.message, gone->word) != NULL);
}

static void a_missing_layer_is_named(void **state)
{
    static const struct {
        long number;
        const char *word;
    } gone[] = {
        {SYS_clone, "namespaces"},
        {SYS_sethostname, "host name"},
        {SYS_mount_setattr, "devices"},
        {SYS_mount, "/tmp"},
        {SYS_landlock_create_ruleset, "Landlock"},
        {SYS_capset, "privileges"},
    };

    (void)state;
    skip_without_boxes();
    if (landlock_abi() < LANDLOCK_MIN_ABI)
        skip_because("this kernel has no Landlock");
    for (size_t i = 0; i < sizeof(gone) / sizeof(gone[0]); i++)
        in_child(probe_without, (void *)(uintptr_t)&gone[i]);
}

static void every_step_has_words(void **state)
{
    (void)state;
    for (int i = 0; i < BOX_STEP_COUNT; i++)
        assert_true(strlen(box_step_words((enum box_step)i)) > 3);
}

TEST_MAIN(
    cmocka_unit_test(a_command_runs_and_its_end_is_told),
    cmocka_unit_test(it_has_no_privileges_and_cannot_gain_any),
    cmocka_unit_test(it_may_run_on_the_same_processors_as_we_may),
    place_test(only_writable_places_can_be_written),
    place_test(what_is_only_read_stays_where_it_is),
    place_test(what_is_the_kernels_is_shown_nowhere_else),
    place_test(what_is_hidden_is_empty_and_stays_so), place_test(covers_hold_nothing_that_runs),
    place_test(a_command_can_be_given_less_than_the_plan),
    cmocka_unit_test(the_host_is_out_of_sight),
    cmocka_unit_test(a_network_of_its_own_leads_nowhere), cmocka_unit_test(a_terminal_is_its_own),
    cmocka_unit_test(commands_that_cannot_start_say_why),
    place_test(streams_that_lead_out_are_refused),
    place_test(a_stream_to_read_from_cannot_be_changed),
    cmocka_unit_test(devices_cannot_be_changed),
    place_test(no_program_is_left_that_makes_others_the_user),
    place_test(a_place_is_what_it_was_or_nothing), cmocka_unit_test(the_machine_itself_is_no_place),
    cmocka_unit_test(nothing_outlives_the_command), cmocka_unit_test(signals_reach_the_command),
    cmocka_unit_test(what_the_starter_did_with_signals_stays_outside),
    cmocka_unit_test(a_box_dies_with_its_starter),
    cmocka_unit_test(limits_hold_as_far_as_they_are_said_to),
    cmocka_unit_test(limits_that_nobody_asked_for_hold_as_well),
    cmocka_unit_test(a_missing_layer_is_named), cmocka_unit_test(every_step_has_words))
