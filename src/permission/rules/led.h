/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules that deny files, by the names that their paths lead to through links. Of a glob, the
 * directories that are written out at its beginning count. What follows links is the caller's.
 */
#ifndef PERMISSION_RULES_LED_H
#define PERMISSION_RULES_LED_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "permission/rules/rulebook.h"

/* Whether this absolute path leads elsewhere through links at present, and where to. */
typedef bool led_fn(void *data, const char *path, char out_found[PATH_MAX]);

/* The rules to add to those of the book, in memory of the arena. */
int led_rules(const struct rulebook *book, led_fn *leads, void *data, struct arena *arena,
              struct rule **out_rules, size_t *out_count);

#endif
