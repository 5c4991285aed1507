/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file system that behaves like a dead network mount: it answers for its root and for the file
 * `fine`, but never for a lookup of names that begin with `hang`, nor for an open of names that
 * begin with `stuck`. Needs root and /dev/fuse.
 *
 *     hung_fuse DIR [stubborn]
 *
 * Prints "mounted", then "hung" for each request that it does not answer, and serves until its
 * standard input ends. A killed process gets its call back, as from a server that handles
 * interrupts; with `stubborn` it does not, and cannot end before hung_fuse does.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum { REQUEST_BYTES = FUSE_MIN_READ_BUFFER + (128 << 10), OPTION_BYTES = 128 };
enum { NODE_FINE = 2, NODE_STUCK = 3 };

static const char content[] = "fine\n";

struct request {
    struct fuse_in_header header;
    char body[REQUEST_BYTES - sizeof(struct fuse_in_header)];
};

static void reply(int fd, uint64_t unique, int error, const void *body, size_t len)
{
    struct fuse_out_header header = {
        .len = (uint32_t)(sizeof(header) + len), .error = -error, .unique = unique};
    /* SAFETY: writev does not write through it. */
    struct iovec parts[] = {{&header, sizeof(header)}, {(void *)(uintptr_t)body, len}};

    /* A request that was interrupted meanwhile is not wanted any more. */
    if (writev(fd, parts, len > 0 ? 2 : 1) < 0 && errno != ENOENT)
        perror("hung_fuse: reply");
}

static struct fuse_attr attributes_of(uint64_t node)
{
    bool is_root = node == FUSE_ROOT_ID;

    return (struct fuse_attr){
        .ino = node,
        .mode = is_root ? S_IFDIR | 0755 : S_IFREG | 0644,
        .nlink = 1,
        .size = is_root ? 0 : sizeof(content) - 1,
        .blksize = 4096,
    };
}

static void start(int fd, const struct request *request)
{
    struct fuse_init_in asked;
    struct fuse_init_out out = {
        .major = FUSE_KERNEL_VERSION,
        .minor = FUSE_KERNEL_MINOR_VERSION,
        .max_write = 4096,
        /* Without it one look-up that hangs would hold all others of its directory. */
        .flags = FUSE_PARALLEL_DIROPS,
    };

    memcpy(&asked, request->body, sizeof(asked));
    if (asked.minor < out.minor)
        out.minor = asked.minor;
    reply(fd, request->header.unique, 0, &out, sizeof(out));
}

static void leave_unanswered(void)
{
    if (write(STDOUT_FILENO, "hung\n", 5) != 5)
        perror("hung_fuse: stdout");
}

static void look_up(int fd, const struct request *request)
{
    struct fuse_entry_out out = {0};

    if (strncmp(request->body, "hang", 4) == 0) {
        leave_unanswered();
        return;
    }
    if (strcmp(request->body, "fine") == 0)
        out.nodeid = NODE_FINE;
    else if (strncmp(request->body, "stuck", 5) == 0)
        out.nodeid = NODE_STUCK;
    out.attr = attributes_of(out.nodeid);
    if (out.nodeid != 0)
        reply(fd, request->header.unique, 0, &out, sizeof(out));
    else
        reply(fd, request->header.unique, ENOENT, NULL, 0);
}

static void serve(int fd, const struct request *request, bool is_stubborn)
{
    uint64_t unique = request->header.unique;
    struct fuse_attr_out attributes = {.attr = attributes_of(request->header.nodeid)};
    struct fuse_open_out opened = {0};
    struct fuse_statfs_out about = {.st = {.bsize = 4096, .namelen = 255}};
    struct fuse_interrupt_in interrupt;
    struct fuse_read_in window;

    switch (request->header.opcode) {
    case FUSE_INIT:
        start(fd, request);
        break;
    case FUSE_LOOKUP:
        look_up(fd, request);
        break;
    case FUSE_GETATTR:
        reply(fd, unique, 0, &attributes, sizeof(attributes));
        break;
    case FUSE_OPEN:
        if (request->header.nodeid != NODE_STUCK)
            reply(fd, unique, 0, &opened, sizeof(opened));
        else
            leave_unanswered();
        break;
    case FUSE_OPENDIR:
        reply(fd, unique, 0, &opened, sizeof(opened));
        break;
    case FUSE_READ:
        memcpy(&window, request->body, sizeof(window));
        if (window.offset == 0)
            reply(fd, unique, 0, content, sizeof(content) - 1);
        else
            reply(fd, unique, 0, NULL, 0);
        break;
    case FUSE_READDIR: /* an empty one */
    case FUSE_RELEASE:
    case FUSE_RELEASEDIR:
        reply(fd, unique, 0, NULL, 0);
        break;
    case FUSE_STATFS:
        reply(fd, unique, 0, &about, sizeof(about));
        break;
    case FUSE_INTERRUPT:
        memcpy(&interrupt, request->body, sizeof(interrupt));
        if (!is_stubborn)
            reply(fd, interrupt.unique, EINTR, NULL, 0);
        break;
    case FUSE_FORGET:
    case FUSE_BATCH_FORGET:
        break; /* these want no answer */
    default:
        reply(fd, unique, ENOSYS, NULL, 0);
    }
}

static int run(int fd, bool is_stubborn)
{
    static struct request request;
    struct pollfd waits[] = {{.fd = fd, .events = POLLIN}, {.fd = STDIN_FILENO, .events = POLLIN}};

    for (;;) {
        ssize_t got;

        if (poll(waits, 2, -1) < 0)
            return 1;
        if (waits[1].revents != 0)
            return 0;
        got = read(fd, &request, sizeof(request));
        if (got < 0 && (errno == EINTR || errno == EAGAIN || errno == ENOENT))
            continue;
        if (got < (ssize_t)sizeof(request.header))
            return 1;
        serve(fd, &request, is_stubborn);
    }
}

int main(int argc, char **argv)
{
    char options[OPTION_BYTES];
    int fd;
    int status;

    if (argc < 2)
        return 2;
    fd = open("/dev/fuse", O_RDWR | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        perror("/dev/fuse");
        return 1;
    }
    snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=%u,group_id=%u,allow_other",
             fd, (unsigned)getuid(), (unsigned)getgid());
    if (mount("hung_fuse", argv[1], "fuse", MS_NOSUID | MS_NODEV, options) < 0) {
        perror("mount");
        return 1;
    }
    if (write(STDOUT_FILENO, "mounted\n", 8) != 8)
        return 1;
    status = run(fd, argc > 2 && strcmp(argv[2], "stubborn") == 0);
    /* Closing the descriptor afterwards gives everybody who still waits an error. */
    if (umount2(argv[1], MNT_DETACH) < 0)
        perror("umount");
    return status;
}
