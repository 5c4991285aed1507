/* SPDX-License-Identifier: Apache-2.0 */
/* Which hosts a call reaches, and whether it may. */
#include "browser/browsertools_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hostrange.h"
#include "browser/fileurl.h"
#include "browser/url.h"

enum {
    MAX_HOSTS = 2,
    FILE_URL_BYTES = 64 << 10,
    DAEMON_PORT = 7655, /* where `gatehouse connect` listens unless told otherwise */
};

/* ---- what a call is about ---- */

static bool has_page(const struct catalog_tool *tool)
{
    switch (tool->id) {
    case TOOL_BROWSER_CONNECT:
    case TOOL_BROWSER_DISCONNECT:
    case TOOL_BROWSER_TAB_OPEN:
    case TOOL_BROWSER_TAB_LIST:
    case TOOL_BROWSER_DOWNLOADS:
    case TOOL_BROWSER_CREATE_CREDENTIAL:
        return false;
    default:
        return true;
    }
}

/* Whether what it does with the page needs the host's permission: leaving one does not. */
static bool uses_page(const struct catalog_tool *tool)
{
    return has_page(tool) && tool->id != TOOL_BROWSER_NAVIGATE &&
           tool->id != TOOL_BROWSER_TAB_FOCUS && tool->id != TOOL_BROWSER_TAB_CLOSE &&
           tool->id != TOOL_BROWSER_RESIZE;
}

/*
 * A tab of the user may have what he has not saved, and to control it is more than to look: only to
 * bring it to the front needs no permission for the host. It is never closed.
 */
static bool needs_page_host(const struct browser_call *call)
{
    return call->page_host[0] != '\0' &&
           (uses_page(call->tool) ||
            (call->is_users_page &&
             (call->tool->id == TOOL_BROWSER_NAVIGATE || call->tool->id == TOOL_BROWSER_RESIZE)));
}

bool browser_is_local_default(const struct browser_tools *tools)
{
    return str_eq(tools->defaults.mode, STR(BROWSER_LOCAL));
}

/* The host in the form of rules. */
static bool put_host(struct str host, char out_host[BROWSER_HOST_BYTES])
{
    struct form_host form;

    if (!form_host(host, &form))
        return false;
    snprintf(out_host, BROWSER_HOST_BYTES, "%.*s", (int)form.len, form.text);
    return true;
}

void browser_call_host_now(const struct browser_call *call, char out_host[BROWSER_HOST_BYTES])
{
    struct browser_client_page page;
    struct browser_url url;

    out_host[0] = '\0';
    if (has_page(call->tool) &&
        browser_client_page(call->tools->config.client, str_from(call->page), &page) &&
        browser_url_parse(str_from(page.url), &url) && url.host.len > 0)
        (void)put_host(url.host, out_host);
}

static bool is_own(const struct browser_tools *tools, struct str host, uint16_t port)
{
    const struct browser_tools_config *config = &tools->config;
    struct str server = config->server_host != NULL ? str_from(config->server_host) : STR_EMPTY;
    char here[BROWSER_HOST_BYTES];
    char there[BROWSER_HOST_BYTES];

    if (hostrange_is_loopback(host))
        return port == DAEMON_PORT || (port != 0 && port == config->own_port) ||
               (port == config->server_port && hostrange_is_loopback(server));
    return port == config->server_port && put_host(host, here) && put_host(server, there) &&
           strcmp(here, there) == 0;
}

/* "example.com/a", "localhost:3000", but not "mailto:me". */
static bool lacks_protocol(struct str text)
{
    size_t colon = str_find(text, STR(":"));
    size_t slash = str_find(text, STR("/"));

    if (colon == SIZE_MAX || slash < colon)
        return slash > 0 && text.ptr[0] != '.';
    return colon + 1 < text.len && text.ptr[colon + 1] >= '0' && text.ptr[colon + 1] <= '9';
}

