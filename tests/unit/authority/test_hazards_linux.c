/* SPDX-License-Identifier: Apache-2.0 */
/* Hazards that only a real disk and a real kernel have. */
#include "attempts.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/sysmacros.h>
#include <sys/un.h>

#include "own_mounts.h"

enum { ORDINARY_USER = 65534, SMALL_DISK_BYTES = 256 << 10 };

static bool is_root(void)
{
    return geteuid() == 0;
}

/* ---- mounts ---- */

static void mount_small_disk(const char *path)
{
    char options[32];

    snprintf(options, sizeof(options), "size=%d,mode=0755", SMALL_DISK_BYTES);
    assert_int_equal(mount("small", path, "tmpfs", 0, options), 0);
}

static void use_bind_mount(struct world *world)
{
    static const struct str names[] = {STR_LITERAL("mnt/secret"), STR_LITERAL("mnt/place"),
                                       STR_LITERAL("mnt/new"), STR_LITERAL("mnt/place/new")};
    cleanup_buf struct buf out = BUF_INIT(10000);
    const struct authority_remove_options recursive = {.is_recursive = true};
    char path[WORLD_PATH_BYTES + 16];

    assert_true(enter_own_mounts());
    snprintf(path, sizeof(path), "%s/mnt", world->paths[WORLD_ROOT]);
    assert_int_equal(mount(world->paths[WORLD_OUTSIDE], path, NULL, MS_BIND, NULL), 0);
    world_reopen(world, NULL);
    for (size_t i = 0; i < array_size(names); i++) {
        attempt_all(world, world->scope, names[i], ERR_CROSSES_MOUNT);
        attempt_all(world, world->following, names[i], ERR_CROSSES_MOUNT);
    }
    assert_int_equal(attempt_list(world, world->scope, STR("mnt")), ERR_CROSSES_MOUNT);
    assert_int_equal(attempt_walk(world, world->following, STR("to-mnt")), ERR_CROSSES_MOUNT);
    assert_int_equal(attempt_archive_from(world, world->scope, STR("mnt")), ERR_CROSSES_MOUNT);
    assert_ok(world,
              authority_walk(world->scope, STR_EMPTY, NULL, world_note_entry, &out, &world->err));
    assert_int_equal(str_find(buf_view(&out), STR("secret")), SIZE_MAX);
    assert_refused(world, authority_remove(world->scope, STR("mnt"), &recursive, &world->err),
                   ERR_CROSSES_MOUNT);
    assert_refused(world, authority_move(world->scope, STR("mnt"), STR("x"), NULL, &world->err),
                   ERR_CROSSES_MOUNT);
    assert_content(world, WORLD_OUTSIDE, "secret", "SECRET");
    /* What is beside it goes on. */
    assert_ok(world, attempt_write(world, world->scope, STR("x")));
}

static void another_mount_is_not_entered(void **state)
{
    struct world *world = *state;

    require_mounts();
    attempts_prepare(world);
    plant_dir(world, WORLD_ROOT, "mnt");
    plant_link(world, "to-mnt", "mnt");
    plant(world, WORLD_OUTSIDE, "secret", "SECRET");
    plant_dir(world, WORLD_OUTSIDE, "place");
    world_in_child(world, use_bind_mount);
    assert_content(world, WORLD_OUTSIDE, "secret", "SECRET");
    assert_true(is_there(world, WORLD_OUTSIDE, "place"));
    assert_false(is_there(world, WORLD_OUTSIDE, "new"));
}

