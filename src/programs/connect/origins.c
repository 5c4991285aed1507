/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/connect/origins.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"

void origins_init(struct origins *origins)
{
    origins->count = 0;
}

static int keep(struct origins *origins, struct str text, struct err *err)
{
    if (origins->count == ORIGINS_MAX)
        return err_set(err, ERR_TOO_LARGE, "more than %d allowed origins", ORIGINS_MAX);
    /* What passed the checks fits; a truncated one would be another. */
    if (text.len >= ORIGINS_TEXT_BYTES)
        return err_set(err, ERR_INVALID_OPTION, "an allowed origin is too long");
    memcpy(origins->texts[origins->count], text.ptr, text.len);
    origins->texts[origins->count][text.len] = '\0';
    origins->count++;
    return 0;
}

int origins_add_server(struct origins *origins, const struct httpurl *url, struct err *err)
{
    cleanup_buf struct buf text = BUF_INIT(ORIGINS_TEXT_BYTES);
    int r = httpurl_append_origin(url, &text);

    return r < 0 ? err_set_plain(err, r) : keep(origins, buf_view(&text), err);
}

/* ---- patterns ---- */

static int refuse(struct err *err, struct str text, const char *why)
{
    return err_set(err, ERR_INVALID_OPTION, "cannot allow the origin '%.*s': %s",
                   STR_ARG(str_slice(text, 0, 100)), why);
}

static bool has_star(struct str text)
{
    return text.len > 0 && memchr(text.ptr, '*', text.len) != NULL;
}

/*
 * A star must only match hosts of one owner. Anybody can have a host whose last two labels match a
 * star in one of them; names below localhost are this machine.
 */
static const char *why_too_wide(struct str host)
{
    struct str rest;
    struct str label;
    size_t left = 1;

    /* The dot of the root is no label. */
    while (str_ends_with(host, STR(".")))
        host.len--;
    rest = host;
    if (str_ends_with(host, STR(".localhost")))
        return NULL;
    for (size_t i = 0; i < host.len; i++)
        left += host.ptr[i] == '.';
    for (; str_cut(&rest, '.', &label); left--)
        if (left <= 2 && has_star(label))
            return "the wildcard would match any site";
    return NULL;
}

/* Whether it is a valid URL with letters in place of its stars: checks the rest of it. */
static int check_form(struct str text, struct str host, bool has_port_star, struct err *err)
{
    char filled[ORIGINS_TEXT_BYTES];
    size_t host_at = (size_t)(host.ptr - text.ptr);
    struct err why = ERR_INIT;
    struct httpurl url;

    if (text.len >= sizeof(filled))
        return refuse(err, text, "it is too long");
    memcpy(filled, text.ptr, text.len);
    /* A star in an address of numbers means nothing, and is no letter of one either. */
    for (size_t i = 0; i < host.len && host.ptr[0] != '['; i++)
        if (filled[host_at + i] == '*')
            filled[host_at + i] = 'a';
    if (has_port_star)
        filled[text.len - 1] = '1';
    if (httpurl_parse((struct str){filled, text.len}, &url, &why) < 0)
        return refuse(err, text, why.message);
    if (url.path[0] != '\0' || str_ends_with(text, STR("/")))
        return refuse(err, text, "an origin must not have a path");
    return 0;
}

/* The part between "//" and the port. */
static struct str host_of(struct str text, bool *out_has_port_star)
{
    size_t slashes = str_find(text, STR("://"));
    struct str host = slashes == SIZE_MAX ? STR_EMPTY : str_slice(text, slashes + 3, SIZE_MAX);
    size_t end = 0;

    *out_has_port_star = false;
    if (host.len > 0 && host.ptr[0] == '[')
        while (end < host.len && host.ptr[end] != ']')
            end++;
    while (end < host.len && host.ptr[end] != ':')
        end++;
    *out_has_port_star = str_eq(str_slice(host, end, SIZE_MAX), STR(":*"));
    return str_slice(host, 0, end);
}

int origins_add_pattern(struct origins *origins, struct str text, struct err *err)
{
    bool has_port_star;
    const char *why;
    struct str host;
    int r;

    text = str_trim(text);
    /* As an address is copied from a browser. */
    if (str_ends_with(text, STR("/")))
        text.len--;
    host = host_of(text, &has_port_star);
    if (host.len == 0)
        return refuse(err, text, "write it as https://host or http://host:port");
    r = check_form(text, host, has_port_star, err);
    if (r < 0)
        return r;
    why = has_star(host) ? why_too_wide(host) : NULL;
    if (why != NULL)
        return refuse(err, text, why);
    return keep(origins, text, err);
}

/* ---- pages ---- */

bool origins_allow_server(const struct origins *origins, const struct httpurl *url)
{
    for (size_t i = 0; i < origins->count; i++) {
        struct str pattern = str_from(origins->texts[i]);

        if (httpurl_is_among(url, &pattern, 1))
            return true;
    }
    return false;
}

bool origins_allow(const struct origins *origins, struct str origin)
{
    cleanup_buf struct buf again = BUF_INIT(ORIGINS_TEXT_BYTES);
    struct httpurl url;

    /* An origin in another spelling does not come from a browser. */
    return httpurl_parse(origin, &url, NULL) == 0 && httpurl_append_origin(&url, &again) == 0 &&
           str_eq(buf_view(&again), origin) && origins_allow_server(origins, &url);
}
