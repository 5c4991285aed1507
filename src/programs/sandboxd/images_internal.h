/* SPDX-License-Identifier: Apache-2.0 */
/* What images.c, imagebuild.c, imageimport.c, imagelog.c and imagenames.c share. */
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
    struct list names;  /* struct name of imagenames.c */
};

/* A whole system in a tar archive, to be the base of others. */
struct images_archive {
    char digest[SANDBOXSTORE_KEY_BYTES]; /* its SHA-256, which is checked */
    int fd;                              /* a file; taken over */
    struct str name;                     /* of the image then; checked */
};

/* NULL without memory. */
struct layer *images_add_layer(struct images *images, const struct sandboxstore_layer *stored);
/* NULL if there is none. */
struct layer *images_layer(const struct images *images, const char *key);
/* A room_done for layers. */
void images_on_removed(void *data, const struct err *err);

/* Makes an image of it, as images_build() does; for the administrator. */
void images_import(struct images *images, const struct images_archive *archive,
                   const struct images_events *events);

/* Where the archive is in the room that unpacks it; and the command for that, or NULL. */
#define IMAGES_ARCHIVE "/tmp/.gatehouse-context.tar"
const char *const *images_import_words(struct arena *arena, struct str digest);

/*
 * Answers with what happens in a build, which `begin` starts with these events; imagelog.c. False
 * without memory: then that is answered and nothing began.
 */
bool images_answer_log(struct images *images, struct exchange *exchange,
                       void (*begin)(void *data, const struct images_events *events), void *data);

/* What is said of an image whose FROM has a name that stands for none. */
int images_write_warning(struct buf *out, const char *missing);

/* Whether a build works on top of this layer. */
bool images_is_building_on(const struct images *images, const char *key);
/* The keeper is gone: drops the builds, whose requests were answered. */
void images_free_builds(struct images *images);

#endif
