/* SPDX-License-Identifier: Apache-2.0 */
#include "net/websocket/handshake.h"

#include <string.h>

#include "base/base64.h"
#include "base/rand.h"
#include "base/sha1.h"

enum { KEY_BYTES = 16 };

/* RFC 6455, 1.3: proves that the answer is to a WebSocket request and to this one. */
#define GUID "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"

struct headers {
    const struct wshandshake_header *items;
    size_t count;
};

/* Number of occurrences of a header; the value of the last. */
static size_t find(struct headers headers, struct str name, struct str *out_value)
{
    size_t count = 0;

    for (size_t i = 0; i < headers.count; i++) {
        if (!str_eq_nocase(headers.items[i].name, name))
            continue;
        *out_value = str_trim(headers.items[i].value);
        count++;
    }
    return count;
}

/* Whether a list header, in one line or in several, contains this item. */
static bool lists(struct headers headers, struct str name, struct str wanted)
{
    for (size_t i = 0; i < headers.count; i++) {
        struct str rest = headers.items[i].value;
        struct str part;

        if (!str_eq_nocase(headers.items[i].name, name))
            continue;
        while (str_cut(&rest, ',', &part))
            if (str_eq_nocase(str_trim(part), wanted))
                return true;
    }
    return false;
}

static bool is_upgrade(struct headers headers)
{
    return lists(headers, STR("Upgrade"), STR("websocket")) &&
           lists(headers, STR("Connection"), STR("upgrade"));
}

static bool is_base64(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+' ||
           c == '/';
}

/* Sixteen bytes in base64: 22 characters, the last with four bits that must be 0, and "==". */
static bool is_key(struct str key)
{
    if (key.len != WSHANDSHAKE_KEY_CHARS || !str_ends_with(key, STR("==")))
        return false;
    for (size_t i = 0; i < key.len - 2; i++)
        if (!is_base64(key.ptr[i]))
            return false;
    return memchr("AQgw", key.ptr[key.len - 3], 4) != NULL;
}

static void encode(struct str bytes, char *out_text, size_t chars)
{
    char room[WSHANDSHAKE_ACCEPT_CHARS + 1] = {0};
    struct buf text = {.data = room, .capacity = sizeof(room), .max = sizeof(room)};

    /* Both sizes are known and fit, so nothing is allocated. */
    if (base64_append(&text, bytes) == 0)
        memcpy(out_text, room, chars);
    out_text[chars] = '\0';
}

static void make_accept(struct str key, char out_accept[WSHANDSHAKE_ACCEPT_CHARS + 1])
{
    char joined[WSHANDSHAKE_KEY_CHARS + sizeof(GUID) - 1];
    uint8_t digest[SHA1_BYTES];

    memcpy(joined, key.ptr, WSHANDSHAKE_KEY_CHARS);
    memcpy(joined + WSHANDSHAKE_KEY_CHARS, GUID, sizeof(GUID) - 1);
    sha1((struct str){joined, sizeof(joined)}, digest);
    encode((struct str){(const char *)digest, sizeof(digest)}, out_accept,
           WSHANDSHAKE_ACCEPT_CHARS);
}

/* The client's first protocol that the server supports. */
static struct str choose_protocol(struct headers headers, const struct str *protocols, size_t count)
{
    for (size_t i = 0; i < headers.count; i++) {
        struct str rest = headers.items[i].value;
        struct str part;

        if (!str_eq_nocase(headers.items[i].name, STR("Sec-WebSocket-Protocol")))
            continue;
        while (str_cut(&rest, ',', &part))
            for (size_t k = 0; k < count; k++)
                if (str_eq(str_trim(part), protocols[k]))
                    return protocols[k];
    }
    return STR_EMPTY;
}

int wshandshake_accept(const struct wshandshake_request *request, const struct str *protocols,
                       size_t protocol_count, struct wshandshake_answer *out_answer,
                       struct err *err)
{
    struct headers headers = {request->headers, request->header_count};
    struct str version = STR_EMPTY;
    struct str key = STR_EMPTY;

