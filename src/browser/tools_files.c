/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files for pages and from them. This half opens none: what a page gets was copied before into the
 * staging directory, where the browser may read; what it downloads goes there, too.
 */
#include "browser/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/hostrange.h"
#include "base/rand.h"
#include "browser/jsonf.h"
#include "browser/keeper.h"
#include "browser/url.h"

enum { LIST_BYTES = MAX_DOWNLOADS * 8192 };

#define MAX_DOWNLOAD_BYTES (INT64_C(4) << 30) /* of all together */

struct str call_staging(const struct browser_task *call)
{
    return text_of(call->message, "staging");
}

/* ---- downloads ---- */

static const char *const state_names[] = {
    [DOWNLOAD_RUNS] = "inProgress",
    [DOWNLOAD_DONE] = "completed",
    [DOWNLOAD_CANCELLED] = "canceled",
    [DOWNLOAD_REFUSED] = "refused",
};

static struct download *find_download(struct host *host, struct str id)
{
    for (size_t i = 0; i < host->download_count; i++)
        if (str_eq_c(id, host->downloads[i].id))
            return &host->downloads[i];
    return NULL;
}

static struct download *add_download(struct host *host, struct str id, struct str name)
{
    struct download *download;

    if (host->download_count == MAX_DOWNLOADS)
        return NULL;
    download = &host->downloads[host->download_count++];
    *download = (struct download){.state = DOWNLOAD_RUNS};
    COPY(download->id, id);
    COPY(download->name, name);
    return download;
}

static void refuse_download(struct host *host, struct download *download, struct str id)
{
    if (download != NULL)
        download->state = DOWNLOAD_REFUSED;
    tell_browser(host, STR_EMPTY, "Browser.cancelDownload", "{\"guid\":%s}", id);
}

/*
 * A link for a download is not always a request for a document, which Fetch would stop: the host is
 * looked at once more. What a page makes itself has none.
 */
static bool is_from_elsewhere(struct host *host, struct str text, struct str frame)
{
    struct browser_url url;

    if (!browser_url_parse(text, &url))
        return true;
    if (url.scheme == BROWSER_BLANK)
        return false;
    list_each (node, &host->pages) {
        struct page *page = list_entry(node, struct page, node);

        if (str_eq_c(frame, page->target))
            return page->defect[0] != '\0' ||
                   (hostrange_is_private(url.host) && !str_eq(url.host, page_host(page)));
    }
    return hostrange_is_private(url.host);
}

static void on_begin(struct host *host, const struct json_value *params)
{
    struct str id = text_of(params, "guid");
    struct str url = text_of(params, "url");
    struct download *download = add_download(host, id, text_of(params, "suggestedFilename"));

    if (download != NULL)
        download->url = strndup(url.ptr, url.len < URL_BYTES ? url.len : URL_BYTES);
    if (download == NULL || is_from_elsewhere(host, url, text_of(params, "frameId")))
        refuse_download(host, download, id);
}

static int64_t sum_of_bytes(const struct host *host)
{
    int64_t sum = 0;

    for (size_t i = 0; i < host->download_count; i++)
        sum += host->downloads[i].bytes;
    return sum;
}

static void on_progress(struct host *host, const struct json_value *params)
{
    struct download *download = find_download(host, text_of(params, "guid"));
    struct str state = text_of(params, "state");

    if (download == NULL || download->state != DOWNLOAD_RUNS)
        return;
    download->bytes = whole_of(params, "receivedBytes", download->bytes);
    download->total = whole_of(params, "totalBytes", download->total);
    if (str_eq(state, STR("completed")))
        download->state = DOWNLOAD_DONE;
    else if (str_eq(state, STR("canceled")))
        download->state = DOWNLOAD_CANCELLED;
    else if (sum_of_bytes(host) > MAX_DOWNLOAD_BYTES)
        refuse_download(host, download, str_from(download->id));
}

bool host_on_download(struct host *host, struct str method, const struct json_value *params)
{
    if (str_eq(method, STR("Browser.downloadWillBegin")))
        on_begin(host, params);
    else if (str_eq(method, STR("Browser.downloadProgress")))
        on_progress(host, params);
    else
        return false;
    return true;
}

void host_free_downloads(struct host *host)
{
    for (size_t i = 0; i < host->download_count; i++)
        free(host->downloads[i].url);
    host->download_count = 0;
}

