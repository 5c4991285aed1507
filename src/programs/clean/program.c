/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gatehouse-clean: removes what killed sessions left in a folder, for `gatehouse doctor --clean`.
 * Opens the state directory first, which undoes what is noted there, then confines itself to the
 * folder and removes the rest.
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "cli/clean.h"
#include "cli/runner.h"
#include "isolate/confine.h"
#include "session/state.h"

enum { SWEPT_ENTRIES = 1000, SWEEPS = 10000 };

static void free_scope(struct authority_scope **scope)
{
    authority_scope_free(*scope);
}

static int open_folder(struct session_state *state, const char *directory, char out_path[PATH_MAX],
                       struct authority_scope **out_scope, struct err *err)
{
    char path[PATH_MAX];
    struct authority_request request = {
        .subject = {.type = AUTHORITY_CORE, .id = CLEAN_PROGRAM},
        .root = {.kind = AUTHORITY_WORKSPACE, .id = "folder", .path = path},
        .access = AUTHORITY_DELETE,
        .reason = "the folder that the user named",
        .source = AUTHORITY_FROM_CORE,
        .limits = {.symlinks = AUTHORITY_SYMLINKS_REJECT},
    };
    struct err why = ERR_INIT;
    int r = session_state_absolute_path(directory, path, err);

    if (r < 0)
        return r;
    r = authority_request_root(state->authority, &request, out_scope, &why);
    if (r == 0)
        r = authority_scope_path(*out_scope, out_path);
    return r < 0 ? err_set(err, r, "cannot clean '%s': %s", directory,
                           why.code != 0 ? why.message : err_text(r))
                 : 0;
}

static int clean(struct session_state *state, const char *directory, struct err *err)
{
    cleanup_with(free_scope) struct authority_scope *scope = NULL;
    char folder[PATH_MAX];
    uint64_t removed = 0;
    int r;

    for (int i = 0; i < SWEEPS && authority_has_leftovers(state->authority); i++)
        authority_sweep(state->authority, SWEPT_ENTRIES, NULL);
    r = open_folder(state, directory, folder, &scope, err);
    if (r == 0)
        r = confine_to_directories((const char *const[]){folder, state->state_path}, 2, err);
    if (r == 0)
        r = authority_clean(scope, NULL, &removed, err);
    if (r == 0 && printf("removed %" PRIu64 " leftover%s\n", removed, removed == 1 ? "" : "s") < 0)
        r = err_set_plain(err, ERR_IO);
    return r;
}

static int run(const struct option_values *values, struct arena *arena, struct err *err)
{
    const struct session_state_config config = {.state_dir =
                                                    options_text(values, CLEAN_OPTION_STATE_DIR)};
    struct session_state state;
    int r = session_state_open(&config, &state, err);

    (void)arena;
    if (r == 0)
        r = clean(&state, options_argument(values, CLEAN_ARGUMENT_DIR), err);
    session_state_close(&state);
    return r;
}

static const struct runner runner = {
    .program = CLEAN_PROGRAM,
    .title = "gatehouse doctor",
    .see = "'gatehouse doctor --help'",
    .command = CLEAN_COMMAND,
    .run = run,
};

int main(int argc, char **argv)
{
    return runner_main(&runner, argc, argv);
}
