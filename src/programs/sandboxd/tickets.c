/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/sandboxd/tickets.h"

#include <stdio.h>
#include <string.h>

#include "base/hex.h"
#include "base/rand.h"
#include "base/secret.h"

enum {
    SHORT_MAC_BYTES = 16,
    UUID_BYTES = 16,
    UUID_CHARS = 36,
    /* Of a port's ticket: the sandbox, the time in seconds, and a signature. */
    TIME_AT = UUID_BYTES,
    TIME_BYTES = 4,
    MAC_AT = TIME_AT + TIME_BYTES,
    PORT_MAC_BYTES = 14,
    PORT_RAW_BYTES = MAC_AT + PORT_MAC_BYTES,
    PORT_CHARS = TICKETS_PORT_BYTES - 1,
    BASE32_BITS = 5,
};

_Static_assert((PORT_RAW_BYTES * 8 + BASE32_BITS - 1) / BASE32_BITS == PORT_CHARS,
               "the length of a port's ticket");

static const char alphabet[] = "abcdefghijklmnopqrstuvwxyz234567";

void tickets_init(struct tickets *tickets, struct str admin_key)
{
    struct hmac mac;

    hmac_init(&mac, admin_key);
    hmac_add_part(&mac, STR("tickets of sandboxes"));
    hmac_end(&mac, tickets->lasting);
    rand_bytes(tickets->passing, sizeof(tickets->passing));
}

void tickets_done(struct tickets *tickets)
{
    secret_wipe(tickets, sizeof(*tickets));
}

/* What it is for comes first, so that no ticket passes for one of another kind. */
static void sign(const unsigned char key[SHA256_BYTES], struct str kind, struct str subject,
                 int64_t number, int64_t until_s, unsigned char out_mac[SHA256_BYTES])
{
    char numbers[64];
    struct hmac mac;

    snprintf(numbers, sizeof(numbers), "%lld %lld", (long long)number, (long long)until_s);
    hmac_init(&mac, (struct str){(const char *)key, SHA256_BYTES});
    hmac_add_part(&mac, kind);
    hmac_add_part(&mac, subject);
    hmac_add_part(&mac, str_from(numbers));
    hmac_end(&mac, out_mac);
}

/* ---- sandboxes ---- */

/* An id and a time have no spaces. */
static void sign_sandbox(const unsigned char key[SHA256_BYTES], struct str kind,
                         const struct sandboxstore_sandbox *sandbox, int64_t number,
                         int64_t until_s, unsigned char out_mac[SHA256_BYTES])
{
    char subject[sizeof(sandbox->id) + sizeof(sandbox->owner) + 32];

    snprintf(subject, sizeof(subject), "%s %lld %s", sandbox->id, (long long)sandbox->created_s,
             sandbox->owner);
    sign(key, kind, str_from(subject), number, until_s, out_mac);
}

static void make_lasting(const struct tickets *tickets, struct str kind,
                         const struct sandboxstore_sandbox *sandbox,
                         char out_ticket[TICKETS_SANDBOX_BYTES])
{
    unsigned char mac[SHA256_BYTES];

    sign_sandbox(tickets->lasting, kind, sandbox, 0, 0, mac);
    hex_text(out_ticket, mac, SHORT_MAC_BYTES);
}

static bool is_lasting(const struct tickets *tickets, struct str kind,
                       const struct sandboxstore_sandbox *sandbox, struct str ticket)
{
    char expected[TICKETS_SANDBOX_BYTES];

    make_lasting(tickets, kind, sandbox, expected);
    return ticket.len == sizeof(expected) - 1 &&
           secret_bytes_eq(ticket.ptr, expected, sizeof(expected) - 1);
}

void tickets_for_sandbox(const struct tickets *tickets, const struct sandboxstore_sandbox *sandbox,
                         char out_ticket[TICKETS_SANDBOX_BYTES])
{
    make_lasting(tickets, STR("sandbox"), sandbox, out_ticket);
}

