/* SPDX-License-Identifier: Apache-2.0 */
#include "changebench.h"

#include <linux/fs.h>
#include <sys/ioctl.h>

#include "../authority/small_disk.h"
#include "files/undo/undo.h"

/* ---- one change of each kind ---- */

/* Runs a call, sees that it changed the tree, and that undoing it gives the old one back. */
static void check_undone(struct bench *bench, const char *tool, const char *text)
{
    cleanup_buf struct buf before = BUF_INIT(TREE_TEXT_BYTES);
    cleanup_buf struct buf between = BUF_INIT(TREE_TEXT_BYTES);
    const struct json_value *result;

    describe_tree(bench, &before);
    result = bench_call(bench, tool, text);
    assert_false(has_member(result, "undoable"));
    describe_tree(bench, &between);
    assert_false(str_eq(buf_view(&before), buf_view(&between)));
    result = bench_call(bench, "undo_changes", "{}");
    assert_str(outcome_of(result, 0), "restored");
    assert_int_equal(int_member(result, "remaining"), 0);
    assert_tree(bench, &before);
}

static void plant_some(struct bench *bench)
{
    static const struct {
        const char *name;
        const char *text; /* NULL: a directory */
        unsigned mode;
    } things[] = {
        {"a.txt", "text of a\n", 0644},
        {"run.sh", "#!/bin/sh\n", 0755},
        {"private", "p", 0600},
        {"d", NULL, 0755},
        {"d/f", "f in d", 0640},
        {"d/e", NULL, 0700},
        {"d/e/deep", "deep", 0600},
        {"d/e/x", "", 0755},
        {"empty", NULL, 0750},
        {"d/hollow", NULL, 0755},
        {"z", NULL, 0755},
        {"z/1", "one", 0644},
    };

    for (size_t i = 0; i < array_size(things); i++) {
        if (things[i].text == NULL)
            plant_dir(bench, things[i].name);
        else
            plant(bench, things[i].name, things[i].text);
        set_mode(bench, things[i].name, things[i].mode);
    }
}

static void pack(struct bench *bench, const char *from, const char *name)
{
    struct authority_archive_result result;

    assert_int_equal(authority_create_archive(bench->files, str_from(from), str_from(name),
                                              AUTHORITY_TAR_GZ, NULL, &result, &bench->err),
                     0);
}

static void every_kind_of_change_is_undone(void **state)
{
    struct bench *bench = *state;

    plant_some(bench);
    pack(bench, "d", "d.tgz");
    check_undone(bench, "write_file", "{\"filePath\":\"a.txt\",\"content\":\"other\"}");
    check_undone(bench, "write_file", "{\"filePath\":\"new.txt\",\"content\":\"other\"}");
    check_undone(bench, "write_file", "{\"filePath\":\"n/e/w.txt\",\"content\":\"other\"}");
    check_undone(bench, "append_file", "{\"filePath\":\"run.sh\",\"content\":\"other\"}");
    check_undone(bench, "append_file", "{\"filePath\":\"d/new\",\"content\":\"other\"}");
    check_undone(bench, "edit_file",
                 "{\"filePath\":\"d/f\",\"oldString\":\"in\",\"newString\":\"out\"}");
    check_undone(bench, "create_directory", "{\"dirPath\":\"empty/q/r\"}");
    check_undone(bench, "delete", "{\"path\":\"private\"}");
    check_undone(bench, "delete", "{\"path\":\"d\"}");
    check_undone(bench, "delete", "{\"path\":\"empty\"}");
    check_undone(bench, "copy_file", "{\"sourcePath\":\"run.sh\",\"destinationPath\":\"d/f\"}");
    check_undone(bench, "copy_file", "{\"sourcePath\":\"run.sh\",\"destinationPath\":\"q/f\"}");
    check_undone(bench, "move", "{\"sourcePath\":\"run.sh\",\"destinationPath\":\"q/f\"}");
    check_undone(bench, "move", "{\"sourcePath\":\"run.sh\",\"destinationPath\":\"private\"}");
    check_undone(bench, "move", "{\"sourcePath\":\"d\",\"destinationPath\":\"q/d\"}");
    check_undone(bench, "move", "{\"sourcePath\":\"d\",\"destinationPath\":\"empty\"}");
    check_undone(bench, "extract_archive",
                 "{\"archivePath\":\"d.tgz\",\"destinationPath\":\"q/here\"}");
    check_undone(bench, "extract_archive",
                 "{\"archivePath\":\"d.tgz\",\"destinationPath\":\"empty\"}");
}

