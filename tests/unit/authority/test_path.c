/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "authority/names/path.h"
#include "base/err.h"

static struct path_name name;

/* A result that nothing may touch when the name is refused. */
static int normalise(struct str given, const char *root_path, bool keep_dotdot)
{
    int r;

    memset(&name, '#', sizeof(name));
    r = path_normalise(given, root_path, keep_dotdot, &name);
    if (r < 0) {
        for (size_t i = 0; i < sizeof(name); i++)
            assert_int_equal(((const char *)&name)[i], '#');
        return r;
    }
    assert_true(name.len < PATH_MAX);
    assert_int_equal(name.text[name.len], '\0');
    /* Nothing was cleared beyond what the name needs: every operation would pay for it. */
    for (size_t i = given.len + 1; i < PATH_MAX; i++)
        assert_int_equal(name.text[i], '#');
    return 0;
}

static void check(struct str given, const char *root_path, bool keep_dotdot, const char *wanted)
{
    int r = normalise(given, root_path, keep_dotdot);

    if (r < 0)
        fail_msg("\"%.*s\": %s", STR_ARG(given), err_name(r));
    if (strcmp(name.text, wanted) != 0)
        fail_msg("\"%.*s\": \"%s\", not \"%s\"", STR_ARG(given), name.text, wanted);
    assert_int_equal(name.len, strlen(wanted));
}

static void check_refused(struct str given, const char *root_path, bool keep_dotdot, int code)
{
    int r = normalise(given, root_path, keep_dotdot);

    if (r != code)
        fail_msg("\"%.*s\": %s", STR_ARG(given), r == 0 ? name.text : err_name(r));
}

struct form {
    struct str given;
    const char *wanted; /* NULL: outside the root */
};

static void check_forms(const struct form *forms, size_t count, const char *root_path,
                        bool keep_dotdot)
{
    for (size_t i = 0; i < count; i++)
        if (forms[i].wanted != NULL)
            check(forms[i].given, root_path, keep_dotdot, forms[i].wanted);
        else
            check_refused(forms[i].given, root_path, keep_dotdot, ERR_PATH_OUTSIDE_ROOT);
}

static void a_name_has_one_form(void **state)
{
    static const struct form forms[] = {
        {STR_LITERAL(""), ""},           {STR_LITERAL("."), ""},
        {STR_LITERAL("./"), ""},         {STR_LITERAL("././."), ""},
        {STR_LITERAL("a"), "a"},         {STR_LITERAL("a/b/c"), "a/b/c"},
        {STR_LITERAL("./a"), "a"},       {STR_LITERAL("a//b"), "a/b"},
        {STR_LITERAL("a///b//"), "a/b"}, {STR_LITERAL("a/./b"), "a/b"},
        {STR_LITERAL("a/."), "a"},       {STR_LITERAL("a/"), "a"},
    };

    (void)state;
    check_forms(forms, array_size(forms), NULL, false);
    check_forms(forms, array_size(forms), NULL, true);
    check((struct str){NULL, 0}, NULL, false, "");
}

static void dotdot_goes_back_and_never_out(void **state)
{
    static const struct form forms[] = {
        {STR_LITERAL("a/.."), ""},
        {STR_LITERAL("a/../"), ""},
        {STR_LITERAL("a/../b"), "b"},
        {STR_LITERAL("a/b/../c"), "a/c"},
        {STR_LITERAL("a/b/../../c"), "c"},
        {STR_LITERAL("a/./..//b"), "b"},
        {STR_LITERAL("abc/de/../f"), "abc/f"},
        {STR_LITERAL(".."), NULL},
        {STR_LITERAL("../"), NULL},
        {STR_LITERAL("./.."), NULL},
        {STR_LITERAL("../a"), NULL},
        {STR_LITERAL("a/../.."), NULL},
        {STR_LITERAL("a/../../a"), NULL},
        {STR_LITERAL("a//../.."), NULL},
        {STR_LITERAL("a/./../.."), NULL},
        {STR_LITERAL("a/b/../../../a/b"), NULL},
    };

    (void)state;
    check_forms(forms, array_size(forms), NULL, false);
}

