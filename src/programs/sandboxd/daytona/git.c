/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/sandboxd/daytona/git.h"

#include <stdio.h>
#include <stdlib.h>

#include "net/http/url.h"
#include "programs/sandboxd/daytona/error.h"
#include "programs/sandboxd/daytona/gitwire.h"
#include "programs/sandboxd/daytona/toolbox.h"

enum {
    MOST_STEPS = 2,
    MOST_WORDS = 24, /* of a command, besides files */
    MOST_VARIABLES = 10,
    WRONG_BYTES = 96,
    MESSAGE_BYTES = 2 << 10, /* of git's, in an error */
    MOST_DEPTH = 1 << 30,
    KEY_BYTES = HTTPURL_HOST_BYTES + 64, /* of a setting for a host */
};

struct job;

/* One endpoint. */
struct operation {
    bool needs_path;                  /* of a repository */
    void (*prepare)(struct job *job); /* reads the fields, and adds the steps */
    /* The answer, of the last step's output; NULL: nothing but the status. */
    void (*write)(struct json_writer *json, struct str output);
    int status;
};

struct step {
    const char **words;
    size_t count;
    bool may_fail;
    bool finds_url; /* prints the URL that the next step uses */
};

/* A request: one or two commands. Their texts are in the arena. */
struct job {
    unsigned refs;
    const struct operation *operation;
    const struct api_call *call; /* while it is prepared */
    const struct json_value *object;
    struct sandbox *sandbox;
    struct arena arena;
    const char *path;
    const char *username; /* NULL: no credentials */
    const char *password;
    const char *variables[MOST_VARIABLES + 1];
    size_t variable_count;
    struct step steps[MOST_STEPS];
    size_t step_count;
    size_t next;             /* the step that comes next */
    struct str input;        /* for the last step */
    char wrong[WRONG_BYTES]; /* with the request; or empty */
};

/* ---- fields ---- */

static void complain(struct job *job, const char *key, const char *text)
{
    if (job->wrong[0] == '\0')
        snprintf(job->wrong, sizeof(job->wrong), "%s %s", key, text);
}

static bool get_str(struct job *job, const char *key, struct str *out_text)
{
    int error = 0;

    if (job->object != NULL)
        return call_member_str(job->object, str_from(key), out_text);
    (void)call_query(job->call, &job->arena, str_from(key), out_text, &error);
    return error == 0;
}

/* The text, "" if there is none; it has no NUL. */
static const char *any_text(struct job *job, const char *key)
{
    struct str text = STR_EMPTY;
    const char *copy = NULL;

    if (get_str(job, key, &text) && !str_has_nul(text))
        copy = arena_copy(&job->arena, text);
    if (copy != NULL)
        return copy;
    complain(job, key, "must be a text");
    return "";
}

/* One that git cannot take for an option. */
static const char *name_of(struct job *job, const char *key)
{
    const char *text = any_text(job, key);

    if (text[0] != '-')
        return text;
    complain(job, key, "must not begin with a dash");
    return "";
}

static const char *needed(struct job *job, const char *key, const char *text)
{
    if (text[0] == '\0')
        complain(job, key, "must be a text that is not empty");
    return text;
}

static const char *needed_name(struct job *job, const char *key)
{
    return needed(job, key, name_of(job, key));
}

static bool flag_of(struct job *job, const char *key)
{
    bool is_set = false;

    if (!call_member_bool(job->object, str_from(key), &is_set))
        complain(job, key, "must be true or false");
    return is_set;
}

/* The path of a repository, absolute, so it begins with no dash. */
static const char *path_of(struct job *job)
{
    struct str text = STR_EMPTY;
    char path[ROOM_PATH_BYTES];
    const char *copy = NULL;

    if (get_str(job, "path", &text) && toolbox_path(text, path))
        copy = arena_copy(&job->arena, str_from(path));
    if (copy != NULL)
        return copy;
    complain(job, "path", "must be a path");
    return "";
}

