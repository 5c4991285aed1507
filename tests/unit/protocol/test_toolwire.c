/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "protocol/toolwire.h"

enum { ARENA_BYTES = 4 << 20, MAX_BODY = 1000, MAX_SEEN = 16, TEXT_BYTES = 4096 };

struct seen {
    size_t count;
    struct toolwire_frame frames[MAX_SEEN];
    char bodies[MAX_SEEN][MAX_BODY];
    size_t refuse_at; /* the frame that is answered with an error; 0: none */
};

static int on_frame(void *data, const struct toolwire_frame *frame, struct err *err)
{
    struct seen *seen = data;

    assert_true(seen->count < MAX_SEEN && frame->body.len <= MAX_BODY);
    seen->frames[seen->count] = *frame;
    memcpy(seen->bodies[seen->count], frame->body.ptr, frame->body.len);
    seen->frames[seen->count].body.ptr = seen->bodies[seen->count];
    seen->count++;
    return seen->count == seen->refuse_at ? err_set(err, ERR_BUSY, "no more") : 0;
}

static void put_frame(struct buf *out, uint32_t call, unsigned type, struct str body)
{
    char header[TOOLWIRE_HEADER_BYTES];

    toolwire_write_header(call, (enum toolwire_type)type, body.len, header);
    assert_int_equal(buf_append(out, header, sizeof(header)), 0);
    assert_int_equal(buf_append_str(out, body), 0);
}

/* All at once, by a decoder of its own. */
static int decode(enum toolwire_side from, struct str bytes, struct seen *seen, struct err *err)
{
    struct toolwire_decoder decoder;
    int r;

    toolwire_decoder_init(&decoder, from, MAX_BODY);
    r = toolwire_feed(&decoder, bytes, on_frame, seen, err);
    toolwire_decoder_done(&decoder);
    return r;
}

static void a_header_is_little_endian_and_counts_what_follows_its_length(void **state)
{
    static const unsigned char expected[] = {0x08, 0x01, 0, 0, 0x78, 0x56, 0x34, 0x12, 0x13};
    char header[TOOLWIRE_HEADER_BYTES];

    (void)state;
    toolwire_write_header(0x12345678, TOOLWIRE_RESULT, 0x103, header);
    assert_memory_equal(header, expected, sizeof(expected));
}

static void frames_are_found_however_the_stream_is_cut(void **state)
{
    cleanup_buf struct buf stream = BUF_INIT(TEXT_BYTES);
    char large[MAX_BODY];

    (void)state;
    memset(large, 'x', sizeof(large));
    put_frame(&stream, 7, TOOLWIRE_PREPARE, STR("{\"tool\":1}"));
    put_frame(&stream, 7, TOOLWIRE_RUN, STR_EMPTY);
    put_frame(&stream, UINT32_MAX, TOOLWIRE_PREPARE, (struct str){large, sizeof(large)});
    put_frame(&stream, 1, TOOLWIRE_DROP, STR_EMPTY);
    put_frame(&stream, 2, TOOLWIRE_CANCEL, STR_EMPTY);
    for (size_t step = 1; step <= stream.len; step++) {
        struct seen seen = {0};
        struct toolwire_decoder decoder;

        toolwire_decoder_init(&decoder, TOOLWIRE_FRONT, MAX_BODY);
        for (size_t at = 0; at < stream.len; at += step)
            assert_int_equal(toolwire_feed(&decoder, str_slice(buf_view(&stream), at, step),
                                           on_frame, &seen, NULL),
                             0);
        toolwire_decoder_done(&decoder);
        assert_int_equal(seen.count, 5);
        assert_int_equal(seen.frames[0].call, 7);
        assert_int_equal(seen.frames[0].type, TOOLWIRE_PREPARE);
        assert_str(seen.frames[0].body, "{\"tool\":1}");
        assert_int_equal(seen.frames[1].type, TOOLWIRE_RUN);
        assert_int_equal(seen.frames[1].body.len, 0);
        assert_int_equal(seen.frames[2].call, UINT32_MAX);
        assert_int_equal(seen.frames[2].body.len, sizeof(large));
        assert_memory_equal(seen.frames[2].body.ptr, large, sizeof(large));
        assert_int_equal(seen.frames[3].type, TOOLWIRE_DROP);
        assert_int_equal(seen.frames[4].call, 2);
    }
}

