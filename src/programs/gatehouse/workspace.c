/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/gatehouse/workspace.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "cli/mcp.h"
#include "cli/sandbox.h"
#include "cli/workspace.h"
#include "programs/gatehouse/complain.h"
#include "programs/gatehouse/sandbox.h"
#include "programs/gatehouse/start.h"

enum { ARGS_MAX_BYTES = 4 << 20, FIXED_WORDS = 16, SERVER_BYTES = 64 };

static int find(const struct option_values *values, char path[PATH_MAX], struct err *err)
{
    return workspace_copy_path(options_text(values, WORKSPACE_STATE_DIR),
                               options_argument(values, 0), path, err);
}

/* The name has been checked, so this is a folder of ours. */
static int enter(const struct option_values *values, char path[PATH_MAX], struct err *err)
{
    const char *name = options_argument(values, 0);
    int r = find(values, path, err);

    if (r < 0)
        return r;
    if (chdir(path) < 0)
        return errno == ENOENT
                   ? err_set(err, ERR_NOT_FOUND,
                             "there is no workspace '%s': see 'gatehouse workspace ls'", name)
                   : err_set(err, err_from_errno(errno), "cannot use '%.200s': %s", path,
                             err_errno_text(errno));
    return 0;
}

/* SAFETY: options_read_args() takes words as argv has them and changes none. */
static char *word(const char *text)
{
    return (char *)(uintptr_t)text; /* NOLINT(performance-no-int-to-ptr): it was a pointer */
}

static int read_words(struct arena *arena, const struct option_command *program,
                      const struct option_values *values, struct option_values **out_values,
                      struct err *err)
{
    const char *shell = getenv("SHELL");
    size_t given = values->argument_count - 1;
    char **words = arena_alloc_array(arena, FIXED_WORDS + given + 2, sizeof(*words));
    size_t count = 0;

    if (words == NULL)
        return err_set_plain(err, arena->error);
    words[count++] = word(program->name);
    words[count++] = word("sandbox");
    words[count++] = word("run");
    words[count++] = word("--rw");
    words[count++] = word(".");
    words[count++] = word("--net");
    words[count++] = word(options_text(values, WORKSPACE_SH_NET));
    words[count++] = word("--");
    for (size_t i = 0; i < given; i++)
        words[count++] = word(values->arguments[i + 1]);
    if (given == 0)
        words[count++] = word(shell != NULL && shell[0] == '/' ? shell : "/bin/sh");
    words[count] = NULL;
    return options_read_args(arena, program, (int)count, words, out_values, err);
}

int workspace_shell(const struct option_command *program, struct option_values *values)
{
    cleanup_arena struct arena arena = ARENA_INIT(ARGS_MAX_BYTES);
    struct option_values *sandbox;
    struct err err = ERR_INIT;
    char path[PATH_MAX];
    int r = options_read_env(values, environ, &err);

    if (r == 0)
        r = enter(values, path, &err);
    if (r == 0)
        r = read_words(&arena, program, values, &sandbox, &err);
    if (r == 0)
        return sandbox_run(sandbox);
    complain("gatehouse workspace", err.message);
    return SANDBOX_EXIT_FAILED;
}

static bool is_given(const struct option_values *values, size_t option)
{
    return options_source(values, option) != OPTION_UNSET;
}

static bool is_for_client(const struct option_values *values)
{
    return is_given(values, WORKSPACE_MCP_PRINT_CONFIG) ||
           is_given(values, WORKSPACE_MCP_INSTALL) || is_given(values, WORKSPACE_MCP_UNINSTALL);
}

/* The client may have a server for the project itself, whose name is often the same. */
static const char *server_name(const struct option_values *values, char out_name[SERVER_BYTES])
{
    snprintf(out_name, SERVER_BYTES, "gatehouse-copy-%.40s", options_argument(values, 0));
    return is_given(values, WORKSPACE_MCP_NAME) ? options_text(values, WORKSPACE_MCP_NAME)
                                                : out_name;
}

static size_t add_client_words(const struct option_values *values, const char *name, char **words)
{
    static const size_t rows[] = {WORKSPACE_MCP_PRINT_CONFIG, WORKSPACE_MCP_INSTALL,
                                  WORKSPACE_MCP_UNINSTALL};
    static const char *const options[] = {"--print-config", "--install", "--uninstall"};
    size_t count = 0;

    for (size_t i = 0; i < array_size(rows); i++)
        if (is_given(values, rows[i])) {
            words[count++] = word(options[i]);
            words[count++] = word(mcp_clients[options_choice(values, rows[i])]);
        }
    if (count > 0 || is_given(values, WORKSPACE_MCP_NAME)) {
        words[count++] = word("--name");
        words[count++] = word(name);
    }
    if (options_is_on(values, WORKSPACE_MCP_YES))
        words[count++] = word("--yes");
    return count;
}

static int become_server(struct arena *arena, const struct option_values *values, char *path,
                         struct err *err)
{
    char name[SERVER_BYTES];
    char own[PATH_MAX];
    const char *state = options_text(values, WORKSPACE_STATE_DIR);
    size_t given = values->argument_count - 1;
    char **words = arena_alloc_array(arena, FIXED_WORDS + given, sizeof(*words));
    size_t count = 0;
    int r = is_for_client(values) ? start_own_path(own, err) : 0;

    if (r < 0)
        return r;
    if (words == NULL)
        return err_set_plain(err, arena->error);
    /* The settings of a client name the program that the user called. */
    words[count++] = is_for_client(values) ? own : word("mcp");
    words[count++] = word("--write");
    count += add_client_words(values, server_name(values, name), words + count);
    if (state != NULL) {
        words[count++] = word("--state-dir");
        words[count++] = word(state);
    }
    for (size_t i = 0; i < given; i++)
        words[count++] = word(values->arguments[i + 1]);
    words[count++] = word("--");
    words[count++] = path;
    words[count] = NULL;
    return start_program(MCP_PROGRAM, words, err);
}

int workspace_serve(struct option_values *values)
{
    cleanup_arena struct arena arena = ARENA_INIT(ARGS_MAX_BYTES);
    struct err err = ERR_INIT;
    char state[PATH_MAX];
    char path[PATH_MAX];
    int r = options_read_env(values, environ, &err);

    /* Before the directory changes, by which a relative one is meant. */
    if (r == 0 && options_text(values, WORKSPACE_STATE_DIR) != NULL) {
        r = start_absolute(options_text(values, WORKSPACE_STATE_DIR), state, &err);
        values->slots[WORKSPACE_STATE_DIR].text = state;
    }
    /* A client may forget one that has gone. */
    if (r == 0)
        r = is_given(values, WORKSPACE_MCP_UNINSTALL) ? find(values, path, &err)
                                                      : enter(values, path, &err);
    if (r == 0)
        (void)become_server(&arena, values, path, &err);
    complain("gatehouse workspace", err.message);
    return EXIT_FAILURE;
}
