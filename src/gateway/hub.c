/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/hub.h"

#include <assert.h>
#include <stdlib.h>

#include "base/jsonwrite.h"
#include "base/rand.h"
#include "base/secret.h"
#include "gateway/hub_internal.h"

enum {
    TOKEN_CHARS = 32,
    FIRST_GRACE = 0,
    /* After a restart, daemons come back within their longest delay, 30 s and a fifth. */
    RESTORED_GRACE = 2,
    GONE_A_TURN = 64, /* after a restart thousands may be gone at once, and calls wait meanwhile */
};

/* What a machine without a stream has: longer each time that it opens one again. */
static const int64_t graces_ms[HUB_GRACES] = {HUB_GRACE_MS, 2 * HUB_GRACE_MS, 4 * HUB_GRACE_MS,
                                              8 * HUB_GRACE_MS, HUB_MAX_GRACE_MS};

static int64_t hub_now(const struct hub *hub)
{
    return clock_monotonic_ms(hub->config.clock);
}

static struct str bytes_of(const void *object, size_t size)
{
    return (struct str){object, size};
}

static void tell_changed(struct hub *hub, int64_t user)
{
    if (hub->config.events->changed != NULL)
        hub->config.events->changed(hub->config.events_data, user);
}

/* ---- users ---- */

struct hub_user *hub_find_user(struct hub *hub, int64_t id)
{
    return map_get(&hub->users, bytes_of(&id, sizeof(id)));
}

static int add_user(struct hub *hub, int64_t id, struct hub_user **out_user)
{
    struct hub_user *user = hub_find_user(hub, id);
    int r;

    if (user != NULL) {
        *out_user = user;
        return 0;
    }
    user = calloc(1, sizeof(*user));
    if (user == NULL)
        return ERR_NO_MEMORY;
    user->id = id;
    list_init(&user->calls);
    list_init(&user->token_node);
    list_init(&user->node);
    user->pairing = (struct hub_key){.kind = HUB_KEY_PAIRING, .user = user};
    r = map_add(&hub->users, bytes_of(&user->id, sizeof(user->id)), user);
    if (r < 0) {
        free(user);
        return r == ERR_TOO_LARGE ? ERR_BUSY : r;
    }
    list_append(&hub->all_users, &user->node);
    *out_user = user;
    return 0;
}

/* ---- keys ---- */

static int list_key(struct hub *hub, struct hub_key *key)
{
    int r = map_add(&hub->keys, bytes_of(key->digest, SHA256_BYTES), key);

    key->is_listed = r == 0;
    return r;
}

static void unlist_key(struct hub *hub, struct hub_key *key)
{
    if (key->is_listed)
        map_remove(&hub->keys, bytes_of(key->digest, SHA256_BYTES));
    key->is_listed = false;
}

static void void_token(struct hub *hub, struct hub_user *user)
{
    unlist_key(hub, &user->pairing);
    secret_wipe(user->token, sizeof(user->token));
    list_remove(&user->token_node);
}

struct key_owner {
    bool is_static;
    const struct hub_key *key;
    struct hub_user *user;
};

/* Returns the code as a constant: the analyser does not see that err_set() returns its argument. */
static int deny(struct err *err, const char *words)
{
    (void)err_set(err, ERR_GATEWAY_DENIED, "%s", words);
    return ERR_GATEWAY_DENIED;
}

static void digest_of(struct hub *hub, struct str key, unsigned char out_digest[SHA256_BYTES])
{
    struct hub_last_key *last = &hub->last_key;

    if (key.len != last->len || !secret_bytes_eq(key.ptr, last->text, key.len)) {
        sha256_of(key, last->digest);
        memcpy(last->text, key.ptr, key.len);
        last->len = key.len;
    }
    memcpy(out_digest, last->digest, SHA256_BYTES);
}

/*
 * Keys are found by their digest, which says nothing about a key to somebody who watches how long
 * that takes.
 */
