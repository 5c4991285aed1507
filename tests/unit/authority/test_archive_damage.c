/* SPDX-License-Identifier: Apache-2.0 */
/* Archives that are refused for their form: inconsistent, damaged, other formats. */
#include "test.h"

#include <stdio.h>
#include <string.h>

#include "archive_sample.h"
#include "memory_plant.h"

#define BYTES BUF_INIT(SAMPLE_MAX_BYTES)

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
    const struct sample_entry file[] = {{.name = "liar", .content = sample_zeros(&memory, 100000)}};
    static const char *const options[] = {NULL, "zip:compression=store"};

    (void)state;
    for (size_t i = 0; i < array_size(options); i++) {
        cleanup_buf struct buf zip = BYTES;

        sample_write(&zip, ARCHIVE_FORMAT_ZIP, ARCHIVE_FILTER_NONE, options[i], file, 1);
        /* 100,000 becomes 10, in whichever headers it stands. */
        assert_true(sample_patch(&zip, STR("\xa0\x86\x01\0"), STR("\x0a\0\0\0")) >= 1);
        sample_refuses(buf_view(&zip), NULL, ERR_ARCHIVE_FORMAT);
    }
}

static void the_gate_counts_for_itself(void **state)
{
    struct archive_rules rules = {.limits = archive_limits_from(NULL)};
    cleanup_archive_gate struct archive_gate gate;
    struct archive_item item;

    (void)state;
    assert_int_equal(archive_gate_init(&gate, &rules, 1000, NULL), 0);
    assert_int_equal(archive_gate_entry(&gate, STR("a"), false, 0644, 10, &item, NULL), 0);
    assert_int_equal(archive_gate_bytes(&gate, 9, NULL), 0);
    assert_int_equal(archive_gate_entry_end(&gate, NULL), ERR_ARCHIVE_FORMAT);
    assert_int_equal(archive_gate_bytes(&gate, 2, NULL), ERR_ARCHIVE_FORMAT);
    assert_int_equal(archive_gate_bytes(&gate, 1, NULL), 0);
    assert_int_equal(archive_gate_entry_end(&gate, NULL), 0);
    assert_int_equal(archive_gate_bytes(&gate, UINT64_MAX, NULL), ERR_ARCHIVE_BYTES);
}

/* A stored file that begins at `local` of the zip and is listed at its end. */
static void list_in_zip(struct buf *directory, char name, size_t local, size_t size)
{
    char entry[47] = "PK\001\002\024\0\024";

    entry[20] = entry[24] = (char)size;
    entry[28] = 1;
    entry[42] = (char)local;
    entry[46] = name;
    assert_int_equal(buf_append(directory, entry, sizeof(entry)), 0);
}

