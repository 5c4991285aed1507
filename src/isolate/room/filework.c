/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file work of a room, each call in a process of its own, inside the room: so no path and no
 * race leads out of it. It has the rights of the room's user, but cannot be signalled by it. No
 * file is opened before it is known to be a regular one or a directory.
 */
#include "isolate/room/inner.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/streams.h"
#include "ipc/packet.h"
#include "isolate/capabilities.h"

enum { COPY_BYTES = 128 << 10, MAX_DEPTH = 200, MODE_DIRECTORY = 0755, MODE_FILE = 0644 };
enum { LIST_BYTES = 256 << 10, RECORD_ALIGNMENT = 8 };

static const struct room_job *job;
static struct room_report answer;
/* A file that is removed if this process is stopped; by its folder, whose name others may change.
 */
static int unfinished_in = -1;
static char unfinished[64];

/* ---- Answers ---- */

static _Noreturn void finish(int fd)
{
    answer.kind = ROOM_REPORT_FILE;
    answer.number = job->order.number;
    (void)packet_send(job->socket, (struct str){(const char *)&answer, sizeof(answer)}, &fd,
                      fd >= 0 ? 1 : 0, 0);
    _exit(0);
}

static _Noreturn void fail_with(int code, const char *path, const char *words)
{
    if (unfinished[0] != '\0')
        (void)unlinkat(unfinished_in, unfinished, 0);
    err_set_field(&answer.err, code, path, "%.150s: %s", path, words);
    finish(-1);
}

static _Noreturn void fail(int errno_value, const char *path)
{
    int code = err_from_errno(errno_value);

    if (errno_value == EISDIR || errno_value == ENXIO)
        code = ERR_NOT_REGULAR_FILE;
    else if (errno_value == ENOTDIR)
        code = ERR_NOT_A_DIRECTORY;
    else if (errno_value == ENOTEMPTY)
        code = ERR_NOT_EMPTY;
    else if (errno_value == ELOOP || errno_value == ENAMETOOLONG)
        code = ERR_INVALID_PATH;
    fail_with(code, path, err_errno_text(errno_value));
}

/* The first process tells what the exit status means. */
static void on_alarm(int signal_number)
{
    (void)signal_number;
    if (unfinished[0] != '\0')
        (void)unlinkat(unfinished_in, unfinished, 0);
    _exit(ROOM_TOOK_TOO_LONG);
}

/* ---- Small parts ---- */

static enum room_file_type type_of(mode_t mode)
{
    if (S_ISREG(mode))
        return ROOM_FILE;
    if (S_ISDIR(mode))
        return ROOM_DIRECTORY;
    return S_ISLNK(mode) ? ROOM_LINK : ROOM_OTHER;
}

static int64_t to_ms(const struct statx_timestamp *time)
{
    return (int64_t)time->tv_sec * 1000 + time->tv_nsec / 1000000;
}

static void describe(const struct statx *about, struct room_record *out_record)
{
    *out_record = (struct room_record){
        .type = type_of(about->stx_mode),
        .mode = about->stx_mode & 07777U,
        .uid = about->stx_uid,
        .gid = about->stx_gid,
        .size = about->stx_size,
        .modified_ms = to_ms(&about->stx_mtime),
        .created_ms =
            to_ms((about->stx_mask & STATX_BTIME) != 0 ? &about->stx_btime : &about->stx_mtime),
    };
}

static void answer_with(int fd)
{
    struct room_record record;
    struct statx about;

    if (statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS | STATX_BTIME, &about) < 0)
        fail(errno, "file");
    describe(&about, &record);
    answer.type = record.type;
    answer.mode = record.mode;
    answer.uid = record.uid;
    answer.gid = record.gid;
    answer.size = record.size;
    answer.modified_ms = record.modified_ms;
    answer.created_ms = record.created_ms;
}

/* Creates the directories above. `path` is changed and restored. */
static void make_parents(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(path, MODE_DIRECTORY) < 0 && errno != EEXIST && errno != EROFS) {
            int errno_value = errno;

            if (errno_value != EACCES || access(path, F_OK) < 0)
                fail(errno_value, path);
        }
        *slash = '/';
    }
}

