/* SPDX-License-Identifier: Apache-2.0 */
/* A question of the machine's daemon, which it sends instead of a result: may the agent do this? */
#ifndef PROGRAMS_SERVER_MACHINEQUESTION_H
#define PROGRAMS_SERVER_MACHINEQUESTION_H

#include "base/arena.h"
#include "base/json.h"
#include "base/str.h"

struct machine_question {
    struct str description;
    struct str resource;
    struct str group;
    unsigned choices; /* bits, by the table below */
};

struct machine_choice {
    struct str name; /* for the machine */
    struct str word; /* for the user; also the value, since some clients show nothing else */
};

/* The first one denies. */
enum { MACHINE_CHOICES = 5 };
extern const struct machine_choice machine_choices[MACHINE_CHOICES];

/*
 * Whether the result is a question. One that cannot be understood has no choices. The texts live
 * in the arena or in the result.
 */
bool machinequestion_read(struct arena *arena, const struct json_value *result,
                          struct machine_question *out);

/* The same for its members: description, resource, toolGroup, options. */
void machinequestion_read_members(const struct json_value *object, struct machine_question *out);

#endif
