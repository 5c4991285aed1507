/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gatehouse-agent: creates and revokes the keys of agents, in the server's state. A running server
 * sees the change at once.
 */
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/jsonwrite.h"
#include "base/options/options.h"
#include "base/secret.h"
#include "cli/agent.h"
#include "cli/output.h"
#include "cli/runner.h"
#include "cli/table.h"
#include "gatehouse/audit.h"
#include "gateway/toolset.h"
#include "isolate/confine.h"
#include "session/serveraudit.h"
#include "session/state.h"
#include "store/agentkey.h"
#include "store/store.h"

enum {
    PRIVATE_UMASK = 077,
    LIST_BYTES = 1 << 20,
    GROUPS_BYTES = 128,
};

static const volatile sig_atomic_t never_stopped;

struct program {
    const struct option_values *values;
    struct store *store;
    struct serveraudit audit;
    struct store_user user; /* whose agents */
    struct output output;
};

/* ---- from the command line ---- */

enum {
    WORKSPACE_GROUPS = TOOLSET_FILES | TOOLSET_GROUP(CATALOG_SHELL),
};

static int read_groups(const struct option_values *values, size_t option, unsigned *out_groups,
                       struct err *err)
{
    const struct option_list list = options_list(values, option);
    unsigned chosen = 0;

    for (size_t i = 0; i < list.count; i++) {
        unsigned bit = toolset_group_bit(str_from(list.items[i]));

        if (bit == 0)
            return err_set(err, ERR_INVALID_OPTION,
                           "--%s: '%s' is not read, write, shell, screen, browser or other",
                           option == AGENT_ADD_ASK ? "ask" : "tools", list.items[i]);
        chosen |= bit;
    }
    *out_groups = chosen;
    return 0;
}

static int read_scope(const struct option_values *values, struct store_agent *agent,
                      struct err *err)
{
    const char *workspace = options_text(values, AGENT_ADD_WORKSPACE);
    unsigned all = workspace != NULL ? WORKSPACE_GROUPS : TOOLSET_ALL_GROUPS;
    int r = read_groups(values, AGENT_ADD_TOOLS, &agent->groups, err);

    if (r == 0)
        r = read_groups(values, AGENT_ADD_ASK, &agent->asks, err);
    if (r < 0)
        return r;
    if (workspace == NULL && agent->asks != 0)
        return err_set(err, ERR_INVALID_OPTION,
                       "--ask is for --workspace: a machine decides itself what it asks about");
    if (((agent->groups | agent->asks) & ~all) != 0)
        return err_set(err, ERR_INVALID_OPTION, "a workspace has only read, write and shell");
    agent->groups = agent->groups != 0 ? agent->groups : all;
    if ((agent->asks & ~agent->groups) != 0)
        return err_set(err, ERR_INVALID_OPTION, "--ask is for groups that --tools allows");
    snprintf(agent->workspace, sizeof(agent->workspace), "%s", workspace != NULL ? workspace : "");
    return 0;
}

/* ---- commands ---- */

static int find_user(struct program *program, struct err *err)
{
    const char *name = options_text(program->values->above, AGENT_OPTION_USER);
    int r = store_find_user(program->store, str_from(name), &program->user);

    if (r == ERR_NOT_FOUND)
        return err_set(err, r, "there is no user called '%s'", name);
    return r < 0 ? err_set_plain(err, r) : 0;
}

static void note(struct program *program, const char *name, const char *words)
{
    serveraudit_write(&program->audit,
                      &(struct serveraudit_note){.operation = AUTHORITY_OP_AGENT_KEY,
                                                 .user = str_from(program->user.name),
                                                 .what = str_from(name),
                                                 .how = "command",
                                                 .words = words});
}

static int add(struct program *program, struct err *err)
{
    const char *name = options_argument(program->values, AGENT_ARGUMENT_NAME);
    cleanup_secret struct secret key = SECRET_INIT;
    struct store_agent wanted = {.user = program->user.id,
                                 .created_ms = clock_wall_ms(&clock_system)};
    struct str text;
    int r = read_scope(program->values, &wanted, err);

    if (r == 0)
        r = agentkey_create(program->store, str_from(name), &wanted, &key, err);
    if (r == ERR_INVALID_ARGUMENT)
        r = err->code = ERR_INVALID_OPTION; /* here it came from the command line */
    if (r < 0)
        return r;
    note(program, name, "created");
    text = secret_reveal(&key); /* to print it, once */
    output_printf(&program->output, "Authorization: Bearer %.*s\n", STR_ARG(text));
    if (isatty(STDOUT_FILENO) || isatty(STDERR_FILENO))
        fputs("This key is shown only once. The agent's client sends this header with each request "
              "to the\n"
              "server's /mcp, at the address that 'gatehouse status' tells; the page has the "
              "settings for\n"
              "each client.\n",
              stderr);
    return 0;
}

struct listing {
    struct program *program;
    struct table table;
    struct json_writer json;
    bool is_json;
};

