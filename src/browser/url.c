/* SPDX-License-Identifier: Apache-2.0 */
#include "browser/url.h"

#include "base/cleanup.h"

enum { HTTP_PORT = 80, HTTPS_PORT = 443, MAX_PORT = 65535 };

static bool is_plain(struct str text)
{
    for (size_t i = 0; i < text.len; i++)
        if ((unsigned char)text.ptr[i] <= ' ' || text.ptr[i] == '\\' || text.ptr[i] == 0x7f)
            return false;
    return text.len > 0;
}

static struct str before_any(struct str text, const char *ends)
{
    size_t i = 0;

    while (i < text.len && strchr(ends, text.ptr[i]) == NULL)
        i++;
    return str_slice(text, 0, i);
}

/* Takes ":port" off. */
static bool cut_port(struct str *host, uint16_t *port)
{
    size_t at = host->len;
    int64_t number;

    while (at > 0 && host->ptr[at - 1] >= '0' && host->ptr[at - 1] <= '9')
        at--;
    if (at == 0 || host->ptr[at - 1] != ':' || (host->ptr[0] == '[' && host->ptr[at - 2] != ']'))
        return true;
    if (at < host->len) {
        if (!str_to_int64(str_slice(*host, at, host->len), &number) || number > MAX_PORT)
            return false;
        *port = (uint16_t)number;
    }
    host->len = at - 1;
    return true;
}

static bool parse_web(struct str rest, struct browser_url *url)
{
    struct str place = before_any(rest, "/?#");
    size_t user = str_find(place, STR("@"));

    if (user != SIZE_MAX)
        return false; /* nobody shows a name before the host but those who want to mislead */
    url->host = place;
    return cut_port(&url->host, &url->port) && url->host.len > 0;
}

static bool is_of(struct str text, struct str scheme)
{
    return text.len >= scheme.len && str_eq_nocase(str_slice(text, 0, scheme.len), scheme);
}

bool browser_url_parse(struct str text, struct browser_url *out_url)
{
    static const struct {
        struct str prefix;
        uint16_t port;
    } webs[] = {{STR_LITERAL("http://"), HTTP_PORT},
                {STR_LITERAL("https://"), HTTPS_PORT},
                {STR_LITERAL("ws://"), HTTP_PORT},
                {STR_LITERAL("wss://"), HTTPS_PORT}};
    struct browser_url url = {.scheme = BROWSER_OTHER, .host = STR_EMPTY};

    if (is_of(text, STR("blob:")))
        text = is_of(str_slice(text, 5, text.len), STR("file:")) ? STR_EMPTY
                                                                 : str_slice(text, 5, text.len);
    if (is_of(text, STR("about:")) || is_of(text, STR("data:")) || text.len == 0) {
        url.scheme = BROWSER_BLANK;
        *out_url = url;
        return true;
    }
    if (is_of(text, STR("file:"))) {
        url.scheme = BROWSER_FILE;
        *out_url = url;
        return true;
    }
    for (size_t i = 0; i < array_size(webs); i++) {
        struct str prefix = webs[i].prefix;

        if (!is_of(text, prefix))
            continue;
        url.scheme = BROWSER_WEB;
        url.port = webs[i].port;
        if (!is_plain(before_any(text, "?#")) ||
            !parse_web(str_slice(text, prefix.len, text.len), &url))
            return false;
    }
    *out_url = url;
    return true;
}
