/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/workspace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/mcp.h"
#include "cli/sandbox.h"
#include "cli/shared.h"

static const char *const nets[] = {
    [SANDBOX_NET_NONE] = "none", [SANDBOX_NET_HOST] = "host", [SANDBOX_NET_HOST + 1] = NULL};

#define SHARED_ROWS                                                                                \
    [WORKSPACE_STATE_DIR] = {.name = "state-dir",                                                  \
                             .type = OPTION_DIR,                                                   \
                             .env = "GATEHOUSE_STATE_DIR",                                         \
                             .help = "directory of the audit log; the copies are beside it "       \
                                     "(default: ~/.local/state/gatehouse)"},                       \
    [WORKSPACE_AUDIT_SYNC] = {SHARED_AUDIT_SYNC}

const struct option workspace_shared_options[WORKSPACE_SHARED_OPTIONS] = {SHARED_ROWS};

static const struct option new_options[WORKSPACE_NEW_OPTIONS] = {
    SHARED_ROWS,
    [WORKSPACE_NEW_NAME] = {.name = "name",
                            .letter = 'n',
                            .type = OPTION_TEXT,
                            .placeholder = "NAME",
                            .help = "name of the workspace (default: that of the folder)"},
    [WORKSPACE_NEW_WITHOUT_GIT] = {.name = "without-git",
                                   .help = "leave the history in .git out of the copy"},
    [WORKSPACE_NEW_WITH_SENSITIVE] = {.name = "with-sensitive",
                                      .help = "also copy files that usually hold secrets (.env, "
                                              "private keys, tokens)"},
};

static const struct option ls_options[WORKSPACE_LS_OPTIONS] = {
    SHARED_ROWS,
    [WORKSPACE_LS_JSON] = {.name = "json", .help = "print JSON"},
};

static const struct option sh_options[WORKSPACE_SH_OPTIONS] = {
    SHARED_ROWS,
    [WORKSPACE_SH_NET] = {.name = "net",
                          .type = OPTION_CHOICE,
                          .choices = nets,
                          .fallback = "none",
                          .help = "none: only its own loopback; host: the host's network"},
};

static const struct option mcp_client_options[WORKSPACE_MCP_OPTIONS] = {
    SHARED_ROWS,
    [WORKSPACE_MCP_PRINT_CONFIG] = {MCP_ROW_PRINT_CONFIG},
    [WORKSPACE_MCP_INSTALL] = {MCP_ROW_INSTALL},
    [WORKSPACE_MCP_UNINSTALL] = {MCP_ROW_UNINSTALL},
    [WORKSPACE_MCP_NAME] = {.name = "name",
                            .type = OPTION_TEXT,
                            .placeholder = "NAME",
                            .group = "Clients",
                            .help =
                                "what the client calls the server (default: gatehouse-copy- and "
                                "the workspace's name)"},
    [WORKSPACE_MCP_YES] = {MCP_ROW_YES},
};

static const struct option diff_options[WORKSPACE_DIFF_OPTIONS] = {
    SHARED_ROWS,
    [WORKSPACE_DIFF_STAT] = {.name = "stat", .help = "print one line for each changed file"},
    [WORKSPACE_DIFF_JSON] = {.name = "json", .help = "print JSON"},
};

static const struct option apply_options[WORKSPACE_APPLY_OPTIONS] = {
    SHARED_ROWS,
    [WORKSPACE_APPLY_YES] = {.name = "yes", .letter = 'y', .help = "do not ask"},
    [WORKSPACE_APPLY_OVERWRITE] = {.name = "overwrite",
                                   .help =
                                       "also replace files of yours that have changed since the "
                                       "copy"},
};

static const struct option rm_options[WORKSPACE_RM_OPTIONS] = {
    SHARED_ROWS,
    [WORKSPACE_RM_FORCE] = {.name = "force",
                            .letter = 'f',
                            .help = "even if it has changes that were not applied"},
};

