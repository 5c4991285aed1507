/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/mcp/clients.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/jsonwrite.h"
#include "net/address.h"
#include "session/state.h"

enum { NAME_CUT_BYTES = 40, NUMBER_BYTES = 24 };

#define KEY     "${" MCP_HTTP_KEY_ENV "}"
#define ENV_KEY "${env:" MCP_HTTP_KEY_ENV "}"
#define CLAUDE_DESKTOP                                                                             \
    {                                                                                              \
        .title = "Claude Desktop", .group = "mcpServers", .variable = "XDG_CONFIG_HOME",           \
        .base = ".config", .file = "Claude/claude_desktop_config.json"                             \
    }

static const struct client clients[MCP_CLIENTS] = {
    [MCP_CLIENT_CLAUDE] = CLAUDE_DESKTOP,
    [MCP_CLIENT_CLAUDE_CODE] = {.title = "Claude Code",
                                .group = "mcpServers",
                                .variable = "CLAUDE_CONFIG_DIR",
                                .base = "",
                                .file = ".claude.json",
                                .url = "url",
                                .key = KEY,
                                .type = "http",
                                .names_stdio = true},
    [MCP_CLIENT_CLAUDE_DESKTOP] = CLAUDE_DESKTOP,
    [MCP_CLIENT_CODEX] = {.title = "Codex",
                          .format = CLIENT_TOML,
                          .variable = "CODEX_HOME",
                          .base = ".codex",
                          .file = "config.toml",
                          .url = "url",
                          .key = MCP_HTTP_KEY_ENV},
    [MCP_CLIENT_CONTINUE] = {.title = "Continue",
                             .format = CLIENT_YAML,
                             .base = ".continue/mcpServers",
                             .file = "%s.yaml",
                             .url = "url",
                             .key = "${{ secrets." MCP_HTTP_KEY_ENV " }}",
                             .type = "streamable-http"},
    [MCP_CLIENT_CURSOR] = {.title = "Cursor",
                           .group = "mcpServers",
                           .base = ".cursor",
                           .file = "mcp.json",
                           .url = "url",
                           .key = ENV_KEY},
    [MCP_CLIENT_GEMINI] = {.title = "Gemini CLI",
                           .group = "mcpServers",
                           .base = ".gemini",
                           .file = "settings.json",
                           .url = "httpUrl",
                           .key = KEY},
    [MCP_CLIENT_N8N] = {.title = "n8n", .format = CLIENT_FORM},
    [MCP_CLIENT_VSCODE] = {.title = "VS Code",
                           .group = "servers",
                           .variable = "XDG_CONFIG_HOME",
                           .base = ".config",
                           .file = "Code/User/mcp.json",
                           .url = "url",
                           .key = ENV_KEY,
                           .type = "http",
                           .names_stdio = true},
    [MCP_CLIENT_WINDSURF] = {.title = "Windsurf",
                             .group = "mcpServers",
                             .base = ".codeium/windsurf",
                             .file = "mcp_config.json",
                             .url = "serverUrl",
                             .key = ENV_KEY},
    [MCP_CLIENT_ZED] = {.title = "Zed",
                        .group = "context_servers",
                        .variable = "XDG_CONFIG_HOME",
                        .base = ".config",
                        .file = "zed/settings.json",
                        .url = "url"},
};

/* ---- from the options ---- */

struct words {
    struct arena *arena;
    const char **items;
    size_t count;
    bool is_full;
};

static void add(struct words *words, const char *text)
{
    if (text == NULL)
        words->is_full = true;
    else
        words->items[words->count++] = text;
}

static void add_flag(struct words *words, const struct option *row)
{
    char flag[OPTION_NAME_BYTES];

    snprintf(flag, sizeof(flag), "--%s", row->name);
    add(words, arena_copy(words->arena, str_from(flag)));
}

