/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/connect/folder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "session/state.h"

int folder_name(struct str typed, char out_path[PATH_MAX], struct err *err)
{
    const char *home = "";
    char name[PATH_MAX];

    if (str_eq_c(typed, "~") || str_starts_with(typed, STR("~/"))) {
        home = getenv("HOME");
        if (home == NULL || home[0] != '/')
            return err_set(err, ERR_INVALID_PATH, "HOME is not set, so ~ has no meaning");
        typed = str_slice(typed, 1, typed.len);
    }
    if (memchr(typed.ptr, '\0', typed.len) != NULL)
        return err_set(err, ERR_INVALID_PATH, "the folder's path contains a NUL byte");
    if (snprintf(name, sizeof(name), "%s%.*s", home, STR_ARG(typed)) >= (int)sizeof(name))
        return err_set(err, ERR_INVALID_PATH, "the folder's path is too long");
    return session_state_absolute_path(name, out_path, err);
}

int folder_check(const char *state_dir, const char *path, struct err *err)
{
    const struct session_state_config config = {
        .state_dir = state_dir, .is_recorded_elsewhere = true, .only_reads = true};
    const struct authority_request request = {
        .subject = {.type = AUTHORITY_CORE, .id = "daemon"},
        .root = {.kind = AUTHORITY_WORKSPACE, .id = "folder", .path = path},
        .access = AUTHORITY_METADATA,
        .reason = "whether the folder that the user named is there",
        .source = AUTHORITY_FROM_CORE,
        .limits = {.symlinks = AUTHORITY_SYMLINKS_REJECT},
    };
    struct session_state state = SESSION_STATE_INIT;
    struct authority_scope *scope = NULL;
    struct err why = ERR_INIT;
    int r = 0;

    /* A problem with the state is not the folder's fault: it is reported elsewhere. */
    if (session_state_open(&config, &state, NULL) == 0)
        r = authority_request_root(state.authority, &request, &scope, &why);
    authority_scope_free(scope);
    session_state_close(&state);
    return r < 0 ? err_set(err, r, "cannot use the folder '%s': %s", path,
                           why.code != 0 ? why.message : err_text(r))
                 : 0;
}
