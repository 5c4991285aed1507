/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/server/conversations.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rand.h"
#include "programs/server/conversations_internal.h"

enum {
    MAX_CONVERSATIONS = 1024,
    SWEEP_MS = 1000,
    GRACE_MS = 2000,
    QUEUE_MAX = 4096,
    MAX_AT_WORK = 4,
    RESULT_BYTES = 1 << 30,
    RANDOM_CHARS = 20, /* 119 bits */
};

static struct str bytes_of(const unsigned char digest[SHA256_BYTES])
{
    return (struct str){(const char *)digest, SHA256_BYTES};
}

/* ---- ends ---- */

static void tell(const struct conversations *conversations, int64_t user)
{
    if (!conversations->is_closed)
        conversations->config.changed(conversations->config.data, user);
}

static void free_conversation(struct conversation *conversation)
{
    list_remove(&conversation->node);
    call_engine_free(conversation->engine);
    confirmations_free(conversation->confirmations);
    keeper_free(conversation->keeper);
    authority_scope_free(conversation->workspace.recorded);
    free(conversation);
}

static void on_gone(void *data, const struct err *err, struct str object)
{
    struct conversation *conversation = data;

    (void)err; /* the process has ended, and others end what it left */
    (void)object;
    conversation->running--;
}

/* Until the workspace is gone it counts as one of its user's. */
static void end_workspace(struct conversation *conversation)
{
    const struct workspace_client_events events = {.on_done = on_gone, .data = conversation};
    struct workspace_client *client = conversation->all->seats[conversation->provider].client;

    conversation->running++;
    if (workspace_client_end(client, str_from(conversation->key), &events) < 0)
        conversation->running--;
}

/* Its calls may take a moment to end, so it is freed later. */
static void end(struct conversation *conversation, const char *why)
{
    struct conversations *all = conversation->all;

    if (conversation->is_over)
        return;
    conversation->is_over = true;
    (void)map_remove(&all->known, bytes_of(conversation->digest));
    list_remove(&conversation->node);
    list_append(&all->over, &conversation->node);
    log_write(all->config.log, LOG_INFO, "a workspace ends", LOG_TEXT("agent", conversation->name),
              LOG_TEXT("why", why));
    call_engine_close(conversation->engine);
    call_engine_cancel_all(conversation->engine);
    end_workspace(conversation);
    tell(all, conversation->user);
}

static bool is_unused(const struct conversation *conversation)
{
    const struct conversations_config *config = &conversation->all->config;

    return conversation->calls == 0 && conversation->running == 0 &&
           conversation->used_ms <= loop_now_ms(config->loop) - config->offer->idle_ms;
}

static void on_use(void *data, const struct err *err, struct str object)
{
    struct conversation *conversation = data;
    int64_t now_ms = loop_now_ms(conversation->all->config.loop);
    int64_t idle_ms = err == NULL ? workspace_client_read_use(object) : INT64_MAX;

    conversation->running--;
    if (idle_ms < now_ms - conversation->used_ms)
        conversation->used_ms = now_ms - idle_ms;
    if (is_unused(conversation))
        end(conversation, "it was not used any more");
}

/* A command may run in the background, which only the process knows that has the workspace. */
static void end_unless_it_works(struct conversation *conversation)
{
    const struct workspace_client_events events = {.on_done = on_use, .data = conversation};
    struct workspace_client *client = conversation->all->seats[conversation->provider].client;

    conversation->running++;
    if (workspace_client_ask_use(client, str_from(conversation->key), &events) < 0) {
        conversation->running--;
        end(conversation, "it was not used any more");
    }
}

/* Timer callback. */
static void sweep(void *data)
{
    struct conversations *conversations = data;

    list_each_safe (node, &conversations->all) {
        struct conversation *conversation = list_entry(node, struct conversation, node);

        if (is_unused(conversation))
            end_unless_it_works(conversation);
    }
    list_each_safe (node, &conversations->over) {
        struct conversation *conversation = list_entry(node, struct conversation, node);

        if (conversation->calls == 0 && conversation->running == 0)
            free_conversation(conversation);
    }
    if (list_is_empty(&conversations->all) && list_is_empty(&conversations->over))
        timer_stop(&conversations->sweep);
}