static const char *decimal(struct job *job, int64_t number)
{
    char text[24];
    const char *copy;

    snprintf(text, sizeof(text), "%lld", (long long)number);
    copy = arena_copy(&job->arena, str_from(text));
    if (copy != NULL)
        return copy;
    complain(job, "the request", "is too large");
    return "";
}

/* ---- commands ---- */

static void set_variable(struct job *job, const char *name, const char *value)
{
    const size_t len = strlen(name) + strlen(value) + 2;
    char *pair = arena_alloc(&job->arena, len);

    if (pair == NULL || job->variable_count == MOST_VARIABLES) {
        complain(job, "the request", "is too large");
        return;
    }
    snprintf(pair, len, "%s=%s", name, value);
    job->variables[job->variable_count++] = pair;
}

static void add(struct job *job, const char *word)
{
    struct step *step = &job->steps[job->step_count - 1];

    if (step->words != NULL)
        step->words[step->count++] = word;
}

static void add_all(struct job *job, const char *const *words)
{
    for (; *words != NULL; words++)
        add(job, *words);
}

/* Begins a command with room for these words and that many files: git, where, and the verb. */
#define begin(job, files, ...) begin_with(job, files, (const char *const[]){__VA_ARGS__, NULL})
static void begin_with(struct job *job, size_t files, const char *const *words)
{
    struct step *step = &job->steps[job->step_count++];

    *step = (struct step){
        .words = arena_alloc_array(&job->arena, MOST_WORDS + files + 1, sizeof(*step->words))};
    if (step->words == NULL)
        complain(job, "the request", "is too large");
    add(job, "git");
    if (job->operation->needs_path) {
        add(job, "-C");
        add(job, job->path);
    }
    add_all(job, words);
}

#define more(job, ...) add_all(job, (const char *const[]){__VA_ARGS__, NULL})

/* The files, behind what ends the options. */
static void add_files(struct job *job, const struct json_value *files)
{
    add(job, "--");
    if (files == NULL)
        return;
    json_each_item (file, files) {
        const char *copy = NULL;

        if (file->type == JSON_STRING && json_str(file).len > 0 && !str_has_nul(json_str(file)))
            copy = arena_copy(&job->arena, json_str(file));
        if (copy == NULL) {
            complain(job, "files", "must be a list of paths");
            return;
        }
        add(job, copy);
    }
}

/* NULL if there are none. */
static const struct json_value *files_of(struct job *job, bool is_needed)
{
    const struct json_value *files = json_get(job->object, STR("files"));

    if (!is_needed && (files == NULL || files->type == JSON_NULL))
        return NULL;
    if (files != NULL && files->type == JSON_ARRAY && files->size <= GIT_MOST_FILES &&
        (files->size > 0 || !is_needed))
        return files->size > 0 ? files : NULL;
    complain(job, "files", "must be a list of paths");
    return NULL;
}

/* Whether the request has some. */
static bool read_credentials(struct job *job)
{
    const char *username = any_text(job, "username");
    const char *password = any_text(job, "password");

    if (username[0] == '\0' && password[0] == '\0')
        return false;
    job->username = username;
    job->password = password;
    return true;
}

/* The URL without its user, path and query. False for one that is not of HTTP. */
static bool append_origin(struct str url, struct buf *out)
{
    cleanup_buf struct buf text = BUF_INIT(KEY_BYTES);
    const size_t scheme = str_find(url, STR("://"));
    struct httpurl parsed;
    struct str host;
    size_t end = 0;
    size_t at;

    if (scheme == SIZE_MAX)
        return false;
    host = str_slice(url, scheme + 3, url.len);
    while (end < host.len && memchr("/?#\\", host.ptr[end], 4) == NULL)
        end++;
    host = str_slice(host, 0, end);
    at = str_find(host, STR("@"));
    if (at != SIZE_MAX)
        host = str_slice(host, at + 1, host.len);
    return buf_append_str(&text, str_slice(url, 0, scheme + 3)) == 0 &&
           buf_append_str(&text, host) == 0 && httpurl_parse(buf_view(&text), &parsed, NULL) == 0 &&
           httpurl_append_origin(&parsed, out) == 0;
}

