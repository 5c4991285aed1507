/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Long-lived sandboxes, called rooms: each has its own files, which outlive its processes, and runs
 * any number of commands at a time until it is stopped or deleted.
 *
 * Three processes take part. The service calls this header. A *keeper*, the static program
 * gatehouse-init, is started by it once and creates the rooms; it alone needs the rights for that,
 * so the service may confine itself after room_keeper_new() (it needs sockets, pipes, memfd_create,
 * and no files). The first process of each room, a copy of the keeper, runs the commands and does
 * the file work inside, where no path leads out. If the service or the keeper dies, all rooms end;
 * their files stay.
 *
 * Everything here is called on the loop's thread (whichever it is) and never blocks, except
 * room_keeper_new(). A `done` is called exactly once, on the loop, never from inside the function
 * that took it, with a NULL error if it succeeded; if a function returns an error, its done is not
 * called. When a room or the keeper ends, what is outstanding is answered first, with
 * ERR_SESSION_OVER. Callbacks may call anything here, except room_keeper_free(). Strings are
 * copied.
 *
 * HTTP, names and owners of rooms, histories of output, idle timers and quotas are left to the
 * service. Each error has a code (base/err.h) and a text without paths of the host.
 */
#ifndef ISOLATE_ROOM_ROOM_H
#define ISOLATE_ROOM_ROOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/iplist.h"
#include "base/str.h"
#include "loop/loop.h"

enum {
    ROOM_ID_BYTES = 72, /* an id or a layer's name: 1 to 71 of a-z 0-9 - _ . (not first) */
    ROOM_MAX_LAYERS = 127,
    ROOM_MAX_COMMAND = 1 << 20, /* the command or all words, and the variables, in bytes together */
    ROOM_MAX_EXECS = 128,       /* commands at a time, also ones of which only children are left */
    ROOM_MAX_FILE_CALLS = 64,   /* calls for files at a time; more wait */
    ROOM_MAX_ENTRIES = 100000,  /* of a list */
    ROOM_PATH_BYTES = 4096,
    ROOM_USER = 1000, /* uid and gid of commands and files */
    ROOM_PIPE_GRACE_MS = 250,
    ROOM_LEAST_DISK_BYTES = 16 << 20, /* for files that stay */
    ROOM_MAX_LINKS = 128,             /* connections to listed addresses at a time */
    ROOM_REFUSAL_MS = 5000,           /* at least, from one refusal of a kind to the next */
};

#define ROOM_HOME      "/home/user"
#define ROOM_FILL_DISK UINT64_MAX
#define ROOM_DISK_NEARLY_FULL                                                                      \
    "the disk of the sandboxes is nearly full; delete some, or ask the operator"

/* ---- The keeper ---- */

struct room_keeper;

enum room_ids {
    ROOM_IDS_RANGE,  /* a private range of user ids for each room */
    ROOM_IDS_SHARED, /* without root: one range for all rooms, of the service's user */
    ROOM_IDS_SINGLE, /* weaker: all of a room has the service's user id; only with is_degraded */
};

/* What this machine offers, and so how well rooms are isolated. */
struct room_abilities {
    enum room_ids ids;
    bool is_root;
    bool has_overlay;        /* required */
    bool has_landlock;       /* required, unless is_degraded */
    bool has_cgroups;        /* if not, limits apply to each process */
    bool limits_cpu;         /* if not, commands only have a lower priority */
    bool has_memory_disks;   /* limit of disk space: files in memory (tmpfs), lost at stop */
    bool has_disk_images;    /* limit of disk space for files that stay (loop devices) */
    bool has_listed_network; /* ROOM_NETWORK_LISTED */
    bool is_degraded;        /* one of the required ones is missing, and that was allowed */
    char words[256];         /* what is weaker than usual, for people; or "" */
};

struct room_keeper_config {
    /*
     * Absolute; created with mode 0700 if missing, and used by one keeper at a time (ERR_BUSY). It
     * contains rooms/ID, layers/NAME, and places of the keeper's own.
     */
    const char *directory;
    const char *libexec; /* gatehouse-init is looked for beside this program, then here */
    int error_fd;        /* standard error of the keeper */
    /* Accepts weaker isolation than required, where this machine has no better. */
    bool is_degraded;
    /* Of all rooms together; 0: 80 per cent of the machine's memory, 4096 processes. */
    uint64_t memory_bytes;
    unsigned processes;
    /*
     * What has to stay free on the disk, below which rooms that write are ended with ERR_NO_SPACE,
     * and below half of it all but those in memory; 0: 1 GiB, and at most a twentieth of the disk.
     * ROOM_FILL_DISK: nothing.
     */
    uint64_t free_bytes;
    /* The keeper has died, after the end of all rooms was reported; free it and make another. */
    void (*on_end)(void *data);
    void *data;
};

