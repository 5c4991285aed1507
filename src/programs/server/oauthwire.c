/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/server/oauthwire.h"

#include "base/base64.h"
#include "base/err.h"
#include "base/hex.h"
#include "base/secret.h"
#include "base/sha256.h"

enum {
    MIN_VERIFIER_CHARS = 43,
    MAX_VERIFIER_CHARS = 128,
    MAX_PORT = 65535,
    MAX_PORT_DIGITS = 5,
};

static bool is_among(char c, const char *more)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c != '\0' && strchr(more, c) != NULL);
}

static bool is_all_among(struct str text, const char *more)
{
    for (size_t i = 0; i < text.len; i++)
        if (!is_among(text.ptr[i], more))
            return false;
    return true;
}

/* ---- forms ---- */

/* A NUL would end the text elsewhere. */
static int decode(struct arena *arena, struct str text, struct str *out_text)
{
    char *space = arena_alloc(arena, text.len + 1);
    size_t len = 0;

    if (space == NULL)
        return arena->error;
    while (text.len > 0) {
        bool is_space = text.ptr[0] == '+';
        int byte = hex_take_percent(&text);

        if (byte <= 0)
            return ERR_INVALID_REQUEST;
        space[len++] = is_space ? ' ' : (char)byte;
    }
    *out_text = (struct str){space, len};
    return 0;
}

int oauthwire_read_form(struct arena *arena, struct str text, const struct str *names, size_t count,
                        struct str *out_values)
{
    struct str pair;

    for (size_t i = 0; i < count; i++)
        out_values[i] = STR_CUT_END;
    while (str_cut(&text, '&', &pair)) {
        struct str value = pair;
        struct str name;
        int r;

        if (pair.len == 0)
            continue;
        (void)str_cut(&value, '=', &name);
        if (value.ptr == NULL)
            value = STR_EMPTY;
        r = decode(arena, name, &name);
        for (size_t i = 0; i < count && r == 0; i++) {
            if (!str_eq(name, names[i]))
                continue;
            r = out_values[i].ptr != NULL ? ERR_INVALID_REQUEST
                                          : decode(arena, value, &out_values[i]);
        }
        if (r < 0)
            return r;
    }
    return 0;
}

int oauthwire_append(struct buf *out, struct str name, struct str value)
{
    int r = buf_append_char(out, '&');

    if (r == 0)
        r = buf_append_str(out, name);
    if (r == 0)
        r = buf_append_char(out, '=');
    for (size_t i = 0; i < value.len && r == 0; i++)
        r = is_among(value.ptr[i], "-._~")
                ? buf_append_char(out, value.ptr[i])
                : buf_printf(out, "%%%02X", (unsigned)(unsigned char)value.ptr[i]);
    return r;
}

/* ---- redirects ---- */

/* Visible ASCII, without what a browser changes or ends the address at. */
static bool is_clean(struct str uri)
{
    for (size_t i = 0; i < uri.len; i++)
        if (uri.ptr[i] <= ' ' || uri.ptr[i] > '~' || strchr("\"#<>\\^`{|}", uri.ptr[i]) != NULL)
            return false;
    return uri.len <= OAUTHWIRE_MAX_URI_BYTES;
}

static size_t end_of_authority(struct str text)
{
    size_t at = 0;

    while (at < text.len && text.ptr[at] != '/' && text.ptr[at] != '?')
        at++;
    return at;
}

static bool is_port(struct str text)
{
    int64_t port = 0;

    return text.len <= MAX_PORT_DIGITS && is_all_among(text, "") && str_to_int64(text, &port) &&
           port > 0 && port <= MAX_PORT;
}

/* "host", "host:8080", "[::1]:8080" */
static bool split_authority(struct str text, struct str *out_host)
{
    size_t end = 0;

    if (text.len > 0 && text.ptr[0] == '[')
        while (end < text.len && text.ptr[end] != ']')
            end++;
    while (end < text.len && text.ptr[end] != ':')
        end++;
    *out_host = str_slice(text, 0, end);
    return end == text.len || is_port(str_slice(text, end + 1, text.len));
}

/* Names as DNS has them, and addresses. */
static bool is_host(struct str host)
{
    if (host.len > 2 && host.ptr[0] == '[')
        return host.ptr[host.len - 1] == ']' &&
               is_all_among(str_slice(host, 1, host.len - 2), ":.");
    return host.len > 0 && is_among(host.ptr[0], "") && is_all_among(host, "-.");
}

bool oauthwire_read_redirect(struct str uri, struct oauthwire_redirect *out_redirect)
{
    const struct str plain = STR("http://");
    const struct str secure = STR("https://");
    bool is_plain = str_starts_with(uri, plain);
    struct str rest = str_slice(uri, is_plain ? plain.len : secure.len, uri.len);
    struct str host;
    size_t end = end_of_authority(rest);

    if (!is_clean(uri) || (!is_plain && !str_starts_with(uri, secure)) ||
        !split_authority(str_slice(rest, 0, end), &host) || !is_host(host))
        return false;
    if (is_plain && !str_eq(host, STR("127.0.0.1")) && !str_eq(host, STR("[::1]")) &&
        !str_eq(host, STR("localhost")))
        return false;
    *out_redirect = (struct oauthwire_redirect){
        .host = host, .is_loopback = is_plain, .rest = str_slice(rest, end, rest.len)};
    return true;
}

bool oauthwire_is_same_redirect(struct str registered, struct str given)
{
    struct oauthwire_redirect ours;
    struct oauthwire_redirect theirs;

    if (!oauthwire_read_redirect(registered, &ours) || !oauthwire_read_redirect(given, &theirs))
        return false;
    if (str_eq(registered, given))
        return true;
    return ours.is_loopback && theirs.is_loopback && str_eq(ours.host, theirs.host) &&
           str_eq(ours.rest, theirs.rest);
}

/* ---- PKCE ---- */

bool oauthwire_is_challenge(struct str text)
{
    return text.len == OAUTHWIRE_CHALLENGE_CHARS && is_all_among(text, "-_");
}

bool oauthwire_verify(struct str challenge, struct str verifier)
{
    cleanup_buf struct buf text = BUF_INIT(4 * SHA256_BYTES);
    unsigned char digest[SHA256_BYTES];

    if (!oauthwire_is_challenge(challenge) || verifier.len < MIN_VERIFIER_CHARS ||
        verifier.len > MAX_VERIFIER_CHARS || !is_all_among(verifier, "-._~"))
        return false;
    sha256_of(verifier, digest);
    return base64_append_url(&text, (struct str){(const char *)digest, SHA256_BYTES}) == 0 &&
           secret_bytes_eq(text.data, challenge.ptr, OAUTHWIRE_CHALLENGE_CHARS);
}