void conversations_close(struct conversations *conversations)
{
    conversations->is_closed = true;
    workspace_revival_stop(conversations->revival);
    while (!list_is_empty(&conversations->all))
        end(list_entry(conversations->all.next, struct conversation, node), "the server stops");
}

/* ---- a process that has ended ---- */

/* The revival's callback. */
static void lose(void *data)
{
    const struct seat *seat = data;
    struct conversations *all = seat->all;

    log_write(all->config.log, LOG_ERROR,
              "a process that holds workspaces has ended; it is started again");
    list_each (node, &all->all) {
        struct conversation *conversation = list_entry(node, struct conversation, node);

        if (&all->seats[conversation->provider] == seat)
            conversation->is_lost = true;
    }
    list_each (node, &all->all) {
        const struct conversation *conversation = list_entry(node, struct conversation, node);

        if (conversation->is_lost)
            tell(all, conversation->user);
    }
}

/* ---- finding ---- */

/* A session, or a name within all sessions of the agent. */
static void identify(int64_t agent, bool is_name, struct str text,
                     unsigned char out_digest[SHA256_BYTES])
{
    struct sha256 hash;

    sha256_init(&hash);
    sha256_add(&hash, (struct str){(const char *)&agent, sizeof(agent)});
    sha256_add(&hash, is_name ? STR("name:") : STR("session:"));
    sha256_add(&hash, text);
    sha256_end(&hash, out_digest);
}

static enum workspace_provider provider_of(const char *name)
{
    enum workspace_provider provider = 0;

    while (provider < WORKSPACE_PROVIDERS && strcmp(workspace_provider_name(provider), name) != 0)
        provider++;
    return provider;
}

bool conversations_has(const struct conversations *conversations, const char *provider)
{
    enum workspace_provider found = provider_of(provider);

    return found < WORKSPACE_PROVIDERS && conversations->seats[found].client != NULL;
}

static size_t count_of(const struct conversations *conversations, int64_t user)
{
    size_t count = 0;

    list_each (node, &conversations->all)
        count += list_entry(node, struct conversation, node)->user == user;
    list_each (node, &conversations->over) {
        const struct conversation *conversation = list_entry(node, struct conversation, node);

        count += conversation->user == user && conversation->running > 0;
    }
    return count;
}

static int check(const struct conversations *conversations, const struct conversations_call *call,
                 struct err *err)
{
    if (conversations->is_closed)
        return err_set(err, ERR_BUSY, "the server stops");
    if (!conversations_has(conversations, call->agent->workspace))
        return err_set(err, ERR_UNSUPPORTED,
                       "this key is for a workspace of '%s', which the server does not offer: its "
                       "administrator can start it with --workspace %s",
                       call->agent->workspace, call->agent->workspace);
    if (call->name.len == 0 && call->session.len == 0)
        return err_set(err, ERR_INVALID_ARGUMENT,
                       "this client has no session, so each call must name its conversation: "
                       "\"_meta\" needs \"gatehouse/conversation\" with 1 to %d bytes",
                       CONVERSATIONS_NAME_BYTES);
    if (call->name.len > CONVERSATIONS_NAME_BYTES)
        return err_set(err, ERR_INVALID_ARGUMENT, "\"gatehouse/conversation\" has at most %d bytes",
                       CONVERSATIONS_NAME_BYTES);
    return 0;
}

/* For the audit log: who it is, and which conversation. */
static int request_scope(struct conversation *conversation, struct err *err)
{
    struct store_user user = {.id = 0};
    const struct authority_request request = {
        .subject = {.type = AUTHORITY_AGENT_RUN,
                    .id = conversation->name,
                    .run_id = conversation->key},
        .root = {.kind = AUTHORITY_WORKSPACE,
                 .id = "workspace",
                 .display_name = user.name,
                 .path = "/workspace"},
        .access = AUTHORITY_METADATA,
        .reason = "the workspace of a conversation",
        .source = AUTHORITY_FROM_USER_APPROVAL, /* who created the key */
    };

    (void)store_get_user(conversation->all->config.store, conversation->user, &user);
    return authority_request_root(conversation->all->authority, &request,
                                  &conversation->workspace.recorded, err);
}

