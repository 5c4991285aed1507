/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as the stream of frames from a server, worked on with files in memory: each answer is
 * JSON with a status, no file is larger than the limit, and helpers are asked nothing that they
 * would not take.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/json.h"
#include "hostfs/service.h"
#include "media/client.h"
#include "transfer/client.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
    MAX_FILE = 64,
    ARENA_BYTES = 64 << 20,
    LEAST_STATUS = 200,
    LARGEST_STATUS = 507,
    ALL_FEATURES = 0xffff
};

/* ---- helpers that have done it already ---- */

int media_ask(struct media_client *client, enum media_job job, const struct media_request *request,
              const struct cancel *cancel, struct buf *space, struct media_answer *out_answer,
              struct err *err)
{
    cleanup_buf struct buf bytes = BUF_INIT(MEDIA_MAX_BYTES);
    struct media_request *again = malloc(sizeof(*again));

    (void)client;
    (void)cancel;
    (void)space;
    (void)err;
    assert(again != NULL && job == media_job_of(request->operation));
    assert(media_write_request(request, &bytes) == 0);
    assert(media_read_request(buf_view(&bytes), again, NULL) == 0);
    free(again);
    *out_answer = (struct media_answer){.format = request->format, .width = 1, .height = 1};
    out_answer->output_count = request->range_count > 0 ? request->range_count : 1;
    for (size_t i = 0; i < out_answer->output_count; i++)
        out_answer->outputs[i] = STR("done");
    return 0;
}

int transfer_ask(struct transfer_client *client, const struct transfer_request *request,
                 const struct cancel *cancel, struct buf *space, struct transfer_answer *out_answer,
                 struct err *err)
{
    cleanup_buf struct buf bytes = BUF_INIT(TRANSFER_MAX_BYTES);
    struct transfer_request again;

    (void)client;
    (void)cancel;
    (void)space;
    (void)err;
    assert(transfer_write_request(request, &bytes) == 0);
    assert(transfer_read_request(buf_view(&bytes), &again, NULL) == 0);
    *out_answer =
        (struct transfer_answer){.output_count = request->operation == TRANSFER_EXEC ? 2 : 1,
                                 .outputs = {STR("f12345678name"), STR("\xff")}};
    return 0;
}

/* ---- requests ---- */

static void check_answer(const struct hostfs_answer *answer, struct str body)
{
    cleanup_arena struct arena arena = ARENA_INIT(ARENA_BYTES);
    const struct json_value *document;

    assert(answer->status >= LEAST_STATUS && answer->status <= LARGEST_STATUS);
    assert(json_parse(&arena, body, JSON_LIMITS_DEFAULT, &document, NULL) == 0);
    assert(document->type == JSON_OBJECT);
    if (answer->status >= 400)
        assert(json_get(document, STR("error")) != NULL);
}

static int on_frame(void *data, const struct ipc_frame *frame, struct err *err)
{
    const struct hostfs *hostfs = data;
    cleanup_buf struct buf out = BUF_INIT(hostfs_max_answer(MAX_FILE));
    struct hostfs_request request;
    struct hostfs_answer answer;
    int r = hostfs_read_request(frame, &request, err);

    if (r < 0 || request.operation == HOSTFS_RUN_GET || request.operation == HOSTFS_RUN_EVENTS)
        return r;
    answer = hostfs_handle(hostfs, &request, NULL, &out);
    check_answer(&answer, buf_view(&out));
    return 0;
}

static int check_size(void *data, const struct authority_entry *entry)
{
    (void)data;
    assert(entry->type != AUTHORITY_FILE || entry->stat.size <= MAX_FILE);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct authority_request request = {
        .subject = {.type = AUTHORITY_AUTOMATION, .id = "fuzz"},
        .root = {.kind = AUTHORITY_WORKSPACE, .id = "host.fs", .path = "/sandbox"},
        .access = AUTHORITY_ALL_ACCESS,
        .reason = "fuzz",
        .source = AUTHORITY_FROM_USER_APPROVAL,
        .limits = {.symlinks = AUTHORITY_SYMLINKS_IN_ROOT, .max_file_bytes = MAX_FILE},
    };
    struct authority_scope *scope = NULL;
    struct authority *authority = NULL;
    struct frames_decoder decoder;
    struct hostfs hostfs = {.max_file_bytes = MAX_FILE, .features = ALL_FEATURES};
    const struct frames_events events = {
        .check = hostfs_check_request, .on_frame = on_frame, .data = &hostfs};

    assert(authority_new(&(struct authority_config){.backend = AUTHORITY_MEMORY}, &authority,
                         NULL) == 0);
    assert(authority_request_root(authority, &request, &scope, NULL) == 0);
    hostfs.scope = scope;
    frames_decoder_init(&decoder, hostfs_max_request(MAX_FILE));
    (void)frames_feed(&decoder, (struct str){(const char *)data, size}, &events, NULL);
    assert(authority_walk(scope, STR(""), &(struct authority_walk_options){.with_stat = true},
                          check_size, NULL, NULL) == 0);
    frames_decoder_done(&decoder);
    authority_scope_free(scope);
    authority_free(authority);
    return 0;
}
