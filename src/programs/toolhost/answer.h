/* SPDX-License-Identifier: Apache-2.0 */
/* The bodies of the answers that describe the toolbox, the confinement, and prepared calls. */
#ifndef PROGRAMS_TOOLHOST_ANSWER_H
#define PROGRAMS_TOOLHOST_ANSWER_H

#include <stddef.h>

#include "base/buf.h"
#include "base/str.h"
#include "call/provider.h"
#include "files/toolbox.h"
#include "isolate/confine.h"

struct answer_ready {
    struct str root;
    const struct toolbox *box;
    const struct confine_report *walls;
    size_t max_request_bytes;
    size_t max_answer_bytes;
};

/*
 * All return ERR_INVALID_UTF8 for a name that JSON cannot hold: nobody shall decide on a similar
 * one.
 */
int answer_write_ready(const struct answer_ready *ready, struct buf *out);
int answer_write_prepared(const struct tool_call *call, const struct provider_subject *subject,
                          struct buf *out);
int answer_write_previewed(const struct question *question, struct buf *out);

#endif
