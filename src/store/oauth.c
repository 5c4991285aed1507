/* SPDX-License-Identifier: Apache-2.0 */
#include "store/oauth.h"

#include <stdio.h>

#include "store/internal.h"

#define GRANT_COLUMNS                                                                              \
    "g.id, g.user, g.groups, g.created_ms, g.used_ms, g.client, c.name, g.redirect, g.challenge,"  \
    " g.workspace, g.asks"

static void copy_text(sqlite3_stmt *row, int column, char *out, size_t size)
{
    const char *text = (const char *)sqlite3_column_text(row, column);

    snprintf(out, size, "%s", text != NULL ? text : "");
}

/* ---- clients ---- */

void store_add_client(struct store *store, const struct store_client *client, store_done *done,
                      void *context)
{
    /* Anybody may register, so what nobody allowed anything goes first. */
    const struct database_write write = {
        .sql = "INSERT INTO oauth_clients(id, name, redirects, created_ms) VALUES (?1, ?2, ?3, ?4)",
        .more = "DELETE FROM oauth_clients WHERE id IN"
                " (SELECT id FROM oauth_clients c WHERE id<>?1 AND NOT EXISTS"
                "  (SELECT 1 FROM oauth_grants WHERE client=c.id)"
                "  ORDER BY created_ms DESC LIMIT -1 OFFSET ?5)",
        .values = {DATABASE_VALUE_TEXT(client->id), DATABASE_VALUE_TEXT(client->name),
                   DATABASE_VALUE_TEXT(client->redirects),
                   DATABASE_VALUE_NUMBER(client->created_ms),
                   DATABASE_VALUE_NUMBER(STORE_MAX_CLIENTS - 1)}};

    store_write_later(store, &write, done, context);
}

static void take_client(void *data, sqlite3_stmt *row)
{
    struct store_client *client = data;

    copy_text(row, 0, client->id, sizeof(client->id));
    copy_text(row, 1, client->name, sizeof(client->name));
    copy_text(row, 2, client->redirects, sizeof(client->redirects));
    client->created_ms = sqlite3_column_int64(row, 3);
}

int store_find_client(struct store *store, struct str id, struct store_client *out_client)
{
    const struct database_value values[DATABASE_MAX_VALUES] = {DATABASE_VALUE_STR(id)};
    int r;

    out_client->id[0] = '\0';
    r = database_each_with(store->reader,
                           "SELECT id, name, redirects, created_ms FROM oauth_clients WHERE id=?1",
                           values, take_client, out_client);
    return r < 0 ? r : out_client->id[0] != '\0' ? 0 : ERR_NOT_FOUND;
}

/* ---- grants ---- */

static void read_grant(sqlite3_stmt *row, struct store_grant *out_grant)
{
    *out_grant = (struct store_grant){.id = sqlite3_column_int64(row, 0),
                                      .user = sqlite3_column_int64(row, 1),
                                      .groups = (unsigned)sqlite3_column_int64(row, 2),
                                      .created_ms = sqlite3_column_int64(row, 3),
                                      .used_ms = sqlite3_column_int64(row, 4),
                                      .asks = (unsigned)sqlite3_column_int64(row, 10)};
    copy_text(row, 5, out_grant->client, sizeof(out_grant->client));
    copy_text(row, 6, out_grant->name, sizeof(out_grant->name));
    copy_text(row, 7, out_grant->redirect, sizeof(out_grant->redirect));
    copy_text(row, 8, out_grant->challenge, sizeof(out_grant->challenge));
    copy_text(row, 9, out_grant->workspace, sizeof(out_grant->workspace));
}

