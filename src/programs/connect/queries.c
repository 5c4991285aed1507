/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/connect/queries.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "loop/worker.h"
#include "protocol/toolresult.h"
#include "report/report.h"

enum {
    ARENA_BYTES = 1 << 20,
    SETTINGS_WAIT_MS = 5000, /* for another program that changes the rules */
    QUERY_MS = 20000,
    GRACE_MS = 2000,
    DEFAULT_CALLS = 100,
    MAX_FILTER_BYTES = 256,
    SHORTEST_CUT = 250, /* of a folder's path that the audit log has cut */
};

struct queries {
    struct queries_config config;
    struct worker_pool *pool;
    atomic_uint running; /* jobs of its thread, including a hanging one */
};

/* A query that may block; the thread's alone while it runs. */
struct job {
    struct queries *queries;
    int (*work)(struct job *job, struct json_writer *json, struct cancel *token);
    struct arena arena; /* id and arguments */
    struct str id;
    const struct json_value *arguments;
    struct buf result;
    struct err err;
};

/* ---- answers ---- */

static void answer_error(const struct queries *queries, struct str id, const struct err *err)
{
    cleanup_buf struct buf result = BUF_INIT(ERR_MESSAGE_BYTES * 16);

    if (toolresult_write_error(err, TOOLRESULT_JSON, &result) == 0)
        queries->config.answer(queries->config.data, id, buf_view(&result));
}

static void answer_object(const struct queries *queries, struct str id, struct str object)
{
    cleanup_buf struct buf result = BUF_INIT(4 * QUERIES_MAX_RESULT_BYTES);
    struct err err = ERR_INIT;
    int r = toolresult_write_object(&result, object, TOOLRESULT_JSON, false);

    if (r == 0) {
        queries->config.answer(queries->config.data, id, buf_view(&result));
        return;
    }
    err_set_plain(&err, r);
    answer_error(queries, id, &err);
}

/* ---- rules ---- */

/* A removed deny rule allows more than before. */
static int check_revoke(const struct job *job, const struct rule *rule, struct err *err)
{
    if (rule->effect == RULE_ALLOW || job->queries->config.may_widen)
        return 0;
    return err_set(
        err, ERR_DENIED_BY_POLICY,
        "a deny rule is removed on the machine itself, with 'gatehouse rules revoke', or "
        "here if gatehouse connect was started with --allow-remote-always");
}

static int revoke_rule(const struct job *job, struct settings_file *file, struct str given,
                       struct err *err)
{
    cleanup_arena struct arena arena = ARENA_INIT(SETTINGS_ARENA_BYTES);
    struct settings_findings findings;
    struct settings settings;
    char id[SETTINGS_ID_BYTES];
    size_t index;
    int r = settings_file_reload(file, &arena, &settings, &findings, err);

    if (r == 0)
        r = settings_find(&settings, given, &index, err);
    if (r == 0)
        r = check_revoke(job, &settings.rules[index], err);
    if (r < 0)
        return r;
    r = settings_rule_id(&settings.rules[index], id);
    if (r < 0)
        return err_set_plain(err, r);
    /* By all of its id: whatever the file has become since, no other goes. */
    return settings_file_revoke(file, str_from(id), err);
}

static int list_rules(const struct job *job, struct settings_file *file, struct json_writer *json,
                      struct err *err)
{
    cleanup_arena struct arena arena = ARENA_INIT(SETTINGS_ARENA_BYTES);
    struct settings_findings findings;
    struct settings settings = {.rule_count = 0};
    int64_t now_ms = clock_wall_ms(&clock_system);
    int r = settings_file_reload(file, &arena, &settings, &findings, err);

    if (r < 0 && r != ERR_NOT_FOUND)
        return r;
    json_begin_object(json);
    json_key(json, STR("rules"));
    json_begin_array(json);
    for (size_t i = 0; i < settings.rule_count; i++) {
        r = settings_write_rule(json, &settings.rules[i], now_ms);
        if (r < 0)
            return err_set_plain(err, r);
    }
    json_end_array(json);
    json_put_bool(json, STR("mayRevokeDeny"), job->queries->config.may_widen);
    json_end_object(json);
    return 0;
}

