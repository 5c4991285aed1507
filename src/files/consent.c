/* SPDX-License-Identifier: Apache-2.0 */
#include "files/consent.h"

#include <string.h>

#include "authority/names/path.h"
#include "authority/names/sensitive.h"
#include "base/hash.h"
#include "files/tool.h"
#include "files/undo/undo.h"
#include "protocol/toolids.h"

struct gathered {
    struct tool_call *call;
    struct permission_resource *items;
    size_t count;
};

/* ---- what a call does to a resource ---- */

enum { MAX_OPERATIONS = 3 }; /* on one resource */

struct operations {
    enum permission_operation of[MAX_OPERATIONS];
    size_t count;
};

static struct operations one(enum permission_operation operation)
{
    return (struct operations){{operation}, 1};
}

static struct operations two(enum permission_operation first, enum permission_operation second)
{
    return (struct operations){{first, second}, 2};
}

static bool is_directory(const struct tool_resource *resource)
{
    return resource->about.inode != 0 && resource->about.type == AUTHORITY_DIRECTORY;
}

/* Every change tells whether its name exists, by its answer or its error. */
static struct operations putting(const struct tool_resource *resource,
                                 enum permission_operation creating)
{
    return two(PERMISSION_LOOKS_UP, resource->about.inode == 0 ? creating : PERMISSION_CHANGES);
}

static struct operations searching(const struct tool_call *call)
{
    bool is_in_content = json_get(call->arguments, STR("query")) != NULL ||
                         json_get(call->arguments, STR("pattern")) != NULL;

    return one(is_in_content ? PERMISSION_READS_BELOW : PERMISSION_LISTS_BELOW);
}

static enum permission_operation reading_away(const struct tool_call *call,
                                              const struct tool_resource *resource)
{
    if (!is_directory(resource))
        return PERMISSION_READS;
    return tool_is_by_path(call->box, resource->given, sensitive_is_folder) ||
                   tool_is_by_path(call->box, resource->resolved, sensitive_is_folder)
               ? PERMISSION_READS_SECRETS
               : PERMISSION_READS_BELOW;
}

/* What is moved can be read where it arrives; a directory that it replaces there is gone. */
static struct operations moving(const struct tool_call *call, size_t index)
{
    const struct tool_resource *resource = &call->resources[index];

    if (index == 0)
        return two(reading_away(call, resource), PERMISSION_MOVES);
    if (is_directory(resource))
        return two(PERMISSION_LOOKS_UP, PERMISSION_DELETES);
    return putting(resource, is_directory(&call->resources[0]) ? PERMISSION_CREATES_BELOW
                                                               : PERMISSION_CREATES);
}

static struct operations operations_on(const struct tool_call *call, size_t index)
{
    const struct tool_resource *resource = &call->resources[index];

    switch (call->tool->id) {
    case TOOL_STAT_FILE:
        return one(PERMISSION_LOOKS_UP);
    case TOOL_LIST_FILES:
        return one(PERMISSION_LISTS);
    case TOOL_GET_FILE_TREE:
        return one(PERMISSION_LISTS_BELOW);
    case TOOL_SEARCH_FILES:
        return searching(call);
    case TOOL_EDIT_FILE:
    case TOOL_EDIT_FILES:
        /* The diff of a dry run, and the error if the text is not found, tell content. */
        return two(PERMISSION_READS, PERMISSION_CHANGES);
    case TOOL_WRITE_FILE:
    case TOOL_APPEND_FILE:
        /* Who lets a file be created lets it be written to again, and is told so. */
        if (resource->about.inode == 0)
            return (struct operations){
                {PERMISSION_LOOKS_UP, PERMISSION_CREATES, PERMISSION_CHANGES}, 3};
        break;
    case TOOL_MOVE:
        return moving(call, index);
    case TOOL_CREATE_DIRECTORY:
        return two(PERMISSION_LOOKS_UP, PERMISSION_CREATES);
    case TOOL_EXTRACT_ARCHIVE:
        if (resource->access == CATALOG_WRITES)
            return two(PERMISSION_LOOKS_UP, PERMISSION_CREATES_BELOW);
        break;
    default:
        break;
    }
    switch (resource->access) {
    case CATALOG_READS:
    case CATALOG_LISTS:
        return one(PERMISSION_READS);
    case CATALOG_DELETES:
        return two(PERMISSION_LOOKS_UP, PERMISSION_DELETES);
    case CATALOG_WRITES:
    case CATALOG_EXECUTES: /* by no tool of files */
        break;
    }
    return putting(resource, PERMISSION_CREATES);
}

