/* SPDX-License-Identifier: Apache-2.0 */
/* Packing a directory, and what unpacking returns of it. */
#include "test.h"

#include <stdio.h>
#include <string.h>

#include "archive_sample.h"
#include "memory_plant.h"

static const enum authority_archive_format formats[] = {
    AUTHORITY_TAR_GZ,
    AUTHORITY_TAR_XZ,
    AUTHORITY_TAR_ZST,
    AUTHORITY_ZIP,
};

static void plant(struct sample_disk *disk, const char *name, enum authority_type type,
                  struct str content, unsigned mode)
{
    assert_int_equal(memory_plant(disk->root, str_from(name), type, content, mode), 0);
}

static void plant_file(struct sample_disk *disk, const char *name, const char *text)
{
    plant(disk, name, AUTHORITY_FILE, str_from(text), 0644);
}

static void plant_directory(struct sample_disk *disk, const char *name)
{
    plant(disk, name, AUTHORITY_DIRECTORY, STR_EMPTY, 0755);
}

/* "source" into "packed"; what is refused is dropped, as operations do. */
static int create(struct sample_disk *disk, enum authority_archive_format format)
{
    struct backend_dir *source = NULL;
    struct backend_stage *stage = NULL;
    const struct backend_ops *ops = &disk->ops;
    int r;

    memset(&disk->err, 0, sizeof(disk->err));
    assert_int_equal(ops->dir_open(disk->root, &disk->lookup, STR("source"), &source), 0);
    assert_int_equal(ops->stage(disk->root, &disk->lookup, STR("packed"), BACKEND_CREATE_OR_REPLACE,
                                0644, &stage),
                     0);
    r = archive_create(disk->backend, source, &disk->lookup, stage, format, &disk->rules,
                       &disk->result, &disk->err);
    if (r == 0)
        assert_int_equal(ops->stage_publish(stage, false), 0);
    else
        ops->stage_drop(stage);
    ops->dir_close(source);
    return r;
}

static void create_or_fail(struct sample_disk *disk, enum authority_archive_format format)
{
    int r = create(disk, format);

    if (r < 0)
        fail_msg("%s: %s (%s)", err_name(r), disk->err.message, disk->err.field);
}

static void unpack(struct sample_disk *disk)
{
    cleanup_buf struct buf bytes = BUF_INIT(SAMPLE_MAX_BYTES);
    struct authority_stat stat;
    int r;

    assert_int_equal(memory_peek(disk->root, STR("packed"), &stat, &bytes), 0);
    r = sample_extract(disk, buf_view(&bytes));
    if (r < 0)
        fail_msg("%s: %s (%s)", err_name(r), disk->err.message, disk->err.field);
}

static void create_refuses(struct sample_disk *disk, int code)
{
    for (size_t i = 0; i < array_size(formats); i++) {
        assert_int_equal(create(disk, formats[i]), code);
        assert_int_equal(disk->err.code, code);
        assert_string_equal(sample_kind(disk, "packed"), "none");
    }
}

static void what_is_packed_comes_out_again(void **state)
{
    static char noise[300000];

    (void)state;
    for (size_t i = 0; i < sizeof(noise); i++)
        noise[i] = (char)(i * i >> 7);
    for (size_t i = 0; i < array_size(formats); i++) {
        cleanup_sample_disk struct sample_disk disk;
        cleanup_buf struct buf large = BUF_INIT(SAMPLE_MAX_BYTES);
        struct authority_stat stat;
        char name[300];

        sample_disk_init(&disk);
        plant_directory(&disk, "source");
        plant_directory(&disk, "source/empty");
        plant_directory(&disk, "source/dir");
        plant_directory(&disk, "source/dir/deeper");
        plant_file(&disk, "source/dir/text", "text\n");
        plant_file(&disk, "source/dir/deeper/nothing", "");
        plant(&disk, "source/run", AUTHORITY_FILE, STR("#!"), 04700);
        plant(&disk, "source/large", AUTHORITY_FILE, (struct str){noise, sizeof(noise)}, 0600);
        plant_file(&disk, "source/cafe\xCC\x81 \xE2\x82\xAC", "euro");
        memset(name, 'n', sizeof(name));
        memcpy(name, "source/", 7);
        name[7 + 255] = '\0';
        plant_file(&disk, name, "long");
        create_or_fail(&disk, formats[i]);
        assert_int_equal(disk.result.files, 6);
        assert_int_equal(disk.result.directories, 3);
        assert_int_equal(disk.result.bytes, 300015);

        unpack(&disk);
        assert_int_equal(disk.result.files, 6);
        assert_int_equal(disk.result.directories, 3);
        assert_string_equal(sample_kind(&disk, "out/empty"), "d755");
        assert_str(sample_content(&disk, "out/dir/text"), "text\n");
        assert_str(sample_content(&disk, "out/dir/deeper/nothing"), "");
        assert_string_equal(sample_kind(&disk, "out/run"), "f755");
        assert_string_equal(sample_kind(&disk, "out/large"), "f644");
        assert_str(sample_content(&disk, "out/cafe\xCC\x81 \xE2\x82\xAC"), "euro");
        memcpy(name + 3, "out/", 4);
        assert_str(sample_content(&disk, name + 3), "long");
        assert_int_equal(memory_peek(disk.root, STR("out/large"), &stat, &large), 0);
        assert_int_equal(large.len, sizeof(noise));
        assert_memory_equal(large.data, noise, sizeof(noise));
    }
}

