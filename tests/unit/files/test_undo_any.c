/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Undo for any sequence of calls: undoing everything restores the first tree, and what others did
 * in between stays. The tree has links of both kinds and unusual modes. The store is on the same
 * file system as the folder or on another; there, calls that take away what no copy can keep are
 * left out.
 */
#include "changebench.h"

enum { SEQUENCES = 40, CALLS = 25, MEDDLINGS = 8, MAX_THEIRS = 256, NAME_BYTES = 64 };

static unsigned below(unsigned *seed, unsigned limit)
{
    *seed = *seed * 1103515245U + 12345U;
    return (*seed >> 16) % limit;
}

/* Few names, so that calls meet each other's traces; the same ones are files and directories. */
static void random_name(unsigned *seed, char out_name[NAME_BYTES])
{
    static const char *const parts[] = {"a", "b", "c", "d", "e"};
    unsigned depth = 1 + below(seed, 3);
    size_t len = 0;

    out_name[0] = '\0';
    for (unsigned i = 0; i < depth; i++)
        len += (size_t)snprintf(out_name + len, NAME_BYTES - len, "%s%s", i > 0 ? "/" : "",
                                parts[below(seed, array_size(parts))]);
}

static void random_text(unsigned *seed, char *out_text, size_t size)
{
    static const char *const words[] = {"one\n", "two\r\n", "$&", "x", "\t", "é", "\n", "long "};
    unsigned count = below(seed, 12);
    size_t len = 0;

    out_text[0] = '\0';
    for (unsigned i = 0; i < count && len + 8 < size; i++)
        len += (size_t)snprintf(out_text + len, size - len, "%s",
                                words[below(seed, array_size(words))]);
}

static void pack(struct bench *bench)
{
    struct authority_archive_result result;

    assert_int_equal(authority_create_archive(bench->files, STR("a/b"), STR("pack.zip"),
                                              AUTHORITY_ZIP, NULL, &result, &bench->err),
                     0);
}

static void plant_world(struct bench *bench)
{
    plant_dir(bench, "a");
    plant_dir(bench, "a/b");
    plant(bench, "a/b/c", "deep x\r\n");
    set_mode(bench, "a/b/c", 0600);
    plant(bench, "a/c", "x in a\n");
    set_mode(bench, "a/c", 0755);
    plant_dir(bench, "b");
    set_mode(bench, "b", 0700);
    plant_dir(bench, "c");
    plant_dir(bench, "c/a");
    set_mode(bench, "c/a", 0750);
    plant(bench, "d", "");
    set_mode(bench, "d", 0664);
    plant(bench, "e", "one $& x\n");
    set_mode(bench, "e", 0640);
    /* Links lie about where calls come by. */
    plant_link(bench, "a/to_d", "../d");
    plant_link(bench, "c/to_a", "../a");
    plant_link(bench, "broken", "nowhere/at/all");
    pack(bench);
}

static void plant_name(struct bench *bench, const char *existing, const char *name)
{
    assert_int_equal(linkat(bench->root_fd, existing, bench->root_fd, name, 0), 0);
}

/* And more of them under names that calls use, which then mean one thing under two names. */
static void plant_odd_world(struct bench *bench)
{
    plant_world(bench);
    plant_link(bench, "b/a", "../d");
    plant_link(bench, "b/b", "../a");
    plant_link(bench, "b/c", "nowhere");
    plant_link(bench, "a/b/d", "c");
    plant_link(bench, "c/d", "../c/a");
    plant(bench, "a/d", "x one of three\n");
    plant_name(bench, "a/d", "c/e");
    plant_name(bench, "a/d", "c/a/b");
    plant(bench, "b/d", "fixed x\n");
    set_mode(bench, "b/d", 0444);
    plant_dir(bench, "b/e");
    plant(bench, "b/e/a", "x");
    set_mode(bench, "b/e/a", 0444);
    plant_dir(bench, "b/e/b");
    set_mode(bench, "b/e", 0500);
    plant_dir(bench, "c/c");
    set_mode(bench, "c/c", 0500);
    plant(bench, "c/b", "set x\n");
    set_mode(bench, "c/b", 01775);
}

