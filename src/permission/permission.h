/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides about a call: may it touch what it names, may it not, or must a user be asked? Applies
 * modes, the rulebook, the permissions for the session and the protected directories, in order.
 * Asking, storing rules and refusing are left to others.
 *
 * Thread-safe: decisions run in workers while the loop changes the rules. A decision uses the rules
 * and modes that were valid when it began.
 */
#ifndef PERMISSION_PERMISSION_H
#define PERMISSION_PERMISSION_H

#include <stddef.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/str.h"
#include "permission/modes.h"
#include "permission/operation.h"
#include "permission/rules/rulebook.h"

enum {
    PERMISSION_MAX_PROTECTED_DIRS = 16,
    PERMISSION_SESSION_MAX_RULES = 4096,
    PERMISSION_SESSION_MAX_SCOPES = 128,
    PERMISSION_RULE_BYTES = 256,
};

struct permission;

struct permission_config {
    struct permission_modes modes;
    const char *const *protected_dirs; /* absolute, without links, NULL-terminated; or NULL */
    const struct clock *clock;         /* NULL: the system clock */
};

/* ERR_INVALID_ARGUMENT if a protected directory is not absolute, ERR_TOO_LARGE for too many. */
int permission_new(const struct permission_config *config, struct permission **out_permission,
                   struct err *err);
void permission_free(struct permission *permission);

/* Later decisions use this book, and a reference is taken; NULL: no rules. */
void permission_set_book(struct permission *permission, struct rulebook *book);
/* Returns a new reference, or NULL. */
struct rulebook *permission_book(struct permission *permission);
void permission_set_modes(struct permission *permission, const struct permission_modes *modes);
struct permission_modes permission_modes(struct permission *permission);

/* One resource that a call would touch. */
/* NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): as it is read, few are held */
struct permission_resource {
    enum catalog_group group;
    struct str given; /* files: absolute path as requested; the command; the host; "*" */
    /*
     * Files: absolute path of the target; commands: as normalised for rules. Empty: same as given.
     */
    struct str resolved;
    struct str cwd; /* working directory of a command */
    /*
     * What the call does to it. A session's permission is for this operation. Rules, which a person
     * can review, do not make this distinction.
     */
    enum permission_operation operation;
    /*
     * The call types text into the command `given`. Permission to run the command, or for one text,
     * does not cover the next text: no rule and no session permission applies, and the user is
     * asked each time.
     */
    bool is_typed;
    /*
     * A mode that allows all, or a rule for "*", does not mean it: this machine, private networks,
     * the user's own browser. It needs a rule or an answer that names it.
     */
    bool needs_name;
};

/* The resource that is touched, and that rules made from an answer name. */
static inline struct str permission_resource_name(const struct permission_resource *resource)
{
    return resource->resolved.len > 0 ? resource->resolved : resource->given;
}

/*
 * Whether this operation reads a file that usually holds secrets (authority/names/sensitive.h), by
 * either of its names.
 */
bool permission_reads_sensitive(enum permission_operation operation, struct str given,
                                struct str resolved);

/*
 * Whether it changes a file that other programs run by themselves (authority/names/autorun.h), by
 * either of its names: a mode that allows changes does not mean it.
 */
bool permission_changes_autorun(enum permission_operation operation, struct str given,
                                struct str resolved);

enum permission_source {
    PERMISSION_BY_PROTECTION,
    PERMISSION_BY_DENY_RULE,
    PERMISSION_BY_ALLOW_RULE,
    PERMISSION_BY_SESSION_RULE,
    PERMISSION_BY_MODE,
    /* Set by the code that asked. */
    PERMISSION_BY_USER,
    PERMISSION_BY_NOBODY, /* a user must be asked, and nobody could be or answered */
    /* A name that is no valid path or host, so that no rule can match it: denied. */
    PERMISSION_BY_FORM,
};

/*
 * "protected", "deny-rule", "allow-rule", "session-rule", "mode", "user", "nobody", "malformed":
 * the policySource of the audit log.
 */
const char *permission_source_name(enum permission_source source);

/* A host of the group browser that is none: the user's own browser, with its tabs and logins. */
#define PERMISSION_LOCAL_BROWSER "local-browser"

struct permission_decision {
    enum permission_mode verdict; /* PERMISSION_ASK: a user must be asked */
    enum permission_source source;
    /* The deciding rule as text, or the protected directory; cut to fit, or empty. */
    char rule[PERMISSION_RULE_BYTES];
};

/*
 * Checks in this order: protected directory, stored deny rule, mode deny; then, unless the mode is
 * allow: stored allow rule, session permission, ask.
 *
 * A protection or a deny rule applies if it matches the given name or the target; what allows must
 * match the target, since that is what is touched. What may not be read may not be changed. A
 * command is denied if its given or its normalised form is denied, and allowed by its normalised
 * form.
 */
void permission_decide(struct permission *permission, const struct permission_resource *resource,
                       struct permission_decision *out_decision);

/* As it is in a decision; NULL: empty. */
void permission_write_rule(const struct rule *rule, char out_text[PERMISSION_RULE_BYTES]);

/*
 * Decides about everything a call touches, at one moment: deny wins over ask, and ask over allow.
 * *out_index is the first resource that caused the verdict; out_decisions has room for `count`, or
 * is NULL. A call without resources is denied, and has no index.
 */
enum permission_mode permission_decide_all(struct permission *permission,
                                           const struct permission_resource *resources,
                                           size_t count, struct permission_decision *out_decisions,
                                           size_t *out_index);

/*
 * Allows exactly this operation on this resource until the session ends: on the target, and for a
 * command in this directory. Reading includes looking up. ERR_BUSY at the limit: then it was
 * allowed only once.
 */
int permission_allow_for_session(struct permission *permission,
                                 const struct permission_resource *resource);
/*
 * Allows this operation on everything that the rule matches, until the session ends; reading
 * includes looking up. Not for files that usually hold secrets. ERR_BUSY at the limit.
 */
int permission_allow_scope(struct permission *permission, enum permission_operation operation,
                           const struct rule *rule);
size_t permission_session_count(struct permission *permission);
void permission_end_session(struct permission *permission);

/* Explains to a person at a terminal what would be decided and why, one line per step. */
int permission_explain(struct permission *permission, const struct permission_resource *resource,
                       struct buf *out);

#endif