static int fill(struct conversation *conversation, const struct store_agent *agent, struct err *err)
{
    struct conversations *all = conversation->all;
    int r;

    snprintf(conversation->name, sizeof(conversation->name), "%s", agent->name);
    memcpy(conversation->key, "ws-", 3);
    rand_token(conversation->key + 3, RANDOM_CHARS);
    conversation->agent = agent->id;
    conversation->user = agent->user;
    conversation->provider = provider_of(agent->workspace);
    conversation->began_wall_ms = loop_wall_ms(all->config.loop);
    conversation->used_ms = loop_now_ms(all->config.loop);
    conversation->workspace = (struct workspace_conversation){.key = conversation->key,
                                                              .running = &conversation->running};
    r = request_scope(conversation, err);
    if (r == 0)
        r = conversation_make_engine(conversation, agent, err);
    if (r < 0)
        return r;
    r = map_add(&all->known, bytes_of(conversation->digest), conversation);
    return r < 0 ? err_set(err, ERR_BUSY, "there are too many workspaces: try again later") : 0;
}

int conversations_find(struct conversations *conversations, const struct conversations_call *call,
                       struct conversation **out_conversation, struct err *err)
{
    unsigned char digest[SHA256_BYTES];
    struct conversation *conversation;
    int r = check(conversations, call, err);

    if (r < 0)
        return r;
    identify(call->agent->id, call->name.len > 0, call->name.len > 0 ? call->name : call->session,
             digest);
    *out_conversation = map_get(&conversations->known, bytes_of(digest));
    if (*out_conversation != NULL && (*out_conversation)->is_lost) {
        /* Once, so that the agent does not wonder where its files are. */
        end(*out_conversation, "its process has ended");
        return err_set(err, ERR_SESSION_OVER,
                       "the workspace is gone with its files, because gatehouse-workspacehost has "
                       "ended: the next call gets a new one");
    }
    if (*out_conversation != NULL)
        return 0;
    if (count_of(conversations, call->agent->user) >= CONVERSATIONS_MAX_OF_USER)
        return err_set(err, ERR_BUSY,
                       "there are %d workspaces already: stop one on the server's page, or end its "
                       "session",
                       CONVERSATIONS_MAX_OF_USER);
    conversation = calloc(1, sizeof(*conversation));
    if (conversation == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    conversation->all = conversations;
    memcpy(conversation->digest, digest, SHA256_BYTES);
    list_init(&conversation->node);
    r = fill(conversation, call->agent, err);
    if (r < 0) {
        free_conversation(conversation);
        return r;
    }
    conversation->number = ++conversations->last_number;
    list_append(&conversations->all, &conversation->node);
    if (!conversations->sweep.is_started)
        timer_start_repeating(&conversations->sweep, SWEEP_MS);
    tell(conversations, conversation->user);
    *out_conversation = conversation;
    return 0;
}

/* ---- ending some ---- */

void conversations_end_session(struct conversations *conversations, int64_t agent,
                               struct str session)
{
    unsigned char digest[SHA256_BYTES];
    struct conversation *conversation;

