/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which names and contents archives may have. Bombs are in test_archive_limits.c, damaged archives
 * in test_archive_damage.c.
 */
#include "test.h"

#include <stdio.h>
#include <string.h>

#include "archive_sample.h"

#define TAR BUF_INIT(SAMPLE_MAX_BYTES)

static void refuses(struct str archive, int code)
{
    sample_refuses(archive, NULL, code);
}

static const struct sample_entry ordinary[] = {
    {.name = "dir/", .type = AE_IFDIR, .mode = 0700},
    {.name = "dir/text", .content = STR_LITERAL("some text\n")},
    {.name = "dir/run", .mode = 04755, .content = STR_LITERAL("#!/bin/sh\n")},
    {.name = "./implied/deeper/empty", .mode = 0400},
    {.name = "na\xC3\xAFve \xE2\x82\xAC", .content = STR_LITERAL("euro")},
};

static void every_format_arrives_whole(void **state)
{
    static const struct {
        int format;
        int filter;
    } cases[] = {
        {ARCHIVE_FORMAT_TAR_USTAR, ARCHIVE_FILTER_NONE},
        {ARCHIVE_FORMAT_TAR_PAX_INTERCHANGE, ARCHIVE_FILTER_NONE},
        {ARCHIVE_FORMAT_TAR_GNUTAR, ARCHIVE_FILTER_NONE},
        {ARCHIVE_FORMAT_TAR_PAX_RESTRICTED, ARCHIVE_FILTER_GZIP},
        {ARCHIVE_FORMAT_TAR_USTAR, ARCHIVE_FILTER_XZ},
        {ARCHIVE_FORMAT_TAR_USTAR, ARCHIVE_FILTER_ZSTD},
        {ARCHIVE_FORMAT_TAR_USTAR, ARCHIVE_FILTER_BZIP2},
        {ARCHIVE_FORMAT_ZIP, ARCHIVE_FILTER_NONE},
    };

    (void)state;
    for (size_t i = 0; i < array_size(cases); i++) {
        cleanup_sample_disk struct sample_disk disk;
        cleanup_buf struct buf archive = TAR;

        sample_disk_init(&disk);
        sample_write(&archive, cases[i].format, cases[i].filter, NULL, ordinary,
                     array_size(ordinary));
        sample_extract_or_fail(&disk, buf_view(&archive));
        assert_int_equal(disk.result.files, 4);
        assert_int_equal(disk.result.directories, 3);
        assert_int_equal(disk.result.bytes, 24);
        assert_string_equal(sample_kind(&disk, "out/dir"), "d755");
        assert_string_equal(sample_kind(&disk, "out/dir/text"), "f644");
        /* Executable still, set-uid no longer. */
        assert_string_equal(sample_kind(&disk, "out/dir/run"), "f755");
        assert_string_equal(sample_kind(&disk, "out/implied/deeper/empty"), "f644");
        assert_str(sample_content(&disk, "out/dir/text"), "some text\n");
        assert_str(sample_content(&disk, "out/dir/run"), "#!/bin/sh\n");
        assert_str(sample_content(&disk, "out/na\xC3\xAFve \xE2\x82\xAC"), "euro");
    }
}

static void empty_archives_give_an_empty_directory(void **state)
{
    cleanup_buf struct buf tar = TAR;
    struct str archives[2];

    (void)state;
    sample_tar_end(&tar);
    archives[0] = buf_view(&tar);
    archives[1] = STR("PK\005\006\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0");
    for (size_t i = 0; i < array_size(archives); i++) {
        cleanup_sample_disk struct sample_disk disk;

        sample_disk_init(&disk);
        sample_extract_or_fail(&disk, archives[i]);
        assert_int_equal(disk.result.files + disk.result.directories, 0);
        assert_string_equal(sample_kind(&disk, "out"), "d755");
    }
}

static void dots_and_doubled_slashes_are_taken_out_of_names(void **state)
{
    cleanup_sample_disk struct sample_disk disk;
    cleanup_buf struct buf tar = TAR;

    (void)state;
    sample_disk_init(&disk);
    sample_tar_directory(&tar, "./");
    sample_tar_directory(&tar, ".");
    sample_tar_file(&tar, "././a//b/./c", STR("1"));
    sample_tar_directory(&tar, "a/b/");
    sample_tar_end(&tar);
    sample_extract_or_fail(&disk, buf_view(&tar));
    assert_str(sample_content(&disk, "out/a/b/c"), "1");
    assert_int_equal(disk.result.directories, 2);
}

