/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/toolset.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/sha256.h"

const struct toolset_group toolset_groups[TOOLSET_GROUP_NAMES] = {
    {"read", TOOLSET_GROUP(CATALOG_FILESYSTEM_READ)},
    {"write", TOOLSET_GROUP(CATALOG_FILESYSTEM_WRITE)},
    {"shell", TOOLSET_GROUP(CATALOG_SHELL)},
    {"screen", TOOLSET_GROUP(CATALOG_COMPUTER)},
    {"browser", TOOLSET_GROUP(CATALOG_BROWSER)},
    {"other", TOOLSET_OTHER},
};

unsigned toolset_group_bit(struct str name)
{
    for (size_t i = 0; i < TOOLSET_GROUP_NAMES; i++)
        if (str_eq_c(name, toolset_groups[i].name))
            return toolset_groups[i].bit;
    return 0;
}

void toolset_write_groups(struct json_writer *json, struct str key, unsigned groups)
{
    json_key(json, key);
    json_begin_array(json);
    for (size_t i = 0; i < TOOLSET_GROUP_NAMES; i++)
        if ((groups & toolset_groups[i].bit) != 0)
            json_write_str(json, str_from(toolset_groups[i].name));
    json_end_array(json);
}

enum {
    NAME_BYTES = 64,
    SHOWN_BYTES = 80,
};

struct owned_set {
    struct toolset set; /* first: see owner_of() */
    size_t users;
    struct map *shared;
    unsigned char digest[SHA256_BYTES];
    struct arena arena;
};

static struct owned_set *owner_of(struct toolset *set)
{
    /* SAFETY: every set is the first member of an owned_set. */
    return (struct owned_set *)set;
}

/* ---- what a tool must be ---- */

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_usable_name(struct str name)
{
    if (name.len == 0 || name.len > NAME_BYTES || !is_letter(name.ptr[0]))
        return false;
    for (size_t i = 1; i < name.len; i++)
        if (!is_letter(name.ptr[i]) && !is_digit(name.ptr[i]) && name.ptr[i] != '_' &&
            name.ptr[i] != '-')
            return false;
    return true;
}

/* Without case and punctuation: names that a model would mix up. */
static size_t fold_name(struct str name, char out_text[NAME_BYTES])
{
    size_t len = 0;

    for (size_t i = 0; i < name.len; i++)
        if (is_letter(name.ptr[i]))
            out_text[len++] = (char)(name.ptr[i] | 0x20);
        else if (is_digit(name.ptr[i]))
            out_text[len++] = name.ptr[i];
    return len;
}

static bool is_taken(const struct toolset *set, struct str name)
{
    char wanted[NAME_BYTES];
    size_t wanted_len = fold_name(name, wanted);

    for (size_t i = 0; i < set->count; i++) {
        char other[NAME_BYTES];
        size_t len = fold_name(set->tools[i].tool.name, other);

        if (str_eq((struct str){other, len}, (struct str){wanted, wanted_len}))
            return true;
    }
    return false;
}

static bool is_object_schema(const struct json_value *schema)
{
    const struct json_value *properties = json_get(schema, STR("properties"));
    struct str type;

    return json_get_str(schema, STR("type"), &type) && str_eq(type, STR("object")) &&
           properties != NULL && properties->type == JSON_OBJECT;
}

static const struct json_value *alternatives_of(const struct json_value *schema)
{
    const struct json_value *list = json_get(schema, STR("anyOf"));

    if (list == NULL)
        list = json_get(schema, STR("oneOf"));
    return list != NULL && list->type == JSON_ARRAY && list->size > 0 ? list : NULL;
}

static bool is_input_schema(const struct json_value *schema)
{
    const struct json_value *list;

    if (schema == NULL)
        return false;
    if (is_object_schema(schema))
        return true;
    list = alternatives_of(schema);
    if (list == NULL)
        return false;
    json_each_item (item, list) {
        if (!is_object_schema(item))
            return false;
    }
    return true;
}

/* ---- its form for agents ---- */

static unsigned group_of(struct str name)
{
    static const struct {
        struct str prefix;
        enum catalog_group group;
    } families[] = {
        {STR_LITERAL("screen"), CATALOG_COMPUTER},    {STR_LITERAL("mouse_"), CATALOG_COMPUTER},
        {STR_LITERAL("keyboard_"), CATALOG_COMPUTER}, {STR_LITERAL("browser_"), CATALOG_BROWSER},
        {STR_LITERAL("shell_"), CATALOG_SHELL},
    };
    enum catalog_group known;

    if (catalog_group_of(name, &known))
        return TOOLSET_GROUP(known);
    for (size_t i = 0; i < array_size(families); i++)
        if (str_starts_with(name, families[i].prefix))
            return TOOLSET_GROUP(families[i].group);
    return TOOLSET_OTHER;
}

