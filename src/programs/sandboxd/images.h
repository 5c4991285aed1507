/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Images: steps like those of a Dockerfile, run once and kept as layers. A layer is named by the
 * SHA-256 of its owner, its parent and its step, so what was built is found again; two that want
 * the same build it once. The base is this machine's own system.
 *
 *     FROM builder    the base with Node.js, tsc and tsx, from npm (preset.h)
 *     FROM any name   the base, whatever the name: nothing is downloaded
 *     RUN command     as root of a sandbox, whose files become the layer
 *     ENV name=value  for later steps and for commands
 *     WORKDIR path    the same; created
 *     COPY from… to   files of the build context; a folder's content goes into `to`
 */
#ifndef PROGRAMS_SANDBOXD_IMAGES_H
#define PROGRAMS_SANDBOXD_IMAGES_H

#include "programs/sandboxd/call.h"
#include "programs/sandboxd/service.h"

struct context;
struct images;

int images_new(struct service *service, struct images **out_images);
void images_free(struct images *images);

/* What is wrong with a list of steps, or NULL. */
const char *images_check_steps(const struct json_value *steps, bool has_context);

/* The image's key; or the error, with the end of the output of a step that failed. */
typedef void images_built(void *data, const struct err *err, struct str log, const char *key);
/* Calls `done`, maybe at once. The steps were checked. Takes the context over; or NULL. */
void images_build(struct images *images, const struct json_value *steps, const char *owner,
                  struct context *context, images_built *done, void *data);

bool images_has(const struct images *images, struct str key, const char *owner);

/* The names of the image's layers, the lowest first. An empty key has none. */
int images_layers(struct images *images, const char *key, const char *out_layers[ROOM_MAX_LAYERS],
                  size_t *out_count, struct err *err);

/* Puts the image's variables before those of the command, and sets its directory. */
int images_apply(const struct images *images, const char *key, struct arena *arena,
                 struct room_command *command);

/* Whether steps are under way. */
bool images_is_building(const struct images *images);

/* Removes what was not used for long, if there are too many. */
void images_evict(struct images *images);

/* ---- endpoints ---- */

void images_list(const struct call *call);
void images_get(const struct call *call);
void images_remove(const struct call *call);

#endif
