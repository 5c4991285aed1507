/* SPDX-License-Identifier: Apache-2.0 */
#include "store/sandboxstore.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "store/database.h"

struct sandboxstore {
    sqlite3 *database;
    sqlite3_stmt *find_key;
};

static const char tables[] =
    "CREATE TABLE IF NOT EXISTS tenants("
    " id TEXT PRIMARY KEY, name TEXT NOT NULL, external_ref TEXT NOT NULL,"
    " max_sandboxes INTEGER NOT NULL, created_s INTEGER NOT NULL) STRICT;"
    "CREATE TABLE IF NOT EXISTS keys("
    " id TEXT PRIMARY KEY, tenant TEXT NOT NULL REFERENCES tenants(id) ON DELETE CASCADE,"
    " digest BLOB NOT NULL UNIQUE, prefix TEXT NOT NULL, created_s INTEGER NOT NULL) STRICT;"
    "CREATE TABLE IF NOT EXISTS sandboxes("
    " id TEXT PRIMARY KEY, owner TEXT NOT NULL, created_s INTEGER NOT NULL,"
    " active_s INTEGER NOT NULL, is_ephemeral INTEGER NOT NULL, is_running INTEGER NOT NULL,"
    " image TEXT NOT NULL, memory_mb INTEGER NOT NULL, cpu_percent INTEGER NOT NULL,"
    " pids_max INTEGER NOT NULL) STRICT;"
    "CREATE TABLE IF NOT EXISTS details("
    " id TEXT PRIMARY KEY REFERENCES sandboxes(id) ON DELETE CASCADE,"
    " document TEXT NOT NULL) STRICT;"
    "CREATE TABLE IF NOT EXISTS networks("
    " id TEXT PRIMARY KEY REFERENCES sandboxes(id) ON DELETE CASCADE,"
    " addresses TEXT NOT NULL) STRICT;"
    "CREATE TABLE IF NOT EXISTS snapshots("
    " id TEXT PRIMARY KEY, owner TEXT NOT NULL, name TEXT NOT NULL, source TEXT NOT NULL,"
    " image TEXT NOT NULL, cpu INTEGER NOT NULL, memory_gb INTEGER NOT NULL,"
    " disk_gb INTEGER NOT NULL, created_s INTEGER NOT NULL, UNIQUE(owner, name)) STRICT;"
    "CREATE TABLE IF NOT EXISTS layers("
    " key TEXT PRIMARY KEY, parent TEXT NOT NULL, has_files INTEGER NOT NULL,"
    " is_image INTEGER NOT NULL, created_s INTEGER NOT NULL, used_s INTEGER NOT NULL,"
    " workdir TEXT NOT NULL, env TEXT NOT NULL, owner TEXT NOT NULL) STRICT;"
    "CREATE TABLE IF NOT EXISTS systems("
    " key TEXT PRIMARY KEY REFERENCES layers(key) ON DELETE CASCADE) STRICT;"
    "CREATE TABLE IF NOT EXISTS missing("
    " key TEXT PRIMARY KEY REFERENCES layers(key) ON DELETE CASCADE,"
    " name TEXT NOT NULL) STRICT;"
    "CREATE TABLE IF NOT EXISTS names("
    " name TEXT PRIMARY KEY, image TEXT NOT NULL) STRICT;";

static const struct database_schema schema = {.version = 1, .tables = tables};

