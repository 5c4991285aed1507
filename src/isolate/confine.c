/* SPDX-License-Identifier: Apache-2.0 */
#include "isolate/confine.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "base/streams.h"
#include "isolate/capabilities.h"
#include "isolate/sanitized.h"
#include "isolate/seccomp.h"
#include "isolate/syscalls.h"
#include "isolate/threads.h"

enum {
    STANDARD_FDS = 3,
    FD_SET_MAX = CONFINE_MAX_KEPT + STANDARD_FDS,
    MAX_LOOKED_AT = 256, /* file descriptors, before they are listed instead */
};

#define OWN_FDS "/proc/self/fd"

/* Data of the distribution, readable to everybody; missing ones do not matter. */
static const char *const library_data[] = {
    "/usr/lib/locale",
    "/usr/share/locale",
    "/usr/share/zoneinfo",
    "/etc/localtime",
    "/usr/lib64/gconv",
#if defined(__x86_64__)
    "/usr/lib/x86_64-linux-gnu/gconv",
#elif defined(__aarch64__)
    "/usr/lib/aarch64-linux-gnu/gconv",
#endif
};

/* For a sanitizer's runtime: the process's own maps and threads. */
static const char sanitizer_data[] = "/proc";

/* ---- Descriptors ---- */

/* Sorted, without duplicates. */
struct fd_set_sorted {
    size_t count;
    int fds[FD_SET_MAX];
};

static int compare_fds(const void *a, const void *b)
{
    int x = *(const int *)a;
    int y = *(const int *)b;

    return (x > y) - (x < y);
}

static bool is_open(int fd)
{
    return fcntl(fd, F_GETFD) >= 0;
}

static bool is_kept(const struct fd_set_sorted *kept, int fd)
{
    return bsearch(&fd, kept->fds, kept->count, sizeof(kept->fds[0]), compare_fds) != NULL;
}

/* If close_range() is not available. */
static int close_listed(const struct fd_set_sorted *kept)
{
    cleanup_dir DIR *dir = opendir(OWN_FDS);

    if (dir == NULL)
        return -1;
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is this function's own */
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        int64_t fd;

        if (str_to_int64(str_from(entry->d_name), &fd) && fd != dirfd(dir) &&
            !is_kept(kept, (int)fd))
            close((int)fd);
    }
    return 0;
}

/* Closes all except the set, which contains 0, 1 and 2. */
static int close_others(const struct fd_set_sorted *kept)
{
    for (size_t i = 0; i < kept->count; i++) {
        unsigned from = (unsigned)kept->fds[i] + 1;
        unsigned to = i + 1 < kept->count ? (unsigned)kept->fds[i + 1] - 1 : UINT32_MAX;

        /* SAFETY: no wrapper in every C library; it takes numbers and no names. */
        if (from <= to && syscall(SYS_close_range, from, to, 0) < 0)
            return close_listed(kept);
    }
    return 0;
}

/* Nothing opened later may become a standard stream. */
static int fill_standard(int fd, struct err *err)
{
    cleanup_fd int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);

    if (null_fd == fd) {
        steal_fd(&null_fd);
        return 0;
    }
    if (null_fd < 0 || dup2(null_fd, fd) < 0)
        return err_set(err, err_from_errno(errno),
                       "cannot open /dev/null as file descriptor %d: %s", fd,
                       err_errno_text(errno));
    return 0;
}

static void add_fd(struct fd_set_sorted *set, int fd)
{
    for (size_t i = 0; i < set->count; i++)
        if (set->fds[i] == fd)
            return;
    set->fds[set->count++] = fd;
}

/* Closes what is not in `kept`, which has no more than FD_SET_MAX - STANDARD_FDS. */
static int close_all_but(struct fd_set_sorted *kept, struct err *err)
{
    bool is_named[STANDARD_FDS] = {false};

    for (size_t i = 0; i < kept->count; i++) {
        int fd = kept->fds[i];

        if (fd >= 0 && fd < STANDARD_FDS)
            is_named[fd] = true;
        else if (fd < 0 || !is_open(fd))
            return err_set(err, ERR_INVALID_ARGUMENT,
                           "file descriptor %d should be kept but is not open", fd);
    }
    for (int fd = 0; fd < STANDARD_FDS; fd++)
        add_fd(kept, fd);
    qsort(kept->fds, kept->count, sizeof(kept->fds[0]), compare_fds);
    if (close_others(kept) < 0)
        return err_set(err, err_from_errno(errno), "cannot close inherited file descriptors: %s",
                       err_errno_text(errno));
    for (int fd = 0; fd < STANDARD_FDS; fd++) {
        int r = is_named[fd] && is_open(fd) ? 0 : fill_standard(fd, err);

        if (r < 0)
            return r;
    }
    return 0;
}

int confine_close_fds(const int *kept_fds, size_t kept_count, struct err *err)
{
    struct fd_set_sorted kept = {0};

    if (kept_count > CONFINE_MAX_KEPT)
        return err_set(err, ERR_TOO_LARGE, "more than %d file descriptors to keep",
                       CONFINE_MAX_KEPT);
    for (size_t i = 0; i < kept_count; i++)
        add_fd(&kept, kept_fds[i]);
    return close_all_but(&kept, err);
}