static void an_empty_directory_packs(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_size(formats); i++) {
        cleanup_sample_disk struct sample_disk disk;

        sample_disk_init(&disk);
        plant_directory(&disk, "source");
        create_or_fail(&disk, formats[i]);
        unpack(&disk);
        assert_int_equal(disk.result.files + disk.result.directories, 0);
    }
}

static void the_same_files_give_the_same_archive(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_size(formats); i++) {
        cleanup_sample_disk struct sample_disk disk;
        cleanup_buf struct buf first = BUF_INIT(SAMPLE_MAX_BYTES);
        cleanup_buf struct buf second = BUF_INIT(SAMPLE_MAX_BYTES);
        struct authority_stat stat;

        sample_disk_init(&disk);
        plant_directory(&disk, "source");
        plant_file(&disk, "source/file", "text");
        create_or_fail(&disk, formats[i]);
        assert_int_equal(memory_peek(disk.root, STR("packed"), &stat, &first), 0);
        create_or_fail(&disk, formats[i]);
        assert_int_equal(memory_peek(disk.root, STR("packed"), &stat, &second), 0);
        assert_true(str_eq(buf_view(&first), buf_view(&second)));
        /* gzip would put the time there. */
        if (formats[i] == AUTHORITY_TAR_GZ)
            assert_memory_equal(first.data + 4, "\0\0\0\0", 4);
    }
}

static void links_and_other_things_are_left_out(void **state)
{
    cleanup_sample_disk struct sample_disk disk;

    (void)state;
    sample_disk_init(&disk);
    plant_directory(&disk, "source");
    plant_file(&disk, "source/file", "text");
    plant(&disk, "source/link", AUTHORITY_SYMLINK, STR("../outside"), 0777);
    plant(&disk, "source/fifo", AUTHORITY_OTHER, STR_EMPTY, 0600);
    create_or_fail(&disk, AUTHORITY_TAR_GZ);
    unpack(&disk);
    assert_int_equal(disk.result.files, 1);
    assert_string_equal(sample_kind(&disk, "out/link"), "none");
    assert_string_equal(sample_kind(&disk, "out/fifo"), "none");
}

static bool admits_most(void *context, struct str name, bool is_directory)
{
    (void)context;
    return is_directory ? !str_eq(name, STR("dir/secret")) : !str_ends_with(name, STR(".env"));
}

static void denied_names_are_left_out_with_all_below(void **state)
{
    cleanup_sample_disk struct sample_disk disk;

    (void)state;
    sample_disk_init(&disk);
    plant_directory(&disk, "source");
    plant_directory(&disk, "source/dir");
    plant_directory(&disk, "source/dir/secret");
    plant_file(&disk, "source/dir/secret/key", "1");
    plant_file(&disk, "source/dir/.env", "2");
    plant_file(&disk, "source/dir/text", "3");
    disk.rules.admits = admits_most;
    create_or_fail(&disk, AUTHORITY_ZIP);
    disk.rules.admits = NULL;
    unpack(&disk);
    assert_string_equal(sample_kind(&disk, "out/dir/secret"), "none");
    assert_string_equal(sample_kind(&disk, "out/dir/.env"), "none");
    assert_str(sample_content(&disk, "out/dir/text"), "3");
}

