/* SPDX-License-Identifier: Apache-2.0 */
#include "store/database.h"

#include <stdbool.h>
#include <stdio.h>

enum { BUSY_MS = 5000 };

int database_error(int code)
{
    switch (code & 0xff) {
    case SQLITE_OK:
    case SQLITE_DONE:
    case SQLITE_ROW:
        return 0;
    case SQLITE_NOMEM:
        return ERR_NO_MEMORY;
    case SQLITE_FULL:
        return ERR_NO_SPACE;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return ERR_BUSY;
    case SQLITE_CONSTRAINT:
        /* What it refers to was removed. */
        return code == SQLITE_CONSTRAINT_FOREIGNKEY ? ERR_NOT_FOUND : ERR_ALREADY_EXISTS;
    case SQLITE_PERM:
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
        return ERR_PERMISSION_DENIED;
    default:
        return ERR_IO;
    }
}

static int bind_values(sqlite3_stmt *statement, const struct database_value *values)
{
    int count = sqlite3_bind_parameter_count(statement);
    int code = SQLITE_OK;

    for (int i = 0; i < count && i < DATABASE_MAX_VALUES && code == SQLITE_OK; i++)
        switch (values[i].kind) {
        case DATABASE_NOTHING:
            break; /* NULL, which a parameter is anyway */
        case DATABASE_NUMBER:
            code = sqlite3_bind_int64(statement, i + 1, values[i].number);
            break;
        case DATABASE_BYTES:
            code = sqlite3_bind_blob64(statement, i + 1, values[i].bytes.ptr, values[i].bytes.len,
                                       SQLITE_STATIC);
            break;
        case DATABASE_TEXT:
            code = sqlite3_bind_text64(statement, i + 1, values[i].bytes.ptr, values[i].bytes.len,
                                       SQLITE_STATIC, SQLITE_UTF8);
            break;
        }
    return code;
}

static int execute_one(sqlite3 *database, const char *sql, const struct database_value *values)
{
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(database, sql, -1, &statement, NULL);

    if (code == SQLITE_OK)
        code = bind_values(statement, values);
    if (code == SQLITE_OK)
        code = sqlite3_step(statement);
    sqlite3_finalize(statement);
    return database_error(code);
}

static int execute_both(sqlite3 *database, const struct database_write *write, int *out_changed)
{
    int r = execute_one(database, write->sql, write->values);

    if (r == 0) {
        *out_changed = sqlite3_changes(database);
        if (*out_changed == 0 && write->missing != 0)
            r = write->missing;
    }
    return r == 0 && write->more != NULL ? execute_one(database, write->more, write->values) : r;
}

int database_execute(sqlite3 *database, const struct database_write *write)
{
    sqlite3_mutex *mutex = sqlite3_db_mutex(database);
    bool is_transaction = write->more != NULL;
    int changed = 0;
    int r = 0;

    /* Another thread may write as well, and must not get into our transaction or our count. */
    sqlite3_mutex_enter(mutex);
    if (is_transaction)
        r = database_error(sqlite3_exec(database, "BEGIN IMMEDIATE", NULL, NULL, NULL));
    if (r == 0)
        r = execute_both(database, write, &changed);
    if (r == 0 && is_transaction)
        r = database_error(sqlite3_exec(database, "COMMIT", NULL, NULL, NULL));
    if (sqlite3_get_autocommit(database) == 0)
        (void)sqlite3_exec(database, "ROLLBACK", NULL, NULL, NULL);
    sqlite3_mutex_leave(mutex);
    return r < 0 ? r : changed;
}

int database_each_with(sqlite3 *database, const char *sql, const struct database_value *values,
                       void (*take)(void *data, sqlite3_stmt *row), void *data)
{
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(database, sql, -1, &statement, NULL);

    if (code == SQLITE_OK && values != NULL)
        code = bind_values(statement, values);
    if (code == SQLITE_OK)
        while ((code = sqlite3_step(statement)) == SQLITE_ROW)
            take(data, statement);
    sqlite3_finalize(statement);
    return database_error(code);
}

