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
    MAX_WAITING = 1 << 20, /* a user waits for an init, so there are few */
    /* A disk may stall; nobody gains by giving up a write that may have happened. */
    GRACE_MS = 60 * 1000,
};

/*
 * The primary keys of machines are users: each has one. Version 1 had logins that say nothing about
 * themselves; their browsers log in again. Versions 3 and 4 add tables, 5 workspaces of agents, and
 * 6 those of apps; a store from before version 4 gets the table of these on the way.
 */
#define GRANT_FIELDS                                                                               \
    " id INTEGER PRIMARY KEY AUTOINCREMENT,"                                                       \
    " user INTEGER NOT NULL REFERENCES users(id) ON DELETE CASCADE,"                               \
    " client TEXT NOT NULL REFERENCES oauth_clients(id) ON DELETE CASCADE,"                        \
    " groups INTEGER NOT NULL, redirect TEXT NOT NULL, challenge TEXT NOT NULL,"                   \
    " created_ms INTEGER NOT NULL, used_ms INTEGER NOT NULL DEFAULT 0"

static const char *const upgrades[] = {
    "DROP TABLE logins;", "", "",
    ("ALTER TABLE agents ADD COLUMN workspace TEXT NOT NULL DEFAULT '';"
     "ALTER TABLE agents ADD COLUMN asks INTEGER NOT NULL DEFAULT 0;"),
    ("CREATE TABLE IF NOT EXISTS oauth_grants(" GRANT_FIELDS ") STRICT;"
     "ALTER TABLE oauth_grants ADD COLUMN workspace TEXT NOT NULL DEFAULT '';"
     "ALTER TABLE oauth_grants ADD COLUMN asks INTEGER NOT NULL DEFAULT 0;")};

static const char tables[] =
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
    " workspace TEXT NOT NULL DEFAULT '', asks INTEGER NOT NULL DEFAULT 0, UNIQUE(user, name))"
    " STRICT;"
    "CREATE TABLE IF NOT EXISTS credentials("
    " id TEXT PRIMARY KEY, user INTEGER NOT NULL REFERENCES users(id) ON DELETE CASCADE,"
    " name TEXT NOT NULL, type TEXT NOT NULL, data TEXT NOT NULL, created_ms INTEGER NOT NULL)"
    " STRICT, WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS oauth_clients("
    " id TEXT PRIMARY KEY, name TEXT NOT NULL, redirects TEXT NOT NULL,"
    " created_ms INTEGER NOT NULL) STRICT, WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS oauth_grants(" GRANT_FIELDS
    ", workspace TEXT NOT NULL DEFAULT '', asks INTEGER NOT NULL DEFAULT 0) STRICT;"
    "CREATE INDEX IF NOT EXISTS oauth_grants_by_user ON oauth_grants(user);"
    "CREATE INDEX IF NOT EXISTS oauth_grants_by_client ON oauth_grants(client);"
    "CREATE TABLE IF NOT EXISTS oauth_tokens("
    " digest BLOB PRIMARY KEY,"
    " grant_id INTEGER NOT NULL REFERENCES oauth_grants(id) ON DELETE CASCADE,"
    " kind INTEGER NOT NULL, expires_ms INTEGER NOT NULL, is_used INTEGER NOT NULL DEFAULT 0)"
    " STRICT, WITHOUT ROWID;"
    "CREATE INDEX IF NOT EXISTS oauth_tokens_by_grant ON oauth_tokens(grant_id);"
    "CREATE TABLE IF NOT EXISTS revocations(id INTEGER PRIMARY KEY, count INTEGER NOT NULL) STRICT;"
    "INSERT OR IGNORE INTO revocations(id, count) VALUES (1, 0);"
    "CREATE TRIGGER IF NOT EXISTS agent_removed AFTER DELETE ON agents"
    " BEGIN UPDATE revocations SET count=count+1; END;"
    "CREATE TRIGGER IF NOT EXISTS agent_changed AFTER UPDATE ON agents"
    " BEGIN UPDATE revocations SET count=count+1; END;"
    "CREATE TRIGGER IF NOT EXISTS user_removed AFTER DELETE ON users"
    " BEGIN UPDATE revocations SET count=count+1; END;";

static const struct database_schema schema = {
    .version = 1 + array_size(upgrades), .tables = tables, .upgrades = upgrades};

#define AGENT_COLUMNS "id, user, groups, created_ms, name, workspace, asks"

/* ---- writes ---- */

struct job {
    struct store *store;
    struct database_write write; /* with copies of the bytes, behind this */
    store_done *done;
    void *context;
};

