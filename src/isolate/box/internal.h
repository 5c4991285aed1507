/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of box share; for them alone. */
#ifndef ISOLATE_BOX_INTERNAL_H
#define ISOLATE_BOX_INTERNAL_H

#include <limits.h>
#include <signal.h>
#include <sys/stat.h>

#include "isolate/box/box.h"
#include "isolate/seccomp.h"

/* Whether a step is for boxes, for commands without one (plans that are open), or for both. */
enum box_kind { BOX_CLOSED = 1, BOX_OPEN = 2, BOX_BOTH = BOX_CLOSED | BOX_OPEN };

/*
 * X(enum, the function that takes it, for which kind, for a person), in the order in which they are
 * taken. The first is the starter's own; from the session on, the command's.
 */
/* clang-format off */
#define BOX_STEPS(X)                                                                               \
    X(BOX_STEP_NAMESPACES, NULL, BOX_CLOSED, "new namespaces") \
    X(BOX_STEP_LIFELINE, tie_to_starter, BOX_CLOSED, "the tie to its starter") \
    X(BOX_STEP_OPEN_LIFELINE, box_open_tie_to_starter, BOX_OPEN, "the tie to its starter") \
    X(BOX_STEP_LIMITS, enter_limits, BOX_CLOSED, "the limits") \
    X(BOX_STEP_MAKER, box_begin_network, BOX_CLOSED, "the maker of its network") \
    X(BOX_STEP_IDENTITY, map_identity, BOX_CLOSED, "the user's number") \
    X(BOX_STEP_HOSTNAME, name_host, BOX_CLOSED, "the host name") \
    X(BOX_STEP_DENIED, box_find_denied, BOX_CLOSED, "what is hidden or denied") \
    X(BOX_STEP_PLACES, box_mount_places, BOX_CLOSED, "the places") \
    X(BOX_STEP_PINS, box_pin_ways, BOX_CLOSED, "the way to what is hidden or denied") \
    X(BOX_STEP_DEVICES, box_mount_devices, BOX_CLOSED, "the devices") \
    X(BOX_STEP_SYSTEM, box_mount_system, BOX_CLOSED, "the read-only system") \
    X(BOX_STEP_FILES, box_reopen_files, BOX_CLOSED, "a file to be read from") \
    X(BOX_STEP_SCRATCH, box_mount_scratch, BOX_CLOSED, "the private /tmp") \
    X(BOX_STEP_PROC, box_mount_proc, BOX_CLOSED, "a /proc of its own") \
    X(BOX_STEP_DEV, box_mount_dev, BOX_CLOSED, "a /dev of its own") \
    X(BOX_STEP_COVERS, box_mount_covers, BOX_CLOSED, "the covers over what is the host's alone") \
    X(BOX_STEP_LAYERS, box_mount_layers, BOX_CLOSED, "the places in their order") \
    X(BOX_STEP_DENIALS, box_mount_denials, BOX_CLOSED, "what rules deny") \
    X(BOX_STEP_KERNEL, box_cover_kernel, BOX_CLOSED, "the covers over what is the kernel's own") \
    X(BOX_STEP_TERMINAL, open_terminal, BOX_BOTH, "the terminal") \
    X(BOX_STEP_DIRECTORY, go_to_directory, BOX_BOTH, "the working directory") \
    X(BOX_STEP_NETWORK, box_enter_network, BOX_CLOSED, "a network of its own") \
    X(BOX_STEP_SESSION, make_session, BOX_BOTH, "a session of its own") \
    X(BOX_STEP_STREAMS, set_streams, BOX_BOTH, "the standard streams") \
    X(BOX_STEP_PRIVILEGES, give_up_privileges, BOX_CLOSED, "giving up all privileges") \
    X(BOX_STEP_LANDLOCK, confine_files, BOX_CLOSED, "Landlock") \
    X(BOX_STEP_SECCOMP, filter_calls, BOX_CLOSED, "the system call filter") \
    X(BOX_STEP_OPEN_LIMITS, box_open_enter_limits, BOX_OPEN, "the limits") \
    X(BOX_STEP_EXEC, become_command, BOX_BOTH, "the command")
/* clang-format on */

/*
 * What tells the first process of an open one that its starter has gone: it does not die of it, and
 * hears it also when somebody has stopped it.
 */
enum { BOX_OPEN_DEATH_SIGNAL = SIGCONT };

enum box_step {
#define X(step, take, kind, words) step,
    BOX_STEPS(X)
#undef X
        BOX_STEP_COUNT
};

const char *box_step_words(enum box_step step);

/* Why a box did not come up, or that it did: what its first process tells over the channel. */
struct box_news {
    enum { BOX_NEWS_FAILED, BOX_NEWS_STARTED, BOX_NEWS_ENDED } kind;
    enum box_step step;
    int errno_value;
    char what[BOX_WORDS_BYTES]; /* the path, for one; may be empty */
    struct box_end end;
};

struct box_own_place {
    char *path;
    enum box_access access;
    dev_t device; /* of what was found there when the plan was compiled */
    ino_t inode;
    bool is_directory;
};