/* The first half of the call reads it, or the call is refused. */
static int take_file(struct browser_call *call, struct str text, struct err *err)
{
    const struct browser_tools *tools = call->tools;
    cleanup_buf struct buf url = BUF_INIT(FILE_URL_BYTES);
    char path[PATH_MAX];
    int r;

    if (!browser_tools_have_files(tools))
        return err_set_field(err, ERR_DENIED_BY_POLICY, "url",
                             "url: there are no files here; open http and https addresses");
    r = fileurl_path(text, path, err);
    if (r < 0)
        return r;
    r = fileurl_append(&url, str_from(tools->first_dir), str_from(path), text);
    if (r == 0)
        r = buf_append_char(&url, '\0');
    if (r == 0)
        r = fileurl_path(str_from(url.data), path, err);
    if (r < 0)
        return err_set_plain(err, r);
    call->to_file = strdup(path);
    call->to_url = strndup(url.data, url.len);
    return call->to_file != NULL && call->to_url != NULL ? 0 : err_set_plain(err, ERR_NO_MEMORY);
}

static int take_url(struct browser_call *call, struct str text, struct err *err)
{
    struct browser_url url;

    if (!browser_url_parse(text, &url))
        return err_set_field(err, ERR_INVALID_ARGUMENT, "url",
                             "url: '%.100s' is not a plain address", text.ptr);
    if (url.scheme == BROWSER_FILE)
        return take_file(call, text, err);
    if (url.scheme == BROWSER_OTHER && text.ptr[0] == '/')
        return err_set_field(err, ERR_INVALID_ARGUMENT, "url",
                             "url: to open a file, begin it with file://, as in file://%.*s",
                             str_print_length(str_slice(text, 0, 100)), text.ptr);
    if (url.scheme == BROWSER_OTHER && lacks_protocol(text))
        return err_set_field(err, ERR_INVALID_ARGUMENT, "url",
                             "url: begin it with http:// or https://, as in https://%.*s",
                             str_print_length(str_slice(text, 0, 100)), text.ptr);
    if (url.scheme == BROWSER_OTHER)
        return err_set_field(err, ERR_DENIED_BY_POLICY, "url",
                             "url: only http, https and file addresses are opened");
    if (url.scheme == BROWSER_BLANK) {
        call->is_anywhere = text.len > 5 && str_eq_nocase(str_slice(text, 0, 5), STR("data:"));
        return 0;
    }
    if (is_own(call->tools, url.host, url.port))
        return err_set_field(err, ERR_DENIED_BY_POLICY, "url",
                             "url: this is Gatehouse itself, which no page can reach");
    if (!put_host(url.host, call->to_host))
        return err_set_field(err, ERR_INVALID_ARGUMENT, "url",
                             "url: '%.*s' is not the name of a host", STR_ARG(url.host));
    return 0;
}

static int take_page(struct browser_call *call, struct err *err)
{
    struct browser_client_page page;
    struct browser_url url;
    struct str id = STR_EMPTY;

    (void)json_get_str(call->arguments, STR("pageId"), &id);
    if (!browser_client_page(call->tools->config.client, id, &page)) {
        /* gatehouse-browser knows better what is missing. */
        snprintf(call->page, sizeof(call->page), "%.*s", STR_ARG(id));
        return 0;
    }
    snprintf(call->page, sizeof(call->page), "%s", page.id);
    call->is_users_page = page.is_users;
    if (!browser_url_parse(str_from(page.url), &url) || url.scheme == BROWSER_OTHER ||
        (url.host.len > 0 && !put_host(url.host, call->page_host)))
        return err_set(err, ERR_DENIED_BY_POLICY,
                       "the page is not of the web: navigate it elsewhere");
    /* A page of nobody has no host that limits what its scripts do. */
    if (url.host.len == 0 &&
        (call->tool->id == TOOL_BROWSER_EVALUATE || call->tool->id == TOOL_BROWSER_WAIT))
        call->is_anywhere = call->tool->id == TOOL_BROWSER_EVALUATE ||
                            json_get(call->arguments, STR("predicate")) != NULL;
    return 0;
}

int browser_call_aim(struct browser_call *call, struct err *err)
{
    struct str mode;
    struct str url;
    int r = 0;

    if (call->tool->id == TOOL_BROWSER_CONNECT)
        call->is_local = json_get_str(call->arguments, STR("mode"), &mode)
                             ? str_eq(mode, STR(BROWSER_LOCAL))
                             : browser_is_local_default(call->tools);
    if (has_page(call->tool))
        r = take_page(call, err);
    if (r == 0 && call->tool->id != TOOL_BROWSER_WAIT &&
        json_get_str(call->arguments, STR("url"), &url) && url.len > 0)
        r = take_url(call, url, err);
    return r;
}