static void fill_small_disk(struct world *world)
{
    enum { LARGE = SMALL_DISK_BYTES * 2 };
    cleanup_free char *bytes = calloc(1, LARGE);
    const struct str large = {bytes, LARGE};
    const struct authority_move_options replace = {.may_replace = true};
    struct authority_request request;
    struct authority_scope *disk;

    assert_true(enter_own_mounts());
    mount_small_disk(world->paths[WORLD_OTHER]);
    world_reopen(world, world->state);
    request = world_request(world);
    request.root.path = world->paths[WORLD_OTHER];
    disk = world_open(world, &request);
    memset(bytes, 'L', LARGE);
    plant(world, WORLD_OTHER, "old", "old");
    plant_bytes(world, WORLD_ROOT, "large", large);
    freeze(world);
    assert_refused(world, authority_write_bytes(disk, STR("old"), large, NULL, &world->err),
                   ERR_NO_SPACE);
    assert_frozen(world);
    assert_refused(world, authority_write_bytes(disk, STR("new"), large, NULL, &world->err),
                   ERR_NO_SPACE);
    assert_frozen(world);
    assert_refused(
        world,
        authority_copy_in(disk, STR("old"), world->scope, STR("large"), &replace, &world->err),
        ERR_NO_SPACE);
    assert_frozen(world);
    assert_refused(
        world, authority_move_in(disk, STR("new"), world->scope, STR("large"), NULL, &world->err),
        ERR_NO_SPACE);
    assert_frozen(world);
    assert_refused(world, authority_append(disk, STR("fresh"), large, NULL, &world->err),
                   ERR_NO_SPACE);
    assert_frozen(world);
    assert_refused(world, authority_append(disk, STR("old"), large, NULL, &world->err),
                   ERR_NO_SPACE);
    assert_content(world, WORLD_OTHER, "old", "old");
    /* And there is room again for what fits. */
    assert_ok(world, authority_write_bytes(disk, STR("old"), (struct str){bytes, LARGE / 4}, NULL,
                                           &world->err));
    assert_bytes(world, WORLD_OTHER, "old", (struct str){bytes, LARGE / 4});
}

static void a_full_disk_keeps_what_was_there(void **state)
{
    struct world *world = *state;

    require_mounts();
    world_in_child(world, fill_small_disk);
}

static void move_across(struct world *world)
{
    struct authority_request request;
    struct authority_scope *disk;

    assert_true(enter_own_mounts());
    mount_small_disk(world->paths[WORLD_OTHER]);
    world_reopen(world, world->state);
    request = world_request(world);
    request.root.path = world->paths[WORLD_OTHER];
    disk = world_open(world, &request);
    plant(world, WORLD_ROOT, "run", "#!");
    set_mode(world, WORLD_ROOT, "run", 0755);
    plant_dir(world, WORLD_ROOT, "tree");
    plant_dir(world, WORLD_ROOT, "tree/below");
    plant(world, WORLD_ROOT, "tree/below/f", "f");
    plant_dir(world, WORLD_ROOT, "with-link");
    plant(world, WORLD_ROOT, "with-link/f", "f");
    plant_link(world, "with-link/l", "f");
    plant_link(world, "link", "run");
    assert_ok(world,
              authority_move_in(disk, STR("run"), world->scope, STR("run"), NULL, &world->err));
    assert_content(world, WORLD_OTHER, "run", "#!");
    assert_int_equal(mode_of(world, WORLD_OTHER, "run"), 0755);
    assert_false(is_there(world, WORLD_ROOT, "run"));
    assert_ok(world,
              authority_move_in(disk, STR("tree"), world->scope, STR("tree"), NULL, &world->err));
    assert_content(world, WORLD_OTHER, "tree/below/f", "f");
    assert_false(is_there(world, WORLD_ROOT, "tree"));
    freeze(world);
    /* What cannot come whole does not come at all. */
    assert_refused(
        world, authority_move_in(disk, STR("w"), world->scope, STR("with-link"), NULL, &world->err),
        ERR_SYMLINK_REJECTED);
    assert_frozen(world);
    assert_refused(
        world, authority_move_in(disk, STR("l"), world->following, STR("link"), NULL, &world->err),
        ERR_SYMLINK_REJECTED);
    assert_frozen(world);
    assert_refused(
        world,
        authority_move_in(disk, STR("run"), world->scope, STR("with-link/f"), NULL, &world->err),
        ERR_ALREADY_EXISTS);
    assert_frozen(world);
}

static void moving_across_file_systems_copies_whole_and_then_removes(void **state)
{
    struct world *world = *state;

    require_mounts();
    world_in_child(world, move_across);
}

/* ---- what is no file ---- */