/* Opens what the caller has found out to be of this type, by whatever name it has now. */
static int reopen(int path_fd, int flags)
{
    char way[32];

    snprintf(way, sizeof(way), "/proc/self/fd/%d", path_fd);
    return open(way, flags | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
}

/* A regular file, or -1 with errno, EISDIR for a directory, ENXIO for others. */
static int open_regular_at(int dir_fd, const char *name, int flags, int links,
                           struct stat *out_about)
{
    cleanup_fd int found = openat(dir_fd, name, O_PATH | O_CLOEXEC | links);

    if (found < 0 || fstat(found, out_about) < 0)
        return -1;
    if (!S_ISREG(out_about->st_mode)) {
        errno = S_ISDIR(out_about->st_mode) ? EISDIR : ENXIO;
        return -1;
    }
    return reopen(found, flags);
}

/* How much; or -1 with errno. */
/* `is_sent`: by the service, which may take its time as long as something comes. */
static int64_t copy_content(int from, int to, bool is_sent)
{
    static char bytes[COPY_BYTES];
    int64_t total = 0;

    for (;;) {
        ssize_t got = read(from, bytes, sizeof(bytes));
        ssize_t done = 0;

        if (got == 0)
            return total;
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -1;
        while (done < got) {
            ssize_t put = write(to, bytes + done, (size_t)(got - done));

            if (put < 0)
                return -1;
            done += put;
        }
        total += got;
        if (is_sent)
            (void)alarm(ROOM_FILE_TIMEOUT_MS / 1000);
    }
}

/* ---- Calls with content ---- */

static void do_open(const char *path)
{
    struct stat about;
    int fd = open_regular_at(AT_FDCWD, path, O_RDONLY, 0, &about);

    if (fd < 0)
        fail(errno, path);
    answer_with(fd);
    finish(fd);
}

static const char *last_part(const char *path)
{
    return strrchr(path, '/') + 1;
}

/* A name beside the file, for its content until that is complete. */
static int open_beside(const char *path)
{
    char folder[PATH_MAX];
    int fd;

    snprintf(folder, sizeof(folder), "%.*s", (int)(last_part(path) - path), path);
    unfinished_in = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (unfinished_in < 0)
        fail(errno, path);
    snprintf(unfinished, sizeof(unfinished), ".gatehouse-%d-%llu", getpid(),
             (unsigned long long)job->order.number);
    (void)unlinkat(unfinished_in, unfinished, 0); /* left by a killed process of this number */
    fd = openat(unfinished_in, unfinished, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, MODE_FILE);
    if (fd < 0) {
        int errno_value = errno;

        unfinished[0] = '\0';
        fail(errno_value, path);
    }
    return fd;
}

/* Closed before the answer: a file that is open for writing cannot be executed. */
static void close_written(int fd, const char *path)
{
    if (close(fd) < 0)
        fail(errno, path);
}

static void put_in_place(int fd, const char *path, bool may_replace)
{
    close_written(fd, path);
    if (renameat2(unfinished_in, unfinished, unfinished_in, last_part(path),
                  may_replace ? 0 : RENAME_NOREPLACE) < 0)
        fail(errno, path);
    unfinished[0] = '\0';
}

static void append(const char *path, int content)
{
    struct stat about;
    int fd = open_regular_at(AT_FDCWD, path, O_WRONLY | O_APPEND, 0, &about);

    if (fd < 0 && errno == ENOENT) {
        fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, MODE_FILE);
        if (fd < 0 && errno == EEXIST) /* somebody was quicker */
            fd = open_regular_at(AT_FDCWD, path, O_WRONLY | O_APPEND, 0, &about);
    }
    if (fd < 0 || copy_content(content, fd, true) < 0)
        fail(errno, path);
    close_written(fd, path);
    finish(-1);
}

/* Where a link leads to is replaced, not the link. */
static void follow_link(char path[PATH_MAX])
{
    char real[PATH_MAX];

    if (realpath(path, real) != NULL)
        snprintf(path, PATH_MAX, "%s", real);
}

