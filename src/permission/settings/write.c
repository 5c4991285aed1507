/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes settings: the parsed document, value by value, with new rules inserted and revoked ones
 * omitted.
 */
#include "permission/settings/settings.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/jsonwrite.h"

/* Whether the original daemon understands it as we do. */
static bool is_plain(const struct rule *rule)
{
    cleanup_buf struct buf text = BUF_INIT(SETTINGS_MAX_BYTES);

    if (rule->kind != RULE_EXACT || rule->cwd.len > 0 || rule->expires_ms != 0 ||
        rule->note.len > 0)
        return false;
    return rule_format(rule, &text) == 0 && str_eq(buf_view(&text), rule->pattern);
}

struct writing {
    const struct settings *settings;
    struct json_writer json;
    int error;
};

static bool is_revoked(const struct writing *writing, const struct json_value *value)
{
    for (size_t i = 0; i < writing->settings->revoked_count; i++)
        if (writing->settings->revoked[i] == value)
            return true;
    return false;
}

static void write_match(struct writing *writing, const struct rule *rule)
{
    cleanup_buf struct buf text = BUF_INIT(SETTINGS_MAX_BYTES);
    int r = rule_format(rule, &text);

    if (r < 0)
        writing->error = r;
    json_write_str(&writing->json, buf_view(&text));
}

static bool is_new(const struct settings *settings, size_t index, bool wants_plain)
{
    return settings->places[index] == NULL && is_plain(&settings->rules[index]) == wants_plain;
}

/* ---- "resourcePermissions" ---- */

static bool has_new_text(const struct settings *settings, enum catalog_group group,
                         enum rule_effect effect)
{
    for (size_t i = 0; i < settings->rule_count; i++)
        if (settings->rules[i].group == group && settings->rules[i].effect == effect &&
            is_new(settings, i, true))
            return true;
    return false;
}

/* `array` is NULL if there was none. */
static void write_texts(struct writing *writing, const struct json_value *array,
                        enum catalog_group group, enum rule_effect effect)
{
    const struct settings *settings = writing->settings;

    json_key(&writing->json, str_from(rule_effect_name(effect)));
    json_begin_array(&writing->json);
    if (array != NULL)
        json_each_item (item, array) {
            if (!is_revoked(writing, item))
                json_write_value(&writing->json, item);
        }
    for (size_t i = 0; i < settings->rule_count; i++)
        if (settings->rules[i].group == group && settings->rules[i].effect == effect &&
            is_new(settings, i, true))
            json_write_str(&writing->json, settings->rules[i].pattern);
    json_end_array(&writing->json);
}

static void write_group(struct writing *writing, const struct json_value *object,
                        enum catalog_group group)
{
    json_begin_object(&writing->json);
    if (object != NULL)
        json_each_member (key, object) {
            if (str_eq(json_str(key), STR("allow")))
                write_texts(writing, key + 1, group, RULE_ALLOW);
            else if (str_eq(json_str(key), STR("deny")))
                write_texts(writing, key + 1, group, RULE_DENY);
            else {
                json_key(&writing->json, json_str(key));
                json_write_value(&writing->json, key + 1);
            }
        }
    /* A new one gets both lists, as in the original. */
    for (enum rule_effect effect = RULE_ALLOW; effect <= RULE_DENY; effect++)
        if (object == NULL || (json_get(object, str_from(rule_effect_name(effect))) == NULL &&
                               has_new_text(writing->settings, group, effect)))
            write_texts(writing, NULL, group, effect);
    json_end_object(&writing->json);
}

static void write_resources(struct writing *writing, const struct json_value *object)
{
    json_key(&writing->json, STR("resourcePermissions"));
    json_begin_object(&writing->json);
    if (object != NULL)
        json_each_member (key, object) {
            enum catalog_group group;

            json_key(&writing->json, json_str(key));
            if (settings_group_from(json_str(key), &group))
                write_group(writing, key + 1, group);
            else
                json_write_value(&writing->json, key + 1);
        }
    for (int i = 0; i < PERMISSION_GROUPS; i++) {
        enum catalog_group group = (enum catalog_group)i;
        struct str name = str_from(catalog_group_name(group));

        if ((object != NULL && json_get(object, name) != NULL) ||
            (!has_new_text(writing->settings, group, RULE_ALLOW) &&
             !has_new_text(writing->settings, group, RULE_DENY)))
            continue;
        json_key(&writing->json, name);
        write_group(writing, NULL, group);
    }
    json_end_object(&writing->json);
}

/* ---- "rules" ---- */

