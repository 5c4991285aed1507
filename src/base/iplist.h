/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A list of networks that may be reached, minus others: "203.0.113.7", "198.51.100.0/24",
 * "2001:db8::/32". What is not public is never allowed, whatever the list says: this machine,
 * private and local networks, multicast, and IPv6 ranges that stand for IPv4 addresses.
 *
 * Plain memory without pointers: it is passed between processes as it is.
 */
#ifndef BASE_IPLIST_H
#define BASE_IPLIST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"

enum {
    IPLIST_MAX = 64, /* allowed and denied ones together */
    IPLIST_IP_BYTES = 16,
    IPLIST_TEXT_BYTES = 64, /* of one network, with its NUL */
};

/* IPv4 is mapped to IPv6: ::ffff:1.2.3.4, with 96 bits more. */
struct iplist_network {
    uint8_t ip[IPLIST_IP_BYTES];
    uint8_t bits;
    bool is_denied;
};

struct iplist {
    uint32_t count;
    struct iplist_network networks[IPLIST_MAX];
};

/*
 * Bits beyond the length of the network are cleared. ERR_INVALID_ARGUMENT for text that is none,
 * ERR_DENIED_BY_POLICY for an allowed network without a public address, ERR_TOO_LARGE for one too
 * many.
 */
int iplist_add(struct iplist *list, struct str text, bool is_denied);

bool iplist_has_allowed(const struct iplist *list);

/* Whether this address, IPv4 mapped, may be reached. */
bool iplist_allows(const struct iplist *list, const uint8_t ip[IPLIST_IP_BYTES]);

/* IPv4 ones end with /32 at most. */
bool iplist_is_v4(const struct iplist_network *network);
void iplist_format(const struct iplist_network *network, char out_text[IPLIST_TEXT_BYTES]);

/* All of it as one text, denied ones with a minus, and back. */
int iplist_write(const struct iplist *list, struct buf *out);
int iplist_read(struct str text, struct iplist *out_list);

#endif
