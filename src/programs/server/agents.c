/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/server/agents.h"

#include <stdio.h>
#include <stdlib.h>

#include "programs/server/agents_internal.h"

enum {
    MAX_DOORS = 1 << 16,
    MAX_SESSIONS = 64, /* of an agent */
    MAX_REQUESTS = 1024,
    MAX_UNREAD_BYTES = 64 << 20,
    /*
     * Revoked keys open nothing at once; streams that are open end after this. A round takes as
     * many turns as it needs, so that no call waits for it.
     */
    SWEEP_MS = 5000,
    SWEEP_STEP_MS = 10,
    SWEEP_STEP_DOORS = 64,
};

#define FILES_ARE_OFF "your user has switched the file tools off on Gatehouse's page"
#define NO_MACHINE    "no machine is connected; your user can connect one: Gatehouse's page shows how"
#define NOT_ALLOWED                                                                                \
    "the user's machine does not allow it, or the key of this agent is not for it; your user can " \
    "start 'gatehouse connect' with other permissions, or create another key"

static struct str key_of(const int64_t *id)
{
    return (struct str){(const char *)id, sizeof(*id)};
}

/* ---- the tools of an agent ---- */

struct offered {
    struct toolset *set; /* NULL: no machine */
    size_t count;
    const struct catalog_listing *tools[];
};

static void release_offer(void *data)
{
    struct offered *offered = data;

    toolset_unref(offered->set);
    free(offered);
}

/* Those of a workspace do not depend on the machine. */
static int offer_workspace(const struct agent_door *door, struct mcp_offer *out_offer)
{
    struct offered *offered =
        calloc(1, sizeof(*offered) + workspace_tool_count * sizeof(offered->tools[0]));

    if (offered == NULL)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < workspace_tool_count; i++)
        if (conversations_offer(&door->agent, &workspace_tools[i]))
            offered->tools[offered->count++] = &workspace_listings[i];
    *out_offer = (struct mcp_offer){.tools = offered->tools,
                                    .tool_count = offered->count,
                                    .release = release_offer,
                                    .data = offered};
    return 0;
}

static int offer_machine(const struct agent_door *door, struct mcp_offer *out_offer)
{
    struct hub *hub = hubhttp_hub(door->agents->config.gateway);
    unsigned groups = 0;
    struct toolset *set = hub_tools(hub, door->agent.user, &groups);
    size_t count = set != NULL ? set->count : 0;
    struct offered *offered = calloc(1, sizeof(*offered) + count * sizeof(offered->tools[0]));
    bool files_are_off;

    if (offered == NULL)
        return ERR_NO_MEMORY;
    files_are_off =
        set != NULL && (groups & TOOLSET_FILES) == 0 && (door->agent.groups & TOOLSET_FILES) != 0;
    groups &= door->agent.groups;
    offered->set = set != NULL ? toolset_ref(set) : NULL;
    for (size_t i = 0; i < count; i++)
        if ((set->tools[i].group & groups) != 0)
            offered->tools[offered->count++] = &set->tools[i].listing;
    *out_offer = (struct mcp_offer){.tools = offered->tools,
                                    .tool_count = offered->count,
                                    .why_not = set != NULL ? NOT_ALLOWED : NO_MACHINE,
                                    .why_no_files = files_are_off ? FILES_ARE_OFF : NULL,
                                    .release = release_offer,
                                    .data = offered};
    return 0;
}

static int make_offer(const struct agent_door *door, struct mcp_offer *out_offer)
{
    return agent_has_workspace(door) ? offer_workspace(door, out_offer)
                                     : offer_machine(door, out_offer);
}

static void renew_offer(struct agent_door *door)
{
    struct mcp_offer offer;
    int r = make_offer(door, &offer);

    list_remove(&door->stale_node);
    if (r < 0)
        return;
    r = mcp_service_set_offer(mcp_http_service(door->mcp), &offer);
    if (r < 0)
        release_offer(offer.data);
}