/*
 * Starts the keeper, removes what a crash left behind, and probes. Blocks until it answered (some
 * milliseconds). ERR_UNSUPPORTED names what is missing.
 */
int room_keeper_new(const struct room_keeper_config *config, struct room_keeper **out_keeper,
                    struct err *err);

/* Before anything else is asked of it: a confined service makes its loop after it has confined. */
int room_keeper_watch(struct room_keeper *keeper, struct loop *loop);

/*
 * Ends all rooms and calls nothing any more; files stay. All handles of rooms and commands become
 * invalid. Waits some milliseconds for the end.
 */
void room_keeper_free(struct room_keeper *keeper);

const struct room_abilities *room_keeper_abilities(const struct room_keeper *keeper);

/* What is free, and what has to be. */
struct room_space {
    uint64_t free_bytes;
    uint64_t floor_bytes;
    bool is_low; /* no build starts and no file is written, except in memory */
};
void room_keeper_space(const struct room_keeper *keeper, struct room_space *out_space);

typedef void room_done(void *data, const struct err *err);

/* ---- Rooms ---- */

struct room;

enum room_network {
    ROOM_NETWORK_NONE, /* a loopback of its own */
    ROOM_NETWORK_HOST, /* the host's: for steps that download */
    /* A loopback of its own and, by TCP only, the public addresses of a list. */
    ROOM_NETWORK_LISTED,
};

enum room_refusal_kind {
    ROOM_REFUSED_ADDRESS, /* it is not on the list */
    ROOM_REFUSED_OWN,     /* it is on the list, but this machine's own */
    ROOM_REFUSED_MANY,    /* there are ROOM_MAX_LINKS connections */
    ROOM_REFUSALS
};

/* Connections of a room with ROOM_NETWORK_LISTED that were refused. */
struct room_refusal {
    enum room_refusal_kind kind;
    uint32_t count;              /* since the last one of this kind; more may have gone uncounted */
    uint8_t ip[IPLIST_IP_BYTES]; /* of the last one of them, IPv4 mapped */
    uint16_t port;
};

struct room_plan {
    const char *id;
    /* Names below layers/, the lowest first; each is what room_freeze() has made, or the first one
     * what room_freeze_system() has. */
    const char *const *layers;
    size_t layer_count;
    enum room_network network;
    const struct iplist *addresses; /* of ROOM_NETWORK_LISTED; copied */
    /* NAME=value, NULL-terminated, or NULL: of all its commands, below their own; borrowed. */
    const char *const *variables;
    /* 0: the defaults above. */
    uint64_t memory_bytes;
    unsigned cpu_percent; /* of one core */
    unsigned processes;
    /*
     * 0: not limited. Otherwise is_in_memory, or has_disk_images is needed, or is_degraded, which
     * leaves it unlimited. Decided when the room's files are created; later starts keep that. At
     * least ROOM_LEAST_DISK_BYTES.
     */
    uint64_t disk_bytes;
    /*
     * Its files are lost when it stops; default disk_bytes: memory_bytes / 2. One that has files on
     * the disk keeps them there.
     */
    bool is_in_memory;
    /* Its root (room_command.is_root) may change /usr, for steps of an image; a little slower. */
    bool is_build;
    /* The first of a kind at once, others together after ROOM_REFUSAL_MS. May be NULL. */
    void (*on_refused)(void *data, const struct room_refusal *refusal);
    /* Its processes have ended, by themselves or by room_stop(): the handle is invalid then. */
    void (*on_end)(void *data, const struct err *why);
    void *data;
};

/* What a room got, for its record. */
struct room_reached {
    enum room_ids ids;
    bool limits_memory, limits_cpu, limits_processes; /* for all its processes together */
    bool limits_disk;
    bool is_in_memory; /* its files are lost when it stops */
    bool is_degraded;
};

/*
 * Starts a room over the files it has, or over none if it is new. ERR_ALREADY_EXISTS if it is
 * running, ERR_NOT_FOUND for a layer, ERR_UNSUPPORTED, ERR_NO_SPACE, ERR_BUSY.
 */
typedef void room_started(void *data, const struct err *err, struct room *room,
                          const struct room_reached *reached);
int room_start(struct room_keeper *keeper, const struct room_plan *plan, room_started *done,
               void *data, struct err *err);

/* Kills everything in it. done comes after on_end, when nothing is left but its files. */
int room_stop(struct room *room, room_done *done, void *data);

/*
 * Kills it if it runs (on_end comes first), moves its files away and answers; they are removed in
 * the background. ERR_NOT_FOUND if it neither runs nor has files.
 */
int room_delete(struct room_keeper *keeper, const char *id, room_done *done, void *data);

