/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One request of the API: who asks, what for, its query and body, and answers in the API's form.
 *
 * Errors are {"error": text, "code": status}, or those of the Daytona API for its paths
 * (daytona/error.h). No text names a path of this machine.
 */
#ifndef PROGRAMS_SANDBOXD_CALL_H
#define PROGRAMS_SANDBOXD_CALL_H

#include "base/arena.h"
#include "base/json.h"
#include "base/jsonwrite.h"
#include "net/http/exchange.h"
#include "store/sandboxstore.h"

enum {
    CALL_MAX_IDS = 3,
    CALL_ARENA_BYTES = 16 << 20,
    CALL_MAX_ANSWER_BYTES = 64 << 20,
};

struct service;

struct api_call {
    struct service *service;
    struct exchange *exchange;
    const struct http_request *request;
    char owner[SANDBOXSTORE_ID_BYTES]; /* the tenant that asks; empty: the administrator */
    bool is_admin;
    struct str ids[CALL_MAX_IDS]; /* the variable parts of the path */
};

/* ---- what was sent ---- */

/* Whether it is a UUID in lower case, as we make them. */
bool call_is_uuid(struct str text);
void call_make_uuid(char out_id[SANDBOXSTORE_ID_BYTES]);

/*
 * The value of a parameter of the query, decoded into the arena. False if there is none;
 * ERR_INVALID_ARGUMENT in *out_error if the query is malformed.
 */
bool call_query(const struct api_call *call, struct arena *arena, struct str name,
                struct str *out_value, int *out_error);
/* Same for "true" and "false"; the fallback if it is missing. */
int call_query_bool(const struct api_call *call, struct str name, bool fallback, bool *out_is_true);

/* Parses the body as an object; an empty one is {} if allowed. Answers 400 itself on failure. */
const struct json_value *call_object(const struct api_call *call, struct arena *arena,
                                     bool may_be_empty);

/* Members that may be missing or null. False if one has the wrong type. */
bool call_member_str(const struct json_value *object, struct str key, struct str *out_text);
bool call_member_bool(const struct json_value *object, struct str key, bool *out_is_true);
bool call_member_int(const struct json_value *object, struct str key, int64_t *out_number);

/* ---- answers ---- */

void call_fail(struct exchange *exchange, int status, const char *text);
/* For the HTTP server: requests that it refuses before they are calls. */
int call_write_error(void *data, struct str path, int error, struct buf *out);
/* The status of an error of the table. */
void call_fail_err(struct exchange *exchange, const struct err *err);
/* 409 with the header that says so: the sandbox had to be started anew, files are kept. */
void call_fail_restarted(struct exchange *exchange);
void call_answer_json(struct exchange *exchange, int status, struct str json);
/* Finishes the document, and answers with it; 503 if it could not be written. */
void call_answer_written(struct exchange *exchange, int status, struct json_writer *json,
                         const struct buf *out);
void call_answer_nothing(struct exchange *exchange);

#endif