static void a_bad_header_is_refused_before_its_body_has_come(void **state)
{
    static const struct {
        unsigned char bytes[TOOLWIRE_HEADER_BYTES];
        int code;
    } bad[] = {
        {{0, 0, 0, 0, 1, 0, 0, 0, 2}, ERR_INVALID_ARGUMENT},                /* no header */
        {{4, 0, 0, 0, 1, 0, 0, 0, 2}, ERR_INVALID_ARGUMENT},                /* the same */
        {{0xff, 0xff, 0xff, 0xff, 1, 0, 0, 0, 1}, ERR_TOO_LARGE},           /* all there is */
        {{0xee, 3, 0, 0, 1, 0, 0, 0, 1}, ERR_TOO_LARGE},                    /* one byte too many */
        {{5, 0, 0, 0, 1, 0, 0, 0, 0}, ERR_INVALID_ARGUMENT},                /* type */
        {{5, 0, 0, 0, 1, 0, 0, 0, 5}, ERR_INVALID_ARGUMENT},                /* type */
        {{5, 0, 0, 0, 1, 0, 0, 0, 0x82}, ERR_INVALID_ARGUMENT},             /* type */
        {{6, 0, 0, 0, 1, 0, 0, 0, TOOLWIRE_RESULT}, ERR_INVALID_ARGUMENT},  /* the host's */
        {{6, 0, 0, 0, 1, 0, 0, 0, TOOLWIRE_RUN}, ERR_INVALID_ARGUMENT},     /* with a body */
        {{5, 0, 0, 0, 1, 0, 0, 0, TOOLWIRE_PREPARE}, ERR_INVALID_ARGUMENT}, /* without */
        {{5, 0, 0, 0, 0, 0, 0, 0, TOOLWIRE_RUN}, ERR_INVALID_ARGUMENT},     /* for no call */
    };

    (void)state;
    for (size_t i = 0; i < array_size(bad); i++) {
        struct seen seen = {0};
        struct err err = ERR_INIT;
        struct str bytes = {(const char *)bad[i].bytes, sizeof(bad[i].bytes)};

        if (decode(TOOLWIRE_FRONT, bytes, &seen, &err) != bad[i].code)
            fail_msg("row %zu", i);
        assert_int_equal(seen.count, 0);
        assert_int_equal(err.code, bad[i].code);
    }
}

static void the_largest_frame_is_taken(void **state)
{
    cleanup_buf struct buf stream = BUF_INIT(TEXT_BYTES);
    char body[MAX_BODY + 1] = "";
    struct seen seen = {0};

    (void)state;
    put_frame(&stream, 1, TOOLWIRE_PREPARE, (struct str){body, MAX_BODY});
    assert_int_equal(decode(TOOLWIRE_FRONT, buf_view(&stream), &seen, NULL), 0);
    assert_int_equal(seen.count, 1);
    buf_clear(&stream);
    put_frame(&stream, 1, TOOLWIRE_PREPARE, (struct str){body, MAX_BODY + 1});
    assert_int_equal(decode(TOOLWIRE_FRONT, buf_view(&stream), &seen, NULL), ERR_TOO_LARGE);
    assert_int_equal(seen.count, 1);
}

static void each_side_has_its_own_types(void **state)
{
    static const struct {
        unsigned type;
        uint32_t call;
        bool has_body;
    } of_host[] = {
        {TOOLWIRE_READY, 0, true}, {TOOLWIRE_PREPARED, 1, true}, {TOOLWIRE_RESULT, 1, true},
        {TOOLWIRE_ERROR, 0, true}, {TOOLWIRE_ERROR, 1, true},    {TOOLWIRE_PROGRESS, 1, true},
        {TOOLWIRE_LOST, 0, false}, {TOOLWIRE_CHANGE, 1, true},
    };

    (void)state;
    for (size_t i = 0; i < array_size(of_host); i++) {
        cleanup_buf struct buf stream = BUF_INIT(TEXT_BYTES);
        struct seen seen = {0};

        put_frame(&stream, of_host[i].call, of_host[i].type,
                  of_host[i].has_body ? STR("{}") : STR_EMPTY);
        assert_int_equal(decode(TOOLWIRE_HOST, buf_view(&stream), &seen, NULL), 0);
        assert_int_equal(seen.count, 1);
        assert_int_equal(decode(TOOLWIRE_FRONT, buf_view(&stream), &seen, NULL),
                         ERR_INVALID_ARGUMENT);
        assert_int_equal(seen.count, 1);
    }
}

