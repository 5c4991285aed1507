/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a new rule would touch, so that its writer sees whether it means what was meant: recent
 * calls in the audit log, and files of one folder. Looks at no more than IMPACT_MAX of each, and
 * not much longer than IMPACT_MS. It needs only the names of files.
 */
#ifndef PROGRAMS_RULES_IMPACT_H
#define PROGRAMS_RULES_IMPACT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/clock.h"
#include "gatehouse/audit.h"
#include "gatehouse/authority.h"
#include "permission/rules/rule.h"

enum {
    IMPACT_MAX = 10000,
    IMPACT_MS = 200,
    IMPACT_DAYS = 30,   /* older calls are not recent */
    IMPACT_STRIDE = 256 /* looked at before the clock is; a small folder is always counted whole */
};

struct impact_count {
    size_t touched;
    size_t looked_at;
    bool is_partial; /* there are more */
};

/* Of the newest calls in the audit log. A log without calls is no error. */
int impact_count_calls(const struct rule *rule, int audit_dir_fd, const struct clock *clock,
                       struct impact_count *out_count, struct err *err);

/* Of the files in the folder of this scope, which has this path. */
int impact_count_files(const struct rule *rule, struct authority_scope *folder, const char *path,
                       const struct clock *clock, struct impact_count *out_count, struct err *err);

#endif
