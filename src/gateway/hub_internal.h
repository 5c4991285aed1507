/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of gateway/hub share. */
#ifndef GATEWAY_HUB_INTERNAL_H
#define GATEWAY_HUB_INTERNAL_H

#include "base/list.h"
#include "base/map.h"
#include "base/rand.h"
#include "gateway/hub.h"

enum {
    HUB_ARENA_FACTOR = 24, /* 16 bytes a value, and the shortest value takes two characters */
    HUB_ID_BYTES = 3 + 21 + 1,
};

enum hub_key_kind { HUB_KEY_PAIRING, HUB_KEY_SESSION };

/* In hub->keys, by its digest. */
struct hub_key {
    unsigned char digest[SHA256_BYTES];
    enum hub_key_kind kind;
    struct hub_user *user;
    bool is_listed;
};

enum { HUB_GRACES = 5 };

/* A machine that has initialised. */
struct hub_machine {
    struct list node; /* hub->waiting, while it has no stream and counts as connected */
    struct hub_user *user;
    struct hub_key key;
    bool has_key;
    bool is_gone; /* its grace is over: it may come back, but nobody waits */
    bool has_extensions;
    bool has_had_stream;
    bool has_tree;
    unsigned reopened; /* since the last init, up to the longest grace */
    int64_t gone_at_ms;
    int64_t connected_ms;
    void *stream;
    struct toolset *tools;
    char *texts; /* the next four */
    struct str root_path;
    struct str host;
    struct str categories; /* JSON */
    struct str tree;       /* JSON; of the older dialect */
};

/* An init that the store has not yet confirmed. */
struct hub_saving {
    struct hub *hub;
    struct hub_user *user;
    struct hub_machine *machine;
    bool is_dropped; /* the user disconnected meanwhile */
    bool is_again;   /* the same machine, with a key that it had */
    char session_key[HUB_SESSION_BYTES];
    hub_init_done *done;
    void *context;
};

struct hub_user {
    int64_t id;
    struct list node; /* hub->all_users */
    struct hub_machine *machine;
    struct hub_saving *saving;
    struct hub_key pairing;
    char token[HUB_TOKEN_BYTES]; /* empty: none */
    int64_t token_until_ms;      /* monotonic */
    int64_t token_until_wall_ms;
    struct list token_node; /* hub->tokens */
    void *early;            /* a stream of the older dialect, opened before init */
    bool files_are_off;
    size_t call_count;
    size_t waiting_bytes; /* of events that no stream has taken */
    struct list calls;
};

struct hub_call {
    struct list node;     /* of the user */
    struct list due_node; /* hub->due_n8n or due_seed: all of a list have the same time limit */
    struct hub *hub;
    struct hub_user *user;
    char id[HUB_ID_BYTES];
    uint64_t number;
    int64_t due_ms;
    int64_t timeout_ms;
    bool is_operation;
    bool is_query;
    bool has_extensions;
    struct buf event; /* until a stream takes it */
    const struct hub_call_events *events;
    void *data;
};

/* The key that was asked about last: each request asks about its own twice. */
struct hub_last_key {
    size_t len; /* 0: none */
    char text[HUB_MAX_KEY_BYTES];
    unsigned char digest[SHA256_BYTES];
};

struct hub {
    struct hub_config config;
    struct hub_last_key last_key;
    struct buf answer; /* memory for the next one */
    bool has_static_key;
    unsigned char static_digest[SHA256_BYTES];
    struct map users;    /* by the bytes of their id */
    struct map keys;     /* by digest */
    struct map calls;    /* by id */
    struct map numbers;  /* the same by the bytes of their number */
    struct map toolsets; /* shared ones */
    struct list due[2];  /* by enum hub_dialect: their time limits */
    struct list tokens;  /* users, by when their token ends */
    struct list all_users;
    /* Machines whose stream was lost, a list for each time that they have: the next to go first. */
    struct list waiting[HUB_GRACES];
    uint64_t next_number;
    struct rand_pool ids; /* for those of calls */
};

struct hub_user *hub_find_user(struct hub *hub, int64_t id);

/* ERR_GATEWAY_DENIED without a machine for this key. */
int hub_machine_of(struct hub *hub, struct str key, struct hub_machine **out_machine,
                   struct err *err);

/* hub_init.c: parses the body; the machine is the caller's. */
int hub_read_init(struct hub *hub, struct str body, struct hub_machine **out_machine,
                  struct err *err);
void hub_machine_free(struct hub_machine *machine);

/* hub_calls.c */
void hub_send_waiting(struct hub *hub, struct hub_user *user);
void hub_fail_calls(struct hub *hub, struct hub_user *user, int error, const char *words);
int64_t hub_expire_calls(struct hub *hub, int64_t next_ms);

/* hub_tree.c: answers a call from the tree. False: the machine must be asked. */
bool hub_serve_tree(const struct hub_machine *machine, struct str tool,
                    const struct json_value *arguments, struct buf *out_result);
/* "read-file" for "read_file". */
struct str hub_operation(struct str tool);

#endif
