/* SPDX-License-Identifier: Apache-2.0 */
#include "search/pattern.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/utf8.h"
#include "search/pattern_internal.h"
#include "search/syntax.h"
#include "search/window.h"

/* A tree of the longest pattern: a node for each byte, and as many around classes. */
enum { TREE_MAX_BYTES = 2 << 20 };

static void cleanup_context(pcre2_compile_context **context)
{
    pcre2_compile_context_free(*context);
}

static int tell_compile_error(int error, size_t offset, struct err *err)
{
    PCRE2_UCHAR words[128];

    if (error == PCRE2_ERROR_NOMEMORY || error == PCRE2_ERROR_HEAP_FAILED)
        return err_set_plain(err, ERR_NO_MEMORY);
    pcre2_get_error_message(error, words, sizeof(words));
    return err_set_field(err, ERR_INVALID_ARGUMENT, "pattern",
                         "the pattern is not valid at byte %zu: %s", offset, (const char *)words);
}

/* ---- PCRE2 ---- */

static uint32_t flags_of(const struct pattern_options *options)
{
    uint32_t flags = PCRE2_USE_OFFSET_LIMIT;

    if (options->is_regex)
        flags |= PCRE2_NEVER_BACKSLASH_C | PCRE2_DOLLAR_ENDONLY;
    else
        flags |= PCRE2_LITERAL;
    return options->ignores_case ? flags | PCRE2_CASELESS : flags;
}

static int compile_code(struct str text, const struct pattern_options *options,
                        pcre2_compile_context *context, struct pattern *pattern, struct err *err)
{
    uint32_t flags = flags_of(options) | PCRE2_UTF | PCRE2_MATCH_INVALID_UTF |
                     (options->is_regex ? PCRE2_UCP : 0);
    PCRE2_SIZE offset, size;
    int error;

    pattern->code = pcre2_compile((PCRE2_SPTR)text.ptr, text.len, flags, &error, &offset, context);
    if (pattern->code == NULL)
        return tell_compile_error(error, offset, err);
    pcre2_pattern_info(pattern->code, PCRE2_INFO_SIZE, &size);
    if (size > PATTERN_MAX_COMPILED_BYTES)
        return err_set_field(err, ERR_TOO_LARGE, "pattern",
                             "the pattern is too large: nested repetition counts multiply");
    return 0;
}

/* Same with callouts, so that the engine can check regularly. */
static void compile_watched(struct str text, const struct pattern_options *options,
                            pcre2_compile_context *context, struct pattern *pattern)
{
    uint32_t flags = flags_of(options) | PCRE2_UTF | PCRE2_MATCH_INVALID_UTF | PCRE2_UCP;
    PCRE2_SIZE offset;
    int error;

    pattern->watched_code = pcre2_compile((PCRE2_SPTR)text.ptr, text.len,
                                          flags | PCRE2_AUTO_CALLOUT, &error, &offset, context);
}

/* If executable memory is forbidden this fails, and the interpreter is used. */
static bool compile_further(pcre2_code *code)
{
    PCRE2_SIZE size;

    return pcre2_jit_compile(code, PCRE2_JIT_COMPLETE) == 0 &&
           pcre2_pattern_info(code, PCRE2_INFO_JITSIZE, &size) == 0 && size > 0;
}

/* On an ASCII line, an ASCII pattern matches the same without Unicode. */
static void compile_for_ascii(struct str text, const struct pattern_options *options,
                              pcre2_compile_context *context, struct pattern *pattern)
{
    PCRE2_SIZE offset;
    int error;

    if (!utf8_is_ascii(text))
        return;
    pattern->ascii_code =
        pcre2_compile((PCRE2_SPTR)text.ptr, text.len, flags_of(options), &error, &offset, context);
    if (pattern->ascii_code != NULL && !compile_further(pattern->ascii_code)) {
        pcre2_code_free(pattern->ascii_code);
        pattern->ascii_code = NULL;
    }
}

/* ---- what is searched for before the engine is asked ---- */

/* The bytes of a tree that consists of characters only; empty for any other. */
static int bytes_of_tree(const struct syntax_tree *tree, char **out_bytes, size_t *out_len)
{
    const struct syntax_node *node;
    size_t count = 0;
    size_t len = 0;

    *out_len = 0;
    if (tree->root->kind != SYNTAX_SEQUENCE || !tree->is_complete)
        return 0;
    for (node = tree->root->first; node != NULL; node = node->next, count++)
        if (node->kind != SYNTAX_CHARACTER || node->ignores_case || node->code_point == '\n')
            return 0;
    if (count == 0)
        return 0;
    *out_bytes = malloc(count * 4);
    if (*out_bytes == NULL)
        return ERR_NO_MEMORY;
    for (node = tree->root->first; node != NULL; node = node->next)
        len += utf8_encode(node->code_point, *out_bytes + len);
    *out_len = len;
    return 0;
}