static int run_job(void *data, struct cancel *token)
{
    struct job *job = data;
    int r = database_execute(job->store->writer, &job->write);

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

static struct job *make_job(struct store *store, const struct database_write *write)
{
    size_t size = sizeof(struct job);
    struct job *job;
    char *at;

    for (size_t i = 0; i < DATABASE_MAX_VALUES; i++)
        size += write->values[i].bytes.len;
    job = malloc(size);
    if (job == NULL)
        return NULL;
    *job = (struct job){.store = store, .write = *write};
    at = (char *)(job + 1);
    for (size_t i = 0; i < DATABASE_MAX_VALUES; i++) {
        struct str *bytes = &job->write.values[i].bytes;

        if (bytes->len > 0)
            memcpy(at, bytes->ptr, bytes->len);
        bytes->ptr = at;
        at += bytes->len;
    }
    return job;
}

void store_write_later(struct store *store, const struct database_write *write, store_done *done,
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
    r = database_execute(store->writer, write);
    if (done != NULL)
        done(context, r < 0 ? r : 0);
}

/* ---- open and close ---- */

static int prepare(struct store *store)
{
    static const char agent[] = "SELECT " AGENT_COLUMNS " FROM agents WHERE %s";
    char sql[sizeof(agent) + 32];
    int code;

    snprintf(sql, sizeof(sql), agent, "key_digest=?1");
    code = sqlite3_prepare_v3(store->reader, sql, -1, SQLITE_PREPARE_PERSISTENT, &store->find_agent,
                              NULL);
    snprintf(sql, sizeof(sql), agent, "id=?1");
    if (code == SQLITE_OK)
        code = sqlite3_prepare_v3(store->reader, sql, -1, SQLITE_PREPARE_PERSISTENT,
                                  &store->get_agent, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_prepare_v3(store->reader, "SELECT count FROM revocations WHERE id=1", -1,
                                  SQLITE_PREPARE_PERSISTENT, &store->count_revocations, NULL);
    if (code == SQLITE_OK)
        code = store_prepare_users(store);
    return code == SQLITE_OK ? store_prepare_oauth(store) : code;
}

static int open_all(struct store *store, const char *path, struct err *err)
{
    int r = database_create(path, &schema, DATABASE_FLUSHED, &store->writer, err);
    int code;

    if (r < 0)
        return r;
    code = database_open(path, 0, DATABASE_FLUSHED, &store->reader);
    if (code == SQLITE_OK)
        code = prepare(store);
    r = database_error(code);
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
    sqlite3_finalize(store->count_revocations);
    sqlite3_finalize(store->find_login);
    sqlite3_finalize(store->get_login);
    sqlite3_finalize(store->find_user);
    sqlite3_finalize(store->get_user);
    sqlite3_finalize(store->find_token);
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

bool store_has_revoked(struct store *store, struct store_view *view)
{
    sqlite3_stmt *count = store->count_revocations;
    int64_t revocations = -1;
    bool has_revoked;

    if (!store_has_changed(store, view))
        return false;
    if (sqlite3_step(count) == SQLITE_ROW)
        revocations = sqlite3_column_int64(count, 0);
    sqlite3_reset(count);
    has_revoked = revocations < 0 || revocations != view->revocations;
    view->revocations = revocations;
    return has_revoked;
}

/* ---- machines ---- */

void store_save_machine(struct store *store, const struct store_machine *machine, store_done *done,
                        void *context)
{
    struct database_write write = {
        .sql = "INSERT OR REPLACE INTO machines(user, key_digest, connected_ms, init)"
               " VALUES (?1, ?2, ?3, ?4)",
        .values = {DATABASE_VALUE_NUMBER(machine->user),
                   DATABASE_VALUE_DIGEST(machine->key_digest),
                   DATABASE_VALUE_NUMBER(machine->connected_ms),
                   {.kind = DATABASE_BYTES, .bytes = machine->init}}};

    if (!machine->has_key)
        write.values[1] = (struct database_value){.kind = DATABASE_NOTHING};
    store_write_later(store, &write, done, context);
}

void store_remove_machine(struct store *store, int64_t user)
{
    const struct database_write write = {.sql = "DELETE FROM machines WHERE user=?1",
                                         .values = {DATABASE_VALUE_NUMBER(user)}};

    store_write_later(store, &write, NULL, NULL);
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

    return database_each(store->reader, "SELECT user, key_digest, connected_ms, init FROM machines",
                         take_machine, &taker);
}

void store_set_files_off(struct store *store, int64_t user, bool is_off)
{
    const struct database_write write = {
        .sql = "UPDATE users SET files_are_off=?2 WHERE id=?1",
        .values = {DATABASE_VALUE_NUMBER(user), DATABASE_VALUE_NUMBER(is_off)}};

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

    return database_each(store->reader, "SELECT id FROM users WHERE files_are_off", take_user,
                         &taker);
}

/* ---- agents ---- */

static void read_agent(sqlite3_stmt *row, struct store_agent *out_agent)
{
    const char *name = (const char *)sqlite3_column_text(row, 4);
    const char *workspace = (const char *)sqlite3_column_text(row, 5);

    *out_agent = (struct store_agent){.id = sqlite3_column_int64(row, 0),
                                      .user = sqlite3_column_int64(row, 1),
                                      .groups = (unsigned)sqlite3_column_int64(row, 2),
                                      .asks = (unsigned)sqlite3_column_int64(row, 6),
                                      .created_ms = sqlite3_column_int64(row, 3)};
    snprintf(out_agent->name, sizeof(out_agent->name), "%s", name != NULL ? name : "");
    snprintf(out_agent->workspace, sizeof(out_agent->workspace), "%s",
             workspace != NULL ? workspace : "?"); /* one that nobody offers */
}

int store_add_agent(struct store *store, const struct store_agent *agent,
                    const unsigned char digest[SHA256_BYTES], struct err *err)
{
    const struct database_write write = {
        .sql = "INSERT INTO agents(user, name, key_digest, groups, created_ms, workspace, asks)"
               " SELECT ?1, ?2, ?3, ?4, ?5, ?7, ?8"
               " WHERE (SELECT count(*) FROM agents WHERE user=?1) < ?6",
        .values = {DATABASE_VALUE_NUMBER(agent->user), DATABASE_VALUE_TEXT(agent->name),
                   DATABASE_VALUE_DIGEST(digest), DATABASE_VALUE_NUMBER(agent->groups),
                   DATABASE_VALUE_NUMBER(agent->created_ms),
                   DATABASE_VALUE_NUMBER(STORE_MAX_AGENTS), DATABASE_VALUE_TEXT(agent->workspace),
                   DATABASE_VALUE_NUMBER(agent->asks)}};
    int r = database_execute(store->writer, &write);

    if (r == ERR_ALREADY_EXISTS)
        return err_set(err, r, "there is an agent called '%s' already", agent->name);
    if (r == 0)
        return err_set(err, ERR_TOO_LARGE, "there are %d agents already: remove one first",
                       STORE_MAX_AGENTS);
    return r < 0 ? err_set(err, r, "cannot save the agent: %s", err_text(r)) : 0;
}

int store_remove_agent(struct store *store, int64_t user, const char *name, struct err *err)
{
    const struct database_write write = {
        .sql = "DELETE FROM agents WHERE user=?1 AND name=?2",
        .values = {DATABASE_VALUE_NUMBER(user), DATABASE_VALUE_TEXT(name)}};
    int r = database_execute(store->writer, &write);

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

    return database_each(store->reader, "SELECT " AGENT_COLUMNS " FROM agents ORDER BY name",
                         take_agent, &taker);
}

static int one_agent(sqlite3_stmt *statement, const struct database_value *values,
                     struct store_agent *out_agent, int missing)
{
    int r = database_first_row(statement, values);

    if (r > 0)
        read_agent(statement, out_agent);
    sqlite3_reset(statement);
    return r > 0 ? 0 : r < 0 ? r : missing;
}

int store_find_agent(struct store *store, const unsigned char digest[SHA256_BYTES],
                     struct store_agent *out_agent)
{
    const struct database_value values[DATABASE_MAX_VALUES] = {DATABASE_VALUE_DIGEST(digest)};

    return one_agent(store->find_agent, values, out_agent, ERR_UNAUTHORIZED);
}

int store_get_agent(struct store *store, int64_t id, struct store_agent *out_agent)
{
    const struct database_value values[DATABASE_MAX_VALUES] = {DATABASE_VALUE_NUMBER(id)};

    return one_agent(store->get_agent, values, out_agent, ERR_NOT_FOUND);
}

/* ---- credentials ---- */

void store_add_credential(struct store *store, const struct store_credential *credential,
                          struct str data, store_done *done, void *context)
{
    /* Without an id there is an error: beyond the limit. */
    const struct database_write write = {
        .sql = "INSERT INTO credentials(id, user, name, type, data, created_ms)"
               " VALUES (CASE WHEN (SELECT count(*) FROM credentials WHERE user=?2)"
               " < 1000 THEN ?1 END, ?2, ?3, ?4, ?5, ?6)",
        .values = {DATABASE_VALUE_STR(credential->id), DATABASE_VALUE_NUMBER(credential->user),
                   DATABASE_VALUE_STR(credential->name), DATABASE_VALUE_STR(credential->type),
                   DATABASE_VALUE_STR(data), DATABASE_VALUE_NUMBER(credential->created_ms)}};

    store_write_later(store, &write, done, context);
}

void store_remove_credential(struct store *store, int64_t user, struct str id)
{
    const struct database_write write = {
        .sql = "DELETE FROM credentials WHERE user=?1 AND id=?2",
        .values = {DATABASE_VALUE_NUMBER(user), DATABASE_VALUE_STR(id)}};

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

    return database_each(
        store->reader,
        "SELECT id, user, name, type, created_ms FROM credentials ORDER BY created_ms",
        take_credential, &taker);
}
