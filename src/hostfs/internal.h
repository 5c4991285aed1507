/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of host.fs share: the operations. Each appends an object on success. */
#ifndef HOSTFS_INTERNAL_H
#define HOSTFS_INTERNAL_H

#include "base/json.h"
#include "hostfs/service.h"

/* One operation on its way. */
struct hostfs_work {
    const struct hostfs *hostfs;
    const struct json_value *inputs; /* an object */
    unsigned access;                 /* HOSTFS_MAY_… */
    bool takes_text;                 /* content may be plain text, as in a run */
    const struct cancel *cancel;
    struct buf *out;
    struct err *err;
};

/*
 * A path of a client, as a name for the authority: below HOSTFS_ROOT or relative.
 * ERR_PATH_OUTSIDE_ROOT for any other absolute one.
 */
int hostfs_take_path(struct str given, struct str *out_name, struct err *err);
/* The same of a member that must be there. */
int hostfs_get_path(const struct hostfs_work *work, struct str key, struct str *out_name);

int hostfs_read(const struct hostfs_work *work);
int hostfs_write(const struct hostfs_work *work);
int hostfs_delete(const struct hostfs_work *work);
int hostfs_stat(const struct hostfs_work *work);
int hostfs_list(const struct hostfs_work *work);
int hostfs_archive(const struct hostfs_work *work);
int hostfs_image(const struct hostfs_work *work);
int hostfs_pdf(const struct hostfs_work *work);
int hostfs_transport(const struct hostfs_work *work);

/* For those that take their input from files and write files: a whole one, and one of many. */
int hostfs_read_whole(const struct hostfs_work *work, struct str name, struct buf *out);
int hostfs_write_whole(const struct hostfs_work *work, struct str name, struct str content);

#endif
