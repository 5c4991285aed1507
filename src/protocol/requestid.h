/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the id of a request that the parser refuses or that is too large to be kept, so that the
 * refusal can be matched to it. Scans the members of the outermost object and skips their content,
 * whatever it is; it stores only the id, and can be fed a message in pieces.
 */
#ifndef PROTOCOL_REQUESTID_H
#define PROTOCOL_REQUESTID_H

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"
#include "protocol/jsonrpc.h"

enum { REQUESTID_KEY_BYTES = 8 }; /* no relevant key is longer */

struct requestid {
    int state;
    bool is_escaped; /* the next byte of a string is escaped */
    size_t objects;  /* open ones in the skipped member */
    size_t arrays;
    bool has_method;
    unsigned ids; /* if there are several, none counts */
    char key[REQUESTID_KEY_BYTES];
    size_t key_len; /* may exceed the buffer */
    char value[JSONRPC_MAX_ID_BYTES];
    size_t value_len; /* same */
    char id[JSONRPC_MAX_ID_BYTES];
    size_t id_len;
};

void requestid_init(struct requestid *scan);
void requestid_feed(struct requestid *scan, struct str bytes);

/*
 * The id as JSON text, in the same form as jsonrpc_id_text(); it lives in the scan. Empty without a
 * method, since then nobody waits; without an id, with two, or with one that an answer cannot
 * contain.
 */
struct str requestid_end(struct requestid *scan);

#endif
