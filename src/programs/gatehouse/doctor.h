/* SPDX-License-Identifier: Apache-2.0 */
/* `gatehouse doctor`: prints the findings of probe.h for a person or, as JSON, for a program. */
#ifndef PROGRAMS_GATEHOUSE_DOCTOR_H
#define PROGRAMS_GATEHOUSE_DOCTOR_H

#include <stdbool.h>

#include "base/buf.h"

/* Appends the report. Returns 0, ERR_TOO_LARGE or ERR_NO_MEMORY. */
int doctor_tell(bool use_colour, size_t width, struct buf *out);
int doctor_tell_json(struct buf *out);

#endif
