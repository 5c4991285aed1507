/* SPDX-License-Identifier: Apache-2.0 */
/* The tools on files as a provider (call/provider.h). What it works on is a struct toolbox. */
#ifndef FILES_FILESPROVIDER_H
#define FILES_FILESPROVIDER_H

#include "call/provider.h"

/* As the catalogue has it; for programs that only want to know whose a tool is. */
#define FILES_PROVIDER_NAME "files"

extern const struct provider files_provider;

#endif