static int add_list(struct browser_task *call, size_t first)
{
    cleanup_buf struct buf list = BUF_INIT(LIST_BYTES);
    const struct host *host = call->host;
    int r = 0;

    for (size_t i = first; i < host->download_count && r == 0; i++) {
        const struct download *download = &host->downloads[i];

        r = jsonf(&list, "%r{\"id\":%z,\"fileName\":%z,\"url\":%z,\"state\":%z,\"bytes\":%d",
                  list.len > 0 ? STR(",") : STR_EMPTY, download->id, download->name,
                  download->url != NULL ? download->url : "", state_names[download->state],
                  download->bytes);
        if (r == 0 && download->total > 0)
            r = jsonf(&list, ",\"totalBytes\":%d", download->total);
        if (r == 0)
            r = buf_append_char(&list, '}');
    }
    return r == 0 ? result_add(call, "downloads", "[%r]", buf_view(&list)) : r;
}

int add_new_downloads(struct browser_task *call)
{
    return call->host->download_count > call->first_new_download
               ? add_list(call, call->first_new_download)
               : 0;
}

static bool has_running(const struct host *host)
{
    for (size_t i = 0; i < host->download_count; i++)
        if (host->downloads[i].state == DOWNLOAD_RUNS)
            return true;
    return false;
}

int tool_downloads(struct browser_task *call, struct err *err)
{
    int64_t deadline_ms = monitor_now_ms() + whole_of(call->arguments, "waitMs", 0);
    int r;

    while (has_running(call->host) && !call_is_over(call) && !cdp_has_ended(call->link->cdp) &&
           monitor_wait(&call->host->monitor, deadline_ms))
        ;
    r = add_list(call, 0);
    return r < 0 ? err_set_plain(err, r) : 0;
}

void host_end_downloads(struct host *host)
{
    for (size_t i = 0; i < host->download_count; i++)
        if (host->downloads[i].state == DOWNLOAD_RUNS)
            host->downloads[i].state = DOWNLOAD_CANCELLED;
}

/* ---- pictures and paper as downloads ---- */

static int open_new(struct browser_task *call, const char *id, int *out_fd, struct err *err)
{
    cleanup_buf struct buf request = BUF_INIT(KEEPER_MAX_PACKET);
    char room[KEEPER_MAX_PACKET];
    const struct json_value *document;
    struct str answer;
    int fds[KEEPER_FDS] = {-1, -1};
    int r = jsonf(&request, "{\"file\":%z}", id);

    if (r < 0)
        return err_set_plain(err, r);
    r = browser_keeper_ask(call->host->config.keeper_fd, buf_view(&request), room, &answer, fds,
                           err);
    if (r == 0)
        r = json_parse(&call->arena, answer, JSON_LIMITS_DEFAULT, &document, err);
    if (r == 0 && fds[0] < 0)
        r = err_set(err, ERR_TOOL_FAILED, "%.*s", STR_ARG(text_of(document, "message")));
    *out_fd = fds[0];
    return r;
}

static int write_all(int fd, struct str bytes)
{
    while (bytes.len > 0) {
        ssize_t sent = write(fd, bytes.ptr, bytes.len);

        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0)
            return err_from_errno(errno);
        bytes = str_slice(bytes, (size_t)sent, bytes.len);
    }
    return 0;
}

int keep_as_download(struct browser_task *call, struct str bytes, const char *name, struct err *err)
{
    cleanup_fd int fd = -1;
    struct download *download;
    uint64_t number;
    char id[ID_BYTES];
    int r;

    if (call_staging(call).len == 0)
        return err_set(err, ERR_TOOL_FAILED, "this session keeps no downloads");
    if (sum_of_bytes(call->host) + (int64_t)bytes.len > MAX_DOWNLOAD_BYTES)
        return err_set(err, ERR_TOOL_FAILED, "the downloads of this session take too much room");
    rand_bytes(&number, sizeof(number));
    snprintf(id, sizeof(id), "kept-%016llx", (unsigned long long)number);
    r = open_new(call, id, &fd, err);
    if (r < 0)
        return r;
    r = write_all(fd, bytes);
    if (r < 0)
        return err_set(err, r, "cannot write the file: %s", err_text(r));
    download = add_download(call->host, str_from(id), str_from(name));
    if (download == NULL)
        return err_set(err, ERR_TOOL_FAILED, "this session has too many downloads");
    download->state = DOWNLOAD_DONE;
    download->bytes = download->total = (int64_t)bytes.len;
    download->url = strdup(call->page->url);
    r = result_add(call, "downloadId", "%z", id);
    if (r == 0)
        r = result_add(call, "fileName", "%z", name);
    if (r == 0)
        r = result_add(call, "bytes", "%d", download->bytes);
    return r < 0 ? err_set_plain(err, r) : 0;
}

