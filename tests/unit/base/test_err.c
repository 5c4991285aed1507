/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "base/err.h"
#include "base/utf8.h"

static void every_row_is_complete_and_its_name_unique(void **state)
{
    (void)state;
    for (int i = 0; i < ERR_COUNT; i++) {
        int code = -(i + 1);

        assert_true(err_name(code)[0] != '\0');
        assert_true(err_text(code)[0] != '\0');
        assert_in_range(err_http_status(code), 400, 599);
        assert_true(err_rpc_code(code) <= -32000 && err_rpc_code(code) >= -32768);
        for (int j = 0; j < i; j++)
            assert_string_not_equal(err_name(code), err_name(-(j + 1)));
    }
}

static void names_of_modern_mcp_errors_are_left_to_mcp(void **state)
{
    (void)state;
    for (int i = 0; i < ERR_COUNT; i++) {
        int rpc = err_rpc_code(-(i + 1));

        assert_false(rpc == -32002 || (rpc <= -32020 && rpc >= -32022));
    }
}

static void codes_outside_the_table_read_as_internal(void **state)
{
    (void)state;
    assert_string_equal(err_name(0), "internal");
    assert_string_equal(err_name(17), "internal");
    assert_string_equal(err_name(-ERR_COUNT - 1), "internal");
    assert_int_equal(err_http_status(-100000), 500);
}

static void categories_tell_rules_from_the_machine(void **state)
{
    (void)state;
    assert_int_equal(err_category(ERR_NO_SPACE), ERR_OPERATIONAL);
    assert_int_equal(err_category(ERR_TOO_LARGE), ERR_POLICY);
    assert_string_equal(err_category_name(ERR_POLICY), "policy");
    assert_string_equal(err_category_name(ERR_OPERATIONAL), "operational");
}

static void set_fills_code_message_and_field(void **state)
{
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(err_set_field(&err, ERR_INVALID_OPTION, "--port", "%d is too much", 70000),
                     ERR_INVALID_OPTION);
    assert_int_equal(err.code, ERR_INVALID_OPTION);
    assert_string_equal(err.message, "70000 is too much");
    assert_string_equal(err.field, "--port");
    assert_int_equal(err_set(&err, ERR_IO, "gone"), ERR_IO);
    assert_string_equal(err.field, "");
    assert_int_equal(err_set_plain(&err, ERR_BUSY), ERR_BUSY);
    assert_string_equal(err.message, err_text(ERR_BUSY));
}

static void set_without_an_object_only_returns_the_code(void **state)
{
    (void)state;
    assert_int_equal(err_set(NULL, ERR_IO, "unused"), ERR_IO);
    assert_int_equal(err_set_field(NULL, ERR_IO, "field", "unused"), ERR_IO);
    assert_int_equal(err_set_plain(NULL, ERR_IO), ERR_IO);
}

static void long_messages_are_cut_not_overrun(void **state)
{
    struct err err = ERR_INIT;
    char text[4 * ERR_MESSAGE_BYTES];

    (void)state;
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    err_set_field(&err, ERR_IO, text, "%s", text);
    assert_int_equal(strlen(err.message), ERR_MESSAGE_BYTES - 1);
    assert_int_equal(strlen(err.field), ERR_FIELD_BYTES - 1);
}

static void messages_are_cut_between_characters(void **state)
{
    static const char *const characters[] = {"\xC3\xA4", "\xE2\x82\xAC", "\xF0\x9F\x98\x80"};
    char text[2 * ERR_MESSAGE_BYTES + 8];

    (void)state;
    for (size_t i = 0; i < array_size(characters); i++) {
        for (size_t start = 0; start < 4; start++) {
            size_t step = strlen(characters[i]);
            struct err err = ERR_INIT;
            size_t len = start;

            memset(text, 'x', sizeof(text));
            for (; len + step < sizeof(text); len += step)
                memcpy(text + len, characters[i], step);
            text[len] = '\0';
            err_set_field(&err, ERR_IO, text, "%s", text);
            assert_true(utf8_is_valid(str_from(err.message)));
            assert_true(utf8_is_valid(str_from(err.field)));
            assert_in_range(strlen(err.message), ERR_MESSAGE_BYTES - step, ERR_MESSAGE_BYTES - 1);
            assert_in_range(strlen(err.field), ERR_FIELD_BYTES - step, ERR_FIELD_BYTES - 1);
        }
    }
}

static void bytes_that_are_no_text_are_marked(void **state)
{
    struct err err = ERR_INIT;

    (void)state;
    err_set_field(&err, ERR_IO, "\xFF", "a\xFF\xC3 \xE2\x82\xC3\xA4: %s", "\x80 gone");
    assert_string_equal(err.message, "a?? ??\xC3\xA4: ? gone");
    assert_string_equal(err.field, "?");
}

static void errno_values_keep_their_kind(void **state)
{
    (void)state;
    assert_int_equal(err_from_errno(0), 0);
    assert_int_equal(err_from_errno(ENOSPC), ERR_NO_SPACE);
    assert_int_equal(err_from_errno(EDQUOT), ERR_NO_SPACE);
    assert_int_equal(err_from_errno(EACCES), ERR_PERMISSION_DENIED);
    assert_int_equal(err_from_errno(ENOENT), ERR_NOT_FOUND);
    assert_int_equal(err_from_errno(EEXIST), ERR_ALREADY_EXISTS);
    assert_int_equal(err_from_errno(EMFILE), ERR_TOO_MANY_FILES);
    assert_int_equal(err_from_errno(ENOMEM), ERR_NO_MEMORY);
    assert_int_equal(err_from_errno(ENOSYS), ERR_UNSUPPORTED);
    assert_int_equal(err_from_errno(EIO), ERR_IO);
    assert_string_equal(err_errno_text(ENOENT), "No such file or directory");
    assert_string_equal(err_errno_text(123456), "unknown system error");
}

TEST_MAIN(cmocka_unit_test(every_row_is_complete_and_its_name_unique),
          cmocka_unit_test(names_of_modern_mcp_errors_are_left_to_mcp),
          cmocka_unit_test(codes_outside_the_table_read_as_internal),
          cmocka_unit_test(categories_tell_rules_from_the_machine),
          cmocka_unit_test(set_fills_code_message_and_field),
          cmocka_unit_test(set_without_an_object_only_returns_the_code),
          cmocka_unit_test(long_messages_are_cut_not_overrun),
          cmocka_unit_test(messages_are_cut_between_characters),
          cmocka_unit_test(bytes_that_are_no_text_are_marked),
          cmocka_unit_test(errno_values_keep_their_kind))
