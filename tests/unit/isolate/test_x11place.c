/* SPDX-License-Identifier: Apache-2.0 */
/* The cookie of a display: found among those of others, and written alone. */
#include "test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "isolate/x11place.h"

enum { ROOM = 4096 };

struct world {
    char dir[64];
    struct x11place place;
    char out[128];
    char bytes[ROOM];
    size_t len;
};

static int set_up(void **state)
{
    struct world *world = calloc(1, sizeof(*world));

    assert_non_null(world);
    snprintf(world->dir, sizeof(world->dir), "/tmp/x11place-XXXXXX");
    assert_non_null(mkdtemp(world->dir));
    snprintf(world->place.authority, sizeof(world->place.authority), "%s/in", world->dir);
    snprintf(world->out, sizeof(world->out), "%s/out", world->dir);
    world->place.number = 7;
    *state = world;
    return 0;
}

static int tear_down(void **state)
{
    struct world *world = *state;

    unlink(world->place.authority);
    unlink(world->out);
    rmdir(world->dir);
    free(world);
    return 0;
}

static void put_field(struct world *world, const char *text)
{
    size_t len = strlen(text);

    world->bytes[world->len++] = (char)(len >> 8);
    world->bytes[world->len++] = (char)(len & 0xFF);
    memcpy(world->bytes + world->len, text, len);
    world->len += len;
}

static void put_entry(struct world *world, const char *address, const char *number,
                      const char *cookie)
{
    world->bytes[world->len++] = 1;
    world->bytes[world->len++] = 0;
    put_field(world, address);
    put_field(world, number);
    put_field(world, "MIT-MAGIC-COOKIE-1");
    put_field(world, cookie);
}

static bool write_with(struct world *world, size_t len)
{
    int fd = open(world->place.authority, O_WRONLY | O_CREAT | O_TRUNC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, world->bytes, len), len);
    close(fd);
    return x11place_write_cookie(&world->place, world->out);
}

/* A family that matches all, no address, no number, the method and the cookie. */
static void assert_written(struct world *world, const char *cookie)
{
    char wanted[128] = "\xFF\xFF\0\0\0\0\0\x12MIT-MAGIC-COOKIE-1";
    size_t len = 8 + 18;
    char found[128];
    struct stat about;
    int fd = open(world->out, O_RDONLY);

    wanted[len++] = 0;
    wanted[len++] = (char)strlen(cookie);
    memcpy(wanted + len, cookie, strlen(cookie));
    len += strlen(cookie);
    assert_int_equal(fstat(fd, &about), 0);
    assert_int_equal(about.st_mode & 0777, 0600);
    assert_int_equal(read(fd, found, sizeof(found)), len);
    assert_memory_equal(found, wanted, len);
    close(fd);
}

static void the_displays_own_cookie_is_written(void **state)
{
    struct world *world = *state;

    put_entry(world, "elsewhere", "1", "no");
    put_entry(world, "elsewhere", "7", "other");
    assert_true(write_with(world, world->len));
    assert_written(world, "other");
}

static void that_of_this_host_is_best(void **state)
{
    struct world *world = *state;
    char host[256] = "";

    gethostname(host, sizeof(host) - 1);
    put_entry(world, "elsewhere", "7", "other");
    put_entry(world, host, "7", "mine");
    put_entry(world, "elsewhere", "", "any");
    assert_true(write_with(world, world->len));
    assert_written(world, "mine");
}

static void a_file_may_end_anywhere(void **state)
{
    struct world *world = *state;

    put_entry(world, "elsewhere", "7", "cookie");
    for (size_t len = 0; len < world->len; len++)
        assert_false(write_with(world, len));
    assert_true(write_with(world, world->len));
    put_entry(world, "elsewhere", "8", "cookie");
    for (size_t len = 0; len < world->len; len++)
        (void)write_with(world, len);
}

static void there_may_be_none(void **state)
{
    struct world *world = *state;

    put_entry(world, "elsewhere", "1", "no");
    assert_false(write_with(world, world->len));
    unlink(world->place.authority);
    assert_false(x11place_write_cookie(&world->place, world->out));
    assert_int_equal(access(world->out, F_OK), -1);
}

static void a_display_is_of_this_machine(void **state)
{
    static const char *const elsewhere[] = {"",   "7",   "host:7",  "localhost:10.0", ":",
                                            ":x", ":7x", ":123456", "/tmp/socket"};
    struct x11place place;

    (void)state;
    for (size_t i = 0; i < array_size(elsewhere); i++) {
        assert_int_equal(setenv("DISPLAY", elsewhere[i], 1), 0);
        assert_false(x11place_find(&place));
    }
    assert_int_equal(setenv("DISPLAY", ":64999", 1), 0); /* nobody has so many */
    assert_false(x11place_find(&place));
    unsetenv("DISPLAY");
    assert_false(x11place_find(&place));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_displays_own_cookie_is_written, set_up, tear_down),
        cmocka_unit_test_setup_teardown(that_of_this_host_is_best, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_file_may_end_anywhere, set_up, tear_down),
        cmocka_unit_test_setup_teardown(there_may_be_none, set_up, tear_down),
        cmocka_unit_test(a_display_is_of_this_machine),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
