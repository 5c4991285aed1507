/* SPDX-License-Identifier: Apache-2.0 */
/* Reading, writing, archives and temporary workspaces in the ordinary case. */
#include "world.h"

#include <pthread.h>
#include <sys/xattr.h>

#include "base/jsonwrite.h"

static const struct authority_write_options create_new = {.create = AUTHORITY_CREATE_NEW};
static const struct authority_write_options replace_old = {.create = AUTHORITY_REPLACE_OLD};
static const struct authority_write_options with_parents = {.make_parents = true};
static const struct authority_move_options move_parents = {.make_parents = true};

/* ---- reading ---- */

static void bytes_are_read_whole_and_in_part(void **state)
{
    struct world *world = *state;
    cleanup_buf struct buf out = BUF_INIT(1000);
    struct authority_read_options options = {.offset = 2, .max_bytes = 3};

    plant(world, WORLD_ROOT, "digits", "0123456789");
    assert_reads(world, world->scope, "digits", "0123456789");
    assert_ok(world,
              authority_read_bytes(world->scope, STR("digits"), &options, &out, &world->err));
    assert_str(buf_view(&out), "234");
    options = (struct authority_read_options){.offset = 8};
    assert_ok(world,
              authority_read_bytes(world->scope, STR("digits"), &options, &out, &world->err));
    assert_str(buf_view(&out), "23489"); /* appended to what is there */
    options = (struct authority_read_options){.offset = 10};
    assert_ok(world,
              authority_read_bytes(world->scope, STR("digits"), &options, &out, &world->err));
    options = (struct authority_read_options){.offset = UINT64_MAX, .max_bytes = UINT64_MAX};
    assert_ok(world,
              authority_read_bytes(world->scope, STR("digits"), &options, &out, &world->err));
    assert_str(buf_view(&out), "23489");
}

static void what_does_not_fit_the_buffer_is_too_large(void **state)
{
    struct world *world = *state;
    cleanup_buf struct buf out = BUF_INIT(9);

    plant(world, WORLD_ROOT, "digits", "0123456789");
    assert_ok(world, 0);
    assert_int_equal(buf_append_char(&out, '!'), 0);
    assert_refused(world,
                   authority_read_bytes(world->scope, STR("digits"), NULL, &out, &world->err),
                   ERR_TOO_LARGE);
    assert_str(buf_view(&out), "!");
}

static void text_is_valid_utf8(void **state)
{
    struct world *world = *state;
    cleanup_buf struct buf out = BUF_INIT(1000);

    plant(world, WORLD_ROOT, "good", "gr\xc3\xbc\xc3\x9f");
    plant(world, WORLD_ROOT, "bad", "gr\xfc");
    assert_ok(world, authority_read_text(world->scope, STR("good"), NULL, &out, &world->err));
    assert_str(buf_view(&out), "gr\xc3\xbc\xc3\x9f");
    assert_refused(world, authority_read_text(world->scope, STR("bad"), NULL, &out, &world->err),
                   ERR_INVALID_UTF8);
    assert_str(buf_view(&out), "gr\xc3\xbc\xc3\x9f");
    freeze(world);
    assert_refused(world,
                   authority_write_text(world->scope, STR("good"), STR("\xff"), NULL, &world->err),
                   ERR_INVALID_UTF8);
    assert_frozen(world);
}

static void json_goes_there_and_back(void **state)
{
    struct world *world = *state;
    cleanup_arena struct arena arena = ARENA_INIT(1 << 20);
    const struct json_value *document = NULL;
    const struct json_value *again = NULL;

    assert_int_equal(json_parse(&arena, STR("{\"a\":[1,2.50,null],\"b\":\"\\u00fc\"}"),
                                JSON_LIMITS_DEFAULT, &document, NULL),
                     0);
    assert_ok(world,
              authority_write_json(world->scope, STR("x.json"), document, NULL, &world->err));
    assert_ok(world,
              authority_read_json(world->scope, STR("x.json"), NULL, &arena, &again, &world->err));
    assert_true(json_eq(document, again));
}