static void encoded_and_backslash_forms_stay_literal(void **state)
{
    cleanup_sample_disk struct sample_disk disk;
    cleanup_buf struct buf tar = TAR;

    (void)state;
    sample_disk_init(&disk);
    sample_tar_file(&tar, "..\\..\\outside", STR("1"));
    sample_tar_file(&tar, "%2e%2e/x", STR("2"));
    sample_tar_file(&tar, "C:\\x", STR("3"));
    sample_tar_file(&tar, "~", STR("4"));
    sample_tar_file(&tar, "...", STR("5"));
    sample_tar_file(&tar, "new\nline", STR("6"));
    sample_tar_end(&tar);
    sample_extract_or_fail(&disk, buf_view(&tar));
    assert_str(sample_content(&disk, "out/..\\..\\outside"), "1");
    assert_str(sample_content(&disk, "out/%2e%2e/x"), "2");
    assert_str(sample_content(&disk, "out/C:\\x"), "3");
    assert_str(sample_content(&disk, "out/~"), "4");
    assert_str(sample_content(&disk, "out/..."), "5");
    assert_str(sample_content(&disk, "out/new\nline"), "6");
    assert_str(sample_content(&disk, "outside"), "untouched");
}

static void names_that_lead_out_are_refused(void **state)
{
    static const char *const names[] = {
        "..",    "../outside", "a/../../outside", "a/..",     "./../outside", "/",
        "/etc/", "/outside",   "//outside",       "a/b/../c", "..//outside",
    };

    (void)state;
    for (size_t i = 0; i < array_size(names); i++) {
        static const int formats[] = {ARCHIVE_FORMAT_TAR_USTAR, ARCHIVE_FORMAT_TAR_GNUTAR,
                                      ARCHIVE_FORMAT_ZIP};

        for (size_t f = 0; f < array_size(formats); f++) {
            cleanup_buf struct buf archive = TAR;
            const struct sample_entry entries[] = {
                {.name = "first", .content = STR("1")},
                {.name = names[i], .content = STR("evil")},
            };

            sample_write(&archive, formats[f], ARCHIVE_FILTER_NONE, NULL, entries, 2);
            refuses(buf_view(&archive), ERR_ARCHIVE_ENTRY_PATH);
        }
        {
            cleanup_buf struct buf tar = TAR;

            /* The name that counts is the one of the extended header. */
            sample_tar_pax(&tar, 'x', "path", str_from(names[i]));
            sample_tar_file(&tar, "innocent", STR("evil"));
            sample_tar_end(&tar);
            refuses(buf_view(&tar), ERR_ARCHIVE_ENTRY_PATH);
        }
    }
}

static void unusable_names_are_refused(void **state)
{
    char component[257], path[PATH_MAX + 2];
    const struct str names[] = {
        STR_LITERAL(""),  STR_LITERAL("latin1 \xe9"), STR_LITERAL("surrogate \xed\xa0\x80"),
        {component, 256}, {path, PATH_MAX},
    };

    (void)state;
    memset(component, 'x', sizeof(component));
    for (size_t i = 0; i < sizeof(path); i++)
        path[i] = i % 200 == 199 ? '/' : 'y';
    for (size_t i = 0; i < array_size(names); i++) {
        cleanup_buf struct buf tar = TAR;

        if (names[i].len == 0)
            sample_tar_file(&tar, "", STR("x"));
        else if (names[i].len < 100)
            sample_tar_file(&tar, names[i].ptr, STR("x"));
        else {
            sample_tar_special(&tar, 'L', names[i]);
            sample_tar_file(&tar, "short", STR("x"));
        }
        sample_tar_end(&tar);
        refuses(buf_view(&tar), ERR_ARCHIVE_ENTRY_PATH);
    }
}

