/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/gatehouse/names.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/programs.h"
#include "cli/workspace.h"
#include "programs/gatehouse/start.h"

enum { MAX_WORDS = 4 };

static const struct {
    const char *program;
    char words[MAX_WORDS][16];
    const char *place; /* in the state directory: without it there are none */
} lists[] = {
    {WORKSPACE_PROGRAM, {"workspace", "ls"}, "workspaces"},
    {AGENT_PROGRAM, {"agent", "list"}, "server/server.db"},
    {USER_PROGRAM, {"user", "list"}, "server/server.db"},
    {SANDBOXCTL_PROGRAM, {"sandbox", "ls", "--no-start"}, NULL},
    {SANDBOXCTL_PROGRAM, {"sandbox", "image", "ls", "--no-start"}, NULL},
};

const char *const names_kinds[] = {"workspaces", "agents", "users", "sandboxes", "images", NULL};

static bool is_there(const char *place)
{
    const char *given = getenv("GATEHOUSE_STATE_DIR");
    char state[PATH_MAX];
    char path[2 * PATH_MAX];

    if (place == NULL)
        return true;
    if (workspace_find_state(given != NULL && given[0] != '\0' ? given : NULL, state, NULL) < 0)
        return false;
    snprintf(path, sizeof(path), "%s/%s", state, place);
    return access(path, F_OK) == 0;
}

int names_print(size_t kind, struct err *err)
{
    char words[MAX_WORDS][sizeof(lists[0].words[0])];
    char *argv[MAX_WORDS + 1] = {NULL};

    if (!is_there(lists[kind].place))
        return 0;
    for (size_t i = 0; i < MAX_WORDS && lists[kind].words[i][0] != '\0'; i++) {
        snprintf(words[i], sizeof(words[i]), "%s", lists[kind].words[i]);
        argv[i] = words[i];
    }
    return start_program(lists[kind].program, argv, err);
}
