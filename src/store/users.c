/* SPDX-License-Identifier: Apache-2.0 */
/* Users, the logins of their browsers, and links that log in once. */
#include "store/internal.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "base/rand.h"

/* What a login must be to count: ?2 and ?3 are the oldest moments of its beginning and last use. */
#define LOGIN_COLUMNS "SELECT id, user, created_ms, used_ms, address, browser FROM logins"
#define LOGIN_IS_GOOD " AND created_ms>?2 AND used_ms>?3"
#define USER_COLUMNS  "SELECT id, name, created_ms, password FROM users"

int store_prepare_users(struct store *store)
{
    const struct {
        sqlite3_stmt **statement;
        const char *sql;
    } all[] = {
        {&store->find_login, LOGIN_COLUMNS " WHERE digest=?1" LOGIN_IS_GOOD},
        {&store->get_login, LOGIN_COLUMNS " WHERE id=?1" LOGIN_IS_GOOD},
        {&store->find_user, USER_COLUMNS " WHERE name=?1"},
        {&store->get_user, USER_COLUMNS " WHERE id=?1"},
    };
    int code = SQLITE_OK;

    for (size_t i = 0; i < array_size(all) && code == SQLITE_OK; i++)
        code = sqlite3_prepare_v3(store->reader, all[i].sql, -1, SQLITE_PREPARE_PERSISTENT,
                                  all[i].statement, NULL);
    return code;
}

static void copy_text(sqlite3_stmt *row, int column, char *out_text, size_t size)
{
    const char *text = (const char *)sqlite3_column_text(row, column);

    snprintf(out_text, size, "%s", text != NULL ? text : "");
}

/* ---- users ---- */

bool store_is_name(struct str name)
{
    for (size_t i = 0; i < name.len; i++)
        if (name.ptr[i] <= ' ' || name.ptr[i] > '~' || name.ptr[i] == '"' || name.ptr[i] == '\\')
            return false;
    return name.len > 0 && name.len <= STORE_MAX_NAME_BYTES;
}

static void read_user(sqlite3_stmt *row, struct store_user *out_user)
{
    *out_user = (struct store_user){.id = sqlite3_column_int64(row, 0),
                                    .created_ms = sqlite3_column_int64(row, 2),
                                    .has_password = sqlite3_column_type(row, 3) != SQLITE_NULL};
    copy_text(row, 1, out_user->name, sizeof(out_user->name));
    copy_text(row, 3, out_user->password, sizeof(out_user->password));
}

/* Ids are random: what a server remembers of a removed user must never become another one's. */
static int64_t new_id(void)
{
    int64_t id;

    do {
        rand_bytes(&id, sizeof(id));
        id &= INT64_MAX;
    } while (id <= STORE_OWNER);
    return id;
}

static int refuse_taken(struct str name, struct err *err)
{
    return err_set(err, ERR_ALREADY_EXISTS, "there is a user called '%.*s' already", STR_ARG(name));
}

int store_check_new_user(struct store *store, struct str name, struct err *err)
{
    struct store_user user;
    int r;

    if (!store_is_name(name))
        return err_set(err, ERR_INVALID_ARGUMENT,
                       "a name has 1 to %d visible ASCII characters, like anna or anna@example.org",
                       STORE_MAX_NAME_BYTES);
    r = store_find_user(store, name, &user);
    if (r == 0)
        return refuse_taken(name, err);
    return r == ERR_NOT_FOUND ? 0 : err_set_plain(err, r);
}

