/* SPDX-License-Identifier: Apache-2.0 */
/* Signed tickets open what they were made for, and nothing else. */
#include "programs/sandboxd/tickets.h"

#include "test.h"

#define A   "00112233-4455-4677-8899-aabbccddeeff"
#define B   "00112233-4455-4677-8899-aabbccddeefe"
#define NOW INT64_C(1800000000)

static const struct sandboxstore_sandbox a = {.id = A, .owner = "one", .created_s = NOW};
/* Not the same: another id, owner or creation. */
static const struct sandboxstore_sandbox others_than_a[] = {
    {.id = B, .owner = "one", .created_s = NOW},
    {.id = A, .owner = "another", .created_s = NOW},
    {.id = A, .owner = "", .created_s = NOW},
    {.id = A, .owner = "one", .created_s = NOW + 1},
};
static struct tickets tickets;

static int make(void **state)
{
    (void)state;
    tickets_init(&tickets, STR("sba_administrator"));
    return 0;
}

static void a_sandboxs_ticket_is_for_it_alone_and_lasts(void **state)
{
    char ticket[TICKETS_SANDBOX_BYTES];
    struct tickets others;

    (void)state;
    tickets_for_sandbox(&tickets, &a, ticket);
    assert_true(tickets_open_sandbox(&tickets, str_from(ticket), &a));
    for (size_t i = 0; i < array_size(others_than_a); i++)
        assert_false(tickets_open_sandbox(&tickets, str_from(ticket), &others_than_a[i]));
    assert_false(tickets_open_sandbox(&tickets, STR(""), &a));
    assert_false(tickets_open_sandbox(&tickets, str_slice(str_from(ticket), 0, 31), &a));
    tickets_init(&others, STR("sba_administrator"));
    assert_true(tickets_open_sandbox(&others, str_from(ticket), &a));
    tickets_init(&others, STR("sba_another"));
    assert_false(tickets_open_sandbox(&others, str_from(ticket), &a));
}

static void a_toolboxs_ticket_is_none_for_ports(void **state)
{
    char toolbox[TICKETS_SANDBOX_BYTES];
    char ports[TICKETS_SANDBOX_BYTES];

    (void)state;
    tickets_for_toolbox(&tickets, &a, toolbox);
    tickets_for_sandbox(&tickets, &a, ports);
    assert_true(tickets_open_toolbox(&tickets, str_from(toolbox), &a));
    for (size_t i = 0; i < array_size(others_than_a); i++)
        assert_false(tickets_open_toolbox(&tickets, str_from(toolbox), &others_than_a[i]));
    assert_false(tickets_open_toolbox(&tickets, str_from(ports), &a));
    assert_false(tickets_open_sandbox(&tickets, str_from(toolbox), &a));
}

static void a_ports_ticket_is_for_it_alone_and_for_a_time(void **state)
{
    char ticket[TICKETS_PORT_BYTES];
    char sandbox[SANDBOXSTORE_ID_BYTES];
    int64_t until_s;
    struct tickets others;

    (void)state;
    tickets_for_port(&tickets, &a, 3000, NOW + 60, ticket);
    assert_int_equal(strspn(ticket, "abcdefghijklmnopqrstuvwxyz234567"), 55);
    assert_true(tickets_read_sandbox(str_from(ticket), sandbox));
    assert_string_equal(sandbox, A);
    assert_true(tickets_open_port(&tickets, str_from(ticket), &a, 3000, NOW + 59, &until_s));
    assert_int_equal(until_s, NOW + 60);
    assert_false(tickets_open_port(&tickets, str_from(ticket), &a, 3000, NOW + 60, &until_s));
    assert_false(tickets_open_port(&tickets, str_from(ticket), &a, 3001, NOW, &until_s));
    for (size_t i = 0; i < array_size(others_than_a); i++)
        assert_false(
            tickets_open_port(&tickets, str_from(ticket), &others_than_a[i], 3000, NOW, &until_s));
    tickets_init(&others, STR("sba_administrator"));
    assert_false(tickets_open_port(&others, str_from(ticket), &a, 3000, NOW, &until_s));
}

