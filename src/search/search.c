/* SPDX-License-Identifier: Apache-2.0 */
#include "search/search.h"

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "search/seeker.h"
#include "search/shortlist.h"

enum {
    ENOUGH = AUTHORITY_SIFT_OPEN + 1, /* of a visitor: stop, without an error */
    REPORT_FILES = 64,
    KEPT_MAX_BYTES = 12 << 20, /* of all files together */
};

/* Counted by each thread. */
struct counts {
    uint64_t searched;
    uint64_t binary;
    uint64_t ignored;
};

struct searching {
    const struct search_request *request;
    struct search_result *result;
    struct seeker *seekers[AUTHORITY_SIFT_MAX_THREADS];
    struct counts counts[AUTHORITY_SIFT_MAX_THREADS];
    atomic_uint_fast64_t searched; /* in steps of REPORT_FILES */

    pthread_mutex_t lock; /* of all below, and of the result */
    size_t kept_bytes;
    uint64_t reported;
    /* Because of limited room there is more at or before this name: nothing from it on is kept. */
    char bound[PATH_MAX];
    size_t bound_len;
    bool is_bound;
    struct err why;
};

/* ---- what is kept ---- */

static size_t weight(const struct searching *searching, const struct search_file *file)
{
    return searching->request->pattern != NULL ? file->match_count : 1;
}

static bool is_before(struct str a, struct str b)
{
    return shortlist_compare(a, false, b, false) < 0;
}

static bool may_be_kept(const struct searching *searching, struct str name)
{
    const struct search_result *result = searching->result;

    if (searching->is_bound &&
        !is_before(name, (struct str){searching->bound, searching->bound_len}))
        return false;
    return result->kept < searching->request->max_results ||
           is_before(name, result->files[result->file_count - 1]->name);
}

static bool wants(void *data, struct str name)
{
    struct searching *searching = data;
    bool may;

    pthread_mutex_lock(&searching->lock);
    may = may_be_kept(searching, name);
    pthread_mutex_unlock(&searching->lock);
    return may;
}

static int make_room(struct search_result *result)
{
    size_t room = result->file_room == 0 ? 64 : result->file_room * 2;
    struct search_file **grown;

    if (result->file_count < result->file_room)
        return 0;
    grown = realloc(result->files, room * sizeof(struct search_file *));
    if (grown == NULL)
        return ERR_NO_MEMORY;
    result->files = grown;
    result->file_room = room;
    return 0;
}

static size_t find_place(const struct search_result *result, struct str name)
{
    size_t first = 0;
    size_t end = result->file_count;

    while (first < end) {
        size_t middle = first + (end - first) / 2;

        if (is_before(result->files[middle]->name, name))
            first = middle + 1;
        else
            end = middle;
    }
    return first;
}

static void set_bound(struct searching *searching, struct str name)
{
    memcpy(searching->bound, name.ptr, name.len);
    searching->bound_len = name.len;
    searching->is_bound = true;
}

static void drop_last(struct searching *searching)
{
    struct search_result *result = searching->result;
    struct search_file *last = result->files[--result->file_count];

    result->kept -= weight(searching, last);
    result->is_truncated = true;
    searching->kept_bytes -= last->arena.held;
    search_file_free(last);
}

/* Drops surplus results from the end. */
static void trim(struct searching *searching)
{
    struct search_result *result = searching->result;
    size_t most = searching->request->max_results;

    while (result->file_count > 1) {
        const struct search_file *last = result->files[result->file_count - 1];

        if (searching->kept_bytes > KEPT_MAX_BYTES)
            set_bound(searching, last->name);
        else if (result->kept - weight(searching, last) < most)
            break;
        drop_last(searching);
    }
    if (result->kept > most) {
        result->files[result->file_count - 1]->match_count -= result->kept - most;
        result->kept = most;
        result->is_truncated = true;
    }
}