static void do_write(char path[PATH_MAX])
{
    const struct room_order *order = &job->order;
    const int content = job->fds[order->has_payload ? 1 : 0];
    mode_t mode = MODE_FILE;
    struct stat about;
    int64_t len;
    int fd;

    if (content < 0)
        fail_with(ERR_INVALID_REQUEST, path, "no content");
    if ((order->flags & ROOM_WRITE_PARENTS) != 0)
        make_parents(path);
    if ((order->flags & ROOM_WRITE_APPEND) != 0)
        append(path, content);
    if (stat(path, &about) == 0) {
        if (!S_ISREG(about.st_mode))
            fail(S_ISDIR(about.st_mode) ? EISDIR : ENXIO, path);
        if ((order->flags & ROOM_WRITE_REPLACE) == 0)
            fail(EEXIST, path);
        if (faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) < 0)
            fail(errno, path);
        mode = about.st_mode & 0777U;
        follow_link(path);
    }
    if ((order->flags & ROOM_WRITE_EXECUTABLE) != 0)
        mode |= (mode & 0444U) >> 2; /* for whoever may read it */
    fd = open_beside(path);
    len = copy_content(content, fd, true);
    if (len < 0)
        fail(errno, path);
    if (order->size != UINT64_MAX && (uint64_t)len != order->size)
        fail_with(ERR_CANCELLED, path, "its content ended too early, so nothing was changed");
    if (fchmod(fd, mode) < 0)
        fail(errno, path);
    put_in_place(fd, path, (order->flags & ROOM_WRITE_REPLACE) != 0);
    finish(-1);
}

/* ---- Looking ---- */

static void do_stat(const char *path)
{
    cleanup_fd int fd = open(path, O_PATH | O_CLOEXEC);

    if (fd < 0 && errno == ENOENT)
        fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        fail(errno, path);
    answer_with(fd);
    finish(-1);
}

struct listing {
    int fd;
    size_t len;
    char name[PATH_MAX];
    char bytes[LIST_BYTES];
};

static void flush_list(struct listing *list)
{
    if (write(list->fd, list->bytes, list->len) != (ssize_t)list->len)
        fail(ENOMEM, "list");
    list->len = 0;
}

static void add_entry(struct listing *list, int dir_fd, const char *name)
{
    struct room_record record;
    struct statx about;
    size_t whole;

    if (statx(dir_fd, name, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS | STATX_BTIME, &about) < 0)
        return; /* gone meanwhile */
    if (answer.count == ROOM_MAX_ENTRIES)
        fail_with(ERR_TOO_LARGE, "list", "the folder has too many entries");
    describe(&about, &record);
    record.name_bytes = (unsigned)strlen(list->name) + 1;
    whole = sizeof(record) + record.name_bytes;
    whole += (RECORD_ALIGNMENT - whole % RECORD_ALIGNMENT) % RECORD_ALIGNMENT;
    if (list->len + whole > sizeof(list->bytes))
        flush_list(list);
    memset(list->bytes + list->len, 0, whole);
    memcpy(list->bytes + list->len, &record, sizeof(record));
    memcpy(list->bytes + list->len + sizeof(record), list->name, record.name_bytes);
    list->len += whole;
    answer.count++;
}

static void list_below(struct listing *list, int fd, size_t name_len, int depth)
{
    cleanup_dir DIR *dir = fdopendir(fd);

    if (dir == NULL)
        fail(errno, "list");
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is this function's own */
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        size_t len = name_len + strlen(entry->d_name);
        int below;

        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
            len + 2 > sizeof(list->name))
            continue;
        memcpy(list->name + name_len, entry->d_name, len - name_len + 1);
        add_entry(list, fd, entry->d_name);
        if ((job->order.flags & ROOM_FILE_RECURSIVE) == 0 || depth == 0 ||
            (entry->d_type != DT_DIR && entry->d_type != DT_UNKNOWN))
            continue;
        below = openat(fd, entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (below < 0)
            continue; /* unreadable: listed, without what is in it */
        list->name[len] = '/';
        list_below(list, below, len + 1, depth - 1);
    }
}

