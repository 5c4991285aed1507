/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The wire of gatehouse-media, and the client with the process between them. Scripts stand for
 * gatehouse-media, which is looked for in the directory that a test names.
 */
#include "test.h"

#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>

#include "../authority/scene.h"
#include "media/client.h"

enum { LARGE = 3 << 20, THREADS = 4 };

/* ---- the wire ---- */

static void a_request_comes_back_as_it_was(void **state)
{
    cleanup_free struct media_request *request = calloc(1, sizeof(*request));
    cleanup_free struct media_request *again = calloc(1, sizeof(*again));
    cleanup_buf struct buf out = BUF_INIT(MEDIA_MAX_BYTES);

    (void)state;
    request->operation = MEDIA_SPLIT;
    request->format = MEDIA_AVIF;
    request->fit = MEDIA_FILL;
    request->width = 1;
    request->height = 2;
    request->x = 3;
    request->y = UINT32_MAX;
    request->quality = 5;
    request->max_bytes = 6;
    request->range_count = 2;
    request->ranges[0] = (struct media_range){1, 7};
    request->ranges[1] = (struct media_range){9, 0};
    request->input_count = 1;
    request->inputs[0] = STR("document");
    assert_int_equal(media_write_request(request, &out), 0);
    assert_int_equal(media_read_request(buf_view(&out), again, NULL), 0);
    assert_int_equal(again->operation, MEDIA_SPLIT);
    assert_int_equal(again->format, MEDIA_AVIF);
    assert_int_equal(again->fit, MEDIA_FILL);
    assert_int_equal(again->width, 1);
    assert_int_equal(again->height, 2);
    assert_int_equal(again->x, 3);
    assert_int_equal(again->y, UINT32_MAX);
    assert_int_equal(again->quality, 5);
    assert_int_equal(again->max_bytes, 6);
    assert_int_equal(again->ranges[1].first, 9);
    assert_true(str_eq(again->inputs[0], STR("document")));
    /* Neither less nor more. */
    assert_int_equal(media_read_request(str_slice(buf_view(&out), 0, out.len - 1), again, NULL),
                     ERR_INVALID_ARGUMENT);
    assert_int_equal(buf_append_char(&out, 'x'), 0);
    assert_int_equal(media_read_request(buf_view(&out), again, NULL), ERR_INVALID_ARGUMENT);
}

static void requests_beyond_the_limits_are_refused(void **state)
{
    cleanup_free struct media_request *request = calloc(1, sizeof(*request));
    cleanup_free struct media_request *again = calloc(1, sizeof(*again));
    static const struct {
        enum media_operation operation;
        size_t inputs;
        size_t ranges;
        uint32_t width;
        uint32_t quality;
        uint32_t first;
        uint32_t last;
    } cases[] = {
        {MEDIA_RESIZE, 0, 0, 1, 0, 1, 1},   {MEDIA_RESIZE, 2, 0, 1, 0, 1, 1},
        {MEDIA_RESIZE, 1, 1, 1, 0, 1, 1},   {MEDIA_RESIZE, 1, 0, MEDIA_MAX_SIDE + 1, 0, 1, 1},
        {MEDIA_RESIZE, 1, 0, 1, 101, 1, 1}, {MEDIA_MERGE, 0, 0, 0, 0, 1, 1},
        {MEDIA_TEXT, 1, 0, 0, 0, 1, 1},     {MEDIA_TEXT, 1, 2, 0, 0, 1, 1},
        {MEDIA_PART, 1, 1, 0, 0, 0, 1},     {MEDIA_SPLIT, 1, 1, 0, 0, 3, 2},
        {MEDIA_PROBE, 1, 0, 0, 0, 1, 1},    {MEDIA_OPERATION_END, 1, 0, 0, 0, 1, 1},
    };

    (void)state;
    for (size_t i = 0; i < array_size(cases); i++) {
        cleanup_buf struct buf out = BUF_INIT(MEDIA_MAX_BYTES);

        *request = (struct media_request){.operation = cases[i].operation,
                                          .input_count = cases[i].inputs,
                                          .range_count = cases[i].ranges,
                                          .width = cases[i].width,
                                          .quality = cases[i].quality};
        for (size_t j = 0; j < cases[i].inputs; j++)
            request->inputs[j] = STR("x");
        for (size_t j = 0; j < cases[i].ranges; j++)
            request->ranges[j] = (struct media_range){cases[i].first, cases[i].last};
        assert_int_equal(media_write_request(request, &out), 0);
        assert_int_equal(media_read_request(buf_view(&out), again, NULL), ERR_INVALID_ARGUMENT);
    }
    request->input_count = MEDIA_MAX_INPUTS + 1;
    assert_int_equal(media_write_request(request, &(struct buf)BUF_INIT(1)), ERR_TOO_LARGE);
}

