/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a request to gatehouse-transfer, as its answer, as a URL and as a file of
 * credentials: what is accepted lies within the bytes, and is the same again when it is written.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "transfer/credential.h"
#include "transfer/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_request(struct str bytes)
{
    cleanup_buf struct buf out = BUF_INIT(TRANSFER_MAX_BYTES);
    struct transfer_request request;
    struct transfer_request again;
    struct err err = ERR_INIT;

    if (transfer_read_request(bytes, &request, &err) < 0) {
        assert(err.code == ERR_INVALID_ARGUMENT && err.message[0] != '\0');
        return;
    }
    assert(request.operation == TRANSFER_PROBE || transfer_is_host(request.host));
    assert(transfer_write_request(&request, &out) == 0 && str_eq(buf_view(&out), bytes));
    assert(transfer_read_request(buf_view(&out), &again, NULL) == 0);
    assert(str_eq(again.host, request.host) && str_eq(again.target, request.target));
}

static void check_answer(struct str bytes)
{
    cleanup_free struct transfer_answer *answer = malloc(sizeof(*answer));
    cleanup_buf struct buf out = BUF_INIT(TRANSFER_MAX_BYTES);
    struct transfer_entry entry;

    assert(answer != NULL);
    if (transfer_read_answer(bytes, answer, NULL) < 0)
        /* cppcheck-suppress memleak ; it is freed by its cleanup */
        return;
    for (size_t i = 0; i < answer->output_count; i++)
        (void)transfer_read_entry(answer->outputs[i], &entry);
    assert(transfer_write_answer(answer, &out) == 0 && str_eq(buf_view(&out), bytes));
}

static void check_url(struct str bytes)
{
    const struct transfer_place server = {
        .protocol = TRANSFER_SFTP, .port = 22, .host = "x.example"};
    cleanup_credential struct credential credential = CREDENTIAL_INIT;
    struct transfer_place place;

    if (transfer_read_place(bytes, &place, NULL) == 0) {
        assert(transfer_is_host(str_from(place.host)) && place.port != 0);
        assert(place.path_len <= sizeof(place.path));
    }
    (void)credential_find(bytes, STR("a"), &server, NULL, &credential, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str bytes = {(const char *)data, size};

    check_request(bytes);
    check_answer(bytes);
    check_url(bytes);
    return 0;
}
