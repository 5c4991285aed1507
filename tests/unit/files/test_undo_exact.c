/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Undo restores things as they were: links, hard links, modes, owners and attributes; by a rename
 * if the store is on the same file system, and otherwise as far as a copy can.
 */
#include "changebench.h"

#include <sys/xattr.h>

#include "authority/internal.h"

/* ---- a folder with some of each ---- */

static void plant_plain(struct bench *bench)
{
    static const struct {
        const char *name;
        const char *text; /* NULL: a directory */
        unsigned mode;
    } things[] = {
        {"shared", "shared", 0664}, {"private", "private", 0600}, {"fixed", "fixed", 0444},
        {"run", "#!", 0755},        {"wide", "wide", 0777},       {"stuck", "stuck", 01755},
        {"d", NULL, 0775},          {"d/shared", "in d", 0664},   {"d/fixed", "fixed", 0444},
        {"d/sticky", NULL, 01777},  {"d/set", NULL, 02775},       {"d/set/wide", "w", 0666},
        {"shut", NULL, 0500},       {"empty", NULL, 0770},        {"d/shut", NULL, 0500},
    };

    for (size_t i = 0; i < array_size(things); i++) {
        if (things[i].text == NULL)
            plant_dir(bench, things[i].name);
        else
            plant(bench, things[i].name, things[i].text);
        set_mode(bench, things[i].name, things[i].mode);
    }
}

static void plant_name(struct bench *bench, const char *existing, const char *name)
{
    assert_int_equal(linkat(bench->root_fd, existing, bench->root_fd, name, 0), 0);
}

static void plant_special(struct bench *bench)
{
    plant_link(bench, "to_file", "shared");
    plant_link(bench, "to_dir", "d");
    plant_link(bench, "broken", "nowhere/at/all");
    plant_link(bench, "away", "../outside");
    plant_dir(bench, "t");
    plant(bench, "t/f", "f");
    plant_link(bench, "t/link", "f");
    plant_link(bench, "t/up", "../shared");
    plant_link(bench, "t/broken", "nowhere");
    plant(bench, "first", "hard");
    plant_name(bench, "first", "second");
    plant_name(bench, "first", "t/third");
    plant(bench, "t/one", "both inside");
    plant_name(bench, "t/one", "t/two");
    assert_int_equal(mkfifoat(bench->root_fd, "t/fifo", 0640), 0);
    plant_dir(bench, "t/shut");
    plant(bench, "t/shut/in", "in");
    set_mode(bench, "t/shut", 0500);
}

static const char *quoted(struct bench *bench, const char *path)
{
    return arguments(bench, "path", path, (char *)NULL);
}

static const char *transfer(struct bench *bench, const char *from, const char *to)
{
    return arguments(bench, "sourcePath", from, "destinationPath", to, (char *)NULL);
}

/* Runs a call, sees that it changed the tree, and that undoing it gives the old one back. */
static void check_undone(struct bench *bench, const char *tool, const char *text)
{
    cleanup_buf struct buf before = BUF_INIT(TREE_TEXT_BYTES);
    cleanup_buf struct buf between = BUF_INIT(TREE_TEXT_BYTES);
    const struct json_value *result;

    describe_tree(bench, &before);
    result = bench_call(bench, tool, text);
    if (has_member(result, "undoable"))
        fail_msg("%s %s: %.*s", tool, text, STR_ARG(str_member(result, "note")));
    describe_tree(bench, &between);
    assert_false(str_eq(buf_view(&before), buf_view(&between)));
    result = bench_call(bench, "undo_changes", "{}");
    assert_str(outcome_of(result, 0), "restored");
    assert_int_equal(int_member(result, "remaining"), 0);
    assert_tree(bench, &before);
}

/* ---- anything, on one file system ---- */

static void links_and_files_with_several_names_come_back(void **state)
{
    static const char *const names[] = {"to_file", "to_dir", "broken", "away",  "t",
                                        "t/link",  "t/fifo", "second", "t/two", "t/third"};
    struct bench *bench = *state;

    plant_plain(bench);
    plant_special(bench);
    for (size_t i = 0; i < array_size(names); i++)
        check_undone(bench, "delete", quoted(bench, names[i]));
    check_undone(bench, "move", transfer(bench, "to_file", "n/moved"));
    check_undone(bench, "move", transfer(bench, "t", "n/t"));
    check_undone(bench, "move", transfer(bench, "t", "empty"));
    /* Over a link, and a link over a file. */
    check_undone(bench, "move", transfer(bench, "shared", "to_dir"));
    check_undone(bench, "move", transfer(bench, "shared", "broken"));
    check_undone(bench, "move", transfer(bench, "broken", "shared"));
    check_undone(bench, "move", transfer(bench, "to_file", "broken"));
}