static void zips_whose_files_overlap_are_refused(void **state)
{
    cleanup_sample_disk struct sample_disk disk;
    cleanup_buf struct buf zip = BYTES;
    char local[31] = "PK\003\004\024";
    char end[22] = "PK\005\006";
    size_t start;

    (void)state;
    /* Each file is all that follows: three headers, three files in a row. */
    for (int i = 0; i < 3; i++) {
        local[18] = local[22] = (char)(31 * (2 - i));
        local[26] = 1;
        local[30] = (char)('a' + i);
        assert_int_equal(buf_append(&zip, local, sizeof(local)), 0);
    }
    start = zip.len;
    for (size_t i = 0; i < 3; i++)
        list_in_zip(&zip, (char)('a' + i), 31 * i, 31 * (2 - i));
    end[8] = end[10] = 3;
    end[12] = (char)(zip.len - start);
    end[16] = (char)start;
    assert_int_equal(buf_append(&zip, end, sizeof(end)), 0);
    sample_disk_init(&disk);
    sample_check_refused(&disk, sample_extract(&disk, buf_view(&zip)), ERR_ARCHIVE_FORMAT);
    assert_string_equal(disk.err.message, "the files in the zip file overlap");
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
    sample_accepts(buf_view(&zip), NULL);
    central = find(&zip, STR("PK\001\002"));

#define CHANGED(expression)                                                                        \
    do {                                                                                           \
        buf_clear(&changed);                                                                       \
        assert_int_equal(buf_append_str(&changed, buf_view(&zip)), 0);                             \
        expression;                                                                                \
        sample_refuses(buf_view(&changed), NULL, ERR_ARCHIVE_FORMAT);                              \
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
    /* Something hidden between the directory and its end. */
    CHANGED({
        assert_int_equal(buf_reserve(&changed, 8), 0);
        memmove(changed.data + changed.len - 14, changed.data + changed.len - 22, 22);
        memset(changed.data + changed.len - 22, 0, 8);
        changed.len += 8;
    });
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
        sample_refuses(buf_view(&zip), NULL, ERR_ARCHIVE_FORMAT);
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
        sample_accepts(buf_view(&archive), NULL);
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
    sample_refuses(buf_view(&tar), NULL, ERR_ARCHIVE_FORMAT);
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
    sample_refuses(STR(""), NULL, ERR_ARCHIVE_FORMAT);
    sample_refuses(STR("x"), NULL, ERR_ARCHIVE_FORMAT);
    sample_refuses(STR("PK\003\004 and nothing behind"), NULL, ERR_ARCHIVE_FORMAT);
    sample_refuses(STR("\x1f\x8b garbage"), NULL, ERR_ARCHIVE_FORMAT);
    sample_zeros(&memory, 10000);
    for (size_t i = 0; i < memory.len; i++)
        memory.data[i] = (char)(i * 7919 >> 4);
    sample_refuses(buf_view(&memory), NULL, ERR_ARCHIVE_FORMAT);
    sample_pack(&garbage, ARCHIVE_FILTER_GZIP, buf_view(&memory));
    sample_refuses(buf_view(&garbage), NULL, ERR_ARCHIVE_FORMAT);
    for (size_t i = 0; i < array_size(others); i++) {
        cleanup_buf struct buf archive = BYTES;

        sample_write(&archive, others[i], ARCHIVE_FILTER_NONE, NULL, file, 1);
        sample_refuses(buf_view(&archive), NULL, ERR_ARCHIVE_FORMAT);
    }
    sample_tar_file(&tar, "x", STR("x"));
    sample_tar_end(&tar);
    for (size_t i = 0; i < array_size(filters); i++) {
        cleanup_buf struct buf archive = BYTES;

        sample_pack(&archive, filters[i], buf_view(&tar));
        sample_refuses(buf_view(&archive), NULL, ERR_ARCHIVE_FORMAT);
    }
    /* One layer is a compressed archive, two are a way to hide something. */
    sample_pack(&once, ARCHIVE_FILTER_GZIP, buf_view(&tar));
    sample_accepts(buf_view(&once), NULL);
    sample_pack(&twice, ARCHIVE_FILTER_GZIP, buf_view(&once));
    sample_refuses(buf_view(&twice), NULL, ERR_ARCHIVE_FORMAT);
    sample_pack(&wrapped, ARCHIVE_FILTER_XZ, buf_view(&once));
    sample_refuses(buf_view(&wrapped), NULL, ERR_ARCHIVE_FORMAT);
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
            sample_check_refused(&disk, sample_extract(&disk, buf_view(&archive)), ERR_IO);
        }
        reads_left = INT32_MAX;
        memory_set_ceilings(disk.backend, archive.len + (512 << 10), 1000);
        sample_check_refused(&disk, sample_extract(&disk, buf_view(&archive)), ERR_NO_SPACE);
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
    sample_check_refused(&disk, sample_extract(&disk, buf_view(&tar)), ERR_CANCELLED);
}

TEST_MAIN(cmocka_unit_test(zips_that_declare_too_little_are_refused),
          cmocka_unit_test(the_gate_counts_for_itself),
          cmocka_unit_test(zips_whose_files_overlap_are_refused),
          cmocka_unit_test(zips_that_contradict_themselves_are_refused),
          cmocka_unit_test(encrypted_zips_are_refused),
          cmocka_unit_test(archives_cut_short_are_refused),
          cmocka_unit_test(a_tar_without_its_end_is_refused),
          cmocka_unit_test(what_is_no_archive_is_refused),
          cmocka_unit_test(failures_of_the_disk_keep_their_name),
          cmocka_unit_test(cancelling_leaves_nothing))
