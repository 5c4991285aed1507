/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names that a scope's globs or its filter deny, with every operation and every way to reach them.
 * A mistake would show on the disk or in an output.
 */
#include "world.h"

#include <poll.h>

static const char *const denied_names[] = {".env", "vault/key", "private", "*.pem", NULL};

static const char *const text_names[] = {"*.txt", "docs/**", NULL};
static const struct authority_limits text_only = {.symlinks = AUTHORITY_SYMLINKS_REJECT,
                                                  .allowed_globs = text_names};
static const struct authority_limits text_only_following = {.symlinks = AUTHORITY_SYMLINKS_IN_ROOT,
                                                            .allowed_globs = text_names};

/* ---- the same names, denied in two ways ---- */

static bool is_by_filter;
static struct arena filter_arena = ARENA_INIT(1 << 20);
static const struct glob_set *filter_globs;

static bool filter_denies(void *data, struct str name, bool changes)
{
    (void)changes;
    assert_ptr_equal(data, &filter_globs);
    assert_true(name.len > 0 && name.ptr[0] != '/');
    return glob_set_matches(filter_globs, name);
}

static void use_filter(void)
{
    is_by_filter = true;
    assert_int_equal(glob_set_compile(&filter_arena, denied_names, &filter_globs, NULL), 0);
}

static int filter_in_memory(void **state)
{
    use_filter();
    return setup_memory(state);
}

static int filter_on_disk(void **state)
{
    use_filter();
    return setup_linux(state);
}

static int filter_by_walking(void **state)
{
    use_filter();
    return setup_walking(state);
}

static int stop_filter(void **state)
{
    is_by_filter = false;
    arena_done(&filter_arena);
    return teardown(state);
}

