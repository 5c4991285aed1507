/* SPDX-License-Identifier: Apache-2.0 */
/* The toolbox's endpoints for files. All work happens in the sandbox, as its user. */
#ifndef PROGRAMS_SANDBOXD_DAYTONA_FILES_H
#define PROGRAMS_SANDBOXD_DAYTONA_FILES_H

#include "programs/sandboxd/call.h"
#include "programs/sandboxd/service.h"

enum {
    FILES_MOST_PATHS = 10000,       /* of one request */
    FILES_REPLACE_BYTES = 16 << 20, /* of a file in which texts are replaced */
};

/* An error of isolate/room as the API has it. */
int dfiles_status(const struct err *err);
const char *dfiles_code(const struct err *err); /* may be NULL */
void dfiles_fail(struct exchange *exchange, const struct err *err);

void dfiles_list(const struct api_call *call);
void dfiles_info(const struct api_call *call);
void dfiles_make_folder(const struct api_call *call);
void dfiles_remove(const struct api_call *call);
void dfiles_move(const struct api_call *call);
void dfiles_set_permissions(const struct api_call *call);
void dfiles_find(const struct api_call *call);   /* lines that have a text */
void dfiles_search(const struct api_call *call); /* files whose name fits a pattern */
void dfiles_replace(const struct api_call *call);
void dfiles_upload(const struct api_call *call);
void dfiles_download(const struct api_call *call);
/* One file, of the path in the query. */
void dfiles_upload_one(const struct api_call *call);
void dfiles_download_one(const struct api_call *call);

#endif