bool tickets_open_sandbox(const struct tickets *tickets, struct str ticket,
                          const struct sandboxstore_sandbox *sandbox)
{
    return is_lasting(tickets, STR("sandbox"), sandbox, ticket);
}

void tickets_for_toolbox(const struct tickets *tickets, const struct sandboxstore_sandbox *sandbox,
                         char out_ticket[TICKETS_SANDBOX_BYTES])
{
    make_lasting(tickets, STR("toolbox"), sandbox, out_ticket);
}

bool tickets_open_toolbox(const struct tickets *tickets, struct str ticket,
                          const struct sandboxstore_sandbox *sandbox)
{
    return is_lasting(tickets, STR("toolbox"), sandbox, ticket);
}

/* ---- ports ---- */

static void write_base32(const unsigned char bytes[PORT_RAW_BYTES], char out_text[PORT_CHARS + 1])
{
    unsigned held = 0;
    unsigned bits = 0;
    size_t at = 0;

    for (size_t i = 0; i < PORT_RAW_BYTES; i++) {
        held = (held << 8 | bytes[i]) & 0xffff;
        for (bits += 8; bits >= BASE32_BITS; bits -= BASE32_BITS)
            out_text[at++] = alphabet[(held >> (bits - BASE32_BITS)) & 31];
    }
    if (bits > 0)
        out_text[at++] = alphabet[(held << (BASE32_BITS - bits)) & 31];
    out_text[at] = '\0';
}

/* One text stands for the bytes: the bits that are left over must be zero. */
static bool read_base32(struct str text, unsigned char out_bytes[PORT_RAW_BYTES])
{
    unsigned held = 0;
    unsigned bits = 0;
    size_t at = 0;

    if (text.len != PORT_CHARS)
        return false;
    for (size_t i = 0; i < text.len; i++) {
        const char *found = text.ptr[i] != '\0' ? strchr(alphabet, text.ptr[i]) : NULL;

        if (found == NULL)
            return false;
        held = (held << BASE32_BITS | (unsigned)(found - alphabet)) & 0xffff;
        bits += BASE32_BITS;
        if (bits >= 8) {
            bits -= 8;
            out_bytes[at++] = (unsigned char)(held >> bits);
        }
    }
    return at == PORT_RAW_BYTES && (held & ((1U << bits) - 1)) == 0;
}

static bool read_uuid(const char *text, unsigned char out_bytes[UUID_BYTES])
{
    size_t at = 0;

    if (strlen(text) != UUID_CHARS)
        return false;
    for (size_t i = 0; i < UUID_CHARS; i += 2) {
        int byte;

        if (text[i] == '-')
            i++;
        byte = at < UUID_BYTES ? hex_byte((struct str){text, UUID_CHARS}, i) : -1;
        if (byte < 0)
            return false;
        out_bytes[at++] = (unsigned char)byte;
    }
    return at == UUID_BYTES;
}

static void write_uuid(const unsigned char bytes[UUID_BYTES], char out_text[SANDBOXSTORE_ID_BYTES])
{
    char digits[UUID_BYTES * 2 + 1];

    hex_text(digits, bytes, UUID_BYTES);
    snprintf(out_text, SANDBOXSTORE_ID_BYTES, "%.8s-%.4s-%.4s-%.4s-%.12s", digits, digits + 8,
             digits + 12, digits + 16, digits + 20);
}

void tickets_for_port(const struct tickets *tickets, const struct sandboxstore_sandbox *sandbox,
                      uint16_t port, int64_t until_s, char out_ticket[TICKETS_PORT_BYTES])
{
    unsigned char raw[PORT_RAW_BYTES] = {0};
    unsigned char mac[SHA256_BYTES];
    const uint32_t until = (uint32_t)until_s;

    (void)read_uuid(sandbox->id, raw); /* ids of sandboxes are */
    for (size_t i = 0; i < TIME_BYTES; i++)
        raw[TIME_AT + i] = (unsigned char)(until >> (8 * (TIME_BYTES - 1 - i)));
    sign_sandbox(tickets->passing, STR("port"), sandbox, port, until, mac);
    memcpy(raw + MAC_AT, mac, PORT_MAC_BYTES);
    write_base32(raw, out_ticket);
}

