/* SPDX-License-Identifier: Apache-2.0 */
#include "store/store.h"

#include <limits.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "store/internal.h"

enum {
    BUSY_MS = 5000,
    MAX_WAITING = 1 << 20, /* a user waits for an init, so there are few */
    /* A disk may stall; nobody gains by giving up a write that may have happened. */
    GRACE_MS = 60 * 1000,
    VERSION = 2,
};

/*
 * The primary keys of machines are users: each has one. Version 1 had logins that say nothing about
 * themselves; their browsers log in again.
 */
static const char upgrade[] = "DROP TABLE logins;";

static const char schema[] =
    "CREATE TABLE IF NOT EXISTS users("
    " id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, password TEXT,"
    " files_are_off INTEGER NOT NULL DEFAULT 0, created_ms INTEGER NOT NULL) STRICT;"
    "INSERT OR IGNORE INTO users(id, name, created_ms) VALUES (1, 'owner', 0);"
    "CREATE TABLE IF NOT EXISTS machines("
    " user INTEGER PRIMARY KEY REFERENCES users(id) ON DELETE CASCADE, key_digest BLOB,"
    " connected_ms INTEGER NOT NULL, init BLOB NOT NULL) STRICT;"
    "CREATE TABLE IF NOT EXISTS logins("
    " id INTEGER PRIMARY KEY AUTOINCREMENT, digest BLOB NOT NULL UNIQUE,"
    " user INTEGER NOT NULL REFERENCES users(id) ON DELETE CASCADE,"
    " created_ms INTEGER NOT NULL, used_ms INTEGER NOT NULL, address TEXT NOT NULL,"
    " browser TEXT NOT NULL) STRICT;"
    "CREATE INDEX IF NOT EXISTS logins_by_user ON logins(user);"
    "CREATE TABLE IF NOT EXISTS links("
    " digest BLOB PRIMARY KEY, user INTEGER NOT NULL REFERENCES users(id) ON DELETE CASCADE,"
    " expires_ms INTEGER NOT NULL) STRICT, WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS server(id INTEGER PRIMARY KEY, url TEXT NOT NULL) STRICT;"
    "CREATE TABLE IF NOT EXISTS agents("
    " id INTEGER PRIMARY KEY AUTOINCREMENT,"
    " user INTEGER NOT NULL REFERENCES users(id) ON DELETE CASCADE, name TEXT NOT NULL,"
    " key_digest BLOB NOT NULL UNIQUE, groups INTEGER NOT NULL, created_ms INTEGER NOT NULL,"
    " UNIQUE(user, name)) STRICT;"
    "CREATE TABLE IF NOT EXISTS credentials("
    " id TEXT PRIMARY KEY, user INTEGER NOT NULL REFERENCES users(id) ON DELETE CASCADE,"
    " name TEXT NOT NULL, type TEXT NOT NULL, data TEXT NOT NULL, created_ms INTEGER NOT NULL)"
    " STRICT, WITHOUT ROWID;"
    "PRAGMA user_version=2;";

int store_error_of(int code)
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
        /* The user was removed. */
        return code == SQLITE_CONSTRAINT_FOREIGNKEY ? ERR_NOT_FOUND : ERR_ALREADY_EXISTS;
    case SQLITE_PERM:
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
        return ERR_PERMISSION_DENIED;
    default:
        return ERR_IO;
    }
}

/* ---- writes ---- */

static int bind_values(sqlite3_stmt *statement, const struct store_value *values)
{
    int code = SQLITE_OK;
    int count = sqlite3_bind_parameter_count(statement);

    for (int i = 0; i < count && i < STORE_MAX_VALUES && code == SQLITE_OK; i++)
        switch (values[i].kind) {
        case STORE_NOTHING:
            break; /* NULL, which a parameter is anyway */
        case STORE_NUMBER:
            code = sqlite3_bind_int64(statement, i + 1, values[i].number);
            break;
        case STORE_BYTES:
            code = sqlite3_bind_blob64(statement, i + 1, values[i].bytes.ptr, values[i].bytes.len,
                                       SQLITE_STATIC);
            break;
        case STORE_TEXT:
            code = sqlite3_bind_text64(statement, i + 1, values[i].bytes.ptr, values[i].bytes.len,
                                       SQLITE_STATIC, SQLITE_UTF8);
            break;
        }
    return code;
}

