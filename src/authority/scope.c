/* SPDX-License-Identifier: Apache-2.0 */
/* Grants: created on request, listed, exported, revoked, freed with their scope. */
#include "authority/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/jsonwrite.h"

enum { SCOPE_MAX_BYTES = 1 << 20, SCOPE_MAX_LABELS = 64 };

int scope_check_alive(const struct authority_scope *scope)
{
    if (atomic_load(&scope->is_revoked))
        return ERR_GRANT_REVOKED;
    if (scope->grant.expires_ms != 0 &&
        clock_wall_ms(scope->authority->clock) >= scope->grant.expires_ms)
        return ERR_GRANT_EXPIRED;
    return 0;
}

static bool is_allowed(const struct authority_scope *scope, struct str name)
{
    return glob_set_is_empty(scope->allowed) || glob_set_matches(scope->allowed, name);
}

/*
 * Private names of the authority, for unfinished objects: nobody may see or use them, or a file
 * could be read, or be replaced, while it is being written.
 */
static bool is_private(struct str name)
{
    const char *end = name.ptr + name.len;

    /* Few names have a dot at all, and most of those not at the beginning. */
    for (const char *at = name.ptr; at < end; at++) {
        at = memchr(at, '.', (size_t)(end - at));
        if (at == NULL)
            return false;
        if ((at == name.ptr || at[-1] == '/') &&
            scope_is_private((struct str){at, (size_t)(end - at)}))
            return true;
    }
    return false;
}

static bool is_protected(const struct authority_scope *scope, struct str name)
{
    for (size_t i = 0; i < scope->protected_count; i++)
        if (path_is_within(name, scope->protected[i]))
            return true;
    return false;
}

/* The first filter that denies it. */
static const struct authority_filter *find_filter(const struct authority_scope *scope,
                                                  struct str name, enum scope_use use)
{
    for (size_t i = 0; i < array_size(scope->filters); i++) {
        const struct authority_filter *filter = &scope->filters[i];

        if (scope_is_filtering(filter) && filter->denies(filter->data, name, use == SCOPE_CHANGE))
            return filter;
    }
    return NULL;
}

static bool is_filtered(const struct authority_scope *scope, struct str name, enum scope_use use)
{
    return find_filter(scope, name, use) != NULL;
}

/* Whether nothing denies it; it must also be allowed. */
static bool is_undenied(const struct authority_scope *scope, struct str name, enum scope_use use)
{
    return !is_private(name) && !is_protected(scope, name) &&
           !glob_set_matches(scope->denied, name) && !is_filtered(scope, name, use);
}

bool scope_admits(const struct authority_scope *scope, struct str name, enum scope_use use)
{
    return name.len == 0 || (is_allowed(scope, name) && is_undenied(scope, name, use));
}

bool scope_admits_directory(const struct authority_scope *scope, struct str name,
                            enum scope_use use)
{
    return name.len == 0 ||
           ((is_allowed(scope, name) || glob_set_may_match_below(scope->allowed, name)) &&
            is_undenied(scope, name, use));
}

const char *scope_refuser(const struct authority_scope *scope, struct str name, enum scope_use use,
                          char out_rule[AUTHORITY_RULE_BYTES])
{
    const struct authority_filter *filter = find_filter(scope, name, use);
    const char *glob = filter == NULL ? glob_set_find(scope->denied, name) : NULL;

    out_rule[0] = '\0';
    if (glob != NULL)
        snprintf(out_rule, AUTHORITY_RULE_BYTES, "%s", glob);
    else if (filter != NULL && filter->tell != NULL)
        filter->tell(filter->data, name, use == SCOPE_CHANGE, out_rule);
    return filter != NULL && filter->policy_id != NULL ? filter->policy_id : "grant";
}

bool scope_admits_below(const struct authority_scope *scope, struct str directory, struct str name,
                        bool is_directory, enum scope_use use)
{
    __attribute__((uninitialized)) struct path_name full; /* asked for every entry of a walk */

    if (path_join(directory, name, &full) < 0)
        return false;
    return is_directory ? scope_admits_directory(scope, path_view(&full), use)
                        : scope_admits(scope, path_view(&full), use);
}

/* ---- making ---- */

