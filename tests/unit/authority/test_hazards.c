/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names that lead out, links of both kinds, and things that are not files, with every operation.
 * Each test looks at the disk, inside and outside the root.
 */
#include "attempts.h"

#include <limits.h>

/* Something to find, where nothing may be found. */
static void plant_outside(struct world *world)
{
    static const enum world_tree trees[] = {WORLD_OUTSIDE, WORLD_TWIN};

    for (size_t i = 0; i < array_size(trees); i++) {
        plant(world, trees[i], "secret", "SECRET");
        plant_dir(world, trees[i], "place");
        plant(world, trees[i], "place/secret", "SECRET");
    }
}

/* ---- names ---- */

static void names_that_lead_out_are_refused(void **state)
{
    struct world *world = *state;
    static const struct str names[] = {
        STR_LITERAL(".."),
        STR_LITERAL("../"),
        STR_LITERAL("../outside/secret"),
        STR_LITERAL("./../outside/secret"),
        STR_LITERAL(".//..//outside/secret"),
        STR_LITERAL("dir/../../outside/secret"),
        STR_LITERAL("dir/../../root/file"),
        STR_LITERAL("none/../../outside/secret"),
        STR_LITERAL("dir/./.././../outside/secret"),
        STR_LITERAL("../root-evil/secret"),
        STR_LITERAL("../root"),
        STR_LITERAL("dir/../.."),
        STR_LITERAL("/"),
        STR_LITERAL("//"),
        STR_LITERAL("/etc/passwd"),
        STR_LITERAL("/proc/self/root/etc/passwd"),
        STR_LITERAL("/../etc/passwd"),
    };

    attempts_prepare(world);
    plant_outside(world);
    for (size_t i = 0; i < array_size(names); i++) {
        attempt_all(world, world->scope, names[i], ERR_PATH_OUTSIDE_ROOT);
        attempt_all(world, world->following, names[i], ERR_PATH_OUTSIDE_ROOT);
    }
}

static void absolute_names_are_taken_by_whole_components(void **state)
{
    struct world *world = *state;
    char inside[WORLD_PATH_BYTES + 32];
    char twin[WORLD_PATH_BYTES + 32];
    char out[WORLD_PATH_BYTES + 32];

    attempts_prepare(world);
    plant_outside(world);
    snprintf(inside, sizeof(inside), "%s//./dir/below", world->paths[WORLD_ROOT]);
    snprintf(twin, sizeof(twin), "%s/secret", world->paths[WORLD_TWIN]);
    snprintf(out, sizeof(out), "%s/../outside/secret", world->paths[WORLD_ROOT]);
    assert_reads(world, world->scope, inside, "below");
    attempt_all(world, world->scope, str_from(twin), ERR_PATH_OUTSIDE_ROOT);
    attempt_all(world, world->scope, str_from(out), ERR_PATH_OUTSIDE_ROOT);
    attempt_all(world, world->following, str_from(twin), ERR_PATH_OUTSIDE_ROOT);
    attempt_all(world, world->following, str_from(out), ERR_PATH_OUTSIDE_ROOT);
}

