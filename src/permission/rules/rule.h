/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A permanent decision of the user: a resource of a group, or a pattern, is allowed or denied. This
 * module parses, checks and writes rules; permission/rules/rulebook.h finds those that match.
 *
 * As text, a pattern begins with a marker ("dir:/home/bob/src"). Without one it is the resource
 * itself, as the original daemon stores it and as prompts save it: "*" is no wildcard there.
 */
#ifndef PERMISSION_RULES_RULE_H
#define PERMISSION_RULES_RULE_H

#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "protocol/catalog.h"

enum rule_effect { RULE_ALLOW, RULE_DENY };

enum rule_kind {
    RULE_EXACT,  /* "exact:": only this resource. A file's path, a command, a host, "*" */
    RULE_DIR,    /* "dir:/home/bob/src": the directory and everything below */
    RULE_GLOB,   /* "glob:/home/bob/x*", "glob:**\/.env", "glob:*.pem": authority/names/glob.h from
                    "/" */
    RULE_PREFIX, /* "prefix:git status": commands that begin with these words */
    RULE_HOST,   /* "host:example.com", "host:*.example.com" (not example.com), "host:*" */
};

enum {
    RULE_PATTERN_MAX_BYTES = 4096,
    RULE_NOTE_MAX_BYTES = 1024,
};

struct rule {
    enum catalog_group group;
    enum rule_effect effect;
    enum rule_kind kind;
    struct str pattern; /* without the marker */
    struct str cwd;     /* commands: only in this directory or below; empty: anywhere */
    int64_t expires_ms; /* wall time; 0: never */
    struct str note;    /* free text of the user; may be empty */
};

/*
 * Parses a pattern for the group: files have dir:, glob: and exact:, commands prefix: and exact:,
 * hosts host: and exact:, the screen "*". Normalises it ("dir:/a//b/" is "dir:/a/b", hosts are in
 * lower case); it lies in `text` or the arena. Sets group, kind and pattern, and allows without
 * expiry and in any directory. ERR_INVALID_ARGUMENT says what is wrong.
 */
int rule_parse(struct arena *arena, enum catalog_group group, struct str text,
               struct rule *out_rule, struct err *err);

/*
 * Whether rule_parse() could have produced the rule; settings check this before storing it.
 * ERR_INVALID_UTF8 for a name that is not UTF-8, which JSON cannot hold.
 */
int rule_check(const struct rule *rule, struct err *err);

/*
 * Writes a rule that rule_check() accepts, as text that rule_parse() turns into the same pattern:
 * an exact one without marker, or with "exact:" where it would be ambiguous. ERR_INVALID_UTF8 as
 * above.
 */
int rule_format(const struct rule *rule, struct buf *out);

/*
 * Normalises pattern and directory, in memory of the rule or the arena; the codes of rule_parse().
 * Accepts bytes that are not UTF-8. For permission/rulebook.
 */
int rule_normalise(struct arena *arena, const struct rule *rule, struct rule *out_rule,
                   struct err *err);

/* "exact:", "dir:", … */
struct str rule_marker(enum rule_kind kind);

/* "allow", "deny" */
const char *rule_effect_name(enum rule_effect effect);

#endif
