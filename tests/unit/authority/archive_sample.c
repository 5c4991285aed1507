/* SPDX-License-Identifier: Apache-2.0 */
#include "archive_sample.h"

#include "test.h"

#include <stdio.h>
#include <string.h>

#include "memory_plant.h"

/* ---- Tar ---- */

enum { BLOCK_BYTES = 512 };

static void append(struct buf *out, const void *bytes, size_t len)
{
    assert_int_equal(buf_append(out, bytes, len), 0);
}

void sample_tar_header(struct buf *out, const char *name, char type, uint64_t size,
                       const char *link)
{
    char block[BLOCK_BYTES] = {0};
    unsigned sum = 0;

    assert_true(strlen(name) <= 100);
    memcpy(block, name, strlen(name));
    memcpy(block + 100, "0000644", 7);
    memcpy(block + 108, "0000000", 7);
    memcpy(block + 116, "0000000", 7);
    if (size < (uint64_t)1 << 33) {
        char digits[13];

        snprintf(digits, sizeof(digits), "%011llo", (unsigned long long)size);
        memcpy(block + 124, digits, 11);
    } else {
        block[124] = (char)0x80;
        for (int i = 0; i < 8; i++)
            block[135 - i] = (char)(size >> (8 * i) & 0xff);
    }
    memcpy(block + 136, "00000000000", 11);
    block[156] = type;
    if (link != NULL)
        memcpy(block + 157, link, strlen(link));
    if (type == 'S')
        memcpy(block + 257, "ustar  ", 8);
    else
        memcpy(block + 257,
               "ustar\0"
               "00",
               8);
    memset(block + 148, ' ', 8);
    for (int i = 0; i < BLOCK_BYTES; i++)
        sum += (unsigned char)block[i];
    snprintf(block + 148, 8, "%06o", sum);
    append(out, block, sizeof(block));
}

void sample_tar_body(struct buf *out, struct str bytes)
{
    static const char zeros[BLOCK_BYTES];

    append(out, bytes.ptr, bytes.len);
    append(out, zeros, -bytes.len & (BLOCK_BYTES - 1));
}

void sample_tar_file(struct buf *out, const char *name, struct str bytes)
{
    sample_tar_header(out, name, '0', bytes.len, NULL);
    sample_tar_body(out, bytes);
}

void sample_tar_directory(struct buf *out, const char *name)
{
    sample_tar_header(out, name, '5', 0, NULL);
}

void sample_tar_special(struct buf *out, char type, struct str bytes)
{
    sample_tar_header(out, "special", type, bytes.len, NULL);
    sample_tar_body(out, bytes);
}

void sample_pax_record(struct buf *out, const char *key, struct str value)
{
    size_t rest = strlen(key) + value.len + 3; /* space, equals sign, newline */
    size_t len = rest + 1;

    /* The length counts its own digits. */
    while (true) {
        char digits[24];
        size_t next = rest + (size_t)snprintf(digits, sizeof(digits), "%zu", len);

        if (next == len)
            break;
        len = next;
    }
    assert_int_equal(buf_printf(out, "%zu %s=", len, key), 0);
    append(out, value.ptr, value.len);
    append(out, "\n", 1);
}

void sample_tar_pax(struct buf *out, char type, const char *key, struct str value)
{
    cleanup_buf struct buf record = BUF_INIT(SAMPLE_MAX_BYTES);

    sample_pax_record(&record, key, value);
    sample_tar_special(out, type, buf_view(&record));
}

void sample_tar_end(struct buf *out)
{
    static const char zeros[2 * BLOCK_BYTES];

    append(out, zeros, sizeof(zeros));
}

/* ---- By libarchive ---- */

static la_ssize_t on_write(struct archive *archive, void *data, const void *bytes, size_t len)
{
    (void)archive;
    append(data, bytes, len);
    return (la_ssize_t)len;
}

static void write_entry(struct archive *writer, const struct sample_entry *from)
{
    struct archive_entry *entry = archive_entry_new();

    archive_entry_set_pathname(entry, from->name);
    archive_entry_set_filetype(entry, from->type != 0 ? from->type : AE_IFREG);
    archive_entry_set_perm(entry, from->mode != 0 ? from->mode : 0644);
    archive_entry_set_size(entry, (la_int64_t)from->content.len);
    if (from->link != NULL)
        archive_entry_set_symlink(entry, from->link);
    assert_int_equal(archive_write_header(writer, entry), ARCHIVE_OK);
    if (from->content.len > 0)
        assert_int_equal(archive_write_data(writer, from->content.ptr, from->content.len),
                         from->content.len);
    archive_entry_free(entry);
}

void sample_write(struct buf *out, int format, int filter, const char *options,
                  const struct sample_entry *entries, size_t count)
{
    cleanup_archive_locale struct archive_locale locale;
    struct archive *writer = archive_write_new();

    archive_locale_begin(&locale);
    if (archive_write_set_format(writer, format) != ARCHIVE_OK)
        fail_msg("format %#x: %s", (unsigned)format, archive_error_string(writer));
    assert_int_equal(archive_write_add_filter(writer, filter), ARCHIVE_OK);
    assert_int_equal(archive_write_set_options(writer, options), ARCHIVE_OK);
    archive_write_set_passphrase(writer, "secret");
    archive_write_set_bytes_in_last_block(writer, 1);
    assert_int_equal(archive_write_open(writer, out, NULL, on_write, NULL), ARCHIVE_OK);
    for (size_t i = 0; i < count; i++)
        write_entry(writer, &entries[i]);
    assert_int_equal(archive_write_close(writer), ARCHIVE_OK);
    archive_write_free(writer);
}