static const struct option_argument new_arguments[] = {
    {.name = "DIR",
     .type = OPTION_DIR,
     .is_optional = true,
     .help = "folder of the project (default: the current one)"},
};

#define NAME_ROW                                                                                   \
    {                                                                                              \
        .name = "NAME", .type = OPTION_TEXT, .names = "workspaces",                                \
        .help = "a workspace, as 'gatehouse workspace ls' "                                        \
                "shows it"                                                                         \
    }

static const struct option_argument name_arguments[] = {NAME_ROW};

static const struct option_argument sh_arguments[] = {
    NAME_ROW,
    {.name = "COMMAND",
     .type = OPTION_TEXT,
     .is_optional = true,
     .is_rest = true,
     .ends_options = true,
     .help = "the command and its arguments (default: your shell)"},
};

static const struct option_argument serving_arguments[] = {
    NAME_ROW,
    {.name = "OPTION",
     .type = OPTION_TEXT,
     .is_optional = true,
     .is_rest = true,
     .ends_options = true,
     .passes_to = "gatehouse mcp",
     .help = "options of 'gatehouse mcp', after --"},
};

static const struct option_argument cp_arguments[] = {
    {.name = "FROM", .type = OPTION_PATH, .help = "file or folder: PATH, or NAME:PATH"},
    {.name = "TO", .type = OPTION_PATH, .help = "where to: NAME:PATH, or PATH"},
};

static const struct option_argument changed_arguments[] = {
    NAME_ROW,
    {.name = "PATH",
     .type = OPTION_PATH,
     .is_optional = true,
     .is_rest = true,
     .help = "only these files and folders, as in the diff"},
};

static const struct option_argument rm_arguments[] = {
    {.name = "NAME",
     .type = OPTION_TEXT,
     .names = "workspaces",
     .is_rest = true,
     .help = "workspaces"},
};

const struct option_command workspace_commands[WORKSPACE_COMMANDS] = {
    [WORKSPACE_NEW] = {.name = "new",
                       .summary = "copy a project for an agent to work on, and print the name",
                       .options = new_options,
                       .option_count = WORKSPACE_NEW_OPTIONS,
                       .arguments = new_arguments,
                       .argument_count = array_size(new_arguments)},
    [WORKSPACE_LS] = {.name = "ls",
                      .alias = "list",
                      .summary = "list your workspaces",
                      .options = ls_options,
                      .option_count = WORKSPACE_LS_OPTIONS},
    [WORKSPACE_PATH] = {.name = "path",
                        .summary = "print the folder of a workspace",
                        .options = workspace_shared_options,
                        .option_count = WORKSPACE_SHARED_OPTIONS,
                        .arguments = name_arguments,
                        .argument_count = array_size(name_arguments)},
    [WORKSPACE_SH] = {.name = "sh",
                      .summary = "open a shell, or run a command, in a sandbox over the copy",
                      .options = sh_options,
                      .option_count = WORKSPACE_SH_OPTIONS,
                      .arguments = sh_arguments,
                      .argument_count = array_size(sh_arguments)},
    [WORKSPACE_MCP] = {.name = "mcp",
                       .summary =
                           "give an MCP client access to the copy, like 'gatehouse mcp --write'",
                       .options = mcp_client_options,
                       .option_count = WORKSPACE_MCP_OPTIONS,
                       .arguments = serving_arguments,
                       .argument_count = array_size(serving_arguments)},
    [WORKSPACE_CP] = {.name = "cp",
                      .summary = "copy files and folders into a workspace or out of it",
                      .options = workspace_shared_options,
                      .option_count = WORKSPACE_SHARED_OPTIONS,
                      .arguments = cp_arguments,
                      .argument_count = array_size(cp_arguments)},
    [WORKSPACE_DIFF] = {.name = "diff",
                        .summary = "show what was changed in a workspace",
                        .options = diff_options,
                        .option_count = WORKSPACE_DIFF_OPTIONS,
                        .arguments = changed_arguments,
                        .argument_count = array_size(changed_arguments)},
    [WORKSPACE_APPLY] = {.name = "apply",
                         .summary = "bring changes of a workspace into the project",
                         .options = apply_options,
                         .option_count = WORKSPACE_APPLY_OPTIONS,
                         .arguments = changed_arguments,
                         .argument_count = array_size(changed_arguments)},
    [WORKSPACE_UNDO] = {.name = "undo",
                        .summary = "undo the last apply of a workspace",
                        .options = workspace_shared_options,
                        .option_count = WORKSPACE_SHARED_OPTIONS,
                        .arguments = name_arguments,
                        .argument_count = array_size(name_arguments)},
    [WORKSPACE_RM] = {.name = "rm",
                      .alias = "remove",
                      .summary = "remove workspaces",
                      .options = rm_options,
                      .option_count = WORKSPACE_RM_OPTIONS,
                      .arguments = rm_arguments,
                      .argument_count = array_size(rm_arguments)},
};

