/* SPDX-License-Identifier: Apache-2.0 */
/* Internal to box. */
#ifndef ISOLATE_BOX_INTERNAL_H
#define ISOLATE_BOX_INTERNAL_H

#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <sys/stat.h>

#include "isolate/box/box.h"
#include "isolate/seccomp.h"
#include "isolate/webproxy.h"

/* Whether a step is for sandboxes, for commands without one (open plans), or both. */
enum box_kind { BOX_CLOSED = 1, BOX_OPEN = 2, BOX_BOTH = BOX_CLOSED | BOX_OPEN };

/*
 * X(enum, its function, the kind it is for, description for people), in order of execution. The
 * first step is done by the starter; those from the network on by the command's process, up to the
 * streams in parallel with the first process.
 */
/* clang-format off */
#define BOX_STEPS(X)                                                                               \
    X(BOX_STEP_NAMESPACES, NULL, BOX_CLOSED, "creating namespaces") \
    X(BOX_STEP_LIFELINE, tie_to_starter, BOX_CLOSED, "the parent-death signal") \
    X(BOX_STEP_OPEN_LIFELINE, box_open_tie_to_starter, BOX_OPEN, "the parent-death signal") \
    X(BOX_STEP_LIMITS, enter_limits, BOX_CLOSED, "setting limits") \
    X(BOX_STEP_COMMAND, begin_command, BOX_CLOSED, "creating the command's process") \
    X(BOX_STEP_IDENTITY, map_identity, BOX_CLOSED, "mapping the user ID") \
    X(BOX_STEP_INOTIFY, limit_inotify, BOX_CLOSED, "limiting inotify") \
    X(BOX_STEP_HOSTNAME, name_host, BOX_CLOSED, "setting the host name") \
    X(BOX_STEP_DENIED, box_find_denied, BOX_CLOSED, "finding hidden or denied paths") \
    X(BOX_STEP_PLACES, box_mount_places, BOX_CLOSED, "mounting the visible paths") \
    X(BOX_STEP_PINS, box_pin_ways, BOX_CLOSED, "pinning parents of hidden or denied paths") \
    X(BOX_STEP_DEVICES, box_mount_devices, BOX_CLOSED, "mounting the devices") \
    X(BOX_STEP_SYSTEM, box_mount_system, BOX_CLOSED, "mounting the read-only system") \
    X(BOX_STEP_FILES, box_reopen_files, BOX_CLOSED, "reopening an input file") \
    X(BOX_STEP_SCRATCH, box_mount_scratch, BOX_CLOSED, "mounting the private /tmp") \
    X(BOX_STEP_ROOT, box_mount_root, BOX_CLOSED, "mounting the listed parts of the system") \
    X(BOX_STEP_PROC, box_mount_proc, BOX_CLOSED, "mounting /proc") \
    X(BOX_STEP_DEV, box_mount_dev, BOX_CLOSED, "mounting /dev") \
    X(BOX_STEP_OWN, box_mount_own, BOX_CLOSED, "mounting the private folders") \
    X(BOX_STEP_LAYERS, box_mount_layers, BOX_CLOSED, "mounting the visible paths in order") \
    X(BOX_STEP_DENIALS, box_mount_denials, BOX_CLOSED, "hiding denied paths") \
    X(BOX_STEP_KERNEL, box_cover_kernel, BOX_CLOSED, "hiding files of the kernel") \
    X(BOX_STEP_SEAL, box_seal_root, BOX_CLOSED, "making the root read-only") \
    X(BOX_STEP_TERMINAL, open_terminal, BOX_BOTH, "opening the terminal") \
    X(BOX_STEP_DIRECTORY, go_to_directory, BOX_BOTH, "changing to the working directory") \
    X(BOX_STEP_JOIN, join_command, BOX_CLOSED, "entering the network namespace") \
    X(BOX_STEP_NETWORK, make_network, BOX_CLOSED, "creating the network and IPC namespaces") \
    X(BOX_STEP_SESSION, make_session, BOX_BOTH, "creating a session") \
    X(BOX_STEP_PRIVILEGES, give_up_privileges, BOX_CLOSED, "dropping privileges") \
    X(BOX_STEP_SECCOMP, filter_calls, BOX_CLOSED, "the seccomp filter") \
    X(BOX_STEP_STREAMS, set_streams, BOX_BOTH, "setting up the standard streams") \
    X(BOX_STEP_LANDLOCK, confine_files, BOX_CLOSED, "Landlock") \
    X(BOX_STEP_OPEN_LIMITS, box_open_enter_limits, BOX_OPEN, "setting limits") \
    X(BOX_STEP_EXEC, become_command, BOX_BOTH, "the command")
