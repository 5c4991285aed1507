/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of a multipart body, in pieces of every size. */
#include "programs/sandboxd/daytona/multipart.h"

#include "base/err.h"
#include "test.h"

#define TYPE       "multipart/form-data; boundary=AaB"
#define HEAD(name) "--AaB\r\nContent-Disposition: form-data; name=\"" name "\"\r\n\r\n"

enum { TOLD_BYTES = 1 << 20 };

/* What is read, with each part in brackets; the result is the last event, or the error. */
static int read_body(const char *type, struct str body, size_t step, struct buf *told)
{
    struct multipart multipart;
    int r = multipart_init(&multipart, str_from(type));

    for (size_t at = 0; at < body.len && r >= 0; at += step) {
        struct str bytes = str_slice(body, at, step);
        struct str content = STR_EMPTY;

        while ((r = multipart_next(&multipart, &bytes, &content)) > MULTIPART_MORE) {
            if (r == MULTIPART_PART)
                assert_int_equal(buf_printf(told, "[%.*s:", STR_ARG(multipart_name(&multipart))),
                                 0);
            else if (r == MULTIPART_DATA)
                assert_int_equal(buf_append_str(told, content), 0);
            else
                assert_int_equal(buf_append_str(told, r == MULTIPART_END ? STR("!") : STR("]")), 0);
        }
    }
    multipart_done(&multipart);
    return r;
}

static void assert_read(const char *type, const char *body, const char *expected)
{
    for (size_t step = 1; step <= strlen(body) + 1; step++) {
        cleanup_buf struct buf told = BUF_INIT(TOLD_BYTES);

        assert_int_equal(read_body(type, str_from(body), step, &told), MULTIPART_MORE);
        if (!str_eq_c(buf_view(&told), expected))
            fail_msg("in pieces of %zu: %.*s", step, STR_ARG(buf_view(&told)));
    }
}

static void parts_come_whole_in_any_pieces(void **state)
{
    (void)state;
    assert_read(TYPE, HEAD("a") "one\r\n" HEAD("b") "two\r\n--AaB--\r\n", "[a:one][b:two]!");
    assert_read(TYPE, "before\r\n" HEAD("a") "one\r\n--AaB--after", "[a:one]!");
    assert_read(TYPE, HEAD("a") "\r\n" HEAD("b") "\r\n--AaB--", "[a:][b:]!");
    assert_read("multipart/form-data; boundary=\"a b\"",
                "--a b \r\nX: y\r\ncontent-disposition: form-data; filename=\"x;y\"; name=n\r\n\r\n"
                "z\r\n--a b--",
                "[n:z]!");
}

static void beginnings_of_boundaries_are_content(void **state)
{
    (void)state;
    assert_read(TYPE, HEAD("a") "\r\n--Aa\r\r\n--A\r\n\r\n--AaC\n--AaB\r\n--AaB--",
                "[a:\r\n--Aa\r\r\n--A\r\n\r\n--AaC\n--AaB]!");
}

static void malformed_bodies_are_refused(void **state)
{
    static const char *const bodies[] = {
        "--AaB\r\nContent-Disposition: form-data\r\n\r\nx\r\n--AaB--",
        "--AaB\r\nContent-Type: text/plain\r\n\r\nx\r\n--AaB--",
        "--AaB\r\nContent-Disposition: form-data; name=\"open\r\n\r\nx\r\n--AaB--",
        "--AaBjunk\r\n",
    };

    (void)state;
    for (size_t i = 0; i < array_size(bodies); i++)
        for (size_t step = 1; step < 100; step += 7) {
            cleanup_buf struct buf told = BUF_INIT(TOLD_BYTES);

            assert_int_equal(read_body(TYPE, str_from(bodies[i]), step, &told),
                             ERR_INVALID_REQUEST);
        }
}

static void a_type_without_a_boundary_is_refused(void **state)
{
    static const char *const types[] = {
        "", "multipart/form-data", "text/plain; boundary=x",
        "multipart/form-data; boundary=", "multipart/form-data; boundary=\"x"};
    char longest[256] = "multipart/form-data; boundary=";
    struct multipart multipart;

    (void)state;
    for (size_t i = 0; i < array_size(types); i++)
        assert_int_equal(multipart_init(&multipart, str_from(types[i])), ERR_INVALID_ARGUMENT);
    memset(longest + strlen(longest), 'x', MULTIPART_MAX_BOUNDARY + 1);
    assert_int_equal(multipart_init(&multipart, str_from(longest)), ERR_INVALID_ARGUMENT);
}

static void heads_and_parts_have_a_limit(void **state)
{
    cleanup_buf struct buf body = BUF_INIT(TOLD_BYTES);
    cleanup_buf struct buf told = BUF_INIT(TOLD_BYTES);

    (void)state;
    assert_int_equal(buf_append_str(&body, STR("--AaB\r\n")), 0);
    for (unsigned i = 0; i < MULTIPART_MAX_HEAD_BYTES / 4; i++)
        assert_int_equal(buf_append_str(&body, STR("A: b\r\n")), 0);
    assert_int_equal(read_body(TYPE, buf_view(&body), 1000, &told), ERR_TOO_LARGE);
    buf_clear(&body);
    for (unsigned i = 0; i <= MULTIPART_MAX_PARTS; i++)
        assert_int_equal(
            buf_append_str(&body, STR("--AaB\r\nContent-Disposition:;name=a\r\n\r\n\r\n")), 0);
    assert_int_equal(read_body(TYPE, buf_view(&body), 1000, &told), ERR_TOO_LARGE);
}

TEST_MAIN(cmocka_unit_test(parts_come_whole_in_any_pieces),
          cmocka_unit_test(beginnings_of_boundaries_are_content),
          cmocka_unit_test(malformed_bodies_are_refused),
          cmocka_unit_test(a_type_without_a_boundary_is_refused),
          cmocka_unit_test(heads_and_parts_have_a_limit))