static void changes_are_undone_newest_first(void **state)
{
    struct bench *bench = *state;
    const struct json_value *result;

    plant(bench, "f", "0");
    for (int i = 1; i <= 4; i++) {
        const char content[] = {(char)('0' + i), '\0'};

        call_write(bench, "f", content);
    }
    result = bench_call(bench, "undo_changes", "{}");
    assert_int_equal(int_member(result, "remaining"), 3);
    assert_file(bench, "f", "3");
    result = bench_call(bench, "undo_changes", "{\"count\":2}");
    assert_int_equal(json_get(result, STR("undone"))->size, 2);
    assert_file(bench, "f", "1");
    undo_all(bench);
    assert_file(bench, "f", "0");
    result = bench_call(bench, "undo_changes", "{}");
    assert_int_equal(json_get(result, STR("undone"))->size, 0);
    (void)bench_error(bench, "undo_changes", "{\"count\":0}");
}

/* Its user was not asked about that change. */
static void an_undo_prepared_before_any_change_undoes_none(void **state)
{
    struct bench *bench = *state;
    struct tool_call *call = bench_prepare(bench, "undo_changes", "{}");

    assert_non_null(call);
    call_write(bench, "f", "1");
    bench_object(bench, bench_run(bench, call));
    assert_file(bench, "f", "1");
    undo_all(bench);
    assert_false(is_there(bench, "f"));
}

static void calls_that_failed_leave_nothing_to_undo(void **state)
{
    struct bench *bench = *state;

    plant_some(bench);
    plant_link(bench, "broken", "nowhere");
    call_write(bench, "a.txt", "other");
    (void)bench_error(bench, "delete", "{\"path\":\"broken/below\"}");
    (void)bench_error(bench, "write_file", "{\"filePath\":\"d\",\"content\":\"other\"}");
    (void)bench_error(bench, "move", "{\"sourcePath\":\"d\",\"destinationPath\":\"z\"}");
    (void)bench_error(bench, "extract_archive",
                      "{\"archivePath\":\"a.txt\",\"destinationPath\":\"empty\"}");
    assert_int_equal(int_member(bench_call(bench, "undo_changes", "{}"), "remaining"), 0);
    assert_file(bench, "a.txt", "text of a\n");
    assert_int_equal(mode_of(bench, "empty"), 0750);
}

/* ---- somebody else ---- */

static void a_file_that_somebody_changed_is_skipped(void **state)
{
    struct bench *bench = *state;
    const struct json_value *result;

    plant(bench, "a", "old a");
    plant(bench, "b", "old b");
    call_write(bench, "a", "1");
    call_write(bench, "b", "2");
    call_write(bench, "a", "3");
    plant(bench, "a", "theirs");
    result = undo_all(bench);
    assert_str(outcome_of(result, 0), "somebody else has changed it since");
    assert_str(outcome_of(result, 1), "restored");
    assert_str(outcome_of(result, 2), "a later change of it could not be undone");
    assert_file(bench, "a", "theirs");
    assert_file(bench, "b", "old b");
    assert_int_equal(int_member(result, "remaining"), 0);
}

static void what_somebody_changed_between_two_of_ours_comes_back(void **state)
{
    struct bench *bench = *state;
    const struct json_value *result;

    plant(bench, "a", "first");
    call_write(bench, "a", "ours");
    plant(bench, "a", "theirs");
    call_delete(bench, "a");
    result = undo_all(bench);
    assert_str(outcome_of(result, 0), "restored");
    assert_str(outcome_of(result, 1), "somebody else has changed it since");
    assert_file(bench, "a", "theirs");
}

static void what_somebody_removed_stays_removed(void **state)
{
    struct bench *bench = *state;
    const struct json_value *result;

    plant(bench, "a", "first");
    call_delete(bench, "a");
    call_write(bench, "a", "ours");
    assert_int_equal(unlinkat(bench->root_fd, "a", 0), 0);
    result = undo_all(bench);
    assert_str(outcome_of(result, 0), "it is gone");
    assert_str(outcome_of(result, 1), "a later change of it could not be undone");
    assert_false(is_there(bench, "a"));
}

