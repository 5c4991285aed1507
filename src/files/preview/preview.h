/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a prepared call would do, for somebody who is asked whether it may: one
 * sentence, and below it a diff or the arguments. Nothing is changed. It looks
 * through the grants that the tool itself would use, so what is denied to the
 * one is not shown by the other; and things may change before the call runs.
 *
 * The texts are UTF-8 without anything that could steer a terminal or change the
 * order of characters. Who asks, and how, is not known here.
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
    /* Of the detail; what is left out is counted at its end. */
    PREVIEW_MAX_LINES = 400,
    PREVIEW_MAX_BYTES = 64 << 10,
    PREVIEW_LINE_BYTES = 1000, /* of one line */
    /* Of a folder that goes: more are not counted. */
    PREVIEW_MAX_ENTRIES = 10000,
    /* Of a diff before it is cut. */
    PREVIEW_DIFF_BYTES = 32 << 20,
};

struct tool_preview {
    struct buf action; /* "Replaces src/a.c (120 lines, 3.4 KB) by 118 lines, 3.3 KB" */
    struct buf detail; /* lines, each with its end; may be empty */
    bool is_diff;      /* the detail is a unified diff, cut where it is long */
};

void tool_preview_init(struct tool_preview *preview);
void tool_preview_done(struct tool_preview *preview);
#define cleanup_tool_preview cleanup_with(tool_preview_done)

/*
 * Before tool_run(), on a worker. An error is the one that the call would end with, in
 * the words that tool_run() has for it, or ERR_CANCELLED and the like: nobody needs to be
 * asked. What only keeps the preview from being made is said in the detail.
 */
int tool_preview(struct tool_call *call, const struct cancel *cancel, struct tool_preview *out,
                 struct err *err);

/* Whether it, or the error in its place, tells what is in a file that the call only changes. */
bool tool_preview_tells_content(const struct tool_call *call);

/* As much of it as may be told; else what tool_preview_arguments() has. */
int tool_preview_within(struct tool_call *call, enum decision_disclosure disclosure,
                        const struct cancel *cancel, struct tool_preview *out, struct err *err);

/* The tool and its arguments: looks at nothing. */
int tool_preview_arguments(struct tool_call *call, struct tool_preview *out, struct err *err);

#endif
