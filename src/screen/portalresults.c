/* SPDX-License-Identifier: Apache-2.0 */
#include "screen/portalresults.h"

#include <string.h>

#include "base/cleanup.h"
#include "screen/sdbus.h"

enum { MAX_ENTRIES = 64, MAX_PLACE = 1 << 20, MAX_SIDE = 1 << 15 };

/* Negative: of sd-bus, or -1 for what it lets pass and we do not. */
typedef int read_value_fn(sd_bus_message *message, void *to);

struct known {
    const char *name;
    const char *type;
    read_value_fn *read;
};

/* Reads one entry's value; an unknown name's is skipped, and a wrong type is an error. */
static int read_entry(sd_bus_message *message, const struct known *known, size_t count, void *to)
{
    const char *name = NULL;
    const char *type = NULL;
    int r = sdbus.sd_bus_message_read(message, "s", &name);

    if (r <= 0)
        return -1;
    for (size_t i = 0; i < count; i++) {
        if (strcmp(name, known[i].name) != 0)
            continue;
        if (sdbus.sd_bus_message_peek_type(message, NULL, &type) <= 0 || type == NULL ||
            strcmp(type, known[i].type) != 0 ||
            sdbus.sd_bus_message_enter_container(message, 'v', type) <= 0 ||
            known[i].read(message, to) < 0)
            return -1;
        return sdbus.sd_bus_message_exit_container(message);
    }
    return sdbus.sd_bus_message_skip(message, "v");
}

static int read_table(sd_bus_message *message, const struct known *known, size_t count, void *to)
{
    int entries = 0;
    int r = sdbus.sd_bus_message_enter_container(message, 'a', "{sv}");

    if (r < 0)
        return r;
    while ((r = sdbus.sd_bus_message_enter_container(message, 'e', "sv")) > 0) {
        if (++entries > MAX_ENTRIES || read_entry(message, known, count, to) < 0 ||
            sdbus.sd_bus_message_exit_container(message) < 0)
            return -1;
    }
    return r < 0 ? r : sdbus.sd_bus_message_exit_container(message);
}

static int read_text(sd_bus_message *message, const char *type, char *out, size_t size)
{
    const char *text = NULL;

    if (sdbus.sd_bus_message_read(message, type, &text) <= 0 || strlen(text) >= size)
        return -1;
    memcpy(out, text, strlen(text) + 1);
    return 0;
}

/* ---- streams ---- */

static int read_pair(sd_bus_message *message, int low, int high, int *out_a, int *out_b)
{
    int32_t a = 0;
    int32_t b = 0;

    if (sdbus.sd_bus_message_read(message, "(ii)", &a, &b) <= 0 || a < low || b < low || a > high ||
        b > high)
        return -1;
    *out_a = a;
    *out_b = b;
    return 0;
}

static int read_position(sd_bus_message *message, void *to)
{
    struct portalresults_stream *stream = to;

    stream->has_position = true;
    return read_pair(message, -MAX_PLACE, MAX_PLACE, &stream->area.x, &stream->area.y);
}

static int read_size(sd_bus_message *message, void *to)
{
    struct portalresults_stream *stream = to;

    stream->has_size = true;
    return read_pair(message, 1, MAX_SIDE, &stream->area.width, &stream->area.height);
}

static int read_streams(sd_bus_message *message, void *to)
{
    static const struct known known[] = {
        {"position", "(ii)", read_position},
        {"size", "(ii)", read_size},
    };
    struct portalresults *results = to;
    int r = sdbus.sd_bus_message_enter_container(message, 'a', "(ua{sv})");

    if (r < 0)
        return r;
    results->stream_count = 0;
    while ((r = sdbus.sd_bus_message_enter_container(message, 'r', "ua{sv}")) > 0) {
        struct portalresults_stream stream = {0};

        if (results->stream_count == SCREEN_MAX_MONITORS ||
            sdbus.sd_bus_message_read(message, "u", &stream.node) <= 0 ||
            read_table(message, known, array_size(known), &stream) < 0 ||
            sdbus.sd_bus_message_exit_container(message) < 0)
            return -1;
        results->streams[results->stream_count++] = stream;
    }
    return r < 0 ? r : sdbus.sd_bus_message_exit_container(message);
}

/* ---- the table ---- */

static int read_session(sd_bus_message *message, void *to)
{
    struct portalresults *results = to;

    return read_text(message, "s", results->session, sizeof(results->session));
}

static int read_devices(sd_bus_message *message, void *to)
{
    struct portalresults *results = to;

    return sdbus.sd_bus_message_read(message, "u", &results->devices);
}

/* It is kept in a file: nothing but visible characters. */
static int read_token(sd_bus_message *message, void *to)
{
    struct portalresults *results = to;
    int r = read_text(message, "s", results->token, sizeof(results->token));

    for (const char *c = results->token; *c != '\0' && r == 0; c++)
        if (*c <= ' ' || *c > '~')
            r = -1;
    return r;
}

int portalresults_read(sd_bus_message *message, struct portalresults *out_results, struct err *err)
{
    static const struct known known[] = {
        {"session_handle", "s", read_session},
        {"devices", "u", read_devices},
        {"restore_token", "s", read_token},
        {"streams", "a(ua{sv})", read_streams},
    };
    struct portalresults results = {0};
    const char *type = sdbus.sd_bus_message_get_signature(message, 1);

    *out_results = results;
    if (type == NULL || strcmp(type, "ua{sv}") != 0 ||
        sdbus.sd_bus_message_rewind(message, 1) < 0 ||
        sdbus.sd_bus_message_read(message, "u", &results.end) <= 0 ||
        read_table(message, known, array_size(known), &results) < 0)
        return err_set(err, ERR_INVALID_ARGUMENT,
                       "the desktop portal's answer is not what its interface says");
    *out_results = results;
    return 0;
}