static void longest_names_arrive(void **state)
{
    static const char types[] = "Lx";
    char component[256] = "";

    (void)state;
    memset(component, 'x', 255);
    for (size_t i = 0; types[i] != '\0'; i++) {
        cleanup_sample_disk struct sample_disk disk;
        cleanup_buf struct buf tar = TAR;
        char name[300];

        sample_disk_init(&disk);
        if (types[i] == 'L')
            sample_tar_special(&tar, 'L', str_from(component));
        else
            sample_tar_pax(&tar, 'x', "path", str_from(component));
        sample_tar_file(&tar, "short", STR("long"));
        sample_tar_end(&tar);
        sample_extract_or_fail(&disk, buf_view(&tar));
        snprintf(name, sizeof(name), "out/%s", component);
        assert_str(sample_content(&disk, name), "long");
    }
}

static void names_with_a_nul_are_refused(void **state)
{
    static const char *const keys[] = {"path", "linkpath", "GNU.sparse.name"};
    static const struct sample_entry zipped[] = {{.name = "ab_cd", .content = STR_LITERAL("x")}};
    cleanup_buf struct buf zip = TAR;
    cleanup_buf struct buf gnu = TAR;

    (void)state;
    for (size_t i = 0; i < array_size(keys); i++) {
        cleanup_buf struct buf tar = TAR;

        sample_tar_pax(&tar, 'x', keys[i], STR("good.txt\0.evil"));
        sample_tar_file(&tar, "name", STR("x"));
        sample_tar_end(&tar);
        refuses(buf_view(&tar), ERR_ARCHIVE_ENTRY_PATH);
    }
    sample_tar_special(&gnu, 'L', STR("good.txt\0.evil\0"));
    sample_tar_file(&gnu, "name", STR("x"));
    sample_tar_end(&gnu);
    refuses(buf_view(&gnu), ERR_ARCHIVE_ENTRY_PATH);

    sample_write(&zip, ARCHIVE_FORMAT_ZIP, ARCHIVE_FILTER_NONE, NULL, zipped, 1);
    assert_int_equal(sample_patch(&zip, STR("ab_cd"), STR("ab\0cd")), 2);
    refuses(buf_view(&zip), ERR_ARCHIVE_ENTRY_PATH);
}

static void a_nul_in_other_attributes_is_harmless(void **state)
{
    cleanup_sample_disk struct sample_disk disk;
    cleanup_buf struct buf tar = TAR;

    (void)state;
    sample_disk_init(&disk);
    sample_tar_pax(&tar, 'g', "comment", STR("0123456789abcdef"));
    sample_tar_pax(&tar, 'x', "SCHILY.xattr.user.x", STR("\0\1\0"));
    sample_tar_special(&tar, 'L', STR("long name\0\0\0"));
    sample_tar_file(&tar, "name", STR("x"));
    sample_tar_end(&tar);
    sample_extract_or_fail(&disk, buf_view(&tar));
    assert_str(sample_content(&disk, "out/long name"), "x");
}

static void names_that_meet_are_refused(void **state)
{
    static const struct {
        const char *first;
        const char *second;
    } cases[] = {
        {"same", "same"},
        {"same", "./same"},
        {"dir/same", "dir//same"},
        {"README", "readme"},
        {"Dir/a", "dir/b"}, /* two directories in one */
        {"stra\xC3\x9F"
         "e",
         "STRASSE"},                                      /* sharp s folds to ss */
        {"\xC3\x84", "\xC3\xA4"},                         /* a umlaut, capital and small */
        {"caf\xC3\xA9", "cafe\xCC\x81"},                  /* composed, decomposed */
        {"CAF\xC3\x89", "cafe\xCC\x81"},                  /* both at once */
        {"\xE2\x84\xAB", "\xC3\xA5"},                     /* angstrom sign, a with ring */
        {"q\xCC\xA3\xCC\x87", "q\xCC\x87\xCC\xA3"},       /* marks in another order */
        {"\xCE\xA3", "\xCF\x82"},                         /* sigma, final sigma */
        {"\xE1\xBE\xB3", "\xCE\xB1\xCE\xB9"},             /* iota below, iota beside */
        {"\xEA\xB0\x80/x", "\xE1\x84\x80\xE1\x85\xA1/y"}, /* a syllable and its letters */
        {"file", "file/below"},
        {"file/below", "file"},
        {"file", "FILE/below"},
        {"a/b/c", "a/b"},
    };

    (void)state;
    for (size_t i = 0; i < array_size(cases); i++) {
        static const int formats[] = {ARCHIVE_FORMAT_TAR_USTAR, ARCHIVE_FORMAT_TAR_PAX_INTERCHANGE,
                                      ARCHIVE_FORMAT_ZIP};

        for (size_t f = 0; f < array_size(formats); f++) {
            cleanup_buf struct buf archive = TAR;
            const struct sample_entry entries[] = {
                {.name = cases[i].first, .content = STR("1")},
                {.name = "between", .content = STR("2")},
                {.name = cases[i].second, .content = STR("3")},
            };

            sample_write(&archive, formats[f], ARCHIVE_FILTER_NONE, NULL, entries, 3);
            refuses(buf_view(&archive), ERR_ARCHIVE_ENTRY_PATH);
        }
    }
}

