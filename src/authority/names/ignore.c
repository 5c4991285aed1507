/* SPDX-License-Identifier: Apache-2.0 */
#include "authority/names/ignore.h"

#include <stdatomic.h>

#include "authority/names/ignore_internal.h"
#include "authority/names/path.h"
#include "base/map.h"

enum {
    /* Of a layer, and of one rule while it is read. A class of three bytes becomes 36, a component
     * of two 64. */
    LAYER_MAX_HELD = 64 * IGNORE_MAX_FILE_BYTES,
    RULE_MAX_HELD = 64 * IGNORE_MAX_FILE_BYTES,
    FIRST_PATTERNS = 8,
    LENGTHS = 64, /* that a mask of lengths tells apart */
};

_Static_assert(IGNORE_MAX_FILE_BYTES == 256 << 10 && IGNORE_MAX_RULES == 8192 &&
                   IGNORE_MAX_LAYERS == 512 && IGNORE_MAX_CHAIN_BYTES == 1 << 20 &&
                   IGNORE_MAX_WILDCARD_BYTES == 64 << 10,
               "the messages say these numbers");

/*
 * The position of a rule in its file, from 1, doubled, plus one if it is negated: of two that
 * match, the larger decides. 0 is none.
 */
struct last_match {
    uint32_t for_file;
    uint32_t for_dir;
};

/*
 * The bytes of a text as a mask, 64 bits for 256 values: a name that lacks a needed byte is
 * excluded quickly.
 */
struct ignore_filed {
    uint64_t needed;
    struct last_match last;
    const struct ignore_pattern *pattern;
    bool is_anchored;
};

/*
 * Rules found by their text, with a mask of the lengths that occur, since most names have another.
 */
struct ignore_table {
    struct map matches; /* struct last_match */
    uint64_t lengths;
};

struct ignore_layer {
    struct ignore_layer *parent;
    atomic_uint refs;
    unsigned depth;        /* layers of the chain up to this one */
    size_t chain_bytes;    /* of their files */
    size_t wildcard_bytes; /* of those rules that are in no table, of all of them too */
    struct str directory;
    uint32_t rule_count; /* that can match something */
    struct arena arena;
    struct ignore_table names; /* for the last part of a name */
    struct ignore_table paths; /* for all of it */
    struct ignore_table endings;
    uint64_t ending_lengths[LENGTHS]; /* by the last byte */
    struct last_match everything;     /* of `*` */
    struct ignore_filed *patterns;    /* in the order of the file */
    size_t pattern_count;
    size_t pattern_capacity; /* at most IGNORE_MAX_RULES doubled */
};

/* ---- Reading ---- */

static uint64_t byte_bit(char byte)
{
    return (uint64_t)1 << ((unsigned char)byte % 64);
}

static uint64_t length_bit(size_t len)
{
    return (uint64_t)1 << (len % LENGTHS);
}

static size_t slot_of(char last_byte)
{
    return (unsigned char)last_byte % LENGTHS;
}

static void put_last(struct last_match *last, const struct ignore_rule *rule, uint32_t place)
{
    uint32_t match = place * 2 + (rule->is_negated ? 1 : 0);

    last->for_dir = match;
    if (!rule->is_dir_only)
        last->for_file = match;
}

static int add_to_table(struct ignore_layer *layer, struct ignore_table *table, struct str text,
                        const struct ignore_rule *rule, uint32_t place)
{
    struct last_match *last = map_get(&table->matches, text);

    if (last == NULL) {
        int r;

        last = arena_new(&layer->arena, struct last_match);
        if (last == NULL)
            return layer->arena.error;
        *last = (struct last_match){.for_file = 0};
        r = map_add(&table->matches, text, last);
        if (r < 0)
            return r;
        table->lengths |= length_bit(text.len);
    }
    put_last(last, rule, place);
    return 0;
}

/* Without slashes: with `**` there need not be any. */
static uint64_t bytes_needed(const struct ignore_codes *codes)
{
    uint64_t needed = 0;

    for (size_t i = 0; i < codes->count; i++)
        if (codes->codes[i] < IGNORE_CODE_ANY && codes->codes[i] != IGNORE_CODE_SLASH)
            needed |= byte_bit((char)codes->codes[i]);
    return needed;
}

static int make_room(struct ignore_layer *layer)
{
    size_t capacity = layer->pattern_capacity == 0 ? FIRST_PATTERNS : layer->pattern_capacity * 2;
    struct ignore_filed *patterns;

    if (layer->pattern_count < layer->pattern_capacity)
        return 0;
    patterns = reallocarray(layer->patterns, capacity, sizeof(patterns[0]));
    if (patterns == NULL)
        return ERR_NO_MEMORY;
    layer->patterns = patterns;
    layer->pattern_capacity = capacity;
    return 0;
}