/* Not inside the hub's or the library's callbacks. */
static void refresh(void *data)
{
    struct agents *agents = data;

    while (!list_is_empty(&agents->stale))
        renew_offer(list_entry(agents->stale.next, struct agent_door, stale_node));
}

void agents_changed(struct agents *agents, int64_t user)
{
    struct agents_user *found = map_get(&agents->users, key_of(&user));

    if (found == NULL)
        return;
    list_each (node, &found->doors) {
        struct agent_door *door = list_entry(node, struct agent_door, user_node);

        list_remove(&door->stale_node);
        if (!agent_has_workspace(door))
            list_append(&agents->stale, &door->stale_node);
    }
    if (!agents->is_closed)
        loop_defer(agents->config.loop, &agents->refresh);
}

/* ---- doors ---- */

static int authorize(void *data, struct str token, struct str *out_principal)
{
    const struct agent_door *door = data;

    (void)token; /* agents_handle() has found the door by it */
    if (door->is_over)
        return ERR_UNAUTHORIZED;
    *out_principal = str_from(door->agent.name);
    return 0;
}

static void on_session_over(void *data, struct str id)
{
    const struct agent_door *door = data;

    if (agent_has_workspace(door))
        conversations_end_session(door->agents->config.conversations, door->agent.id, id);
}

static int open_door(struct agents *agents, struct agent_door *door)
{
    int r;

    door->agents = agents;
    door->server = (struct mcp_server){
        .name = STR("gatehouse"),
        .title = STR("Gatehouse"),
        .version = STR(GATEHOUSE_VERSION),
        .instructions =
            agent_has_workspace(door)
                ? STR("Tools of a workspace: files and commands of your own, apart from the user's "
                      "machine. Everything in it is gone when the conversation ends.")
                : STR("Tools of the user's machine. They are there while it is connected."),
        .has_tool_changes = !agent_has_workspace(door),
        .is_one_of_many = true,
    };
    r = make_offer(door, &door->server.offer);
    if (r < 0)
        return r;
    r = mcp_http_new(&(struct mcp_http_config){.loop = agents->config.loop,
                                               .server = &door->server,
                                               .host = &agentcalls_host,
                                               .data = door,
                                               .authorize = authorize,
                                               .session_over = on_session_over,
                                               .max_sessions = MAX_SESSIONS,
                                               .max_requests = MAX_REQUESTS,
                                               .max_kept_bytes = MAX_UNREAD_BYTES},
                     &door->mcp);
    if (r < 0)
        release_offer(door->server.offer.data);
    return r;
}

static void close_door(struct agent_door *door)
{
    if (door->mcp == NULL)
        return;
    mcp_http_close(door->mcp);
    mcp_http_free(door->mcp);
    door->mcp = NULL;
}

static int list_door(struct agents *agents, struct agent_door *door)
{
    struct agents_user *user = map_get(&agents->users, key_of(&door->agent.user));
    int r = 0;

    if (user == NULL) {
        user = calloc(1, sizeof(*user));
        if (user == NULL)
            return ERR_NO_MEMORY;
        user->id = door->agent.user;
        list_init(&user->doors);
        r = map_add(&agents->users, key_of(&user->id), user);
    }
    if (r == 0)
        r = map_add(&agents->doors, key_of(&door->agent.id), door);
    if (r < 0) {
        if (list_is_empty(&user->doors)) {
            map_remove(&agents->users, key_of(&user->id));
            free(user);
        }
        return r;
    }
    list_append(&user->doors, &door->user_node);
    list_append(&agents->all, &door->node);
    return 0;
}

static void unlist_door(struct agents *agents, struct agent_door *door)
{
    struct agents_user *user = map_get(&agents->users, key_of(&door->agent.user));

    map_remove(&agents->doors, key_of(&door->agent.id));
    list_remove(&door->node);
    list_remove(&door->user_node);
    list_remove(&door->stale_node);
    if (user != NULL && list_is_empty(&user->doors)) {
        map_remove(&agents->users, key_of(&user->id));
        free(user);
    }
}