static void do_list(const char *path)
{
    static struct listing list;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0)
        fail(errno, path);
    list.fd = memfd_create("list", MFD_CLOEXEC);
    if (list.fd < 0)
        fail(errno, path);
    list_below(&list, fd, 0, MAX_DEPTH);
    flush_list(&list);
    finish(list.fd);
}

/* ---- Changing names ---- */

static void do_mkdir(char path[PATH_MAX])
{
    struct stat about;
    const bool with_parents = (job->order.flags & ROOM_FILE_RECURSIVE) != 0;

    if (with_parents)
        make_parents(path);
    if (mkdir(path, MODE_DIRECTORY) == 0)
        finish(-1);
    if (errno == EEXIST && with_parents && stat(path, &about) == 0 && S_ISDIR(about.st_mode))
        finish(-1);
    fail(errno, path);
}

static void remove_all(const char *path)
{
    struct stat about;

    room_remove_tree(AT_FDCWD, path);
    if (lstat(path, &about) == 0)
        fail(EACCES, path);
}

static void do_delete(const char *path)
{
    const unsigned flags = job->order.flags;
    struct stat about;

    if (strspn(path, "/.") == strlen(path))
        fail_with(ERR_ROOT_PROTECTED, path, err_text(ERR_ROOT_PROTECTED));
    if (lstat(path, &about) < 0) {
        if (errno == ENOENT && (flags & ROOM_FILE_FORCE) != 0)
            finish(-1);
        fail(errno, path);
    }
    if (!S_ISDIR(about.st_mode)) {
        if (unlink(path) < 0)
            fail(errno, path);
    } else if ((flags & ROOM_FILE_RECURSIVE) != 0) {
        remove_all(path);
    } else if (rmdir(path) < 0) {
        fail(errno, path);
    }
    finish(-1);
}

/* ---- Copying ---- */

static void copy_entry(int from_fd, const char *name, int to_fd, const char *to, int depth);