static void names_keep_their_normal_form(void **state)
{
    static const int formats[] = {ARCHIVE_FORMAT_TAR_USTAR, ARCHIVE_FORMAT_TAR_PAX_INTERCHANGE,
                                  ARCHIVE_FORMAT_TAR_GNUTAR, ARCHIVE_FORMAT_ZIP};
    static const struct sample_entry entries[] = {
        {.name = "b", .content = STR_LITERAL("0")},
        {.name = "cafe\xCC\x81/x", .content = STR_LITERAL("1")},
        {.name = "a", .content = STR_LITERAL("2")},
        {.name = "caf\xC3\xA9s", .content = STR_LITERAL("3")},
        {.name = "\xE1\x84\x80\xE1\x85\xA1", .content = STR_LITERAL("4")},
    };

    (void)state;
    for (size_t i = 0; i < array_size(formats); i++) {
        cleanup_sample_disk struct sample_disk disk;
        cleanup_buf struct buf archive = TAR;

        sample_disk_init(&disk);
        sample_write(&archive, formats[i], ARCHIVE_FILTER_NONE, NULL, entries, array_size(entries));
        sample_extract_or_fail(&disk, buf_view(&archive));
        assert_str(sample_content(&disk, "out/cafe\xCC\x81/x"), "1");
        assert_str(sample_content(&disk, "out/a"), "2");
        assert_str(sample_content(&disk, "out/caf\xC3\xA9s"), "3");
        assert_str(sample_content(&disk, "out/\xE1\x84\x80\xE1\x85\xA1"), "4");
    }
}

static void a_directory_named_twice_is_refused(void **state)
{
    cleanup_buf struct buf tar = TAR;

    (void)state;
    sample_tar_directory(&tar, "dir");
    sample_tar_directory(&tar, "dir/");
    sample_tar_end(&tar);
    refuses(buf_view(&tar), ERR_ARCHIVE_ENTRY_PATH);
}

static void names_that_only_look_alike_arrive(void **state)
{
    cleanup_sample_disk struct sample_disk disk;
    cleanup_buf struct buf tar = TAR;

    (void)state;
    sample_disk_init(&disk);
    sample_tar_file(&tar, "a/b", STR("1"));
    sample_tar_file(&tar, "ab", STR("2"));
    sample_tar_file(&tar, "a.b", STR("3"));
    sample_tar_file(&tar, "\xCE\x91", STR("4")); /* Greek capital alpha */
    sample_tar_file(&tar, "A2", STR("5"));
    sample_tar_file(&tar, "\xEF\xBC\xA1", STR("6")); /* full-width A */
    sample_tar_end(&tar);
    sample_extract_or_fail(&disk, buf_view(&tar));
    assert_int_equal(disk.result.files, 6);
}

