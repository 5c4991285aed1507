/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/sandboxd/daytona/signing.h"

#include "base/hex.h"
#include "base/rand.h"
#include "base/secret.h"
#include "programs/sandboxd/daytona/sandboxes.h"
#include "programs/sandboxd/daytona/signature.h"
#include "programs/sandboxd/details.h"
#include "programs/sandboxd/previews.h"

enum { ANSWER_BYTES = 1024, SALT_BYTES = (DETAILS_SALT_BYTES - 1) / 2 };

static void make_key(const struct sandbox *sandbox, char out_key[TICKETS_FILES_BYTES])
{
    const struct details *details = sandbox->details;

    tickets_for_files(&sandbox->service->previews->tickets, &sandbox->record,
                      details != NULL ? str_from(details->signing_salt) : STR_EMPTY, out_key);
}

static void answer_key(const struct api_call *call, const struct sandbox *sandbox)
{
    cleanup_buf struct buf out = BUF_INIT(ANSWER_BYTES);
    char key[TICKETS_FILES_BYTES];
    struct json_writer json;

    make_key(sandbox, key);
    json_writer_init(&json, &out);
    json_write_str(&json, str_from(key));
    call_answer_written(call->exchange, 200, &json, &out);
    secret_wipe(key, sizeof(key));
}

void signing_get(const struct api_call *call)
{
    const struct sandbox *sandbox = daytona_find(call);

    if (sandbox != NULL)
        answer_key(call, sandbox);
}

void signing_rotate(const struct api_call *call)
{
    struct sandbox *sandbox = daytona_find(call);
    struct details *details = sandbox != NULL ? daytona_change_details(call, sandbox) : NULL;
    unsigned char salt[SALT_BYTES];
    int r;

    if (details == NULL)
        return;
    rand_bytes(salt, sizeof(salt));
    hex_text(details->signing_salt, salt, sizeof(salt));
    r = service_save_details(sandbox);
    /* Else the key that was to go would be back after a restart. */
    if (r < 0)
        call_fail(call->exchange, 503, "the new key could not be saved: rotate it again");
    else
        answer_key(call, sandbox);
}

int signing_check(struct api_call *call, enum http_method method)
{
    cleanup_arena struct arena arena = ARENA_INIT(CALL_ARENA_BYTES);
    const struct sandbox *sandbox = map_get(&call->service->sandboxes, call->ids[0]);
    struct signature signature = {.method = http_method_name(method)};
    char key[TICKETS_FILES_BYTES];
    bool is_valid;
    int error = 0;

    if (sandbox == NULL || sandbox->state == SANDBOX_DELETING ||
        !call_query(call, &arena, STR("path"), &signature.path, &error) ||
        !call_query(call, &arena, STR("expires"), &signature.expires, &error) ||
        !call_query(call, &arena, STR("signature"), &signature.text, &error))
        return ERR_UNAUTHORIZED;
    make_key(sandbox, key);
    is_valid = signature_is_valid(&signature, str_from(key),
                                  loop_wall_ms(call->service->config.loop) / 1000);
    secret_wipe(key, sizeof(key));
    if (!is_valid)
        return ERR_UNAUTHORIZED;
    memcpy(call->owner, sandbox->record.owner, sizeof(call->owner));
    return 0;
}