/*
 * Makes the files of a room that does not run a layer of this name, and the room is gone.
 * ERR_ALREADY_EXISTS, ERR_BUSY if it runs, ERR_UNSUPPORTED for one in memory or in a disk image.
 * Its own layers are needed below it: a room over it names them all.
 */
int room_freeze(struct room_keeper *keeper, const char *id, const char *layer, room_done *done,
                void *data);

/*
 * The same of one folder of the room, ROOM_SYSTEM, with the whole system that a room over it sees:
 * nothing of the host's is below it then. Such a layer is the lowest one. ERR_NOT_FOUND without
 * that folder. It must have directories dev and proc, to mount those of the room on.
 */
#define ROOM_SYSTEM "/.gatehouse-system"
int room_freeze_system(struct room_keeper *keeper, const char *id, const char *layer,
                       room_done *done, void *data);

/* ERR_BUSY if a running room uses it. Which others are over it, only the service knows. */
int room_layer_delete(struct room_keeper *keeper, const char *layer, room_done *done, void *data);

/* Which rooms have files, or which layers there are. The names are invalid after it returns. */
typedef void room_names(void *data, const struct err *err, const char *const *names, size_t count);
int room_list(struct room_keeper *keeper, bool is_layers, room_names *done, void *data);

struct room_usage {
    uint64_t memory_bytes; /* with files in memory and cache, where cgroups count it */
    uint64_t cpu_us;       /* since its start */
    unsigned processes;
};

typedef void room_used(void *data, const struct err *err, const struct room_usage *usage);
int room_usage(struct room *room, room_used *done, void *data);

/* ---- Commands ---- */

struct room_exec;

struct room_exit {
    int code;       /* or -1 if a signal killed it */
    int signal;     /* or 0 */
    bool timed_out; /* then it was killed, with all its descendants */
    bool killed;    /* by a signal, room_exec_kill() or the time-out */
    int64_t time_ms;
};

enum room_stream { ROOM_STDOUT, ROOM_STDERR };

struct room_exec_events {
    /* It runs. Not called if it cannot start: then there is only on_fail. */
    void (*on_start)(void *data);
    /* Invalid after it returns. A terminal's output comes as ROOM_STDOUT. */
    void (*on_output)(void *data, enum room_stream stream, struct str bytes);
    /*
     * Exactly one of these two, last: all output before the exit was passed on. Frees nothing: call
     * room_exec_free(), also inside.
     */
    void (*on_exit)(void *data, const struct room_exit *exit);
    /* ERR_NOT_FOUND: no such working directory or program; ERR_BUSY; ERR_SESSION_OVER: room ended.
     */
    void (*on_fail)(void *data, const struct err *err);
    void *data;
};

struct room_command {
    const char *shell;       /* for /bin/sh -c; or NULL, then: */
    const char *const *argv; /* NULL-terminated; found by PATH */
    /* NAME=VALUE, NULL-terminated, or NULL; over HOME, USER, PATH, LANG, and TERM for a terminal.
     */
    const char *const *env;
    const char *workdir; /* absolute; NULL: ROOM_HOME */
    int64_t timeout_ms;  /* 0: none */
    /* Standard input: a pipe for room_exec_write(), otherwise /dev/null. */
    bool has_input;
    bool has_terminal; /* instead of the three streams; implies has_input */
    unsigned short rows, columns;
    bool is_root; /* as root of the room, without capabilities on the host: for steps of an image */
};

/*
 * Runs it as ROOM_USER without privileges. When it has ended but a background child keeps its pipes
 * open, on_exit comes after ROOM_PIPE_GRACE_MS; such children live on, and what they write later is
 * dropped.
 */
int room_exec(struct room *room, const struct room_command *command,
              const struct room_exec_events *events, struct room_exec **out_exec, struct err *err);

/* Nothing is read while paused, so the command waits when its pipes are full. */
void room_exec_pause(struct room_exec *exec);
void room_exec_resume(struct room_exec *exec);

/*
 * How many bytes were taken; 0 if the command must read first: try again later. ERR_NOT_FOUND if it
 * does not read any more.
 */
ssize_t room_exec_write(struct room_exec *exec, struct str bytes);
void room_exec_close_input(struct room_exec *exec);
int room_exec_resize(struct room_exec *exec, unsigned short rows, unsigned short columns);

/*
 * Kills the command and all its descendants, wherever they have moved themselves; on_exit follows.
 * After on_exit, it kills children left in the background.
 */
void room_exec_kill(struct room_exec *exec);

/* Ends the events; what runs, runs on. Allowed in every callback. */
void room_exec_free(struct room_exec *exec);

/* ---- Files ---- */

