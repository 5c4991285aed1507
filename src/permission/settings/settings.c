/* SPDX-License-Identifier: Apache-2.0 */
#include "permission/settings/settings.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "permission/rules/expiry.h"

enum { WHERE_BYTES = ERR_FIELD_BYTES, WARNING_MAX_BYTES = 512, SHOWN_KEY_BYTES = 40 };

struct parsing {
    struct arena *arena;
    struct settings *settings;
    size_t capacity; /* of the rules */
    struct err *err;
};

/* A place in the document, for messages: "rules[3].cwd". */
struct where {
    char text[WHERE_BYTES];
};

__attribute__((format(printf, 1, 2))) static struct where where_of(const char *format, ...)
{
    struct where where;
    va_list args;

    va_start(args, format);
    vsnprintf(where.text, sizeof(where.text), format, args);
    va_end(args);
    return where;
}

static struct where member_of(const struct where *above, struct str key)
{
    struct str shown = str_slice(key, 0, SHOWN_KEY_BYTES);

    return where_of("%s%s%.*s", above->text, above->text[0] != '\0' ? "." : "", STR_ARG(shown));
}

__attribute__((format(printf, 3, 4))) static int malformed(struct parsing *parsing,
                                                           const struct where *where,
                                                           const char *format, ...)
{
    char words[ERR_MESSAGE_BYTES];
    va_list args;

    va_start(args, format);
    vsnprintf(words, sizeof(words), format, args);
    va_end(args);
    return err_set_field(parsing->err, ERR_SETTINGS, where->text, "%s%s%s", where->text,
                         where->text[0] != '\0' ? ": " : "", words);
}

static int wrong_type(struct parsing *parsing, const struct where *where, const char *wanted,
                      const struct json_value *value)
{
    return malformed(parsing, where, "must be %s, not %s", wanted, json_type_name(value->type));
}

static int out_of_memory(struct parsing *parsing)
{
    return err_set_plain(parsing->err, parsing->arena->error);
}

static int warn(struct parsing *parsing, const struct where *where, const char *words)
{
    struct settings *settings = parsing->settings;
    char text[WARNING_MAX_BYTES];
    char *copy;

    if (settings->warning_count++ >= SETTINGS_MAX_WARNINGS)
        return 0;
    snprintf(text, sizeof(text), "%s: %s", where->text, words);
    copy = arena_copy(parsing->arena, str_from(text));
    if (copy == NULL)
        return out_of_memory(parsing);
    settings->warnings[settings->warning_count - 1] = str_from(copy);
    return 0;
}

static int warn_unknown(struct parsing *parsing, const struct where *above, struct str key)
{
    struct where where = member_of(above, key);

    return warn(parsing, &where, "unknown field, kept but ignored");
}

bool settings_group_from(struct str name, enum catalog_group *out_group)
{
    for (int group = 0; group < PERMISSION_GROUPS; group++) {
        if (str_eq_c(name, catalog_group_name((enum catalog_group)group))) {
            *out_group = (enum catalog_group)group;
            return true;
        }
    }
    return false;
}

/* ---- modes and plain members ---- */

static int take_modes(struct parsing *parsing, const struct where *where,
                      const struct json_value *object)
{
    struct settings *settings = parsing->settings;
    int r = 0;

    json_each_member (key, object) {
        const struct json_value *value = key + 1;
        struct where place = member_of(where, json_str(key));
        enum catalog_group group;

        if (!settings_group_from(json_str(key), &group)) {
            r = warn_unknown(parsing, where, json_str(key));
            if (r < 0)
                return r;
            continue;
        }
        if (value->type != JSON_STRING)
            return wrong_type(parsing, &place, "\"deny\", \"ask\" or \"allow\"", value);
        if (!permission_mode_from(json_str(value), &settings->modes.of[group]))
            return malformed(parsing, &place, "must be \"deny\", \"ask\" or \"allow\"");
        settings->has_mode[group] = true;
    }
    return 0;
}

