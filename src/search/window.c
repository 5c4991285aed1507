/* SPDX-License-Identifier: Apache-2.0 */
#include "search/window.h"

#include "base/utf8.h"
#include "search/casefold.h"
#include "search/rarity.h"
#include "search/sequences.h"

/*
 * A character whose other case has another length in UTF-8 (k and the Kelvin sign, ß and ẞ) would
 * end every sequence. So these rare cases are left out of the sequences and searched for
 * separately: a match either has none of them and contains a sequence, or it contains one of them.
 */
struct rare_case {
    size_t length;
    char bytes[4];
};

/* Something that a match must contain, and the cost of searching for it. */
struct choice {
    double cost; /* HOPELESS: there is nothing */
    bool is_run;
    unsigned run_length;
    struct byteset run_set;
    struct sequences sequences;
};

#define HOPELESS 1e9

/* What is known about the bytes that a part of the pattern matches. */
struct knowledge {
    bool is_finite;        /* they are one of `head` */
    struct sequences head; /* they begin with one of these */
    struct sequences tail; /* and end with one of these; unused when finite */
    struct choice best;    /* within them */
};

struct finder {
    struct casefold cases;
    struct window *window;
    double rates[WINDOW_MAX_SETS]; /* of the window's sets */
    unsigned rare_count;
    struct rare_case rare[WINDOW_MAX_RARE_CASES];
};

enum {
    SET_ANY = 0, /* every byte but a newline */
    SET_NEWLINE = 1,
};

static void learn(struct finder *finder, const struct syntax_node *node,
                  struct knowledge *out_known);

/* The number of this set; if there is no room for it, that of any byte. */
static uint8_t set_number(struct finder *finder, const struct byteset *set)
{
    struct window *window = finder->window;

    for (unsigned i = 0; i < window->set_count; i++)
        if (byteset_eq(&window->sets[i], set))
            return (uint8_t)i;
    if (window->set_count == WINDOW_MAX_SETS)
        return SET_ANY;
    window->sets[window->set_count] = *set;
    finder->rates[window->set_count] = rarity_of_set(set);
    return (uint8_t)window->set_count++;
}

/* SET_ANY and SET_NEWLINE. */
static void add_named_sets(struct finder *finder)
{
    struct byteset any, newline = {{0}};

    memset(&any, 0xFF, sizeof(any));
    byteset_remove(&any, '\n');
    byteset_add(&newline, '\n');
    set_number(finder, &any);
    set_number(finder, &newline);
}

/* ---- sequences ---- */

/* How often the sets from `first` on occur. */
static double rate_of(const struct finder *finder, const struct window_sequence *sequence,
                      unsigned first, unsigned count)
{
    double rate = 1;

    for (unsigned i = first; i < first + count; i++) {
        double one = finder->rates[sequence->sets[i]];
        bool is_again = i > first && sequence->sets[i] == sequence->sets[i - 1];

        rate *= is_again ? rarity_again(one) : one;
    }
    return rate;
}

/* How often its rarest `width` neighbours occur. */
static double rate_of_anchor(const struct finder *finder, const struct window_sequence *sequence,
                             unsigned width)
{
    double rarest = 1;

    for (unsigned i = 0; i + width <= sequence->length; i++) {
        double rate = rate_of(finder, sequence, i, width);

        if (rate < rarest)
            rarest = rate;
    }
    return rarest;
}

/* Approximate nanoseconds per byte of text. */
static double cost_of(const struct finder *finder, const struct sequences *sequences)
{
    const double verify_ns = 8;
    const double engine_ns = 150;
    unsigned width = RARITY_WIDTH;
    double cost = 0;

    for (unsigned i = 0; i < sequences->count; i++)
        if (sequences->list[i].length < width)
            width = sequences->list[i].length;
    if (width == 0 || sequences->count == 0)
        return HOPELESS;
    for (unsigned i = 0; i < sequences->count; i++) {
        const struct window_sequence *one = &sequences->list[i];

        cost += rate_of_anchor(finder, one, width) * verify_ns +
                rate_of(finder, one, 0, one->length) * engine_ns;
    }
    return cost;
}

static void consider(const struct finder *finder, const struct sequences *sequences,
                     struct choice *best)
{
    double cost = cost_of(finder, sequences);

    if (cost < best->cost)
        *best = (struct choice){.cost = cost, .sequences = *sequences};
}

static void consider_choice(const struct choice *other, struct choice *best)
{
    if (other->cost < best->cost)
        *best = *other;
}

static void know_nothing(struct knowledge *out_known)
{
    out_known->is_finite = false;
    out_known->head = sequences_of_nothing;
    out_known->tail = sequences_of_nothing;
    out_known->best.cost = HOPELESS;
}

