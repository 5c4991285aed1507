/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The messages between a service, the keeper of its rooms, and the first process of each room: one
 * struct a packet, which may be followed by bytes. All are of one build and one machine. The keeper
 * trusts the service; the service checks all that comes from a room, and the room all that comes
 * from the service, since that has it from outsiders.
 */
#ifndef ISOLATE_ROOM_WIRE_H
#define ISOLATE_ROOM_WIRE_H

#include <stdint.h>

#include "isolate/room/room.h"

enum {
    ROOM_WIRE_BYTES = 64 << 10,   /* of a packet; longer bytes come in a memfd */
    ROOM_INLINE_BYTES = 48 << 10, /* of what follows an order */
};

/* ---- Service to keeper ---- */

enum room_ask_kind {
    ROOM_ASK_HELLO, /* followed by the directory */
    /*
     * Followed by names of layers, each of ROOM_ID_BYTES. With the room's socket, and one for
     * refusals if it has listed addresses.
     */
    ROOM_ASK_START,
    ROOM_ASK_STOP,
    ROOM_ASK_DELETE,
    ROOM_ASK_FREEZE,
    ROOM_ASK_LAYER_DELETE,
    ROOM_ASK_LIST,
    ROOM_ASK_USAGE,
};

enum { ROOM_START_FDS = 2 };

struct room_ask {
    enum room_ask_kind kind;
    uint64_t number; /* of the room for start, stop and usage, else of the call */
    uint64_t call;   /* of usage */
    char id[ROOM_ID_BYTES];
    char layer[ROOM_ID_BYTES];
    uint64_t memory_bytes;
    uint64_t disk_bytes;
    unsigned cpu_percent;
    unsigned processes;
    unsigned layer_count;
    enum room_network network;
    struct iplist addresses;
    bool is_in_memory;
    bool is_build;
    bool is_layers;
    bool is_system; /* of freeze: only the folder ROOM_SYSTEM */
    bool is_degraded;
};

enum room_answer_kind {
    ROOM_ANSWER_READY,
    ROOM_ANSWER_DONE, /* of a call; a list comes as a memfd of names, each ended by a NUL */
    ROOM_ANSWER_USED,
    ROOM_ANSWER_ENDED, /* nothing of the room is left */
};

struct room_answer {
    enum room_answer_kind kind;
    uint64_t number;
    struct err err; /* code 0: none */
    struct room_abilities abilities;
    struct room_usage usage;
};

/* ---- Service to a room's first process ---- */

enum room_order_kind { ROOM_ORDER_EXEC, ROOM_ORDER_KILL, ROOM_ORDER_FILE };

enum room_file_call {
    ROOM_CALL_OPEN,
    ROOM_CALL_WRITE,
    ROOM_CALL_LIST,
    ROOM_CALL_STAT,
    ROOM_CALL_MKDIR,
    ROOM_CALL_DELETE,
    ROOM_CALL_COPY,
    ROOM_CALL_MOVE,
    ROOM_CALL_CONNECT, /* to the port in `size`; it has no path */
    ROOM_CALL_LISTEN,  /* at that port; nor has this */
};

/*
 * Followed by `bytes` bytes of strings, each ended by a NUL: of a command its directory, words and
 * variables, of a call its paths. With has_payload these are in a memfd, which comes first. Then
 * the descriptors of a command: input if it has one, output, errors; or the content of a file.
 */
struct room_order {
    enum room_order_kind kind;
    uint64_t number;
    uint64_t bytes;
    bool has_payload;
    bool is_shell; /* one word: for /bin/sh */
    bool has_input;
    bool has_terminal;
    bool is_root;
    unsigned short rows;
    unsigned short columns;
    unsigned word_count;
    unsigned env_count;
    enum room_file_call call;
    unsigned flags;
    uint64_t size;
};

enum room_report_kind {
    ROOM_REPORT_READY,
    ROOM_REPORT_FAILED,  /* the room */
    ROOM_REPORT_STARTED, /* a command; with its terminal */
    ROOM_REPORT_REFUSED, /* a command */
    ROOM_REPORT_EXITED,
    ROOM_REPORT_FILE, /* a call is done; with a descriptor, for some */
};

struct room_report {
    enum room_report_kind kind;
    uint64_t number;
    struct err err;
    struct room_reached reached;
    int exit_code;
    int exit_signal;
    /* Of a file; a list comes as a memfd of such records (room_record), each with its name. */
    enum room_file_type type;
    uint64_t size;
    int64_t modified_ms;
    int64_t created_ms;
    unsigned mode;
    unsigned uid, gid;
    unsigned count;
};

struct room_record {
    enum room_file_type type;
    unsigned mode;
    unsigned uid, gid;
    uint64_t size;
    int64_t modified_ms;
    int64_t created_ms;
    unsigned name_bytes; /* with its NUL; the name follows, and 0 to 7 bytes to the next record */
};

/*
 * The strings of an order for a command, in `bytes`, which has a NUL after order->bytes. `strings`
 * has room for room_order_strings() pointers: the directory, the words, the variables. False if
 * there are not so many.
 */
size_t room_order_strings(const struct room_order *order);
bool room_order_parse(const struct room_order *order, char *bytes, char **strings);

/* Lower case letters, digits, - _ and . (not first). */
bool room_is_name(const char *name);

#endif
