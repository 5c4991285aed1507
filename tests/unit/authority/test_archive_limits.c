/* SPDX-License-Identifier: Apache-2.0 */
/* Bombs, lies and damage: archives that are refused for what they weigh or how they are made. */
#include "test.h"

#include <stdio.h>
#include <string.h>

#include "archive_sample.h"
#include "authority/memory_internal.h"

#define BYTES BUF_INIT(SAMPLE_MAX_BYTES)

static void check_refused(struct sample_disk *disk, int r, int code)
{
    if (r != code)
        fail_msg("%s instead of %s: %s (%s)", r < 0 ? err_name(r) : "success", err_name(code),
                 disk->err.message, disk->err.field);
    assert_int_equal(disk->err.code, code);
    assert_true(disk->err.message[0] != '\0');
    assert_string_equal(sample_kind(disk, "out"), "none");
    assert_int_equal(disk->bytes_left, 0);
    assert_int_equal(disk->nodes_left, 0);
}

static void refuses_with(struct str archive, const struct archive_limits *limits, int code)
{
    cleanup_sample_disk struct sample_disk disk;

    sample_disk_init(&disk);
    if (limits != NULL)
        disk.rules.limits = *limits;
    check_refused(&disk, sample_extract(&disk, archive), code);
}

static void refuses(struct str archive, int code)
{
    refuses_with(archive, NULL, code);
}

static void accepts(struct str archive, const struct archive_limits *limits)
{
    cleanup_sample_disk struct sample_disk disk;
    int r;

    sample_disk_init(&disk);
    if (limits != NULL)
        disk.rules.limits = *limits;
    r = sample_extract(&disk, archive);
    if (r < 0)
        fail_msg("%s: %s (%s)", err_name(r), disk.err.message, disk.err.field);
}

static struct str zeros(struct buf *memory, size_t len)
{
    buf_clear(memory);
    assert_int_equal(buf_reserve(memory, len), 0);
    memset(memory->data, 0, len);
    memory->len = len;
    return buf_view(memory);
}

/* ---- Weight ---- */

static void bombs_are_refused_by_their_ratio(void **state)
{
    cleanup_buf struct buf memory = BYTES;
    const struct sample_entry bomb[] = {{.name = "bomb", .content = zeros(&memory, 16 << 20)}};
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
        check_refused(&disk, sample_extract(&disk, buf_view(&archive)), ERR_ARCHIVE_RATIO);
    }
}

static void small_files_may_compress_well(void **state)
{
    cleanup_buf struct buf memory = BYTES;
    cleanup_buf struct buf archive = BYTES;
    const struct sample_entry file[] = {{.name = "log", .content = zeros(&memory, 900 << 10)}};

    (void)state;
    sample_write(&archive, ARCHIVE_FORMAT_TAR_USTAR, ARCHIVE_FILTER_GZIP, NULL, file, 1);
    assert_true(archive.len < file[0].content.len / AUTHORITY_ARCHIVE_RATIO);
    accepts(buf_view(&archive), NULL);
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

        sample_tar_pax(&tar, 'x', "comment", zeros(&memory, 900000));
        snprintf(name, sizeof(name), "%d", i);
        sample_tar_file(&tar, name, STR(""));
    }
    sample_tar_end(&tar);
    sample_pack(&archive, ARCHIVE_FILTER_GZIP, buf_view(&tar));
    refuses(buf_view(&archive), ERR_ARCHIVE_RATIO);
    limits.ratio = 1000000;
    limits.total_bytes = 1 << 20;
    limits.entries = 100;
    refuses_with(buf_view(&archive), &limits, ERR_ARCHIVE_BYTES);
}

static void one_header_cannot_go_on_for_ever(void **state)
{
    cleanup_buf struct buf tar = BYTES;
    cleanup_buf struct buf memory = BYTES;

    (void)state;
    for (int i = 0; i < 8; i++)
        sample_tar_pax(&tar, 'x', "comment", zeros(&memory, 600000));
    sample_tar_file(&tar, "file", STR("1"));
    sample_tar_end(&tar);
    refuses(buf_view(&tar), ERR_ARCHIVE_FORMAT);

    buf_clear(&tar);
    sample_tar_pax(&tar, 'x', "comment", zeros(&memory, 3 << 20));
    sample_tar_file(&tar, "file", STR("1"));
    sample_tar_end(&tar);
    refuses(buf_view(&tar), ERR_ARCHIVE_FORMAT);

    /* Thousands of small ones must not become thousands of calls on the stack. */
    buf_clear(&tar);
    for (int i = 0; i < 100000; i++)
        sample_tar_pax(&tar, 'g', "comment", STR("x"));
    sample_tar_file(&tar, "file", STR("1"));
    sample_tar_end(&tar);
    refuses(buf_view(&tar), ERR_ARCHIVE_FORMAT);
}

