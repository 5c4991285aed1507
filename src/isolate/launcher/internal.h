/* SPDX-License-Identifier: Apache-2.0 */
/* What both sides of launcher share; for them alone. */
#ifndef ISOLATE_LAUNCHER_INTERNAL_H
#define ISOLATE_LAUNCHER_INTERNAL_H

#include "isolate/box/box.h"

/* What every launcher of a client has. */
struct launcher_service {
    struct box *box;
    const struct box_place *places;
    size_t place_count;
    const char *const *env;
    const struct box_denial *denials;
    size_t denial_count;
};

/*
 * The launcher's whole life. A STARTED notice comes with stdin if it was asked for, stdout and
 * stderr; or with the terminal alone, and then its value is 1.
 */
_Noreturn void launcher_serve(int socket_fd, const struct launcher_service *service);

/*
 * The guard's whole life. A byte on its socket asks for a launcher in place of the one before,
 * which is killed; a byte with the socket to it comes back. It ends with the client.
 */
_Noreturn void launcher_guard(int guard_fd, const struct launcher_service *service);

#endif