static void names_that_no_file_can_have_are_refused(void **state)
{
    struct world *world = *state;
    cleanup_free char *deep = malloc(PATH_MAX + 2);
    char longest[NAME_MAX + 2];

    attempts_prepare(world);
    memset(longest, 'n', sizeof(longest));
    for (size_t i = 0; i < PATH_MAX + 1; i++)
        deep[i] = i % 2 == 0 ? 'd' : '/';
    for (int links = 0; links < 2; links++) {
        struct authority_scope *scope = links ? world->following : world->scope;

        attempt_all(world, scope, (struct str){"file\0", 5}, ERR_INVALID_PATH);
        attempt_all(world, scope, (struct str){"\0file", 5}, ERR_INVALID_PATH);
        attempt_all(world, scope, (struct str){"dir\0/../file", 12}, ERR_INVALID_PATH);
        attempt_all(world, scope, (struct str){longest, NAME_MAX + 1}, ERR_INVALID_PATH);
        attempt_all(world, scope, (struct str){deep, PATH_MAX + 1}, ERR_INVALID_PATH);
        attempt_all(world, scope, (struct str){deep, PATH_MAX}, ERR_INVALID_PATH);
    }
    /* One byte less is a name, of something that is not there. */
    freeze(world);
    assert_int_equal(attempt_read_bytes(world, world->scope, (struct str){deep, PATH_MAX - 1}),
                     ERR_NOT_FOUND);
    assert_frozen(world);
    assert_ok(world, authority_write_bytes(world->scope, (struct str){longest, NAME_MAX},
                                           STR("long"), NULL, &world->err));
    longest[NAME_MAX] = '\0';
    assert_content(world, WORLD_ROOT, longest, "long");
}

static void a_slash_at_the_end_changes_nothing(void **state)
{
    struct world *world = *state;
    cleanup_buf struct buf out = BUF_INIT(1000);

    attempts_prepare(world);
    assert_reads(world, world->scope, "file/", "{\"content\":1}");
    assert_ok(world, authority_list(world->scope, STR("dir//"), NULL, world_note_entry, &out,
                                    &world->err));
    assert_str(buf_view(&out), "below\n");
    assert_ok(world, authority_mkdir(world->scope, STR("made/"), NULL, &world->err));
    assert_true(is_there(world, WORLD_ROOT, "made"));
    assert_ok(world, authority_remove(world->scope, STR("made/"), NULL, &world->err));
    assert_false(is_there(world, WORLD_ROOT, "made"));
}

/* And one behind a link does not make the kernel follow it. */
static void a_slash_behind_a_link_does_not_follow_it(void **state)
{
    struct world *world = *state;

    attempts_prepare(world);
    plant_outside(world);
    plant_link(world, "link", "dir");
    plant_link(world, "out", "../outside/place");
    freeze(world);
    assert_int_equal(attempt_list(world, world->scope, STR("link/")), ERR_SYMLINK_REJECTED);
    assert_int_equal(attempt_list(world, world->scope, STR("out/")), ERR_SYMLINK_REJECTED);
    assert_int_equal(attempt_list(world, world->following, STR("out/.")), ERR_PATH_OUTSIDE_ROOT);
    assert_frozen(world);
    assert_ok(world, attempt_remove_tree(world, world->following, STR("out/")));
    assert_ok(world, attempt_remove_tree(world, world->scope, STR("link/")));
    assert_true(is_there(world, WORLD_OUTSIDE, "place/secret"));
    assert_true(is_there(world, WORLD_ROOT, "dir/below"));
}

static void names_are_taken_literally(void **state)
{
    struct world *world = *state;
    static const char *const names[] = {
        "%2e%2e%2fsecret",
        "..\\outside\\secret",
        "~",
        "$HOME",
        "a\nb",
        "\xff\xfe",
        "..%00",
        "...",
        ". ",
        " ",
        "-rf",
        "*",
        "\xef\xbc\x8e\xef\xbc\x8e",
        "a\x1b[2Jb",
        "CON",
        "a:b",
        "{x,y}",
    };

    plant_outside(world);
    for (size_t i = 0; i < array_size(names); i++) {
        cleanup_buf struct buf out = BUF_INIT(1000);

        assert_ok(world, authority_write_bytes(world->scope, str_from(names[i]), STR("x"), NULL,
                                               &world->err));
        assert_content(world, WORLD_ROOT, names[i], "x");
        assert_reads(world, world->following, names[i], "x");
        assert_ok(world, authority_list(world->scope, STR_EMPTY, NULL, world_note_entry, &out,
                                        &world->err));
        assert_int_equal(out.len, strlen(names[i]) + 1);
        assert_memory_equal(out.data, names[i], out.len - 1);
        assert_ok(world, authority_remove(world->scope, str_from(names[i]), NULL, &world->err));
        assert_false(is_there(world, WORLD_ROOT, names[i]));
    }
}

