/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Options from every source. The input is split at NUL bytes: a piece that begins with '@' is a
 * variable, any other an argument. The values must be valid by the table, and messages printable.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../support/option_sample.h"
#include "base/options/help.h"
#include "base/options/options.h"
#include "base/utf8.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX_PIECES = 64, ARENA_MAX = 4 << 20 };

struct pieces {
    char *words[MAX_PIECES + 2];
    int word_count;
    char *env[MAX_PIECES + 1];
    size_t env_count;
};

static void cut(char *text, size_t size, struct pieces *out)
{
    char *end = text + size;

    out->words[out->word_count++] = text + size;
    for (int i = 0; i < MAX_PIECES && text < end; i++) {
        if (text[0] == '@')
            out->env[out->env_count++] = text + 1;
        else
            out->words[out->word_count++] = text;
        text += strlen(text) + 1;
    }
}

static void check_message(int r, const struct err *err)
{
    struct str text = str_from(err->message);

    assert(r == err->code);
    assert(r == ERR_UNKNOWN_OPTION || r == ERR_INVALID_OPTION || r == ERR_NO_MEMORY);
    assert(text.len > 0);
    while (text.len > 0) {
        uint32_t c;

        assert(utf8_next(&text, &c) && utf8_is_printable(c));
    }
    assert(utf8_is_valid(str_from(err->field)));
}

static void check_values(const struct option_values *values)
{
    for (const struct option_values *v = values; v != NULL; v = v->above) {
        for (size_t i = 0; i < v->command->option_count; i++) {
            const struct option *row = &v->command->options[i];

            assert(options_source(v, i) >= (row->fallback != NULL ? OPTION_DEFAULT : OPTION_UNSET));
            if (row->type == OPTION_CHOICE)
                assert(strcmp(row->choices[options_choice(v, i)], options_text(v, i)) == 0);
            if ((row->type == OPTION_INT || row->type == OPTION_BYTES) && row->max != 0 &&
                options_source(v, i) != OPTION_UNSET)
                assert(options_int(v, i) >= row->min && options_int(v, i) <= row->max);
            if (row->type == OPTION_TEXT && options_text(v, i) != NULL)
                assert(utf8_is_valid(str_from(options_text(v, i))));
            for (size_t j = 0; row->type == OPTION_LIST && j < options_list(v, i).count; j++)
                assert(options_list(v, i).items[j][0] != '\0');
        }
    }
}

static void run(struct arena *arena, struct pieces *pieces)
{
    struct option_values *values;
    struct err err = ERR_INIT;
    cleanup_buf struct buf page = BUF_INIT(1 << 16);
    int r;

    r = options_read_args(arena, &sample_program, pieces->word_count, pieces->words, &values, &err);
    if (r < 0) {
        check_message(r, &err);
        return;
    }
    check_values(values);
    assert(options_help(values, pieces->env_count * 8, &page) == 0);
    r = options_read_env(values, pieces->env, &err);
    if (r < 0)
        check_message(r, &err);
    check_values(values);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup_arena struct arena arena = ARENA_INIT(ARENA_MAX);
    cleanup_free char *text = malloc(size + 1);
    struct pieces pieces = {.word_count = 0};

    assert(text != NULL);
    if (size > 0)
        memcpy(text, data, size);
    text[size] = '\0';
    cut(text, size, &pieces);
    run(&arena, &pieces);
    return 0;
}
