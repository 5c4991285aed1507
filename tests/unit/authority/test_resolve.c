/* SPDX-License-Identifier: Apache-2.0 */
/* Where a name leads, before anything is done; and reading in pieces. */
#include "world.h"

static void assert_leads(struct world *world, struct authority_scope *scope,
                         enum authority_operation operation, const char *name, const char *to)
{
    char found[PATH_MAX] = "untouched";
    size_t len = 0;

    assert_ok(world,
              authority_resolve(scope, operation, str_from(name), found, &len, NULL, &world->err));
    assert_string_equal(found, to);
    assert_int_equal(len, strlen(to));
}

static void assert_not_led(struct world *world, struct authority_scope *scope,
                           enum authority_operation operation, const char *name, int code)
{
    char found[PATH_MAX] = "untouched";
    size_t len = 7;

    assert_refused(
        world, authority_resolve(scope, operation, str_from(name), found, &len, NULL, &world->err),
        code);
    assert_string_equal(found, "untouched");
    assert_int_equal(len, 7);
}

static void assert_leads_nowhere(struct world *world, struct authority_scope *scope,
                                 const char *name, int code)
{
    assert_not_led(world, scope, AUTHORITY_OP_READ, name, code);
}

static void plant_links(struct world *world)
{
    plant_dir(world, WORLD_ROOT, "dir");
    plant(world, WORLD_ROOT, "dir/file", "text");
    plant_link(world, "to_file", "dir/file");
    plant_link(world, "to_dir", "dir");
    plant_link(world, "to_link", "to_dir/../to_file");
    plant_link(world, "dangling", "dir/none");
    plant_link(world, "out", "../outside");
    plant_link(world, "loop", "loop");
}

static void links_are_taken_out_of_a_name(void **state)
{
    struct world *world = *state;
    struct authority_scope *scope = world->following;

    plant_links(world);
    assert_leads(world, scope, AUTHORITY_OP_READ, "", "");
    assert_leads(world, scope, AUTHORITY_OP_READ, "dir/file", "dir/file");
    assert_leads(world, scope, AUTHORITY_OP_READ, "./dir//file", "dir/file");
    assert_leads(world, scope, AUTHORITY_OP_READ, "to_file", "dir/file");
    assert_leads(world, scope, AUTHORITY_OP_READ, "to_link", "dir/file");
    assert_leads(world, scope, AUTHORITY_OP_READ, "to_dir/file", "dir/file");
    assert_leads(world, scope, AUTHORITY_OP_LIST, "to_dir/..", "");
    assert_leads(world, scope, AUTHORITY_OP_LIST, "to_dir", "dir");
}

static void an_absolute_name_below_the_root_becomes_relative(void **state)
{
    struct world *world = *state;
    char name[WORLD_PATH_BYTES + 16];

    plant_links(world);
    snprintf(name, sizeof(name), "%s/to_dir/file", world->paths[WORLD_ROOT]);
    assert_leads(world, world->following, AUTHORITY_OP_READ, name, "dir/file");
    snprintf(name, sizeof(name), "%s/x", world->paths[WORLD_TWIN]);
    assert_leads_nowhere(world, world->following, name, ERR_PATH_OUTSIDE_ROOT);
}

static void what_is_missing_stays_as_given(void **state)
{
    struct world *world = *state;
    struct authority_scope *scope = world->following;

    plant_links(world);
    assert_leads(world, scope, AUTHORITY_OP_WRITE, "new", "new");
    assert_leads(world, scope, AUTHORITY_OP_WRITE, "to_dir/new", "dir/new");
    assert_leads(world, scope, AUTHORITY_OP_WRITE, "to_dir/a/b/new", "dir/a/b/new");
    assert_leads(world, scope, AUTHORITY_OP_WRITE, "a/b/new", "a/b/new");
    assert_leads_nowhere(world, scope, "none/../dir", ERR_NOT_FOUND);
}

