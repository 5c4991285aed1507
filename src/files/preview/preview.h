/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a prepared call would do, for the user who is asked for permission: one sentence, followed
 * by a diff or the arguments. Changes nothing. It reads through the grants of the tool itself, so
 * it shows nothing that is denied to the tool; and files may change before the call runs.
 *
 * The texts are UTF-8 without anything that could control a terminal or reorder characters. Asking
 * the user is left to others.
 */
#ifndef FILES_PREVIEW_PREVIEW_H
#define FILES_PREVIEW_PREVIEW_H

#include "base/buf.h"
#include "base/cancel.h"
#include "base/err.h"
#include "files/toolbox.h"
#include "permission/decision.h"

enum {
    PREVIEW_ACTION_BYTES = 16 << 10,
    /* Limits of the detail; the number of omitted lines is added at its end. */
    PREVIEW_MAX_LINES = 400,
    PREVIEW_MAX_BYTES = 64 << 10,
    PREVIEW_LINE_BYTES = 1000, /* of one line */
    /* Limit for counting the entries of a folder that would be deleted. */
    PREVIEW_MAX_ENTRIES = 10000,
    /* Limit of a diff before it is cut. */
    PREVIEW_DIFF_BYTES = 32 << 20,
};

struct tool_preview {
    struct buf action; /* "Replaces src/a.c (120 lines, 3.4 KB) by 118 lines, 3.3 KB" */
    struct buf detail; /* lines, each with its end; may be empty */
    bool is_diff;      /* the detail is a unified diff, cut if long */
};

void tool_preview_init(struct tool_preview *preview);
void tool_preview_done(struct tool_preview *preview);
#define cleanup_tool_preview cleanup_with(tool_preview_done)

/*
 * Call before tool_run(), on a worker. An error is the one that the call would return, with the
 * message of tool_run(), or ERR_CANCELLED and the like: then nobody needs to be asked. If only the
 * preview cannot be made, the detail says so.
 */
int tool_preview(struct tool_call *call, const struct cancel *cancel, struct tool_preview *out,
                 struct err *err);

/* As much of it as may be told; else the tool and its arguments, which looks at nothing. */
int tool_preview_within(struct tool_call *call, enum decision_disclosure disclosure,
                        const struct cancel *cancel, struct tool_preview *out, struct err *err);

#endif
