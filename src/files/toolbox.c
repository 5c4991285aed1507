/* SPDX-License-Identifier: Apache-2.0 */
#include "files/toolbox.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "authority/names/glob.h"
#include "authority/names/path.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/schema/schema.h"
#include "base/utf8.h"
#include "files/clientroots.h"
#include "files/nearest.h"
#include "files/patterns.h"
#include "files/resources.h"
#include "files/tool.h"
#include "files/undo/undo.h"
#include "protocol/toolids.h"

enum {
    SCHEMAS_MAX_BYTES = 4 << 20,  /* of all tools together, compiled */
    SCHEMA_MAX_BYTES = 256 << 10, /* of one, as it is read */
    GLOBS_MAX_BYTES = 1 << 20,
    TURN_SLICE_MS = 20, /* between two looks at the token while others change things */
};
#define TOOL_CALL_MAX_BYTES ((size_t)256 << 20)

/* Tools that are not listed here do not exist, whatever the catalogue says. */
static tool_run_fn *const runs[] = {
    [TOOL_APPEND_FILE] = tool_append_file,
    [TOOL_COPY_FILE] = tool_copy_file,
    [TOOL_CREATE_DIRECTORY] = tool_create_directory,
    [TOOL_DELETE] = tool_delete,
    [TOOL_EDIT_FILE] = tool_edit,
    [TOOL_EDIT_FILES] = tool_edit,
    [TOOL_EXTRACT_ARCHIVE] = tool_extract_archive,
    [TOOL_GET_FILE_TREE] = tool_get_file_tree,
    [TOOL_LIST_ALLOWED_DIRECTORIES] = tool_list_allowed_directories,
    [TOOL_LIST_FILES] = tool_list_files,
    [TOOL_LOAD_PAGE_FILE] = tool_load_page_file,
    [TOOL_MOVE] = tool_move,
    [TOOL_READ_FILE] = tool_read_file,
    [TOOL_READ_FILES] = tool_read_files,
    [TOOL_SAVE_DOWNLOAD] = tool_save_download,
    [TOOL_SEARCH_FILES] = tool_search_files,
    [TOOL_STAGE_UPLOAD] = tool_stage_upload,
    [TOOL_STAT_FILE] = tool_stat_file,
    [TOOL_UNDO_CHANGES] = tool_undo_changes,
    [TOOL_WRITE_FILE] = tool_write_file,
};

struct toolbox_private {
    /* Tools run in workers, several at once; they share the members with locks. */
    pthread_mutex_t schema_lock;
    struct arena schema_arena;
    _Atomic(const struct schema *) schemas[array_size(runs)]; /* compiled when first needed */
    pthread_mutex_t turn_lock;
    pthread_cond_t turn_is_free;
    bool is_changing;
    struct arena glob_arena;
};

/* ---- making ---- */