static void errors_keep_their_code_and_words(void **state)
{
    static const int codes[] = {ERR_MEDIA_FORMAT, ERR_MEDIA_LIMIT, ERR_TOO_LARGE, ERR_UNSUPPORTED};
    cleanup_free struct media_answer *answer = calloc(1, sizeof(*answer));

    (void)state;
    for (size_t i = 0; i < array_size(codes); i++) {
        cleanup_buf struct buf out = BUF_INIT(MEDIA_MAX_BYTES);
        struct err err = ERR_INIT;

        err_set(&err, codes[i], "words about it");
        assert_int_equal(media_write_error(&err, &out), 0);
        err = (struct err)ERR_INIT;
        assert_int_equal(media_read_answer(buf_view(&out), answer, &err), codes[i]);
        assert_string_equal(err.message, "words about it");
    }
}

static void formats_are_found_by_name_ending_and_content(void **state)
{
    (void)state;
    assert_int_equal(media_format_by_name(STR("webp")), MEDIA_WEBP);
    assert_int_equal(media_format_by_name(STR("bmp")), MEDIA_NO_FORMAT);
    assert_int_equal(media_format_by_ending(STR("a/B.JPEG")), MEDIA_JPEG);
    assert_int_equal(media_format_by_ending(STR(".png")), MEDIA_NO_FORMAT);
    assert_int_equal(media_format_by_content(STR("GIF89a..")), MEDIA_GIF);
    assert_int_equal(media_format_by_content(STR("\0\0\0\x1c"
                                                 "ftypavif")),
                     MEDIA_AVIF);
    assert_int_equal(media_format_by_content(STR("\0\0\0\x1c"
                                                 "ftypheic")),
                     MEDIA_NO_FORMAT);
    assert_int_equal(media_format_by_content(STR("<svg>")), MEDIA_NO_FORMAT);
}

/* ---- the client ---- */

struct stage {
    struct scene scene;
    struct media_client *client;
    struct media_request request;
    struct media_answer answer;
    struct buf space;
    struct err err;
};

/* `script` stands for gatehouse-media; NULL: there is none. time_ms 0: the usual limit. */
static struct stage *open_stage_for(const char *script, int64_t time_ms)
{
    struct stage *stage = calloc(1, sizeof(*stage));

    assert_non_null(stage);
    signal(SIGPIPE, SIG_IGN);
    scene_make(&stage->scene);
    if (script != NULL) {
        make_file(stage->scene.fd, "gatehouse-media", script);
        assert_int_equal(fchmodat(stage->scene.fd, "gatehouse-media", 0700, 0), 0);
    }
    assert_int_equal(
        media_client_start(stage->scene.path, STDERR_FILENO, time_ms, &stage->client, &stage->err),
        0);
    stage->request.operation = MEDIA_CONVERT;
    stage->request.format = MEDIA_PNG;
    stage->request.input_count = 1;
    stage->request.inputs[0] = STR("input");
    buf_init(&stage->space, LARGE + (1 << 20));
    return stage;
}

static struct stage *open_stage(const char *script)
{
    return open_stage_for(script, 0);
}

