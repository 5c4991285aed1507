/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What must be allowed before a prepared call may run, in the terms of rules: absolute paths, each
 * to be read or changed. It decides nothing.
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
 * Returns at least one resource, each once; they live as long as the call. `given` is the requested
 * path, in the words of the user who named the root; `resolved` is what would be touched. A file
 * tool that names no resource (undo_changes) stands for the root. ERR_UNSUPPORTED for tools of
 * other groups, which have other resources.
 */
int tool_permission_resources(struct tool_call *call,
                              const struct permission_resource **out_resources, size_t *out_count,
                              struct err *err);

/*
 * A fingerprint of what the call depends on besides arguments and resources: which changes are the
 * newest and, for a call that changes files, which files these are and whether they were touched.
 * For a directory that would be removed it covers its direct entries only. A different number means
 * that the call would do something else.
 */
int tool_consent_mark(struct tool_call *call, const struct cancel *cancel, uint64_t *out_mark);

/* Whether the call deletes something. */
bool tool_deletes(const struct tool_call *call);
/* Whether what it names is a folder, or becomes one. */
bool tool_is_on_folder(const struct tool_call *call);

/*
 * Records in the audit log that the host refused the call because of this resource; `source` is
 * what decided.
 */
void tool_record_refusal(struct tool_call *call, const struct permission_resource *resource,
                         const char *source, const char *rule, int code);

#endif