int store_add_user(struct store *store, struct str name, const char *password, int64_t now_wall_ms,
                   int64_t *out_id, struct err *err)
{
    int64_t id = new_id();
    struct database_write write = {
        .sql = "INSERT INTO users(id, name, password, created_ms) SELECT ?1, ?2, ?3, ?4"
               " WHERE (SELECT count(*) FROM users) < ?5",
        .values = {DATABASE_VALUE_NUMBER(id), DATABASE_VALUE_STR(name),
                   DATABASE_VALUE_STR(STR_EMPTY), DATABASE_VALUE_NUMBER(now_wall_ms),
                   DATABASE_VALUE_NUMBER(STORE_MAX_USERS)}};
    int r = store_check_new_user(store, name, err);

    if (r < 0)
        return r;
    if (password != NULL)
        write.values[2].bytes = str_from(password);
    else
        write.values[2].kind = DATABASE_NOTHING;
    r = database_execute(store->writer, &write);
    if (r == ERR_ALREADY_EXISTS) /* added since */
        return refuse_taken(name, err);
    if (r == 0)
        return err_set(err, ERR_TOO_LARGE, "there are %d users already: remove one first",
                       STORE_MAX_USERS);
    if (r < 0)
        return err_set(err, r, "cannot save the user: %s", err_text(r));
    *out_id = id;
    return 0;
}

static int one_user(sqlite3_stmt *statement, const struct database_value *values,
                    struct store_user *out_user)
{
    int r = database_first_row(statement, values);

    if (r > 0)
        read_user(statement, out_user);
    sqlite3_reset(statement);
    return r > 0 ? 0 : r < 0 ? r : ERR_NOT_FOUND;
}

int store_find_user(struct store *store, struct str name, struct store_user *out_user)
{
    const struct database_value values[DATABASE_MAX_VALUES] = {DATABASE_VALUE_STR(name)};

    return one_user(store->find_user, values, out_user);
}

int store_get_user(struct store *store, int64_t id, struct store_user *out_user)
{
    const struct database_value values[DATABASE_MAX_VALUES] = {DATABASE_VALUE_NUMBER(id)};

    return one_user(store->get_user, values, out_user);
}

struct user_taker {
    void (*take)(void *data, const struct store_user *user);
    void *data;
};

static void take_user(void *data, sqlite3_stmt *row)
{
    const struct user_taker *taker = data;
    struct store_user user;

    read_user(row, &user);
    taker->take(taker->data, &user);
}

int store_each_user(struct store *store, void (*take)(void *data, const struct store_user *user),
                    void *data)
{
    struct user_taker taker = {take, data};

    return database_each(store->reader, USER_COLUMNS " ORDER BY created_ms, name", take_user,
                         &taker);
}

static void set_flag(void *data, sqlite3_stmt *row)
{
    *(bool *)data = sqlite3_column_int64(row, 0) != 0;
}

bool store_has_passwords(struct store *store)
{
    bool has = true; /* if the store cannot say */

    (void)database_each(store->reader,
                        "SELECT EXISTS(SELECT 1 FROM users WHERE password IS NOT NULL)", set_flag,
                        &has);
    return has;
}

int store_set_password(struct store *store, int64_t id, const char *password, struct err *err)
{
    const struct database_write write = {
        .sql = "UPDATE users SET password=?2 WHERE id=?1",
        .more = "DELETE FROM logins WHERE user=?1",
        .missing = ERR_NOT_FOUND,
        .values = {DATABASE_VALUE_NUMBER(id), DATABASE_VALUE_TEXT(password)}};
    int r = database_execute(store->writer, &write);

    return r < 0 ? err_set(err, r, "cannot save the password: %s", err_text(r)) : 0;
}

void store_renew_password(struct store *store, int64_t id, const char *old, const char *password,
                          int64_t login, store_done *done, void *context)
{
    const struct database_write write = {
        .sql = "UPDATE users SET password=?2 WHERE id=?1 AND password=?3",
        .more = "DELETE FROM logins WHERE user=?1 AND id<>?4",
        .missing = ERR_UNAUTHORIZED,
        .values = {DATABASE_VALUE_NUMBER(id), DATABASE_VALUE_TEXT(password),
                   DATABASE_VALUE_TEXT(old), DATABASE_VALUE_NUMBER(login)}};

    store_write_later(store, &write, done, context);
}

