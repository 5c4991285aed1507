/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The content of ~/.n8n-gateway/settings.json: reading it, changing its rules and writing it.
 * settings/file.h handles the file itself.
 *
 *     {"permissions": {"filesystemRead": "allow", …},
 *      "filesystemDir": "", "filesystemWriteAccess": true, "logLevel": "info",
 *      "resourcePermissions": {"shell": {"allow": ["git status"], "deny": []}},
 *      "rules": [{"group": "shell", "effect": "allow", "match": "prefix:git log",
 *                 "cwd": "/srv/me/src", "expires": "2026-12-01T00:00:00Z", "note": "…"}]}
 *
 * Everything except "filesystemWriteAccess" and "rules" is compatible with the original daemon.
 * "rules" has what that daemon cannot hold or would misread: patterns and conditions.
 *
 * Unknown fields are kept where they are, with a warning. A rule of "rules" with an unknown field
 * may be narrower than it seems: a deny rule applies, an allow rule does not.
 */
#ifndef PERMISSION_SETTINGS_SETTINGS_H
#define PERMISSION_SETTINGS_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/jsonwrite.h"
#include "base/str.h"
#include "permission/modes.h"
#include "permission/rules/rule.h"

enum {
    SETTINGS_MAX_BYTES = 4 << 20,
    SETTINGS_MAX_RULES = 20000,
    SETTINGS_MAX_DEPTH = 32,
    SETTINGS_MAX_WARNINGS = 32, /* further ones are only counted */
    /* Arena size for any file: its text, 16 bytes per value, its rules. */
    SETTINGS_ARENA_BYTES = 64 << 20,
    SETTINGS_ID_BYTES = 65, /* hex digits and a NUL */
    SETTINGS_SHORT_ID = 10, /* digits shown to the user */
    SETTINGS_LEAST_ID = 4,  /* fewest digits that identify a rule */
};

/* Lives in the arena that it was parsed with, or in the text. */
struct settings {
    struct permission_modes modes; /* the recommended one where the file has none */
    bool has_mode[PERMISSION_GROUPS];
    bool write_access;         /* "filesystemWriteAccess"; off if missing */
    struct str filesystem_dir; /* empty: none */
    struct str log_level;      /* a name from log.h, or empty */

    struct rule *rules; /* in the order of the file; then added ones */
    size_t rule_count;

    struct str warnings[SETTINGS_MAX_WARNINGS]; /* for a person; may hold any characters */
    size_t warning_count;                       /* in total, including those not stored */

    /* Private, for settings_write(). */
    const struct json_value *document;
    const struct json_value **places; /* node of each rule; NULL: added since */
    const struct json_value **revoked;
    size_t revoked_count;
};

/* ERR_SETTINGS if malformed; the message says where and why. The text must outlive the settings. */
int settings_parse(struct arena *arena, struct str text, struct settings *out_settings,
                   struct err *err);

/* Writes the document with added and without revoked rules: indented, with a final newline. */
int settings_write(const struct settings *settings, struct buf *out);

/* The recommended template: the content of a new file. */
int settings_write_template(struct buf *out);

/*
 * Copies the rule in normal form. ERR_ALREADY_EXISTS if the same rule exists, ERR_TOO_LARGE at the
 * limit, and the codes of rule_check().
 */
int settings_add(struct arena *arena, struct settings *settings, const struct rule *rule,
                 struct err *err);

/* "filesystemRead", … */
bool settings_group_from(struct str name, enum catalog_group *out_group);

/* The rule's id: a hash of its content, so that it changes only with the rule. */
int settings_rule_id(const struct rule *rule, char out_id[SETTINGS_ID_BYTES]);

/*
 * Writes a rule as an object for programs: id, group, effect, match, cwd, expires, expired (at this
 * time) and note.
 */
int settings_write_rule(struct json_writer *json, const struct rule *rule, int64_t wall_ms);

/*
 * Finds the rule with this id or beginning of it. ERR_NOT_FOUND, also if it is too short;
 * ERR_INVALID_ARGUMENT if it matches several rules.
 */
int settings_find(const struct settings *settings, struct str id, size_t *out_index,
                  struct err *err);

/* Removes this rule, and all others with the same content. */
int settings_revoke(struct arena *arena, struct settings *settings, size_t index, struct err *err);

#endif
