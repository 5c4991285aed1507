/* SPDX-License-Identifier: Apache-2.0 */
/* Dockerfiles as Daytona's SDKs write them become steps; others are refused with their line. */
#include "programs/sandboxd/dockerfile.h"

#include "test.h"

enum { MOST_BYTES = 16 << 20 };

static void assert_steps(const char *text, const char *expected)
{
    cleanup_buf struct buf steps = BUF_INIT(MOST_BYTES);
    struct err err = ERR_INIT;

    if (dockerfile_read(str_from(text), &steps, &err) < 0)
        fail_msg("%s", err.message);
    if (!str_eq_c(buf_view(&steps), expected))
        fail_msg("the steps are %.*s", STR_ARG(buf_view(&steps)));
}

static void assert_refused(const char *text, const char *words)
{
    cleanup_buf struct buf steps = BUF_INIT(MOST_BYTES);
    struct err err = ERR_INIT;

    assert_int_equal(dockerfile_read(str_from(text), &steps, &err), ERR_INVALID_ARGUMENT);
    if (strstr(err.message, words) == NULL)
        fail_msg("refused with: %s", err.message);
}

static void all_that_the_builder_of_images_writes_is_read(void **state)
{
    (void)state;
    assert_steps("FROM python:3.13.3-slim-bookworm\n"
                 "RUN python -m pip install a b --find-links 'x y'\n"
                 "COPY /tmp/req.txt /.requirements.txt\n"
                 "RUN \"bash\" \"-c\" \"echo \\\\\\\"hi\\\\\\\"\"\n"
                 "ENV FOO=bar\n"
                 "ENV WORDS='two words'\n"
                 "WORKDIR /srv/daytona\n"
                 "ENTRYPOINT [\"/bin/bash\"]\n"
                 "CMD [\"/bin/bash\"]\n",
                 "[\"FROM python:3.13.3-slim-bookworm\","
                 "\"RUN python -m pip install a b --find-links 'x y'\","
                 "\"COPY /tmp/req.txt /.requirements.txt\","
                 "\"RUN \\\"bash\\\" \\\"-c\\\" \\\"echo \\\\\\\\\\\\\\\"hi\\\\\\\\\\\\\\\"\\\"\","
                 "\"ENV FOO=\\\"bar\\\"\",\"ENV WORDS=\\\"two words\\\"\","
                 "\"WORKDIR /srv/daytona\"]");
}

static void lines_are_continued_and_comments_dropped(void **state)
{
    (void)state;
    assert_steps(
        "# syntax=docker/dockerfile:1\r\n\r\n  from --platform=linux/arm64 node:22 AS one\r\n"
        "run a && \\\r\n  # in between\r\n\r\n  b # no comment\r\nUSER root",
        "[\"FROM node:22\",\"RUN a &&   b # no comment\"]");
    assert_steps("FROM x\nRUN a \\", "[\"FROM x\",\"RUN a\"]");
}

static void variables_are_unquoted_and_replaced_as_docker_does(void **state)
{
    (void)state;
    assert_steps(
        "FROM x\nENV A=1 B=\"two words\" C=a\\ b\nENV D=${A}-$B-${NO:-none}${A:+yes}\n"
        "ENV E='$A' F=\\$A G=\"say \\\"$A\\\"\"\nENV OLD some  words\n",
        "[\"FROM x\",\"ENV A=\\\"1\\\"\",\"ENV B=\\\"two words\\\"\",\"ENV C=\\\"a b\\\"\","
        "\"ENV D=\\\"1-two words-noneyes\\\"\",\"ENV E=\\\"$A\\\"\",\"ENV F=\\\"$A\\\"\","
        "\"ENV G=\\\"say \\\"1\\\"\\\"\",\"ENV OLD=\\\"some  words\\\"\"]");
    assert_steps("FROM x\nENV A=1\nENV A=2 B=$A\nENV C=$A$B\n",
                 "[\"FROM x\",\"ENV A=\\\"1\\\"\",\"ENV A=\\\"2\\\"\",\"ENV B=\\\"1\\\"\","
                 "\"ENV C=\\\"21\\\"\"]");
    assert_steps("FROM x\nENV PATH=/opt/bin:$PATH\nRUN echo $PATH\n",
                 "[\"FROM x\",\"ENV PATH=\\\"/opt/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:"
                 "/usr/bin:/sbin:/bin\\\"\",\"RUN echo $PATH\"]");
}