static int take_directory(struct parsing *parsing, const struct where *where,
                          const struct json_value *value)
{
    if (str_has_nul(json_str(value)))
        return malformed(parsing, where, "contains a NUL");
    parsing->settings->filesystem_dir = json_str(value);
    return 0;
}

static int take_write_access(struct parsing *parsing, const struct where *where,
                             const struct json_value *value)
{
    (void)where;
    parsing->settings->write_access = value->integer != 0;
    return 0;
}

static int take_log_level(struct parsing *parsing, const struct where *where,
                          const struct json_value *value)
{
    enum log_level level;

    if (!log_level_from(json_str(value), &level))
        return malformed(parsing, where, "must be silent, error, warn, info or debug");
    parsing->settings->log_level = json_str(value);
    return 0;
}

/* ---- rules ---- */

static int keep_rule(struct parsing *parsing, const struct where *where, const struct rule *rule,
                     const struct json_value *place)
{
    struct settings *settings = parsing->settings;

    if (settings->rule_count == parsing->capacity)
        return malformed(parsing, where, "there are more than %d rules", (int)SETTINGS_MAX_RULES);
    settings->rules[settings->rule_count] = *rule;
    settings->places[settings->rule_count] = place;
    settings->rule_count++;
    return 0;
}

static int refuse_rule(struct parsing *parsing, const struct where *where, int code,
                       const struct err *why)
{
    if (code == ERR_NO_MEMORY || code == ERR_TOO_LARGE)
        return err_set(parsing->err, code, "%s", why->message);
    return malformed(parsing, where, "%s", why->message);
}

static int take_match(struct parsing *parsing, const struct where *where, enum catalog_group group,
                      const struct json_value *value, struct rule *out_rule)
{
    struct err why = ERR_INIT;
    int r;

    if (value->type != JSON_STRING)
        return wrong_type(parsing, where, "a string", value);
    r = rule_parse(parsing->arena, group, json_str(value), out_rule, &why);
    return r < 0 ? refuse_rule(parsing, where, r, &why) : 0;
}

static int take_texts(struct parsing *parsing, const struct where *where, enum catalog_group group,
                      enum rule_effect effect, const struct json_value *array)
{
    size_t index = 0;

    if (array->type != JSON_ARRAY)
        return wrong_type(parsing, where, "a list", array);
    json_each_item (item, array) {
        struct where place = where_of("%s[%zu]", where->text, index++);
        struct rule rule;
        int r = take_match(parsing, &place, group, item, &rule);

        if (r < 0)
            return r;
        rule.effect = effect;
        r = keep_rule(parsing, &place, &rule, item);
        if (r < 0)
            return r;
    }
    return 0;
}

static int take_group(struct parsing *parsing, const struct where *where, enum catalog_group group,
                      const struct json_value *object)
{
    if (object->type != JSON_OBJECT)
        return wrong_type(parsing, where, "an object", object);
    json_each_member (key, object) {
        struct where place = member_of(where, json_str(key));
        int r;

        if (str_eq(json_str(key), STR("allow")))
            r = take_texts(parsing, &place, group, RULE_ALLOW, key + 1);
        else if (str_eq(json_str(key), STR("deny")))
            r = take_texts(parsing, &place, group, RULE_DENY, key + 1);
        else
            r = warn_unknown(parsing, where, json_str(key));
        if (r < 0)
            return r;
    }
    return 0;
}

static int take_resources(struct parsing *parsing, const struct where *where,
                          const struct json_value *object)
{
    json_each_member (key, object) {
        struct where place = member_of(where, json_str(key));
        enum catalog_group group;
        int r;

        if (settings_group_from(json_str(key), &group))
            r = take_group(parsing, &place, group, key + 1);
        else
            r = warn_unknown(parsing, where, json_str(key));
        if (r < 0)
            return r;
    }
    return 0;
}

/* A member that must be a string; *out_value is NULL if it is missing. */
static int get_text(struct parsing *parsing, const struct where *where,
                    const struct json_value *object, struct str key,
                    const struct json_value **out_value)
{
    const struct json_value *value = json_get(object, key);
    struct where place = member_of(where, key);

    if (value != NULL && value->type != JSON_STRING)
        return wrong_type(parsing, &place, "a string", value);
    *out_value = value;
    return 0;
}

