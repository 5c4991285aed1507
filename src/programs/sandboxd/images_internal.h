/* SPDX-License-Identifier: Apache-2.0 */
/* What images.c and imagebuild.c share. */
#ifndef PROGRAMS_SANDBOXD_IMAGES_INTERNAL_H
#define PROGRAMS_SANDBOXD_IMAGES_INTERNAL_H

#include "programs/sandboxd/images.h"

struct layer {
    struct sandboxstore_layer record; /* its env is below */
    char env[];
};

struct images {
    struct service *service;
    struct map layers;  /* by key */
    struct list builds; /* requests for images, struct build of imagebuild.c */
};

/* NULL without memory. */
struct layer *images_add_layer(struct images *images, const struct sandboxstore_layer *stored);
/* NULL if there is none. */
struct layer *images_layer(const struct images *images, const char *key);
/* A room_done for layers. */
void images_on_removed(void *data, const struct err *err);

/* Whether a build works on top of this layer. */
bool images_is_building_on(const struct images *images, const char *key);
/* The keeper is gone: drops the builds, whose requests were answered. */
void images_free_builds(struct images *images);

#endif
