/* SPDX-License-Identifier: Apache-2.0 */
#include "permission/rules/denials.h"

#include "base/json.h"
#include "base/jsonwrite.h"
#include "permission/settings/settings.h"

enum { MATCH_BYTES = RULE_PATTERN_MAX_BYTES + 16, DEPTH = 4 };

static bool is_of_files(enum catalog_group group)
{
    return group == CATALOG_FILESYSTEM_READ || group == CATALOG_FILESYSTEM_WRITE;
}

static int write_rule(struct json_writer *json, const struct rule *rule)
{
    cleanup_buf struct buf match = BUF_INIT(MATCH_BYTES);
    int r = rule_format(rule, &match);

    if (r < 0)
        return r;
    json_begin_object(json);
    json_put_str(json, STR("group"), str_from(catalog_group_name(rule->group)));
    json_put_str(json, STR("match"), buf_view(&match));
    if (rule->expires_ms != 0)
        json_put_int(json, STR("expiresMs"), rule->expires_ms);
    json_end_object(json);
    return 0;
}

int denials_write(const struct rulebook *book, int64_t wall_ms, struct buf *out)
{
    size_t count = book != NULL ? rulebook_count(book) : 0;
    struct json_writer json;
    int r = 0;
    int finished;

    json_writer_init(&json, out);
    json_begin_object(&json);
    json_key(&json, STR("deny"));
    json_begin_array(&json);
    for (size_t i = 0; i < count && r == 0; i++) {
        const struct rule *rule = rulebook_at(book, i);

        if (rule->effect == RULE_DENY && is_of_files(rule->group) &&
            (rule->expires_ms == 0 || rule->expires_ms > wall_ms))
            r = write_rule(&json, rule);
    }
    json_end_array(&json);
    json_end_object(&json);
    finished = json_writer_finish(&json);
    return r < 0 ? r : finished;
}

static int read_rule(struct arena *arena, const struct json_value *value, struct rule *out_rule,
                     struct err *err)
{
    enum catalog_group group;
    struct str name;
    struct str match;
    int64_t expires_ms = 0;
    int r;

    if (value->type != JSON_OBJECT || !json_get_str(value, STR("group"), &name) ||
        !settings_group_from(name, &group) || !is_of_files(group) ||
        !json_get_str(value, STR("match"), &match))
        return err_set(err, ERR_INVALID_ARGUMENT, "a file rule needs a group and a match");
    if (json_get(value, STR("expiresMs")) != NULL &&
        !json_get_int(value, STR("expiresMs"), &expires_ms))
        return err_set(err, ERR_INVALID_ARGUMENT, "the expiry of a rule must be a number");
    r = rule_parse(arena, group, match, out_rule, err);
    out_rule->effect = RULE_DENY;
    out_rule->expires_ms = expires_ms;
    return r;
}

int denials_read(struct arena *arena, struct str text, struct rule **out_rules, size_t *out_count,
                 struct err *err)
{
    const struct json_limits limits = {JSON_MAX_BYTES, DEPTH};
    const struct json_value *document;
    const struct json_value *list;
    struct rule *rules;
    size_t count = 0;
    int r = json_parse(arena, text, limits, &document, err);

    if (r < 0)
        return r;
    list = json_get(document, STR("deny"));
    if (list == NULL || list->type != JSON_ARRAY || list->size > RULEBOOK_MAX_RULES)
        return err_set(err, ERR_INVALID_ARGUMENT, "the list of deny rules is missing");
    rules = arena_alloc_array(arena, list->size, sizeof(*rules));
    if (rules == NULL)
        return err_set_plain(err, arena->error);
    json_each_item (item, list) {
        r = read_rule(arena, item, &rules[count++], err);
        if (r < 0)
            return r;
    }
    *out_rules = rules;
    *out_count = count;
    return 0;
}
