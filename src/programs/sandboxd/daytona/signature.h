/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signatures of URLs that read or write one file of a sandbox. Clients make them, with the key of
 * the sandbox; a signature is for one method, one path and a time.
 */
#ifndef PROGRAMS_SANDBOXD_DAYTONA_SIGNATURE_H
#define PROGRAMS_SANDBOXD_DAYTONA_SIGNATURE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

struct signature {
    struct str method;
    struct str path;    /* as the client wrote it */
    struct str expires; /* in seconds since 1970, as text; "0": never */
    struct str text;    /* what was sent */
};

/* In constant time, as far as the signature goes. */
bool signature_is_valid(const struct signature *signature, struct str key, int64_t now_s);

#endif