static void dotdot_stays_where_the_kernel_resolves_it(void **state)
{
    static const struct form forms[] = {
        {STR_LITERAL("a/.."), "a/.."},
        {STR_LITERAL("a/../b"), "a/../b"},
        {STR_LITERAL("a/./../b/"), "a/../b"},
        {STR_LITERAL("a//b/../..//c"), "a/b/../../c"},
        {STR_LITERAL(".."), NULL},
        {STR_LITERAL("../x"), NULL},
        {STR_LITERAL("./../x"), NULL},
        {STR_LITERAL("a/../../x"), NULL},
        {STR_LITERAL("a/../../a/x"), NULL},
        {STR_LITERAL("a/b/../../.."), NULL},
    };

    (void)state;
    check_forms(forms, array_size(forms), NULL, true);
}

static void nothing_is_decoded(void **state)
{
    static const struct form forms[] = {
        {STR_LITERAL("..."), "..."},
        {STR_LITERAL("..a/a../.a/a."), "..a/a../.a/a."},
        {STR_LITERAL("a/.../b"), "a/.../b"},
        {STR_LITERAL("%2e%2e/x"), "%2e%2e/x"},
        {STR_LITERAL("..%2fx"), "..%2fx"},
        {STR_LITERAL("..\\x"), "..\\x"},
        {STR_LITERAL("a\\..\\..\\x"), "a\\..\\..\\x"},
        {STR_LITERAL("C:\\x"), "C:\\x"},
        {STR_LITERAL("~/x"), "~/x"},
        {STR_LITERAL("~root"), "~root"},
        {STR_LITERAL("$HOME"), "$HOME"},
        {STR_LITERAL("file:///x"), "file:/x"},
        {STR_LITERAL(" "), " "},
        {STR_LITERAL(". "), ". "},
        {STR_LITERAL(".. /x"), ".. /x"},
        {STR_LITERAL("a\nb\t\x01"), "a\nb\t\x01"},
        {STR_LITERAL("caf\xe9/\xff\xfe"), "caf\xe9/\xff\xfe"},
        {STR_LITERAL("\xc0\xae\xc0\xae/x"), "\xc0\xae\xc0\xae/x"},             /* overlong dots */
        {STR_LITERAL("\xef\xbc\x8e\xef\xbc\x8e"), "\xef\xbc\x8e\xef\xbc\x8e"}, /* wide dots */
        {STR_LITERAL("\xe2\x88\x95x"), "\xe2\x88\x95x"}, /* a mark like a slash */
    };

    (void)state;
    check_forms(forms, array_size(forms), "/r", false);
    check_forms(forms, array_size(forms), "/r", true);
}

static void absolute_names_must_lie_in_the_root(void **state)
{
    static const struct form forms[] = {
        {STR_LITERAL("/srv/top"), ""},
        {STR_LITERAL("/srv/top/"), ""},
        {STR_LITERAL("/srv/top/a/b"), "a/b"},
        {STR_LITERAL("//srv/./top//a"), "a"},
        {STR_LITERAL("/srv/top/a/../b"), "b"},
        {STR_LITERAL("/srv/top//srv/top"), "srv/top"},
        {STR_LITERAL("/"), NULL},
        {STR_LITERAL("/srv"), NULL},
        {STR_LITERAL("/srv/"), NULL},
        {STR_LITERAL("/srv/top-evil"), NULL},
        {STR_LITERAL("/srv/top-evil/a"), NULL},
        {STR_LITERAL("/srv/to"), NULL},
        {STR_LITERAL("/srv/Top/a"), NULL},
        {STR_LITERAL("/srvtop/a"), NULL},
        {STR_LITERAL("/etc/passwd"), NULL},
        {STR_LITERAL("/srv/top/../a"), NULL},
        {STR_LITERAL("/srv/top/../top/a"), NULL},
        {STR_LITERAL("/srv/top/a/../.."), NULL},
        {STR_LITERAL("/srv/x/../top/a"), NULL},
        {STR_LITERAL("/../srv/top/a"), NULL},
    };
    static const char *const spellings[] = {"/srv/top", "/srv/top/", "//srv//top//",
                                            "/./srv/./top/./"};

    (void)state;
    for (size_t i = 0; i < array_size(spellings); i++)
        check_forms(forms, array_size(forms), spellings[i], false);
    check(STR("/srv/top/a/../b"), "/srv/top", true, "a/../b");
    check_refused(STR("/srv/top/../top/a"), "/srv/top", true, ERR_PATH_OUTSIDE_ROOT);
    check(STR("srv/top/a"), "/srv/top", false, "srv/top/a");
}