int store_remove_user(struct store *store, int64_t id, struct err *err)
{
    const struct database_write write = {.sql = "DELETE FROM users WHERE id=?1",
                                         .missing = ERR_NOT_FOUND,
                                         .values = {DATABASE_VALUE_NUMBER(id)}};
    int r = database_execute(store->writer, &write);

    return r < 0 ? err_set(err, r, "cannot remove the user: %s", err_text(r)) : 0;
}

/* ---- links ---- */

int store_add_link(struct store *store, const unsigned char digest[SHA256_BYTES], int64_t user,
                   int64_t now_wall_ms)
{
    const struct database_write write = {
        .sql = "INSERT INTO links(digest, user, expires_ms) VALUES (?1, ?2, ?3)",
        .more = "DELETE FROM links WHERE expires_ms<=?4",
        .values = {DATABASE_VALUE_DIGEST(digest), DATABASE_VALUE_NUMBER(user),
                   DATABASE_VALUE_NUMBER(now_wall_ms + STORE_LINK_MS),
                   DATABASE_VALUE_NUMBER(now_wall_ms)}};
    int r = database_execute(store->writer, &write);

    return r < 0 ? r : 0;
}

struct link {
    int64_t user;
};

static void take_link(void *data, sqlite3_stmt *row)
{
    ((struct link *)data)->user = sqlite3_column_int64(row, 0);
}

int store_find_link(struct store *store, const unsigned char digest[SHA256_BYTES],
                    int64_t now_wall_ms, int64_t *out_user)
{
    const struct database_value values[DATABASE_MAX_VALUES] = {DATABASE_VALUE_DIGEST(digest),
                                                               DATABASE_VALUE_NUMBER(now_wall_ms)};
    struct link link = {.user = 0};
    int r = database_each_with(store->reader,
                               "SELECT user FROM links WHERE digest=?1 AND expires_ms>?2", values,
                               take_link, &link);

    if (r < 0)
        return r;
    *out_user = link.user;
    return link.user != 0 ? 0 : ERR_UNAUTHORIZED;
}

void store_use_link(struct store *store, const unsigned char digest[SHA256_BYTES], store_done *done,
                    void *context)
{
    const struct database_write write = {.sql = "DELETE FROM links WHERE digest=?1",
                                         .missing = ERR_UNAUTHORIZED,
                                         .values = {DATABASE_VALUE_DIGEST(digest)}};

    store_write_later(store, &write, done, context);
}

/* ---- logins ---- */

/*
 * With a password: only if it is still the user's. A command may change it while it is checked, and
 * must not miss this login when it ends all others.
 */
void store_add_login(struct store *store, const unsigned char digest[SHA256_BYTES],
                     const struct store_login *login, const char *password, store_done *done,
                     void *context)
{
    struct database_write write = {
        .sql = "INSERT INTO logins(digest, user, created_ms, used_ms, address, browser)"
               " SELECT ?1, ?2, ?3, ?3, ?4, ?5"
               " WHERE EXISTS (SELECT 1 FROM users"
               "  WHERE id=?2 AND (?6 IS NULL OR password=?6))",
        .more = "DELETE FROM logins WHERE user=?2 AND id NOT IN"
                " (SELECT id FROM logins WHERE user=?2 ORDER BY used_ms DESC, id DESC LIMIT 64)",
        .missing = ERR_UNAUTHORIZED,
        .values = {DATABASE_VALUE_DIGEST(digest), DATABASE_VALUE_NUMBER(login->user),
                   DATABASE_VALUE_NUMBER(login->created_ms), DATABASE_VALUE_TEXT(login->address),
                   DATABASE_VALUE_TEXT(login->browser), DATABASE_VALUE_STR(STR_EMPTY)}};

    if (password != NULL)
        write.values[5].bytes = str_from(password);
    else
        write.values[5].kind = DATABASE_NOTHING;
    store_write_later(store, &write, done, context);
}

static void read_login(sqlite3_stmt *row, struct store_login *out_login)
{
    *out_login = (struct store_login){.id = sqlite3_column_int64(row, 0),
                                      .user = sqlite3_column_int64(row, 1),
                                      .created_ms = sqlite3_column_int64(row, 2),
                                      .used_ms = sqlite3_column_int64(row, 3)};
    copy_text(row, 4, out_login->address, sizeof(out_login->address));
    copy_text(row, 5, out_login->browser, sizeof(out_login->browser));
}