static void what_stands_in_the_way_stays(void **state)
{
    struct bench *bench = *state;
    const struct json_value *result;

    plant_some(bench);
    call_delete(bench, "a.txt");
    bench_call(bench, "move", "{\"sourcePath\":\"d\",\"destinationPath\":\"moved\"}");
    call_delete(bench, "z/1");
    plant(bench, "a.txt", "theirs");
    plant(bench, "d", "theirs too");
    assert_int_equal(unlinkat(bench->root_fd, "z", AT_REMOVEDIR), 0);
    result = undo_all(bench);
    assert_contains(outcome_of(result, 0), "its directory is gone");
    assert_contains(outcome_of(result, 1), "another file is in its place");
    assert_contains(outcome_of(result, 2), "another file is in its place");
    assert_file(bench, "a.txt", "theirs");
    assert_file(bench, "d", "theirs too");
    assert_file(bench, "moved/f", "f in d");
    assert_int_equal(int_member(result, "remaining"), 3);
}

static void what_was_kept_comes_back_when_the_way_is_free(void **state)
{
    cleanup_buf struct buf before = BUF_INIT(TREE_TEXT_BYTES);
    struct bench *bench = *state;
    const struct json_value *result;

    plant_some(bench);
    describe_tree(bench, &before);
    call_write(bench, "a.txt", "ours");
    call_delete(bench, "a.txt");
    bench_call(bench, "move", "{\"sourcePath\":\"d\",\"destinationPath\":\"moved\"}");
    plant(bench, "a.txt", "theirs");
    plant(bench, "d", "theirs too");
    result = undo_all(bench);
    assert_contains(outcome_of(result, 0), "another file is in its place");
    assert_contains(outcome_of(result, 1), "another file is in its place");
    assert_str(outcome_of(result, 2), "a later change of it could not be undone");
    assert_int_equal(int_member(result, "remaining"), 3);
    /* Again and again, without harm. */
    assert_int_equal(int_member(undo_all(bench), "remaining"), 3);
    assert_file(bench, "a.txt", "theirs");
    assert_int_equal(unlinkat(bench->root_fd, "a.txt", 0), 0);
    assert_int_equal(unlinkat(bench->root_fd, "d", 0), 0);
    result = undo_all(bench);
    for (size_t i = 0; i < 3; i++)
        assert_str(outcome_of(result, i), "restored");
    assert_int_equal(int_member(result, "remaining"), 0);
    assert_tree(bench, &before);
}

static void who_waits_keeps_nobody_else_waiting(void **state)
{
    struct bench *bench = *state;
    const struct json_value *result;

    plant(bench, "a", "old a");
    plant(bench, "b", "old b");
    call_write(bench, "b", "ours");
    call_delete(bench, "a");
    plant(bench, "a", "theirs");
    assert_contains(outcome_of(bench_call(bench, "undo_changes", "{}"), 0), "in its place");
    assert_file(bench, "b", "ours");
    result = bench_call(bench, "undo_changes", "{}");
    assert_contains(outcome_of(result, 0), "in its place");
    assert_str(outcome_of(result, 1), "restored");
    assert_file(bench, "b", "old b");
    /* Newer changes are undone before it, older ones were. */
    call_write(bench, "c", "ours");
    result = bench_call(bench, "undo_changes", "{}");
    assert_str(outcome_of(result, 0), "restored");
    assert_false(is_there(bench, "c"));
    assert_int_equal(unlinkat(bench->root_fd, "a", 0), 0);
    result = bench_call(bench, "undo_changes", "{}");
    assert_str(outcome_of(result, 0), "restored");
    assert_file(bench, "a", "old a");
    assert_int_equal(int_member(result, "remaining"), 0);
}