/* ---- symbolic links ---- */

static void assert_outside(struct world *world)
{
    static const enum world_tree trees[] = {WORLD_OUTSIDE, WORLD_TWIN};

    for (size_t i = 0; i < array_size(trees); i++) {
        struct authority_stat about;

        assert_content(world, trees[i], "secret", "SECRET");
        assert_content(world, trees[i], "place/secret", "SECRET");
        assert_false(is_there(world, trees[i], "new"));
        assert_false(is_there(world, trees[i], "place/new"));
        assert_true(look(world, trees[i], "secret", &about, NULL));
        assert_int_equal(about.links, 1);
    }
}

/* What a last link itself may suffer: to be looked at, moved, replaced or removed. */
static void a_last_link_is_never_gone_through(void **state)
{
    struct world *world = *state;
    static const char *const targets[] = {
        "../outside/secret",
        "../outside/place",
        "../outside/new",
        "../root-evil/secret",
        "file",
        "dir",
        "none",
        "/etc/passwd",
        "/proc/self/root",
        "again",
    };

    attempts_prepare(world);
    plant_outside(world);
    for (size_t t = 0; t < array_size(targets); t++) {
        for (size_t i = 0; i < array_size(attempts); i++) {
            int r;

            if (!attempt_runs_here(world, &attempts[i]) || attempts[i].takes_link_itself)
                continue;
            plant_link(world, "again", targets[t]);
            freeze(world);
            r = attempt_run(world, world->scope, &attempts[i], STR("again"));
            if (r != ERR_SYMLINK_REJECTED && r != ERR_ALREADY_EXISTS)
                fail_msg("%s of a link to %s gave %s", attempts[i].label, targets[t],
                         r < 0 ? err_name(r) : "success");
            assert_frozen(world);
            assert_ok(world, authority_remove(world->scope, STR("again"), NULL, &world->err));
        }
    }
    assert_outside(world);
}

static void a_link_on_the_way_is_refused(void **state)
{
    struct world *world = *state;

    attempts_prepare(world);
    plant_outside(world);
    plant_link(world, "out", "../outside");
    plant_link(world, "in", "dir");
    plant_link(world, "self", ".");
    plant_link(world, "loop", "loop");
    plant_link(world, "abs", world->paths[WORLD_OUTSIDE]);
    plant_link(world, "proc", "/proc/self/root");
    attempt_all(world, world->scope, STR("out/secret"), ERR_SYMLINK_REJECTED);
    attempt_all(world, world->scope, STR("out/new/er"), ERR_SYMLINK_REJECTED);
    attempt_all(world, world->scope, STR("in/below"), ERR_SYMLINK_REJECTED);
    attempt_all(world, world->scope, STR("self/self/file"), ERR_SYMLINK_REJECTED);
    attempt_all(world, world->scope, STR("loop/x"), ERR_SYMLINK_REJECTED);
    attempt_all(world, world->scope, STR("abs/secret"), ERR_SYMLINK_REJECTED);
    attempt_all(world, world->scope, STR("proc/etc/passwd"), ERR_SYMLINK_REJECTED);
    /* Taken out as it reads, before anything is looked at: where links are rejected, exactly so. */
    assert_reads(world, world->scope, "out/../file", "{\"content\":1}");
}

