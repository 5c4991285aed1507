/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/sandboxd/images.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/hex.h"
#include "programs/sandboxd/daytona/snapshots.h"
#include "programs/sandboxd/imagenames.h"
#include "programs/sandboxd/run.h"

enum { MOST_LAYERS = 4096, KEPT_LAYERS = 256 };

/* ---- layers ---- */

static void take_layer(void *data, const struct sandboxstore_layer *stored)
{
    (void)images_add_layer(data, stored);
}

struct layer *images_add_layer(struct images *images, const struct sandboxstore_layer *stored)
{
    struct layer *layer = calloc(1, sizeof(*layer) + stored->env.len + 1);

    if (layer == NULL)
        return NULL;
    layer->record = *stored;
    memcpy(layer->env, stored->env.ptr, stored->env.len);
    layer->record.env = (struct str){layer->env, stored->env.len};
    if (map_add(&images->layers, str_from(layer->record.key), layer) < 0) {
        free(layer);
        return NULL;
    }
    return layer;
}

struct layer *images_layer(const struct images *images, const char *key)
{
    return map_get(&images->layers, str_from(key));
}

static void on_layers(void *data, const struct err *err, const char *const *names, size_t count)
{
    struct images *images = data;

    for (size_t i = 0; err == NULL && i < count; i++)
        if (images_layer(images, names[i]) == NULL)
            (void)room_layer_delete(images->service->config.keeper, names[i], images_on_removed,
                                    images);
}

void images_on_removed(void *data, const struct err *err)
{
    const struct images *images = data;

    if (err != NULL && err->code != ERR_NOT_FOUND)
        log_error(images->service->config.log, "cannot remove a layer", err);
}

int images_new(struct service *service, struct images **out_images)
{
    struct images *images = calloc(1, sizeof(*images));
    int r;

    if (images == NULL)
        return ERR_NO_MEMORY;
    *images = (struct images){.service = service, .layers = MAP_INIT(MOST_LAYERS)};
    list_init(&images->builds);
    list_init(&images->names);
    *out_images = images;
    r = sandboxstore_each_layer(service->config.store, take_layer, images);
    if (r == 0)
        r = imagenames_load(images);
    /* Layers that a crash left without a record go. */
    return r == 0 ? room_list(service->config.keeper, true, on_layers, images) : r;
}

void images_free(struct images *images)
{
    size_t cursor = 0;
    struct str key;
    void *layer;

    if (images == NULL)
        return;
    images_free_builds(images);
    imagenames_free(images);
    while (map_next(&images->layers, &cursor, &key, &layer))
        free(layer);
    map_done(&images->layers);
    free(images);
}

bool images_has(const struct images *images, struct str key, const char *owner)
{
    const struct layer *layer = map_get(&images->layers, key);

    return layer != NULL && layer->record.is_image && strcmp(layer->record.owner, owner) == 0;
}

int images_layers(struct images *images, const char *key, const char *out_layers[ROOM_MAX_LAYERS],
                  size_t *out_count, struct err *err)
{
    size_t count = 0;

    for (struct layer *layer; key[0] != '\0'; key = layer->record.parent) {
        layer = images_layer(images, key);
        if (layer == NULL)
            return err_set(err, ERR_NOT_FOUND, "the sandbox's image is gone");
        layer->record.used_s = loop_wall_ms(images->service->config.loop) / 1000;
        if (!layer->record.has_files)
            continue;
        if (count == ROOM_MAX_LAYERS)
            return err_set(err, ERR_TOO_LARGE, "the image has too many layers");
        out_layers[count++] = layer->record.key;
    }
    /* They were found from the top. */
    for (size_t i = 0; i < count / 2; i++) {
        const char *swapped = out_layers[i];

        out_layers[i] = out_layers[count - 1 - i];
        out_layers[count - 1 - i] = swapped;
    }
    *out_count = count;
    return 0;
}

int images_apply(const struct images *images, const char *key, struct arena *arena,
                 struct room_command *command)
{
    const struct json_limits limits = {CALL_ARENA_BYTES, 4};
    const struct layer *layer = images_layer(images, key);
    const struct json_value *env;

    if (layer == NULL)
        return 0;
    if (command->workdir == NULL && layer->record.workdir[0] != '\0')
        command->workdir = layer->record.workdir;
    if (json_parse(arena, layer->record.env, limits, &env, NULL) < 0)
        return ERR_INTERNAL;
    return run_add_env(arena, env, command) == NULL ? 0 : ERR_NO_MEMORY;
}

const char *images_workdir(const struct images *images, const char *key)
{
    const struct layer *layer = images_layer(images, key);

    return layer != NULL && layer->record.workdir[0] != '\0' ? layer->record.workdir : NULL;
}

int images_write_warning(struct buf *out, const char *missing)
{
    return buf_printf(out, "no image has the name %s: the base is the system of this machine",
                      missing);
}

void images_put_warning(struct json_writer *json, const struct images *images, const char *key)
{
    cleanup_buf struct buf text = BUF_INIT(SANDBOXSTORE_PATH_BYTES);
    const struct layer *layer = images_layer(images, key);

    if (layer != NULL && layer->record.missing[0] != '\0' &&
        images_write_warning(&text, layer->record.missing) == 0)
        json_put_str(json, STR("warning"), buf_view(&text));
}

