/* SPDX-License-Identifier: Apache-2.0 */
/* The events of an execution: lines, numbers, characters that are split, what is kept. */
#include "programs/sandboxd/transcript.h"

#include "test.h"

#define cleanup_transcript cleanup_with(transcript_done)

static void assert_line(const struct transcript *transcript, int64_t seq, const char *expected)
{
    struct str line = transcript_line(transcript, seq);

    if (!str_eq_c(line, expected))
        fail_msg("event %d is %.*s", (int)seq, STR_ARG(line));
}

static void add_out(struct transcript *transcript, const char *text)
{
    transcript_add_output(transcript, TRANSCRIPT_STDOUT, str_from(text));
}

static void events_are_numbered_lines(void **state)
{
    cleanup_transcript struct transcript transcript;
    const struct transcript_exit exit = {.exit_code = 3, .took_ms = 22};

    (void)state;
    transcript_init(&transcript, false);
    transcript_add_start(&transcript, STR("an-id"));
    add_out(&transcript, "hi\n");
    transcript_add_output(&transcript, TRANSCRIPT_STDERR, STR("a \"b\"\n"));
    transcript_add_exit(&transcript, &exit);
    add_out(&transcript, "too late");
    assert_line(&transcript, 0, "{\"seq\":0,\"type\":\"started\",\"exec_id\":\"an-id\"}\n");
    assert_line(&transcript, 1, "{\"seq\":1,\"type\":\"stdout\",\"data\":\"hi\\n\"}\n");
    assert_line(&transcript, 2, "{\"seq\":2,\"type\":\"stderr\",\"data\":\"a \\\"b\\\"\\n\"}\n");
    assert_line(&transcript, 3,
                "{\"seq\":3,\"type\":\"exit\",\"exit_code\":3,\"success\":false,"
                "\"execution_time_ms\":22,\"timed_out\":false,\"killed\":false}\n");
    assert_line(&transcript, 4, "");
    assert_int_equal(transcript_next(&transcript), 4);
    assert_true(transcript.is_over);
}

static void the_first_generation_has_no_numbers(void **state)
{
    cleanup_transcript struct transcript transcript;

    (void)state;
    transcript_init(&transcript, true);
    transcript_add_start(&transcript, STR("an-id"));
    add_out(&transcript, "hi\n");
    transcript_add_error(&transcript, STR("no such directory"));
    assert_line(&transcript, 0, "{\"type\":\"stdout\",\"data\":\"hi\\n\"}\n");
    assert_line(&transcript, 1, "{\"type\":\"error\",\"error\":\"no such directory\"}\n");
}

static void each_stream_ends_with_a_newline(void **state)
{
    cleanup_transcript struct transcript transcript;
    const struct transcript_exit exit = {.exit_code = 0};

    (void)state;
    transcript_init(&transcript, false);
    add_out(&transcript, "no newline");
    transcript_add_output(&transcript, TRANSCRIPT_STDERR, STR("one\n"));
    transcript_add_exit(&transcript, &exit);
    assert_line(&transcript, 0, "{\"seq\":0,\"type\":\"stdout\",\"data\":\"no newline\"}\n");
    assert_line(&transcript, 1, "{\"seq\":1,\"type\":\"stderr\",\"data\":\"one\\n\"}\n");
    assert_line(&transcript, 2, "{\"seq\":2,\"type\":\"stdout\",\"data\":\"\\n\"}\n");
    assert_int_equal(transcript_next(&transcript), 4);
}

static void a_stream_without_output_gets_none(void **state)
{
    cleanup_transcript struct transcript transcript;
    const struct transcript_exit exit = {.exit_code = 0};

    (void)state;
    transcript_init(&transcript, false);
    transcript_add_exit(&transcript, &exit);
    assert_int_equal(transcript_next(&transcript), 1);
}

/* However the bytes are split, joined they are the same text. */
static void a_split_character_stays_whole(void **state)
{
    static const char text[] = "a\xC3\xBC\xE2\x82\xAC\xF0\x9F\x98\x80z\n";

    (void)state;
    for (size_t first = 0; first < sizeof(text); first++)
        for (size_t second = first; second < sizeof(text); second++) {
            cleanup_transcript struct transcript transcript;
            const struct str whole = {text, sizeof(text) - 1};
            const struct transcript_exit exit = {.exit_code = 0};
            char joined[256];
            size_t len = 0;

            transcript_init(&transcript, false);
            transcript_add_output(&transcript, TRANSCRIPT_STDOUT, str_slice(whole, 0, first));
            transcript_add_output(&transcript, TRANSCRIPT_STDOUT,
                                  str_slice(whole, first, second - first));
            transcript_add_output(&transcript, TRANSCRIPT_STDOUT,
                                  str_slice(whole, second, whole.len));
            transcript_add_exit(&transcript, &exit);
            for (int64_t i = 0; i < transcript_next(&transcript) - 1; i++) {
                struct str line = transcript_line(&transcript, i);
                size_t at = str_find(line, STR("\"data\":\"")) + 8;
                struct str data = str_slice(line, at, line.len - at - 3);

                memcpy(joined + len, data.ptr, data.len);
                len += data.len;
            }
            assert_true(str_eq((struct str){joined, len},
                               STR("a\xC3\xBC\xE2\x82\xAC\xF0\x9F\x98\x80z\\n")));
        }
}