static int ask(struct stage *stage, const struct cancel *cancel)
{
    buf_clear(&stage->space);
    stage->err = (struct err)ERR_INIT;
    return media_ask(stage->client, MEDIA_JOB_IMAGE, &stage->request, cancel, &stage->space,
                     &stage->answer, &stage->err);
}

static void close_stage(struct stage *stage)
{
    media_client_free(stage->client);
    buf_done(&stage->space);
    scene_drop(&stage->scene);
    free(stage);
}

/* An answer with one output of the bytes that follow. */
#define HEAD(code, length)                                                                         \
    "printf '\\" code "\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\1"   \
    "\\0\\0\\0" length "' >&3\n"

static void an_answer_comes_back(void **state)
{
    struct stage *stage = open_stage("#!/bin/sh\n"
                                     "cat <&3 >/dev/null\n" HEAD("0", "\\5\\0\\0\\0hello"));

    (void)state;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(ask(stage, NULL), 0);
        assert_int_equal(stage->answer.output_count, 1);
        assert_true(str_eq(stage->answer.outputs[0], STR("hello")));
    }
    close_stage(stage);
}

static void large_inputs_and_outputs_pass(void **state)
{
    cleanup_free char *bytes = calloc(1, LARGE);
    /* The request itself is the output; its head is 40 bytes long. */
    struct stage *stage =
        open_stage("#!/bin/sh\n" HEAD("0", "\\50\\0\\60\\0") "tee /dev/null <&3 >&3\n");

    (void)state;
    stage->request.inputs[0] = (struct str){bytes, LARGE};
    memset(bytes, 'x', LARGE);
    assert_int_equal(ask(stage, NULL), 0);
    assert_int_equal(stage->answer.outputs[0].len, LARGE + 40);
    assert_memory_equal(stage->answer.outputs[0].ptr + 40, bytes, LARGE);
    /* One that is larger than the space for it. */
    buf_done(&stage->space);
    buf_init(&stage->space, LARGE / 2);
    assert_int_equal(ask(stage, NULL), ERR_TOO_LARGE);
    close_stage(stage);
}

static void its_end_is_an_error_and_the_next_request_works(void **state)
{
    cleanup_free char *bytes = calloc(1, LARGE);
    struct stage *stage = open_stage("#!/bin/sh\n"
                                     "case $(head -c 1 <&3 | od -An -tu1) in\n"
                                     "*2) kill -9 $$ ;;\n"
                                     "*3) exit 1 ;;\n"
                                     "*5) exit 0 ;;\n"
                                     "esac\n"
                                     "cat <&3 >/dev/null\n" HEAD("0", "\\2\\0\\0\\0ok"));

    (void)state;
    /* It has not read all of it. */
    stage->request.inputs[0] = (struct str){bytes, LARGE};
    stage->request.operation = MEDIA_RESIZE;
    assert_int_equal(ask(stage, NULL), ERR_MEDIA_LIMIT);
    stage->request.operation = MEDIA_CROP;
    assert_int_equal(ask(stage, NULL), ERR_MEDIA_LIMIT);
    stage->request.operation = MEDIA_FIT;
    assert_int_equal(ask(stage, NULL), ERR_INTERNAL);
    stage->request.operation = MEDIA_CONVERT;
    assert_int_equal(ask(stage, NULL), 0);
    assert_true(str_eq(stage->answer.outputs[0], STR("ok")));
    close_stage(stage);
}

static void without_the_program_it_is_not_supported(void **state)
{
    struct stage *stage = open_stage(NULL);
    struct media_abilities abilities = {.has_documents = true};

    (void)state;
    assert_int_equal(ask(stage, NULL), ERR_UNSUPPORTED);
    media_probe(stage->client, &abilities);
    assert_int_equal(abilities.formats, 0);
    assert_false(abilities.has_documents);
    close_stage(stage);
}

