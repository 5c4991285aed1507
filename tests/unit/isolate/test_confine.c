/* SPDX-License-Identifier: Apache-2.0 */
#include "child.h"

#include <linux/capability.h>
#include <linux/io_uring.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "isolate/confine.h"
#include "isolate/threads.h"

enum { THREADS_IN_TURN = 100, NO_RINGS = 77, FAR_FD = 500 };

static const int standard_fds[] = {0, 1, 2};

/* A plan for the place's inside; what else it says is up to the test. */
struct scheme {
    struct place *place;
    bool has_landlock; /* nobody can ask that later */
    struct landlock_place inside;
    const int *kept_fds; /* NULL: none is closed */
    size_t kept_count;
    struct confine_plan plan;
    struct confine_report report;
    struct err err;
};

static struct scheme scheme_for(struct place *place, unsigned rights)
{
    return (struct scheme){
        .place = place,
        .has_landlock = landlock_abi() >= LANDLOCK_MIN_ABI,
        .inside = {.path = place->inside, .rights = rights},
        .kept_fds = standard_fds,
        .kept_count = 3,
        .plan = {.place_count = 1, .has_closed_fds = true},
    };
}

static int confine(struct scheme *scheme)
{
    scheme->plan.places = &scheme->inside;
    if (scheme->kept_fds != NULL)
        expect(confine_close_fds(scheme->kept_fds, scheme->kept_count, &scheme->err) == 0);
    return confine_process(&scheme->plan, &scheme->report, &scheme->err);
}

/* Relative to the place's base, which is the working directory. */
static int open_error(const char *name, int flags)
{
    int fd = open(name, flags | O_CLOEXEC, 0644);

    if (fd < 0)
        return errno;
    close(fd);
    return 0;
}

static void *be_confined(void *data)
{
    const struct scheme *scheme = data;

    expect(open_error("inside/one", O_RDWR) == 0);
    if (scheme->report.walls[CONFINE_FILES].is_up) {
        expect(open_error("outside/secret", O_RDONLY) == EACCES);
        expect(open_error("/etc/passwd", O_RDONLY) == EACCES);
        expect(open_error("/proc/self/environ", O_RDONLY) == EACCES || ISOLATE_IS_SANITIZED);
    }
    expect_errno(socket(AF_INET, SOCK_STREAM, 0), EPERM);
    expect_errno(socket(AF_UNIX, SOCK_STREAM, 0), EPERM);
    expect_errno(fork(), EPERM);
    expect_errno(kill(getppid(), 0), EPERM);
    return NULL;
}

static void confine_all(void *data)
{
    struct rlimit core = {1, 1};
    struct scheme *scheme = data;

    expect(fchdir(scheme->place->base_fd) == 0);
    expect(confine(scheme) == 0);
    be_confined(scheme);
    expect(in_thread(be_confined, scheme));
    expect(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1);
    expect(prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 0);
    expect(prctl(PR_GET_SECCOMP, 0, 0, 0, 0) == 2);
    expect(getrlimit(RLIMIT_CORE, &core) == 0 && core.rlim_cur == 0 && core.rlim_max == 0);
    for (int wall = 0; wall < CONFINE_WALLS; wall++) {
        expect(scheme->report.walls[wall].is_up || wall == CONFINE_FILES);
        expect(scheme->report.walls[wall].words[0] != '\0');
    }
    expect(scheme->report.walls[CONFINE_FILES].is_up == scheme->has_landlock);
    expect((scheme->report.landlock_abi > 0) == scheme->has_landlock);
}

static void all_walls_stand_around_all_threads(void **state)
{
    struct scheme scheme = scheme_for(*state, LANDLOCK_MAY_READ | LANDLOCK_MAY_WRITE);

    scheme.plan.changes_files = true;
    in_child(confine_all, &scheme);
}

/* A set of /proc/self/status, opened before the walls. */
static uint64_t capabilities(int status_fd, const char *set)
{
    char text[4096];
    ssize_t len = pread(status_fd, text, sizeof(text) - 1, 0);
    const char *line;

    expect(len > 0);
    text[len] = '\0';
    line = strstr(text, set);
    expect(line != NULL);
    return strtoull(line + strlen(set), NULL, 16);
}