static void half_a_character_at_the_end_is_shown_as_such(void **state)
{
    cleanup_transcript struct transcript transcript;
    const struct transcript_exit exit = {.exit_code = 0};

    (void)state;
    transcript_init(&transcript, false);
    add_out(&transcript, "x\xE2\x82");
    assert_line(&transcript, 0, "{\"seq\":0,\"type\":\"stdout\",\"data\":\"x\"}\n");
    transcript_add_exit(&transcript, &exit);
    assert_line(&transcript, 1,
                "{\"seq\":1,\"type\":\"stdout\",\"data\":\"\xEF\xBF\xBD\xEF\xBF\xBD\\n\"}\n");
}

static void invalid_bytes_are_not_held_back(void **state)
{
    cleanup_transcript struct transcript transcript;

    (void)state;
    transcript_init(&transcript, false);
    add_out(&transcript, "\xFF\x80\x80");
    assert_line(&transcript, 0,
                "{\"seq\":0,\"type\":\"stdout\",\"data\":"
                "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\"}\n");
}

static void the_oldest_events_go_first(void **state)
{
    cleanup_transcript struct transcript transcript;
    size_t one;

    (void)state;
    transcript_init(&transcript, true);
    add_out(&transcript, "0\n");
    one = transcript.bytes;
    for (int i = 1; i < 100; i++)
        add_out(&transcript, "0\n");
    transcript_trim(&transcript, one * 10, 50);
    assert_int_equal(transcript.first, 50); /* a follower has not read more */
    transcript_trim(&transcript, one * 10, 100);
    assert_int_equal(transcript.first, 90);
    assert_int_equal(transcript.bytes, one * 10);
    assert_line(&transcript, 89, "");
    assert_line(&transcript, 90, "{\"type\":\"stdout\",\"data\":\"0\\n\"}\n");
    for (int i = 0; i < 1000; i++) {
        add_out(&transcript, "1\n");
        transcript_trim(&transcript, one * 10, transcript_next(&transcript));
    }
    assert_int_equal(transcript.first, 1090);
    assert_true(transcript.room <= 256); /* its space does not grow with what is gone */
}

static void steps_of_an_image_begin_on_a_line_of_their_own(void **state)
{
    cleanup_transcript struct transcript transcript;

    (void)state;
    transcript_init(&transcript, false);
    transcript_add_step(&transcript, 1, 2, STR("RUN \"a\""), true);
    transcript_add_step(&transcript, 2, 2, STR("RUN b"), false);
    add_out(&transcript, "x");
    transcript_add_image(&transcript, STR("0f"));
    transcript_add_error(&transcript, STR("too late"));
    assert_line(&transcript, 0,
                "{\"seq\":0,\"type\":\"step\",\"step\":1,\"steps\":2,\"text\":\"RUN "
                "\\\"a\\\"\",\"cached\":true}\n");
    assert_line(&transcript, 2, "{\"seq\":2,\"type\":\"stdout\",\"data\":\"x\"}\n");
    assert_line(&transcript, 3, "{\"seq\":3,\"type\":\"stdout\",\"data\":\"\\n\"}\n");
    assert_line(&transcript, 4, "{\"seq\":4,\"type\":\"image\",\"image_id\":\"0f\"}\n");
    assert_line(&transcript, 5, "");
}

TEST_MAIN(cmocka_unit_test(events_are_numbered_lines),
          cmocka_unit_test(the_first_generation_has_no_numbers),
          cmocka_unit_test(each_stream_ends_with_a_newline),
          cmocka_unit_test(a_stream_without_output_gets_none),
          cmocka_unit_test(a_split_character_stays_whole),
          cmocka_unit_test(half_a_character_at_the_end_is_shown_as_such),
          cmocka_unit_test(invalid_bytes_are_not_held_back),
          cmocka_unit_test(the_oldest_events_go_first),
          cmocka_unit_test(steps_of_an_image_begin_on_a_line_of_their_own))
