/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `gatehouse status`: asks the daemon of this user over its control socket, and tells a person or,
 * as JSON, a program. Who answers is checked to be the user's own process.
 */
#ifndef PROGRAMS_GATEHOUSE_STATUS_H
#define PROGRAMS_GATEHOUSE_STATUS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

/* ERR_NOT_FOUND, with words, when no daemon is there. */
int status_tell(uint16_t port, bool as_json, struct buf *out, struct err *err);

#endif
