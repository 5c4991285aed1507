/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <arpa/inet.h>
#include <linux/netlink.h>
#include <sys/socket.h>
#include <unistd.h>

#include "programs/connect/peer.h"

static int listener;
static struct address own;
static struct peer_lookup lookup;

static int begin(void **state)
{
    struct address any;

    (void)state;
    lookup = PEER_LOOKUP_INIT;
    lookup.max_table_bytes = SIZE_MAX; /* other tests may have filled them */
    assert_int_equal(address_parse(STR("127.0.0.1:0"), &any), 0);
    assert_int_equal(address_listen(&any, NULL, &listener), 0);
    assert_int_equal(address_of(listener, &own), 0);
    return 0;
}

static int begin_with_tables_alone(void **state)
{
    int r = begin(state);

    lookup.has_only_tables = true;
    return r;
}

static int end(void **state)
{
    (void)state;
    close(listener);
    return 0;
}

/* The client's end of a connection, and where it comes from. */
static int connect_to_it(int family, struct address *out_address)
{
    struct sockaddr_in here = {.sin_family = AF_INET, .sin_port = htons(own.port)};
    struct sockaddr_in6 mapped = {.sin6_family = AF_INET6, .sin6_port = htons(own.port)};
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(inet_pton(AF_INET6, "::ffff:127.0.0.1", &mapped.sin6_addr), 1);
    if (family == AF_INET)
        assert_int_equal(connect(fd, (struct sockaddr *)&here, sizeof(here)), 0);
    else
        assert_int_equal(connect(fd, (struct sockaddr *)&mapped, sizeof(mapped)), 0);
    assert_int_equal(address_of(fd, out_address), 0);
    return fd;
}

static void the_owner_of_a_connection_is_found(void **state)
{
    struct address peer;
    uid_t uid = (uid_t)-1;
    int fd = connect_to_it(AF_INET, &peer);

    (void)state;
    assert_int_equal(peer_uid(&lookup, &peer, &own, &uid), 0);
    assert_int_equal(uid, geteuid());
    close(fd);
}

static void sockets_of_the_other_family_are_found_too(void **state)
{
    struct address peer;
    uid_t uid = (uid_t)-1;
    int fd;

    (void)state;
    fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        skip_because("there is no IPv6 here");
    close(fd);
    fd = connect_to_it(AF_INET6, &peer);
    assert_int_equal(peer_uid(&lookup, &peer, &own, &uid), 0);
    assert_int_equal(uid, geteuid());
    close(fd);
}

static void what_nobody_holds_is_nobodys(void **state)
{
    struct address peer;
    uid_t uid = (uid_t)-1;
    int fd = connect_to_it(AF_INET, &peer);

    (void)state;
    close(fd);
    assert_int_equal(peer_uid(&lookup, &peer, &own, &uid), ERR_NOT_FOUND);
    assert_int_equal(uid, (uid_t)-1);
}

static void another_port_is_another_connection(void **state)
{
    struct address peer;
    struct address other = own;
    uid_t uid;
    int fd = connect_to_it(AF_INET, &peer);

    (void)state;
    other.port ^= 1;
    assert_int_equal(peer_uid(&lookup, &peer, &other, &uid), ERR_NOT_FOUND);
    /* Our end of it is not the other's. */
    assert_int_equal(peer_uid(&lookup, &own, &own, &uid), ERR_NOT_FOUND);
    close(fd);
}

/* A connection that is gone may have come from where somebody listens now. */
static void who_listens_at_the_other_end_is_somebody_else(void **state)
{
    struct address peer = own;
    uid_t uid = (uid_t)-1;
    int other;

    (void)state;
    peer.port = 0;
    assert_int_equal(address_listen(&peer, NULL, &other), 0);
    assert_int_equal(address_of(other, &peer), 0);
    assert_int_equal(peer_uid(&lookup, &peer, &own, &uid), ERR_NOT_FOUND);
    assert_int_equal(uid, (uid_t)-1);
    close(other);
}

/* Kernels without these questions, and sandboxes around us, have tables. */
static bool answers_questions(void)
{
    const struct nlmsghdr nothing = {.nlmsg_len = sizeof(nothing), .nlmsg_type = NLMSG_NOOP};
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    bool is_taken = fd >= 0 && send(fd, &nothing, sizeof(nothing), 0) == (ssize_t)sizeof(nothing);

    if (fd >= 0)
        close(fd);
    return is_taken;
}

/* Other users can make the tables as long as they like. */
static void no_table_is_read_where_the_kernel_can_be_asked(void **state)
{
    struct address peer;
    uid_t uid = (uid_t)-1;
    int fd;

    (void)state;
    if (!answers_questions())
        skip_because("the kernel cannot be asked about one connection here");
    lookup.max_table_bytes = 0;
    fd = connect_to_it(AF_INET, &peer);
    assert_int_equal(peer_uid(&lookup, &peer, &own, &uid), 0);
    assert_int_equal(uid, geteuid());
    close(fd);
    assert_int_equal(peer_uid(&lookup, &peer, &own, &uid), ERR_NOT_FOUND);
    assert_false(lookup.has_only_tables);
}

static void what_stands_too_far_down_a_table_is_not_looked_for(void **state)
{
    struct address peer;
    uid_t uid = (uid_t)-1;
    int fd = connect_to_it(AF_INET, &peer);

    (void)state;
    lookup.max_table_bytes = 200; /* the names of the columns, and less than another line */
    assert_int_equal(peer_uid(&lookup, &peer, &own, &uid), ERR_TOO_LARGE);
    assert_int_equal(uid, (uid_t)-1);
    close(fd);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, begin, end)
#define TEST_OF_TABLES(function)                                                                   \
    {                                                                                              \
#function "_in_tables", function, begin_with_tables_alone, end, NULL                       \
    }

TEST_MAIN(TEST(the_owner_of_a_connection_is_found), TEST(sockets_of_the_other_family_are_found_too),
          TEST(what_nobody_holds_is_nobodys), TEST(another_port_is_another_connection),
          TEST(who_listens_at_the_other_end_is_somebody_else),
          TEST(no_table_is_read_where_the_kernel_can_be_asked),
          TEST_OF_TABLES(the_owner_of_a_connection_is_found),
          TEST_OF_TABLES(sockets_of_the_other_family_are_found_too),
          TEST_OF_TABLES(what_nobody_holds_is_nobodys),
          TEST_OF_TABLES(another_port_is_another_connection),
          TEST_OF_TABLES(who_listens_at_the_other_end_is_somebody_else),
          TEST_OF_TABLES(what_stands_too_far_down_a_table_is_not_looked_for))