/* Where somebody looks it is never missing: that is why it is not taken away before. */
static void a_link_that_is_moved_over_is_kept_by_a_second_name(void **state)
{
    struct bench *bench = *state;
    struct stat before;
    struct stat after;

    plant(bench, "f", "F");
    plant_link(bench, "link", "f");
    assert_int_equal(fstatat(bench->root_fd, "link", &before, AT_SYMLINK_NOFOLLOW), 0);
    bench_call(bench, "move", transfer(bench, "f", "link"));
    assert_file(bench, "link", "F");
    undo_all(bench);
    assert_int_equal(fstatat(bench->root_fd, "link", &after, AT_SYMLINK_NOFOLLOW), 0);
    assert_true(before.st_ino == after.st_ino);
    assert_int_equal(after.st_nlink, 1);
}

/* A name of a file that lies in a tree which was moved before. */
static void another_name_of_a_file_does_not_count_as_a_change_of_it(void **state)
{
    cleanup_buf struct buf before = BUF_INIT(TREE_TEXT_BYTES);
    struct bench *bench = *state;
    const struct json_value *result;

    plant_dir(bench, "d");
    plant(bench, "d/f", "F");
    plant_name(bench, "d/f", "other");
    plant_link(bench, "d/link", "f");
    describe_tree(bench, &before);
    bench_call(bench, "move", transfer(bench, "d", "e"));
    /* Fails, and the link has been kept by then. */
    assert_contains(bench_error(bench, "move", transfer(bench, "other", "e/link")),
                    "other hard links");
    bench_call(bench, "delete", quoted(bench, "other"));
    result = undo_all(bench);
    assert_str(outcome_of(result, 0), "restored");
    assert_str(outcome_of(result, 1), "restored");
    assert_tree(bench, &before);
}

static void our_own_deletes_in_a_tree_do_not_stop_it(void **state)
{
    cleanup_buf struct buf before = BUF_INIT(TREE_TEXT_BYTES);
    struct bench *bench = *state;

    plant_plain(bench);
    plant_special(bench);
    describe_tree(bench, &before);
    bench_call(bench, "move", transfer(bench, "t", "u"));
    bench_call(bench, "delete", quoted(bench, "u/two"));
    bench_call(bench, "delete", quoted(bench, "u/link"));
    bench_call(bench, "delete", quoted(bench, "first"));
    bench_call(bench, "move", transfer(bench, "shared", "u/broken"));
    bench_call(bench, "move", transfer(bench, "u", "empty"));
    bench_call(bench, "delete", quoted(bench, "empty"));
    assert_int_equal(int_member(undo_all(bench), "remaining"), 0);
    assert_tree(bench, &before);
}

static void what_was_forgotten_takes_no_room(void **state)
{
    struct bench *bench = *state;
    char *const paths[] = {bench->state, NULL};
    size_t left = 0;
    FTS *fts;

    plant_plain(bench);
    plant_special(bench);
    bench_call(bench, "delete", quoted(bench, "t"));
    bench_call(bench, "move", transfer(bench, "shared", "to_dir"));
    bench_close(bench);
    /* Also the directory that its owner may not write to. */
    fts = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    assert_non_null(fts);
    for (FTSENT *entry; (entry = fts_read(fts)) != NULL;)
        left += strcmp(entry->fts_name, "in") == 0 || S_ISLNK(entry->fts_statp->st_mode);
    fts_close(fts);
    assert_int_equal(left, 0);
    assert_file(bench, "second", "hard");
}

/* ---- modes, owners, attributes; on any file system ---- */

static void check_modes(struct bench *bench)
{
    static const char *const files[] = {"shared", "private", "fixed", "run", "wide", "stuck"};

    for (size_t i = 0; i < array_size(files); i++) {
        char path[64];

        check_undone(bench, "delete", quoted(bench, files[i]));
        /* What takes its place has another mode. */
        check_undone(bench, "move", transfer(bench, i == 0 ? "private" : "shared", files[i]));
        check_undone(bench, "move", transfer(bench, files[i], "n/new"));
        snprintf(path, sizeof(path), "d/%s", files[i]);
        check_undone(bench, "move", transfer(bench, files[i], path));
        if (strcmp(files[i], "fixed") == 0 && geteuid() != 0)
            continue; /* cannot be written */
        check_undone(bench, "write_file",
                     arguments(bench, "filePath", files[i], "content", "other", (char *)NULL));
        check_undone(bench, "append_file",
                     arguments(bench, "filePath", files[i], "content", "more", (char *)NULL));
        check_undone(bench, "copy_file", transfer(bench, i == 0 ? "private" : "shared", files[i]));
    }
    check_undone(bench, "delete", quoted(bench, "d"));
    check_undone(bench, "delete", quoted(bench, "shut"));
    check_undone(bench, "delete", quoted(bench, "empty"));
    check_undone(bench, "move", transfer(bench, "d", "shut"));
    check_undone(bench, "move", transfer(bench, "d", "empty"));
}

