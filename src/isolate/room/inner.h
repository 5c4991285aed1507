/* SPDX-License-Identifier: Apache-2.0 */
/* Internal to gatehouse-init: what the keeper and the first process of a room share. */
#ifndef ISOLATE_ROOM_INNER_H
#define ISOLATE_ROOM_INNER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "isolate/cgroup.h"
#include "isolate/room/wire.h"
#include "isolate/seccomp.h"

/* The trees that a room is made of, by their place in the list; layers follow, the upper first. */
enum { ROOM_TREE_OWN, ROOM_TREE_BASE, ROOM_TREE_USR, ROOM_TREE_LAYERS };
enum { ROOM_MAX_TREES = ROOM_TREE_LAYERS + ROOM_MAX_LAYERS };

/* Names in a room's directory and in a layer. */
#define ROOM_UPPER_ROOT "root"
#define ROOM_UPPER_USR  "usr"
#define ROOM_WORK_ROOT  "work"
#define ROOM_WORK_USR   "workusr"
/* In a layer instead of those: all that rooms over it see. */
#define ROOM_OWN_SYSTEM "system"
/* In the directory of a room with limited disk space: a file system with those. */
#define ROOM_DISK       "disk"

enum { ROOM_WORDS_BYTES = 160 };

/* The exit status of a file call's process that has not answered. */
enum { ROOM_TOOK_TOO_LONG = 2 };

/*
 * What a room is made of. The keeper sends it to the room's first process, which may have been
 * waiting for it, together with the socket to the service; then the trees, each with a packet. If
 * they are mounts, the two that all rooms share have come before.
 */
struct room_birth {
    bool has_range;
    bool has_mounts; /* its trees are mounts that translate ids, else directories */
    bool may_lack_landlock;
    bool is_in_memory;
    bool is_new;          /* it had no files */
    bool is_ahead;        /* built before anybody wants it: its socket comes later */
    bool has_disk;        /* its own files are in a file system of their own */
    bool has_usr_overlay; /* else the host's /usr, read-only */
    bool has_system;      /* its lowest layer is one: nothing of the host's is below it */
    bool is_build;        /* its files become a layer */
    uint64_t disk_bytes;
    enum room_network network;
    struct iplist addresses;     /* of ROOM_NETWORK_LISTED */
    struct cgroup_limits limits; /* without its group */
    struct cgroup_leaf leaf;
    struct room_reached reached;
    int socket; /* to the service */
    int relay;  /* to its relay, or -1 */
    size_t tree_count;
    int trees[ROOM_MAX_TREES];
    char what[ROOM_WORDS_BYTES]; /* what a failure is about */
};

/* What its first process begins with, as a copy of the keeper. */
struct room_seed {
    bool has_range;
    bool has_mounts;
    enum room_network network;
    uid_t uid; /* without a range: the keeper's */
    gid_t gid;
    const struct cgroup_leaf *leaf;
    const struct seccomp_program *calls;
    int gate;    /* to the keeper */
    int joining; /* to close when it has joined its cgroup */
};

/*
 * The main function of the first process: it does what all rooms need, waits until it is wanted,
 * builds the room around itself, reports, and serves.
 */
_Noreturn void room_live(const struct room_seed *seed);

/*
 * Mounts what all rooms share that have mounts, before the room is known; otherwise the next one
 * does that. 0 or an errno value.
 */
int room_prepare_root(int base, int usr, struct room_birth *birth);

/* Mounts all and makes it the root. 0 or an errno value. */
int room_build_root(struct room_birth *birth);

/* What an order carries, in the process that carries it out. */
struct room_job {
    struct room_order order;
    const char *bytes; /* order.bytes of them, the last one NUL if there are any */
    int fds[4];
    int socket;
    bool has_range;
};

/* Runs a command and watches its descendants, in a process of its own. */
_Noreturn void room_run_command(struct room_job *job);

/* Does the work of a file call, in a process of its own. */
_Noreturn void room_do_file_call(const struct room_job *job);

/*
 * Opens the way to listed addresses, while this process has its rights: routes, and a process that
 * serves what room_relay() needs. *out_outlet is that process. 0 or an errno value.
 */
int room_start_outlet(struct room_birth *birth, pid_t *out_outlet);

/*
 * The other side, outside the room, in a process of its own: connects to what the list allows, and
 * passes bytes on. `socket` leads to the outlet; its end is the relay's. The outlet sends each
 * connection, with one byte, and the target of each that it refuses itself. `reports` takes a
 * struct room_refusal at a time; -1 if nobody wants them.
 */
_Noreturn void room_relay(int socket, int reports, const struct iplist *addresses);

/* Refuses all system calls but these, and those that memory and an end need. An errno value or 0.
 */
int room_allow_calls(const struct seccomp_rule *rules, size_t count);

/* An address with its port, IPv4 mapped; false for another kind. And back, for a socket. */
struct room_target {
    uint8_t ip[IPLIST_IP_BYTES];
    uint16_t port; /* in the order of the network */
};
bool room_target_from(const struct sockaddr_storage *address, socklen_t len,
                      struct room_target *out_target);
socklen_t room_target_to(const struct room_target *target, struct sockaddr_storage *out_address);

/* Makes the folders that every room begins with, below `directory_fd`. */
int room_make_base(int directory_fd, bool has_range, struct err *err);

/* Whether this machine seems to have what room_disk_make() and room_disk_mount() need. */
bool room_disk_is_possible(void);

/* Makes an empty file system in a room's directory. `disks` is a folder for this alone. Or errno.
 */
int room_disk_make(int disks, int own, uint64_t bytes);

/* Its mount, which nobody sees yet; -1 with errno. */
int room_disk_mount(int own);

/* Removes a tree, whatever its modes; what cannot be removed stays. */
void room_remove_tree(int dir_fd, const char *name);

/* The main function of the keeper: serves until the other end of the socket is closed. */
int room_keep(int lifeline);

#endif