static int need_text(struct parsing *parsing, const struct where *where,
                     const struct json_value *object, struct str key,
                     const struct json_value **out_value)
{
    int r = get_text(parsing, where, object, key, out_value);

    if (r == 0 && *out_value == NULL) {
        (void)malformed(parsing, where, "has no \"%.*s\"", STR_ARG(key));
        r = ERR_SETTINGS; /* also for analysers, which do not look into variadic functions */
    }
    return r;
}

/* The group, the match and the effect of a rule. */
static int take_heart(struct parsing *parsing, const struct where *where,
                      const struct json_value *object, struct rule *out_rule)
{
    const struct json_value *group_name = NULL;
    const struct json_value *effect = NULL;
    const struct json_value *match = NULL;
    struct where place;
    enum catalog_group group;
    int r = need_text(parsing, where, object, STR("group"), &group_name);

    if (r == 0)
        r = need_text(parsing, where, object, STR("effect"), &effect);
    if (r == 0)
        r = need_text(parsing, where, object, STR("match"), &match);
    if (r != 0)
        return r;
    place = member_of(where, STR("group"));
    if (!settings_group_from(json_str(group_name), &group))
        return malformed(parsing, &place,
                         "must be filesystemRead, filesystemWrite, shell, computer or browser");
    place = member_of(where, STR("match"));
    r = take_match(parsing, &place, group, match, out_rule);
    if (r < 0)
        return r;
    place = member_of(where, STR("effect"));
    if (!str_eq(json_str(effect), STR("allow")) && !str_eq(json_str(effect), STR("deny")))
        return malformed(parsing, &place, "must be \"allow\" or \"deny\"");
    out_rule->effect = str_eq(json_str(effect), STR("allow")) ? RULE_ALLOW : RULE_DENY;
    return 0;
}

static int take_conditions(struct parsing *parsing, const struct where *where,
                           const struct json_value *object, struct rule *rule)
{
    const struct json_value *cwd = NULL;
    const struct json_value *expires = NULL;
    const struct json_value *note = NULL;
    struct err why = ERR_INIT;
    struct where place;
    int r = get_text(parsing, where, object, STR("cwd"), &cwd);

    if (r == 0)
        r = get_text(parsing, where, object, STR("expires"), &expires);
    if (r == 0)
        r = get_text(parsing, where, object, STR("note"), &note);
    if (r < 0)
        return r;
    if (cwd != NULL)
        rule->cwd = json_str(cwd);
    if (note != NULL)
        rule->note = json_str(note);
    place = member_of(where, STR("expires"));
    if (expires != NULL && !expiry_read_time(json_str(expires), &rule->expires_ms))
        return malformed(parsing, &place, "must be a time like \"2026-12-01T18:00:00Z\"");
    r = rule_normalise(parsing->arena, rule, rule, &why);
    return r < 0 ? refuse_rule(parsing, where, r, &why) : 0;
}

static int take_rule(struct parsing *parsing, const struct where *where,
                     const struct json_value *object)
{
    static const struct str known[] = {STR_LITERAL("group"),   STR_LITERAL("effect"),
                                       STR_LITERAL("match"),   STR_LITERAL("cwd"),
                                       STR_LITERAL("expires"), STR_LITERAL("note")};
    bool is_understood = true;
    struct rule rule;
    int r;

    if (object->type != JSON_OBJECT)
        return wrong_type(parsing, where, "an object", object);
    r = take_heart(parsing, where, object, &rule);
    if (r == 0)
        r = take_conditions(parsing, where, object, &rule);
    if (r < 0)
        return r;
    json_each_member (key, object) {
        struct where place = member_of(where, json_str(key));
        bool is_known = false;

        for (size_t i = 0; i < array_size(known); i++)
            is_known = is_known || str_eq(json_str(key), known[i]);
        if (is_known)
            continue;
        is_understood = false;
        r = warn(parsing, &place,
                 rule.effect == RULE_ALLOW
                     ? "unknown field; it may narrow the rule, so this rule allows nothing"
                     : "unknown field; the rule denies regardless of it");
        if (r < 0)
            return r;
    }
    if (!is_understood && rule.effect == RULE_ALLOW)
        return 0;
    return keep_rule(parsing, where, &rule, object);
}

