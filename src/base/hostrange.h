/* SPDX-License-Identifier: Apache-2.0 */
/* Which machines the name or address of a host can mean, without asking a resolver. */
#ifndef BASE_HOSTRANGE_H
#define BASE_HOSTRANGE_H

#include <stdbool.h>

#include "base/str.h"

/*
 * Whether the host, in the form of permission/rules/form.h or a browser's, is this machine or one
 * of a private network: loopback, link-local, RFC 1918 and 6598, unique local, and names that end
 * so (localhost, .local, .internal, .home.arpa).
 */
bool hostrange_is_private(struct str host);

/* Whether the host is this machine itself. */
bool hostrange_is_loopback(struct str host);

#endif
