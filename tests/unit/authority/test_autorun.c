/* SPDX-License-Identifier: Apache-2.0 */
/* Which names stand for files that other programs run by themselves. */
#include "test.h"

#include "authority/names/autorun.h"

static void expect_all(const char *const *paths, size_t count, bool runs)
{
    for (size_t i = 0; i < count; i++)
        if (autorun_is_path(str_from(paths[i])) != runs)
            fail_msg("%s runs%s by itself", paths[i], runs ? " not" : "");
}

static void hooks_settings_and_start_up_files_run(void **state)
{
    static const char *const paths[] = {
        ".git/hooks/pre-commit",
        ".git/hooks",
        "/w/a/.git/config",
        "/w/a/.GIT/Config",
        ".git",
        "a/.git",
        ".git/config.worktree",
        ".git/commondir",
        ".git/modules/lib/config",
        ".git/modules/libs/x/hooks/post-checkout",
        ".git/worktrees/x/config.worktree",
        ".bashrc",
        "/w/.zshenv",
        ".gitconfig",
        ".config/git/config",
        ".config/autostart/x.desktop",
        "/w/.local/bin/ls",
        ".vscode/tasks.json",
        ".mcp.json",
        ".claude/commands/x.md",
        ".claude/settings.local.json",
    };

    (void)state;
    expect_all(paths, array_size(paths), true);
}

static void others_do_not(void **state)
{
    static const char *const paths[] = {
        "",
        ".",
        "config",
        "hooks/pre-commit",
        "a/config",
        "a.git/config",
        ".gitignore",
        ".gitattributes",
        ".github/workflows/ci.yml",
        ".git/HEAD",
        ".git/index",
        ".git/COMMIT_EDITMSG",
        ".git/objects/ab/cdef",
        ".vscode/extensions.json",
        "bashrc",
        "x.bashrc",
        "local/bin/ls",
        ".config/app/config",
        ".claude/notes.md",
        "src/.hidden",
    };

    (void)state;
    expect_all(paths, array_size(paths), false);
}

TEST_MAIN(cmocka_unit_test(hooks_settings_and_start_up_files_run), cmocka_unit_test(others_do_not))
