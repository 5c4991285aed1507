/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The certificate and the key of a program that serves others, from two files, and again whenever
 * these change. A pair that does not fit or cannot be read is logged, and the last good one stays
 * in use. Without files there is no TLS.
 */
#ifndef CLI_CERTIFICATE_H
#define CLI_CERTIFICATE_H

#include <limits.h>
#include <time.h>

#include "base/log.h"
#include "isolate/landlock.h"
#include "loop/timer.h"
#include "net/address.h"
#include "net/tls/tls.h"

enum { CERTIFICATE_FILES = 2, CERTIFICATE_PLACES = 2 * CERTIFICATE_FILES };

struct certificate_stamp {
    uint64_t device;
    uint64_t inode;
    int64_t size;
    struct timespec changed;
    bool is_there;
};

struct certificate {
    const struct log *log;
    char paths[CERTIFICATE_FILES][PATH_MAX]; /* the chain, the key */
    struct certificate_stamp seen[CERTIFICATE_FILES];
    struct tls_context *context; /* NULL: no TLS */
    struct timer look;
    char directories[CERTIFICATE_PLACES][PATH_MAX];
};

/* Reads both, or none if both are NULL; the message is for the user. Before it is confined. */
int certificate_open(struct certificate *certificate, const char *chain_path, const char *key_path,
                     const struct log *log, struct err *err);
/* Whether it may listen there: for other machines only with TLS, its own or that of a proxy. */
int certificate_check_address(const struct certificate *certificate, const struct address *address,
                              bool is_behind_proxy, struct err *err);
/* The directories where a later pair may be: those of the names, and of the files behind links. */
size_t certificate_places(struct certificate *certificate,
                          struct landlock_place out_places[CERTIFICATE_PLACES]);
void certificate_watch(struct certificate *certificate, struct loop *loop);
void certificate_close(struct certificate *certificate);

/* For a new connection. */
int certificate_make_filter(struct certificate *certificate, struct filter **out_filter);

#endif
