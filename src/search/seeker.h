/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The matching lines of one file after another, for one thread: a file is read in
 * large pieces, of which only what may still be shown is kept.
 */
#ifndef SEARCH_SEEKER_H
#define SEARCH_SEEKER_H

#include "search/matcher.h"
#include "search/search.h"

enum {
    SEEKER_BUFFER_BYTES = 256 << 10,
    /* With a line that is longer a file is missed. */
    SEEKER_MAX_BUFFER_BYTES = 8 << 20,
    SEEKER_MAX_KEPT_BYTES = 8 << 20, /* of one file */
};

struct seeker;

int seeker_new(const struct search_request *request, struct seeker **out_seeker);
void seeker_free(struct seeker *seeker);

/* Asked with the first match: whether lines of this file may be among the first. */
typedef bool seeker_wants_fn(void *data, struct str name);

struct seeker_found {
    bool is_binary;
    uint64_t matches;
    bool is_cut;              /* more of them than are kept */
    struct search_file *file; /* what is to be kept, or NULL; the caller's from now on */
};

/* ERR_TOO_LARGE for a line that is too long; ERR_PATTERN_COST, and what the token says. */
int seeker_search(struct seeker *seeker, struct authority_sifted *file, seeker_wants_fn *wants,
                  void *data, struct seeker_found *out_found);

int search_file_new(struct str name, struct search_file **out_file);
void search_file_free(struct search_file *file);

#endif