static void sockets_and_devices_are_not_opened(void **state)
{
    struct world *world = *state;
    static const struct str names[] = {STR_LITERAL("socket"), STR_LITERAL("zero"),
                                       STR_LITERAL("tty")};
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    size_t count = 1;

    attempts_prepare(world);
    snprintf(address.sun_path, sizeof(address.sun_path), "%s/socket", world->paths[WORLD_ROOT]);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    if (is_root() && mknodat(world->fds[WORLD_ROOT], "zero", S_IFCHR | 0666, makedev(1, 5)) == 0 &&
        mknodat(world->fds[WORLD_ROOT], "tty", S_IFCHR | 0666, makedev(5, 0)) == 0)
        count = array_size(names);
    freeze(world);
    alarm(PATIENCE_S);
    for (size_t n = 0; n < count; n++)
        for (size_t i = 0; i < array_size(attempts); i++) {
            const struct attempt *attempt = &attempts[i];
            int r;

            if (attempt->takes_link_itself)
                continue;
            r = attempt_run(world, world->scope, attempt, names[n]);
            if (r != ERR_NOT_REGULAR_FILE && r != ERR_NOT_A_DIRECTORY && r != ERR_ALREADY_EXISTS)
                fail_msg("%s of %.*s gave %s", attempt->label, STR_ARG(names[n]),
                         r < 0 ? err_name(r) : "success");
            assert_frozen(world);
        }
    alarm(0);
    close(fd);
}

/* ---- permissions ---- */

static void be_ordinary(struct world *world)
{
    cleanup_buf struct buf out = BUF_INIT(10000);
    const struct authority_remove_options recursive = {.is_recursive = true};

    if (is_root()) {
        assert_int_equal(setgid(ORDINARY_USER), 0);
        assert_int_equal(setuid(ORDINARY_USER), 0);
    }
    world_reopen(world, NULL);
    assert_int_equal(attempt_read_bytes(world, world->scope, STR("theirs")), ERR_PERMISSION_DENIED);
    assert_int_equal(attempt_append(world, world->scope, STR("theirs")), ERR_PERMISSION_DENIED);
    assert_reads(world, world->scope, "readonly", "readonly");
    /* The directory would let it be replaced; the file itself says no. */
    assert_int_equal(attempt_write(world, world->scope, STR("readonly")), ERR_PERMISSION_DENIED);
    assert_int_equal(attempt_write_old(world, world->scope, STR("readonly")),
                     ERR_PERMISSION_DENIED);
    assert_int_equal(attempt_append(world, world->scope, STR("readonly")), ERR_PERMISSION_DENIED);
    assert_int_equal(attempt_copy_to(world, world->scope, STR("readonly")), ERR_PERMISSION_DENIED);
    assert_int_equal(attempt_list(world, world->scope, STR("locked")), ERR_PERMISSION_DENIED);
    assert_int_equal(attempt_read_bytes(world, world->scope, STR("locked/below")),
                     ERR_PERMISSION_DENIED);
    assert_int_equal(attempt_stat(world, world->following, STR("locked/below")),
                     ERR_PERMISSION_DENIED);
    assert_refused(world, authority_remove(world->scope, STR("locked"), &recursive, &world->err),
                   ERR_PERMISSION_DENIED);
    assert_int_equal(attempt_write(world, world->scope, STR("shut/new")), ERR_PERMISSION_DENIED);
    assert_int_equal(attempt_mkdir(world, world->scope, STR("shut/new")), ERR_PERMISSION_DENIED);
    assert_int_equal(attempt_remove(world, world->scope, STR("shut/below")), ERR_PERMISSION_DENIED);
    /* A walk shows what it cannot enter, and goes on. */
    assert_ok(world,
              authority_walk(world->scope, STR_EMPTY, NULL, world_note_entry, &out, &world->err));
    assert_true(str_find(buf_view(&out), STR("locked\n")) != SIZE_MAX);
    assert_int_equal(str_find(buf_view(&out), STR("locked/")), SIZE_MAX);
    assert_true(str_find(buf_view(&out), STR("shut/below\n")) != SIZE_MAX);
}

static void the_systems_permissions_hold(void **state)
{
    struct world *world = *state;
    static const char *const owned[] = {".", "file", "spare", "readonly", "locked", "shut"};

    plant(world, WORLD_ROOT, "file", "file");
    plant(world, WORLD_ROOT, "spare", "spare");
    plant(world, WORLD_ROOT, "theirs", "theirs");
    set_mode(world, WORLD_ROOT, "theirs", is_root() ? 0600 : 0);
    plant(world, WORLD_ROOT, "readonly", "readonly");
    set_mode(world, WORLD_ROOT, "readonly", 0444);
    plant_dir(world, WORLD_ROOT, "locked");
    plant(world, WORLD_ROOT, "locked/below", "b");
    plant_dir(world, WORLD_ROOT, "shut");
    plant(world, WORLD_ROOT, "shut/below", "b");
    if (is_root()) {
        assert_int_equal(chmod(world->base, 0755), 0);
        for (size_t i = 0; i < array_size(owned); i++)
            assert_int_equal(
                fchownat(world->fds[WORLD_ROOT], owned[i], ORDINARY_USER, ORDINARY_USER, 0), 0);
    }
    set_mode(world, WORLD_ROOT, "locked", 0);
    set_mode(world, WORLD_ROOT, "shut", 0555);
    if (is_root())
        freeze(world);
    world_in_child(world, be_ordinary);
    if (is_root())
        assert_frozen(world);
}

