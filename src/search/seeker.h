/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the matching lines of one file after another, for one thread: reads a file in large pieces
 * and keeps only what may still be shown.
 */
#ifndef SEARCH_SEEKER_H
#define SEARCH_SEEKER_H

#include "search/matcher.h"
#include "search/search.h"

enum {
    SEEKER_BUFFER_BYTES = 256 << 10,
    /*
     * A longer line is searched in parts if the pattern is local, with no context; else the file is
     * reported as missed.
     */
    SEEKER_MAX_BUFFER_BYTES = 8 << 20,
    SEEKER_MAX_KEPT_BYTES = 8 << 20, /* of one file */
};

struct seeker;

int seeker_new(const struct search_request *request, struct seeker **out_seeker);
void seeker_free(struct seeker *seeker);

/* Called at the first match: whether lines of this file may be among the first. */
typedef bool seeker_wants_fn(void *data, struct str name);

struct seeker_found {
    bool is_binary;
    uint64_t matches;
    bool is_cut;              /* more matches than kept */
    struct search_file *file; /* what to keep, owned by the caller; or NULL */
};

/*
 * ERR_TOO_LARGE for a line that is too long; ERR_PATTERN_COST, and the codes of the cancel token.
 */
int seeker_search(struct seeker *seeker, struct authority_sifted *file, seeker_wants_fn *wants,
                  void *data, struct seeker_found *out_found);

int search_file_new(struct str name, struct search_file **out_file);
void search_file_free(struct search_file *file);

#endif