static int find_key(struct hub *hub, struct str key, struct key_owner *out_owner, struct err *err)
{
    unsigned char digest[SHA256_BYTES];
    struct hub_key *found;
    int r;

    if (key.len == 0 || key.len > HUB_MAX_KEY_BYTES)
        return deny(err, "Missing API key");
    *out_owner = (struct key_owner){.is_static = false};
    digest_of(hub, key, digest);
    if (hub->has_static_key && secret_bytes_eq(digest, hub->static_digest, SHA256_BYTES)) {
        out_owner->is_static = true;
        r = add_user(hub, hub->config.static_user, &out_owner->user);
        if (r < 0)
            (void)err_set_plain(err, r);
        return r;
    }
    found = map_get(&hub->keys, bytes_of(digest, SHA256_BYTES));
    if (found == NULL || !secret_bytes_eq(found->digest, digest, SHA256_BYTES) ||
        (found->kind == HUB_KEY_PAIRING && hub_now(hub) >= found->user->token_until_ms))
        return deny(err, "Invalid API key");
    out_owner->key = found;
    out_owner->user = found->user;
    return 0;
}

enum hub_trust hub_trust_of(struct hub *hub, struct str key)
{
    struct key_owner owner;

    if (find_key(hub, key, &owner, NULL) < 0)
        return HUB_TRUST_NONE;
    return owner.is_static || owner.key->kind == HUB_KEY_PAIRING ? HUB_TRUST_GUESSABLE
                                                                 : HUB_TRUST_SESSION;
}

int hub_check_key(struct hub *hub, struct str key, struct err *err)
{
    struct key_owner owner;

    return find_key(hub, key, &owner, err);
}

static bool is_pairing(const struct key_owner *owner)
{
    return !owner->is_static && owner->key->kind == HUB_KEY_PAIRING;
}

/* The machine whose key it is: with the static key, one that came with it. */
static struct hub_machine *machine_of_owner(const struct key_owner *owner)
{
    struct hub_machine *machine = owner->user->machine;

    if (machine == NULL || is_pairing(owner))
        return NULL;
    return owner->is_static == !machine->has_key ? machine : NULL;
}

int hub_machine_of(struct hub *hub, struct str key, struct hub_machine **out_machine,
                   struct err *err)
{
    struct key_owner owner;
    int r = find_key(hub, key, &owner, err);

    if (r < 0)
        return r;
    *out_machine = machine_of_owner(&owner);
    if (*out_machine != NULL)
        return 0;
    return is_pairing(&owner) ? deny(err, "Invalid API key")
                              : deny(err, "Local gateway not initialized");
}

int hub_create_link(struct hub *hub, int64_t user_id, struct hub_link *out_link, struct err *err)
{
    struct hub_user *user;
    int r = add_user(hub, user_id, &user);
    int64_t now = hub_now(hub);

    if (r < 0)
        return err_set_plain(err, r);
    out_link->is_new = false;
    if (user->token[0] == '\0' || now >= user->token_until_ms) {
        void_token(hub, user);
        memcpy(user->token, "gw_", 3);
        rand_token(user->token + 3, TOKEN_CHARS);
        sha256_of(str_from(user->token), user->pairing.digest);
        r = list_key(hub, &user->pairing);
        if (r < 0) {
            void_token(hub, user);
            return err_set_plain(err, r == ERR_TOO_LARGE ? ERR_BUSY : r);
        }
        user->token_until_ms = now + HUB_TOKEN_MS;
        user->token_until_wall_ms = clock_wall_ms(hub->config.clock) + HUB_TOKEN_MS;
        list_append(&hub->tokens, &user->token_node);
        out_link->is_new = true;
    }
    memcpy(out_link->token, user->token, sizeof(user->token));
    out_link->expires_ms = user->token_until_wall_ms;
    out_link->ttl_seconds = (user->token_until_ms - now + 999) / 1000;
    return 0;
}

/* ---- streams ---- */

static void close_stream(struct hub *hub, void **stream)
{
    void *closed = *stream;

    if (closed == NULL)
        return;
    *stream = NULL;
    hub->config.events->close(hub->config.events_data, closed);
}

static void say_goodbye(struct hub *hub, void *stream)
{
    if (stream != NULL)
        hub->config.events->send(hub->config.events_data, stream,
                                 STR("{\"type\":\"gateway-disconnect\"}"));
}

static void wait_for_stream(struct hub *hub, struct hub_machine *machine, unsigned grace)
{
    machine->gone_at_ms = hub_now(hub) + graces_ms[grace];
    list_remove(&machine->node);
    list_append(&hub->waiting[grace], &machine->node);
}

static void use_stream(struct hub *hub, struct hub_machine *machine, void *stream)
{
    bool was_gone = machine->is_gone;

    machine->stream = stream;
    machine->reopened += machine->has_had_stream && machine->reopened + 1 < HUB_GRACES;
    machine->has_had_stream = true;
    machine->is_gone = false;
    list_remove(&machine->node);
    if (hub->config.events->opened != NULL)
        hub->config.events->opened(hub->config.events_data, machine->user->id);
    if (was_gone)
        tell_changed(hub, machine->user->id);
    hub_send_waiting(hub, machine->user);
}

