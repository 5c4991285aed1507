/* SPDX-License-Identifier: Apache-2.0 */
/* A new password: typed twice at the terminal without echo, or one line of standard input. */
#ifndef PROGRAMS_USER_NEWPASSWORD_H
#define PROGRAMS_USER_NEWPASSWORD_H

#include "base/err.h"
#include "base/secret.h"

/* The message is for the user. */
int newpassword_read(struct secret *out_password, struct err *err);

#endif
