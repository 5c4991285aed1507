/* SPDX-License-Identifier: Apache-2.0 */
#include "copies/request.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "test.h"

#define ID "0123456789abcdef0123456789abcdef"

static void a_request_comes_back_as_it_was(void **state)
{
    static const char *const texts[] = {"list\n", "diff fix\n", "undo a-1\n",
                                        "apply fix\n" ID "\n" ID "\n"};
    cleanup_free struct copies_request *request = calloc(1, sizeof(*request));

    (void)state;
    assert_non_null(request);
    for (size_t i = 0; i < array_size(texts); i++) {
        cleanup_buf struct buf text = BUF_INIT(COPIES_MAX_REQUEST_BYTES);

        assert_int_equal(copies_request_parse(str_from(texts[i]), request), 0);
        assert_int_equal(copies_request_write(request, &text), 0);
        assert_true(str_eq_c(buf_view(&text), texts[i]));
    }
}

static void what_is_no_request_is_refused(void **state)
{
    static const char *const wrong[] = {
        "",
        "list",
        "list fix\n",
        "list\n" ID "\n",
        "diff\n",
        "diff \n",
        "diff ../x\n",
        "diff a b\n",
        "diff fix\n" ID "\n",
        "apply fix\n",
        "apply fix\n" ID,
        "apply fix\n\n",
        "apply fix\n0\n",
        "apply fix\n0123456789ABCDEF0123456789abcdef\n",
        "undo fix\n" ID "\n",
        "remove fix\n",
    };
    cleanup_free struct copies_request *request = calloc(1, sizeof(*request));

    (void)state;
    assert_non_null(request);
    for (size_t i = 0; i < array_size(wrong); i++)
        if (copies_request_parse(str_from(wrong[i]), request) != ERR_INVALID_ARGUMENT)
            fail_msg("accepted: %s", wrong[i]);
    assert_int_equal(copies_request_parse(STR("diff f\0x\n"), request), ERR_INVALID_ARGUMENT);
}

static void only_so_many_changes_are_chosen(void **state)
{
    cleanup_free struct copies_request *request = calloc(1, sizeof(*request));
    cleanup_buf struct buf text = BUF_INIT(COPIES_MAX_REQUEST_BYTES);

    (void)state;
    assert_non_null(request);
    request->verb = COPIES_APPLY;
    assert_true(copies_take_workspace(STR("fix"), request->name));
    for (size_t i = 0; i < COPIES_MAX_CHOSEN; i++)
        assert_int_equal(copies_choose(request, STR(ID)), 0);
    assert_int_equal(copies_choose(request, STR(ID)), ERR_TOO_LARGE);
    assert_int_equal(copies_request_write(request, &text), 0);
    assert_int_equal(copies_request_parse(buf_view(&text), request), 0);
    assert_int_equal(request->chosen_count, COPIES_MAX_CHOSEN);
}

static void an_answer_is_a_document_or_an_error(void **state)
{
    cleanup_buf struct buf text = BUF_INIT(COPIES_MAX_REQUEST_BYTES);
    struct str document;
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(copies_answer_parse(STR("ok\n{}"), &document, &err), 0);
    assert_true(str_eq(document, STR("{}")));
    err_set(&err, ERR_NOT_FOUND, "no such\nworkspace");
    assert_int_equal(copies_answer_write_error(&err, &text), 0);
    err = (struct err)ERR_INIT;
    assert_int_equal(copies_answer_parse(buf_view(&text), &document, &err), ERR_NOT_FOUND);
    assert_string_equal(err.message, "no such\nworkspace");
    assert_int_equal(copies_answer_parse(STR(""), &document, &err), ERR_IO);
    assert_int_equal(copies_answer_parse(STR("ok"), &document, &err), ERR_IO);
}

/* All that apply depends on is in it. */
static void another_state_of_a_change_has_another_id(void **state)
{
    const struct copies_difference change = {.name = STR("a"),
                                             .change = COPIES_MODIFIED,
                                             .type = AUTHORITY_FILE,
                                             .original = {.size = 1, .changed_ns = 2, .inode = 3},
                                             .copy = {.size = 4, .changed_ns = 5, .inode = 6},
                                             .has_original = true,
                                             .has_copy = true};
    struct copies_difference others[12];
    char ids[array_size(others) + 1][COPIES_ID_CHARS + 1];

    (void)state;
    for (size_t i = 0; i < array_size(others); i++)
        others[i] = change;
    others[0].name = STR("b");
    others[1].change = COPIES_MODE;
    others[2].type = AUTHORITY_DIRECTORY;
    others[3].original.size++;
    others[4].original.changed_ns++;
    others[5].original.inode++;
    others[6].copy.size++;
    others[7].copy.changed_ns++;
    others[8].copy.inode++;
    others[9].copy.mode = 0755;
    others[10].has_original = false;
    others[11].conflict = "it has changed";
    copies_change_id(&change, ids[array_size(others)]);
    for (size_t i = 0; i < array_size(others); i++)
        copies_change_id(&others[i], ids[i]);
    for (size_t i = 0; i < array_size(ids); i++)
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(ids[i], ids[k]);
    copies_change_id(&change, ids[0]);
    assert_string_equal(ids[0], ids[array_size(others)]);
}

TEST_MAIN(cmocka_unit_test(a_request_comes_back_as_it_was),
          cmocka_unit_test(what_is_no_request_is_refused),
          cmocka_unit_test(only_so_many_changes_are_chosen),
          cmocka_unit_test(an_answer_is_a_document_or_an_error),
          cmocka_unit_test(another_state_of_a_change_has_another_id))