/* The name of a dangling link is told; using it where links are rejected is refused. */
static void a_dangling_link_cannot_be_written_through(void **state)
{
    struct world *world = *state;

    plant_links(world);
    assert_leads(world, world->following, AUTHORITY_OP_WRITE, "dangling", "dangling");
    assert_refused(
        world, authority_write_bytes(world->scope, STR("dangling"), STR("x"), NULL, &world->err),
        ERR_SYMLINK_REJECTED);
    assert_false(is_there(world, WORLD_ROOT, "dir/none"));
}

static void removing_and_moving_mean_a_last_link_itself(void **state)
{
    struct world *world = *state;
    struct authority_stat about;
    char found[PATH_MAX];
    size_t len;

    plant_links(world);
    plant_link(world, "dir/inner", "file");
    assert_leads(world, world->following, AUTHORITY_OP_REMOVE, "to_file", "to_file");
    assert_leads(world, world->following, AUTHORITY_OP_MOVE, "to_dir/inner", "dir/inner");
    assert_leads(world, world->following, AUTHORITY_OP_REMOVE, "out", "out");
    /* It is told of what would be gone, and not of where a link leads. */
    assert_ok(world, authority_resolve(world->following, AUTHORITY_OP_REMOVE, STR("dir/file"),
                                       found, &len, &about, &world->err));
    assert_true(about.inode != 0 && about.type == AUTHORITY_FILE && about.size == 4);
    assert_ok(world, authority_resolve(world->following, AUTHORITY_OP_MOVE, STR("dir/none"), found,
                                       &len, &about, &world->err));
    assert_int_equal(about.inode, 0);
    assert_ok(world, authority_resolve(world->following, AUTHORITY_OP_REMOVE, STR("to_file"), found,
                                       &len, &about, &world->err));
    assert_true(about.inode == 0 || about.type == AUTHORITY_SYMLINK);
}

static void the_root_is_neither_removed_nor_moved_under_any_name(void **state)
{
    static const enum authority_operation operations[] = {AUTHORITY_OP_REMOVE, AUTHORITY_OP_MOVE};
    static const char *const roots[] = {"", ".", "./", "dir/..", "dir/../.", "dir/sub/../.."};
    struct world *world = *state;

    plant_links(world);
    plant_dir(world, WORLD_ROOT, "dir/sub");
    plant_link(world, "dir/to_root", "..");
    plant_link(world, "to_sub", "dir/sub");
    for (size_t i = 0; i < array_size(operations); i++) {
        for (size_t j = 0; j < array_size(roots); j++) {
            assert_not_led(world, world->scope, operations[i], roots[j], ERR_ROOT_PROTECTED);
            assert_not_led(world, world->following, operations[i], roots[j], ERR_ROOT_PROTECTED);
        }
        assert_not_led(world, world->following, operations[i], "to_dir/..", ERR_ROOT_PROTECTED);
        /* A link to it is a link. */
        assert_leads(world, world->following, operations[i], "dir/to_root", "dir/to_root");
        assert_not_led(world, world->following, operations[i], "dir/to_root/..",
                       ERR_PATH_OUTSIDE_ROOT);
        /* And others that end so are what they lead to. */
        assert_leads(world, world->following, operations[i], "to_sub/..", "dir");
        assert_leads(world, world->following, operations[i], "dir/sub/..", "dir");
        assert_not_led(world, world->following, operations[i], "none/..", ERR_NOT_FOUND);
    }
    /* Whoever only looks at it may. */
    assert_leads(world, world->following, AUTHORITY_OP_LIST, "dir/..", "");
    assert_leads(world, world->following, AUTHORITY_OP_MKDIR, "dir/..", "");
}

static void what_leaves_the_root_is_refused(void **state)
{
    struct world *world = *state;

    plant_links(world);
    plant(world, WORLD_OUTSIDE, "secret", "s");
    assert_leads_nowhere(world, world->following, "out/secret", ERR_PATH_OUTSIDE_ROOT);
    assert_leads_nowhere(world, world->following, "out/none", ERR_PATH_OUTSIDE_ROOT);
    assert_leads_nowhere(world, world->following, "../outside/secret", ERR_PATH_OUTSIDE_ROOT);
    assert_leads_nowhere(world, world->following, "loop", ERR_SYMLINK_REJECTED);
}