    if (!str_eq(request->method, STR("GET")) || !request->is_http11)
        return err_set(err, ERR_WS_HANDSHAKE,
                       "a WebSocket handshake must be a GET request with HTTP/1.1");
    if (!is_upgrade(headers))
        return err_set(
            err, ERR_WS_HANDSHAKE,
            "a WebSocket handshake needs \"Upgrade: websocket\" and \"Connection: Upgrade\"");
    if (find(headers, STR("Sec-WebSocket-Version"), &version) != 1 || !str_eq(version, STR("13")))
        return err_set(err, ERR_WS_VERSION, "only WebSocket version 13 is supported");
    if (find(headers, STR("Sec-WebSocket-Key"), &key) != 1 || !is_key(key))
        return err_set(err, ERR_WS_HANDSHAKE,
                       "Sec-WebSocket-Key must appear once, with sixteen bytes in base64");
    make_accept(key, out_answer->accept);
    out_answer->protocol = choose_protocol(headers, protocols, protocol_count);
    return 0;
}

int wshandshake_write_answer(const struct wshandshake_answer *answer, struct buf *out_lines)
{
    int r = buf_printf(out_lines,
                       "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n",
                       answer->accept);

    if (r < 0 || answer->protocol.len == 0)
        return r;
    return buf_printf(out_lines, "Sec-WebSocket-Protocol: %.*s\r\n", STR_ARG(answer->protocol));
}

void wshandshake_make_key(char out_key[WSHANDSHAKE_KEY_CHARS + 1])
{
    char bytes[KEY_BYTES];

    rand_bytes(bytes, sizeof(bytes));
    encode((struct str){bytes, sizeof(bytes)}, out_key, WSHANDSHAKE_KEY_CHARS);
}

int wshandshake_write_request(const char *key, const struct str *protocols, size_t protocol_count,
                              struct buf *out_lines)
{
    int r = buf_printf(out_lines,
                       "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                       "Sec-WebSocket-Key: %s\r\n",
                       key);

    for (size_t i = 0; r == 0 && i < protocol_count; i++)
        r = buf_printf(out_lines, "%s%.*s", i == 0 ? "Sec-WebSocket-Protocol: " : ", ",
                       STR_ARG(protocols[i]));
    if (r == 0 && protocol_count > 0)
        r = buf_append_str(out_lines, STR("\r\n"));
    return r;
}

int wshandshake_check(int status, const struct wshandshake_header *headers, size_t header_count,
                      const char *key, const struct str *protocols, size_t protocol_count,
                      struct str *out_protocol, struct err *err)
{
    struct headers all = {headers, header_count};
    char wanted[WSHANDSHAKE_ACCEPT_CHARS + 1];
    struct str accept = STR_EMPTY;
    struct str protocol = STR_EMPTY;
    struct str ignored;
    size_t protocol_headers;

    if (status != 101)
        return err_set(
            err, ERR_WS_HANDSHAKE,
            "the server responded with %d, not 101: there is no WebSocket at this address", status);
    if (!is_upgrade(all))
        return err_set(err, ERR_WS_HANDSHAKE, "the server did not switch to WebSocket");
    make_accept(str_from(key), wanted);
    if (find(all, STR("Sec-WebSocket-Accept"), &accept) != 1 || !str_eq_c(accept, wanted))
        return err_set(err, ERR_WS_HANDSHAKE,
                       "the server responded to another request: there may be a cache in between");
    if (find(all, STR("Sec-WebSocket-Extensions"), &ignored) > 0)
        return err_set(err, ERR_WS_HANDSHAKE, "the server chose an extension that was not offered");
    protocol_headers = find(all, STR("Sec-WebSocket-Protocol"), &protocol);
    if (protocol_headers == 0) {
        *out_protocol = STR_EMPTY;
        return 0;
    }
    for (size_t i = 0; protocol_headers == 1 && i < protocol_count; i++) {
        if (str_eq(protocol, protocols[i])) {
            *out_protocol = protocols[i];
            return 0;
        }
    }
    return err_set(err, ERR_WS_HANDSHAKE, "the server chose a protocol that was not offered");
}