static void give_up_capabilities(void *data)
{
    const uint64_t to_read = 1 << CAP_DAC_OVERRIDE | 1 << CAP_DAC_READ_SEARCH | 1 << CAP_FOWNER;
    const uint64_t to_change = to_read | 1 << CAP_CHOWN | 1 << CAP_FSETID;
    struct scheme *scheme = data;
    int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    uint64_t wanted = scheme->plan.changes_files ? to_change : to_read;
    uint64_t before = capabilities(fd, "CapEff:");
    static int kept_fds[] = {0, 1, 2, -1};

    kept_fds[3] = fd;
    expect(before != 0 || geteuid() != 0);
    scheme->kept_fds = kept_fds;
    scheme->kept_count = array_size(kept_fds);
    expect(confine(scheme) == 0);
    expect(capabilities(fd, "CapEff:") == (before & wanted));
    expect(capabilities(fd, "CapPrm:") == (before & wanted));
    expect(capabilities(fd, "CapInh:") == 0);
    expect(capabilities(fd, "CapAmb:") == 0);
    /* Who has none has nothing to take them from, and no program to start with them. */
    if ((before & 1 << CAP_SETPCAP) != 0)
        expect(capabilities(fd, "CapBnd:") == 0);
    expect(capabilities(fd, "NoNewPrivs:") == 1);
}

static void root_keeps_nothing_but_its_files(void **state)
{
    struct scheme scheme = scheme_for(*state, LANDLOCK_MAY_READ | LANDLOCK_MAY_WRITE);

    in_child(give_up_capabilities, &scheme);
    scheme.plan.changes_files = true;
    in_child(give_up_capabilities, &scheme);
}

static void exec_confined(void *data)
{
    expect(confine(data) == 0);
    execl("/bin/true", "true", (char *)NULL);
}

static void a_confined_process_starts_no_program(void **state)
{
    struct scheme scheme = scheme_for(*state, LANDLOCK_MAY_READ);
    int status = status_of(exec_confined, &scheme);

    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS);
}

static void only_read(void *data)
{
    struct scheme *scheme = data;
    int fd;

    expect(fchdir(scheme->place->base_fd) == 0);
    expect(confine(scheme) == 0);
    fd = open("inside/one", O_RDONLY | O_CLOEXEC);
    expect(fd >= 0);
    /* Landlock holds none of these. */
    expect_errno(fchmodat(AT_FDCWD, "inside/one", 0777, 0), EPERM);
    expect_errno(fchmodat(AT_FDCWD, "outside/secret", 0777, 0), EPERM);
    expect_errno(fchmod(fd, 0777), EPERM);
    expect_errno(fchown(fd, getuid(), getgid()), EPERM);
    expect_errno(futimens(fd, NULL), EPERM);
    expect_errno(truncate("inside/one", 0), EPERM);
    if (!scheme->has_landlock)
        return;
    expect(open_error("inside/one", O_WRONLY) == EACCES);
    expect(open_error("inside/new", O_WRONLY | O_CREAT) == EACCES);
    expect_errno(unlink("inside/one"), EACCES);
    expect_errno(rename("inside/one", "inside/two"), EACCES);
    expect_errno(mkdir("inside/d", 0755), EACCES);
}

static void who_only_reads_changes_nothing(void **state)
{
    struct scheme scheme = scheme_for(*state, LANDLOCK_MAY_READ);
    struct stat about;

    in_child(only_read, &scheme);
    assert_int_equal(fstatat(scheme.place->base_fd, "inside/one", &about, 0), 0);
    assert_int_equal(about.st_size, 1);
    assert_int_equal(about.st_mode & 0777, 0644);
    assert_int_equal(fstatat(scheme.place->base_fd, "outside/secret", &about, 0), 0);
    assert_int_equal(about.st_mode & 0777, 0644);
}

/* ---- Descriptors ---- */

static bool is_open(int fd)
{
    return fcntl(fd, F_GETFD) >= 0;
}

