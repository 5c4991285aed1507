/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "isolate/userbrowser.h"

#define ID "/devtools/browser/6f2b0c9e-53c8-4a9d-8f0e-0d8f3b1f7a11"

static bool parses(const char *text, size_t len)
{
    struct userbrowser browser;

    return userbrowser_parse((struct str){text, len}, &browser);
}

#define REFUSED(text) assert_false(parses(text, sizeof(text) - 1))

static void a_file_of_a_browser_is_read(void **state)
{
    struct userbrowser browser;

    (void)state;
    assert_true(userbrowser_parse(STR("9222\n" ID), &browser));
    assert_int_equal(browser.port, 9222);
    assert_string_equal(browser.path, ID);
    assert_true(userbrowser_parse(STR("65535\n" ID "\n"), &browser));
    assert_int_equal(browser.port, 65535);
}

static void anything_else_is_refused(void **state)
{
    char long_text[USERBROWSER_FILE_BYTES];
    int len = snprintf(long_text, sizeof(long_text), "1\n/devtools/browser/%0100d", 7);

    (void)state;
    REFUSED("");
    REFUSED("\n");
    REFUSED("9222");
    REFUSED("9222\n");
    REFUSED("\n" ID);
    REFUSED("0\n" ID);
    REFUSED("09222\n" ID);
    REFUSED("65536\n" ID);
    REFUSED("99999999999999999999\n" ID);
    REFUSED("-1\n" ID);
    REFUSED("+80\n" ID);
    REFUSED(" 80\n" ID);
    REFUSED("80 \n" ID);
    REFUSED("80\r\n" ID);
    REFUSED("evil.example:80\n" ID);
    REFUSED("80\n/devtools/browser/");
    REFUSED("80\n/devtools/page/abc");
    REFUSED("80\n" ID "/../..");
    REFUSED("80\n" ID "?a");
    REFUSED("80\n" ID " HTTP/1.1\r\nHost: evil.example");
    REFUSED("80\n" ID "\nmore\n");
    REFUSED("80\n" ID "\n\n");
    REFUSED("80\n" ID "\0");
    REFUSED("80\n\xff\xfe");
    assert_false(parses(long_text, (size_t)len));
}

/* ---- whose it is ---- */

struct scene {
    char home[64];
    char file[128];
    int listener;
    uint16_t port;
};

static void write_file(const struct scene *scene, uint16_t port)
{
    FILE *file = fopen(scene->file, "w");

    assert_non_null(file);
    fprintf(file, "%u\n" ID, port);
    assert_int_equal(fclose(file), 0);
}

static void set_up(struct scene *scene)
{
    char directory[96];

    snprintf(scene->home, sizeof(scene->home), "/tmp/userbrowser-XXXXXX");
    assert_non_null(mkdtemp(scene->home));
    snprintf(directory, sizeof(directory), "%s/google-chrome", scene->home);
    assert_int_equal(mkdir(directory, 0700), 0);
    snprintf(scene->file, sizeof(scene->file), "%s/DevToolsActivePort", directory);
    assert_int_equal(setenv("XDG_CONFIG_HOME", scene->home, 1), 0);
    assert_int_equal(setenv("HOME", scene->home, 1), 0);
    assert_int_equal(userbrowser_listen(&scene->port, &scene->listener, NULL), 0);
}

static void tear_down(struct scene *scene)
{
    char directory[96];

    close(scene->listener);
    (void)unlink(scene->file);
    snprintf(directory, sizeof(directory), "%s/google-chrome", scene->home);
    assert_int_equal(rmdir(directory), 0);
    assert_int_equal(rmdir(scene->home), 0);
}

static bool connects(const char *name)
{
    struct userbrowser browser;
    int fd;

    if (userbrowser_connect(str_from(name), &browser, &fd, NULL) < 0)
        return false;
    close(fd);
    return true;
}

static void only_what_listens_is_connected_to(void **state)
{
    struct scene scene;

    (void)state;
    set_up(&scene);
    assert_false(connects(""));
    write_file(&scene, scene.port);
    assert_true(connects(""));
    assert_true(connects("chrome"));
    assert_false(connects("chromium"));
    close(scene.listener);
    scene.listener = -1;
    assert_false(connects("chrome"));
    tear_down(&scene);
}

static void links_and_pipes_are_not_read(void **state)
{
    struct scene scene;
    char other[128];

    (void)state;
    set_up(&scene);
    write_file(&scene, scene.port);
    snprintf(other, sizeof(other), "%s/other", scene.home);
    assert_int_equal(rename(scene.file, other), 0);
    assert_int_equal(symlink(other, scene.file), 0);
    assert_false(connects(""));
    assert_int_equal(unlink(scene.file), 0);
    assert_int_equal(unlink(other), 0);
    assert_int_equal(mkfifo(scene.file, 0600), 0);
    assert_false(connects("")); /* and does not wait */
    tear_down(&scene);
}