/* The client starts us from a directory of its own. */
static int add_path(struct words *words, const char *name, struct err *err)
{
    char path[PATH_MAX];
    int r = session_state_absolute_path(name, path, err);

    if (r == 0)
        add(words, arena_copy(words->arena, str_from(path)));
    return r;
}

static int add_option(struct words *words, const struct option_values *values, size_t index,
                      struct err *err)
{
    const struct option *row = &mcp_options[index];
    struct option_list list;
    char number[NUMBER_BYTES];

    switch (row->type) {
    case OPTION_SWITCH:
        if (options_is_on(values, index))
            add_flag(words, row);
        break;
    case OPTION_LIST:
        list = options_list(values, index);
        for (size_t i = 0; i < list.count; i++) {
            int r = 0;

            add_flag(words, row);
            if (index == MCP_OPTION_RO || index == MCP_OPTION_RW)
                r = add_path(words, list.items[i], err);
            else
                add(words, list.items[i]);
            if (r < 0)
                return r;
        }
        break;
    case OPTION_INT:
    case OPTION_BYTES:
    case OPTION_DURATION:
        snprintf(number, sizeof(number), "%lld", (long long)options_int(values, index));
        add_flag(words, row);
        add(words, arena_copy(words->arena, str_from(number)));
        break;
    case OPTION_PATH:
    case OPTION_DIR:
        add_flag(words, row);
        return add_path(words, options_text(values, index), err);
    case OPTION_TEXT:
    case OPTION_CHOICE:
        add_flag(words, row);
        add(words, options_text(values, index));
        break;
    }
    return 0;
}

static bool is_repeated(size_t option)
{
    return option != MCP_OPTION_PRINT_CONFIG && option != MCP_OPTION_INSTALL &&
           option != MCP_OPTION_UNINSTALL && option != MCP_OPTION_NAME && option != MCP_OPTION_YES;
}

/* The command with all values, also those of variables, which the client may not have. */
static int collect(struct arena *arena, const struct option_values *values, enum mcp_client id,
                   const char *const **out_words, struct err *err)
{
    struct words words = {.arena = arena};
    size_t most = 2 * MCP_OPTIONS + values->argument_count + 5;
    int r = 0;

    for (size_t i = 0; i < MCP_OPTIONS; i++)
        if (mcp_options[i].type == OPTION_LIST)
            most += 2 * options_list(values, i).count;
    words.items = arena_alloc_array(arena, most, sizeof(*words.items));
    if (words.items == NULL)
        return err_set_plain(err, arena->error);
    add(&words, "mcp");
    /* It shows its model the object and drops the text, which is shorter. */
    if (id == MCP_CLIENT_CLAUDE_CODE &&
        options_source(values, MCP_OPTION_RESULTS) <= OPTION_DEFAULT) {
        add(&words, "--results");
        add(&words, "text");
    }
    for (size_t i = 0; r == 0 && i < MCP_OPTIONS; i++)
        if (is_repeated(i) && options_source(values, i) > OPTION_DEFAULT)
            r = add_option(&words, values, i, err);
    for (size_t i = 0; r == 0 && i < values->argument_count; i++)
        r = add_path(&words, values->arguments[i], err);
    if (r == 0 &&
        values->argument_count + options_list(values, MCP_OPTION_RO).count +
                options_list(values, MCP_OPTION_RW).count ==
            0 &&
        options_source(values, MCP_OPTION_WORKSPACE) <= OPTION_DEFAULT)
        r = add_path(&words, ".", err);
    if (r == 0 && words.is_full)
        r = err_set_plain(err, arena->error);
    words.items[words.count] = NULL;
    *out_words = words.items;
    return r;
}

static bool is_plain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
}

/* "gatehouse-" and the folder's or provider's name, since a client may have several of these. */
static void derive_name(const char *root, char out_name[CLIENTS_NAME_BYTES])
{
    const char *slash = strrchr(root, '/');
    const char *last = slash != NULL ? slash + 1 : root;
    size_t len = (size_t)snprintf(out_name, CLIENTS_NAME_BYTES, "gatehouse-");

    for (; *last != '\0' && len < NAME_CUT_BYTES; last++)
        if (is_plain(*last))
            out_name[len++] = *last;
        else if (out_name[len - 1] != '-')
            out_name[len++] = '-';
    while (out_name[len - 1] == '-')
        len--;
    out_name[len] = '\0';
}

