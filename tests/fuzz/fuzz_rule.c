/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A letter for the group and effect, then lines: the last is a resource, the others are rules. A
 * parsed rule, written and parsed again, is the same. A book is compiled from all rules, and a
 * lookup finds only rules that are in it.
 */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"
#include "permission/rules/rulebook.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ARENA_BYTES = 16 << 20, TEXT_BYTES = 8192, MOST_RULES = 32 };

static void check_text(struct arena *arena, const struct rule *rule)
{
    cleanup_buf struct buf text = BUF_INIT(TEXT_BYTES);
    struct rule again;

    assert(rule_check(rule, NULL) == 0);
    assert(rule_format(rule, &text) == 0);
    assert(rule_parse(arena, rule->group, buf_view(&text), &again, NULL) == 0);
    assert(again.kind == rule->kind && again.group == rule->group &&
           str_eq(again.pattern, rule->pattern));
}

static bool is_one_of(const struct rulebook *book, const struct rule *rule)
{
    for (size_t i = 0; i < rulebook_count(book); i++)
        if (rulebook_at(book, i) == rule)
            return true;
    return false;
}

static void check_find(const struct rulebook *book, enum catalog_group group, struct str resource)
{
    for (int effect = RULE_ALLOW; effect <= RULE_DENY; effect++) {
        for (int64_t wall_ms = 0; wall_ms <= 2; wall_ms++) {
            const struct rule *found =
                rulebook_find(book, (enum rule_effect)effect, group, resource, STR("/w"), wall_ms);

            assert(found == NULL || (is_one_of(book, found) && found->group == group &&
                                     (int)found->effect == effect &&
                                     (found->expires_ms == 0 || found->expires_ms > wall_ms)));
        }
    }
    if (group <= CATALOG_FILESYSTEM_WRITE)
        (void)rulebook_denies_path(book, group, resource, 0);
}

/* What a rule says without a pattern holds for itself, as far as it can be a resource. */
static void check_itself(const struct rulebook *book)
{
    for (size_t i = 0; i < rulebook_count(book); i++) {
        const struct rule *rule = rulebook_at(book, i);

        if (rule->kind == RULE_EXACT || rule->kind == RULE_DIR || rule->kind == RULE_PREFIX)
            assert(rulebook_find(book, rule->effect, rule->group, rule->pattern, STR("/w"),
                                 INT64_MIN) != NULL);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup_arena struct arena arena = ARENA_INIT(ARENA_BYTES);
    cleanup_rulebook struct rulebook *book = NULL;
    struct str rest = {(const char *)data, size};
    struct str line = STR_EMPTY;
    struct rule rules[MOST_RULES];
    enum catalog_group group;
    size_t count = 0;

    if (size == 0)
        return 0;
    group = (enum catalog_group)(data[0] % (CATALOG_BROWSER + 1));
    rest = str_slice(rest, 1, size);
    while (str_cut(&rest, '\n', &line)) {
        struct err err = ERR_INIT;
        struct rule rule;
        int r = rule_parse(&arena, group, line, &rule, &err);

        if (r < 0) {
            assert((r == ERR_INVALID_ARGUMENT && err.message[0] != '\0') || r == ERR_TOO_LARGE);
            continue;
        }
        check_text(&arena, &rule);
        rule.effect = count % 2 == 0 ? RULE_DENY : RULE_ALLOW;
        rule.expires_ms = (int64_t)(count % 3);
        if (count < MOST_RULES)
            rules[count++] = rule;
    }
    if (rulebook_new(rules, count, &book, NULL) < 0)
        return 0;
    check_itself(book);
    check_find(book, group, line);
    return 0;
}