/* In a scope that follows links the same lead nowhere either. */
static void links_that_lead_out_are_refused_where_links_are_followed(void **state)
{
    struct world *world = *state;
    static const struct str names[] = {
        STR_LITERAL("out/secret"),   STR_LITERAL("out/place"),    STR_LITERAL("out/new"),
        STR_LITERAL("out/new/er"),   STR_LITERAL("abs/secret"),   STR_LITERAL("proc/etc/passwd"),
        STR_LITERAL("twin/secret"),  STR_LITERAL("up/root/file"), STR_LITERAL("dir/up2/secret"),
        STR_LITERAL("chain/secret"), STR_LITERAL("abs-in/below"),
    };

    attempts_prepare(world);
    plant_outside(world);
    plant_link(world, "out", "../outside");
    plant_link(world, "twin", "../root-evil");
    plant_link(world, "up", "..");
    plant_link(world, "dir/up2", "../../outside");
    plant_link(world, "chain", "dir/up2");
    plant_link(world, "abs", world->paths[WORLD_OUTSIDE]);
    plant_link(world, "abs-in", world->paths[WORLD_ROOT]);
    plant_link(world, "proc", "/proc/self/root");
    for (size_t i = 0; i < array_size(names); i++)
        attempt_all_or(world, world->following, names[i], ERR_PATH_OUTSIDE_ROOT,
                       ERR_SYMLINK_REJECTED);
    assert_outside(world);
}

static void last_links_that_lead_out_are_refused_where_links_are_followed(void **state)
{
    struct world *world = *state;
    static const char *const targets[] = {
        "../outside/secret", "../outside/place", "../outside/new",           "../root-evil/secret",
        "/etc/passwd",       "/proc/self/root",  "dir/../../outside/secret",
    };

    attempts_prepare(world);
    plant_outside(world);
    for (size_t t = 0; t < array_size(targets); t++)
        for (size_t i = 0; i < array_size(attempts); i++) {
            int r;

            if (!attempt_runs_here(world, &attempts[i]))
                continue;
            if (attempts[i].takes_link_itself && attempts[i].operation != AUTHORITY_OP_STAT)
                continue;
            plant_link(world, "again", targets[t]);
            freeze(world);
            r = attempt_run(world, world->following, &attempts[i], STR("again"));
            if (r != ERR_PATH_OUTSIDE_ROOT && r != ERR_SYMLINK_REJECTED && r != ERR_ALREADY_EXISTS)
                fail_msg("%s of a link to %s gave %s", attempts[i].label, targets[t],
                         r < 0 ? err_name(r) : "success");
            assert_frozen(world);
            assert_ok(world, authority_remove(world->scope, STR("again"), NULL, &world->err));
        }
}

static void loops_and_dangling_links_end_and_create_nothing(void **state)
{
    struct world *world = *state;
    static const struct str names[] = {STR_LITERAL("loop"), STR_LITERAL("ping"),
                                       STR_LITERAL("dangling"), STR_LITERAL("dangling-deep")};

    attempts_prepare(world);
    plant_link(world, "loop", "loop");
    plant_link(world, "ping", "pong");
    plant_link(world, "pong", "ping");
    plant_link(world, "dangling", "none");
    plant_link(world, "dangling-deep", "none/er");
    freeze(world);
    for (size_t n = 0; n < array_size(names); n++)
        for (size_t i = 0; i < array_size(attempts); i++) {
            int r;

            if (!attempt_runs_here(world, &attempts[i]) || attempts[i].takes_link_itself)
                continue;
            r = attempt_run(world, world->following, &attempts[i], names[n]);
            if (r != ERR_SYMLINK_REJECTED && r != ERR_NOT_FOUND && r != ERR_ALREADY_EXISTS)
                fail_msg("%s of %.*s gave %s", attempts[i].label, STR_ARG(names[n]),
                         r < 0 ? err_name(r) : "success");
            assert_frozen(world);
        }
}