static int add_pattern(struct ignore_layer *layer, const struct ignore_rule *rule, uint32_t place)
{
    struct ignore_filed filed = {
        .needed = bytes_needed(&rule->codes),
        .is_anchored = rule->is_anchored,
    };
    int r = make_room(layer);

    if (r < 0)
        return r;
    r = ignore_pattern_new(&layer->arena, rule, &filed.pattern);
    if (r < 0)
        return r;
    put_last(&filed.last, rule, place);
    layer->patterns[layer->pattern_count++] = filed;
    return 0;
}

static bool is_in_table(const struct ignore_rule *rule)
{
    return rule->form == IGNORE_PLAIN ||
           (rule->form == IGNORE_ENDING && rule->codes.count <= LENGTHS);
}

static int add_rule(struct ignore_layer *layer, const struct ignore_rule *rule, uint32_t place)
{
    struct str text;
    int r;

    if (!is_in_table(rule))
        return add_pattern(layer, rule, place);
    r = ignore_rule_text(&layer->arena, rule, &text);
    if (r < 0)
        return r;
    if (rule->form == IGNORE_PLAIN)
        return add_to_table(layer, rule->is_anchored ? &layer->paths : &layer->names, text, rule,
                            place);
    if (text.len == 0) {
        put_last(&layer->everything, rule, place);
        return 0;
    }
    layer->ending_lengths[slot_of(text.ptr[text.len - 1])] |= length_bit(text.len);
    return add_to_table(layer, &layer->endings, text, rule, place);
}

static int read_line(struct ignore_layer *layer, struct arena *scratch, struct str line,
                     struct err *err)
{
    struct ignore_rule rule;
    bool is_rule;
    int r = ignore_rule_read(scratch, line, &rule, &is_rule);

    if (r < 0)
        return err_set_plain(err, r);
    if (!is_rule)
        return 0;
    if (layer->rule_count == IGNORE_MAX_RULES)
        return err_set(err, ERR_TOO_LARGE, "more than 8192 ignore rules in a file");
    if (!is_in_table(&rule)) {
        if (rule.codes.count > IGNORE_MAX_WILDCARD_BYTES - layer->wildcard_bytes)
            return err_set(err, ERR_TOO_LARGE,
                           "ignore rules with wildcards exceed 64 KiB in total");
        layer->wildcard_bytes += rule.codes.count;
    }
    r = add_rule(layer, &rule, ++layer->rule_count);
    return r < 0 ? err_set_plain(err, r) : 0;
}

static int read_rules(struct ignore_layer *layer, struct str content, struct err *err)
{
    cleanup_arena struct arena scratch = ARENA_INIT(RULE_MAX_HELD);
    struct str line;

    if (str_starts_with(content, STR("\xef\xbb\xbf")))
        content = str_slice(content, 3, content.len);
    while (str_cut(&content, '\n', &line)) {
        int r = read_line(layer, &scratch, line, err);

        if (r < 0)
            return r;
        arena_reset(&scratch);
    }
    return 0;
}

static int check_ceilings(const struct ignore_layer *parent, struct str content, struct err *err)
{
    if (content.len > IGNORE_MAX_FILE_BYTES)
        return err_set(err, ERR_TOO_LARGE, "an ignore file is larger than 256 KiB");
    if (parent == NULL)
        return 0;
    if (content.len > IGNORE_MAX_CHAIN_BYTES - parent->chain_bytes)
        return err_set(err, ERR_TOO_LARGE, "nested ignore files exceed 1 MiB in total");
    if (parent->depth == IGNORE_MAX_LAYERS)
        return err_set(err, ERR_TOO_LARGE, "more than 512 nested ignore files");
    return 0;
}

/* NULL without memory. */
static struct ignore_layer *new_layer(struct ignore_layer *parent, struct str directory,
                                      struct str content)
{
    cleanup_ignore_layer struct ignore_layer *layer = calloc(1, sizeof(*layer));
    char *text;

    if (layer == NULL)
        return NULL;
    atomic_init(&layer->refs, 1);
    arena_init(&layer->arena, LAYER_MAX_HELD);
    layer->names.matches.max = IGNORE_MAX_RULES;
    layer->paths.matches.max = IGNORE_MAX_RULES;
    layer->endings.matches.max = IGNORE_MAX_RULES;
    layer->depth = parent == NULL ? 1 : parent->depth + 1;
    layer->chain_bytes = (parent == NULL ? 0 : parent->chain_bytes) + content.len;
    layer->wildcard_bytes = parent == NULL ? 0 : parent->wildcard_bytes;
    text = arena_copy(&layer->arena, directory);
    if (text == NULL)
        return NULL;
    layer->directory = (struct str){text, directory.len};
    layer->parent = ignore_layer_ref(parent);
    return steal_ptr(&layer);
}