static void what_waits_makes_room_for_what_comes(void **state)
{
    struct bench *bench = *state;
    static char text[3000];

    memset(text, 'x', sizeof(text) - 1);
    bench_reopen(bench, (struct toolbox_config){.may_write = true, .max_undo_bytes = 5000}, NULL);
    plant(bench, "a", text);
    plant(bench, "b", text);
    call_delete(bench, "a");
    plant(bench, "a", "theirs");
    (void)undo_all(bench);
    assert_false(has_member(call_delete(bench, "b"), "undoable"));
    assert_int_equal(int_member(undo_all(bench), "remaining"), 0);
    assert_file(bench, "b", text);
    assert_file(bench, "a", "theirs");
}

/* Somebody who is as fast as can be: changes the file after the last look at it. */
struct meddler {
    struct bench *bench;
    bool is_awake;
};

static int meddle(void *data, const struct authority_event *event)
{
    struct meddler *meddler = data;

    if (meddler->is_awake && event->outcome == AUTHORITY_INTENT &&
        (event->operation == AUTHORITY_OP_REMOVE || event->operation == AUTHORITY_OP_MOVE)) {
        meddler->is_awake = false;
        plant(meddler->bench, "made", "theirs");
    }
    return 0;
}

static void a_file_that_changes_in_the_last_moment_is_not_removed(void **state)
{
    struct bench *bench = *state;
    struct meddler meddler = {.bench = bench};

    assert_int_equal(authority_add_listener(bench->authority, meddle, &meddler), 0);
    call_write(bench, "made", "ours");
    meddler.is_awake = true;
    assert_contains(outcome_of(bench_call(bench, "undo_changes", "{}"), 0), "somebody else");
    assert_false(meddler.is_awake);
    assert_file(bench, "made", "theirs");
    assert_str(outcome_of(undo_all(bench), 0), "somebody else has changed it since");
    assert_file(bench, "made", "theirs");
}

static void a_directory_that_somebody_uses_stays(void **state)
{
    struct bench *bench = *state;
    const struct json_value *result;

    bench_call(bench, "create_directory", "{\"dirPath\":\"made/deep\"}");
    call_write(bench, "on/the/way", "");
    plant(bench, "made/deep/theirs", "T");
    plant(bench, "on/theirs", "T");
    result = undo_all(bench);
    assert_str(outcome_of(result, 0), "restored");
    assert_str(outcome_of(result, 1), "it is no longer empty");
    assert_file(bench, "made/deep/theirs", "T");
    assert_file(bench, "on/theirs", "T");
    assert_false(is_there(bench, "on/the"));
}

static void a_tree_in_which_somebody_changed_something_stays(void **state)
{
    struct bench *bench = *state;
    const struct json_value *result;

    plant_some(bench);
    pack(bench, "d", "d.tgz");
    bench_call(bench, "extract_archive", "{\"archivePath\":\"d.tgz\",\"destinationPath\":\"x\"}");
    bench_call(bench, "extract_archive", "{\"archivePath\":\"d.tgz\",\"destinationPath\":\"y\"}");
    bench_call(bench, "move", "{\"sourcePath\":\"d\",\"destinationPath\":\"w\"}");
    plant(bench, "x/e/deep", "longer than it was");
    plant(bench, "w/theirs", "T");
    result = undo_all(bench);
    assert_str(outcome_of(result, 0), "somebody else has changed it since");
    assert_str(outcome_of(result, 1), "restored");
    assert_str(outcome_of(result, 2), "somebody else has changed it since");
    assert_file(bench, "x/e/deep", "longer than it was");
    assert_false(is_there(bench, "y"));
    assert_file(bench, "w/theirs", "T");
}

static void our_own_changes_in_a_tree_do_not_stop_it(void **state)
{
    cleanup_buf struct buf before = BUF_INIT(TREE_TEXT_BYTES);
    struct bench *bench = *state;

    plant_some(bench);
    pack(bench, "d", "d.tgz");
    describe_tree(bench, &before);
    bench_call(bench, "extract_archive", "{\"archivePath\":\"d.tgz\",\"destinationPath\":\"x\"}");
    call_write(bench, "x/e/deep", "changed");
    call_write(bench, "x/new/file", "");
    call_delete(bench, "x/e");
    bench_call(bench, "move", "{\"sourcePath\":\"x\",\"destinationPath\":\"y/x\"}");
    bench_call(bench, "move", "{\"sourcePath\":\"y/x/f\",\"destinationPath\":\"y/x/g\"}");
    call_delete(bench, "y");
    call_write(bench, "x", "a file now");
    assert_int_equal(int_member(undo_all(bench), "remaining"), 0);
    assert_tree(bench, &before);
}

