/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reader of a desktop portal's answers: bytes say how a message is built, with the names and
 * types that the reader looks for, and others.
 */
#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "../support/bus_message.h"
#include "screen/portalresults.h"
#include "screen/sdbus.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const names[] = {
    "session_handle", "devices", "restore_token", "streams", "position", "size", "id", ""};

struct source {
    const uint8_t *data;
    size_t size;
};

static uint8_t next(struct source *source)
{
    if (source->size == 0)
        return 0;
    source->size--;
    return *source->data++;
}

static int32_t next_number(struct source *source)
{
    uint8_t at = next(source);

    return at < 0x80 ? at - 0x10 : (int32_t)((uint32_t)at << 24 | (uint32_t)next(source) << 12);
}

/* Visible characters mostly: sd-bus takes only valid UTF-8. */
static const char *next_text(struct source *source, char out[1024])
{
    size_t len = next(source) * (size_t)4;
    uint8_t first = next(source) & 0x7F;

    memset(out, first != 0 ? first : 'x', len);
    out[len] = '\0';
    return out;
}

static void put_table(sd_bus_message *message, struct source *source, int depth);

static void put_streams(sd_bus_message *message, struct source *source, int depth)
{
    (void)sd_bus_message_open_container(message, 'a', "(ua{sv})");
    for (int i = next(source) % 20; i > 0; i--) {
        (void)sd_bus_message_open_container(message, 'r', "ua{sv}");
        (void)sd_bus_message_append(message, "u", (uint32_t)next(source));
        put_table(message, source, depth + 1);
        (void)sd_bus_message_close_container(message);
    }
    (void)sd_bus_message_close_container(message);
}

static void put_value(sd_bus_message *message, struct source *source, int depth)
{
    char text[1024];

    switch (next(source) % 6) {
    case 0:
        (void)sd_bus_message_append(message, "v", "s", next_text(source, text));
        break;
    case 1:
        (void)sd_bus_message_append(message, "v", "u", (uint32_t)next_number(source));
        break;
    case 2:
        (void)sd_bus_message_append(message, "v", "(ii)", next_number(source), next_number(source));
        break;
    case 3:
        (void)sd_bus_message_append(message, "v", "o", "/o");
        break;
    case 4:
        (void)sd_bus_message_append(message, "v", "v", "u", 1);
        break;
    default:
        (void)sd_bus_message_open_container(message, 'v', "a(ua{sv})");
        if (depth < 3) {
            put_streams(message, source, depth);
        } else {
            (void)sd_bus_message_append(message, "a(ua{sv})", 0);
        }
        (void)sd_bus_message_close_container(message);
    }
}

static void put_table(sd_bus_message *message, struct source *source, int depth)
{
    (void)sd_bus_message_open_container(message, 'a', "{sv}");
    for (int i = next(source) % 80; i > 0; i--) {
        (void)sd_bus_message_open_container(message, 'e', "sv");
        (void)sd_bus_message_append(message, "s", names[next(source) % 8]);
        put_value(message, source, depth);
        (void)sd_bus_message_close_container(message);
        if (source->size == 0)
            break;
    }
    (void)sd_bus_message_close_container(message);
}

static bool is_sound(const struct portalresults *results)
{
    for (int i = 0; i < results->stream_count; i++) {
        const struct portalresults_stream *stream = &results->streams[i];

        if (stream->has_size && (stream->area.width <= 0 || stream->area.height <= 0))
            return false;
    }
    return results->stream_count <= SCREEN_MAX_MONITORS &&
           memchr(results->session, '\0', sizeof(results->session)) != NULL &&
           memchr(results->token, '\0', sizeof(results->token)) != NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct source source = {data, size};
    struct portalresults results;
    sd_bus_message *message;

    if (bus_message_bus == NULL && (!sdbus_load() || bus_message_open() < 0))
        return 0;
    message = bus_message_new();
    (void)sd_bus_message_append(message, "u", (uint32_t)next(&source));
    put_table(message, &source, 0);
    if (sd_bus_message_seal(message, 1, 0) >= 0) {
        (void)portalresults_read(message, &results, NULL);
        assert(is_sound(&results));
    }
    sd_bus_message_unref(message);
    return 0;
}
