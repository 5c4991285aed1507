/* SPDX-License-Identifier: Apache-2.0 */
/* Our JSON reader and writer for a file that cannot include base/json.h. */
#ifndef TESTS_FUZZ_JSON_OURS_H
#define TESTS_FUZZ_JSON_OURS_H

#include <stdbool.h>
#include <stddef.h>

/* The document in our compact form, to be freed; NULL when we refuse it. */
char *json_ours_compact(const char *text, size_t size, size_t *out_size);

/* Whether depth is the reason that we refuse it. */
bool json_ours_too_deep(const char *text, size_t size);

#endif
