/* SPDX-License-Identifier: Apache-2.0 */
/* What a desktop portal may answer, rightly and wrongly. */
#include "test.h"

#include <string.h>

#include "bus_message.h"
#include "screen/portalresults.h"
#include "screen/sdbus.h"

static struct portalresults results;
static struct err err;

static int set_up(void **state)
{
    (void)state;
    if (!sdbus_load())
        return -1;
    return bus_message_open();
}

static int tear_down(void **state)
{
    (void)state;
    bus_message_close();
    return 0;
}

static int read_it(sd_bus_message *message)
{
    int r;

    assert_true(sd_bus_message_seal(message, 1, 0) >= 0);
    memset(&results, 0x55, sizeof(results));
    err = (struct err)ERR_INIT;
    r = portalresults_read(message, &results, &err);
    sd_bus_message_unref(message);
    return r;
}

#define appended(message, ...) assert_true(sd_bus_message_append(message, __VA_ARGS__) >= 0)

#define refused(...)                                                                               \
    do {                                                                                           \
        sd_bus_message *wrong_ = bus_message_new();                                                \
        appended(wrong_, __VA_ARGS__);                                                             \
        assert_int_equal(read_it(wrong_), ERR_INVALID_ARGUMENT);                                   \
        assert_string_equal(results.session, "");                                                  \
        assert_int_equal(results.stream_count, 0);                                                 \
    } while (false)

static void a_whole_answer_is_read(void **state)
{
    sd_bus_message *message = bus_message_new();

    (void)state;
    appended(message, "ua{sv}", 0, 5, "session_handle", "s", "/s/1", "devices", "u", 3, "unknown",
             "a{sv}", 1, "streams", "s", "x", "restore_token", "s", "abc-1", "streams", "a(ua{sv})",
             2, 7, 3, "size", "(ii)", 1920, 1080, "position", "(ii)", -1920, 0, "id", "s", "a", 8,
             0);
    assert_int_equal(read_it(message), 0);
    assert_int_equal(results.end, PORTALRESULTS_DONE);
    assert_string_equal(results.session, "/s/1");
    assert_int_equal(results.devices, 3);
    assert_string_equal(results.token, "abc-1");
    assert_int_equal(results.stream_count, 2);
    assert_int_equal(results.streams[0].node, 7);
    assert_true(results.streams[0].has_size && results.streams[0].has_position);
    assert_int_equal(results.streams[0].area.x, -1920);
    assert_int_equal(results.streams[0].area.height, 1080);
    assert_int_equal(results.streams[1].node, 8);
    assert_false(results.streams[1].has_size || results.streams[1].has_position);
}

static void a_refusal_has_no_values(void **state)
{
    sd_bus_message *message = bus_message_new();

    (void)state;
    appended(message, "ua{sv}", 1, 0);
    assert_int_equal(read_it(message), 0);
    assert_int_equal(results.end, PORTALRESULTS_REFUSED);
    assert_int_equal(results.stream_count, 0);
}

static void wrong_types_are_refused(void **state)
{
    (void)state;
    refused("s", "");
    refused("u", 0);
    refused("ia{sv}", 0, 0);
    refused("ua{ss}", 0, 0);
    refused("ua{sv}s", 0, 0, "more");
    refused("ua{sv}", 0, 1, "session_handle", "o", "/s");
    refused("ua{sv}", 0, 1, "session_handle", "u", 1);
    refused("ua{sv}", 0, 1, "devices", "s", "3");
    refused("ua{sv}", 0, 1, "devices", "v", "u", 3);
    refused("ua{sv}", 0, 1, "restore_token", "v", "s", "x");
    refused("ua{sv}", 0, 1, "streams", "a(us)", 1, 1, "x");
    refused("ua{sv}", 0, 2, "session_handle", "s", "/s/1", "streams", "a(ua{sv})", 1, 1, 1, "size",
            "(uu)", 1, 1);
    refused("ua{sv}", 0, 1, "streams", "a(ua{sv})", 1, 1, 1, "position", "s", "0,0");
}

static void numbers_out_of_range_are_refused(void **state)
{
    (void)state;
    refused("ua{sv}", 0, 1, "streams", "a(ua{sv})", 1, 1, 1, "size", "(ii)", 0, 10);
    refused("ua{sv}", 0, 1, "streams", "a(ua{sv})", 1, 1, 1, "size", "(ii)", 10, -1);
    refused("ua{sv}", 0, 1, "streams", "a(ua{sv})", 1, 1, 1, "size", "(ii)", 10, 1 << 20);
    refused("ua{sv}", 0, 1, "streams", "a(ua{sv})", 1, 1, 1, "position", "(ii)", INT32_MIN, 0);
    refused("ua{sv}", 0, 1, "streams", "a(ua{sv})", 1, 1, 1, "position", "(ii)", 0, INT32_MAX);
}

static void texts_have_limits(void **state)
{
    char text[PORTALRESULTS_TOKEN_BYTES + 1];

    (void)state;
    memset(text, 'x', sizeof(text));
    text[PORTALRESULTS_TOKEN_BYTES] = '\0';
    refused("ua{sv}", 0, 1, "restore_token", "s", text);
    refused("ua{sv}", 0, 1, "session_handle", "s", text);
    refused("ua{sv}", 0, 1, "restore_token", "s", "a b");
    refused("ua{sv}", 0, 1, "restore_token", "s", "a\n");
    refused("ua{sv}", 0, 1, "restore_token", "s", "\u00e9");
}

static void open_in(sd_bus_message *message, char kind, const char *type)
{
    assert_true(sd_bus_message_open_container(message, kind, type) >= 0);
}

static void close_all(sd_bus_message *message, int count)
{
    for (int i = 0; i < count; i++)
        assert_true(sd_bus_message_close_container(message) >= 0);
}

static int read_streams(int count)
{
    sd_bus_message *message = bus_message_new();

    appended(message, "u", 0);
    open_in(message, 'a', "{sv}");
    open_in(message, 'e', "sv");
    appended(message, "s", "streams");
    open_in(message, 'v', "a(ua{sv})");
    open_in(message, 'a', "(ua{sv})");
    for (int i = 0; i < count; i++)
        appended(message, "(ua{sv})", i, 0);
    close_all(message, 4);
    return read_it(message);
}

static int read_entries(int count)
{
    sd_bus_message *message = bus_message_new();

    appended(message, "u", 0);
    open_in(message, 'a', "{sv}");
    for (int i = 0; i < count; i++)
        appended(message, "{sv}", "unknown", "s", "x");
    close_all(message, 1);
    return read_it(message);
}

static void long_lists_are_refused(void **state)
{
    (void)state;
    assert_int_equal(read_streams(SCREEN_MAX_MONITORS), 0);
    assert_int_equal(results.stream_count, SCREEN_MAX_MONITORS);
    assert_int_equal(read_streams(SCREEN_MAX_MONITORS + 1), ERR_INVALID_ARGUMENT);
    assert_int_equal(read_streams(100000), ERR_INVALID_ARGUMENT);
    assert_int_equal(read_entries(64), 0);
    assert_int_equal(read_entries(65), ERR_INVALID_ARGUMENT);
    assert_int_equal(read_entries(100000), ERR_INVALID_ARGUMENT);
}

#define WITH_BUS(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

TEST_MAIN(WITH_BUS(a_whole_answer_is_read), WITH_BUS(a_refusal_has_no_values),
          WITH_BUS(wrong_types_are_refused), WITH_BUS(numbers_out_of_range_are_refused),
          WITH_BUS(texts_have_limits), WITH_BUS(long_lists_are_refused))