/*
 * The remote asks a helper, which has them from variables: neither is a word that others in the
 * sandbox see in the list of processes, and nothing is stored. The helper answers for the URL's
 * scheme, host and port only: a redirect or a submodule may lead to somebody else.
 */
static void bind_credentials(struct job *job, struct str url)
{
    cleanup_buf struct buf key = BUF_INIT(KEY_BYTES);
    const char *text = NULL;

    if (buf_append_str(&key, STR("credential.")) < 0 || !append_origin(url, &key) ||
        buf_append_str(&key, STR(".helper")) < 0 || buf_terminate(&key, &text) < 0)
        return; /* nobody asks for them, or nobody gets them */
    set_variable(job, "GATEHOUSE_GIT_USERNAME", job->username);
    set_variable(job, "GATEHOUSE_GIT_PASSWORD", job->password);
    set_variable(job, "GIT_CONFIG_COUNT", "2");
    set_variable(job, "GIT_CONFIG_KEY_0", "credential.helper");
    set_variable(job, "GIT_CONFIG_VALUE_0", ""); /* forgets the others */
    set_variable(job, "GIT_CONFIG_KEY_1", text);
    set_variable(job, "GIT_CONFIG_VALUE_1",
                 "!f() { test \"$1\" = get && printf 'username=%s\\npassword=%s\\n' "
                 "\"$GATEHOUSE_GIT_USERNAME\" \"$GATEHOUSE_GIT_PASSWORD\"; }; f");
}

/* Begins a command that prints a remote's URL, for bind_credentials(). */
static void begin_lookup(struct job *job, const char *const *words)
{
    begin_with(job, 0, words);
    job->steps[0].finds_url = true; /* if it fails, the next step says why */
}

/* ---- operations ---- */

static void prepare_clone(struct job *job)
{
    const char *url = needed_name(job, "url");
    const char *branch = name_of(job, "branch");
    const char *commit = name_of(job, "commit_id");
    const char *path = path_of(job);
    int64_t depth = 0;

    if (!call_member_int(job->object, STR("depth"), &depth) || depth < 0 || depth > MOST_DEPTH)
        complain(job, "depth", "must be a number of commits");
    if (read_credentials(job))
        bind_credentials(job, str_from(url));
    begin(job, 0, "clone", "--quiet");
    if (branch[0] != '\0')
        more(job, "--branch", branch);
    if (depth > 0)
        more(job, "--depth", decimal(job, depth));
    if (flag_of(job, "insecure_skip_tls"))
        more(job, "--config", "http.sslVerify=false");
    more(job, "--", url, path);
    if (commit[0] != '\0')
        begin(job, 0, "-C", path, "checkout", "--quiet", "--detach", commit, "--");
}

static void prepare_init(struct job *job)
{
    const char *branch = name_of(job, "initial_branch");

    begin(job, 0, "init", "--quiet");
    if (flag_of(job, "bare"))
        add(job, "--bare");
    if (branch[0] != '\0')
        more(job, "--initial-branch", branch);
    more(job, "--", path_of(job));
}

static void prepare_status(struct job *job)
{
    set_variable(job, "GIT_OPTIONAL_LOCKS", "0"); /* whoever works there is not disturbed */
    begin(job, 0, "status", "--porcelain=v2", "--branch", "-z", "--untracked-files=all");
}

static void prepare_add(struct job *job)
{
    const struct json_value *files = files_of(job, true);

    begin(job, files != NULL ? files->size + 1 : 1, "add");
    add_files(job, files);
}

static void prepare_commit(struct job *job)
{
    const char *author = needed(job, "author", any_text(job, "author"));
    const char *email = needed(job, "email", any_text(job, "email"));
    const char *message = needed(job, "message", any_text(job, "message"));

    set_variable(job, "GIT_AUTHOR_NAME", author);
    set_variable(job, "GIT_AUTHOR_EMAIL", email);
    set_variable(job, "GIT_COMMITTER_NAME", author);
    set_variable(job, "GIT_COMMITTER_EMAIL", email);
    begin(job, 0, "commit", "--quiet", "-m", message);
    if (flag_of(job, "allow_empty"))
        add(job, "--allow-empty");
    begin(job, 0, "rev-parse", "HEAD");
}

