/* SPDX-License-Identifier: Apache-2.0 */
#include "permission/rules/rulebook_internal.h"

#include <assert.h>
#include <stdlib.h>

#include "permission/rules/form.h"

enum { FIRST_NODES = 64, SLOTS_PER_NODE = 2 };

/* ---- Nodes ---- */

static int grow(struct rulebook *book)
{
    size_t capacity = book->node_capacity == 0 ? FIRST_NODES : book->node_capacity * 2;
    size_t slot_count = capacity * SLOTS_PER_NODE;
    struct rulebook_node *nodes;
    struct rulebook_slot *slots;

    if (capacity > RULEBOOK_MAX_NODES)
        return ERR_TOO_LARGE;
    nodes = reallocarray(book->nodes, capacity, sizeof(*nodes));
    if (nodes == NULL)
        return ERR_NO_MEMORY;
    book->nodes = nodes;
    slots = malloc(slot_count * sizeof(*slots));
    if (slots == NULL)
        return ERR_NO_MEMORY;
    free(book->slots);
    book->slots = slots;
    book->slot_count = slot_count;
    book->node_capacity = capacity;
    memset(slots, 0xFF, slot_count * sizeof(*slots));
    for (uint32_t i = RULEBOOK_ROOTS; i < book->node_count; i++) {
        const struct rulebook_node *node = &nodes[i];

        *rulebook_slot(book, node->hash, node->parent, node->step, node->text) =
            (struct rulebook_slot){i, rulebook_tag(node->hash)};
    }
    return 0;
}

/* The text must live as long as the book. */
static int go(struct rulebook *book, uint32_t *at, enum rulebook_step step, struct str text)
{
    uint64_t hash = rulebook_hash(hash_str(&book->key, text), *at, step);
    struct rulebook_slot *slot;

    if (book->node_count == book->node_capacity) {
        int r = grow(book);

        if (r < 0)
            return r;
    }
    slot = rulebook_slot(book, hash, *at, step, text);
    if (slot->node == RULEBOOK_NONE) {
        *slot = (struct rulebook_slot){(uint32_t)book->node_count, rulebook_tag(hash)};
        book->nodes[book->node_count++] = (struct rulebook_node){
            .hash = hash,
            .parent = *at,
            .step = step,
            .text = text,
            .rule = RULEBOOK_NONE,
            .cwd_rule = RULEBOOK_NONE,
        };
    }
    *at = slot->node;
    return 0;
}

/* Of several rules for the same resource only the one that expires last matters. */
static void put(const struct rulebook *book, uint32_t *place, uint32_t rule)
{
    if (*place == RULEBOOK_NONE ||
        rulebook_end(&book->rules[rule]) > rulebook_end(&book->rules[*place]))
        *place = rule;
}

static int go_down(struct rulebook *book, uint32_t *at, struct str path)
{
    struct str below = str_slice(path, 1, path.len);
    int r = 0;

    while (below.len > 0 && r == 0)
        r = go(book, at, STEP_DIRECTORY, path_take(&below));
    return r;
}

/* ---- Kinds of rules ---- */

/* A command matches at `at`; its rule applies anywhere, or below its directory. */
static int put_command(struct rulebook *book, uint32_t at, uint32_t rule)
{
    struct str cwd = book->rules[rule].cwd;
    int r;

    if (cwd.len > 0) {
        put(book, &book->nodes[at].cwd_rule, rule);
        r = go(book, &at, STEP_DIRECTORY, STEP_CWD);
        if (r == 0)
            r = go_down(book, &at, cwd);
        if (r < 0)
            return r;
    }
    put(book, &book->nodes[at].rule, rule);
    return 0;
}

/* `first` is the step to its first word. */
static int add_words(struct rulebook *book, uint32_t root, enum rulebook_step first, uint32_t rule)
{
    enum rulebook_step step = first;
    uint32_t at = root;
    struct form_words words;
    struct str word;
    int r;

    form_words_init(&words, book->rules[rule].pattern, first != STEP_WORD);
    while (form_words_next(&words, &word)) {
        __attribute__((uninitialized)) struct path_name room;

        if (step == STEP_LOOSE_WORD)
            word = form_program(word, &room);
        if (!arena_copy_str(&book->arena, word, &word))
            return book->arena.error;
        r = go(book, &at, step, word);
        if (r < 0)
            return r;
        step = STEP_WORD;
    }
    return at == root ? 0 : put_command(book, at, rule);
}

static int add_command(struct rulebook *book, uint32_t root, uint32_t rule)
{
    const struct rule *r = &book->rules[rule];
    bool is_denied = r->effect == RULE_DENY;
    uint32_t at = root;
    int result;

    if (r->kind == RULE_PREFIX)
        return add_words(book, root, is_denied ? STEP_LOOSE_WORD : STEP_WORD, rule);
    result = go(book, &at, STEP_WHOLE, r->pattern);
    if (result == 0)
        result = put_command(book, at, rule);
    /* Other blanks or quotes do not make another command of it. */
    if (result == 0 && is_denied && form_is_plain_command(r->pattern))
        result = add_words(book, root, STEP_LOOSE_WHOLE, rule);
    return result;
}

