/* SPDX-License-Identifier: Apache-2.0 */
/* What requests do: arguments from JSON, one call of the library, the result as JSON. */
#include "programs/authority/internal.h"

#include <string.h>

#include "authority/names/path.h"
#include "base/utf8.h"
#include "programs/authority/request.h"

static const char *const creations[] = {"any", "new", "replace"};
static const char *const forms[] = {"bytes", "text"};
static const char *const formats[] = {
    [AUTHORITY_TAR_GZ] = "tar.gz",
    [AUTHORITY_TAR_XZ] = "tar.xz",
    [AUTHORITY_TAR_ZST] = "tar.zst",
    [AUTHORITY_ZIP] = "zip",
};

/* ---- arguments ---- */

static int take_name(struct served_request *request, const char *key, bool is_needed,
                     struct str *out_name, struct err *err)
{
    return request_name(&request->arena, request->json, str_from(key), is_needed, out_name, err);
}

static int take_scope(struct served_request *request, const char *key, struct held_scope **out_held,
                      struct err *err)
{
    uint64_t id;
    int r = request_number(request->json, str_from(key), &id, err);

    if (r < 0)
        return r;
    *out_held = scopes_take(request->service, id);
    return *out_held != NULL
               ? 0
               : err_set(err, ERR_NOT_FOUND, "\"%s\": no such scope; was it released?", key);
}

static bool is_on(const struct served_request *request, const char *key)
{
    return request_is_on(request->json, str_from(key));
}

static int take_number(const struct served_request *request, const char *key, uint64_t *out_number,
                       struct err *err)
{
    return request_number(request->json, str_from(key), out_number, err);
}

/* ---- results ---- */

static void put_time(struct json_writer *w, int64_t ms)
{
    char time[CLOCK_ISO_BYTES];

    clock_format_iso(ms < 0 ? 0 : ms > CLOCK_LAST_MS ? CLOCK_LAST_MS : ms, time);
    json_put_str(w, STR("modifiedAt"), str_from(time));
}

static void put_type(struct json_writer *w, enum authority_type type)
{
    static const char *const types[] = {
        [AUTHORITY_FILE] = "file",
        [AUTHORITY_DIRECTORY] = "directory",
        [AUTHORITY_SYMLINK] = "symlink",
        [AUTHORITY_OTHER] = "other",
    };

    json_put_str(w, STR("type"), str_from(types[type]));
}

static void put_stat(struct json_writer *w, const struct authority_stat *about)
{
    json_put_int(w, STR("size"), about->size > INT64_MAX ? INT64_MAX : (int64_t)about->size);
    put_time(w, about->modified_ms);
    json_put_int(w, STR("mode"), about->mode & 07777);
    json_put_int(w, STR("links"), about->links);
}

static int put_scope(struct served_request *request, struct authority_scope *scope,
                     const struct authority_subject *subject, struct err *err)
{
    uint64_t grant = authority_scope_grant(scope);
    uint64_t id;
    int r = scopes_add(request->service, scope, subject, &id, err);

    if (r < 0)
        return r;
    json_put_int(&request->result, STR("scope"), (int64_t)id);
    json_put_int(&request->result, STR("grant"), (int64_t)grant);
    return 0;
}

/* ---- grants ---- */

/* In one of the directories of the command line, by whole components. */
static bool is_served(const struct authority_service *service, const char *path)
{
    struct path_name below;

    if (service->config.directories == NULL)
        return true;
    for (size_t i = 0; i < service->config.directory_count; i++)
        if (path_normalise(str_from(path), service->config.directories[i], false, &below) == 0)
            return true;
    return false;
}

static int check_place(const struct authority_service *service, struct authority_scope *scope,
                       struct err *err)
{
    struct authority_note note = {.operation = AUTHORITY_OP_REQUEST_ROOT,
                                  .outcome = AUTHORITY_DENIED,
                                  .error = ERR_DENIED_BY_POLICY,
                                  .policy_source = "default"};
    char path[PATH_MAX];

    if (service->config.directories == NULL)
        return 0;
    if (authority_scope_path(scope, path) == 0 && !ownplaces_has(service->config.own, path) &&
        !path_is_within(str_from(path), str_from(service->config.state_path)))
        return 0;
    (void)authority_note(scope, &note);
    return err_set(err, ERR_DENIED_BY_POLICY, "Gatehouse's own directories are never granted");
}

