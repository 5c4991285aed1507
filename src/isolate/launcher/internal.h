/* SPDX-License-Identifier: Apache-2.0 */
/* Internal to the launcher; shared by both sides. */
#ifndef ISOLATE_LAUNCHER_INTERNAL_H
#define ISOLATE_LAUNCHER_INTERNAL_H

#include "isolate/box/box.h"
#include "isolate/box/matches.h"

/* Common to all launchers of a client. */
struct launcher_service {
    struct box *box;
    bool is_open; /* nothing is denied */
    const struct box_place *places;
    size_t place_count;
    const char *const *env;
    const struct box_denial *denials;
    size_t denial_count;
    struct matches_kinds kinds;
    bool leaves_processes; /* to other programs of the user */
};

/*
 * Main function of the launcher. A STARTED notice comes with stdin if requested, stdout and stderr;
 * or with the terminal alone, and then its value is 1.
 */
_Noreturn void launcher_serve(int socket_fd, const struct launcher_service *service);

/*
 * Main function of the guard. A byte on its socket requests a new launcher and kills the previous
 * one; the guard replies with a byte and the launcher's socket. It exits with the client.
 */
_Noreturn void launcher_guard(int guard_fd, const struct launcher_service *service);

#endif