/* With a file of its own: the session's belongs to others. */
static int work_on_rules(struct job *job, struct json_writer *json, struct cancel *token)
{
    const struct session *session = job->queries->config.session;
    struct str given;
    bool revokes = json_get_str(job->arguments, STR("revoke"), &given);
    const struct settings_file_config config = {
        .authority = session->state.authority,
        .dir = settings_file_dir(session->settings),
        .only_reads = !revokes,
        .wait_ms = SETTINGS_WAIT_MS,
    };
    struct settings_file *file = NULL;
    int r = settings_file_open(&config, &file, &job->err);

    (void)token;
    if (r == 0 && revokes)
        r = revoke_rule(job, file, given, &job->err);
    if (r == 0)
        r = list_rules(job, file, json, &job->err);
    settings_file_free(file);
    return r;
}

/* ---- the audit log ---- */

struct search {
    const struct job *job;
    struct json_writer *json;
    struct cancel *token;
    struct str text;
    int64_t skipped;
    int64_t from;
    int64_t limit;
    int64_t count;
    bool has_more;
};

static struct str text_of(const struct json_value *record, struct str field)
{
    struct str text = STR_EMPTY;

    json_get_str(record, field, &text);
    return text;
}

static bool names_folder(struct str name, struct str folder)
{
    return str_eq(name, folder) || (name.len >= SHORTEST_CUT && str_starts_with(folder, name));
}

/* Sessions of other folders share the log; of a long path it has only the beginning. NULL: of none.
 */
static const struct session_folder *folder_of(const struct search *search,
                                              const struct json_value *record)
{
    const struct session *session = search->job->queries->config.session;
    const struct json_value *root = json_get(record, STR("root"));
    struct str name = root != NULL ? text_of(root, STR("displayName")) : STR_EMPTY;

    for (size_t i = 0; i < session->folder_count; i++)
        if (names_folder(name, str_from(session->folders[i].root_path)))
            return &session->folders[i];
    return NULL;
}

static bool has_words(struct str text, struct str words)
{
    for (size_t i = 0; i + words.len <= text.len; i++)
        if (str_eq_nocase(str_slice(text, i, words.len), words))
            return true;
    return false;
}

/* The fields of a record that are shown; `name` is what it is called in the answer. */
static const struct {
    struct str field;
    struct str name;
} shown[] = {
    {STR_LITERAL("timestamp"), STR_LITERAL("at")},
    {STR_LITERAL("tool"), STR_LITERAL("tool")},
    {STR_LITERAL("relativePath"), STR_LITERAL("what")},
    {STR_LITERAL("destinationPath"), STR_LITERAL("where")},
    {STR_LITERAL("outcome"), STR_LITERAL("outcome")},
    {STR_LITERAL("decision"), STR_LITERAL("decision")},
    {STR_LITERAL("policySource"), STR_LITERAL("refusedBy")},
    {STR_LITERAL("client"), STR_LITERAL("client")},
    {STR_LITERAL("error"), STR_LITERAL("error")},
    {STR_LITERAL("reason"), STR_LITERAL("reason")},
};

/* Names that are no text are in the log in hex. */
static struct str name_of(const struct json_value *record, struct str field, char space[PATH_MAX])
{
    size_t len;

    if (!str_ends_with(field, STR("Path")))
        return text_of(record, field);
    return audit_record_name(record, field, space, &len) ? (struct str){space, len} : STR_EMPTY;
}

static bool is_wanted(const struct search *search, const struct json_value *record)
{
    char space[PATH_MAX];

    if (folder_of(search, record) == NULL)
        return false;
    if (search->text.len == 0)
        return true;
    for (size_t i = 0; i < array_size(shown); i++)
        if (has_words(name_of(record, shown[i].field, space), search->text))
            return true;
    return false;
}

static int visit(void *data, const struct json_value *record)
{
    struct search *search = data;
    const struct session_folder *folder;
    char space[PATH_MAX];

    if (cancel_check(search->token) < 0)
        return ERR_CANCELLED;
    if (!is_wanted(search, record) || search->skipped++ < search->from)
        return 0;
    if (search->count >= search->limit ||
        search->job->result.len > QUERIES_MAX_RESULT_BYTES - AUDIT_MAX_RECORD_BYTES) {
        search->has_more = true;
        return 1;
    }
    search->count++;
    json_begin_object(search->json);
    for (size_t i = 0; i < array_size(shown); i++) {
        struct str text = name_of(record, shown[i].field, space);

        if (text.len > 0)
            json_put_str_lossy(search->json, shown[i].name, text);
    }
    folder = folder_of(search, record);
    if (folder != search->job->queries->config.session->folders)
        json_put_str_lossy(search->json, STR("folder"), str_from(folder->root_path));
    if (json_get(record, STR("details")) != NULL) {
        json_key(search->json, STR("details"));
        json_write_value(search->json, json_get(record, STR("details")));
    }
    json_end_object(search->json);
    return 0;
}