int ignore_layer_parse(struct ignore_layer *parent, struct str directory, struct str content,
                       struct ignore_layer **out_layer, struct err *err)
{
    cleanup_ignore_layer struct ignore_layer *layer = NULL;
    int r = check_ceilings(parent, content, err);

    if (r < 0)
        return r;
    layer = new_layer(parent, directory, content);
    if (layer == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    r = read_rules(layer, content, err);
    if (r < 0)
        return r;
    *out_layer = layer->rule_count == 0 ? ignore_layer_ref(parent) : steal_ptr(&layer);
    return 0;
}

struct ignore_layer *ignore_layer_ref(struct ignore_layer *layer)
{
    if (layer != NULL)
        atomic_fetch_add_explicit(&layer->refs, 1, memory_order_relaxed);
    return layer;
}

void ignore_layer_unref(struct ignore_layer *layer)
{
    while (layer != NULL && atomic_fetch_sub_explicit(&layer->refs, 1, memory_order_acq_rel) == 1) {
        struct ignore_layer *parent = layer->parent;

        map_done(&layer->names.matches);
        map_done(&layer->paths.matches);
        map_done(&layer->endings.matches);
        arena_done(&layer->arena);
        free(layer->patterns);
        free(layer);
        layer = parent;
    }
}

/* ---- Deciding ---- */

static uint32_t match_for(const struct last_match *last, bool is_dir)
{
    return is_dir ? last->for_dir : last->for_file;
}

static void look_up(const struct ignore_table *table, struct str text, bool is_dir, uint32_t *match)
{
    const struct last_match *last;

    if ((table->lengths & length_bit(text.len)) == 0)
        return;
    last = map_get(&table->matches, text);
    if (last != NULL && match_for(last, is_dir) > *match)
        *match = match_for(last, is_dir);
}

static void look_up_endings(const struct ignore_layer *layer, struct str part, bool is_dir,
                            uint32_t *match)
{
    uint64_t lengths = layer->ending_lengths[slot_of(part.ptr[part.len - 1])];

    while (lengths != 0) {
        size_t len = (size_t)__builtin_ctzll(lengths);

        if (len > part.len)
            return;
        look_up(&layer->endings, (struct str){part.ptr + (part.len - len), len}, is_dir, match);
        lengths &= lengths - 1;
    }
}

static uint64_t bytes_in(struct str text)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < text.len; i++)
        bytes |= byte_bit(text.ptr[i]);
    return bytes;
}

/* The last matching pattern after `match` in the file, or `match`. */
static uint32_t match_patterns(const struct ignore_layer *layer, struct str name, struct str part,
                               bool is_dir, uint32_t match)
{
    uint64_t part_lacks = ~bytes_in(part);
    uint64_t name_lacks = part.len == name.len ? part_lacks : ~bytes_in(name);

    for (size_t i = layer->pattern_count; i > 0; i--) {
        const struct ignore_filed *filed = &layer->patterns[i - 1];
        uint32_t found = match_for(&filed->last, is_dir);

        if (filed->last.for_dir <= match)
            break;
        if ((filed->needed & (filed->is_anchored ? name_lacks : part_lacks)) == 0 && found != 0 &&
            ignore_pattern_matches(filed->pattern, filed->is_anchored ? name : part))
            return found;
    }
    return match;
}

/* The last rule of the layer that matches a name below its directory. */
static uint32_t match_in_layer(const struct ignore_layer *layer, struct str name, struct str part,
                               bool is_dir)
{
    uint32_t match = match_for(&layer->everything, is_dir);

    look_up(&layer->names, part, is_dir, &match);
    look_up(&layer->paths, name, is_dir, &match);
    look_up_endings(layer, part, is_dir, &match);
    if (layer->pattern_count == 0)
        return match;
    return match_patterns(layer, name, part, is_dir, match);
}

/* Makes the name relative to the directory, if it lies below. */
static bool enter_directory(struct str directory, struct str *name)
{
    if (directory.len == 0)
        return true;
    if (name->len < directory.len + 2 || name->ptr[directory.len] != '/' ||
        memcmp(name->ptr, directory.ptr, directory.len) != 0)
        return false;
    *name = str_slice(*name, directory.len + 1, name->len);
    return true;
}

enum ignore_decision ignore_decide(const struct ignore_layer *layer, struct str name, bool is_dir)
{
    struct str parent, part;

    path_split(name, &parent, &part);
    if (part.len == 0) /* the place where names begin; no rule is about it */
        return IGNORE_NONE;
    for (; layer != NULL; layer = layer->parent) {
        struct str below = name;
        uint32_t match;

        if (!enter_directory(layer->directory, &below))
            continue;
        match = match_in_layer(layer, below, part, is_dir);
        if (match != 0)
            return match % 2 != 0 ? IGNORE_INCLUDED : IGNORE_IGNORED;
    }
    return IGNORE_NONE;
}
