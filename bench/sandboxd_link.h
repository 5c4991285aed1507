/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A connection to the sandbox service that is used for one request after the other. Written on
 * sockets alone, so that it measures the service and shares no code with it.
 */
#ifndef BENCH_SANDBOXD_LINK_H
#define BENCH_SANDBOXD_LINK_H

#include <stddef.h>

enum {
    LINK_BUFFER_BYTES = 1 << 18,
    LINK_BODY_BYTES = 4096, /* of a body; of a longer one the first and the last half */
    LINK_COUNTED = 'Z',     /* in no answer of the service's own */
};

struct link {
    int fd;
    unsigned short port;
    const char *key;
    size_t at; /* in the buffer: what was not looked at begins here */
    size_t len;
    size_t counted; /* LINK_COUNTED in the last body */
    char body[LINK_BODY_BYTES + 1];
    char *buffer;
};

/* All end the benchmark on failure. */
void link_open(struct link *link, unsigned short port, const char *key);
void link_close(struct link *link);
/* The body may be NULL. */
void link_send(struct link *link, const char *method, const char *path, const char *body);
/* The same with a body of `before`, `count` times LINK_COUNTED, and `after`. */
void link_send_large(struct link *link, const char *path, const char *type, const char *before,
                     size_t count, const char *after);
/* The status; the body is in link->body. */
int link_answer(struct link *link);

#endif