/* The umask has no say in what comes back. */
static void modes_come_back(void **state)
{
    struct bench *bench = *state;
    mode_t mask;

    plant_plain(bench);
    check_modes(bench);
    mask = umask(077);
    check_modes(bench);
    umask(mask);
}

static void modes_come_back_from_another_file_system(void **state)
{
    struct bench *bench = *state;
    mode_t mask;

    if (!keep_elsewhere(bench))
        skip_because("no second file system at /dev/shm");
    plant_plain(bench);
    check_modes(bench);
    mask = umask(077);
    check_modes(bench);
    umask(mask);
}

/* What a call takes away comes back as a program like any other: the agent chose the moment. */
static void check_set_id(struct bench *bench)
{
    static const unsigned modes[] = {04755, 02755, 06711};
    static const struct {
        const char *tool;
        const char *arguments;
    } calls[] = {
        {"delete", "{\"path\":\"f\"}"},
        {"delete", "{\"path\":\"tree\"}"},
        {"move", "{\"sourcePath\":\"other\",\"destinationPath\":\"f\"}"},
        {"copy_file", "{\"sourcePath\":\"other\",\"destinationPath\":\"f\"}"},
        {"write_file", "{\"filePath\":\"f\",\"content\":\"x\"}"},
        {"append_file", "{\"filePath\":\"f\",\"content\":\"x\"}"},
    };

    plant_dir(bench, "tree");
    for (size_t i = 0; i < array_size(calls) * array_size(modes); i++) {
        unsigned mode = modes[i / array_size(calls)];
        bool is_tree = strstr(calls[i % array_size(calls)].arguments, "tree") != NULL;
        const char *name = is_tree ? "tree/f" : "f";
        struct stat about;

        plant(bench, "other", "other");
        plant(bench, name, "program");
        set_mode(bench, name, mode);
        bench_call(bench, calls[i % array_size(calls)].tool,
                   calls[i % array_size(calls)].arguments);
        undo_all(bench);
        assert_file(bench, name, "program");
        assert_int_equal(fstatat(bench->root_fd, name, &about, 0), 0);
        assert_int_equal(about.st_mode & 07777, mode & 0777);
    }
}

static void set_id_bits_do_not_come_back(void **state)
{
    check_set_id(*state);
}

static void set_id_bits_do_not_come_back_from_another_file_system(void **state)
{
    if (!keep_elsewhere(*state))
        skip_because("no second file system at /dev/shm");
    check_set_id(*state);
}

static void check_owner_and_attributes(struct bench *bench)
{
    static const char *const deletes[] = {"f", "o"};
    char path[BENCH_PATH_BYTES + 8];
    bool has_attributes;

    plant(bench, "f", "F");
    plant_dir(bench, "o");
    plant(bench, "o/f", "in o");
    plant(bench, "g", "G");
    set_mode(bench, "f", 0664);
    snprintf(path, sizeof(path), "%s/f", bench->root);
    has_attributes = setxattr(path, "user.colour", "red", 3, 0) == 0;
    if (geteuid() == 0) {
        assert_int_equal(fchownat(bench->root_fd, "f", 12345, 54321, 0), 0);
        assert_int_equal(fchownat(bench->root_fd, "o/f", 12345, 54321, 0), 0);
        set_mode(bench, "f", 0775);
    }
    for (size_t i = 0; i < array_size(deletes); i++)
        check_undone(bench, "delete", quoted(bench, deletes[i]));
    check_undone(bench, "move", transfer(bench, "g", "f"));
    check_undone(bench, "copy_file", transfer(bench, "g", "f"));
    check_undone(bench, "write_file", "{\"filePath\":\"f\",\"content\":\"x\"}");
    if (has_attributes) {
        char value[8];

        assert_int_equal(getxattr(path, "user.colour", value, sizeof(value)), 3);
        assert_memory_equal(value, "red", 3);
    }
}

static void owner_and_attributes_come_back(void **state)
{
    check_owner_and_attributes(*state);
}

