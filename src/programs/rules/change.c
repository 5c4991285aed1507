/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/rules/change.h"

#include <stdio.h>
#include <string.h>

#include "permission/rules/expiry.h"
#include "programs/rules/subject.h"

enum { MATCH_MAX_BYTES = 64 << 10, NAMED_IDS = 5 };

/* ---- adding ---- */

static int read_expiry(const char *given, int64_t wall_ms, int64_t *out_ms, struct err *err)
{
    int64_t ms;

    if (expiry_read_span(str_from(given), &ms))
        ms = (ms + wall_ms) / 1000 * 1000;
    else if (!expiry_read_time(str_from(given), &ms))
        return err_set(err, ERR_INVALID_OPTION,
                       "--expires must be a time span like 30m, 2h or 7d, a day like 2026-12-01, "
                       "or a time like 2026-12-01T18:00Z");
    if (ms <= wall_ms)
        return err_set(err, ERR_INVALID_OPTION, "--expires is in the past");
    *out_ms = ms;
    return 0;
}

int change_read_wish(struct arena *arena, const struct change_wish *wish, int64_t wall_ms,
                     struct rule *out_rule, struct err *err)
{
    struct rule rule;
    struct str match;
    int r =
        subject_check_meaning(wish->group, wish->effect == RULE_DENY, str_from(wish->match), err);

    if (r == 0)
        r = subject_match(arena, wish->group, str_from(wish->match), &match, err);
    if (r == 0)
        r = rule_parse(arena, wish->group, match, &rule, err);
    if (r < 0)
        return r;
    rule.effect = wish->effect;
    rule.cwd = rule.note = STR_EMPTY;
    rule.expires_ms = 0;
    if (wish->cwd != NULL)
        r = subject_path(arena, str_from(wish->cwd), &rule.cwd, err);
    if (r == 0 && wish->expires != NULL)
        r = read_expiry(wish->expires, wall_ms, &rule.expires_ms, err);
    if (wish->note != NULL)
        rule.note = str_from(wish->note);
    if (r == 0)
        r = rule_check(&rule, err);
    return r == 0 ? rule_normalise(arena, &rule, out_rule, err) : r;
}

/* ---- finding the one to revoke ---- */

static bool is_wanted(const struct change_search *search, const struct rule *rule)
{
    return !search->has_group || rule->group == search->group;
}

static int short_id(const struct rule *rule, char out_id[SETTINGS_ID_BYTES])
{
    int r = settings_rule_id(rule, out_id);

    if (r == 0)
        out_id[SETTINGS_SHORT_ID] = '\0';
    return r;
}

/* Of several rules with this match: whether all are the same. */
struct matches {
    size_t count;                           /* of different ones */
    size_t index;                           /* of the last */
    char ids[NAMED_IDS][SETTINGS_ID_BYTES]; /* of the first */
};

static bool is_noted(const struct matches *matches, const char *id)
{
    for (size_t i = 0; i < matches->count && i < NAMED_IDS; i++)
        if (strcmp(matches->ids[i], id) == 0)
            return true;
    return false;
}

static int find_matches(const struct settings *settings, const struct change_search *search,
                        struct matches *out_matches)
{
    *out_matches = (struct matches){.count = 0};
    for (size_t i = 0; i < settings->rule_count; i++) {
        cleanup_buf struct buf text = BUF_INIT(MATCH_MAX_BYTES);
        const struct rule *rule = &settings->rules[i];
        char id[SETTINGS_ID_BYTES];
        int r = is_wanted(search, rule) ? rule_format(rule, &text) : 0;

        if (r < 0)
            return r;
        if (!is_wanted(search, rule) || !str_eq(buf_view(&text), search->words))
            continue;
        r = short_id(rule, id);
        if (r < 0)
            return r;
        if (is_noted(out_matches, id))
            continue;
        if (out_matches->count < NAMED_IDS)
            memcpy(out_matches->ids[out_matches->count], id, sizeof(id));
        out_matches->count++;
        out_matches->index = i;
    }
    return 0;
}

static int refuse_several(const struct matches *matches, struct err *err)
{
    char ids[NAMED_IDS * (SETTINGS_SHORT_ID + 2) + 8] = "";
    size_t len = 0;

    for (size_t i = 0; i < matches->count && i < NAMED_IDS; i++)
        len += (size_t)snprintf(ids + len, sizeof(ids) - len, "%s%s", i > 0 ? ", " : "",
                                matches->ids[i]);
    return err_set(err, ERR_INVALID_ARGUMENT,
                   "%zu rules have this match; name one of them by its id: %s%s", matches->count,
                   ids, matches->count > NAMED_IDS ? ", …" : "");
}

int change_find(const struct settings *settings, const struct change_search *search,
                size_t *out_index, struct err *err)
{
    struct matches matches;
    size_t by_id;
    struct err why = ERR_INIT;
    int r = find_matches(settings, search, &matches);
    int found_id = settings_find(settings, search->words, &by_id, &why);

    if (r < 0)
        return err_set_plain(err, r);
    if (matches.count > 1)
        return refuse_several(&matches, err);
    if (matches.count == 1) {
        char ids[2][SETTINGS_ID_BYTES];

        /* One rule's match may be the id of another. */
        if (found_id == 0 && settings_rule_id(&settings->rules[by_id], ids[0]) == 0 &&
            settings_rule_id(&settings->rules[matches.index], ids[1]) == 0 &&
            strcmp(ids[0], ids[1]) != 0)
            return err_set(
                err, ERR_INVALID_ARGUMENT,
                "this is the match of rule %.*s and the id of another: give more digits of the id",
                (int)SETTINGS_SHORT_ID, ids[1]);
        *out_index = matches.index;
        return 0;
    }
    if (found_id == 0 && is_wanted(search, &settings->rules[by_id])) {
        *out_index = by_id;
        return 0;
    }
    if (found_id == ERR_INVALID_ARGUMENT)
        return err_set(err, ERR_INVALID_ARGUMENT, "%s; give more digits", why.message);
    return err_set(err, ERR_NOT_FOUND, "no rule has this id or match%s; see 'gatehouse rules list'",
                   search->has_group ? " in that group" : "");
}
