/* SPDX-License-Identifier: Apache-2.0 */
/* Internal to the keeper of rooms: keeper.c and keeper_*.c. */
#ifndef ISOLATE_ROOM_KEEPER_H
#define ISOLATE_ROOM_KEEPER_H

#include "base/list.h"
#include "isolate/room/inner.h"
#include "isolate/room/space.h"

enum { KEEP_MAX_RANGES = 4094, KEEP_MUCH_TRASH = 64 };

/*
 * First processes that wait for their room: to move a process into a cgroup takes the kernel longer
 * than all the rest of a start. These last until the first new one has moved.
 */
enum { KEEP_MAX_SPARES = 6 };

/* Rooms that are built before anybody wants them: see keeper_ahead.c. */
enum { KEEP_MAX_AHEAD = 2 };

struct kept {
    struct list node;
    uint64_t number;
    pid_t pid;
    int pidfd;
    pid_t relay; /* of listed addresses; or 0 */
    int gate;    /* to one that waits, also for its service; or -1 */
    int users;   /* its user namespace, if it has a range and waits; or -1 */
    unsigned range;
    unsigned fresh;  /* the files of one that waits for its service, in fresh/ */
    bool is_stopped; /* by us */
    bool is_in_memory;
    bool is_weighed;      /* `written` is known: see keeper_space.c */
    bool is_out_of_space; /* and stopped for that */
    uint64_t written;
    int mounts; /* its mount namespace, while it is being deleted; or -1 */
    struct cgroup_leaf leaf;
    char id[ROOM_ID_BYTES];
    /* A call that waits for its end; 0: none. */
    uint64_t delete_call;
    size_t layer_count;
    char (*layers)[ROOM_ID_BYTES];
};

struct keeper {
    int lifeline;
    int socket;
    int signals;
    int directory;
    int rooms;
    int layers;
    int trash;
    int disks;
    int fresh; /* empty files of rooms, numbered */
    int usr;
    int base;
    int lock;
    bool is_ready;
    bool is_swept;    /* nothing is left of a keeper that was killed */
    bool is_degraded; /* allowed to be */
    struct room_abilities abilities;
    uint64_t memory_bytes;
    unsigned processes;
    struct space floor; /* of what is free; 0: none */
    int64_t look_ms;    /* when to look at that next */
    struct list kept;
    struct list spares;
    size_t spare_count;
    int joining;       /* closed at the other end when the newest first process has joined; or -1 */
    struct list ahead; /* the oldest first */
    size_t ahead_count;
    bool is_ahead_useless; /* the last one did not come to be */
    size_t plan_count;     /* the layers of the room that was asked for last */
    char plan[ROOM_MAX_LAYERS][ROOM_ID_BYTES];
    unsigned fresh_first;
    unsigned fresh_next;
    pid_t remover;
    bool has_trash;
    unsigned trashed;
    unsigned trash_removed; /* of `trashed`, when the last remover was started */
    size_t mounts_count;    /* mount namespaces of deleted rooms, for the remover to end */
    int mounts[KEEP_MUCH_TRASH];
    size_t leaves_count; /* cgroups of ended rooms, for the remover to remove */
    size_t leaves_given; /* of these, the first ones, to the remover that runs */
    struct cgroup_leaf leaves[KEEP_MUCH_TRASH];
    bool is_root;
    unsigned first_uid; /* of the range of an ordinary user */
    unsigned first_gid;
    unsigned last_range;
    unsigned char ranges[KEEP_MAX_RANGES / 8 + 1];
    struct seccomp_program calls;
};

/* ---- keeper.c ---- */

void keep_kill_room(struct kept *kept);

/* ---- keeper_begin.c ---- */

/* Opens the directory and finds what rooms can have. */
int keep_begin(struct keeper *keeper, const struct room_ask *ask, const char *path,
               struct err *err);

/* ---- keeper_files.c ---- */

int keep_open_directory(struct keeper *keeper, const char *path, struct err *err);
int keep_open_folder(int dir_fd, const char *name);
bool keep_has_name(int dir_fd, const char *name);

/* Moves it where the remover finds it. 0 or an errno value. */
int keep_throw_away(struct keeper *keeper, int dir_fd, const char *name);
void keep_throw_away_leaf(struct keeper *keeper, struct cgroup_leaf *leaf);

bool keep_has_trash(const struct keeper *keeper);
void keep_start_remover(struct keeper *keeper, bool is_idle);

