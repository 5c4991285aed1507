/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where files for a page wait: the process that may read files copies them there, and a browser in
 * a sandbox sees nothing else. Both compute the same name from the call's number.
 */
#ifndef PROTOCOL_STAGED_H
#define PROTOCOL_STAGED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

/* Inside the staging directory. */
#define STAGED_UPLOADS   "uploads"
#define STAGED_DOWNLOADS "downloads"

enum {
    STAGED_NAME_BYTES = 320,
    STAGED_CALLS = 16, /* whose files are kept */
    STAGED_FILES = 20, /* of one call */
};

/*
 * "NUMBER/INDEX/NAME": the last part of the given path, which is what the page is told. False if it
 * is too long.
 */
bool staged_name(uint64_t number, size_t index, struct str given, char out_name[STAGED_NAME_BYTES]);

/* Whether the text can be the id of a download, which is the name of its file. */
bool staged_is_download(struct str id);

#endif
