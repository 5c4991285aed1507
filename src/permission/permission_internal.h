/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of a decision: permission.c takes them, and explain.c explains them. */
#ifndef PERMISSION_PERMISSION_INTERNAL_H
#define PERMISSION_PERMISSION_INTERNAL_H

#include "permission/permission.h"
#include "permission/rules/form.h"

/* The state that a decision uses from beginning to end. */
struct permission_moment {
    struct permission *permission;
    struct rulebook *book; /* a reference, or NULL */
    struct permission_modes modes;
    int64_t wall_ms;
};

/* A resource in normal form: both of its names, and the directory of a command. */
struct permission_subject {
    enum catalog_group group;
    struct str given;
    struct str resolved;
    struct str cwd;
    enum permission_operation operation;
    bool is_typed;
    char room[PATH_MAX + 1]; /* for a given name that had to be rewritten */
};

/* A rule, and which of the two names it matches. */
struct permission_finding {
    const struct rule *rule; /* or NULL */
    bool is_for_given;       /* it matches the given name, not the target */
};

void permission_begin(struct permission *permission, struct permission_moment *out_moment);
void permission_end(struct permission_moment *moment);

/* False if the resource has no valid form. */
bool permission_subject(const struct permission_resource *resource,
                        struct permission_subject *out_subject);

/* The protected directory that contains it, or NULL. */
const char *permission_protection(const struct permission_moment *moment,
                                  const struct permission_subject *subject);

struct permission_finding permission_denial(const struct permission_moment *moment,
                                            const struct permission_subject *subject,
                                            int64_t wall_ms);

/* What the mode says: the group's own, or a stricter one of another group or for its name. */
enum permission_mode permission_mode_of(const struct permission_moment *moment,
                                        const struct permission_subject *subject);

/* None for typed text, whatever is allowed for the command. */
const struct rule *permission_allowance(const struct permission_moment *moment,
                                        const struct permission_subject *subject, int64_t wall_ms);

bool permission_in_session(const struct permission_moment *moment,
                           const struct permission_subject *subject);

void permission_judge(const struct permission_moment *moment,
                      const struct permission_resource *resource,
                      struct permission_decision *out_decision);

/* Whether it is allowed, but only by the mode or by a rule for everything ("*"). */
bool permission_rests_on_all(const struct permission_moment *moment,
                             const struct permission_resource *resource,
                             const struct permission_decision *decision);

#endif
