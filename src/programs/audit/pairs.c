/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/audit/pairs.h"

#include <limits.h>

#include "base/hash.h"
#include "gatehouse/audit.h"

/* For a longer name the outcome may have kept less than the intent. */
enum { COMPARED_NAME_BYTES = 250 };

_Static_assert((int)COMPARED_NAME_BYTES < (int)AUDIT_KEPT_NAME_BYTES - 3,
               "a name that was cut is longer");

/* The hash has a secret key, so nobody can choose texts whose sums are equal. */
static uint64_t mix(uint64_t key, struct str text)
{
    const uint64_t factor = UINT64_C(0x9e3779b97f4a7c15); /* odd, so that nothing is lost */

    return key * factor + hash_str(hash_process_key(), text);
}

static uint64_t mix_field(uint64_t key, const struct json_value *holder, struct str field)
{
    struct str text = STR_EMPTY;

    if (holder != NULL)
        json_get_str(holder, field, &text);
    return mix(key, text);
}

static uint64_t mix_name(uint64_t key, const struct json_value *record, struct str field)
{
    __attribute__((uninitialized)) char bytes[PATH_MAX];
    size_t len;

    if (!audit_record_name(record, field, bytes, &len) || len > COMPARED_NAME_BYTES)
        return mix(key, STR_EMPTY);
    return mix(key, (struct str){bytes, len});
}

uint64_t pairs_key(const struct json_value *record)
{
    const struct json_value *subject = json_get(record, STR("subject"));
    uint64_t key = mix_field(0, record, STR("requestId"));

    key = mix_field(key, record, STR("operation"));
    key = mix_field(key, subject, STR("id"));
    key = mix_field(key, subject, STR("runId"));
    key = mix_field(key, json_get(record, STR("root")), STR("id"));
    key = mix_name(key, record, STR("relativePath"));
    key = mix_name(key, record, STR("destinationPath"));
    return key | 1;
}

void pairs_add(struct pairs *pairs, uint64_t key)
{
    if (pairs->count == PAIRS_MAX) {
        pairs->first = (pairs->first + 1) % PAIRS_MAX;
        pairs->count--;
    }
    pairs->keys[(pairs->first + pairs->count++) % PAIRS_MAX] = key;
}

uint64_t pairs_call(const struct json_value *record)
{
    struct str number;

    if (!json_get_str(record, STR("callId"), &number))
        return 0;
    return mix_field(mix(1, number), json_get(record, STR("subject")), STR("runId")) | 1;
}

bool pairs_has(const struct pairs *pairs, uint64_t key)
{
    size_t last = pairs->count > PAIRS_NEAR ? pairs->count - PAIRS_NEAR : 0;

    for (size_t i = pairs->count; i > last; i--)
        if (pairs->keys[(pairs->first + i - 1) % PAIRS_MAX] == key)
            return true;
    return false;
}

/* Newest first: an intent and its outcome are mostly adjacent. */
bool pairs_take(struct pairs *pairs, uint64_t key)
{
    for (size_t i = pairs->count; i > 0; i--) {
        uint64_t *place = &pairs->keys[(pairs->first + i - 1) % PAIRS_MAX];

        if (*place != key)
            continue;
        *place = 0;
        while (pairs->count > 0 && pairs->keys[(pairs->first + pairs->count - 1) % PAIRS_MAX] == 0)
            pairs->count--;
        return true;
    }
    return false;
}