static void in_the_root_of_all_every_absolute_name_lies(void **state)
{
    static const struct form forms[] = {
        {STR_LITERAL("/"), ""},       {STR_LITERAL("//"), ""},         {STR_LITERAL("/etc"), "etc"},
        {STR_LITERAL("//a/"), "a"},   {STR_LITERAL("/a/.."), ""},      {STR_LITERAL("/.."), NULL},
        {STR_LITERAL("/../a"), NULL}, {STR_LITERAL("/a/../.."), NULL},
    };

    (void)state;
    check_forms(forms, array_size(forms), "/", false);
    check_forms(forms, array_size(forms), "//", false);
}

static void without_an_absolute_root_no_absolute_name_is_taken(void **state)
{
    static const char *const roots[] = {NULL, "", "srv", "srv/top", "./", "."};

    (void)state;
    for (size_t i = 0; i < array_size(roots); i++) {
        check_refused(STR("/"), roots[i], false, ERR_PATH_OUTSIDE_ROOT);
        check_refused(STR("/srv/top/a"), roots[i], false, ERR_PATH_OUTSIDE_ROOT);
        check_refused(STR("/srv/a"), roots[i], true, ERR_PATH_OUTSIDE_ROOT);
    }
}

static void a_nul_anywhere_is_refused(void **state)
{
    static const struct str names[] = {
        STR_LITERAL("\0"),     STR_LITERAL("a\0"),    STR_LITERAL("\0a"),    STR_LITERAL("a\0b"),
        STR_LITERAL("a/\0/b"), STR_LITERAL("a/b\0/"), STR_LITERAL("/r/\0"),  STR_LITERAL("/r\0"),
        STR_LITERAL("../\0"),  STR_LITERAL("a/.\0"),  STR_LITERAL("..\0/a"),
    };

    (void)state;
    for (size_t i = 0; i < array_size(names); i++) {
        check_refused(names[i], "/r", false, ERR_INVALID_PATH);
        check_refused(names[i], "/r", true, ERR_INVALID_PATH);
    }
}

static void a_component_has_at_most_255_bytes(void **state)
{
    char text[600] = "d/";

    (void)state;
    memset(text + 2, 'n', 256);
    assert_int_equal(normalise((struct str){text, 2 + 255}, NULL, false), 0);
    assert_int_equal(name.len, 2 + 255);
    check_refused((struct str){text, 2 + 256}, NULL, false, ERR_INVALID_PATH);
    check_refused((struct str){text + 2, 256}, NULL, true, ERR_INVALID_PATH);

    /* Also one that ".." would take away again. */
    memcpy(text + 2 + 256, "/../x", 5);
    check_refused((struct str){text, 2 + 256 + 5}, NULL, false, ERR_INVALID_PATH);
}

static void a_name_has_at_most_4095_bytes(void **state)
{
    static char text[PATH_MAX + 1];

    (void)state;
    for (size_t i = 0; i < sizeof(text); i++)
        text[i] = i % 2 == 0 ? 'a' : '/';
    assert_int_equal(normalise((struct str){text, PATH_MAX - 1}, NULL, false), 0);
    assert_int_equal(name.len, PATH_MAX - 1);
    check_refused((struct str){text, PATH_MAX}, NULL, false, ERR_INVALID_PATH);
    check_refused((struct str){text, PATH_MAX + 1}, NULL, true, ERR_INVALID_PATH);

    /* What is given counts, not what would be left of it. */
    memset(text, '/', sizeof(text));
    text[0] = 'a';
    check((struct str){text, PATH_MAX - 1}, NULL, false, "a");
    check_refused((struct str){text, PATH_MAX}, NULL, false, ERR_INVALID_PATH);
}

static void bytes_behind_the_view_are_not_read(void **state)
{
    (void)state;
    check((struct str){"a/..", 3}, NULL, false, "a"); /* "a/." */
    check((struct str){"abc/../..", 6}, NULL, false, "");
    check((struct str){"/r-evil", 2}, "/r", false, "");
}