static void copy_folder(int from_fd, const char *name, int to_fd, const char *to, mode_t mode,
                        int depth)
{
    int fd = openat(from_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    cleanup_dir DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    cleanup_fd int made = -1;

    if (dir == NULL)
        fail(errno, name);
    if (depth == 0)
        fail_with(ERR_TOO_LARGE, name, "nested too deeply");
    if (mkdirat(to_fd, to, mode | 0700U) < 0 && errno != EEXIST)
        fail(errno, to);
    made = openat(to_fd, to, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (made < 0)
        fail(errno, to);
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is this function's own */
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            copy_entry(fd, entry->d_name, made, entry->d_name, depth - 1);
    (void)fchmod(made, mode);
}

static void copy_link(int from_fd, const char *name, int to_fd, const char *to)
{
    char target[PATH_MAX];
    ssize_t len = readlinkat(from_fd, name, target, sizeof(target) - 1);

    if (len >= 0)
        target[len] = '\0';
    else
        fail(errno, name);
    (void)unlinkat(to_fd, to, 0);
    if (symlinkat(target, to_fd, to) < 0)
        fail(errno, to);
}

/* In a folder that is being copied: what is neither file, folder nor link is left out. */
static void copy_entry(int from_fd, const char *name, int to_fd, const char *to, int depth)
{
    cleanup_fd int in = -1;
    cleanup_fd int out = -1;
    struct stat about;

    if (fstatat(from_fd, name, &about, AT_SYMLINK_NOFOLLOW) < 0)
        fail(errno, name);
    if (S_ISDIR(about.st_mode)) {
        copy_folder(from_fd, name, to_fd, to, about.st_mode & 0777U, depth);
        return;
    }
    if (S_ISLNK(about.st_mode)) {
        copy_link(from_fd, name, to_fd, to);
        return;
    }
    if (!S_ISREG(about.st_mode))
        return;
    in = open_regular_at(from_fd, name, O_RDONLY, O_NOFOLLOW, &about);
    if (in < 0)
        fail(errno, name);
    (void)unlinkat(to_fd, to, 0);
    out = openat(to_fd, to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (out < 0 || copy_content(in, out, false) < 0 || fchmod(out, about.st_mode & 0777U) < 0)
        fail(errno, to);
}

static void copy_file(const char *from, char to[PATH_MAX])
{
    struct stat about;
    cleanup_fd int in = open_regular_at(AT_FDCWD, from, O_RDONLY, 0, &about);
    int out;

    if (in < 0)
        fail(errno, from);
    follow_link(to);
    out = open_beside(to);
    if (copy_content(in, out, false) < 0 || fchmod(out, about.st_mode & 0777U) < 0)
        fail(errno, to);
    put_in_place(out, to, (job->order.flags & ROOM_FILE_REPLACE) != 0);
}

/* By their real paths, as far as they exist. */
static bool is_inside(const char *from, const char *to)
{
    char real_from[PATH_MAX];
    char real_to[PATH_MAX];
    char above[PATH_MAX];
    size_t len;

    snprintf(above, sizeof(above), "%s", to);
    if (realpath(from, real_from) == NULL)
        return false;
    while (realpath(above, real_to) == NULL) {
        char *slash = strrchr(above, '/');

        if (slash == NULL || slash == above)
            return false;
        *slash = '\0';
    }
    len = strlen(real_from);
    return strncmp(real_to, real_from, len) == 0 && (real_to[len] == '/' || real_to[len] == '\0');
}

static void check_target(const char *from, const char *to, const struct stat *source)
{
    struct stat target;

    if (S_ISDIR(source->st_mode) && is_inside(from, to))
        fail_with(ERR_INVALID_ARGUMENT, to, "the target lies in the source");
    if (lstat(to, &target) < 0)
        return;
    if ((job->order.flags & ROOM_FILE_REPLACE) == 0)
        fail(EEXIST, to);
    if (S_ISDIR(source->st_mode) != (stat(to, &target) == 0 && S_ISDIR(target.st_mode)))
        fail(S_ISDIR(source->st_mode) ? ENOTDIR : EISDIR, to);
}

static void do_copy(const char *from, char to[PATH_MAX])
{
    struct stat about;

    if (stat(from, &about) < 0)
        fail(errno, from);
    if (S_ISDIR(about.st_mode) && (job->order.flags & ROOM_FILE_RECURSIVE) == 0)
        fail_with(ERR_INVALID_ARGUMENT, from, "a folder is only copied with its content");
    check_target(from, to, &about);
    make_parents(to);
    if (S_ISDIR(about.st_mode)) {
        char real[PATH_MAX];

        if (realpath(from, real) == NULL)
            fail(errno, from);
        copy_folder(AT_FDCWD, real, AT_FDCWD, to, about.st_mode & 0777U, MAX_DEPTH);
    } else {
        copy_file(from, to);
    }
    finish(-1);
}

/* Folders of layers, and whatever lies in another file system, cannot be renamed. */
static void move_by_copy(const char *from, char to[PATH_MAX], const struct stat *source)
{
    if (S_ISDIR(source->st_mode))
        copy_folder(AT_FDCWD, from, AT_FDCWD, to, source->st_mode & 0777U, MAX_DEPTH);
    else if (S_ISREG(source->st_mode))
        copy_file(from, to);
    else if (S_ISLNK(source->st_mode))
        copy_link(AT_FDCWD, from, AT_FDCWD, to);
    else
        fail(ENXIO, from);
    remove_all(from);
}

static void do_move(const char *from, char to[PATH_MAX])
{
    const bool may_replace = (job->order.flags & ROOM_FILE_REPLACE) != 0;
    struct stat source;
    struct stat target;

    if (lstat(from, &source) < 0)
        fail(errno, from);
    check_target(from, to, &source);
    make_parents(to);
    if (may_replace && S_ISDIR(source.st_mode) && lstat(to, &target) == 0 &&
        (target.st_dev != source.st_dev || target.st_ino != source.st_ino))
        remove_all(to);
    if (renameat2(AT_FDCWD, from, AT_FDCWD, to, may_replace ? 0 : RENAME_NOREPLACE) < 0) {
        if (errno != EXDEV)
            fail(errno, to);
        move_by_copy(from, to, &source);
    }
    finish(-1);
}

/* ---- Ports ---- */

/* The socket, or -1 with errno. */
static int connect_to(const struct sockaddr *address, socklen_t len)
{
    int fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd >= 0 && connect(fd, address, len) < 0) {
        int errno_value = errno;

        close(fd);
        errno = errno_value;
        return -1;
    }
    return fd;
}

/* The room has its own loopback and nothing else, so this reaches only what runs in it. */
static void do_connect(void)
{
    const uint16_t port = htons((uint16_t)job->order.size);
    const struct sockaddr_in four = {
        .sin_family = AF_INET, .sin_port = port, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const struct sockaddr_in6 six = {
        .sin6_family = AF_INET6, .sin6_port = port, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    int fd;

    (void)alarm(ROOM_CONNECT_TIMEOUT_MS / 1000);
    fd = connect_to((const struct sockaddr *)&four, sizeof(four));
    if (fd < 0 && errno == ECONNREFUSED)
        fd = connect_to((const struct sockaddr *)&six, sizeof(six));
    if (fd < 0)
        fail_with(ERR_CONNECTION_LOST, "port", "nobody listens there");
    /* The end of a large write does not wait for an acknowledgement; it works without, too. */
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    finish(fd);
}

static void do_listen(void)
{
    enum { BACKLOG = 64 };
    const struct sockaddr_in address = {.sin_family = AF_INET,
                                        .sin_port = htons((uint16_t)job->order.size),
                                        .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0 || bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ||
        listen(fd, BACKLOG) < 0)
        fail(errno, "port");
    finish(fd);
}

/* ---- One call ---- */

/* Files belong to the room's user; signals are allowed by the real user, which stays root. */
static bool become_user(bool has_range)
{
    if (has_range && (setresgid((gid_t)-1, ROOM_USER, (gid_t)-1) < 0 ||
                      setresuid((uid_t)-1, ROOM_USER, (uid_t)-1) < 0))
        return false;
    return capabilities_hold(0) == 0;
}

static void take_path(const char **rest, const char *end, char out_path[PATH_MAX])
{
    size_t len = *rest < end ? strnlen(*rest, (size_t)(end - *rest)) : 0;

    if (len == 0 || **rest != '/' || len >= PATH_MAX - 1)
        fail_with(ERR_INVALID_PATH, "path", "not an absolute path");
    memcpy(out_path, *rest, len);
    out_path[len] = '\0';
    *rest += len + 1;
    while (len > 1 && out_path[len - 1] == '/')
        out_path[--len] = '\0';
}

_Noreturn void room_do_file_call(const struct room_job *own_job)
{
    static char path[PATH_MAX];
    static char other[PATH_MAX];
    const char *rest = own_job->bytes;
    const char *end = rest + own_job->order.bytes;
    sigset_t none;

    job = own_job;
    sigemptyset(&none);
    (void)signal(SIGALRM, on_alarm);
    (void)alarm(ROOM_FILE_TIMEOUT_MS / 1000);
    if (sigprocmask(SIG_SETMASK, &none, NULL) < 0 || !become_user(job->has_range))
        fail(errno, "file");
    take_path(&rest, end, path);
    if (job->order.call == ROOM_CALL_COPY || job->order.call == ROOM_CALL_MOVE)
        take_path(&rest, end, other);
    switch (job->order.call) {
    case ROOM_CALL_OPEN:
        do_open(path);
        break;
    case ROOM_CALL_WRITE:
        do_write(path);
        break;
    case ROOM_CALL_LIST:
        do_list(path);
        break;
    case ROOM_CALL_STAT:
        do_stat(path);
        break;
    case ROOM_CALL_MKDIR:
        do_mkdir(path);
        break;
    case ROOM_CALL_DELETE:
        do_delete(path);
        break;
    case ROOM_CALL_COPY:
        do_copy(path, other);
        break;
    case ROOM_CALL_MOVE:
        do_move(path, other);
        break;
    case ROOM_CALL_CONNECT:
        do_connect();
        break;
    case ROOM_CALL_LISTEN:
        do_listen();
    }
    fail_with(ERR_INVALID_REQUEST, path, "unknown call");
}