static int execute_one(sqlite3 *database, const char *sql, const struct store_value *values)
{
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(database, sql, -1, &statement, NULL);

    if (code == SQLITE_OK)
        code = bind_values(statement, values);
    if (code == SQLITE_OK)
        code = sqlite3_step(statement);
    sqlite3_finalize(statement);
    return store_error_of(code);
}

static int execute_both(sqlite3 *database, const struct store_write *write, int *out_changed)
{
    int r = execute_one(database, write->sql, write->values);

    if (r == 0) {
        *out_changed = sqlite3_changes(database);
        if (*out_changed == 0 && write->missing != 0)
            r = write->missing;
    }
    return r == 0 && write->more != NULL ? execute_one(database, write->more, write->values) : r;
}

int store_execute(sqlite3 *database, const struct store_write *write)
{
    sqlite3_mutex *mutex = sqlite3_db_mutex(database);
    bool is_transaction = write->more != NULL;
    int changed = 0;
    int r = 0;

    /* The loop's thread may write as well, and must not get into our transaction or our count. */
    sqlite3_mutex_enter(mutex);
    if (is_transaction)
        r = store_error_of(sqlite3_exec(database, "BEGIN IMMEDIATE", NULL, NULL, NULL));
    if (r == 0)
        r = execute_both(database, write, &changed);
    if (r == 0 && is_transaction)
        r = store_error_of(sqlite3_exec(database, "COMMIT", NULL, NULL, NULL));
    if (sqlite3_get_autocommit(database) == 0)
        (void)sqlite3_exec(database, "ROLLBACK", NULL, NULL, NULL);
    sqlite3_mutex_leave(mutex);
    return r < 0 ? r : changed;
}

struct job {
    struct store *store;
    struct store_write write; /* with copies of the bytes, behind this */
    store_done *done;
    void *context;
};

static int run_job(void *data, struct cancel *token)
{
    struct job *job = data;
    int r = store_execute(job->store->writer, &job->write);

    (void)token;
    return r < 0 ? r : 0;
}

struct reply {
    struct store *store;
    store_done *done;
    void *context;
};

static void on_job_done(void *context, int result, void *data)
{
    struct reply reply = *(struct reply *)context;

    (void)data;
    free(context);
    reply.store->waiting--;
    if (reply.done != NULL)
        reply.done(reply.context, result);
}

static struct job *make_job(struct store *store, const struct store_write *write)
{
    size_t size = sizeof(struct job);
    struct job *job;
    char *at;

    for (size_t i = 0; i < STORE_MAX_VALUES; i++)
        size += write->values[i].bytes.len;
    job = malloc(size);
    if (job == NULL)
        return NULL;
    *job = (struct job){.store = store, .write = *write};
    at = (char *)(job + 1);
    for (size_t i = 0; i < STORE_MAX_VALUES; i++) {
        struct str *bytes = &job->write.values[i].bytes;

        if (bytes->len > 0)
            memcpy(at, bytes->ptr, bytes->len);
        bytes->ptr = at;
        at += bytes->len;
    }
    return job;
}

void store_write_later(struct store *store, const struct store_write *write, store_done *done,
                       void *context)
{
    struct job *job = store->pool != NULL ? make_job(store, write) : NULL;
    struct reply *reply = job != NULL ? malloc(sizeof(*reply)) : NULL;
    uint64_t id;
    int r = ERR_NO_MEMORY;

    if (reply != NULL) {
        *reply = (struct reply){.store = store, .done = done, .context = context};
        store->waiting++;
        r = worker_submit(store->pool,
                          &(struct worker_job){.run = run_job,
                                               .done = on_job_done,
                                               .free_data = free,
                                               .data = job,
                                               .context = reply,
                                               .timeout_ms = WORKER_NO_DEADLINE},
                          &id);
        if (r == 0)
            return;
        store->waiting--;
    }
    free(reply);
    free(job);
    /* Without memory for a job, or in a command. SQLite makes this wait for the worker. */
    r = store_execute(store->writer, write);
    if (done != NULL)
        done(context, r < 0 ? r : 0);
}