    identify(agent, false, session, digest);
    conversation = map_get(&conversations->known, bytes_of(digest));
    if (conversation != NULL)
        end(conversation, "its session is over");
}

void conversations_end_agent(struct conversations *conversations, int64_t agent)
{
    list_each_safe (node, &conversations->all) {
        struct conversation *conversation = list_entry(node, struct conversation, node);

        if (conversation->agent == agent)
            end(conversation, "the agent's key was revoked");
    }
}

int conversations_stop(struct conversations *conversations, int64_t user, uint64_t number)
{
    list_each (node, &conversations->all) {
        struct conversation *conversation = list_entry(node, struct conversation, node);

        if (conversation->user == user && conversation->number == number) {
            end(conversation, "the user stopped it");
            return 0;
        }
    }
    return ERR_NOT_FOUND;
}

/* ---- for the page ---- */

void conversations_write_providers(const struct conversations *conversations,
                                   struct json_writer *json)
{
    json_begin_array(json);
    for (enum workspace_provider i = 0; i < WORKSPACE_PROVIDERS; i++)
        if (conversations->seats[i].client != NULL)
            json_write_str(json, str_from(workspace_provider_name(i)));
    json_end_array(json);
}

void conversations_write(const struct conversations *conversations, int64_t user,
                         struct json_writer *json)
{
    json_begin_array(json);
    list_each (node, &conversations->all) {
        const struct conversation *conversation = list_entry(node, struct conversation, node);

        if (conversation->user != user || conversation->is_lost)
            continue;
        json_begin_object(json);
        json_put_int(json, STR("id"), (int64_t)conversation->number);
        json_put_str(json, STR("provider"),
                     str_from(workspace_provider_name(conversation->provider)));
        json_put_str_lossy(json, STR("agent"), str_from(conversation->name));
        json_put_int(json, STR("createdAt"), conversation->began_wall_ms);
        json_end_object(json);
    }
    json_end_array(json);
}

/* ---- making ---- */

static int make_seat(struct conversations *conversations, enum workspace_provider provider,
                     struct err *err)
{
    struct seat *seat = &conversations->seats[provider];
    const struct workspace_tools_config tools = {
        .client = conversations->config.offer->clients[provider],
        .loop = conversations->config.loop,
        .provider = provider,
        .form = TOOLRESULT_BOTH,
    };
    const struct workers_config workers = {
        .loop = conversations->config.loop,
        .providers = &seat->use,
        .provider_count = 1,
        /* They only check arguments. */
        .pool = {.threads = 1, .queue_max = QUEUE_MAX, .abandoned_max = 1, .grace_ms = GRACE_MS},
        .max_at_work = MAX_AT_WORK,
        .max_result_bytes = RESULT_BYTES,
        .running = &conversations->running,
        .changing = &conversations->changing,
    };
    int r = workspace_tools_new(&tools, &seat->tools, err);

    if (r < 0)
        return r;
    seat->all = conversations;
    seat->client = tools.client;
    workspace_revival_watch(conversations->revival, provider, seat->client, lose, seat);
    seat->use = (struct provider_use){&workspace_family, seat->tools};
    r = workers_new(&workers, &seat->workers);
    if (r < 0)
        return err_set_plain(err, r);
    seat->executor = workers_executor(seat->workers);
    return 0;
}

int conversations_new(const struct conversations_config *config,
                      struct conversations **out_conversations, struct err *err)
{
    const struct authority_config authority = {.backend = AUTHORITY_MEMORY};
    struct conversations *conversations = calloc(1, sizeof(*conversations));
    int r;

    if (conversations == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    conversations->config = *config;
    conversations->known = (struct map)MAP_INIT(MAX_CONVERSATIONS);
    list_init(&conversations->all);
    list_init(&conversations->over);
    list_init(&conversations->calls);
    timer_init(&conversations->sweep, config->loop, sweep, conversations);
    r = workspace_revival_new(config->loop, config->offer->starter_fd, &conversations->revival);
    if (r == 0)
        r = authority_new(&authority, &conversations->authority, err);
    if (r == 0)
        r = authority_add_listener(conversations->authority, audit_file_record,
                                   config->audit->file);
    for (enum workspace_provider i = 0; i < WORKSPACE_PROVIDERS && r == 0; i++)
        if (config->offer->clients[i] != NULL)
            r = make_seat(conversations, i, err);
    if (r < 0) {
        conversations_free(conversations);
        return r;
    }
    *out_conversations = conversations;
    return 0;
}

void conversations_free(struct conversations *conversations)
{
    if (conversations == NULL)
        return;
    conversations_close(conversations);
    timer_stop(&conversations->sweep);
    for (size_t i = 0; i < WORKSPACE_PROVIDERS; i++) {
        if (conversations->seats[i].workers != NULL)
            workers_stop(conversations->seats[i].workers);
        workspace_tools_free(conversations->seats[i].tools); /* with it, calls in workspaces end */
    }
    while (!list_is_empty(&conversations->over))
        free_conversation(list_entry(conversations->over.next, struct conversation, node));
    for (size_t i = 0; i < WORKSPACE_PROVIDERS; i++)
        workers_free(conversations->seats[i].workers);
    workspace_revival_free(conversations->revival);
    authority_free(conversations->authority);
    map_done(&conversations->known);
    free(conversations);
}