/* NULL stays NULL; false without memory. */
static bool copy_text(struct arena *arena, const char *text, const char **out_copy)
{
    *out_copy = NULL;
    if (text == NULL)
        return true;
    *out_copy = arena_copy(arena, str_from(text));
    return *out_copy != NULL;
}

static bool copy_root(struct arena *arena, const struct authority_root *root,
                      struct authority_root *out_copy)
{
    struct authority_label *labels;

    *out_copy = *root;
    if (root->label_count > SCOPE_MAX_LABELS || !copy_text(arena, root->id, &out_copy->id) ||
        !copy_text(arena, root->path, &out_copy->path) ||
        !copy_text(arena, root->display_name, &out_copy->display_name))
        return false;
    labels = arena_alloc_array(arena, root->label_count, sizeof(*labels));
    if (labels == NULL)
        return false;
    for (size_t i = 0; i < root->label_count; i++)
        if (!copy_text(arena, root->labels[i].key, &labels[i].key) ||
            !copy_text(arena, root->labels[i].value, &labels[i].value))
            return false;
    out_copy->labels = labels;
    return true;
}

static int fill(struct authority_scope *scope, const struct authority_request *request,
                struct err *err)
{
    const struct authority_limits *limits = &request->limits;
    struct authority_grant *grant = &scope->grant;
    int r;

    *grant = (struct authority_grant){
        .subject = {.type = request->subject.type},
        .access = request->access,
        .source = request->source,
        .expires_ms = request->expires_ms,
    };
    if (!copy_text(&scope->arena, request->subject.id, &grant->subject.id) ||
        !copy_text(&scope->arena, request->subject.run_id, &grant->subject.run_id) ||
        !copy_text(&scope->arena, request->reason, &grant->reason) ||
        !copy_root(&scope->arena, &request->root, &grant->root))
        return err_set_plain(err, ERR_TOO_LARGE);
    scope->shown_root = grant->root;
    scope->shown_root.path = NULL;
    scope->is_interactive = request->is_interactive;
    scope->follows_links = limits->symlinks == AUTHORITY_SYMLINKS_DEFAULT
                               ? kind_follows_links(request->root.kind)
                               : limits->symlinks == AUTHORITY_SYMLINKS_IN_ROOT;
    scope->allows_hardlinks = limits->hardlinks == AUTHORITY_HARDLINKS_ALLOW;
    scope->reads_hardlinks = limits->hardlinks == AUTHORITY_HARDLINKS_READ;
    scope->shows_sensitive = limits->shows_sensitive;
    scope->max_file_bytes = limits->max_file_bytes;
    scope->filters[0] = limits->filter;
    scope->filters[1] = limits->narrowing;
    if (!copy_text(&scope->arena, limits->filter.policy_id, &scope->filters[0].policy_id) ||
        !copy_text(&scope->arena, limits->narrowing.policy_id, &scope->filters[1].policy_id))
        return err_set_plain(err, ERR_TOO_LARGE);
    r = glob_set_compile(&scope->arena, limits->allowed_globs, &scope->allowed, err);
    if (r == 0)
        r = glob_set_compile(&scope->arena, limits->denied_globs, &scope->denied, err);
    return r;
}

static int find_real_path(struct authority_scope *scope, struct err *err)
{
    char path[PATH_MAX];
    int r;

    if (scope->real_path != NULL)
        return 0;
    r = authority_scope_path(scope, path);
    if (r < 0 && r != ERR_UNSUPPORTED)
        return err_set_plain(err, r);
    /* In memory, a root has one path. */
    scope->real_path = arena_copy(&scope->arena, str_from(r == 0 ? path : scope->grant.root.path));
    return scope->real_path != NULL ? 0 : err_set_plain(err, scope->arena.error);
}

int scope_new(struct authority *authority, const struct authority_request *request,
              struct backend_root *root, struct authority_scope **out_scope, struct err *err)
{
    struct authority_scope *scope = calloc(1, sizeof(*scope));
    int r;