static void prepare_history(struct job *job)
{
    begin(job, 0, "log", "-z", GITWIRE_LOG_FORMAT, "--max-count", decimal(job, GIT_MOST_COMMITS));
}

static void prepare_branches(struct job *job)
{
    begin(job, 0, "for-each-ref", GITWIRE_BRANCH_FORMAT, "refs/heads");
}

static void prepare_create_branch(struct job *job)
{
    begin(job, 0, "branch", "--", needed_name(job, "name"));
}

static void prepare_delete_branch(struct job *job)
{
    begin(job, 0, "branch", "--quiet", "-D", "--", needed_name(job, "name"));
}

static void prepare_checkout(struct job *job)
{
    begin(job, 0, "checkout", "--quiet", needed_name(job, "branch"), "--");
}

static void prepare_push(struct job *job)
{
    const char *given = name_of(job, "remote");
    const char *remote = given[0] != '\0' ? given : "origin";
    const char *branch = name_of(job, "branch");

    if (branch[0] == '+' || strchr(branch, ':') != NULL)
        complain(job, "branch", "must be the name of a branch");
    if (read_credentials(job)) {
        if (strstr(remote, "://") != NULL)
            bind_credentials(job, str_from(remote));
        else
            begin_lookup(job,
                         (const char *const[]){"remote", "get-url", "--push", "--", remote, NULL});
    }
    begin(job, 0, "push", "--quiet");
    if (flag_of(job, "set_upstream"))
        add(job, "--set-upstream");
    more(job, "--", remote, branch[0] != '\0' ? branch : "HEAD");
}

static void prepare_pull(struct job *job)
{
    const char *given = name_of(job, "remote");
    const char *branch = name_of(job, "branch");
    /* NULL: that of the branch that is checked out. */
    const char *remote = given[0] != '\0' ? given : branch[0] != '\0' ? "origin" : NULL;

    if (branch[0] == '+' || strchr(branch, ':') != NULL)
        complain(job, "branch", "must be the name of a branch");
    if (read_credentials(job))
        begin_lookup(job, (const char *const[]){"ls-remote", "--get-url", "--", remote, NULL});
    begin(job, 0, "pull", "--quiet", "--no-rebase", "--no-edit", "--");
    if (remote != NULL)
        add(job, remote);
    if (branch[0] != '\0')
        add(job, branch);
}

static void prepare_reset(struct job *job)
{
    static const char *const modes[] = {"soft", "mixed", "hard", "merge", "keep"};
    static const char *const options[] = {"--soft", "--mixed", "--hard", "--merge", "--keep"};
    const struct json_value *files = files_of(job, false);
    const char *mode = any_text(job, "mode");
    const char *target = name_of(job, "target");
    size_t at = mode[0] == '\0' ? 1 : str_index(str_from(mode), modes, array_size(modes));

    if (at == SIZE_MAX || (files != NULL && at != 1)) {
        complain(job, "mode", "must be soft, mixed, hard, merge or keep; with files, mixed");
        at = 1;
    }
    begin(job, files != NULL ? files->size + 1 : 1, "reset", "--quiet");
    if (files == NULL)
        add(job, options[at]);
    add(job, target[0] != '\0' ? target : "HEAD");
    add_files(job, files);
}

static void prepare_restore(struct job *job)
{
    const struct json_value *files = files_of(job, true);
    const char *source = name_of(job, "source");

    begin(job, files != NULL ? files->size + 1 : 1, "restore", "--quiet");
    if (flag_of(job, "staged"))
        add(job, "--staged");
    if (flag_of(job, "worktree"))
        add(job, "--worktree");
    if (source[0] != '\0')
        more(job, "--source", source);
    add_files(job, files);
}

static void prepare_remotes(struct job *job)
{
    begin(job, 0, "remote", "-v");
}

