/* SPDX-License-Identifier: Apache-2.0 */
#include "search/engine.h"

#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include "search/pattern_internal.h"

/*
 * PCRE2 counts steps anew for each place where a match could start. And JIT code does not count how
 * often a repeat of single characters gives one back, so each of its steps may be as long as the
 * line; for the interpreter that is true of possessive repeats. Therefore:
 *
 * - JIT code, which cannot be interrupted, gets fewer steps the longer the line is;
 * - if these do not suffice, the interpreter tries again, which counts more of it and calls back:
 *   then the cancel token and the time are checked;
 * - a line that is not short is tried from a few starting places at a time, fewer if they take
 *   long; the token is checked between them, and all of them together have a limit of CPU time.
 */
enum {
    COMPILED_BYTES_TIMES_STEPS = 1 << 22,
    COMPILED_MIN_STEPS = 128,
    COMPILED_MAX_STEPS = 100000,
    INTERPRETED_STEPS = 1000000,
    INTERPRETED_BYTES_BETWEEN_LOOKS = 8 << 20,
    LINE_MAX_MS = 1000,
    SHORT_LINE_BYTES = 128,
    FIRST_STARTS = 64, /* in a line of LONG_LINE_BYTES, and fewer in a longer one */
    LONG_LINE_BYTES = 4096,
    MAX_STARTS = 64 << 10,
    SLOW_MS = 4,
    CALLS_BETWEEN_LOOKS = 16,
    FIRST_STACK_BYTES = 32 << 10,
};

struct engine {
    const struct pattern *pattern;
    const struct cancel *cancel;
    size_t max_line_bytes;
    unsigned calls; /* since the token was looked at */
    /* Of the line that is being matched: */
    size_t line_bytes;
    size_t bytes_since_look; /* that the interpreter may have gone over */
    int64_t ends_ms;         /* on the thread's own time; 0: not begun to count */
    int why;                 /* that it was stopped */
    pcre2_match_data *match;
    pcre2_match_context *context;
    pcre2_jit_stack *stack;
};

static bool is_too_costly(int result)
{
    return result == PCRE2_ERROR_MATCHLIMIT || result == PCRE2_ERROR_DEPTHLIMIT ||
           result == PCRE2_ERROR_HEAPLIMIT || result == PCRE2_ERROR_JIT_STACKLIMIT ||
           result == PCRE2_ERROR_RECURSELOOP;
}

static uint32_t compiled_steps(size_t len)
{
    size_t steps = COMPILED_BYTES_TIMES_STEPS / (len + 1);

    if (steps < COMPILED_MIN_STEPS)
        return COMPILED_MIN_STEPS;
    return steps > COMPILED_MAX_STEPS ? COMPILED_MAX_STEPS : (uint32_t)steps;
}

/* CPU time of this thread: a busy machine makes no pattern expensive. */
static int64_t own_time_ms(void)
{
    struct timespec used;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return (int64_t)used.tv_sec * 1000 + used.tv_nsec / 1000000;
}

static bool is_ascii(const char *line, size_t len)
{
    const uint64_t high_bits = 0x8080808080808080U;
    size_t i = 0;
    uint64_t seen = 0;

    for (; len - i >= sizeof(uint64_t); i += sizeof(uint64_t)) {
        uint64_t word;

        memcpy(&word, line + i, sizeof(word));
        seen |= word;
    }
    for (; i < len; i++)
        seen |= (uint64_t)(unsigned char)line[i];
    return (seen & high_bits) == 0;
}

/* JIT code for the line; NULL if there is none. */
static const pcre2_code *compiled_for(const struct engine *engine, const char *line, size_t len)
{
    const struct pattern *pattern = engine->pattern;

    if (pattern->ascii_code != NULL && is_ascii(line, len))
        return pattern->ascii_code;
    return pattern->has_jit ? pattern->code : NULL;
}

static const pcre2_code *interpreted(const struct pattern *pattern)
{
    return pattern->watched_code != NULL ? pattern->watched_code : pattern->code;
}

static bool is_time_over(struct engine *engine)
{
    int64_t now_ms = own_time_ms();

    if (engine->ends_ms == 0)
        engine->ends_ms = now_ms + LINE_MAX_MS;
    return now_ms >= engine->ends_ms;
}

/* Called before each part of the pattern that the interpreter tries. */
static int on_callout(pcre2_callout_block *block, void *data)
{
    struct engine *engine = data;

    (void)block;
    engine->bytes_since_look += engine->line_bytes;
    if (engine->bytes_since_look < INTERPRETED_BYTES_BETWEEN_LOOKS)
        return 0;
    engine->bytes_since_look = 0;
    engine->why = cancel_check(engine->cancel);
    if (engine->why == 0 && is_time_over(engine))
        engine->why = ERR_PATTERN_COST;
    return engine->why < 0 ? PCRE2_ERROR_CALLOUT : 0;
}