    if (scope == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    arena_init(&scope->arena, SCOPE_MAX_BYTES);
    scope->authority = authority;
    scope->root = root;
    r = fill(scope, request, err);
    if (r == 0)
        r = protect_scope(scope, err);
    /* It tells which other names of a file usually hold secrets. */
    if (r == 0 && scope->reads_hardlinks)
        r = find_real_path(scope, err);
    if (r < 0) {
        arena_done(&scope->arena);
        free(scope);
        return r;
    }
    scope->has_globs = !glob_set_is_empty(scope->allowed) || !glob_set_is_empty(scope->denied) ||
                       scope->protected_count > 0;
    atomic_init(&scope->is_revoked, false);
    pthread_mutex_init(&scope->watch_lock, NULL);
    list_init(&scope->watches);
    pthread_mutex_lock(&authority->grants_lock);
    scope->grant.id = ++authority->last_grant;
    list_append(&authority->scopes, &scope->link);
    pthread_mutex_unlock(&authority->grants_lock);
    *out_scope = scope;
    return 0;
}

static int check_request(const struct authority_request *request, struct err *err)
{
    if (request->subject.id == NULL || request->root.id == NULL || request->root.path == NULL ||
        request->root.path[0] != '/')
        return err_set(err, ERR_INVALID_ARGUMENT, "a request needs a subject and a root");
    if (request->reason == NULL || request->reason[0] == '\0')
        return err_set(err, ERR_INVALID_ARGUMENT, "a request needs a reason");
    if (request->access == 0 || (request->access & ~(unsigned)AUTHORITY_ALL_ACCESS) != 0)
        return err_set(err, ERR_INVALID_ARGUMENT, "the request has an unknown kind of access");
    return kind_check_request(request, err);
}

/* Secrets must not be accessible to group and others. */
static int check_strictness(struct authority *authority, const struct authority_request *request,
                            struct backend_root *root, struct err *err)
{
    const struct backend_lookup lookup = {0};
    struct authority_stat about;
    int r;

    if (request->root.kind != AUTHORITY_SECRET)
        return 0;
    r = authority->backend->ops->stat(root, &lookup, STR_EMPTY, &about);
    if (r < 0)
        return err_set_plain(err, r);
    if ((about.mode & 077) != 0)
        return err_set(err, ERR_DENIED_BY_POLICY, "a secret's directory must have mode 0700");
    return 0;
}

int authority_request_root(struct authority *authority, const struct authority_request *request,
                           struct authority_scope **out_scope, struct err *err)
{
    struct authority_request shown = *request;
    struct authority_scope *scope = NULL;
    struct backend_root *root = NULL;
    struct err why = ERR_INIT;
    struct operation op;
    int r;

    shown.root.path = NULL;
    r = operation_begin_request(&op, authority, AUTHORITY_OP_REQUEST_ROOT, &shown);
    if (r == 0)
        r = check_request(request, &why);
    if (r == 0) {
        r = authority->backend->ops->root_open(authority->backend, request->root.path, &root);
        if (r == 0)
            r = check_strictness(authority, request, root, &why);
    }
    if (r == 0)
        r = scope_new(authority, request, root, &scope, &why);
    if (r < 0 && root != NULL)
        authority->backend->ops->root_close(root);
    operation_explain(&op, &why);
    r = operation_end(&op, r, err);
    if (r == 0)
        *out_scope = scope;
    return r;
}

void authority_scope_free(struct authority_scope *scope)
{
    const struct backend_ops *ops;

    if (scope == NULL)
        return;
    ops = scope->authority->backend->ops;
    pthread_mutex_lock(&scope->authority->grants_lock);
    list_remove(&scope->link);
    pthread_mutex_unlock(&scope->authority->grants_lock);
    scope_end_watches(scope);
    pthread_mutex_destroy(&scope->watch_lock);
    if (scope->is_temporary)
        ops->temp_drop(scope->root);
    else
        ops->root_close(scope->root);
    arena_done(&scope->arena);
    free(scope);
}

/* ---- joining ---- */

/* By either path, as names may begin with either. */
static bool strip_root(const struct authority_scope *scope, struct str *name)
{
    return path_strip_root(name, scope->real_path) || path_strip_root(name, scope->grant.root.path);
}

static bool do_overlap(const struct authority_scope *a, const struct authority_scope *b)
{
    struct str paths[] = {str_from(a->real_path), str_from(a->grant.root.path),
                          str_from(b->real_path), str_from(b->grant.root.path)};

    return strip_root(b, &paths[0]) || strip_root(b, &paths[1]) || strip_root(a, &paths[2]) ||
           strip_root(a, &paths[3]);
}

int authority_scope_join(struct authority_scope *scope, struct authority_scope *other,
                         struct err *err)
{
    struct authority_scope *last = scope;
    int r = find_real_path(scope, err);

