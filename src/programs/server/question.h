/* SPDX-License-Identifier: Apache-2.0 */
/* A question of the machine's daemon, which it sends instead of a result: may the agent do this? */
#ifndef PROGRAMS_SERVER_QUESTION_H
#define PROGRAMS_SERVER_QUESTION_H

#include "base/arena.h"
#include "base/json.h"
#include "base/str.h"

struct question {
    struct str description;
    struct str resource;
    struct str group;
    unsigned choices; /* bits, by the table below */
};

struct question_choice {
    struct str name; /* for the machine */
    struct str word; /* for the user; also the value, since some clients show nothing else */
};

/* The first one denies. */
enum { QUESTION_CHOICES = 5 };
extern const struct question_choice question_choices[QUESTION_CHOICES];

/*
 * Whether the result is a question. One that cannot be understood has no choices. The texts live
 * in the arena or in the result.
 */
bool question_read(struct arena *arena, const struct json_value *result, struct question *out);

/* The same for its members: description, resource, toolGroup, options. */
void question_read_members(const struct json_value *object, struct question *out);

#endif
