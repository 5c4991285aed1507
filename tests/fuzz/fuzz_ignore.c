/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A name, a NUL, the rules of its topmost directory, the byte 0x1C, the rules of the next one:
 * parsing and deciding end, and short rules decide as the reference does.
 */
#include <assert.h>
#include <stdint.h>

#include "../support/ignore_alone.h"
#include "../support/ignore_reference.h"
#include "authority/names/ignore.h"
#include "authority/names/path.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
    /* The reference takes exponential time. */
    LONGEST_COMPARED = 24,
    MOST_STARS_COMPARED = 5,
};

static bool is_comparable(struct str content)
{
    struct str line;

    /* What is so short reaches no ceiling. */
    if (content.len > IGNORE_MAX_RULES)
        return false;
    while (str_cut(&content, '\n', &line)) {
        size_t stars = 0;

        for (size_t i = 0; i < line.len; i++)
            stars += line.ptr[i] == '*';
        if (line.len > LONGEST_COMPARED || stars > MOST_STARS_COMPARED)
            return false;
    }
    return true;
}

static struct ignore_layer *read_layer(struct ignore_layer *parent, struct str directory,
                                       struct str content)
{
    struct ignore_layer *layer = NULL;
    struct err err = ERR_INIT;
    int r = ignore_layer_parse(parent, directory, content, &layer, &err);

    if (r < 0)
        assert(r == ERR_TOO_LARGE && err.message[0] != '\0' && layer == NULL);
    return r < 0 ? ignore_layer_ref(parent) : layer;
}

static void check_name(const struct ignore_layer *layer, struct str above, struct str below,
                       struct str name, bool is_dir)
{
    enum ignore_decision decision = ignore_decide(layer, name, is_dir);
    enum ignore_decision wanted = IGNORE_NONE;
    struct str rest = name;

    assert(ignore_decide_alone(layer, name, is_dir) == decision ||
           ignore_decide_alone(layer, name, is_dir) == IGNORE_IGNORED);
    if (name.len > LONGEST_COMPARED || !is_comparable(above) || !is_comparable(below))
        return;
    path_take(&rest);
    if (rest.len > 0)
        wanted = ignore_reference_decide(below, rest, is_dir);
    if (wanted == IGNORE_NONE)
        wanted = ignore_reference_decide(above, name, is_dir);
    assert(decision == wanted);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup_ignore_layer struct ignore_layer *top = NULL;
    cleanup_ignore_layer struct ignore_layer *layer = NULL;
    struct str content = {(const char *)data, size};
    struct path_name name;
    struct str given, above, below, rest;

    if (size == 0)
        return 0;
    str_cut(&content, '\0', &given);
    if (content.ptr == NULL || path_normalise(given, "/", false, &name) < 0 || name.len == 0)
        return 0;
    str_cut(&content, '\x1c', &above);
    below = content.ptr == NULL ? STR_EMPTY : content;

    rest = path_view(&name);
    top = read_layer(NULL, STR(""), above);
    layer = read_layer(top, path_take(&rest), below);
    check_name(layer, above, below, path_view(&name), false);
    check_name(layer, above, below, path_view(&name), true);
    return 0;
}
