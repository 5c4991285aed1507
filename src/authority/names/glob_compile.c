/* SPDX-License-Identifier: Apache-2.0 */
#include "authority/names/glob_internal.h"

/*
 * A pattern is checked as a whole, then its braces are expanded one alternative at a time, and each
 * of these is split into components. A unit is what braces and slashes cannot split: an escaped
 * character, a class, or a byte.
 */

enum {
    MAX_BRACES = GLOB_PATTERN_MAX_BYTES / 2,
    CODES_PER_BYTE = 2, /* "[a]" is the densest: four codes */
    SHOWN_BYTES = 80,   /* of a pattern, in an error */
};

_Static_assert(GLOB_PATTERN_MAX_BYTES == 1024 && GLOB_MAX_ALTERNATIVES == 256 &&
                   GLOB_MAX_EXPANDED_BYTES == 16 << 10 && GLOB_MAX_NESTING == 16,
               "the messages say these numbers");

struct compiler {
    struct arena *arena;
    struct str pattern;
    struct glob_rules *rules;
    struct err *err;
    const char *kept; /* the pattern, as long as the rules live; NULL: nobody asks for it */
};

/* The present choice of each brace, in the order in which an alternative meets them. */
struct expansion {
    struct str pattern;
    size_t brace_count;
    uint16_t choice[MAX_BRACES];
    bool is_last[MAX_BRACES];
};

/* Patterns are untrusted, so only plain characters are put into the message. */
static int refuse(const struct compiler *compiler, const char *problem)
{
    struct str pattern = compiler->pattern;
    char shown[SHOWN_BYTES + 1];
    size_t len = pattern.len < SHOWN_BYTES ? pattern.len : SHOWN_BYTES;

    for (size_t i = 0; i < len; i++)
        shown[i] = pattern.ptr[i] >= ' ' && pattern.ptr[i] <= '~' ? pattern.ptr[i] : '?';
    shown[len] = '\0';
    return err_set(compiler->err, ERR_INVALID_ARGUMENT, "glob \"%s%s\" %s", shown,
                   len < pattern.len ? "..." : "", problem);
}

/* ---- Units ---- */

static bool is_negated(const char *at, const char *end)
{
    return end - at > 1 && (at[1] == '!' || at[1] == '^');
}

/*
 * Position after the "]" that closes the class at `at`, or NULL. A "]" that comes first is a
 * member.
 */
static const char *class_end(const char *at, const char *end)
{
    const char *first = at + (is_negated(at, end) ? 2 : 1);

    for (const char *p = first; p < end; p++) {
        if (*p == ']' && p > first)
            return p + 1;
        if (*p == '\\')
            p++;
    }
    return NULL;
}

/* Length of the unit at `at` in a checked pattern. */
static size_t unit_length(const char *at, const char *end)
{
    if (*at == '\\')
        return 2;
    return *at == '[' ? (size_t)(class_end(at, end) - at) : 1;
}

static uint32_t member(const char *at, const char *end, const char **out_next)
{
    return glob_char(*at == '\\' ? at + 1 : at, end, out_next);
}

/* Writes the class [at, end) as codes, if `codes` is not NULL. Returns the problem, or NULL. */
static const char *read_class(const char *at, const char *end, uint32_t **codes)
{
    bool is_not = is_negated(at, end);
    const char *close = end - 1;
    uint32_t *start = codes == NULL ? NULL : *codes;
    uint32_t count = 0;

    at += is_not ? 2 : 1;
    while (at < close) {
        uint32_t first, last;

        if (at[0] == '[' && at[1] == ':')
            return "has a class like [:alpha:], which is not supported";
        first = member(at, close, &at);
        last = first;
        if (close - at > 1 && *at == '-')
            last = member(at + 1, close, &at);
        if (first == '/' || last == '/')
            return "has a slash in a class; patterns match component by component";
        if (last < first)
            return "has a range whose end comes before its start";
        if (start != NULL) {
            start[2 + 2 * count] = first;
            start[3 + 2 * count] = last;
        }
        count++;
    }
    if (start != NULL) {
        start[0] = is_not ? GLOB_CODE_NOT_CLASS : GLOB_CODE_CLASS;
        start[1] = count;
        *codes = start + 2 + (size_t)2 * count;
    }
    return NULL;
}

