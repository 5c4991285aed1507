/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/internal.h"

#include <assert.h>
#include <stdlib.h>

#include "base/jsonwrite.h"
#include "base/rand.h"
#include "base/secret.h"

static int offer_ref_new(const struct mcp_offer *offer, struct mcp_offer_ref **out_offer)
{
    struct mcp_offer_ref *ref = malloc(sizeof(*ref));

    if (ref == NULL)
        return ERR_NO_MEMORY;
    *ref = (struct mcp_offer_ref){.users = 1, .offer = *offer};
    *out_offer = ref;
    return 0;
}

void mcp_offer_unref(struct mcp_offer_ref *offer)
{
    if (offer == NULL || --offer->users > 0)
        return;
    if (offer->offer.release != NULL)
        offer->offer.release(offer->offer.data);
    free(offer);
}

static void write_member(struct json_writer *writer, struct str key, struct str text)
{
    if (text.len == 0)
        return;
    json_key(writer, key);
    json_write_str(writer, text);
}

static int write_server_info(const struct mcp_server *server, struct buf *out)
{
    struct json_writer writer;

    json_writer_init(&writer, out);
    json_begin_object(&writer);
    write_member(&writer, STR("name"), server->name);
    write_member(&writer, STR("title"), server->title);
    json_key(&writer, STR("version"));
    json_write_str(&writer, server->version);
    json_end_object(&writer);
    return json_writer_finish(&writer);
}

static void write_flag(struct json_writer *writer, struct str key, bool is_set)
{
    if (!is_set)
        return;
    json_key(writer, key);
    json_write_bool(writer, true);
}

static void write_capability(struct json_writer *writer, struct str key, bool is_watched,
                             bool has_changes)
{
    json_key(writer, key);
    json_begin_object(writer);
    write_flag(writer, STR("subscribe"), is_watched);
    write_flag(writer, STR("listChanged"), has_changes);
    json_end_object(writer);
}

static int write_capabilities(const struct mcp_server *server, struct buf *out)
{
    struct json_writer writer;

    json_writer_init(&writer, out);
    json_begin_object(&writer);
    write_capability(&writer, STR("tools"), false, server->has_tool_changes);
    if (server->has_prompts)
        write_capability(&writer, STR("prompts"), false, server->has_prompt_changes);
    if (server->has_resources)
        write_capability(&writer, STR("resources"), server->has_subscriptions,
                         server->has_resource_changes);
    if (server->has_completions)
        write_capability(&writer, STR("completions"), false, false);
    if (server->has_logging)
        write_capability(&writer, STR("logging"), false, false);
    json_end_object(&writer);
    return json_writer_finish(&writer);
}

static int write_stamp(const struct mcp_service *service, const char *type, struct buf *out)
{
    return buf_printf(out, "\"resultType\":\"%s\",\"_meta\":{\"" MCP_META_SERVER "\":%.*s}", type,
                      STR_ARG(buf_view(&service->server_info)));
}

static int write_constants(struct mcp_service *service)
{
    int r = write_server_info(service->server, &service->server_info);

    if (r == 0)
        r = write_capabilities(service->server, &service->capabilities);
    if (r == 0)
        r = write_stamp(service, "complete", &service->stamp);
    if (r == 0)
        r = write_stamp(service, "input_required", &service->input_stamp);
    /* Nothing here is expensive to request again, and files change without notice. */
    if (r == 0)
        r = buf_printf(&service->cacheable_stamp, "%.*s,\"ttlMs\":0,\"cacheScope\":\"private\"",
                       STR_ARG(buf_view(&service->stamp)));
    return r;
}

int mcp_service_new(const struct mcp_server *server, const struct mcp_host *host,
                    struct mcp_service **out_service)
{
    struct mcp_service *service = calloc(1, sizeof(*service));
    int r;