/* ---- resources ---- */

/* The absolute path of a name below a root; ptr is NULL without memory. */
static struct str join(struct arena *arena, struct str root, struct str name)
{
    size_t len = root.len;
    char *text;

    while (len > 1 && root.ptr[len - 1] == '/')
        len--;
    text = arena_alloc(arena, len + 1 + name.len);
    if (text == NULL)
        return STR_CUT_END;
    memcpy(text, root.ptr, len);
    if (name.len == 0)
        return (struct str){text, len};
    if (text[len - 1] != '/')
        text[len++] = '/';
    memcpy(text + len, name.ptr, name.len);
    return (struct str){text, len + name.len};
}

static int add(struct gathered *all, enum permission_operation operation,
               const struct tool_folder *folder, const char *root, struct str name,
               struct str resolved)
{
    struct arena *arena = &all->call->arena;
    struct permission_resource item = {
        .group = permission_operation_group(operation),
        .given = join(arena, str_from(root), name),
        .resolved = join(arena, str_from(folder->root_path), resolved),
        .cwd = STR_EMPTY,
        .operation = operation,
    };

    if (item.given.ptr == NULL || item.resolved.ptr == NULL)
        return arena->error;
    for (size_t i = 0; i < all->count; i++)
        if (all->items[i].operation == item.operation && str_eq(all->items[i].given, item.given) &&
            str_eq(all->items[i].resolved, item.resolved))
            return 0;
    all->items[all->count++] = item;
    return 0;
}

/*
 * A root that was named through a link has two paths, and a rule may use either. The second
 * spelling of the given name is only needed if the name passes through a link: otherwise it equals
 * the resolved one.
 */
static int add_both(struct gathered *all, enum permission_operation operation,
                    const struct tool_folder *folder, struct str name, struct str resolved)
{
    int r = 0;

    if (folder->given_path == NULL || folder->given_path[0] != '/')
        return add(all, operation, folder, folder->root_path, name, resolved);
    r = add(all, operation, folder, folder->given_path, name, resolved);
    if (r == 0 && !str_eq(name, resolved))
        r = add(all, operation, folder, folder->root_path, name, resolved);
    return r;
}

static int add_resource(struct gathered *all, size_t index)
{
    const struct tool_resource *resource = &all->call->resources[index];
    const struct operations operations = operations_on(all->call, index);
    __attribute__((uninitialized)) struct path_name room;
    struct str resolved = resource->resolved;
    const struct tool_folder *folder = tool_folder_of(all->call->box, &resolved);
    const struct tool_folder *given_folder;
    struct str name = resolved;
    int r = 0;

    if (folder == NULL)
        return ERR_INTERNAL;
    /* "link/../../x" has no form without the link: then it is called by where it leads. */
    if (tool_name_below(all->call->box, resource->given, &given_folder, &room) == 0)
        name = path_view(&room);
    for (size_t i = 0; i < operations.count && r == 0; i++)
        r = add_both(all, operations.of[i], folder, name, resolved);
    return r;
}

/* list_allowed_directories names nothing; nor does undo_changes, which may touch everything. */
static int add_folders(struct gathered *all, bool changes)
{
    const struct toolbox *box = all->call->box;
    int r = 0;

    for (size_t i = 0; i < box->folder_count && r == 0; i++) {
        r = add_both(all, PERMISSION_LOOKS_UP, &box->folders[i], STR_EMPTY, STR_EMPTY);
        if (r == 0 && changes && box->folders[i].may_write)
            r = add_both(all, PERMISSION_CHANGES_BELOW, &box->folders[i], STR_EMPTY, STR_EMPTY);
    }
    return r;
}

int tool_permission_resources(struct tool_call *call,
                              const struct permission_resource **out_resources, size_t *out_count,
                              struct err *err)
{
    const enum catalog_group group = call->tool->group;
    size_t room = 2 * (size_t)MAX_OPERATIONS * (call->resource_count + call->box->folder_count);
    struct gathered all = {.call = call};
    int r = 0;