/* Finds everything that can be wrong with the pattern before its braces are expanded. */
static const char *find_problem(struct str pattern)
{
    const char *end;
    size_t depth = 0;

    if (pattern.len == 0)
        return "is empty";
    if (pattern.len > GLOB_PATTERN_MAX_BYTES)
        return "is longer than 1024 bytes";
    if (str_has_nul(pattern))
        return "has a NUL byte, which a path cannot have";

    end = pattern.ptr + pattern.len;
    for (const char *at = pattern.ptr; at < end; at += unit_length(at, end)) {
        if (*at == '\\') {
            if (end - at < 2)
                return "ends with a backslash; write two for the character itself";
            if (at[1] == '/')
                return "has a backslash before a slash, which a name cannot contain";
        } else if (*at == '[') {
            const char *close = class_end(at, end);
            const char *problem =
                close == NULL ? "has a \"[\" that is never closed; write \"\\[\" for the character"
                              : read_class(at, close, NULL);

            if (problem != NULL)
                return problem;
        } else if (*at == '{') {
            if (++depth > GLOB_MAX_NESTING)
                return "has braces nested deeper than 16";
        } else if (*at == '}' && depth-- == 0) {
            return "has a \"}\" without a \"{\"; write \"\\}\" for the character";
        }
    }
    return depth > 0 ? "has a \"{\" that is never closed; write \"\\{\" for the character" : NULL;
}

/* ---- Braces ---- */

/* The "," or "}" after the choice that begins at `at`. */
static const char *choice_end(const char *at, const char *end)
{
    size_t depth = 0;

    for (;; at += unit_length(at, end)) {
        if (depth == 0 && (*at == ',' || *at == '}'))
            return at;
        if (*at == '{')
            depth++;
        else if (*at == '}')
            depth--;
    }
}

/* The start of the present choice of the brace that opens at `at`. */
static const char *enter_brace(struct expansion *expansion, size_t brace, const char *at,
                               const char *end)
{
    if (brace == expansion->brace_count) {
        expansion->choice[brace] = 0;
        expansion->brace_count++;
    }
    at++;
    for (unsigned skipped = 0; skipped < expansion->choice[brace]; skipped++)
        at = choice_end(at, end) + 1;
    expansion->is_last[brace] = *choice_end(at, end) == '}';
    return at;
}

/* Writes the present alternative, which is not longer than the pattern. */
static size_t expand(struct expansion *expansion, char *text)
{
    const char *at = expansion->pattern.ptr;
    const char *end = at + expansion->pattern.len;
    size_t brace = 0;
    size_t depth = 0;
    size_t len = 0;

    while (at < end) {
        if (*at == '{') {
            at = enter_brace(expansion, brace++, at, end);
            depth++;
        } else if (depth > 0 && (*at == ',' || *at == '}')) {
            while (*at == ',')
                at = choice_end(at + 1, end);
            at++;
            depth--;
        } else {
            size_t unit = unit_length(at, end);

            memcpy(text + len, at, unit);
            len += unit;
            at += unit;
        }
    }
    return len;
}

/*
 * Advances the last brace to its next choice; if it has none it is dropped, and the one before
 * advances.
 */
static bool move_to_next(struct expansion *expansion)
{
    while (expansion->brace_count > 0) {
        size_t last = expansion->brace_count - 1;

        if (!expansion->is_last[last]) {
            expansion->choice[last]++;
            return true;
        }
        expansion->brace_count--;
    }
    return false;
}

/* ---- Components ---- */

static bool is_dots(struct str literal)
{
    return str_eq(literal, STR(".")) || str_eq(literal, STR(".."));
}

/* The characters of a component: as codes, and as the literal bytes before and after a `*`. */
static int compile_component(const struct compiler *compiler, struct str text,
                             struct glob_component *out_component)
{
    const char *at = text.ptr;
    const char *end = at + text.len;
    size_t run_count = 0;
    size_t head_len = 0;
    size_t len = 0;
    bool is_simple = true;
    uint32_t *codes, *code;
    char *bytes;

