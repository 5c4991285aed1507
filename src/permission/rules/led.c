/* SPDX-License-Identifier: Apache-2.0 */
#include "permission/rules/led.h"

#include <string.h>

static const char special[] = "*?[]{}\\!";

static bool is_of_files(const struct rule *rule)
{
    return rule->effect == RULE_DENY &&
           (rule->group == CATALOG_FILESYSTEM_READ || rule->group == CATALOG_FILESYSTEM_WRITE);
}

/* Length of the whole components at the beginning that have one meaning: themselves. */
static size_t fixed_length(const struct rule *rule)
{
    size_t end = 0;

    if (rule->pattern.len == 0 || rule->pattern.ptr[0] != '/')
        return 0;
    if (rule->kind != RULE_GLOB)
        return rule->pattern.len;
    for (size_t i = 0; i < rule->pattern.len && strchr(special, rule->pattern.ptr[i]) == NULL; i++)
        if (rule->pattern.ptr[i] == '/')
            end = i;
    return end;
}

/* As a glob has it: with a backslash before special characters. ptr is NULL without memory. */
static struct str quote(struct arena *arena, const char *path, struct str rest)
{
    size_t len = strlen(path);
    char *text = arena_alloc_array(arena, 2 * len + rest.len + 1, 1);
    size_t at = 0;

    if (text == NULL)
        return STR_CUT_END;
    for (size_t i = 0; i < len; i++) {
        if (strchr(special, path[i]) != NULL)
            text[at++] = '\\';
        text[at++] = path[i];
    }
    memcpy(text + at, rest.ptr, rest.len);
    return (struct str){text, at + rest.len};
}

/* A glob that would be too long that way is denied with the directory that holds its matches. */
static int add(const struct rule *rule, const char *found, struct str rest, struct arena *arena,
               struct rule *out_rule)
{
    *out_rule = *rule;
    out_rule->pattern = rule->kind == RULE_GLOB
                            ? quote(arena, found, rest)
                            : (struct str){arena_copy(arena, str_from(found)), strlen(found)};
    if (rule->kind == RULE_GLOB && out_rule->pattern.len > 0 && rule_check(out_rule, NULL) < 0) {
        out_rule->kind = RULE_DIR;
        out_rule->pattern = (struct str){arena_copy(arena, str_from(found)), strlen(found)};
    }
    return out_rule->pattern.ptr != NULL ? 0 : arena->error;
}

int led_rules(const struct rulebook *book, led_fn *leads, void *data, struct arena *arena,
              struct rule **out_rules, size_t *out_count)
{
    size_t all = rulebook_count(book);
    struct rule *rules = NULL;
    size_t count = 0;
    int r = 0;

    for (size_t i = 0; i < all && r == 0; i++) {
        const struct rule *rule = rulebook_at(book, i);
        size_t len = is_of_files(rule) ? fixed_length(rule) : 0;
        char path[PATH_MAX];
        char found[PATH_MAX];

        if (len == 0 || len >= sizeof(path))
            continue;
        memcpy(path, rule->pattern.ptr, len);
        path[len] = '\0';
        if (!leads(data, path, found))
            continue;
        if (rules == NULL)
            rules = arena_alloc_array(arena, all - i, sizeof(*rules));
        r = rules == NULL ? arena->error
                          : add(rule, found, str_slice(rule->pattern, len, rule->pattern.len),
                                arena, &rules[count]);
        /* A rule is text, so a target that is not UTF-8 gets none. */
        if (r == 0 && rule_check(&rules[count], NULL) == 0)
            count++;
    }
    if (r < 0)
        return r;
    *out_rules = rules;
    *out_count = count;
    return 0;
}
