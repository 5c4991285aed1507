/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The decision about a call: may it touch what it names, may it not, or has
 * somebody to be asked? Modes, the rulebook, what was allowed for the session
 * and the directories that nobody may use, put in order. Asking, storing rules
 * and refusing are for others.
 *
 * Any thread may call anything here at any time: decisions run in workers while the loop changes
 * the rules. A decision goes by what was there when it began.
 */
#ifndef PERMISSION_PERMISSION_H
#define PERMISSION_PERMISSION_H

#include <stddef.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/str.h"
#include "permission/modes.h"
#include "permission/rules/rulebook.h"

enum {
    PERMISSION_MAX_PROTECTED_DIRS = 16,
    PERMISSION_SESSION_MAX_RULES = 4096,
    PERMISSION_RULE_BYTES = 256,
};

struct permission;

struct permission_config {
    struct permission_modes modes;
    const char *const *protected_dirs; /* absolute, without links, up to a NULL; or NULL */
    const struct clock *clock;         /* NULL: the system's */
};

/* ERR_INVALID_ARGUMENT for a protected directory that is no absolute path, ERR_TOO_LARGE for too
 * many. */
int permission_new(const struct permission_config *config, struct permission **out_permission,
                   struct err *err);
void permission_free(struct permission *permission);

/* Later decisions go by this book, of which a reference is added; NULL: by no rules. */
void permission_set_book(struct permission *permission, struct rulebook *book);
/* A reference for the caller, or NULL. */
struct rulebook *permission_book(struct permission *permission);
void permission_set_modes(struct permission *permission, const struct permission_modes *modes);
struct permission_modes permission_modes(struct permission *permission);

/* One thing that a call would touch. */
/* NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): as it is read, few are held */
struct permission_resource {
    enum catalog_group group;
    struct str given; /* files: absolute, as it was asked for; the command; the host; "*" */
    /* Files: absolute, where it leads; commands: as rules know it. Empty: the same as given. */
    struct str resolved;
    struct str cwd; /* of a command */
    /* A file that would be gone, or a directory with all in it: that it may be changed in this
     * session is no consent to that. Rules, which a person can look at, do not tell them apart. */
    bool deletes;
    /* Given is the command that it is typed into: that it may run, or that one text was allowed, is
     * nothing to go by for the next. So no rule allows it, nothing is allowed for the session here,
     * and somebody is asked each time. */
    bool is_typed;
};

/* What is touched, and what rules that are made of an answer name. */
static inline struct str permission_resource_name(const struct permission_resource *resource)
{
    return resource->resolved.len > 0 ? resource->resolved : resource->given;
}

enum permission_source {
    PERMISSION_BY_PROTECTION,
    PERMISSION_BY_DENY_RULE,
    PERMISSION_BY_ALLOW_RULE,
    PERMISSION_BY_SESSION_RULE,
    PERMISSION_BY_MODE,
    /* Set by those who asked. */
    PERMISSION_BY_USER,
    PERMISSION_BY_NOBODY, /* ask, and nobody could be asked */
    /* No rule can speak about a name that is no path, no host: it is denied. */
    PERMISSION_BY_FORM,
};

/*
 * "protected", "deny-rule", "allow-rule", "session-rule", "mode", "user", "nobody", "malformed":
 * the policy source of the record.
 */
const char *permission_source_name(enum permission_source source);

struct permission_decision {
    enum permission_mode verdict; /* PERMISSION_ASK: somebody has to be asked */
    enum permission_source source;
    /* The rule that decided, as text, or the protected directory: cut to fit, or empty. */
    char rule[PERMISSION_RULE_BYTES];
};

/*
 * In this order: protected directory, stored deny rule, mode deny; then, unless the mode is allow:
 * stored allow rule, allowed for the session, ask.
 *
 * A protection or a deny rule counts for the given name and for where it leads; what allows has to
 * hold for where it leads, since that is what is touched. What may not be read may not be changed.
 * A command is denied as it was given and as rules know it, and allowed as they know it.
 */
void permission_decide(struct permission *permission, const struct permission_resource *resource,
                       struct permission_decision *out_decision);

/*
 * All that a call touches, at one moment: deny wins over ask, and ask over allow. *out_index is the
 * first resource that the verdict is about; out_decisions has room for `count`, or is NULL. A call
 * that names nothing is denied, and has no index.
 */
enum permission_mode permission_decide_all(struct permission *permission,
                                           const struct permission_resource *resources,
                                           size_t count, struct permission_decision *out_decisions,
                                           size_t *out_index);

/*
 * Until the session ends this very thing needs no asking: where it leads, and for a command this
 * directory. ERR_BUSY at the ceiling: then it was allowed once.
 */
int permission_allow_for_session(struct permission *permission,
                                 const struct permission_resource *resource);
size_t permission_session_count(struct permission *permission);
void permission_end_session(struct permission *permission);

/* What would be decided and why, a line for each step, for a person at a terminal. */
int permission_explain(struct permission *permission, const struct permission_resource *resource,
                       struct buf *out);

#endif