/* ---- files that do what files should not ---- */

static void a_sparse_giant_is_not_read(void **state)
{
    struct world *world = *state;
    const struct authority_limits limits = {.max_file_bytes = 1 << 20};
    struct authority_scope *limited = world_open_limited(world, &limits);
    const struct authority_read_options end = {.offset = ((uint64_t)1 << 40) - 3};
    cleanup_buf struct buf out = BUF_INIT(1 << 20);

    plant(world, WORLD_ROOT, "giant", "");
    {
        cleanup_fd int fd = openat(world->fds[WORLD_ROOT], "giant", O_WRONLY | O_CLOEXEC);

        if (ftruncate(fd, (off_t)1 << 40) < 0)
            skip_because("no room for a sparse file of 1 TiB");
    }
    alarm(PATIENCE_S);
    assert_refused(world, authority_read_bytes(world->scope, STR("giant"), NULL, &out, &world->err),
                   ERR_TOO_LARGE);
    assert_refused(world, authority_read_bytes(limited, STR("giant"), NULL, &out, &world->err),
                   ERR_TOO_LARGE);
    assert_refused(world, authority_copy(limited, STR("giant"), STR("copy"), NULL, &world->err),
                   ERR_TOO_LARGE);
    assert_int_equal(out.len, 0);
    assert_int_equal(out.capacity, 0);
    assert_ok(world, authority_read_bytes(world->scope, STR("giant"), &end, &out, &world->err));
    assert_int_equal(out.len, 3);
    alarm(0);
    assert_false(is_there(world, WORLD_ROOT, "copy"));
    authority_scope_free(limited);
}

struct grower {
    int fd;
    atomic_bool is_over;
};

static void *grow(void *data)
{
    struct grower *grower = data;
    char bytes[4096];

    memset(bytes, 'g', sizeof(bytes));
    while (!atomic_load(&grower->is_over))
        if (write(grower->fd, bytes, sizeof(bytes)) < 0 || lseek(grower->fd, 0, SEEK_CUR) > 1 << 24)
            (void)!ftruncate(grower->fd, lseek(grower->fd, 0, SEEK_SET));
    return NULL;
}

/* It ends, and with what the file was when it was opened, or less. */
static void a_growing_file_is_read_to_where_it_was(void **state)
{
    struct world *world = *state;
    const struct authority_limits limits = {.max_file_bytes = 1 << 20};
    struct authority_scope *limited = world_open_limited(world, &limits);
    struct grower grower;
    pthread_t thread;

    plant(world, WORLD_ROOT, "log", "");
    grower.fd = openat(world->fds[WORLD_ROOT], "log", O_WRONLY | O_CLOEXEC);
    atomic_init(&grower.is_over, false);
    assert_int_equal(pthread_create(&thread, NULL, grow, &grower), 0);
    alarm(PATIENCE_S);
    for (int i = 0; i < 200; i++) {
        cleanup_buf struct buf out = BUF_INIT(WORLD_BUF_BYTES);
        int r = authority_read_bytes(limited, STR("log"), NULL, &out, NULL);

        assert_true(r == 0 || r == ERR_TOO_LARGE);
        assert_true(out.len <= 1 << 20);
        r = authority_copy(limited, STR("log"), STR("copy"),
                           &(struct authority_move_options){.may_replace = true}, NULL);
        assert_true(r == 0 || r == ERR_TOO_LARGE);
        if (r == 0) {
            struct authority_stat about = {0};

            assert_true(look(world, WORLD_ROOT, "copy", &about, NULL));
            assert_true(about.size <= 1 << 20);
        }
    }
    alarm(0);
    atomic_store(&grower.is_over, true);
    pthread_join(thread, NULL);
    close(grower.fd);
    authority_scope_free(limited);
}

