/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the server's page asks about copies, as text between gatehouse-server and the
 * gatehouse-workspace that is started for it. No name of a file is in it: changes are named by what
 * copies_change_id() gives, so nothing can be applied but what was shown.
 *
 *     apply fix
 *     0a1b…            one line for each chosen change
 *
 * The answer is "ok" and a JSON document, or the name of an error and its message, in two lines.
 */
#ifndef COPIES_REQUEST_H
#define COPIES_REQUEST_H

#include "base/buf.h"
#include "base/err.h"
#include "cli/workspace.h"
#include "copies/compare.h"

enum {
    COPIES_MAX_CHOSEN = 1000,
    COPIES_MAX_REQUEST_BYTES = COPIES_MAX_CHOSEN * (COPIES_ID_CHARS + 1) + 128,
    COPIES_MAX_ANSWER_BYTES = 16 << 20,
};

enum copies_verb { COPIES_LIST, COPIES_DIFF, COPIES_APPLY, COPIES_UNDO, COPIES_VERBS };

struct copies_request {
    enum copies_verb verb;
    char name[WORKSPACE_NAME_BYTES + 1]; /* not of a list */
    size_t chosen_count;                 /* only to apply, and then at least one */
    char chosen[COPIES_MAX_CHOSEN][COPIES_ID_CHARS + 1];
};

/* Whether the text is a name of a workspace; copies it. */
bool copies_take_workspace(struct str text, char out_name[WORKSPACE_NAME_BYTES + 1]);
/* Adds a chosen change. ERR_INVALID_ARGUMENT for what is not an id, ERR_TOO_LARGE. */
int copies_choose(struct copies_request *request, struct str id);

int copies_request_write(const struct copies_request *request, struct buf *out);
/* ERR_INVALID_ARGUMENT for anything that copies_request_write() does not write. */
int copies_request_parse(struct str text, struct copies_request *out_request);

int copies_answer_write_error(const struct err *err, struct buf *out);
/* The document; or the error that the other side has written. */
int copies_answer_parse(struct str text, struct str *out_document, struct err *err);

#define COPIES_ANSWER_OK "ok\n"

#endif
