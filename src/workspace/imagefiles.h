/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small first files of workspaces as steps of an image, so that the steps of a set-up can use them
 * and each workspace has them when it is created. Large ones, and those with unusual names, are
 * left to be written afterwards.
 */
#ifndef WORKSPACE_IMAGEFILES_H
#define WORKSPACE_IMAGEFILES_H

#include "base/jsonwrite.h"
#include "workspace/workspace.h"

enum {
    IMAGEFILES_FILE_BYTES = 16 << 10, /* the largest that is small */
    IMAGEFILES_STEP_BYTES = 48 << 10, /* of a step: services take 64 KiB */
    IMAGEFILES_BYTES = 512 << 10,     /* of all: services take 1 MiB, and there are other steps */
};

struct imagefiles {
    struct buf steps; /* "RUN …", each with a NUL behind it */
    bool *has;        /* for each file; NULL: none */
};

/* `home` is where the files go. imagefiles_done() even on failure. */
int imagefiles_init(struct imagefiles *images, const char *home, const struct workspace_file *files,
                    size_t count);
void imagefiles_done(struct imagefiles *images);

/* Writes the steps as items of an array. */
void imagefiles_write(const struct imagefiles *images, struct json_writer *json);

#endif
