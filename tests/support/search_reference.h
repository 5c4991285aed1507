/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a pattern matches by PCRE2 alone: every line by itself, without a scan, in one call. With or
 * without JIT like the matcher it is compared with: the two differ about invalid UTF-8.
 */
#ifndef TESTS_SUPPORT_SEARCH_REFERENCE_H
#define TESTS_SUPPORT_SEARCH_REFERENCE_H

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <stdbool.h>
#include <string.h>

#include "base/str.h"
#include "search/matcher.h"

enum { SEARCH_REFERENCE_STEPS = 4000 };

struct search_reference {
    pcre2_code *code;
    pcre2_match_data *match;
    pcre2_match_context *context;
};

static inline bool search_reference_init(struct search_reference *reference, struct str text,
                                         bool is_regex, bool ignores_case, bool has_jit)
{
    uint32_t flags = PCRE2_UTF | PCRE2_MATCH_INVALID_UTF | (ignores_case ? PCRE2_CASELESS : 0) |
                     (is_regex ? PCRE2_UCP | PCRE2_DOLLAR_ENDONLY : PCRE2_LITERAL);
    PCRE2_SIZE offset;
    int error;

    reference->code = pcre2_compile((PCRE2_SPTR)text.ptr, text.len, flags, &error, &offset, NULL);
    if (reference->code == NULL)
        return false;
    if (has_jit)
        pcre2_jit_compile(reference->code, PCRE2_JIT_COMPLETE);
    reference->match = pcre2_match_data_create(1, NULL);
    reference->context = pcre2_match_context_create(NULL);
    pcre2_set_match_limit(reference->context, SEARCH_REFERENCE_STEPS);
    return true;
}

static inline void search_reference_done(struct search_reference *reference)
{
    pcre2_code_free(reference->code);
    pcre2_match_data_free(reference->match);
    pcre2_match_context_free(reference->context);
}

/* Like matcher_next(). False: it took too many steps. */
static inline bool search_reference_next(struct search_reference *reference, struct str text,
                                         size_t from, struct matcher_line *out_line)
{
    *out_line = (struct matcher_line){.is_found = false};
    while (from < text.len) {
        const char *newline = memchr(text.ptr + from, '\n', text.len - from);
        size_t end = newline != NULL ? (size_t)(newline - text.ptr) : text.len;
        int result = pcre2_match(reference->code, (PCRE2_SPTR)text.ptr + from, end - from, 0, 0,
                                 reference->match, reference->context);
        const PCRE2_SIZE *bounds = pcre2_get_ovector_pointer(reference->match);

        if (result >= 0) {
            *out_line = (struct matcher_line){
                true, from, end, from + (bounds[0] < bounds[1] ? bounds[0] : bounds[1]),
                from + bounds[1]};
            return true;
        }
        if (result != PCRE2_ERROR_NOMATCH)
            return false;
        from = end + 1;
    }
    return true;
}

#endif