static void links_inside_are_followed_on_request(void **state)
{
    struct world *world = *state;

    attempts_prepare(world);
    plant_link(world, "to-file", "dir/../file");
    plant_link(world, "to-dir", "./dir");
    plant_link(world, "dir/up", "..");
    assert_reads(world, world->following, "to-file", "{\"content\":1}");
    assert_reads(world, world->following, "to-dir/below", "below");
    assert_reads(world, world->following, "to-dir/up/to-dir/up/file", "{\"content\":1}");
    /* ".." behind a link is taken where the link leads. */
    assert_reads(world, world->following, "to-dir/../file", "{\"content\":1}");
    assert_ok(world, authority_write_bytes(world->following, STR("to-file"), STR("new"), NULL,
                                           &world->err));
    assert_content(world, WORLD_ROOT, "file", "new");
    assert_ok(world,
              authority_append(world->following, STR("to-dir/below"), STR("!"), NULL, &world->err));
    assert_content(world, WORLD_ROOT, "dir/below", "below!");
    assert_ok(world, authority_write_bytes(world->following, STR("to-dir/new"), STR("n"), NULL,
                                           &world->err));
    assert_content(world, WORLD_ROOT, "dir/new", "n");
    assert_ok(world, authority_move(world->following, STR("to-dir/new"), STR("to-dir/up/moved"),
                                    NULL, &world->err));
    assert_content(world, WORLD_ROOT, "moved", "n");
    /* The link goes, what it points at stays. */
    assert_ok(world, authority_remove(world->following, STR("to-file"), NULL, &world->err));
    assert_false(is_there(world, WORLD_ROOT, "to-file"));
    assert_content(world, WORLD_ROOT, "file", "new");
}

/* A walk, a copy, an archive, a removal: none goes through the links it meets. */
static void trees_are_not_left_through_links(void **state)
{
    struct world *world = *state;
    cleanup_buf struct buf out = BUF_INIT(10000);
    struct authority_archive_result result;

    attempts_prepare(world);
    plant_outside(world);
    plant_link(world, "dir/out", "../../outside/place");
    plant_link(world, "dir/in", "..");
    for (int links = 0; links < 2; links++) {
        struct authority_scope *scope = links ? world->following : world->scope;

        buf_clear(&out);
        assert_ok(world,
                  authority_walk(scope, STR_EMPTY, NULL, world_note_entry, &out, &world->err));
        assert_int_equal(str_find(buf_view(&out), STR("secret")), SIZE_MAX);
        assert_int_equal(str_find(buf_view(&out), STR("in/")), SIZE_MAX);
        assert_ok(world, authority_create_archive(scope, STR("dir"), STR("a.zip"), AUTHORITY_ZIP,
                                                  NULL, &result, &world->err));
        assert_int_equal(result.files, 1);
        assert_ok(world, authority_extract_archive(scope, STR("a.zip"), STR("unpacked"), NULL,
                                                   &result, &world->err));
        assert_content(world, WORLD_ROOT, "unpacked/below", "below");
        assert_false(is_there(world, WORLD_ROOT, "unpacked/out"));
        assert_ok(world, attempt_remove_tree(world, scope, STR("unpacked")));
        assert_ok(world, authority_remove(scope, STR("a.zip"), NULL, &world->err));
    }
    assert_ok(world, attempt_remove_tree(world, world->following, STR("dir")));
    assert_false(is_there(world, WORLD_ROOT, "dir"));
    assert_true(is_there(world, WORLD_ROOT, "file"));
    assert_outside(world);
}

/* ---- hard links ---- */

static void a_file_with_a_name_outside_is_not_used(void **state)
{
    struct world *world = *state;

    attempts_prepare(world);
    plant_outside(world);
    plant_hardlink(world, WORLD_OUTSIDE, "secret", "alias");
    freeze(world);
    for (int links = 0; links < 2; links++)
        for (size_t i = 0; i < array_size(attempts); i++) {
            const struct attempt *attempt = &attempts[i];
            int r;

            if (!attempt_runs_here(world, attempt) || attempt->operation == AUTHORITY_OP_STAT ||
                attempt->operation == AUTHORITY_OP_REMOVE)
                continue;
            r = attempt_run(world, links ? world->following : world->scope, attempt, STR("alias"));
            if (r != ERR_HARDLINK_REJECTED && r != ERR_NOT_A_DIRECTORY && r != ERR_ALREADY_EXISTS)
                fail_msg("%s of a hard link gave %s", attempt->label,
                         r < 0 ? err_name(r) : "success");
            assert_frozen(world);
        }
    /* Removing a name leaves the others what they are. */
    assert_ok(world, authority_remove(world->scope, STR("alias"), NULL, &world->err));
    assert_content(world, WORLD_OUTSIDE, "secret", "SECRET");
}

