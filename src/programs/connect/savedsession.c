/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/connect/savedsession.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/hex.h"
#include "base/jsonwrite.h"
#include "permission/settings/dir.h"

enum {
    NAME_BYTES = 64,
    NAME_DIGEST_BYTES = 16,
    FILE_BYTES = 64 << 10,
    ARENA_BYTES = 16 * FILE_BYTES,
    FILE_MODE = 0600,
};

static const struct authority_remove_options gone = {.may_miss = true};
static const char *const dialects[] = {[GATEWAY_N8N] = "n8n", [GATEWAY_SEED] = "seed"};

/* Includes the NUL, so that no two lists of texts have the same bytes. */
static void add_text(struct sha256 *hash, const char *text)
{
    sha256_add(hash, (struct str){text, strlen(text) + 1});
}

static void add_number(struct sha256 *hash, int64_t number)
{
    sha256_add(hash, (struct str){(const char *)&number, sizeof(number)});
}

static void add_url(struct sha256 *hash, const struct httpurl *url)
{
    add_number(hash, url->is_tls);
    add_number(hash, url->port);
    add_text(hash, url->host);
    add_text(hash, url->path);
}

static void add_list(struct sha256 *hash, const char *const *items)
{
    for (size_t i = 0; items != NULL && items[i] != NULL; i++)
        add_text(hash, items[i]);
    add_text(hash, ""); /* the list's end */
}

static bool has_items(const char *const *items)
{
    return items != NULL && items[0] != NULL;
}

/* No values: they may be secrets that can be guessed, and the digest lies on the disk. */
static void add_names(struct sha256 *hash, const char *const *variables)
{
    for (; *variables != NULL; variables++) {
        sha256_add(hash, (struct str){*variables, strcspn(*variables, "=")});
        sha256_add(hash, (struct str){"", 1});
    }
    add_text(hash, "");
}

void saved_session_digest(const struct saved_session_terms *terms,
                          char out_digest[SAVED_SESSION_TERMS_BYTES])
{
    unsigned char digest[SHA256_BYTES];
    struct sha256 hash;

    sha256_init(&hash);
    add_url(&hash, terms->url);
    add_text(&hash, terms->choices->dir);
    for (size_t i = 0; i < PERMISSION_GROUPS; i++)
        add_number(&hash, terms->choices->modes.of[i]);
    add_number(&hash, terms->choices->modes.sensitive);
    add_number(&hash, terms->choices->modes.allows_autorun);
    add_number(&hash, terms->choices->has_write_access);
    add_number(&hash, terms->shell_is_open);
    add_number(&hash, terms->shell_has_network);
    add_list(&hash, terms->shell_writable);
    add_list(&hash, terms->shell_readable);
    add_number(&hash, terms->shell_timeout_ms);
    add_number(&hash, terms->asks_here);
    add_number(&hash, (int64_t)terms->max_file_bytes);
    add_number(&hash, (int64_t)terms->max_lines);
    for (size_t i = 0; i < terms->choices->other_count; i++) {
        add_text(&hash, terms->choices->others[i].path);
        add_number(&hash, terms->choices->others[i].may_write);
    }
    if (terms->choices->other_count > 0)
        add_number(&hash, terms->choices->only_reads_dir);
    if (terms->allows_remote_always) /* else as before there was such a thing */
        add_text(&hash, "remote-always");
    if (has_items(terms->shell_domains)) {
        add_text(&hash, "domains"); /* the same holds for them */
        add_list(&hash, terms->shell_domains);
    }
    if (terms->reads_hardlinks)
        add_text(&hash, "hard-links");
    if (has_items(terms->shell_env)) {
        add_text(&hash, "variables"); /* and for these */
        add_names(&hash, terms->shell_env);
    }
    if (has_items(terms->denied) || has_items(terms->allowed)) {
        add_text(&hash, "globs"); /* and for these */
        add_list(&hash, terms->denied);
        add_list(&hash, terms->allowed);
    }
    sha256_end(&hash, digest);
    hex_text(out_digest, digest, sizeof(digest));
}