/* ---- permission ---- */

/* The user's own browser does not if he chose it by an option. */
static bool needs_name(const struct browser_call *call, const char *host)
{
    return strcmp(host, PERMISSION_LOCAL_BROWSER) == 0 ? !browser_is_local_default(call->tools)
                                                       : hostrange_is_private(str_from(host));
}

int browser_call_subject(void *data, const void *session, struct arena *arena,
                         const struct cancel *cancel, struct provider_subject *out_subject,
                         struct err *err)
{
    const struct browser_call *call = data;
    const char *hosts[MAX_HOSTS + 1];
    struct permission_resource *resources;
    size_t count = 0;
    int r;

    (void)session;
    (void)cancel;
    if (call->to_host[0] != '\0')
        hosts[count++] = call->to_host;
    if (needs_page_host(call) && strcmp(call->page_host, call->to_host) != 0)
        hosts[count++] = call->page_host;
    if (call->is_anywhere)
        hosts[count++] = "*";
    if (call->tool->id == TOOL_BROWSER_CREATE_CREDENTIAL)
        hosts[count++] = "credentials";
    if (call->is_local)
        hosts[count++] = PERMISSION_LOCAL_BROWSER;
    *out_subject = (struct provider_subject){.count = 0};
    r = provider_mark(call->arguments, str_from(call->page), &out_subject->mark);
    if (r < 0)
        return err_set_plain(err, r);
    if (count == 0)
        return 0;
    resources = arena_alloc_array(arena, count, sizeof(*resources));
    if (resources == NULL)
        return err_set_plain(err, arena->error);
    for (size_t i = 0; i < count; i++) {
        resources[i] = (struct permission_resource){.group = CATALOG_BROWSER,
                                                    .operation = PERMISSION_USES,
                                                    .needs_name = needs_name(call, hosts[i])};
        if (!arena_copy_str(arena, str_from(hosts[i]), &resources[i].given))
            return err_set_plain(err, arena->error);
    }
    out_subject->resources = resources;
    out_subject->count = count;
    return 0;
}

/*
 * For the browser itself, whose parts can reach what no interception sees: workers, WebSockets,
 * names that lead to this machine. A port of ours is closed for all hosts.
 */
int browser_tools_write_own(const struct browser_tools_config *config, struct buf *out)
{
    struct str server = config->server_host != NULL ? str_from(config->server_host) : STR_EMPTY;
    bool is_here = server.len > 0 && hostrange_is_loopback(server);
    bool is_v6 = str_find(server, STR(":")) != SIZE_MAX && server.ptr[0] != '[';
    int r = buf_printf(out, "[\"*:%d\"", DAEMON_PORT);

    if (r == 0 && config->own_port != 0)
        r = buf_printf(out, ",\"*:%u\"", config->own_port);
    if (r == 0 && is_here)
        r = buf_printf(out, ",\"*:%u\"", config->server_port);
    else if (r == 0 && server.len > 0)
        r = buf_printf(out, is_v6 ? ",\"[%.*s]:%u\"" : ",\"%.*s:%u\"", STR_ARG(server),
                       config->server_port);
    return r == 0 ? buf_append_char(out, ']') : r;
}

/* ---- where pages go by themselves ---- */

/* Nobody can be asked about a redirect in time: what would have to be asked is refused. */
bool browser_tools_may_go(void *data, struct str host, uint16_t port, bool is_agreed,
                          bool *out_is_named)
{
    const struct browser_tools *tools = data;
    struct permission_decision decision;
    struct permission_resource resource = {
        .group = CATALOG_BROWSER, .operation = PERMISSION_USES, .needs_name = true};
    char name[BROWSER_HOST_BYTES];

    *out_is_named = false;
    if (is_own(tools, host, port) || !put_host(host, name))
        return false;
    resource.given = str_from(name);
    permission_decide(keeper_permission(tools->config.keeper), &resource, &decision);
    *out_is_named = decision.verdict == PERMISSION_ALLOW;
    if (is_agreed || *out_is_named)
        return true;
    if (hostrange_is_private(resource.given))
        return false;
    resource.needs_name = false;
    permission_decide(keeper_permission(tools->config.keeper), &resource, &decision);
    return decision.verdict == PERMISSION_ALLOW;
}
