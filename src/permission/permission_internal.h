/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of a decision, for permission.c that takes them and explain.c that tells about them. */
#ifndef PERMISSION_PERMISSION_INTERNAL_H
#define PERMISSION_PERMISSION_INTERNAL_H

#include "permission/permission.h"
#include "permission/rules/form.h"

/* What a decision goes by, from its beginning to its end. */
struct permission_moment {
    struct permission *permission;
    struct rulebook *book; /* a reference, or NULL */
    struct permission_modes modes;
    int64_t wall_ms;
};

/* A resource in its form: both names of it, and the directory of a command. */
struct permission_subject {
    enum catalog_group group;
    struct str given;
    struct str resolved;
    struct str cwd;
    bool deletes;
    bool is_typed;
    char room[PATH_MAX + 1]; /* for a given name that had to be changed */
};

/* A rule, and which of the two names it holds for. */
struct permission_finding {
    const struct rule *rule; /* or NULL */
    bool is_for_given;       /* and not for where it leads */
};

void permission_begin(struct permission *permission, struct permission_moment *out_moment);
void permission_end(struct permission_moment *moment);

/* False for what is in no usable form. */
bool permission_subject(const struct permission_resource *resource,
                        struct permission_subject *out_subject);

/* The protected directory that it lies in, or NULL. */
const char *permission_protection(const struct permission_moment *moment,
                                  const struct permission_subject *subject);

struct permission_finding permission_denial(const struct permission_moment *moment,
                                            const struct permission_subject *subject,
                                            int64_t wall_ms);

/* The group's own, or deny where the mode of another denies it. */
enum permission_mode permission_mode_of(const struct permission_moment *moment,
                                        enum catalog_group group);

/* None for what is typed, whatever is allowed of the command. */
const struct rule *permission_allowance(const struct permission_moment *moment,
                                        const struct permission_subject *subject, int64_t wall_ms);

bool permission_in_session(const struct permission_moment *moment,
                           const struct permission_subject *subject);

void permission_judge(const struct permission_moment *moment,
                      const struct permission_resource *resource,
                      struct permission_decision *out_decision);

#endif