static int choose_name(const char *given, const char *root, char out_name[CLIENTS_NAME_BYTES],
                       struct err *err)
{
    bool is_good = given != NULL && given[0] != '\0' && strlen(given) < CLIENTS_NAME_BYTES;

    for (const char *at = given; is_good && *at != '\0'; at++)
        is_good = is_plain(*at);
    if (given != NULL && !is_good)
        return err_set(
            err, ERR_INVALID_OPTION,
            "--name: use up to %d letters, digits, '-' and '_', which every client takes",
            CLIENTS_NAME_BYTES - 1);
    if (given != NULL)
        snprintf(out_name, CLIENTS_NAME_BYTES, "%s", given);
    else
        derive_name(root, out_name);
    return 0;
}

static int choose_url(struct arena *arena, const char *http, const struct client *client,
                      const char **out_url, struct err *err)
{
    char shown[ADDRESS_TEXT_BYTES];
    char url[ADDRESS_TEXT_BYTES + sizeof("http:///mcp")];
    struct address address;

    if (http == NULL)
        return 0;
    if (client->format == CLIENT_FORM)
        return err_set(err, ERR_INVALID_OPTION,
                       "for --http in n8n, give its MCP Client node the address with /mcp at the "
                       "end, the transport 'HTTP Streamable', and the key as bearer token");
    if (client->url == NULL)
        return err_set(err, ERR_INVALID_OPTION, "%s starts its servers itself: leave out --http",
                       client->title);
    if (address_parse(str_from(http), &address) < 0 || address.port == 0)
        return err_set(err, ERR_INVALID_OPTION,
                       "--http needs an address with a port that stays, like 127.0.0.1:7650");
    address_format(&address, shown);
    snprintf(url, sizeof(url), "http://%s/mcp", shown);
    *out_url = arena_copy(arena, str_from(url));
    return *out_url != NULL ? 0 : err_set_plain(err, arena->error);
}

int clients_make(struct arena *arena, const struct option_values *values, enum mcp_client id,
                 const char *root, struct client_entry *out_entry, struct err *err)
{
    const char *program = program_invocation_name;
    const char *workspace = options_text(values, MCP_OPTION_WORKSPACE); /* instead of folders */
    int r;

    *out_entry = (struct client_entry){.client = &clients[id], .id = id, .program = program};
    /* The front door starts us under its own path. */
    if (program[0] != '/' || strcmp(program_invocation_short_name, GATEHOUSE_PROGRAM) != 0)
        return err_set(err, ERR_UNSUPPORTED, "use 'gatehouse mcp' for this");
    r = choose_name(options_text(values, MCP_OPTION_NAME), workspace != NULL ? workspace : root,
                    out_entry->name, err);
    if (r == 0)
        r = choose_url(arena, options_text(values, MCP_OPTION_HTTP), out_entry->client,
                       &out_entry->url, err);
    return r == 0 ? collect(arena, values, id, &out_entry->words, err) : r;
}

/* ---- the entry ---- */

static void write_words(struct json_writer *json, const struct client_entry *entry)
{
    json_begin_array(json);
    for (size_t i = 0; entry->words[i] != NULL; i++)
        json_write_str(json, str_from(entry->words[i]));
    json_end_array(json);
}