/* MCP wants an object at the top, which every alternative is anyway. */
static void write_schema(struct json_writer *json, const struct json_value *schema)
{
    struct str type;

    if (json_get_str(schema, STR("type"), &type)) {
        json_write_value(json, schema);
        return;
    }
    json_begin_object(json);
    json_put_str(json, STR("type"), STR("object"));
    json_each_member (key, schema) {
        if (str_eq(json_str(key), STR("type")))
            continue;
        json_key(json, json_str(key));
        json_write_value(json, key + 1);
    }
    json_end_object(json);
}

static int write_listing(const struct json_value *tool, struct buf *out)
{
    const struct json_value *annotations = json_get(tool, STR("annotations"));
    struct json_writer json;
    struct str text;

    json_writer_init(&json, out);
    json_begin_object(&json);
    if (json_get_str(tool, STR("name"), &text))
        json_put_str(&json, STR("name"), text);
    if (json_get_str(tool, STR("title"), &text))
        json_put_str(&json, STR("title"), text);
    if (json_get_str(tool, STR("description"), &text))
        json_put_str(&json, STR("description"), text);
    json_key(&json, STR("inputSchema"));
    write_schema(&json, json_get(tool, STR("inputSchema")));
    if (annotations != NULL && annotations->type == JSON_OBJECT) {
        json_key(&json, STR("annotations"));
        json_write_value(&json, annotations);
    }
    json_end_object(&json);
    return json_writer_finish(&json);
}

/* Nothing of `out` points into the request. */
static int add_tool(struct owned_set *owned, const struct json_value *tool, struct buf *space)
{
    struct toolset_tool *added = &owned->set.tools[owned->set.count];
    struct str name;
    int r;

    if (!json_get_str(tool, STR("name"), &name) || !is_usable_name(name) ||
        is_taken(&owned->set, name)) {
        owned->set.skipped++;
        return 0;
    }
    buf_clear(space);
    r = write_listing(tool, space);
    if (r < 0)
        return r;
    *added =
        (struct toolset_tool){.tool = {.id = -1, .provider = "gateway"}, .group = group_of(name)};
    if (!arena_copy_str(&owned->arena, name, &added->tool.name) ||
        !arena_copy_str(&owned->arena, buf_view(space), &added->listing.text))
        return owned->arena.error;
    added->tool.input_schema = STR("{}");
    added->listing.tool = &added->tool;
    owned->set.count++;
    return 0;
}

static int refuse_tool(size_t index, const struct json_value *tool, struct err *err)
{
    struct str name = STR_EMPTY;

    json_get_str(tool, STR("name"), &name);
    name = str_slice(name, 0, SHOWN_BYTES);
    return err_set(err, ERR_INVALID_REQUEST,
                   "tools[%zu] (%.*s): inputSchema must be an object schema with properties, or "
                   "anyOf or oneOf of such",
                   index, STR_ARG(name));
}

static int check_tools(const struct json_value *tools, struct err *err)
{
    size_t index = 0;

    if (tools == NULL || tools->type != JSON_ARRAY)
        return err_set(err, ERR_INVALID_REQUEST, "tools must be an array");
    if (tools->size > TOOLSET_MAX_TOOLS)
        return err_set(err, ERR_INVALID_REQUEST, "more than %d tools", TOOLSET_MAX_TOOLS);
    json_each_item (tool, tools) {
        if (!is_input_schema(json_get(tool, STR("inputSchema"))))
            return refuse_tool(index, tool, err);
        index++;
    }
    return 0;
}

/* ---- sharing ---- */

static void free_set(struct owned_set *owned)
{
    arena_done(&owned->arena);
    free(owned);
}

static int build(const struct json_value *tools, struct owned_set *owned)
{
    cleanup_buf struct buf space = BUF_INIT(TOOLSET_MAX_BYTES);

    owned->set.tools = arena_alloc_array(&owned->arena, tools->size > 0 ? tools->size : 1,
                                         sizeof(*owned->set.tools));
    if (owned->set.tools == NULL)
        return owned->arena.error;
    json_each_item (tool, tools) {
        int r = add_tool(owned, tool, &space);

        if (r < 0)
            return r;
    }
    return 0;
}

