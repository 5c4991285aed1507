/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of workspaces, notes for undo and requests of the page: what is accepted is written again
 * byte for byte. Git's index: what is written is accepted again.
 */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/sha1.h"
#include "copies/apply_internal.h"
#include "copies/gitindex.h"
#include "copies/record.h"
#include "copies/request.h"

enum { MAX_BYTES = 1 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_record(struct str text)
{
    cleanup_record struct copies_record record = COPIES_RECORD_INIT;
    cleanup_record struct copies_record again = COPIES_RECORD_INIT;
    cleanup_record struct copies_record head = COPIES_RECORD_INIT;
    cleanup_buf struct buf first = BUF_INIT(MAX_BYTES);
    cleanup_buf struct buf second = BUF_INIT(MAX_BYTES);

    if (copies_record_parse(text, &record) < 0 || copies_record_write(&record, &first) < 0)
        return;
    /* Numbers may have zeros in front; from the second time on nothing changes. */
    assert(copies_record_parse(buf_view(&first), &again) == 0);
    assert(again.count == record.count);
    assert(copies_record_parse_head(buf_view(&first), &head) == 0);
    assert(head.count == 0 && str_eq(head.original, record.original));
    assert(copies_record_write(&again, &second) == 0);
    assert(str_eq(buf_view(&first), buf_view(&second)));
    for (size_t i = 0; i < record.count; i++)
        assert(copies_record_find(&record, record.entries[i].name) == &record.entries[i]);
}

static void check_plan(struct str text)
{
    cleanup_plan struct apply_plan plan = APPLY_PLAN_INIT;
    cleanup_plan struct apply_plan again = APPLY_PLAN_INIT;
    cleanup_buf struct buf first = BUF_INIT(MAX_BYTES);
    cleanup_buf struct buf second = BUF_INIT(MAX_BYTES);

    if (apply_plan_parse(text, &plan) < 0 || apply_plan_write(&plan, &first) < 0)
        return;
    assert(apply_plan_parse(buf_view(&first), &again) == 0);
    assert(again.count == plan.count);
    assert(apply_plan_write(&again, &second) == 0);
    assert(str_eq(buf_view(&first), buf_view(&second)));
}

static void check_request(struct str text)
{
    static struct copies_request request;
    cleanup_buf struct buf again = BUF_INIT(MAX_BYTES);

    if (copies_request_parse(text, &request) < 0)
        return;
    assert(request.verb == COPIES_LIST || workspace_is_name(request.name));
    assert(copies_request_write(&request, &again) == 0);
    assert(str_eq(buf_view(&again), text));
}

static void check_answer(struct str text)
{
    struct err err = ERR_INIT;
    struct str document = STR_EMPTY;

    if (copies_answer_parse(text, &document, &err) == 0)
        assert(str_ends_with(text, document));
    else
        assert(err.code < 0);
}

static bool is_left_out(void *data, struct str name)
{
    (void)data;
    assert(name.len > 0);
    return name.ptr[0] != 'k';
}

static void check_index(struct str body)
{
    cleanup_buf struct buf index = BUF_INIT(MAX_BYTES);
    cleanup_buf struct buf first = BUF_INIT(MAX_BYTES);
    cleanup_buf struct buf second = BUF_INIT(MAX_BYTES);
    uint8_t digest[SHA1_BYTES];
    size_t count = 0;

    sha1(body, digest); /* no fuzzer finds that */
    if (buf_append_str(&index, body) < 0 || buf_append(&index, digest, sizeof(digest)) < 0 ||
        gitindex_skip(buf_view(&index), is_left_out, NULL, &first, &count) < 0)
        return;
    assert(gitindex_skip(buf_view(&first), is_left_out, NULL, &second, &count) == 0);
    assert(count == 0 && str_eq(buf_view(&first), buf_view(&second)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = {(const char *)data, size};

    check_record(text);
    check_plan(text);
    check_request(text);
    check_answer(text);
    check_index(text);
    return 0;
}