    if (text.len == 0)
        return refuse(compiler, "has an empty component before, between or after slashes; for a "
                                "directory and everything in it, leave out the last slash");
    if (str_eq(text, STR("**"))) {
        *out_component = (struct glob_component){.kind = GLOB_DEEP};
        return 0;
    }
    bytes = arena_alloc(compiler->arena, text.len);
    codes = arena_alloc_array(compiler->arena, text.len, CODES_PER_BYTE * sizeof(*codes));
    if (bytes == NULL || codes == NULL)
        return err_set_plain(compiler->err, ERR_NO_MEMORY);

    for (code = codes; at < end;) {
        if (*at == '*') {
            if (code == codes || code[-1] != GLOB_CODE_RUN) {
                *code++ = GLOB_CODE_RUN;
                run_count++;
                head_len = len;
            }
            at++;
        } else if (*at == '?') {
            *code++ = GLOB_CODE_ANY;
            is_simple = false;
            at++;
        } else if (*at == '[') {
            const char *close = class_end(at, end);

            read_class(at, close, &code);
            is_simple = false;
            at = close;
        } else {
            const char *start = *at == '\\' ? at + 1 : at;

            *code = glob_char(start, end, &at);
            /* Bytes would match within a character where this must not. */
            is_simple = is_simple && *code < GLOB_INVALID_BYTE;
            code++;
            memcpy(bytes + len, start, (size_t)(at - start));
            len += (size_t)(at - start);
        }
    }
    if (is_simple && run_count == 0 && is_dots((struct str){bytes, len}))
        return refuse(compiler, "has a component \".\" or \"..\", which matches nothing");

    *out_component = (struct glob_component){.kind = GLOB_CODES, .codes = codes, .codes_end = code};
    if (is_simple && run_count <= 1) {
        if (run_count == 0)
            head_len = len;
        out_component->kind = run_count == 0 ? GLOB_EQUAL : GLOB_ENDS;
        out_component->head = (struct str){bytes, head_len};
        out_component->tail = (struct str){bytes + head_len, len - head_len};
    }
    return 0;
}

static int add_anywhere(const struct compiler *compiler, const struct glob_component *component)
{
    struct glob_anywhere *anywhere = arena_new(compiler->arena, struct glob_anywhere);

    if (anywhere == NULL)
        return err_set_plain(compiler->err, ERR_NO_MEMORY);
    *anywhere = (struct glob_anywhere){compiler->rules->anywhere, compiler->kept, *component};
    compiler->rules->anywhere = anywhere;
    return 0;
}

static size_t count_slashes(struct str text)
{
    size_t count = 0;

    for (size_t i = 0; i < text.len; i++)
        count += text.ptr[i] == '/';
    return count;
}

/* One alternative. No unit contains a slash, so each slash separates components. */
static int compile_alternative(const struct compiler *compiler, struct str text)
{
    struct glob_rules *rules = compiler->rules;
    size_t slash_count = count_slashes(text);
    bool is_anywhere = slash_count == 0;
    struct glob_path *path;
    struct str part;

    if (text.len == 0)
        return refuse(compiler, "has braces that can make it empty");
    if (text.ptr[0] == '/')
        text = str_slice(text, 1, text.len);
    path = arena_alloc(compiler->arena,
                       sizeof(*path) + (slash_count + 1) * sizeof(path->components[0]));
    if (path == NULL)
        return err_set_plain(compiler->err, ERR_NO_MEMORY);
    path->count = 0;
    while (str_cut(&text, '/', &part)) {
        struct glob_component *component = &path->components[path->count];
        int r = compile_component(compiler, part, component);

        if (r < 0)
            return r;
        if (component->kind != GLOB_DEEP || path->count == 0 || component[-1].kind != GLOB_DEEP)
            path->count++;
    }

    /* A match holds for all below it, so `**` at the end adds nothing. */
    if (path->components[path->count - 1].kind == GLOB_DEEP)
        path->count--;
    if (path->count == 0) {
        rules->is_all = true;
        rules->all_pattern = compiler->kept;
        return 0;
    }
    if (is_anywhere)
        return add_anywhere(compiler, &path->components[0]);
    if (path->count == 2 && path->components[0].kind == GLOB_DEEP)
        return add_anywhere(compiler, &path->components[1]);
    path->pattern = compiler->kept;
    path->next = rules->paths;
    rules->paths = path;
    return 0;
}

