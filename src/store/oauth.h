/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Apps that act for a user by OAuth: the clients that registered, what a user allowed one of them
 * (a grant), and the codes and tokens of a grant, of which only digests are stored.
 *
 * Everything that a grant has goes with it. A used code or refresh token is kept, so that its
 * second use is noticed.
 */
#ifndef STORE_OAUTH_H
#define STORE_OAUTH_H

#include "store/store.h"

enum {
    STORE_MAX_CLIENTS = 1000, /* without a grant; older ones are dropped for new ones */
    STORE_MAX_GRANTS = 64,    /* of a user; the one not used for longest is dropped */
    STORE_CLIENT_ID_BYTES = 48,
    STORE_CLIENT_NAME_BYTES = 104,
    STORE_REDIRECT_BYTES = 513,
    STORE_REDIRECTS_BYTES = 8 * STORE_REDIRECT_BYTES,
    STORE_CHALLENGE_BYTES = 44,
};

/* A grant ends so long after the user gave it. */
#define STORE_GRANT_MS ((int64_t)180 * 24 * 60 * 60 * 1000)

struct store_client {
    int64_t created_ms;
    char id[STORE_CLIENT_ID_BYTES];
    char name[STORE_CLIENT_NAME_BYTES];    /* as it calls itself, made printable */
    char redirects[STORE_REDIRECTS_BYTES]; /* one a line */
};

void store_add_client(struct store *store, const struct store_client *client, store_done *done,
                      void *context);
/* ERR_NOT_FOUND */
int store_find_client(struct store *store, struct str id, struct store_client *out_client);

struct store_grant {
    int64_t id; /* never used again */
    int64_t user;
    unsigned groups; /* this, `asks` and `workspace` are as those of a store_agent */
    unsigned asks;
    int64_t created_ms;
    int64_t used_ms; /* 0: no token was given out yet */
    char client[STORE_CLIENT_ID_BYTES];
    char name[STORE_CLIENT_NAME_BYTES];
    char redirect[STORE_REDIRECT_BYTES];   /* where this browser was sent */
    char challenge[STORE_CHALLENGE_BYTES]; /* PKCE, of its code */
    char workspace[STORE_WORKSPACE_BYTES];
};

enum store_token_kind { STORE_CODE, STORE_ACCESS, STORE_REFRESH };

struct store_token {
    int64_t expires_ms;
    bool is_used;
    struct store_grant grant;
};

/* With its code. `id`, `used_ms` and `name` of the grant are not read. */
void store_add_grant(struct store *store, const struct store_grant *grant,
                     const unsigned char code[SHA256_BYTES], int64_t expires_ms, store_done *done,
                     void *context);
/* ERR_UNAUTHORIZED. Also finds what was used or has expired; not of a grant that is over. */
int store_find_token(struct store *store, enum store_token_kind kind,
                     const unsigned char digest[SHA256_BYTES], int64_t now_ms,
                     struct store_token *out_token);

struct store_exchange {
    const unsigned char *used; /* the code or the refresh token; this and the others are digests */
    const unsigned char *access;
    const unsigned char *refresh;
    int64_t now_ms;
    int64_t access_expires_ms;
    int64_t refresh_expires_ms;
};

/* New tokens for a used one, in one step. `done` gets ERR_UNAUTHORIZED if it was used before. */
void store_exchange_token(struct store *store, const struct store_exchange *exchange,
                          store_done *done, void *context);
/* The grant was used; drops tokens that nobody needs any more. */
void store_touch_grant(struct store *store, int64_t id, int64_t now_ms);
/* `done` gets ERR_NOT_FOUND if there is none, or `user` is not 0 and it is not theirs. */
void store_end_grant(struct store *store, int64_t user, int64_t id, store_done *done,
                     void *context);
/* Those of a user that have tokens, the one used last first. */
int store_each_grant(struct store *store, int64_t user, int64_t now_ms,
                     void (*take)(void *data, const struct store_grant *grant), void *data);
/* Whether it still has a token that opens something; true if the store cannot say. */
bool store_is_granted(struct store *store, int64_t id, int64_t now_ms);

#endif