static void hard_links_are_read_only_where_that_was_asked(void **state)
{
    struct world *world = *state;
    struct authority_request request = world_request(world);
    struct authority_scope *scope;

    plant_outside(world);
    plant_hardlink(world, WORLD_OUTSIDE, "secret", "alias");
    request.access = AUTHORITY_READ | AUTHORITY_LIST;
    request.limits.hardlinks = AUTHORITY_HARDLINKS_ALLOW;
    scope = world_open(world, &request);
    assert_reads(world, scope, "alias", "SECRET");
    authority_scope_free(scope);
}

static struct authority_scope *open_for_reading_hardlinks(struct world *world,
                                                          const char *const *denied,
                                                          bool shows_sensitive)
{
    return world_open_limited(world,
                              &(struct authority_limits){.symlinks = AUTHORITY_SYMLINKS_REJECT,
                                                         .hardlinks = AUTHORITY_HARDLINKS_READ,
                                                         .shows_sensitive = shows_sensitive,
                                                         .denied_globs = denied});
}

static void hard_links_that_may_be_read_are_used_by_nothing_else(void **state)
{
    struct world *world = *state;
    struct authority_scope *scope;

    attempts_prepare(world);
    plant_outside(world);
    plant_hardlink(world, WORLD_OUTSIDE, "secret", "alias");
    freeze(world);
    scope = open_for_reading_hardlinks(world, NULL, false);
    assert_reads(world, scope, "alias", "SECRET");
    for (size_t i = 0; i < array_size(attempts); i++) {
        const struct attempt *attempt = &attempts[i];
        int r;

        if (!attempt_runs_here(world, attempt) || attempt->operation == AUTHORITY_OP_STAT ||
            attempt->operation == AUTHORITY_OP_REMOVE || strncmp(attempt->label, "read ", 5) == 0)
            continue;
        r = attempt_run(world, scope, attempt, STR("alias"));
        if (r != ERR_HARDLINK_REJECTED && r != ERR_NOT_A_DIRECTORY && r != ERR_ALREADY_EXISTS)
            fail_msg("%s of a hard link gave %s", attempt->label, r < 0 ? err_name(r) : "success");
        assert_frozen(world);
    }
    assert_content(world, WORLD_OUTSIDE, "secret", "SECRET");
    authority_scope_free(scope);
}

static void a_second_name_of_what_is_denied_is_not_read(void **state)
{
    static const char *const denied[] = {"keys", "shut/**", NULL};
    struct world *world = *state;
    struct authority_scope *scope;

    plant_dir(world, WORLD_ROOT, "shut");
    plant_dir(world, WORLD_ROOT, "deep");
    plant(world, WORLD_ROOT, "keys", "SECRET");
    plant(world, WORLD_ROOT, "shut/in", "SECRET");
    plant(world, WORLD_ROOT, "plain", "plain");
    plant_hardlink(world, WORLD_ROOT, "keys", "deep/alias");
    plant_hardlink(world, WORLD_ROOT, "shut/in", "other");
    plant_hardlink(world, WORLD_ROOT, "plain", "deep/plain");
    scope = open_for_reading_hardlinks(world, denied, false);
    assert_refused(
        world, authority_read_bytes(scope, STR("deep/alias"), NULL, &world->frozen, &world->err),
        ERR_HARDLINK_REJECTED);
    assert_non_null(strstr(world->err.message, "denied"));
    assert_refused(world,
                   authority_read_bytes(scope, STR("other"), NULL, &world->frozen, &world->err),
                   ERR_HARDLINK_REJECTED);
    assert_reads(world, scope, "deep/plain", "plain");
    authority_scope_free(scope);
    /* What nothing denies, it does not deny. */
    scope = open_for_reading_hardlinks(world, NULL, false);
    assert_reads(world, scope, "deep/alias", "SECRET");
    authority_scope_free(scope);
}