static void prepare_add_remote(struct job *job)
{
    const char *name = needed_name(job, "name");
    const char *url = needed_name(job, "url");

    if (flag_of(job, "overwrite")) {
        begin(job, 0, "remote", "remove", name);
        job->steps[0].may_fail = true; /* there is none */
    }
    begin(job, 0, "remote", "add");
    if (flag_of(job, "fetch"))
        add(job, "-f");
    more(job, "--", name, url);
}

/* Begins `git config` for the scope. */
static void begin_config(struct job *job)
{
    static const char *const scopes[] = {"global", "local", "system"};
    static const char *const options[] = {"--global", "--local", "--system"};
    const char *scope = any_text(job, "scope");
    const size_t at = scope[0] == '\0' ? 0 : str_index(str_from(scope), scopes, array_size(scopes));

    if (at == SIZE_MAX) {
        complain(job, "scope", "must be global, local or system");
        return;
    }
    if (at == 1)
        begin(job, 0, "-C", path_of(job), "config", "--local");
    else
        begin(job, 0, "config", options[at]);
}

static void prepare_get_config(struct job *job)
{
    const char *key = needed_name(job, "key");

    begin_config(job);
    if (job->step_count == 0)
        return;
    more(job, "-z", "--get", key);
    job->steps[0].may_fail = true; /* it is not set */
}

static void prepare_set_config(struct job *job)
{
    const char *key = needed_name(job, "key");
    const char *value = any_text(job, "value");

    begin_config(job);
    if (job->step_count > 0)
        more(job, key, value);
}

static void prepare_user(struct job *job)
{
    const char *name = needed(job, "name", any_text(job, "name"));
    const char *email = needed(job, "email", any_text(job, "email"));

    begin_config(job);
    if (job->step_count == 0)
        return;
    more(job, "user.name", name);
    begin_config(job);
    more(job, "user.email", email);
}

/* They are kept in the sandbox, for all its commands: that is what the client asks for. */
static void prepare_credentials(struct job *job)
{
    cleanup_buf struct buf text = BUF_INIT(TOOLBOX_MAX_INPUT_BYTES);
    const char *values[4] = {any_text(job, "protocol"), any_text(job, "host"),
                             needed(job, "username", any_text(job, "username")),
                             needed(job, "password", any_text(job, "password"))};

    for (size_t i = 0; i < array_size(values); i++)
        if (strpbrk(values[i], "\r\n") != NULL)
            complain(job, "the credentials", "must be of one line each");
    if (buf_printf(&text, "protocol=%s\nhost=%s\nusername=%s\npassword=%s\n\n",
                   values[0][0] != '\0' ? values[0] : "https",
                   values[1][0] != '\0' ? values[1] : "github.com", values[2], values[3]) < 0 ||
        !arena_copy_str(&job->arena, buf_view(&text), &job->input))
        complain(job, "the credentials", "are too long");
    begin(job, 0, "config", "--global", "credential.helper", "store");
    begin(job, 0, "credential", "approve");
}

/* ---- running ---- */

static void release(void *data)
{
    struct job *job = data;

    if (--job->refs > 0)
        return;
    arena_done(&job->arena);
    free(job);
}

static void answer_failure(struct exchange *exchange, const struct toolbox_result *result)
{
    const struct gitwire_failure failure = gitwire_failure(result->output, result->errors);
    struct str text = str_trim(result->errors.len > 0 ? result->errors : result->output);
    char message[MESSAGE_BYTES];

    if (text.len == 0)
        snprintf(message, sizeof(message), "git failed with %d", result->exit_code);
    else
        snprintf(message, sizeof(message), "%.*s", STR_ARG(text));
    daytona_fail(exchange, failure.status, failure.code, message);
}

static void answer_success(const struct operation *operation, struct exchange *exchange,
                           struct str output)
{
    cleanup_buf struct buf out = BUF_INIT(8 * (size_t)TOOLBOX_MAX_OUTPUT_BYTES);
    struct json_writer json;

    if (operation->write == NULL) {
        exchange_answer(exchange, &(struct http_answer){.status = operation->status});
        return;
    }
    json_writer_init(&json, &out);
    operation->write(&json, output);
    toolbox_answer_json(exchange, &json, &out);
}

static void run_next(struct job *job, struct exchange *exchange);