/* ---- open and close ---- */

static int open_database(const char *path, int flags, sqlite3 **out_database)
{
    static const char settings[] = "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;"
                                   "PRAGMA foreign_keys=ON; PRAGMA trusted_schema=OFF;"
                                   "PRAGMA temp_store=MEMORY;";
    int code = sqlite3_open_v2(path, out_database, flags | SQLITE_OPEN_FULLMUTEX, NULL);

    if (code == SQLITE_OK) {
        sqlite3_extended_result_codes(*out_database, 1);
        code = sqlite3_busy_timeout(*out_database, BUSY_MS);
    }
    if (code == SQLITE_OK)
        code = sqlite3_exec(*out_database, settings, NULL, NULL, NULL);
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

static int prepare(struct store *store)
{
    static const char agent[] = "SELECT id, user, groups, created_ms, name FROM agents WHERE %s";
    char sql[sizeof(agent) + 32];
    int code;

    snprintf(sql, sizeof(sql), agent, "key_digest=?1");
    code = sqlite3_prepare_v3(store->reader, sql, -1, SQLITE_PREPARE_PERSISTENT, &store->find_agent,
                              NULL);
    snprintf(sql, sizeof(sql), agent, "id=?1");
    if (code == SQLITE_OK)
        code = sqlite3_prepare_v3(store->reader, sql, -1, SQLITE_PREPARE_PERSISTENT,
                                  &store->get_agent, NULL);
    return code == SQLITE_OK ? store_prepare_users(store) : code;
}

/* Another process may open it at the same time, so everything is decided under the lock. */
static int make_tables(sqlite3 *database, int64_t *out_version)
{
    int code = sqlite3_exec(database, "BEGIN IMMEDIATE", NULL, NULL, NULL);

    if (code != SQLITE_OK)
        return code;
    *out_version = version_of(database);
    if (*out_version == 1)
        code = sqlite3_exec(database, upgrade, NULL, NULL, NULL);
    if (code == SQLITE_OK && *out_version <= VERSION)
        code = sqlite3_exec(database, schema, NULL, NULL, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_exec(database, "COMMIT", NULL, NULL, NULL);
    if (code != SQLITE_OK)
        (void)sqlite3_exec(database, "ROLLBACK", NULL, NULL, NULL);
    return code;
}

static int open_all(struct store *store, const char *path, struct err *err)
{
    int code = open_database(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, &store->writer);
    int64_t version = 0;
    int r;

    if (code == SQLITE_OK)
        code = make_tables(store->writer, &version);
    if (code == SQLITE_OK && version > VERSION)
        return err_set(err, ERR_UNSUPPORTED,
                       "'%s' was written by a newer version of gatehouse; use that one", path);
    if (code == SQLITE_OK)
        code = open_database(path, SQLITE_OPEN_READWRITE, &store->reader);
    if (code == SQLITE_OK)
        code = prepare(store);
    r = store_error_of(code);
    return r < 0 ? err_set(err, r, "cannot open '%s': %s", path, sqlite3_errstr(code)) : 0;
}

int store_open(const char *directory, struct store **out_store, struct err *err)
{
    struct store *store = calloc(1, sizeof(*store));
    char path[PATH_MAX];
    int r;

    if (store == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    if (snprintf(path, sizeof(path), "%s/server.db", directory) >= (int)sizeof(path))
        r = err_set(err, ERR_INVALID_PATH, "the state directory's path is too long");
    else
        r = open_all(store, path, err);
    if (r < 0) {
        store_close(store);
        return r;
    }
    *out_store = store;
    return 0;
}

void store_close(struct store *store)
{
    if (store == NULL)
        return;
    if (store->pool != NULL)
        worker_pool_free(store->pool);
    sqlite3_finalize(store->find_agent);
    sqlite3_finalize(store->get_agent);
    sqlite3_finalize(store->find_login);
    sqlite3_finalize(store->get_login);
    sqlite3_finalize(store->find_user);
    sqlite3_finalize(store->get_user);
    sqlite3_close(store->reader);
    sqlite3_close(store->writer);
    free(store);
}

int store_start(struct store *store, struct loop *loop)
{
    const struct worker_config config = {
        .threads = 1, .queue_max = MAX_WAITING, .abandoned_max = 1, .grace_ms = GRACE_MS};

    return worker_pool_new(loop, &config, &store->pool);
}

bool store_is_idle(const struct store *store)
{
    return store->waiting == 0;
}

/* ---- changes ---- */

/*
 * The index of the write-ahead log begins with two copies of a header, of 48 bytes each, that every
 * transaction changes: see https://sqlite.org/walformat.html. SQLite's interface gives it to us.
 */
static const volatile uint32_t *find_header(sqlite3 *database)
{
    enum { REGION_BYTES = 32 << 10 };
    volatile void *region = NULL;
    sqlite3_file *file = NULL;

    if (sqlite3_file_control(database, "main", SQLITE_FCNTL_FILE_POINTER, &file) != SQLITE_OK ||
        file == NULL || file->pMethods == NULL || file->pMethods->iVersion < 2 ||
        file->pMethods->xShmMap(file, 0, REGION_BYTES, 0, &region) != SQLITE_OK)
        return NULL;
    return region;
}

bool store_has_changed(struct store *store, struct store_view *view)
{
    bool has_changed = view->header == NULL;

    if (view->header == NULL)
        view->header = find_header(store->reader);
    if (view->header == NULL)
        return true;
    /* A header that is being written differs from the one before, or is seen the next time. */
    for (size_t i = 0; i < STORE_VIEW_WORDS; i++) {
        uint32_t word = view->header[i];

        has_changed = has_changed || word != view->seen[i];
        view->seen[i] = word;
    }
    atomic_thread_fence(memory_order_acquire);
    return has_changed;
}

/* ---- machines ---- */

void store_save_machine(struct store *store, const struct store_machine *machine, store_done *done,
                        void *context)
{
    struct store_write write = {
        .sql = "INSERT OR REPLACE INTO machines(user, key_digest, connected_ms, init)"
               " VALUES (?1, ?2, ?3, ?4)",
        .values = {STORE_VALUE_NUMBER(machine->user),
                   STORE_VALUE_DIGEST(machine->key_digest),
                   STORE_VALUE_NUMBER(machine->connected_ms),
                   {.kind = STORE_BYTES, .bytes = machine->init}}};

    if (!machine->has_key)
        write.values[1] = (struct store_value){.kind = STORE_NOTHING};
    store_write_later(store, &write, done, context);
}

void store_remove_machine(struct store *store, int64_t user)
{
    const struct store_write write = {.sql = "DELETE FROM machines WHERE user=?1",
                                      .values = {STORE_VALUE_NUMBER(user)}};

    store_write_later(store, &write, NULL, NULL);
}

int store_each_row(struct store *store, const char *sql, const struct store_value *values,
                   void (*take)(void *data, sqlite3_stmt *row), void *data)
{
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(store->reader, sql, -1, &statement, NULL);

    if (code == SQLITE_OK && values != NULL)
        code = bind_values(statement, values);
    if (code == SQLITE_OK)
        while ((code = sqlite3_step(statement)) == SQLITE_ROW)
            take(data, statement);
    sqlite3_finalize(statement);
    return store_error_of(code);
}

static bool read_digest(sqlite3_stmt *row, int column, unsigned char out_digest[SHA256_BYTES])
{
    if (sqlite3_column_type(row, column) != SQLITE_BLOB ||
        sqlite3_column_bytes(row, column) != SHA256_BYTES)
        return false;
    memcpy(out_digest, sqlite3_column_blob(row, column), SHA256_BYTES);
    return true;
}

struct machine_taker {
    void (*take)(void *data, const struct store_machine *machine);
    void *data;
};

static void take_machine(void *data, sqlite3_stmt *row)
{
    const struct machine_taker *taker = data;
    struct store_machine machine = {.user = sqlite3_column_int64(row, 0),
                                    .connected_ms = sqlite3_column_int64(row, 2)};
    const void *init = sqlite3_column_blob(row, 3);

    machine.has_key = read_digest(row, 1, machine.key_digest);
    if (init == NULL)
        return;
    machine.init = (struct str){init, (size_t)sqlite3_column_bytes(row, 3)};
    taker->take(taker->data, &machine);
}

int store_each_machine(struct store *store,
                       void (*take)(void *data, const struct store_machine *machine), void *data)
{
    struct machine_taker taker = {take, data};

    return store_each_row(store, "SELECT user, key_digest, connected_ms, init FROM machines", NULL,
                          take_machine, &taker);
}

void store_set_files_off(struct store *store, int64_t user, bool is_off)
{
    const struct store_write write = {
        .sql = "UPDATE users SET files_are_off=?2 WHERE id=?1",
        .values = {STORE_VALUE_NUMBER(user), STORE_VALUE_NUMBER(is_off)}};

    store_write_later(store, &write, NULL, NULL);
}

struct user_taker {
    void (*take)(void *data, int64_t user);
    void *data;
};

static void take_user(void *data, sqlite3_stmt *row)
{
    const struct user_taker *taker = data;

    taker->take(taker->data, sqlite3_column_int64(row, 0));
}

int store_each_files_off(struct store *store, void (*take)(void *data, int64_t user), void *data)
{
    struct user_taker taker = {take, data};

    return store_each_row(store, "SELECT id FROM users WHERE files_are_off", NULL, take_user,
                          &taker);
}

/* ---- agents ---- */

int store_first_row(sqlite3_stmt *statement, const struct store_value *values)
{
    int code;

    sqlite3_reset(statement);
    code = bind_values(statement, values);
    if (code == SQLITE_OK)
        code = sqlite3_step(statement);
    return code == SQLITE_ROW ? 1 : store_error_of(code);
}

static void read_agent(sqlite3_stmt *row, struct store_agent *out_agent)
{
    const char *name = (const char *)sqlite3_column_text(row, 4);

    *out_agent = (struct store_agent){.id = sqlite3_column_int64(row, 0),
                                      .user = sqlite3_column_int64(row, 1),
                                      .groups = (unsigned)sqlite3_column_int64(row, 2),
                                      .created_ms = sqlite3_column_int64(row, 3)};
    snprintf(out_agent->name, sizeof(out_agent->name), "%s", name != NULL ? name : "");
}

int store_add_agent(struct store *store, const struct store_agent *agent,
                    const unsigned char digest[SHA256_BYTES], struct err *err)
{
    const struct store_write write = {
        .sql = "INSERT INTO agents(user, name, key_digest, groups, created_ms)"
               " SELECT ?1, ?2, ?3, ?4, ?5"
               " WHERE (SELECT count(*) FROM agents WHERE user=?1) < ?6",
        .values = {STORE_VALUE_NUMBER(agent->user),
                   {.kind = STORE_TEXT, .bytes = str_from(agent->name)},
                   STORE_VALUE_DIGEST(digest),
                   STORE_VALUE_NUMBER(agent->groups),
                   STORE_VALUE_NUMBER(agent->created_ms),
                   STORE_VALUE_NUMBER(STORE_MAX_AGENTS)}};
    int r = store_execute(store->writer, &write);

    if (r == ERR_ALREADY_EXISTS)
        return err_set(err, r, "there is an agent called '%s' already", agent->name);
    if (r == 0)
        return err_set(err, ERR_TOO_LARGE, "there are %d agents already: remove one first",
                       STORE_MAX_AGENTS);
    return r < 0 ? err_set(err, r, "cannot save the agent: %s", err_text(r)) : 0;
}

int store_remove_agent(struct store *store, int64_t user, const char *name, struct err *err)
{
    const struct store_write write = {
        .sql = "DELETE FROM agents WHERE user=?1 AND name=?2",
        .values = {STORE_VALUE_NUMBER(user), {.kind = STORE_TEXT, .bytes = str_from(name)}}};
    int r = store_execute(store->writer, &write);

    if (r == 0)
        return err_set(err, ERR_NOT_FOUND, "there is no agent called '%s'", name);
    return r < 0 ? err_set(err, r, "cannot remove the agent: %s", err_text(r)) : 0;
}

struct agent_taker {
    void (*take)(void *data, const struct store_agent *agent);
    void *data;
};

static void take_agent(void *data, sqlite3_stmt *row)
{
    const struct agent_taker *taker = data;
    struct store_agent agent;

    read_agent(row, &agent);
    taker->take(taker->data, &agent);
}

int store_each_agent(struct store *store, void (*take)(void *data, const struct store_agent *agent),
                     void *data)
{
    struct agent_taker taker = {take, data};

    return store_each_row(store,
                          "SELECT id, user, groups, created_ms, name FROM agents ORDER BY name",
                          NULL, take_agent, &taker);
}

static int one_agent(sqlite3_stmt *statement, const struct store_value *values,
                     struct store_agent *out_agent, int missing)
{
    int r = store_first_row(statement, values);

    if (r > 0)
        read_agent(statement, out_agent);
    sqlite3_reset(statement);
    return r > 0 ? 0 : r < 0 ? r : missing;
}

int store_find_agent(struct store *store, const unsigned char digest[SHA256_BYTES],
                     struct store_agent *out_agent)
{
    const struct store_value values[STORE_MAX_VALUES] = {STORE_VALUE_DIGEST(digest)};

    return one_agent(store->find_agent, values, out_agent, ERR_UNAUTHORIZED);
}

int store_get_agent(struct store *store, int64_t id, struct store_agent *out_agent)
{
    const struct store_value values[STORE_MAX_VALUES] = {STORE_VALUE_NUMBER(id)};

    return one_agent(store->get_agent, values, out_agent, ERR_NOT_FOUND);
}

/* ---- credentials ---- */

void store_add_credential(struct store *store, const struct store_credential *credential,
                          struct str data, store_done *done, void *context)
{
    /* Without an id there is an error: beyond the limit. */
    const struct store_write write = {
        .sql = "INSERT INTO credentials(id, user, name, type, data, created_ms)"
               " VALUES (CASE WHEN (SELECT count(*) FROM credentials WHERE user=?2)"
               " < 1000 THEN ?1 END, ?2, ?3, ?4, ?5, ?6)",
        .values = {{.kind = STORE_TEXT, .bytes = credential->id},
                   STORE_VALUE_NUMBER(credential->user),
                   {.kind = STORE_TEXT, .bytes = credential->name},
                   {.kind = STORE_TEXT, .bytes = credential->type},
                   {.kind = STORE_TEXT, .bytes = data},
                   STORE_VALUE_NUMBER(credential->created_ms)}};

    store_write_later(store, &write, done, context);
}

void store_remove_credential(struct store *store, int64_t user, struct str id)
{
    const struct store_write write = {
        .sql = "DELETE FROM credentials WHERE user=?1 AND id=?2",
        .values = {STORE_VALUE_NUMBER(user), {.kind = STORE_TEXT, .bytes = id}}};

    store_write_later(store, &write, NULL, NULL);
}

struct credential_taker {
    void (*take)(void *data, const struct store_credential *credential);
    void *data;
};

static struct str text_of(sqlite3_stmt *row, int column)
{
    const void *text = sqlite3_column_text(row, column);

    return text != NULL ? (struct str){text, (size_t)sqlite3_column_bytes(row, column)} : STR_EMPTY;
}

static void take_credential(void *data, sqlite3_stmt *row)
{
    const struct credential_taker *taker = data;
    const struct store_credential credential = {.id = text_of(row, 0),
                                                .user = sqlite3_column_int64(row, 1),
                                                .name = text_of(row, 2),
                                                .type = text_of(row, 3),
                                                .created_ms = sqlite3_column_int64(row, 4)};

    taker->take(taker->data, &credential);
}

int store_each_credential(struct store *store,
                          void (*take)(void *data, const struct store_credential *credential),
                          void *data)
{
    struct credential_taker taker = {take, data};

    return store_each_row(
        store, "SELECT id, user, name, type, created_ms FROM credentials ORDER BY created_ms", NULL,
        take_credential, &taker);
}