static void broken_json_says_where(void **state)
{
    struct world *world = *state;
    cleanup_arena struct arena arena = ARENA_INIT(1 << 20);
    const struct json_value *document = NULL;

    plant(world, WORLD_ROOT, "x.json", "{\n\"a\": ]");
    assert_refused(
        world,
        authority_read_json(world->scope, STR("x.json"), NULL, &arena, &document, &world->err),
        ERR_INVALID_JSON);
    assert_non_null(strstr(world->err.message, "line 2"));
    assert_null(document);
}

/* ---- writing ---- */

static void writing_creates_and_replaces(void **state)
{
    struct world *world = *state;

    assert_ok(world, authority_write_bytes(world->scope, STR("a"), STR("one"), NULL, &world->err));
    assert_content(world, WORLD_ROOT, "a", "one");
    assert_int_equal(mode_of(world, WORLD_ROOT, "a"), 0644);
    assert_ok(world, authority_write_text(world->scope, STR("a"), STR("two"), NULL, &world->err));
    assert_content(world, WORLD_ROOT, "a", "two");
    assert_ok(world, authority_write_bytes(world->scope, STR("a"), STR_EMPTY, NULL, &world->err));
    assert_content(world, WORLD_ROOT, "a", "");
}

static void create_new_and_replace_old_say_what_they_expect(void **state)
{
    struct world *world = *state;

    plant(world, WORLD_ROOT, "old", "old");
    plant_dir(world, WORLD_ROOT, "dir");
    freeze(world);
    assert_refused(
        world, authority_write_bytes(world->scope, STR("old"), STR("x"), &create_new, &world->err),
        ERR_ALREADY_EXISTS);
    assert_true(
        authority_write_bytes(world->scope, STR("dir"), STR("x"), &create_new, &world->err) < 0);
    assert_refused(
        world, authority_write_bytes(world->scope, STR("new"), STR("x"), &replace_old, &world->err),
        ERR_NOT_FOUND);
    assert_frozen(world);
    assert_ok(world,
              authority_write_bytes(world->scope, STR("old"), STR("x"), &replace_old, &world->err));
    assert_ok(world,
              authority_write_bytes(world->scope, STR("new"), STR("y"), &create_new, &world->err));
    assert_content(world, WORLD_ROOT, "old", "x");
    assert_content(world, WORLD_ROOT, "new", "y");
}

static void an_exchange_needs_a_file_and_access_to_read(void **state)
{
    struct world *world = *state;
    cleanup_buf struct buf old = BUF_INIT(100);
    struct authority_exchange exchange = {.content = &old};
    struct authority_write_options options = {.create = AUTHORITY_REPLACE_OLD,
                                              .exchange = &exchange};
    struct authority_request request = world_request(world);
    struct authority_scope *blind;

    request.access = AUTHORITY_WRITE | AUTHORITY_METADATA;
    blind = world_open(world, &request);
    assert_refused(world,
                   authority_write_text(world->scope, STR("f"), STR("1"), &options, &world->err),
                   ERR_NOT_FOUND);
    plant(world, WORLD_ROOT, "f", "0");
    assert_ok(world, authority_write_text(world->scope, STR("f"), STR("1"), &options, &world->err));
    assert_str(buf_view(&old), "0");
    assert_int_equal(exchange.before.size, 1);
    assert_refused(world, authority_append(world->scope, STR("f"), STR("2"), &options, &world->err),
                   ERR_INVALID_ARGUMENT);
    assert_refused(world, authority_write_text(blind, STR("f"), STR("2"), &options, &world->err),
                   ERR_ACCESS_MISSING);
    options.create = AUTHORITY_CREATE_OR_REPLACE;
    assert_refused(world,
                   authority_write_text(world->scope, STR("f"), STR("2"), &options, &world->err),
                   ERR_INVALID_ARGUMENT);
    assert_content(world, WORLD_ROOT, "f", "1");
    authority_scope_free(blind);
}

