/* SPDX-License-Identifier: Apache-2.0 */
#include "store/backup.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "store/database.h"

enum { BUSY_MS = 5000 };

static void close_database(sqlite3 **database)
{
    sqlite3_close(*database);
}

#define cleanup_database cleanup_with(close_database)

static int refuse(struct err *err, int code, const char *what, const char *path, const char *why)
{
    int error = database_error(code);

    return err_set(err, error < 0 ? error : ERR_IO, "cannot %s '%s': %s", what, path, why);
}

static int copy(sqlite3 *database, const char *path, struct err *err)
{
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(database, "VACUUM INTO ?1", -1, &statement, NULL);

    if (code == SQLITE_OK)
        code = sqlite3_bind_text(statement, 1, path, -1, SQLITE_STATIC);
    if (code == SQLITE_OK)
        code = sqlite3_step(statement);
    sqlite3_finalize(statement);
    if (code == SQLITE_DONE)
        return 0;
    /* Another file than a database is "not a database" to SQLite. */
    if ((code & 0xff) == SQLITE_NOTADB ||
        strstr(sqlite3_errmsg(database), "already exists") != NULL)
        return err_set(err, ERR_ALREADY_EXISTS, "'%s' exists already: choose another name", path);
    return refuse(err, code, "write", path, sqlite3_errmsg(database));
}

/* One change in place makes SQLite sync the whole file; and a copy that nobody can read is none. */
static int finish(const char *path, struct err *err)
{
    cleanup_database sqlite3 *database = NULL;
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_open_v2(path, &database, SQLITE_OPEN_READWRITE, NULL);
    bool is_whole = false;

    if (code == SQLITE_OK)
        code = sqlite3_exec(database, "PRAGMA synchronous=FULL; PRAGMA journal_mode=DELETE;", NULL,
                            NULL, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_prepare_v2(database, "PRAGMA quick_check(1)", -1, &statement, NULL);
    if (code == SQLITE_OK && sqlite3_step(statement) == SQLITE_ROW)
        is_whole = strcmp((const char *)sqlite3_column_text(statement, 0), "ok") == 0;
    sqlite3_finalize(statement);
    if (is_whole)
        code = sqlite3_exec(database, "PRAGMA application_id=0x67617465;", NULL, NULL, NULL);
    if (code == SQLITE_OK && is_whole)
        return 0;
    return refuse(err, code, "check the copy", path, sqlite3_errmsg(database));
}

struct store_backup {
    sqlite3 *database;
};

int store_backup_open(const char *directory, struct store_backup **out_backup, struct err *err)
{
    struct store_backup *backup = calloc(1, sizeof(*backup));
    char source[PATH_MAX];
    int code;
    int r = 0;

    if (backup == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    if (snprintf(source, sizeof(source), "%s/server.db", directory) >= (int)sizeof(source)) {
        store_backup_close(backup);
        return err_set(err, ERR_INVALID_PATH, "the state directory's path is too long");
    }
    code = sqlite3_open_v2(source, &backup->database, SQLITE_OPEN_READWRITE, NULL);
    if (code == SQLITE_CANTOPEN)
        r = err_set(err, ERR_NOT_FOUND, "there is no server's state at '%s'", source);
    else if (code != SQLITE_OK)
        r = refuse(err, code, "read", source, sqlite3_errstr(code));
    if (r < 0)
        store_backup_close(backup);
    else
        *out_backup = backup;
    return r;
}

int store_backup_write(struct store_backup *backup, const char *path, struct err *err)
{
    int code = sqlite3_busy_timeout(backup->database, BUSY_MS);
    int r;

    if (code == SQLITE_OK)
        code = sqlite3_exec(backup->database, "PRAGMA synchronous=FULL; PRAGMA trusted_schema=OFF;",
                            NULL, NULL, NULL);
    if (code != SQLITE_OK)
        return refuse(err, code, "read", "server.db", sqlite3_errmsg(backup->database));
    r = copy(backup->database, path, err);
    return r == 0 ? finish(path, err) : r;
}

void store_backup_close(struct store_backup *backup)
{
    if (backup == NULL)
        return;
    sqlite3_close(backup->database);
    free(backup);
}
