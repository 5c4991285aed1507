/* SPDX-License-Identifier: Apache-2.0 */
/* Archives that are refused for their size: bombs. */
#include "test.h"

#include <stdio.h>
#include <string.h>

#include "archive_sample.h"
#include "memory_plant.h"

#define BYTES BUF_INIT(SAMPLE_MAX_BYTES)

/* ---- Weight ---- */

static void bombs_are_refused_by_their_ratio(void **state)
{
    cleanup_buf struct buf memory = BYTES;
    const struct sample_entry bomb[] = {
        {.name = "bomb", .content = sample_zeros(&memory, 16 << 20)}};
    static const struct {
        int format;
        int filter;
    } cases[] = {
        {ARCHIVE_FORMAT_TAR_USTAR, ARCHIVE_FILTER_GZIP},
        {ARCHIVE_FORMAT_TAR_USTAR, ARCHIVE_FILTER_BZIP2},
        {ARCHIVE_FORMAT_TAR_USTAR, ARCHIVE_FILTER_XZ},
        {ARCHIVE_FORMAT_TAR_USTAR, ARCHIVE_FILTER_ZSTD},
        {ARCHIVE_FORMAT_ZIP, ARCHIVE_FILTER_NONE},
    };

    (void)state;
    for (size_t i = 0; i < array_size(cases); i++) {
        cleanup_buf struct buf archive = BYTES;
        cleanup_sample_disk struct sample_disk disk;

        sample_write(&archive, cases[i].format, cases[i].filter, NULL, bomb, 1);
        assert_true(archive.len < bomb[0].content.len / AUTHORITY_ARCHIVE_RATIO);
        sample_disk_init(&disk);
        /* There is no room for it: it has to be stopped on the way. */
        memory_set_ceilings(disk.backend, 8 << 20, 100);
        sample_check_refused(&disk, sample_extract(&disk, buf_view(&archive)), ERR_ARCHIVE_RATIO);
    }
}

static void small_files_may_compress_well(void **state)
{
    cleanup_buf struct buf memory = BYTES;
    cleanup_buf struct buf archive = BYTES;
    const struct sample_entry file[] = {
        {.name = "log", .content = sample_zeros(&memory, 900 << 10)}};

    (void)state;
    sample_write(&archive, ARCHIVE_FORMAT_TAR_USTAR, ARCHIVE_FILTER_GZIP, NULL, file, 1);
    assert_true(archive.len < file[0].content.len / AUTHORITY_ARCHIVE_RATIO);
    sample_accepts(buf_view(&archive), NULL);
}

static void headers_alone_can_be_a_bomb(void **state)
{
    cleanup_buf struct buf tar = BYTES;
    cleanup_buf struct buf archive = BYTES;
    cleanup_buf struct buf memory = BYTES;
    struct archive_limits limits = archive_limits_from(NULL);

    (void)state;
    /* Few entries without content, and before each many bytes of attributes. */
    for (int i = 0; i < 40; i++) {
        char name[16];

        sample_tar_pax(&tar, 'x', "comment", sample_zeros(&memory, 900000));
        snprintf(name, sizeof(name), "%d", i);
        sample_tar_file(&tar, name, STR(""));
    }
    sample_tar_end(&tar);
    sample_pack(&archive, ARCHIVE_FILTER_GZIP, buf_view(&tar));
    sample_refuses(buf_view(&archive), NULL, ERR_ARCHIVE_RATIO);
    limits.ratio = 1000000;
    limits.total_bytes = 1 << 20;
    limits.entries = 100;
    sample_refuses(buf_view(&archive), &limits, ERR_ARCHIVE_BYTES);
}

static void one_header_cannot_go_on_for_ever(void **state)
{
    cleanup_buf struct buf tar = BYTES;
    cleanup_buf struct buf memory = BYTES;

    (void)state;
    for (int i = 0; i < 8; i++)
        sample_tar_pax(&tar, 'x', "comment", sample_zeros(&memory, 600000));
    sample_tar_file(&tar, "file", STR("1"));
    sample_tar_end(&tar);
    sample_refuses(buf_view(&tar), NULL, ERR_ARCHIVE_FORMAT);

    buf_clear(&tar);
    sample_tar_pax(&tar, 'x', "comment", sample_zeros(&memory, 3 << 20));
    sample_tar_file(&tar, "file", STR("1"));
    sample_tar_end(&tar);
    sample_refuses(buf_view(&tar), NULL, ERR_ARCHIVE_FORMAT);

    /* Thousands of small ones must not become thousands of calls on the stack. */
    buf_clear(&tar);
    for (int i = 0; i < 100000; i++)
        sample_tar_pax(&tar, 'g', "comment", STR("x"));
    sample_tar_file(&tar, "file", STR("1"));
    sample_tar_end(&tar);
    sample_refuses(buf_view(&tar), NULL, ERR_ARCHIVE_FORMAT);
}

