/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as the stream of frames from a server, worked on with files in memory: each answer is
 * JSON with a status, and no file is larger than the limit.
 */
#include <assert.h>
#include <stdint.h>

#include "base/json.h"
#include "hostfs/service.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX_FILE = 64, ARENA_BYTES = 64 << 20, LEAST_STATUS = 200, LARGEST_STATUS = 507 };

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

static int on_frame(void *data, const struct frame *frame, struct err *err)
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
    struct hostfs hostfs = {.max_file_bytes = MAX_FILE};
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
