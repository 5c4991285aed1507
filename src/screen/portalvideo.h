/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pictures of monitors that a desktop sends by PipeWire. libpipewire is loaded when there is a
 * portal. It reads its modules and settings in portalvideo_new(), before the process is confined;
 * its thread starts with portalvideo_connect(), after that.
 */
#ifndef SCREEN_PORTALVIDEO_H
#define SCREEN_PORTALVIDEO_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "screen/waylandpixels.h"

struct portalvideo;

/* ERR_UNSUPPORTED, with the reason: libpipewire cannot be used. */
int portalvideo_new(struct portalvideo **out_video, struct err *err);
void portalvideo_free(struct portalvideo *video);

/* Poll it for reading. */
int portalvideo_fd(struct portalvideo *video);
/* Takes what has come, without waiting. */
void portalvideo_hear(struct portalvideo *video);

/* One stream for each of these nodes; once. The descriptor becomes libpipewire's. */
int portalvideo_connect(struct portalvideo *video, int fd, const uint32_t *nodes, int count,
                        struct err *err);
/* The connection or a stream has ended, for good. */
bool portalvideo_has_ended(const struct portalvideo *video);
/* In pixels. False: it is not known yet. */
bool portalvideo_size(const struct portalvideo *video, int index, int *out_width, int *out_height);
/* The newest picture, valid until the next call. False: none has come yet. */
bool portalvideo_picture(struct portalvideo *video, int index, struct waylandpixels *out_pixels);

#endif