    if (group != CATALOG_FILESYSTEM_READ && group != CATALOG_FILESYSTEM_WRITE)
        return err_set_plain(err, ERR_UNSUPPORTED);
    all.items = arena_alloc_array(&call->arena, room, sizeof(*all.items));
    if (all.items == NULL)
        return err_set_plain(err, call->arena.error);
    for (size_t i = 0; i < call->resource_count && r == 0; i++)
        r = add_resource(&all, i);
    if (r == 0 && call->resource_count == 0)
        r = add_folders(&all, group == CATALOG_FILESYSTEM_WRITE && !call->has_no_effect);
    if (r < 0)
        return err_set_plain(err, r);
    *out_resources = all.items;
    *out_count = all.count;
    return 0;
}

/*
 * A directory that receives something may have got other entries meanwhile; one to be deleted may
 * not.
 */
static uint64_t mark_of_resource(const struct tool_resource *resource, uint64_t before)
{
    const struct authority_stat *about = &resource->about;
    bool is_place = about->type == AUTHORITY_DIRECTORY && resource->access != CATALOG_DELETES;
    const uint64_t facts[] = {
        before,
        about->inode,
        about->inode != 0 ? (uint64_t)about->type : 0,
        about->device,
        is_place ? 0 : about->size,
        is_place ? 0 : about->changed_ns,
    };

    return hash_str(hash_process_key(), (struct str){(const char *)facts, sizeof(facts)});
}

/* A change depends on the present files. Permission to read covers future content. */
static uint64_t mark_of_files(const struct tool_call *call)
{
    uint64_t mark = 0;

    if (call->tool->group != CATALOG_FILESYSTEM_WRITE)
        return 0;
    for (size_t i = 0; i < call->resource_count; i++)
        mark = mark_of_resource(&call->resources[i], mark);
    return mark;
}

int tool_consent_mark(struct tool_call *call, const struct cancel *cancel, uint64_t *out_mark)
{
    int r;

    *out_mark = mark_of_files(call);
    if (call->tool->id != TOOL_UNDO_CHANGES)
        return 0;
    r = tool_take_turn(call->box, cancel);
    if (r < 0)
        return r;
    *out_mark = undo_state(call->box->undo);
    tool_leave_turn(call->box);
    return 0;
}

bool tool_deletes(const struct tool_call *call)
{
    for (size_t i = 0; i < call->resource_count; i++)
        if (call->resources[i].access == CATALOG_DELETES)
            return true;
    return false;
}

bool tool_is_on_folder(const struct tool_call *call)
{
    for (size_t i = 0; i < call->resource_count; i++)
        if (call->resources[i].is_root || is_directory(&call->resources[i]))
            return true;
    return call->tool->id == TOOL_CREATE_DIRECTORY || call->tool->id == TOOL_UNDO_CHANGES;
}

static enum authority_operation operation_of(enum permission_operation operation)
{
    switch (operation) {
    case PERMISSION_LOOKS_UP:
        return AUTHORITY_OP_STAT;
    case PERMISSION_LISTS:
    case PERMISSION_LISTS_BELOW:
        return AUTHORITY_OP_LIST;
    case PERMISSION_READS:
    case PERMISSION_READS_BELOW:
    case PERMISSION_READS_SECRETS:
        return AUTHORITY_OP_READ;
    case PERMISSION_MOVES:
        return AUTHORITY_OP_MOVE;
    case PERMISSION_DELETES:
        return AUTHORITY_OP_REMOVE;
    case PERMISSION_CREATES:
    case PERMISSION_CREATES_BELOW:
    case PERMISSION_CHANGES:
    case PERMISSION_CHANGES_BELOW:
    case PERMISSION_USES: /* of no file */
    case PERMISSION_OPERATIONS:
        break;
    }
    return AUTHORITY_OP_WRITE;
}

void tool_record_refusal(struct tool_call *call, const struct permission_resource *resource,
                         const char *source, const char *rule, int code)
{
    const struct authority_call about = {.tool = call->tool->name.ptr, .id = call->number};
    struct authority_note note = {
        .operation = operation_of(resource->operation),
        .name = tool_plain_name(call->box, resource->resolved),
        .outcome = AUTHORITY_DENIED,
        .error = code,
        .policy_source = source,
        .policy_rule = rule,
    };

    (void)authority_note_call(call->box->config.files, &about, &note);
}
