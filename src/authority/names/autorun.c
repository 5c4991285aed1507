/* SPDX-License-Identifier: Apache-2.0 */
#include "authority/names/autorun.h"

#include <string.h>
#include <strings.h>

#include "base/cleanup.h"

/* man/gatehouse-mcp.1 lists all of these. Every one has a component that begins with a dot. */

/* Files, with as much of their path as needed. */
static const struct str names[] = {
    STR_LITERAL(".bashrc"),
    STR_LITERAL(".bash_profile"),
    STR_LITERAL(".bash_login"),
    STR_LITERAL(".bash_logout"),
    STR_LITERAL(".bash_aliases"),
    STR_LITERAL(".profile"),
    STR_LITERAL(".zshrc"),
    STR_LITERAL(".zshenv"),
    STR_LITERAL(".zprofile"),
    STR_LITERAL(".zlogin"),
    STR_LITERAL(".zlogout"),
    STR_LITERAL(".config/fish/config.fish"),
    STR_LITERAL(".xprofile"),
    STR_LITERAL(".xinitrc"),
    STR_LITERAL(".xsession"),
    STR_LITERAL(".xsessionrc"),
    STR_LITERAL(".gitconfig"),
    STR_LITERAL(".config/git/config"),
    STR_LITERAL(".gdbinit"),
    STR_LITERAL(".vimrc"),
    STR_LITERAL(".exrc"),
    STR_LITERAL(".ripgreprc"),
    STR_LITERAL(".mcp.json"),
    STR_LITERAL(".cursor/mcp.json"),
    STR_LITERAL(".vscode/mcp.json"),
    STR_LITERAL(".vscode/settings.json"),
    STR_LITERAL(".vscode/tasks.json"),
    STR_LITERAL(".claude/settings.json"),
    STR_LITERAL(".claude/settings.local.json"),
};

/* These folders, and everything in them. */
static const struct str folders[] = {
    STR_LITERAL(".claude/agents"),        STR_LITERAL(".claude/commands"),
    STR_LITERAL(".claude/hooks"),         STR_LITERAL(".config/autostart"),
    STR_LITERAL(".config/environment.d"), STR_LITERAL(".config/fish/conf.d"),
    STR_LITERAL(".config/systemd/user"),  STR_LITERAL(".local/bin"),
};

static bool is_same(struct str a, struct str b)
{
    return a.len == b.len && strncasecmp(a.ptr, b.ptr, a.len) == 0;
}

/* Whether the path is `name`, or ends with it after a slash. */
static bool ends_with(struct str path, struct str name)
{
    return path.len >= name.len && is_same(str_slice(path, path.len - name.len, name.len), name) &&
           (path.len == name.len || path.ptr[path.len - name.len - 1] == '/');
}

/* Of a repository, of its submodules, and of its other work trees. */
static bool is_of_git(struct str path)
{
    struct str rest = path;
    struct str part;
    struct str last = STR_EMPTY;
    bool is_inside = false;

    while (str_cut(&rest, '/', &part)) {
        if (is_inside && is_same(part, STR("hooks")))
            return true;
        is_inside = is_inside || is_same(part, STR(".git"));
        last = part;
    }
    /* Files of the last two names say where the repository is. */
    return is_inside && (is_same(last, STR("config")) || is_same(last, STR("config.worktree")) ||
                         is_same(last, STR("commondir")) || is_same(last, STR(".git")));
}

static bool is_in_folder(struct str path)
{
    for (size_t len = path.len; len > 0; len--) {
        struct str folder = str_slice(path, 0, len);

        if (len < path.len && path.ptr[len] != '/')
            continue;
        for (size_t i = 0; i < array_size(folders); i++)
            if (ends_with(folder, folders[i]))
                return true;
    }
    return false;
}

bool autorun_is_path(struct str path)
{
    if (path.len == 0 || (path.ptr[0] != '.' && memmem(path.ptr, path.len, "/.", 2) == NULL))
        return false;
    for (size_t i = 0; i < array_size(names); i++)
        if (ends_with(path, names[i]))
            return true;
    return is_of_git(path) || is_in_folder(path);
}