static void a_request_that_is_given_up_ends_when_the_next_one_comes(void **state)
{
    struct stage *stage = open_stage("#!/bin/sh\n"
                                     "case $(head -c 1 <&3 | od -An -tu1) in\n"
                                     "*2) exec sleep 600 ;;\n"
                                     "esac\n"
                                     "cat <&3 >/dev/null\n" HEAD("0", "\\2\\0\\0\\0ok"));
    struct cancel cancel;

    (void)state;
    cancel_init(&cancel, &clock_system, CANCEL_NO_DEADLINE);
    cancel_now(&cancel);
    stage->request.operation = MEDIA_RESIZE;
    assert_int_equal(ask(stage, &cancel), ERR_CANCELLED);
    cancel_init(&cancel, &clock_system, clock_monotonic_ms(&clock_system) + 200);
    assert_int_equal(ask(stage, &cancel), ERR_TIMED_OUT);
    stage->request.operation = MEDIA_CONVERT;
    assert_int_equal(ask(stage, NULL), 0);
    assert_true(str_eq(stage->answer.outputs[0], STR("ok")));
    close_stage(stage);
}

static void one_that_takes_too_long_is_killed(void **state)
{
    /* Its child would hold the socket open. */
    struct stage *stage = open_stage_for("#!/bin/sh\n"
                                         "case $(head -c 1 <&3 | od -An -tu1) in\n"
                                         "*2) exec sleep 600 ;;\n"
                                         "esac\n"
                                         "cat <&3 >/dev/null\n" HEAD("0", "\\2\\0\\0\\0ok"),
                                         500);
    int64_t before_ms = clock_monotonic_ms(&clock_system);

    (void)state;
    stage->request.operation = MEDIA_RESIZE;
    assert_int_equal(ask(stage, NULL), ERR_MEDIA_LIMIT);
    assert_non_null(strstr(stage->err.message, "longer than"));
    assert_true(clock_monotonic_ms(&clock_system) - before_ms >= 500);
    close_stage(stage);
}

static void one_that_closes_and_stays_is_killed(void **state)
{
    struct stage *stage =
        open_stage_for("#!/bin/sh\n"
                       "cat <&3 >/dev/null\n" HEAD("0", "\\2\\0\\0\\0ok") "exec 3>&-\n"
                                                                          "exec sleep 600\n",
                       500);

    (void)state;
    stage->request.operation = MEDIA_RESIZE;
    assert_int_equal(ask(stage, NULL), ERR_MEDIA_LIMIT);
    assert_non_null(strstr(stage->err.message, "longer than"));
    close_stage(stage);
}

static void *ask_often(void *data)
{
    const struct stage *stage = data;
    cleanup_free struct media_answer *answer = calloc(1, sizeof(*answer));

    for (int i = 0; i < THREADS; i++) {
        cleanup_buf struct buf space = BUF_INIT(LARGE);

        assert_int_equal(
            media_ask(stage->client, MEDIA_JOB_IMAGE, &stage->request, NULL, &space, answer, NULL),
            0);
        assert_true(str_eq(answer->outputs[0], STR("hello")));
    }
    return NULL;
}

static void threads_take_turns(void **state)
{
    struct stage *stage = open_stage("#!/bin/sh\n"
                                     "cat <&3 >/dev/null\n" HEAD("0", "\\5\\0\\0\\0hello"));
    pthread_t threads[THREADS];

    (void)state;
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, ask_often, stage), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    close_stage(stage);
}

TEST_MAIN(cmocka_unit_test(a_request_comes_back_as_it_was),
          cmocka_unit_test(requests_beyond_the_limits_are_refused),
          cmocka_unit_test(errors_keep_their_code_and_words),
          cmocka_unit_test(formats_are_found_by_name_ending_and_content),
          cmocka_unit_test(an_answer_comes_back), cmocka_unit_test(large_inputs_and_outputs_pass),
          cmocka_unit_test(its_end_is_an_error_and_the_next_request_works),
          cmocka_unit_test(without_the_program_it_is_not_supported),
          cmocka_unit_test(a_request_that_is_given_up_ends_when_the_next_one_comes),
          cmocka_unit_test(one_that_takes_too_long_is_killed),
          cmocka_unit_test(one_that_closes_and_stays_is_killed),
          cmocka_unit_test(threads_take_turns))
