/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hands a pairing token to the daemon that is already running: another `gatehouse connect` sends it
 * over the control socket if the daemon waits for a token, for the same server and on the same
 * terms (programs/connect/savedsession.h). Without a token the message asks whether one would be
 * accepted, so that the secret is never sent to a process that does not want it.
 */
#ifndef PROGRAMS_CONNECT_HANDOVER_H
#define PROGRAMS_CONNECT_HANDOVER_H

#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/secret.h"
#include "net/http/url.h"
#include "programs/connect/savedsession.h"

enum {
    HANDOVER_MAX_BYTES = 8 << 10, /* of the message */
    HANDOVER_WORDS_BYTES = 256,
    /*
     * The daemon's answers: the token is wanted, or it connected with the token; it failed to. Any
     * other status means that it does not take the token.
     */
    HANDOVER_GOOD = 200,
    HANDOVER_NOT_TAKEN = 409,
    HANDOVER_FAILED = 502,
};

#define HANDOVER_PATH "/token"

struct handover {
    struct httpurl url;
    char terms[SAVED_SESSION_TERMS_BYTES];
    struct secret token; /* empty: only a query */
};

/* ERR_INVALID_JSON, or ERR_INVALID_ARGUMENT for an invalid message. */
int handover_parse(struct str text, struct handover *out_handover);
/* Allocated at once, and to be wiped: growing would leave copies of the token behind. */
int handover_format(const struct handover *handover, struct buf *out);
struct handover_answer {
    pid_t pid; /* of the daemon */
    int status;
    char words[HANDOVER_WORDS_BYTES]; /* the reason, as one line for people; or empty */
};

/* Parses an HTTP response; ERR_HTTP_ANSWER for anything else. */
int handover_parse_answer(struct str bytes, struct handover_answer *out_answer);

/*
 * Asks the daemon on this port, and waits as long as its server may need. ERR_NOT_FOUND if there is
 * none, ERR_PERMISSION_DENIED if it is not this user's.
 */
int handover_send(uint16_t port, const struct handover *handover,
                  struct handover_answer *out_answer, struct err *err);

#endif
