/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An empty program that links base. Touching the table of its functions keeps
 * the linker from dropping them.
 */
#include "base/arena.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/jsonwrite.h"
#include "base/map.h"
#include "base/secret.h"
#include "base/utf8.h"

typedef void any_function(void);

/* SAFETY: the pointers are only compared with NULL, never called through this type. */
static any_function *volatile const used[] = {
    (any_function *)json_parse,      (any_function *)json_writer_finish,
    (any_function *)map_add,         (any_function *)utf8_next,
    (any_function *)secret_generate, (any_function *)hash_process_key,
    (any_function *)arena_copy,
};

int main(void)
{
    return used[0] == NULL;
}