/* When the remover has ended: removes the cgroups that it did not, if it was killed. */
void keep_end_remover(struct keeper *keeper);

/* Ends what was mounted in deleted rooms, if the caller is the last who has them. */
void keep_close_mounts(struct keeper *keeper);

/* Prepares the directory of a room to come. */
void keep_add_fresh(struct keeper *keeper);

/* Opens one of these and counts it as taken; -1 with errno. */
int keep_open_fresh(struct keeper *keeper, unsigned *out_number);
/* Makes a taken one the files of a room that has none; or removes it. */
bool keep_move_fresh(struct keeper *keeper, unsigned number, const char *id);
void keep_drop_fresh(struct keeper *keeper, unsigned number);

/* The room's own files: a directory with a part for each overlay. */
int keep_open_own(struct keeper *keeper, const char *id, struct room_birth *birth, struct err *err);

/* Keeps only ROOM_SYSTEM of the files of a room that does not run. 0 or an errno value. */
int keep_only_system(struct keeper *keeper, const char *id);

/*
 * Whether the directory is one of keepers who had the same range, or nothing is in it yet. Negative
 * if it was made with another range.
 */
int keep_fits_range(struct keeper *keeper, bool has_range, struct err *err);

/* ---- keeper_subids.c ---- */

/* Enters a user namespace with the range of an ordinary user; false if it has none. */
bool keep_enter_range(struct keeper *keeper);

/* ---- keeper_users.c ---- */

/* The number of the first user of a range. */
unsigned keep_first_user(unsigned range);

/* 0 if there is none left. */
unsigned keep_take_range(struct keeper *keeper);
void keep_give_back_range(struct keeper *keeper, unsigned range);

/* The following return 0 or an errno value. */

/* Gives a first process its range, and tells it. */
int keep_give_range(struct kept *kept);

/* Sends to a first process with a range what all rooms share, before its room is known. */
int keep_send_shared(const struct keeper *keeper, int gate, int users);
int keep_send_birth(const struct room_birth *birth, int gate, int users);

/* ---- keeper_start.c ---- */

/* By its id or, if that is NULL, by its number. */
struct kept *keep_find(const struct keeper *keeper, const char *id, uint64_t number);
/* `socket` is the room's, `reports` for refusals of its relay, or -1. Both stay the caller's. */
int keep_start_room(struct keeper *keeper, const struct room_ask *asked,
                    const char (*layers)[ROOM_ID_BYTES], int socket, int reports, struct err *err);
void keep_add_spare(struct keeper *keeper);

/*
 * Whether the newest first process has yet to join its cgroup. With version 1 that can take some
 * milliseconds, in which the kernel creates no other cgroup.
 */
bool keep_is_joining(struct keeper *keeper);

/* Builds one of the last plan that nobody wants yet, of a spare first process. */
int keep_build_ahead(struct keeper *keeper, struct kept **out_kept);

/* Whether they are those of spare first processes, or this one can have them. */
bool keep_can_have(const struct keeper *keeper, const struct kept *kept,
                   const struct room_ask *ask);
void keep_close_gate(struct kept *kept);

/* Kills it and waits. */
void keep_end_process(const struct kept *kept);

/* Its process has been reaped, or there is none. */
void keep_let_go(struct keeper *keeper, struct kept *kept);

/* ---- keeper_relay.c ---- */

/* *out_socket is the outlet's end. 0 or an errno value. */
int keep_start_relay(const struct keeper *keeper, struct kept *kept, const struct iplist *addresses,
                     int reports, int *out_socket);

/* Nothing is left of it. */
void keep_end_relay(struct kept *kept);

/* ---- keeper_space.c ---- */

/* Looks at the free space if it is time; how many ms until the next look, or -1. */
int keep_watch_space(struct keeper *keeper);

/* ---- keeper_ahead.c ---- */

/* Gives the service one that was built ahead; false if none fits. */
bool keep_take_ahead(struct keeper *keeper, const struct room_ask *ask,
                     const char (*layers)[ROOM_ID_BYTES], int socket);

/* Whether there should be another one; makes it. */
bool keep_needs_ahead(const struct keeper *keeper);
void keep_add_ahead(struct keeper *keeper);

/* Its process has ended. */
void keep_lose_ahead(struct keeper *keeper, struct kept *kept);

/* Ends those that use the layer, and plans none with it; or all, if it is NULL. */
void keep_drop_ahead(struct keeper *keeper, const char *layer);

#endif