static void denied_names_are_refused_as_given_and_as_resolved(void **state)
{
    static const char *const denied[] = {".env", "hidden/**", NULL};
    const struct authority_limits limits = {.symlinks = AUTHORITY_SYMLINKS_IN_ROOT,
                                            .denied_globs = denied};
    struct world *world = *state;
    struct authority_scope *scope = world_open_limited(world, &limits);

    plant(world, WORLD_ROOT, ".env", "KEY=1");
    plant_dir(world, WORLD_ROOT, "hidden");
    plant_link(world, "notes", ".env");
    plant_link(world, "way", "hidden");
    assert_leads_nowhere(world, scope, ".env", ERR_DENIED_BY_POLICY);
    assert_leads_nowhere(world, scope, "notes", ERR_DENIED_BY_POLICY);
    assert_leads_nowhere(world, scope, "way/new", ERR_DENIED_BY_POLICY);
    assert_leads_nowhere(world, scope, "hidden/new", ERR_DENIED_BY_POLICY);
    authority_scope_free(scope);
}

/* What is denied is not told of by passing it either. */
static void a_denied_name_cannot_be_probed_by_going_back(void **state)
{
    static const char *const denied[] = {"secret", "secret/**", NULL};
    const struct authority_limits limits = {.symlinks = AUTHORITY_SYMLINKS_IN_ROOT,
                                            .denied_globs = denied};
    struct world *world = *state;
    struct authority_scope *scope = world_open_limited(world, &limits);

    plant_dir(world, WORLD_ROOT, "secret");
    plant_dir(world, WORLD_ROOT, "secret/below");
    plant(world, WORLD_ROOT, "secret/key", "k");
    plant(world, WORLD_ROOT, "ok", "ok");
    plant_dir(world, WORLD_ROOT, "open");
    assert_leads_nowhere(world, scope, "secret/../ok", ERR_DENIED_BY_POLICY);
    assert_leads_nowhere(world, scope, "secret/below/../../ok", ERR_DENIED_BY_POLICY);
    assert_leads_nowhere(world, scope, "secret/none/../../ok", ERR_DENIED_BY_POLICY);
    assert_leads_nowhere(world, scope, "secret/key/../../ok", ERR_DENIED_BY_POLICY);
    assert_leads(world, scope, AUTHORITY_OP_READ, "open/../ok", "ok");
    authority_scope_free(scope);
}

/* ---- who is told ---- */

struct heard {
    int count;
    enum authority_operation operation;
    enum authority_outcome outcome;
};

static int hear(void *data, const struct authority_event *event)
{
    struct heard *heard = data;

    heard->count++;
    heard->operation = event->operation;
    heard->outcome = event->outcome;
    return 0;
}

static void refuse_all(void *data, const struct authority_context *context,
                       struct authority_decision *decision)
{
    (void)data;
    (void)context;
    decision->verdict = AUTHORITY_DENY;
}

static void only_a_refusal_is_recorded_and_no_policy_asked(void **state)
{
    struct world *world = *state;
    struct heard heard = {0};

    plant_links(world);
    authority_set_policy(world->authority, "no", refuse_all, NULL);
    assert_int_equal(authority_add_listener(world->authority, hear, &heard), 0);
    assert_leads(world, world->following, AUTHORITY_OP_WRITE, "to_dir/new", "dir/new");
    assert_int_equal(heard.count, 0);
    assert_leads_nowhere(world, world->following, "../x", ERR_PATH_OUTSIDE_ROOT);
    assert_int_equal(heard.count, 1);
    assert_int_equal(heard.operation, AUTHORITY_OP_READ);
    assert_int_equal(heard.outcome, AUTHORITY_DENIED);
    authority_remove_listener(world->authority, hear, &heard);
}

