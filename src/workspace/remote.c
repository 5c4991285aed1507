/* SPDX-License-Identifier: Apache-2.0 */
#include "workspace/remote.h"

#include <stdio.h>
#include <string.h>

int remote_open(const struct workspaces *workspaces, const struct ownservice_config *own,
                struct web **out_web, struct err *err)
{
    const struct workspaces_config *config = &workspaces->config;
    const struct workspace_settings *settings = config->settings;
    const struct web_config web = {
        .loop = config->loop,
        .provider = workspace_provider_name(settings->provider),
        .url = settings->url,
        .header = own != NULL ? "X-Api-Key" : settings->header,
        .key = &settings->key,
        .own = own,
        .make_filter = config->make_filter,
        .filter_data = config->filter_data,
    };

    return web_new(&web, out_web, err);
}

void remote_call_init(struct remote_call *remote, struct workspace_call *call, struct web *web)
{
    *remote = (struct remote_call){.call = call};
    arena_init(&remote->arena, REMOTE_ARENA_BYTES);
    web_request_init(&remote->request, web);
}

void remote_call_done(struct remote_call *remote)
{
    web_drop(&remote->request);
    arena_done(&remote->arena);
}

void remote_look(struct remote_call *remote, const char *kind, const struct err *refused)
{
    struct web_request *request = &remote->request;

    remote->refused = *refused;
    web_ask(request, HTTP_METHOD_GET, true);
    request->url = NULL;
    request->take_line = NULL;
    snprintf(request->target, sizeof(request->target), "/%s/%s", kind, remote->call->workspace->id);
    web_send(request);
}

bool remote_is_id(struct str text)
{
    static const char allowed[] =
        "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_";

    if (text.len == 0 || text.len >= WORKSPACE_ID_BYTES)
        return false;
    for (size_t i = 0; i < text.len; i++)
        if (memchr(allowed, text.ptr[i], sizeof(allowed) - 1) == NULL)
            return false;
    return true;
}

int64_t remote_time(const struct json_value *object, struct str key)
{
    struct clock_iso time;
    struct str text;

    return json_get_str(object, key, &text) && clock_parse_iso(text, &time) ? clock_iso_ms(&time)
                                                                            : 0;
}

int remote_read_entries(struct remote_call *remote, struct str body, remote_entry_fn *read,
                        struct err *err)
{
    const struct web *web = remote->request.web;
    struct workspace_answer *answer = &remote->call->answer;
    bool is_list = remote->call->request.action == WORKSPACE_LIST;
    const struct json_value *value;
    struct workspace_entry *entries;
    size_t count = 0;
    int r = web_read_json(web, &remote->arena, body, &value, err);

    if (r < 0)
        return r;
    if (value->type != (is_list ? JSON_ARRAY : JSON_OBJECT))
        return web_makes_no_sense(web, err);
    if (is_list && value->size > WORKSPACE_MAX_ENTRIES)
        return err_set(err, ERR_TOO_LARGE, "the folder has more than %d entries",
                       WORKSPACE_MAX_ENTRIES);
    entries = arena_alloc_array(&remote->arena, (is_list ? value->size : 1) + 1, sizeof(*entries));
    if (entries == NULL)
        return err_set_plain(err, remote->arena.error);
    if (!is_list) {
        if (!read(value, false, &entries[count++]))
            return web_makes_no_sense(web, err);
    } else {
        json_each_item (item, value)
            if (!read(item, true, &entries[count++]))
                return web_makes_no_sense(web, err);
    }
    answer->entries = entries;
    answer->count = count;
    return 0;
}