static void know_exactly(struct knowledge *out_known, const struct sequences *sequences)
{
    out_known->is_finite = true;
    out_known->head = *sequences;
    out_known->best.cost = HOPELESS;
}

/* ---- single characters ---- */

/* All bytes of its members, of which each has at least one. */
static struct byteset bytes_of_class(const struct syntax_node *node)
{
    struct byteset set = node->ascii;

    byteset_remove(&set, '\n');
    if (node->has_others)
        byteset_add_range(&set, 0x80, 0xFF);
    return set;
}

static bool is_same_case(const struct rare_case *a, const struct rare_case *b)
{
    return a->length == b->length && memcmp(a->bytes, b->bytes, a->length) == 0;
}

/* False if there is no room for one more; the character then stands for any character. */
static bool add_rare_case(struct finder *finder, uint32_t code_point,
                          struct window_sequence *sequence)
{
    struct rare_case rare = {0};
    unsigned i = 0;

    rare.length = utf8_encode(code_point, rare.bytes);
    while (i < finder->rare_count && !is_same_case(&finder->rare[i], &rare))
        i++;
    if (i == WINDOW_MAX_RARE_CASES)
        return false;
    if (i == finder->rare_count)
        finder->rare[finder->rare_count++] = rare;
    sequence->rare_cases |= (uint8_t)(1U << i);
    return true;
}

static void sets_from_bytes(struct finder *finder, const struct byteset *bytes, size_t length,
                            struct window_sequence *sequence)
{
    sequence->length = (uint8_t)length;
    for (size_t i = 0; i < length; i++)
        sequence->sets[i] = set_number(finder, &bytes[i]);
}

static void add_bytes(struct byteset *bytes, const char *encoded, size_t length)
{
    for (size_t i = 0; i < length; i++)
        byteset_add(&bytes[i], (unsigned char)encoded[i]);
}

/* If two cases differ in two places, the sets match more than these. */
static bool is_product(const struct byteset *bytes, size_t length)
{
    unsigned several = 0;

    for (size_t i = 0; i < length; i++) {
        int members = 0;

        for (unsigned word = 0; word < 4; word++)
            members += __builtin_popcountll(bytes[i].words[word]);
        several += members > 1;
    }
    return several <= 1;
}

static bool cases_of_ascii(struct finder *finder, uint32_t code_point, struct byteset *bytes,
                           struct window_sequence *sequence)
{
    enum { CASE_BIT = 0x20 };
    uint32_t lower = code_point | CASE_BIT;

    if (lower < 'a' || lower > 'z')
        return true;
    byteset_add(bytes, lower);
    byteset_add(bytes, lower & ~(unsigned)CASE_BIT);
    if (lower == 'k')
        return add_rare_case(finder, SYNTAX_KELVIN, sequence);
    return lower != 's' || add_rare_case(finder, SYNTAX_LONG_S, sequence);
}

static bool cases_beyond_ascii(struct finder *finder, uint32_t code_point, size_t length,
                               struct byteset *bytes, struct window_sequence *sequence)
{
    const struct casefold_row *row = casefold_get(&finder->cases, code_point);

    if (row == NULL)
        return false;
    for (unsigned i = 0; i < row->count; i++) {
        char encoded[4];

        if (utf8_encode(row->cases[i], encoded) == length)
            add_bytes(bytes, encoded, length);
        else if (!add_rare_case(finder, row->cases[i], sequence))
            return false;
    }
    return true;
}

static void learn_character(struct finder *finder, const struct syntax_node *node,
                            struct knowledge *out_known)
{
    struct sequences one = sequences_of_nothing;
    struct byteset bytes[4] = {{{0}}};
    char encoded[4];
    size_t length = utf8_encode(node->code_point, encoded);
    bool is_known = true;

    /* A newline is never in a line: its set stays empty, and nothing is found. */
    if (node->code_point != '\n')
        add_bytes(bytes, encoded, length);
    if (node->ignores_case && length == 1)
        is_known = cases_of_ascii(finder, node->code_point, bytes, &one.list[0]);
    else if (node->ignores_case)
        is_known = cases_beyond_ascii(finder, node->code_point, length, bytes, &one.list[0]);
    if (!is_known) {
        know_nothing(out_known);
        return;
    }
    sets_from_bytes(finder, bytes, length, &one.list[0]);
    one.list[0].is_exact = is_product(bytes, length);
    know_exactly(out_known, &one);
}