static void a_second_name_of_a_secret_is_read_only_where_secrets_are(void **state)
{
    struct world *world = *state;
    struct authority_scope *scope;

    plant_dir(world, WORLD_ROOT, "deep");
    plant(world, WORLD_ROOT, "deep/.env", "SECRET");
    plant_hardlink(world, WORLD_ROOT, "deep/.env", "alias");
    scope = open_for_reading_hardlinks(world, NULL, false);
    assert_refused(world,
                   authority_read_bytes(scope, STR("alias"), NULL, &world->frozen, &world->err),
                   ERR_HARDLINK_REJECTED);
    authority_scope_free(scope);
    scope = open_for_reading_hardlinks(world, NULL, true);
    assert_reads(world, scope, "alias", "SECRET");
    authority_scope_free(scope);
}

/* By the whole path, as for its first name. */
static void a_second_name_is_a_secret_by_where_the_root_is_too(void **state)
{
    struct world *world = *state;
    struct authority_request request = world_request(world);
    char inside[WORLD_PATH_BYTES + 16];
    struct authority_scope *scope;

    plant_dir(world, WORLD_ROOT, ".config");
    plant_dir(world, WORLD_ROOT, ".config/gh");
    plant(world, WORLD_ROOT, ".config/gh/hosts.yml", "SECRET");
    plant(world, WORLD_ROOT, ".config/plain", "plain");
    plant_hardlink(world, WORLD_ROOT, ".config/gh/hosts.yml", ".config/alias");
    plant_hardlink(world, WORLD_ROOT, ".config/plain", ".config/other");
    snprintf(inside, sizeof(inside), "%s/.config", world->paths[WORLD_ROOT]);
    request.root.path = inside;
    request.limits.symlinks = AUTHORITY_SYMLINKS_REJECT;
    request.limits.hardlinks = AUTHORITY_HARDLINKS_READ;
    scope = world_open(world, &request);
    assert_refused(world,
                   authority_read_bytes(scope, STR("alias"), NULL, &world->frozen, &world->err),
                   ERR_HARDLINK_REJECTED);
    assert_reads(world, scope, "other", "plain");
    authority_scope_free(scope);
}

static void a_second_name_in_a_joined_root_counts(void **state)
{
    static const char *const denied[] = {"keys", NULL};
    struct world *world = *state;
    struct authority_request request = world_request(world);
    struct authority_scope *other;
    struct authority_scope *scope;

    plant(world, WORLD_OTHER, "keys", "SECRET");
    plant_hardlink(world, WORLD_OTHER, "keys", "alias");
    request.root.path = world->paths[WORLD_OTHER];
    request.limits.denied_globs = denied;
    other = world_open(world, &request);
    scope = open_for_reading_hardlinks(world, NULL, false);
    assert_reads(world, scope, "alias", "SECRET");
    assert_ok(world, authority_scope_join(scope, other, &world->err));
    assert_refused(world,
                   authority_read_bytes(scope, STR("alias"), NULL, &world->frozen, &world->err),
                   ERR_HARDLINK_REJECTED);
    authority_scope_free(scope);
    authority_scope_free(other);
}

