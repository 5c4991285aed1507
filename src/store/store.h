/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The server's state in SQLite: users, their connected machines, logins of browsers, keys of
 * agents, credentials. Of every key only the SHA-256 digest is stored.
 *
 * Reads happen on the caller's thread; they are short, and never wait for a writer (WAL). Writes of
 * the server go to one worker, in order, and are durable when their `done` is called. Commands
 * write at once. Several processes may have the same store open.
 */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/sha256.h"
#include "base/str.h"
#include "loop/loop.h"

struct store;

enum {
    STORE_OWNER = 1, /* the user that always exists */
    STORE_MAX_NAME_BYTES = 64,
    STORE_MAX_PASSWORD_BYTES = 160, /* of its hash */
    STORE_MAX_USERS = 10000,
    STORE_MAX_AGENTS = 1024, /* of a user */
    STORE_MAX_LOGINS = 64,   /* of a user; the one not used for longest is dropped for a new one */
    STORE_ADDRESS_BYTES = 64,
    STORE_BROWSER_BYTES = 256,
    STORE_URL_BYTES = 512,
    STORE_WORKSPACE_BYTES = 16, /* of the name of a provider */
    STORE_LINK_MS = 15 * 60 * 1000,
};

/* A login ends so long after it began, and so long after its last use. */
#define STORE_LOGIN_MS      ((int64_t)30 * 24 * 60 * 60 * 1000)
#define STORE_LOGIN_IDLE_MS ((int64_t)7 * 24 * 60 * 60 * 1000)

/* Opens or creates server.db in an existing private directory. The message is for the user. */
int store_open(const char *directory, struct store **out_store, struct err *err);
/* Waits for a write that is under way. */
void store_close(struct store *store);

/* Starts the worker that writes; after the process was confined. */
int store_start(struct store *store, struct loop *loop);
/* All writes were answered. */
bool store_is_idle(const struct store *store);

typedef void store_done(void *context, int result);

/* ---- changes ---- */

enum { STORE_VIEW_WORDS = 24 };

/* What somebody has seen of the store. Starts empty. */
struct store_view {
    const volatile uint32_t *header; /* SQLite's, in memory that all processes share */
    uint32_t seen[STORE_VIEW_WORDS];
    int64_t revocations;
};

/*
 * Whether anybody, in whatever process, has changed the store since the last call for this view;
 * also true if that cannot be known. Costs no system call, so that what was read may be kept until
 * then.
 */
bool store_has_changed(struct store *store, struct store_view *view);
/*
 * The same, but only for an agent's key or a user that was changed or removed. Machines and
 * browsers come and go, and what is known of a thousand agents need not be read again each time.
 */
bool store_has_revoked(struct store *store, struct store_view *view);

/* ---- machines ---- */

struct store_machine {
    int64_t user;
    bool has_key;
    unsigned char key_digest[SHA256_BYTES];
    int64_t connected_ms;
    struct str init;
};

void store_save_machine(struct store *store, const struct store_machine *machine, store_done *done,
                        void *context);
void store_remove_machine(struct store *store, int64_t user);
int store_each_machine(struct store *store,
                       void (*take)(void *data, const struct store_machine *machine), void *data);

void store_set_files_off(struct store *store, int64_t user, bool is_off);
int store_each_files_off(struct store *store, void (*take)(void *data, int64_t user), void *data);

/* ---- users ---- */

struct store_user {
    int64_t id; /* never used again */
    int64_t created_ms;
    bool has_password;
    char name[STORE_MAX_NAME_BYTES + 1];
    char password[STORE_MAX_PASSWORD_BYTES + 1]; /* as password_hash() made it */
};

/* Visible ASCII, without quotes and backslashes: safe in a log, a header and a shell's words. */
bool store_is_name(struct str name);

/* `password` may be NULL. ERR_ALREADY_EXISTS for a name in use. All of these are durable. */
int store_add_user(struct store *store, struct str name, const char *password, int64_t now_wall_ms,
                   int64_t *out_id, struct err *err);
/* Whether such a user could be added now: else the error that store_add_user() has for it. */
int store_check_new_user(struct store *store, struct str name, struct err *err);
/* ERR_NOT_FOUND */
int store_find_user(struct store *store, struct str name, struct store_user *out_user);
int store_get_user(struct store *store, int64_t id, struct store_user *out_user);
int store_each_user(struct store *store, void (*take)(void *data, const struct store_user *user),
                    void *data);
