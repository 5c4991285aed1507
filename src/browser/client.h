/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The connection of a front end to gatehouse-browser: calls with their results, in any order, and
 * where the pages are. On the loop, except browser_client_page().
 */
#ifndef BROWSER_CLIENT_H
#define BROWSER_CLIENT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/json.h"
#include "base/str.h"
#include "loop/loop.h"

enum { BROWSER_PAGE_URL_BYTES = 2048, BROWSER_PAGE_ID_BYTES = 16 };

struct browser_client;

struct browser_client_config {
    const char *libexec;   /* where the program may be installed */
    const char *state_dir; /* where it keeps profiles */
    /* Where files wait on their way to and from pages (protocol/staged.h); NULL or empty: none. */
    const char *staging_dir;
    bool is_headless; /* no windows, even if there is a display */
    int error_fd;
    bool is_confined; /* will be: a process that is made at once starts it */
};

/*
 * The first call starts gatehouse-browser, and browser_client_call() another one when it has died.
 * ERR_UNSUPPORTED: no browser is installed. The texts must outlive it.
 */
int browser_client_start(const struct browser_client_config *config,
                         struct browser_client **out_client, struct err *err);
/* The browser ends, and nothing of it is left. No call may be waited for. */
void browser_client_free(struct browser_client *client);

/* A request for a file; another gatehouse-browser would have other requests of that number. */
struct browser_client_want {
    uint64_t run; /* of gatehouse-browser */
    int64_t check;
};

struct browser_client_events {
    /*
     * Whether a page may go there; `is_agreed`: the call that runs was allowed to. is_named: there
     * is a rule that names the host, so it may be on a private network.
     */
    bool (*may_go)(void *data, struct str host, uint16_t port, bool is_agreed, bool *out_is_named);
    /* A page wants a file; browser_client_give_file() follows with the same want, or nothing. */
    void (*want_file)(void *data, const struct browser_client_want *want, struct str url);
    void *data;
};

/* Before the first call. */
int browser_client_attach(struct browser_client *client, struct loop *loop,
                          const struct browser_client_events *events);
/* Before the loop is freed. Calls that are waited for fail. */
void browser_client_detach(struct browser_client *client);

/* `message` is {"result", "isError", "image"}, or NULL if gatehouse-browser has gone. */
typedef void browser_client_done_fn(void *data, const struct json_value *message);

/*
 * Members of the call's object, without its number. `done` is never called from inside. If
 * gatehouse-browser has died since the last call, this one is told, unless it asks for a new
 * browser itself.
 */
int browser_client_call(struct browser_client *client, struct str members, bool asks_for_new,
                        browser_client_done_fn *done, void *data, uint64_t *out_id,
                        struct err *err);
void browser_client_cancel(struct browser_client *client, uint64_t id);

struct browser_client_file {
    bool is_allowed;
    struct str type; /* for Content-Type */
    struct str data; /* base64 */
    struct str why;  /* it is not allowed */
};

void browser_client_give_file(struct browser_client *client, const struct browser_client_want *want,
                              const struct browser_client_file *file);

struct browser_client_page {
    char id[BROWSER_PAGE_ID_BYTES];
    char url[BROWSER_PAGE_URL_BYTES];
    bool is_users; /* a tab of the user's own browser, which no call opened */
};

/* Any thread. The page of this name, or the active one; false if there is none. */
bool browser_client_page(struct browser_client *client, struct str id,
                         struct browser_client_page *out_page);

#endif