static bool is_ring(int dir_fd, const char *name)
{
    static const char ring[] = "anon_inode:[io_uring]";
    char target[sizeof(ring)];
    ssize_t len = readlinkat(dir_fd, name, target, sizeof(target));

    return len == sizeof(ring) - 1 && memcmp(target, ring, sizeof(ring) - 1) == 0;
}

/* Listing makes the kernel prepare every entry, which takes ten times as long as fstat(). */
static bool has_listed_ring(void)
{
    cleanup_dir DIR *dir = opendir(OWN_FDS);

    if (dir == NULL)
        return false;
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is this function's own */
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;)
        if (is_ring(dirfd(dir), entry->d_name))
            return true;
    return false;
}

/* False if not all of them were found among the first numbers; their count is 0 if unknown. */
static bool look_at_each(int dir_fd, size_t count, bool *out_has_ring)
{
    *out_has_ring = false;
    for (int fd = 0; count > 0 && fd < MAX_LOOKED_AT; fd++) {
        char name[16];
        struct stat about;

        if (fstat(fd, &about) < 0)
            continue;
        snprintf(name, sizeof(name), "%d", fd);
        /* A ring is none of those, whatever else it is. */
        if (!S_ISDIR(about.st_mode) && !S_ISSOCK(about.st_mode) && !S_ISCHR(about.st_mode) &&
            !S_ISFIFO(about.st_mode) && is_ring(dir_fd, name))
            *out_has_ring = true;
        if (--count == 0)
            return true;
    }
    return false;
}

/*
 * A mistake of ours: a ring accepts operations, also for files and sockets, that pass no filter,
 * and its owner cannot use it as expected. Behind the filter none can be created, and libraries do
 * without; so libuv's loops, which create one, must be created after confining.
 */