/* Whether anybody can log in with one. */
bool store_has_passwords(struct store *store);
/* Ends the user's logins as well. */
int store_set_password(struct store *store, int64_t id, const char *password, struct err *err);
/*
 * If `old` is still the hash of the present one: `done` gets ERR_UNAUTHORIZED if not. Ends the
 * user's logins but this one.
 */
void store_renew_password(struct store *store, int64_t id, const char *old, const char *password,
                          int64_t login, store_done *done, void *context);
/* With logins, machine and keys of agents. */
int store_remove_user(struct store *store, int64_t id, struct err *err);

/* ---- links that log in once ---- */

int store_add_link(struct store *store, const unsigned char digest[SHA256_BYTES], int64_t user,
                   int64_t now_wall_ms);
/* ERR_UNAUTHORIZED */
int store_find_link(struct store *store, const unsigned char digest[SHA256_BYTES],
                    int64_t now_wall_ms, int64_t *out_user);
/* `done` gets ERR_UNAUTHORIZED if somebody else was faster. */
void store_use_link(struct store *store, const unsigned char digest[SHA256_BYTES], store_done *done,
                    void *context);

/* ---- logins ---- */

struct store_login {
    int64_t id;
    int64_t user;
    int64_t created_ms;
    int64_t used_ms;
    char address[STORE_ADDRESS_BYTES];
    char browser[STORE_BROWSER_BYTES];
};

/*
 * `password` is the hash that was checked, or NULL: `done` gets ERR_UNAUTHORIZED if it has changed
 * meanwhile. `id` and `used_ms` of the login are not read.
 */
void store_add_login(struct store *store, const unsigned char digest[SHA256_BYTES],
                     const struct store_login *login, const char *password, store_done *done,
                     void *context);
/* ERR_UNAUTHORIZED without a login that is still valid. */
int store_find_login(struct store *store, const unsigned char digest[SHA256_BYTES], int64_t now_ms,
                     struct store_login *out_login);
int store_get_login(struct store *store, int64_t id, int64_t now_ms, struct store_login *out_login);
/* Those of a user that are valid, the one used last first. */
int store_each_login(struct store *store, int64_t user, int64_t now_ms,
                     void (*take)(void *data, const struct store_login *login), void *data);
void store_touch_login(struct store *store, int64_t id, int64_t now_ms);
/* `done` gets ERR_NOT_FOUND if this user has no such login. */
void store_end_login(struct store *store, int64_t user, int64_t id, store_done *done,
                     void *context);

/* ---- the server's own address, for commands ---- */

int store_set_url(struct store *store, const char *url);
/* Empty if no server has run. */
int store_get_url(struct store *store, char out_url[STORE_URL_BYTES]);

/* ---- agents ---- */

struct store_agent {
    int64_t id;
    int64_t user;
    unsigned groups; /* bits, see gateway/toolset.h */
    unsigned asks;   /* those of them that the user is asked about; of a workspace */
    int64_t created_ms;
    char name[STORE_MAX_NAME_BYTES + 1];
    char workspace[STORE_WORKSPACE_BYTES]; /* the provider that serves it; empty: the machine */
};

/* ERR_ALREADY_EXISTS for a name in use. Durable when it returns. */
int store_add_agent(struct store *store, const struct store_agent *agent,
                    const unsigned char digest[SHA256_BYTES], struct err *err);
int store_remove_agent(struct store *store, int64_t user, const char *name, struct err *err);
int store_each_agent(struct store *store, void (*take)(void *data, const struct store_agent *agent),
                     void *data);
/* ERR_UNAUTHORIZED if nobody has this key. */
int store_find_agent(struct store *store, const unsigned char digest[SHA256_BYTES],
                     struct store_agent *out_agent);
/* ERR_NOT_FOUND if it was removed. */
int store_get_agent(struct store *store, int64_t id, struct store_agent *out_agent);

/* ---- credentials, which machines created for their users ---- */

struct store_credential {
    struct str id;
    int64_t user;
    struct str name;
    struct str type;
    int64_t created_ms;
};

/* `data` is what is secret in it, as JSON. ERR_ALREADY_EXISTS if the user has 1,000 of them. */
void store_add_credential(struct store *store, const struct store_credential *credential,
                          struct str data, store_done *done, void *context);
void store_remove_credential(struct store *store, int64_t user, struct str id);
/* Without their data; of all users. */
int store_each_credential(struct store *store,
                          void (*take)(void *data, const struct store_credential *credential),
                          void *data);

#endif