static bool is_null(int fd)
{
    struct stat about;
    struct stat null;

    return fstat(fd, &about) == 0 && stat("/dev/null", &null) == 0 && S_ISCHR(about.st_mode) &&
           about.st_rdev == null.st_rdev;
}

static void leave_descriptors(void *data)
{
    struct scheme *scheme = data;
    static int kept[] = {2, 0, 77, -1};
    int fds[2];

    expect(pipe2(fds, 0) == 0);
    expect(dup2(fds[0], 77) == 77 && dup2(fds[0], 78) == 78 && dup2(fds[0], 900) == 900);
    expect(dup2(fds[1], 0) == 0);
    scheme->inside = (struct landlock_place){.fd = openat(scheme->place->base_fd, "inside", O_PATH),
                                             .rights = LANDLOCK_MAY_READ};
    expect(scheme->inside.fd > 2);
    kept[3] = scheme->inside.fd;
    scheme->kept_fds = kept;
    scheme->kept_count = array_size(kept);
    expect(confine(scheme) == 0);
    expect(is_open(2) && is_open(77) && is_open(scheme->inside.fd));
    expect(!is_null(0) && is_null(1));
    for (int fd = 3; fd < 1024; fd++)
        expect(fd == 77 || fd == scheme->inside.fd || !is_open(fd));
}

static void leave_descriptors_by_list(void *data)
{
    take_call_away(SYS_close_range, ENOSYS);
    leave_descriptors(data);
}

static void what_was_inherited_is_closed(void **state)
{
    struct scheme scheme = scheme_for(*state, LANDLOCK_MAY_READ);

    in_child(leave_descriptors, &scheme);
    in_child(leave_descriptors_by_list, &scheme);
}

static void start_without_streams(void *data)
{
    static const int kept[] = {2, 1};
    struct err err = ERR_INIT;

    (void)data;
    close(0);
    close(1);
    expect(confine_close_fds(kept, array_size(kept), &err) == 0);
    expect(is_null(0) && is_null(1) && !is_null(2));
    expect(open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC) == 3);
}

static void nothing_takes_the_place_of_a_standard_stream(void **state)
{
    (void)state;
    in_child(start_without_streams, NULL);
}

static void keep_what_is_closed(void *data)
{
    static const int kept[] = {2, 3777};
    struct err err = ERR_INIT;

    (void)data;
    expect(confine_close_fds(kept, array_size(kept), &err) == ERR_INVALID_ARGUMENT);
    expect(strstr(err.message, "3777") != NULL);
}

static void what_is_kept_must_be_open(void **state)
{
    (void)state;
    in_child(keep_what_is_closed, NULL);
}

static void keep_own(void *data)
{
    struct scheme *scheme = data;
    int fd = openat(scheme->place->base_fd, "outside/secret", O_RDWR | O_CLOEXEC);

    expect(fd >= 0);
    scheme->kept_fds = NULL;
    expect(confine(scheme) == 0);
    /* Opened before, so it still serves: as the record does. */
    expect(write(fd, "line\n", 5) == 5);
}

static void what_was_opened_before_serves_on(void **state)
{
    struct scheme scheme = scheme_for(*state, LANDLOCK_MAY_READ);

    in_child(keep_own, &scheme);
}

/* ---- What is missing ---- */

static void confine_without_landlock(void *data)
{
    struct scheme *scheme = data;

    take_call_away(SYS_landlock_create_ruleset, ENOSYS);
    expect(confine(scheme) == 0);
    expect(!scheme->report.walls[CONFINE_FILES].is_up && scheme->report.landlock_abi == 0);
    expect(scheme->report.walls[CONFINE_CALLS].is_up);
    expect_errno(socket(AF_INET, SOCK_STREAM, 0), EPERM);
    expect(strcmp(scheme->report.walls[CONFINE_FILES].words,
                  "no Landlock: this kernel does not support it") == 0);
    expect(strstr(scheme->report.walls[CONFINE_PRIVILEGES].words,
                  "no new privileges can be gained") != NULL);
}

