/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The same bytes to our parser and to jansson: both refuse, or both parse the same value.
 * may_differ() lists what jansson leaves out on purpose.
 *
 * jansson's header uses the names of ours, so our value is passed as text: our compact form, parsed
 * by jansson, must equal what jansson parsed itself.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "json_ours.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const size_t jansson_flags = JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL | JSON_DECODE_ANY;

/* Where jansson refuses what the standard allows and we accept. */
static bool may_differ(const json_error_t *error)
{
    switch (json_error_code(error)) {
    case json_error_numeric_overflow: /* it keeps numbers in int64_t and double */
    case json_error_null_byte_in_key: /* its keys are C strings */
    case json_error_stack_overflow:   /* its own depth limit */
        return true;
    default:
        return false;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    json_error_t error;
    json_t *theirs = json_loadb(text, size, jansson_flags, &error);
    size_t our_size;
    char *ours = json_ours_compact(text, size, &our_size);

    if (ours == NULL) {
        /* jansson nests deeper than our limit, and takes a NUL byte for the end of the text. */
        assert(theirs == NULL || json_ours_too_deep(text, size) ||
               memchr(text, '\0', size) != NULL);
    } else if (theirs == NULL) {
        assert(may_differ(&error));
    } else {
        json_t *again = json_loadb(ours, our_size, jansson_flags, &error);

        assert(again != NULL);
        assert(json_equal(theirs, again));
        json_decref(again);
    }
    json_decref(theirs);
    free(ours);
    return 0;
}