/* What a copy cannot hold: a link, or a file with another name. */
static bool holds_odd(const struct bench *bench, const char *name)
{
    char path[BENCH_PATH_BYTES + NAME_BYTES];
    char *const paths[] = {path, NULL};
    bool is_found = false;
    FTS *fts;

    snprintf(path, sizeof(path), "%s/%s", bench->root, name);
    fts = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    assert_non_null(fts);
    for (FTSENT *entry; (entry = fts_read(fts)) != NULL;)
        is_found =
            is_found || (entry->fts_statp != NULL && entry->fts_info != FTS_NS &&
                         (S_ISLNK(entry->fts_statp->st_mode) ||
                          (S_ISREG(entry->fts_statp->st_mode) && entry->fts_statp->st_nlink > 1)));
    fts_close(fts);
    return is_found;
}

/* ---- calls ---- */

struct random_call {
    const char *tool;
    const char *arguments;
    char names[2][NAME_BYTES]; /* that it changes; "" for none */
};

static void draw_edits(struct bench *bench, unsigned *seed, struct random_call *call)
{
    cleanup_buf struct buf text = BUF_INIT(4096);

    call->tool = "edit_files";
    buf_printf(&text,
               "{\"edits\":[{\"filePath\":\"%s\",\"oldString\":\"x\",\"newString\":\"%u\"},"
               "{\"filePath\":\"%s\",\"oldString\":\"\\n\",\"newString\":\"$&x\"}]}",
               call->names[0], below(seed, 100), call->names[1]);
    call->arguments = arena_copy(&bench->arena, buf_view(&text));
}

static void draw(struct bench *bench, unsigned *seed, struct random_call *call)
{
    static const char *const transfers[] = {"move", "move", "copy_file"};
    char text[256];

    random_name(seed, call->names[0]);
    random_name(seed, call->names[1]);
    random_text(seed, text, sizeof(text));
    switch (below(seed, 13)) {
    case 0:
    case 1:
        call->tool = "write_file";
        break;
    case 2:
        call->tool = "append_file";
        break;
    case 3:
        call->tool = "edit_file";
        call->arguments = arguments(bench, "filePath", call->names[0], "oldString", "x",
                                    "newString", text, (char *)NULL);
        call->names[1][0] = '\0';
        return;
    case 4:
        draw_edits(bench, seed, call);
        return;
    case 5:
    case 10:
        call->tool = "delete";
        call->arguments = arguments(bench, "path", call->names[0], (char *)NULL);
        call->names[1][0] = '\0';
        return;
    case 6:
    case 7:
    case 11:
    case 12:
        call->tool = transfers[below(seed, array_size(transfers))];
        call->arguments = arguments(bench, "sourcePath", call->names[0], "destinationPath",
                                    call->names[1], (char *)NULL);
        if (strcmp(call->tool, "copy_file") == 0)
            call->names[0][0] = '\0'; /* is only read */
        return;
    case 8:
        call->tool = "create_directory";
        call->arguments = arguments(bench, "dirPath", call->names[0], (char *)NULL);
        call->names[1][0] = '\0';
        return;
    default:
        call->tool = "extract_archive";
        call->arguments = arguments(bench, "archivePath", "pack.zip", "destinationPath",
                                    call->names[0], (char *)NULL);
        call->names[1][0] = '\0';
        return;
    }
    call->arguments = arguments(bench, "filePath", call->names[0], "content", text, (char *)NULL);
    call->names[1][0] = '\0';
}

/* Of a call that takes something away: what. */
static const char *victim_of(const struct random_call *call)
{
    if (strcmp(call->tool, "delete") == 0)
        return call->names[0];
    return strcmp(call->tool, "move") == 0 ? call->names[1] : NULL;
}

