/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of sandboxes, filtered: with a cursor, and the older form with numbered pages. */
#include "programs/sandboxd/daytona/sandboxes.h"
#include "programs/sandboxd/details.h"

enum {
    LIST_ITEMS = 100, /* on a page that gives no limit */
    MOST_LIST_ITEMS = 200,
};

/* What a list shows. */
struct filter {
    struct str id;
    struct str name;
    struct str states;               /* separated by commas; empty: all */
    const struct json_value *labels; /* or NULL */
    int64_t limit;
    int64_t page;
    struct str cursor; /* the last one of the page before */
};

static bool has_labels(const struct sandbox *sandbox, const struct json_value *wanted)
{
    cleanup_arena struct arena arena = ARENA_INIT(CALL_ARENA_BYTES);
    const struct json_value *labels;

    if (wanted == NULL)
        return true;
    if (sandbox->details == NULL || json_parse(&arena, str_from(sandbox->details->labels),
                                               JSON_LIMITS_DEFAULT, &labels, NULL) < 0)
        return wanted->size == 0;
    json_each_member (key, wanted) {
        struct str value;

        if (!json_get_str(labels, json_str(key), &value) || !str_eq(value, json_str(key + 1)))
            return false;
    }
    return true;
}

static bool is_listed(const struct sandbox *sandbox, const struct filter *filter)
{
    const char *name = sandbox->details != NULL ? sandbox->details->name : sandbox->record.id;
    struct str states = filter->states;
    struct str state;
    bool has_state = states.len == 0;

    while (str_cut(&states, ',', &state))
        if (str_eq_c(state, daytona_state_name(sandbox)))
            has_state = true;
    return has_state && (filter->id.len == 0 || str_eq_c(filter->id, sandbox->record.id)) &&
           (filter->name.len == 0 || str_starts_with(str_from(name), filter->name)) &&
           has_labels(sandbox, filter->labels);
}

static bool read_number(const struct api_call *call, struct arena *arena, struct str name,
                        int64_t least, int64_t most, int64_t *out_number)
{
    struct str text;
    int error = 0;

    if (call_query(call, arena, name, &text, &error) &&
        (!str_to_int64(text, out_number) || *out_number < least))
        return false;
    if (*out_number > most)
        *out_number = most;
    return error == 0;
}

/* The values of a parameter that may be given several times, each with a comma behind it. */
static bool read_states(const struct api_call *call, struct arena *arena, struct str *out_states)
{
    cleanup_buf struct buf all = BUF_INIT(HTTP_MAX_LINE_BYTES);
    struct str rest = call->request->query;
    const char *copy;
    struct str pair;

    while (str_cut(&rest, '&', &pair)) {
        struct str key = STR_EMPTY;

        (void)str_cut(&pair, '=', &key);
        if (str_eq(key, STR("states")) &&
            (buf_append_str(&all, pair) < 0 || buf_append_char(&all, ',') < 0))
            return false;
    }
    copy = arena_copy(arena, buf_view(&all));
    if (copy == NULL)
        return false;
    *out_states = str_from(copy);
    return true;
}

/* What is wrong with the query, or NULL. */
static const char *read_filter(const struct api_call *call, struct arena *arena,
                               struct filter *filter)
{
    struct str labels = STR_EMPTY;
    int error = 0;

    *filter = (struct filter){.limit = LIST_ITEMS, .page = 1};
    (void)call_query(call, arena, STR("id"), &filter->id, &error);
    (void)call_query(call, arena, STR("name"), &filter->name, &error);
    if (!read_states(call, arena, &filter->states))
        return "there are too many states";
    (void)call_query(call, arena, STR("cursor"), &filter->cursor, &error);
    if (call_query(call, arena, STR("labels"), &labels, &error) &&
        (json_parse(arena, labels, JSON_LIMITS_DEFAULT, &filter->labels, NULL) < 0 ||
         !details_is_texts(filter->labels)))
        return "labels must be an object of texts, as JSON";
    if (!read_number(call, arena, STR("limit"), 1, MOST_LIST_ITEMS, &filter->limit) ||
        !read_number(call, arena, STR("page"), 1, INT32_MAX, &filter->page))
        return "limit and page must be numbers from 1 on";
    return error == 0 ? NULL : "the query is malformed";
}

