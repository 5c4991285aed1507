/* SPDX-License-Identifier: Apache-2.0 */
#include "authority/names/ignore_internal.h"

/* Ranges of bytes as pairs: the classes as in git, which knows ASCII only. */
static const struct {
    struct str name;
    struct str ranges;
} named_classes[] = {
    {STR_LITERAL("alnum"), STR_LITERAL("09AZaz")},
    {STR_LITERAL("alpha"), STR_LITERAL("AZaz")},
    {STR_LITERAL("blank"), STR_LITERAL("\t\t  ")},
    {STR_LITERAL("cntrl"), STR_LITERAL("\x01\x1f\x7f\x7f")},
    {STR_LITERAL("digit"), STR_LITERAL("09")},
    {STR_LITERAL("graph"), STR_LITERAL("!~")},
    {STR_LITERAL("lower"), STR_LITERAL("az")},
    {STR_LITERAL("print"), STR_LITERAL(" ~")},
    {STR_LITERAL("punct"), STR_LITERAL("!/:@[`{~")},
    {STR_LITERAL("space"), STR_LITERAL("\t\n\r\r  ")},
    {STR_LITERAL("upper"), STR_LITERAL("AZ")},
    {STR_LITERAL("xdigit"), STR_LITERAL("09AFaf")},
};

/* ---- Classes ---- */

static void add_range(struct ignore_bytes *set, char first, char last)
{
    for (unsigned b = (unsigned char)first; b <= (unsigned char)last; b++)
        set->bits[b / 64] |= (uint64_t)1 << (b % 64);
}

static void negate(struct ignore_bytes *set)
{
    for (size_t i = 0; i < array_size(set->bits); i++)
        set->bits[i] = ~set->bits[i];
}

static bool add_named_class(struct ignore_bytes *set, struct str name)
{
    for (size_t i = 0; i < array_size(named_classes); i++) {
        struct str ranges = named_classes[i].ranges;

        if (!str_eq(named_classes[i].name, name))
            continue;
        for (size_t at = 0; at < ranges.len; at += 2)
            add_range(set, ranges.ptr[at], ranges.ptr[at + 1]);
        return true;
    }
    return false;
}

struct class_reader {
    const char *at;
    const char *end;
    const char *close; /* the next "]" as last looked for; looking each time would be quadratic */
    char previous;     /* what a range could begin with, or NUL */
    struct ignore_bytes *set;
};

/* At "[:": a named class, or else the "[" alone. False if malformed. */
static bool read_named_class(struct class_reader *reader)
{
    const char *name = reader->at + 2;

    if (reader->close == NULL || reader->close < name)
        reader->close = memchr(name, ']', (size_t)(reader->end - name));
    if (reader->close == NULL)
        return false;
    if (reader->close == name || reader->close[-1] != ':') {
        add_range(reader->set, '[', '[');
        reader->previous = '[';
        reader->at++;
        return true;
    }
    reader->previous = '\0';
    reader->at = reader->close + 1;
    return add_named_class(reader->set, (struct str){name, (size_t)(reader->close - 1 - name)});
}

/* A byte, a range or a named class. False if malformed. */
static bool read_member(struct class_reader *reader)
{
    const char *at = reader->at;
    bool is_followed = reader->end - at > 1;
    bool is_range = *at == '-' && reader->previous != '\0' && is_followed && at[1] != ']';

    if (is_range)
        at++;
    else if (*at == '[' && is_followed && at[1] == ':')
        return read_named_class(reader);
    if (*at == '\\' && ++at == reader->end)
        return false;
    add_range(reader->set, is_range ? reader->previous : *at, *at);
    reader->previous = is_range ? '\0' : *at;
    reader->at = at + 1;
    return true;
}

/* Position after the class whose "[" is at `at`, or NULL if malformed. */
static const char *read_class(const char *at, const char *end, struct ignore_bytes *set)
{
    bool is_negated = end - at > 1 && (at[1] == '!' || at[1] == '^');
    const char *first = at + (is_negated ? 2 : 1);
    struct class_reader reader = {.at = first, .end = end, .set = set};

    *set = (struct ignore_bytes){.bits = {0}};
    /* A "]" that comes first is a member. */
    while (reader.at < end && (*reader.at != ']' || reader.at == first))
        if (!read_member(&reader))
            return NULL;
    if (reader.at == end)
        return NULL;
    if (is_negated)
        negate(set);
    return reader.at + 1;
}

/* ---- Codes ---- */

static bool is_slash_at(const char *at, const char *end)
{
    return at < end && (*at == '/' || (*at == '\\' && end - at > 1 && at[1] == '/'));
}

/* Stars as a whole component match components, any others bytes within one. */
static const char *read_stars(const char *at, const char *end, bool is_anchored,
                              struct ignore_codes *codes)
{
    bool is_first = codes->count == 0 || codes->codes[codes->count - 1] == IGNORE_CODE_SLASH;
    const char *stars = at;