static void nothing_is_taken_after_an_error(void **state)
{
    cleanup_buf struct buf stream = BUF_INIT(TEXT_BYTES);
    struct seen seen = {.refuse_at = 2};
    struct toolwire_decoder decoder;
    struct err err = ERR_INIT;

    (void)state;
    for (uint32_t call = 1; call <= 3; call++)
        put_frame(&stream, call, TOOLWIRE_RUN, STR_EMPTY);
    toolwire_decoder_init(&decoder, TOOLWIRE_FRONT, MAX_BODY);
    assert_int_equal(toolwire_feed(&decoder, buf_view(&stream), on_frame, &seen, &err), ERR_BUSY);
    assert_string_equal(err.message, "no more");
    assert_int_equal(seen.count, 2);
    assert_int_equal(toolwire_feed(&decoder, buf_view(&stream), on_frame, &seen, &err),
                     ERR_INVALID_ARGUMENT);
    assert_int_equal(seen.count, 2);
    toolwire_decoder_done(&decoder);
}

static void a_frame_costs_what_has_come_not_what_was_promised(void **state)
{
    struct toolwire_decoder decoder;
    char header[TOOLWIRE_HEADER_BYTES];
    struct seen seen = {0};

    (void)state;
    toolwire_decoder_init(&decoder, TOOLWIRE_FRONT, (size_t)1 << 30);
    toolwire_write_header(1, TOOLWIRE_PREPARE, (size_t)1 << 30, header);
    assert_int_equal(
        toolwire_feed(&decoder, (struct str){header, sizeof(header)}, on_frame, &seen, NULL), 0);
    assert_true(decoder.frames.begun.capacity < 4096);
    toolwire_decoder_done(&decoder);
}

static void ceilings_follow_the_size_of_files(void **state)
{
    const uint64_t largest = 64 << 20;

    (void)state;
    assert_true(toolwire_max_request(1) >= 1 << 20);
    assert_true(toolwire_max_request(largest) > 6 * largest);
    assert_true(toolwire_max_answer(largest) > 12 * largest);
    assert_true(toolwire_max_answer(largest) < UINT32_MAX / 2);
}

/* ---- bodies ---- */

static int read_prepare(struct arena *arena, const char *text, struct toolwire_prepare *out_prepare,
                        struct err *err)
{
    return toolwire_read_prepare(arena, str_from(text), out_prepare, err);
}

static void a_prepare_is_read(void **state)
{
    cleanup_arena struct arena arena = ARENA_INIT(ARENA_BYTES);
    struct toolwire_prepare prepare;
    struct str path;

    (void)state;
    assert_int_equal(read_prepare(&arena,
                                  "{\"later\":[1],\"tool\":\"read_file\",\"timeoutMs\":250,"
                                  "\"arguments\":{\"filePath\":\"a\\u0000b\"}}",
                                  &prepare, NULL),
                     0);
    assert_str(prepare.tool, "read_file");
    assert_int_equal(prepare.timeout_ms, 250);
    assert_int_equal(prepare.keep_ms, 250);
    assert_true(json_get_str(prepare.arguments, STR("filePath"), &path));
    assert_str(path, "a\0b");
    assert_int_equal(
        read_prepare(&arena,
                     "{\"tool\":\"x\",\"arguments\":{},\"timeoutMs\":1,\"keepMs\":86400000}",
                     &prepare, NULL),
        0);
    assert_int_equal(prepare.keep_ms, TOOLWIRE_MAX_TIMEOUT_MS);
    assert_false(prepare.may_list);
}

static void a_prepare_that_is_none_is_refused(void **state)
{
    static const char *const bad[] = {
        "",
        "nonsense",
        "[]",
        "null",
        "{}",
        "{\"tool\":1,\"arguments\":{},\"timeoutMs\":1}",
        "{\"tool\":\"x\",\"timeoutMs\":1}",
        "{\"tool\":\"x\",\"arguments\":[],\"timeoutMs\":1}",
        "{\"tool\":\"x\",\"arguments\":null,\"timeoutMs\":1}",
        "{\"tool\":\"x\",\"arguments\":{}}",
        "{\"tool\":\"x\",\"arguments\":{},\"timeoutMs\":0}",
        "{\"tool\":\"x\",\"arguments\":{},\"timeoutMs\":-1}",
        "{\"tool\":\"x\",\"arguments\":{},\"timeoutMs\":1.5}",
        "{\"tool\":\"x\",\"arguments\":{},\"timeoutMs\":\"1\"}",
        "{\"tool\":\"x\",\"arguments\":{},\"timeoutMs\":86400001}",
        "{\"tool\":\"x\",\"arguments\":{},\"timeoutMs\":1,\"keepMs\":0}",
        "{\"tool\":\"x\",\"arguments\":{},\"timeoutMs\":1,\"keepMs\":null}",
        "{\"tool\":\"x\",\"tool\":\"y\",\"arguments\":{},\"timeoutMs\":1}",
        "{\"tool\":\"x\",\"arguments\":{},\"timeoutMs\":1} {}",
    };

    (void)state;
    for (size_t i = 0; i < array_size(bad); i++) {
        cleanup_arena struct arena arena = ARENA_INIT(ARENA_BYTES);
        struct toolwire_prepare prepare = {.timeout_ms = 42};
        struct err err = ERR_INIT;
        int r = read_prepare(&arena, bad[i], &prepare, &err);

        if (r >= 0 || r == ERR_NO_MEMORY || r == ERR_TOO_LARGE)
            fail_msg("%s: %d", bad[i], r);
        assert_int_equal(err.code, r);
        assert_int_equal(prepare.timeout_ms, 42);
    }
}

