/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where `gatehouse up` serves a folder: at the usual address with the usual state; or, while those
 * are taken, at an address and with keys and logins of the folder's own, which it then keeps.
 */
#ifndef PROGRAMS_GATEHOUSE_UPPLACE_H
#define PROGRAMS_GATEHOUSE_UPPLACE_H

#include <limits.h>
#include <stdbool.h>

#include "base/options/options.h"

enum { UPPLACE_ADDRESS_BYTES = 256 };

struct upplace {
    char folder[PATH_MAX];
    char listen[UPPLACE_ADDRESS_BYTES];
    char state[PATH_MAX];        /* empty: the usual */
    char server_state[PATH_MAX]; /* of the folder's own; empty: as `state` */
    int claim; /* on a chosen port: leave it open until this process ends; or -1 */
};

/* The values are those of up.h. */
int upplace_choose(const struct option_values *values, struct upplace *out_place, struct err *err);

/* Whether there are no commands because --allow would not hold for them. */
bool upplace_hides_commands(const struct option_values *values);

/* Whether the folder has keys and logins of its own, for programs that are told where they are. */
bool upplace_own_state(struct str folder, char out_path[PATH_MAX]);

#endif
