/* SPDX-License-Identifier: Apache-2.0 */
/* The endpoints for files in a sandbox. All work happens in the sandbox, as its user. */
#ifndef PROGRAMS_SANDBOXD_FILES_H
#define PROGRAMS_SANDBOXD_FILES_H

#include "programs/sandboxd/call.h"

enum {
    FILES_MAX_BODY_BYTES = 10 << 20,
    FILES_MAX_REQUEST_BYTES = 64 << 10, /* with two paths */
};

/* The status that this API has for an error about a file. */
int files_status(int code);

void files_write(const struct api_call *call);
void files_append(const struct api_call *call);
void files_list(const struct api_call *call);
void files_remove(const struct api_call *call);
void files_read(const struct api_call *call);
void files_copy(const struct api_call *call);
void files_move(const struct api_call *call);
void files_mkdir(const struct api_call *call);
void files_stat(const struct api_call *call);

#endif
