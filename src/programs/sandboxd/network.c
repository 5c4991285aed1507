/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/sandboxd/network.h"

#include <string.h>

#include "base/err.h"
#include "net/address.h"

#define SAVED_HOSTS ";" /* comes before them */

static const char *const address_names[] = {"allowed_ips", "denied_ips"};
#define HOSTS_NAME "allowed_domains"

bool network_is_none(const struct network_policy *policy)
{
    return policy->addresses.count == 0 && policy->hosts.count == 0;
}

static bool has_same_hosts(const struct domainlist *a, const struct domainlist *b)
{
    for (size_t i = 0; i < a->count && i < b->count; i++)
        if (strcmp(a->entries[i].host, b->entries[i].host) != 0 ||
            a->entries[i].is_below != b->entries[i].is_below ||
            a->entries[i].port != b->entries[i].port)
            return false;
    return a->count == b->count;
}

bool network_is_same(const struct network_policy *a, const struct network_policy *b)
{
    return a->addresses.count == b->addresses.count && has_same_hosts(&a->hosts, &b->hosts) &&
           memcmp(a->addresses.networks, b->addresses.networks,
                  a->addresses.count * sizeof(*a->addresses.networks)) == 0;
}

/* ---- reading ---- */

static const char *explain(int code)
{
    switch (code) {
    case 0:
        return NULL;
    case ERR_DENIED_BY_POLICY:
        return "this machine, private and local networks cannot be allowed";
    case ERR_TOO_LARGE:
        return "at most 64 addresses or networks can be allowed and denied";
    default:
        return "an address or a network is written like 203.0.113.7, 203.0.113.0/24 or "
               "2001:db8::/32";
    }
}

static const char *add_host(struct domainlist *hosts, struct str text)
{
    switch (domainlist_add(hosts, text, NULL)) {
    case 0:
        return NULL;
    case ERR_TOO_LARGE:
        return "at most 64 domains can be allowed";
    default:
        return "a domain is written like example.com, *.example.com or example.com:8443";
    }
}

static const char *read_addresses(const struct json_value *list, bool is_denied,
                                  struct iplist *out_list)
{
    if (list == NULL || list->type == JSON_NULL)
        return NULL;
    if (list->type != JSON_ARRAY)
        return "allowed_ips and denied_ips must be lists of texts";
    json_each_item (item, list) {
        const char *wrong = item->type == JSON_STRING
                                ? explain(iplist_add(out_list, json_str(item), is_denied))
                                : "allowed_ips and denied_ips must be lists of texts";

        if (wrong != NULL)
            return wrong;
    }
    return NULL;
}

static const char *read_hosts(const struct json_value *list, struct domainlist *out_hosts)
{
    if (list == NULL || list->type == JSON_NULL)
        return NULL;
    if (list->type != JSON_ARRAY)
        return HOSTS_NAME " must be a list of texts";
    json_each_item (item, list) {
        const char *wrong = item->type == JSON_STRING ? add_host(out_hosts, json_str(item))
                                                      : HOSTS_NAME " must be a list of texts";

        if (wrong != NULL)
            return wrong;
    }
    return NULL;
}

const char *network_read(const struct json_value *policy, struct network_policy *out_policy)
{
    struct network_policy read = {.addresses = {.count = 0}};
    const char *wrong = NULL;

    if (policy == NULL || policy->type == JSON_NULL)
        return NULL;
    if (policy->type != JSON_OBJECT)
        return "network_policy must be an object";
    for (size_t i = 0; i < array_size(address_names) && wrong == NULL; i++)
        wrong =
            read_addresses(json_get(policy, str_from(address_names[i])), i == 1, &read.addresses);
    if (wrong == NULL)
        wrong = read_hosts(json_get(policy, STR(HOSTS_NAME)), &read.hosts);
    if (wrong != NULL)
        return wrong;
    if (!iplist_has_allowed(&read.addresses)) {
        if (read.addresses.count > 0 && read.hosts.count > 0)
            return "denied_ips make exceptions from allowed_ips, which are missing; hosts "
                   "of " HOSTS_NAME " are reached at any address";
        read.addresses = (struct iplist){.count = 0};
    }
    *out_policy = read;
    return NULL;
}

const char *network_read_texts(struct str addresses, struct str hosts,
                               struct network_policy *out_policy)
{
    struct network_policy read = {.addresses = {.count = 0}};
    const char *wrong = NULL;
    struct str part;