static int check_no_ring(struct err *err)
{
    cleanup_fd int dir_fd = open(OWN_FDS, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct stat about;
    bool has_ring;

    if (dir_fd < 0 || fstat(dir_fd, &about) < 0)
        return 0;
    /* Newer kernels say how many there are. */
    if (!look_at_each(dir_fd, (size_t)about.st_size, &has_ring))
        has_ring = has_listed_ring();
    return has_ring ? err_set(err, ERR_INTERNAL, "an io_uring would stay unconfined") : 0;
}

/* ---- The walls, in the order in which they are built ---- */

__attribute__((format(printf, 3, 4))) static void found(struct confine_finding *finding, bool is_up,
                                                        const char *format, ...)
{
    va_list args;

    finding->is_up = is_up;
    va_start(args, format);
    vsnprintf(finding->words, sizeof(finding->words), format, args);
    va_end(args);
}

static int wall_privileges(const struct confine_plan *plan, struct confine_finding *finding,
                           struct err *err)
{
    bool holds_any;
    int r = capabilities_drop(plan->changes_files, &holds_any, err);

    if (r < 0)
        return r;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return err_set(err, err_from_errno(errno), "no_new_privs: %s", err_errno_text(errno));
    found(finding, true, "no new privileges can be gained%s",
          holds_any ? "; of root's privileges, only file access is left" : "");
    return 0;
}

static int wall_memory(struct confine_finding *finding, struct err *err)
{
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
        return err_set(err, err_from_errno(errno), "cannot prevent debugging: %s",
                       err_errno_text(errno));
    found(finding, true, "other processes of this user cannot inspect this one");
    return 0;
}

static int wall_core(struct confine_finding *finding, struct err *err)
{
    const struct rlimit none = {0, 0};

    if (setrlimit(RLIMIT_CORE, &none) < 0)
        return err_set(err, err_from_errno(errno), "cannot disable core files: %s",
                       err_errno_text(errno));
    found(finding, true, "a crash leaves no core file");
    return 0;
}

/* A sanitizer's runtime needs terabytes of addresses. */
static int limit_resources(const struct confine_plan *plan, struct err *err)
{
    const struct rlimit memory = {plan->max_memory_bytes, plan->max_memory_bytes};
    const struct rlimit cpu = {plan->max_cpu_s, plan->max_cpu_s};

    if ((plan->max_memory_bytes > 0 && !ISOLATE_IS_SANITIZED &&
         setrlimit(RLIMIT_AS, &memory) < 0) ||
        (plan->max_cpu_s > 0 && setrlimit(RLIMIT_CPU, &cpu) < 0))
        return err_set(err, err_from_errno(errno), "cannot limit memory and processor: %s",
                       err_errno_text(errno));
    return 0;
}

static void tell_landlock(const struct landlock_result *result, struct confine_finding *finding)
{
    if (!result->is_applied) {
        found(finding, false, "%s", result->reason);
        return;
    }
    found(finding, true, "only granted paths can be opened (Landlock, ABI %d%s%s%s)%s", result->abi,
          result->holds_network ? "; no TCP" : "",
          result->holds_devices ? "; no control of devices" : "",
          result->holds_scope ? "; no signals or abstract sockets to others" : "",
          result->holds_truncate ? "" : "; on this kernel, readable files can also be truncated");
}

static int wall_files(const struct confine_plan *plan, struct confine_report *report,
                      struct err *err)
{
    struct landlock_place places[CONFINE_MAX_PLACES + array_size(library_data) + 1];
    struct landlock_request request = {.places = places};
    struct landlock_result result;
    int r;

    for (size_t i = 0; i < plan->place_count; i++)
        places[request.place_count++] = plan->places[i];
    for (size_t i = 0; i < array_size(library_data); i++)
        places[request.place_count++] = (struct landlock_place){
            .path = library_data[i], .rights = LANDLOCK_MAY_READ, .may_be_missing = true};
    if (ISOLATE_IS_SANITIZED)
        places[request.place_count++] = (struct landlock_place){
            .path = sanitizer_data, .rights = LANDLOCK_MAY_READ, .may_be_missing = true};

    r = landlock_confine(&request, &result, err);
    if (r < 0)
        return r;
    report->landlock_abi = result.is_applied ? result.abi : 0;
    tell_landlock(&result, &report->walls[CONFINE_FILES]);
    return 0;
}

static int wall_calls(const struct confine_plan *plan, struct confine_finding *finding,
                      struct err *err)
{
    const struct syscalls_needs needs = {
        .pid = getpid(),
        .changes_files = plan->changes_files,
        .passes_messages = plan->passes_messages,
        .answers_connections = plan->answers_connections,
        .shares_memory = plan->shares_memory,
        .makes_links = plan->makes_links,
        .keeps_rooms = plan->keeps_rooms,
        .has_connections = plan->has_connections,
    };
    struct seccomp_program program;
    int r = syscalls_compile(SECCOMP_ON_THIS, &needs, &program, err);

    if (r == 0)
        r = seccomp_install(&program, err);
    if (r == 0)
        found(finding, true, "no programs, no processes, no new sockets (seccomp)%s",
              ISOLATE_IS_SANITIZED ? "; wider filter for a sanitizer" : "");
    return r;
}

int confine_process(const struct confine_plan *plan, struct confine_report *out_report,
                    struct err *err)
{
    struct confine_report report = {0};
    int r = threads_check_alone(err);

    assert(plan->has_closed_fds);
    found(&report.walls[CONFINE_DESCRIPTORS], true,
          "inherited file descriptors were already closed");
    if (r == 0 && plan->place_count > CONFINE_MAX_PLACES)
        r = err_set(err, ERR_TOO_LARGE, "more than %d paths", CONFINE_MAX_PLACES);
    if (r == 0)
        r = check_no_ring(err);
    if (r == 0)
        r = wall_privileges(plan, &report.walls[CONFINE_PRIVILEGES], err);
    if (r == 0)
        r = wall_memory(&report.walls[CONFINE_MEMORY], err);
    if (r == 0)
        r = wall_core(&report.walls[CONFINE_CORE], err);
    if (r == 0)
        r = limit_resources(plan, err);
    if (r == 0)
        r = wall_files(plan, &report, err);
    if (r == 0)
        r = wall_calls(plan, &report.walls[CONFINE_CALLS], err);
    if (r == 0)
        *out_report = report;
    return r;
}

int confine_to_directories(const char *const *paths, size_t count, struct err *err)
{
    struct landlock_place places[CONFINE_MAX_PLACES];
    struct confine_plan plan = {.places = places, .changes_files = true, .has_closed_fds = true};
    struct confine_report report;

    for (size_t i = 0; i < count && i < CONFINE_MAX_PLACES; i++)
        places[plan.place_count++] = (struct landlock_place){
            .path = paths[i], .rights = LANDLOCK_MAY_READ | LANDLOCK_MAY_WRITE};
    return confine_process(&plan, &report, err);
}

/* ---- For people ---- */

const char *confine_wall_name(enum confine_wall wall)
{
    switch (wall) {
    case CONFINE_DESCRIPTORS:
        return "descriptors";
    case CONFINE_PRIVILEGES:
        return "privileges";
    case CONFINE_MEMORY:
        return "memory";
    case CONFINE_CORE:
        return "core";
    case CONFINE_FILES:
        return "files";
    case CONFINE_CALLS:
        return "calls";
    case CONFINE_WALLS:
        break;
    }
    return "unknown";
}

void confine_complain(const struct confine_report *report, void (*complain)(const char *words))
{
    for (enum confine_wall wall = 0; wall < CONFINE_WALLS; wall++) {
        char words[CONFINE_WORDS_BYTES + 64];

        if (report->walls[wall].is_up)
            continue;
        snprintf(words, sizeof(words), "not confined: %s: %s", confine_wall_name(wall),
                 report->walls[wall].words);
        complain(words);
    }
}

void confine_log(const struct confine_report *report, const struct log *log)
{
    for (enum confine_wall wall = 0; wall < CONFINE_WALLS; wall++)
        log_write(log, report->walls[wall].is_up ? LOG_DEBUG : LOG_WARN,
                  report->walls[wall].is_up ? "confined" : "not confined",
                  LOG_TEXT("wall", confine_wall_name(wall)),
                  LOG_TEXT("detail", report->walls[wall].words));
}