static void a_grant_of_metadata_suffices_and_a_revoked_one_does_not(void **state)
{
    struct world *world = *state;
    struct authority_request request = world_request(world);
    struct authority_scope *scope;

    request.access = AUTHORITY_METADATA;
    scope = world_open(world, &request);
    assert_leads(world, scope, AUTHORITY_OP_WRITE, "new", "new");
    assert_true(authority_revoke(world->authority, authority_scope_grant(scope)));
    assert_leads_nowhere(world, scope, "new", ERR_GRANT_REVOKED);
    authority_scope_free(scope);
    request.access = AUTHORITY_READ;
    scope = world_open(world, &request);
    assert_leads_nowhere(world, scope, "new", ERR_ACCESS_MISSING);
    authority_scope_free(scope);
}

/* ---- in pieces ---- */

struct pieces {
    struct buf all;
    size_t count;
    size_t largest;
    size_t stop_after;
};

static int keep(void *data, struct str piece)
{
    struct pieces *pieces = data;

    assert_int_equal(buf_append_str(&pieces->all, piece), 0);
    if (piece.len > pieces->largest)
        pieces->largest = piece.len;
    return ++pieces->count == pieces->stop_after ? ERR_BUSY : 0;
}

enum { LARGE_BYTES = 700 << 10, LARGEST_PIECE = 256 << 10 };

static void a_file_comes_in_pieces_and_whole(void **state)
{
    struct world *world = *state;
    struct pieces pieces = {.all = BUF_INIT(LARGE_BYTES)};
    cleanup_buf struct buf text = BUF_INIT(LARGE_BYTES);
    struct authority_stat about = {0};
    const struct authority_read_options window = {.offset = 5, .max_bytes = 3};

    assert_int_equal(buf_reserve(&text, LARGE_BYTES), 0);
    for (size_t i = 0; i < LARGE_BYTES; i++)
        text.data[i] = (char)('a' + i % 23);
    text.len = LARGE_BYTES;
    plant_bytes(world, WORLD_ROOT, "large", buf_view(&text));
    assert_ok(world, authority_read_pieces(world->scope, STR("large"), NULL, &about, keep, &pieces,
                                           &world->err));
    assert_int_equal(about.size, LARGE_BYTES);
    assert_int_equal(pieces.count, 3);
    assert_int_equal(pieces.largest, LARGEST_PIECE);
    assert_int_equal(pieces.all.len, LARGE_BYTES);
    assert_memory_equal(pieces.all.data, text.data, LARGE_BYTES);

    buf_clear(&pieces.all);
    assert_ok(world, authority_read_pieces(world->scope, STR("large"), &window, NULL, keep, &pieces,
                                           &world->err));
    assert_int_equal(pieces.all.len, 3);
    assert_memory_equal(pieces.all.data, text.data + 5, 3);
    buf_done(&pieces.all);
}

static void the_taker_can_stop(void **state)
{
    struct world *world = *state;
    struct pieces pieces = {.all = BUF_INIT(LARGE_BYTES), .stop_after = 1};

    plant(world, WORLD_ROOT, "file", "some text");
    assert_refused(
        world,
        authority_read_pieces(world->scope, STR("file"), NULL, NULL, keep, &pieces, &world->err),
        ERR_BUSY);
    assert_int_equal(pieces.count, 1);
    buf_done(&pieces.all);
}

TEST_MAIN(EVERYWHERE(links_are_taken_out_of_a_name),
          EVERYWHERE(an_absolute_name_below_the_root_becomes_relative),
          EVERYWHERE(what_is_missing_stays_as_given),
          EVERYWHERE(a_dangling_link_cannot_be_written_through),
          EVERYWHERE(removing_and_moving_mean_a_last_link_itself),
          EVERYWHERE(the_root_is_neither_removed_nor_moved_under_any_name),
          EVERYWHERE(what_leaves_the_root_is_refused),
          EVERYWHERE(denied_names_are_refused_as_given_and_as_resolved),
          EVERYWHERE(a_denied_name_cannot_be_probed_by_going_back),
          EVERYWHERE(only_a_refusal_is_recorded_and_no_policy_asked),
          EVERYWHERE(a_grant_of_metadata_suffices_and_a_revoked_one_does_not),
          EVERYWHERE(a_file_comes_in_pieces_and_whole), EVERYWHERE(the_taker_can_stop))
