/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "base/err.h"
#include "net/http/path.h"

static void assert_path(struct str raw, struct str wanted)
{
    cleanup_buf struct buf space = BUF_INIT(1024);
    struct str path = STR_EMPTY;

    assert_int_equal(httppath_decode(raw, &space, &path), 0);
    assert_true(str_eq(path, wanted));
}

static void plain_paths_stay_where_they_are(void **state)
{
    cleanup_buf struct buf space = BUF_INIT(16);
    const struct str raw = STR("/a/b.c/~d;e=f/");
    struct str path;

    (void)state;
    assert_int_equal(httppath_decode(raw, &space, &path), 0);
    assert_ptr_equal(path.ptr, raw.ptr);
    assert_int_equal(path.len, raw.len);
    assert_null(space.data);
}

static void encoded_paths_are_decoded_once(void **state)
{
    (void)state;
    assert_path(STR("/"), STR("/"));
    assert_path(STR("/a%20b"), STR("/a b"));
    assert_path(STR("/%C3%a4"), STR("/\xc3\xa4"));
    assert_path(STR("/100%25"), STR("/100%"));
    assert_path(STR("/%41%3f%23"), STR("/A?#"));
    assert_path(STR("/...%2e"), STR("/...."));
}

static void what_could_be_read_in_two_ways_is_refused(void **state)
{
    static const char *const tricks[] = {
        "/..",         "/.",         "/a/../b", "/a/./b", "/%2e%2e/a", "/.%2E",      "/%2e",
        "//",          "//a",        "/a//b",   "/a%2fb", "/a%2Fb",    "/%5c",       "/a\\b",
        "/%00",        "/a%0d%0ab",  "/%7f",    "/%",     "/%2",       "/%zz",       "/%2g",
        "/%252e%252e", "/%25%32%65", "/%c3%28", "/%ff",   "/%c0%af",   "/%ed%a0%80",
    };

    (void)state;
    for (size_t i = 0; i < array_size(tricks); i++) {
        cleanup_buf struct buf space = BUF_INIT(64);
        struct str path;

        if (httppath_decode(str_from(tricks[i]), &space, &path) != ERR_HTTP_PATH)
            fail_msg("%s passed", tricks[i]);
    }
}

TEST_MAIN(cmocka_unit_test(plain_paths_stay_where_they_are),
          cmocka_unit_test(encoded_paths_are_decoded_once),
          cmocka_unit_test(what_could_be_read_in_two_ways_is_refused))
