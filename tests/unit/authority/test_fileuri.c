/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "authority/names/fileuri.h"

#define ROOT STR("/srv/me/my root")

static void names(struct str uri, const char *expected)
{
    char name[PATH_MAX];
    struct err err = ERR_INIT;
    size_t len = 0;

    if (fileuri_name(uri, ROOT, name, &len, &err) < 0)
        fail_msg("%.*s: %s", STR_ARG(uri), err.message);
    assert_string_equal(name, expected);
    assert_int_equal(len, strlen(expected));
}

static void refused(struct str uri, int code)
{
    char name[PATH_MAX];
    struct err err = ERR_INIT;
    size_t len = 77;

    assert_int_equal(fileuri_name(uri, ROOT, name, &len, &err), code);
    assert_int_equal(len, 77);
    assert_int_equal(err.code, code);
    assert_int_equal(fileuri_name(uri, ROOT, name, &len, NULL), code);
}

static void an_address_below_the_root_has_a_name(void **state)
{
    (void)state;
    names(STR("file:///srv/me/my%20root/a.txt"), "a.txt");
    names(STR("FILE://localhost/srv/me/my%20root/a/b"), "a/b");
    names(STR("file:///srv/me/my root/a//./b/../c"), "a/c");
    names(STR("file:///srv/me/my%20root"), "");
    names(STR("file:///srv/me/my%20root/%E2%82%AC%25"), "\xE2\x82\xAC%");
    names(STR("file:///srv/me/my%20root/a%2Fb"), "a/b");
    names(STR("file:///srv/me/my%20root/%ff"), "\xFF");
}

static void an_address_elsewhere_is_refused(void **state)
{
    (void)state;
    refused(STR("file:///etc/passwd"), ERR_PATH_OUTSIDE_ROOT);
    refused(STR("file:///srv/me/my%20root/../other"), ERR_PATH_OUTSIDE_ROOT);
    refused(STR("file:///srv/me/my%20root/%2e%2e/other"), ERR_PATH_OUTSIDE_ROOT);
    refused(STR("file:///srv/me/my%20root-evil/x"), ERR_PATH_OUTSIDE_ROOT);
    refused(STR("file:///srv/me/"), ERR_PATH_OUTSIDE_ROOT);
    refused(STR("file:///"), ERR_PATH_OUTSIDE_ROOT);
}

static void what_is_no_file_address_is_refused(void **state)
{
    (void)state;
    refused(STR(""), ERR_INVALID_ARGUMENT);
    refused(STR("a.txt"), ERR_INVALID_ARGUMENT);
    refused(STR("file:"), ERR_INVALID_ARGUMENT);
    refused(STR("file://"), ERR_INVALID_ARGUMENT);
    refused(STR("file://otherhost/srv/me/my%20root/a"), ERR_INVALID_ARGUMENT);
    refused(STR("file://localhostile/srv/me/my%20root/a"), ERR_INVALID_ARGUMENT);
    refused(STR("http:///srv/me/my%20root/a"), ERR_INVALID_ARGUMENT);
    refused(STR("file:///srv/me/my%20root/a?x"), ERR_INVALID_ARGUMENT);
    refused(STR("file:///srv/me/my%20root/a#x"), ERR_INVALID_ARGUMENT);
    refused(STR("file:///srv/me/my%20root/%"), ERR_INVALID_ARGUMENT);
    refused(STR("file:///srv/me/my%20root/%4"), ERR_INVALID_ARGUMENT);
    refused(STR("file:///srv/me/my%20root/%4x"), ERR_INVALID_ARGUMENT);
    refused(STR("file:///srv/me/my%20root/%00"), ERR_INVALID_PATH);
}

static void a_name_too_long_is_refused(void **state)
{
    cleanup_buf struct buf uri = BUF_INIT(64 << 10);

    (void)state;
    assert_int_equal(buf_append_str(&uri, STR("file:///srv/me/my%20root")), 0);
    while (uri.len < 3 * PATH_MAX)
        assert_int_equal(buf_append_str(&uri, STR("/%41")), 0);
    refused(buf_view(&uri), ERR_INVALID_PATH);
}

static void any_bytes_of_a_name_come_back(void **state)
{
    char all[255 - 2 + 1];
    char name[PATH_MAX];
    cleanup_buf struct buf uri = BUF_INIT(64 << 10);
    size_t len = 0;
    size_t count = 0;

    (void)state;
    for (int c = 1; c < 256; c++)
        if (c != '/' && c != '.')
            all[count++] = (char)c;
    all[count++] = '.';
    assert_int_equal(fileuri_append(&uri, ROOT, (struct str){all, count}), 0);
    assert_true(str_starts_with(buf_view(&uri), STR("file:///srv/me/my%20root/%01%02")));
    for (size_t i = 0; i < uri.len; i++)
        assert_true(uri.data[i] > ' ' && uri.data[i] < 0x7F);
    assert_int_equal(fileuri_name(buf_view(&uri), ROOT, name, &len, NULL), 0);
    assert_int_equal(len, count);
    assert_memory_equal(name, all, count);
}

static void the_root_of_the_machine_needs_no_second_slash(void **state)
{
    cleanup_buf struct buf uri = BUF_INIT(100);
    char name[PATH_MAX];
    size_t len;

    (void)state;
    assert_int_equal(fileuri_append(&uri, STR("/"), STR("etc/x")), 0);
    assert_str(buf_view(&uri), "file:///etc/x");
    assert_int_equal(fileuri_name(buf_view(&uri), STR("/"), name, &len, NULL), 0);
    assert_string_equal(name, "etc/x");
}

TEST_MAIN(cmocka_unit_test(an_address_below_the_root_has_a_name),
          cmocka_unit_test(an_address_elsewhere_is_refused),
          cmocka_unit_test(what_is_no_file_address_is_refused),
          cmocka_unit_test(a_name_too_long_is_refused),
          cmocka_unit_test(any_bytes_of_a_name_come_back),
          cmocka_unit_test(the_root_of_the_machine_needs_no_second_slash))