static void a_file_of_another_user_is_not_read(void **state)
{
    struct scene scene;

    (void)state;
    if (geteuid() != 0)
        skip_because("only root can give a file away");
    set_up(&scene);
    write_file(&scene, scene.port);
    assert_int_equal(chown(scene.file, 65534, 65534), 0);
    assert_false(connects(""));
    tear_down(&scene);
}

/* The port of a browser that has ended may be another user's by now. */
static void a_port_of_another_user_is_not_used(void **state)
{
    struct scene scene;
    char directory[96];

    (void)state;
    if (geteuid() != 0)
        skip_because("only root can give a file away");
    set_up(&scene);
    write_file(&scene, scene.port);
    assert_int_equal(chown(scene.file, 65534, 65534), 0);
    assert_int_equal(chown(scene.home, 65534, 65534), 0);
    snprintf(directory, sizeof(directory), "%s/google-chrome", scene.home);
    assert_int_equal(chown(directory, 65534, 65534), 0);
    assert_int_equal(seteuid(65534), 0);
    assert_false(connects("")); /* root listens */
    assert_int_equal(seteuid(0), 0);
    tear_down(&scene);
}

#define RELAY_PATH "/extension/01234567-89ab-4cde-8f01-23456789abcd"

/* It becomes a word of a command. */
static void only_a_path_of_a_relay_makes_an_address(void **state)
{
    static const char *const wrong[] = {
        "",
        "/extension/",
        "/cdp/01234567-89ab-4cde-8f01-23456789abcd",
        "/extension/01234567-89ab-4cde-8f01-23456789abc",
        "/extension/01234567-89ab-4cde-8f01-23456789abcdd",
        "/extension/01234567-89ab-4cde-8f01-23456789abcg",
        "/extension/01234567-89ab-4cde-8f01-23456789abc&",
        "/extension/0123456789ab-4cde-8f01-23456789abcdd-",
        "/extension/01234567-89ab-4cde-8f01-23456789abc\n",
        " --extension/01234567-89ab-4cde-8f01-23456789ab",
    };
    char address[USERBROWSER_ADDRESS_BYTES];

    (void)state;
    assert_true(userbrowser_address(9222, STR(RELAY_PATH), address));
    assert_string_equal(address, "chrome-extension://cegmdpndekdfpnafgacidejijecomlhh/connect.html?"
                                 "mcpRelayUrl=ws://127.0.0.1:9222" RELAY_PATH);
    assert_false(userbrowser_address(0, STR(RELAY_PATH), address));
    for (size_t i = 0; i < array_size(wrong); i++)
        assert_false(userbrowser_address(9222, str_from(wrong[i]), address));
}

static void nothing_is_opened_without_display_or_extension(void **state)
{
    struct scene scene;
    uid_t user = geteuid();

    (void)state;
    set_up(&scene);
    assert_int_equal(unsetenv("DISPLAY"), 0);
    assert_int_equal(unsetenv("WAYLAND_DISPLAY"), 0);
    assert_int_equal(userbrowser_open(STR_EMPTY, 0, STR(RELAY_PATH), NULL), ERR_INVALID_ARGUMENT);
    assert_int_equal(userbrowser_open(STR_EMPTY, 9222, STR(RELAY_PATH), NULL), ERR_UNSUPPORTED);
    assert_int_equal(setenv("DISPLAY", ":65000", 1), 0);
    if (user == 0) {
        assert_int_equal(userbrowser_open(STR_EMPTY, 9222, STR(RELAY_PATH), NULL), ERR_UNSUPPORTED);
        assert_int_equal(seteuid(65534), 0);
    }
    assert_int_equal(userbrowser_open(STR_EMPTY, 9222, STR(RELAY_PATH), NULL), ERR_NOT_FOUND);
    assert_int_equal(userbrowser_open(STR("chromium"), 9222, STR(RELAY_PATH), NULL), ERR_NOT_FOUND);
    assert_int_equal(seteuid(user), 0);
    tear_down(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_a_path_of_a_relay_makes_an_address),
        cmocka_unit_test(nothing_is_opened_without_display_or_extension),
        cmocka_unit_test(a_file_of_a_browser_is_read),
        cmocka_unit_test(anything_else_is_refused),
        cmocka_unit_test(only_what_listens_is_connected_to),
        cmocka_unit_test(links_and_pipes_are_not_read),
        cmocka_unit_test(a_file_of_another_user_is_not_read),
        cmocka_unit_test(a_port_of_another_user_is_not_used),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
