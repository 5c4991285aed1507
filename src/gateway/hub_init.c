/* SPDX-License-Identifier: Apache-2.0 */
/* What a machine says about itself when it connects. */
#include "gateway/hub_internal.h"

#include <stdlib.h>

#include "base/jsonwrite.h"

enum {
    MAX_PATH_BYTES = 4096,
    MAX_HOST_BYTES = 512,
    MAX_CATEGORIES = 64,
    MAX_CATEGORY_BYTES = 64,
    MAX_TEXT_BYTES = HUB_MAX_BODY_BYTES,
};

void hub_machine_free(struct hub_machine *machine)
{
    if (machine == NULL)
        return;
    toolset_unref(machine->tools);
    free(machine->texts);
    free(machine);
}

static int refuse(struct err *err, const char *words)
{
    return err_set(err, ERR_INVALID_REQUEST, "%s", words);
}

static int write_categories(const struct json_value *body, struct json_writer *json,
                            struct err *err)
{
    const struct json_value *list = json_get(body, STR("toolCategories"));
    struct str name;
    bool is_on;

    json_begin_array(json);
    if (list != NULL && (list->type != JSON_ARRAY || list->size > MAX_CATEGORIES))
        return refuse(err, "toolCategories must be a short array");
    if (list != NULL)
        json_each_item (item, list) {
            if (!json_get_str(item, STR("name"), &name) || name.len > MAX_CATEGORY_BYTES ||
                !json_get_bool(item, STR("enabled"), &is_on))
                return refuse(err, "each of toolCategories needs a name and enabled");
            json_begin_object(json);
            json_put_str(json, STR("name"), name);
            json_put_bool(json, STR("enabled"), is_on);
            if (json_get_bool(item, STR("writeAccess"), &is_on))
                json_put_bool(json, STR("writeAccess"), is_on);
            json_end_object(json);
        }
    json_end_array(json);
    return 0;
}

static int write_tree(const struct json_value *tree, struct json_writer *json, struct err *err)
{
    json_begin_array(json);
    if (tree->size > HUB_MAX_TREE_ENTRIES)
        return refuse(err, "the tree has too many entries");
    json_each_item (entry, tree) {
        struct str path;
        struct str type;
        int64_t size;

        if (!json_get_str(entry, STR("path"), &path) || path.len > MAX_PATH_BYTES ||
            !json_get_str(entry, STR("type"), &type))
            return refuse(err, "each entry of tree needs a path and a type");
        json_begin_object(json);
        json_put_str(json, STR("path"), path);
        json_put_str(json, STR("type"),
                     str_eq(type, STR("directory")) ? STR("directory") : STR("file"));
        if (json_get_whole(entry, STR("sizeBytes"), &size))
            json_put_int(json, STR("sizeBytes"), size);
        json_end_object(json);
    }
    json_end_array(json);
    return 0;
}

/* Appends finished JSON; `write` failing leaves its reason in err. */
static int append_json(struct buf *out, const struct json_value *value,
                       int (*write)(const struct json_value *, struct json_writer *, struct err *),
                       struct err *err)
{
    struct json_writer json;
    int r;

    json_writer_init(&json, out);
    r = write(value, &json, err);
    if (r < 0)
        return r;
    r = json_writer_finish(&json);
    return r < 0 ? err_set_plain(err, r) : 0;
}

static int take_texts(const struct json_value *body, struct hub_machine *machine, struct err *err)
{
    cleanup_buf struct buf text = BUF_INIT(MAX_TEXT_BYTES);
    const struct json_value *tree = machine->has_tree ? json_get(body, STR("tree")) : NULL;
    struct str root = STR_EMPTY;
    struct str host = STR_EMPTY;
    size_t ends[4];
    int r;

    if (!json_get_str(body, STR("rootPath"), &root) || root.len == 0 || root.len > MAX_PATH_BYTES)
        return refuse(err, "rootPath is required");
    json_get_str(body, STR("hostIdentifier"), &host);
    host = str_slice(host, 0, MAX_HOST_BYTES);
    r = buf_append_str(&text, root);
    ends[0] = text.len;
    if (r == 0)
        r = buf_append_str(&text, host);
    ends[1] = text.len;
    if (r == 0)
        r = append_json(&text, body, write_categories, err);
    ends[2] = text.len;
    if (r == 0 && tree != NULL)
        r = append_json(&text, tree, write_tree, err);
    ends[3] = text.len;
    if (r < 0)
        return r;
    machine->texts = malloc(text.len);
    if (machine->texts == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    memcpy(machine->texts, text.data, text.len);
    machine->root_path = (struct str){machine->texts, ends[0]};
    machine->host = (struct str){machine->texts + ends[0], ends[1] - ends[0]};
    machine->categories = (struct str){machine->texts + ends[1], ends[2] - ends[1]};
    machine->tree = (struct str){machine->texts + ends[2], ends[3] - ends[2]};
    return 0;
}

static int take(struct hub *hub, const struct json_value *body, struct hub_machine *machine,
                struct err *err)
{
    const struct json_value *tools = json_get(body, STR("tools"));
    const struct json_value *tree = json_get(body, STR("tree"));
    const struct json_value *extensions = json_get(body, STR("extensions"));
    int64_t version = 0;
    int r;

    if (body->type != JSON_OBJECT)
        return refuse(err, "the body must be an object");
    machine->has_tree = tools == NULL && tree != NULL && tree->type == JSON_ARRAY;
    if (tools == NULL && !machine->has_tree)
        return refuse(err, "tools or tree is required");
    if (extensions != NULL)
        json_get_int(extensions, STR("gatehouse"), &version);
    machine->has_extensions = version == 1;
    r = take_texts(body, machine, err);
    if (r < 0)
        return r;
    return machine->has_tree ? toolset_take_tree(&hub->toolsets, &machine->tools, err)
                             : toolset_take(&hub->toolsets, tools, &machine->tools, err);
}

int hub_read_init(struct hub *hub, struct str body, struct hub_machine **out_machine,
                  struct err *err)
{
    cleanup_arena struct arena arena = ARENA_INIT((size_t)HUB_MAX_BODY_BYTES * HUB_ARENA_FACTOR);
    const struct json_limits limits = {HUB_MAX_BODY_BYTES, JSON_DEFAULT_MAX_DEPTH};
    const struct json_value *document;
    struct hub_machine *machine;
    int r = json_parse(&arena, body, limits, &document, err);

    if (r < 0)
        return r;
    machine = calloc(1, sizeof(*machine));
    if (machine == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    list_init(&machine->node);
    r = take(hub, document, machine, err);
    if (r < 0) {
        hub_machine_free(machine);
        return r;
    }
    *out_machine = machine;
    return 0;
}