static int add_host(struct rulebook *book, uint32_t root, uint32_t rule)
{
    const struct rule *r = &book->rules[rule];
    struct str rest = str_slice(r->pattern, 2, r->pattern.len);
    uint32_t at = root;
    int result = 0;

    if (r->kind == RULE_EXACT || r->pattern.ptr[0] != '*') {
        result = go(book, &at, STEP_WHOLE, r->pattern);
    } else {
        while (rest.len > 0 && result == 0) {
            const char *dot = memrchr(rest.ptr, '.', rest.len);
            size_t start = dot == NULL ? 0 : (size_t)(dot - rest.ptr) + 1;

            result = go(book, &at, STEP_LABEL, str_slice(rest, start, rest.len));
            rest.len = dot == NULL ? 0 : start - 1;
        }
    }
    if (result == 0)
        put(book, &book->nodes[at].rule, rule);
    return result;
}

struct placing {
    struct rulebook *book;
    uint32_t root;
    struct rulebook_glob *glob;
};

/* A node where a glob can be listed: everything that matches it passes there. */
struct place {
    enum rulebook_step step; /* STEP_ROOT: at the directory itself */
    struct str text;
    uint32_t globs; /* that are there already */
};

static struct place place_of_part(const struct rulebook *book, uint32_t head,
                                  const struct glob_shape *shape, size_t index)
{
    struct place place = {.step = STEP_ROOT};
    const struct rulebook_slot *slot;

    switch (glob_shape_part(shape, index, &place.text)) {
    case GLOB_PART_IS:
        place.step = STEP_GLOB_NAME;
        break;
    case GLOB_PART_ENDS:
        place.text = rulebook_ending(place.text);
        place.step = place.text.len > 0 ? STEP_GLOB_ENDING : STEP_ROOT;
        break;
    case GLOB_PART_ANY:
        break;
    }
    slot = rulebook_slot(book, rulebook_hash(hash_str(&book->key, place.text), head, place.step),
                         head, place.step, place.text);
    if (slot->node != RULEBOOK_NONE)
        place.globs = book->nodes[slot->node].glob_count;
    return place;
}

/* Lists each alternative below its fixed part, at the node that has the fewest so far. */
static int place_shape(void *data, const struct glob_shape *shape)
{
    const struct placing *placing = data;
    struct rulebook *book = placing->book;
    struct rulebook_globs *listed = arena_new(&book->arena, struct rulebook_globs);
    struct place best = {.step = STEP_ROOT};
    uint32_t at = placing->root;
    int r = 0;

    if (listed == NULL)
        return book->arena.error;
    for (size_t i = 0; i < shape->fixed_count && r == 0; i++)
        r = go(book, &at, STEP_DIRECTORY, glob_shape_fixed(shape, i));
    if (r < 0)
        return r;
    for (size_t i = 0; i < shape->part_count; i++) {
        struct place place = place_of_part(book, at, shape, i);

        if (place.step != STEP_ROOT && (best.step == STEP_ROOT || place.globs < best.globs))
            best = place;
    }
    if (best.step == STEP_GLOB_NAME)
        book->nodes[at].has_names = true;
    if (best.step == STEP_GLOB_ENDING)
        book->nodes[at].has_endings = true;
    if (best.step != STEP_ROOT)
        r = go(book, &at, best.step, best.text);
    if (r < 0)
        return r;
    *listed = (struct rulebook_globs){book->nodes[at].listed, placing->glob};
    book->nodes[at].listed = listed;
    book->nodes[at].glob_count++;
    return 0;
}

static int add_glob(struct rulebook *book, uint32_t root, uint32_t rule, struct err *err)
{
    const struct rule *r = &book->rules[rule];
    struct placing placing = {book, root, NULL};
    uint32_t at = root;
    int result = go(book, &at, STEP_GLOB, r->pattern);

    if (result < 0)
        return result;
    if (book->nodes[at].listed == NULL) {
        placing.glob = arena_new(&book->arena, struct rulebook_glob);
        book->nodes[at].listed = arena_new(&book->arena, struct rulebook_globs);
        if (placing.glob == NULL || book->nodes[at].listed == NULL)
            return book->arena.error;
        *book->nodes[at].listed = (struct rulebook_globs){NULL, placing.glob};
        placing.glob->rule = RULEBOOK_NONE;
        result = glob_compile(&book->arena, r->pattern, &placing.glob->glob, err);
        if (result == ERR_NO_MEMORY)
            return book->arena.error; /* the ceiling, mostly */
        if (result == 0)
            result = glob_each_shape(placing.glob->glob, place_shape, &placing);
        if (result < 0)
            return result;
    } else {
        placing.glob = book->nodes[at].listed->glob;
    }
    put(book, &placing.glob->rule, rule);
    placing.glob->ends_ms = rulebook_end(&book->rules[placing.glob->rule]);
    return 0;
}