static void no_changed_character_passes(void **state)
{
    char ticket[TICKETS_PORT_BYTES];
    int64_t until_s;

    (void)state;
    tickets_for_port(&tickets, &a, 3000, NOW + 60, ticket);
    for (size_t i = 0; i < sizeof(ticket) - 1; i++)
        for (int c = 0; c < 256; c++) {
            char changed[TICKETS_PORT_BYTES];

            memcpy(changed, ticket, sizeof(changed));
            if (changed[i] == (char)c)
                continue;
            changed[i] = (char)c;
            assert_false(tickets_open_port(&tickets, (struct str){changed, sizeof(changed) - 1}, &a,
                                           3000, NOW, &until_s));
        }
    assert_false(
        tickets_open_port(&tickets, str_slice(str_from(ticket), 0, 54), &a, 3000, NOW, &until_s));
    assert_false(tickets_open_port(&tickets, STR(""), &a, 3000, NOW, &until_s));
}

static void a_storages_ticket_names_its_owner(void **state)
{
    char ticket[TICKETS_STORAGE_BYTES];
    char owner[SANDBOXSTORE_ID_BYTES] = "";

    (void)state;
    tickets_for_storage(&tickets, A, NOW + 60, ticket);
    assert_true(tickets_open_storage(&tickets, str_from(ticket), NOW, owner));
    assert_string_equal(owner, A);
    assert_false(tickets_open_storage(&tickets, str_from(ticket), NOW + 60, owner));
    ticket[0] = '1';
    assert_false(tickets_open_storage(&tickets, str_from(ticket), NOW, owner));
    tickets_for_storage(&tickets, "", NOW + 60, ticket);
    assert_true(tickets_open_storage(&tickets, str_from(ticket), NOW, owner));
    assert_string_equal(owner, "");
    assert_false(tickets_open_storage(&tickets, STR(".9999999999.00"), NOW, owner));
    assert_false(tickets_open_storage(&tickets, STR(""), NOW, owner));
    assert_false(tickets_open_storage(&tickets, STR("a.b.c"), NOW, owner));
}

static void a_key_for_files_is_for_one_sandbox_of_one_owner(void **state)
{
    const struct sandboxstore_sandbox sandbox = {.id = A, .owner = "one", .created_s = NOW};
    struct sandboxstore_sandbox others[] = {sandbox, sandbox, sandbox};
    char key[TICKETS_FILES_BYTES];
    char other[TICKETS_FILES_BYTES];
    struct tickets later;

    (void)state;
    tickets_for_files(&tickets, &sandbox, STR(""), key);
    assert_int_equal(strlen(key), 64);
    tickets_init(&later, STR("sba_administrator"));
    tickets_for_files(&later, &sandbox, STR(""), other);
    assert_string_equal(key, other);
    snprintf(others[0].id, sizeof(others[0].id), "%s", B);
    snprintf(others[1].owner, sizeof(others[1].owner), "another");
    others[2].created_s++;
    for (size_t i = 0; i < array_size(others); i++) {
        tickets_for_files(&tickets, &others[i], STR(""), other);
        assert_string_not_equal(key, other);
    }
    tickets_for_files(&tickets, &sandbox, STR("salt"), other);
    assert_string_not_equal(key, other);
    tickets_init(&later, STR("sba_another"));
    tickets_for_files(&later, &sandbox, STR(""), other);
    assert_string_not_equal(key, other);
}

TEST_MAIN(cmocka_unit_test_setup(a_sandboxs_ticket_is_for_it_alone_and_lasts, make),
          cmocka_unit_test_setup(a_toolboxs_ticket_is_none_for_ports, make),
          cmocka_unit_test_setup(a_ports_ticket_is_for_it_alone_and_for_a_time, make),
          cmocka_unit_test_setup(no_changed_character_passes, make),
          cmocka_unit_test_setup(a_storages_ticket_names_its_owner, make),
          cmocka_unit_test_setup(a_key_for_files_is_for_one_sandbox_of_one_owner, make))