static void owner_and_attributes_come_back_from_another_file_system(void **state)
{
    if (!keep_elsewhere(*state))
        skip_because("no second file system at /dev/shm");
    check_owner_and_attributes(*state);
}

static void a_call_that_fails_in_its_middle_changes_no_mode(void **state)
{
    cleanup_buf struct buf before = BUF_INIT(TREE_TEXT_BYTES);
    struct bench *bench = *state;

    if (geteuid() == 0)
        skip_because("root may write everything");
    plant(bench, "group", "x");
    set_mode(bench, "group", 01775);
    plant(bench, "fixed", "x");
    set_mode(bench, "fixed", 0444);
    describe_tree(bench, &before);
    assert_contains(
        bench_error(bench, "edit_files",
                    "{\"edits\":[{\"filePath\":\"group\",\"oldString\":\"x\",\"newString\":\"y\"},"
                    "{\"filePath\":\"fixed\",\"oldString\":\"x\",\"newString\":\"y\"}]}"),
        "fixed: permission denied");
    assert_tree(bench, &before);
    assert_int_equal(int_member(undo_all(bench), "remaining"), 0);
}

/* ---- a disk that fails at the last moment ---- */

static const struct backend_ops *real_ops;
static struct backend_ops ops;
static unsigned failures;

/* Done, and then it could not be synced. */
static int rename_and_fail(struct backend_root *from_root, const struct backend_lookup *from_lookup,
                           struct str from, struct backend_root *to_root,
                           const struct backend_lookup *to_lookup, struct str to, bool may_replace)
{
    int r = real_ops->rename(from_root, from_lookup, from, to_root, to_lookup, to, may_replace);

    if (r < 0 || failures == 0)
        return r;
    failures--;
    return ERR_IO;
}

static int remove_nothing(struct backend_root *root, const struct backend_lookup *lookup,
                          struct str name, enum backend_removal removal, uint64_t max_entries)
{
    if (failures == 0)
        return real_ops->remove(root, lookup, name, removal, max_entries);
    failures--;
    return ERR_IO;
}

static void let_fail(struct bench *bench)
{
    real_ops = bench->authority->backend->ops;
    ops = *real_ops;
    bench->authority->backend->ops = &ops;
    failures = 0;
}

static void what_was_taken_and_not_synced_is_put_back(void **state)
{
    static const char *const names[] = {"shared", "d", "to_dir", "second"};
    cleanup_buf struct buf before = BUF_INIT(TREE_TEXT_BYTES);
    struct bench *bench = *state;

    plant_plain(bench);
    plant_special(bench);
    describe_tree(bench, &before);
    let_fail(bench);
    ops.rename = rename_and_fail;
    for (size_t i = 0; i < array_size(names); i++) {
        failures = 1;
        (void)bench_error(bench, "delete", quoted(bench, names[i]));
        assert_int_equal(failures, 0);
        assert_tree(bench, &before);
    }
    assert_int_equal(json_get(undo_all(bench), STR("undone"))->size, 0);
    bench->authority->backend->ops = real_ops;
}

static void what_was_given_back_and_not_synced_is_there(void **state)
{
    static const char *const names[] = {"shared", "d", "to_dir", "second"};
    cleanup_buf struct buf before = BUF_INIT(TREE_TEXT_BYTES);
    struct bench *bench = *state;

    plant_plain(bench);
    plant_special(bench);
    describe_tree(bench, &before);
    let_fail(bench);
    ops.rename = rename_and_fail;
    for (size_t i = 0; i < array_size(names); i++) {
        bench_call(bench, "delete", quoted(bench, names[i]));
        failures = 1;
        assert_str(outcome_of(undo_all(bench), 0), "restored");
        assert_int_equal(failures, 0);
        assert_tree(bench, &before);
    }
    /* Its mode is not one that stays when it is written, so it is kept as a file. */
    bench_call(bench, "write_file", "{\"filePath\":\"group\",\"content\":\"x\"}");
    failures = 1;
    assert_str(outcome_of(undo_all(bench), 0), "restored");
    assert_int_equal(failures, 0);
    assert_tree(bench, &before);
    bench->authority->backend->ops = real_ops;
}

/* Copied back, and what was kept could not be removed. */
static void what_was_given_back_from_another_file_system_is_there(void **state)
{
    cleanup_buf struct buf before = BUF_INIT(TREE_TEXT_BYTES);
    struct bench *bench = *state;

    if (!keep_elsewhere(bench))
        skip_because("no second file system at /dev/shm");
    plant_plain(bench);
    describe_tree(bench, &before);
    bench_call(bench, "delete", "{\"path\":\"d\"}");
    let_fail(bench);
    ops.remove = remove_nothing;
    failures = 1;
    assert_str(outcome_of(undo_all(bench), 0), "restored");
    assert_int_equal(failures, 0);
    assert_tree(bench, &before);
    bench->authority->backend->ops = real_ops;
}

