/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a new sandbox or snapshot is made from, by the fields of a request: a snapshot, a name of an
 * image, or a Dockerfile with build contexts. The one place that turns them into an image of
 * programs/sandboxd/images.
 */
#ifndef PROGRAMS_SANDBOXD_DAYTONA_SOURCE_H
#define PROGRAMS_SANDBOXD_DAYTONA_SOURCE_H

#include "programs/sandboxd/call.h"
#include "programs/sandboxd/images.h"

enum { SOURCE_MOST_CONTEXTS = 64 };

/* By `snapshot` or `buildInfo`. Calls `done`, maybe at once; its key is empty for the base. */
void source_find(const struct api_call *call, const struct json_value *object,
                 const struct images_events *events);

/* By the name of an image, if it is not empty, or by `buildInfo`. Calls `done`, maybe at once. */
void source_build(const struct api_call *call, const struct json_value *object,
                  struct str image_name, const struct images_events *events);

#endif