static void learn_line_edge(enum syntax_kind kind, struct knowledge *out_known)
{
    struct sequences one = sequences_of_nothing;

    one.list[0].length = 1;
    one.list[0].sets[0] = SET_NEWLINE;
    one.list[0].starts_line = kind == SYNTAX_LINE_START;
    one.list[0].ends_line = kind == SYNTAX_LINE_END;
    know_exactly(out_known, &one);
}

/* ---- repeats ---- */

/*
 * At least `min` characters of a class: their bytes are all in its set, and there are no fewer of
 * them than characters. That holds for any class; without members beyond ASCII the number of bytes
 * per character is known too.
 */
static void learn_class_repeat(struct finder *finder, const struct syntax_node *node,
                               struct knowledge *out_known)
{
    const struct syntax_node *class = node->first;
    struct byteset set = bytes_of_class(class);
    struct sequences some = sequences_of_nothing;
    uint8_t number = set_number(finder, &set);
    double rate;

    know_nothing(out_known);
    if (node->min == 0) {
        if (node->max == 1 && !class->has_others && number != SET_ANY) {
            some.list[0].length = 1;
            some.list[0].sets[0] = number;
            some.list[some.count++] = sequences_of_nothing.list[0];
            know_exactly(out_known, &some);
        }
        return;
    }
    some.list[0].length = (uint8_t)(node->min < WINDOW_MAX_LENGTH ? node->min : WINDOW_MAX_LENGTH);
    memset(some.list[0].sets, number, some.list[0].length);
    some.list[0].is_exact = number != SET_ANY;
    if (node->min == node->max && !class->has_others && node->min <= WINDOW_MAX_LENGTH) {
        know_exactly(out_known, &some);
    } else {
        out_known->head = some;
        out_known->tail = some;
    }
    rate = rarity_of_run(&set, node->min);
    out_known->best = (struct choice){
        .cost = rate,
        .is_run = true,
        .run_length = node->min < WINDOW_MAX_RUN ? node->min : WINDOW_MAX_RUN,
        .run_set = set,
    };
}

/* As many copies as fit; true if that is all. */
static bool copies(const struct sequences *one, unsigned count, struct sequences *out)
{
    *out = *one;
    /* What has room for that many takes no bytes, and one more changes nothing. */
    for (unsigned i = 1; i < count && i <= WINDOW_MAX_LENGTH; i++)
        if (!sequences_join(out, one, out))
            return false;
    return true;
}

static void learn_repeat(struct finder *finder, const struct syntax_node *node,
                         struct knowledge *out_known)
{
    struct sequences all;
    bool is_all;

    if (node->max == 0) {
        know_exactly(out_known, &sequences_of_nothing);
        return;
    }
    if (node->first->kind == SYNTAX_CLASS) {
        learn_class_repeat(finder, node, out_known);
        return;
    }
    learn(finder, node->first, out_known);
    if (node->min == 0) {
        all = out_known->head;
        if (out_known->is_finite && node->max == 1 && sequences_add(&all, &sequences_of_nothing))
            know_exactly(out_known, &all);
        else
            know_nothing(out_known);
        return;
    }
    if (!out_known->is_finite)
        return;
    is_all = copies(&out_known->head, node->min, &all);
    out_known->is_finite = is_all && node->min == node->max;
    out_known->head = all;
    out_known->tail = all;
    if (!out_known->is_finite)
        consider(finder, &all, &out_known->best);
}

/* ---- sequences and alternatives of parts ---- */

static void learn_sequence(struct finder *finder, const struct syntax_node *node,
                           struct knowledge *out_known)
{
    struct sequences current = sequences_of_nothing;
    bool is_finite = true;

    know_nothing(out_known);
    for (const struct syntax_node *child = node->first; child != NULL; child = child->next) {
        struct knowledge part;
        struct sequences joined = current;
        bool is_joined;

        learn(finder, child, &part);
        is_joined = sequences_join(&current, &part.head, &joined);
        consider_choice(&part.best, &out_known->best);
        if (part.is_finite && is_joined) {
            current = joined;
            continue;
        }
        consider(finder, &joined, &out_known->best);
        if (is_finite)
            out_known->head = joined;
        is_finite = false;
        current = part.is_finite ? part.head : part.tail;
        /* A head without room may still be the best choice. */
        consider(finder, &part.head, &out_known->best);
    }
    out_known->is_finite = is_finite;
    out_known->tail = current;
    if (is_finite)
        out_known->head = current;
    consider(finder, &current, &out_known->best);
}

static void learn_either(struct finder *finder, const struct syntax_node *node,
                         struct knowledge *out_known)
{
    struct sequences heads = {.count = 0}, tails = {.count = 0}, needed = {.count = 0};
    bool is_finite = true, has_heads = true, has_tails = true, has_needed = true;

