/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "files/media.h"

static void types_follow_content_and_name(void **state)
{
    (void)state;
    assert_string_equal(media_type_of_content(STR("%PDF-1.4")), "application/pdf");
    assert_null(media_type_of_content(STR("%PDF")));
    assert_null(media_type_of_content(STR("RIFF1234WAVE")));
    assert_null(media_type_of_content(STR("RIFF")));
    assert_null(media_type_of_content(STR("")));
    assert_string_equal(media_type_of_name(STR("a/b.JSON")), "application/json");
    assert_string_equal(media_type_of_name(STR("a.woff2")), "font/woff2");
    assert_null(media_type_of_name(STR("a/json")));
    assert_null(media_type_of_name(STR("a.")));
    /* A name that contradicts the content is not believed. */
    assert_string_equal(media_type_of_text(STR("a.md")), "text/markdown");
    assert_string_equal(media_type_of_text(STR("a.png")), "text/plain");
    assert_string_equal(media_type_of_text(STR("Makefile")), "text/plain");
    assert_string_equal(media_type_of_bytes(STR("a.md")), "application/octet-stream");
    assert_string_equal(media_type_of_bytes(STR("a.zip")), "application/zip");
}

TEST_MAIN(cmocka_unit_test(types_follow_content_and_name))