/* clang-format on */

/*
 * Tells the first process of an open plan that its starter has died: the signal does not kill it,
 * and reaches it even while stopped.
 */
enum { BOX_OPEN_DEATH_SIGNAL = SIGCONT };

enum box_step {
#define X(step, take, kind, words) step,
    BOX_STEPS(X)
#undef X
        BOX_STEP_COUNT
};

const char *box_step_words(enum box_step step);

/*
 * Message of the first process over the channel: why the sandbox failed, or that it started or
 * ended.
 */
struct box_news {
    enum { BOX_NEWS_FAILED, BOX_NEWS_STARTED, BOX_NEWS_ENDED } kind;
    enum box_step step;
    int errno_value;
    char what[BOX_WORDS_BYTES]; /* for example a path; may be empty */
    struct box_end end;
    bool limits_namespace; /* of one that started */
};

struct box_own_place {
    char *path;
    enum box_access access;
    dev_t device; /* of the file found when the plan was compiled */
    ino_t inode;
    bool is_directory;
    bool is_optional;
};

enum { BOX_GIT_BYTES = 128 };

/* What commits bear; "" where the settings of git do not say. */
struct box_git_user {
    char name[BOX_GIT_BYTES];
    char email[BOX_GIT_BYTES];
};

struct box {
    struct box_own_place *places;
    size_t place_count;
    char *home; /* as it was given, and without links; or NULL */
    char *real_home;
    struct box_git_user git_user;
    enum box_network network;
    const char *const *hosts;
    const char *libexec;
    struct webproxy proxy;
    struct cgroup_limits limits;
    uint64_t tmp_bytes;
    bool may_lack_landlock;
    bool spares_host;
    bool holds_sandboxes;
    bool is_open;
    bool is_root;
    bool asks_about_locks;
    uid_t uid;
    gid_t gid;
    int landlock_abi;
    enum cgroup_hold holds[CGROUP_LIMITS]; /* of the last command */
    struct seccomp_program calls;
};

enum { BOX_DEVICES = 6, BOX_STREAMS = 3 };

/* The number of cores, which sandboxes see of /sys; without the leading slash. */
#define BOX_CORES "sys/devices/system/cpu"

/* The command's process: it executes the command or ends, it still prepares, or it waits. */
enum { BOX_START_GONE, BOX_START_BUSY, BOX_START_READY };

/* The start of the command, in memory that its process and the first one share. */
struct box_start {
    int state; /* one of the above; the kernel clears it */
    int may_go;
    pid_t pid;
    int pidfd;
    bool has_failed;
    struct box_news failure;
    int locks;            /* where we are asked about them; or -1 */
    bool is_elsewhere;    /* kept off the processor of the first process for now */
    cpu_set_t processors; /* where it may run */
};

/* A sandbox being built, in its own first process. */
struct box_build {
    struct box *box;
    const struct box_command *command;
    const struct cgroup_leaf *leaf;
    bool is_probe;         /* everything except the command */
    bool limits_namespace; /* the number of processes, by cgroup_limit_namespace() */
    int channel;
    pid_t starter; /* of an open plan */
    struct box_start *start;
    unsigned capability_count;
    mode_t umask; /* for the command */
    int pty_master;
    int pty_slave;
    int scratch_fd;
    int covers_fd;                /* the same, in a mount that is read-only and without programs */
    char *hidden[BOX_MAX_PLACES]; /* resolved path of hidden places; or NULL */
    char **denied;                /* same for the command's denials */
    bool may_see_kernel;          /* if a place or a part of the system holds other mounts */
    char **kernel;                /* where a kernel's file system is seen */
    size_t kernel_count;
    enum box_access left[BOX_MAX_PLACES]; /* access that denials above leave to the places */
    int trees[BOX_MAX_PLACES];            /* detached mounts of the places; or -1 */
    int device_trees[BOX_DEVICES];
    int files[BOX_STREAMS];     /* the streams, reopened; or -1 */
    char what[BOX_WORDS_BYTES]; /* detail of a failure */
};

enum box_access box_access_now(const struct box_build *build, size_t place);
/* Sets what a failure of this step is about. */
void box_say(struct box_build *build, const char *what);
bool box_is_beneath(const char *path, const char *directory);

/* The steps: 0 or an errno value. */
int box_find_denied(struct box_build *build);
int box_mount_places(struct box_build *build);
int box_pin_ways(struct box_build *build);
int box_mount_devices(struct box_build *build);
int box_mount_system(struct box_build *build);
int box_mount_scratch(struct box_build *build);
int box_mount_root(struct box_build *build);
int box_mount_proc(struct box_build *build);
int box_mount_dev(struct box_build *build);
int box_mount_own(struct box_build *build);
int box_mount_layers(struct box_build *build);
int box_mount_denials(struct box_build *build);
int box_cover_kernel(struct box_build *build);
int box_seal_root(struct box_build *build);
int box_reopen_files(struct box_build *build);
int box_make_network(struct box_build *build);
int box_enter_network(struct box_build *build);