static void on_step_done(void *data, struct exchange *exchange, const struct toolbox_result *result)
{
    struct job *job = data;
    const struct step *step = &job->steps[job->next - 1];

    if (step->finds_url && result->exit_code == 0)
        bind_credentials(job, str_trim(result->output));
    if (job->wrong[0] != '\0')
        call_fail(exchange, 400, job->wrong);
    else if (result->exit_code != 0 && !step->finds_url &&
             !(step->may_fail && result->exit_code < 128))
        answer_failure(exchange, result);
    else if (job->next < job->step_count)
        run_next(job, exchange);
    else
        answer_success(job->operation, exchange, result->output);
}

static void run_next(struct job *job, struct exchange *exchange)
{
    struct tool *tool = tool_new(exchange, job->sandbox, on_step_done, job, release);
    struct step *step = &job->steps[job->next++];

    if (tool == NULL)
        return;
    job->refs++;
    tool->run.command.argv = step->words;
    tool->run.command.env = job->variables;
    if (job->next == job->step_count)
        tool->input = job->input;
    tool_start(tool);
}

static void end_words(struct job *job)
{
    for (size_t i = 0; i < job->step_count; i++) {
        for (size_t k = 0; job->steps[i].words != NULL && k < job->steps[i].count; k++)
            if (job->steps[i].words[k] == NULL)
                complain(job, "the request", "is too large");
        if (job->steps[i].words != NULL)
            job->steps[i].words[job->steps[i].count] = NULL;
    }
}

static void prepare(struct job *job)
{
    set_variable(job, "LC_ALL", "C"); /* for gitwire_failure() */
    set_variable(job, "GIT_TERMINAL_PROMPT", "0");
    set_variable(job, "GIT_LITERAL_PATHSPECS", "1");
    if (job->operation->needs_path)
        job->path = path_of(job);
    job->operation->prepare(job);
    end_words(job);
}

static void do_git(const struct api_call *call, const struct operation *operation)
{
    struct sandbox *sandbox = toolbox_find(call);
    struct job *job = sandbox != NULL ? calloc(1, sizeof(*job)) : NULL;
    const bool has_query =
        call->request->method == HTTP_METHOD_GET || call->request->method == HTTP_METHOD_HEAD;

    if (sandbox == NULL)
        return;
    if (job == NULL) {
        call_fail(call->exchange, 503, err_text(ERR_NO_MEMORY));
        return;
    }
    *job = (struct job){.refs = 1, .operation = operation, .call = call, .sandbox = sandbox};
    arena_init(&job->arena, CALL_ARENA_BYTES);
    if (!has_query)
        job->object = call_object(call, &job->arena, false);
    if (has_query || job->object != NULL) {
        prepare(job);
        job->call = NULL; /* it ends with this function */
        if (job->wrong[0] != '\0')
            call_fail(call->exchange, 400, job->wrong);
        else
            run_next(job, call->exchange);
    }
    release(job);
}

/* ---- endpoints ---- */

#define OPERATION(name, path, preparation, writer, code)                                           \
    static void name(const struct api_call *call)                                                  \
    {                                                                                              \
        static const struct operation operation = {path, preparation, writer, code};               \
                                                                                                   \
        do_git(call, &operation);                                                                  \
    }

/* clang-format off */
OPERATION(clone_url,      false, prepare_clone,         NULL,             200)
OPERATION(init,           false, prepare_init,          NULL,             201)
OPERATION(status,         true,  prepare_status,        gitwire_status,   200)
OPERATION(add_to_index,   true,  prepare_add,           NULL,             200)
OPERATION(commit,         true,  prepare_commit,        gitwire_commit,   200)
OPERATION(history,        true,  prepare_history,       gitwire_history,  200)
OPERATION(branches,       true,  prepare_branches,      gitwire_branches, 200)
OPERATION(create_branch,  true,  prepare_create_branch, NULL,             201)
OPERATION(delete_branch,  true,  prepare_delete_branch, NULL,             204)
OPERATION(checkout,       true,  prepare_checkout,      NULL,             200)
OPERATION(push,           true,  prepare_push,          NULL,             200)
OPERATION(pull,           true,  prepare_pull,          NULL,             200)
OPERATION(reset,          true,  prepare_reset,         NULL,             200)
OPERATION(restore,        true,  prepare_restore,       NULL,             200)
OPERATION(remotes,        true,  prepare_remotes,       gitwire_remotes,  200)
OPERATION(add_remote,     true,  prepare_add_remote,    NULL,             201)
OPERATION(get_config,     false, prepare_get_config,    gitwire_config,   200)
OPERATION(set_config,     false, prepare_set_config,    NULL,             200)
OPERATION(configure_user, false, prepare_user,          NULL,             200)
OPERATION(authenticate,   false, prepare_credentials,   NULL,             200)