/* Matches that start between `from` and `until`, or anywhere after with PCRE2_UNSET. */
static int match_from(struct engine *engine, const pcre2_code *compiled, const char *line,
                      size_t len, size_t from, size_t until)
{
    int result = PCRE2_ERROR_MATCHLIMIT;

    pcre2_set_offset_limit(engine->context, until);
    if (compiled != NULL) {
        pcre2_set_match_limit(engine->context, compiled_steps(len));
        /* The text need not be valid: the pattern was compiled with MATCH_INVALID_UTF. */
        result = pcre2_jit_match(compiled, (PCRE2_SPTR)line, len, from, 0, engine->match,
                                 engine->context);
    }
    if (is_too_costly(result)) {
        /* Slow enough to look at the token after each line. */
        engine->calls = CALLS_BETWEEN_LOOKS - 1;
        pcre2_set_match_limit(engine->context, INTERPRETED_STEPS);
        result = pcre2_match(interpreted(engine->pattern), (PCRE2_SPTR)line, len, from,
                             PCRE2_NO_JIT, engine->match, engine->context);
    }
    return result;
}

static int look_at_token(struct engine *engine)
{
    engine->calls = 0;
    return cancel_check(engine->cancel);
}

/* The first byte of the next character, or of an invalid one. */
static size_t next_character(const char *line, size_t len, size_t at)
{
    size_t most = at + 4 < len ? at + 4 : len;

    at++;
    while (at < most && ((unsigned char)line[at] & 0xC0) == 0x80)
        at++;
    return at;
}

/* Tries a few starting places at a time. */
static int match_long(struct engine *engine, const char *line, size_t len, int *out_result)
{
    const pcre2_code *compiled = compiled_for(engine, line, len);
    size_t starts = len > LONG_LINE_BYTES ? FIRST_STARTS * LONG_LINE_BYTES / len : FIRST_STARTS;
    size_t from = 0;

    engine->ends_ms = own_time_ms() + LINE_MAX_MS;

    for (;;) {
        size_t until = from + starts; /* itself included */
        int64_t began_ms = own_time_ms();
        int64_t took_ms;
        int r;

        *out_result =
            match_from(engine, compiled, line, len, from, until < len ? until : PCRE2_UNSET);
        if (*out_result != PCRE2_ERROR_NOMATCH || until >= len)
            return 0;
        r = look_at_token(engine);
        if (r < 0)
            return r;
        from = next_character(line, len, until);
        took_ms = own_time_ms() - began_ms;
        if (began_ms + took_ms >= engine->ends_ms)
            return ERR_PATTERN_COST;
        if (took_ms == 0 && starts < MAX_STARTS)
            starts = starts * 2 + 1;
        else if (took_ms >= SLOW_MS)
            starts /= 2;
    }
}

int engine_new(const struct pattern *pattern, const struct cancel *cancel,
               struct engine **out_engine)
{
    struct engine *engine = calloc(1, sizeof(*engine));
    uint32_t last_group = 0; /* that the pattern compares with */

    if (engine == NULL)
        return ERR_NO_MEMORY;
    engine->pattern = pattern;
    pcre2_pattern_info(pattern->code, PCRE2_INFO_BACKREFMAX, &last_group);
    engine->max_line_bytes = last_group > 0 ? ENGINE_MAX_COMPARED_BYTES : ENGINE_MAX_LINE_BYTES;
    engine->cancel = cancel;
    engine->match = pcre2_match_data_create(1, NULL);
    engine->context = pcre2_match_context_create(NULL);
    if (pattern->has_jit)
        engine->stack = pcre2_jit_stack_create(FIRST_STACK_BYTES, ENGINE_MAX_STACK_BYTES, NULL);
    if (engine->match == NULL || engine->context == NULL ||
        (pattern->has_jit && engine->stack == NULL)) {
        engine_free(engine);
        return ERR_NO_MEMORY;
    }
    pcre2_set_heap_limit(engine->context, ENGINE_MAX_HEAP_KB);
    pcre2_set_callout(engine->context, on_callout, engine);
    if (pattern->has_jit)
        pcre2_jit_stack_assign(engine->context, NULL, engine->stack);
    *out_engine = engine;
    return 0;
}

void engine_free(struct engine *engine)
{
    if (engine == NULL)
        return;
    pcre2_match_data_free(engine->match);
    pcre2_match_context_free(engine->context);
    pcre2_jit_stack_free(engine->stack);
    free(engine);
}

int engine_match(struct engine *engine, const char *line, size_t len,
                 struct engine_match *out_match)
{
    const PCRE2_SIZE *bounds = pcre2_get_ovector_pointer(engine->match);
    int result;
    int r = 0;

    if (len > engine->max_line_bytes)
        return ERR_TOO_LARGE;
    if (++engine->calls >= CALLS_BETWEEN_LOOKS)
        r = look_at_token(engine);
    if (r < 0)
        return r;
    engine->line_bytes = len;
    engine->bytes_since_look = 0;
    engine->ends_ms = 0;
    if (len <= SHORT_LINE_BYTES)
        result = match_from(engine, compiled_for(engine, line, len), line, len, 0, PCRE2_UNSET);
    else
        r = match_long(engine, line, len, &result);
    if (r < 0)
        return r;
    if (result == PCRE2_ERROR_NOMATCH) {
        *out_match = (struct engine_match){.is_match = false};
        return 0;
    }
    if (result == PCRE2_ERROR_CALLOUT)
        return engine->why;
    if (is_too_costly(result))
        return ERR_PATTERN_COST;
    if (result < 0)
        return result == PCRE2_ERROR_NOMEMORY ? ERR_NO_MEMORY : ERR_INTERNAL;
    /* \K may put the start anywhere. */
    *out_match =
        (struct engine_match){true, bounds[0] < bounds[1] ? bounds[0] : bounds[1], bounds[1]};
    return 0;
}
