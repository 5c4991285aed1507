/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Evaluates ignore rules for test_ignore.py. Standard input has these lines, each followed by as
 * many bytes as it names:
 *
 *     new                                   forget all layers
 *     rules DIRECTORY-BYTES CONTENT-BYTES   from above to below
 *     ask IS-DIRECTORY NAME-BYTES           answered by one letter: n, i or + for included
 */
#include <stdio.h>

#include "authority/names/ignore.h"
#include "authority/names/path.h"
#include "base/buf.h"
#include "ignore_alone.h"

enum { MAX_PLACES = 256, INPUT_MAX_BYTES = 64 << 20 };

struct place {
    struct str directory;
    struct ignore_layer *layer;
};

struct answers {
    struct str input;
    struct place places[MAX_PLACES];
    size_t count;
};

static void forget(struct answers *answers)
{
    while (answers->count > 0)
        ignore_layer_unref(answers->places[--answers->count].layer);
}

/* Of those that hold the name the last one that was told lies deepest. */
static struct ignore_layer *layer_for(const struct answers *answers, struct str name)
{
    for (size_t i = answers->count; i > 0; i--)
        if (path_is_within(name, answers->places[i - 1].directory))
            return answers->places[i - 1].layer;
    return NULL;
}

static struct str take(struct answers *answers, size_t len)
{
    struct str taken = str_slice(answers->input, 0, len);

    answers->input = str_slice(answers->input, len, answers->input.len);
    return taken;
}

static int add_rules(struct answers *answers, size_t directory_len, size_t content_len)
{
    struct str directory = take(answers, directory_len);
    struct str content = take(answers, content_len);
    struct err err = ERR_INIT;
    struct place place = {.directory = directory};

    if (answers->count == MAX_PLACES || ignore_layer_parse(layer_for(answers, directory), directory,
                                                           content, &place.layer, &err) < 0) {
        fprintf(stderr, "ignore_answers: %s\n", err.message);
        return -1;
    }
    answers->places[answers->count++] = place;
    return 0;
}

/* What the line says behind its first word. */
static bool read_lengths(struct str line, size_t out_lengths[2])
{
    struct str part;

    if (!str_cut(&line, ' ', &part))
        return false;
    for (size_t i = 0; i < 2; i++) {
        int64_t number;

        if (!str_cut(&line, ' ', &part) || !str_to_int64(part, &number))
            return false;
        out_lengths[i] = (size_t)number;
    }
    return true;
}

static int answer_line(struct answers *answers, struct str line)
{
    size_t lengths[2];
    struct str name;

    if (str_eq(line, STR("new"))) {
        forget(answers);
        return 0;
    }
    if (!read_lengths(line, lengths))
        return -1;
    if (str_starts_with(line, STR("rules ")))
        return add_rules(answers, lengths[0], lengths[1]);
    name = take(answers, lengths[1]);
    putchar("ni+"[ignore_decide_alone(layer_for(answers, name), name, lengths[0] != 0)]);
    return 0;
}

int main(void)
{
    cleanup_buf struct buf input = BUF_INIT(INPUT_MAX_BYTES);
    struct answers answers = {.count = 0};
    struct str line;
    size_t got;
    int r = 0;

    do {
        if (buf_reserve(&input, 65536) < 0)
            return 1;
        got = fread(input.data + input.len, 1, 65536, stdin);
        input.len += got;
    } while (got > 0);
    answers.input = buf_view(&input);
    while (r == 0 && answers.input.len > 0) {
        str_cut(&answers.input, '\n', &line);
        r = answer_line(&answers, line);
    }
    forget(&answers);
    return r == 0 ? 0 : 1;
}