static int take_rules(struct parsing *parsing, const struct where *where,
                      const struct json_value *array)
{
    size_t index = 0;

    json_each_item (item, array) {
        struct where place = where_of("%s[%zu]", where->text, index++);
        int r = take_rule(parsing, &place, item);

        if (r < 0)
            return r;
    }
    return 0;
}

/* ---- the whole ---- */

typedef int take_fn(struct parsing *parsing, const struct where *where,
                    const struct json_value *value);

static const struct {
    struct str key;
    enum json_type type;
    const char *wanted; /* the type, in words */
    take_fn *take;
} members[] = {
    {STR_LITERAL("permissions"), JSON_OBJECT, "an object", take_modes},
    {STR_LITERAL("filesystemDir"), JSON_STRING, "a string", take_directory},
    {STR_LITERAL("filesystemWriteAccess"), JSON_BOOL, "true or false", take_write_access},
    {STR_LITERAL("logLevel"), JSON_STRING, "a string", take_log_level},
    {STR_LITERAL("resourcePermissions"), JSON_OBJECT, "an object", take_resources},
    {STR_LITERAL("rules"), JSON_ARRAY, "a list", take_rules},
};
static int take_member(struct parsing *parsing, const struct json_value *key)
{
    static const struct where top = {""};
    struct where where = member_of(&top, json_str(key));

    for (size_t i = 0; i < array_size(members); i++)
        if (str_eq(json_str(key), members[i].key))
            return key[1].type == members[i].type
                       ? members[i].take(parsing, &where, key + 1)
                       : wrong_type(parsing, &where, members[i].wanted, key + 1);
    return warn_unknown(parsing, &top, json_str(key));
}

/* Every rule is a value of the document, which limits their number. */
static int make_room(struct parsing *parsing)
{
    struct settings *settings = parsing->settings;
    size_t values = json_span(settings->document);

    parsing->capacity = values < SETTINGS_MAX_RULES ? values : SETTINGS_MAX_RULES;
    settings->rules =
        arena_alloc_array(parsing->arena, parsing->capacity, sizeof(*settings->rules));
    settings->places =
        arena_alloc_array(parsing->arena, parsing->capacity, sizeof(const struct json_value *));
    return settings->rules == NULL || settings->places == NULL ? out_of_memory(parsing) : 0;
}

int settings_parse(struct arena *arena, struct str text, struct settings *out_settings,
                   struct err *err)
{
    static const struct where top = {""};
    const struct json_limits limits = {SETTINGS_MAX_BYTES, SETTINGS_MAX_DEPTH};
    struct settings settings = {
        .modes = permission_modes_recommended, .filesystem_dir = STR_EMPTY, .log_level = STR_EMPTY};
    struct parsing parsing = {.arena = arena, .settings = &settings, .err = err};
    struct err why = ERR_INIT;
    int r;

    if (text.len > SETTINGS_MAX_BYTES)
        return malformed(&parsing, &top, "larger than %d MiB", SETTINGS_MAX_BYTES >> 20);
    r = json_parse(arena, text, limits, &settings.document, &why);
    if (r == ERR_NO_MEMORY || r == ERR_TOO_LARGE)
        return err_set(err, r, "%s", why.message);
    if (r < 0)
        return malformed(&parsing, &top, "%s", why.message);
    if (settings.document->type != JSON_OBJECT)
        return wrong_type(&parsing, &top, "an object", settings.document);
    r = make_room(&parsing);
    json_each_member (key, settings.document) {
        if (r < 0)
            break;
        r = take_member(&parsing, key);
    }
    if (r < 0)
        return r;
    *out_settings = settings;
    return 0;
}
