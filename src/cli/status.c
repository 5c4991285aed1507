/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/status.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

const struct option status_options[STATUS_OPTIONS] = {
    [STATUS_OPTION_PORT] = {.name = "port",
                            .type = OPTION_INT,
                            .min = 1,
                            .max = 65535,
                            .env = "GATEHOUSE_PORT",
                            .old_env = "N8N_GATEWAY_PORT",
                            .help = "show only the daemon with this local port"},
    [STATUS_OPTION_STATE_DIR] = {.name = "state-dir",
                                 .type = OPTION_DIR,
                                 .env = "GATEHOUSE_STATE_DIR",
                                 .help = "the state directory of a server or sandbox service "
                                         "(default: ~/.local/state/gatehouse)"},
    [STATUS_OPTION_JSON] = {.name = "json", .help = "print JSON"},
};

bool status_socket_place(enum status_place place, char out_path[PATH_MAX])
{
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    const char *state = getenv("XDG_STATE_HOME");
    const char *home = getenv("HOME");
    int len = -1;

    switch (place) {
    case STATUS_PLACE_RUNTIME:
        if (runtime != NULL && runtime[0] == '/')
            len = snprintf(out_path, PATH_MAX, "%s/gatehouse", runtime);
        break;
    case STATUS_PLACE_STATE:
        if (state != NULL && state[0] == '/')
            len = snprintf(out_path, PATH_MAX, "%s/gatehouse", state);
        else if (home != NULL && home[0] == '/')
            len = snprintf(out_path, PATH_MAX, "%s/.local/state/gatehouse", home);
        break;
    case STATUS_PLACE_LOGIN:
        len = snprintf(out_path, PATH_MAX, "/run/user/%u/gatehouse", (unsigned)geteuid());
        break;
    case STATUS_PLACES:
        break;
    }
    return len >= 0 && len < PATH_MAX;
}

int status_socket_dir(char out_path[PATH_MAX], struct err *err)
{
    if (!status_socket_place(STATUS_PLACE_RUNTIME, out_path) &&
        !status_socket_place(STATUS_PLACE_STATE, out_path))
        return err_set(err, ERR_INVALID_ARGUMENT,
                       "neither XDG_RUNTIME_DIR nor HOME says where the daemon's socket is");
    return 0;
}

void status_socket_name(uint16_t port, char out_name[STATUS_NAME_BYTES])
{
    snprintf(out_name, STATUS_NAME_BYTES, "daemon-%u.socket", port);
}
