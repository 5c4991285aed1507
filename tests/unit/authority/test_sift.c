/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walking a tree with several threads: each file that the scope and the rules allow is visited
 * once, whole, and no other.
 */
#include <pthread.h>

#include "authority/names/ignore.h"
#include "world.h"

enum { MAX_SEEN = 4096, MANY = 700 };

/* What came, in the order of names. */
struct seen {
    pthread_mutex_t lock;
    char *names[MAX_SEEN];
    size_t count;
    char *missed[MAX_SEEN];
    int codes[MAX_SEEN];
    size_t missed_count;
    const char *shut;     /* a directory that is not entered */
    const char *unwanted; /* a file that is not opened */
    const char *doomed; /* a file or directory that somebody removes as soon as it is asked about */
    struct world *world;
    int error; /* ends it at the first content */
    struct cancel *cancel_at_first;
    bool threads[AUTHORITY_SIFT_MAX_THREADS];
    uint64_t bytes;
};

static struct seen *seen_new(void)
{
    struct seen *seen = calloc(1, sizeof(*seen));

    assert_non_null(seen);
    pthread_mutex_init(&seen->lock, NULL);
    return seen;
}

static void seen_free(struct seen *seen)
{
    for (size_t i = 0; i < seen->count; i++)
        free(seen->names[i]);
    for (size_t i = 0; i < seen->missed_count; i++)
        free(seen->missed[i]);
    pthread_mutex_destroy(&seen->lock);
    free(seen);
}

static void remove_doomed(const struct seen *seen, struct str name)
{
    if (seen->doomed != NULL && str_eq_c(name, seen->doomed))
        assert_int_equal(authority_remove(seen->world->scope, name, NULL, NULL), 0);
}

static bool enters(void *data, struct str name)
{
    const struct seen *seen = data;

    remove_doomed(seen, name);
    return seen->shut == NULL || !str_eq_c(name, seen->shut);
}

static int on_file(void *data, unsigned thread, struct str name)
{
    const struct seen *seen = data;

    (void)thread;
    remove_doomed(seen, name);
    return seen->unwanted != NULL && str_eq_c(name, seen->unwanted) ? 0 : AUTHORITY_SIFT_OPEN;
}

static int on_content(void *data, unsigned thread, struct authority_sifted *file)
{
    struct str name = authority_sifted_name(file);
    struct seen *seen = data;
    char bytes[64];
    size_t got = 0;
    int r = authority_sifted_read(file, 0, bytes, sizeof(bytes), &got);

    if (r < 0)
        return r;
    pthread_mutex_lock(&seen->lock);
    assert_true(seen->count < MAX_SEEN);
    seen->threads[thread] = true;
    seen->bytes += got;
    seen->names[seen->count++] = strndup(name.ptr, name.len);
    if (seen->cancel_at_first != NULL)
        cancel_now(seen->cancel_at_first);
    r = seen->error;
    pthread_mutex_unlock(&seen->lock);
    return r;
}