static void write_rule(struct writing *writing, const struct rule *rule)
{
    struct json_writer *json = &writing->json;
    char time[CLOCK_ISO_BYTES];

    json_begin_object(json);
    json_put_str(json, STR("group"), str_from(catalog_group_name(rule->group)));
    json_put_str(json, STR("effect"), str_from(rule_effect_name(rule->effect)));
    json_key(json, STR("match"));
    write_match(writing, rule);
    if (rule->cwd.len > 0)
        json_put_str(json, STR("cwd"), rule->cwd);
    if (rule->expires_ms != 0) {
        clock_format_iso(rule->expires_ms, time);
        json_put_str(json, STR("expires"), str_from(time));
    }
    if (rule->note.len > 0)
        json_put_str(json, STR("note"), rule->note);
    json_end_object(json);
}

static void write_rules(struct writing *writing, const struct json_value *array)
{
    const struct settings *settings = writing->settings;

    json_key(&writing->json, STR("rules"));
    json_begin_array(&writing->json);
    if (array != NULL)
        json_each_item (item, array) {
            if (!is_revoked(writing, item))
                json_write_value(&writing->json, item);
        }
    for (size_t i = 0; i < settings->rule_count; i++)
        if (is_new(settings, i, false))
            write_rule(writing, &settings->rules[i]);
    json_end_array(&writing->json);
}

/* ---- the whole ---- */

static bool has_new_rules(const struct settings *settings, bool wants_plain)
{
    for (size_t i = 0; i < settings->rule_count; i++)
        if (is_new(settings, i, wants_plain))
            return true;
    return false;
}

int settings_write(const struct settings *settings, struct buf *out)
{
    struct writing writing = {.settings = settings};
    struct json_writer *json = &writing.json;
    int r;

    json_writer_init(json, out);
    json_writer_set_pretty(json);
    json_begin_object(json);
    json_each_member (key, settings->document) {
        if (str_eq(json_str(key), STR("resourcePermissions"))) {
            write_resources(&writing, key + 1);
        } else if (str_eq(json_str(key), STR("rules"))) {
            write_rules(&writing, key + 1);
        } else {
            json_key(json, json_str(key));
            json_write_value(json, key + 1);
        }
    }
    if (json_get(settings->document, STR("resourcePermissions")) == NULL &&
        has_new_rules(settings, true))
        write_resources(&writing, NULL);
    if (json_get(settings->document, STR("rules")) == NULL && has_new_rules(settings, false))
        write_rules(&writing, NULL);
    json_end_object(json);
    r = json_writer_finish(json);
    if (r == 0)
        r = writing.error;
    return r == 0 ? buf_append_char(out, '\n') : r;
}

int settings_write_template(struct buf *out)
{
    struct permission_modes modes = permission_modes_recommended;
    struct json_writer json;
    int r;

    json_writer_init(&json, out);
    json_writer_set_pretty(&json);
    json_begin_object(&json);
    json_key(&json, STR("permissions"));
    json_begin_object(&json);
    for (int group = 0; group < PERMISSION_GROUPS; group++)
        json_put_str(&json, str_from(catalog_group_name((enum catalog_group)group)),
                     str_from(permission_mode_name(modes.of[group])));
    json_end_object(&json);
    json_put_str(&json, STR("filesystemDir"), STR_EMPTY);
    json_key(&json, STR("resourcePermissions"));
    json_begin_object(&json);
    json_end_object(&json);
    json_end_object(&json);
    r = json_writer_finish(&json);
    return r == 0 ? buf_append_char(out, '\n') : r;
}

int settings_write_rule(struct json_writer *json, const struct rule *rule, int64_t wall_ms)
{
    cleanup_buf struct buf match = BUF_INIT(SETTINGS_MAX_BYTES);
    char id[SETTINGS_ID_BYTES];
    char time[CLOCK_ISO_BYTES];
    int r = settings_rule_id(rule, id);

    if (r == 0)
        r = rule_format(rule, &match);
    if (r < 0)
        return r;
    json_begin_object(json);
    json_put_str(json, STR("id"), str_from(id));
    json_put_str(json, STR("group"), str_from(catalog_group_name(rule->group)));
    json_put_str(json, STR("effect"), str_from(rule_effect_name(rule->effect)));
    json_put_str(json, STR("match"), buf_view(&match));
    if (rule->cwd.len > 0)
        json_put_str(json, STR("cwd"), rule->cwd);
    if (rule->expires_ms != 0) {
        clock_format_iso(rule->expires_ms, time);
        json_put_str(json, STR("expires"), str_from(time));
        json_put_bool(json, STR("expired"), rule->expires_ms <= wall_ms);
    }
    if (rule->note.len > 0)
        json_put_str(json, STR("note"), rule->note);
    json_end_object(json);
    return 0;
}