/* The next older one of the owner that the filter lets through; NULL at the end. */
static struct sandbox *next_listed(const struct api_call *call, const struct filter *filter,
                                   struct list *after)
{
    struct list *order = &call->service->order;

    for (struct list *node = after->prev; node != order; node = node->prev) {
        struct sandbox *sandbox = list_entry(node, struct sandbox, node);

        if (strcmp(sandbox->record.owner, call->owner) == 0 && sandbox->state != SANDBOX_DELETING &&
            is_listed(sandbox, filter))
            return sandbox;
    }
    return NULL;
}

void daytona_list(const struct api_call *call)
{
    cleanup_arena struct arena arena = ARENA_INIT(CALL_ARENA_BYTES);
    cleanup_buf struct buf out = BUF_INIT(CALL_MAX_ANSWER_BYTES);
    struct list *from = &call->service->order;
    const struct sandbox *last = NULL;
    struct sandbox *sandbox;
    char url[DAYTONA_URL_BYTES];
    struct json_writer json;
    struct filter filter;
    const char *wrong = read_filter(call, &arena, &filter);

    if (wrong == NULL && filter.cursor.len > 0) {
        sandbox = service_find(call->service, filter.cursor, call->owner);
        if (sandbox == NULL)
            wrong = "the cursor leads nowhere: its sandbox was deleted";
        else
            from = &sandbox->node;
    }
    if (wrong != NULL) {
        call_fail(call->exchange, 400, wrong);
        return;
    }
    daytona_base_url(call->service, call->request, url);
    json_writer_init(&json, &out);
    json_begin_object(&json);
    json_key(&json, STR("items"));
    json_begin_array(&json);
    sandbox = next_listed(call, &filter, from);
    for (int64_t i = 0; sandbox != NULL && i < filter.limit; i++) {
        daytona_write_sandbox(&json, sandbox, url);
        last = sandbox;
        sandbox = next_listed(call, &filter, &sandbox->node);
    }
    json_end_array(&json);
    json_key(&json, STR("nextCursor"));
    if (sandbox != NULL && last != NULL)
        json_write_str(&json, str_from(last->record.id));
    else
        json_write_null(&json);
    json_end_object(&json);
    call_answer_written(call->exchange, 200, &json, &out);
}

void daytona_list_pages(const struct api_call *call)
{
    cleanup_arena struct arena arena = ARENA_INIT(CALL_ARENA_BYTES);
    cleanup_buf struct buf out = BUF_INIT(CALL_MAX_ANSWER_BYTES);
    char url[DAYTONA_URL_BYTES];
    struct json_writer json;
    struct filter filter;
    int64_t total = 0;
    const char *wrong = read_filter(call, &arena, &filter);

    if (wrong != NULL) {
        call_fail(call->exchange, 400, wrong);
        return;
    }
    daytona_base_url(call->service, call->request, url);
    json_writer_init(&json, &out);
    json_begin_object(&json);
    json_key(&json, STR("items"));
    json_begin_array(&json);
    for (struct sandbox *sandbox = next_listed(call, &filter, &call->service->order);
         sandbox != NULL; sandbox = next_listed(call, &filter, &sandbox->node)) {
        if (total / filter.limit == filter.page - 1)
            daytona_write_sandbox(&json, sandbox, url);
        total++;
    }
    json_end_array(&json);
    json_put_int(&json, STR("total"), total);
    json_put_int(&json, STR("page"), filter.page);
    json_put_int(&json, STR("totalPages"), (total + filter.limit - 1) / filter.limit);
    json_end_object(&json);
    call_answer_written(call->exchange, 200, &json, &out);
}
