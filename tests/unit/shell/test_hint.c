/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "base/utf8.h"
#include "shell/hint.h"

enum { HINT_MAX = 4096 };

static bool is_in_home(const void *data, const char *path)
{
    (void)data;
    return strncmp(path, "/home/", strlen("/home/")) == 0;
}

static const struct shell_sandbox closed = {.is_hidden = is_in_home};

static void expect_hint(const struct shell_sandbox *sandbox, const char *printed, const char *part)
{
    cleanup_buf struct buf hint = BUF_INIT(HINT_MAX);

    assert_int_equal(hint_find(sandbox, str_from(printed), &hint), 0);
    if (part == NULL)
        assert_str(buf_view(&hint), "");
    else if (str_find(buf_view(&hint), str_from(part)) == SIZE_MAX)
        fail_msg("'%s' gives '%.*s', not '%s'", printed, STR_ARG(buf_view(&hint)), part);
}

static void a_missing_network_is_told(void **state)
{
    static const char *const printed[] = {
        "curl: (6) Could not resolve host: example.com\n",
        "ping: connect: Network is unreachable\n",
        "npm error code EAI_AGAIN\nnpm error errno EAI_AGAIN\n",
        "fatal: unable to access 'https://x/': Could not resolve host: x\n",
        "dial tcp: lookup proxy.golang.org: no such host\n",
    };
    const struct shell_sandbox open = {.has_network = true, .is_hidden = is_in_home};

    (void)state;
    for (size_t i = 0; i < array_size(printed); i++) {
        expect_hint(&closed, printed[i], "--shell-network allow");
        expect_hint(&open, printed[i], NULL);
    }
}

static void a_hidden_path_is_told(void **state)
{
    static const char *const printed[] = {
        "cat: /home/user/notes: No such file or directory\n",
        "bash: line 1: cd: /home/user/notes: No such file or directory\n",
        "ls: cannot access '/home/user/notes': No such file or directory\n",
        "python3: can't open file '/home/user/notes': [Errno 2] No such file or directory\n",
        "Error: ENOENT: no such file or directory, open '/home/user/notes'\n",
        "first\ncp: cannot stat '/home/user/notes': No such file or directory\nlast\n",
        "cp: cannot stat '/usr/a' to '/home/user/notes': No such file or directory",
    };

    (void)state;
    for (size_t i = 0; i < array_size(printed); i++) {
        expect_hint(&closed, printed[i], "cannot see /home/user/notes:");
        expect_hint(&closed, printed[i], "--shell-readable");
    }
}

static void that_nobody_becomes_root_is_told(void **state)
{
    static const char *const printed[] = {
        "sudo: effective uid is not 0, is /usr/bin/sudo on a file system with the 'nosuid' option "
        "set or an NFS file system without root privileges?\n",
        "sudo: The \"no new privileges\" flag is set, which prevents sudo from running as root.\n",
        "E: Unable to acquire the dpkg frontend lock (/var/lib/dpkg/lock-frontend), are you "
        "root?\n",
    };
    const struct shell_sandbox none = {.has_network = false};

    (void)state;
    for (size_t i = 0; i < array_size(printed); i++) {
        expect_hint(&closed, printed[i], "cannot become root");
        expect_hint(&none, printed[i], NULL);
    }
}

static void what_may_not_be_changed_is_told(void **state)
{
    static const char *const printed[] = {
        "mkdir: cannot create directory '/newdir': Read-only file system\n",
        "OSError: [Errno 30] Read-only file system: '/usr/lib/x'\n",
        "Error: EROFS: read-only file system, open '/home/user/x'\n",
    };
    const struct shell_sandbox none = {.has_network = false};

    (void)state;
    for (size_t i = 0; i < array_size(printed); i++) {
        expect_hint(&closed, printed[i], "--shell-writable DIR");
        expect_hint(&none, printed[i], NULL);
    }
}

static void a_file_with_secrets_is_told(void **state)
{
    const struct shell_sandbox sandbox = {.hides_sensitive = true, .is_hidden = is_in_home};
    const char *printed = "Error: DATABASE_URL is not set in ./config/.env\n";

    (void)state;
    expect_hint(&sandbox, printed, "such as ./config/.env empty");
    expect_hint(&sandbox, printed, "--sensitive allow");
    expect_hint(&closed, printed, NULL);
}

