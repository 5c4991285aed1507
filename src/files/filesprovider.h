/* SPDX-License-Identifier: Apache-2.0 */
/* The file tools as a provider (call/provider.h). It works on a struct toolbox. */
#ifndef FILES_FILESPROVIDER_H
#define FILES_FILESPROVIDER_H

#include "call/provider.h"

/* As in the catalogue; for programs that only need to know to whom a tool belongs. */
#define FILES_PROVIDER_NAME "files"

extern const struct provider files_provider;

#endif