static void sizes_have_limits(void **state)
{
    static const int formats[] = {ARCHIVE_FORMAT_TAR_USTAR, ARCHIVE_FORMAT_ZIP};
    cleanup_buf struct buf memory = BYTES;
    struct str content = sample_zeros(&memory, 1000);
    const struct sample_entry files[] = {
        {.name = "a", .content = content},
        {.name = "b", .content = content},
    };

    (void)state;
    for (size_t i = 0; i < array_size(formats); i++) {
        cleanup_buf struct buf archive = BYTES;
        struct archive_limits limits = archive_limits_from(NULL);

        sample_write(&archive, formats[i], ARCHIVE_FILTER_NONE, NULL, files, 2);
        limits.entry_bytes = 1000;
        limits.total_bytes = 2000;
        limits.archive_bytes = archive.len;
        limits.entries = 2;
        sample_accepts(buf_view(&archive), &limits);
        limits.entry_bytes = 999;
        sample_refuses(buf_view(&archive), &limits, ERR_ARCHIVE_BYTES);
        limits.entry_bytes = 1000;
        limits.total_bytes = 1999;
        sample_refuses(buf_view(&archive), &limits, ERR_ARCHIVE_BYTES);
        limits.total_bytes = 2000;
        limits.archive_bytes = archive.len - 1;
        sample_refuses(buf_view(&archive), &limits, ERR_ARCHIVE_BYTES);
        limits.archive_bytes = archive.len;
        limits.entries = 1;
        sample_refuses(buf_view(&archive), &limits, ERR_ARCHIVE_ENTRIES);
    }
}

static void fifty_thousand_entries_and_no_more(void **state)
{
    cleanup_sample_disk struct sample_disk disk;
    cleanup_buf struct buf tar = BYTES;
    char name[32];

    (void)state;
    sample_disk_init(&disk);
    for (unsigned i = 0; i < AUTHORITY_ARCHIVE_ENTRIES; i++) {
        snprintf(name, sizeof(name), "file-%u", i);
        sample_tar_header(&tar, name, '0', 0, NULL);
    }
    sample_tar_end(&tar);
    assert_int_equal(sample_extract(&disk, buf_view(&tar)), 0);
    assert_int_equal(disk.result.files, AUTHORITY_ARCHIVE_ENTRIES);
    tar.len -= 1024;
    sample_tar_header(&tar, "one-more", '0', 0, NULL);
    sample_tar_end(&tar);
    sample_refuses(buf_view(&tar), NULL, ERR_ARCHIVE_ENTRIES);
}

static void implied_directories_count_as_entries(void **state)
{
    cleanup_buf struct buf tar = BYTES;
    struct archive_limits limits = archive_limits_from(NULL);

    (void)state;
    sample_tar_file(&tar, "a/b/c/d", STR("1"));
    sample_tar_end(&tar);
    limits.entries = 4;
    sample_accepts(buf_view(&tar), &limits);
    limits.entries = 3;
    sample_refuses(buf_view(&tar), &limits, ERR_ARCHIVE_ENTRIES);
}

static void sixty_four_levels_and_no_more(void **state)
{
    cleanup_buf struct buf tar = BYTES;
    char name[2 * 65 + 1];

    (void)state;
    for (size_t i = 0; i < sizeof(name); i++)
        name[i] = i % 2 == 0 ? 'd' : '/';
    sample_tar_special(&tar, 'L', (struct str){name, 2 * 64 - 1});
    sample_tar_file(&tar, "short", STR("1"));
    sample_tar_end(&tar);
    sample_accepts(buf_view(&tar), NULL);
    buf_clear(&tar);
    sample_tar_special(&tar, 'L', (struct str){name, 2 * 65 - 1});
    sample_tar_file(&tar, "short", STR("1"));
    sample_tar_end(&tar);
    sample_refuses(buf_view(&tar), NULL, ERR_ARCHIVE_DEPTH);
}

/* ---- Holes ---- */

