/* SPDX-License-Identifier: Apache-2.0 */
/* What the stores share: an SQLite file with our settings, values, statements, errors. */
#ifndef STORE_DATABASE_H
#define STORE_DATABASE_H

#include <sqlite3.h>

#include "base/err.h"
#include "base/sha256.h"
#include "base/str.h"

enum { DATABASE_MAX_VALUES = 12 };

enum database_kind { DATABASE_NOTHING, DATABASE_NUMBER, DATABASE_BYTES, DATABASE_TEXT };

struct database_value {
    enum database_kind kind;
    int64_t number;
    struct str bytes;
};

#define DATABASE_VALUE_NUMBER(n)                                                                   \
    {                                                                                              \
        .kind = DATABASE_NUMBER, .number = (n)                                                     \
    }
#define DATABASE_VALUE_DIGEST(d)                                                                   \
    {                                                                                              \
        .kind = DATABASE_BYTES, .bytes = {(const char *)(d), SHA256_BYTES }                        \
    }
#define DATABASE_VALUE_STR(s)                                                                      \
    {                                                                                              \
        .kind = DATABASE_TEXT, .bytes = (s)                                                        \
    }
#define DATABASE_VALUE_TEXT(t) DATABASE_VALUE_STR(str_from(t))

/* A statement that changes something, and the values of ?1, ?2, … */
struct database_write {
    const char *sql;
    const char *more; /* another statement of the same transaction, with the same values; or NULL */
    int missing;      /* the error if the first one changes nothing; or 0 */
    struct database_value values[DATABASE_MAX_VALUES];
};

enum database_safety {
    DATABASE_FLUSHED, /* what was written survives a power cut */
    DATABASE_ORDERED, /* a power cut may undo the last writes, a crash of the process none */
};

/* Opens it with our settings, to read and write; `flags` may add SQLITE_OPEN_CREATE. */
int database_open(const char *path, int flags, enum database_safety safety, sqlite3 **out_database);

struct database_schema {
    int64_t version;
    const char *tables;          /* creates those that are missing */
    const char *const *upgrades; /* before that: [0] for a file of version 1, and so on; or NULL */
};

/*
 * Opens or creates the file and brings its tables up to date. Refuses one of a newer version. The
 * message is for the user.
 */
int database_create(const char *path, const struct database_schema *schema,
                    enum database_safety safety, sqlite3 **out_database, struct err *err);

/* The ERR_* code for a result of SQLite; 0 for success. */
int database_error(int code);

/* Runs it: the number of rows that the first statement changed, or an error. */
int database_execute(sqlite3 *database, const struct database_write *write);

/* Calls `take` for every row of a query without values. */
int database_each(sqlite3 *database, const char *sql, void (*take)(void *data, sqlite3_stmt *row),
                  void *data);

/* The same with values. */
int database_each_with(sqlite3 *database, const char *sql, const struct database_value *values,
                       void (*take)(void *data, sqlite3_stmt *row), void *data);

/* The first row of a prepared query, if there is one: 1, 0 or an error. Reset the statement. */
int database_first_row(sqlite3_stmt *statement, const struct database_value *values);

#endif