static void arguments_may_be_as_deep_as_anywhere_else(void **state)
{
    cleanup_arena struct arena arena = ARENA_INIT(ARENA_BYTES);
    struct toolwire_prepare prepare;

    (void)state;
    for (int depth = JSON_DEFAULT_MAX_DEPTH; depth <= JSON_DEFAULT_MAX_DEPTH + 1; depth++) {
        cleanup_buf struct buf text = BUF_INIT(TEXT_BYTES);
        const char *whole;
        int r = buf_append_str(&text, STR("{\"tool\":\"x\",\"timeoutMs\":1,\"arguments\":{\"a\":"));

        for (int i = 1; i < depth; i++)
            r |= buf_append_char(&text, '[');
        for (int i = 1; i < depth; i++)
            r |= buf_append_char(&text, ']');
        r |= buf_append_str(&text, STR("}}")) | buf_terminate(&text, &whole);
        assert_int_equal(r, 0);
        assert_int_equal(read_prepare(&arena, whole, &prepare, NULL),
                         depth == JSON_DEFAULT_MAX_DEPTH ? 0 : ERR_JSON_DEPTH);
    }
}

static void an_error_says_all_that_a_record_needs(void **state)
{
    cleanup_buf struct buf out = BUF_INIT(TEXT_BYTES);
    struct err err = ERR_INIT;

    (void)state;
    err_set_field(&err, ERR_DENIED_BY_POLICY, "a\nb", "it is \"denied\"");
    assert_int_equal(toolwire_write_error(&err, false, &out), 0);
    assert_str(buf_view(&out), "{\"error\":\"denied_by_policy\",\"category\":\"policy\","
                               "\"message\":\"it is \\\"denied\\\"\",\"field\":\"a\\nb\"}");
    buf_clear(&out);
    err_set_plain(&err, ERR_TIMED_OUT);
    assert_int_equal(toolwire_write_error(&err, true, &out), 0);
    assert_str(buf_view(&out), "{\"error\":\"timed_out\",\"category\":\"operational\","
                               "\"message\":\"timed out\",\"hasBegun\":true}");
}

static void progress_leaves_out_what_is_not_known(void **state)
{
    cleanup_buf struct buf out = BUF_INIT(TEXT_BYTES);

    (void)state;
    assert_int_equal(toolwire_write_progress(3, 0, "walking", &out), 0);
    assert_str(buf_view(&out), "{\"done\":3,\"what\":\"walking\"}");
    buf_clear(&out);
    assert_int_equal(toolwire_write_progress(UINT64_MAX, 7, "reading", &out), 0);
    assert_str(buf_view(&out), "{\"done\":9223372036854775807,\"total\":7,\"what\":\"reading\"}");
}

TEST_MAIN(cmocka_unit_test(a_header_is_little_endian_and_counts_what_follows_its_length),
          cmocka_unit_test(frames_are_found_however_the_stream_is_cut),
          cmocka_unit_test(a_bad_header_is_refused_before_its_body_has_come),
          cmocka_unit_test(the_largest_frame_is_taken),
          cmocka_unit_test(each_side_has_its_own_types),
          cmocka_unit_test(nothing_is_taken_after_an_error),
          cmocka_unit_test(a_frame_costs_what_has_come_not_what_was_promised),
          cmocka_unit_test(ceilings_follow_the_size_of_files), cmocka_unit_test(a_prepare_is_read),
          cmocka_unit_test(a_prepare_that_is_none_is_refused),
          cmocka_unit_test(arguments_may_be_as_deep_as_anywhere_else),
          cmocka_unit_test(an_error_says_all_that_a_record_needs),
          cmocka_unit_test(progress_leaves_out_what_is_not_known))
