/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An executor for calls that two families do one after the other: a file is handed to a page only
 * if reading the file is allowed as well as using the page. Each half is a work of another
 * executor. Both are prepared before anything is decided, and the user agrees to what both touch;
 * then the first half runs and, if it succeeds, the second one, whose result is the call's.
 */
#ifndef CALL_JOINT_H
#define CALL_JOINT_H

#include "call/executor.h"

struct joint_config {
    struct executor *first;
    struct executor *second; /* runs the tool that was called; may be the same one */
    /*
     * The tool of the first half; NULL: the call has only one half. Without arguments: the tool
     * that a first half would have; NULL: such a call never has one.
     */
    const struct catalog_tool *(*first_tool)(const struct catalog_tool *tool,
                                             const struct json_value *arguments);
    /* Writes its arguments, a JSON object. */
    int (*write_arguments)(const struct json_value *arguments, uint64_t number, struct buf *out);
};

struct joint;

/* Both executors must outlive it. */
int joint_new(const struct joint_config *config, struct joint **out_joint);
/* All works must have been released. */
void joint_free(struct joint *joint);

struct executor *joint_executor(struct joint *joint);

#endif