static void a_missing_landlock_is_reported(void **state)
{
    struct scheme scheme = scheme_for(*state, LANDLOCK_MAY_READ);

    in_child(confine_without_landlock, &scheme);
}

static void confine_without_seccomp(void *data)
{
    struct scheme *scheme = data;

    take_call_away(SYS_seccomp, ENOSYS);
    scheme->report.landlock_abi = -7;
    expect(confine(scheme) == ERR_UNSUPPORTED);
    expect(strstr(scheme->err.message, "filter") != NULL);
    expect(scheme->report.landlock_abi == -7);
}

static void a_missing_seccomp_is_refused(void **state)
{
    struct scheme scheme = scheme_for(*state, LANDLOCK_MAY_READ);

    in_child(confine_without_seccomp, &scheme);
}

static void *confine_beside_another(void *data)
{
    struct scheme *scheme = data;
    /* It may have been set around this test. */
    int had_no_new_privs = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0);

    scheme->kept_fds = NULL;
    expect(confine(scheme) == ERR_INTERNAL);
    expect(strstr(scheme->err.message, "thread") != NULL);
    /* Nothing has begun. */
    expect(is_open(scheme->place->base_fd));
    expect(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == had_no_new_privs);
    return NULL;
}

static void confine_with_threads(void *data)
{
    expect(in_thread(confine_beside_another, data));
}

static void a_process_with_threads_is_refused(void **state)
{
    struct scheme scheme = scheme_for(*state, LANDLOCK_MAY_READ);

    in_child(confine_with_threads, &scheme);
}

static void *wait_beside_another(void *data)
{
    (void)data;
    expect(!threads_wait_alone(0));
    return NULL;
}

static void wait_with_threads(void *data)
{
    for (int i = 0; i < THREADS_IN_TURN; i++) {
        expect(in_thread(wait_beside_another, data));
        expect(threads_wait_alone(PATIENCE_MS));
    }
}

static void threads_that_were_joined_are_soon_gone(void **state)
{
    (void)state;
    in_child(wait_with_threads, NULL);
}

/* As libuv makes one for a loop, if it is let. */
static void confine_with_ring(void *data)
{
    struct io_uring_params params = {0};
    struct scheme *scheme = data;
    int ring = (int)syscall(SYS_io_uring_setup, 1, &params);
    int far;

    if (ring < 0)
        _exit(NO_RINGS);
    scheme->kept_fds = NULL;
    expect(confine(scheme) == ERR_INTERNAL);
    far = fcntl(ring, F_DUPFD_CLOEXEC, FAR_FD);
    expect(far >= FAR_FD);
    close(ring);
    expect(confine(scheme) == ERR_INTERNAL);
    close(far);
    expect(confine(scheme) == 0);
}

static void a_process_with_a_ring_is_refused(void **state)
{
    struct scheme scheme = scheme_for(*state, LANDLOCK_MAY_READ);
    int status = status_of(confine_with_ring, &scheme);

    if (WIFEXITED(status) && WEXITSTATUS(status) == NO_RINGS)
        skip_because("no io_uring to be had here");
    assert_int_equal(status, 0);
}

static void every_wall_has_a_name(void **state)
{
    (void)state;
    for (int wall = 0; wall < CONFINE_WALLS; wall++)
        assert_string_not_equal(confine_wall_name((enum confine_wall)wall), "unknown");
}

TEST_MAIN(place_test(all_walls_stand_around_all_threads),
          place_test(root_keeps_nothing_but_its_files),
          place_test(a_confined_process_starts_no_program),
          place_test(who_only_reads_changes_nothing), place_test(what_was_inherited_is_closed),
          place_test(nothing_takes_the_place_of_a_standard_stream),
          place_test(what_is_kept_must_be_open), place_test(what_was_opened_before_serves_on),
          place_test(a_missing_landlock_is_reported), place_test(a_missing_seccomp_is_refused),
          place_test(a_process_with_threads_is_refused),
          place_test(a_process_with_a_ring_is_refused),
          cmocka_unit_test(threads_that_were_joined_are_soon_gone),
          cmocka_unit_test(every_wall_has_a_name))