#define FILTER_ON_DISK(test)                                                                       \
    {#test "_by_filter_on_disk", test, filter_on_disk, stop_filter, NULL},                         \
    {                                                                                              \
#test "_by_filter_by_walking", test, filter_by_walking, stop_filter, NULL                  \
    }
#define BY_BOTH(test)                                                                              \
    EVERYWHERE(test), {#test "_by_filter_in_memory", test, filter_in_memory, stop_filter, NULL},   \
        FILTER_ON_DISK(test)

static struct authority_scope *open_denying(struct world *world, enum authority_symlinks symlinks)
{
    struct authority_limits limits = {.symlinks = symlinks};

    if (is_by_filter)
        limits.filter = (struct authority_filter){.denies = filter_denies, .data = &filter_globs};
    else
        limits.denied_globs = denied_names;
    return world_open_limited(world, &limits);
}

static struct authority_scope *open_rejecting(struct world *world)
{
    return open_denying(world, AUTHORITY_SYMLINKS_REJECT);
}

static struct authority_scope *open_following(struct world *world)
{
    return open_denying(world, AUTHORITY_SYMLINKS_IN_ROOT);
}

static const struct authority_remove_options recursive = {.is_recursive = true};
static const struct authority_move_options may_replace = {.may_replace = true};

static int note_sifted(void *data, unsigned thread, struct str name)
{
    (void)thread;
    buf_append_str(data, name);
    return buf_append_char(data, '\n');
}

static const struct authority_sift_options one_thread = {.threads = 1};

static void make_names(struct world *world)
{
    plant(world, WORLD_ROOT, ".env", "SECRET");
    plant(world, WORLD_ROOT, "notes", "notes");
    plant_dir(world, WORLD_ROOT, "vault");
    plant(world, WORLD_ROOT, "vault/key", "SECRET");
    plant(world, WORLD_ROOT, "vault/open", "open");
    plant_dir(world, WORLD_ROOT, "private");
    plant(world, WORLD_ROOT, "private/diary", "SECRET");
    plant_dir(world, WORLD_ROOT, "deep");
    plant_dir(world, WORLD_ROOT, "deep/er");
    plant(world, WORLD_ROOT, "deep/er/cert.pem", "SECRET");
    plant(world, WORLD_ROOT, "deep/er/plain", "plain");
}

/* Every operation that can be told a name, told a denied one. */
static void try_everything(struct world *world, struct authority_scope *scope, struct str name)
{
    cleanup_buf struct buf out = BUF_INIT(1000);
    const struct authority_sift_visitor sifting = {.file = note_sifted, .data = &out};
    cleanup_arena struct arena arena = ARENA_INIT(10000);
    const struct json_value *document = NULL;
    struct authority_archive_result result;
    struct authority_watch *watch = NULL;
    struct authority_stat about;
    bool exists;
    int fd = -1;

    freeze(world);
    assert_refused(world, authority_read_bytes(scope, name, NULL, &out, &world->err),
                   ERR_DENIED_BY_POLICY);
    assert_refused(world, authority_read_text(scope, name, NULL, &out, &world->err),
                   ERR_DENIED_BY_POLICY);
    assert_refused(world, authority_read_json(scope, name, NULL, &arena, &document, &world->err),
                   ERR_DENIED_BY_POLICY);
    assert_refused(world, authority_stat(scope, name, &about, &world->err), ERR_DENIED_BY_POLICY);
    assert_refused(world, authority_exists(scope, name, &exists, &world->err),
                   ERR_DENIED_BY_POLICY);
    assert_refused(world, authority_list(scope, name, NULL, world_note_entry, &out, &world->err),
                   ERR_DENIED_BY_POLICY);
    assert_refused(world, authority_walk(scope, name, NULL, world_note_entry, &out, &world->err),
                   ERR_DENIED_BY_POLICY);
    assert_refused(world, authority_sift(scope, name, &one_thread, &sifting, &world->err),
                   ERR_DENIED_BY_POLICY);
    assert_refused(world, authority_write_bytes(scope, name, STR("x"), NULL, &world->err),
                   ERR_DENIED_BY_POLICY);
    assert_refused(world, authority_append(scope, name, STR("x"), NULL, &world->err),
                   ERR_DENIED_BY_POLICY);
    assert_refused(world, authority_copy(scope, name, STR("notes2"), NULL, &world->err),
                   ERR_DENIED_BY_POLICY);
    assert_refused(world, authority_copy(scope, STR("notes"), name, &may_replace, &world->err),
                   ERR_DENIED_BY_POLICY);
    assert_refused(world,
                   authority_copy_in(world->scope, STR("copy"), scope, name, NULL, &world->err),
                   ERR_DENIED_BY_POLICY);
    assert_refused(
        world,
        authority_copy_in(scope, name, world->scope, STR("notes"), &may_replace, &world->err),
        ERR_DENIED_BY_POLICY);
    assert_refused(world,
                   authority_extract_archive(scope, name, STR("out"), NULL, &result, &world->err),
                   ERR_DENIED_BY_POLICY);
    assert_refused(world,
                   authority_create_archive(scope, name, STR("a.zip"), AUTHORITY_ZIP, NULL, &result,
                                            &world->err),
                   ERR_DENIED_BY_POLICY);
    if (!world->is_memory)
        assert_refused(world, authority_watch(scope, name, &watch, &fd, &world->err),
                       ERR_DENIED_BY_POLICY);
    assert_frozen(world);
    assert_int_equal(out.len, 0);
}

/* Those that act on a last link itself and so do not ask what it points at. */
static void try_names_themselves(struct world *world, struct authority_scope *scope,
                                 struct str name)
{
    struct authority_archive_result result;

    freeze(world);
    assert_refused(world, authority_mkdir(scope, name, NULL, &world->err), ERR_DENIED_BY_POLICY);
    assert_refused(world, authority_move(scope, name, STR("notes2"), NULL, &world->err),
                   ERR_DENIED_BY_POLICY);
    assert_refused(world, authority_move(scope, STR("notes"), name, &may_replace, &world->err),
                   ERR_DENIED_BY_POLICY);
    assert_refused(world,
                   authority_move_in(world->scope, STR("got"), scope, name, NULL, &world->err),
                   ERR_DENIED_BY_POLICY);
    assert_refused(world, authority_remove(scope, name, &recursive, &world->err),
                   ERR_DENIED_BY_POLICY);
    assert_refused(world,
                   authority_extract_archive(scope, STR("notes"), name, NULL, &result, &world->err),
                   ERR_DENIED_BY_POLICY);
    assert_refused(world,
                   authority_create_archive(scope, STR("deep"), name, AUTHORITY_ZIP, NULL, &result,
                                            &world->err),
                   ERR_DENIED_BY_POLICY);
    assert_frozen(world);
}

static void a_denied_name_is_denied_to_every_operation(void **state)
{
    struct world *world = *state;
    static const struct str names[] = {
        STR_LITERAL(".env"),         STR_LITERAL("./.env"),       STR_LITERAL("vault/key"),
        STR_LITERAL("vault//./key"), STR_LITERAL("private"),      STR_LITERAL("private/diary"),
        STR_LITERAL("private/none"), STR_LITERAL("none.pem"),     STR_LITERAL("deep/er/cert.pem"),
        STR_LITERAL("deep/../.env"), STR_LITERAL("deep/er/.env"), STR_LITERAL("deep/../vault/key"),
    };

    make_names(world);
    for (int links = 0; links < 2; links++) {
        struct authority_scope *scope = links ? open_following(world) : open_rejecting(world);

        for (size_t i = 0; i < array_size(names); i++) {
            try_everything(world, scope, names[i]);
            try_names_themselves(world, scope, names[i]);
        }
        assert_reads(world, scope, "notes", "notes");
        assert_reads(world, scope, "vault/open", "open");
        authority_scope_free(scope);
    }
}

static void a_denied_name_is_denied_through_links(void **state)
{
    struct world *world = *state;
    struct authority_scope *scope = open_following(world);

    make_names(world);
    plant_link(world, "to-env", ".env");
    plant_link(world, "to-link", "to-env");
    plant_link(world, "to-vault", "vault");
    plant_link(world, "to-private", "deep/../private");
    plant_link(world, "to-notes", "notes");
    try_everything(world, scope, STR("to-env"));
    try_everything(world, scope, STR("to-link"));
    try_everything(world, scope, STR("to-vault/key"));
    try_everything(world, scope, STR("to-private"));
    try_everything(world, scope, STR("to-private/diary"));
    try_names_themselves(world, scope, STR("to-vault/key"));
    try_names_themselves(world, scope, STR("to-private/diary"));
    assert_reads(world, scope, "to-notes", "notes");
    assert_reads(world, scope, "to-vault/open", "open");
    assert_ok(world, authority_write_bytes(scope, STR("to-notes"), STR("new"), NULL, &world->err));
    assert_content(world, WORLD_ROOT, "notes", "new");
    authority_scope_free(scope);
}

/* The same directory under its own name, by a link, and by a way round. */
static const struct str ways_to_vault[] = {STR_LITERAL("vault"), STR_LITERAL("to-vault"),
                                           STR_LITERAL("deep/../vault"),
                                           STR_LITERAL("vault/../to-vault")};

static bool shows(struct buf *out, struct str name)
{
    return str_find(buf_view(out), name) != SIZE_MAX;
}

static void what_is_denied_is_not_shown_either(void **state)
{
    struct world *world = *state;
    struct authority_scope *scope = open_following(world);
    cleanup_buf struct buf out = BUF_INIT(10000);
    const struct authority_sift_visitor sifting = {.file = note_sifted, .data = &out};

    make_names(world);
    plant_link(world, "to-vault", "vault");
    for (size_t i = 0; i < array_size(ways_to_vault); i++) {
        buf_clear(&out);
        assert_ok(world, authority_list(scope, ways_to_vault[i], NULL, world_note_entry, &out,
                                        &world->err));
        assert_str(buf_view(&out), "open\n");
        buf_clear(&out);
        assert_ok(world, authority_walk(scope, ways_to_vault[i], NULL, world_note_entry, &out,
                                        &world->err));
        assert_str(buf_view(&out), "open\n");
    }
    buf_clear(&out);
    assert_ok(world, authority_walk(scope, STR(""), NULL, world_note_entry, &out, &world->err));
    assert_false(shows(&out, STR("env\n.env")) || shows(&out, STR("key")) ||
                 shows(&out, STR("private")) || shows(&out, STR("pem")));
    assert_true(shows(&out, STR("deep/er/plain")));
    buf_clear(&out);
    assert_ok(world, authority_sift(scope, STR(""), &one_thread, &sifting, &world->err));
    assert_false(shows(&out, STR(".env")) || shows(&out, STR("key")) ||
                 shows(&out, STR("private")) || shows(&out, STR("pem")));
    assert_true(shows(&out, STR("deep/er/plain")));
    buf_clear(&out);
    assert_ok(world, authority_list(scope, STR("."), NULL, world_note_entry, &out, &world->err));
    assert_false(shows(&out, STR(".env")) || shows(&out, STR("private")));
    authority_scope_free(scope);
}

static void what_is_denied_is_not_packed(void **state)
{
    struct world *world = *state;
    struct authority_scope *scope = open_following(world);

    make_names(world);
    plant_link(world, "to-vault", "vault");
    for (size_t i = 0; i < array_size(ways_to_vault); i++) {
        struct authority_archive_result result = {0};

        assert_ok(world, authority_create_archive(scope, ways_to_vault[i], STR("a.tgz"),
                                                  AUTHORITY_TAR_GZ, NULL, &result, &world->err));
        assert_int_equal(result.files, 1);
        assert_ok(world, authority_extract_archive(world->scope, STR("a.tgz"), STR("out"), NULL,
                                                   &result, &world->err));
        assert_content(world, WORLD_ROOT, "out/open", "open");
        assert_false(is_there(world, WORLD_ROOT, "out/key"));
        assert_ok(world, authority_remove(scope, STR("out"), &recursive, &world->err));
        assert_ok(world, authority_remove(scope, STR("a.tgz"), NULL, &world->err));
    }
    authority_scope_free(scope);
}

static void what_is_denied_is_not_unpacked(void **state)
{
    struct world *world = *state;
    struct authority_scope *scope = open_rejecting(world);
    struct authority_scope *following = open_following(world);
    struct authority_archive_result result = {0};

    plant_dir(world, WORLD_ROOT, "t");
    plant(world, WORLD_ROOT, "t/.env", "x");
    plant_dir(world, WORLD_ROOT, "u");
    plant(world, WORLD_ROOT, "u/key", "x");
    assert_ok(world, authority_create_archive(world->scope, STR("t"), STR("t.zip"), AUTHORITY_ZIP,
                                              NULL, &result, &world->err));
    assert_ok(world, authority_create_archive(world->scope, STR("u"), STR("u.zip"), AUTHORITY_ZIP,
                                              NULL, &result, &world->err));
    freeze(world);
    assert_refused(
        world,
        authority_extract_archive(scope, STR("t.zip"), STR("out"), NULL, &result, &world->err),
        ERR_DENIED_BY_POLICY);
    assert_refused(
        world,
        authority_extract_archive(scope, STR("u.zip"), STR("vault"), NULL, &result, &world->err),
        ERR_DENIED_BY_POLICY);
    assert_frozen(world);
    /* Nor by a way round. */
    plant_link(world, "here", ".");
    freeze(world);
    assert_refused(world,
                   authority_extract_archive(following, STR("u.zip"), STR("here/vault"), NULL,
                                             &result, &world->err),
                   ERR_DENIED_BY_POLICY);
    assert_refused(world,
                   authority_extract_archive(following, STR("here/u.zip"), STR("t/../vault"), NULL,
                                             &result, &world->err),
                   ERR_DENIED_BY_POLICY);
    assert_frozen(world);
    authority_scope_free(following);
    assert_ok(world, authority_extract_archive(scope, STR("u.zip"), STR("out"), NULL, &result,
                                               &world->err));
    assert_content(world, WORLD_ROOT, "out/key", "x");
    authority_scope_free(scope);
}

/* Moving a directory that holds it would bring it out under another name; removing, away. */
static void what_holds_a_denied_name_is_neither_moved_nor_removed(void **state)
{
    struct world *world = *state;
    struct authority_scope *scope = open_following(world);
    static const struct str holders[] = {
        STR_LITERAL("vault"),        STR_LITERAL("deep/../vault"),    STR_LITERAL("deep"),
        STR_LITERAL("deep/er"),      STR_LITERAL("to-deep/er"),       STR_LITERAL("to-here/vault"),
        STR_LITERAL("to-here/deep"), STR_LITERAL("to-deep/../vault"),
    };

    make_names(world);
    plant_link(world, "to-deep", "deep");
    plant_link(world, "to-here", ".");
    freeze(world);
    for (size_t i = 0; i < array_size(holders); i++) {
        assert_refused(world, authority_remove(scope, holders[i], &recursive, &world->err),
                       ERR_DENIED_BY_POLICY);
        assert_refused(world,
                       authority_move(scope, holders[i], STR("elsewhere"), NULL, &world->err),
                       ERR_DENIED_BY_POLICY);
        assert_refused(
            world,
            authority_move_in(world->scope, STR("elsewhere"), scope, holders[i], NULL, &world->err),
            ERR_DENIED_BY_POLICY);
        assert_frozen(world);
    }
    /* And what would become a denied name. */
    plant_dir(world, WORLD_ROOT, "box");
    plant(world, WORLD_ROOT, "box/key", "key");
    assert_ok(world, authority_remove(world->scope, STR("vault"), &recursive, &world->err));
    freeze(world);
    assert_refused(world, authority_move(scope, STR("box"), STR("vault"), NULL, &world->err),
                   ERR_DENIED_BY_POLICY);
    assert_refused(world,
                   authority_move(scope, STR("box"), STR("to-here/vault"), NULL, &world->err),
                   ERR_DENIED_BY_POLICY);
    assert_refused(world,
                   authority_move(scope, STR("box"), STR("deep/../vault"), NULL, &world->err),
                   ERR_DENIED_BY_POLICY);
    assert_refused(
        world, authority_move_in(scope, STR("vault"), world->scope, STR("box"), NULL, &world->err),
        ERR_DENIED_BY_POLICY);
    assert_frozen(world);
    assert_ok(world, authority_move(scope, STR("box"), STR("crate"), NULL, &world->err));
    /* A last link is the thing itself: what it points at stays. */
    assert_ok(world, authority_move(scope, STR("to-deep"), STR("to-depth"), NULL, &world->err));
    assert_ok(world, authority_remove(scope, STR("to-here"), &recursive, &world->err));
    assert_true(is_there(world, WORLD_ROOT, "deep/er/cert.pem"));
    authority_scope_free(scope);
}

static void only_allowed_names_are_used(void **state)
{
    struct world *world = *state;

    for (int links = 0; links < 2; links++) {
        struct authority_scope *scope =
            world_open_limited(world, links ? &text_only_following : &text_only);
        cleanup_buf struct buf out = BUF_INIT(1000);
        struct authority_archive_result result;
        struct authority_stat about;
        bool exists = false;

        if (links == 0) {
            plant(world, WORLD_ROOT, "a.txt", "a");
            plant(world, WORLD_ROOT, "a.bin", "a");
            plant_dir(world, WORLD_ROOT, "docs");
            plant(world, WORLD_ROOT, "docs/b.bin", "b");
            plant_dir(world, WORLD_ROOT, "src");
            plant(world, WORLD_ROOT, "src/c.txt", "c");
            plant(world, WORLD_ROOT, "src/c.bin", "c");
        }
        freeze(world);
        assert_reads(world, scope, "a.txt", "a");
        assert_reads(world, scope, "docs/b.bin", "b");
        assert_refused(world, authority_read_bytes(scope, STR("a.bin"), NULL, &out, &world->err),
                       ERR_DENIED_BY_POLICY);
        /* Directories may hold something allowed; a file that is not allowed is no directory. */
        assert_ok(world, authority_stat(scope, STR("src"), &about, &world->err));
        assert_refused(world, authority_stat(scope, STR("a.bin"), &about, &world->err),
                       ERR_DENIED_BY_POLICY);
        assert_refused(world, authority_exists(scope, STR("src/c.bin"), &exists, &world->err),
                       ERR_DENIED_BY_POLICY);
        assert_ok(world,
                  authority_list(scope, STR("src"), NULL, world_note_entry, &out, &world->err));
        assert_str(buf_view(&out), "c.txt\n");
        assert_refused(world,
                       authority_write_bytes(scope, STR("x.bin"), STR("x"), NULL, &world->err),
                       ERR_DENIED_BY_POLICY);
        assert_refused(world,
                       authority_create_archive(scope, STR("docs"), STR("x.bin"), AUTHORITY_ZIP,
                                                NULL, &result, &world->err),
                       ERR_DENIED_BY_POLICY);
        assert_refused(world, authority_copy(scope, STR("a.txt"), STR("a.exe"), NULL, &world->err),
                       ERR_DENIED_BY_POLICY);
        assert_refused(world, authority_move(scope, STR("a.txt"), STR("a.exe"), NULL, &world->err),
                       ERR_DENIED_BY_POLICY);
        assert_refused(world, authority_remove(scope, STR("src"), &recursive, &world->err),
                       ERR_DENIED_BY_POLICY);
        assert_frozen(world);
        assert_ok(world, authority_create_archive(scope, STR("src"), STR("x.txt"), AUTHORITY_ZIP,
                                                  NULL, &result, &world->err));
        assert_int_equal(result.files, 1);
        assert_ok(world, authority_remove(scope, STR("x.txt"), NULL, &world->err));
        authority_scope_free(scope);
    }
}

static void note_change(void *data, enum authority_change change, struct str name)
{
    (void)change;
    buf_append_str(data, name);
    buf_append_char(data, '\n');
}

static void a_watch_does_not_tell_denied_names(void **state)
{
    struct world *world = *state;
    struct authority_scope *scope = open_following(world);

    plant_dir(world, WORLD_ROOT, "vault");
    plant_dir(world, WORLD_ROOT, "deep");
    plant_link(world, "to-vault", "vault");
    for (size_t i = 0; i < array_size(ways_to_vault); i++) {
        cleanup_buf struct buf out = BUF_INIT(1000);
        struct authority_watch *watch = NULL;
        int fd = -1;

        assert_ok(world, authority_watch(scope, ways_to_vault[i], &watch, &fd, &world->err));
        plant(world, WORLD_ROOT, "vault/key", "x");
        plant(world, WORLD_ROOT, "vault/open", "x");
        assert_int_equal(poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, PATIENCE_MS), 1);
        assert_int_equal(authority_watch_read(watch, note_change, &out), 0);
        assert_false(shows(&out, STR("key")));
        assert_true(shows(&out, STR("open")));
        authority_watch_free(watch);
        assert_int_equal(unlinkat(world->fds[WORLD_ROOT], "vault/key", 0), 0);
        assert_int_equal(unlinkat(world->fds[WORLD_ROOT], "vault/open", 0), 0);
    }
    authority_scope_free(scope);
}

TEST_MAIN(BY_BOTH(a_denied_name_is_denied_to_every_operation),
          BY_BOTH(a_denied_name_is_denied_through_links),
          BY_BOTH(what_is_denied_is_not_shown_either), BY_BOTH(what_is_denied_is_not_packed),
          BY_BOTH(what_is_denied_is_not_unpacked),
          BY_BOTH(what_holds_a_denied_name_is_neither_moved_nor_removed),
          EVERYWHERE(only_allowed_names_are_used), ON_DISK(a_watch_does_not_tell_denied_names),
          FILTER_ON_DISK(a_watch_does_not_tell_denied_names))