static int work_on_audit(struct job *job, struct json_writer *json, struct cancel *token)
{
    const struct session *session = job->queries->config.session;
    const struct audit_config config = {.dir_fd = session->state.audit_dir_fd,
                                        .name = "audit.jsonl"};
    struct audit_query query = {.operation = str_from(authority_operation_name(AUTHORITY_OP_CALL)),
                                .newest_first = true};
    struct search search = {.job = job, .json = json, .token = token, .limit = DEFAULT_CALLS};
    int r = 0;

    json_get_str(job->arguments, STR("text"), &search.text);
    json_get_str(job->arguments, STR("tool"), &query.tool);
    json_get_str(job->arguments, STR("outcome"), &query.outcome);
    json_get_whole(job->arguments, STR("from"), &search.from);
    json_get_whole(job->arguments, STR("limit"), &search.limit);
    json_get_whole(job->arguments, STR("since"), &query.since_ms);
    json_get_whole(job->arguments, STR("until"), &query.until_ms);
    search.text = str_slice(search.text, 0, MAX_FILTER_BYTES);
    if (search.limit < 1 || search.limit > QUERIES_MAX_CALLS)
        search.limit = search.limit < 1 ? 1 : QUERIES_MAX_CALLS;
    json_begin_object(json);
    json_key(json, STR("calls"));
    json_begin_array(json);
    if (session->state.audit_dir_fd >= 0)
        r = audit_query(&config, &query, visit, &search, NULL, &job->err);
    json_end_array(json);
    json_put_bool(json, STR("more"), search.has_more);
    json_end_object(json);
    return r < 0 ? r : 0;
}

/* ---- a report of this session ---- */

struct reporting {
    struct report *report;
    struct cancel *token;
};

static int add_record(void *data, const struct json_value *record)
{
    const struct reporting *reporting = data;
    int r = cancel_check(reporting->token);

    return r == 0 ? report_add(reporting->report, record) : r;
}

static int work_on_report(struct job *job, struct json_writer *json, struct cancel *token)
{
    const struct queries_config *config = &job->queries->config;
    const struct audit_config log = {.dir_fd = config->session->state.audit_dir_fd,
                                     .name = "audit.jsonl"};
    const struct audit_query query = {.subject_id = str_from(config->name)};
    cleanup_buf struct buf page = BUF_INIT(REPORT_LEAST_BYTES);
    struct reporting reporting = {.token = token};
    int r = log.dir_fd < 0
                ? ERR_UNSUPPORTED
                : report_new(str_from(config->name), REPORT_LEAST_BYTES, &reporting.report);

    if (r == 0)
        r = audit_query(&log, &query, add_record, &reporting, NULL, &job->err);
    if (r == 0)
        r = report_write(reporting.report, clock_wall_ms(&clock_system), &page);
    report_free(reporting.report);
    if (r < 0)
        return r;
    json_begin_object(json);
    json_put_str(json, STR("name"), STR("gatehouse-report.html"));
    json_put_str_lossy(json, STR("html"), buf_view(&page));
    json_end_object(json);
    return 0;
}

/* ---- the thread ---- */

static int run_job(void *data, struct cancel *token)
{
    struct job *job = data;
    struct queries *queries = job->queries;
    struct json_writer json;
    int r;

    atomic_fetch_add(&queries->running, 1);
    json_writer_init(&json, &job->result);
    r = job->work(job, &json, token);
    if (r == 0)
        r = json_writer_finish(&json);
    atomic_fetch_sub(&queries->running, 1);
    return r;
}

static void on_done(void *context, int result, void *data)
{
    struct queries *queries = context;
    struct job *job = data;
    struct err err = ERR_INIT;

    /* Given up: its id is with the thread, and the server's own time ends it. */
    if (job == NULL)
        return;
    if (result == 0) {
        answer_object(queries, job->id, buf_view(&job->result));
        return;
    }
    err = job->err;
    if (err.code == 0)
        err_set_plain(&err, result);
    answer_error(queries, job->id, &err);
}

static void free_job(void *data)
{
    struct job *job = data;

    arena_done(&job->arena);
    buf_done(&job->result);
    free(job);
}