    if (service == NULL)
        return ERR_NO_MEMORY;
    service->server = server;
    service->host = host;
    service->clock = server->clock != NULL ? server->clock : &clock_system;
    list_init(&service->sessions);
    list_init(&service->rounds);
    buf_init(&service->server_info, MCP_CONSTANT_BYTES);
    buf_init(&service->capabilities, MCP_CONSTANT_BYTES);
    buf_init(&service->stamp, MCP_CONSTANT_BYTES);
    buf_init(&service->cacheable_stamp, MCP_CONSTANT_BYTES);
    buf_init(&service->input_stamp, MCP_CONSTANT_BYTES);
    buf_init(&service->out, mcp_service_max_message(service) + MCP_CONSTANT_BYTES);
    rand_bytes(service->state_key, sizeof(service->state_key));
    r = write_constants(service);
    if (r == 0)
        r = offer_ref_new(&server->offer, &service->offer);
    if (r < 0) {
        mcp_service_free(service);
        return r;
    }
    *out_service = service;
    return 0;
}

void mcp_service_free(struct mcp_service *service)
{
    if (service == NULL)
        return;
    assert(list_is_empty(&service->sessions) && "sessions go before their service");
    assert(service->message_count == 0 && "calls end before their service");
    if (service->spare != NULL) {
        arena_done(&service->spare->arena);
        free(service->spare);
    }
    mcp_offer_unref(service->offer);
    buf_done(&service->server_info);
    buf_done(&service->capabilities);
    buf_done(&service->stamp);
    buf_done(&service->cacheable_stamp);
    buf_done(&service->input_stamp);
    buf_done(&service->out);
    free(service->issued);
    secret_wipe(service->state_key, sizeof(service->state_key));
    free(service);
}

size_t mcp_service_max_message(const struct mcp_service *service)
{
    return mcp_max_message_bytes(service->server);
}

static bool has_same_tools(const struct mcp_offer *a, const struct mcp_offer *b)
{
    if (a->tool_count != b->tool_count)
        return false;
    for (size_t i = 0; i < a->tool_count; i++) {
        if (a->tools[i] != b->tools[i])
            return false;
    }
    return true;
}

static bool has_same_prompts(const struct mcp_offer *a, const struct mcp_offer *b)
{
    if (a->prompt_count != b->prompt_count)
        return false;
    for (size_t i = 0; i < a->prompt_count; i++) {
        if (a->prompts[i] != b->prompts[i])
            return false;
    }
    return true;
}

static void tell_all(struct mcp_service *service, enum mcp_list list)
{
    list_each (node, &service->sessions)
        mcp_session_tell_list(list_entry(node, struct mcp_session, link), list);
}

int mcp_service_set_offer(struct mcp_service *service, const struct mcp_offer *offer)
{
    struct mcp_offer_ref *old = service->offer;
    bool has_other_tools = !has_same_tools(&old->offer, offer);
    bool has_other_prompts = !has_same_prompts(&old->offer, offer);
    int r = offer_ref_new(offer, &service->offer);

    if (r < 0)
        return r;
    mcp_offer_unref(old);
    if (has_other_tools)
        tell_all(service, MCP_LIST_TOOLS);
    if (has_other_prompts)
        tell_all(service, MCP_LIST_PROMPTS);
    return 0;
}

const struct catalog_tool *mcp_service_find_tool(const struct mcp_service *service, struct str name)
{
    const struct mcp_offer *offer = &service->offer->offer;

    for (size_t i = 0; i < offer->tool_count; i++) {
        if (str_eq(offer->tools[i]->tool->name, name))
            return offer->tools[i]->tool;
    }
    return NULL;
}

int64_t mcp_service_expire(struct mcp_service *service)
{
    int64_t now_ms = clock_monotonic_ms(service->clock);
    int64_t next_ms = -1;

    for (struct list *node = service->rounds.next; node != &service->rounds;) {
        struct mcp_asking *asking = list_entry(node, struct mcp_asking, link);
        struct mcp_call *call = asking->call;
        struct mcp_session *session = call->session;
        int64_t left_ms = asking->due_ms - now_ms;

        node = node->next;
        if (left_ms > 0) {
            if (next_ms < 0 || left_ms < next_ms)
                next_ms = left_ms;
            continue;
        }
        assert(!session->is_receiving && "the host does not expire questions from inside a call");
        session->is_receiving = true;
        mcp_asking_close(session, call, ERR_TIMED_OUT, false);
        service->host->answered(session->data, call);
        session->is_receiving = false;
        /* The host may have ended any of its calls, or asked again. */
        node = service->rounds.next;
        next_ms = -1;
    }
    return next_ms;
}