/* True when it was done; a call that failed has changed nothing. */
static bool make_call(struct bench *bench, const struct random_call *call, bool is_elsewhere)
{
    cleanup_buf struct buf before = BUF_INIT(TREE_TEXT_BYTES);
    const struct json_value *result;

    if (is_elsewhere && victim_of(call) != NULL && holds_odd(bench, victim_of(call)))
        return false;
    describe_tree(bench, &before);
    result = bench_result(bench, call->tool, call->arguments);
    if (bench_is_error(result)) {
        assert_tree(bench, &before);
        return false;
    }
    if (has_member(json_get(result, STR("structuredContent")), "undoable"))
        fail_msg("%s %s: %.*s", call->tool, call->arguments, STR_ARG(buf_view(&bench->out)));
    return true;
}

static void undo_any_sequence(bool is_elsewhere)
{
    unsigned done = 0;

    for (unsigned round = 0; round < SEQUENCES; round++) {
        cleanup_buf struct buf before = BUF_INIT(TREE_TEXT_BYTES);
        unsigned seed = round * 7919 + 1;
        const struct json_value *result;
        void *fixture = NULL;
        struct bench *bench;

        change_setup(&fixture);
        bench = fixture;
        if (is_elsewhere && !keep_elsewhere(bench)) {
            bench_teardown(&fixture);
            skip_because("no second file system at /dev/shm");
        }
        plant_odd_world(bench);
        describe_tree(bench, &before);
        for (int i = 0; i < CALLS; i++) {
            struct random_call call = {0};

            draw(bench, &seed, &call);
            done += make_call(bench, &call, is_elsewhere);
            /* Some are taken back on the way. */
            if (below(&seed, 8) == 0)
                bench_call(bench, "undo_changes", "{\"count\":2}");
        }
        result = undo_all(bench);
        json_each_item (item, json_get(result, STR("undone")))
            if (!str_eq_c(str_member(item, "outcome"), "restored"))
                fail_msg("round %u: %.*s", round, STR_ARG(buf_view(&bench->out)));
        assert_int_equal(int_member(result, "remaining"), 0);
        assert_tree(bench, &before);
        bench_teardown(&fixture);
    }
    /* Most calls must have had something to do, or this shows nothing. */
    assert_true(done > SEQUENCES * CALLS / 8);
}

static void any_sequence_undone_gives_the_first_tree_back(void **state)
{
    (void)state;
    undo_any_sequence(false);
}

static void any_sequence_undone_gives_it_back_from_another_file_system(void **state)
{
    (void)state;
    undo_any_sequence(true);
}

/* ---- somebody else ---- */

/* What they have touched and we have not touched since. */
struct theirs {
    struct {
        char name[NAME_BYTES];
        bool is_made; /* where nothing was */
    } things[MAX_THEIRS];
    size_t count;
};

static bool do_overlap(const char *a, const char *b)
{
    size_t len = strlen(a) < strlen(b) ? strlen(a) : strlen(b);

    return strncmp(a, b, len) == 0 && (a[len] == '\0' || a[len] == '/') &&
           (b[len] == '\0' || b[len] == '/');
}

static void forget_ours(struct theirs *theirs, const char *name)
{
    size_t kept = 0;

    for (size_t i = 0; name[0] != '\0' && i < theirs->count; i++)
        if (!do_overlap(theirs->things[i].name, name))
            theirs->things[kept++] = theirs->things[i];
    if (name[0] != '\0')
        theirs->count = kept;
}

static bool have_made(const struct theirs *theirs, const char *name)
{
    for (size_t i = 0; i < theirs->count; i++)
        if (strcmp(theirs->things[i].name, name) == 0)
            return theirs->things[i].is_made;
    return false;
}

