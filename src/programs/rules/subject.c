/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/rules/subject.h"

#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/buf.h"
#include "permission/commandline/commandline.h"
#include "permission/rules/rule.h"

enum { MAX_PATH_DIRS = 256, MATCH_MAX_BYTES = 256 << 10 };

bool subject_is_file(enum catalog_group group)
{
    return group == CATALOG_FILESYSTEM_READ || group == CATALOG_FILESYSTEM_WRITE;
}

static int copy(struct arena *arena, const struct buf *text, struct str *out_copy, struct err *err)
{
    const char *bytes = arena_copy(arena, buf_view(text));

    if (bytes == NULL)
        return err_set_plain(err, arena->error);
    *out_copy = (struct str){bytes, text->len};
    return 0;
}

int subject_path(struct arena *arena, struct str given, struct str *out_path, struct err *err)
{
    cleanup_buf struct buf text = BUF_INIT(MATCH_MAX_BYTES);
    char directory[PATH_MAX];

    if (given.len > 0 && given.ptr[0] == '~')
        return err_set(
            err, ERR_INVALID_ARGUMENT,
            "only the shell expands '~': put it outside the quotes, or write the full path");
    if (given.len == 0 || given.ptr[0] == '/') {
        *out_path = given;
        return 0;
    }
    if (getcwd(directory, sizeof(directory)) == NULL)
        return err_set(err, ERR_NOT_FOUND,
                       "the current directory no longer exists: give an absolute path");
    while (str_starts_with(given, STR("./")))
        given = str_slice(given, 2, given.len);
    if (buf_printf(&text, "%s", directory) < 0 ||
        (!str_eq(given, STR(".")) &&
         (buf_append_char(&text, '/') < 0 || buf_append_str(&text, given) < 0)))
        return err_set_plain(err, ERR_NO_MEMORY);
    return copy(arena, &text, out_path, err);
}

int subject_command(struct arena *arena, struct str given, struct str *out_command, struct err *err)
{
    const char *dirs[MAX_PATH_DIRS + 1] = {NULL};
    const char *path = getenv("PATH");
    struct str rest = path != NULL ? str_from(path) : STR_CUT_END;
    struct str dir;
    size_t count = 0;
    bool is_as_is;
    int r;

    while (count < MAX_PATH_DIRS && str_cut(&rest, ':', &dir)) {
        if (dir.len == 0 || dir.ptr[0] != '/')
            continue;
        dirs[count] = arena_copy(arena, dir);
        if (dirs[count++] == NULL)
            return err_set_plain(err, arena->error);
    }
    r = command_normalise(arena, given, dirs, false, out_command, &is_as_is);
    return r < 0 ? err_set_plain(err, r) : 0;
}

int subject_resource(struct arena *arena, enum catalog_group group, struct str given,
                     struct str *out_resource, struct err *err)
{
    if (subject_is_file(group))
        return subject_path(arena, given, out_resource, err);
    if (group == CATALOG_SHELL)
        return subject_command(arena, given, out_resource, err);
    *out_resource = given;
    return 0;
}

static bool has_marker(struct str given)
{
    for (enum rule_kind kind = RULE_EXACT; kind <= RULE_HOST; kind++)
        if (str_starts_with(given, rule_marker(kind)))
            return true;
    return false;
}

static int check_path(struct str given, struct err *err)
{
    if (str_find(given, STR("*")) != SIZE_MAX || str_find(given, STR("?")) != SIZE_MAX)
        return err_set(err, ERR_INVALID_ARGUMENT,
                       "'%.*s' has a wildcard, but no marker: did you mean 'glob:%.*s'? Use "
                       "'exact:' for a file of this very name",
                       STR_ARG(given), STR_ARG(given));
    if (given.len == 0 || given.ptr[0] == '~')
        return 0; /* refused elsewhere */
    if (given.ptr[0] != '/')
        return err_set(
            err, ERR_INVALID_ARGUMENT,
            "'%.*s' is not an absolute path: did you mean 'glob:**/%.*s' for all files of "
            "this name? Use 'exact:' for the one in the current directory",
            STR_ARG(given), STR_ARG(given));
    if (given.len > 1 && str_ends_with(given, STR("/")))
        return err_set(err, ERR_INVALID_ARGUMENT,
                       "'%.*s' is a folder: did you mean 'dir:%.*s', with everything in it? Use "
                       "'exact:' for the folder itself",
                       STR_ARG(given), STR_ARG(given));
    return 0;
}

int subject_check_meaning(enum catalog_group group, bool is_denied, struct str given,
                          struct err *err)
{
    if (has_marker(given))
        return 0;
    if (subject_is_file(group))
        return check_path(given, err);
    if (group == CATALOG_SHELL && (is_denied || str_find(given, STR("*")) != SIZE_MAX))
        return err_set(err, ERR_INVALID_ARGUMENT,
                       "without a marker, the rule is only for the command '%.*s' without further "
                       "words: did you mean 'prefix:%.*s'? Use 'exact:' for this command alone",
                       STR_ARG(given),
                       STR_ARG(str_trim(str_slice(given, 0, str_find(given, STR("*"))))));
    return 0;
}

int subject_match(struct arena *arena, enum catalog_group group, struct str given,
                  struct str *out_match, struct err *err)
{
    static const enum rule_kind kinds[] = {RULE_EXACT, RULE_DIR, RULE_GLOB, RULE_PREFIX, RULE_HOST};
    cleanup_buf struct buf text = BUF_INIT(MATCH_MAX_BYTES);
    struct str marker = STR_EMPTY;
    struct str resource;
    int r;

    for (size_t i = 0; i < array_size(kinds); i++) {
        if (!str_starts_with(given, rule_marker(kinds[i])))
            continue;
        marker = rule_marker(kinds[i]);
        if (kinds[i] == RULE_GLOB || kinds[i] == RULE_HOST) {
            *out_match = given;
            return 0;
        }
    }
    r = subject_resource(arena, group, str_slice(given, marker.len, given.len), &resource, err);
    if (r < 0)
        return r;
    if (buf_append_str(&text, marker) < 0 || buf_append_str(&text, resource) < 0)
        return err_set_plain(err, ERR_TOO_LARGE);
    return copy(arena, &text, out_match, err);
}