int hub_check_stream(struct hub *hub, enum hub_dialect dialect, struct str key, int64_t *out_user,
                     struct err *err)
{
    struct key_owner owner;
    int r = find_key(hub, key, &owner, err);

    if (r < 0)
        return r;
    if (machine_of_owner(&owner) == NULL && dialect == HUB_N8N)
        return deny(err, "Local gateway not initialized");
    *out_user = owner.user->id;
    return 0;
}

int hub_open_stream(struct hub *hub, enum hub_dialect dialect, struct str key, void *stream,
                    struct err *err)
{
    struct key_owner owner;
    struct hub_machine *machine;
    int64_t user;
    int r = hub_check_stream(hub, dialect, key, &user, err);

    if (r == 0)
        r = find_key(hub, key, &owner, err);
    if (r != 0)
        return r;
    machine = machine_of_owner(&owner);
    close_stream(hub, machine != NULL ? &machine->stream : &owner.user->early);
    if (machine != NULL)
        use_stream(hub, machine, stream);
    else
        owner.user->early = stream;
    return 0;
}

void hub_stream_gone(struct hub *hub, int64_t user_id, const void *stream)
{
    struct hub_user *user = hub_find_user(hub, user_id);

    if (user == NULL)
        return;
    if (user->early == stream)
        user->early = NULL;
    if (user->machine != NULL && user->machine->stream == stream) {
        user->machine->stream = NULL;
        wait_for_stream(hub, user->machine, user->machine->reopened);
    }
}

/* ---- the end of a session ---- */

static void drop_machine(struct hub *hub, struct hub_user *user, bool is_told)
{
    struct hub_machine *machine = user->machine;

    if (machine == NULL)
        return;
    user->machine = NULL;
    unlist_key(hub, &machine->key);
    list_remove(&machine->node);
    if (is_told)
        say_goodbye(hub, machine->stream);
    close_stream(hub, &machine->stream);
    hub_machine_free(machine);
    hub_fail_calls(hub, user, ERR_GATEWAY_MISSING, "the machine was disconnected");
}

static void end_session(struct hub *hub, struct hub_user *user, bool is_told)
{
    if (user->saving != NULL)
        user->saving->is_dropped = true;
    if (user->machine == NULL && user->saving == NULL)
        return;
    drop_machine(hub, user, is_told);
    hub->config.store->remove(hub->config.store_data, user->id);
    tell_changed(hub, user->id);
}

void hub_dismiss(struct hub *hub, int64_t user_id)
{
    struct hub_user *user = hub_find_user(hub, user_id);

    if (user == NULL)
        return;
    say_goodbye(hub, user->early);
    close_stream(hub, &user->early);
    end_session(hub, user, true);
}

static bool has_static_key(const struct hub *hub, int64_t user_id)
{
    return hub->has_static_key && hub->config.static_user == user_id;
}

void hub_forget(struct hub *hub, int64_t user_id)
{
    struct hub_user *user = hub_find_user(hub, user_id);

    if (user == NULL)
        return;
    hub_dismiss(hub, user_id);
    void_token(hub, user);
    if (has_static_key(hub, user_id))
        hub->has_static_key = false;
}

size_t hub_user_count(const struct hub *hub)
{
    return hub->users.count;
}

void hub_next_users(struct hub *hub, size_t count, void (*take)(void *data, int64_t user_id),
                    void *data)
{
    for (; count > 0 && !list_is_empty(&hub->all_users); count--) {
        struct hub_user *user = list_entry(hub->all_users.next, struct hub_user, node);

        list_remove(&user->node);
        list_append(&hub->all_users, &user->node);
        if (user->machine != NULL || user->saving != NULL || user->early != NULL ||
            user->token[0] != '\0' || has_static_key(hub, user->id))
            take(data, user->id);
    }
}

int hub_leave(struct hub *hub, struct str key, struct err *err)
{
    struct hub_machine *machine;
    int r = hub_machine_of(hub, key, &machine, err);

    if (r == 0)
        end_session(hub, machine->user, false);
    return r;
}

/* ---- its beginning ---- */