/* Each leaves a trace that a look shows: another size, inode or mode. */
static void meddle(struct bench *bench, unsigned *seed, struct theirs *theirs)
{
    char name[NAME_BYTES];
    struct stat about;
    bool is_made;
    int fd;

    random_name(seed, name);
    is_made = have_made(theirs, name);
    if (fstatat(bench->root_fd, name, &about, AT_SYMLINK_NOFOLLOW) < 0) {
        is_made = true;
        fd = openat(bench->root_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
        if (fd < 0)
            return; /* no directory for it */
        assert_int_equal(write(fd, "theirs", 6), 6);
        close(fd);
    } else if (S_ISDIR(about.st_mode)) {
        if (unlinkat(bench->root_fd, name, AT_REMOVEDIR) < 0)
            return; /* in use */
    } else if (S_ISREG(about.st_mode)) {
        switch (below(seed, 3)) {
        case 0:
            fd = openat(bench->root_fd, name, O_WRONLY | O_APPEND | O_CLOEXEC);
            assert_true(fd >= 0);
            assert_int_equal(write(fd, "more", 4), 4);
            close(fd);
            break;
        case 1:
            assert_int_equal(unlinkat(bench->root_fd, name, 0), 0);
            break;
        default:
            set_mode(bench, name, (about.st_mode & 07777) == 0644 ? 0600 : 0644);
        }
    } else {
        return;
    }
    forget_ours(theirs, name);
    /* What they made and removed again is as if it had never been. */
    if (is_made && !is_there(bench, name))
        return;
    assert_true(theirs->count < MAX_THEIRS);
    snprintf(theirs->things[theirs->count].name, NAME_BYTES, "%s", name);
    theirs->things[theirs->count++].is_made = is_made;
}

static void describe_theirs(const struct bench *bench, const struct theirs *theirs, struct buf *out)
{
    for (size_t i = 0; i < theirs->count; i++) {
        struct stat about;

        buf_printf(out, "%s: ", theirs->things[i].name);
        if (fstatat(bench->root_fd, theirs->things[i].name, &about, AT_SYMLINK_NOFOLLOW) < 0) {
            buf_printf(out, "nothing\n");
            continue;
        }
        buf_printf(out, "%o %ju ", (unsigned)about.st_mode, (uintmax_t)about.st_ino);
        if (S_ISREG(about.st_mode))
            read_file_at(bench->root_fd, theirs->things[i].name, out);
        buf_append_char(out, '\n');
    }
}

static void what_somebody_else_did_stays(void **state)
{
    size_t seen = 0;

    (void)state;
    for (unsigned round = 0; round < SEQUENCES; round++) {
        cleanup_buf struct buf before = BUF_INIT(TREE_TEXT_BYTES);
        cleanup_buf struct buf after = BUF_INIT(TREE_TEXT_BYTES);
        cleanup_free struct theirs *theirs = calloc(1, sizeof(*theirs));
        unsigned seed = round * 104729 + 3;
        void *fixture = NULL;
        struct bench *bench;

        assert_non_null(theirs);
        change_setup(&fixture);
        bench = fixture;
        plant_world(bench);
        for (int i = 0; i < CALLS; i++) {
            struct random_call call = {0};

            draw(bench, &seed, &call);
            if (make_call(bench, &call, false)) {
                forget_ours(theirs, call.names[0]);
                forget_ours(theirs, call.names[1]);
            }
            if (below(&seed, 3) == 0)
                meddle(bench, &seed, theirs);
        }
        for (int i = 0; i < MEDDLINGS; i++)
            meddle(bench, &seed, theirs);
        describe_theirs(bench, theirs, &before);
        seen += theirs->count;
        undo_all(bench);
        describe_theirs(bench, theirs, &after);
        if (!str_eq(buf_view(&before), buf_view(&after)))
            fail_msg("round %u:\n%.*snot\n%.*s", round, STR_ARG(buf_view(&after)),
                     STR_ARG(buf_view(&before)));
        bench_teardown(&fixture);
    }
    assert_true(seen > SEQUENCES * 2);
}

TEST_MAIN(cmocka_unit_test(any_sequence_undone_gives_the_first_tree_back),
          cmocka_unit_test(any_sequence_undone_gives_it_back_from_another_file_system),
          cmocka_unit_test(what_somebody_else_did_stays))