/* ---- what is not kept ---- */

static void what_is_over_the_budget_is_done_and_noted(void **state)
{
    struct bench *bench = *state;
    const struct json_value *result;

    bench_reopen(bench, (struct toolbox_config){.may_write = true, .max_undo_bytes = 1000}, NULL);
    plant(bench, "small", "small");
    plant_dir(bench, "large");
    plant(bench, "large/1", "x");
    plant(bench, "large/2", "x");
    plant(bench, "large/3", "x");
    result = call_write(bench, "small", "new");
    assert_false(has_member(result, "undoable"));
    result = call_delete(bench, "large");
    assert_false(bool_member(result, "undoable"));
    assert_contains(str_member(result, "note"), "cannot be undone: it has 3 bytes");
    assert_false(is_there(bench, "large"));
    result = undo_all(bench);
    assert_contains(outcome_of(result, 0), "cannot be undone: it has 3 bytes");
    assert_str(outcome_of(result, 1), "restored");
    assert_file(bench, "small", "small");
    /* What was given back is free for the next one. */
    call_write(bench, "small", "new");
    assert_int_equal(int_member(bench_call(bench, "undo_changes", "{}"), "remaining"), 0);
}

static void old_changes_are_forgotten(void **state)
{
    struct bench *bench = *state;
    const struct toolbox_config config = {
        .authority = bench->authority, .files = bench->files, .max_undo_bytes = 1 << 20};
    struct undo_note note;
    struct undo_log *log;

    assert_int_equal(undo_log_new(&config, &log, &bench->err), 0);
    for (int i = 0; i < UNDO_MAX_CHANGES + 5; i++) {
        char name[32];

        snprintf(name, sizeof(name), "made-%d", i);
        undo_open(log, STR("create_directory"));
        assert_int_equal(undo_will_make_directory(log, str_from(name), &bench->err), 0);
        undo_did(log);
        undo_close(log, &note);
        assert_false(note.is_lost);
    }
    assert_int_equal(undo_remaining(log), UNDO_MAX_CHANGES);
    assert_int_equal(undo_forgotten(log), 5);
    undo_log_free(log);
}

static void without_a_place_the_tools_work_and_undo_says_why(void **state)
{
    struct bench *bench = *state;

    bench_close(bench);
    authority_free(bench->authority);
    assert_int_equal(authority_new(&(struct authority_config){.backend = AUTHORITY_LINUX},
                                   &bench->authority, &bench->err),
                     0);
    bench_reopen(bench, (struct toolbox_config){.may_write = true}, NULL);
    plant(bench, "a", "A");
    plant_dir(bench, "d");
    assert_false(has_member(call_write(bench, "a", "B"), "undoable"));
    bench_call(bench, "append_file", "{\"filePath\":\"a\",\"content\":\"C\"}");
    bench_call(bench, "edit_file", "{\"filePath\":\"a\",\"oldString\":\"B\",\"newString\":\"D\"}");
    bench_call(bench, "move", "{\"sourcePath\":\"a\",\"destinationPath\":\"b\"}");
    call_delete(bench, "d");
    assert_file(bench, "b", "DC");
    assert_false(is_there(bench, "d"));
    assert_contains(bench_error(bench, "undo_changes", "{}"), "cannot be undone");
}

static size_t count_below(const char *path)
{
    char *const paths[] = {(char *)(uintptr_t)path, NULL};
    FTS *fts = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    size_t count = 0;

    assert_non_null(fts);
    for (FTSENT *entry; (entry = fts_read(fts)) != NULL;)
        count += S_ISREG(entry->fts_statp->st_mode);
    fts_close(fts);
    return count;
}

static void what_was_kept_goes_with_the_session(void **state)
{
    struct bench *bench = *state;
    size_t before = count_below(bench->state);

    plant_some(bench);
    call_delete(bench, "d");
    call_write(bench, "a.txt", "B");
    assert_true(count_below(bench->state) > before);
    bench_close(bench);
    assert_int_equal(count_below(bench->state), before);
}

/* ---- what fails ---- */

struct denial {
    enum authority_operation operation;
    const char *name;
    size_t denied;
};

