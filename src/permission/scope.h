/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an answer may cover besides the very resources of a question: a folder, files of one kind in
 * it, or commands that start with the same words. A scope is a rule, so that it matches as rules
 * do, and it is offered only where its text says plainly what it covers.
 */
#ifndef PERMISSION_SCOPE_H
#define PERMISSION_SCOPE_H

#include "base/arena.h"
#include "permission/permission.h"
#include "permission/rules/rule.h"

enum { SCOPE_MAX_BYTES = 160 }; /* of its pattern; longer ones are not offered */

/*
 * The resources are those that are asked about. Each is false if there is no such scope, and leaves
 * the rule as it was; its group is that of the first resource, and its texts live in the arena.
 *
 * The folder that holds all the files. None for what moves or deletes, for secrets and for what is
 * only looked up.
 */
bool scope_folder(struct arena *arena, const struct permission_resource *resources, size_t count,
                  struct rule *out_rule);

/*
 * Files with the same ending in that folder (all below /home/bob/src that ends in ".c"), or
 * commands that start with the same words, like "npm test": for a plain command with a subcommand,
 * of a program that does not itself run what its other words say.
 */
bool scope_matching(struct arena *arena, const struct permission_resource *resources, size_t count,
                    struct rule *out_rule);

#endif