static void files_that_may_not_be_read_fail_the_whole(void **state)
{
    cleanup_sample_disk struct sample_disk disk;

    (void)state;
    sample_disk_init(&disk);
    plant_directory(&disk, "source");
    plant_file(&disk, "source/file", "text");
    assert_int_equal(
        memory_plant_hardlink(disk.root, STR("outside"), disk.root, STR("source/hard")), 0);
    create_refuses(&disk, ERR_HARDLINK_REJECTED);
    assert_string_equal(disk.err.field, "hard");
}

static void names_that_are_no_text_are_refused(void **state)
{
    cleanup_sample_disk struct sample_disk disk;

    (void)state;
    sample_disk_init(&disk);
    plant_directory(&disk, "source");
    plant_file(&disk, "source/latin1 \xe9", "text");
    create_refuses(&disk, ERR_ARCHIVE_ENTRY_PATH);
}

static void packing_has_limits(void **state)
{
    cleanup_sample_disk struct sample_disk disk;
    struct archive_limits *limits = &disk.rules.limits;

    (void)state;
    sample_disk_init(&disk);
    plant_directory(&disk, "source");
    plant_directory(&disk, "source/a");
    plant_file(&disk, "source/a/b", "12345");
    plant_file(&disk, "source/c", "12345");
    limits->entries = 3;
    limits->depth = 2;
    limits->entry_bytes = 5;
    limits->total_bytes = 10;
    create_or_fail(&disk, AUTHORITY_ZIP);
    assert_int_equal(disk.ops.remove(disk.root, &disk.lookup, STR("packed"), false, 1), 0);
    limits->entries = 2;
    create_refuses(&disk, ERR_ARCHIVE_ENTRIES);
    limits->entries = 3;
    limits->depth = 1;
    create_refuses(&disk, ERR_ARCHIVE_DEPTH);
    limits->depth = 2;
    limits->entry_bytes = 4;
    create_refuses(&disk, ERR_ARCHIVE_BYTES);
    limits->entry_bytes = 5;
    limits->total_bytes = 9;
    create_refuses(&disk, ERR_ARCHIVE_BYTES);
    limits->total_bytes = 10;
    limits->archive_bytes = 40;
    create_refuses(&disk, ERR_ARCHIVE_BYTES);
}

static int read_less(struct backend_file *file, uint64_t offset, void *bytes, size_t size,
                     size_t *out_got)
{
    if (offset < 3)
        return memory_file_read(file, offset, bytes, size < 3 ? size : 3, out_got);
    *out_got = 0;
    return 0;
}

static void a_file_that_shrinks_fails_the_whole(void **state)
{
    cleanup_sample_disk struct sample_disk disk;

    (void)state;
    sample_disk_init(&disk);
    plant_directory(&disk, "source");
    plant_file(&disk, "source/file", "12345");
    disk.ops.file_read = read_less;
    create_refuses(&disk, ERR_IO);
    assert_string_equal(disk.err.field, "file");
}

static void a_full_disk_and_cancelling_keep_their_names(void **state)
{
    static char noise[1 << 20];
    cleanup_sample_disk struct sample_disk disk;
    struct cancel token;

    (void)state;
    for (size_t i = 0; i < sizeof(noise); i++)
        noise[i] = (char)(i * i * 2654435761U >> 13);
    sample_disk_init(&disk);
    plant_directory(&disk, "source");
    plant(&disk, "source/big", AUTHORITY_FILE, (struct str){noise, sizeof(noise)}, 0644);
    cancel_init(&token, &clock_system, CANCEL_NO_DEADLINE);
    cancel_now(&token);
    disk.rules.cancel = &token;
    create_refuses(&disk, ERR_CANCELLED);
    disk.rules.cancel = NULL;
    memory_set_ceilings(disk.backend, sizeof(noise) + 100, 1000);
    create_refuses(&disk, ERR_NO_SPACE);
}

TEST_MAIN(cmocka_unit_test(what_is_packed_comes_out_again),
          cmocka_unit_test(an_empty_directory_packs),
          cmocka_unit_test(the_same_files_give_the_same_archive),
          cmocka_unit_test(links_and_other_things_are_left_out),
          cmocka_unit_test(denied_names_are_left_out_with_all_below),
          cmocka_unit_test(files_that_may_not_be_read_fail_the_whole),
          cmocka_unit_test(names_that_are_no_text_are_refused),
          cmocka_unit_test(packing_has_limits),
          cmocka_unit_test(a_file_that_shrinks_fails_the_whole),
          cmocka_unit_test(a_full_disk_and_cancelling_keep_their_names))
