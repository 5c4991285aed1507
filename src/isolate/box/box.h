/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sandbox for commands: its own user, mount, process, network, IPC, host name and cgroup
 * namespaces; listed parts of the system read-only, some places readable or writable, and nothing
 * else; no capabilities, Landlock, seccomp.
 *
 * A plan says what a sandbox offers and is compiled once; each command gets a sandbox of its own,
 * and may get less. Its first process is ours: it reaps, and dies with the process that started the
 * sandbox, and with it all others. Time limits, output and permissions are left to the caller.
 *
 * An open plan is for machines where no sandbox is possible and the user wants commands all the
 * same. Nothing is restricted then; only starting, reporting and ending a command, with all its
 * descendants, work as usual.
 *
 * A process that starts sandboxes must be single-threaded, and must not wait for children it does
 * not know.
 */
#ifndef ISOLATE_BOX_BOX_H
#define ISOLATE_BOX_BOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"
#include "isolate/cgroup.h"

enum {
    BOX_MAX_PLACES = 448,
    BOX_MAX_DENIALS = 4096,
    BOX_PATH_BYTES = 4096,
    BOX_WORDS_BYTES = 200,
};

/* In increasing order of access. */
enum box_access { BOX_HIDDEN, BOX_READ, BOX_WRITE };

/*
 * A directory with everything below it, or one file; an absolute path. The places are mounted in
 * order, so that later ones win. Readable and writable places must exist when the
 * plan is compiled, without a symbolic link in their path, and be the same file when a command
 * starts. Hidden ones may be missing, and links are followed.
 */
struct box_place {
    const char *path;
    enum box_access access;
    /* It may be missing or another one when a command starts, and patterns are not applied in it.
     */
    bool is_optional;
    /* It is a socket of the host that the program may connect to; else sockets are refused. */
    bool is_socket;
    uint64_t grant; /* of the authority, for narrowing it later; 0: none */
};

/*
 * Restricts one command, whatever the places say: mounted over all of them, with everything below.
 * An absolute path; it may be missing, and links are followed.
 */
struct box_denial {
    const char *path;
    enum box_access at_most; /* BOX_HIDDEN or BOX_READ */
    /* A glob (authority/names/glob.h) from /: for a launcher, which finds the paths. */
    bool is_pattern;
};

enum box_network {
    BOX_NETWORK_NONE,
    BOX_NETWORK_LISTED, /* hosts of the plan, by a proxy: see isolate/webproxy.h */
    BOX_NETWORK_HOST,
};

struct box_plan {
    const struct box_place *places;
    size_t place_count;
    const char *home; /* a folder that exists, empty but for places in it; or NULL */
    enum box_network network;
    /* With BOX_NETWORK_LISTED; must outlive the box. */
    const char *const *hosts; /* as in base/domainlist.h, NULL-terminated */
    const char *libexec;      /* where gatehouse-webproxy may be */
    struct cgroup_limits limits;
    uint64_t tmp_bytes; /* of private /tmp, /var/tmp and /dev/shm in total; 0: BOX_TMP_BYTES */
    /*
     * Leaves to other programs what they share with a command: at least three quarters of the
     * user's inotify instances and watches, and to root's programs the locks of dpkg. It makes a
     * start slower by two or three per cent.
     */
    bool spares_host;
    /*
     * For a program that builds sandboxes of its own for its parts, as browsers do: it may create
     * user namespaces and change its root in them. Root is an ordinary user inside, because such
     * programs refuse to work for root; only its own files are accessible then.
     */
    bool holds_sandboxes;
    /* Weaker: then FIFOs and files reopened through /proc are accessible. */
    bool may_lack_landlock;
    /*
     * Dangerous: commands run with the user's own rights, including privileges and sudo. Ignores
     * places, network, tmp_bytes and the restrictions of a command; limits apply where possible.
     */
    bool is_open;
};

#define BOX_TMP_BYTES (UINT64_C(512) << 20)

