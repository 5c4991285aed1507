/* SPDX-License-Identifier: Apache-2.0 */
/* The rules in the settings: their ids, adding and removing them. */
#include "permission/settings/settings.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hex.h"
#include "base/sha256.h"

/* ---- names ---- */

/* The length first, so that no part can pass into the next. */
static void add_part(struct sha256 *hash, struct str part)
{
    char length[32];

    snprintf(length, sizeof(length), "%zu:", part.len);
    sha256_add(hash, str_from(length));
    if (part.len > 0) /* an empty one may have no address */
        sha256_add(hash, part);
}

int settings_rule_id(const struct rule *rule, char out_id[SETTINGS_ID_BYTES])
{
    cleanup_buf struct buf text = BUF_INIT(SETTINGS_MAX_BYTES);
    unsigned char digest[SHA256_BYTES];
    struct sha256 hash;
    char expires[32];
    int r = rule_format(rule, &text);

    if (r < 0)
        return r;
    sha256_init(&hash);
    add_part(&hash, str_from(catalog_group_name(rule->group)));
    add_part(&hash, str_from(rule_effect_name(rule->effect)));
    add_part(&hash, buf_view(&text));
    add_part(&hash, rule->cwd);
    snprintf(expires, sizeof(expires), "%" PRId64, rule->expires_ms);
    add_part(&hash, str_from(expires));
    add_part(&hash, rule->note);
    sha256_end(&hash, digest);
    hex_text(out_id, digest, sizeof(digest));
    return 0;
}

static bool is_same(const struct rule *a, const struct rule *b)
{
    return a->group == b->group && a->effect == b->effect && a->kind == b->kind &&
           a->expires_ms == b->expires_ms && str_eq(a->pattern, b->pattern) &&
           str_eq(a->cwd, b->cwd) && str_eq(a->note, b->note);
}

static bool is_id(struct str text)
{
    return hex_is_small(text) && text.len >= SETTINGS_LEAST_ID && text.len < SETTINGS_ID_BYTES;
}

int settings_find(const struct settings *settings, struct str id, size_t *out_index,
                  struct err *err)
{
    size_t found = SIZE_MAX;

    if (!is_id(id))
        return err_set(err, ERR_NOT_FOUND, "an id must have %d or more of the digits 0-9 and a-f",
                       (int)SETTINGS_LEAST_ID);
    for (size_t i = 0; i < settings->rule_count; i++) {
        char own[SETTINGS_ID_BYTES];
        int r = settings_rule_id(&settings->rules[i], own);

        if (r < 0)
            return err_set_plain(err, r);
        if (!str_starts_with(str_from(own), id))
            continue;
        if (found != SIZE_MAX && !is_same(&settings->rules[found], &settings->rules[i]))
            return err_set(err, ERR_INVALID_ARGUMENT,
                           "several rules have an id that begins with this");
        found = i;
    }
    if (found == SIZE_MAX)
        return err_set(err, ERR_NOT_FOUND, "no rule has this id");
    *out_index = found;
    return 0;
}

/* ---- changes ---- */

int settings_add(struct arena *arena, struct settings *settings, const struct rule *rule,
                 struct err *err)
{
    struct rule added = *rule;
    const struct json_value **places;
    struct rule *rules;
    size_t count = settings->rule_count;
    int r = rule_check(rule, err);

    if (r == 0)
        r = rule_normalise(arena, rule, &added, err);
    if (r < 0)
        return r;
    for (size_t i = 0; i < count; i++)
        if (is_same(&settings->rules[i], &added))
            return err_set(err, ERR_ALREADY_EXISTS, "this rule already exists");
    if (count >= SETTINGS_MAX_RULES)
        return err_set(err, ERR_TOO_LARGE, "there are already %zu rules, which is the limit",
                       count);
    rules = arena_alloc_array(arena, count + 1, sizeof(*rules));
    places = arena_alloc_array(arena, count + 1, sizeof(const struct json_value *));
    if (rules == NULL || places == NULL || !arena_copy_str(arena, added.pattern, &added.pattern) ||
        !arena_copy_str(arena, added.cwd, &added.cwd) ||
        !arena_copy_str(arena, added.note, &added.note))
        return err_set_plain(err, arena->error);
    if (count > 0) {
        memcpy(rules, settings->rules, count * sizeof(*rules));
        memcpy(places, settings->places, count * sizeof(const struct json_value *));
    }
    rules[count] = added;
    places[count] = NULL;
    settings->rules = rules;
    settings->places = places;
    settings->rule_count = count + 1;
    return 0;
}

int settings_revoke(struct arena *arena, struct settings *settings, size_t index, struct err *err)
{
    struct rule wanted = settings->rules[index];
    const struct json_value **revoked = arena_alloc_array(
        arena, settings->revoked_count + settings->rule_count, sizeof(const struct json_value *));
    size_t kept = 0;

    if (revoked == NULL)
        return err_set_plain(err, arena->error);
    if (settings->revoked_count > 0)
        memcpy(revoked, settings->revoked,
               settings->revoked_count * sizeof(const struct json_value *));
    settings->revoked = revoked;
    for (size_t i = 0; i < settings->rule_count; i++) {
        if (!is_same(&settings->rules[i], &wanted)) {
            settings->rules[kept] = settings->rules[i];
            settings->places[kept++] = settings->places[i];
        } else if (settings->places[i] != NULL) {
            settings->revoked[settings->revoked_count++] = settings->places[i];
        }
    }
    settings->rule_count = kept;
    return 0;
}