    while (wrong == NULL && addresses.len > 0 && str_cut(&addresses, ',', &part))
        wrong = explain(iplist_add(&read.addresses, str_trim(part), false));
    while (wrong == NULL && hosts.len > 0 && str_cut(&hosts, ',', &part))
        wrong = add_host(&read.hosts, str_trim(part));
    if (wrong == NULL)
        *out_policy = read;
    return wrong;
}

/* ---- writing ---- */

static void write_hosts(struct json_writer *json, const struct domainlist *hosts)
{
    json_key(json, STR(HOSTS_NAME));
    json_begin_array(json);
    for (size_t i = 0; i < hosts->count; i++) {
        char text[DOMAINLIST_TEXT_BYTES];

        domainlist_format(&hosts->entries[i], text);
        json_write_str(json, str_from(text));
    }
    json_end_array(json);
}

void network_write(struct json_writer *json, const struct network_policy *policy)
{
    const struct iplist *list = &policy->addresses;

    if (network_is_none(policy))
        return;
    json_key(json, STR("network_policy"));
    json_begin_object(json);
    for (size_t i = 0; i < array_size(address_names); i++) {
        json_key(json, str_from(address_names[i]));
        json_begin_array(json);
        for (size_t j = 0; j < list->count; j++) {
            char text[IPLIST_TEXT_BYTES];

            iplist_format(&list->networks[j], text);
            if (list->networks[j].is_denied == (i == 1))
                json_write_str(json, str_from(text));
        }
        json_end_array(json);
    }
    if (policy->hosts.count > 0)
        write_hosts(json, &policy->hosts);
    json_end_object(json);
}

int network_write_addresses(struct buf *out, const struct network_policy *policy)
{
    const struct iplist *list = &policy->addresses;
    int r = 0;

    for (size_t i = 0; i < list->count && r == 0; i++) {
        char text[IPLIST_TEXT_BYTES];

        iplist_format(&list->networks[i], text);
        if (!list->networks[i].is_denied)
            r = buf_printf(out, "%s%s", out->len > 0 ? "," : "", text);
    }
    return r;
}

int network_write_hosts(struct buf *out, const struct network_policy *policy)
{
    int r = 0;

    for (size_t i = 0; i < policy->hosts.count && r == 0; i++) {
        char text[DOMAINLIST_TEXT_BYTES];

        domainlist_format(&policy->hosts.entries[i], text);
        r = buf_printf(out, "%s%s", i > 0 ? "," : "", text);
    }
    return r;
}

int network_save(const struct network_policy *policy, struct buf *out)
{
    int r = iplist_write(&policy->addresses, out);

    if (r == 0 && policy->hosts.count > 0)
        r = buf_printf(out, SAVED_HOSTS);
    return r == 0 ? network_write_hosts(out, policy) : r;
}

int network_load(struct str text, struct network_policy *out_policy)
{
    const size_t end = str_find(text, STR(SAVED_HOSTS));
    struct network_policy read = {.addresses = {.count = 0}};
    struct str hosts = end == SIZE_MAX ? STR_EMPTY : str_slice(text, end + 1, SIZE_MAX);
    struct str part;
    int r = iplist_read(str_slice(text, 0, end), &read.addresses);

    while (r == 0 && hosts.len > 0 && str_cut(&hosts, ',', &part))
        r = domainlist_add(&read.hosts, part, NULL);
    if (r == 0)
        *out_policy = read;
    return r;
}

/* ---- refusals ---- */

void network_log_refusal(const struct log *log, const char *whose, const char *id,
                         const struct room_refusal *refusal)
{
    static const char *const reasons[ROOM_REFUSALS] = {
        [ROOM_REFUSED_ADDRESS] = "not in the network policy",
        [ROOM_REFUSED_OWN] = "an address of this machine",
        [ROOM_REFUSED_MANY] = "too many connections at a time",
    };
    struct address address = {.port = refusal->port, .is_ip = true};
    char text[ADDRESS_TEXT_BYTES];

    memcpy(address.ip, refusal->ip, sizeof(address.ip));
    address_format(&address, text);
    log_write(log, LOG_WARN, "connections were refused", LOG_TEXT(whose, id),
              LOG_TEXT("reason", reasons[refusal->kind]), LOG_INT("count", refusal->count),
              LOG_TEXT("last", text));
}
