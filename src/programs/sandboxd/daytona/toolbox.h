/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the endpoints of a sandbox's toolbox share: finding the sandbox, paths, answers of any size,
 * and commands whose output is the answer.
 */
#ifndef PROGRAMS_SANDBOXD_DAYTONA_TOOLBOX_H
#define PROGRAMS_SANDBOXD_DAYTONA_TOOLBOX_H

#include "programs/sandboxd/call.h"
#include "programs/sandboxd/run.h"

enum {
    TOOLBOX_MAX_BODY_BYTES = 4 << 20,
    TOOLBOX_MAX_ID_BYTES = 128,          /* of a session or a terminal */
    TOOLBOX_MAX_OUTPUT_BYTES = 16 << 20, /* of a command, in its answer; the rest is dropped */
    TOOLBOX_MAX_INPUT_BYTES = 32 << 10,  /* of a command: less than a pipe has */
    TOOLBOX_TIMEOUT_S = 360,             /* of a command that gives none */
    TOOLBOX_MAX_TIMEOUT_S = 24 * 60 * 60,
};

/*
 * The sandbox of the request, which runs; NULL after a 404, or after a 409: clients of this API
 * start a sandbox themselves.
 */
struct sandbox *toolbox_find(const struct api_call *call);

/* The path in the sandbox; one that is not absolute is below the home. False for an impossible one.
 */
bool toolbox_path(struct str given, char out_path[ROOM_PATH_BYTES]);

/* The same for a parameter of the query; NULL as the fallback requires it. False after a 400. */
bool toolbox_query_path(const struct api_call *call, struct str name, const char *fallback,
                        char out_path[ROOM_PATH_BYTES]);

/* Whether it can name a session or a terminal: it is part of addresses. */
bool toolbox_is_id(struct str id);
/* How many sessions or terminals there are. */
size_t toolbox_count(const struct list *list);

/* Whether the client's kit is one of those that split the output of commands themselves. */
bool toolbox_is_old_client(const struct http_request *request);

/* Answers 200 with what the writer has written into `out`, which may be large; takes that over. */
void toolbox_answer_json(struct exchange *exchange, struct json_writer *json, struct buf *out);
/* The same for any text. */
void toolbox_answer_text(struct exchange *exchange, struct str type, struct buf *text);

/* ---- commands ---- */

struct toolbox_result {
    int exit_code; /* 128 and the signal that killed it */
    struct str output;
    struct str errors; /* empty if both were wanted together */
};

/* Answers. A command that was not run, or took too long, is answered by this module. */
typedef void toolbox_done(void *data, struct exchange *exchange,
                          const struct toolbox_result *result);

struct tool {
    struct run run; /* the command is set by the caller */
    struct exchange *exchange;
    toolbox_done *done;
    void (*free_data)(void *data); /* or NULL */
    void *data;
    struct str input;   /* at most TOOLBOX_MAX_INPUT_BYTES, which the caller keeps; or empty */
    bool joins_streams; /* what is written to both is the output, as it comes */
    struct buf output;
    struct buf errors;
};

/* NULL after an answer. */
struct tool *tool_new(struct exchange *exchange, struct sandbox *sandbox, toolbox_done *done,
                      void *data, void (*free_data)(void *data));
void tool_start(struct tool *tool);
/* Of one that was not started. */
void tool_free(struct tool *tool);

/* A copy for the command; NULL without memory. */
const char *tool_text(struct tool *tool, struct str text);

/* ---- endpoints ---- */

void toolbox_set_env(const struct api_call *call);
void toolbox_work_dir(const struct api_call *call);
void toolbox_home_dir(const struct api_call *call);
void toolbox_execute(const struct api_call *call);
void toolbox_run_code(const struct api_call *call);

#endif
