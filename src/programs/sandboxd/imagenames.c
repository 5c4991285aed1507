/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/sandboxd/imagenames.h"

#include <stdio.h>
#include <stdlib.h>

struct name {
    struct list node;
    struct sandboxstore_name record;
};

/* ---- the table ---- */

static struct name *add(struct images *images, const struct sandboxstore_name *record)
{
    struct name *name = calloc(1, sizeof(*name));

    if (name == NULL)
        return NULL;
    name->record = *record;
    list_init(&name->node);
    list_append(&images->names, &name->node);
    return name;
}

static void drop(struct name *name)
{
    list_remove(&name->node);
    free(name);
}

static void take(void *data, const struct sandboxstore_name *record)
{
    struct images *images = data;

    /* A crash may have removed the image and not the name. */
    if (images_layer(images, record->image) != NULL)
        (void)add(images, record);
}

int imagenames_load(struct images *images)
{
    return sandboxstore_each_name(images->service->config.store, take, images);
}

void imagenames_free(struct images *images)
{
    while (!list_is_empty(&images->names))
        drop(list_entry(images->names.next, struct name, node));
}

const char *imagenames_check(struct str name)
{
    for (size_t i = 0; i < name.len; i++) {
        const char c = name.ptr[i];
        const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                              (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-' ||
                              c == '/' || c == ':' || c == '@';

        if (!is_plain && (c != '*' || i + 1 < name.len))
            return "name: letters, digits and . _ - / : @, with a * at most at its end";
    }
    if (name.len == 0 || name.len > SANDBOXSTORE_MAX_NAME_BYTES)
        return "name must have 1 to 128 bytes";
    return str_eq(name, STR("builder")) ? "name: builder is an image of this service's own" : NULL;
}

static struct name *find_exactly(const struct images *images, struct str text)
{
    list_each (node, &images->names) {
        struct name *name = list_entry(node, struct name, node);

        if (str_eq_c(text, name->record.name))
            return name;
    }
    return NULL;
}

const char *imagenames_find(const struct images *images, struct str from)
{
    const struct name *found = find_exactly(images, from);
    size_t longest = 0;

    if (found != NULL)
        return found->record.image;
    list_each (node, &images->names) {
        const struct name *name = list_entry(node, struct name, node);
        const struct str text = str_from(name->record.name);

        if (text.ptr[text.len - 1] == '*' && text.len > longest &&
            str_starts_with(from, str_slice(text, 0, text.len - 1))) {
            longest = text.len;
            found = name;
        }
    }
    return found != NULL ? found->record.image : NULL;
}

bool imagenames_has(const struct images *images, const char *key)
{
    list_each (node, &images->names)
        if (strcmp(list_entry(node, struct name, node)->record.image, key) == 0)
            return true;
    return false;
}

static size_t count(const struct images *images)
{
    size_t names = 0;

    list_each (node, &images->names)
        names++;
    return names;
}

int imagenames_set(struct images *images, struct str name, struct str key)
{
    struct name *known = find_exactly(images, name);
    struct sandboxstore_name record;
    int r;

    if (known == NULL && count(images) >= IMAGENAMES_MOST)
        return ERR_TOO_LARGE;
    snprintf(record.name, sizeof(record.name), "%.*s", STR_ARG(name));
    snprintf(record.image, sizeof(record.image), "%.*s", STR_ARG(key));
    r = sandboxstore_save_name(images->service->config.store, name, key);
    if (r == 0 && known != NULL)
        known->record = record;
    else if (r == 0 && add(images, &record) == NULL)
        r = ERR_NO_MEMORY;
    return r;
}

void imagenames_forget(struct images *images, const char *key)
{
    list_each_safe (node, &images->names) {
        struct name *name = list_entry(node, struct name, node);

        if (strcmp(name->record.image, key) != 0)
            continue;
        (void)sandboxstore_remove_name(images->service->config.store, str_from(name->record.name));
        drop(name);
    }
}

void imagenames_write(struct json_writer *json, const struct images *images, const char *key)
{
    json_begin_array(json);
    list_each (node, &images->names) {
        const struct name *name = list_entry(node, struct name, node);

        if (strcmp(name->record.image, key) == 0)
            json_write_str(json, str_from(name->record.name));
    }
    json_end_array(json);
}

/* ---- endpoints ---- */

void imagenames_put(const struct api_call *call)
{
    cleanup_arena struct arena arena = ARENA_INIT(CALL_ARENA_BYTES);
    struct images *images = call->service->images;
    const struct json_value *object = call_object(call, &arena, false);
    struct str name = STR_EMPTY;
    struct str image = STR_EMPTY;
    const char *wrong;
    int r;

    if (object == NULL)
        return;
    wrong = !call_member_str(object, STR("name"), &name) ? "name must be a text"
                                                         : imagenames_check(name);
    if (wrong == NULL && (!call_member_str(object, STR("image_id"), &image) ||
                          !images_has(images, image, call->owner)))
        wrong = "image_id is no image of yours";
    if (wrong != NULL) {
        call_fail(call->exchange, 400, wrong);
        return;
    }
    r = imagenames_set(images, name, image);
    if (r < 0)
        call_fail(call->exchange, err_http_status(r), "cannot keep the name");
    else
        call_answer_nothing(call->exchange);
}

void imagenames_remove(const struct api_call *call)
{
    cleanup_arena struct arena arena = ARENA_INIT(CALL_ARENA_BYTES);
    struct images *images = call->service->images;
    struct str text = STR_EMPTY;
    struct name *name;
    int error = 0;
    int r;

    if (!call_query(call, &arena, STR("name"), &text, &error)) {
        call_fail(call->exchange, 400, "the query needs a name");
        return;
    }
    name = find_exactly(images, text);
    if (name == NULL) {
        call_fail(call->exchange, 404, "there is no such name");
        return;
    }
    r = sandboxstore_remove_name(images->service->config.store, text);
    if (r < 0) {
        call_fail(call->exchange, err_http_status(r), err_text(r));
        return;
    }
    drop(name);
    call_answer_nothing(call->exchange);
}