/* xorshift64 */
static uint64_t draw(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

/* The rules once more, on a list of components. */
static bool reference(struct str given, bool keep_dotdot, char *out_text)
{
    struct str parts[16];
    size_t count = 0;
    size_t depth = 0;
    struct str part;

    while (str_cut(&given, '/', &part)) {
        if (part.len == 0 || str_eq_c(part, "."))
            continue;
        if (str_eq_c(part, "..")) {
            if (depth-- == 0)
                return false;
            if (!keep_dotdot) {
                count--;
                continue;
            }
        } else {
            depth++;
        }
        parts[count++] = part;
    }
    *out_text = '\0';
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            *out_text++ = '/';
        memcpy(out_text, parts[i].ptr, parts[i].len);
        out_text += parts[i].len;
        *out_text = '\0';
    }
    return true;
}

static void generated_names_are_as_the_reference_says(void **state)
{
    static const char alphabet[] = "...//a";
    uint64_t seed = 20231;
    size_t accepted = 0;

    (void)state;
    for (size_t i = 0; i < 40000; i++) {
        bool keep_dotdot = draw(&seed) % 2 == 0;
        size_t len = draw(&seed) % 14;
        char wanted[32], text[14];
        struct str given = {text, len};

        for (size_t j = 0; j < len; j++)
            text[j] = alphabet[draw(&seed) % (sizeof(alphabet) - 1)];
        if (len > 0 && text[0] == '/')
            text[0] = 'a';
        if (reference(given, keep_dotdot, wanted)) {
            check(given, NULL, keep_dotdot, wanted);
            accepted++;
        } else {
            check_refused(given, NULL, keep_dotdot, ERR_PATH_OUTSIDE_ROOT);
        }
    }
    /* Both ways were taken often. */
    assert_in_range(accepted, 4000, 38000);
}

static void a_name_splits_into_its_directory_and_the_last_component(void **state)
{
    struct str parent, last;

    (void)state;
    path_split(STR("a/b/c"), &parent, &last);
    assert_str(parent, "a/b");
    assert_str(last, "c");
    path_split(STR("a"), &parent, &last);
    assert_str(parent, "");
    assert_str(last, "a");
    path_split(STR(""), &parent, &last);
    assert_str(parent, "");
    assert_str(last, "");
}

static void within_is_by_whole_components(void **state)
{
    (void)state;
    assert_true(path_is_within(STR("a/b"), STR("a")));
    assert_true(path_is_within(STR("a/b"), STR("a/b")));
    assert_true(path_is_within(STR("a/b"), STR("")));
    assert_true(path_is_within(STR(""), STR("")));
    assert_false(path_is_within(STR("ab"), STR("a")));
    assert_false(path_is_within(STR("a"), STR("a/b")));
    assert_false(path_is_within(STR("a/bc"), STR("a/b")));
    assert_false(path_is_within(STR(""), STR("a")));
}

static void taking_components_ends_with_the_last(void **state)
{
    struct str rest = STR("a/bc");

    (void)state;
    assert_str(path_take(&rest), "a");
    assert_str(path_take(&rest), "bc");
    assert_int_equal(rest.len, 0);
}

TEST_MAIN(cmocka_unit_test(a_name_has_one_form), cmocka_unit_test(dotdot_goes_back_and_never_out),
          cmocka_unit_test(dotdot_stays_where_the_kernel_resolves_it),
          cmocka_unit_test(nothing_is_decoded),
          cmocka_unit_test(absolute_names_must_lie_in_the_root),
          cmocka_unit_test(in_the_root_of_all_every_absolute_name_lies),
          cmocka_unit_test(without_an_absolute_root_no_absolute_name_is_taken),
          cmocka_unit_test(a_nul_anywhere_is_refused),
          cmocka_unit_test(a_component_has_at_most_255_bytes),
          cmocka_unit_test(a_name_has_at_most_4095_bytes),
          cmocka_unit_test(bytes_behind_the_view_are_not_read),
          cmocka_unit_test(generated_names_are_as_the_reference_says),
          cmocka_unit_test(a_name_splits_into_its_directory_and_the_last_component),
          cmocka_unit_test(within_is_by_whole_components),
          cmocka_unit_test(taking_components_ends_with_the_last))