void store_add_grant(struct store *store, const struct store_grant *grant,
                     const unsigned char code[SHA256_BYTES], int64_t expires_ms, store_done *done,
                     void *context)
{
    const struct database_write tidy = {
        .sql = "DELETE FROM oauth_grants WHERE user=?1 AND id NOT IN"
               " (SELECT id FROM oauth_grants WHERE user=?1"
               "  ORDER BY max(used_ms, created_ms) DESC, id DESC LIMIT ?3)",
        .more = "DELETE FROM oauth_grants WHERE NOT EXISTS (SELECT 1 FROM oauth_tokens"
                " WHERE grant_id=oauth_grants.id AND expires_ms>?2)",
        .values = {DATABASE_VALUE_NUMBER(grant->user), DATABASE_VALUE_NUMBER(grant->created_ms),
                   DATABASE_VALUE_NUMBER(STORE_MAX_GRANTS - 1)}};
    const struct database_write write = {
        .sql = "INSERT INTO oauth_grants(user, client, groups, redirect, challenge, created_ms,"
               " workspace, asks) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?9, ?10)",
        .more = "INSERT INTO oauth_tokens(digest, grant_id, kind, expires_ms)"
                " VALUES (?7, last_insert_rowid(), 0, ?8)",
        .values = {DATABASE_VALUE_NUMBER(grant->user), DATABASE_VALUE_TEXT(grant->client),
                   DATABASE_VALUE_NUMBER(grant->groups), DATABASE_VALUE_TEXT(grant->redirect),
                   DATABASE_VALUE_TEXT(grant->challenge), DATABASE_VALUE_NUMBER(grant->created_ms),
                   DATABASE_VALUE_DIGEST(code), DATABASE_VALUE_NUMBER(expires_ms),
                   DATABASE_VALUE_TEXT(grant->workspace), DATABASE_VALUE_NUMBER(grant->asks)}};

    store_write_later(store, &tidy, NULL, NULL);
    store_write_later(store, &write, done, context);
}

void store_touch_grant(struct store *store, int64_t id, int64_t now_ms)
{
    /* Codes stay, and the last used refresh tokens: their second use ends the grant. */
    const struct database_write write = {
        .sql = "UPDATE oauth_grants SET used_ms=?2 WHERE id=?1",
        .more = "DELETE FROM oauth_tokens WHERE grant_id=?1 AND kind<>0 AND (expires_ms<=?2 OR"
                " digest IN (SELECT digest FROM oauth_tokens WHERE grant_id=?1 AND is_used=1"
                "  AND kind=2 ORDER BY expires_ms DESC LIMIT -1 OFFSET 500))",
        .values = {DATABASE_VALUE_NUMBER(id), DATABASE_VALUE_NUMBER(now_ms)}};

    store_write_later(store, &write, NULL, NULL);
}

void store_end_grant(struct store *store, int64_t user, int64_t id, store_done *done, void *context)
{
    const struct database_write write = {
        .sql = "DELETE FROM oauth_grants WHERE id=?1 AND (?2=0 OR user=?2)",
        .missing = ERR_NOT_FOUND,
        .values = {DATABASE_VALUE_NUMBER(id), DATABASE_VALUE_NUMBER(user)}};

    store_write_later(store, &write, done, context);
}

struct grant_taker {
    void (*take)(void *data, const struct store_grant *grant);
    void *data;
};

static void take_grant(void *data, sqlite3_stmt *row)
{
    const struct grant_taker *taker = data;
    struct store_grant grant;

    read_grant(row, &grant);
    taker->take(taker->data, &grant);
}

int store_each_grant(struct store *store, int64_t user, int64_t now_ms,
                     void (*take)(void *data, const struct store_grant *grant), void *data)
{
    const struct database_value values[DATABASE_MAX_VALUES] = {
        DATABASE_VALUE_NUMBER(user), DATABASE_VALUE_NUMBER(now_ms),
        DATABASE_VALUE_NUMBER(now_ms - STORE_GRANT_MS)};
    struct grant_taker taker = {take, data};

    return database_each_with(store->reader,
                              "SELECT " GRANT_COLUMNS " FROM oauth_grants g"
                              " JOIN oauth_clients c ON c.id=g.client"
                              " WHERE g.user=?1 AND g.created_ms>?3 AND EXISTS (SELECT 1"
                              "  FROM oauth_tokens WHERE grant_id=g.id AND kind<>0 AND is_used=0"
                              "  AND expires_ms>?2) ORDER BY g.used_ms DESC, g.id DESC",
                              values, take_grant, &taker);
}

