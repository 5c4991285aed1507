/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What OAuth sends as text: forms and queries, addresses that a browser is sent back to, and the
 * proof of who began (PKCE, RFC 7636). Only reads and writes; oauth.h decides.
 */
#ifndef PROGRAMS_SERVER_OAUTHWIRE_H
#define PROGRAMS_SERVER_OAUTHWIRE_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"

enum {
    OAUTHWIRE_MAX_URI_BYTES = 512,
    OAUTHWIRE_CHALLENGE_CHARS = 43, /* SHA-256 in base64url, without padding */
};

/*
 * Decodes "a=1&b=%20x+y". values[i] is that of names[i], in the arena, or {NULL, 0}. Other names
 * are ignored. ERR_INVALID_REQUEST for a wanted name that appears twice, a wrong escape or a NUL.
 */
int oauthwire_read_form(struct arena *arena, struct str text, const struct str *names, size_t count,
                        struct str *out_values);

/* Appends "&name=value", the value encoded. */
int oauthwire_append(struct buf *out, struct str name, struct str value);

struct oauthwire_redirect {
    struct str host;  /* with brackets, without the port */
    bool is_loopback; /* then its port does not count: RFC 8252, section 7.3 */
    struct str rest;  /* path and query */
};

/*
 * "https://host/path", or "http://" and a name of this computer. No user, fragment or character
 * that browsers read in their own way.
 */
bool oauthwire_read_redirect(struct str uri, struct oauthwire_redirect *out_redirect);

/* Byte for byte; on loopback any port. */
bool oauthwire_is_same_redirect(struct str registered, struct str given);

bool oauthwire_is_challenge(struct str text);
/* Whether the challenge is that of the verifier; in constant time. */
bool oauthwire_verify(struct str challenge, struct str verifier);

#endif