static void parents_are_made_on_request(void **state)
{
    struct world *world = *state;

    freeze(world);
    assert_refused(world,
                   authority_write_bytes(world->scope, STR("a/b/c"), STR("x"), NULL, &world->err),
                   ERR_NOT_FOUND);
    assert_refused(world, authority_append(world->scope, STR("a/b/c"), STR("x"), NULL, &world->err),
                   ERR_NOT_FOUND);
    assert_refused(world, authority_mkdir(world->scope, STR("a/b/c"), NULL, &world->err),
                   ERR_NOT_FOUND);
    assert_frozen(world);
    assert_ok(world, authority_write_bytes(world->scope, STR("a/b/c"), STR("x"), &with_parents,
                                           &world->err));
    assert_content(world, WORLD_ROOT, "a/b/c", "x");
    assert_int_equal(mode_of(world, WORLD_ROOT, "a/b"), 0755);
    assert_ok(world,
              authority_append(world->scope, STR("d/e"), STR("y"), &with_parents, &world->err));
    assert_content(world, WORLD_ROOT, "d/e", "y");
    assert_ok(world, authority_mkdir(world->scope, STR("f/g/h"),
                                     &(struct authority_mkdir_options){.make_parents = true},
                                     &world->err));
    assert_true(is_there(world, WORLD_ROOT, "f/g/h"));
    assert_ok(world,
              authority_copy(world->scope, STR("d/e"), STR("i/j"), &move_parents, &world->err));
    assert_content(world, WORLD_ROOT, "i/j", "y");
    assert_ok(world,
              authority_move(world->scope, STR("i/j"), STR("k/l/m"), &move_parents, &world->err));
    assert_content(world, WORLD_ROOT, "k/l/m", "y");
}

/* Whatever was made on the way to a failure goes again. */
static void parents_do_not_stay_when_it_fails(void **state)
{
    struct world *world = *state;
    const struct authority_limits limits = {.symlinks = AUTHORITY_SYMLINKS_REJECT,
                                            .max_file_bytes = 3};
    struct authority_scope *small = world_open_limited(world, &limits);

    plant(world, WORLD_ROOT, "file", "f");
    plant(world, WORLD_ROOT, "large", "large");
    freeze(world);
    assert_refused(
        world,
        authority_move(world->scope, STR("missing"), STR("a/b/c"), &move_parents, &world->err),
        ERR_NOT_FOUND);
    assert_frozen(world);
    assert_refused(
        world,
        authority_copy(world->scope, STR("missing"), STR("a/b/c"), &move_parents, &world->err),
        ERR_NOT_FOUND);
    assert_frozen(world);
    assert_refused(world,
                   authority_copy(small, STR("large"), STR("a/b/c"), &move_parents, &world->err),
                   ERR_TOO_LARGE);
    assert_refused(
        world, authority_write_bytes(small, STR("a/b/c"), STR("large"), &with_parents, &world->err),
        ERR_TOO_LARGE);
    assert_refused(world,
                   authority_append(small, STR("a/b/c"), STR("large"), &with_parents, &world->err),
                   ERR_TOO_LARGE);
    assert_frozen(world);
    assert_refused(
        world,
        authority_write_bytes(world->scope, STR("file/b/c"), STR("x"), &with_parents, &world->err),
        ERR_NOT_A_DIRECTORY);
    assert_frozen(world);
    authority_scope_free(small);
}

static void a_new_file_gets_the_mode_asked_for_and_no_other_bits(void **state)
{
    struct world *world = *state;
    const struct authority_write_options options = {.mode = 06755};

    assert_ok(world,
              authority_write_bytes(world->scope, STR("run"), STR("#!"), &options, &world->err));
    assert_int_equal(mode_of(world, WORLD_ROOT, "run"), 0755);
    assert_ok(world, authority_append(world->scope, STR("also"), STR("#!"), &options, &world->err));
    assert_int_equal(mode_of(world, WORLD_ROOT, "also"), 0755);
}

static void a_replaced_file_keeps_its_mode(void **state)
{
    struct world *world = *state;
    const struct authority_write_options options = {.mode = 0600};

    plant(world, WORLD_ROOT, "script", "old");
    set_mode(world, WORLD_ROOT, "script", 0750);
    assert_ok(world, authority_write_bytes(world->scope, STR("script"), STR("new"), &options,
                                           &world->err));
    assert_content(world, WORLD_ROOT, "script", "new");
    assert_int_equal(mode_of(world, WORLD_ROOT, "script"), 0750);
}