/* ---- what no copy can hold ---- */

static void assert_lost(struct bench *bench, const char *tool, const char *text, const char *note)
{
    const struct json_value *result = bench_call(bench, tool, text);

    assert_false(bool_member(result, "undoable"));
    if (str_find(str_member(result, "note"), str_from(note)) == SIZE_MAX)
        fail_msg("%s: %.*s", text, STR_ARG(str_member(result, "note")));
    assert_contains(outcome_of(undo_all(bench), 0), "cannot be undone");
}

static void what_no_copy_can_hold_is_lost_with_a_note_on_another_file_system(void **state)
{
    struct bench *bench = *state;

    if (!keep_elsewhere(bench))
        skip_because("no second file system at /dev/shm");
    plant(bench, "f", "F");
    plant_link(bench, "link", "f");
    plant_link(bench, "over", "f");
    plant_dir(bench, "d");
    plant_link(bench, "d/link", "nowhere");
    plant(bench, "first", "hard");
    plant_name(bench, "first", "second");
    plant_dir(bench, "e");
    plant_name(bench, "first", "e/third");
    assert_int_equal(mkfifoat(bench->root_fd, "fifo", 0640), 0);
    assert_lost(bench, "delete", quoted(bench, "link"),
                "cannot be undone: it is or contains a link");
    assert_lost(bench, "delete", quoted(bench, "d"), "cannot be undone: it is or contains a link");
    assert_lost(bench, "delete", quoted(bench, "second"), "the file has other hard links");
    assert_lost(bench, "delete", quoted(bench, "e"), "the file has other hard links");
    assert_lost(bench, "delete", quoted(bench, "fifo"),
                "cannot be undone: it is or contains a link");
    assert_lost(bench, "move", transfer(bench, "f", "over"),
                "cannot be undone: it is or contains a link");
    assert_false(is_there(bench, "d"));
    assert_false(is_there(bench, "second"));
    assert_file(bench, "first", "hard");
    assert_file(bench, "over", "F");
}

/* As an ordinary user: what could not be emptied there is all here again. */
static void a_tree_that_cannot_be_emptied_stays_whole_on_another_file_system(void **state)
{
    cleanup_buf struct buf before = BUF_INIT(TREE_TEXT_BYTES);
    struct bench *bench = *state;

    if (geteuid() == 0)
        skip_because("root may empty everything");
    if (!keep_elsewhere(bench))
        skip_because("no second file system at /dev/shm");
    plant_plain(bench);
    set_mode(bench, "d/shut", 0700);
    plant(bench, "d/shut/in", "in");
    set_mode(bench, "d/shut", 0500);
    describe_tree(bench, &before);
    assert_contains(bench_error(bench, "delete", quoted(bench, "d")), "d: permission denied");
    assert_tree(bench, &before);
    assert_int_equal(json_get(undo_all(bench), STR("undone"))->size, 0);
}

TEST_MAIN(CHANGE_TEST(links_and_files_with_several_names_come_back),
          CHANGE_TEST(a_link_that_is_moved_over_is_kept_by_a_second_name),
          CHANGE_TEST(another_name_of_a_file_does_not_count_as_a_change_of_it),
          CHANGE_TEST(our_own_deletes_in_a_tree_do_not_stop_it),
          CHANGE_TEST(what_was_forgotten_takes_no_room), CHANGE_TEST(modes_come_back),
          CHANGE_TEST(modes_come_back_from_another_file_system),
          CHANGE_TEST(set_id_bits_do_not_come_back),
          CHANGE_TEST(set_id_bits_do_not_come_back_from_another_file_system),
          CHANGE_TEST(owner_and_attributes_come_back),
          CHANGE_TEST(owner_and_attributes_come_back_from_another_file_system),
          CHANGE_TEST(a_call_that_fails_in_its_middle_changes_no_mode),
          CHANGE_TEST(what_was_taken_and_not_synced_is_put_back),
          CHANGE_TEST(what_was_given_back_and_not_synced_is_there),
          CHANGE_TEST(what_was_given_back_from_another_file_system_is_there),
          CHANGE_TEST(what_no_copy_can_hold_is_lost_with_a_note_on_another_file_system),
          CHANGE_TEST(a_tree_that_cannot_be_emptied_stays_whole_on_another_file_system))