/* Takes ownership of the file. `is_cut`: not all of its matches are in it. */
static int add_file(struct searching *searching, struct search_file *file, bool is_cut)
{
    struct search_result *result = searching->result;
    size_t place;
    int r = 0;

    pthread_mutex_lock(&searching->lock);
    if (!may_be_kept(searching, file->name)) {
        result->is_truncated = true;
        search_file_free(file);
    } else {
        r = make_room(result);
        if (r < 0) {
            search_file_free(file);
        } else {
            place = find_place(result, file->name);
            memmove(result->files + place + 1, result->files + place,
                    (result->file_count - place) * sizeof(struct search_file *));
            result->files[place] = file;
            result->file_count++;
            result->kept += weight(searching, file);
            searching->kept_bytes += file->arena.held;
            if (is_cut) {
                set_bound(searching, file->name);
                while (result->file_count > place + 1)
                    drop_last(searching);
            }
            trim(searching);
        }
    }
    pthread_mutex_unlock(&searching->lock);
    return r;
}

/* ---- what comes by ---- */

static int count(struct searching *searching, uint64_t matches, bool is_cut)
{
    const struct search_request *request = searching->request;
    struct search_result *result = searching->result;
    int r = 0;

    pthread_mutex_lock(&searching->lock);
    result->total += matches;
    result->is_truncated = result->is_truncated || is_cut;
    if (request->max_counted > 0 && result->total >= request->max_counted) {
        result->is_total_a_minimum = true;
        result->is_truncated = true;
        r = ENOUGH;
    }
    pthread_mutex_unlock(&searching->lock);
    return r;
}

static void report(struct searching *searching, uint64_t searched)
{
    const struct search_request *request = searching->request;

    pthread_mutex_lock(&searching->lock);
    if (searched > searching->reported) {
        searching->reported = searched;
        request->progress(request->progress_data, searched);
    }
    pthread_mutex_unlock(&searching->lock);
}

static void count_searched(struct searching *searching, unsigned thread)
{
    uint64_t searched;

    if (++searching->counts[thread].searched % REPORT_FILES != 0)
        return;
    searched = atomic_fetch_add(&searching->searched, REPORT_FILES) + REPORT_FILES;
    if (searching->request->progress != NULL)
        report(searching, searched);
}

static int add_name(struct searching *searching, struct str name)
{
    struct search_file *file = NULL;
    int r;

    if (!wants(searching, name))
        return count(searching, 1, true);
    r = search_file_new(name, &file);
    if (r == 0)
        r = add_file(searching, file, false);
    return r < 0 ? r : count(searching, 1, false);
}

static int on_file(void *data, unsigned thread, struct str name)
{
    struct searching *searching = data;
    const struct search_request *request = searching->request;

    if (request->pattern != NULL)
        return request->wants == NULL || request->wants(request->filter_data, name)
                   ? AUTHORITY_SIFT_OPEN
                   : 0;
    count_searched(searching, thread);
    return request->wants == NULL || request->wants(request->filter_data, name)
               ? add_name(searching, name)
               : 0;
}

static void on_missed(void *data, unsigned thread, struct str name, int code)
{
    struct searching *searching = data;
    struct search_result *result = searching->result;

    (void)thread;
    pthread_mutex_lock(&searching->lock);
    if (code == ERR_TOO_LARGE) {
        result->too_large++;
    } else {
        if (result->missed != NULL && result->missed_count < SEARCH_MAX_MISSED) {
            struct search_missed *missed = &result->missed[result->missed_count];

            snprintf(missed->name, sizeof(missed->name), "%.*s", STR_ARG(name));
            missed->code = code;
        }
        result->missed_count++;
    }
    pthread_mutex_unlock(&searching->lock);
}

