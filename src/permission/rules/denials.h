/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The deny rules for files of a book, as JSON for a program that must hide names and reads no
 * settings:
 *
 *     {"deny":[{"group":"filesystemRead","match":"glob:**\/.env","expiresMs":1790000000000}]}
 *
 * All of them or none: a lost rule would be a security hole.
 */
#ifndef PERMISSION_RULES_DENIALS_H
#define PERMISSION_RULES_DENIALS_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "permission/rules/rulebook.h"

/* `book` may be NULL. Skips expired rules; ERR_INVALID_UTF8 for one that JSON cannot hold. */
int denials_write(const struct rulebook *book, int64_t wall_ms, struct buf *out);

/* The text must outlive the rules. ERR_INVALID_ARGUMENT, and the codes of JSON and of rules. */
int denials_read(struct arena *arena, struct str text, struct rule **out_rules, size_t *out_count,
                 struct err *err);

#endif