/*
 * All paths are absolute, in the room; links are followed there, and nothing leads out. The work is
 * done in the room with the rights of ROOM_USER, and is killed after ROOM_FILE_TIMEOUT_MS
 * (ERR_TIMED_OUT), in which room_file_write() must get some content. FIFOs, sockets and devices are
 * ERR_NOT_REGULAR_FILE. A missing file is ERR_NOT_FOUND, an existing one ERR_ALREADY_EXISTS, a
 * directory in place of a file ERR_NOT_REGULAR_FILE, a file in place of a directory
 * ERR_NOT_A_DIRECTORY.
 */
enum { ROOM_FILE_TIMEOUT_MS = 60000 };

enum room_file_type { ROOM_FILE, ROOM_DIRECTORY, ROOM_LINK, ROOM_OTHER };

struct room_entry {
    const char *name; /* relative to the directory that was listed, "a/b" if recursive */
    enum room_file_type type;
    uint64_t size;
    int64_t modified_ms, created_ms; /* since 1970; created: modified, if unknown */
    unsigned mode;                   /* permissions */
    unsigned uid, gid;               /* in the room */
};

/*
 * A descriptor to read from, of a regular file; its new owner is the callee. Its size is of now.
 * Reading it does not wait for anything but the disk.
 */
typedef void room_opened(void *data, const struct err *err, int fd, const struct room_entry *entry);
int room_file_open(struct room *room, const char *path, room_opened *done, void *data);

enum {
    ROOM_WRITE_REPLACE = 1 << 0,    /* an existing file; otherwise ERR_ALREADY_EXISTS */
    ROOM_WRITE_APPEND = 1 << 1,     /* to an existing file, or creates it */
    ROOM_WRITE_PARENTS = 1 << 2,    /* creates missing directories */
    ROOM_WRITE_EXECUTABLE = 1 << 3, /* may be run; otherwise a new file may not */
};

/*
 * Writes all that content_fd gives until its end: a pipe, a socket, a memfd or a file, from its
 * position; the caller's copy may be closed as soon as this returns. Except for appending, the file
 * appears whole or not at all: if the content ends before `size` bytes (unless UINT64_MAX), with
 * ERR_CANCELLED, or if it cannot be read.
 */
int room_file_write(struct room *room, const char *path, unsigned flags, int content_fd,
                    uint64_t size, room_done *done, void *data);

/* The same with content in memory, which is copied. */
int room_file_put(struct room *room, const char *path, unsigned flags, struct str content,
                  room_done *done, void *data);

/*
 * Entries in no particular order, links not followed except the path itself. Invalid after it
 * returns. ERR_TOO_LARGE above ROOM_MAX_ENTRIES.
 */
typedef void room_listed(void *data, const struct err *err, const struct room_entry *entries,
                         size_t count);
int room_file_list(struct room *room, const char *path, bool is_recursive, room_listed *done,
                   void *data);

/* Follows links, except one that leads nowhere. The name is the last part of the path. */
typedef void room_statted(void *data, const struct err *err, const struct room_entry *entry);
int room_file_stat(struct room *room, const char *path, room_statted *done, void *data);

/* With parents an existing directory is no error. */
int room_file_mkdir(struct room *room, const char *path, bool with_parents, room_done *done,
                    void *data);

enum {
    ROOM_FILE_RECURSIVE = 1 << 0, /* directories with their content; else ERR_NOT_EMPTY */
    ROOM_FILE_FORCE = 1 << 1,     /* delete: a missing file is no error */
    ROOM_FILE_REPLACE = 1 << 2,   /* copy, move: an existing target; else ERR_ALREADY_EXISTS */
};

int room_file_delete(struct room *room, const char *path, unsigned flags, room_done *done,
                     void *data);

/*
 * Parents of the target are created. A directory without ROOM_FILE_RECURSIVE, or a target inside
 * the source, is ERR_INVALID_ARGUMENT. A copy keeps links and permissions.
 */
int room_file_copy(struct room *room, const char *from, const char *to, unsigned flags,
                   room_done *done, void *data);
int room_file_move(struct room *room, const char *from, const char *to, unsigned flags,
                   room_done *done, void *data);

/* ---- Ports ---- */

enum { ROOM_CONNECT_TIMEOUT_MS = 5000 };

/*
 * Connects to a port of the room's own loopback, from inside the room, and passes the connected
 * stream socket on; its new owner is the callee. ERR_CONNECTION_LOST if nobody listens there,
 * ERR_TIMED_OUT if it does not accept. ERR_UNSUPPORTED at once for a room in the host's network:
 * its loopback is the host's.
 */
typedef void room_connected(void *data, const struct err *err, int fd);
int room_connect(struct room *room, uint16_t port, room_connected *done, void *data);

/*
 * Listens at a port of the room's own loopback, and passes the listening socket on: whoever accepts
 * from it serves the room from outside.
 */
int room_listen(struct room *room, uint16_t port, room_connected *done, void *data);

#endif
