/* SPDX-License-Identifier: Apache-2.0 */
/* transport: a file to or from a server, a list of one, or a command there; by gatehouse-transfer.
 */
#include "hostfs/internal.h"

#include <stdlib.h>

#include "base/jsonwrite.h"
#include "base/redact.h"
#include "transfer/client.h"

enum { RECORDED_BYTES = 2048, OUTPUT_BYTES = 1 << 20 /* of a command, or of a list */ };

static const struct {
    const char *name;
    enum transfer_operation operation;
    bool is_of_ssh;
} operations[] = {
    {"get", TRANSFER_GET, false},
    {"put", TRANSFER_PUT, false},
    {"list", TRANSFER_LIST, false},
    {"exec", TRANSFER_EXEC, true},
};

/* What was asked. */
struct asked {
    size_t operation; /* row of the table */
    struct str url;
    struct transfer_place place;
    struct str path; /* here: of get and put */
    struct transfer_request request;
};

/* ---- what is asked ---- */

static int get_text(const struct hostfs_work *work, struct str key, struct str *out_text)
{
    return json_get_str(work->inputs, key, out_text)
               ? 0
               : err_set(work->err, ERR_INVALID_ARGUMENT, "'%.*s' must be a text", STR_ARG(key));
}

static int get_operation(const struct hostfs_work *work, struct asked *asked)
{
    struct str name = STR_EMPTY;

    (void)json_get_str(work->inputs, STR("op"), &name);
    for (size_t i = 0; i < array_size(operations); i++)
        if (str_eq_c(name, operations[i].name)) {
            asked->operation = i;
            asked->request.operation = operations[i].operation;
            return 0;
        }
    return err_set(work->err, ERR_INVALID_ARGUMENT, "'op' must be get, put, list or exec");
}

static int check_protocol(const struct hostfs_work *work, const struct asked *asked)
{
    static const unsigned features[TRANSFER_PROTOCOL_END] = {[TRANSFER_FTP] = HOSTFS_HAS_FTP,
                                                             [TRANSFER_SFTP] = HOSTFS_HAS_SFTP,
                                                             [TRANSFER_SSH] = HOSTFS_HAS_SSH};
    const char *protocol = transfer_protocol_name(asked->place.protocol);

    if ((work->hostfs->features & features[asked->place.protocol]) == 0)
        return err_set(work->err, ERR_UNSUPPORTED, "this host does no transfers by %s", protocol);
    if (operations[asked->operation].is_of_ssh != (asked->place.protocol == TRANSFER_SSH))
        return err_set(work->err, ERR_INVALID_ARGUMENT, "%s is no operation of %s",
                       operations[asked->operation].name, protocol);
    return 0;
}

static int get_target(const struct hostfs_work *work, struct asked *asked)
{
    bool has_file =
        asked->request.operation == TRANSFER_GET || asked->request.operation == TRANSFER_PUT;

    asked->request.target = (struct str){asked->place.path, asked->place.path_len};
    if (has_file &&
        (asked->place.path_len == 0 || asked->place.path[asked->place.path_len - 1] == '/'))
        return err_set(work->err, ERR_INVALID_ARGUMENT, "the URL must name a file");
    if (has_file)
        return hostfs_get_path(work, STR("path"), &asked->path);
    if (asked->request.operation == TRANSFER_LIST)
        return 0;
    if (asked->place.path_len > 0)
        return err_set(work->err, ERR_INVALID_ARGUMENT, "a URL of ssh has no path");
    if (get_text(work, STR("command"), &asked->request.target) < 0)
        return work->err->code;
    return asked->request.target.len > 0 && !str_has_nul(asked->request.target) &&
                   asked->request.target.len <= TRANSFER_MAX_TARGET_BYTES
               ? 0
               : err_set(work->err, ERR_INVALID_ARGUMENT, "'command' is empty or too long");
}

static int get_request(const struct hostfs_work *work, struct asked *asked)
{
    struct transfer_request *request = &asked->request;
    int r = get_operation(work, asked);

    if (r == 0)
        r = get_text(work, STR("url"), &asked->url);
    if (r == 0)
        r = transfer_read_place(asked->url, &asked->place, work->err);
    if (r == 0)
        r = check_protocol(work, asked);
    if (r == 0)
        r = get_target(work, asked);
    if (r == 0)
        r = get_text(work, STR("credentialRef"), &request->credential);
    if (r == 0 && !transfer_is_credential(request->credential))
        r = err_set(work->err, ERR_INVALID_ARGUMENT,
                    "'credentialRef' must be the name of a credential of this host");
    request->protocol = asked->place.protocol;
    request->port = asked->place.port;
    request->host = str_from(asked->place.host);
    request->max_bytes =
        request->operation == TRANSFER_GET ? (uint32_t)work->hostfs->max_file_bytes : OUTPUT_BYTES;
    return r;
}

/* ---- the audit log ---- */

/* A URL has no password in it: that is refused. */
static int note(const struct hostfs_work *work, const struct asked *asked,
                struct authority_note *note)
{
    cleanup_buf struct buf words = BUF_INIT((size_t)2 * RECORDED_BYTES);
    cleanup_buf struct buf whole = BUF_INIT(TRANSFER_MAX_BYTES);
    size_t used;
    int r = buf_append_str(&whole, STR("transport "));