static void list_text(struct table *table, const struct store_agent *agent)
{
    bool has_label = !table->is_terminal && agent->workspace[0] != '\0';
    char groups[GROUPS_BYTES] = "";
    size_t len = 0;

    for (size_t i = 0; i < TOOLSET_GROUP_NAMES; i++)
        if ((agent->groups & toolset_groups[i].bit) != 0)
            len += (size_t)snprintf(groups + len, sizeof(groups) - len, "%s%s", len > 0 ? "," : "",
                                    toolset_groups[i].name);
    table_cell(table, str_from(agent->name));
    table_cell(table, str_from(groups));
    table_cell_printf(table, "%s%s", has_label ? "workspace: " : "", agent->workspace);
    table_cell_time(table, agent->created_ms, STR_EMPTY);
}

static void list_json(struct json_writer *json, const struct store_agent *agent)
{
    char created[CLOCK_ISO_BYTES];

    clock_format_iso(agent->created_ms, created);
    json_begin_object(json);
    json_put_str(json, STR("name"), str_from(agent->name));
    toolset_write_groups(json, STR("tools"), agent->groups);
    if (agent->workspace[0] != '\0') {
        json_put_str(json, STR("workspace"), str_from(agent->workspace));
        toolset_write_groups(json, STR("asks"), agent->asks);
    }
    json_put_str(json, STR("created"), str_from(created));
    json_end_object(json);
}

static void take_agent(void *data, const struct store_agent *agent)
{
    struct listing *listing = data;

    if (agent->user != listing->program->user.id)
        return;
    if (listing->is_json)
        list_json(&listing->json, agent);
    else
        list_text(&listing->table, agent);
}

static int list(struct program *program, struct err *err)
{
    static const struct table_column columns[] = {
        {.title = "AGENT", .usual = 1},
        {.title = "TOOLS", .usual = 1, .least = 12},
        {.title = "WORKSPACE", .usual = 1, .least = 8, .is_optional = true},
        {.title = "CREATED"},
    };
    cleanup_buf struct buf text = BUF_INIT(LIST_BYTES);
    struct listing listing = {.program = program,
                              .is_json = options_is_on(program->values, AGENT_LIST_JSON)};
    int r;

    table_init(&listing.table, &program->output, columns, array_size(columns));
    listing.table.gap = listing.table.is_terminal ? listing.table.gap : "\t";
    json_writer_init(&listing.json, &text);
    json_begin_array(&listing.json);
    r = store_each_agent(program->store, take_agent, &listing);
    json_end_array(&listing.json);
    if (r == 0)
        r = json_writer_finish(&listing.json);
    if (r == 0 && !listing.is_json)
        table_end(&listing.table,
                  "There are no agents: 'gatehouse agent add NAME' makes a key for one");
    table_done(&listing.table);
    if (r < 0)
        return err_set_plain(err, r);
    if (listing.is_json) {
        output_str(&program->output, buf_view(&text));
        output_line_end(&program->output);
    }
    return 0;
}

static int work(struct program *program, struct err *err)
{
    const char *name;

    switch (program->values->command - agent_commands) {
    case AGENT_ADD:
        return add(program, err);
    case AGENT_LIST:
        return list(program, err);
    default:
        name = options_argument(program->values, AGENT_ARGUMENT_NAME);
        if (store_remove_agent(program->store, program->user.id, name, err) < 0)
            return err->code;
        note(program, name, "revoked");
        output_printf(&program->output, "Revoked the key of %s.\n", name);
        return 0;
    }
}

/* ---- the order of things ---- */

static int run(const struct option_values *values, struct arena *arena, struct err *err)
{
    struct program program = {.values = values,
                              .audit = SERVERAUDIT_INIT,
                              .output = OUTPUT_INIT(STDOUT_FILENO, &never_stopped)};
    char path[PATH_MAX];
    int r;

    (void)arena;
    umask(PRIVATE_UMASK);
    tzset(); /* which reads a file */
    r = session_state_server_dir(options_text(values->above, AGENT_OPTION_STATE_DIR), path, err);
    if (r == 0)
        r = store_open(path, &program.store, err);
    if (r == 0)
        r = serveraudit_open(
            &program.audit, path,
            (enum audit_sync)options_choice(values->above, AGENT_OPTION_AUDIT_SYNC), err);
    if (r == 0)
        r = confine_to_directories((const char *const[]){path}, 1, err);
    if (r == 0)
        r = find_user(&program, err);
    if (r == 0)
        r = work(&program, err);
    if (r == 0)
        r = output_finish(&program.output, err);
    store_close(program.store);
    serveraudit_close(&program.audit);
    output_done(&program.output);
    return r;
}

static const struct runner runner = {
    .program = AGENT_PROGRAM,
    .title = "gatehouse agent",
    .see = "'gatehouse agent --help'",
    .command = AGENT_COMMAND,
    .checks_options_late = true,
    .run = run,
};

int main(int argc, char **argv)
{
    return runner_main(&runner, argc, argv);
}