    while (at < end && *at == '*')
        at++;
    if (!is_anchored || !is_first || at - stars < 2 || (at < end && !is_slash_at(at, end))) {
        codes->codes[codes->count++] = IGNORE_CODE_RUN;
        return at;
    }
    /* At the end, and oddly before an escaped slash, it is at least one component. */
    if (at == end || *at == '\\') {
        codes->codes[codes->count++] = IGNORE_CODE_RUN;
        codes->codes[codes->count++] = IGNORE_CODE_SLASH;
    }
    codes->codes[codes->count++] = IGNORE_CODE_DEEP;
    return at;
}

/* Allocates room for every code: each needs at least a byte, but `**` makes three of two. */
static int prepare_codes(struct arena *scratch, struct str text, struct ignore_codes *codes)
{
    size_t open_count = 0;

    for (size_t i = 0; i < text.len; i++)
        open_count += text.ptr[i] == '[';
    *codes = (struct ignore_codes){
        .codes = arena_alloc_array(scratch, text.len + 2, sizeof(codes->codes[0])),
        .sets = arena_alloc_array(scratch, open_count, sizeof(codes->sets[0])),
    };
    return codes->codes == NULL || codes->sets == NULL ? scratch->error : 0;
}

/* False for a malformed class or a backslash at the end: git matches nothing with it. */
static bool read_codes(struct str text, bool is_anchored, struct ignore_codes *codes)
{
    const char *at = text.ptr;
    const char *end = at + text.len;

    while (at != NULL && at < end) {
        if (*at == '*') {
            at = read_stars(at, end, is_anchored, codes);
        } else if (*at == '?') {
            codes->codes[codes->count++] = IGNORE_CODE_ANY;
            at++;
        } else if (*at == '[') {
            codes->codes[codes->count++] = IGNORE_CODE_CLASS + (uint32_t)codes->set_count;
            at = read_class(at, end, &codes->sets[codes->set_count++]);
        } else {
            if (*at == '\\' && ++at == end)
                return false;
            codes->codes[codes->count++] = (unsigned char)*at++;
        }
    }
    return at != NULL;
}

/* Names have no empty components, so a rule with one matches nothing. */
static bool has_empty_component(const struct ignore_codes *codes)
{
    bool is_empty = true;

    for (size_t i = 0; i < codes->count; i++) {
        bool is_slash = codes->codes[i] == IGNORE_CODE_SLASH;

        if (is_slash && is_empty)
            return true;
        is_empty = is_slash;
    }
    return is_empty;
}

static enum ignore_form form_of(const struct ignore_rule *rule)
{
    const struct ignore_codes *codes = &rule->codes;
    bool has_run = !rule->is_anchored && codes->codes[0] == IGNORE_CODE_RUN;

    for (size_t i = has_run ? 1 : 0; i < codes->count; i++)
        if (codes->codes[i] >= IGNORE_CODE_ANY)
            return IGNORE_WILDCARD;
    return has_run ? IGNORE_ENDING : IGNORE_PLAIN;
}

/* `**` before a single component: that component in any directory. */
static void drop_leading_deep(struct ignore_rule *rule)
{
    struct ignore_codes *codes = &rule->codes;

    if (codes->count < 3 || codes->codes[0] != IGNORE_CODE_DEEP)
        return;
    for (size_t i = 2; i < codes->count; i++)
        if (codes->codes[i] == IGNORE_CODE_SLASH || codes->codes[i] == IGNORE_CODE_DEEP)
            return;
    codes->codes += 2;
    codes->count -= 2;
    rule->is_anchored = false;
}

/* ---- Lines ---- */

/* Trailing spaces do not count, unless escaped by a backslash. */
static struct str trim_line(struct str line)
{
    const char *nul;
    size_t len = 0;

    if (line.len > 0 && line.ptr[line.len - 1] == '\r')
        line.len--;
    /* For git a line is a C string. */
    nul = line.len > 0 ? memchr(line.ptr, '\0', line.len) : NULL;
    if (nul != NULL)
        line.len = (size_t)(nul - line.ptr);
    for (size_t i = 0; i < line.len; i++) {
        if (line.ptr[i] == ' ')
            continue;
        if (line.ptr[i] == '\\' && i + 1 < line.len)
            i++;
        len = i + 1;
    }
    return (struct str){line.ptr, len};
}