static int find_door(struct agents *agents, const struct store_agent *agent,
                     struct agent_door **out_door)
{
    struct agent_door *door = map_get(&agents->doors, key_of(&agent->id));
    int r;

    if (door != NULL) {
        *out_door = door;
        return 0;
    }
    door = calloc(1, sizeof(*door));
    if (door == NULL)
        return ERR_NO_MEMORY;
    door->agent = *agent;
    list_init(&door->node);
    list_init(&door->user_node);
    list_init(&door->stale_node);
    r = open_door(agents, door);
    if (r == 0)
        r = list_door(agents, door);
    if (r < 0) {
        close_door(door);
        free(door);
        return r == ERR_TOO_LARGE ? ERR_BUSY : r;
    }
    if (!agents->sweep.is_started)
        timer_start(&agents->sweep, SWEEP_MS);
    *out_door = door;
    return 0;
}

static void forget_known(struct agents *agents)
{
    map_done(&agents->known);
    agents->known = (struct map)MAP_INIT(MAX_DOORS);
}

static bool is_gone(const struct agents *agents, int64_t id)
{
    struct store_agent agent;

    if (id < 0) /* a consent also ends by its time */
        return !oauth_is_granted(agents->config.oauth, id);
    return agents->has_revoked &&
           store_get_agent(agents->config.store, id, &agent) == ERR_NOT_FOUND;
}

/* A request may still be on its way in there, so it is freed with the server. */
static void end_door(struct agents *agents, struct agent_door *door)
{
    log_write(agents->config.log, LOG_INFO, "an agent's key was revoked",
              LOG_TEXT("agent", door->agent.name));
    door->is_over = true;
    unlist_door(agents, door);
    mcp_http_close(door->mcp);
    if (agent_has_workspace(door))
        conversations_end_agent(agents->config.conversations, door->agent.id);
    list_append(&agents->over, &door->node);
}

/* Ends the doors of agents that are not there any more; an id is never used again. */
static void sweep(void *data)
{
    struct agents *agents = data;
    bool has_revoked = store_has_revoked(agents->config.store, &agents->checked_view);

    if (has_revoked || agents->unchecked == 0) {
        agents->has_revoked = has_revoked;
        agents->unchecked = agents->doors.count;
    }
    for (size_t i = 0; i < SWEEP_STEP_DOORS && agents->unchecked > 0; i++) {
        struct agent_door *door = list_entry(agents->all.next, struct agent_door, node);

        agents->unchecked--;
        list_remove(&door->node);
        list_append(&agents->all, &door->node);
        if (!is_gone(agents, door->agent.id))
            continue;
        forget_known(agents);
        end_door(agents, door);
    }
    if (agents->doors.count > 0)
        timer_start(&agents->sweep, agents->unchecked > 0 ? SWEEP_STEP_MS : SWEEP_MS);
}

void agents_look(struct agents *agents)
{
    if (!agents->is_closed)
        loop_defer(agents->config.loop, &agents->look);
}

/* ---- who comes ---- */

/* "Bearer TOKEN"; empty for anything else. */
static struct str bearer_token(const struct http_request *request)
{
    const struct str scheme = STR("Bearer ");
    struct str value = STR_EMPTY;

    if (!http_header(request, STR("Authorization"), &value) || value.len <= scheme.len ||
        !str_eq_nocase(str_slice(value, 0, scheme.len), scheme))
        return STR_EMPTY;
    return str_trim(str_slice(value, scheme.len, value.len));
}

static struct str bytes_of(const unsigned char digest[SHA256_BYTES])
{
    return (struct str){(const char *)digest, SHA256_BYTES};
}

/* Tokens expire, so the store is asked each time. */
static int find_door_by_token(struct agents *agents, struct str token, struct agent_door **out_door)
{
    struct store_agent agent;
    int r = oauth_find_agent(agents->config.oauth, token, &agent);

    return r < 0 ? r : find_door(agents, &agent, out_door);
}

