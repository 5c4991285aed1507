/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The image `FROM builder`, for agents that write TypeScript: Node.js, npm, tsc and tsx of pinned
 * versions, which npm of this machine gets once. scripts/make-preset writes its steps, from
 * data/builder.
 */
#ifndef PROGRAMS_SANDBOXD_PRESET_H
#define PROGRAMS_SANDBOXD_PRESET_H

#include "base/str.h"

enum { PRESET_BUILDER_STEPS = 7 };

/* They follow the FROM. */
extern const struct str preset_builder[PRESET_BUILDER_STEPS];

#endif
