/* SPDX-License-Identifier: Apache-2.0 */
/* Runs test cases from a file, line by line. */
#ifndef TESTS_SUPPORT_WIRE_FILE_H
#define TESTS_SUPPORT_WIRE_FILE_H

#include <stdbool.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/str.h"

enum { WIRE_FILE_BYTES = 1 << 20, WIRE_FILE_STEP = 4096 };

/* Reads the whole file; false, with a message, if there is nothing to run. */
static inline bool wire_file_read(const char *path, struct buf *out)
{
    FILE *file = fopen(path, "re");
    size_t got = 1;

    while (file != NULL && got > 0 && buf_reserve(out, WIRE_FILE_STEP) == 0) {
        got = fread(out->data + out->len, 1, WIRE_FILE_STEP, file);
        out->len += got;
    }
    if (file != NULL)
        fclose(file);
    /* All of it, or nothing. */
    if (got > 0 || out->len == 0) {
        fprintf(stderr, "%s: cannot be read, or is empty\n", path);
        return false;
    }
    return true;
}

static inline int wire_file_main(int argc, char **argv, bool (*play)(const char *path))
{
    bool is_good = argc > 1;

    for (int i = 1; i < argc; i++)
        is_good &= play(argv[i]);
    return is_good ? 0 : 1;
}

#endif