static bool is_ascii_window(const struct window *window)
{
    if (window->kind != WINDOW_SEQUENCES || !window->is_whole)
        return false;
    for (unsigned i = 0; i < window->count; i++)
        for (unsigned k = 0; k < window->sequences[i].length; k++) {
            const struct byteset *set = &window->sets[window->sequences[i].sets[k]];

            if (!window->sequences[i].is_exact || (set->words[2] | set->words[3]) != 0)
                return false;
        }
    return true;
}

static int plan_window(const struct syntax_tree *tree, enum scan_level level,
                       struct pattern *pattern)
{
    struct window window;
    int r = window_find(tree, &window);

    if (r < 0 || window.kind == WINDOW_NONE)
        return r;
    scan_init_window(&pattern->scan, level, &window);
    pattern->has_scan = true;
    pattern->is_whole = window.is_whole;
    if (is_ascii_window(&window))
        pattern->reach = PATTERN_ASCII;
    pattern->is_single = window.is_whole && window.count == 1 && window.sequences[0].is_exact;
    pattern->has_line_start = window.has_line_start;
    pattern->has_line_end = window.has_line_end;
    return 0;
}

static int plan(struct str text, const struct pattern_options *options, struct pattern *pattern)
{
    cleanup_arena struct arena arena = ARENA_INIT(TREE_MAX_BYTES);
    struct syntax_tree tree;
    size_t len;
    int r = options->is_regex ? syntax_parse(&arena, text, options->ignores_case, &tree)
                              : syntax_literal(&arena, text, options->ignores_case, &tree);

    /* Not understood, or too much of it: the engine sees every line. */
    if (r < 0)
        return arena.error == ERR_NO_MEMORY ? ERR_NO_MEMORY : 0;
    r = bytes_of_tree(&tree, &pattern->needle, &len);
    if (r < 0)
        return r;
    if (len == 0)
        return plan_window(&tree, options->level, pattern);
    scan_init_needle(&pattern->scan, options->level, (struct str){pattern->needle, len});
    if (utf8_is_ascii((struct str){pattern->needle, len}))
        pattern->reach = PATTERN_ASCII;
    pattern->has_scan = true;
    pattern->is_whole = true;
    pattern->is_single = true;
    return 0;
}

static int check(struct str text, struct err *err)
{
    if (text.len > PATTERN_MAX_BYTES)
        return err_set_field(err, ERR_TOO_LARGE, "pattern", "the pattern is longer than %d bytes",
                             PATTERN_MAX_BYTES);
    if (!utf8_is_valid(text))
        return err_set_field(err, ERR_INVALID_UTF8, "pattern", "the pattern is not valid UTF-8");
    if (memchr(text.ptr, '\n', text.len) != NULL)
        return err_set_field(
            err, ERR_INVALID_ARGUMENT, "pattern",
            "the pattern contains a line break, but the search matches line by line: search for "
            "one of the lines");
    return 0;
}

int pattern_compile(struct str text, const struct pattern_options *options,
                    struct pattern **out_pattern, struct err *err)
{
    cleanup_with(cleanup_context) pcre2_compile_context *context = NULL;
    cleanup_pattern struct pattern *pattern = NULL;
    int r = check(text, err);

    if (r < 0)
        return r;
    context = pcre2_compile_context_create(NULL);
    pattern = calloc(1, sizeof(*pattern));
    if (context == NULL || pattern == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    pcre2_set_newline(context, PCRE2_NEWLINE_LF);
    pcre2_set_parens_nest_limit(context, PATTERN_MAX_NESTING);
    /* First, so that only what PCRE2 takes is planned for. */
    r = compile_code(text, options, context, pattern, err);
    if (r < 0)
        return r;
    /* In any case: no encoding that is decoded has another case of an ASCII letter. */
    pattern->reach = !utf8_is_ascii(text) ? PATTERN_NAMES_MORE
                     : options->is_regex  ? PATTERN_ANY
                                          : PATTERN_ASCII;
    if (!options->has_no_prefilter) {
        r = plan(text, options, pattern);
        if (r < 0)
            return err_set_plain(err, r);
    }
    if (options->is_regex)
        compile_watched(text, options, context, pattern);
    /* Not needed if the scan decides alone. */
    if (!options->has_no_jit &&
        (!pattern->is_single || pattern->has_line_start || pattern->has_line_end)) {
        pattern->has_jit = compile_further(pattern->code);
        if (pattern->has_jit)
            compile_for_ascii(text, options, context, pattern);
    }
    *out_pattern = steal_ptr(&pattern);
    return 0;
}

enum pattern_reach pattern_reach(const struct pattern *pattern)
{
    return pattern->reach;
}

bool pattern_is_local(const struct pattern *pattern)
{
    return pattern->is_whole && !pattern->has_line_start && !pattern->has_line_end;
}

void pattern_free(struct pattern *pattern)
{
    if (pattern == NULL)
        return;
    pcre2_code_free(pattern->code);
    pcre2_code_free(pattern->ascii_code);
    pcre2_code_free(pattern->watched_code);
    free(pattern->needle);
    free(pattern);
}