int ignore_rule_read(struct arena *scratch, struct str line, struct ignore_rule *out_rule,
                     bool *out_is_rule)
{
    struct ignore_rule rule = {.form = IGNORE_PLAIN};
    struct str text;
    int r;

    *out_is_rule = false;
    if (line.len > 0 && line.ptr[0] == '#')
        return 0;
    text = trim_line(line);
    if (text.len > 0 && text.ptr[0] == '!') {
        rule.is_negated = true;
        text = str_slice(text, 1, text.len);
    }
    if (text.len > 0 && text.ptr[text.len - 1] == '/') {
        rule.is_dir_only = true;
        text.len--;
    }
    if (text.len == 0)
        return 0;
    rule.is_anchored = memchr(text.ptr, '/', text.len) != NULL;
    if (text.ptr[0] == '/')
        text = str_slice(text, 1, text.len);

    r = prepare_codes(scratch, text, &rule.codes);
    if (r < 0)
        return r;
    if (!read_codes(text, rule.is_anchored, &rule.codes) || has_empty_component(&rule.codes))
        return 0;
    drop_leading_deep(&rule);
    rule.form = form_of(&rule);
    *out_rule = rule;
    *out_is_rule = true;
    return 0;
}

/* ---- What is kept ---- */

static int copy_bytes(struct arena *arena, const uint32_t *codes, size_t count,
                      struct str *out_text)
{
    char *text = arena_alloc(arena, count);

    if (text == NULL)
        return arena->error;
    for (size_t i = 0; i < count; i++)
        text[i] = (char)codes[i];
    *out_text = (struct str){text, count};
    return 0;
}

int ignore_rule_text(struct arena *arena, const struct ignore_rule *rule, struct str *out_text)
{
    size_t start = rule->form == IGNORE_ENDING ? 1 : 0;

    return copy_bytes(arena, rule->codes.codes + start, rule->codes.count - start, out_text);
}

static struct ignore_bytes bytes_of(const struct ignore_codes *codes, uint32_t code)
{
    struct ignore_bytes set = {.bits = {0}};

    if (code >= IGNORE_CODE_CLASS)
        return codes->sets[code - IGNORE_CODE_CLASS];
    if (code < IGNORE_CODE_ANY)
        add_range(&set, (char)code, (char)code);
    else
        negate(&set);
    return set;
}

static int build_component(struct arena *arena, const uint32_t *codes, size_t count,
                           struct ignore_component *out_component)
{
    struct ignore_component component = {.kind = IGNORE_KIND_CODES, .code_count = count};
    size_t run_count = 0;
    size_t run = count;
    uint32_t *copy;
    bool is_simple = true;
    int r;

    if (codes[0] == IGNORE_CODE_DEEP) {
        *out_component = (struct ignore_component){.kind = IGNORE_KIND_DEEP};
        return 0;
    }
    for (size_t i = 0; i < count; i++) {
        if (codes[i] == IGNORE_CODE_RUN) {
            run_count++;
            run = i;
        }
        is_simple = is_simple && (codes[i] < IGNORE_CODE_ANY || codes[i] == IGNORE_CODE_RUN);
    }
    if (is_simple && run_count <= 1) {
        component.kind = run_count == 0 ? IGNORE_KIND_EQUAL : IGNORE_KIND_ENDS;
        r = copy_bytes(arena, codes, run, &component.head);
        if (r == 0 && run_count == 1)
            r = copy_bytes(arena, codes + run + 1, count - run - 1, &component.tail);
        if (r < 0)
            return r;
    } else {
        copy = arena_alloc_array(arena, count, sizeof(codes[0]));
        if (copy == NULL)
            return arena->error;
        memcpy(copy, codes, count * sizeof(codes[0]));
        component.codes = copy;
    }
    *out_component = component;
    return 0;
}

static int copy_sets(struct arena *arena, const struct ignore_codes *codes,
                     struct ignore_pattern *pattern)
{
    struct ignore_bytes *sets;

    if (codes->set_count == 0)
        return 0;
    sets = arena_alloc_array(arena, codes->set_count, sizeof(sets[0]));
    if (sets == NULL)
        return arena->error;
    memcpy(sets, codes->sets, codes->set_count * sizeof(sets[0]));
    pattern->sets = sets;
    return 0;
}

int ignore_pattern_new(struct arena *arena, const struct ignore_rule *rule,
                       const struct ignore_pattern **out_pattern)
{
    const struct ignore_codes *codes = &rule->codes;
    struct ignore_pattern *pattern;
    size_t count = 1;
    int r;

    for (size_t i = 0; i < codes->count; i++)
        count += codes->codes[i] == IGNORE_CODE_SLASH;
    pattern = arena_alloc(arena, sizeof(*pattern) + count * sizeof(pattern->components[0]));
    if (pattern == NULL)
        return arena->error;
    *pattern = (struct ignore_pattern){
        .first = bytes_of(codes, codes->codes[0]),
        .last = bytes_of(codes, codes->codes[codes->count - 1]),
    };
    r = copy_sets(arena, codes, pattern);
    for (size_t start = 0; r == 0 && start < codes->count;) {
        size_t end = start;

        while (end < codes->count && codes->codes[end] != IGNORE_CODE_SLASH)
            end++;
        r = build_component(arena, codes->codes + start, end - start,
                            &pattern->components[pattern->count]);
        pattern->count++;
        start = end + 1;
    }
    if (r < 0)
        return r;
    *out_pattern = pattern;
    return 0;
}