/* ---- where they are ---- */

static bool is_letter_or_digit(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool workspace_is_name(const char *name)
{
    size_t len = strlen(name);

    if (len == 0 || len > WORKSPACE_NAME_BYTES || !is_letter_or_digit(name[0]))
        return false;
    for (size_t i = 0; i < len; i++)
        if (!is_letter_or_digit(name[i]) && name[i] != '-' && name[i] != '_')
            return false;
    return true;
}

int workspace_copies_dir(const char *state_path, char out_path[PATH_MAX], struct err *err)
{
    struct str path = str_from(state_path);

    while (path.len > 1 && path.ptr[path.len - 1] == '/')
        path.len--;
    if (snprintf(out_path, PATH_MAX, "%.*s-workspaces", STR_ARG(path)) >= PATH_MAX)
        return err_set(err, ERR_INVALID_PATH, "the state directory's path is too long");
    return 0;
}

int workspace_find_state(const char *given, char out_path[PATH_MAX], struct err *err)
{
    const char *state = getenv("XDG_STATE_HOME");
    const char *home = getenv("HOME");
    char directory[PATH_MAX] = "";
    int len = -1;

    if (given != NULL && given[0] != '/' && getcwd(directory, sizeof(directory)) == NULL)
        return err_set(err, ERR_NOT_FOUND, "the current directory no longer exists");
    if (given != NULL)
        len = snprintf(out_path, PATH_MAX, "%s%s%s", directory, given[0] != '/' ? "/" : "", given);
    else if (state != NULL && state[0] == '/')
        len = snprintf(out_path, PATH_MAX, "%s/gatehouse", state);
    else if (home != NULL && home[0] == '/')
        len = snprintf(out_path, PATH_MAX, "%s/.local/state/gatehouse", home);
    if (len < 0 || len >= PATH_MAX)
        return err_set(err, ERR_INVALID_ARGUMENT, "HOME is not an absolute path: use --state-dir");
    return 0;
}

int workspace_copy_path(const char *state_dir, const char *name, char out_path[PATH_MAX],
                        struct err *err)
{
    char state[PATH_MAX];
    char copies[PATH_MAX];
    int r;

    if (!workspace_is_name(name))
        return err_set(err, ERR_INVALID_ARGUMENT,
                       "not a name of a workspace: that is " WORKSPACE_NAME_RULE,
                       WORKSPACE_NAME_BYTES - 1);
    r = workspace_find_state(state_dir, state, err);
    if (r == 0)
        r = workspace_copies_dir(state, copies, err);
    if (r == 0 && snprintf(out_path, PATH_MAX, "%s/%s", copies, name) >= PATH_MAX)
        r = err_set(err, ERR_INVALID_PATH, "the state directory's path is too long");
    return r;
}
