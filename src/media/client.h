/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asks gatehouse-media, which works on images and documents in a process of its own for each
 * request (isolate/errand.h).
 */
#ifndef MEDIA_CLIENT_H
#define MEDIA_CLIENT_H

#include "base/cancel.h"
#include "media/wire.h"

struct media_client;

/*
 * Call it before there are threads, and before confining. `libexec` as in isolate/companion.h.
 * time_ms: for one request; 0: the usual 45 s.
 */
int media_client_start(const char *libexec, int error_fd, int64_t time_ms,
                       struct media_client **out_client, struct err *err);
/* As errand_open(): at the other end is media_serve(). */
int media_client_open(int fd, struct media_client **out_client, struct err *err);
/* As errand_serve(). */
int media_serve(int fd, const char *libexec, int error_fd);
/* No thread may be asking. */
void media_client_free(struct media_client *client);
/* As errand_is_lost(). */
bool media_client_is_lost(const struct media_client *client);

/*
 * Blocks until there is an answer; threads take turns. The outputs of the answer are views of
 * `space`, whose limit is that of the answer. ERR_MEDIA_FORMAT: it is not what it should be, or
 * damaged. ERR_MEDIA_LIMIT: too many pixels or pages, too much memory or time. ERR_UNSUPPORTED:
 * the library is not installed.
 */
int media_ask(struct media_client *client, enum media_job job, const struct media_request *request,
              const struct cancel *cancel, struct buf *space, struct media_answer *out_answer,
              struct err *err);

/* What works on this machine: a bit for each format of images, and whether documents do. */
struct media_abilities {
    unsigned formats; /* 1 << MEDIA_JPEG and so on */
    bool has_documents;
};
void media_probe(struct media_client *client, struct media_abilities *out_abilities);

#endif