void sample_pack(struct buf *out, int filter, struct str bytes)
{
    struct sample_entry entry = {.name = "data", .content = bytes};

    sample_write(out, ARCHIVE_FORMAT_RAW, filter, NULL, &entry, 1);
}

size_t sample_patch(struct buf *bytes, struct str from, struct str to)
{
    size_t count = 0;

    assert_int_equal(from.len, to.len);
    for (size_t i = 0; i + from.len <= bytes->len; i++) {
        if (memcmp(bytes->data + i, from.ptr, from.len) != 0)
            continue;
        memcpy(bytes->data + i, to.ptr, to.len);
        count++;
    }
    return count;
}

/* ---- The disk ---- */

void sample_disk_init(struct sample_disk *disk)
{
    *disk = (struct sample_disk){.rules = {.limits = archive_limits_from(NULL)}};
    assert_int_equal(authority_in_memory(&disk->backend), 0);
    disk->ops = *disk->backend->ops;
    disk->backend->ops = &disk->ops;
    assert_int_equal(disk->ops.root_open(disk->backend, "/sample", &disk->root), 0);
    assert_int_equal(
        memory_plant(disk->root, STR("outside"), AUTHORITY_FILE, STR("untouched"), 0644), 0);
}

void sample_disk_done(struct sample_disk *disk)
{
    disk->ops.root_close(disk->root);
    disk->ops.free(disk->backend);
}

static struct backend_file *open_archive(struct sample_disk *disk, struct str archive)
{
    struct authority_stat stat;
    struct backend_file *file = NULL;

    disk->ops.remove(disk->root, &disk->lookup, STR("archive"), false, 1);
    assert_int_equal(memory_plant(disk->root, STR("archive"), AUTHORITY_FILE, archive, 0644), 0);
    assert_int_equal(disk->ops.file_open(disk->root, &disk->lookup, STR("archive"), &file, &stat),
                     0);
    return file;
}

int sample_extract(struct sample_disk *disk, struct str archive)
{
    struct backend_file *file = open_archive(disk, archive);
    struct backend_root *tree = NULL;
    uint64_t bytes, nodes, bytes_after, nodes_after;
    int r;

    memory_usage(disk->backend, &bytes, &nodes);
    assert_int_equal(disk->ops.tree_stage(disk->root, &disk->lookup, STR("out"), &tree), 0);
    memset(&disk->err, 0, sizeof(disk->err));
    r = archive_extract(disk->backend, file, archive.len, tree, &disk->lookup, &disk->rules,
                        &disk->result, &disk->err);
    if (r == 0)
        assert_int_equal(disk->ops.tree_publish(tree, 0755, false), 0);
    else
        disk->ops.tree_drop(tree);
    memory_usage(disk->backend, &bytes_after, &nodes_after);
    disk->bytes_left = bytes_after - bytes;
    disk->nodes_left = nodes_after - nodes;
    disk->ops.file_close(file);
    return r;
}

void sample_check_refused(struct sample_disk *disk, int r, int code)
{
    if (r != code)
        fail_msg("%s instead of %s: %s (%s)", r < 0 ? err_name(r) : "success", err_name(code),
                 disk->err.message, disk->err.field);
    assert_int_equal(disk->err.code, code);
    assert_true(disk->err.message[0] != '\0');
    assert_string_equal(sample_kind(disk, "out"), "none");
    assert_int_equal(disk->bytes_left, 0);
    assert_int_equal(disk->nodes_left, 0);
    assert_str(sample_content(disk, "outside"), "untouched");
}

void sample_refuses(struct str archive, const struct archive_limits *limits, int code)
{
    cleanup_sample_disk struct sample_disk disk;

    sample_disk_init(&disk);
    if (limits != NULL)
        disk.rules.limits = *limits;
    sample_check_refused(&disk, sample_extract(&disk, archive), code);
}

void sample_extract_or_fail(struct sample_disk *disk, struct str archive)
{
    int r = sample_extract(disk, archive);

    if (r < 0)
        fail_msg("%s: %s (%s)", err_name(r), disk->err.message, disk->err.field);
}

void sample_accepts(struct str archive, const struct archive_limits *limits)
{
    cleanup_sample_disk struct sample_disk disk;

    sample_disk_init(&disk);
    if (limits != NULL)
        disk.rules.limits = *limits;
    sample_extract_or_fail(&disk, archive);
}

struct str sample_zeros(struct buf *memory, size_t len)
{
    buf_clear(memory);
    assert_int_equal(buf_reserve(memory, len), 0);
    memset(memory->data, 0, len);
    memory->len = len;
    return buf_view(memory);
}

struct str sample_content(struct sample_disk *disk, const char *name)
{
    static char text[256];
    cleanup_buf struct buf content = BUF_INIT(SAMPLE_MAX_BYTES);
    struct authority_stat stat;
    int r = memory_peek(disk->root, str_from(name), &stat, &content);

    if (r < 0) {
        snprintf(text, sizeof(text), "!%s", err_name(r));
        return str_from(text);
    }
    assert_true(content.len <= sizeof(text));
    if (content.len > 0)
        memcpy(text, content.data, content.len);
    return (struct str){text, content.len};
}

const char *sample_kind(struct sample_disk *disk, const char *name)
{
    static char text[16];
    struct authority_stat stat;

    if (memory_peek(disk->root, str_from(name), &stat, NULL) < 0)
        return "none";
    snprintf(text, sizeof(text), "%c%o", "fdlo"[stat.type], stat.mode & 07777);
    return text;
}