static void links_are_refused(void **state)
{
    cleanup_buf struct buf tar = TAR;
    cleanup_buf struct buf hard = TAR;
    cleanup_buf struct buf inside = TAR;
    cleanup_buf struct buf zip = TAR;
    static const struct sample_entry zipped[] = {
        {.name = "link", .type = AE_IFLNK, .mode = 0777, .link = "../outside"},
    };

    (void)state;
    /* The classic: a link out, then a file through it. */
    sample_tar_header(&tar, "dir", '2', 0, "..");
    sample_tar_file(&tar, "dir/outside", STR("evil"));
    sample_tar_end(&tar);
    refuses(buf_view(&tar), ERR_ARCHIVE_ENTRY_LINK);

    sample_tar_header(&hard, "name", '1', 0, "../outside");
    sample_tar_end(&hard);
    refuses(buf_view(&hard), ERR_ARCHIVE_ENTRY_LINK);

    /* Also where it would stay inside, and where content comes with it. */
    sample_tar_file(&inside, "file", STR("1"));
    sample_tar_header(&inside, "name", '1', 4, "file");
    sample_tar_body(&inside, STR("evil"));
    sample_tar_end(&inside);
    refuses(buf_view(&inside), ERR_ARCHIVE_ENTRY_LINK);

    sample_write(&zip, ARCHIVE_FORMAT_ZIP, ARCHIVE_FILTER_NONE, NULL, zipped, 1);
    refuses(buf_view(&zip), ERR_ARCHIVE_ENTRY_LINK);
}

static void devices_and_the_like_are_refused(void **state)
{
    static const char types[] = "346MVDN?s";

    (void)state;
    for (size_t i = 0; types[i] != '\0'; i++) {
        cleanup_buf struct buf tar = TAR;

        sample_tar_file(&tar, "file", STR("1"));
        sample_tar_header(&tar, "thing", types[i], 0, NULL);
        sample_tar_file(&tar, "other", STR("2"));
        sample_tar_end(&tar);
        refuses(buf_view(&tar), ERR_ARCHIVE_ENTRY_TYPE);
    }
}

static void refusals_name_the_entry(void **state)
{
    cleanup_sample_disk struct sample_disk disk;
    cleanup_buf struct buf tar = TAR;

    (void)state;
    sample_disk_init(&disk);
    sample_tar_file(&tar, "fine", STR("1"));
    sample_tar_header(&tar, "the/link", '2', 0, "/etc/passwd");
    sample_tar_end(&tar);
    assert_int_equal(sample_extract(&disk, buf_view(&tar)), ERR_ARCHIVE_ENTRY_LINK);
    assert_string_equal(disk.err.field, "the/link");
}

static bool admits_no_env(void *context, struct str name, bool is_directory)
{
    unsigned *directories = context;

    *directories += is_directory;
    return !str_ends_with(name, STR(".env"));
}

static void a_denied_name_refuses_the_archive(void **state)
{
    cleanup_sample_disk struct sample_disk disk;
    cleanup_buf struct buf tar = TAR;
    unsigned directories = 0;

    (void)state;
    sample_disk_init(&disk);
    disk.rules.admits = admits_no_env;
    disk.rules.context = &directories;
    sample_tar_directory(&tar, "dir/");
    sample_tar_file(&tar, "dir/fine", STR("1"));
    sample_tar_file(&tar, "./dir/.env", STR("SECRET=1"));
    sample_tar_end(&tar);
    assert_int_equal(sample_extract(&disk, buf_view(&tar)), ERR_DENIED_BY_POLICY);
    assert_string_equal(disk.err.field, "dir/.env");
    assert_int_equal(directories, 1);
    assert_string_equal(sample_kind(&disk, "out"), "none");
    assert_int_equal(disk.nodes_left, 0);
}

TEST_MAIN(cmocka_unit_test(every_format_arrives_whole),
          cmocka_unit_test(empty_archives_give_an_empty_directory),
          cmocka_unit_test(dots_and_doubled_slashes_are_taken_out_of_names),
          cmocka_unit_test(encoded_and_backslash_forms_stay_literal),
          cmocka_unit_test(names_that_lead_out_are_refused),
          cmocka_unit_test(unusable_names_are_refused), cmocka_unit_test(longest_names_arrive),
          cmocka_unit_test(names_with_a_nul_are_refused),
          cmocka_unit_test(a_nul_in_other_attributes_is_harmless),
          cmocka_unit_test(names_that_meet_are_refused),
          cmocka_unit_test(names_keep_their_normal_form),
          cmocka_unit_test(a_directory_named_twice_is_refused),
          cmocka_unit_test(names_that_only_look_alike_arrive), cmocka_unit_test(links_are_refused),
          cmocka_unit_test(devices_and_the_like_are_refused),
          cmocka_unit_test(refusals_name_the_entry),
          cmocka_unit_test(a_denied_name_refuses_the_archive))
