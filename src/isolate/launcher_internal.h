/* SPDX-License-Identifier: Apache-2.0 */
/* What both sides of launcher share; for them alone. */
#ifndef ISOLATE_LAUNCHER_INTERNAL_H
#define ISOLATE_LAUNCHER_INTERNAL_H

#include "isolate/box.h"

/*
 * The launcher's whole life. A STARTED notice comes with stdin if it was asked for, stdout and
 * stderr; or with the terminal alone, and then its value is 1.
 */
_Noreturn void launcher_serve(int socket_fd, struct box *box, size_t place_count,
                              const char *const *env);

#endif