static int install(struct hub *hub, struct hub_user *user, struct hub_machine *machine)
{
    int r = 0;

    drop_machine(hub, user, true);
    if (machine->has_key)
        r = list_key(hub, &machine->key);
    if (r < 0) {
        hub_machine_free(machine);
        return r;
    }
    user->machine = machine;
    return 0;
}

/* The same machine has other tools now, and its stream and calls stay. */
static void renew(struct hub *hub, struct hub_user *user, struct hub_machine *machine)
{
    struct hub_machine *old = user->machine;

    machine->stream = old->stream;
    machine->has_had_stream = old->stream != NULL;
    old->stream = NULL;
    unlist_key(hub, &old->key);
    list_remove(&old->node);
    hub_machine_free(old);
    user->machine = NULL;
    (void)install(hub, user, machine); /* its key was listed just now */
}

static void finish_init(struct hub_saving *saving, int result)
{
    struct hub *hub = saving->hub;
    struct hub_user *user = saving->user;
    struct hub_machine *machine = saving->machine;
    struct err err = ERR_INIT;

    user->saving = NULL;
    if (saving->is_dropped)
        result = deny(&err, "Invalid API key");
    else if (result < 0)
        err_set(&err, result, "the server cannot save its state: %s", err_text(result));
    if (result < 0) {
        hub_machine_free(machine);
    } else if (saving->is_again && user->machine != NULL) {
        renew(hub, user, machine);
    } else {
        result = install(hub, user, machine);
        if (result < 0)
            err_set_plain(&err, result);
    }
    machine = user->machine;
    if (result == 0 && machine != NULL) {
        if (machine->stream == NULL && user->early != NULL) {
            use_stream(hub, machine, user->early);
            user->early = NULL;
        } else if (machine->stream == NULL) {
            wait_for_stream(hub, machine, FIRST_GRACE);
        }
    }
    saving->done(saving->context, result < 0 ? &err : NULL, str_from(saving->session_key),
                 result == 0 && machine != NULL && machine->has_extensions);
    if (result == 0)
        tell_changed(hub, user->id);
    secret_wipe(saving->session_key, sizeof(saving->session_key));
    free(saving);
}

static void on_saved(void *context, int result)
{
    finish_init(context, result);
}

static int begin_init(struct hub *hub, struct str key, struct str body,
                      struct hub_saving **out_saving, struct err *err)
{
    struct hub_machine *machine;
    struct hub_saving *saving;
    struct key_owner owner;
    int r = hub_read_init(hub, body, &machine, err);

    if (r < 0)
        return r;
    r = find_key(hub, key, &owner, err);
    if (r == 0 && !owner.is_static && !is_pairing(&owner) && machine_of_owner(&owner) == NULL)
        r = deny(err, "Invalid API key");
    if (r == 0 && owner.user->saving != NULL) {
        (void)err_set(err, ERR_BUSY, "another machine is connecting; try again");
        r = ERR_BUSY;
    }
    saving = r == 0 ? calloc(1, sizeof(*saving)) : NULL;
    if (r == 0 && saving == NULL) {
        (void)err_set_plain(err, ERR_NO_MEMORY);
        r = ERR_NO_MEMORY;
    }
    if (r != 0) {
        hub_machine_free(machine);
        return r;
    }
    *saving = (struct hub_saving){.hub = hub, .user = owner.user, .machine = machine};
    machine->user = owner.user;
    machine->key = (struct hub_key){.kind = HUB_KEY_SESSION, .user = owner.user};
    machine->has_key = !owner.is_static;
    machine->connected_ms = clock_wall_ms(hub->config.clock);
    if (is_pairing(&owner)) {
        /* Used up from here on, whatever happens. */
        void_token(hub, owner.user);
        memcpy(saving->session_key, "sess_", 5);
        rand_token(saving->session_key + 5, TOKEN_CHARS);
        sha256_of(str_from(saving->session_key), machine->key.digest);
    } else {
        saving->is_again = machine_of_owner(&owner) != NULL;
        if (!owner.is_static)
            memcpy(machine->key.digest, owner.key->digest, SHA256_BYTES);
        if (saving->is_again)
            machine->connected_ms = owner.user->machine->connected_ms;
    }
    owner.user->saving = saving;
    *out_saving = saving;
    return 0;
}

