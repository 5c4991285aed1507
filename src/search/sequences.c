/* SPDX-License-Identifier: Apache-2.0 */
#include "search/sequences.h"

const struct sequences sequences_of_nothing = {.count = 1, .list = {{.is_exact = true}}};

enum join { JOIN_DONE, JOIN_IMPOSSIBLE, JOIN_UNKNOWN };

/* The one behind the other. */
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
        /* Behind bytes of the line its start cannot be; behind its start it says nothing new. */
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

/* Each of a with each of b. False when that is too much, or nothing. */
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