/* n8n's node for local servers takes the arguments as one line and splits it at spaces. */
static int write_line(struct json_writer *json, const struct client_entry *entry, struct err *err)
{
    cleanup_buf struct buf line = BUF_INIT(CLIENTS_TEXT_BYTES);
    int r = 0;

    for (size_t i = 0; r == 0 && entry->words[i] != NULL; i++) {
        if (strchr(entry->words[i], ' ') != NULL)
            return err_set(err, ERR_UNSUPPORTED,
                           "n8n splits arguments at spaces, and '%s' contains one",
                           entry->words[i]);
        r = buf_printf(&line, "%s%s", i > 0 ? " " : "", entry->words[i]);
    }
    if (r < 0)
        return err_set_plain(err, r);
    json_put_str(json, STR("arguments"), buf_view(&line));
    return 0;
}

static void write_headers(struct json_writer *json, const struct client *client)
{
    char bearer[128];

    snprintf(bearer, sizeof(bearer), "Bearer %s", client->key != NULL ? client->key : "KEY");
    json_key(json, STR("headers"));
    json_begin_object(json);
    json_put_str(json, STR("Authorization"), str_from(bearer));
    json_end_object(json);
}

static int write_json(struct json_writer *json, const struct client_entry *entry, struct err *err)
{
    const struct client *client = entry->client;
    const char *type = entry->url != NULL ? client->type : client->names_stdio ? "stdio" : NULL;
    int r = 0;

    json_begin_object(json);
    if (type != NULL)
        json_put_str(json, STR("type"), str_from(type));
    if (entry->url != NULL) {
        json_put_str(json, str_from(client->url), str_from(entry->url));
        write_headers(json, client);
    } else {
        json_put_str(json, STR("command"), str_from(entry->program));
        if (client->format == CLIENT_FORM) {
            r = write_line(json, entry, err);
        } else {
            json_key(json, STR("args"));
            write_words(json, entry);
        }
    }
    json_end_object(json);
    return r;
}

/* A JSON string or array of strings is one of TOML and YAML too. */
static int append_json(struct buf *out, const char *text)
{
    struct json_writer json;

    json_writer_init(&json, out);
    json_write_str(&json, str_from(text));
    return json_writer_finish(&json);
}

static int append_words(struct buf *out, const struct client_entry *entry)
{
    struct json_writer json;

    for (size_t i = 0; entry->words[i] != NULL; i++)
        if (strchr(entry->words[i], 0x7F) != NULL)
            return ERR_INVALID_ARGUMENT; /* the one that JSON does not escape */
    json_writer_init(&json, out);
    write_words(&json, entry);
    return json_writer_finish(&json);
}

static int write_toml(const struct client_entry *entry, struct buf *out)
{
    int r;

    if (entry->url != NULL)
        return buf_printf(out, "url = \"%s\"\nbearer_token_env_var = \"%s\"\n", entry->url,
                          entry->client->key);
    r = buf_append_str(out, STR("command = "));
    if (r == 0)
        r = append_json(out, entry->program);
    if (r == 0)
        r = buf_append_str(out, STR("\nargs = "));
    if (r == 0)
        r = append_words(out, entry);
    return r == 0 ? buf_append_char(out, '\n') : r;
}

static int write_yaml(const struct client_entry *entry, struct buf *out)
{
    int r = buf_printf(
        out, "name: %s\nversion: 0.0.1\nschema: v1\nmcpServers:\n  - name: %s\n    type: %s\n",
        entry->name, entry->name, entry->url != NULL ? entry->client->type : "stdio");

    if (r == 0 && entry->url != NULL)
        return buf_printf(out,
                          "    url: \"%s\"\n    requestOptions:\n      headers:\n"
                          "        Authorization: \"Bearer %s\"\n",
                          entry->url, entry->client->key);
    if (r == 0)
        r = buf_append_str(out, STR("    command: "));
    if (r == 0)
        r = append_json(out, entry->program);
    if (r == 0)
        r = buf_append_str(out, STR("\n    args: "));
    if (r == 0)
        r = append_words(out, entry);
    return r == 0 ? buf_append_char(out, '\n') : r;
}

static int write_failed(int code, struct err *err)
{
    return code < 0 ? err_set(err, code, "cannot write the settings: %s", err_text(code)) : 0;
}

