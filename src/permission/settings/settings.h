/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The content of ~/.n8n-gateway/settings.json: reading it, changing its rules and
 * writing it again. The file itself is settings/file.h.
 *
 *     {"permissions": {"filesystemRead": "allow", …},
 *      "filesystemDir": "", "filesystemWriteAccess": true, "logLevel": "info",
 *      "resourcePermissions": {"shell": {"allow": ["git status"], "deny": []}},
 *      "rules": [{"group": "shell", "effect": "allow", "match": "prefix:git log",
 *                 "cwd": "/srv/me/src", "expires": "2026-12-01T00:00:00Z", "note": "…"}]}
 *
 * All but "filesystemWriteAccess" and "rules" is as the original daemon writes and reads it. What
 * that one cannot hold or would misread, patterns and conditions, stands in "rules".
 *
 * What is not known is kept where it stands, and warned about. A rule of "rules" with a field that
 * is not known may mean less than it seems to: one that denies holds, one that allows does not.
 */
#ifndef PERMISSION_SETTINGS_SETTINGS_H
#define PERMISSION_SETTINGS_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/str.h"
#include "permission/modes.h"
#include "permission/rules/rule.h"

enum {
    SETTINGS_MAX_BYTES = 4 << 20,
    SETTINGS_MAX_RULES = 20000,
    SETTINGS_MAX_DEPTH = 32,
    SETTINGS_MAX_WARNINGS = 32, /* later ones are only counted */
    /* What a caller's arena needs for any file: its text, 16 bytes a value, its rules. */
    SETTINGS_ARENA_BYTES = 64 << 20,
    SETTINGS_ID_BYTES = 65, /* hexadecimal digits and a NUL */
    SETTINGS_SHORT_ID = 10, /* digits that are shown */
    SETTINGS_LEAST_ID = 4,  /* digits that name a rule at the least */
};

/* All of it lives in the arena that it was parsed with, or in the text. */
struct settings {
    struct permission_modes modes; /* where the file names none: the Recommended one */
    bool has_mode[PERMISSION_GROUPS];
    bool write_access;         /* "filesystemWriteAccess"; missing is off */
    struct str filesystem_dir; /* empty: none */
    struct str log_level;      /* a name of log.h's, or empty */

    struct rule *rules; /* in the order of the file; then those that were added */
    size_t rule_count;

    struct str warnings[SETTINGS_MAX_WARNINGS]; /* for a person; may hold any characters */
    size_t warning_count;                       /* of all, also beyond the last of these */

    /* The module's own, for settings_write(). */
    const struct json_value *document;
    const struct json_value **places; /* of each rule; NULL: added since */
    const struct json_value **revoked;
    size_t revoked_count;
};

/* ERR_SETTINGS: malformed; the message says where and what. The text must outlive the settings. */
int settings_parse(struct arena *arena, struct str text, struct settings *out_settings,
                   struct err *err);

/* The document again with what was added and without what was revoked: indented, a line end last.
 */
int settings_write(const struct settings *settings, struct buf *out);

/* The Recommended template: what a new file holds. */
int settings_write_template(struct buf *out);

/*
 * Copies it, in one form. ERR_ALREADY_EXISTS when the same rule is there, ERR_TOO_LARGE at the
 * ceiling, and the codes of rule_check().
 */
int settings_add(struct arena *arena, struct settings *settings, const struct rule *rule,
                 struct err *err);

/* "filesystemRead", … */
bool settings_group_from(struct str name, enum catalog_group *out_group);

/* The rule's name: a hash of all that it says, so it changes with the rule and with nothing else.
 */
int settings_rule_id(const struct rule *rule, char out_id[SETTINGS_ID_BYTES]);

/*
 * The rule that has this id, or the beginning of it. ERR_NOT_FOUND, also when it is too short to be
 * one; ERR_INVALID_ARGUMENT when several rules begin so.
 */
int settings_find(const struct settings *settings, struct str id, size_t *out_index,
                  struct err *err);

/* Takes this rule out, and every other that says exactly the same. */
int settings_revoke(struct arena *arena, struct settings *settings, size_t index, struct err *err);

#endif