static void sparse_tar(struct buf *tar, const char *real_size, struct str map, struct str data)
{
    cleanup_buf struct buf body = BYTES;
    cleanup_buf struct buf records = BYTES;

    sample_pax_record(&records, "GNU.sparse.major", STR("1"));
    sample_pax_record(&records, "GNU.sparse.minor", STR("0"));
    sample_pax_record(&records, "GNU.sparse.name", STR("holes"));
    sample_pax_record(&records, "GNU.sparse.realsize", str_from(real_size));
    sample_tar_special(tar, 'x', buf_view(&records));
    sample_tar_body(&body, map);
    sample_tar_body(&body, data);
    body.len -= -data.len & 511;
    sample_tar_header(tar, "GNUSparseFile.0/holes", '0', body.len, NULL);
    sample_tar_body(tar, buf_view(&body));
    sample_tar_end(tar);
}

static void holes_are_written_as_zeros(void **state)
{
    cleanup_sample_disk struct sample_disk disk;
    cleanup_buf struct buf tar = BYTES;

    (void)state;
    sample_disk_init(&disk);
    sparse_tar(&tar, "12", STR("2\n2\n3\n8\n1\n"), STR("abcd"));
    assert_int_equal(sample_extract(&disk, buf_view(&tar)), 0);
    assert_str(sample_content(&disk, "out/holes"), "\0\0abc\0\0\0d\0\0\0");
    assert_int_equal(disk.result.bytes, 12);
}

static void giant_maps_of_holes_are_refused(void **state)
{
    cleanup_buf struct buf tar = BYTES;
    cleanup_buf struct buf map = BYTES;

    (void)state;
    /* A million holes of nothing: a few bytes each here, many more in memory. */
    assert_int_equal(buf_printf(&map, "1000000\n"), 0);
    for (int i = 0; i < 1000000; i++)
        assert_int_equal(buf_append(&map, "0\n0\n", 4), 0);
    sparse_tar(&tar, "1", buf_view(&map), STR("x"));
    sample_refuses(buf_view(&tar), NULL, ERR_ARCHIVE_FORMAT);
}

static void giant_holes_are_refused(void **state)
{
    cleanup_buf struct buf tar = BYTES;
    cleanup_buf struct buf holes = BYTES;
    cleanup_buf struct buf old = BYTES;
    unsigned sum = 0;

    (void)state;
    sparse_tar(&tar, "8796093022208", STR("1\n8796093022207\n1\n"), STR("x"));
    sample_refuses(buf_view(&tar), NULL, ERR_ARCHIVE_BYTES);
    /* Within the limits for bytes, and still far more than the archive. */
    sparse_tar(&holes, "134217728", STR("1\n134217727\n1\n"), STR("x"));
    sample_refuses(buf_view(&holes), NULL, ERR_ARCHIVE_RATIO);

    /* The older way: the map and the real size are in the header itself. */
    sample_tar_header(&old, "holes", 'S', 1, NULL);
    memcpy(old.data + 386, "77777777777", 11);
    memcpy(old.data + 398, "00000000001", 11);
    memcpy(old.data + 483, "100000000000", 12);
    memset(old.data + 148, ' ', 8);
    for (int i = 0; i < 512; i++)
        sum += (unsigned char)old.data[i];
    snprintf(old.data + 148, 8, "%06o", sum);
    sample_tar_body(&old, STR("x"));
    sample_tar_end(&old);
    sample_refuses(buf_view(&old), NULL, ERR_ARCHIVE_BYTES);
}

static void plain_files_may_not_declare_what_they_do_not_hold(void **state)
{
    cleanup_buf struct buf tar = BYTES;
    cleanup_buf struct buf short_tar = BYTES;

    (void)state;
    sample_tar_header(&tar, "giant", '0', (uint64_t)8 << 40, NULL);
    sample_tar_end(&tar);
    sample_refuses(buf_view(&tar), NULL, ERR_ARCHIVE_BYTES);
    sample_tar_header(&short_tar, "short", '0', 1 << 20, NULL);
    sample_tar_end(&short_tar);
    sample_refuses(buf_view(&short_tar), NULL, ERR_ARCHIVE_FORMAT);
}

TEST_MAIN(cmocka_unit_test(bombs_are_refused_by_their_ratio),
          cmocka_unit_test(small_files_may_compress_well),
          cmocka_unit_test(headers_alone_can_be_a_bomb),
          cmocka_unit_test(one_header_cannot_go_on_for_ever), cmocka_unit_test(sizes_have_limits),
          cmocka_unit_test(fifty_thousand_entries_and_no_more),
          cmocka_unit_test(implied_directories_count_as_entries),
          cmocka_unit_test(sixty_four_levels_and_no_more),
          cmocka_unit_test(holes_are_written_as_zeros), cmocka_unit_test(giant_holes_are_refused),
          cmocka_unit_test(plain_files_may_not_declare_what_they_do_not_hold),
          cmocka_unit_test(giant_maps_of_holes_are_refused))
