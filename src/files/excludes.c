/* SPDX-License-Identifier: Apache-2.0 */
#include "files/excludes.h"

#include "authority/names/path.h"

/* "build/" and "build/(two stars)" leave out the directory itself: nothing of it would be shown. */
static struct str without_tail(struct str text)
{
    struct str kept = text;

    if (str_ends_with(kept, STR("/**")))
        kept.len -= STR("/**").len;
    while (str_ends_with(kept, STR("/")))
        kept.len--;
    return kept.len > 0 && !str_eq(kept, STR("**")) ? kept : text;
}

int excludes_read(struct tool_call *call, struct str start, struct excludes *out_excludes,
                  struct err *err)
{
    const struct str key = STR("excludePatterns");
    const struct json_value *list = json_get(call->arguments, key);
    struct excludes made = {.start = start};

    *out_excludes = made;
    if (list == NULL || list->size == 0)
        return 0;
    made.globs = arena_alloc_array(&call->arena, list->size, sizeof(*made.globs));
    if (made.globs == NULL)
        return err_set_plain(err, call->arena.error);
    json_each_item (item, list) {
        struct err why = ERR_INIT;
        int r = nameglob_compile(&call->arena, without_tail(json_str(item)), false,
                                 &made.globs[made.count++], &why);

        if (r < 0)
            return why.code == ERR_INVALID_ARGUMENT
                       ? err_set_field(err, r, key.ptr, "%s: %s", key.ptr, why.message)
                       : err_set_plain(err, r);
    }
    *out_excludes = made;
    return 0;
}

bool excludes_match(const struct excludes *excludes, struct str name)
{
    __attribute__((uninitialized)) struct path_name path;

    for (size_t i = 0; i < excludes->count; i++)
        if (nameglob_matches(&excludes->globs[i], name) ||
            (excludes->globs[i].has_slash && excludes->start.len > 0 &&
             path_join(excludes->start, name, &path) == 0 &&
             nameglob_matches(&excludes->globs[i], path_view(&path))))
            return true;
    return false;
}
