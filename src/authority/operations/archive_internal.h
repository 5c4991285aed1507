/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by packing and unpacking as operations. They are separate because programs only unpack. */
#ifndef AUTHORITY_OPERATIONS_ARCHIVE_INTERNAL_H
#define AUTHORITY_OPERATIONS_ARCHIVE_INTERNAL_H

#include "authority/archive/internal.h"
#include "authority/internal.h"

/* Context of archive_naming_admits(): globs are matched against the name relative to the root. */
struct archive_naming {
    const struct operation *op;
    struct str directory;
    enum scope_use use;
};

bool archive_naming_admits(void *naming, struct str name, bool is_directory);

struct archive_operation {
    enum authority_operation operation;
    struct str source;
    struct str destination;
    const struct operation *reading; /* the source's, if it is in another scope; else NULL */
    const struct authority_archive_options *options; /* NULL: the defaults */
    enum authority_archive_format format;            /* of the archive to create */
    int (*run)(struct operation *op, const struct archive_operation *request,
               const struct authority_archive_options *options,
               struct authority_archive_result *out_result, struct err *why);
};

int archive_operate(struct authority_scope *scope, const struct archive_operation *request,
                    struct authority_archive_result *out_result, struct err *err);

#endif
