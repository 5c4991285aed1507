/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the store share. */
#ifndef STORE_INTERNAL_H
#define STORE_INTERNAL_H

#include "loop/worker.h"
#include "store/database.h"
#include "store/store.h"

struct store {
    sqlite3 *reader; /* of the caller's thread */
    sqlite3 *writer; /* of the worker; of the caller's thread in commands */
    struct worker_pool *pool;
    size_t waiting;
    sqlite3_stmt *find_agent;
    sqlite3_stmt *get_agent;
    sqlite3_stmt *count_revocations;
    sqlite3_stmt *find_login;
    sqlite3_stmt *get_login;
    sqlite3_stmt *find_user;
    sqlite3_stmt *get_user;
    sqlite3_stmt *find_token;
};

/* By the worker; `done`, which may be NULL, gets 0 or an error. */
void store_write_later(struct store *store, const struct database_write *write, store_done *done,
                       void *context);

/* users.c: an SQLITE_* code. */
int store_prepare_users(struct store *store);
/* oauth.c: the same. */
int store_prepare_oauth(struct store *store);

#endif
