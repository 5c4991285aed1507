/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/sandboxd/network.h"

#include <string.h>

#include "base/err.h"
#include "net/address.h"

static const char *const names[] = {"allowed_ips", "denied_ips"};

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

static const char *read_list(const struct json_value *list, bool is_denied, struct iplist *out_list)
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

const char *network_read(const struct json_value *policy, struct iplist *out_list)
{
    struct iplist list = {.count = 0};

    if (policy == NULL || policy->type == JSON_NULL)
        return NULL;
    if (policy->type != JSON_OBJECT)
        return "network_policy must be an object";
    for (size_t i = 0; i < array_size(names); i++) {
        const char *wrong = read_list(json_get(policy, str_from(names[i])), i == 1, &list);

        if (wrong != NULL)
            return wrong;
    }
    if (iplist_has_allowed(&list))
        *out_list = list;
    return NULL;
}

const char *network_read_text(struct str text, struct iplist *out_list)
{
    struct iplist list = {.count = 0};
    struct str part;

    while (text.len > 0 && str_cut(&text, ',', &part)) {
        const char *wrong = explain(iplist_add(&list, str_trim(part), false));

        if (wrong != NULL)
            return wrong;
    }
    *out_list = list;
    return NULL;
}

void network_write(struct json_writer *json, const struct iplist *list)
{
    if (list->count == 0)
        return;
    json_key(json, STR("network_policy"));
    json_begin_object(json);
    for (size_t i = 0; i < array_size(names); i++) {
        json_key(json, str_from(names[i]));
        json_begin_array(json);
        for (size_t j = 0; j < list->count; j++) {
            char text[IPLIST_TEXT_BYTES];

            iplist_format(&list->networks[j], text);
            if (list->networks[j].is_denied == (i == 1))
                json_write_str(json, str_from(text));
        }
        json_end_array(json);
    }
    json_end_object(json);
}

int network_write_text(struct buf *out, const struct iplist *list)
{
    int r = 0;

    for (size_t i = 0; i < list->count && r == 0; i++) {
        char text[IPLIST_TEXT_BYTES];

        iplist_format(&list->networks[i], text);
        if (!list->networks[i].is_denied)
            r = buf_printf(out, "%s%s", out->len > 0 ? "," : "", text);
    }
    return r;
}

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
