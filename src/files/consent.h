/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What has to be allowed before a prepared call may run, in the terms of rules:
 * absolute paths, and for each whether it would be read or changed. It decides
 * nothing.
 */
#ifndef FILES_CONSENT_H
#define FILES_CONSENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cancel.h"
#include "base/err.h"
#include "files/toolbox.h"
#include "permission/permission.h"

/*
 * At least one, each once; they live as long as the call. `given` is the path as it was asked for,
 * in the words of the user who named the root; `resolved` is what would be touched. A tool of files
 * that names none (undo_changes) stands for the root. Tools of other groups have other
 * resources: ERR_UNSUPPORTED.
 */
int tool_permission_resources(struct tool_call *call,
                              const struct permission_resource **out_resources, size_t *out_count,
                              struct err *err);

/*
 * Of what the call goes by and neither its arguments nor its resources say: which changes are the
 * last ones, and of the files of a call that changes something which ones they are and whether they
 * were touched. A directory that would be gone is known with its entries, and not with what lies
 * deeper. Another number means that something else would happen.
 */
int tool_consent_mark(struct tool_call *call, const struct cancel *cancel, uint64_t *out_mark);

/* Whether something is gone when it has run. */
bool tool_deletes(const struct tool_call *call);

/* The host refused because of this one: it goes into the record, with what decided so. */
void tool_record_refusal(struct tool_call *call, const struct permission_resource *resource,
                         const char *source, int code);

#endif
