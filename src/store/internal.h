/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the store share: statements with their values. */
#ifndef STORE_INTERNAL_H
#define STORE_INTERNAL_H

#include <sqlite3.h>

#include "loop/worker.h"
#include "store/store.h"

enum { STORE_MAX_VALUES = 6 };

struct store {
    sqlite3 *reader; /* of the caller's thread */
    sqlite3 *writer; /* of the worker; of the caller's thread in commands */
    struct worker_pool *pool;
    size_t waiting;
    sqlite3_stmt *find_agent;
    sqlite3_stmt *get_agent;
    sqlite3_stmt *find_login;
    sqlite3_stmt *get_login;
    sqlite3_stmt *find_user;
    sqlite3_stmt *get_user;
};

enum store_kind { STORE_NOTHING, STORE_NUMBER, STORE_BYTES, STORE_TEXT };

struct store_value {
    enum store_kind kind;
    int64_t number;
    struct str bytes;
};

struct store_write {
    const char *sql;
    const char *more; /* another statement after it, with the same values; or NULL */
    int missing;      /* the error if the first one changed nothing; or 0 */
    struct store_value values[STORE_MAX_VALUES];
};

#define STORE_VALUE_NUMBER(n)                                                                      \
    {                                                                                              \
        .kind = STORE_NUMBER, .number = (n)                                                        \
    }
#define STORE_VALUE_DIGEST(d)                                                                      \
    {                                                                                              \
        .kind = STORE_BYTES, .bytes = {(const char *)(d), SHA256_BYTES }                           \
    }
#define STORE_VALUE_TEXT(t)                                                                        \
    {                                                                                              \
        .kind = STORE_TEXT, .bytes = (t)                                                           \
    }

int store_error_of(int code);

/* The number of changed rows, or an error. */
int store_execute(sqlite3 *database, const struct store_write *write);
/* By the worker; `done`, which may be NULL, gets 0 or an error. */
void store_write_later(struct store *store, const struct store_write *write, store_done *done,
                       void *context);

/* `values` may be NULL. */
int store_each_row(struct store *store, const char *sql, const struct store_value *values,
                   void (*take)(void *data, sqlite3_stmt *row), void *data);
/* The first row, if there is one: 1, 0 or an error. The statement must be reset. */
int store_first_row(sqlite3_stmt *statement, const struct store_value *values);

/* users.c: an SQLITE_* code. */
int store_prepare_users(struct store *store);

#endif
