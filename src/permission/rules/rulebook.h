/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many rules, compiled once and immutable: the rule that matches a resource is found without
 * looking at all the others. Reference-counted; any thread may hold a reference and look up.
 *
 * Files are looked up by absolute path. An allow rule without a pattern is for that path alone; a
 * deny rule also for everything below it, since a denied folder must not be used through its files.
 * See docs/internals/permission.md for commands and hosts.
 */
#ifndef PERMISSION_RULES_RULEBOOK_H
#define PERMISSION_RULES_RULEBOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/str.h"
#include "permission/rules/rule.h"

enum {
    RULEBOOK_MAX_RULES = 50000,
    RULEBOOK_MAX_NODES = 1 << 20,   /* directories, words and labels in rules */
    RULEBOOK_MAX_BYTES = 128 << 20, /* of texts and compiled globs */
};

struct rulebook;

/*
 * Copies the rules and normalises each as rule_parse() does. The message names an invalid rule by
 * its number, from 1. ERR_TOO_LARGE over a limit.
 */
int rulebook_new(const struct rule *rules, size_t count, struct rulebook **out_book,
                 struct err *err);
struct rulebook *rulebook_ref(struct rulebook *book);
void rulebook_unref(struct rulebook *book);

static inline void cleanup_rulebook_(struct rulebook *const *book)
{
    rulebook_unref(*book);
}
#define cleanup_rulebook cleanup_with(cleanup_rulebook_)

size_t rulebook_count(const struct rulebook *book);
const struct rule *rulebook_at(const struct rulebook *book, size_t index);

/*
 * A rule of that effect that matches the resource, or NULL. Skips expired rules, unless wall_ms is
 * INT64_MIN. A resource without a valid form has no rule. A command without a directory matches
 * every deny rule, and no allow rule that requires one.
 */
const struct rule *rulebook_find(const struct rulebook *book, enum rule_effect effect,
                                 enum catalog_group group, struct str resource, struct str cwd,
                                 int64_t wall_ms);

/*
 * For walks and searches: whether the file group may not use this path. What may not be read may
 * not be changed either, and an invalid path is denied.
 */
bool rulebook_denies_path(const struct rulebook *book, enum catalog_group group, struct str path,
                          int64_t wall_ms);

/* False if rulebook_denies_path() is false for every valid path. */
bool rulebook_has_denials(const struct rulebook *book, enum catalog_group group);

#endif