static void deny(void *data, const struct authority_context *context,
                 struct authority_decision *decision)
{
    struct denial *denial = data;

    if (context->operation != denial->operation || !str_eq_c(context->name, denial->name))
        return;
    denial->denied++;
    decision->verdict = AUTHORITY_DENY;
    snprintf(decision->text, sizeof(decision->text), "not now");
}

static void add_denial(struct bench *bench, struct denial *denial)
{
    assert_int_equal(authority_add_hook(
                         bench->authority,
                         &(struct authority_hook){.id = "denial", .before = deny, .data = denial}),
                     0);
}

static void what_could_not_be_restored_can_be_tried_again(void **state)
{
    cleanup_buf struct buf before = BUF_INIT(TREE_TEXT_BYTES);
    struct bench *bench = *state;
    struct denial denial = {AUTHORITY_OP_COPY_IN, "private", 0};
    const struct json_value *result;

    plant_some(bench);
    describe_tree(bench, &before);
    call_write(bench, "a.txt", "B");
    bench_call(bench, "move", "{\"sourcePath\":\"run.sh\",\"destinationPath\":\"private\"}");
    add_denial(bench, &denial);
    result = undo_all(bench);
    authority_remove_hook(bench->authority, "denial");
    assert_int_equal(denial.denied, 1);
    /* Moved back, but what it had replaced is not there yet; the older change waits. */
    assert_str(outcome_of(result, 0), "restored");
    assert_str(outcome_of(result, 1), "not now; you can try again");
    assert_int_equal(json_get(result, STR("undone"))->size, 2);
    assert_int_equal(int_member(result, "remaining"), 2);
    assert_file(bench, "a.txt", "B");
    undo_all(bench);
    assert_tree(bench, &before);
}

static bool set_immutable(struct bench *bench, const char *name, bool is_immutable)
{
    cleanup_fd int fd = openat(bench->root_fd, name, O_RDONLY | O_CLOEXEC);
    int flags = 0;

    if (fd < 0 || ioctl(fd, FS_IOC_GETFLAGS, &flags) < 0)
        return false;
    flags = is_immutable ? flags | FS_IMMUTABLE_FL : flags & ~FS_IMMUTABLE_FL;
    return ioctl(fd, FS_IOC_SETFLAGS, &flags) == 0;
}

/* Where it has to be copied and then removed. */
static void a_delete_that_fails_puts_all_of_it_back(void **state)
{
    cleanup_buf struct buf before = BUF_INIT(TREE_TEXT_BYTES);
    struct bench *bench = *state;
    const struct json_value *result;

    if (!keep_elsewhere(bench))
        skip_because("no second file system at /dev/shm");
    plant_some(bench);
    if (!set_immutable(bench, "d/e/deep", true))
        skip_because("no file can be made immutable here");
    call_write(bench, "d/f", "ours");
    describe_tree(bench, &before);
    result = bench_result(bench, "delete", "{\"path\":\"d\"}");
    (void)set_immutable(bench, "d/e/deep", false);
    assert_contains(bench_error_of(bench, result), "d: permission denied");
    assert_tree(bench, &before);
    /* And what was done in there before can be undone. */
    result = undo_all(bench);
    assert_int_equal(json_get(result, STR("undone"))->size, 1);
    assert_str(outcome_of(result, 0), "restored");
    assert_file(bench, "d/f", "f in d");
}

static void a_delete_that_fails_for_good_says_so(void **state)
{
    cleanup_buf struct buf before = BUF_INIT(TREE_TEXT_BYTES);
    struct bench *bench = *state;
    const struct json_value *result;

    /* A link, so that it is not kept; a directory, so that not all of it goes. */
    if (geteuid() == 0)
        skip_because("root may remove everything");
    if (!keep_elsewhere(bench))
        skip_because("no second file system at /dev/shm");
    plant_some(bench);
    plant_link(bench, "d/e/link", "nowhere");
    set_mode(bench, "d/e", 0500);
    describe_tree(bench, &before);
    result = bench_result(bench, "delete", "{\"path\":\"d/e\"}");
    assert_contains(bench_error_of(bench, result), "d/e: permission denied");
    assert_tree(bench, &before);
    assert_int_equal(json_get(undo_all(bench), STR("undone"))->size, 0);
    result = bench_result(bench, "delete", "{\"path\":\"d\"}");
    assert_contains(bench_error_of(bench, result), "part of it is already gone");
    assert_contains(outcome_of(undo_all(bench), 0), "cannot be undone");
    set_mode(bench, "d/e", 0700);
}

