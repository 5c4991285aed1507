/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules of a book that deny files, as JSON for a program that has to hide
 * names and knows no settings:
 *
 *     {"deny":[{"group":"filesystemRead","match":"glob:**\/.env","expiresMs":1790000000000}]}
 *
 * All of them or none: rules that were lost on the way would be open doors.
 */
#ifndef PERMISSION_RULES_DENIALS_H
#define PERMISSION_RULES_DENIALS_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "permission/rules/rulebook.h"

/* The book may be NULL. Expired ones are left out; ERR_INVALID_UTF8 where JSON has no words. */
int denials_write(const struct rulebook *book, int64_t wall_ms, struct buf *out);

/* The text must outlive the rules. ERR_INVALID_ARGUMENT and the codes of JSON and of rules. */
int denials_read(struct arena *arena, struct str text, struct rule **out_rules, size_t *out_count,
                 struct err *err);

#endif
