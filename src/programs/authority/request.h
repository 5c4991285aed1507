/* SPDX-License-Identifier: Apache-2.0 */
/* What a host asks for, from its JSON: checked, and copied where the library wants C strings. */
#ifndef PROGRAMS_AUTHORITY_REQUEST_H
#define PROGRAMS_AUTHORITY_REQUEST_H

#include "base/arena.h"
#include "base/json.h"
#include "gatehouse/authority.h"

/* All of these say in `err` which member is wrong. What they return lives in the arena. */

int request_parse_subject(struct arena *arena, const struct json_value *json,
                          struct authority_subject *out_subject, struct err *err);

/* Of `requestRoot`. */
int request_parse_root(struct arena *arena, const struct json_value *json,
                       struct authority_request *out_request, struct err *err);

/* A text without NUL; `is_needed`: it may not be missing or empty. NULL if it is missing. */
int request_text(struct arena *arena, const struct json_value *json, struct str key, bool is_needed,
                 const char **out_text, struct err *err);

/*
 * A name of a file: any bytes, as text or, in the member with the suffix "Hex", in hex. "" if it is
 * missing and not needed.
 */
int request_name(struct arena *arena, const struct json_value *json, struct str key, bool is_needed,
                 struct str *out_name, struct err *err);

/* A number from 0 on; 0 if it is missing. */
int request_number(const struct json_value *json, struct str key, uint64_t *out_number,
                   struct err *err);

bool request_is_on(const struct json_value *json, struct str key);

/* Which of these words a member is; 0 if it is missing. */
int request_choice(const struct json_value *json, struct str key, const char *const *words,
                   size_t count, size_t *out_index, struct err *err);

/* The host's decision: of a policy, a hook, or (as allow or deny) the user. */
void request_parse_decision(const struct json_value *json, struct authority_decision *out_decision);

#endif
