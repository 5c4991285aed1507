/* SPDX-License-Identifier: Apache-2.0 */
#include "search/sequences.h"

const struct sequences sequences_of_nothing = {.count = 1, .list = {{.is_exact = true}}};

enum join { JOIN_DONE, JOIN_IMPOSSIBLE, JOIN_UNKNOWN };

/* Concatenates two sequences. */
static enum join join_two(const struct window_sequence *a, const struct window_sequence *b,
                          struct window_sequence *out)
{
    if (a->ends_line && b->starts_line)
        return JOIN_UNKNOWN;
    if (b->length == 0 || a->length == 0) {
        *out = b->length == 0 ? *a : *b;
        out->is_exact = a->is_exact && b->is_exact;
        out->rare_cases = a->rare_cases | b->rare_cases;
        return JOIN_DONE;
    }
    if (b->starts_line) {
        /* A line's start cannot follow bytes of the line; after its start it adds nothing. */
        if (!a->starts_line || a->length > 1)
            return JOIN_IMPOSSIBLE;
        *out = *b;
        return JOIN_DONE;
    }
    if (a->ends_line) {
        if (!b->ends_line || b->length > 1)
            return JOIN_IMPOSSIBLE;
        *out = *a;
        return JOIN_DONE;
    }
    if (a->length + b->length > WINDOW_MAX_LENGTH)
        return JOIN_UNKNOWN;
    *out = *a;
    memcpy(out->sets + a->length, b->sets, b->length);
    out->length = (uint8_t)(a->length + b->length);
    out->ends_line = b->ends_line;
    out->is_exact = a->is_exact && b->is_exact;
    out->rare_cases = a->rare_cases | b->rare_cases;
    return JOIN_DONE;
}

/* Each of a followed by each of b. False if that is too many, or none. */
bool sequences_join(const struct sequences *a, const struct sequences *b, struct sequences *out)
{
    struct sequences joined = {.count = 0};

    for (unsigned i = 0; i < a->count; i++) {
        for (unsigned j = 0; j < b->count; j++) {
            struct window_sequence one;

            switch (join_two(&a->list[i], &b->list[j], &one)) {
            case JOIN_IMPOSSIBLE:
                continue;
            case JOIN_UNKNOWN:
                return false;
            case JOIN_DONE:
                break;
            }
            if (joined.count == WINDOW_MAX_SEQUENCES)
                return false;
            joined.list[joined.count++] = one;
        }
    }
    if (joined.count == 0)
        return false;
    *out = joined;
    return true;
}

bool sequences_add(struct sequences *to, const struct sequences *from)
{
    if (to->count + from->count > WINDOW_MAX_SEQUENCES)
        return false;
    memcpy(to->list + to->count, from->list, from->count * sizeof(from->list[0]));
    to->count += from->count;
    return true;
}
