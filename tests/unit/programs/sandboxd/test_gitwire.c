/* SPDX-License-Identifier: Apache-2.0 */
/* What git prints, as JSON. */
#include "programs/sandboxd/daytona/gitwire.h"

#include "test.h"

typedef void writer(struct json_writer *json, struct str output);

static void check(writer *write, struct str output, const char *expected)
{
    cleanup_buf struct buf out = BUF_INIT(1 << 16);
    struct json_writer json;
    const char *text;

    json_writer_init(&json, &out);
    write(&json, output);
    assert_int_equal(json_writer_finish(&json), 0);
    assert_int_equal(buf_terminate(&out, &text), 0);
    assert_string_equal(text, expected);
}

#define REST(branch, detached, upstream, published, ahead, behind)                                 \
    "\"currentBranch\":\"" branch "\",\"detached\":" detached ",\"upstream\":\"" upstream          \
    "\",\"branchPublished\":" published ",\"ahead\":" ahead ",\"behind\":" behind "}"

static void status_of_files_with_any_name(void **state)
{
    (void)state;
    check(gitwire_status,
          STR("# branch.oid 0123\0# branch.head main\0# branch.upstream origin/main\0"
              "# branch.ab +2 -1\0"
              "1 .M N... 100644 100644 100644 0123 4567 a b\0"
              "2 R. N... 100644 100644 100644 0123 4567 R100 new name\0old name\0"
              "u UU N... 1 2 3 4 5 6 7 both\0"
              "? what?\n\0"),
          "{\"fileStatus\":["
          "{\"name\":\"a b\",\"extra\":\"\",\"staging\":\"Unmodified\",\"worktree\":\"Modified\"},"
          "{\"name\":\"new name\",\"extra\":\"old name\",\"staging\":\"Renamed\","
          "\"worktree\":\"Unmodified\"},"
          "{\"name\":\"both\",\"extra\":\"\",\"staging\":\"Updated but unmerged\","
          "\"worktree\":\"Updated but unmerged\"},"
          "{\"name\":\"what?\\n\",\"extra\":\"\",\"staging\":\"Untracked\","
          "\"worktree\":\"Untracked\"}]," REST("main", "false", "origin/main", "true", "2", "1"));
}

static void status_without_branch_or_upstream(void **state)
{
    (void)state;
    check(gitwire_status, STR("# branch.oid (initial)\0# branch.head main\0"),
          "{\"fileStatus\":[]," REST("main", "false", "", "false", "0", "0"));
    check(gitwire_status, STR("# branch.oid 0123\0# branch.head (detached)\0"),
          "{\"fileStatus\":[]," REST("HEAD", "true", "", "false", "0", "0"));
    /* Its upstream is gone. */
    check(gitwire_status, STR("# branch.head x\0# branch.upstream origin/x\0"),
          "{\"fileStatus\":[]," REST("x", "false", "origin/x", "false", "0", "0"));
}

static void an_end_that_was_cut_off_is_left_out(void **state)
{
    (void)state;
    check(gitwire_status, STR("? a\0? b"),
          "{\"fileStatus\":[{\"name\":\"a\",\"extra\":\"\",\"staging\":\"Untracked\","
          "\"worktree\":\"Untracked\"}]," REST("", "false", "", "false", "0", "0"));
    check(gitwire_status, STR("2 R. N... 1 2 3 4 5 R9 new\0"),
          "{\"fileStatus\":[]," REST("", "false", "", "false", "0", "0"));
    check(gitwire_status, STR("1\0"),
          "{\"fileStatus\":[]," REST("", "false", "", "false", "0", "0"));
    check(gitwire_history,
          STR("0123\0A\0a@b\0time\0text\n\0"
              "4567\0A\0"),
          "[{\"hash\":\"0123\",\"author\":\"A\",\"email\":\"a@b\",\"timestamp\":\"time\","
          "\"message\":\"text\\n\"}]");
    check(gitwire_history, STR_EMPTY, "[]");
}

static void lists_and_values(void **state)
{
    (void)state;
    check(gitwire_branches, STR(" a/b\n*main\n"),
          "{\"branches\":[\"a/b\",\"main\"],\"current\":\"main\"}");
    check(gitwire_branches, STR_EMPTY, "{\"branches\":[],\"current\":\"\"}");
    check(gitwire_remotes,
          STR("o\thttp://x/a b (fetch) [blob:none]\no\thttp://y (push)\nnothing\n (fetch)\n"),
          "{\"remotes\":[{\"name\":\"o\",\"url\":\"http://x/a b\"}]}");
    check(gitwire_commit, STR("0123\n"), "{\"hash\":\"0123\"}");
    check(gitwire_config, STR("a\nb\0"), "{\"value\":\"a\\nb\"}");
    check(gitwire_config, STR_EMPTY, "{\"value\":null}");
}

static void failures_have_a_class(void **state)
{
    static const struct {
        struct str errors;
        int status;
        const char *code;
    } samples[] = {
        {STR_LITERAL("fatal: Authentication failed for 'http://x/'"), 401, "GIT_AUTH_FAILED"},
        {STR_LITERAL("fatal: Remote branch x not found in upstream origin"), 404,
         "GIT_BRANCH_NOT_FOUND"},
        {STR_LITERAL("fatal: a branch named 'x' already exists"), 409, "GIT_BRANCH_EXISTS"},
        {STR_LITERAL(" ! [rejected]        main -> main (fetch first)"), 409, "GIT_PUSH_REJECTED"},
        {STR_LITERAL(" ! [remote rejected] main -> main (pre-receive hook declined)"), 422,
         "GIT_REMOTE_REJECTED"},
        {STR_LITERAL("fatal: unable to access 'http://x/': Could not resolve host: x"), 502,
         "GIT_TRANSPORT_FAILED"},
        {STR_LITERAL("anything else"), 400, NULL},
    };

    (void)state;
    for (size_t i = 0; i < array_size(samples); i++) {
        struct gitwire_failure failure = gitwire_failure(STR_EMPTY, samples[i].errors);

        assert_int_equal(failure.status, samples[i].status);
        if (samples[i].code == NULL)
            assert_null(failure.code);
        else
            assert_string_equal(failure.code, samples[i].code);
    }
    assert_int_equal(gitwire_failure(STR("CONFLICT (content): x"), STR_EMPTY).status, 409);
}

TEST_MAIN(cmocka_unit_test(status_of_files_with_any_name),
          cmocka_unit_test(status_without_branch_or_upstream),
          cmocka_unit_test(an_end_that_was_cut_off_is_left_out), cmocka_unit_test(lists_and_values),
          cmocka_unit_test(failures_have_a_class))