/* ---- limits of the process ---- */

static void write_over_file_size(struct world *world)
{
    enum { LIMIT = 100000, LARGE = 150000 };
    const struct rlimit limit = {LIMIT, LIMIT};
    cleanup_free char *bytes = malloc(LARGE);
    const struct authority_move_options replace = {.may_replace = true};

    memset(bytes, 'L', LARGE);
    plant_bytes(world, WORLD_ROOT, "large", (struct str){bytes, LARGE});
    plant_bytes(world, WORLD_ROOT, "half", (struct str){bytes, LARGE / 2});
    plant(world, WORLD_ROOT, "old", "old");
    signal(SIGXFSZ, SIG_IGN);
    freeze(world);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    assert_true(authority_append(world->scope, STR("half"), (struct str){bytes, LARGE / 2}, NULL,
                                 &world->err) < 0);
    assert_bytes(world, WORLD_ROOT, "half", (struct str){bytes, LARGE / 2});
    assert_true(authority_write_bytes(world->scope, STR("old"), (struct str){bytes, LARGE}, NULL,
                                      &world->err) < 0);
    assert_true(authority_write_bytes(world->scope, STR("new"), (struct str){bytes, LARGE}, NULL,
                                      &world->err) < 0);
    assert_true(authority_copy(world->scope, STR("large"), STR("old"), &replace, &world->err) < 0);
    assert_content(world, WORLD_ROOT, "old", "old");
    assert_false(is_there(world, WORLD_ROOT, "new"));
    assert_int_equal(attempt_list(world, world->scope, STR_EMPTY), 0);
}

static void what_is_cut_short_is_taken_back(void **state)
{
    struct world *world = *state;
    cleanup_buf struct buf out = BUF_INIT(1000);

    world_in_child(world, write_over_file_size);
    assert_ok(world, authority_walk(world->scope, STR_EMPTY,
                                    &(struct authority_walk_options){.is_sorted = true},
                                    world_note_entry, &out, &world->err));
    assert_str(buf_view(&out), "half\nlarge\nold\n");
}

static const struct attempt *attempt_of_child;

/* With no descriptor left, then one, then two, until it works: before, nothing has changed. */
static void run_out_of_descriptors(struct world *world)
{
    enum { MOST = 24 };
    const struct attempt *attempt = attempt_of_child;
    struct rlimit limit;
    int top = dup(0);
    int r = ERR_TOO_MANY_FILES;
    size_t open_before = world_count_fds();

    close(top);
    getrlimit(RLIMIT_NOFILE, &limit);
    freeze(world);
    for (int spare = 0; spare < MOST && r != 0; spare++) {
        limit.rlim_cur = (rlim_t)top + (rlim_t)spare;
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
        r = attempt_run(world, world->scope, attempt, str_from(attempt->good));
        limit.rlim_cur = limit.rlim_max;
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
        assert_int_equal(world_count_fds() + 1, open_before);
        if (r == 0)
            break;
        if (r != ERR_TOO_MANY_FILES)
            fail_msg("%s with %d descriptors gave %s", attempt->label, spare, err_name(r));
        assert_frozen(world);
    }
    if (r != 0)
        fail_msg("%s does not work with %d descriptors", attempt->label, (int)MOST);
}

static void without_descriptors_nothing_is_done_and_nothing_leaks(void **state)
{
    struct world *outer = *state;

    for (size_t i = 0; i < array_size(attempts); i++) {
        void *inner;

        if (attempts[i].run == attempt_copy_in_fd)
            continue; /* opens one itself */
        world_setup_like(outer, &inner);
        attempts_prepare(inner);
        attempt_of_child = &attempts[i];
        world_in_child(inner, run_out_of_descriptors);
        teardown(&inner);
    }
}

TEST_MAIN(ON_DISK(another_mount_is_not_entered), ON_DISK(a_full_disk_keeps_what_was_there),
          ON_DISK(moving_across_file_systems_copies_whole_and_then_removes),
          ON_DISK(sockets_and_devices_are_not_opened), ON_DISK(the_systems_permissions_hold),
          ON_DISK(a_sparse_giant_is_not_read), ON_DISK(a_growing_file_is_read_to_where_it_was),
          ON_DISK(what_is_cut_short_is_taken_back),
          ON_DISK(without_descriptors_nothing_is_done_and_nothing_leaks))