static void the_path_of_the_builder_stays_in_front(void **state)
{
    cleanup_buf struct buf steps = BUF_INIT(MOST_BYTES);

    (void)state;
    assert_int_equal(dockerfile_read(STR("FROM builder\nENV PATH=$PATH:/mine\n"), &steps, NULL), 0);
    assert_true(str_find(buf_view(&steps), STR("node_modules/.bin:")) != SIZE_MAX);
    assert_true(str_find(buf_view(&steps), STR(":/mine")) != SIZE_MAX);
}

static void directories_follow_one_another(void **state)
{
    (void)state;
    assert_steps("FROM x\nWORKDIR a\nWORKDIR b\nWORKDIR '/with space'\nWORKDIR c\n",
                 "[\"FROM x\",\"WORKDIR /a\",\"WORKDIR /a/b\",\"WORKDIR /with space\","
                 "\"WORKDIR /with space/c\"]");
}

static void lists_are_words(void **state)
{
    (void)state;
    assert_steps("FROM x\nRUN [\"sh\", \"-c\", \"it's\"]\nCOPY [\"a\", \"b\", \"/c/\"]\n",
                 "[\"FROM x\",\"RUN 'sh' '-c' 'it'\\\\''s'\",\"COPY a b /c/\"]");
    /* What is no list of texts is for the shell. */
    assert_steps("FROM x\nRUN [ -e /tmp ]\n", "[\"FROM x\",\"RUN [ -e /tmp ]\"]");
}

static void what_is_not_supported_is_refused_with_its_line(void **state)
{
    (void)state;
    assert_refused("", "begins with FROM");
    assert_refused("RUN true", "line 1: a Dockerfile begins with FROM");
    assert_refused("FROM a\nFROM b", "line 2: there may be only one FROM");
    assert_refused("FROM a b", "FROM needs");
    assert_refused("FROM --x", "FROM needs");
    assert_refused("FROM a\n\n\nADD x y", "line 4: only FROM");
    assert_refused("FROM a\nVOLUME /x", "line 2: only");
    assert_refused("FROM a\nCOPY --from=b x y", "options");
    assert_refused("FROM a\nCOPY x", "a target");
    assert_refused("FROM a\nCOPY 'x y' z", "spaces");
    assert_refused("FROM a\nCOPY <<EOF /x", "here-documents");
    assert_refused("FROM a\nRUN cat <<EOF", "here-documents");
    assert_refused("FROM a\nRUN --mount=type=secret x", "options");
    assert_refused("FROM a\nENV A", "a name and a value");
    assert_refused("FROM a\nENV A=1 B", "a name and a value");
    assert_refused("FROM a\nENV =1", "a name and a value");
    assert_refused("FROM a\nENV A-B=1", "letters, digits");
    assert_refused("FROM a\nENV A='1", "quote");
    assert_refused("FROM a\nENV A=${B", "brace");
    assert_refused("FROM a\nENV A=${B:=1}", "a variable is");
    assert_refused("FROM a\nENV A=${}", "no name");
    assert_refused("FROM a\nWORKDIR ''", "a path");
    assert_refused("FROM a\nRUN", "must follow");
}

static void what_grows_by_variables_has_an_end(void **state)
{
    cleanup_buf struct buf text = BUF_INIT(MOST_BYTES);
    cleanup_buf struct buf steps = BUF_INIT(MOST_BYTES);
    const char *words;

    (void)state;
    assert_int_equal(buf_append_str(&text, STR("FROM a\nENV A=0123456789\n")), 0);
    for (int i = 0; i < 60; i++)
        assert_int_equal(buf_append_str(&text, STR("ENV A=$A$A$A$A\n")), 0);
    assert_int_equal(buf_terminate(&text, &words), 0);
    assert_refused(words, "too long");
    buf_clear(&text);
    assert_int_equal(buf_append_str(&text, STR("FROM a\n")), 0);
    for (int i = 0; i < 127; i++)
        assert_int_equal(buf_append_str(&text, STR("RUN x\n")), 0);
    assert_int_equal(buf_terminate(&text, &words), 0);
    assert_refused(words, "more than 127");
    assert_int_equal(dockerfile_read((struct str){"FROM a\0b", 8}, &steps, NULL),
                     ERR_INVALID_ARGUMENT);
}

TEST_MAIN(cmocka_unit_test(all_that_the_builder_of_images_writes_is_read),
          cmocka_unit_test(lines_are_continued_and_comments_dropped),
          cmocka_unit_test(variables_are_unquoted_and_replaced_as_docker_does),
          cmocka_unit_test(the_path_of_the_builder_stays_in_front),
          cmocka_unit_test(directories_follow_one_another), cmocka_unit_test(lists_are_words),
          cmocka_unit_test(what_is_not_supported_is_refused_with_its_line),
          cmocka_unit_test(what_grows_by_variables_has_an_end))
