/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pairing token for the daemon that runs already: another `gatehouse connect` brings it over the
 * control socket, where that one waits for a token and holds the place of the same server on the
 * same terms (programs/connect/savedsession.h). Without the token the message asks whether it would
 * be taken, so that nobody is sent a secret who does not want it.
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
    /* How a daemon answers: the token is wanted, or it is connected with it; it failed with it. Any
       other status is that of one who does not take it. */
    HANDOVER_GOOD = 200,
    HANDOVER_NOT_TAKEN = 409,
    HANDOVER_FAILED = 502,
};

#define HANDOVER_PATH "/token"

struct handover {
    struct httpurl url;
    char terms[SAVED_SESSION_TERMS_BYTES];
    struct secret token; /* empty: it only asks */
};

/* ERR_INVALID_JSON, or ERR_INVALID_ARGUMENT for what can be no such message. */
int handover_parse(struct str text, struct handover *out_handover);
/* In one piece, and to be wiped: growing would leave copies of the token behind. */
int handover_format(const struct handover *handover, struct buf *out);
void handover_wipe(struct buf *text);

struct handover_answer {
    pid_t pid; /* of the daemon */
    int status;
    char words[HANDOVER_WORDS_BYTES]; /* why not, as one line for people; or empty */
};

/* The bytes of an answer over HTTP; ERR_HTTP_ANSWER for anything else. */
int handover_parse_answer(struct str bytes, struct handover_answer *out_answer);

/*
 * Asks the daemon that has this port, and waits for as long as its server may need. ERR_NOT_FOUND
 * where there is none, ERR_PERMISSION_DENIED where it is not this user's.
 */
int handover_send(uint16_t port, const struct handover *handover,
                  struct handover_answer *out_answer, struct err *err);

#endif
