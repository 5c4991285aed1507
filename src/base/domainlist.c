/* SPDX-License-Identifier: Apache-2.0 */
#include "base/domainlist.h"

#include <stdio.h>
#include <string.h>

#include "base/printable.h"

enum { SHOWN_BYTES = 80, PORT_HTTP = 80, PORT_HTTPS = 443 };

/* ---- text ---- */

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool is_name_char(char c)
{
    c = lower(c);
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
}

static bool is_address_char(char c)
{
    c = lower(c);
    return (c >= 'a' && c <= 'f') || (c >= '0' && c <= '9') || c == ':' || c == '.';
}

static bool is_all(struct str text, bool (*is_char)(char c))
{
    for (size_t i = 0; i < text.len; i++)
        if (!is_char(text.ptr[i]))
            return false;
    return text.len > 0 && text.len < DOMAINLIST_HOST_BYTES;
}

static bool read_port(struct str text, uint16_t *out_port)
{
    int64_t port;

    if (text.len == 0 || text.len > 5 || !str_to_int64(text, &port) || port < 1 ||
        port > UINT16_MAX)
        return false;
    *out_port = (uint16_t)port;
    return true;
}

bool domainlist_split(struct str text, uint16_t fallback, struct str *out_host, uint16_t *out_port)
{
    bool is_bracketed = text.len > 0 && text.ptr[0] == '[';
    size_t end = str_find(text, is_bracketed ? STR("]") : STR(":"));
    struct str rest = STR_EMPTY;

    *out_host = str_slice(text, 0, end);
    if (is_bracketed) {
        if (end == SIZE_MAX)
            return false;
        *out_host = str_slice(text, 1, end - 1);
        rest = str_slice(text, end + 1, SIZE_MAX);
    } else if (end != SIZE_MAX) {
        rest = str_slice(text, end, SIZE_MAX);
    }
    *out_port = fallback;
    if (rest.len > 0 && (rest.ptr[0] != ':' || !read_port(str_slice(rest, 1, SIZE_MAX), out_port)))
        return false;
    return is_all(*out_host, is_bracketed ? is_address_char : is_name_char) && *out_port != 0;
}

/* ---- the list ---- */

static int refuse(struct str text, const char *why, struct err *err)
{
    char shown[SHOWN_BYTES + PRINTABLE_CUT_BYTES];

    printable_cut(text, PRINTABLE_LINE, shown, SHOWN_BYTES);
    return err_set(err, ERR_INVALID_ARGUMENT, "'%s' %s", shown, why);
}

static struct str without_dot(struct str host)
{
    return str_ends_with(host, STR(".")) ? str_slice(host, 0, host.len - 1) : host;
}

int domainlist_add(struct domainlist *list, struct str text, struct err *err)
{
    struct domainlist_entry entry = {.host = ""};
    struct str rest = text;
    struct str host;

    if (list->count == DOMAINLIST_MAX)
        return err_set(err, ERR_TOO_LARGE, "there can be no more than %d hosts", DOMAINLIST_MAX);
    if (str_find(text, STR("/")) != SIZE_MAX)
        return refuse(text, "is an address: only its host is needed, like example.com", err);
    if (str_starts_with(text, STR("*")) && (text.len == 1 || text.ptr[1] == ':')) {
        if (text.len > 1 && !read_port(str_slice(text, 2, SIZE_MAX), &entry.port))
            return refuse(text, "has a port that is none", err);
        list->entries[list->count++] = entry;
        return 0;
    }
    if (str_starts_with(text, STR("*."))) {
        entry.is_below = true;
        rest = str_slice(text, 2, SIZE_MAX);
    }
    if (!domainlist_split(rest, PORT_HTTPS, &host, &entry.port))
        return refuse(text, "is no host, like example.com, *.example.com or example.com:8443", err);
    /* The colons of an address in brackets are its own. */
    if (str_find(rest, STR(":")) == SIZE_MAX || str_ends_with(rest, STR("]")))
        entry.port = 0;
    host = without_dot(host);
    /* Nor may it be taken for an option where it is a word of a command line. */
    if (host.len == 0 || host.ptr[0] == '.' || host.ptr[0] == '-')
        return refuse(text, "is no host, like example.com", err);
    for (size_t i = 0; i < host.len; i++)
        entry.host[i] = lower(host.ptr[i]);
    list->entries[list->count++] = entry;
    return 0;
}

void domainlist_format(const struct domainlist_entry *entry, char out_text[DOMAINLIST_TEXT_BYTES])
{
    const bool is_address = strchr(entry->host, ':') != NULL;
    char port[8] = "";

    if (entry->port != 0)
        snprintf(port, sizeof(port), ":%u", entry->port);
    snprintf(out_text, DOMAINLIST_TEXT_BYTES, "%s%s%s%s%s", entry->is_below ? "*." : "",
             is_address ? "[" : "", entry->host[0] != '\0' ? entry->host : "*",
             is_address ? "]" : "", port);
}

static bool has_name(const struct domainlist_entry *entry, struct str host)
{
    struct str name = str_from(entry->host);

    if (name.len == 0)
        return true;
    if (!entry->is_below)
        return str_eq_nocase(host, name);
    return host.len > name.len + 1 && host.ptr[host.len - name.len - 1] == '.' &&
           str_eq_nocase(str_slice(host, host.len - name.len, SIZE_MAX), name);
}

bool domainlist_allows(const struct domainlist *list, struct str host, uint16_t port)
{
    host = without_dot(host);
    for (size_t i = 0; i < list->count; i++) {
        const struct domainlist_entry *entry = &list->entries[i];

        if ((entry->port == 0 ? port == PORT_HTTP || port == PORT_HTTPS : port == entry->port) &&
            has_name(entry, host))
            return true;
    }
    return false;
}