static int request_root(struct served_request *request, struct err *err)
{
    struct authority_scope *scope = NULL;
    struct authority_request wanted;
    int r = request_parse_root(&request->arena, request->json, &wanted, err);

    if (r < 0)
        return r;
    /* The policy refuses it then, so that it is recorded. */
    request->is_unserved = !is_served(request->service, wanted.root.path);
    r = authority_request_root(request->service->config.authority, &wanted, &scope, err);
    if (r < 0)
        return request->is_unserved && r == ERR_DENIED_BY_POLICY
                   ? err_set(err, ERR_PATH_OUTSIDE_ROOT,
                             "the root is in none of the directories that gatehouse authority was "
                             "started with")
                   : r;
    r = check_place(request->service, scope, err);
    if (r < 0) {
        authority_scope_free(scope);
        return r;
    }
    return put_scope(request, scope, &wanted.subject, err);
}

static int create_temp(struct served_request *request, struct err *err)
{
    struct authority_scope *scope = NULL;
    struct authority_subject subject;
    const char *reason;
    int r = request_parse_subject(&request->arena, json_get(request->json, STR("subject")),
                                  &subject, err);

    if (r == 0)
        r = request_text(&request->arena, request->json, STR("reason"), true, &reason, err);
    if (r == 0)
        r = authority_create_temp(request->service->config.authority, &subject, reason, &scope,
                                  err);
    return r == 0 ? put_scope(request, scope, &subject, err) : r;
}

static int release(struct served_request *request, struct err *err)
{
    uint64_t id;
    int r = take_number(request, "scope", &id, err);

    if (r == 0)
        scopes_end_release(request->service, id);
    return r;
}

static int revoke_grant(struct served_request *request, struct err *err)
{
    uint64_t grant;
    int r = take_number(request, "grant", &grant, err);

    if (r == 0)
        json_put_bool(&request->result, STR("revoked"),
                      authority_revoke(request->service->config.authority, grant));
    return r;
}

static int grants(struct served_request *request, struct err *err)
{
    cleanup_buf struct buf text = BUF_INIT(WIRE_MAX_CONTENT);
    int r = authority_export_grants(request->service->config.authority, &text);

    if (r < 0)
        return err_set_plain(err, r);
    json_key(&request->result, STR("grants"));
    json_splice(&request->result, buf_view(&text));
    return 0;
}

/* ---- contents ---- */

static int read_file(struct served_request *request, struct authority_scope *scope, struct err *err)
{
    struct authority_read_options options = {.cancel = &request->cancel};
    size_t form = 0;
    struct str name;
    int r = take_name(request, "name", true, &name, err);

    if (r == 0)
        r = request_choice(request->json, STR("as"), forms, array_size(forms), &form, err);
    if (r == 0)
        r = take_number(request, "offset", &options.offset, err);
    if (r == 0)
        r = take_number(request, "maxBytes", &options.max_bytes, err);
    if (r < 0)
        return r;
    return form == 0 ? authority_read_bytes(scope, name, &options, &request->out, err)
                     : authority_read_text(scope, name, &options, &request->out, err);
}

static int write_file(struct served_request *request, struct authority_scope *scope,
                      struct err *err)
{
    struct authority_write_options options = {.make_parents = is_on(request, "parents"),
                                              .cancel = &request->cancel};
    size_t creation = 0;
    size_t form = 0;
    uint64_t mode = 0;
    struct str name;
    int r = take_name(request, "name", true, &name, err);

    if (r == 0)
        r = request_choice(request->json, STR("create"), creations, array_size(creations),
                           &creation, err);
    if (r == 0)
        r = request_choice(request->json, STR("as"), forms, array_size(forms), &form, err);
    if (r == 0)
        r = take_number(request, "mode", &mode, err);
    if (r < 0)
        return r;
    if (mode > 0777)
        return err_set(err, ERR_INVALID_ARGUMENT, "\"mode\": expected at most 0777 (511)");
    options.create = (enum authority_create)creation;
    options.mode = (unsigned)mode;
    if (form == 1 && !utf8_is_valid(request->content))
        return err_set_plain(err, ERR_INVALID_UTF8);
    return is_on(request, "artifact")
               ? authority_write_artifact(scope, name, request->content, &options, err)
               : authority_write_bytes(scope, name, request->content, &options, err);
}

static int append(struct served_request *request, struct authority_scope *scope, struct err *err)
{
    const struct authority_write_options options = {.make_parents = is_on(request, "parents"),
                                                    .cancel = &request->cancel};
    struct str name;
    int r = take_name(request, "name", true, &name, err);

    return r == 0 ? authority_append(scope, name, request->content, &options, err) : r;
}

/* ---- directories ---- */

struct listing {
    struct served_request *request;
    uint64_t count;
    uint64_t max; /* 0: none */
};

static int put_entry(void *data, const struct authority_entry *entry)
{
    struct listing *listing = data;
    struct json_writer *w = &listing->request->result;

    if (listing->max > 0 && listing->count == listing->max)
        return ERR_TOO_LARGE;
    listing->count++;
    json_begin_object(w);
    service_put_name(w, STR("name"), STR("nameHex"), entry->name);
    put_type(w, entry->type);
    if (entry->has_stat)
        put_stat(w, &entry->stat);
    json_end_object(w);
    return w->error;
}

