/* SPDX-License-Identifier: Apache-2.0 */
/* Which machines the name or address of a host can mean, without asking a resolver. */
#ifndef BASE_HOSTRANGE_H
#define BASE_HOSTRANGE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

/*
 * Whether the host, in the form of permission/rules/form.h or a browser's, is this machine or one
 * of a private network: loopback, link-local, RFC 1918 and 6598, unique local, and names that end
 * so (localhost, .local, .internal, .home.arpa).
 */
bool hostrange_is_private(struct str host);

/* Whether the host is this machine itself. */
bool hostrange_is_loopback(struct str host);

/*
 * Whether an address is one of the internet's: none of those above, no multicast, and no IPv6 range
 * that stands for IPv4 addresses or that nobody has yet. IPv4 is mapped to IPv6: ::ffff:1.2.3.4.
 */
bool hostrange_is_public_ip(const uint8_t ip[16]);

#endif
