/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A command in a box: its own user, mount, process, network, IPC, host name and cgroup namespaces;
 * the system read-only, some places writable and some hidden; no capabilities, Landlock, seccomp.
 *
 * A plan says what a box offers and is compiled once; each command that is started in it has a
 * box of its own, and may be given less. Its first process is ours: it reaps, and dies with
 * whoever started the box, and with it all others. Time limits and what becomes of the output
 * are left to the caller, and so is the question who may have what.
 *
 * An open plan is for where no box can be had and the user wants commands all the same. Nothing
 * is held then: what stays is how a command is started, told of and ended, with all it started.
 *
 * A process that starts boxes has one thread, and waits for no child that it does not know.
 */
#ifndef ISOLATE_BOX_BOX_H
#define ISOLATE_BOX_BOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
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

/* In the order of what they allow. */
enum box_access { BOX_HIDDEN, BOX_READ, BOX_WRITE };

/*
 * A directory with all below it, or one file; an absolute path. The places are laid over the
 * system in their order, so that a later one holds where two meet. What is readable or writable
 * has to be there when the plan is compiled, without a symbolic link in its path, and to be the
 * same file when a command starts. What is to be hidden may be missing, and links are followed.
 */
struct box_place {
    const char *path;
    enum box_access access;
    uint64_t grant; /* of the authority, for those who narrow it later; 0: none */
};

/*
 * What one command gets less, whatever the places say: laid over all of them, with all below it. An
 * absolute path; it may be missing, and links are followed.
 */
struct box_denial {
    const char *path;
    enum box_access at_most; /* BOX_HIDDEN or BOX_READ */
    bool is_pattern; /* of authority/names/glob.h, from / on: for a launcher, which finds paths */
};

enum box_network { BOX_NETWORK_NONE, BOX_NETWORK_HOST };

struct box_plan {
    const struct box_place *places;
    size_t place_count;
    enum box_network network;
    struct cgroup_limits limits;
    uint64_t tmp_bytes; /* of the private /tmp, /var/tmp and /dev/shm together; 0: BOX_TMP_BYTES */
    bool may_lack_landlock; /* weaker: without it FIFOs and files reopened through /proc are open */
    /*
     * Dangerous: commands run as the user does, privileges and sudo included. Places, network and
     * tmp_bytes are not looked at, nor is what a command is given less; limits hold where they can.
     */
    bool is_open;
};

#define BOX_TMP_BYTES (UINT64_C(512) << 20)

struct box;

/* Checks the plan and prepares what all commands share; it keeps nothing of the plan's memory. */
int box_new(const struct box_plan *plan, struct box **out_box, struct err *err);
void box_free(struct box *box);

/* In place of a descriptor. */
enum { BOX_FD_NULL = -1, BOX_FD_PTY = -2 };

/*
 * fds may be pipes, files, sockets and devices, and stay the caller's; a directory would lead out
 * of the box, and a terminal be typed into: both are refused.
 */
struct box_command {
    const char *const *argv; /* up to a NULL; argv[0] is looked for in PATH of env */
    const char *const *env;  /* all of it, up to a NULL */
    const char *cwd;         /* as seen in the box */
    int fds[3];
    unsigned short rows; /* of the terminal, with a BOX_FD_PTY */
    unsigned short columns;
    /* What it gets less than the plan. */
    const enum box_access *at_most; /* for each place; or NULL */
    const struct box_denial *denials;
    size_t denial_count;
    bool has_no_network;
};

struct box_end {
    bool is_known; /* false: the box was killed before it could tell */
    bool is_signal;
    bool ran_out;        /* something in it was killed for want of memory: box_finish() knows */
    int value;           /* exit code or signal */
    struct rusage usage; /* of the command and what it waited for */
};

/* A box that runs. Its memory is the caller's. */
struct box_process {
    pid_t pid;   /* of its first process, a child of ours */
    int pidfd;   /* the same */
    int channel; /* readable when the command ended: box_read_end() */
    int pty;     /* the terminal's other side, non-blocking; or -1 */
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
 * "command" when there is no such program or it cannot be run; with any other error the box
 * could not be built, and the message names the step.
 */
int box_start(struct box *box, const struct box_command *command, struct box_process *out_process,
              struct err *err);

/*
 * To the command and those it started that stay in its group; SIGKILL: to everything in the box,
 * which is everything that descends from the command where the plan is open.
 */
int box_signal(const struct box_process *process, int signal);

/*
 * For when the channel is readable: takes the news of the end and kills what is left in the box.
 * It does not wait; when all are gone the pidfd is readable, and box_finish() does not wait either.
 */
void box_read_end(struct box_process *process);

/* Waits for the end, kills what is left in the box, reaps it and frees all it had. */
void box_finish(struct box_process *process, struct box_end *out_end);

/*
 * The same for a program that ends now and does not wait until the kernel has taken the box
 * apart: nothing runs in there any more, except after a SIGKILL, and then not for long.
 */
void box_let_go(struct box_process *process, struct box_end *out_end);

/* What holds, for a person: a line each. */
int box_describe(const struct box *box, struct buf *out);

/*
 * Builds a box with all layers once and runs nothing in it. 0, or the first layer that is missing
 * and why, in words.
 */
int box_probe(struct err *err);

#endif