int sandboxstore_open(const char *directory, struct sandboxstore **out_store, struct err *err)
{
    struct sandboxstore *store = calloc(1, sizeof(*store));
    char path[PATH_MAX];
    int r;

    if (store == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    if (snprintf(path, sizeof(path), "%s/sandboxes.db", directory) >= (int)sizeof(path))
        r = err_set(err, ERR_INVALID_PATH, "the state directory's path is too long");
    else
        r = database_create(path, &schema, DATABASE_ORDERED, &store->database, err);
    if (r == 0) {
        r = database_error(sqlite3_prepare_v3(store->database,
                                              "SELECT tenant FROM keys WHERE digest=?1", -1,
                                              SQLITE_PREPARE_PERSISTENT, &store->find_key, NULL));
        if (r < 0)
            err_set(err, r, "cannot read '%s': %s", path, err_text(r));
    }
    if (r < 0) {
        sandboxstore_close(store);
        return r;
    }
    *out_store = store;
    return 0;
}

void sandboxstore_close(struct sandboxstore *store)
{
    if (store == NULL)
        return;
    sqlite3_finalize(store->find_key);
    sqlite3_close(store->database);
    free(store);
}

#define TEXT_VALUE DATABASE_VALUE_STR

static void read_text(sqlite3_stmt *row, int column, char *out_text, size_t size)
{
    const char *text = (const char *)sqlite3_column_text(row, column);

    snprintf(out_text, size, "%s", text != NULL ? text : "");
}

#define READ_TEXT(row, column, out_array) read_text(row, column, out_array, sizeof(out_array))

/* 0 if it changed something, else ERR_NOT_FOUND. */
static int change_one(struct sandboxstore *store, const struct database_write *write)
{
    int r = database_execute(store->database, write);

    return r > 0 ? 0 : r < 0 ? r : ERR_NOT_FOUND;
}

/* Calls `take` for the rows of a query with one value. */
static int each_with(struct sandboxstore *store, const char *sql, struct str value,
                     void (*take)(void *data, sqlite3_stmt *row), void *data)
{
    const struct database_value values[DATABASE_MAX_VALUES] = {TEXT_VALUE(value)};

    return database_each_with(store->database, sql, values, take, data);
}

/* ---- tenants ---- */

int sandboxstore_add_tenant(struct sandboxstore *store, const struct sandboxstore_tenant *tenant)
{
    const struct database_write write = {
        .sql = "INSERT INTO tenants(id, name, external_ref, max_sandboxes, created_s)"
               " VALUES (?1, ?2, ?3, ?4, ?5)",
        .values = {DATABASE_VALUE_TEXT(tenant->id), DATABASE_VALUE_TEXT(tenant->name),
                   DATABASE_VALUE_TEXT(tenant->external_ref),
                   DATABASE_VALUE_NUMBER(tenant->max_sandboxes),
                   DATABASE_VALUE_NUMBER(tenant->created_s)}};

    return change_one(store, &write);
}

int sandboxstore_remove_tenant(struct sandboxstore *store, struct str id)
{
    const struct database_write write = {.sql = "DELETE FROM tenants WHERE id=?1",
                                         .values = {TEXT_VALUE(id)}};

    return change_one(store, &write);
}

#define TENANT_COLUMNS "SELECT id, name, external_ref, max_sandboxes, created_s FROM tenants"

static void read_tenant(sqlite3_stmt *row, struct sandboxstore_tenant *out_tenant)
{
    READ_TEXT(row, 0, out_tenant->id);
    READ_TEXT(row, 1, out_tenant->name);
    READ_TEXT(row, 2, out_tenant->external_ref);
    out_tenant->max_sandboxes = sqlite3_column_int64(row, 3);
    out_tenant->created_s = sqlite3_column_int64(row, 4);
}

struct one_tenant {
    struct sandboxstore_tenant tenant;
    bool is_found;
};

static void take_one_tenant(void *data, sqlite3_stmt *row)
{
    struct one_tenant *one = data;

    read_tenant(row, &one->tenant);
    one->is_found = true;
}

int sandboxstore_get_tenant(struct sandboxstore *store, struct str id,
                            struct sandboxstore_tenant *out_tenant)
{
    struct one_tenant one = {.is_found = false};
    int r = each_with(store, TENANT_COLUMNS " WHERE id=?1", id, take_one_tenant, &one);

    if (r == 0 && !one.is_found)
        r = ERR_NOT_FOUND;
    if (r == 0)
        *out_tenant = one.tenant;
    return r;
}

struct tenant_taker {
    void (*take)(void *data, const struct sandboxstore_tenant *tenant);
    void *data;
};

static void take_tenant(void *data, sqlite3_stmt *row)
{
    const struct tenant_taker *taker = data;
    struct sandboxstore_tenant tenant;

    read_tenant(row, &tenant);
    taker->take(taker->data, &tenant);
}

int sandboxstore_each_tenant(struct sandboxstore *store,
                             void (*take)(void *data, const struct sandboxstore_tenant *tenant),
                             void *data)
{
    struct tenant_taker taker = {take, data};

    return database_each(store->database, TENANT_COLUMNS " ORDER BY created_s DESC, id",
                         take_tenant, &taker);
}

/* ---- keys ---- */

int sandboxstore_add_key(struct sandboxstore *store, const struct sandboxstore_key *key,
                         const unsigned char digest[SHA256_BYTES])
{
    const struct database_write write = {
        .sql = "INSERT INTO keys(id, tenant, digest, prefix, created_s)"
               " VALUES (?1, ?2, ?3, ?4, ?5)",
        .values = {DATABASE_VALUE_TEXT(key->id), DATABASE_VALUE_TEXT(key->tenant),
                   DATABASE_VALUE_DIGEST(digest), DATABASE_VALUE_TEXT(key->prefix),
                   DATABASE_VALUE_NUMBER(key->created_s)}};

    return change_one(store, &write);
}

int sandboxstore_remove_key(struct sandboxstore *store, struct str tenant, struct str id)
{
    const struct database_write write = {.sql = "DELETE FROM keys WHERE tenant=?1 AND id=?2",
                                         .values = {TEXT_VALUE(tenant), TEXT_VALUE(id)}};

    return change_one(store, &write);
}

struct key_taker {
    void (*take)(void *data, const struct sandboxstore_key *key);
    void *data;
};

static void take_key(void *data, sqlite3_stmt *row)
{
    const struct key_taker *taker = data;
    struct sandboxstore_key key;

    READ_TEXT(row, 0, key.id);
    READ_TEXT(row, 1, key.tenant);
    READ_TEXT(row, 2, key.prefix);
    key.created_s = sqlite3_column_int64(row, 3);
    taker->take(taker->data, &key);
}

int sandboxstore_each_key(struct sandboxstore *store, struct str tenant,
                          void (*take)(void *data, const struct sandboxstore_key *key), void *data)
{
    struct key_taker taker = {take, data};

    return each_with(store,
                     "SELECT id, tenant, prefix, created_s FROM keys WHERE tenant=?1"
                     " ORDER BY created_s DESC, id",
                     tenant, take_key, &taker);
}

int sandboxstore_find_key(struct sandboxstore *store, const unsigned char digest[SHA256_BYTES],
                          char out_tenant[SANDBOXSTORE_ID_BYTES])
{
    const struct database_value values[DATABASE_MAX_VALUES] = {DATABASE_VALUE_DIGEST(digest)};
    int r = database_first_row(store->find_key, values);

    if (r > 0)
        read_text(store->find_key, 0, out_tenant, SANDBOXSTORE_ID_BYTES);
    sqlite3_reset(store->find_key);
    return r > 0 ? 0 : r < 0 ? r : ERR_UNAUTHORIZED;
}

/* ---- sandboxes ---- */

int sandboxstore_save(struct sandboxstore *store, const struct sandboxstore_sandbox *sandbox)
{
    const struct database_write write = {
        .sql = "INSERT INTO sandboxes(id, owner, created_s, active_s, is_ephemeral, is_running,"
               " image, memory_mb, cpu_percent, pids_max)"
               " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)"
               " ON CONFLICT(id) DO UPDATE SET active_s=?4, is_running=?6",
        .values = {
            DATABASE_VALUE_TEXT(sandbox->id), DATABASE_VALUE_TEXT(sandbox->owner),
            DATABASE_VALUE_NUMBER(sandbox->created_s), DATABASE_VALUE_NUMBER(sandbox->active_s),
            DATABASE_VALUE_NUMBER(sandbox->is_ephemeral),
            DATABASE_VALUE_NUMBER(sandbox->is_running), DATABASE_VALUE_TEXT(sandbox->image),
            DATABASE_VALUE_NUMBER(sandbox->memory_mb), DATABASE_VALUE_NUMBER(sandbox->cpu_percent),
            DATABASE_VALUE_NUMBER(sandbox->pids_max)}};

    return change_one(store, &write);
}

int sandboxstore_remove(struct sandboxstore *store, struct str id)
{
    const struct database_write write = {.sql = "DELETE FROM sandboxes WHERE id=?1",
                                         .values = {TEXT_VALUE(id)}};

    return change_one(store, &write);
}

struct sandbox_taker {
    void (*take)(void *data, const struct sandboxstore_sandbox *sandbox);
    void *data;
};

static void take_sandbox(void *data, sqlite3_stmt *row)
{
    const struct sandbox_taker *taker = data;
    struct sandboxstore_sandbox sandbox;

    READ_TEXT(row, 0, sandbox.id);
    READ_TEXT(row, 1, sandbox.owner);
    sandbox.created_s = sqlite3_column_int64(row, 2);
    sandbox.active_s = sqlite3_column_int64(row, 3);
    sandbox.is_ephemeral = sqlite3_column_int64(row, 4) != 0;
    sandbox.is_running = sqlite3_column_int64(row, 5) != 0;
    READ_TEXT(row, 6, sandbox.image);
    sandbox.memory_mb = sqlite3_column_int64(row, 7);
    sandbox.cpu_percent = sqlite3_column_int64(row, 8);
    sandbox.pids_max = sqlite3_column_int64(row, 9);
    taker->take(taker->data, &sandbox);
}

int sandboxstore_each(struct sandboxstore *store,
                      void (*take)(void *data, const struct sandboxstore_sandbox *sandbox),
                      void *data)
{
    struct sandbox_taker taker = {take, data};

    return database_each(store->database,
                         "SELECT id, owner, created_s, active_s, is_ephemeral, is_running, image,"
                         " memory_mb, cpu_percent, pids_max FROM sandboxes ORDER BY rowid",
                         take_sandbox, &taker);
}

int sandboxstore_save_details(struct sandboxstore *store, struct str id, struct str document)
{
    const struct database_write write = {.sql = "INSERT INTO details(id, document) VALUES (?1, ?2)"
                                                " ON CONFLICT(id) DO UPDATE SET document=?2",
                                         .values = {TEXT_VALUE(id), TEXT_VALUE(document)}};

    return change_one(store, &write);
}

struct details_taker {
    void (*take)(void *data, struct str id, struct str document);
    void *data;
};

static void take_details(void *data, sqlite3_stmt *row)
{
    const struct details_taker *taker = data;
    const char *id = (const char *)sqlite3_column_text(row, 0);
    const char *document = (const char *)sqlite3_column_text(row, 1);

    if (id != NULL && document != NULL)
        taker->take(taker->data, str_from(id), str_from(document));
}

int sandboxstore_each_details(struct sandboxstore *store,
                              void (*take)(void *data, struct str id, struct str document),
                              void *data)
{
    struct details_taker taker = {take, data};

    return database_each(store->database, "SELECT id, document FROM details", take_details, &taker);
}

int sandboxstore_save_network(struct sandboxstore *store, struct str id, struct str text)
{
    const struct database_write write = {.sql =
                                             "INSERT INTO networks(id, addresses) VALUES (?1, ?2)"
                                             " ON CONFLICT(id) DO UPDATE SET addresses=?2",
                                         .values = {TEXT_VALUE(id), TEXT_VALUE(text)}};

    return change_one(store, &write);
}

int sandboxstore_each_network(struct sandboxstore *store,
                              void (*take)(void *data, struct str id, struct str text), void *data)
{
    struct details_taker taker = {take, data};

    return database_each(store->database, "SELECT id, addresses FROM networks", take_details,
                         &taker);
}

/* ---- snapshots ---- */

int sandboxstore_add_snapshot(struct sandboxstore *store,
                              const struct sandboxstore_snapshot *snapshot)
{
    const struct database_write write = {
        .sql = "INSERT INTO snapshots(id, owner, name, source, image, cpu, memory_gb, disk_gb,"
               " created_s) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)"
               " ON CONFLICT(owner, name) DO NOTHING",
        .values = {DATABASE_VALUE_TEXT(snapshot->id), DATABASE_VALUE_TEXT(snapshot->owner),
                   DATABASE_VALUE_TEXT(snapshot->name), DATABASE_VALUE_TEXT(snapshot->from),
                   DATABASE_VALUE_TEXT(snapshot->image), DATABASE_VALUE_NUMBER(snapshot->cpu),
                   DATABASE_VALUE_NUMBER(snapshot->memory_gb),
                   DATABASE_VALUE_NUMBER(snapshot->disk_gb),
                   DATABASE_VALUE_NUMBER(snapshot->created_s)}};
    int r = change_one(store, &write);

    return r == ERR_NOT_FOUND ? ERR_ALREADY_EXISTS : r;
}

int sandboxstore_remove_snapshot(struct sandboxstore *store, struct str id)
{
    const struct database_write write = {.sql = "DELETE FROM snapshots WHERE id=?1",
                                         .values = {TEXT_VALUE(id)}};

    return change_one(store, &write);
}

struct snapshot_taker {
    void (*take)(void *data, const struct sandboxstore_snapshot *snapshot);
    void *data;
};

static void take_snapshot(void *data, sqlite3_stmt *row)
{
    const struct snapshot_taker *taker = data;
    struct sandboxstore_snapshot snapshot;

    READ_TEXT(row, 0, snapshot.id);
    READ_TEXT(row, 1, snapshot.owner);
    READ_TEXT(row, 2, snapshot.name);
    READ_TEXT(row, 3, snapshot.from);
    READ_TEXT(row, 4, snapshot.image);
    snapshot.cpu = sqlite3_column_int64(row, 5);
    snapshot.memory_gb = sqlite3_column_int64(row, 6);
    snapshot.disk_gb = sqlite3_column_int64(row, 7);
    snapshot.created_s = sqlite3_column_int64(row, 8);
    taker->take(taker->data, &snapshot);
}

int sandboxstore_each_snapshot(struct sandboxstore *store,
                               void (*take)(void *data,
                                            const struct sandboxstore_snapshot *snapshot),
                               void *data)
{
    struct snapshot_taker taker = {take, data};

    return database_each(store->database,
                         "SELECT id, owner, name, source, image, cpu, memory_gb, disk_gb, created_s"
                         " FROM snapshots ORDER BY rowid",
                         take_snapshot, &taker);
}

/* ---- layers ---- */

int sandboxstore_save_layer(struct sandboxstore *store, const struct sandboxstore_layer *layer)
{
    const struct database_write write = {
        .sql = "INSERT INTO layers(key, parent, has_files, is_image, created_s, used_s, workdir,"
               " env, owner) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)"
               " ON CONFLICT(key) DO UPDATE SET is_image=?4, used_s=?6",
        .values = {DATABASE_VALUE_TEXT(layer->key), DATABASE_VALUE_TEXT(layer->parent),
                   DATABASE_VALUE_NUMBER(layer->has_files), DATABASE_VALUE_NUMBER(layer->is_image),
                   DATABASE_VALUE_NUMBER(layer->created_s), DATABASE_VALUE_NUMBER(layer->used_s),
                   DATABASE_VALUE_TEXT(layer->workdir), TEXT_VALUE(layer->env),
                   DATABASE_VALUE_TEXT(layer->owner)}};
    const struct database_write mark = {.sql = "INSERT INTO systems(key) VALUES (?1)"
                                               " ON CONFLICT(key) DO UPDATE SET key=?1",
                                        .values = {DATABASE_VALUE_TEXT(layer->key)}};
    const struct database_write missing = {
        .sql = "INSERT INTO missing(key, name) VALUES (?1, ?2)"
               " ON CONFLICT(key) DO UPDATE SET name=?2",
        .values = {DATABASE_VALUE_TEXT(layer->key), DATABASE_VALUE_TEXT(layer->missing)}};
    int r = change_one(store, &write);

    if (r == 0 && layer->is_system)
        r = change_one(store, &mark);
    if (r == 0 && layer->missing[0] != '\0')
        r = change_one(store, &missing);
    return r;
}

int sandboxstore_remove_layer(struct sandboxstore *store, struct str key)
{
    const struct database_write write = {.sql = "DELETE FROM layers WHERE key=?1",
                                         .values = {TEXT_VALUE(key)}};

    return change_one(store, &write);
}

struct layer_taker {
    void (*take)(void *data, const struct sandboxstore_layer *layer);
    void *data;
};

static void take_layer(void *data, sqlite3_stmt *row)
{
    const struct layer_taker *taker = data;
    struct sandboxstore_layer layer;
    const char *env = (const char *)sqlite3_column_text(row, 7);

    READ_TEXT(row, 0, layer.key);
    READ_TEXT(row, 1, layer.parent);
    layer.has_files = sqlite3_column_int64(row, 2) != 0;
    layer.is_image = sqlite3_column_int64(row, 3) != 0;
    layer.created_s = sqlite3_column_int64(row, 4);
    layer.used_s = sqlite3_column_int64(row, 5);
    READ_TEXT(row, 6, layer.workdir);
    READ_TEXT(row, 8, layer.owner);
    READ_TEXT(row, 10, layer.missing);
    layer.is_system = sqlite3_column_int64(row, 9) != 0;
    layer.env = env != NULL ? str_from(env) : STR_EMPTY;
    taker->take(taker->data, &layer);
}

int sandboxstore_each_layer(struct sandboxstore *store,
                            void (*take)(void *data, const struct sandboxstore_layer *layer),
                            void *data)
{
    struct layer_taker taker = {take, data};

    return database_each(store->database,
                         "SELECT key, parent, has_files, is_image, created_s, used_s, workdir, env,"
                         " owner, key IN (SELECT key FROM systems),"
                         " (SELECT name FROM missing WHERE missing.key=layers.key) FROM layers"
                         " ORDER BY created_s DESC, key",
                         take_layer, &taker);
}

/* ---- names of images ---- */

int sandboxstore_save_name(struct sandboxstore *store, struct str name, struct str image)
{
    const struct database_write write = {.sql = "INSERT INTO names(name, image) VALUES (?1, ?2)"
                                                " ON CONFLICT(name) DO UPDATE SET image=?2",
                                         .values = {TEXT_VALUE(name), TEXT_VALUE(image)}};

    return change_one(store, &write);
}

int sandboxstore_remove_name(struct sandboxstore *store, struct str name)
{
    const struct database_write write = {.sql = "DELETE FROM names WHERE name=?1",
                                         .values = {TEXT_VALUE(name)}};

    return change_one(store, &write);
}

struct name_taker {
    void (*take)(void *data, const struct sandboxstore_name *name);
    void *data;
};

static void take_name(void *data, sqlite3_stmt *row)
{
    const struct name_taker *taker = data;
    struct sandboxstore_name name;

    READ_TEXT(row, 0, name.name);
    READ_TEXT(row, 1, name.image);
    taker->take(taker->data, &name);
}

int sandboxstore_each_name(struct sandboxstore *store,
                           void (*take)(void *data, const struct sandboxstore_name *name),
                           void *data)
{
    struct name_taker taker = {take, data};

    return database_each(store->database, "SELECT name, image FROM names ORDER BY name", take_name,
                         &taker);
}
