/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dockerfiles, as far as the builders of images in Daytona's SDKs write them, as steps of images.h:
 *
 *     FROM name [AS name]        the first word, once; options go
 *     RUN command, RUN ["…"]
 *     COPY from… to, COPY ["…"]  no options; names without spaces; patterns
 *     ENV name=value…            several at a time
 *     WORKDIR path               also relative to the one before
 *     USER, ENTRYPOINT, CMD      are read and leave no step: commands run as the sandbox's user
 *
 * Comments, continued lines, quotes and $NAME, ${NAME}, ${NAME:-word}, ${NAME:+word} in all but RUN
 * are Docker's. Other words, options, here-documents and a second FROM are refused with their line.
 */
#ifndef PROGRAMS_SANDBOXD_DOCKERFILE_H
#define PROGRAMS_SANDBOXD_DOCKERFILE_H

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

enum {
    DOCKERFILE_MAX_BYTES = 512 << 10,
    DOCKERFILE_MAX_STEPS = 127,
    DOCKERFILE_MAX_STEP_BYTES = 60 << 10, /* also of what variables become */
};

/* Writes a JSON list of texts. ERR_INVALID_ARGUMENT says in which line what is wrong. */
int dockerfile_read(struct str text, struct buf *out_steps, struct err *err);

#endif