static void a_replaced_file_keeps_its_attributes(void **state)
{
    struct world *world = *state;
    char path[WORLD_PATH_BYTES + 16];
    char value[16];

    plant(world, WORLD_ROOT, "tagged", "old");
    snprintf(path, sizeof(path), "%s/tagged", world->paths[WORLD_ROOT]);
    if (setxattr(path, "user.tag", "blue", 4, 0) < 0)
        skip_because("no extended attributes here");
    assert_ok(world,
              authority_write_bytes(world->scope, STR("tagged"), STR("new"), NULL, &world->err));
    assert_content(world, WORLD_ROOT, "tagged", "new");
    assert_int_equal(getxattr(path, "user.tag", value, sizeof(value)), 4);
    assert_memory_equal(value, "blue", 4);
}

static void appending_adds_and_creates(void **state)
{
    struct world *world = *state;

    assert_ok(world, authority_append(world->scope, STR("log"), STR("one"), NULL, &world->err));
    assert_ok(world, authority_append(world->scope, STR("log"), STR("two"), NULL, &world->err));
    assert_content(world, WORLD_ROOT, "log", "onetwo");
    assert_refused(world,
                   authority_append(world->scope, STR("none"), STR("x"), &replace_old, &world->err),
                   ERR_NOT_FOUND);
    assert_false(is_there(world, WORLD_ROOT, "none"));
}

/* Create-new means the same for an append as for a write. */
static void appending_to_a_new_file_refuses_an_old_one(void **state)
{
    struct world *world = *state;

    plant(world, WORLD_ROOT, "log", "old");
    freeze(world);
    assert_refused(world,
                   authority_append(world->scope, STR("log"), STR("x"), &create_new, &world->err),
                   ERR_ALREADY_EXISTS);
    assert_frozen(world);
}

/* ---- archives ---- */

static const enum authority_archive_format formats[] = {AUTHORITY_TAR_GZ, AUTHORITY_TAR_XZ,
                                                        AUTHORITY_TAR_ZST, AUTHORITY_ZIP};

static void archives_go_there_and_back(void **state)
{
    struct world *world = *state;

    plant_dir(world, WORLD_ROOT, "t");
    plant_dir(world, WORLD_ROOT, "t/empty");
    plant_dir(world, WORLD_ROOT, "t/d");
    plant(world, WORLD_ROOT, "t/d/f", "content");
    plant(world, WORLD_ROOT, "t/run", "#!");
    set_mode(world, WORLD_ROOT, "t/run", 0755);
    for (size_t i = 0; i < array_size(formats); i++) {
        struct authority_archive_result packed = {0};
        struct authority_archive_result unpacked = {0};
        char out[16];
        char name[32];

        snprintf(out, sizeof(out), "out%zu", i);
        assert_ok(world, authority_create_archive(world->scope, STR("t"), STR("archive"),
                                                  formats[i], NULL, &packed, &world->err));
        assert_int_equal(packed.files, 2);
        assert_int_equal(packed.bytes, 9);
        assert_ok(world, authority_extract_archive(world->scope, STR("archive"), str_from(out),
                                                   NULL, &unpacked, &world->err));
        assert_int_equal(unpacked.files, 2);
        assert_int_equal(unpacked.bytes, 9);
        snprintf(name, sizeof(name), "%s/d/f", out);
        assert_content(world, WORLD_ROOT, name, "content");
        snprintf(name, sizeof(name), "%s/empty", out);
        assert_true(is_there(world, WORLD_ROOT, name));
        snprintf(name, sizeof(name), "%s/run", out);
        assert_int_equal(mode_of(world, WORLD_ROOT, name), 0755);
        assert_int_equal(mode_of(world, WORLD_ROOT, out), 0755);
        assert_ok(world, authority_remove(world->scope, STR("archive"), NULL, &world->err));
    }
}