static void init_locks(struct toolbox_private *own)
{
    pthread_condattr_t monotonic;

    pthread_mutex_init(&own->schema_lock, NULL);
    pthread_mutex_init(&own->turn_lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&own->turn_is_free, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

static int add_folder(struct toolbox *box, struct arena *arena, const struct toolbox_folder *given,
                      struct err *err)
{
    struct tool_folder *folder = &box->folders[box->folder_count++];
    int r = glob_set_compile(arena, given->denied, &folder->denied, err);

    folder->root_path = given->root_path;
    folder->given_path = given->given_path;
    folder->may_write = given->may_write;
    return r == 0 ? glob_set_compile(arena, given->allowed, &folder->allowed, err) : r;
}

static int add_folders(struct toolbox *box, struct arena *arena, struct err *err)
{
    struct toolbox_config *config = &box->config;
    const struct toolbox_folder only = {.root_path = config->root_path,
                                        .given_path = config->given_path,
                                        .may_write = config->may_write,
                                        .denied = config->denied,
                                        .allowed = config->allowed};
    const struct toolbox_folder *given = config->folder_count > 0 ? config->folders : &only;
    size_t count = config->folder_count > 0 ? config->folder_count : 1;
    int r = 0;

    box->folders = arena_alloc_array(arena, count, sizeof(*box->folders));
    if (box->folders == NULL)
        return err_set_plain(err, arena->error);
    for (size_t i = 0; i < count && r == 0; i++)
        r = add_folder(box, arena, &given[i], err);
    config->folders = NULL; /* owned by the caller, who may have freed them */
    config->denied = NULL;
    config->allowed = NULL;
    return r;
}

int toolbox_new(const struct toolbox_config *config, struct toolbox **out_box, struct err *err)
{
    struct toolbox *box = calloc(1, sizeof(*box));
    struct toolbox_private *own = calloc(1, sizeof(*own));
    int r;

    if (box == NULL || own == NULL) {
        free(box);
        free(own);
        return err_set_plain(err, ERR_NO_MEMORY);
    }
    box->config = *config;
    if (box->config.max_file_bytes == 0)
        box->config.max_file_bytes = TOOLBOX_FILE_BYTES;
    if (box->config.max_lines == 0)
        box->config.max_lines = TOOLBOX_MAX_LINES;
    if (box->config.max_copy_bytes == 0)
        box->config.max_copy_bytes = TOOLBOX_COPY_BYTES;
    if (box->config.max_matches == 0)
        box->config.max_matches = TOOLBOX_MAX_MATCHES;
    if (box->config.max_undo_bytes == 0)
        box->config.max_undo_bytes = TOOLBOX_UNDO_BYTES;
    if (box->config.clock == NULL)
        box->config.clock = &clock_system;
    arena_init(&own->glob_arena, GLOBS_MAX_BYTES);
    r = add_folders(box, &own->glob_arena, err);
    if (r == 0 && box->config.may_write)
        r = undo_log_new(&box->config, &box->undo, err);
    if (r < 0) {
        arena_done(&own->glob_arena);
        free(box);
        free(own);
        return r;
    }
    arena_init(&own->schema_arena, SCHEMAS_MAX_BYTES);
    init_locks(own);
    box->own = own;
    *out_box = box;
    return 0;
}

void toolbox_free(struct toolbox *box)
{
    if (box == NULL)
        return;
    undo_log_free(box->undo);
    pthread_cond_destroy(&box->own->turn_is_free);
    pthread_mutex_destroy(&box->own->turn_lock);
    pthread_mutex_destroy(&box->own->schema_lock);
    arena_done(&box->own->schema_arena);
    arena_done(&box->own->glob_arena);
    free(box->own);
    free(box);
}

size_t toolbox_folder_count(const struct toolbox *box)
{
    return box->folder_count;
}

struct toolbox_folder toolbox_folder_at(const struct toolbox *box, size_t index)
{
    const struct tool_folder *folder = &box->folders[index];

    return (struct toolbox_folder){.root_path = folder->root_path,
                                   .given_path = folder->given_path,
                                   .may_write = folder->may_write};
}

static bool is_change(const struct catalog_tool *tool)
{
    return tool->group == CATALOG_FILESYSTEM_WRITE;
}

/* Both tools are about a browser. */
static bool lacks_staging(const struct toolbox *box, const struct catalog_tool *tool)
{
    return (tool->id == TOOL_STAGE_UPLOAD && box->config.uploads == NULL) ||
           (tool->id == TOOL_SAVE_DOWNLOAD && box->config.downloads == NULL);
}

bool toolbox_has(const struct toolbox *box, const struct catalog_tool *tool)
{
    return tool->id >= 0 && (size_t)tool->id < array_size(runs) && runs[tool->id] != NULL &&
           (box->config.may_write || !is_change(tool)) && !lacks_staging(box, tool);
}

/* ---- words ---- */

const struct tool_folder *tool_folder_of(const struct toolbox *box, struct str *name)
{
    if (name->len == 0 || name->ptr[0] != '/')
        return &box->folders[0];
    for (size_t i = 0; i < box->folder_count; i++)
        if (path_strip_root(name, box->folders[i].given_path) ||
            path_strip_root(name, box->folders[i].root_path))
            return &box->folders[i];
    return NULL;
}

bool tool_is_by_path(const struct toolbox *box, struct str name, bool (*holds)(struct str path))
{
    __attribute__((uninitialized)) struct path_name path;
    struct str below = name;
    const struct tool_folder *folder = tool_folder_of(box, &below);
    const char *const roots[] = {folder != NULL ? folder->root_path : NULL,
                                 folder != NULL ? folder->given_path : NULL};

    for (size_t i = 0; i < array_size(roots); i++)
        if (roots[i] != NULL &&
            (path_join(str_from(roots[i]), below, &path) < 0 || holds(path_view(&path))))
            return true;
    return folder == NULL && holds(name);
}

struct str tool_plain_name(const struct toolbox *box, struct str given)
{
    struct str name = given;

    return tool_folder_of(box, &name) == &box->folders[0] ? name : given;
}

int tool_name_below(const struct toolbox *box, struct str given,
                    const struct tool_folder **out_folder, struct path_name *out_name)
{
    const struct tool_folder *folder = tool_folder_of(box, &given);

    if (folder == NULL)
        return ERR_PATH_OUTSIDE_ROOT;
    *out_folder = folder;
    return path_normalise(given, NULL, false, out_name);
}

int tool_given_name(const struct toolbox *box, struct str given, struct path_name *out_name)
{
    __attribute__((uninitialized)) struct path_name below;
    const struct tool_folder *folder;
    int r = tool_name_below(box, given, &folder, out_name);

    if (r < 0 || folder == &box->folders[0])
        return r;
    below = *out_name;
    return path_join(str_from(folder->root_path), path_view(&below), out_name);
}

struct str tool_name_in_diff(const struct toolbox *box, struct str given)
{
    struct str name = tool_plain_name(box, given);

    while (str_starts_with(name, STR("/")))
        name = str_slice(name, 1, name.len);
    return name;
}

const char *tool_denial(const struct toolbox *box, struct str given)
{
    __attribute__((uninitialized)) struct path_name name;
    const struct tool_folder *folder;

    if (tool_name_below(box, given, &folder, &name) < 0)
        return NULL;
    if (box->config.client_roots != NULL &&
        client_roots_deny(box->config.client_roots, (size_t)(folder - box->folders),
                          path_view(&name)))
        return "is outside the roots that the client declared";
    return patterns_verdict(folder->denied, folder->allowed, path_view(&name));
}

/* What is there, behind links that stay inside. */
static bool is_of_type(const struct toolbox *box, struct str given, enum authority_type type)
{
    struct authority_stat about;

    return authority_stat(box->config.names, tool_plain_name(box, given), &about, NULL) == 0 &&
           about.type == type;
}

static bool is_dangling(const struct toolbox *box, struct str given)
{
    struct str name = tool_plain_name(box, given);
    struct authority_stat about;

    return authority_stat(box->config.names, name, &about, NULL) == ERR_NOT_FOUND &&
           authority_stat(box->config.files, name, &about, NULL) == 0 &&
           about.type == AUTHORITY_SYMLINK;
}

static int explain_outside(const struct toolbox *box, struct err *err, const char *name,
                           struct str given)
{
    __attribute__((uninitialized)) struct path_name below;
    const struct tool_folder *folder;
    char root[TOOL_SHOWN_BYTES];

    if (!str_starts_with(given, STR("file://")) &&
        tool_name_below(box, given, &folder, &below) == 0)
        return err_set_field(err, ERR_PATH_OUTSIDE_ROOT, name,
                             "%s is outside the root: a symbolic link in its path leads there",
                             name);
    if (box->folder_count > 1)
        return err_set_field(err, ERR_PATH_OUTSIDE_ROOT, name,
                             "%s is outside the folders; list_allowed_directories shows them",
                             name);
    if (!str_starts_with(given, STR("/")))
        return err_set_field(err, ERR_PATH_OUTSIDE_ROOT, name,
                             "%s is outside the root; paths are relative to the root", name);
    return err_set_field(err, ERR_PATH_OUTSIDE_ROOT, name,
                         "%s is outside the root, %s; paths are relative to it", name,
                         tool_show(str_from(box->config.root_path), root));
}

/* Refusals of changes have words of their own: see change.c. */
static const char *hardlink_words(const struct toolbox *box, const char *why)
{
    if (why[0] != '\0' && strcmp(why, err_text(ERR_HARDLINK_REJECTED)) != 0)
        return why;
    return box->config.reads_hardlinks
               ? "the file has other hard links, perhaps outside, so it is only read and searched"
               : "the file has other hard links, perhaps outside; the user can let you read such "
                 "files, but not change them, with --hard-links allow";
}

/* Puts the authority's refusal into the client's terms, with advice. */
static int explain(const struct toolbox *box, struct err *err, int code, struct str given,
                   bool is_running)
{
    const char *denial;
    char name[TOOL_SHOWN_BYTES];
    char why[ERR_MESSAGE_BYTES];

    if (err == NULL)
        return code;
    tool_show(given.len > 0 ? given : STR("the root"), name);
    snprintf(why, sizeof(why), "%s",
             err->code == code && err->message[0] != '\0' ? err->message : err_text(code));
    switch (code) {
    case ERR_DENIED_BY_POLICY:
        denial = tool_denial(box, given);
        if (denial == NULL && strcmp(why, err_text(code)) == 0)
            denial = TOOL_DENIED_BEHIND;
        return err_set_field(err, code, name, "%s%s %s", name, denial != NULL ? "" : ":",
                             denial != NULL ? denial : why);
    case ERR_NOT_FOUND:
        return err_set_field(err, code, name, "%s: not found; use list_files to see what exists",
                             name);
    case ERR_PATH_OUTSIDE_ROOT:
        return explain_outside(box, err, name, given);
    case ERR_ACCESS_MISSING:
        return err_set_field(err, code, name, "%s: files in this folder may only be read", name);
    case ERR_SYMLINK_REJECTED:
        if (is_dangling(box, given))
            return err_set_field(err, code, name, "%s is a symbolic link that leads nowhere", name);
        return err_set_field(err, code, name,
                             is_running ? "%s has changed since it was checked: its path now "
                                          "contains a symbolic link; nothing was done"
                                        : "%s: a symbolic link in its path leads outside the root",
                             name);
    case ERR_NOT_REGULAR_FILE:
        return err_set_field(err, code, name,
                             is_of_type(box, given, AUTHORITY_DIRECTORY)
                                 ? "%s is a directory; use list_files"
                                 : "%s is not a regular file",
                             name);
    case ERR_NOT_A_DIRECTORY:
        return err_set_field(err, code, name,
                             is_of_type(box, given, AUTHORITY_FILE)
                                 ? "%s is not a directory, but a file; use read_file"
                                 : "%s is not a directory, or one of its parents "
                                   "is a file",
                             name);
    case ERR_HARDLINK_REJECTED:
        return err_set_field(err, code, name, "%s: %s", name, hardlink_words(box, why));
    default:
        return err_set_field(err, code, name, "%s: %s", name, why);
    }
}

/* ---- preparing ---- */

static int compile(struct toolbox_private *own, const struct catalog_tool *tool,
                   const struct schema **out_schema, struct err *err)
{
    cleanup_arena struct arena arena = ARENA_INIT(SCHEMA_MAX_BYTES);
    const struct json_value *document;
    const struct schema *schema;
    int r = json_parse(&arena, tool->input_schema, JSON_LIMITS_DEFAULT, &document, err);

    if (r == 0)
        r = schema_compile(&own->schema_arena, document, &schema, err);
    if (r < 0)
        return r;
    atomic_store_explicit(&own->schemas[tool->id], schema, memory_order_release);
    *out_schema = schema;
    return 0;
}

static int find_schema(struct toolbox_private *own, const struct catalog_tool *tool,
                       const struct schema **out_schema, struct err *err)
{
    int r = 0;

    *out_schema = atomic_load_explicit(&own->schemas[tool->id], memory_order_acquire);
    if (*out_schema != NULL)
        return 0;
    pthread_mutex_lock(&own->schema_lock);
    *out_schema = atomic_load_explicit(&own->schemas[tool->id], memory_order_relaxed);
    if (*out_schema == NULL)
        r = compile(own, tool, out_schema, err);
    pthread_mutex_unlock(&own->schema_lock);
    return r;
}

static int check_arguments(struct toolbox *box, const struct catalog_tool *tool,
                           const struct json_value *arguments, struct err *err)
{
    const struct schema *schema;
    int r = find_schema(box->own, tool, &schema, err);

    if (r == 0)
        r = schema_check_arguments(schema, arguments, err);
    /* The catalogue may leave it open, and everything after this relies on it. */
    if (r == 0 && arguments->type != JSON_OBJECT)
        return err_set(err, ERR_SCHEMA_MISMATCH, "the arguments must be an object");
    return r;
}

/* "edits[].filePath" is the list `edits` and its member `filePath`; "filePaths[]" has none. */
static bool split_rule(struct str argument, struct str *out_list, struct str *out_member)
{
    const struct str mark = STR("[]");
    size_t at = str_find(argument, mark);

    if (at == SIZE_MAX)
        return false;
    *out_list = str_slice(argument, 0, at);
    *out_member = str_slice(argument, at + mark.len + 1, argument.len);
    return true;
}

static size_t count_resources(const struct catalog_tool *tool, const struct json_value *arguments)
{
    size_t count = 0;

    for (size_t i = 0; i < tool->resource_count; i++) {
        const struct json_value *items;
        struct str list;
        struct str member;

        if (!split_rule(tool->resources[i].argument, &list, &member)) {
            count++;
            continue;
        }
        items = json_get(arguments, list);
        if (items != NULL && items->type == JSON_ARRAY)
            count += items->size;
    }
    return count;
}

/* Determines whether a link at the end is followed or is the object itself. */
static enum authority_operation operation_of(const struct catalog_tool *tool,
                                             enum catalog_access access)
{
    if (tool->id == TOOL_MOVE)
        return AUTHORITY_OP_MOVE;
    switch (access) {
    case CATALOG_READS:
        return tool->id == TOOL_STAT_FILE ? AUTHORITY_OP_STAT : AUTHORITY_OP_READ;
    case CATALOG_WRITES:
        return tool->id == TOOL_CREATE_DIRECTORY ? AUTHORITY_OP_MKDIR : AUTHORITY_OP_WRITE;
    case CATALOG_DELETES:
        return AUTHORITY_OP_REMOVE;
    case CATALOG_LISTS:
    case CATALOG_EXECUTES: /* by no tool of this table */
        break;
    }
    return AUTHORITY_OP_LIST;
}

/*
 * Whether the call goes on to the decision although a name leads nowhere: its error would say what
 * exists. The name then stands for itself. What is wrong with the name alone, or denied whatever
 * is there, is told at once.
 */
static bool keep_failure(struct tool_call *call, int code, struct str given, const struct err *why,
                         char out_name[PATH_MAX], size_t *out_len)
{
    __attribute__((uninitialized)) struct path_name name;

    if ((code != ERR_NOT_FOUND && code != ERR_NOT_A_DIRECTORY && code != ERR_NOT_REGULAR_FILE &&
         code != ERR_SYMLINK_REJECTED && code != ERR_PERMISSION_DENIED) ||
        tool_given_name(call->box, given, &name) < 0)
        return false;
    memcpy(out_name, name.text, name.len);
    *out_len = name.len;
    /* See add_one_of_many(); this one says so when it is read. */
    if (call->failure.code == 0 && call->tool->id != TOOL_READ_FILES) {
        call->failure = *why;
        (void)explain(call->box, &call->failure, code, given, false);
    }
    return true;
}

/* Of several folders, some may only be read: nobody is asked about changes there. */
static int check_folder(const struct tool_call *call, const struct catalog_resource *rule,
                        struct str given, struct err *err)
{
    struct authority_note note = {.operation = operation_of(call->tool, rule->access),
                                  .outcome = AUTHORITY_DENIED,
                                  .error = ERR_ACCESS_MISSING,
                                  .policy_source = "grant"};
    struct str below = given;
    const struct tool_folder *folder = tool_folder_of(call->box, &below);

    if ((rule->access != CATALOG_WRITES && rule->access != CATALOG_DELETES) || folder == NULL ||
        folder->may_write)
        return 0;
    note.name = tool_plain_name(call->box, given);
    (void)authority_note(call->box->config.files, &note);
    return explain(call->box, err, ERR_ACCESS_MISSING, given, false);
}

static bool is_root(const struct toolbox *box, struct str resolved)
{
    return tool_folder_of(box, &resolved) != NULL && resolved.len == 0;
}

/* Means a shell's home directory, and would make a folder called "~": unless there is one. */
static int check_home(const struct toolbox *box, struct str given, struct err *err)
{
    char name[TOOL_SHOWN_BYTES];
    char root[TOOL_SHOWN_BYTES];
    struct authority_stat about;

    if ((!str_eq(given, STR("~")) && !str_starts_with(given, STR("~/"))) ||
        authority_stat(box->config.names, STR("~"), &about, NULL) == 0)
        return 0;
    tool_show(given, name);
    return err_set_field(err, ERR_INVALID_PATH, name,
                         "%s: ~ is not expanded; paths are relative to the root, %s, or absolute",
                         name, tool_show(str_from(box->config.root_path), root));
}

/* A file:// URI, as resources/list gives it, stands for the name of its file. */
static int take_uri(struct tool_call *call, struct str *given, struct err *err)
{
    __attribute__((uninitialized)) char name[PATH_MAX];
    size_t len;
    int r;

    if (!str_starts_with(*given, STR("file://")))
        return 0;
    r = resource_name_of_uri(call->box, *given, name, &len, err);
    if (r < 0)
        return explain(call->box, err, r, *given, false);
    return arena_copy_str(&call->arena, (struct str){name, len}, given)
               ? 0
               : err_set_plain(err, call->arena.error);
}

static int add_resource(struct tool_call *call, const struct catalog_resource *rule,
                        struct str given, struct err *err)
{
    __attribute__((uninitialized)) char name[PATH_MAX];
    struct authority_stat about;
    struct err why = ERR_INIT;
    struct str resolved;
    size_t len;
    int r = check_home(call->box, given, err);

    if (r == 0)
        r = take_uri(call, &given, err);
    if (r == 0)
        r = check_folder(call, rule, given, err);
    if (r < 0)
        return r;
    r = authority_resolve(call->box->config.names, operation_of(call->tool, rule->access),
                          tool_plain_name(call->box, given), name, &len, &about, &why);
    if (r < 0 && !keep_failure(call, r, given, &why, name, &len)) {
        if (err != NULL)
            *err = why;
        return explain(call->box, err, r, given, false);
    }
    if (r < 0)
        about = (struct authority_stat){0};
    if (!arena_copy_str(&call->arena, (struct str){name, len}, &resolved))
        return err_set_plain(err, call->arena.error);
    call->resources[call->resource_count++] = (struct tool_resource){
        .access = rule->access,
        .given = given,
        .resolved = resolved,
        .is_root = is_root(call->box, resolved),
        .about = about,
    };
    return 0;
}

/* The resource of one rule; a missing argument stands for its fallback, or for nothing. */
static int add_argument(struct tool_call *call, const struct catalog_resource *rule,
                        const struct json_value *object, struct str key, struct err *err)
{
    struct str given = rule->fallback;

    if (!json_get_str(object, key, &given) && given.ptr == NULL)
        return 0;
    /* Empty is the root, which is no file. */
    if (given.len == 0 && str_eq(key, STR("filePath")))
        return err_set_field(err, ERR_SCHEMA_MISMATCH, key.ptr, "%s must not be empty", key.ptr);
    return add_resource(call, rule, given, err);
}

/*
 * Of several files to read, the others are read all the same: an agent's list may have one name
 * that is wrong or denied. The first refusal stays in `err`, for a call that is left with none.
 */
static int add_one_of_many(struct tool_call *call, const struct catalog_resource *rule,
                           struct str given, struct err *err)
{
    struct tool_refusal *refusal = &call->refusals[call->refusal_count];
    struct err why = ERR_INIT;
    int r = add_resource(call, rule, given, &why);

    if (r == 0)
        return 0;
    if (r == ERR_NO_MEMORY || r == ERR_CANCELLED || r == ERR_TIMED_OUT)
        return err_set_plain(err, r);
    if (call->refusal_count == 0 && err != NULL)
        *err = why;
    *refusal =
        (struct tool_refusal){.place = call->resource_count + call->refusal_count, .given = given};
    call->refusal_count++;
    return arena_copy_str(&call->arena, str_from(why.message), &refusal->why)
               ? 0
               : err_set_plain(err, call->arena.error);
}

/* Without a file that may be read, what was wrong with the first one is the answer. */
static int check_any_left(const struct tool_call *call, struct err *err)
{
    if (call->refusal_count == 0)
        return 0;
    if (call->resource_count == 0)
        return err != NULL ? err->code : ERR_INVALID_ARGUMENT;
    if (err != NULL)
        *err = (struct err)ERR_INIT;
    return 0;
}

static int add_resources(struct tool_call *call, const struct cancel *cancel, struct err *err)
{
    const struct catalog_tool *tool = call->tool;
    size_t room = count_resources(tool, call->arguments);
    int r = 0;

    if (room > TOOL_MAX_RESOURCES)
        return err_set(err, ERR_TOO_LARGE, "more than %d paths in one call", TOOL_MAX_RESOURCES);
    call->resources = arena_alloc_array(&call->arena, room, sizeof(*call->resources));
    if (tool->id == TOOL_READ_FILES)
        call->refusals = arena_alloc_array(&call->arena, room, sizeof(*call->refusals));
    if (call->resources == NULL || (tool->id == TOOL_READ_FILES && call->refusals == NULL))
        return err_set_plain(err, call->arena.error);
    for (size_t i = 0; i < tool->resource_count && r == 0; i++) {
        const struct catalog_resource *rule = &tool->resources[i];
        const struct json_value *items;
        struct str list;
        struct str member;

        if (!split_rule(rule->argument, &list, &member)) {
            r = add_argument(call, rule, call->arguments, rule->argument, err);
            continue;
        }
        items = json_get(call->arguments, list);
        if (items == NULL)
            continue;
        json_each_item (item, items) {
            r = cancel_check(cancel);
            if (r < 0)
                return err_set_plain(err, r);
            if (member.len > 0)
                r = add_argument(call, rule, item, member, err);
            else if (call->refusals != NULL)
                r = add_one_of_many(call, rule, json_str(item), err);
            else
                r = add_resource(call, rule, json_str(item), err);
            if (r < 0)
                break;
        }
    }
    return r == 0 ? check_any_left(call, err) : r;
}

int tool_prepare(struct toolbox *box, const struct catalog_tool *tool,
                 const struct json_value *arguments, const struct cancel *cancel,
                 struct tool_call **out_call, struct err *err)
{
    struct tool_call *call;
    int r = cancel_check(cancel);

    if (r < 0)
        return err_set_plain(err, r);
    if (!toolbox_has(box, tool))
        return err_set(err, ERR_NOT_FOUND, "unknown tool %.*s", STR_ARG(tool->name));
    r = check_arguments(box, tool, arguments, err);
    if (r < 0)
        return r;
    call = alloc_zeroed(sizeof(*call));
    if (call == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    call->box = box;
    call->tool = tool;
    call->arguments = arguments;
    call->may_suggest = true;
    arena_init(&call->arena, TOOL_CALL_MAX_BYTES);
    r = add_resources(call, cancel, err);
    if (r == 0 && tool->id == TOOL_UNDO_CHANGES) {
        r = tool_take_turn(box, cancel);
        if (r < 0)
            err_set_plain(err, r);
        else {
            call->has_no_effect = undo_is_empty(box->undo);
            tool_leave_turn(box);
        }
    }
    if (r < 0) {
        tool_free(call);
        return r;
    }
    *out_call = call;
    return 0;
}

void tool_free(struct tool_call *call)
{
    if (call == NULL)
        return;
    arena_done(&call->arena);
    free(call);
}

const struct tool_resource *tool_resources(const struct tool_call *call, size_t *out_count)
{
    *out_count = call->resource_count;
    return call->resources;
}

/* ---- running ---- */

/* One change at a time. A cancelled call stops waiting soon. */
int tool_take_turn(struct toolbox *box, const struct cancel *cancel)
{
    struct toolbox_private *own = box->own;
    int r = 0;

    pthread_mutex_lock(&own->turn_lock);
    while (own->is_changing && r == 0) {
        const struct timespec until = clock_after_ms(TURN_SLICE_MS);

        pthread_cond_timedwait(&own->turn_is_free, &own->turn_lock, &until);
        r = cancel_check(cancel);
    }
    if (r == 0)
        own->is_changing = true;
    pthread_mutex_unlock(&own->turn_lock);
    return r;
}

void tool_leave_turn(struct toolbox *box)
{
    struct toolbox_private *own = box->own;

    pthread_mutex_lock(&own->turn_lock);
    assert(own->is_changing);
    own->is_changing = false;
    pthread_cond_signal(&own->turn_is_free);
    pthread_mutex_unlock(&own->turn_lock);
}

/*
 * Puts an error into the client's terms if it came straight from the authority or without a
 * message.
 */
static void describe(const struct tool_call *call, int code, struct err *err)
{
    const size_t longest = sizeof(err->field) - 1;
    struct str field = str_from(err->field);

    if (err->code == code && field.len == 0)
        return;
    for (size_t i = 0; i < call->resource_count; i++) {
        const struct tool_resource *resource = &call->resources[i];
        bool is_only = err->code != code && call->resource_count == 1;
        struct str below = resource->resolved;

        (void)tool_folder_of(call->box, &below);
        if (is_only || (err->code == code && below.len > 0 &&
                        str_eq(utf8_cut(below, longest), utf8_cut(field, longest)))) {
            (void)explain(call->box, err, code, resource->given, true);
            return;
        }
    }
    if (err->code != code)
        (void)err_set_plain(err, code);
}

/* Errors for the caller: nobody waits for the result any more, or there is no memory for any. */
static bool is_for_caller(int code, const struct err *err)
{
    return code == ERR_CANCELLED || code == ERR_TIMED_OUT || code == ERR_NO_MEMORY ||
           (code == ERR_TOO_LARGE && err->code == 0);
}

bool tool_explain(const struct tool_call *call, int code, struct err *err)
{
    if (is_for_caller(code, err))
        return false;
    describe(call, code, err);
    return true;
}

/* Adds what exists near the name, once the call is allowed. */
static int write_error(const struct tool_call *call, struct err *err, struct buf *out)
{
    char words[NEAREST_WORDS_BYTES];
    char name[TOOL_SHOWN_BYTES];

    for (size_t i = 0; err->code == ERR_NOT_FOUND && i < call->resource_count; i++) {
        const struct tool_resource *resource = &call->resources[i];

        if (strcmp(tool_show(resource->given, name), err->field) != 0)
            continue;
        if (nearest_explain(call, resource->resolved, words))
            (void)err_set_field(err, ERR_NOT_FOUND, name, "%s: not found; %s", name, words);
        break;
    }
    return toolresult_write_error(err, call->box->config.result_form, out);
}

/* Runs the tool, with the lock if it changes something. */
static int run(struct tool_call *call, struct buf *object, struct err *err)
{
    int r = cancel_check(call->cancel);

    if (r < 0 || !is_change(call->tool))
        return r < 0 ? r : runs[call->tool->id](call, object, err);
    r = tool_take_turn(call->box, call->cancel);
    if (r < 0)
        return r;
    r = runs[call->tool->id](call, object, err);
    tool_leave_turn(call->box);
    return r;
}

/* Moves a complete result instead of copying it, if `out` is empty. */
static int hand_over(struct buf *whole, struct buf *out)
{
    struct buf empty = *out;

    if (out->len > 0)
        return buf_append_str(out, buf_view(whole));
    *out = *whole;
    out->max = empty.max;
    *whole = empty;
    return 0;
}

struct str tool_change(const struct tool_call *call)
{
    return call->change;
}

int tool_run(struct tool_call *call, const struct cancel *cancel, tool_progress_fn *progress,
             void *progress_data, struct buf *out)
{
    cleanup_buf struct buf object = BUF_INIT(out->max - out->len);
    struct err err = ERR_INIT;
    int r;

    call->cancel = cancel;
    call->progress = progress;
    call->progress_data = progress_data;
    call->is_whole_result = false;
    call->told = (struct tool_told){0, 0};
    call->change = STR_EMPTY;
    if (call->failure.code != 0)
        return write_error(call, &call->failure, out);
    r = run(call, &object, &err);
    if (r < 0) {
        if (!tool_explain(call, r, &err))
            return r;
        return write_error(call, &err, out);
    }
    if (call->is_whole_result)
        return hand_over(&object, out);
    if (call->told.len > 0)
        return toolresult_write_told(out, buf_view(&object),
                                     str_slice(buf_view(&object), call->told.from, call->told.len),
                                     call->box->config.result_form);
    return toolresult_write_object(out, buf_view(&object), call->box->config.result_form, false);
}