static int digest_of(const struct json_value *tools, unsigned char out_digest[SHA256_BYTES])
{
    cleanup_buf struct buf text = BUF_INIT(TOOLSET_MAX_BYTES);
    struct json_writer json;
    int r;

    json_writer_init(&json, &text);
    json_write_value(&json, tools);
    r = json_writer_finish(&json);
    if (r < 0)
        return r;
    sha256_of(buf_view(&text), out_digest);
    return 0;
}

static struct str key_of(const unsigned char digest[SHA256_BYTES])
{
    return (struct str){(const char *)digest, SHA256_BYTES};
}

int toolset_take(struct map *shared, const struct json_value *tools, struct toolset **out_set,
                 struct err *err)
{
    unsigned char digest[SHA256_BYTES];
    struct owned_set *owned;
    int r = check_tools(tools, err);

    if (r < 0)
        return r;
    r = digest_of(tools, digest);
    if (r < 0)
        return r == ERR_TOO_LARGE ? err_set(err, ERR_INVALID_REQUEST, "the tools are too large")
                                  : err_set_plain(err, r);
    owned = map_get(shared, key_of(digest));
    if (owned != NULL) {
        *out_set = toolset_ref(&owned->set);
        return 0;
    }
    owned = calloc(1, sizeof(*owned));
    if (owned == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    arena_init(&owned->arena, 2 * TOOLSET_MAX_BYTES);
    owned->users = 1;
    owned->shared = shared;
    memcpy(owned->digest, digest, SHA256_BYTES);
    r = build(tools, owned);
    if (r == 0)
        r = map_add(shared, key_of(owned->digest), owned);
    if (r < 0) {
        free_set(owned);
        return err_set_plain(err, r == ERR_TOO_LARGE ? ERR_BUSY : r);
    }
    *out_set = &owned->set;
    return 0;
}

struct toolset *toolset_ref(struct toolset *set)
{
    owner_of(set)->users++;
    return set;
}

void toolset_unref(struct toolset *set)
{
    struct owned_set *owned;

    if (set == NULL)
        return;
    owned = owner_of(set);
    if (--owned->users > 0)
        return;
    map_remove(owned->shared, key_of(owned->digest));
    free_set(owned);
}

const struct toolset_tool *toolset_find(const struct toolset *set, struct str name)
{
    for (size_t i = 0; i < set->count; i++)
        if (str_eq(set->tools[i].tool.name, name))
            return &set->tools[i];
    return NULL;
}

/* ---- clients of the older dialect ---- */

int toolset_take_tree(struct map *shared, struct toolset **out_set, struct err *err)
{
    static const struct str text = STR_LITERAL(
        "[{\"name\":\"read_file\",\"description\":\"Read lines of a text file.\","
        "\"annotations\":{\"readOnlyHint\":true},\"inputSchema\":{\"type\":\"object\","
        "\"properties\":{\"filePath\":{\"type\":\"string\"},\"startLine\":{\"type\":\"integer\"},"
        "\"maxLines\":{\"type\":\"integer\"}},\"required\":[\"filePath\"]}},"
        "{\"name\":\"list_files\",\"description\":\"List a directory, as it was when the machine "
        "connected.\",\"annotations\":{\"readOnlyHint\":true},\"inputSchema\":{\"type\":\"object\","
        "\"properties\":{\"dirPath\":{\"type\":\"string\"}}}},"
        "{\"name\":\"get_file_tree\",\"description\":\"Show the file tree, as it was when the "
        "machine connected.\",\"annotations\":{\"readOnlyHint\":true},\"inputSchema\":{\"type\":"
        "\"object\",\"properties\":{\"dirPath\":{\"type\":\"string\"},\"maxDepth\":{\"type\":"
        "\"integer\"}}}},"
        "{\"name\":\"search_files\",\"description\":\"Search files for lines.\","
        "\"annotations\":{\"readOnlyHint\":true},\"inputSchema\":{\"type\":\"object\","
        "\"properties\":{\"query\":{\"type\":\"string\"},\"filePattern\":{\"type\":\"string\"},"
        "\"ignoreCase\":{\"type\":\"boolean\"},\"maxResults\":{\"type\":\"integer\"}},"
        "\"required\":[\"query\"]}}]");
    cleanup_arena struct arena arena = ARENA_INIT(64 << 10);
    const struct json_value *tools;
    int r = json_parse(&arena, text, JSON_LIMITS_DEFAULT, &tools, err);

    return r == 0 ? toolset_take(shared, tools, out_set, err) : r;
}
