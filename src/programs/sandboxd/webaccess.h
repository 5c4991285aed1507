/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hosts on the web that sandboxes reach by their names: one web proxy (isolate/webproxy.h) for all
 * of the service's sandboxes, started with the first one that needs it, and again if it has died.
 * Each has a list of its own.
 */
#ifndef PROGRAMS_SANDBOXD_WEBACCESS_H
#define PROGRAMS_SANDBOXD_WEBACCESS_H

#include "base/domainlist.h"
#include "base/list.h"
#include "isolate/room/room.h"
#include "loop/loop.h"
#include "loop/reader.h"
#include "loop/timer.h"

struct webaccess;

/* Before the service is confined: what starts proxies for it. *out_fd is for webaccess_new(). */
int webaccess_fork(const char *libexec, int *out_fd, struct err *err);

/* Takes over the descriptor. */
int webaccess_new(struct loop *loop, int fd, struct webaccess **out_access);
/* All grants must have been closed. */
void webaccess_free(struct webaccess *access);

/* The way of one sandbox, embedded in its owner; zeroes are one that is closed. */
struct webgrant {
    struct list node;
    struct webaccess *access; /* NULL: closed */
    const struct domainlist *hosts;
    const char *owner;
    int listener; /* in the sandbox; -1: not yet */
    int life;     /* -1: the proxy does not have it */
    struct ready_watch *watch;
    unsigned tries;        /* since it was served last */
    struct timer patience; /* while a new one waits for the proxy */
    /* Once: it works, or why not; then the grant is closed. NULL afterwards. */
    void (*done)(void *data, const struct err *err);
    void *data;
};

/*
 * For a sandbox that has just started, in which nothing runs. The hosts and the owner are borrowed
 * until the grant is closed. `done` comes later, also if the sandbox ends first. 0, or an error and
 * no `done`.
 */
int webgrant_open(struct webgrant *grant, struct webaccess *access, struct room *room,
                  const struct domainlist *hosts, const char *owner,
                  void (*done)(void *data, const struct err *err), void *data);

/* Whether `done` is still to come. */
bool webgrant_is_awaited(const struct webgrant *grant);

/* With or before the sandbox's end. Does nothing if it is closed; `done` does not come any more. */
void webgrant_close(struct webgrant *grant);

#endif
