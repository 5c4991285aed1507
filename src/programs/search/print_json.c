/* SPDX-License-Identifier: Apache-2.0 */
/* Output for programs. */
#include "programs/search/print.h"

#include "base/jsonwrite.h"

/* A name must be one JSON string, so it is assembled first. */
static void put_path(struct json_writer *w, const struct print_view *view, struct str name)
{
    __attribute__((uninitialized)) char path[2 * PATH_MAX];
    struct str directory = str_slice(view->directory, 0, PATH_MAX - 1);
    size_t len = directory.len;

    memcpy(path, directory.ptr, len);
    if (len > 0 && name.len > 0 && path[len - 1] != '/')
        path[len++] = '/';
    if (len == 0 && name.len == 0)
        name = STR(".");
    memcpy(path + len, name.ptr, name.len);
    json_key(w, STR("path"));
    json_write_str_lossy(w, (struct str){path, len + name.len});
}

static void put_count(struct json_writer *w, struct str key, uint64_t count)
{
    json_key(w, key);
    json_write_int(w, (int64_t)count);
}

static void put_lines(struct json_writer *w, struct str key, const struct str *lines, size_t count)
{
    if (count == 0)
        return;
    json_key(w, key);
    json_begin_array(w);
    for (size_t i = 0; i < count; i++)
        json_write_str_lossy(w, lines[i]);
    json_end_array(w);
}

static void begin(struct json_writer *w, struct output *output)
{
    json_writer_init(w, &output->text);
    json_begin_object(w);
}

static void end(struct json_writer *w, struct output *output)
{
    int r;

    json_end_object(w);
    r = json_writer_finish(w);
    if (r < 0 && output->error == 0)
        output->error = r;
    output_line_end(output);
}

static void put_file(struct output *output, const struct print_view *view,
                     const struct search_file *file)
{
    struct json_writer w;

    if (view->is_of_files) {
        begin(&w, output);
        put_path(&w, view, file->name);
        end(&w, output);
        return;
    }
    for (size_t i = 0; i < file->match_count; i++) {
        const struct search_match *match = &file->matches[i];

        begin(&w, output);
        put_path(&w, view, file->name);
        put_count(&w, STR("lineNumber"), match->line_number);
        json_key(&w, STR("line"));
        json_write_str_lossy(&w, match->text);
        put_lines(&w, STR("before"), match->before, match->before_count);
        put_lines(&w, STR("after"), match->after, match->after_count);
        end(&w, output);
    }
}

static void put_missed(struct json_writer *w, const struct print_view *view)
{
    const struct search_result *result = view->result;

    json_key(w, STR("firstMissed"));
    json_begin_array(w);
    for (size_t i = 0; result->missed != NULL && i < result->missed_count && i < SEARCH_MAX_MISSED;
         i++) {
        json_begin_object(w);
        put_path(w, view, str_from(result->missed[i].name));
        json_key(w, STR("reason"));
        json_write_str(w, str_from(err_text(result->missed[i].code)));
        json_end_object(w);
    }
    json_end_array(w);
}

static void put_summary(struct output *output, const struct print_view *view)
{
    const struct search_result *result = view->result;
    struct json_writer w;

    begin(&w, output);
    json_key(&w, STR("summary"));
    json_begin_object(&w);
    put_count(&w, STR("totalMatches"), result->total);
    json_key(&w, STR("truncated"));
    json_write_bool(&w, result->is_truncated && !view->is_only_counted);
    put_count(&w, STR("files"), result->searched);
    put_count(&w, STR("binary"), result->binary);
    put_count(&w, STR("tooLarge"), result->too_large);
    put_count(&w, STR("ignored"), result->ignored);
    put_count(&w, STR("hidden"), view->hidden);
    put_count(&w, STR("missed"), result->missed_count);
    if (result->missed_count > 0)
        put_missed(&w, view);
    json_end_object(&w);
    end(&w, output);
}

void print_json(struct output *output, const struct print_view *view)
{
    for (size_t i = 0; !view->is_only_counted && i < view->result->file_count; i++)
        put_file(output, view, view->result->files[i]);
    put_summary(output, view);
}