int clients_write_entry(const struct client_entry *entry, struct buf *out, struct err *err)
{
    struct json_writer json;
    int r;

    if (entry->client->format == CLIENT_TOML)
        return write_failed(write_toml(entry, out), err);
    if (entry->client->format == CLIENT_YAML)
        return write_failed(write_yaml(entry, out), err);
    json_writer_init(&json, out);
    json_writer_set_pretty(&json);
    r = write_json(&json, entry, err);
    return r == 0 ? write_failed(json_writer_finish(&json), err) : r;
}

int clients_write_snippet(const struct client_entry *entry, struct buf *out, struct err *err)
{
    struct json_writer json;
    int r;

    if (entry->client->format == CLIENT_TOML) {
        r = buf_printf(out, "[mcp_servers.%s]\n", entry->name);
        return r == 0 ? clients_write_entry(entry, out, err) : write_failed(r, err);
    }
    if (entry->client->group == NULL) {
        r = clients_write_entry(entry, out, err);
        return r == 0 && entry->client->format == CLIENT_FORM
                   ? write_failed(buf_append_char(out, '\n'), err)
                   : r;
    }
    json_writer_init(&json, out);
    json_writer_set_pretty(&json);
    json_begin_object(&json);
    json_key(&json, str_from(entry->client->group));
    json_begin_object(&json);
    json_key(&json, str_from(entry->name));
    r = write_json(&json, entry, err);
    json_end_object(&json);
    json_end_object(&json);
    if (r == 0)
        r = write_failed(json_writer_finish(&json), err);
    return r == 0 ? write_failed(buf_append_char(out, '\n'), err) : r;
}

/* ---- the file ---- */

int clients_find_file(const struct client_entry *entry, char out_dir[PATH_MAX],
                      char out_name[PATH_MAX], struct err *err)
{
    const struct client *client = entry->client;
    const char *dir = client->variable != NULL ? getenv(client->variable) : NULL;
    const char *home = getenv("HOME");
    const char *dot;
    int len;

    if (client->file == NULL)
        return err_set(err, ERR_UNSUPPORTED,
                       "%s keeps no file that could be changed: use --print-config", client->title);
    if (dir == NULL || dir[0] != '/') {
        if (home == NULL || home[0] != '/')
            return err_set(err, ERR_INVALID_ARGUMENT, "HOME is not an absolute path");
        /* Below HOME, since the folders in between may have to be created. */
        dir = home;
        len =
            snprintf(out_name, PATH_MAX, "%s%s", client->base, client->base[0] != '\0' ? "/" : "");
    } else {
        len = snprintf(out_name, PATH_MAX, "%s", "");
    }
    dot = strstr(client->file, "%s");
    snprintf(out_name + len, PATH_MAX - (size_t)len, "%.*s%s%s",
             dot != NULL ? (int)(dot - client->file) : 0, client->file,
             dot != NULL ? entry->name : client->file, dot != NULL ? dot + 2 : "");
    if (snprintf(out_dir, PATH_MAX, "%s", dir) >= PATH_MAX)
        return err_set_plain(err, ERR_INVALID_PATH);
    return 0;
}

/* ---- words for a person ---- */

/* For a shell. */
static int append_quoted(struct buf *out, const char *text)
{
    bool is_bare = text[0] != '\0';
    int r;

    for (const char *at = text; is_bare && *at != '\0'; at++)
        is_bare = is_plain(*at) || strchr("/.,:=@%+", *at) != NULL;
    if (is_bare)
        return buf_append_str(out, str_from(text));
    r = buf_append_char(out, '\'');
    for (; r == 0 && *text != '\0'; text++)
        r = *text == '\'' ? buf_append_str(out, STR("'\\''")) : buf_append_char(out, *text);
    return r == 0 ? buf_append_char(out, '\'') : r;
}

static int append_start(struct buf *out, const struct client_entry *entry)
{
    int r = append_quoted(out, entry->program);

    for (size_t i = 0; r == 0 && entry->words[i] != NULL; i++) {
        r = buf_append_char(out, ' ');
        if (r == 0)
            r = append_quoted(out, entry->words[i]);
    }
    return r;
}

