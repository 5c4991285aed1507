/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests to a sandbox service, for the commands of `gatehouse sandbox`: where the service is, one
 * answer after the other, and answers that come line by line. What a service says is shown to the
 * user with control characters escaped; the output of commands is passed on as it is.
 */
#ifndef PROGRAMS_SANDBOXCTL_CTL_H
#define PROGRAMS_SANDBOXCTL_CTL_H

#include "base/json.h"
#include "base/jsonwrite.h"
#include "base/options/options.h"
#include "base/secret.h"
#include "cli/authorities.h"
#include "loop/loop.h"
#include "net/http/client.h"

enum {
    CTL_MAX_TEXT_BYTES = 64 << 20, /* of an answer, or of a line of one */
    CTL_MAX_BODY_BYTES = 15 << 20, /* of a request */
    CTL_TARGET_BYTES = 4 << 10,
    CTL_ID_BYTES = 65,
};

struct ctl {
    struct loop *loop;
    struct httpclient *client;
    struct httpurl url;
    struct secret key;
    struct authorities authorities; /* for TLS */
    struct buf body;                /* the answer to the last ctl_ask() */
};

/* ---- the service ---- */

/*
 * Finds the service that --url names, or the user's own one; if that does not run, starts it for
 * as long as it is needed.
 */
int ctl_find_service(struct ctl *ctl, const struct option_values *values, struct err *err);

/* ---- requests ---- */

struct ctl_request {
    struct ctl *ctl;
    enum http_method method;
    char target[CTL_TARGET_BYTES];
    struct httpclient_call *call;
    bool has_body;
    bool is_repeated;  /* after the service had to start the sandbox anew */
    bool is_restarted; /* it says so */
    bool is_executable;
    bool is_over;
    int status;
    int error; /* ERR_*: nothing was answered */
    struct err err;
    struct buf body;
    /* Of a 200: pieces or lines as they come. Without both it is in `body`. */
    void (*take)(void *data, struct str piece);
    void (*take_line)(void *data, struct str line);
    /* When it is over. May be NULL. */
    void (*done)(void *data);
    void *data;
};

void request_init(struct ctl_request *request, struct ctl *ctl);
void request_done(struct ctl_request *request);
/* The body is moved away; NULL: none. Its target is printf()ed by the caller into `target`. */
int request_send(struct ctl_request *request, enum http_method method, struct buf *body,
                 struct err *err);
/* Runs the loop until it is over, and returns what went wrong: a status is an error, too. */
int request_wait(struct ctl_request *request, struct err *err);
/* What went wrong with one that is over; 0 if nothing. */
int request_result(const struct ctl_request *request, struct err *err);

/* "name": ["…", …] of an object. */
void ctl_put_list(struct json_writer *json, struct str name, struct option_list list);

/* One request and its answer, in ctl->body. */
int ctl_ask(struct ctl *ctl, enum http_method method, const char *target, struct buf *body,
            struct err *err);
/* Same, and parses the answer. */
int ctl_ask_json(struct ctl *ctl, enum http_method method, const char *target, struct buf *body,
                 struct arena *arena, const struct json_value **out_answer, struct err *err);

/* ---- words of the command line ---- */

/* The whole id of the only one in this list ("/sandboxes", "/images") that begins so. */
int ctl_find_id(struct ctl *ctl, const char *list, const char *given, char out_id[CTL_ID_BYTES],
                struct err *err);

/* Appends text for a query, encoded. */
int ctl_encode(struct buf *out, struct str text);

void ctl_write(int fd, struct str text);

/* ---- the commands ---- */

/* All return the exit status or ERR_*. */
int ctl_exec(struct ctl *ctl, const struct option_values *values, struct err *err);
int ctl_copy(struct ctl *ctl, const struct option_values *values, struct err *err);
int ctl_logs(struct ctl *ctl, const struct option_values *values, struct err *err);
int ctl_list(struct ctl *ctl, const struct option_values *values, const char *target,
             struct err *err);
int ctl_inspect(struct ctl *ctl, const struct option_values *values, struct err *err);
int ctl_stats(struct ctl *ctl, const struct option_values *values, struct err *err);
int ctl_build(struct ctl *ctl, const struct option_values *values, struct err *err);
int ctl_import(struct ctl *ctl, const struct option_values *values, struct err *err);
int ctl_name_image(struct ctl *ctl, const struct option_values *values, struct err *err);
int ctl_remove_images(struct ctl *ctl, const struct option_values *values, struct err *err);

/* ---- what they share ---- */

/* Sends a request that builds an image, shows what happens, and prints the image's id. */
int ctl_follow_build(struct ctl *ctl, const char *target, struct buf *body, struct err *err);

/* Where an archive is for an import. */
struct archive_place {
    const char *sandbox;
    const char *path;
};

/* Copies a file of this machine there, and returns its SHA-256 as text. */
int ctl_send_archive(struct ctl *ctl, const struct option_values *values, const char *file,
                     const struct archive_place *place, char out_digest[CTL_ID_BYTES],
                     struct err *err);

/* By its name, its id, or the beginning of that; the count is that of its names. */
int ctl_find_image(struct ctl *ctl, const char *given, char out_id[CTL_ID_BYTES], size_t *out_names,
                   struct err *err);

/* ---- progress ---- */

/* A line on standard error that is replaced, if that is a terminal; NULL removes it. */
void ctl_progress(const char *words);

#endif