static int one_login(sqlite3_stmt *statement, const struct database_value *values,
                     struct store_login *out_login)
{
    int r = database_first_row(statement, values);

    if (r > 0)
        read_login(statement, out_login);
    sqlite3_reset(statement);
    return r > 0 ? 0 : r < 0 ? r : ERR_UNAUTHORIZED;
}

int store_find_login(struct store *store, const unsigned char digest[SHA256_BYTES], int64_t now_ms,
                     struct store_login *out_login)
{
    const struct database_value values[DATABASE_MAX_VALUES] = {
        DATABASE_VALUE_DIGEST(digest), DATABASE_VALUE_NUMBER(now_ms - STORE_LOGIN_MS),
        DATABASE_VALUE_NUMBER(now_ms - STORE_LOGIN_IDLE_MS)};

    return one_login(store->find_login, values, out_login);
}

int store_get_login(struct store *store, int64_t id, int64_t now_ms, struct store_login *out_login)
{
    const struct database_value values[DATABASE_MAX_VALUES] = {
        DATABASE_VALUE_NUMBER(id), DATABASE_VALUE_NUMBER(now_ms - STORE_LOGIN_MS),
        DATABASE_VALUE_NUMBER(now_ms - STORE_LOGIN_IDLE_MS)};

    return one_login(store->get_login, values, out_login);
}

struct login_taker {
    void (*take)(void *data, const struct store_login *login);
    void *data;
};

static void take_login(void *data, sqlite3_stmt *row)
{
    const struct login_taker *taker = data;
    struct store_login login;

    read_login(row, &login);
    taker->take(taker->data, &login);
}

int store_each_login(struct store *store, int64_t user, int64_t now_ms,
                     void (*take)(void *data, const struct store_login *login), void *data)
{
    const struct database_value values[DATABASE_MAX_VALUES] = {
        DATABASE_VALUE_NUMBER(user), DATABASE_VALUE_NUMBER(now_ms - STORE_LOGIN_MS),
        DATABASE_VALUE_NUMBER(now_ms - STORE_LOGIN_IDLE_MS)};
    struct login_taker taker = {take, data};

    return database_each_with(store->reader,
                              LOGIN_COLUMNS " WHERE user=?1" LOGIN_IS_GOOD " ORDER BY used_ms DESC",
                              values, take_login, &taker);
}

void store_touch_login(struct store *store, int64_t id, int64_t now_ms)
{
    const struct database_write write = {
        .sql = "UPDATE logins SET used_ms=?2 WHERE id=?1",
        .values = {DATABASE_VALUE_NUMBER(id), DATABASE_VALUE_NUMBER(now_ms)}};

    store_write_later(store, &write, NULL, NULL);
}

void store_end_login(struct store *store, int64_t user, int64_t id, store_done *done, void *context)
{
    const struct database_write write = {
        .sql = "DELETE FROM logins WHERE user=?1 AND id=?2",
        .missing = ERR_NOT_FOUND,
        .values = {DATABASE_VALUE_NUMBER(user), DATABASE_VALUE_NUMBER(id)}};

    store_write_later(store, &write, done, context);
}

/* ---- the server ---- */

int store_set_url(struct store *store, const char *url)
{
    const struct database_write write = {
        .sql = "INSERT OR REPLACE INTO server(id, url) VALUES (1, ?1)",
        .values = {DATABASE_VALUE_TEXT(url)}};
    int r = database_execute(store->writer, &write);

    return r < 0 ? r : 0;
}

static void take_url(void *data, sqlite3_stmt *row)
{
    copy_text(row, 0, data, STORE_URL_BYTES);
}

int store_get_url(struct store *store, char out_url[STORE_URL_BYTES])
{
    out_url[0] = '\0';
    return database_each(store->reader, "SELECT url FROM server", take_url, out_url);
}
