/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Images: steps like those of a Dockerfile, run once and kept as layers. A layer is named by the
 * SHA-256 of its owner, its parent and its step, so what was built is found again; two that want
 * the same build it once. The base is this machine's own system.
 *
 *     FROM builder    the base with Node.js, tsc and tsx, from npm (preset.h)
 *     FROM name       the image that the operator's table has for it (imagenames.h)
 *     FROM any other  the base, whatever the name, with a warning: nothing is downloaded
 *     RUN command     as root of a sandbox, whose files become the layer
 *     ENV name=value  for later steps and for commands
 *     WORKDIR path    the same; created
 *     COPY from… to   files of the build context, also by patterns; of a folder, its content
 */
#ifndef PROGRAMS_SANDBOXD_IMAGES_H
#define PROGRAMS_SANDBOXD_IMAGES_H

#include "programs/sandboxd/call.h"
#include "programs/sandboxd/service.h"

struct context;
struct images;

int images_new(struct service *service, struct images **out_images);
void images_free(struct images *images);

/* What is wrong with a list of steps, maybe in the arena, or NULL. */
const char *images_check_steps(struct arena *arena, const struct json_value *steps,
                               bool has_context);

/* The image's key; or the error, with the end of the output of a step that failed. */
typedef void images_built(void *data, const struct err *err, struct str log, const char *key);

/* What whoever builds an image hears; all but `done` may be NULL. None may start another build. */
struct images_events {
    images_built *done;
    /* From 1 on. Nothing is done for one that is cached. */
    void (*on_step)(void *data, size_t step, size_t steps, struct str text, bool is_cached);
    void (*on_output)(void *data, enum room_stream stream, struct str bytes);
    /* Whether the step must wait until this one has read what it was sent: images_pace(). */
    bool (*is_behind)(const void *data);
    void *data; /* different for each build */
};

struct images_request {
    const struct json_value *steps; /* were checked */
    const char *owner;
    struct context *context; /* taken over; or NULL */
    /* Of the steps, in place of the service's; or NULL, or empty. */
    const struct network_policy *network;
};

/* Calls `done`, maybe at once. */
void images_build(struct images *images, const struct images_request *request,
                  const struct images_events *events);

/* Makes steps wait for their readers, or go on. */
void images_pace(struct images *images);

/* Ends the events of the build with this data; what is being built is built all the same. */
void images_unwatch(struct images *images, const void *data);

bool images_has(const struct images *images, struct str key, const char *owner);

/* The names of the image's layers, the lowest first. An empty key has none. */
int images_layers(struct images *images, const char *key, const char *out_layers[ROOM_MAX_LAYERS],
                  size_t *out_count, struct err *err);

/* Puts the image's variables before those of the command, and sets its directory. */
int images_apply(const struct images *images, const char *key, struct arena *arena,
                 struct room_command *command);

/* The directory in which commands of the image run; NULL if it sets none. */
const char *images_workdir(const struct images *images, const char *key);

/* Adds a member "warning" if the image's FROM has a name that stands for no image. */
void images_put_warning(struct json_writer *json, const struct images *images, const char *key);

/* Whether steps are under way. */
bool images_is_building(const struct images *images);

/* Removes what was not used for long, if there are too many. */
void images_evict(struct images *images);

/* ---- endpoints ---- */

/* Builds an image and sends what happens as it happens; imagelog.c. */
void images_create(const struct api_call *call);
void images_list(const struct api_call *call);
void images_get(const struct api_call *call);
void images_remove(const struct api_call *call);

#endif