/* A command could close the directory of the other name. */
static void where_not_all_names_can_be_looked_for_none_is_read(void **state)
{
    struct world *world = *state;
    struct authority_scope *scope;

    if (!world->is_memory && geteuid() == 0)
        skip();
    plant_dir(world, WORLD_ROOT, "shut");
    plant(world, WORLD_ROOT, "plain", "x");
    plant_hardlink(world, WORLD_ROOT, "plain", "alias");
    scope = open_for_reading_hardlinks(world, NULL, false);
    assert_reads(world, scope, "alias", "x");
    set_mode(world, WORLD_ROOT, "shut", 0);
    assert_refused(world,
                   authority_read_bytes(scope, STR("alias"), NULL, &world->frozen, &world->err),
                   ERR_HARDLINK_REJECTED);
    set_mode(world, WORLD_ROOT, "shut", 0700);
    authority_scope_free(scope);
}

/* ---- what is no file ---- */

static void what_is_no_file_neither_blocks_nor_is_used(void **state)
{
    struct world *world = *state;

    attempts_prepare(world);
    plant_fifo(world, "pipe");
    freeze(world);
    alarm(PATIENCE_S); /* a call that hangs ends the program */
    for (int links = 0; links < 2; links++)
        for (size_t i = 0; i < array_size(attempts); i++) {
            const struct attempt *attempt = &attempts[i];
            int r;

            if (!attempt_runs_here(world, attempt) || attempt->operation == AUTHORITY_OP_STAT ||
                attempt->takes_link_itself)
                continue;
            r = attempt_run(world, links ? world->following : world->scope, attempt, STR("pipe"));
            if (r != ERR_NOT_REGULAR_FILE && r != ERR_NOT_A_DIRECTORY && r != ERR_ALREADY_EXISTS)
                fail_msg("%s of a FIFO gave %s", attempt->label, r < 0 ? err_name(r) : "success");
            assert_frozen(world);
        }
    alarm(0);
}

static void nothing_is_moved_onto_what_is_no_file(void **state)
{
    const struct authority_move_options replace = {.may_replace = true};
    struct world *world = *state;

    plant_fifo(world, "pipe");
    plant(world, WORLD_ROOT, "file", "content");
    freeze(world);
    assert_int_equal(authority_move(world->scope, STR("file"), STR("pipe"), &replace, NULL),
                     ERR_NOT_REGULAR_FILE);
    assert_frozen(world);
    /* Itself it may go elsewhere. */
    assert_int_equal(authority_move(world->scope, STR("pipe"), STR("other"), &replace, NULL), 0);
}

TEST_MAIN(EVERYWHERE(nothing_is_moved_onto_what_is_no_file),
          EVERYWHERE(names_that_lead_out_are_refused),
          EVERYWHERE(absolute_names_are_taken_by_whole_components),
          EVERYWHERE(names_that_no_file_can_have_are_refused),
          EVERYWHERE(a_slash_at_the_end_changes_nothing),
          EVERYWHERE(a_slash_behind_a_link_does_not_follow_it),
          EVERYWHERE(names_are_taken_literally), EVERYWHERE(a_last_link_is_never_gone_through),
          EVERYWHERE(a_link_on_the_way_is_refused),
          EVERYWHERE(links_that_lead_out_are_refused_where_links_are_followed),
          EVERYWHERE(last_links_that_lead_out_are_refused_where_links_are_followed),
          EVERYWHERE(loops_and_dangling_links_end_and_create_nothing),
          EVERYWHERE(links_inside_are_followed_on_request),
          EVERYWHERE(trees_are_not_left_through_links),
          EVERYWHERE(a_file_with_a_name_outside_is_not_used),
          EVERYWHERE(hard_links_are_read_only_where_that_was_asked),
          EVERYWHERE(hard_links_that_may_be_read_are_used_by_nothing_else),
          EVERYWHERE(a_second_name_of_what_is_denied_is_not_read),
          EVERYWHERE(a_second_name_of_a_secret_is_read_only_where_secrets_are),
          ON_DISK(a_second_name_is_a_secret_by_where_the_root_is_too),
          ON_DISK(a_second_name_in_a_joined_root_counts),
          EVERYWHERE(where_not_all_names_can_be_looked_for_none_is_read),
          EVERYWHERE(what_is_no_file_neither_blocks_nor_is_used))