static int add_file(struct rulebook *book, uint32_t root, uint32_t rule, struct err *err)
{
    const struct rule *r = &book->rules[rule];
    uint32_t at = root;
    int result;

    if (r->kind == RULE_GLOB)
        return add_glob(book, root, rule, err);
    if (r->kind == RULE_EXACT && r->effect == RULE_ALLOW)
        result = go(book, &at, STEP_WHOLE, str_slice(r->pattern, 1, r->pattern.len));
    else
        result = go_down(book, &at, r->pattern);
    if (result == 0)
        put(book, &book->nodes[at].rule, rule);
    return result;
}

static int add_rule(struct rulebook *book, uint32_t rule, struct err *err)
{
    const struct rule *r = &book->rules[rule];
    uint32_t at = rulebook_root(r->effect, r->group);
    int result;

    if (r->effect == RULE_DENY)
        book->has_denials[r->group] = true;
    switch (r->group) {
    case CATALOG_FILESYSTEM_READ:
    case CATALOG_FILESYSTEM_WRITE:
        return add_file(book, at, rule, err);
    case CATALOG_SHELL:
        return add_command(book, at, rule);
    case CATALOG_BROWSER:
        return add_host(book, at, rule);
    case CATALOG_COMPUTER:
        break;
    }
    result = go(book, &at, STEP_WHOLE, r->pattern);
    if (result == 0)
        put(book, &book->nodes[at].rule, rule);
    return result;
}

/* ---- The book ---- */

static int compare_ends(const void *a, const void *b)
{
    int64_t one = (*(struct rulebook_glob *const *)a)->ends_ms;
    int64_t other = (*(struct rulebook_glob *const *)b)->ends_ms;

    return (one < other) - (one > other);
}

/* Last expiry first, so that the first expired one ends the search. */
static int sort_globs(struct rulebook *book)
{
    for (size_t i = 0; i < book->node_count; i++) {
        struct rulebook_node *node = &book->nodes[i];
        size_t count = 0;

        if (node->glob_count == 0)
            continue;
        node->globs = arena_alloc_array(&book->arena, node->glob_count, sizeof(*node->globs));
        if (node->globs == NULL)
            return book->arena.error;
        for (const struct rulebook_globs *g = node->listed; g != NULL; g = g->next)
            node->globs[count++] = g->glob;
        assert(count == node->glob_count);
        qsort(node->globs, count, sizeof(*node->globs), compare_ends);
    }
    return 0;
}

static int copy_rule(struct rulebook *book, const struct rule *given, struct rule *out_rule,
                     struct err *err)
{
    struct rule rule;
    int r = rule_normalise(&book->arena, given, &rule, err);

    if (r < 0)
        return r;
    *out_rule = rule;
    return arena_copy_str(&book->arena, rule.pattern, &out_rule->pattern) &&
                   arena_copy_str(&book->arena, rule.cwd, &out_rule->cwd) &&
                   arena_copy_str(&book->arena, rule.note, &out_rule->note)
               ? 0
               : book->arena.error;
}

static int fill(struct rulebook *book, const struct rule *rules, size_t count, struct err *err)
{
    int r = grow(book);

    for (uint32_t i = 0; i < RULEBOOK_ROOTS && r == 0; i++)
        book->nodes[book->node_count++] = (struct rulebook_node){
            .step = STEP_ROOT, .rule = RULEBOOK_NONE, .cwd_rule = RULEBOOK_NONE};
    book->rules = arena_alloc_array(&book->arena, count + 1, sizeof(*book->rules));
    if (r == 0 && book->rules == NULL)
        r = book->arena.error;
    for (; r == 0 && book->count < count; book->count++) {
        struct err why = ERR_INIT;

        r = copy_rule(book, &rules[book->count], &book->rules[book->count], &why);
        if (r == 0)
            r = add_rule(book, (uint32_t)book->count, &why);
        if (r < 0)
            return err_set(err, r, "rule %zu: %s", book->count + 1,
                           why.code != 0 ? why.message : err_text(r));
    }
    if (r == 0)
        r = sort_globs(book);
    return r < 0 ? err_set_plain(err, r) : 0;
}

int rulebook_new(const struct rule *rules, size_t count, struct rulebook **out_book,
                 struct err *err)
{
    cleanup_rulebook struct rulebook *book = NULL;
    int r;

    if (count > RULEBOOK_MAX_RULES)
        return err_set(err, ERR_TOO_LARGE, "more than %d rules", RULEBOOK_MAX_RULES);
    book = calloc(1, sizeof(*book));
    if (book == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    atomic_init(&book->references, 1);
    arena_init(&book->arena, RULEBOOK_MAX_BYTES);
    book->key = *hash_process_key();
    r = fill(book, rules, count, err);
    if (r < 0)
        return r;
    *out_book = steal_ptr(&book);
    return 0;
}