bool tickets_read_sandbox(struct str ticket, char out_sandbox[SANDBOXSTORE_ID_BYTES])
{
    unsigned char raw[PORT_RAW_BYTES];

    if (!read_base32(ticket, raw))
        return false;
    write_uuid(raw, out_sandbox);
    return true;
}

bool tickets_open_port(const struct tickets *tickets, struct str ticket,
                       const struct sandboxstore_sandbox *sandbox, uint16_t port, int64_t now_s,
                       int64_t *out_until_s)
{
    char expected[TICKETS_PORT_BYTES];
    unsigned char raw[PORT_RAW_BYTES];
    uint32_t until = 0;

    if (!read_base32(ticket, raw))
        return false;
    for (size_t i = 0; i < TIME_BYTES; i++)
        until = until << 8 | raw[TIME_AT + i];
    tickets_for_port(tickets, sandbox, port, until, expected);
    if (!secret_bytes_eq(ticket.ptr, expected, PORT_CHARS) || (int64_t)until <= now_s)
        return false;
    *out_until_s = until;
    return true;
}

/* ---- storage ---- */

void tickets_for_storage(const struct tickets *tickets, const char *owner, int64_t until_s,
                         char out_ticket[TICKETS_STORAGE_BYTES])
{
    unsigned char mac[SHA256_BYTES];
    char digits[SHORT_MAC_BYTES * 2 + 1];

    sign(tickets->passing, STR("storage"), str_from(owner), 0, until_s, mac);
    hex_text(digits, mac, SHORT_MAC_BYTES);
    snprintf(out_ticket, TICKETS_STORAGE_BYTES, "%s.%lld.%s", owner, (long long)until_s, digits);
}

bool tickets_open_storage(const struct tickets *tickets, struct str ticket, int64_t now_s,
                          char out_owner[SANDBOXSTORE_ID_BYTES])
{
    char expected[TICKETS_STORAGE_BYTES];
    char owner[SANDBOXSTORE_ID_BYTES];
    struct str rest = ticket;
    struct str name;
    struct str time;
    int64_t until_s;

    if (!str_cut(&rest, '.', &name) || name.len >= sizeof(owner) || !str_cut(&rest, '.', &time) ||
        !str_to_int64(time, &until_s) || until_s <= now_s)
        return false;
    snprintf(owner, sizeof(owner), "%.*s", STR_ARG(name));
    tickets_for_storage(tickets, owner, until_s, expected);
    if (ticket.len != strlen(expected) || !secret_bytes_eq(ticket.ptr, expected, ticket.len))
        return false;
    memcpy(out_owner, owner, sizeof(owner));
    return true;
}

/* ---- files ---- */

void tickets_for_files(const struct tickets *tickets, const struct sandboxstore_sandbox *sandbox,
                       struct str salt, char out_key[TICKETS_FILES_BYTES])
{
    unsigned char digest[SHA256_BYTES];
    char created[32];
    struct hmac mac;

    snprintf(created, sizeof(created), "%lld", (long long)sandbox->created_s);
    hmac_init(&mac, (struct str){(const char *)tickets->lasting, SHA256_BYTES});
    hmac_add_part(&mac, STR("files"));
    hmac_add_part(&mac, str_from(sandbox->id));
    hmac_add_part(&mac, str_from(sandbox->owner));
    hmac_add_part(&mac, str_from(created));
    hmac_add_part(&mac, salt);
    hmac_end(&mac, digest);
    hex_text(out_key, digest, sizeof(digest));
    secret_wipe(digest, sizeof(digest));
}
