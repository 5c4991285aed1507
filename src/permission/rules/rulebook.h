/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many rules, compiled once and never changed: which of them holds for a
 * resource is found without looking at the others. References are counted, and
 * any thread may hold one and ask.
 *
 * Files are asked for by absolute paths. An allow rule without a pattern is for that path alone; a
 * deny rule for all below it, too, since a folder that may not be used is not used through its
 * files. See docs/internals/permission.md for what holds for commands and hosts.
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
    RULEBOOK_MAX_NODES = 1 << 20,   /* directories, words and labels that rules name */
    RULEBOOK_MAX_BYTES = 128 << 20, /* of texts and compiled globs */
};

struct rulebook;

/*
 * Copies the rules, each brought into the form of rule_parse(). The message names the rule that
 * cannot be one, by its number from 1. ERR_TOO_LARGE over a ceiling.
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
 * A rule of that effect that holds for the resource, or NULL. Expired ones are passed over; a wall
 * time of INT64_MIN finds them as well. A resource in no usable form has no rule. A command without
 * a directory meets every deny rule, and no allow rule that wants one.
 */
const struct rule *rulebook_find(const struct rulebook *book, enum rule_effect effect,
                                 enum catalog_group group, struct str resource, struct str cwd,
                                 int64_t wall_ms);

/*
 * For walks and searches: may the group of files not use this path? What may not be read may not be
 * changed either, and what is no usable path is denied.
 */
bool rulebook_denies_path(const struct rulebook *book, enum catalog_group group, struct str path,
                          int64_t wall_ms);

/* False: rulebook_denies_path() says no to every usable path. */
bool rulebook_has_denials(const struct rulebook *book, enum catalog_group group);

#endif