static const struct endpoint endpoints[] = {
    {HTTP_METHOD_POST,   "/toolbox/*/git/clone", ENDPOINT_KEY, TOOLBOX_MAX_BODY_BYTES, clone_url},
    {HTTP_METHOD_POST,   "/toolbox/*/git/init", ENDPOINT_KEY, TOOLBOX_MAX_BODY_BYTES, init},
    {HTTP_METHOD_GET,    "/toolbox/*/git/status", ENDPOINT_KEY, 0, status},
    {HTTP_METHOD_POST,   "/toolbox/*/git/add", ENDPOINT_KEY, TOOLBOX_MAX_BODY_BYTES, add_to_index},
    {HTTP_METHOD_POST,   "/toolbox/*/git/commit", ENDPOINT_KEY, TOOLBOX_MAX_BODY_BYTES, commit},
    {HTTP_METHOD_GET,    "/toolbox/*/git/history", ENDPOINT_KEY, 0, history},
    {HTTP_METHOD_GET,    "/toolbox/*/git/branches", ENDPOINT_KEY, 0, branches},
    {HTTP_METHOD_POST,   "/toolbox/*/git/branches", ENDPOINT_KEY, TOOLBOX_MAX_BODY_BYTES, create_branch},
    {HTTP_METHOD_DELETE, "/toolbox/*/git/branches", ENDPOINT_KEY, TOOLBOX_MAX_BODY_BYTES, delete_branch},
    {HTTP_METHOD_POST,   "/toolbox/*/git/checkout", ENDPOINT_KEY, TOOLBOX_MAX_BODY_BYTES, checkout},
    {HTTP_METHOD_POST,   "/toolbox/*/git/push", ENDPOINT_KEY, TOOLBOX_MAX_BODY_BYTES, push},
    {HTTP_METHOD_POST,   "/toolbox/*/git/pull", ENDPOINT_KEY, TOOLBOX_MAX_BODY_BYTES, pull},
    {HTTP_METHOD_POST,   "/toolbox/*/git/reset", ENDPOINT_KEY, TOOLBOX_MAX_BODY_BYTES, reset},
    {HTTP_METHOD_POST,   "/toolbox/*/git/restore", ENDPOINT_KEY, TOOLBOX_MAX_BODY_BYTES, restore},
    {HTTP_METHOD_GET,    "/toolbox/*/git/remotes", ENDPOINT_KEY, 0, remotes},
    {HTTP_METHOD_POST,   "/toolbox/*/git/remotes", ENDPOINT_KEY, TOOLBOX_MAX_BODY_BYTES, add_remote},
    {HTTP_METHOD_GET,    "/toolbox/*/git/config", ENDPOINT_KEY, 0, get_config},
    {HTTP_METHOD_POST,   "/toolbox/*/git/config", ENDPOINT_KEY, TOOLBOX_MAX_BODY_BYTES, set_config},
    {HTTP_METHOD_POST,   "/toolbox/*/git/config/user", ENDPOINT_KEY, TOOLBOX_MAX_BODY_BYTES, configure_user},
    {HTTP_METHOD_POST,   "/toolbox/*/git/credentials", ENDPOINT_KEY, TOOLBOX_MAX_BODY_BYTES, authenticate},
};
/* clang-format on */

const struct endpoint_table git_endpoints = {endpoints, array_size(endpoints)};