/* In a child: a root on a disk that fills up. */
static int on_a_full_disk(void *data)
{
    struct bench *bench = data;
    static char large[300 << 10];
    int r = mount_small_disk(bench->root);

    if (r != 0)
        return r;
    bench->root_fd = open(bench->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bench_close(bench);
    authority_free(bench->authority);
    bench->authority = NULL;
    CHECK(authority_new(
              &(struct authority_config){.backend = AUTHORITY_LINUX, .state_dir = bench->state},
              &bench->authority, &bench->err) == 0);
    bench_reopen(bench, (struct toolbox_config){.may_write = true}, NULL);
    memset(large, 'x', sizeof(large) - 1);
    plant(bench, "f", large);
    plant(bench, "gone", large);
    call_write(bench, "f", "small");
    call_delete(bench, "gone");
    CHECK(fill_disk(bench->root_fd) == 0);
    /* Nothing fits: calls fail and change nothing. */
    CHECK(bench_is_error(bench_result(
        bench, "write_file", arguments(bench, "filePath", "f", "content", large, (char *)NULL))));
    CHECK(bench_is_error(bench_result(
        bench, "append_file", arguments(bench, "filePath", "f", "content", large, (char *)NULL))));
    assert_file(bench, "f", "small");
    /* Undoing fails too, and forgets nothing. */
    CHECK(str_find(outcome_of(undo_all(bench), 0), STR("no space left")) == 0);
    CHECK(int_member(undo_all(bench), "remaining") == 2);
    CHECK(!is_there(bench, "gone"));
    CHECK(unlinkat(bench->root_fd, "filler", 0) == 0);
    CHECK(int_member(undo_all(bench), "remaining") == 0);
    assert_file(bench, "f", large);
    assert_file(bench, "gone", large);
    return 0;
}

static void a_full_disk_loses_nothing(void **state)
{
    struct child child = start_child(on_a_full_disk, *state);
    int line = end_child(&child);

    if (line == CHILD_SKIPS)
        skip_because("nothing can be mounted here");
    if (line != 0)
        fail_msg("the child stopped at line %d", line);
}

TEST_MAIN(CHANGE_TEST(every_kind_of_change_is_undone), CHANGE_TEST(changes_are_undone_newest_first),
          CHANGE_TEST(an_undo_prepared_before_any_change_undoes_none),
          CHANGE_TEST(calls_that_failed_leave_nothing_to_undo),
          CHANGE_TEST(a_file_that_somebody_changed_is_skipped),
          CHANGE_TEST(what_somebody_changed_between_two_of_ours_comes_back),
          CHANGE_TEST(what_somebody_removed_stays_removed),
          CHANGE_TEST(what_stands_in_the_way_stays),
          CHANGE_TEST(what_was_kept_comes_back_when_the_way_is_free),
          CHANGE_TEST(who_waits_keeps_nobody_else_waiting),
          CHANGE_TEST(what_waits_makes_room_for_what_comes),
          CHANGE_TEST(a_file_that_changes_in_the_last_moment_is_not_removed),
          CHANGE_TEST(a_directory_that_somebody_uses_stays),
          CHANGE_TEST(a_tree_in_which_somebody_changed_something_stays),
          CHANGE_TEST(our_own_changes_in_a_tree_do_not_stop_it),
          CHANGE_TEST(what_is_over_the_budget_is_done_and_noted),
          CHANGE_TEST(old_changes_are_forgotten),
          CHANGE_TEST(without_a_place_the_tools_work_and_undo_says_why),
          CHANGE_TEST(what_was_kept_goes_with_the_session),
          CHANGE_TEST(what_could_not_be_restored_can_be_tried_again),
          CHANGE_TEST(a_delete_that_fails_puts_all_of_it_back),
          CHANGE_TEST(a_delete_that_fails_for_good_says_so), CHANGE_TEST(a_full_disk_loses_nothing))
