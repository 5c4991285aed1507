/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gatehouse-user: adds and removes the users of a server, in its state. A running server sees the
 * change at once.
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
#include "cli/output.h"
#include "cli/runner.h"
#include "cli/table.h"
#include "cli/user.h"
#include "isolate/confine.h"
#include "programs/user/newpassword.h"
#include "session/serveraudit.h"
#include "session/state.h"
#include "store/password.h"
#include "store/store.h"

enum {
    PRIVATE_UMASK = 077,
    LIST_BYTES = 4 << 20,
    TOKEN_CHARS = 32,
};

static const volatile sig_atomic_t never_stopped;

struct program {
    const struct option_values *values;
    struct store *store;
    struct serveraudit audit;
    struct secret password; /* read before the process was confined; or empty */
    struct output output;
};

static void note(struct program *program, const char *name, const char *what)
{
    serveraudit_write(&program->audit, &(struct serveraudit_note){.operation = AUTHORITY_OP_ACCOUNT,
                                                                  .user = str_from(name),
                                                                  .what = str_from(what),
                                                                  .how = "command"});
}

static int find(struct program *program, const char *name, struct store_user *out_user,
                struct err *err)
{
    int r = store_find_user(program->store, str_from(name), out_user);

    if (r == ERR_NOT_FOUND)
        return err_set(err, r, "there is no user called '%s'", name);
    return r < 0 ? err_set_plain(err, r) : 0;
}

/* ---- commands ---- */

static int add(struct program *program, const char *name, struct err *err)
{
    char hash[STORE_MAX_PASSWORD_BYTES + 1];
    bool has_password = program->password.len > 0;
    int64_t id;
    int r = has_password ? password_hash(&program->password, hash) : 0;

    if (r < 0)
        return err_set_plain(err, r);
    r = store_add_user(program->store, str_from(name), has_password ? hash : NULL,
                       clock_wall_ms(&clock_system), &id, err);
    if (r == ERR_INVALID_ARGUMENT)
        r = err->code = ERR_INVALID_OPTION; /* here it came from the command line */
    if (r < 0)
        return r;
    note(program, name, "add");
    output_printf(&program->output, "Added %s.\n", name);
    return 0;
}

static int set_password(struct program *program, const char *name, struct err *err)
{
    char hash[STORE_MAX_PASSWORD_BYTES + 1];
    struct store_user user;
    int r = find(program, name, &user, err);

    if (r < 0)
        return r;
    r = password_hash(&program->password, hash);
    if (r < 0)
        return err_set_plain(err, r);
    r = store_set_password(program->store, user.id, hash, err);
    if (r < 0)
        return r;
    note(program, name, "passwd");
    output_printf(&program->output, "Set the password of %s, and ended all sessions.\n", name);
    return 0;
}

static int remove_user(struct program *program, const char *name, struct err *err)
{
    struct store_user user;
    int r = find(program, name, &user, err);

    if (r < 0)
        return r;
    if (user.id == STORE_OWNER)
        return err_set(err, ERR_INVALID_OPTION, "the owner cannot be removed");
    r = store_remove_user(program->store, user.id, err);
    if (r < 0)
        return r;
    note(program, name, "remove");
    output_printf(&program->output, "Removed %s.\n", name);
    return 0;
}

static int make_link(struct program *program, const char *name, struct err *err)
{
    cleanup_secret struct secret token = SECRET_INIT;
    unsigned char digest[SHA256_BYTES];
    char url[STORE_URL_BYTES];
    struct store_user user;
    struct str text;
    int r = find(program, name, &user, err);

    if (r < 0)
        return r;
    r = store_get_url(program->store, url);
    if (r == 0 && url[0] == '\0')
        return err_set(err, ERR_NOT_FOUND,
                       "no server has used this state yet: run gatehouse serve");
    if (r == 0)
        r = secret_generate(&token, STR("login_"), TOKEN_CHARS);
    text = secret_reveal(&token); /* to store its digest, and to print it once */
    sha256_of(text, digest);
    if (r == 0)
        r = store_add_link(program->store, digest, user.id, clock_wall_ms(&clock_system));
    if (r < 0)
        return err_set_plain(err, r);
    note(program, name, "login-link");
    output_printf(&program->output, "%s/login?token=%.*s\n", url, STR_ARG(text));
    return 0;
}

/* ---- the list ---- */

struct listing {
    struct table table;
    struct json_writer json;
    bool is_json;
};