struct box {
    struct box_own_place places[BOX_MAX_PLACES];
    size_t place_count;
    enum box_network network;
    struct cgroup_limits limits;
    uint64_t tmp_bytes;
    bool may_lack_landlock;
    bool is_open;
    bool is_root;
    uid_t uid;
    gid_t gid;
    int landlock_abi;
    enum cgroup_hold holds[CGROUP_LIMITS]; /* of the last command */
    struct seccomp_program calls;
};

enum { BOX_DEVICES = 6, BOX_KEPT = 5, BOX_STREAMS = 3 };

/* A box that is being built, in its own first process. */
struct box_build {
    struct box *box;
    const struct box_command *command;
    const struct cgroup_leaf *leaf;
    bool is_probe; /* everything but the command */
    int channel;
    pid_t starter; /* of an open one */
    pid_t network_maker;
    int network_errno; /* of the maker, and what it made */
    int network;
    mode_t umask; /* of the command */
    int pty_master;
    int pty_slave;
    int scratch_fd;
    char *hidden[BOX_MAX_PLACES];         /* where it lies, of the places that are; or NULL */
    char **denied;                        /* the same for the command's denials */
    enum box_access left[BOX_MAX_PLACES]; /* of the places by the denials above them */
    int trees[BOX_MAX_PLACES];            /* of the places, cut out of the system; or -1 */
    int device_trees[BOX_DEVICES];
    int kept_trees[BOX_KEPT];
    int files[BOX_STREAMS];     /* of the streams, opened again; or -1 */
    char what[BOX_WORDS_BYTES]; /* is told with a failure */
};

enum box_access box_access_now(const struct box_build *build, size_t place);
/* What a failure of this step is about. */
void box_say(struct box_build *build, const char *what);
bool box_is_beneath(const char *path, const char *directory);

/* The steps: 0 or an errno value. */
int box_find_denied(struct box_build *build);
int box_mount_places(struct box_build *build);
int box_pin_ways(struct box_build *build);
int box_mount_devices(struct box_build *build);
int box_mount_system(struct box_build *build);
int box_mount_scratch(struct box_build *build);
int box_mount_proc(struct box_build *build);
int box_mount_dev(struct box_build *build);
int box_mount_covers(struct box_build *build);
int box_mount_layers(struct box_build *build);
int box_mount_denials(struct box_build *build);
int box_cover_kernel(struct box_build *build);
int box_reopen_files(struct box_build *build);
int box_begin_network(struct box_build *build);
int box_enter_network(struct box_build *build);

/* What becomes 0, 1 or 2; or -1 with errno. For where the box is complete. */
int box_open_stream(const struct box_build *build, int stream);

int box_open_tie_to_starter(struct box_build *build);
int box_open_enter_limits(struct box_build *build);

/*
 * Where there is no process namespace that ends with its first process: kills and reaps all that
 * descends from the calling process, a subreaper with all signals blocked.
 */
void box_open_end_descendants(void);

/*
 * The cover of a path that has no links in it: one that shows nothing, or the folder of this name
 * in the scratch. What is gone needs none. 0 or an errno value.
 */
int box_hide(struct box_build *build, const char *path);
int box_cover(struct box_build *build, const char *path, const char *cover);

/* What no command can do without, or a folder that holds such. */
bool box_is_of_system(const char *path);

/*
 * Does a link lead from a path that is to be hidden to what nobody wants hidden: the system, or the
 * folder in which the link itself lies?
 */
bool box_is_astray(const char *path, const char *found);

/*
 * The same for a path as it is now; and to where the command works or has a place. A rule that a
 * person wrote may well lead there: for one, only links count that lie where commands may write.
 */
bool box_is_led_astray(const struct box_build *build, const char *path, bool is_rule);

/* Does the way to it pass a link that lies in one of these folders? */
bool box_passes_link_in(const char *path, bool (*is_in)(const void *data, const char *folder),
                        const void *data);

/* The folder on the way, without links, that may not be searched; false where there is none. */
bool box_find_closed(const char *path, char out_folder[PATH_MAX]);

/* Does it lie in a place that is writable this time? The place itself does not. */
bool box_is_in_writable(const struct box_build *build, const char *path);

/*
 * A folder is mounted onto itself, and cannot be renamed by a command of this box. Mounts count for
 * that wherever they are: these lie beneath the places, which are laid over them, so that what is
 * hidden is covered on the very tree that a command walks about in. Were the pins on that tree, a
 * command whose working directory somebody moves to behind them would meet no cover.
 */
int box_pin(const char *folder);

/* All that is hidden or denied in this place, whose tree was laid on just now. */
int box_cover_in(struct box_build *build, size_t place);
/* What is hidden there, unless a tree was laid on that holds it, which is covered itself. */
int box_cover_place(struct box_build *build, size_t place);

/* What the box shows there, with all below it, can only be read from now on. */
int box_hold_to_reading(struct box_build *build, const char *path);

/* A file that must be what it was and be reached without links; its descriptor or -errno. */
int box_open_place(const char *path);

/* The life of a box's first process. */
_Noreturn void box_live(struct box_build *build);

/* What no command in a box needs and the kernel has been broken by. */
int box_calls_compile(enum seccomp_machine machine, struct seccomp_program *out_program,
                      struct err *err);

#endif
