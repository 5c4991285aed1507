/* SPDX-License-Identifier: Apache-2.0 */
#include "transfer/place.h"

#include <arpa/inet.h>
#include <string.h>

#include "base/hex.h"

static const struct {
    struct str name;
    uint16_t port;
} protocols[TRANSFER_PROTOCOL_END] = {
    [TRANSFER_FTP] = {STR_LITERAL("ftp"), 21},
    [TRANSFER_SFTP] = {STR_LITERAL("sftp"), 22},
    [TRANSFER_SSH] = {STR_LITERAL("ssh"), 22},
};

const char *transfer_protocol_name(enum transfer_protocol protocol)
{
    return protocols[protocol].name.ptr;
}

/* ---- hosts ---- */

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Labels of letters, digits and hyphens; the last has a letter, so that it is no odd address. */
static bool is_name(struct str host)
{
    struct str label;
    bool has_letter = false;

    while (str_cut(&host, '.', &label)) {
        has_letter = false;
        if (label.len == 0 || label.len > 63 || label.ptr[0] == '-' ||
            label.ptr[label.len - 1] == '-')
            return false;
        for (size_t i = 0; i < label.len; i++) {
            if (!is_letter(label.ptr[i]) && !is_digit(label.ptr[i]) && label.ptr[i] != '-')
                return false;
            has_letter = has_letter || is_letter(label.ptr[i]);
        }
        /* 0x7f.1 has one, too: the C library would take it for an address. */
        if (label.len > 1 && label.ptr[0] == '0' && (label.ptr[1] == 'x' || label.ptr[1] == 'X'))
            return false;
    }
    return has_letter;
}

/* In the spelling that the system itself uses: of several, only one. */
bool transfer_is_address(const char *host)
{
    unsigned char bytes[sizeof(struct in6_addr)];
    char again[INET6_ADDRSTRLEN];
    int family = strchr(host, ':') != NULL ? AF_INET6 : AF_INET;
    static const unsigned char mapped[12] = {[10] = 0xff, [11] = 0xff};

    if (inet_pton(family, host, bytes) != 1 ||
        inet_ntop(family, bytes, again, sizeof(again)) == NULL || strcmp(again, host) != 0)
        return false;
    return family == AF_INET || memcmp(bytes, mapped, sizeof(mapped)) != 0;
}

bool transfer_is_host(struct str host)
{
    char text[TRANSFER_HOST_BYTES];

    if (host.len == 0 || host.len >= sizeof(text) || str_has_nul(host))
        return false;
    for (size_t i = 0; i < host.len; i++) {
        if (host.ptr[i] >= 'A' && host.ptr[i] <= 'Z')
            return false;
        text[i] = host.ptr[i];
    }
    text[host.len] = '\0';
    return transfer_is_address(text) || is_name(host);
}

static int set_host(struct transfer_place *place, struct str host, bool is_bracketed,
                    struct err *err)
{
    if (host.len >= sizeof(place->host))
        return err_set(err, ERR_INVALID_ARGUMENT, "the host's name is too long");
    for (size_t i = 0; i < host.len; i++) {
        char c = host.ptr[i];

        place->host[i] = (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    }
    place->host[host.len] = '\0';
    place->is_address = !str_has_nul(host) && transfer_is_address(place->host);
    if (!transfer_is_host((struct str){place->host, host.len}) ||
        is_bracketed != (place->is_address && strchr(place->host, ':') != NULL))
        return err_set(err, ERR_INVALID_ARGUMENT,
                       "the URL needs a host: a name, or an address in its usual spelling");
    return 0;
}

/* ---- the rest ---- */

static int set_port(struct transfer_place *place, struct str text, struct err *err)
{
    int64_t number = 0;

    if (text.len == 0) {
        place->port = protocols[place->protocol].port;
        return 0;
    }
    text = str_slice(text, 1, text.len);
    if (text.len == 0 || text.ptr[0] == '0' || !str_to_int64(text, &number) || number < 1 ||
        number > UINT16_MAX || !is_digit(text.ptr[0]))
        return err_set(err, ERR_INVALID_ARGUMENT, "the URL's port must be a number up to 65535");
    place->port = (uint16_t)number;
    return 0;
}

static int set_server(struct transfer_place *place, struct str server, struct err *err)
{
    const char *end =
        server.len > 0 && server.ptr[0] == '[' ? memchr(server.ptr, ']', server.len) : NULL;
    const char *colon = end == NULL && server.len > 0 ? memchr(server.ptr, ':', server.len) : NULL;
    struct str host = server;
    struct str port = STR_EMPTY;
    int r;

    if (server.len > 0 && memchr(server.ptr, '@', server.len) != NULL)
        return err_set(err, ERR_INVALID_ARGUMENT,
                       "the URL must not have a user or password; use 'credentialRef'");
    if (end != NULL) {
        host = (struct str){server.ptr + 1, (size_t)(end - server.ptr - 1)};
        port = str_slice(server, host.len + 2, server.len);
    } else if (colon != NULL) {
        host = str_slice(server, 0, (size_t)(colon - server.ptr));
        port = str_slice(server, host.len, server.len);
    }
    if (port.len > 0 && port.ptr[0] != ':')
        return err_set(err, ERR_INVALID_ARGUMENT, "the URL's host is followed by something else");
    r = set_host(place, host, end != NULL, err);
    return r == 0 ? set_port(place, port, err) : r;
}

static int set_path(struct transfer_place *place, struct str path, struct err *err)
{
    while (path.len > 0) {
        bool is_mark = path.ptr[0] == '?' || path.ptr[0] == '#';
        int c = is_mark ? -1 : hex_take_percent(&path);

        if (c < ' ' || c == 0x7f)
            return err_set(err, ERR_INVALID_ARGUMENT,
                           "the URL's path has a query or a character that is not allowed");
        if (place->path_len == sizeof(place->path))
            return err_set(err, ERR_INVALID_ARGUMENT, "the URL's path is too long");
        place->path[place->path_len++] = (char)(unsigned char)c;
    }
    return 0;
}

int transfer_read_place(struct str url, struct transfer_place *out_place, struct err *err)
{
    struct transfer_place place = {.protocol = TRANSFER_PROTOCOL_END};
    const char *slash;
    struct str rest;
    int r;

    for (int i = TRANSFER_FTP; i < TRANSFER_PROTOCOL_END; i++)
        if (str_starts_with(url, protocols[i].name) &&
            str_starts_with(str_slice(url, protocols[i].name.len, url.len), STR("://")))
            place.protocol = (enum transfer_protocol)i;
    if (place.protocol == TRANSFER_PROTOCOL_END)
        return err_set(err, ERR_INVALID_ARGUMENT,
                       "the URL must begin with ftp://, sftp:// or ssh://");
    rest = str_slice(url, protocols[place.protocol].name.len + 3, url.len);
    slash = rest.len > 0 ? memchr(rest.ptr, '/', rest.len) : NULL;
    if (slash != NULL) {
        r = set_path(&place, str_slice(rest, (size_t)(slash - rest.ptr) + 1, rest.len), err);
        if (r < 0)
            return r;
        rest = str_slice(rest, 0, (size_t)(slash - rest.ptr));
    }
    r = set_server(&place, rest, err);
    if (r == 0)
        *out_place = place;
    return r;
}

bool transfer_is_same_server(const struct transfer_place *a, const struct transfer_place *b)
{
    return a->protocol == b->protocol && a->port == b->port && strcmp(a->host, b->host) == 0;
}