struct box;

/* Checks the plan and prepares what all commands share; copies what it needs of the plan. */
int box_new(const struct box_plan *plan, struct box **out_box, struct err *err);
void box_free(struct box *box);
static inline void cleanup_box_(struct box *const *box)
{
    box_free(*box);
}
#define cleanup_box cleanup_with(cleanup_box_)
/* Instead of a file descriptor. */
enum { BOX_FD_NULL = -1, BOX_FD_PTY = -2 };

/*
 * fds may be pipes, files, sockets and devices, owned by the caller. A file that is open for
 * writing is the command's to read, shorten and change the mode of: hand it a pipe instead. A
 * directory would lead out of the sandbox, and input could be injected into a terminal: both are
 * refused.
 */
struct box_command {
    const char *const *argv; /* NULL-terminated; argv[0] is looked up in PATH of env */
    const char *const *env;  /* the whole environment, NULL-terminated */
    const char *cwd;         /* as seen in the sandbox */
    int fds[3];
    unsigned short rows; /* of the terminal, with BOX_FD_PTY */
    unsigned short columns;
    /* Restrictions compared to the plan. */
    const enum box_access *at_most; /* for each place; or NULL */
    const struct box_denial *denials;
    size_t denial_count;
};

struct box_end {
    bool is_known; /* false: the sandbox was killed before it could report */
    bool is_signal;
    bool ran_out; /* a process was killed for lack of memory; set by box_finish() */
    int value;    /* exit code or signal */
    /*
     * The most that one of its processes had, if it did not end well and memory has the default
     * limit, by which the kernel kills nothing; otherwise 0.
     */
    uint64_t peak_bytes;
};

/* A running sandbox. The caller owns its memory. */
struct box_process {
    pid_t pid;   /* its first process, our child */
    int pidfd;   /* of the same process */
    int channel; /* readable when the command has ended: box_read_end() */
    int pty;     /* the master side of the terminal, nonblocking; or -1 */
    bool is_open;
    struct cgroup_leaf leaf;
    bool has_ended;
    struct box_end end;
};

#define BOX_PROCESS_INIT                                                                           \
    {                                                                                              \
        .pid = -1, .pidfd = -1, .channel = -1, .pty = -1, .leaf = CGROUP_LEAF_INIT                 \
    }

/*
 * Returns when the command was started. ERR_NOT_FOUND or ERR_PERMISSION_DENIED with the field
 * "command" if the program does not exist or cannot be run; with any other error the sandbox could
 * not be built, and the message names the step.
 */
int box_start(struct box *box, const struct box_command *command, struct box_process *out_process,
              struct err *err);

/*
 * Has the defaults of its limits enforced for all its processes together, where a cgroup can be
 * created. Takes longer than starting a sandbox: for a command that has run for a while.
 */
int box_limit_together(struct box *box, struct box_process *process, struct err *err);

/*
 * Signals the command's process group; SIGKILL goes to everything in the sandbox or, if the plan is
 * open, to all descendants of the command.
 */
int box_signal(const struct box_process *process, int signal);

/*
 * Call when the channel is readable: reads the outcome and kills what is left in the sandbox. Does
 * not wait; when all processes are gone the pidfd is readable, and box_finish() does not wait
 * either.
 */
void box_read_end(struct box_process *process);

/* Waits for the end, kills what is left in the sandbox, reaps it and frees everything. */
void box_finish(struct box_process *process, struct box_end *out_end);

/*
 * Same for a program that exits now, without waiting until the kernel has torn down the sandbox:
 * nothing runs in it any more, except for a moment after a SIGKILL.
 */
void box_let_go(struct box_process *process, struct box_end *out_end);

/* What is enforced, for people: one line each. */
int box_describe(const struct box *box, struct buf *out);

/*
 * Builds a sandbox with all layers once and runs nothing in it. Returns 0, or an error that names
 * the first missing layer and the reason.
 */
int box_probe(struct err *err);

#endif
