/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/report/sessions.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/utf8.h"
#include "cli/table.h"

enum {
    CLIENT_BYTES = 64,
    FOLDER_BYTES = 256,
    FOUND_ALL = 1, /* stops the search; above every error */
};

struct session_row {
    char id[SESSIONS_ID_BYTES];
    char client[CLIENT_BYTES];
    char folder[FOLDER_BYTES];
    int64_t first_ms;
    int64_t last_ms;
    uint64_t calls;
};

struct gathering {
    struct session_row *rows; /* newest first */
    size_t count;
    size_t limit;
};

static struct str text_of(const struct json_value *object, struct str key)
{
    struct str text = STR_EMPTY;

    if (object != NULL)
        (void)json_get_str(object, key, &text);
    return text;
}

static void copy_text(char *out, size_t size, struct str text)
{
    struct str kept = utf8_cut(text, size - 1);

    if (kept.len > 0)
        memcpy(out, kept.ptr, kept.len);
    out[kept.len] = '\0';
}

static struct session_row *find(const struct gathering *all, struct str id)
{
    for (size_t i = 0; i < all->count; i++)
        if (str_eq_c(id, all->rows[i].id))
            return &all->rows[i];
    return NULL;
}

/* From the newest back: what comes after the limit was there before it. */
static int gather(void *data, struct str line, const struct json_value *record)
{
    struct gathering *all = data;
    struct str id = text_of(json_get(record, STR("subject")), STR("id"));
    struct session_row *row = find(all, id);
    struct clock_iso time;
    int64_t ms =
        clock_parse_iso(text_of(record, STR("timestamp")), &time) ? clock_iso_ms(&time) : 0;

    (void)line;
    if (id.len == 0 || id.len >= SESSIONS_ID_BYTES)
        return 0;
    if (row == NULL && all->count == all->limit)
        return 0;
    if (row == NULL) {
        row = &all->rows[all->count++];
        *row = (struct session_row){.last_ms = ms};
        copy_text(row->id, sizeof(row->id), id);
        copy_text(row->client, sizeof(row->client), text_of(record, STR("client")));
        copy_text(row->folder, sizeof(row->folder),
                  text_of(json_get(record, STR("root")), STR("displayName")));
    }
    row->first_ms = ms;
    row->calls++;
    return all->limit == 1 ? FOUND_ALL : 0;
}

static int gather_all(struct audit_reader *reader, struct gathering *all, struct err *err)
{
    const struct audit_query query = {
        .operation = str_from(authority_operation_name(AUTHORITY_OP_CALL)), .newest_first = true};
    int r;

    all->rows = calloc(all->limit, sizeof(*all->rows));
    if (all->rows == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    r = audit_reader_query(reader, &query, gather, all, NULL, err);
    return r == FOUND_ALL ? 0 : r;
}

int sessions_find_last(struct audit_reader *reader, char out_id[SESSIONS_ID_BYTES], struct err *err)
{
    struct gathering all = {.limit = 1};
    int r = gather_all(reader, &all, err);

    if (r == 0 && all.count == 0)
        r = err_set(err, ERR_NOT_FOUND, "no agent has called a tool yet");
    if (r == 0 && all.rows != NULL)
        memcpy(out_id, all.rows[0].id, SESSIONS_ID_BYTES);
    free(all.rows);
    return r;
}

int sessions_list(struct audit_reader *reader, struct output *output, struct err *err)
{
    static const struct table_column columns[] = {
        {.title = "STARTED"},
        {.title = "CALLS", .is_number = true},
        {.title = "SESSION"},
        {.title = "CLIENT", .fair = 14, .least = 6},
        {.title = "FOLDER", .least = 8, .is_path = true},
    };
    cleanup_table struct table table = {.count = 0};
    struct gathering all = {.limit = SESSIONS_SHOWN};
    int r = gather_all(reader, &all, err);

    table_init(&table, output, columns, array_size(columns));
    table.has_head = true;
    for (size_t i = 0; r == 0 && i < all.count; i++) {
        const struct session_row *row = &all.rows[i];

        table_cell_time(&table, row->first_ms, STR_EMPTY);
        table_cell_printf(&table, "%llu", (unsigned long long)row->calls);
        table_cell(&table, str_from(row->id));
        table_cell(&table, str_from(row->client));
        table_cell(&table, str_from(row->folder));
    }
    if (r == 0)
        table_end(&table, "No agent has called a tool yet: 'gatehouse up' lets one in");
    free(all.rows);
    return r;
}