static int list(struct served_request *request, struct authority_scope *scope, struct err *err)
{
    const struct authority_list_options options = {.with_stat = is_on(request, "stat"),
                                                   .cancel = &request->cancel};
    struct authority_walk_options walk = {
        .with_stat = options.with_stat, .is_sorted = true, .cancel = &request->cancel};
    struct listing listing = {.request = request};
    uint64_t depth = 0;
    struct str name;
    int r = take_name(request, "name", false, &name, err);

    if (r == 0)
        r = take_number(request, "maxEntries", &listing.max, err);
    if (r == 0)
        r = take_number(request, "maxDepth", &depth, err);
    if (r < 0)
        return r;
    walk.max_depth = depth > AUTHORITY_MAX_DEPTH ? AUTHORITY_MAX_DEPTH : (unsigned)depth;
    json_key(&request->result, STR("entries"));
    json_begin_array(&request->result);
    r = is_on(request, "recursive")
            ? authority_walk(scope, name, &walk, put_entry, &listing, err)
            : authority_list(scope, name, &options, put_entry, &listing, err);
    json_end_array(&request->result);
    return r;
}

static int stat_name(struct served_request *request, struct authority_scope *scope, struct err *err)
{
    struct authority_stat about;
    struct str name;
    int r = take_name(request, "name", false, &name, err);

    if (r == 0)
        r = authority_stat(scope, name, &about, err);
    if (r < 0)
        return r;
    put_type(&request->result, about.type);
    put_stat(&request->result, &about);
    return 0;
}

static int exists(struct served_request *request, struct authority_scope *scope, struct err *err)
{
    bool does_exist = false;
    struct str name;
    int r = take_name(request, "name", true, &name, err);

    if (r == 0)
        r = authority_exists(scope, name, &does_exist, err);
    json_put_bool(&request->result, STR("exists"), does_exist);
    return r;
}

static int make_directory(struct served_request *request, struct authority_scope *scope,
                          struct err *err)
{
    const struct authority_mkdir_options options = {.make_parents = is_on(request, "parents"),
                                                    .may_exist = is_on(request, "mayExist"),
                                                    .cancel = &request->cancel};
    struct str name;
    int r = take_name(request, "name", true, &name, err);

    return r == 0 ? authority_mkdir(scope, name, &options, err) : r;
}

static int remove_name(struct served_request *request, struct authority_scope *scope,
                       struct err *err)
{
    const struct authority_remove_options options = {.is_recursive = is_on(request, "recursive"),
                                                     .may_miss = is_on(request, "mayMiss"),
                                                     .cancel = &request->cancel};
    struct str name;
    int r = take_name(request, "name", true, &name, err);

    return r == 0 ? authority_remove(scope, name, &options, err) : r;
}

/* ---- moving and copying ---- */

static int take_ends(struct served_request *request, struct str *out_from, struct str *out_to,
                     struct authority_move_options *options, struct err *err)
{
    int r = take_name(request, "from", true, out_from, err);

    *options = (struct authority_move_options){.may_replace = is_on(request, "replace"),
                                               .make_parents = is_on(request, "parents"),
                                               .cancel = &request->cancel};
    return r == 0 ? take_name(request, "to", true, out_to, err) : r;
}

static int move(struct served_request *request, struct authority_scope *scope, struct err *err)
{
    struct authority_move_options options;
    struct str from;
    struct str to;
    int r = take_ends(request, &from, &to, &options, err);

    return r == 0 ? authority_move(scope, from, to, &options, err) : r;
}

static int copy(struct served_request *request, struct authority_scope *scope, struct err *err)
{
    struct authority_move_options options;
    struct str from;
    struct str to;
    int r = take_ends(request, &from, &to, &options, err);

    return r == 0 ? authority_copy(scope, from, to, &options, err) : r;
}

typedef int bring_fn(struct authority_scope *scope, struct str to, struct authority_scope *source,
                     struct str from, const struct authority_move_options *options,
                     struct err *err);

static int bring(struct served_request *request, struct authority_scope *scope, bring_fn *how,
                 struct err *err)
{
    struct authority_move_options options;
    struct held_scope *source = NULL;
    struct str from;
    struct str to;
    int r = take_ends(request, &from, &to, &options, err);

    if (r == 0)
        r = take_scope(request, "source", &source, err);
    if (r == 0)
        r = how(scope, to, source->scope, from, &options, err);
    scopes_put(request->service, source);
    return r;
}

static int copy_in(struct served_request *request, struct authority_scope *scope, struct err *err)
{
    return bring(request, scope, authority_copy_in, err);
}

