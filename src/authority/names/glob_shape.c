/* SPDX-License-Identifier: Apache-2.0 */
#include "authority/names/glob_internal.h"

static struct glob_shape shape_of(const struct glob_component *components, size_t count)
{
    struct glob_shape shape = {.components = components};

    /* The last one is a part in any case: it is what tells one pattern from another. */
    while (shape.fixed_count + 1 < count && components[shape.fixed_count].kind == GLOB_EQUAL)
        shape.fixed_count++;
    shape.part_count = count - shape.fixed_count;
    return shape;
}

int glob_each_shape(const struct glob *glob,
                    int (*visit)(void *data, const struct glob_shape *shape), void *data)
{
    const struct glob_rules *rules = &glob->rules;
    struct glob_shape shape;
    int r = 0;

    if (rules->is_all) {
        shape = shape_of(NULL, 0);
        return visit(data, &shape);
    }
    for (const struct glob_anywhere *a = rules->anywhere; a != NULL && r == 0; a = a->next) {
        shape = shape_of(&a->component, 1);
        r = visit(data, &shape);
    }
    for (const struct glob_path *path = rules->paths; path != NULL && r == 0; path = path->next) {
        shape = shape_of(path->components, path->count);
        r = visit(data, &shape);
    }
    return r;
}

struct str glob_shape_fixed(const struct glob_shape *shape, size_t index)
{
    return shape->components[index].head;
}

enum glob_part glob_shape_part(const struct glob_shape *shape, size_t index, struct str *out_text)
{
    const struct glob_component *component = &shape->components[shape->fixed_count + index];

    switch (component->kind) {
    case GLOB_EQUAL:
        *out_text = component->head;
        return GLOB_PART_IS;
    case GLOB_ENDS:
        *out_text = component->tail;
        return GLOB_PART_ENDS;
    case GLOB_CODES:
    case GLOB_DEEP:
        break;
    }
    *out_text = STR_EMPTY;
    return GLOB_PART_ANY;
}