void hub_init(struct hub *hub, struct str key, struct str body, hub_init_done *done, void *context)
{
    struct hub_saving *saving;
    struct hub_record record;
    struct err err = ERR_INIT;
    int r = begin_init(hub, key, body, &saving, &err);

    if (r != 0) {
        done(context, &err, STR_EMPTY, false);
        return;
    }
    saving->done = done;
    saving->context = context;
    record = (struct hub_record){.user = saving->user->id,
                                 .has_key = saving->machine->has_key,
                                 .connected_ms = saving->machine->connected_ms,
                                 .init = body};
    memcpy(record.key_digest, saving->machine->key.digest, SHA256_BYTES);
    hub->config.store->save(hub->config.store_data, &record, on_saved, saving);
}

int hub_restore(struct hub *hub, const struct hub_record *record, struct err *err)
{
    struct hub_machine *machine;
    struct hub_user *user;
    int r = hub_read_init(hub, record->init, &machine, err);

    if (r < 0)
        return r;
    r = add_user(hub, record->user, &user);
    if (r < 0) {
        hub_machine_free(machine);
        return err_set_plain(err, r);
    }
    machine->user = user;
    machine->has_key = record->has_key;
    machine->key = (struct hub_key){.kind = HUB_KEY_SESSION, .user = user};
    memcpy(machine->key.digest, record->key_digest, SHA256_BYTES);
    machine->connected_ms = record->connected_ms;
    r = install(hub, user, machine);
    if (r < 0)
        return err_set_plain(err, r);
    wait_for_stream(hub, machine, RESTORED_GRACE);
    return 0;
}

int hub_restore_files_off(struct hub *hub, int64_t user_id)
{
    struct hub_user *user;
    int r = add_user(hub, user_id, &user);

    if (r == 0)
        user->files_are_off = true;
    return r;
}

/* ---- what users see ---- */

static const struct hub_machine *connected_machine(struct hub *hub, int64_t id,
                                                   const struct hub_user **out_user)
{
    *out_user = hub_find_user(hub, id);
    return *out_user != NULL && (*out_user)->machine != NULL && !(*out_user)->machine->is_gone
               ? (*out_user)->machine
               : NULL;
}

void hub_count(const struct hub *hub, struct hub_counts *out_counts)
{
    struct hub_counts counts = {.calls = hub->calls.count};
    size_t cursor = 0;
    struct str key;
    void *value;

    while (map_next(&hub->users, &cursor, &key, &value)) {
        const struct hub_user *user = value;

        counts.machines += user->machine != NULL;
        counts.connected += user->machine != NULL && !user->machine->is_gone;
    }
    *out_counts = counts;
}

static void write_text_or_null(struct json_writer *json, struct str key, struct str text)
{
    json_key(json, key);
    if (text.len > 0)
        json_write_str(json, text);
    else
        json_write_null(json);
}

int hub_write_status(struct hub *hub, int64_t user_id, struct buf *out)
{
    const struct hub_user *user;
    const struct hub_machine *machine = connected_machine(hub, user_id, &user);
    char since[CLOCK_ISO_BYTES] = "";
    struct json_writer json;

    if (machine != NULL)
        clock_format_iso(machine->connected_ms, since);
    json_writer_init(&json, out);
    json_begin_object(&json);
    json_put_bool(&json, STR("connected"), machine != NULL);
    write_text_or_null(&json, STR("connectedAt"), str_from(since));
    write_text_or_null(&json, STR("directory"), machine != NULL ? machine->root_path : STR_EMPTY);
    write_text_or_null(&json, STR("hostIdentifier"), machine != NULL ? machine->host : STR_EMPTY);
    json_key(&json, STR("toolCategories"));
    json_splice(&json, machine != NULL ? machine->categories : STR("[]"));
    json_put_bool(&json, STR("filesystemEnabled"), user == NULL || !user->files_are_off);
    json_end_object(&json);
    return json_writer_finish(&json);
}

int hub_toggle_files(struct hub *hub, int64_t user_id, bool *out_is_on, struct err *err)
{
    struct hub_user *user;
    int r = add_user(hub, user_id, &user);

    if (r < 0)
        return err_set_plain(err, r);
    user->files_are_off = !user->files_are_off;
    hub->config.store->set_files_off(hub->config.store_data, user_id, user->files_are_off);
    *out_is_on = !user->files_are_off;
    tell_changed(hub, user_id);
    return 0;
}

struct toolset *hub_tools(struct hub *hub, int64_t user_id, unsigned *out_groups)
{
    const struct hub_user *user;
    const struct hub_machine *machine = connected_machine(hub, user_id, &user);

