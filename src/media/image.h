/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Works on images with libvips, which is loaded if it is installed: only its own readers and
 * writers of five formats, nothing that it would hand on to ImageMagick or poppler.
 */
#ifndef MEDIA_IMAGE_H
#define MEDIA_IMAGE_H

#include "media/wire.h"

/* Before confining: loads the library and all that it needs from disk. ERR_UNSUPPORTED without. */
int image_open(struct err *err);

/*
 * Does a request of MEDIA_JOB_IMAGE. `space` gets the output. Only the first picture of an
 * animation is used. What it allocates is left to the end of the process.
 */
int image_work(const struct media_request *request, struct buf *space,
               struct media_answer *out_answer, struct err *err);

#endif
