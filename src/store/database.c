/* SPDX-License-Identifier: Apache-2.0 */
#include "store/database.h"

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
        return ERR_ALREADY_EXISTS;
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
    int code = SQLITE_OK;

    for (int i = 0; i < DATABASE_MAX_VALUES && code == SQLITE_OK; i++)
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

int database_execute(sqlite3 *database, const struct database_write *write)
{
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(database, write->sql, -1, &statement, NULL);
    int changed = 0;

    if (code == SQLITE_OK)
        code = bind_values(statement, write->values);
    if (code == SQLITE_OK)
        code = sqlite3_step(statement);
    if (database_error(code) == 0)
        changed = sqlite3_changes(database);
    sqlite3_finalize(statement);
    if (database_error(code) == 0 && write->more != NULL)
        code = sqlite3_exec(database, write->more, NULL, NULL, NULL);
    return database_error(code) < 0 ? database_error(code) : changed;
}

int database_each(sqlite3 *database, const char *sql, void (*take)(void *data, sqlite3_stmt *row),
                  void *data)
{
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(database, sql, -1, &statement, NULL);

    if (code == SQLITE_OK)
        while ((code = sqlite3_step(statement)) == SQLITE_ROW)
            take(data, statement);
    sqlite3_finalize(statement);
    return database_error(code);
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

int database_create(const char *path, const char *schema, int64_t version,
                    enum database_safety safety, sqlite3 **out_database, struct err *err)
{
    int code = database_open(path, SQLITE_OPEN_CREATE, safety, out_database);
    int r;

    if (code == SQLITE_OK && version_of(*out_database) > version)
        return err_set(err, ERR_UNSUPPORTED,
                       "'%s' was written by a newer version of gatehouse; use that one", path);
    if (code == SQLITE_OK)
        code = sqlite3_exec(*out_database, schema, NULL, NULL, NULL);
    r = database_error(code);
    return r < 0 ? err_set(err, r, "cannot open '%s': %s", path, sqlite3_errstr(code)) : 0;
}