static void what_git_keeps_is_told(void **state)
{
    const struct shell_sandbox sandbox = {.keeps_autorun = true, .is_hidden = is_in_home};
    const char *busy = "error: could not write config file .git/config: Device or resource busy\n";

    (void)state;
    expect_hint(&sandbox, busy, "--autorun allow");
    expect_hint(&sandbox, "rm: cannot remove 'x/.git/hooks': Device or resource busy\n", "delete");
    expect_hint(&sandbox, "sh: 1: cannot create .git/hooks/a: Read-only file system\n",
                "--autorun allow");
    expect_hint(&sandbox, "fatal: bad config line 1 in file .git/config\n", NULL);
    expect_hint(&closed, busy, NULL);
}

static void expect_named_hint(const struct shell_sandbox *sandbox, const char *command,
                              const char *printed, const char *part)
{
    cleanup_buf struct buf hint = BUF_INIT(HINT_MAX);

    assert_int_equal(hint_find_named(sandbox, str_from(command), str_from(printed), &hint), 0);
    if (part == NULL)
        assert_str(buf_view(&hint), "");
    else
        assert_true(str_find(buf_view(&hint), str_from(part)) != SIZE_MAX);
}

/* git would store them empty, without a word. */
static void git_that_takes_empty_files_is_told(void **state)
{
    const struct shell_sandbox sandbox = {.hides_sensitive = true, .is_hidden = is_in_home};
    const char *status = " M config/server.key\n?? a.c\n";
    const char *committed = "[main 974fd83] x\n 3 files changed\n";

    (void)state;
    expect_named_hint(&sandbox, "git add -A && git commit -m x", committed, "restore --staged");
    expect_named_hint(&sandbox, "git -C sub commit -am x", committed, "restore --staged");
    expect_named_hint(&sandbox, "git status --short", status, "such as config/server.key empty");
    expect_named_hint(&sandbox, "cat .npmrc", "", "such as .npmrc empty");
    expect_named_hint(&sandbox, "git add a.c && git commit -m x", committed, NULL);
    expect_named_hint(&sandbox, "git status --short", "?? a.c\n", NULL);
    expect_named_hint(&sandbox, "ls config", "server.key\n", NULL);
    expect_named_hint(&closed, "git add -A", "", NULL);
}

/* Of a long output only the end is looked at, and of a long name only the beginning is shown. */
static void a_cut_leaves_whole_characters(void **state)
{
    const struct shell_sandbox sandbox = {.hides_sensitive = true, .is_hidden = is_in_home};
    cleanup_buf struct buf printed = BUF_INIT(64 << 10);

    (void)state;
    for (size_t shift = 0; shift < 3; shift++) {
        cleanup_buf struct buf hint = BUF_INIT(HINT_MAX);

        buf_clear(&printed);
        for (size_t i = 0; i < shift; i++)
            assert_int_equal(buf_append_char(&printed, 'x'), 0);
        for (size_t i = 0; i < 8000; i++)
            assert_int_equal(buf_append_str(&printed, STR("\xE2\x82\xAC")), 0);
        assert_int_equal(buf_append_str(&printed, STR(".key")), 0);
        assert_int_equal(hint_find(&sandbox, buf_view(&printed), &hint), 0);
        assert_true(hint.len > 0 && utf8_is_valid(buf_view(&hint)));
    }
}

static void what_the_sandbox_did_not_cause_is_not_its_fault(void **state)
{
    static const char *const printed[] = {
        "",
        "/home/user/notes is a fine path\n",
        "cat: /usr/nope: No such file or directory\n",
        "cat: a/home/user: No such file or directory\n",
        "make: *** No rule to make target 'x'.\n",
    };
    const struct shell_sandbox none = {.has_network = false};

    (void)state;
    for (size_t i = 0; i < array_size(printed); i++)
        expect_hint(&closed, printed[i], NULL);
    expect_hint(&none, "cat: /home/user/notes: No such file or directory\n", NULL);
    expect_hint(&none, "curl: (6) Could not resolve host: example.com\n", NULL);
}

TEST_MAIN(cmocka_unit_test(a_missing_network_is_told), cmocka_unit_test(a_hidden_path_is_told),
          cmocka_unit_test(that_nobody_becomes_root_is_told),
          cmocka_unit_test(what_may_not_be_changed_is_told),
          cmocka_unit_test(what_git_keeps_is_told), cmocka_unit_test(a_file_with_secrets_is_told),
          cmocka_unit_test(git_that_takes_empty_files_is_told),
          cmocka_unit_test(a_cut_leaves_whole_characters),
          cmocka_unit_test(what_the_sandbox_did_not_cause_is_not_its_fault))
