/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The id of a request that the parser refuses or that is too large to be kept,
 * so that the refusal reaches the one who waits for it. Looks at the members of
 * the outermost object and passes over what is inside them, whatever that is;
 * it holds the id and nothing else, and may be fed a message in pieces.
 */
#ifndef PROTOCOL_REQUESTID_H
#define PROTOCOL_REQUESTID_H

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"
#include "protocol/jsonrpc.h"

enum { REQUESTID_KEY_BYTES = 8 }; /* no key that matters is longer */

struct requestid {
    int state;
    bool is_escaped; /* the next byte of a string, by a backslash */
    size_t objects;  /* open ones in the member that is passed over */
    size_t arrays;
    bool has_method;
    unsigned ids; /* of several, none is the one */
    char key[REQUESTID_KEY_BYTES];
    size_t key_len; /* may be over the room */
    char value[JSONRPC_MAX_ID_BYTES];
    size_t value_len; /* the same */
    char id[JSONRPC_MAX_ID_BYTES];
    size_t id_len;
};

void requestid_init(struct requestid *scan);
void requestid_feed(struct requestid *scan, struct str bytes);

/*
 * The id as JSON text, made the same for equal values as in jsonrpc_id_text(); it lives in the
 * scan. Empty without a method, since then nobody waits; without an id, with two, or with one that
 * an answer cannot carry.
 */
struct str requestid_end(struct requestid *scan);

#endif