/* One unreadable file or line is no reason to stop; a pattern that is too expensive is an error. */
static int take_failure(struct searching *searching, unsigned thread, struct str name, int code)
{
    switch (code) {
    case ERR_PATTERN_COST:
        pthread_mutex_lock(&searching->lock);
        err_set(&searching->why, code,
                "the pattern takes too many steps on a line of %.*s: simplify it", STR_ARG(name));
        pthread_mutex_unlock(&searching->lock);
        return code;
    case ERR_NO_MEMORY:
    case ERR_CANCELLED:
    case ERR_TIMED_OUT:
    case ERR_GRANT_REVOKED:
    case ERR_GRANT_EXPIRED:
        return code;
    default:
        on_missed(searching, thread, name, code);
        return 0;
    }
}

static int on_content(void *data, unsigned thread, struct authority_sifted *file)
{
    struct searching *searching = data;
    struct seeker_found found = {.matches = 0};
    int r = 0;

    if (searching->seekers[thread] == NULL)
        r = seeker_new(searching->request, &searching->seekers[thread]);
    if (r == 0)
        r = seeker_search(searching->seekers[thread], file, wants, searching, &found);
    if (r < 0)
        return take_failure(searching, thread, authority_sifted_name(file), r);
    count_searched(searching, thread);
    searching->counts[thread].binary += found.is_binary;
    if (found.file != NULL)
        r = add_file(searching, found.file, found.is_cut);
    if (r == 0 && found.matches > 0)
        r = count(searching, found.matches, found.is_cut);
    return r;
}

static bool enters(void *data, struct str name)
{
    const struct searching *searching = data;
    const struct search_request *request = searching->request;

    return request->enters == NULL || request->enters(request->filter_data, name);
}

/* Counts only what would have been looked at otherwise. */
static void on_ignored(void *data, unsigned thread, struct str name, bool is_directory)
{
    struct searching *searching = data;
    const struct search_request *request = searching->request;

    searching->counts[thread].ignored +=
        is_directory ? enters(searching, name)
                     : request->wants == NULL || request->wants(request->filter_data, name);
}

/* ---- all of it ---- */

static int sift(struct searching *searching, struct authority_scope *scope, struct err *err)
{
    const struct search_request *request = searching->request;
    const struct authority_sift_options options = {
        .threads = request->threads,
        .heeds_ignore_files = request->heeds_ignore_files,
        .max_file_bytes = request->max_file_bytes,
        .cancel = request->cancel,
    };
    const struct authority_sift_visitor visitor = {.enters = enters,
                                                   .file = on_file,
                                                   .content = on_content,
                                                   .missed = on_missed,
                                                   .ignored = on_ignored,
                                                   .data = searching};
    int r = authority_sift(scope, request->directory, &options, &visitor, err);

    if (r == ERR_PATTERN_COST)
        return err_set(err, r, "%s", searching->why.message);
    return r == ENOUGH ? 0 : r;
}

int search_run(struct authority_scope *scope, const struct search_request *request,
               struct search_result *out_result, struct err *err)
{
    struct searching *searching = calloc(1, sizeof(*searching));
    int r;

    *out_result = (struct search_result){.total = 0};
    assert(request->max_results > 0);
    if (searching == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    out_result->missed = calloc(SEARCH_MAX_MISSED, sizeof(*out_result->missed));
    searching->request = request;
    searching->result = out_result;
    pthread_mutex_init(&searching->lock, NULL);
    r = sift(searching, scope, err);
    for (size_t i = 0; i < AUTHORITY_SIFT_MAX_THREADS; i++) {
        out_result->searched += searching->counts[i].searched;
        out_result->binary += searching->counts[i].binary;
        out_result->ignored += searching->counts[i].ignored;
        seeker_free(searching->seekers[i]);
    }
    pthread_mutex_destroy(&searching->lock);
    free(searching);
    return r;
}

void search_result_done(struct search_result *result)
{
    for (size_t i = 0; i < result->file_count; i++)
        search_file_free(result->files[i]);
    free(result->files);
    free(result->missed);
    *result = (struct search_result){.total = 0};
}
