/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of the sandbox service in SQLite: tenants, the digests of their keys, sandboxes, and
 * the layers of images. Reads and writes happen at once, on the caller's thread: a write takes some
 * microseconds, since it waits for no disk. A crash of the process loses nothing; a power cut may
 * undo the last writes.
 */
#ifndef STORE_SANDBOXSTORE_H
#define STORE_SANDBOXSTORE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/sha256.h"
#include "base/str.h"

struct sandboxstore;

enum {
    SANDBOXSTORE_ID_BYTES = 37,  /* a UUID and a NUL */
    SANDBOXSTORE_KEY_BYTES = 65, /* a SHA-256 digest as text and a NUL */
    SANDBOXSTORE_MAX_NAME_BYTES = 128,
    SANDBOXSTORE_PREFIX_BYTES = 13,
    SANDBOXSTORE_PATH_BYTES = 1024,
};

/* Opens or creates sandboxes.db in an existing private directory. The message is for the user. */
int sandboxstore_open(const char *directory, struct sandboxstore **out_store, struct err *err);
void sandboxstore_close(struct sandboxstore *store);

/* ---- tenants and their keys ---- */

struct sandboxstore_tenant {
    char id[SANDBOXSTORE_ID_BYTES];
    char name[SANDBOXSTORE_MAX_NAME_BYTES + 1];
    char external_ref[SANDBOXSTORE_MAX_NAME_BYTES + 1];
    int64_t max_sandboxes; /* -1: as many as the service has */
    int64_t created_s;
};

struct sandboxstore_key {
    char id[SANDBOXSTORE_ID_BYTES];
    char tenant[SANDBOXSTORE_ID_BYTES];
    char prefix[SANDBOXSTORE_PREFIX_BYTES]; /* the key's first characters, to recognise it */
    int64_t created_s;
};

int sandboxstore_add_tenant(struct sandboxstore *store, const struct sandboxstore_tenant *tenant);
/* With its keys. ERR_NOT_FOUND. */
int sandboxstore_remove_tenant(struct sandboxstore *store, struct str id);
int sandboxstore_get_tenant(struct sandboxstore *store, struct str id,
                            struct sandboxstore_tenant *out_tenant);
int sandboxstore_each_tenant(struct sandboxstore *store,
                             void (*take)(void *data, const struct sandboxstore_tenant *tenant),
                             void *data);

int sandboxstore_add_key(struct sandboxstore *store, const struct sandboxstore_key *key,
                         const unsigned char digest[SHA256_BYTES]);
int sandboxstore_remove_key(struct sandboxstore *store, struct str tenant, struct str id);
int sandboxstore_each_key(struct sandboxstore *store, struct str tenant,
                          void (*take)(void *data, const struct sandboxstore_key *key), void *data);
/* The tenant whose key has this digest; ERR_UNAUTHORIZED. */
int sandboxstore_find_key(struct sandboxstore *store, const unsigned char digest[SHA256_BYTES],
                          char out_tenant[SANDBOXSTORE_ID_BYTES]);

/* ---- sandboxes ---- */

struct sandboxstore_sandbox {
    char id[SANDBOXSTORE_ID_BYTES];
    char owner[SANDBOXSTORE_ID_BYTES]; /* a tenant; empty: the administrator */
    int64_t created_s;
    int64_t active_s;
    bool is_ephemeral;
    bool is_running;
    char image[SANDBOXSTORE_KEY_BYTES]; /* or empty: the base */
    int64_t memory_mb;                  /* these three: 0 for the default */
    int64_t cpu_percent;
    int64_t pids_max;
};

/* Adds it, or replaces what may change: active_s and is_running. */
int sandboxstore_save(struct sandboxstore *store, const struct sandboxstore_sandbox *sandbox);
int sandboxstore_remove(struct sandboxstore *store, struct str id);
int sandboxstore_each(struct sandboxstore *store,
                      void (*take)(void *data, const struct sandboxstore_sandbox *sandbox),
                      void *data);

/* What the service keeps of a sandbox beside its record: a document of its own. Goes with it. */
int sandboxstore_save_details(struct sandboxstore *store, struct str id, struct str document);
int sandboxstore_each_details(struct sandboxstore *store,
                              void (*take)(void *data, struct str id, struct str document),
                              void *data);

/* The same for which addresses it reaches. */
int sandboxstore_save_network(struct sandboxstore *store, struct str id, struct str text);
int sandboxstore_each_network(struct sandboxstore *store,
                              void (*take)(void *data, struct str id, struct str text), void *data);

/* ---- snapshots: images with a name ---- */

struct sandboxstore_snapshot {
    char id[SANDBOXSTORE_ID_BYTES];
    char owner[SANDBOXSTORE_ID_BYTES]; /* a tenant; empty: the administrator */
    char name[SANDBOXSTORE_MAX_NAME_BYTES + 1];
    char from[SANDBOXSTORE_MAX_NAME_BYTES + 1]; /* the name of an image, or empty: a Dockerfile */
    char image[SANDBOXSTORE_KEY_BYTES];
    int64_t cpu; /* these three: cores and gigabytes; 0 for the default */
    int64_t memory_gb;
    int64_t disk_gb;
    int64_t created_s;
};

/* ERR_ALREADY_EXISTS if the owner has one of that name. */
int sandboxstore_add_snapshot(struct sandboxstore *store,
                              const struct sandboxstore_snapshot *snapshot);
int sandboxstore_remove_snapshot(struct sandboxstore *store, struct str id);
/* The oldest first. */
int sandboxstore_each_snapshot(struct sandboxstore *store,
                               void (*take)(void *data,
                                            const struct sandboxstore_snapshot *snapshot),
                               void *data);

/* ---- layers of images ---- */

struct sandboxstore_layer {
    char key[SANDBOXSTORE_KEY_BYTES];
    char parent[SANDBOXSTORE_KEY_BYTES]; /* empty: the base */
    char owner[SANDBOXSTORE_ID_BYTES];
    bool has_files; /* false: only environment or directory changed */
    bool is_image;  /* was asked for by these steps, not only on the way */
    bool is_system; /* all that sandboxes over it see, instead of this machine's system */
    int64_t created_s;
    int64_t used_s;
    char workdir[SANDBOXSTORE_PATH_BYTES]; /* empty: the default */
    /* The name in FROM that no image has; empty: there is one, or FROM was not said. */
    char missing[SANDBOXSTORE_MAX_NAME_BYTES + 1];
    struct str env; /* a JSON object of all variables so far */
};

/* Adds it, or replaces is_image and used_s. */
int sandboxstore_save_layer(struct sandboxstore *store, const struct sandboxstore_layer *layer);
int sandboxstore_remove_layer(struct sandboxstore *store, struct str key);
int sandboxstore_each_layer(struct sandboxstore *store,
                            void (*take)(void *data, const struct sandboxstore_layer *layer),
                            void *data);

/* ---- the operator's names of images, for FROM ---- */

struct sandboxstore_name {
    char name[SANDBOXSTORE_MAX_NAME_BYTES + 1];
    char image[SANDBOXSTORE_KEY_BYTES];
};

/* Adds it, or replaces its image. */
int sandboxstore_save_name(struct sandboxstore *store, struct str name, struct str image);
int sandboxstore_remove_name(struct sandboxstore *store, struct str name);
int sandboxstore_each_name(struct sandboxstore *store,
                           void (*take)(void *data, const struct sandboxstore_name *name),
                           void *data);

#endif