/* The fd that becomes 0, 1 or 2; or -1 with errno. Call when the sandbox is complete. */
int box_open_stream(const struct box_build *build, int stream);

int box_open_tie_to_starter(struct box_build *build);
int box_open_enter_limits(struct box_build *build);

/*
 * Without a process namespace that ends with its first process: kills and reaps all descendants of
 * the calling process, a subreaper with all signals blocked.
 */
void box_open_end_descendants(void);

/*
 * Covers a path without links: with an empty cover, or with the folder of this name in the scratch
 * directory. A missing path needs none. 0 or an errno value.
 */
int box_hide(struct box_build *build, const char *path);
int box_cover(struct box_build *build, const char *path, const char *cover);

/* Whether it lies in a folder of the system that is shown as a whole. */
bool box_is_part_shown(const char *path);

/* Whether commands cannot work without it, or it is a folder that contains such. */
bool box_is_of_system(const char *path);

/*
 * Whether a link leads from a path to be hidden to something that must not be hidden: the system,
 * or the folder that contains the link.
 */
bool box_is_astray(const char *path, const char *found);

/*
 * Same for the present path, and also for links to the command's working directory or a place. A
 * rule written by the user may well lead there: for rules, only links count that lie where commands
 * may write.
 */
bool box_is_led_astray(const struct box_build *build, const char *path, bool is_rule);

/* Whether the path passes through a link that lies in one of these folders. */
bool box_passes_link_in(const char *path, bool (*is_in)(const void *data, const char *folder),
                        const void *data);

/* The folder on the path, without links, that may not be searched; false if there is none. */
bool box_find_closed(const char *path, char out_folder[PATH_MAX]);

/* Whether it lies in a place that is writable this time. The place itself does not count. */
bool box_is_in_writable(const struct box_build *build, const char *path);

/*
 * Mounts a folder onto itself, so that no command of this sandbox can rename it. Such mounts count
 * wherever they are: these lie beneath the places, which are mounted over them, so that hidden
 * files are covered on the very tree in which a command works. If the pins were on that tree, a
 * command whose working directory is moved behind them would bypass the covers.
 */
int box_pin(const char *folder);

/* Covers everything hidden or denied in this place, whose tree was just mounted. */
int box_cover_in(struct box_build *build, size_t place);
/* Covers what is hidden there, unless a mounted tree contains it, which is covered itself. */
int box_cover_place(struct box_build *build, size_t place);

/* Makes what the sandbox shows there, with everything below, read-only. */
int box_hold_to_reading(struct box_build *build, const char *path);

/*
 * Clones the mount at a path that may be "" for the descriptor itself, with what is mounted below
 * it, and adds these attributes; mounts such a clone. 0 or an errno value.
 */
int box_cut_out(int dir_fd, const char *path, uint64_t attributes, int *out_tree);
int box_lay(int tree, int dir_fd, const char *path);

/* The same for what the host has, without new attributes; notes whether it may be the kernel's. */
int box_clone_seen(struct box_build *build, int dir_fd, const char *path, int *out_tree);

/* Creates a path with its parents, in our own tmpfs, where nobody else is yet. */
int box_make_way(const char *path, bool is_directory);

/* Reads who commits from the settings in this home; writes it into the sandbox's home. */
void box_git_find(const char *home, struct box_git_user *out_user);
void box_git_write(const struct box *box);

/* Whether an errno value says that there is nothing of that name. */
bool box_is_gone(int errno_value);

/* Opens a file that must be unchanged and reachable without links; its descriptor or -errno. */
int box_open_place(const char *path);

/*
 * For the first process, when somebody calls flock(): starts the process that answers such calls
 * from now on. Its number; or -1, and one call is refused.
 */
pid_t box_locks_serve(int listener);

/* Main function of a sandbox's first process. */
_Noreturn void box_live(struct box_build *build);

/* Filter of calls that no sandboxed command needs and by which the kernel was exploited. */
enum box_calls {
    BOX_CALLS_COMMAND,
    BOX_CALLS_SANDBOXES, /* of a program that builds sandboxes */
    BOX_CALLS_ROOM,      /* no disk space without writing to it: see room/keeper_space.c */
};
int box_calls_compile(enum seccomp_machine machine, enum box_calls kind,
                      struct seccomp_program *out_program, struct err *err);

#endif
