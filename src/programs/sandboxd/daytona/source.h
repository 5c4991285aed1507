/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a new sandbox or snapshot is made from, by the fields of a request: a snapshot, a name of an
 * image, or a Dockerfile with build contexts. The one place that turns them into an image of
 * programs/sandboxd/images.
 */
#ifndef PROGRAMS_SANDBOXD_DAYTONA_SOURCE_H
#define PROGRAMS_SANDBOXD_DAYTONA_SOURCE_H

#include "programs/sandboxd/call.h"

enum { SOURCE_MOST_CONTEXTS = 64 };

/* The image's key, empty for the base; or the error, with the end of a build's output. */
typedef void source_found(void *data, const struct err *err, struct str log, const char *image);

/* By `snapshot` or `buildInfo`. Calls `done`, maybe at once. */
void source_find(const struct api_call *call, const struct json_value *object, source_found *done,
                 void *data);

/* By the name of an image, if it is not empty, or by `buildInfo`. Calls `done`, maybe at once. */
void source_build(const struct api_call *call, const struct json_value *object,
                  struct str image_name, source_found *done, void *data);

#endif
