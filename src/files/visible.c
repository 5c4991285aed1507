/* SPDX-License-Identifier: Apache-2.0 */
#include "files/visible.h"

#include "base/cleanup.h"

static const struct str shown_dot_names[] = {
    STR_LITERAL(".babelrc"),       STR_LITERAL(".browserslistrc"),
    STR_LITERAL(".dockerignore"),  STR_LITERAL(".editorconfig"),
    STR_LITERAL(".env"),           STR_LITERAL(".env.example"),
    STR_LITERAL(".eslintrc"),      STR_LITERAL(".eslintrc.js"),
    STR_LITERAL(".eslintrc.json"), STR_LITERAL(".gitignore"),
    STR_LITERAL(".node-version"),  STR_LITERAL(".npmrc"),
    STR_LITERAL(".nvmrc"),         STR_LITERAL(".prettierrc"),
    STR_LITERAL(".prettierrc.js"), STR_LITERAL(".prettierrc.json"),
};

static const struct str version_control_names[] = {
    STR_LITERAL(".git"), STR_LITERAL(".hg"),    STR_LITERAL(".svn"), STR_LITERAL(".bzr"),
    STR_LITERAL(".jj"),  STR_LITERAL(".pijul"), STR_LITERAL("CVS"),  STR_LITERAL("_darcs"),
};

static const struct str excluded_names[] = {
    STR_LITERAL("node_modules"), STR_LITERAL("dist"),        STR_LITERAL("build"),
    STR_LITERAL("coverage"),     STR_LITERAL("__pycache__"), STR_LITERAL(".venv"),
    STR_LITERAL("venv"),         STR_LITERAL(".vscode"),     STR_LITERAL(".idea"),
    STR_LITERAL(".next"),        STR_LITERAL(".nuxt"),       STR_LITERAL(".cache"),
    STR_LITERAL(".turbo"),       STR_LITERAL(".output"),     STR_LITERAL(".svelte-kit"),
};

static bool is_one_of(struct str name, const struct str *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (str_eq(name, names[i]))
            return true;
    return false;
}

static bool is_version_control(struct str component)
{
    return is_one_of(component, version_control_names, array_size(version_control_names));
}

bool visible_is_excluded(struct str component)
{
    return is_version_control(component) ||
           is_one_of(component, excluded_names, array_size(excluded_names));
}

bool visible_names_excluded(const struct nameglob *glob)
{
    for (size_t i = 0; i < array_size(version_control_names); i++)
        if (nameglob_names(glob, version_control_names[i]))
            return true;
    for (size_t i = 0; i < array_size(excluded_names); i++)
        if (nameglob_names(glob, excluded_names[i]))
            return true;
    return false;
}

bool visible_in_list(struct str component, enum authority_type type)
{
    return type == AUTHORITY_FILE ||
           (type == AUTHORITY_DIRECTORY && !is_version_control(component));
}

bool visible_in_tree(struct str component, enum authority_type type)
{
    return visible_in_list(component, type) &&
           (type != AUTHORITY_DIRECTORY || !visible_is_excluded(component));
}

bool visible_is_hidden(struct str component)
{
    return component.len > 0 && component.ptr[0] == '.' &&
           !is_one_of(component, shown_dot_names, array_size(shown_dot_names));
}

struct str visible_last(struct str name)
{
    const char *slash = name.len > 0 ? memrchr(name.ptr, '/', name.len) : NULL;

    return slash == NULL ? name : str_slice(name, (size_t)(slash - name.ptr) + 1, name.len);
}