static int move_in(struct served_request *request, struct authority_scope *scope, struct err *err)
{
    return bring(request, scope, authority_move_in, err);
}

/* ---- archives ---- */

static void put_archive(struct served_request *request,
                        const struct authority_archive_result *result)
{
    json_put_int(&request->result, STR("files"), (int64_t)result->files);
    json_put_int(&request->result, STR("directories"), (int64_t)result->directories);
    json_put_int(&request->result, STR("bytes"), (int64_t)result->bytes);
}

static int extract_archive(struct served_request *request, struct authority_scope *scope,
                           struct err *err)
{
    struct authority_archive_options options = {.cancel = &request->cancel};
    struct authority_archive_result result = {0};
    struct str archive;
    struct str destination;
    int r = take_name(request, "archive", true, &archive, err);

    if (r == 0)
        r = take_name(request, "destination", true, &destination, err);
    if (r == 0)
        r = take_number(request, "maxEntries", &options.max_entries, err);
    if (r == 0)
        r = take_number(request, "maxTotalBytes", &options.max_total_bytes, err);
    if (r == 0)
        r = take_number(request, "maxEntryBytes", &options.max_entry_bytes, err);
    if (r == 0)
        r = authority_extract_archive(scope, archive, destination, &options, &result, err);
    put_archive(request, &result);
    return r;
}

static int create_archive(struct served_request *request, struct authority_scope *scope,
                          struct err *err)
{
    const struct authority_archive_options options = {.cancel = &request->cancel};
    struct authority_archive_result result = {0};
    size_t format = 0;
    struct str source;
    struct str archive;
    int r = take_name(request, "source", false, &source, err);

    if (r == 0)
        r = take_name(request, "archive", true, &archive, err);
    if (r == 0)
        r = request_choice(request->json, STR("format"), formats, array_size(formats), &format,
                           err);
    if (r == 0)
        r = authority_create_archive(scope, source, archive, (enum authority_archive_format)format,
                                     &options, &result, err);
    put_archive(request, &result);
    return r;
}

/* ---- the table ---- */

static const struct {
    struct str op;
    int (*run)(struct served_request *request, struct err *err);
} plain[] = {
    {STR_LITERAL("requestRoot"), request_root},
    {STR_LITERAL("createTemp"), create_temp},
    {STR_LITERAL("release"), release},
    {STR_LITERAL("revoke"), revoke_grant},
    {STR_LITERAL("grants"), grants},
};

static const struct {
    struct str op;
    int (*run)(struct served_request *request, struct authority_scope *scope, struct err *err);
} scoped[] = {
    {STR_LITERAL("read"), read_file},
    {STR_LITERAL("write"), write_file},
    {STR_LITERAL("append"), append},
    {STR_LITERAL("list"), list},
    {STR_LITERAL("stat"), stat_name},
    {STR_LITERAL("exists"), exists},
    {STR_LITERAL("mkdir"), make_directory},
    {STR_LITERAL("move"), move},
    {STR_LITERAL("copy"), copy},
    {STR_LITERAL("copyIn"), copy_in},
    {STR_LITERAL("moveIn"), move_in},
    {STR_LITERAL("remove"), remove_name},
    {STR_LITERAL("extractArchive"), extract_archive},
    {STR_LITERAL("createArchive"), create_archive},
};

/* The watch keeps the scope. */
static int watch(struct served_request *request, struct held_scope *held, struct err *err)
{
    struct authority_watch *made;
    uint32_t id;
    int fd;
    struct str name;
    int r = take_name(request, "name", false, &name, err);

    if (r == 0)
        r = authority_watch(held->scope, name, &made, &fd, err);
    if (r == 0)
        r = watches_add(request->service, held, made, fd, &id, err);
    if (r == 0) {
        json_put_int(&request->result, STR("watch"), id);
        request->watch = id;
    }
    return r;
}

static int run_scoped(struct served_request *request, struct held_scope *held, struct err *err)
{
    if (str_eq(request->op, STR("watch")))
        return watch(request, held, err);
    for (size_t i = 0; i < array_size(scoped); i++)
        if (str_eq(request->op, scoped[i].op))
            return scoped[i].run(request, held->scope, err);
    return err_set(err, ERR_INVALID_ARGUMENT, "unknown operation \"%.*s\"", STR_ARG(request->op));
}

int operations_run(struct served_request *request, struct err *err)
{
    struct held_scope *held = NULL;
    int r;

    for (size_t i = 0; i < array_size(plain); i++)
        if (str_eq(request->op, plain[i].op))
            return plain[i].run(request, err);
    r = take_scope(request, "scope", &held, err);
    if (r == 0)
        r = run_scoped(request, held, err);
    scopes_put(request->service, held);
    return r;
}
