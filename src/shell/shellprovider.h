/* SPDX-License-Identifier: Apache-2.0 */
/* Commands and jobs as a provider (call/provider.h). It works on a struct shell. */
#ifndef SHELL_SHELLPROVIDER_H
#define SHELL_SHELLPROVIDER_H

#include "call/provider.h"

extern const struct provider shell_provider;

#endif