/* ---- Below a folder ---- */

struct below {
    struct str folder;
    int (*visit)(void *data, const char *absolute);
    void *data;
};

static int visit_below(const struct compiler *compiler, const struct below *below, struct str text)
{
    struct str folder = below->folder;
    const char *between = count_slashes(text) == 0 ? "/**/" : "/";
    char *absolute = arena_alloc(compiler->arena, 2 * folder.len + text.len + sizeof("/**/"));
    char *at = absolute;

    if (absolute == NULL)
        return err_set_plain(compiler->err, compiler->arena->error);
    if (text.len == 0)
        return refuse(compiler, "has braces that can make it empty");
    while (folder.len > 0 && folder.ptr[folder.len - 1] == '/')
        folder.len--;
    for (size_t i = 0; i < folder.len; i++) {
        if (strchr("*?[]{},\\", folder.ptr[i]) != NULL)
            *at++ = '\\';
        *at++ = folder.ptr[i];
    }
    if (text.ptr[0] == '/')
        text = str_slice(text, 1, text.len);
    memcpy(at, between, strlen(between));
    at += strlen(between);
    memcpy(at, text.ptr, text.len);
    at[text.len] = '\0';
    return below->visit(below->data, absolute);
}

/* ---- Alternatives ---- */

/* Checks the pattern, and compiles each alternative, or visits it below a folder. */
static int each_alternative(const struct compiler *compiler, const struct below *below)
{
    struct expansion expansion = {.pattern = compiler->pattern};
    const char *problem = find_problem(compiler->pattern);
    char text[GLOB_PATTERN_MAX_BYTES];
    size_t total_bytes = 0;
    size_t count = 0;

    if (problem != NULL)
        return refuse(compiler, problem);
    do {
        size_t len = expand(&expansion, text);
        struct str alternative = {text, len};
        int r;

        total_bytes += len;
        if (++count > GLOB_MAX_ALTERNATIVES || total_bytes > GLOB_MAX_EXPANDED_BYTES)
            return refuse(compiler,
                          "has braces that expand to more than 256 alternatives or 16 KiB");
        r = below != NULL ? visit_below(compiler, below, alternative)
                          : compile_alternative(compiler, alternative);
        if (r != 0)
            return r;
    } while (move_to_next(&expansion));
    return 0;
}

static int compile_pattern(const struct compiler *compiler)
{
    int r = each_alternative(compiler, NULL);

    if (r == 0)
        compiler->rules->pattern_count++;
    return r;
}

int glob_each_below(struct arena *arena, struct str folder, struct str pattern,
                    int (*visit)(void *data, const char *absolute), void *data, struct err *err)
{
    const struct below below = {folder, visit, data};

    return each_alternative(&(struct compiler){arena, pattern, NULL, err, NULL}, &below);
}

int glob_compile(struct arena *arena, struct str pattern, const struct glob **out_glob,
                 struct err *err)
{
    struct glob *glob = arena_new(arena, struct glob);
    int r;

    if (glob == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    *glob = (struct glob){.rules = {.pattern_count = 0}};
    r = compile_pattern(&(struct compiler){arena, pattern, &glob->rules, err, NULL});
    if (r < 0)
        return r;
    *out_glob = glob;
    return 0;
}

int glob_set_compile(struct arena *arena, const char *const *patterns,
                     const struct glob_set **out_set, struct err *err)
{
    struct glob_set *set = arena_new(arena, struct glob_set);

    if (set == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    *set = (struct glob_set){.rules = {.pattern_count = 0}};
    for (size_t i = 0; patterns != NULL && patterns[i] != NULL; i++) {
        struct str pattern = str_from(patterns[i]);
        const char *kept;
        int r;

        if (i == GLOB_SET_MAX_PATTERNS)
            return err_set(err, ERR_INVALID_ARGUMENT, "more than %d glob patterns",
                           GLOB_SET_MAX_PATTERNS);
        kept = arena_copy(arena, pattern);
        if (kept == NULL)
            return err_set_plain(err, ERR_NO_MEMORY);
        r = compile_pattern(&(struct compiler){arena, pattern, &set->rules, err, kept});
        if (r < 0)
            return r;
    }
    *out_set = set;
    return 0;
}