int database_each(sqlite3 *database, const char *sql, void (*take)(void *data, sqlite3_stmt *row),
                  void *data)
{
    return database_each_with(database, sql, NULL, take, data);
}

int database_first_row(sqlite3_stmt *statement, const struct database_value *values)
{
    int code;

    sqlite3_reset(statement);
    code = bind_values(statement, values);
    if (code == SQLITE_OK)
        code = sqlite3_step(statement);
    return code == SQLITE_ROW ? 1 : database_error(code);
}

int database_open(const char *path, int flags, enum database_safety safety, sqlite3 **out_database)
{
    static const char settings[] = "PRAGMA journal_mode=WAL; PRAGMA foreign_keys=ON;"
                                   "PRAGMA trusted_schema=OFF; PRAGMA temp_store=MEMORY;";
    int code = sqlite3_open_v2(path, out_database,
                               flags | SQLITE_OPEN_READWRITE | SQLITE_OPEN_FULLMUTEX, NULL);

    if (code == SQLITE_OK) {
        sqlite3_extended_result_codes(*out_database, 1);
        code = sqlite3_busy_timeout(*out_database, BUSY_MS);
    }
    if (code == SQLITE_OK)
        code = sqlite3_exec(*out_database, settings, NULL, NULL, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_exec(*out_database,
                            safety == DATABASE_FLUSHED ? "PRAGMA synchronous=FULL"
                                                       : "PRAGMA synchronous=NORMAL",
                            NULL, NULL, NULL);
    return code;
}

static int64_t version_of(sqlite3 *database)
{
    sqlite3_stmt *statement = NULL;
    int64_t version = -1;

    if (sqlite3_prepare_v2(database, "PRAGMA user_version", -1, &statement, NULL) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW)
        version = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return version;
}

static int set_up_tables(sqlite3 *database, const struct database_schema *schema, int64_t version)
{
    char set_version[64];
    int code = SQLITE_OK;

    for (int64_t i = version; i > 0 && i < schema->version && code == SQLITE_OK; i++)
        if (schema->upgrades != NULL)
            code = sqlite3_exec(database, schema->upgrades[i - 1], NULL, NULL, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_exec(database, schema->tables, NULL, NULL, NULL);
    if (code != SQLITE_OK || version == schema->version)
        return code;
    snprintf(set_version, sizeof(set_version), "PRAGMA user_version=%lld",
             (long long)schema->version);
    return sqlite3_exec(database, set_version, NULL, NULL, NULL);
}

/* Another process may open it at the same time, so everything is decided under the lock. */
static int make_tables(sqlite3 *database, const struct database_schema *schema, bool *out_is_newer)
{
    int code = sqlite3_exec(database, "BEGIN IMMEDIATE", NULL, NULL, NULL);
    int64_t version;

    if (code != SQLITE_OK)
        return code;
    version = version_of(database);
    *out_is_newer = version > schema->version;
    if (!*out_is_newer)
        code = set_up_tables(database, schema, version);
    if (code == SQLITE_OK)
        code = sqlite3_exec(database, "COMMIT", NULL, NULL, NULL);
    if (code != SQLITE_OK)
        (void)sqlite3_exec(database, "ROLLBACK", NULL, NULL, NULL);
    return code;
}

int database_create(const char *path, const struct database_schema *schema,
                    enum database_safety safety, sqlite3 **out_database, struct err *err)
{
    int code = database_open(path, SQLITE_OPEN_CREATE, safety, out_database);
    bool is_newer = false;
    int r;

    if (code == SQLITE_OK)
        code = make_tables(*out_database, schema, &is_newer);
    if (code == SQLITE_OK && is_newer)
        return err_set(err, ERR_UNSUPPORTED,
                       "'%s' was written by a newer version of gatehouse; use that one", path);
    r = database_error(code);
    return r < 0 ? err_set(err, r, "cannot open '%s': %s", path, sqlite3_errstr(code)) : 0;
}