static void a_refused_archive_leaves_nothing_behind(void **state)
{
    struct world *world = *state;
    struct authority_archive_result result = {.files = 77};
    const struct authority_archive_options one = {.max_entries = 1};
    const struct authority_archive_options few_bytes = {.max_total_bytes = 3};

    plant_dir(world, WORLD_ROOT, "t");
    plant(world, WORLD_ROOT, "t/f", "content");
    plant(world, WORLD_ROOT, "t/g", "content");
    plant_dir(world, WORLD_ROOT, "full");
    plant(world, WORLD_ROOT, "full/x", "x");
    plant(world, WORLD_ROOT, "noise", "this is no archive at all");
    assert_ok(world, authority_create_archive(world->scope, STR("t"), STR("a.tgz"),
                                              AUTHORITY_TAR_GZ, NULL, &result, &world->err));
    result.files = 77;
    freeze(world);
    assert_refused(world,
                   authority_extract_archive(world->scope, STR("noise"), STR("new/deep/out"), NULL,
                                             &result, &world->err),
                   ERR_ARCHIVE_FORMAT);
    assert_frozen(world);
    assert_refused(world,
                   authority_extract_archive(world->scope, STR("a.tgz"), STR("out"), &one, &result,
                                             &world->err),
                   ERR_ARCHIVE_ENTRIES);
    assert_refused(world,
                   authority_extract_archive(world->scope, STR("a.tgz"), STR("out"), &few_bytes,
                                             &result, &world->err),
                   ERR_ARCHIVE_BYTES);
    assert_refused(world,
                   authority_extract_archive(world->scope, STR("a.tgz"), STR("full"), NULL, &result,
                                             &world->err),
                   ERR_NOT_EMPTY);
    assert_refused(world,
                   authority_extract_archive(world->scope, STR("a.tgz"), STR("noise"), NULL,
                                             &result, &world->err),
                   ERR_ALREADY_EXISTS);
    assert_refused(
        world,
        authority_extract_archive(world->scope, STR("a.tgz"), STR(""), NULL, &result, &world->err),
        ERR_ROOT_PROTECTED);
    assert_refused(world,
                   authority_create_archive(world->scope, STR("t"), STR("b.zip"), AUTHORITY_ZIP,
                                            &one, &result, &world->err),
                   ERR_ARCHIVE_ENTRIES);
    assert_refused(world,
                   authority_create_archive(world->scope, STR("t"), STR("noise"), AUTHORITY_ZIP,
                                            NULL, &result, &world->err),
                   ERR_ALREADY_EXISTS);
    assert_refused(world,
                   authority_create_archive(world->scope, STR("noise"), STR("b.zip"), AUTHORITY_ZIP,
                                            NULL, &result, &world->err),
                   ERR_NOT_A_DIRECTORY);
    assert_frozen(world);
    assert_int_equal(result.files, 77);
}

/* ---- temporary workspaces ---- */

/* Whatever the state directory calls them: directories in a journal's own below temp/. */
static size_t count_workspaces(struct world *world)
{
    char *const paths[] = {world->state, NULL};
    FTS *fts = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    size_t count = 0;

    assert_non_null(fts);
    for (const FTSENT *entry; (entry = fts_read(fts)) != NULL;)
        count += entry->fts_info == FTS_D && entry->fts_level == 3;
    fts_close(fts);
    return count;
}

static void a_temporary_workspace_works_like_any_other(void **state)
{
    struct world *world = *state;
    const struct authority_subject subject = {.type = AUTHORITY_EXTENSION, .id = "ext"};
    struct authority_scope *temp = NULL;
    struct authority_stat about;

    assert_ok(world, authority_create_temp(world->authority, &subject, "work", &temp, &world->err));
    assert_ok(world, authority_stat(temp, STR(""), &about, &world->err));
    assert_int_equal(about.mode, 0700);
    if (!world->is_memory)
        assert_int_equal(count_workspaces(world), 1);
    assert_ok(world, authority_write_bytes(temp, STR("f"), STR("one"), NULL, &world->err));
    /* Again: it is replaced there too. */
    assert_ok(world, authority_write_bytes(temp, STR("f"), STR("two"), NULL, &world->err));
    assert_reads(world, temp, "f", "two");
    assert_ok(world, authority_stat(temp, STR("f"), &about, &world->err));
    assert_int_equal(about.mode, 0600);
    assert_ok(world, authority_append(temp, STR("f"), STR("!"), NULL, &world->err));
    assert_ok(world, authority_copy(temp, STR("f"), STR("g"), NULL, &world->err));
    assert_ok(world, authority_mkdir(temp, STR("d"), NULL, &world->err));
    assert_ok(world, authority_move(temp, STR("g"), STR("d/g"), NULL, &world->err));
    assert_ok(world,
              authority_copy_in(world->scope, STR("out"), temp, STR("d/g"), NULL, &world->err));
    assert_content(world, WORLD_ROOT, "out", "two!");
    authority_scope_free(temp);
    if (!world->is_memory)
        assert_int_equal(count_workspaces(world), 0);
}