    if (r == 0)
        r = find_real_path(other, err);
    if (r < 0)
        return r;
    if (other->authority != scope->authority || other->next_joined != NULL)
        return err_set_plain(err, ERR_INVALID_ARGUMENT);
    for (struct authority_scope *one = scope; one != NULL; one = one->next_joined) {
        if (do_overlap(one, other))
            return err_set(err, ERR_INVALID_ARGUMENT,
                           "one of two folders contains the other, or they are the same");
        last = one;
    }
    last->next_joined = other;
    other->first_joined = scope;
    return 0;
}

struct authority_scope *scope_find_joined(struct authority_scope *scope, struct str *name)
{
    for (struct authority_scope *one = scope; one != NULL; one = one->next_joined)
        if (strip_root(one, name))
            return one;
    return scope;
}

/* ---- asking about them ---- */

uint64_t authority_scope_grant(const struct authority_scope *scope)
{
    return scope->grant.id;
}

int authority_scope_path(struct authority_scope *scope, char out_path[PATH_MAX])
{
    return scope->authority->backend->ops->root_path(scope->root, out_path);
}

void authority_grants(struct authority *authority,
                      void (*visit)(void *data, const struct authority_grant *grant), void *data)
{
    pthread_mutex_lock(&authority->grants_lock);
    list_each_safe (node, &authority->scopes) {
        const struct authority_scope *scope = list_entry(node, struct authority_scope, link);

        if (scope_check_alive(scope) == 0)
            visit(data, &scope->grant);
    }
    pthread_mutex_unlock(&authority->grants_lock);
}

bool authority_revoke(struct authority *authority, uint64_t grant_id)
{
    bool was_valid = false;

    pthread_mutex_lock(&authority->grants_lock);
    list_each (node, &authority->scopes) {
        struct authority_scope *scope = list_entry(node, struct authority_scope, link);

        if (scope->grant.id == grant_id)
            was_valid = !atomic_exchange(&scope->is_revoked, true);
    }
    pthread_mutex_unlock(&authority->grants_lock);
    return was_valid;
}

static void write_access(struct json_writer *w, unsigned access)
{
    json_begin_array(w);
    for (unsigned bit = 1; bit <= AUTHORITY_ALL_ACCESS; bit <<= 1)
        if ((access & bit) != 0)
            json_write_str(w, str_from(authority_access_name((enum authority_access)bit)));
    json_end_array(w);
}

static void write_grant(void *data, const struct authority_grant *grant)
{
    struct json_writer *w = data;

    json_begin_object(w);
    json_key(w, STR("grant"));
    json_write_int(w, (int64_t)grant->id);
    json_key(w, STR("subject"));
    json_begin_object(w);
    json_key(w, STR("type"));
    json_write_str(w, str_from(authority_subject_type_name(grant->subject.type)));
    json_key(w, STR("id"));
    json_write_str_lossy(w, str_from(grant->subject.id));
    if (grant->subject.run_id != NULL) {
        json_key(w, STR("runId"));
        json_write_str_lossy(w, str_from(grant->subject.run_id));
    }
    json_end_object(w);
    json_key(w, STR("kind"));
    json_write_str(w, str_from(authority_root_kind_name(grant->root.kind)));
    json_key(w, STR("id"));
    json_write_str_lossy(w, str_from(grant->root.id));
    /* A path must be exact: one that is not UTF-8 ends the export. */
    if (grant->root.path != NULL) { /* a temporary workspace has none to tell */
        json_key(w, STR("path"));
        json_write_str(w, str_from(grant->root.path));
    }
    json_key(w, STR("access"));
    write_access(w, grant->access);
    json_key(w, STR("source"));
    json_write_str(w, str_from(authority_source_name(grant->source)));
    if (grant->expires_ms != 0) {
        char time[CLOCK_ISO_BYTES];

        clock_format_iso(grant->expires_ms, time);
        json_key(w, STR("expiresAt"));
        json_write_str(w, str_from(time));
    }
    json_end_object(w);
}

int authority_export_grants(struct authority *authority, struct buf *out)
{
    struct json_writer w;

    json_writer_init(&w, out);
    json_begin_array(&w);
    authority_grants(authority, write_grant, &w);
    json_end_array(&w);
    return json_writer_finish(&w);
}
