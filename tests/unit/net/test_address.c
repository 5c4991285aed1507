/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "net/address.h"

enum { NOBODY = 65534, SKIPPED = 77 };

static void assert_reads_as(const char *text, const char *wanted)
{
    struct address address;
    char got[ADDRESS_TEXT_BYTES];

    assert_int_equal(address_parse(str_from(text), &address), 0);
    address_format(&address, got);
    assert_string_equal(got, wanted);
}

static void addresses_read_and_write_the_same(void **state)
{
    (void)state;
    assert_reads_as("127.0.0.1:8080", "127.0.0.1:8080");
    assert_reads_as("0.0.0.0:0", "0.0.0.0:0");
    assert_reads_as("localhost:65535", "127.0.0.1:65535");
    assert_reads_as("[::1]:80", "[::1]:80");
    assert_reads_as("[2001:DB8:0:0:0:0:0:1]:1", "[2001:db8::1]:1");
    assert_reads_as("[::ffff:1.2.3.4]:5", "1.2.3.4:5");
}

static void what_is_no_address_is_refused(void **state)
{
    static const char *const texts[] = {
        "",        "8080",          ":8080",       "127.0.0.1",      "127.0.0.1:",
        "1.2.3:4", "1.2.3.4:-1",    "1.2.3.4:+1",  "1.2.3.4:65536",  "1.2.3.4:99999999999999999999",
        "::1:80",  "[::1]",         "[]:80",       "[::1]x:80",      "[::1%lo]:80",
        "host:80", "1.2.3.4:8080 ", " 1.2.3.4:80", "[127.0.0.1]:80", "01.2.3.4:80",
    };

    (void)state;
    for (size_t i = 0; i < array_size(texts); i++) {
        struct address address;

        if (address_parse(str_from(texts[i]), &address) != ERR_INVALID_ARGUMENT)
            fail_msg("'%s' passed", texts[i]);
    }
}

static void loopback_is_this_machine(void **state)
{
    struct address address;

    (void)state;
    assert_int_equal(address_parse(STR("127.9.9.9:1"), &address), 0);
    assert_true(address_is_loopback(&address));
    assert_int_equal(address_parse(STR("[::1]:1"), &address), 0);
    assert_true(address_is_loopback(&address));
    assert_int_equal(address_parse(STR("0.0.0.0:1"), &address), 0);
    assert_false(address_is_loopback(&address));
    assert_int_equal(address_parse(STR("[::]:1"), &address), 0);
    assert_false(address_is_loopback(&address));
}

static void a_port_is_chosen_and_known_and_taken_only_once(void **state)
{
    cleanup_fd int fd = -1;
    int other = -1;
    struct address address;
    struct err err = ERR_INIT;
    int is_nodelay = 0;
    socklen_t len = sizeof(is_nodelay);

    (void)state;
    assert_int_equal(address_parse(STR("127.0.0.1:0"), &address), 0);
    assert_int_equal(address_listen(&address, &err, &fd), 0);
    assert_int_equal(address_of(fd, &address), 0);
    assert_int_not_equal(address.port, 0);
    assert_true(address_is_loopback(&address));
    assert_int_equal(getsockopt(fd, 6 /* TCP */, 1 /* TCP_NODELAY */, &is_nodelay, &len), 0);
    assert_int_not_equal(is_nodelay, 0);
    assert_int_equal(address_listen(&address, &err, &other), ERR_ALREADY_EXISTS);
    assert_int_equal(other, -1);
    assert_non_null(strstr(err.message, "127.0.0.1:"));
}

static void an_address_of_another_machine_is_refused_with_what_to_do(void **state)
{
    struct address address;
    struct err err = ERR_INIT;
    int fd = -1;

    (void)state;
    assert_int_equal(address_parse(STR("192.0.2.1:0"), &address), 0);
    assert_true(address_listen(&address, &err, &fd) < 0);
    assert_non_null(strstr(err.message, "choose an address of this machine"));
}

/* In a child, because it gives up root for good. */
static void a_port_of_root_is_refused_with_what_to_do(void **state)
{
    int status = 0;
    pid_t child = fork();

    (void)state;
    assert_true(child >= 0);
    if (child == 0) {
        struct address address;
        struct err err = ERR_INIT;
        int fd = -1;

        if (geteuid() == 0 && setuid(NOBODY) < 0)
            _exit(1);
        if (address_parse(STR("127.0.0.1:1"), &address) < 0)
            _exit(1);
        if (address_listen(&address, &err, &fd) == 0)
            _exit(SKIPPED); /* the system lets everybody use them */
        _exit(strstr(err.message, "ports below 1024 are for root") != NULL ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == SKIPPED)
        skip();
    assert_int_equal(WEXITSTATUS(status), 0);
}

TEST_MAIN(cmocka_unit_test(addresses_read_and_write_the_same),
          cmocka_unit_test(what_is_no_address_is_refused),
          cmocka_unit_test(loopback_is_this_machine),
          cmocka_unit_test(a_port_is_chosen_and_known_and_taken_only_once),
          cmocka_unit_test(an_address_of_another_machine_is_refused_with_what_to_do),
          cmocka_unit_test(a_port_of_root_is_refused_with_what_to_do))