static void set_flag(void *data, sqlite3_stmt *row)
{
    *(bool *)data = sqlite3_column_int64(row, 0) != 0;
}

bool store_is_granted(struct store *store, int64_t id, int64_t now_ms)
{
    const struct database_value values[DATABASE_MAX_VALUES] = {
        DATABASE_VALUE_NUMBER(id), DATABASE_VALUE_NUMBER(now_ms),
        DATABASE_VALUE_NUMBER(now_ms - STORE_GRANT_MS)};
    bool is_granted = true; /* a store that cannot say so ends nothing */

    (void)database_each_with(store->reader,
                             "SELECT EXISTS(SELECT 1 FROM oauth_tokens t JOIN oauth_grants g"
                             " ON g.id=t.grant_id WHERE g.id=?1 AND g.created_ms>?3"
                             " AND t.is_used=0 AND t.expires_ms>?2)",
                             values, set_flag, &is_granted);
    return is_granted;
}

/* ---- tokens ---- */

int store_prepare_oauth(struct store *store)
{
    return sqlite3_prepare_v3(store->reader,
                              "SELECT " GRANT_COLUMNS ", t.expires_ms, t.is_used"
                              " FROM oauth_tokens t JOIN oauth_grants g ON g.id=t.grant_id"
                              " JOIN oauth_clients c ON c.id=g.client"
                              " WHERE t.digest=?1 AND t.kind=?2 AND g.created_ms>?3",
                              -1, SQLITE_PREPARE_PERSISTENT, &store->find_token, NULL);
}

int store_find_token(struct store *store, enum store_token_kind kind,
                     const unsigned char digest[SHA256_BYTES], int64_t now_ms,
                     struct store_token *out_token)
{
    const struct database_value values[DATABASE_MAX_VALUES] = {
        DATABASE_VALUE_DIGEST(digest), DATABASE_VALUE_NUMBER(kind),
        DATABASE_VALUE_NUMBER(now_ms - STORE_GRANT_MS)};
    int r = database_first_row(store->find_token, values);

    if (r > 0) {
        read_grant(store->find_token, &out_token->grant);
        out_token->expires_ms = sqlite3_column_int64(store->find_token, 11);
        out_token->is_used = sqlite3_column_int64(store->find_token, 12) != 0;
    }
    sqlite3_reset(store->find_token);
    return r > 0 ? 0 : r < 0 ? r : ERR_UNAUTHORIZED;
}

void store_exchange_token(struct store *store, const struct store_exchange *exchange,
                          store_done *done, void *context)
{
    const struct database_write write = {
        .sql = "UPDATE oauth_tokens SET is_used=1 WHERE digest=?1 AND is_used=0 AND expires_ms>?4",
        .more = "INSERT INTO oauth_tokens(digest, grant_id, kind, expires_ms)"
                " SELECT ?2, grant_id, 1, ?5 FROM oauth_tokens WHERE digest=?1"
                " UNION ALL SELECT ?3, grant_id, 2, ?6 FROM oauth_tokens WHERE digest=?1",
        .missing = ERR_UNAUTHORIZED,
        .values = {DATABASE_VALUE_DIGEST(exchange->used), DATABASE_VALUE_DIGEST(exchange->access),
                   DATABASE_VALUE_DIGEST(exchange->refresh),
                   DATABASE_VALUE_NUMBER(exchange->now_ms),
                   DATABASE_VALUE_NUMBER(exchange->access_expires_ms),
                   DATABASE_VALUE_NUMBER(exchange->refresh_expires_ms)}};

    store_write_later(store, &write, done, context);
}
