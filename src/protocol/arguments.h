/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Brings the arguments of a call into the form that the catalogue describes, before they are
 * checked against the schema. Models write `file_path` for `filePath`, "10" for 10, null for what
 * they leave out; what cannot be meant is refused with the nearest name.
 */
#ifndef PROTOCOL_ARGUMENTS_H
#define PROTOCOL_ARGUMENTS_H

#include "base/arena.h"
#include "base/err.h"
#include "base/json.h"
#include "protocol/catalog.h"

/*
 * - Names are compared without case, '_' and '-', and with the catalogue's aliases. Names that
 * begin with '_' are dropped. An alias can be a list of several arguments, [x, y], or a boolean.
 * - Integers and booleans may be text, and lists and objects their JSON text.
 * - An optional argument that is null or an empty string is dropped, wherever it stands.
 * - An argument of the items of a list may stand beside the list, for all items that lack it.
 * - A member of an object may stand beside it, instead of the object or of a text in its place.
 * - What the catalogue assumes for an argument is added, and what it ignores is dropped.
 *
 * What already has that form is returned as it is, and so is what is no object. Other results live
 * in the arena and point to `arguments`. ERR_SCHEMA_MISMATCH names the argument.
 */
int arguments_normalise(struct arena *arena, const struct catalog_tool *tool,
                        const struct json_value *arguments, const struct json_value **out_arguments,
                        struct err *err);

#endif
