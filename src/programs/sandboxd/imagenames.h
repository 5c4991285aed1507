/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The operator's table of names for FROM: each stands for an image of the operator's, which every
 * tenant may build on. A name with a star at its end stands for all names that begin so; of several
 * that match, the longest counts, and one without a star before all.
 */
#ifndef PROGRAMS_SANDBOXD_IMAGENAMES_H
#define PROGRAMS_SANDBOXD_IMAGENAMES_H

#include "programs/sandboxd/images_internal.h"

enum { IMAGENAMES_MAX_BODY_BYTES = 4 << 10, IMAGENAMES_MOST = 1000 };

int imagenames_load(struct images *images);
void imagenames_free(struct images *images);

/* What is wrong with a name, or NULL. */
const char *imagenames_check(struct str name);

/* The key of the image that FROM means; NULL if no name fits. */
const char *imagenames_find(const struct images *images, struct str from);

/* Whether an image has a name. */
bool imagenames_has(const struct images *images, const char *key);

/* Adds the name, or gives it to this image. ERR_TOO_LARGE if there are too many. */
int imagenames_set(struct images *images, struct str name, struct str key);

/* The image is gone. */
void imagenames_forget(struct images *images, const char *key);

/* A list of the names of an image. */
void imagenames_write(struct json_writer *json, const struct images *images, const char *key);

/* ---- endpoints ---- */

void imagenames_put(const struct api_call *call);
void imagenames_remove(const struct api_call *call);

#endif
