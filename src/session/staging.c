/* SPDX-License-Identifier: Apache-2.0 */
#include "session/staging.h"

#include <stdio.h>

#include "protocol/staged.h"

static const struct authority_subject subject = {.type = AUTHORITY_CORE, .id = "browser"};

#define REASON "files on their way to and from a browser"

int session_staging_make(struct session_staging *staging, struct authority *authority,
                         struct err *err)
{
    const struct authority_mkdir_options options = {.may_exist = true};
    int r = authority_create_temp(authority, &subject, REASON, &staging->directory, err);

    if (r == 0)
        r = authority_mkdir(staging->directory, STR(STAGED_UPLOADS), &options, err);
    if (r == 0)
        r = authority_mkdir(staging->directory, STR(STAGED_DOWNLOADS), &options, err);
    if (r == 0)
        r = authority_scope_path(staging->directory, staging->path);
    return r;
}

static int open_part(struct authority *authority, const char *path, const char *name,
                     enum authority_root_kind kind, unsigned access,
                     struct authority_scope **out_scope, struct err *err)
{
    char part[PATH_MAX];
    const struct authority_request request = {
        .subject = subject,
        .root = {.kind = kind, .id = name, .path = part},
        .access = access,
        .reason = REASON,
        .source = AUTHORITY_FROM_CORE,
        .limits = {.symlinks = AUTHORITY_SYMLINKS_REJECT, .hardlinks = AUTHORITY_HARDLINKS_REJECT},
    };

    if (snprintf(part, sizeof(part), "%s/%s", path, name) >= (int)sizeof(part))
        return err_set(err, ERR_INVALID_PATH, "the path of the staging directory is too long");
    return authority_request_root(authority, &request, out_scope, err);
}

int session_staging_open(struct session_staging *staging, struct authority *authority,
                         const char *path, struct err *err)
{
    int r = open_part(authority, path, STAGED_UPLOADS, AUTHORITY_TEMP, AUTHORITY_ALL_ACCESS,
                      &staging->uploads, err);

    if (r == 0)
        r = open_part(authority, path, STAGED_DOWNLOADS, AUTHORITY_DOWNLOADS,
                      AUTHORITY_READ | AUTHORITY_LIST | AUTHORITY_METADATA, &staging->downloads,
                      err);
    if (r == 0 && staging->path[0] == '\0')
        snprintf(staging->path, sizeof(staging->path), "%s", path);
    return r;
}

void session_staging_close(struct session_staging *staging)
{
    authority_scope_free(staging->uploads);
    authority_scope_free(staging->downloads);
    authority_scope_free(staging->directory);
    *staging = (struct session_staging){.path = ""};
}