void saved_session_name_others(const struct session *session,
                               char out_digest[SAVED_SESSION_TERMS_BYTES])
{
    unsigned char digest[SHA256_BYTES];
    struct sha256 hash;

    out_digest[0] = '\0';
    if (session->folder_count == 1)
        return;
    sha256_init(&hash);
    for (size_t i = 1; i < session->folder_count; i++)
        add_text(&hash, session->folders[i].root_path);
    sha256_end(&hash, digest);
    hex_text(out_digest, digest, sizeof(digest));
}

/* ---- the file ---- */

static void name_of(const struct httpurl *url, const char *ending, char out_name[NAME_BYTES])
{
    char hex[2 * NAME_DIGEST_BYTES + 1];
    unsigned char digest[SHA256_BYTES];
    struct sha256 hash;

    sha256_init(&hash);
    add_url(&hash, url);
    sha256_end(&hash, digest);
    hex_text(hex, digest, NAME_DIGEST_BYTES);
    snprintf(out_name, NAME_BYTES, "session-%s.%s", hex, ending);
}

int saved_session_lock(int state_fd, const struct httpurl *url, int *out_fd, struct err *err)
{
    char name[NAME_BYTES];
    int r;

    name_of(url, "lock", name);
    r = settingsdir_lock(state_fd, name, 0, out_fd, err);
    return r == ERR_BUSY ? err_set(err, r, "another daemon is using the session with this server")
                         : r;
}

static int open_scope(struct authority *authority, const char *state_path,
                      struct authority_scope **out_scope, struct err *err)
{
    const struct authority_request request = {
        .subject = {.type = AUTHORITY_CORE, .id = "daemon"},
        .root = {.kind = AUTHORITY_WORKSPACE, .id = "state", .path = state_path},
        .access = AUTHORITY_READ | AUTHORITY_METADATA | AUTHORITY_WRITE | AUTHORITY_DELETE,
        .reason = "saved session key",
        .source = AUTHORITY_FROM_CORE,
        .limits = {.symlinks = AUTHORITY_SYMLINKS_REJECT},
    };

    return authority_request_root(authority, &request, out_scope, err);
}

static bool copy_text(const struct json_value *document, struct str key, char *out, size_t size)
{
    struct str text;

    /* Not cut, nor at a NUL. */
    if (!json_get_str(document, key, &text) || text.len >= size ||
        memchr(text.ptr, '\0', text.len) != NULL)
        return false;
    snprintf(out, size, "%.*s", STR_ARG(text));
    return true;
}

static bool dialect_from(struct str name, enum gateway_dialect *out_dialect)
{
    size_t index = str_index(name, dialects, array_size(dialects));

    if (index != SIZE_MAX)
        *out_dialect = (enum gateway_dialect)index;
    return index != SIZE_MAX;
}

static bool read_document(const struct json_value *document, struct saved_session *kept)
{
    struct str text;

    return copy_text(document, STR("terms"), kept->terms, sizeof(kept->terms)) &&
           copy_text(document, STR("root"), kept->root_path, sizeof(kept->root_path)) &&
           (json_get(document, STR("others")) == NULL ||
            copy_text(document, STR("others"), kept->others, sizeof(kept->others))) &&
           json_get_str(document, STR("dialect"), &text) && dialect_from(text, &kept->dialect) &&
           json_get_str(document, STR("key"), &text) && saved_session_is_key(text) &&
           secret_set(&kept->key, text) == 0;
}

int saved_session_parse(struct str text, struct saved_session *out_saved)
{
    cleanup_arena struct arena arena = ARENA_INIT(ARENA_BYTES);
    const struct json_value *document;
    struct saved_session kept = {.dialect = GATEWAY_N8N};
    int r = text.len <= FILE_BYTES ? json_parse(&arena, text, JSON_LIMITS_DEFAULT, &document, NULL)
                                   : ERR_TOO_LARGE;

    if (r == 0 && !read_document(document, &kept))
        r = ERR_INVALID_JSON;
    if (r == 0) {
        json_get_bool(document, STR("extensions"), &kept.has_extensions); /* false if missing */
        *out_saved = kept;
    }
    secret_done(&kept.key);
    return r;
}