/* ---- uploads ---- */

void host_on_chooser(struct page *page, struct str session, const struct json_value *params)
{
    page->chooser = (struct chooser){
        .is_open = whole_of(params, "backendNodeId", 0) != 0,
        .takes_many = str_eq(text_of(params, "mode"), STR("selectMultiple")),
        .node = whole_of(params, "backendNodeId", 0),
    };
    COPY(page->chooser.session, session);
}

static int refuse_many(size_t count, struct err *err)
{
    return err_set(err, ERR_TOOL_FAILED, "The input takes one file, not %zu\nUpload one of them",
                   count);
}

static int answer_chooser(struct browser_task *call, const struct json_value *files, size_t count,
                          struct err *err)
{
    struct page *page = call->page;
    struct chooser chooser = page->chooser;

    if (!chooser.is_open)
        return err_set(err, ERR_TOOL_FAILED,
                       "The page has opened no file chooser\nName the input with element, or click "
                       "what opens the chooser first");
    if (count > 1 && !chooser.takes_many)
        return refuse_many(count, err);
    page->chooser.is_open = false;
    return ask(call, chooser.session, "DOM.setFileInputFiles", NULL, err,
               "{\"files\":%v,\"backendNodeId\":%d}", files, chooser.node);
}

static int fill_input(struct browser_task *call, const struct json_value *target,
                      const struct json_value *files, size_t count, struct err *err)
{
    cleanup_cdp_answer struct cdp_answer prepared = CDP_ANSWER_INIT;
    cleanup_cdp_answer struct cdp_answer about = CDP_ANSWER_INIT;
    cleanup_cdp_answer struct cdp_answer object = CDP_ANSWER_INIT;
    const struct json_value *result;
    const struct json_value *info;
    struct place place;
    char prefix[24];
    int r = place_of_target(call, target, &place, err);

    if (r < 0)
        return r;
    place_prefix(call, &place, prefix);
    r = script(call, &place, "prepare", ACTION_MS, &prepared, &result, err,
               "{\"target\":%v,\"kind\":\"upload\",\"timeoutMs\":%d}", target, (int64_t)ACTION_MS);
    if (r == 0)
        r = script(call, &place, "info", ACTION_MS, &about, &info, err, "{\"target\":{\"ref\":%s}}",
                   text_of(result, "ref"));
    if (r == 0 && count > 1 && !flag_of(info, "multiple"))
        r = refuse_many(count, err);
    if (r == 0)
        r = ask(call, place.session, "Runtime.callFunctionOn", &object, err,
                "{\"functionDeclaration\":\"function(r){return gatehouse.element({ref:r})}\","
                "\"executionContextId\":%d,\"arguments\":[{\"value\":%s}]}",
                place.context, text_of(result, "ref"));
    if (r < 0)
        return r;
    call->page->chooser.is_open = false;
    r = ask(call, place.session, "DOM.setFileInputFiles", NULL, err,
            "{\"files\":%v,\"objectId\":%s}", files,
            text_of(json_get(object.result, STR("result")), "objectId"));
    return r == 0 ? result_add(call, "ref", "%s", text_of(result, "ref")) : r;
}

int tool_upload(struct browser_task *call, struct err *err)
{
    const struct json_value *files = json_get(call->message, STR("files"));
    const struct json_value *target = json_get(call->arguments, STR("element"));
    size_t count = files != NULL ? files->size : 0;
    struct mark mark;
    int r;

    if (count == 0)
        return err_set(err, ERR_TOOL_FAILED, "no file was given");
    mark_now(call->page, &mark);
    r = target != NULL ? fill_input(call, target, files, count, err)
                       : answer_chooser(call, files, count, err);
    if (r == 0)
        r = settle(call, &mark, err);
    if (r == 0)
        r = result_add(call, "uploaded", "true");
    if (r == 0)
        r = result_add(call, "files", "%v", json_get(call->arguments, STR("files")));
    return r == 0 ? add_outcome(call, &mark, false, err) : r;
}
