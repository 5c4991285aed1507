/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A list of hosts on the web that may be reached: "github.com", "*.example.com" (all below
 * it, not itself), "*" (all), each for the ports 80 and 443 unless it names one, as in
 * "example.com:8443". Addresses of this machine and of private networks are not its business: see
 * base/hostrange.
 *
 * Plain memory without pointers, so that a copy is whole.
 */
#ifndef BASE_DOMAINLIST_H
#define BASE_DOMAINLIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

enum {
    DOMAINLIST_MAX = 64,
    DOMAINLIST_HOST_BYTES = 254, /* with its NUL */
    DOMAINLIST_TEXT_BYTES = DOMAINLIST_HOST_BYTES + 16,
};

struct domainlist_entry {
    char host[DOMAINLIST_HOST_BYTES]; /* in lower case; empty: all hosts */
    bool is_below;                    /* those whose names end with .host */
    uint16_t port;                    /* 0: 80 and 443 */
};

struct domainlist {
    size_t count;
    struct domainlist_entry entries[DOMAINLIST_MAX];
};

/* ERR_INVALID_ARGUMENT says what is wrong with the text, ERR_TOO_LARGE that there are too many. */
int domainlist_add(struct domainlist *list, struct str text, struct err *err);

/* How many bytes of a list of so many are used. */
static inline size_t domainlist_bytes(size_t count)
{
    return offsetof(struct domainlist, entries) + count * sizeof(struct domainlist_entry);
}

/* As domainlist_add() takes it. */
void domainlist_format(const struct domainlist_entry *entry, char out_text[DOMAINLIST_TEXT_BYTES]);

/* The host as a request has it: in any case, with or without a dot at its end. */
bool domainlist_allows(const struct domainlist *list, struct str host, uint16_t port);

/*
 * Splits "host:port" and "[address]:port"; the port is `fallback` if there is none. False if it is
 * no such text, or the host has other characters than names and addresses have.
 */
bool domainlist_split(struct str text, uint16_t fallback, struct str *out_host, uint16_t *out_port);

#endif