static void sizes_have_limits(void **state)
{
    static const int formats[] = {ARCHIVE_FORMAT_TAR_USTAR, ARCHIVE_FORMAT_ZIP};
    cleanup_buf struct buf memory = BYTES;
    struct str content = zeros(&memory, 1000);
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
        accepts(buf_view(&archive), &limits);
        limits.entry_bytes = 999;
        refuses_with(buf_view(&archive), &limits, ERR_ARCHIVE_BYTES);
        limits.entry_bytes = 1000;
        limits.total_bytes = 1999;
        refuses_with(buf_view(&archive), &limits, ERR_ARCHIVE_BYTES);
        limits.total_bytes = 2000;
        limits.archive_bytes = archive.len - 1;
        refuses_with(buf_view(&archive), &limits, ERR_ARCHIVE_BYTES);
        limits.archive_bytes = archive.len;
        limits.entries = 1;
        refuses_with(buf_view(&archive), &limits, ERR_ARCHIVE_ENTRIES);
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
    assert_int_equal(sample_admit(&disk, buf_view(&tar)), 0);
    assert_int_equal(disk.result.files, AUTHORITY_ARCHIVE_ENTRIES);
    tar.len -= 1024;
    sample_tar_header(&tar, "one-more", '0', 0, NULL);
    sample_tar_end(&tar);
    assert_int_equal(sample_admit(&disk, buf_view(&tar)), ERR_ARCHIVE_ENTRIES);
}

