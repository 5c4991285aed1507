/* SPDX-License-Identifier: Apache-2.0 */
/* Small first files as steps of an image. */
#include "base/cleanup.h"
#include "test.h"
#include "workspace/imagefiles.h"

enum { MANY = 60 };

static char content[IMAGEFILES_FILE_BYTES + 1];

static void write_all(const struct imagefiles *images, struct buf *out)
{
    struct json_writer json;

    json_writer_init(&json, out);
    json_begin_array(&json);
    imagefiles_write(images, &json);
    json_end_array(&json);
    assert_int_equal(json_writer_finish(&json), 0);
}

static void small_files_with_plain_names_are_steps(void **state)
{
    cleanup_buf struct buf out = BUF_INIT(1 << 20);
    const struct workspace_file files[] = {
        {.path = STR("a"), .content = STR("x")},
        {.path = STR("dir/sub/b"), .content = STR(""), .is_executable = true},
        {.path = STR("it's"), .content = STR("x")},
        {.path = STR("a\nb"), .content = STR("x")},
        {.path = STR("$(c)"), .content = STR("x")},
        {.path = STR("<<d"), .content = STR("x")},
        {.path = STR("large"), .content = {content, sizeof(content)}},
    };
    struct imagefiles images;

    (void)state;
    assert_int_equal(imagefiles_init(&images, "/h", files, array_size(files)), 0);
    for (size_t i = 0; i < array_size(files); i++)
        assert_int_equal(images.has[i], i < 2);
    write_all(&images, &out);
    assert_int_equal(buf_append_char(&out, '\0'), 0);
    assert_string_equal(
        out.data,
        "[\"RUN printf %s 'eA==' | base64 -d > '/h/a'"
        " && { chown 1000:1000 '/h/a' 2>/dev/null || :; }"
        " && mkdir -p '/h/dir/sub' && { chown 1000:1000 '/h/dir' '/h/dir/sub' 2>/dev/null || :; }"
        " && printf %s '' | base64 -d > '/h/dir/sub/b' && chmod 755 '/h/dir/sub/b'"
        " && { chown 1000:1000 '/h/dir/sub/b' 2>/dev/null || :; }\"]");
    imagefiles_done(&images);
}

static void there_is_only_so_much_in_a_step_and_in_all(void **state)
{
    struct workspace_file files[MANY];
    struct imagefiles images;
    struct str rest;
    struct str step;
    size_t steps = 0;
    size_t taken = 0;

    (void)state;
    for (size_t i = 0; i < MANY; i++)
        files[i] =
            (struct workspace_file){.path = STR("f"), .content = {content, IMAGEFILES_FILE_BYTES}};
    assert_int_equal(imagefiles_init(&images, "/h", files, MANY), 0);
    for (size_t i = 0; i < MANY; i++)
        taken += images.has[i];
    assert_true(taken > 10 && taken < MANY);
    assert_true(images.steps.len <= IMAGEFILES_BYTES + IMAGEFILES_STEP_BYTES);
    rest = buf_view(&images.steps);
    while (rest.len > 0 && str_cut(&rest, '\0', &step)) {
        steps++;
        assert_true(str_starts_with(step, STR("RUN printf")));
        assert_true(step.len <= IMAGEFILES_STEP_BYTES + 64);
    }
    assert_true(steps >= taken / 2 && steps < taken);
    imagefiles_done(&images);
}

TEST_MAIN(cmocka_unit_test(small_files_with_plain_names_are_steps),
          cmocka_unit_test(there_is_only_so_much_in_a_step_and_in_all))