    for (const struct syntax_node *child = node->first; child != NULL; child = child->next) {
        struct knowledge part;

        learn(finder, child, &part);
        is_finite = is_finite && part.is_finite;
        has_heads = has_heads && sequences_add(&heads, &part.head);
        has_tails = has_tails && sequences_add(&tails, part.is_finite ? &part.head : &part.tail);
        has_needed = has_needed && part.best.cost < HOPELESS && !part.best.is_run &&
                     sequences_add(&needed, &part.best.sequences);
    }
    know_nothing(out_known);
    if (is_finite && has_heads) {
        know_exactly(out_known, &heads);
    } else {
        if (has_heads)
            out_known->head = heads;
        if (has_tails)
            out_known->tail = tails;
    }
    if (has_needed)
        consider(finder, &needed, &out_known->best);
}

static void learn(struct finder *finder, const struct syntax_node *node,
                  struct knowledge *out_known)
{
    switch (node->kind) {
    case SYNTAX_NOTHING:
        know_exactly(out_known, &sequences_of_nothing);
        break;
    case SYNTAX_LINE_START:
    case SYNTAX_LINE_END:
        learn_line_edge(node->kind, out_known);
        break;
    case SYNTAX_CHARACTER:
        learn_character(finder, node, out_known);
        break;
    case SYNTAX_CLASS:
        /* The parser wraps a class into a repeat. */
    case SYNTAX_ANYTHING:
        know_nothing(out_known);
        break;
    case SYNTAX_SEQUENCE:
        learn_sequence(finder, node, out_known);
        break;
    case SYNTAX_EITHER:
        learn_either(finder, node, out_known);
        break;
    case SYNTAX_REPEAT:
        learn_repeat(finder, node, out_known);
        break;
    }
}

/* ---- the choice ---- */

static void want_cases(struct finder *finder, const struct syntax_node *node)
{
    for (; node != NULL; node = node->next) {
        if (node->kind == SYNTAX_CHARACTER && node->ignores_case && node->code_point >= 0x80)
            casefold_want(&finder->cases, node->code_point);
        want_cases(finder, node->first);
    }
}

static void add_rare_sequences(struct finder *finder)
{
    struct window *window = finder->window;
    unsigned wanted = 0;

    for (unsigned i = 0; i < window->count; i++)
        wanted |= window->sequences[i].rare_cases;
    for (unsigned i = 0; i < finder->rare_count; i++) {
        struct byteset bytes[4] = {{{0}}};
        struct window_sequence *rare = &window->sequences[window->count];

        if ((wanted >> i & 1) == 0)
            continue;
        *rare = (struct window_sequence){.is_exact = false};
        add_bytes(bytes, finder->rare[i].bytes, finder->rare[i].length);
        sets_from_bytes(finder, bytes, finder->rare[i].length, rare);
        window->count++;
    }
}

static void take_sequences(struct finder *finder, const struct sequences *chosen)
{
    struct window *window = finder->window;

    window->kind = WINDOW_SEQUENCES;
    window->count = chosen->count;
    memcpy(window->sequences, chosen->list, chosen->count * sizeof(chosen->list[0]));
    for (unsigned i = 0; i < chosen->count; i++) {
        window->has_line_start = window->has_line_start || chosen->list[i].starts_line;
        window->has_line_end = window->has_line_end || chosen->list[i].ends_line;
    }
    add_rare_sequences(finder);
}

int window_find(const struct syntax_tree *tree, struct window *out_window)
{
    /* Nearly every line would be looked at anyway. */
    const double too_often = 4;
    struct knowledge known;
    struct finder finder = {.window = out_window};
    double whole_cost;
    int r;

    *out_window = (struct window){.set_count = 0};
    add_named_sets(&finder);
    want_cases(&finder, tree->root);
    r = casefold_fill(&finder.cases);
    if (r < 0)
        return r;
    learn(&finder, tree->root, &known);
    whole_cost = known.is_finite ? cost_of(&finder, &known.head) : HOPELESS;
    if (whole_cost < too_often && tree->is_complete) {
        take_sequences(&finder, &known.head);
        out_window->is_whole = true;
    } else if (whole_cost < known.best.cost) {
        if (whole_cost < too_often)
            take_sequences(&finder, &known.head);
    } else if (known.best.cost < too_often && !known.best.is_run) {
        take_sequences(&finder, &known.best.sequences);
    } else if (known.best.cost < too_often) {
        out_window->kind = WINDOW_RUN;
        out_window->run_set = known.best.run_set;
        out_window->run_length = known.best.run_length;
    }
    return 0;
}