static void on_missed(void *data, unsigned thread, struct str name, int code)
{
    struct seen *seen = data;

    (void)thread;
    pthread_mutex_lock(&seen->lock);
    assert_true(seen->missed_count < MAX_SEEN);
    seen->codes[seen->missed_count] = code;
    seen->missed[seen->missed_count++] = strndup(name.ptr, name.len);
    pthread_mutex_unlock(&seen->lock);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int sift(struct world *world, struct authority_scope *scope, const char *name,
                const struct authority_sift_options *options, struct seen *seen)
{
    const struct authority_sift_visitor visitor = {.enters = enters,
                                                   .file = on_file,
                                                   .content = on_content,
                                                   .missed = on_missed,
                                                   .data = seen};
    int r = authority_sift(scope, str_from(name), options, &visitor, &world->err);

    qsort(seen->names, seen->count, sizeof(seen->names[0]), by_name);
    return r;
}

/* The names that come, joined by spaces. */
static void assert_sifted(struct world *world, struct authority_scope *scope, const char *name,
                          bool heeds, const char *expected)
{
    for (unsigned threads = 1; threads <= 4; threads += 3) {
        const struct authority_sift_options options = {.threads = threads,
                                                       .heeds_ignore_files = heeds};
        cleanup_buf struct buf out = BUF_INIT(1 << 20);
        struct seen *seen = seen_new();

        assert_ok(world, sift(world, scope, name, &options, seen));
        for (size_t i = 0; i < seen->count; i++)
            assert_int_equal(buf_printf(&out, "%s%s", i > 0 ? " " : "", seen->names[i]), 0);
        assert_int_equal(buf_append_str(&out, (struct str){"", 1}), 0);
        assert_string_equal(out.data, expected);
        seen_free(seen);
    }
}

static void every_file_comes_once(void **state)
{
    struct world *world = *state;

    plant(world, WORLD_ROOT, "a", "1");
    plant_dir(world, WORLD_ROOT, "d");
    plant_dir(world, WORLD_ROOT, "d/e");
    plant(world, WORLD_ROOT, "d/b", "2");
    plant(world, WORLD_ROOT, "d/e/c", "3");
    plant_dir(world, WORLD_ROOT, "empty");
    plant(world, WORLD_OUTSIDE, "secret", "s");
    plant_link(world, "link", "a");
    plant_link(world, "d/up", "..");
    plant_fifo(world, "fifo");
    assert_sifted(world, world->scope, "", true, "a d/b d/e/c");
    assert_sifted(world, world->scope, "d", true, "b e/c");
    assert_sifted(world, world->scope, "empty", true, "");
}

static void what_is_no_directory_is_refused(void **state)
{
    const struct authority_sift_options options = {.threads = 2};
    struct world *world = *state;
    struct seen *seen = seen_new();

    plant(world, WORLD_ROOT, "file", "x");
    assert_refused(world, sift(world, world->scope, "file", &options, seen), ERR_NOT_A_DIRECTORY);
    assert_refused(world, sift(world, world->scope, "none", &options, seen), ERR_NOT_FOUND);
    assert_refused(world, sift(world, world->scope, "../x", &options, seen), ERR_PATH_OUTSIDE_ROOT);
    assert_int_equal(seen->count, 0);
    seen_free(seen);
}

static void plant_many(struct world *world, const char *content)
{
    plant_dir(world, WORLD_ROOT, "many");
    for (unsigned i = 0; i < MANY; i++) {
        char name[32];

        snprintf(name, sizeof(name), "many/%04u", i);
        plant(world, WORLD_ROOT, name, content);
    }
}

static void many_files_are_shared_by_all_threads(void **state)
{
    const struct authority_sift_options options = {.threads = AUTHORITY_SIFT_MAX_THREADS};
    struct world *world = *state;
    struct seen *seen = seen_new();
    size_t used = 0;

    plant_many(world, "12");
    assert_ok(world, sift(world, world->scope, "", &options, seen));
    assert_int_equal(seen->count, MANY);
    assert_int_equal(seen->bytes, 2 * MANY);
    for (unsigned i = 0; i < MANY; i++) {
        char name[32];

        snprintf(name, sizeof(name), "many/%04u", i);
        assert_string_equal(seen->names[i], name);
    }
    for (size_t i = 0; i < AUTHORITY_SIFT_MAX_THREADS; i++)
        used += seen->threads[i];
    assert_in_range(used, 1, AUTHORITY_SIFT_MAX_THREADS);
    seen_free(seen);
}

static void rules_hold_where_they_stand_and_below(void **state)
{
    struct world *world = *state;

    plant(world, WORLD_ROOT, ".gitignore", "*.o\n/build/\n");
    plant(world, WORLD_ROOT, "a.o", "x");
    plant(world, WORLD_ROOT, "a.c", "x");
    plant_dir(world, WORLD_ROOT, "build");
    plant(world, WORLD_ROOT, "build/out", "x");
    plant_dir(world, WORLD_ROOT, "d");
    plant(world, WORLD_ROOT, "d/.gitignore", "!keep.o\nsecret\n");
    plant(world, WORLD_ROOT, "d/.ignore", "!secret\n");
    plant(world, WORLD_ROOT, "d/keep.o", "x");
    plant(world, WORLD_ROOT, "d/lose.o", "x");
    plant(world, WORLD_ROOT, "d/secret", "x");
    plant_dir(world, WORLD_ROOT, "d/build");
    plant(world, WORLD_ROOT, "d/build/out", "x");
    assert_sifted(world, world->scope, "", true,
                  ".gitignore a.c d/.gitignore d/.ignore d/build/out d/keep.o d/secret");
    assert_sifted(world, world->scope, "d", true, ".gitignore .ignore build/out keep.o secret");
    assert_sifted(world, world->scope, "d/build", true, "out");
    assert_sifted(world, world->scope, "", false,
                  ".gitignore a.c a.o build/out d/.gitignore d/.ignore d/build/out d/keep.o "
                  "d/lose.o d/secret");
    /* Who asks for an ignored directory by name gets it. */
    assert_sifted(world, world->scope, "build", true, "out");
}

static void what_is_denied_does_not_come(void **state)
{
    static const char *const denied[] = {"*.key", "private/**", ".gitignore", NULL};
    const struct authority_limits limits = {.denied_globs = denied};
    struct world *world = *state;
    struct authority_scope *limited = world_open_limited(world, &limits);

    plant(world, WORLD_ROOT, "a.key", "x");
    plant(world, WORLD_ROOT, "a", "x");
    plant(world, WORLD_ROOT, ".gitignore", "a\n");
    plant_dir(world, WORLD_ROOT, "private");
    plant(world, WORLD_ROOT, "private/b", "x");
    plant_dir(world, WORLD_ROOT, "d");
    plant(world, WORLD_ROOT, "d/b.key", "x");
    plant(world, WORLD_ROOT, "d/c", "x");
    /* Rules that may not be read decide nothing. */
    assert_sifted(world, limited, "", true, "a d/c");
    authority_scope_free(limited);
}

static void what_is_not_finished_does_not_come(void **state)
{
    struct world *world = *state;

    plant(world, WORLD_ROOT, ".gatehouse-abc", "half");
    plant_dir(world, WORLD_ROOT, ".gatehouse-tree");
    plant(world, WORLD_ROOT, ".gatehouse-tree/f", "half");
    plant(world, WORLD_ROOT, "f", "x");
    assert_sifted(world, world->scope, "", false, "f");
}

static void the_visitor_decides_what_is_entered_and_opened(void **state)
{
    const struct authority_sift_options options = {.threads = 2};
    struct world *world = *state;
    struct seen *seen = seen_new();

    plant_dir(world, WORLD_ROOT, "d");
    plant_dir(world, WORLD_ROOT, "d/shut");
    plant(world, WORLD_ROOT, "d/shut/a", "x");
    plant(world, WORLD_ROOT, "d/b", "x");
    plant(world, WORLD_ROOT, "d/c", "x");
    seen->shut = "shut";
    seen->unwanted = "b";
    assert_ok(world, sift(world, world->scope, "d", &options, seen));
    assert_int_equal(seen->count, 1);
    assert_string_equal(seen->names[0], "c");
    seen_free(seen);
}

static void what_is_too_large_is_missed(void **state)
{
    const struct authority_sift_options options = {.threads = 2, .max_file_bytes = 3};
    struct world *world = *state;
    struct seen *seen = seen_new();

    plant(world, WORLD_ROOT, "large", "1234");
    plant(world, WORLD_ROOT, "small", "123");
    assert_ok(world, sift(world, world->scope, "", &options, seen));
    assert_int_equal(seen->count, 1);
    assert_string_equal(seen->names[0], "small");
    assert_int_equal(seen->missed_count, 1);
    assert_string_equal(seen->missed[0], "large");
    assert_int_equal(seen->codes[0], ERR_TOO_LARGE);
    seen_free(seen);
}

static void rules_that_are_too_long_are_told(void **state)
{
    const struct authority_sift_options options = {.threads = 2, .heeds_ignore_files = true};
    cleanup_buf struct buf rules = BUF_INIT(1 << 20);
    struct world *world = *state;
    struct seen *seen = seen_new();

    for (unsigned i = 0; i < 60000; i++)
        assert_int_equal(buf_append_str(&rules, STR("f\n\n\n\n")), 0);
    plant_dir(world, WORLD_ROOT, "d");
    plant(world, WORLD_ROOT, "d/f", "x");
    plant_bytes(world, WORLD_ROOT, "d/.gitignore", buf_view(&rules));
    assert_ok(world, sift(world, world->scope, "", &options, seen));
    assert_int_equal(seen->count, 2);
    assert_int_equal(seen->missed_count, 1);
    assert_string_equal(seen->missed[0], "d");
    assert_int_equal(seen->codes[0], ERR_UNSUPPORTED);
    seen_free(seen);
}

static void rules_that_cannot_be_read_are_told(void **state)
{
    const struct authority_sift_options options = {.threads = 2, .heeds_ignore_files = true};
    struct world *world = *state;
    struct seen *seen = seen_new();

    plant_dir(world, WORLD_ROOT, "d");
    plant(world, WORLD_ROOT, "d/f", "x");
    plant(world, WORLD_OUTSIDE, "rules", "f\n");
    plant_hardlink(world, WORLD_OUTSIDE, "rules", "d/.gitignore");
    assert_ok(world, sift(world, world->scope, "", &options, seen));
    /* A file with other names is not read here, so its rules do not hold, and that is said. */
    assert_int_equal(seen->count, 1);
    assert_string_equal(seen->names[0], "d/f");
    assert_int_equal(seen->missed_count, 2);
    for (size_t i = 0; i < seen->missed_count; i++)
        assert_int_equal(seen->codes[i], strcmp(seen->missed[i], "d") == 0 ? ERR_UNSUPPORTED
                                                                           : ERR_HARDLINK_REJECTED);
    seen_free(seen);
}

static void files_with_other_names_are_searched_where_that_was_asked(void **state)
{
    static const char *const denied[] = {"keys", NULL};
    const struct authority_sift_options options = {.threads = 4, .heeds_ignore_files = true};
    struct world *world = *state;
    struct authority_scope *scope;
    struct seen *seen = seen_new();

    plant_dir(world, WORLD_ROOT, "d");
    plant(world, WORLD_OUTSIDE, "f", "x");
    plant(world, WORLD_OUTSIDE, "rules", "left\n");
    plant(world, WORLD_ROOT, "keys", "SECRET");
    plant(world, WORLD_ROOT, "d/left", "x");
    plant_hardlink(world, WORLD_OUTSIDE, "f", "d/f");
    plant_hardlink(world, WORLD_OUTSIDE, "rules", "d/.gitignore");
    plant_hardlink(world, WORLD_ROOT, "keys", "d/alias");
    scope =
        world_open_limited(world, &(struct authority_limits){.symlinks = AUTHORITY_SYMLINKS_REJECT,
                                                             .hardlinks = AUTHORITY_HARDLINKS_READ,
                                                             .denied_globs = denied});
    assert_ok(world, sift(world, scope, "", &options, seen));
    assert_int_equal(seen->count, 2);
    assert_string_equal(seen->names[0], "d/.gitignore");
    assert_string_equal(seen->names[1], "d/f");
    /* By its second name it would be read. */
    assert_int_equal(seen->missed_count, 1);
    assert_string_equal(seen->missed[0], "d/alias");
    assert_int_equal(seen->codes[0], ERR_HARDLINK_REJECTED);
    seen_free(seen);
    authority_scope_free(scope);
}

static void the_largest_rules_hold(void **state)
{
    static char rules[IGNORE_MAX_FILE_BYTES];
    struct world *world = *state;

    memset(rules, '\n', sizeof(rules));
    rules[0] = 'f';
    plant_bytes(world, WORLD_ROOT, ".gitignore", (struct str){rules, sizeof(rules)});
    plant(world, WORLD_ROOT, "f", "x");
    plant(world, WORLD_ROOT, "g", "x");
    assert_sifted(world, world->scope, "", true, ".gitignore g");
}

static void what_cannot_be_read_is_missed_and_the_rest_comes(void **state)
{
    const struct authority_sift_options options = {.threads = 2};
    struct world *world = *state;
    struct seen *seen;

    if (!world->is_memory && geteuid() == 0)
        skip_because("root may read everything");
    seen = seen_new();
    plant_dir(world, WORLD_ROOT, "shut");
    plant(world, WORLD_ROOT, "shut/a", "x");
    set_mode(world, WORLD_ROOT, "shut", 0);
    plant(world, WORLD_ROOT, "locked", "x");
    set_mode(world, WORLD_ROOT, "locked", 0);
    plant(world, WORLD_ROOT, "open", "x");
    assert_ok(world, sift(world, world->scope, "", &options, seen));
    set_mode(world, WORLD_ROOT, "shut", 0700);
    assert_int_equal(seen->count, 1);
    assert_string_equal(seen->names[0], "open");
    assert_int_equal(seen->missed_count, 2);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(seen->codes[i], ERR_PERMISSION_DENIED);
    seen_free(seen);
}

static void what_has_gone_meanwhile_is_not_missed(void **state)
{
    static const char *const doomed[] = {"file", "dir"};
    const struct authority_sift_options options = {.threads = 1};
    struct world *world = *state;

    plant(world, WORLD_ROOT, "stays", "x");
    for (size_t i = 0; i < array_size(doomed); i++) {
        struct seen *seen = seen_new();

        plant(world, WORLD_ROOT, "file", "x");
        plant_dir(world, WORLD_ROOT, "dir");
        seen->world = world;
        seen->doomed = doomed[i];
        assert_ok(world, sift(world, world->scope, "", &options, seen));
        assert_false(is_there(world, WORLD_ROOT, doomed[i]));
        assert_int_equal(seen->missed_count, 0);
        assert_int_equal(seen->count, i == 0 ? 1 : 2);
        seen_free(seen);
        assert_int_equal(authority_remove(world->scope, str_from(doomed[1 - i]), NULL, NULL), 0);
    }
}

static void an_error_ends_it(void **state)
{
    const struct authority_sift_options options = {.threads = 4};
    struct world *world = *state;
    struct seen *seen = seen_new();

    plant_many(world, "");
    seen->error = ERR_IO;
    assert_int_equal(sift(world, world->scope, "", &options, seen), ERR_IO);
    assert_in_range(seen->count, 1, options.threads);
    seen_free(seen);
}

static void cancelling_ends_it(void **state)
{
    struct world *world = *state;
    struct cancel cancel;
    const struct authority_sift_options options = {.threads = 4, .cancel = &cancel};
    struct seen *seen = seen_new();

    cancel_init(&cancel, &clock_system, CANCEL_NO_DEADLINE);
    plant_many(world, "");
    seen->cancel_at_first = &cancel;
    assert_int_equal(sift(world, world->scope, "", &options, seen), ERR_CANCELLED);
    assert_in_range(seen->count, 1, options.threads);
    seen_free(seen);
}

static void a_tree_that_is_too_deep_is_told(void **state)
{
    const struct authority_sift_options options = {.threads = 2};
    struct world *world = *state;
    struct seen *seen = seen_new();
    char name[2 * (AUTHORITY_MAX_DEPTH + 4)] = "d";

    for (size_t i = 0; i < AUTHORITY_MAX_DEPTH; i++) {
        plant_dir(world, WORLD_ROOT, name);
        memcpy(name + strlen(name), "/d", sizeof("/d"));
    }
    plant(world, WORLD_ROOT, name, "x");
    assert_ok(world, sift(world, world->scope, "", &options, seen));
    assert_int_equal(seen->count, 0);
    assert_int_equal(seen->missed_count, 1);
    assert_int_equal(seen->codes[0], ERR_TOO_LARGE);
    seen_free(seen);
}

TEST_MAIN(EVERYWHERE(every_file_comes_once), EVERYWHERE(what_is_no_directory_is_refused),
          EVERYWHERE(many_files_are_shared_by_all_threads),
          EVERYWHERE(rules_hold_where_they_stand_and_below),
          EVERYWHERE(what_is_denied_does_not_come), EVERYWHERE(what_is_not_finished_does_not_come),
          EVERYWHERE(the_visitor_decides_what_is_entered_and_opened),
          EVERYWHERE(what_is_too_large_is_missed), EVERYWHERE(rules_that_are_too_long_are_told),
          EVERYWHERE(rules_that_cannot_be_read_are_told),
          EVERYWHERE(files_with_other_names_are_searched_where_that_was_asked),
          EVERYWHERE(the_largest_rules_hold),
          EVERYWHERE(what_cannot_be_read_is_missed_and_the_rest_comes),
          EVERYWHERE(what_has_gone_meanwhile_is_not_missed), EVERYWHERE(an_error_ends_it),
          EVERYWHERE(cancelling_ends_it), EVERYWHERE(a_tree_that_is_too_deep_is_told))