static void take_user(void *data, const struct store_user *user)
{
    struct listing *listing = data;
    char created[CLOCK_ISO_BYTES];

    if (!listing->is_json) {
        table_cell(&listing->table, str_from(user->name));
        table_cell(&listing->table, user->has_password ? STR("password") : STR("no password"));
        table_cell_time(&listing->table, user->created_ms, STR_EMPTY);
        return;
    }
    clock_format_iso(user->created_ms, created);
    json_begin_object(&listing->json);
    json_put_str(&listing->json, STR("name"), str_from(user->name));
    json_put_bool(&listing->json, STR("hasPassword"), user->has_password);
    if (user->created_ms > 0) /* the owner has always been there */
        json_put_str(&listing->json, STR("created"), str_from(created));
    json_end_object(&listing->json);
}

static int list(struct program *program, struct err *err)
{
    static const struct table_column columns[] = {
        {.title = "USER", .usual = 1},
        {.title = "SIGNS IN WITH", .usual = 1},
        {.title = "CREATED"},
    };
    cleanup_buf struct buf text = BUF_INIT(LIST_BYTES);
    struct listing listing = {.is_json = options_is_on(program->values, USER_LIST_JSON)};
    int r;

    table_init(&listing.table, &program->output, columns, array_size(columns));
    listing.table.gap = listing.table.is_terminal ? listing.table.gap : "\t";
    json_writer_init(&listing.json, &text);
    json_begin_array(&listing.json);
    r = store_each_user(program->store, take_user, &listing);
    json_end_array(&listing.json);
    if (r == 0)
        r = json_writer_finish(&listing.json);
    if (r == 0)
        table_end(&listing.table, NULL); /* the owner is always there */
    table_done(&listing.table);
    if (r < 0)
        return err_set_plain(err, r);
    if (listing.is_json) {
        output_str(&program->output, buf_view(&text));
        output_line_end(&program->output);
    }
    return 0;
}

/* ---- the order of things ---- */

static bool wants_password(const struct option_values *values)
{
    switch (values->command - user_commands) {
    case USER_ADD:
        return !options_is_on(values, USER_ADD_NO_PASSWORD);
    case USER_PASSWD:
        return true;
    default:
        return false;
    }
}

/* Before anybody types a password for nothing. */
static int check_name(struct program *program, struct err *err)
{
    const char *name = options_argument(program->values, USER_ARGUMENT_NAME);
    struct store_user user;
    int r;

    if (program->values->command != &user_commands[USER_ADD])
        return find(program, name, &user, err);
    r = store_check_new_user(program->store, str_from(name), err);
    if (r == ERR_INVALID_ARGUMENT)
        r = err->code = ERR_INVALID_OPTION; /* as in add() */
    return r;
}

static int work(struct program *program, struct err *err)
{
    const struct option_values *values = program->values;
    const char *given = values->command != &user_commands[USER_LIST]
                            ? options_argument(values, USER_ARGUMENT_NAME)
                            : NULL;
    const char *name = given != NULL ? given : "owner"; /* the others need one */

    switch (values->command - user_commands) {
    case USER_ADD:
        return add(program, name, err);
    case USER_LIST:
        return list(program, err);
    case USER_LOGIN_LINK:
        return make_link(program, name, err);
    case USER_PASSWD:
        return set_password(program, name, err);
    default:
        return remove_user(program, name, err);
    }
}

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
    r = session_state_server_dir(options_text(values->above, USER_OPTION_STATE_DIR), path, err);
    if (r == 0)
        r = store_open(path, &program.store, err);
    if (r == 0)
        r = serveraudit_open(&program.audit, path,
                             (enum audit_sync)options_choice(values->above, USER_OPTION_AUDIT_SYNC),
                             err);
    if (r == 0 && wants_password(values))
        r = check_name(&program, err);
    if (r == 0 && wants_password(values))
        r = newpassword_read(&program.password, err);
    if (r == 0)
        r = confine_to_directories((const char *const[]){path}, 1, err);
    if (r == 0)
        r = work(&program, err);
    if (r == 0)
        r = output_finish(&program.output, err);
    secret_done(&program.password);
    store_close(program.store);
    serveraudit_close(&program.audit);
    output_done(&program.output);
    return r;
}

static const struct runner runner = {
    .program = USER_PROGRAM,
    .title = "gatehouse user",
    .see = "'gatehouse user --help'",
    .command = USER_COMMAND,
    .keeps_input = true,
    .checks_options_late = true,
    .run = run,
};

int main(int argc, char **argv)
{
    return runner_main(&runner, argc, argv);
}
