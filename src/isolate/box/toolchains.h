/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a sandbox shows of the home by default: a list of folders where compilers, interpreters and
 * package managers install programs and libraries, and which hold no credentials.
 */
#ifndef ISOLATE_BOX_TOOLCHAINS_H
#define ISOLATE_BOX_TOOLCHAINS_H

#include <stddef.h>

extern const char *const toolchains[]; /* below the home */
extern const size_t toolchains_count;

#endif
