/* SPDX-License-Identifier: Apache-2.0 */
#include "net/http/origin.h"

#include "base/err.h"

enum { PORT_HTTP = 80, PORT_HTTPS = 443 };

/* "[::1]:8080" is "[::1]" and 8080; without a port, the default of its scheme. */
static bool split_host(struct str text, uint16_t default_port, struct str *out_name,
                       uint16_t *out_port)
{
    size_t colon = text.len;
    int64_t port = default_port;

    for (size_t i = text.len; i > 0 && text.ptr[i - 1] != ']'; i--)
        if (text.ptr[i - 1] == ':')
            colon = i - 1;
    *out_name = str_slice(text, 0, colon);
    if (colon + 1 < text.len &&
        (text.ptr[colon + 1] == '-' || !str_to_int64(str_slice(text, colon + 1, SIZE_MAX), &port)))
        return false;
    *out_port = (uint16_t)port;
    return out_name->len > 0 && port <= UINT16_MAX;
}

static bool is_loopback_name(struct str name)
{
    return str_eq_nocase(name, STR("localhost")) || str_eq(name, STR("127.0.0.1")) ||
           str_eq(name, STR("[::1]"));
}

static bool is_own_host(const struct origin_policy *policy, struct str host, uint16_t default_port)
{
    struct str name;
    uint16_t port;

    if (policy->is_loopback && split_host(host, default_port, &name, &port) &&
        port == policy->port && is_loopback_name(name))
        return true;
    for (size_t i = 0; i < policy->host_count; i++)
        if (str_eq_nocase(host, policy->hosts[i]))
            return true;
    return false;
}

int origin_check_host(const struct origin_policy *policy, struct str host)
{
    if (!policy->is_loopback && policy->host_count == 0)
        return 0;
    return is_own_host(policy, host, PORT_HTTP) ? 0 : ERR_HOST_DENIED;
}

/* "http://localhost:*" matches every port. */
static bool fits(struct str origin, struct str pattern)
{
    struct str rest;

    if (!str_ends_with(pattern, STR(":*")))
        return str_eq_nocase(origin, pattern);
    pattern.len -= 2;
    if (!str_eq_nocase(str_slice(origin, 0, pattern.len), pattern))
        return false;
    rest = str_slice(origin, pattern.len, SIZE_MAX);
    if (rest.len == 0)
        return true;
    for (size_t i = 1; i < rest.len; i++)
        if (rest.ptr[i] < '0' || rest.ptr[i] > '9')
            return false;
    return rest.ptr[0] == ':' && rest.len > 1;
}

int origin_check_origin(const struct origin_policy *policy, struct str origin)
{
    for (size_t i = 0; i < policy->origin_count; i++)
        if (fits(origin, policy->origins[i]))
            return 0;
    if (str_eq_nocase(str_slice(origin, 0, 7), STR("http://")) &&
        is_own_host(policy, str_slice(origin, 7, SIZE_MAX), PORT_HTTP))
        return 0;
    if (str_eq_nocase(str_slice(origin, 0, 8), STR("https://")) &&
        is_own_host(policy, str_slice(origin, 8, SIZE_MAX), PORT_HTTPS))
        return 0;
    return ERR_ORIGIN_DENIED;
}

int origin_check(const struct origin_policy *policy, const struct http_request *request)
{
    struct str origin;
    int r = origin_check_host(policy, request->host);

    if (r == 0 && http_header(request, STR("origin"), &origin))
        r = origin_check_origin(policy, origin);
    return r;
}