    if (r == 0)
        r = buf_append_str(&whole, str_from(operations[asked->operation].name));
    if (r == 0)
        r = buf_append_char(&whole, ' ');
    if (r == 0)
        r = buf_append_str(&whole, asked->url);
    if (r == 0 && asked->request.operation == TRANSFER_EXEC)
        r = buf_append_char(&whole, ' ');
    if (r == 0 && asked->request.operation == TRANSFER_EXEC)
        r = buf_append_str(&whole, asked->request.target);
    if (r == 0)
        r = redact_cut(buf_view(&whole), RECORDED_BYTES, &words, &used);
    if (r < 0 && r != ERR_TOO_LARGE)
        return r;
    note->operation = AUTHORITY_OP_EXECUTE;
    note->name = buf_view(&words);
    note->destination = STR(".");
    return authority_note(work->hostfs->scope, note);
}

static int transfer(const struct hostfs_work *work, const struct asked *asked, struct buf *space,
                    struct transfer_answer *out_answer)
{
    struct authority_note intent = {.outcome = AUTHORITY_INTENT};
    struct authority_note outcome = {.outcome = AUTHORITY_SUCCESS};
    int r = note(work, asked, &intent);

    if (r < 0)
        return r;
    r = transfer_ask(work->hostfs->transfer, &asked->request, work->cancel, space, out_answer,
                     work->err);
    outcome.request_id = intent.request_id;
    if (r < 0) {
        outcome.outcome = r == ERR_SERVER_DENIED || r == ERR_ACCESS_MISSING || r == ERR_HOST_KEY
                              ? AUTHORITY_DENIED
                              : AUTHORITY_FAILED;
        outcome.error = r;
        outcome.reason = err_text(r);
    }
    (void)note(work, asked, &outcome);
    return r;
}

/* ---- the answer ---- */

static const char *kind_name(char kind)
{
    switch (kind) {
    case 'f':
        return "file";
    case 'd':
        return "directory";
    case 'l':
        return "link";
    default:
        return NULL;
    }
}

static void put_entries(struct json_writer *json, const struct transfer_answer *answer)
{
    struct transfer_entry entry;

    json_key(json, STR("entries"));
    json_begin_array(json);
    for (size_t i = 0; i < answer->output_count; i++) {
        if (!transfer_read_entry(answer->outputs[i], &entry))
            continue;
        json_begin_object(json);
        json_put_str_lossy(json, STR("name"), entry.name);
        if (kind_name(entry.kind) != NULL)
            json_put_str(json, STR("type"), str_from(kind_name(entry.kind)));
        if (entry.size <= INT64_MAX)
            json_put_int(json, STR("sizeBytes"), (int64_t)entry.size);
        json_end_object(json);
    }
    json_end_array(json);
    json_put_bool(json, STR("truncated"), answer->status != 0);
}

static int write_result(const struct hostfs_work *work, const struct asked *asked,
                        const struct transfer_answer *answer, size_t bytes)
{
    struct json_writer json;

    json_writer_init(&json, work->out);
    json_begin_object(&json);
    if (asked->request.operation == TRANSFER_LIST) {
        put_entries(&json, answer);
    } else if (asked->request.operation == TRANSFER_EXEC) {
        json_put_int(&json, STR("exitCode"), answer->status);
        json_put_str_lossy(&json, STR("stdout"), answer->outputs[0]);
        json_put_str_lossy(&json, STR("stderr"), answer->outputs[1]);
    } else {
        json_put_str(&json, STR("path"), asked->path);
        json_put_int(&json, STR("sizeBytes"), (int64_t)bytes);
    }
    json_end_object(&json);
    return json_writer_finish(&json);
}

static bool has_outputs(enum transfer_operation operation, size_t count)
{
    switch (operation) {
    case TRANSFER_GET:
        return count == 1;
    case TRANSFER_EXEC:
        return count == 2;
    default:
        return true;
    }
}

int hostfs_transport(const struct hostfs_work *work)
{
    cleanup_buf struct buf content = BUF_INIT((size_t)work->hostfs->max_file_bytes);
    cleanup_buf struct buf space = BUF_INIT(TRANSFER_MAX_BYTES);
    cleanup_free struct asked *asked = calloc(1, sizeof(*asked));
    cleanup_free struct transfer_answer *answer = calloc(1, sizeof(*answer));
    int r;

    if (asked == NULL || answer == NULL)
        return ERR_NO_MEMORY;
    if ((work->hostfs->features & HOSTFS_HAS_TRANSPORT) == 0)
        /* cppcheck-suppress memleak ; it is freed by its cleanup */
        return err_set_plain(work->err, ERR_UNSUPPORTED);
    r = get_request(work, asked);
    if (r == 0 && asked->request.operation == TRANSFER_PUT)
        r = hostfs_read_whole(work, asked->path, &content);
    if (r < 0)
        /* cppcheck-suppress memleak ; the same */
        return r;
    asked->request.content = buf_view(&content);
    r = transfer(work, asked, &space, answer);
    if (r == 0 && !has_outputs(asked->request.operation, answer->output_count))
        r = err_set_plain(work->err, ERR_INTERNAL);
    if (r < 0)
        /* cppcheck-suppress memleak ; the same */
        return r;
    if (asked->request.operation != TRANSFER_GET)
        return write_result(work, asked, answer, content.len);
    r = hostfs_write_whole(work, asked->path, answer->outputs[0]);
    return r == 0 ? write_result(work, asked, answer, answer->outputs[0].len) : r;
}
