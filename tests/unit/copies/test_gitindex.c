/* SPDX-License-Identifier: Apache-2.0 */
#include "copies/gitindex.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/sha1.h"
#include "test.h"

enum { TEXT_BYTES = 1 << 16, FILE_MODE = 0100644, LINK_MODE = 0120000, REPOSITORY_MODE = 0160000 };

/* ---- an index ---- */

static void put(struct buf *index, unsigned number, size_t bytes)
{
    for (size_t i = bytes; i > 0; i--)
        assert_int_equal(buf_append_char(index, (char)(number >> (8 * (i - 1)))), 0);
}

static void begin(struct buf *index, unsigned version, unsigned entries)
{
    buf_clear(index);
    assert_int_equal(buf_append_str(index, STR("DIRC")), 0);
    put(index, version, 4);
    put(index, entries, 4);
}

/* `more` are the flags of version 3, or 0. */
static void add(struct buf *index, const char *name, unsigned mode, unsigned flags, unsigned more)
{
    size_t start = index->len;

    put(index, 1, 4);
    for (size_t i = 1; i < 6; i++)
        put(index, (unsigned)i, 4);
    put(index, mode, 4);
    for (size_t i = 7; i < 15; i++)
        put(index, (unsigned)i, 4);
    put(index, flags | (unsigned)strlen(name) | (more != 0 ? 0x4000 : 0), 2);
    if (more != 0)
        put(index, more, 2);
    assert_int_equal(buf_append_str(index, str_from(name)), 0);
    do
        put(index, 0, 1);
    while ((index->len - start) % 8 != 0);
}

static void extend(struct buf *index, const char *name, const char *text)
{
    assert_int_equal(buf_append_str(index, str_from(name)), 0);
    put(index, (unsigned)strlen(text), 4);
    assert_int_equal(buf_append_str(index, str_from(text)), 0);
}

static void end(struct buf *index)
{
    uint8_t digest[SHA1_BYTES];

    sha1(buf_view(index), digest);
    assert_int_equal(buf_append(index, digest, sizeof(digest)), 0);
}

static bool is_secret(void *data, struct str name)
{
    (void)data;
    return str_ends_with(name, STR(".env"));
}

static int mark(const struct buf *index, struct buf *out, size_t *out_count)
{
    buf_clear(out);
    return gitindex_skip(buf_view(index), is_secret, NULL, out, out_count);
}

/* ---- the tests ---- */

static void what_was_left_out_is_skipped_and_nothing_else(void **state)
{
    cleanup_buf struct buf index = BUF_INIT(TEXT_BYTES);
    cleanup_buf struct buf wanted = BUF_INIT(TEXT_BYTES);
    cleanup_buf struct buf out = BUF_INIT(TEXT_BYTES);
    size_t count = 0;

    (void)state;
    begin(&index, 2, 5);
    begin(&wanted, 3, 5);
    add(&index, ".env", FILE_MODE, 0, 0);
    add(&wanted, ".env", FILE_MODE, 0, 0x4000);
    add(&index, "a.txt", FILE_MODE, 0x8000, 0);
    add(&wanted, "a.txt", FILE_MODE, 0x8000, 0);
    add(&index, "abcdef/b.env", LINK_MODE, 0, 0);
    add(&wanted, "abcdef/b.env", LINK_MODE, 0, 0x4000);
    add(&index, "c.env", REPOSITORY_MODE, 0, 0);
    add(&wanted, "c.env", REPOSITORY_MODE, 0, 0);
    add(&index, "d.env", FILE_MODE, 0x2000, 0); /* of a merge that has not ended */
    add(&wanted, "d.env", FILE_MODE, 0x2000, 0);
    extend(&index, "TREE", "kept");
    extend(&wanted, "TREE", "kept");
    extend(&index, "EOIE", "a place that is no longer right");
    end(&index);
    end(&wanted);
    assert_int_equal(mark(&index, &out, &count), 0);
    assert_int_equal(count, 2);
    assert_true(str_eq(buf_view(&out), buf_view(&wanted)));
    /* And again: there is nothing to do. */
    assert_int_equal(mark(&wanted, &out, &count), 0);
    assert_int_equal(count, 0);
    assert_true(str_eq(buf_view(&out), buf_view(&wanted)));
}

static void flags_of_version_3_are_kept(void **state)
{
    cleanup_buf struct buf index = BUF_INIT(TEXT_BYTES);
    cleanup_buf struct buf out = BUF_INIT(TEXT_BYTES);
    size_t count = 9;

    (void)state;
    begin(&index, 3, 2);
    add(&index, ".env", FILE_MODE, 0, 0x2000);
    add(&index, "x.env", FILE_MODE, 0, 0x4000);
    end(&index);
    assert_int_equal(mark(&index, &out, &count), 0);
    assert_int_equal(count, 0);
    assert_true(str_eq(buf_view(&out), buf_view(&index)));
}

static void what_is_not_understood_is_refused(void **state)
{
    cleanup_buf struct buf index = BUF_INIT(TEXT_BYTES);
    cleanup_buf struct buf out = BUF_INIT(TEXT_BYTES);
    size_t count = 9;

    (void)state;
    for (int i = 0; i < 8; i++) {
        begin(&index, i == 0 ? 4 : 2, i == 1 ? 2 : 1);
        add(&index, ".env", i == 2 ? 0040000 : FILE_MODE, i == 3 ? 1 : 0, i == 4 ? 0x4000 : 0);
        if (i == 5)
            extend(&index, "link", "12345678901234567890");
        if (i == 6)
            put(&index, 'T', 1);
        end(&index);
        if (i == 7)
            index.data[index.len - 1] ^= 1;
        assert_int_equal(mark(&index, &out, &count), ERR_UNSUPPORTED);
    }
    /* Cut anywhere. */
    begin(&index, 2, 1);
    add(&index, ".env", FILE_MODE, 0, 0);
    for (size_t len = 0; len < index.len; len++) {
        cleanup_buf struct buf cut = BUF_INIT(TEXT_BYTES);

        assert_int_equal(buf_append(&cut, index.data, len), 0);
        end(&cut);
        assert_int_equal(mark(&cut, &out, &count), ERR_UNSUPPORTED);
    }
    assert_int_equal(count, 9);
}

TEST_MAIN(cmocka_unit_test(what_was_left_out_is_skipped_and_nothing_else),
          cmocka_unit_test(flags_of_version_3_are_kept),
          cmocka_unit_test(what_is_not_understood_is_refused))
