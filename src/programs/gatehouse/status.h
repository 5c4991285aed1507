/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `gatehouse status`: asks this user's daemon over its control socket, and prints the answer for a
 * person or, as JSON, for a program. Checks that the daemon is a process of the same user.
 */
#ifndef PROGRAMS_GATEHOUSE_STATUS_H
#define PROGRAMS_GATEHOUSE_STATUS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

/*
 * Of the daemon with this port, or of all if it is 0; as JSON, an object in a line each.
 * ERR_NOT_FOUND, with a message, if no daemon is running.
 */
int status_tell(uint16_t port, bool as_json, struct buf *out, struct err *err);

/*
 * ERR_ALREADY_EXISTS, with a message, if `gatehouse up` runs at this address ("127.0.0.1:7654"); or
 * for this folder, if the address is NULL.
 */
int status_refuse_second(const char *address, const char *folder, struct err *err);

#endif