static void implied_directories_count_as_entries(void **state)
{
    cleanup_buf struct buf tar = BYTES;
    struct archive_limits limits = archive_limits_from(NULL);

    (void)state;
    sample_tar_file(&tar, "a/b/c/d", STR("1"));
    sample_tar_end(&tar);
    limits.entries = 4;
    accepts(buf_view(&tar), &limits);
    limits.entries = 3;
    refuses_with(buf_view(&tar), &limits, ERR_ARCHIVE_ENTRIES);
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
    accepts(buf_view(&tar), NULL);
    buf_clear(&tar);
    sample_tar_special(&tar, 'L', (struct str){name, 2 * 65 - 1});
    sample_tar_file(&tar, "short", STR("1"));
    sample_tar_end(&tar);
    refuses(buf_view(&tar), ERR_ARCHIVE_DEPTH);
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
    body.len = 512 + data.len;
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

static void giant_holes_are_refused(void **state)
{
    cleanup_buf struct buf tar = BYTES;
    cleanup_buf struct buf holes = BYTES;
    cleanup_buf struct buf old = BYTES;
    unsigned sum = 0;

    (void)state;
    sparse_tar(&tar, "8796093022208", STR("1\n8796093022207\n1\n"), STR("x"));
    refuses(buf_view(&tar), ERR_ARCHIVE_BYTES);
    /* Within the limits for bytes, and still far more than the archive. */
    sparse_tar(&holes, "134217728", STR("1\n134217727\n1\n"), STR("x"));
    refuses(buf_view(&holes), ERR_ARCHIVE_RATIO);

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
    refuses(buf_view(&old), ERR_ARCHIVE_BYTES);
}

static void plain_files_may_not_declare_what_they_do_not_hold(void **state)
{
    cleanup_buf struct buf tar = BYTES;
    cleanup_buf struct buf short_tar = BYTES;

    (void)state;
    sample_tar_header(&tar, "giant", '0', (uint64_t)8 << 40, NULL);
    sample_tar_end(&tar);
    refuses(buf_view(&tar), ERR_ARCHIVE_BYTES);
    sample_tar_header(&short_tar, "short", '0', 1 << 20, NULL);
    sample_tar_end(&short_tar);
    refuses(buf_view(&short_tar), ERR_ARCHIVE_FORMAT);
}

/* ---- Lies ---- */

static size_t find(const struct buf *bytes, struct str needle)
{
    size_t at = str_find(buf_view(bytes), needle);

    assert_true(at != SIZE_MAX);
    return at;
}

static void zips_that_declare_too_little_are_refused(void **state)
{
    cleanup_buf struct buf memory = BYTES;
    const struct sample_entry file[] = {{.name = "liar", .content = zeros(&memory, 100000)}};
    static const char *const options[] = {NULL, "zip:compression=store"};

    (void)state;
    for (size_t i = 0; i < array_size(options); i++) {
        cleanup_buf struct buf zip = BYTES;

        sample_write(&zip, ARCHIVE_FORMAT_ZIP, ARCHIVE_FILTER_NONE, options[i], file, 1);
        /* 100,000 becomes 10, in whichever headers it stands. */
        assert_true(sample_patch(&zip, STR("\xa0\x86\x01\0"), STR("\x0a\0\0\0")) >= 1);
        refuses(buf_view(&zip), ERR_ARCHIVE_FORMAT);
    }
}

static void zips_that_contradict_themselves_are_refused(void **state)
{
    static const struct sample_entry files[] = {
        {.name = "first", .content = STR_LITERAL("1")},
        {.name = "other", .content = STR_LITERAL("2")},
    };
    cleanup_buf struct buf zip = BYTES;
    cleanup_buf struct buf changed = BYTES;
    size_t central;

    (void)state;
    sample_write(&zip, ARCHIVE_FORMAT_ZIP, ARCHIVE_FILTER_NONE, NULL, files, 2);
    accepts(buf_view(&zip), NULL);
    central = find(&zip, STR("PK\001\002"));

#define CHANGED(expression)                                                                        \
    do {                                                                                           \
        buf_clear(&changed);                                                                       \
        assert_int_equal(buf_append_str(&changed, buf_view(&zip)), 0);                             \
        expression;                                                                                \
        refuses(buf_view(&changed), ERR_ARCHIVE_FORMAT);                                           \
    } while (0)
    /* Another name in the directory. */
    CHANGED(changed.data[central + 46] = 'F');
    /* Unusual compression, then encryption, in each of the two places. */
    CHANGED(changed.data[central + 10] = 12);
    CHANGED(changed.data[8] = 12);
    CHANGED((changed.data[8] = 12, changed.data[central + 10] = 12));
    CHANGED(changed.data[6] |= 1);
    CHANGED(changed.data[central + 8] |= 1);
    /* Two entries that are one file. */
    CHANGED({
        size_t second = find(&changed, STR("PK\001\002")) + 46;

        second += str_find(str_slice(buf_view(&changed), second, SIZE_MAX), STR("PK\001\002"));
        memcpy(changed.data + second + 42, "\0\0\0\0", 4);
        memcpy(changed.data + second + 46, "first", 5);
    });
    /* A directory that claims to be longer, or not to follow. */
    CHANGED(changed.data[changed.len - 10]++);
    CHANGED(changed.data[changed.len - 6]++);
    CHANGED(changed.data[changed.len - 12]++);
    /* A comment that ends in a zip file of its own. */
    CHANGED({
        changed.data[changed.len - 2] = 22;
        assert_int_equal(buf_append(&changed, "PK\005\006\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1\0", 22),
                         0);
    });
    CHANGED(assert_int_equal(buf_append(&changed, "trailing", 8), 0));
#undef CHANGED
}

static void encrypted_zips_are_refused(void **state)
{
    static const char *const options[] = {"zip:encryption=zipcrypt", "zip:encryption=aes256"};
    static const struct sample_entry file[] = {{.name = "x", .content = STR_LITERAL("secret")}};

    (void)state;
    for (size_t i = 0; i < array_size(options); i++) {
        cleanup_buf struct buf zip = BYTES;

        sample_write(&zip, ARCHIVE_FORMAT_ZIP, ARCHIVE_FILTER_NONE, options[i], file, 1);
        refuses(buf_view(&zip), ERR_ARCHIVE_FORMAT);
    }
}

/* ---- Damage and other formats ---- */

static void archives_cut_short_are_refused(void **state)
{
    static const struct {
        int format;
        int filter;
    } cases[] = {
        {ARCHIVE_FORMAT_TAR_PAX_INTERCHANGE, ARCHIVE_FILTER_NONE},
        {ARCHIVE_FORMAT_TAR_USTAR, ARCHIVE_FILTER_GZIP},
        {ARCHIVE_FORMAT_TAR_USTAR, ARCHIVE_FILTER_XZ},
        {ARCHIVE_FORMAT_TAR_USTAR, ARCHIVE_FILTER_ZSTD},
        {ARCHIVE_FORMAT_TAR_USTAR, ARCHIVE_FILTER_BZIP2},
        {ARCHIVE_FORMAT_ZIP, ARCHIVE_FILTER_NONE},
    };
    char noise[3000];
    const struct sample_entry files[] = {
        {.name = "dir/", .type = AE_IFDIR, .mode = 0755},
        {.name = "dir/first", .content = {noise, sizeof(noise)}},
        {.name = "dir/na\xC3\xAFve", .content = {noise, 1000}},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(noise); i++)
        noise[i] = (char)(i * i >> 3);
    for (size_t i = 0; i < array_size(cases); i++) {
        cleanup_buf struct buf archive = BYTES;
        size_t end;

        sample_write(&archive, cases[i].format, cases[i].filter, NULL, files, 3);
        accepts(buf_view(&archive), NULL);
        /* The mark at the end of a tar is two blocks; compressed, the last bytes may be checks. */
        end = archive.len - (cases[i].filter == ARCHIVE_FILTER_NONE ? 0 : 64);
        if (cases[i].format == ARCHIVE_FORMAT_TAR_PAX_INTERCHANGE)
            end -= 512;
        for (size_t len = 1; len < end; len += 61) {
            cleanup_sample_disk struct sample_disk disk;
            int r;

            sample_disk_init(&disk);
            r = sample_extract(&disk, str_slice(buf_view(&archive), 0, len));
            assert_int_equal(r, ERR_ARCHIVE_FORMAT);
            assert_int_equal(disk.nodes_left, 0);
        }
    }
}

static void a_tar_without_its_end_is_refused(void **state)
{
    cleanup_buf struct buf tar = BYTES;

    (void)state;
    sample_tar_file(&tar, "first", STR("1"));
    refuses(buf_view(&tar), ERR_ARCHIVE_FORMAT);
}

static void what_is_no_archive_is_refused(void **state)
{
    cleanup_buf struct buf tar = BYTES;
    cleanup_buf struct buf once = BYTES;
    cleanup_buf struct buf twice = BYTES;
    cleanup_buf struct buf garbage = BYTES;
    cleanup_buf struct buf memory = BYTES;
    cleanup_buf struct buf wrapped = BYTES;
    static const struct sample_entry file[] = {{.name = "x", .content = STR_LITERAL("x")}};
    static const int others[] = {ARCHIVE_FORMAT_CPIO_SVR4_NOCRC, ARCHIVE_FORMAT_7ZIP,
                                 ARCHIVE_FORMAT_XAR, ARCHIVE_FORMAT_MTREE,
                                 ARCHIVE_FORMAT_SHAR_BASE};
    static const int filters[] = {ARCHIVE_FILTER_COMPRESS, ARCHIVE_FILTER_LZMA, ARCHIVE_FILTER_LZIP,
                                  ARCHIVE_FILTER_LZ4, ARCHIVE_FILTER_UU};

    (void)state;
    refuses(STR(""), ERR_ARCHIVE_FORMAT);
    refuses(STR("x"), ERR_ARCHIVE_FORMAT);
    refuses(STR("PK\003\004 and nothing behind"), ERR_ARCHIVE_FORMAT);
    refuses(STR("\x1f\x8b garbage"), ERR_ARCHIVE_FORMAT);
    zeros(&memory, 10000);
    for (size_t i = 0; i < memory.len; i++)
        memory.data[i] = (char)(i * 7919 >> 4);
    refuses(buf_view(&memory), ERR_ARCHIVE_FORMAT);
    sample_pack(&garbage, ARCHIVE_FILTER_GZIP, buf_view(&memory));
    refuses(buf_view(&garbage), ERR_ARCHIVE_FORMAT);
    for (size_t i = 0; i < array_size(others); i++) {
        cleanup_buf struct buf archive = BYTES;

        sample_write(&archive, others[i], ARCHIVE_FILTER_NONE, NULL, file, 1);
        refuses(buf_view(&archive), ERR_ARCHIVE_FORMAT);
    }
    sample_tar_file(&tar, "x", STR("x"));
    sample_tar_end(&tar);
    for (size_t i = 0; i < array_size(filters); i++) {
        cleanup_buf struct buf archive = BYTES;

        sample_pack(&archive, filters[i], buf_view(&tar));
        refuses(buf_view(&archive), ERR_ARCHIVE_FORMAT);
    }
    /* One layer is a compressed archive, two are a way to hide something. */
    sample_pack(&once, ARCHIVE_FILTER_GZIP, buf_view(&tar));
    accepts(buf_view(&once), NULL);
    sample_pack(&twice, ARCHIVE_FILTER_GZIP, buf_view(&once));
    refuses(buf_view(&twice), ERR_ARCHIVE_FORMAT);
    sample_pack(&wrapped, ARCHIVE_FILTER_XZ, buf_view(&once));
    refuses(buf_view(&wrapped), ERR_ARCHIVE_FORMAT);
}

/* ---- The machine ---- */

static int reads_left;

static int read_or_fail(struct backend_file *file, uint64_t offset, void *bytes, size_t size,
                        size_t *out_got)
{
    if (reads_left-- <= 0)
        return ERR_IO;
    return memory_file_read(file, offset, bytes, size, out_got);
}

static void failures_of_the_disk_keep_their_name(void **state)
{
    static const int formats[] = {ARCHIVE_FORMAT_TAR_USTAR, ARCHIVE_FORMAT_ZIP};
    static char noise[1 << 20];
    const struct sample_entry file[] = {{.name = "big", .content = {noise, sizeof(noise)}}};

    (void)state;
    for (size_t i = 0; i < sizeof(noise); i++)
        noise[i] = (char)(i * i * 2654435761U >> 13);
    for (size_t i = 0; i < array_size(formats); i++) {
        cleanup_buf struct buf archive = BYTES;
        cleanup_sample_disk struct sample_disk disk;

        sample_write(&archive, formats[i], ARCHIVE_FILTER_NONE, NULL, file, 1);
        sample_disk_init(&disk);
        disk.ops.file_read = read_or_fail;
        for (int reads = 0; reads < 3; reads++) {
            reads_left = reads;
            check_refused(&disk, sample_extract(&disk, buf_view(&archive)), ERR_IO);
        }
        reads_left = INT32_MAX;
        memory_set_ceilings(disk.backend, archive.len + (512 << 10), 1000);
        check_refused(&disk, sample_extract(&disk, buf_view(&archive)), ERR_NO_SPACE);
    }
}

static bool cancel_at_second(void *context, struct str name, bool is_directory)
{
    (void)is_directory;
    if (str_eq(name, STR("second")))
        cancel_now(context);
    return true;
}

static void cancelling_leaves_nothing(void **state)
{
    cleanup_sample_disk struct sample_disk disk;
    cleanup_buf struct buf tar = BYTES;
    struct cancel token;

    (void)state;
    cancel_init(&token, &clock_system, CANCEL_NO_DEADLINE);
    sample_disk_init(&disk);
    disk.rules.cancel = &token;
    disk.rules.admits = cancel_at_second;
    disk.rules.context = &token;
    sample_tar_file(&tar, "first", STR("1"));
    sample_tar_file(&tar, "second", STR("2"));
    sample_tar_end(&tar);
    check_refused(&disk, sample_extract(&disk, buf_view(&tar)), ERR_CANCELLED);
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
          cmocka_unit_test(zips_that_declare_too_little_are_refused),
          cmocka_unit_test(zips_that_contradict_themselves_are_refused),
          cmocka_unit_test(encrypted_zips_are_refused),
          cmocka_unit_test(archives_cut_short_are_refused),
          cmocka_unit_test(a_tar_without_its_end_is_refused),
          cmocka_unit_test(what_is_no_archive_is_refused),
          cmocka_unit_test(failures_of_the_disk_keep_their_name),
          cmocka_unit_test(cancelling_leaves_nothing))
