/* SPDX-License-Identifier: Apache-2.0 */
/* Internal to the service's side of rooms: room.c, exec.c and files.c. */
#ifndef ISOLATE_ROOM_OUTER_H
#define ISOLATE_ROOM_OUTER_H

#include "base/list.h"
#include "ipc/packet.h"
#include "isolate/room/space.h"
#include "isolate/room/wire.h"
#include "loop/child.h"
#include "loop/reader.h"
#include "loop/timer.h"

/* A packet on its way; it owns its descriptors. */
struct parcel {
    struct list node;
    size_t fd_count;
    int fds[PACKET_MAX_FDS];
    size_t len;
    char bytes[];
};

/* NULL without memory; then the descriptors are closed. */
struct parcel *parcel_new(const void *head, size_t head_len, struct str rest, const int *fds,
                          size_t fd_count);
void parcel_free(struct parcel *parcel);

struct room_keeper {
    struct loop *loop;
    void (*on_end)(void *data);
    void *data;
    pid_t pid;
    int lifeline;
    int socket;
    struct ready_watch *watch;
    struct child *process;
    bool has_died;
    struct room_abilities abilities;
    struct list rooms;
    struct list calls;
    struct list outbox;
    struct timer retry;
    uint64_t last_number;
    int directory; /* to look at its disk; or -1 */
    struct space floor;
};

struct room {
    struct list node;
    struct room_keeper *keeper;
    uint64_t number;
    int socket;
    struct ready_watch *watch;
    room_started *started; /* NULL once called */
    void *started_data;
    bool is_ready;
    bool is_in_memory;
    enum room_network network;
    const char *const *variables; /* of all commands, below their own; or NULL */
    int refusals;                 /* from its relay; or -1 */
    struct ready_watch *refusals_watch;
    void (*on_refused)(void *data, const struct room_refusal *refusal);
    void (*on_end)(void *data, const struct err *why);
    void *data;
    struct list outbox;
    struct list execs;
    struct list files; /* calls: sent ones and then waiting ones */
    unsigned files_sent;
    struct list stops;
};

/* Sends it now or, in order, as soon as the other end takes it. */
void room_post(struct room *room, struct parcel *parcel);

/* Events of a room. A report's descriptor belongs to the callee. */
void room_exec_report(struct room *room, const struct room_report *report, int fd);
void room_exec_end_all(struct room *room, const struct err *why);
void room_file_report(struct room *room, const struct room_report *report, int fd);
void room_file_end_all(struct room *room, const struct err *why);

/*
 * The records of a list, which a room that was taken over may have written as it liked. The names
 * lie in `list`. False if it is malformed.
 */
bool room_list_parse(struct str list, struct room_entry *entries, size_t count);

/* Reads what a descriptor of a room holds, all of it; NULL if it is no file or larger. Free it. */
char *room_read_memory(int fd, size_t max, size_t *out_len);

#endif
