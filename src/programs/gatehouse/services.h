/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `gatehouse serve` and the sandbox service of this user, for `gatehouse status`: found by the file
 * that each keeps locked in its state directory (cli/servicefile.h). Nothing is started, and one
 * that does not answer is waited for a second.
 */
#ifndef PROGRAMS_GATEHOUSE_SERVICES_H
#define PROGRAMS_GATEHOUSE_SERVICES_H

#include <stdbool.h>

#include "base/buf.h"

/*
 * Appends those that run, for a person with an empty line before each but the first text, or as
 * JSON, an object in a line each. 0, ERR_TOO_LARGE or ERR_NO_MEMORY.
 */
int services_tell(const char *state_dir, bool as_json, struct buf *out);

#endif
