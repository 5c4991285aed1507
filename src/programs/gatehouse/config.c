/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/gatehouse/config.h"

#include <stdio.h>

#include "base/jsonwrite.h"
#include "cli/mcp.h"
#include "programs/gatehouse/start.h"

enum { MAX_WORDS = 2 * MCP_OPTIONS + 4 * OPTION_MAX_ITEMS + 2, NUMBER_BYTES = 24 };

/* The arguments after the program's name. */
struct words {
    struct str items[MAX_WORDS];
    size_t count;
    char flags[MCP_OPTIONS][OPTION_NAME_BYTES];
    char numbers[MCP_OPTIONS][NUMBER_BYTES];
    char paths[MCP_OPTIONS][PATH_MAX];
};

static void add(struct words *words, const char *text)
{
    words->items[words->count++] = str_from(text);
}

static int add_option(struct words *words, const struct option_values *values, size_t index,
                      struct err *err)
{
    const struct option *row = &mcp_options[index];
    char *flag = words->flags[index];
    struct option_list list;
    int r;

    snprintf(flag, OPTION_NAME_BYTES, "--%s", row->name);
    switch (row->type) {
    case OPTION_SWITCH:
        if (options_is_on(values, index))
            add(words, flag);
        break;
    case OPTION_LIST:
        list = options_list(values, index);
        for (size_t i = 0; i < list.count; i++) {
            add(words, flag);
            add(words, list.items[i]);
        }
        break;
    case OPTION_INT:
    case OPTION_BYTES:
    case OPTION_DURATION:
        snprintf(words->numbers[index], NUMBER_BYTES, "%lld",
                 (long long)options_int(values, index));
        add(words, flag);
        add(words, words->numbers[index]);
        break;
    case OPTION_PATH:
    case OPTION_DIR:
        /* The client starts us from a directory of its own. */
        r = start_absolute(options_text(values, index), words->paths[index], err);
        if (r < 0)
            return r;
        add(words, flag);
        add(words, words->paths[index]);
        break;
    case OPTION_TEXT:
    case OPTION_CHOICE:
        add(words, flag);
        add(words, options_text(values, index));
        break;
    }
    return 0;
}

/* The command with the given flags, and the folder by its absolute path. */
static int collect(struct words *words, const struct option_values *values, const char *directory,
                   struct err *err)
{
    int r = 0;

    words->count = 0;
    add(words, "mcp");
    for (size_t i = 0; r == 0 && i < MCP_OPTIONS; i++)
        if (i != MCP_OPTION_PRINT_CONFIG && options_source(values, i) > OPTION_DEFAULT)
            r = add_option(words, values, i, err);
    add(words, directory);
    return r;
}

/* n8n's node for local servers takes the arguments as one line and splits it at spaces. */
static int write_line(struct json_writer *json, const struct words *words, struct err *err)
{
    cleanup_buf struct buf line = BUF_INIT(1 << 20);
    int r = 0;

    for (size_t i = 0; r == 0 && i < words->count; i++) {
        if (str_find(words->items[i], STR(" ")) != SIZE_MAX)
            return err_set(err, ERR_UNSUPPORTED,
                           "n8n splits arguments at spaces, and '%.*s' contains one",
                           STR_ARG(words->items[i]));
        if (i > 0)
            r = buf_append_char(&line, ' ');
        if (r == 0)
            r = buf_append_str(&line, words->items[i]);
    }
    if (r < 0)
        return err_set_plain(err, r);
    json_key(json, STR("arguments"));
    json_write_str(json, buf_view(&line));
    return 0;
}

static void write_list(struct json_writer *json, const struct words *words)
{
    json_key(json, STR("args"));
    json_begin_array(json);
    for (size_t i = 0; i < words->count; i++)
        json_write_str(json, words->items[i]);
    json_end_array(json);
}

static int write_entry(struct json_writer *json, enum mcp_client client, const char *program,
                       const struct words *words, struct err *err)
{
    int r = 0;

    json_begin_object(json);
    if (client == MCP_CLIENT_VSCODE) {
        json_key(json, STR("type"));
        json_write_str(json, STR("stdio"));
    }
    json_key(json, STR("command"));
    json_write_str(json, str_from(program));
    if (client == MCP_CLIENT_N8N)
        r = write_line(json, words, err);
    else
        write_list(json, words);
    json_end_object(json);
    return r;
}

int config_print(const struct option_values *values, const char *program, const char *directory,
                 struct buf *out, struct err *err)
{
    static const char *const groups[MCP_CLIENTS] = {
        [MCP_CLIENT_CLAUDE] = "mcpServers",
        [MCP_CLIENT_VSCODE] = "servers",
        [MCP_CLIENT_CURSOR] = "mcpServers",
        [MCP_CLIENT_N8N] = NULL, /* the entry stands alone */
    };
    enum mcp_client client = (enum mcp_client)options_choice(values, MCP_OPTION_PRINT_CONFIG);
    static struct words words; /* large, and needed once */
    struct json_writer json;
    int r = collect(&words, values, directory, err);

    if (r < 0)
        return r;
    json_writer_init(&json, out);
    json_writer_set_pretty(&json);
    if (groups[client] != NULL) {
        json_begin_object(&json);
        json_key(&json, str_from(groups[client]));
        json_begin_object(&json);
        json_key(&json, STR("gatehouse"));
    }
    r = write_entry(&json, client, program, &words, err);
    if (r < 0)
        return r;
    if (groups[client] != NULL) {
        json_end_object(&json);
        json_end_object(&json);
    }
    r = json_writer_finish(&json);
    if (r == 0)
        r = buf_append_char(out, '\n');
    return r < 0 ? err_set(err, r, "cannot write the settings: %s", err_text(r)) : 0;
}