/* ---- several at once ---- */

struct writer {
    struct world *world;
    char letter;
};

enum { WRITER_BYTES = 20000, WRITER_ROUNDS = 40, WRITERS = 3 };

static void *write_letters(void *data)
{
    const struct writer *writer = data;
    char bytes[WRITER_BYTES];
    intptr_t failures = 0;

    memset(bytes, writer->letter, sizeof(bytes));
    for (int i = 0; i < WRITER_ROUNDS; i++)
        failures += authority_write_bytes(
                        writer->world->scope, STR("shared"), (struct str){bytes, sizeof(bytes)},
                        &(struct authority_write_options){.is_unsynced = true}, NULL) != 0;
    return (void *)failures;
}

static void writers_at_once_leave_one_whole_file(void **state)
{
    struct world *world = *state;
    struct writer writers[WRITERS];
    pthread_t threads[WRITERS];
    char old[WRITER_BYTES];
    cleanup_buf struct buf names = BUF_INIT(1000);

    memset(old, 'o', sizeof(old));
    plant_bytes(world, WORLD_ROOT, "shared", (struct str){old, sizeof(old)});
    for (int i = 0; i < WRITERS; i++) {
        writers[i] = (struct writer){world, (char)('a' + i)};
        assert_int_equal(pthread_create(&threads[i], NULL, write_letters, &writers[i]), 0);
    }
    for (int round = 0; round < WRITER_ROUNDS; round++) {
        cleanup_buf struct buf out = BUF_INIT(WORLD_BUF_BYTES);

        assert_int_equal(authority_read_bytes(world->scope, STR("shared"), NULL, &out, NULL), 0);
        assert_int_equal(out.len, WRITER_BYTES);
        for (size_t i = 1; i < out.len; i++)
            if (out.data[i] != out.data[0])
                fail_msg("torn at %zu", i);
    }
    for (int i = 0; i < WRITERS; i++) {
        void *failures;

        pthread_join(threads[i], &failures);
        assert_null(failures);
    }
    /* And none of their temporary names. */
    assert_ok(world,
              authority_list(world->scope, STR(""), NULL, world_note_entry, &names, &world->err));
    assert_str(buf_view(&names), "shared\n");
}

TEST_MAIN(EVERYWHERE(bytes_are_read_whole_and_in_part),
          EVERYWHERE(what_does_not_fit_the_buffer_is_too_large), EVERYWHERE(text_is_valid_utf8),
          EVERYWHERE(json_goes_there_and_back), EVERYWHERE(broken_json_says_where),
          EVERYWHERE(writing_creates_and_replaces),
          EVERYWHERE(create_new_and_replace_old_say_what_they_expect),
          EVERYWHERE(an_exchange_needs_a_file_and_access_to_read),
          EVERYWHERE(parents_are_made_on_request), EVERYWHERE(parents_do_not_stay_when_it_fails),
          EVERYWHERE(a_new_file_gets_the_mode_asked_for_and_no_other_bits),
          EVERYWHERE(a_replaced_file_keeps_its_mode), ON_DISK(a_replaced_file_keeps_its_attributes),
          EVERYWHERE(appending_adds_and_creates),
          EVERYWHERE(appending_to_a_new_file_refuses_an_old_one),
          EVERYWHERE(archives_go_there_and_back),
          EVERYWHERE(a_refused_archive_leaves_nothing_behind),
          EVERYWHERE(a_temporary_workspace_works_like_any_other),
          EVERYWHERE(writers_at_once_leave_one_whole_file))
