/* SPDX-License-Identifier: Apache-2.0 */
#include "authority/glob_internal.h"

static struct glob_shape shape_of(const struct glob_component *components, size_t count)
{
    struct glob_shape shape = {.components = components, .kind = GLOB_LAST_ANY};
    const struct glob_component *last;

    if (count == 0)
        return shape;
    last = &components[count - 1];
    while (shape.fixed_count < count - 1 && components[shape.fixed_count].kind == GLOB_EQUAL)
        shape.fixed_count++;
    if (last->kind == GLOB_EQUAL) {
        shape.kind = GLOB_LAST_IS;
        shape.last = last->head;
    } else if (last->kind == GLOB_ENDS && last->tail.len > 0) {
        shape.kind = GLOB_LAST_ENDS;
        shape.last = last->tail;
    }
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
