/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/jsonwrite.h"

/* A URI, and its subscribers. It is watched as long as there is one. */
struct watched {
    struct list interests;
    struct str uri;
    char text[];
};

struct interest {
    struct list in_watched;
    struct list in_stream;
    struct watched *watched;
    struct mcp_stream *stream;
};

void mcp_stream_init(struct mcp_stream *stream)
{
    *stream = (struct mcp_stream){.id = STR_EMPTY};
    list_init(&stream->link);
    list_init(&stream->interests);
}

static struct interest *find_interest(const struct mcp_session *session,
                                      const struct mcp_stream *stream, struct str uri)
{
    struct watched *watched = map_get(&session->watched, uri);

    if (watched == NULL)
        return NULL;
    list_each (node, &watched->interests) {
        struct interest *interest = list_entry(node, struct interest, in_watched);

        if (interest->stream == stream)
            return interest;
    }
    return NULL;
}

bool mcp_stream_has(const struct mcp_session *session, const struct mcp_stream *stream,
                    struct str uri)
{
    return find_interest(session, stream, uri) != NULL;
}

static int watched_new(struct mcp_session *session, struct str uri, struct watched **out_watched)
{
    struct watched *watched = malloc(sizeof(*watched) + uri.len);
    int r;

    if (watched == NULL)
        return ERR_NO_MEMORY;
    memcpy(watched->text, uri.ptr, uri.len);
    watched->uri = (struct str){watched->text, uri.len};
    list_init(&watched->interests);
    r = map_add(&session->watched, watched->uri, watched);
    if (r < 0) {
        free(watched);
        return r;
    }
    *out_watched = watched;
    return 0;
}

/* Removes one subscriber, and with the last one the URI. */
static void drop_interest(struct mcp_session *session, struct interest *interest)
{
    struct watched *watched = interest->watched;

    list_remove(&interest->in_watched);
    list_remove(&interest->in_stream);
    free(interest);
    assert(session->interest_count > 0);
    session->interest_count--;
    if (!list_is_empty(&watched->interests))
        return;
    map_remove(&session->watched, watched->uri);
    session->host->unsubscribe(session->data, session, watched->uri);
    free(watched);
}

int mcp_stream_add(struct mcp_session *session, struct mcp_stream *stream, struct str uri)
{
    struct watched *watched = map_get(&session->watched, uri);
    struct interest *interest;

    if (mcp_stream_has(session, stream, uri))
        return 0;
    interest = malloc(sizeof(*interest));
    if (interest == NULL)
        return ERR_NO_MEMORY;
    if (watched == NULL) {
        int r = watched_new(session, uri, &watched);

        if (r < 0) {
            free(interest);
            return r;
        }
    }
    *interest = (struct interest){.watched = watched, .stream = stream};
    list_append(&watched->interests, &interest->in_watched);
    list_append(&stream->interests, &interest->in_stream);
    session->interest_count++;
    return 0;
}

bool mcp_stream_remove(struct mcp_session *session, struct mcp_stream *stream, struct str uri)
{
    struct interest *interest = find_interest(session, stream, uri);

    if (interest == NULL)
        return false;
    drop_interest(session, interest);
    return true;
}

void mcp_stream_clear(struct mcp_session *session, struct mcp_stream *stream)
{
    list_each_safe (node, &stream->interests)
        drop_interest(session, list_entry(node, struct interest, in_stream));
}

int mcp_stream_open(struct mcp_session *session, const struct mcp_call *call,
                    struct mcp_stream **out_stream)
{
    struct str id = call->id;
    struct mcp_stream *stream = malloc(sizeof(*stream) + id.len);
    char *id_text;
    int r;

    if (stream == NULL)
        return ERR_NO_MEMORY;
    mcp_stream_init(stream);
    id_text = (char *)(stream + 1);
    memcpy(id_text, id.ptr, id.len);
    stream->id = (struct str){id_text, id.len};
    stream->lists = call->lists;
    stream->origin = call->origin;
    r = map_add(&session->stream_ids, stream->id, stream);
    if (r < 0) {
        free(stream);
        return r;
    }
    list_append(&session->streams, &stream->link);
    session->stream_count++;
    *out_stream = stream;
    return 0;
}

void mcp_stream_close(struct mcp_session *session, struct mcp_stream *stream)
{
    mcp_stream_clear(session, stream);
    map_remove(&session->stream_ids, stream->id);
    list_remove(&stream->link);
    assert(session->stream_count > 0);
    session->stream_count--;
    free(stream);
}

/* Notifies one stream; the uri is empty if the list itself changed. */
static void tell(struct mcp_session *session, const struct mcp_stream *stream, struct str method,
                 struct str uri)
{
    cleanup_buf struct buf params = BUF_INIT(8 * (size_t)MCP_MAX_URI_BYTES);
    struct json_writer writer;

    if (stream == &session->legacy && uri.len == 0) {
        mcp_notify(session, NULL, method, STR_EMPTY);
        return;
    }
    json_writer_init(&writer, &params);
    json_begin_object(&writer);
    if (uri.len > 0) {
        json_key(&writer, STR("uri"));
        json_write_str_lossy(&writer, uri);
    }
    if (stream != &session->legacy) {
        json_key(&writer, STR("_meta"));
        json_begin_object(&writer);
        json_key(&writer, STR(MCP_META_SUBSCRIPTION));
        json_splice(&writer, stream->id);
        json_end_object(&writer);
    }
    json_end_object(&writer);
    if (json_writer_finish(&writer) == 0)
        mcp_notify_stream(session, stream, method, buf_view(&params));
}

void mcp_session_resource_updated(struct mcp_session *session, struct str uri)
{
    const struct watched *watched = map_get(&session->watched, uri);

    if (watched == NULL)
        return;
    list_each (node, &watched->interests)
        tell(session, list_entry(node, struct interest, in_watched)->stream,
             STR("notifications/resources/updated"), watched->uri);
}

/* By enum mcp_list. */
static const struct list_name {
    struct str filter;
    struct str method;
} list_names[MCP_LISTS] = {
    {STR_LITERAL("toolsListChanged"), STR_LITERAL("notifications/tools/list_changed")},
    {STR_LITERAL("promptsListChanged"), STR_LITERAL("notifications/prompts/list_changed")},
    {STR_LITERAL("resourcesListChanged"), STR_LITERAL("notifications/resources/list_changed")},
};

struct str mcp_list_filter(enum mcp_list list)
{
    return list_names[list].filter;
}

unsigned mcp_changing_lists(const struct mcp_server *server)
{
    return (unsigned)server->has_tool_changes << MCP_LIST_TOOLS |
           (unsigned)(server->has_prompts && server->has_prompt_changes) << MCP_LIST_PROMPTS |
           (unsigned)(server->has_resources && server->has_resource_changes) << MCP_LIST_RESOURCES;
}

void mcp_session_tell_list(struct mcp_session *session, enum mcp_list list)
{
    if ((mcp_changing_lists(session->server) & 1U << list) == 0)
        return;
    if (session->is_initialized)
        tell(session, &session->legacy, list_names[list].method, STR_EMPTY);
    list_each (node, &session->streams) {
        const struct mcp_stream *stream = list_entry(node, struct mcp_stream, link);

        if ((stream->lists & 1U << list) != 0)
            tell(session, stream, list_names[list].method, STR_EMPTY);
    }
}

void mcp_session_resources_changed(struct mcp_session *session)
{
    mcp_session_tell_list(session, MCP_LIST_RESOURCES);
}