    if (machine == NULL)
        return NULL;
    *out_groups = TOOLSET_ALL_GROUPS & ~(user->files_are_off ? TOOLSET_FILES : 0U);
    return machine->tools;
}

/* ---- time ---- */

static int64_t sooner(int64_t next_ms, int64_t ms)
{
    return next_ms < 0 || ms < next_ms ? ms : next_ms;
}

static int64_t expire_tokens(struct hub *hub, int64_t next_ms)
{
    int64_t now = hub_now(hub);

    while (!list_is_empty(&hub->tokens)) {
        struct hub_user *user = list_entry(hub->tokens.next, struct hub_user, token_node);

        if (user->token_until_ms > now)
            return sooner(next_ms, user->token_until_ms - now);
        void_token(hub, user);
        close_stream(hub, &user->early);
    }
    return next_ms;
}

/* Looks at the first of each list only: this runs with every call, and thousands may wait. */
static int64_t expire_machines(struct hub *hub, int64_t next_ms)
{
    int64_t now = hub_now(hub);
    unsigned gone = 0;

    for (size_t i = 0; i < HUB_GRACES; i++)
        while (!list_is_empty(&hub->waiting[i])) {
            struct hub_machine *machine =
                list_entry(hub->waiting[i].next, struct hub_machine, node);

            if (machine->gone_at_ms > now) {
                next_ms = sooner(next_ms, machine->gone_at_ms - now);
                break;
            }
            if (gone++ == GONE_A_TURN)
                return 0;
            list_remove(&machine->node);
            machine->is_gone = true;
            hub_fail_calls(hub, machine->user, ERR_GATEWAY_MISSING, "the machine does not answer");
            tell_changed(hub, machine->user->id);
        }
    return next_ms;
}

int64_t hub_expire(struct hub *hub)
{
    int64_t next_ms = expire_tokens(hub, -1);

    next_ms = expire_machines(hub, next_ms);
    return hub_expire_calls(hub, next_ms);
}

/* ---- the hub ---- */

int hub_new(const struct hub_config *config, struct hub **out_hub)
{
    struct hub *hub = calloc(1, sizeof(*hub));
    struct hub_user *user;
    int r;

    if (hub == NULL)
        return ERR_NO_MEMORY;
    hub->config = *config;
    if (config->static_key.len > 0) {
        hub->has_static_key = true;
        sha256_of(config->static_key, hub->static_digest);
        hub->config.static_key = STR_EMPTY;
    }
    hub->users = (struct map)MAP_INIT(HUB_MAX_USERS);
    hub->keys = (struct map)MAP_INIT(2 * HUB_MAX_USERS);
    hub->calls = (struct map)MAP_INIT(HUB_MAX_CALLS);
    hub->numbers = (struct map)MAP_INIT(HUB_MAX_CALLS);
    hub->toolsets = (struct map)MAP_INIT(TOOLSET_MAX_SETS);
    list_init(&hub->all_users);
    list_init(&hub->due[HUB_N8N]);
    list_init(&hub->due[HUB_SEED]);
    list_init(&hub->tokens);
    for (size_t i = 0; i < HUB_GRACES; i++)
        list_init(&hub->waiting[i]);
    /* Known from the start, so that hub_forget() is told of a removal before the key was used. */
    r = hub->has_static_key ? add_user(hub, config->static_user, &user) : 0;
    if (r < 0) {
        hub_free(hub);
        return r;
    }
    *out_hub = hub;
    return 0;
}

static void free_user(struct hub *hub, struct hub_user *user)
{
    assert(user->saving == NULL);
    hub_fail_calls(hub, user, ERR_CANCELLED, "the server stops");
    void_token(hub, user);
    if (user->machine != NULL) {
        unlist_key(hub, &user->machine->key);
        close_stream(hub, &user->machine->stream);
        list_remove(&user->machine->node);
        hub_machine_free(user->machine);
    }
    close_stream(hub, &user->early);
    free(user);
}

void hub_free(struct hub *hub)
{
    size_t cursor = 0;
    struct str key;
    void *user;

    if (hub == NULL)
        return;
    while (map_next(&hub->users, &cursor, &key, &user))
        free_user(hub, user);
    map_done(&hub->users);
    map_done(&hub->keys);
    map_done(&hub->calls);
    map_done(&hub->numbers);
    map_done(&hub->toolsets);
    buf_done(&hub->answer);
    secret_wipe(&hub->last_key, sizeof(hub->last_key));
    free(hub);
}