bool images_is_building(const struct images *images)
{
    return !list_is_empty(&images->builds);
}

/* ---- removing ---- */

static bool is_parent(const struct images *images, const char *key)
{
    size_t cursor = 0;
    struct str name;
    void *layer;

    while (map_next(&images->layers, &cursor, &name, &layer))
        if (strcmp(((const struct layer *)layer)->record.parent, key) == 0)
            return true;
    return false;
}

/* By a sandbox, also a stopped one, by a snapshot, or by a build. */
static bool is_used(const struct images *images, const char *key)
{
    list_each (node, &images->service->order)
        if (strcmp(list_entry(node, struct sandbox, node)->record.image, key) == 0)
            return true;
    return snapshots_use(images->service, key) || images_is_building_on(images, key);
}

/* Removes it, and then its parents that nobody asked for by themselves. */
static void remove_chain(struct images *images, struct layer *layer)
{
    while (layer != NULL) {
        struct layer *parent = images_layer(images, layer->record.parent);

        imagenames_forget(images, layer->record.key);
        (void)sandboxstore_remove_layer(images->service->config.store, str_from(layer->record.key));
        if (layer->record.has_files && images->service->config.keeper != NULL)
            (void)room_layer_delete(images->service->config.keeper, layer->record.key,
                                    images_on_removed, images);
        map_remove(&images->layers, str_from(layer->record.key));
        free(layer);
        layer = parent != NULL && !parent->record.is_image &&
                        !is_parent(images, parent->record.key) &&
                        !is_used(images, parent->record.key)
                    ? parent
                    : NULL;
    }
}

/* The one that was not used for the longest time, among those that may go. */
static struct layer *find_oldest(const struct images *images)
{
    struct layer *oldest = NULL;
    size_t cursor = 0;
    struct str name;
    void *value;

    while (map_next(&images->layers, &cursor, &name, &value)) {
        struct layer *layer = value;

        if ((oldest == NULL || layer->record.used_s < oldest->record.used_s) &&
            !is_parent(images, layer->record.key) && !is_used(images, layer->record.key) &&
            !imagenames_has(images, layer->record.key))
            oldest = layer;
    }
    return oldest;
}

void images_evict(struct images *images)
{
    while (images->layers.count > KEPT_LAYERS) {
        struct layer *oldest = find_oldest(images);

        if (oldest == NULL)
            return;
        remove_chain(images, oldest);
    }
}

/* ---- endpoints ---- */

/* What is below all of it: an imported system, or that of this machine. */
static struct str base_of(const struct images *images, const struct layer *layer)
{
    const struct layer *below;

    while ((below = images_layer(images, layer->record.parent)) != NULL)
        layer = below;
    return layer->record.is_system ? str_from(layer->record.key) : STR("host");
}

static void write_image(struct json_writer *json, const struct images *images,
                        const struct layer *layer)
{
    json_begin_object(json);
    json_put_str(json, STR("id"), str_from(layer->record.key));
    json_put_int(json, STR("created_at"), layer->record.created_s);
    json_put_int(json, STR("last_used_at"), layer->record.used_s);
    json_put_bool(json, STR("in_use"), is_used(images, layer->record.key));
    json_put_str(json, STR("base"), base_of(images, layer));
    json_key(json, STR("names"));
    imagenames_write(json, images, layer->record.key);
    images_put_warning(json, images, layer->record.key);
    json_end_object(json);
}

void images_list(const struct api_call *call)
{
    cleanup_buf struct buf out = BUF_INIT(CALL_MAX_ANSWER_BYTES);
    const struct images *images = call->service->images;
    struct json_writer json;
    size_t cursor = 0;
    struct str key;
    void *layer;

    json_writer_init(&json, &out);
    json_begin_array(&json);
    while (map_next(&images->layers, &cursor, &key, &layer))
        if (images_has(images, key, call->owner))
            write_image(&json, images, layer);
    json_end_array(&json);
    call_answer_written(call->exchange, 200, &json, &out);
}

static struct layer *find_image(const struct api_call *call)
{
    if (images_has(call->service->images, call->ids[0], call->owner))
        return map_get(&call->service->images->layers, call->ids[0]);
    call_fail(call->exchange, 404, "there is no such image");
    return NULL;
}

void images_get(const struct api_call *call)
{
    cleanup_buf struct buf out = BUF_INIT(CALL_MAX_ANSWER_BYTES);
    const struct layer *layer = find_image(call);
    struct json_writer json;

    if (layer == NULL)
        return;
    json_writer_init(&json, &out);
    write_image(&json, call->service->images, layer);
    call_answer_written(call->exchange, 200, &json, &out);
}

void images_remove(const struct api_call *call)
{
    struct images *images = call->service->images;
    struct layer *layer = find_image(call);

    if (layer == NULL)
        return;
    if (is_used(images, layer->record.key) || is_parent(images, layer->record.key)) {
        call_fail(call->exchange, 409, "the image is in use");
        return;
    }
    remove_chain(images, layer);
    call_answer_nothing(call->exchange);
}
