/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "browser/fileurl.h"

static void addresses_of_files_are_paths(void **state)
{
    static const struct {
        const char *url;
        const char *path;
        const char *whole;
    } known[] = {
        {"file:///srv/a.html", "/srv/a.html", "file:///srv/a.html"},
        {"FILE:/srv/a.html", "/srv/a.html", "file:///srv/a.html"},
        {"file://localhost/srv/a.html", "/srv/a.html", "file:///srv/a.html"},
        {"file:///srv/a%20b.html?x=/../y#/../z", "/srv/a b.html",
         "file:///srv/a%20b.html?x=/../y#/../z"},
        {"file:///srv/x/%2e%2E/./a b\\c%3f", "/srv/a b\\c?", "file:///srv/a%20b%5Cc%3F"},
        {"file:///", "/", "file:///"},
        {"file:site/index.html#top", "site/index.html", "file:///base/site/index.html#top"},
        {"file:./site//x/../index.html", "site/index.html", "file:///base/site/index.html"},
        {"file:", "", "file:///base"},
    };
    static const char *const bad[] = {"file://host/a",  "file://localhost.evil/a",
                                      "file://a.html",  "file:../a",
                                      "file:a/../../b", "file:///%00",
                                      "file:///%zz",    "file:///../x"};

    (void)state;
    for (size_t i = 0; i < array_size(known); i++) {
        cleanup_buf struct buf whole = BUF_INIT(PATH_MAX);
        char path[PATH_MAX];

        assert_int_equal(fileurl_path(str_from(known[i].url), path, NULL), 0);
        assert_string_equal(path, known[i].path);
        assert_int_equal(
            fileurl_append(&whole, STR("/base"), str_from(path), str_from(known[i].url)), 0);
        assert_true(str_eq_c(buf_view(&whole), known[i].whole));
    }
    for (size_t i = 0; i < array_size(bad); i++) {
        struct err err = ERR_INIT;
        char path[PATH_MAX];

        assert_true(fileurl_path(str_from(bad[i]), path, &err) < 0);
        assert_true(err.message[0] != '\0');
    }
}

TEST_MAIN(cmocka_unit_test(addresses_of_files_are_paths))