/* The store is asked again after each removal of a key: it is refused at once. */
static int find_door_by_key(struct agents *agents, struct str token, struct agent_door **out_door)
{
    unsigned char digest[SHA256_BYTES];
    struct store_agent agent;
    struct agent_door *door;
    int r;

    sha256_of(token, digest);
    if (store_has_revoked(agents->config.store, &agents->view))
        forget_known(agents);
    door = map_get(&agents->known, bytes_of(digest));
    if (door == NULL) {
        r = store_find_agent(agents->config.store, digest, &agent);
        if (r == 0)
            r = find_door(agents, &agent, &door);
        if (r < 0 || door == NULL)
            return r < 0 ? r : ERR_INTERNAL;
        memcpy(door->key_digest, digest, SHA256_BYTES);
        (void)map_add(&agents->known, bytes_of(door->key_digest), door); /* else asked again */
    }
    *out_door = door;
    return 0;
}

/* Says how to come in. */
static void refuse(struct agents *agents, struct exchange *exchange, bool had_token)
{
    char metadata[OAUTH_URL_BYTES + sizeof(OAUTH_RESOURCE_METADATA "/mcp")];
    size_t len;

    if (had_token && !agents->config.admit(agents->config.data, exchange, false))
        return;
    oauth_base(agents->config.oauth, exchange_request(exchange), metadata);
    len = strlen(metadata);
    snprintf(metadata + len, sizeof(metadata) - len, "%s", OAUTH_RESOURCE_METADATA "/mcp");
    mcp_http_challenge(exchange, ERR_UNAUTHORIZED, had_token, str_from(metadata));
}

void agents_handle(void *data, struct exchange *exchange)
{
    struct agents *agents = data;
    struct str token = bearer_token(exchange_request(exchange));
    struct agent_door *door = NULL;
    int r = agents->is_closed ? ERR_BUSY : 0;

    if (r == 0 && token.len == 0)
        r = ERR_UNAUTHORIZED;
    if (r == 0)
        r = str_starts_with(token, STR("gat_")) ? find_door_by_token(agents, token, &door)
                                                : find_door_by_key(agents, token, &door);
    if (r == 0)
        mcp_http_handle(door->mcp, exchange);
    else if (r == ERR_UNAUTHORIZED)
        refuse(agents, exchange, token.len > 0);
    else
        exchange_answer_error(exchange, r);
}

/* ---- making ---- */

int agents_new(const struct agents_config *config, struct agents **out_agents)
{
    struct agents *agents = calloc(1, sizeof(*agents));

    if (agents == NULL)
        return ERR_NO_MEMORY;
    agents->config = *config;
    list_init(&agents->all);
    list_init(&agents->stale);
    list_init(&agents->over);
    agents->users = (struct map)MAP_INIT(MAX_DOORS);
    agents->doors = (struct map)MAP_INIT(MAX_DOORS);
    agents->known = (struct map)MAP_INIT(MAX_DOORS);
    loop_task_init(&agents->refresh, refresh, agents);
    loop_task_init(&agents->look, sweep, agents);
    timer_init(&agents->sweep, config->loop, sweep, agents);
    *out_agents = agents;
    return 0;
}

void agents_refuse(struct agents *agents)
{
    agents->is_closed = true;
}

void agents_close(struct agents *agents)
{
    agents->is_closed = true;
    loop_task_cancel(&agents->refresh);
    loop_task_cancel(&agents->look);
    timer_stop(&agents->sweep);
    list_each (node, &agents->all)
        mcp_http_close(list_entry(node, struct agent_door, node)->mcp);
}

static void free_doors(struct list *doors)
{
    while (!list_is_empty(doors)) {
        struct agent_door *door = list_entry(doors->next, struct agent_door, node);

        list_remove(&door->node);
        close_door(door);
        free(door);
    }
}

void agents_free(struct agents *agents)
{
    size_t cursor = 0;
    struct str key;
    void *user;

    if (agents == NULL)
        return;
    agents_close(agents);
    free_doors(&agents->all);
    free_doors(&agents->over);
    while (map_next(&agents->users, &cursor, &key, &user))
        free(user);
    map_done(&agents->users);
    map_done(&agents->known);
    map_done(&agents->doors);
    free(agents);
}