int saved_session_read(struct authority *authority, const char *state_path,
                       const struct httpurl *url, const char *terms,
                       struct saved_session *out_saved)
{
    cleanup_with(saved_session_wipe) struct buf text = BUF_INIT(FILE_BYTES);
    struct authority_scope *scope = NULL;
    struct saved_session kept = {.dialect = GATEWAY_N8N};
    char name[NAME_BYTES];
    int r = open_scope(authority, state_path, &scope, NULL);

    name_of(url, "json", name);
    if (r == 0)
        r = authority_read_bytes(scope, str_from(name), NULL, &text, NULL);
    authority_scope_free(scope);
    if (r == 0)
        r = saved_session_parse(buf_view(&text), &kept);
    if (r == 0 && strcmp(kept.terms, terms) == 0)
        *out_saved = kept;
    else
        r = ERR_NOT_FOUND;
    secret_done(&kept.key);
    return r;
}

int saved_session_format(const struct saved_session *kept, struct buf *out)
{
    struct json_writer json;

    json_writer_init(&json, out);
    json_begin_object(&json);
    json_put_str(&json, STR("terms"), str_from(kept->terms));
    json_put_str(&json, STR("root"), str_from(kept->root_path));
    if (kept->others[0] != '\0')
        json_put_str(&json, STR("others"), str_from(kept->others));
    json_put_str(&json, STR("dialect"), str_from(dialects[kept->dialect]));
    if (kept->has_extensions)
        json_put_bool(&json, STR("extensions"), true);
    json_put_str(&json, STR("key"), secret_reveal(&kept->key));
    json_end_object(&json);
    return json_writer_finish(&json);
}

int saved_session_write(struct authority *authority, const char *state_path,
                        const struct httpurl *url, const struct saved_session *kept,
                        struct err *err)
{
    const struct authority_write_options options = {.mode = FILE_MODE};
    cleanup_with(saved_session_wipe) struct buf text = BUF_INIT(FILE_BYTES);
    struct authority_scope *scope = NULL;
    char name[NAME_BYTES];
    int r;

    name_of(url, "json", name);
    /* Allocated at once: growing would leave copies of the key. */
    r = buf_reserve(&text, FILE_BYTES);
    if (r == 0)
        r = saved_session_format(kept, &text);
    if (r < 0)
        return err_set_plain(err, r);
    r = open_scope(authority, state_path, &scope, err);
    if (r == 0) /* a file that is replaced would keep its mode */
        r = authority_remove(scope, str_from(name), &gone, err);
    if (r == 0)
        r = authority_write_bytes(scope, str_from(name), buf_view(&text), &options, err);
    authority_scope_free(scope);
    return r;
}

bool saved_session_is_there(struct authority *authority, const char *state_path,
                            const struct httpurl *url)
{
    struct authority_scope *scope = NULL;
    char name[NAME_BYTES];
    bool is_there = true;

    name_of(url, "json", name);
    if (open_scope(authority, state_path, &scope, NULL) < 0 ||
        authority_exists(scope, str_from(name), &is_there, NULL) < 0)
        is_there = true; /* if in doubt, it is removed */
    authority_scope_free(scope);
    return is_there;
}

void saved_session_remove(struct authority *authority, const char *state_path,
                          const struct httpurl *url)
{
    struct authority_scope *scope = NULL;
    char name[NAME_BYTES];

    name_of(url, "json", name);
    if (open_scope(authority, state_path, &scope, NULL) == 0)
        (void)authority_remove(scope, str_from(name), &gone, NULL);
    authority_scope_free(scope);
}
