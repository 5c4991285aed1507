/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One thing that the user has decided for good: a resource of a group, or a
 * pattern over them, is allowed or denied. Here a rule is read, checked and
 * written; what holds for a call is found in permission/rules/rulebook.h.
 *
 * As text a pattern has a marker in front ("dir:/home/bob/src"). Without one it is the resource
 * itself, as the original daemon stores it and as prompts save it: "*" means nothing there.
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
    RULE_EXACT,  /* "exact:": this resource and no other. A file's path, a command, a host, "*" */
    RULE_DIR,    /* "dir:/home/bob/src": it and all below, by whole components */
    RULE_GLOB,   /* "glob:/home/bob/x*", "glob:**\/.env", "glob:*.pem": authority/names/glob.h from
                    "/" */
    RULE_PREFIX, /* "prefix:git status": a command that begins with these words */
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
    struct str cwd;     /* of commands: only in this directory or below; empty: anywhere */
    int64_t expires_ms; /* wall time; 0: never */
    struct str note;    /* the user's own words; may be empty */
};

/*
 * Reads a pattern for the group: files have dir:, glob: and exact:, commands prefix: and exact:,
 * hosts host: and exact:, the screen "*". It is brought into one form ("dir:/a//b/" is "dir:/a/b",
 * hosts are in lower case), and lies in `text` or the arena. Sets group, kind and pattern, allowing
 * for ever and anywhere. ERR_INVALID_ARGUMENT says what is wrong.
 */
int rule_parse(struct arena *arena, enum catalog_group group, struct str text,
               struct rule *out_rule, struct err *err);

/*
 * Whether the rule could have been read, with all its parts: settings check before they store. Not
 * so a name that is no UTF-8, which JSON cannot hold: ERR_INVALID_UTF8.
 */
int rule_check(const struct rule *rule, struct err *err);

/*
 * The text of a rule that rule_check() takes, from which rule_parse() makes the same pattern: an
 * exact one plain, and with "exact:" where it would be taken for something else. ERR_INVALID_UTF8
 * as above.
 */
int rule_format(const struct rule *rule, struct buf *out);

/*
 * Pattern and directory in one form, in memory of the rule's or the arena; the codes of
 * rule_parse(). Bytes that are no UTF-8 are fine here. For permission/rulebook.
 */
int rule_normalise(struct arena *arena, const struct rule *rule, struct rule *out_rule,
                   struct err *err);

/* "exact:", "dir:", … */
struct str rule_marker(enum rule_kind kind);

/* "allow", "deny" */
const char *rule_effect_name(enum rule_effect effect);

#endif