static int submit(struct queries *queries, const struct gateway_call *query,
                  int (*work)(struct job *, struct json_writer *, struct cancel *))
{
    struct job *job = calloc(1, sizeof(*job));
    uint64_t number;
    int r;

    if (job == NULL)
        return ERR_NO_MEMORY;
    *job = (struct job){.queries = queries, .work = work, .arena = ARENA_INIT(ARENA_BYTES)};
    buf_init(&job->result, QUERIES_MAX_RESULT_BYTES);
    job->arguments = json_copy(&job->arena, query->arguments);
    if (job->arguments == NULL || !arena_copy_str(&job->arena, query->id, &job->id))
        r = job->arena.error;
    else
        r = worker_submit(queries->pool,
                          &(struct worker_job){.run = run_job,
                                               .done = on_done,
                                               .free_data = free_job,
                                               .data = job,
                                               .context = queries,
                                               .timeout_ms = QUERY_MS},
                          &number);
    if (r < 0)
        free_job(job);
    return r;
}

/* ---- which one ---- */

static int take_rules(struct queries *queries, const struct gateway_call *query)
{
    if (queries->config.session->settings == NULL)
        return ERR_UNSUPPORTED;
    if (json_get(query->arguments, STR("revoke")) != NULL)
        log_write(queries->config.log, LOG_INFO, "the server's page revokes a rule");
    return submit(queries, query, work_on_rules);
}

static int take_audit(struct queries *queries, const struct gateway_call *query)
{
    /* Or it would lack the newest calls. */
    if (queries->config.session->state.audit != NULL)
        audit_file_flush(queries->config.session->state.audit);
    return submit(queries, query, work_on_audit);
}

static int take_report(struct queries *queries, const struct gateway_call *query)
{
    if (queries->config.session->state.audit != NULL)
        audit_file_flush(queries->config.session->state.audit);
    return submit(queries, query, work_on_report);
}

static int take_jobs(struct queries *queries, const struct gateway_call *query)
{
    struct str job;
    int64_t from = 0;

    json_get_whole(query->arguments, STR("from"), &from);
    if (json_get_str(query->arguments, STR("stop"), &job))
        calls_stop_job(queries->config.calls, query->id, job);
    else if (json_get_str(query->arguments, STR("output"), &job))
        calls_show_job(queries->config.calls, query->id, job, (uint64_t)from);
    else
        calls_list_jobs(queries->config.calls, query->id);
    return 0;
}

static int take_session(struct queries *queries, const struct gateway_call *query)
{
    cleanup_buf struct buf text = BUF_INIT(ARENA_BYTES);
    struct json_writer json;
    int r;

    json_writer_init(&json, &text);
    json_begin_object(&json);
    queries->config.describe(queries->config.data, &json);
    json_end_object(&json);
    r = json_writer_finish(&json);
    if (r == 0)
        answer_object(queries, query->id, buf_view(&text));
    return r;
}

static const struct {
    struct str name;
    int (*take)(struct queries *queries, const struct gateway_call *query);
} kinds[] = {
    {STR_LITERAL("rules"), take_rules},     {STR_LITERAL("audit"), take_audit},
    {STR_LITERAL("report"), take_report},   {STR_LITERAL("jobs"), take_jobs},
    {STR_LITERAL("session"), take_session},
};

void queries_take(struct queries *queries, const struct gateway_call *query)
{
    struct err err = ERR_INIT;
    int r = ERR_NOT_FOUND;

    for (size_t i = 0; i < array_size(kinds); i++)
        if (str_eq(query->name, kinds[i].name))
            r = kinds[i].take(queries, query);
    if (r == ERR_NOT_FOUND)
        err_set(&err, r, "this machine cannot be asked for that");
    else if (r < 0)
        err_set_plain(&err, r);
    if (r < 0)
        answer_error(queries, query->id, &err);
}

/* ---- making ---- */

int queries_new(const struct queries_config *config, struct queries **out_queries)
{
    const struct worker_config pool = {
        .threads = 1, .queue_max = QUERIES_MAX_WAITING, .abandoned_max = 1, .grace_ms = GRACE_MS};
    struct queries *queries = calloc(1, sizeof(*queries));
    int r;

    if (queries == NULL)
        return ERR_NO_MEMORY;
    queries->config = *config;
    r = worker_pool_new(config->loop, &pool, &queries->pool);
    if (r < 0) {
        free(queries);
        return r;
    }
    *out_queries = queries;
    return 0;
}

bool queries_stop(struct queries *queries)
{
    if (queries == NULL)
        return true;
    if (queries->pool != NULL)
        worker_pool_free(queries->pool);
    queries->pool = NULL;
    return atomic_load(&queries->running) == 0;
}

void queries_free(struct queries *queries)
{
    /* SAFETY: a thread that hangs counts there when it goes on, so it has it for good. */
    if (queries_stop(queries))
        free(queries);
}