/* VS Code takes the entry with its name in it. */
static int append_for_vscode(struct buf *out, const struct client_entry *entry)
{
    cleanup_buf struct buf text = BUF_INIT(CLIENTS_TEXT_BYTES);
    const char *terminated;
    struct json_writer json;
    int r;

    json_writer_init(&json, &text);
    json_begin_object(&json);
    json_put_str(&json, STR("name"), str_from(entry->name));
    if (entry->url != NULL) {
        json_put_str(&json, STR("type"), STR("http"));
        json_put_str(&json, STR("url"), str_from(entry->url));
        write_headers(&json, entry->client);
    } else {
        json_put_str(&json, STR("command"), str_from(entry->program));
        json_key(&json, STR("args"));
        write_words(&json, entry);
    }
    json_end_object(&json);
    r = json_writer_finish(&json);
    if (r == 0)
        r = buf_terminate(&text, &terminated);
    if (r == 0)
        r = buf_append_str(out, STR("code --add-mcp "));
    return r == 0 ? append_quoted(out, terminated) : r;
}

/* The command of the client's own; nothing if it has none. */
static int append_own_command(struct buf *out, const struct client_entry *entry)
{
    bool is_codex = entry->id == MCP_CLIENT_CODEX;
    int r;

    if (entry->id == MCP_CLIENT_VSCODE)
        return append_for_vscode(out, entry);
    if (!is_codex && entry->id != MCP_CLIENT_CLAUDE_CODE)
        return 0;
    if (entry->url == NULL) {
        r = buf_printf(out, "%s mcp add %s%s -- ", is_codex ? "codex" : "claude",
                       is_codex ? "" : "--scope user ", entry->name);
        return r == 0 ? append_start(out, entry) : r;
    }
    if (is_codex)
        return buf_printf(out, "codex mcp add %s --url %s --bearer-token-env-var %s", entry->name,
                          entry->url, entry->client->key);
    return buf_printf(out,
                      "claude mcp add --scope user --transport http %s %s --header "
                      "'Authorization: Bearer %s'",
                      entry->name, entry->url, entry->client->key);
}

static int append_file(struct buf *out, const struct client_entry *entry)
{
    const struct client *client = entry->client;
    char dir[PATH_MAX];
    char name[PATH_MAX];

    if (client->format == CLIENT_FORM)
        return buf_append_str(out, STR("For the credentials of n8n's MCP Client (STDIO) node.\n"));
    if (clients_find_file(entry, dir, name, NULL) < 0)
        return 0;
    return buf_printf(out,
                      "For %s, in %s/%s.\nTo have that file changed, with a backup, use --install "
                      "instead of --print-config.\n",
                      client->title, dir, name);
}

int clients_write_advice(const struct client_entry *entry, struct buf *out, struct err *err)
{
    cleanup_buf struct buf command = BUF_INIT(CLIENTS_TEXT_BYTES);
    int r = append_file(out, entry);

    if (r == 0)
        r = append_own_command(&command, entry);
    if (r == 0 && command.len > 0) {
        r = buf_append_str(out, STR("Or let the client do it:\n  "));
        if (r == 0)
            r = buf_append_str(out, buf_view(&command));
        if (r == 0)
            r = buf_append_char(out, '\n');
    }
    if (r == 0 && entry->url != NULL && entry->client->key == NULL)
        r = buf_append_str(out, STR("Write the key in place of KEY.\n"));
    if (r == 0 && entry->url != NULL) {
        r = buf_append_str(out, STR("Set " MCP_HTTP_KEY_ENV
                                    " to the same key for the client and for the server, which "
                                    "you start with:\n  "));
        if (r == 0)
            r = append_start(out, entry);
        if (r == 0)
            r = buf_append_char(out, '\n');
    }
    return write_failed(r, err);
}
