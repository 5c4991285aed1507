/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/sandboxd/daytona/storage.h"

#include <stdio.h>

#include "base/hex.h"
#include "base/rand.h"
#include "programs/sandboxd/contexts.h"
#include "programs/sandboxd/daytona/sandboxes.h"
#include "programs/sandboxd/previews.h"

enum { ANSWER_BYTES = 16 << 10, ARENA_BYTES = 64 << 10, SECRET_CHARS = 40, ETAG_BYTES = 40 };

#define BUCKET "contexts"
#define OBJECT "context.tar"
#define REGION "us-east-1" /* S3's name for none in particular */

/* ---- access ---- */

static void tell_access(const struct api_call *call)
{
    cleanup_buf struct buf out = BUF_INIT(ANSWER_BYTES);
    const int64_t now_s = loop_wall_ms(call->service->config.loop) / 1000;
    char ticket[TICKETS_STORAGE_BYTES];
    char secret[SECRET_CHARS + 1] = "";
    char base[DAYTONA_URL_BYTES];
    char url[DAYTONA_URL_BYTES + 16];
    struct json_writer json;

    tickets_for_storage(&call->service->previews->tickets, call->owner, now_s + STORAGE_TICKET_S,
                        ticket);
    rand_token(secret, SECRET_CHARS);
    secret[SECRET_CHARS] = '\0';
    daytona_base_url(call->service, call->request, base);
    snprintf(url, sizeof(url), "%s/storage", base);
    json_writer_init(&json, &out);
    json_begin_object(&json);
    json_put_str(&json, STR("accessKey"), daytona_organization(call->owner));
    json_put_str(&json, STR("secret"), str_from(secret)); /* for a signature that nobody checks */
    json_put_str(&json, STR("sessionToken"), str_from(ticket));
    json_put_str(&json, STR("storageUrl"), str_from(url));
    json_put_str(&json, STR("organizationId"), daytona_organization(call->owner));
    json_put_str(&json, STR("bucket"), STR(BUCKET));
    json_put_str(&json, STR("region"), STR(REGION));
    json_end_object(&json);
    call_answer_written(call->exchange, 200, &json, &out);
}

/* ---- answers of S3 ---- */

static void answer_xml(struct exchange *exchange, int status, struct buf *xml, int r)
{
    struct str body = buf_view(xml);

    if (r < 0)
        exchange_answer_error(exchange, r);
    else
        exchange_answer(exchange, &(struct http_answer){.status = status,
                                                        .type = STR("application/xml"),
                                                        .parts = &body,
                                                        .part_count = 1});
}

/* Neither text comes from outside. */
static void fail(struct exchange *exchange, int status, const char *code, const char *text)
{
    cleanup_buf struct buf xml = BUF_INIT(ANSWER_BYTES);
    int r = buf_printf(&xml,
                       "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                       "<Error><Code>%s</Code><Message>%s</Message></Error>",
                       code, text);

    answer_xml(exchange, status, &xml, r);
}

/* The owner whose ticket the request shows; false after an answer. */
static bool check_ticket(const struct service *service, struct exchange *exchange,
                         char out_owner[SANDBOXSTORE_ID_BYTES])
{
    const int64_t now_s = loop_wall_ms(service->config.loop) / 1000;
    struct str ticket;

    if (http_header(exchange_request(exchange), STR("X-Amz-Security-Token"), &ticket) &&
        tickets_open_storage(&service->previews->tickets, ticket, now_s, out_owner)) {
        exchange_mark_connection(exchange);
        return true;
    }
    fail(exchange, 403, "AccessDenied", "the session token is not valid, or not any more");
    return false;
}

static bool is_hash(struct str text)
{
    return text.len == STORAGE_HASH_CHARS && hex_is_small(text);
}

/* ---- asking ---- */

/* "OWNER/HASH/": the hash, if the owner is right. */
static bool read_prefix(struct str prefix, const char *owner, struct str *out_hash)
{
    struct str organization;

    return str_cut(&prefix, '/', &organization) &&
           str_eq(organization, daytona_organization(owner)) && str_cut(&prefix, '/', out_hash) &&
           is_hash(*out_hash) && prefix.ptr != NULL && prefix.len == 0;
}

static int write_object(struct buf *xml, const struct context *context, const char *owner)
{
    struct str organization = daytona_organization(owner);

    return buf_printf(xml,
                      "<KeyCount>1</KeyCount><Contents><Key>%.*s/%s/" OBJECT "</Key>"
                      "<Size>%zu</Size><StorageClass>STANDARD</StorageClass></Contents>",
                      STR_ARG(organization), context->key, context->len);
}

static void list_objects(const struct api_call *call)
{
    cleanup_arena struct arena arena = ARENA_INIT(ARENA_BYTES);
    cleanup_buf struct buf xml = BUF_INIT(ANSWER_BYTES);
    char owner[SANDBOXSTORE_ID_BYTES];
    struct context *context = NULL;
    struct str prefix = STR_EMPTY;
    struct str hash;
    int error = 0;
    int r;

    if (!check_ticket(call->service, call->exchange, owner))
        return;
    if (!str_eq(call->ids[0], STR(BUCKET))) {
        fail(call->exchange, 404, "NoSuchBucket", "there is only the bucket " BUCKET);
        return;
    }
    if (!call_query(call, &arena, STR("prefix"), &prefix, &error) ||
        !read_prefix(prefix, owner, &hash)) {
        fail(call->exchange, 403, "AccessDenied", "a prefix is the owner and a hash");
        return;
    }
    context = contextcache_find(&call->service->contexts, hash, owner);
    r = buf_append_str(&xml, STR("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<ListBucketResult>"
                                 "<Name>" BUCKET "</Name><MaxKeys>1</MaxKeys>"
                                 "<IsTruncated>false</IsTruncated>"));
    if (r == 0)
        r = context != NULL ? write_object(&xml, context, owner)
                            : buf_append_str(&xml, STR("<KeyCount>0</KeyCount>"));
    if (r == 0)
        r = buf_append_str(&xml, STR("</ListBucketResult>"));
    context_unref(context);
    answer_xml(call->exchange, 200, &xml, r);
}

/* ---- objects ---- */

/* The digest that the client has signed, if it has one, is that of the body. */
static bool has_digest(const struct http_request *request)
{
    unsigned char digest[SHA256_BYTES];
    char text[SHA256_BYTES * 2 + 1];
    struct sha256 hash;
    struct str given;

    if (!http_header(request, STR("X-Amz-Content-Sha256"), &given) ||
        str_eq(given, STR("UNSIGNED-PAYLOAD")))
        return true;
    sha256_init(&hash);
    sha256_add(&hash, request->body);
    sha256_end(&hash, digest);
    hex_text(text, digest, sizeof(digest));
    return str_eq_c(given, text);
}

/* An object of a request: "/storage/BUCKET/OWNER/HASH/context.tar", and maybe a part of it. */
struct object {
    char owner[SANDBOXSTORE_ID_BYTES];
    struct str hash;
    bool is_begin; /* of an upload in parts */
    bool has_id;
    bool has_number;
    struct str id;
    int64_t number;
};

static bool read_part(const struct http_request *request, struct arena *arena,
                      struct object *out_object)
{
    const struct api_call call = {.request = request};
    struct str text = STR_EMPTY;
    int error = 0;

    out_object->is_begin = call_query(&call, arena, STR("uploads"), &text, &error);
    out_object->has_id = call_query(&call, arena, STR("uploadId"), &out_object->id, &error);
    out_object->has_number = call_query(&call, arena, STR("partNumber"), &text, &error);
    return error == 0 && (!out_object->has_number || str_to_int64(text, &out_object->number)) &&
           (!out_object->has_number || out_object->has_id) &&
           !(out_object->is_begin && out_object->has_id);
}

/* Texts are in the arena or the request. False after an answer. */
static bool read_object(const struct service *service, struct exchange *exchange,
                        struct arena *arena, struct object *out_object)
{
    const struct http_request *request = exchange_request(exchange);
    struct str path = request->path;
    struct str words[6] = {0};
    struct str coding;

    if (!check_ticket(service, exchange, out_object->owner))
        return false;
    for (size_t i = 0; i < array_size(words); i++)
        if (!str_cut(&path, '/', &words[i]))
            words[i] = STR_EMPTY;
    out_object->hash = words[4];
    if (!str_eq(words[2], STR(BUCKET)) ||
        !str_eq(words[3], daytona_organization(out_object->owner)) || !is_hash(words[4]))
        fail(exchange, 403, "AccessDenied", "an object is " BUCKET ", the owner and a hash");
    else if (!read_part(request, arena, out_object))
        fail(exchange, 400, "InvalidArgument", "the query is none of an upload in parts");
    else if (http_header(request, STR("Content-Encoding"), &coding))
        fail(exchange, 501, "NotImplemented", "encoded bodies are not supported");
    else
        return true;
    return false;
}

static void answer_tag(struct exchange *exchange, struct str tag)
{
    struct http_field etag = {STR("ETag"), STR_EMPTY};
    char quoted[ETAG_BYTES];

    snprintf(quoted, sizeof(quoted), "\"%.*s\"", STR_ARG(tag));
    etag.value = str_from(quoted);
    exchange_answer(exchange,
                    &(struct http_answer){.status = 200, .fields = &etag, .field_count = 1});
}

/* Why it was not kept. */
static void fail_to_keep(struct exchange *exchange, int r)
{
    if (r == ERR_TOO_LARGE)
        fail(exchange, 400, "EntityTooLarge", "a build context in parts has at most 48 MiB");
    else if (r == ERR_INVALID_ARGUMENT)
        fail(exchange, 400, "InvalidArgument", "a part has a number from 1 to 64");
    else
        fail(exchange, 503, "SlowDown", "there are too many uploads: complete or abort some");
}

/* The upload of the request; NULL after an answer. */
static struct parts_upload *find_upload(struct service *service, struct exchange *exchange,
                                        const struct object *object)
{
    struct parts_upload *upload =
        parts_find(&service->uploads, object->owner, object->hash, object->id);

    if (upload == NULL)
        fail(exchange, 404, "NoSuchUpload", "there is no such upload, or not any more");
    return upload;
}

/* ---- putting ---- */

static void keep_part(struct service *service, struct exchange *exchange,
                      const struct object *object)
{
    struct parts_upload *upload = find_upload(service, exchange, object);
    char tag[PARTS_ID_BYTES];
    int r;

    if (upload == NULL)
        return;
    r = parts_put(&service->uploads, upload, object->number, exchange_request(exchange)->body,
                  loop_now_ms(service->config.loop), tag);
    if (r < 0)
        fail_to_keep(exchange, r);
    else
        answer_tag(exchange, str_from(tag));
}

static void on_object(void *data, struct exchange *exchange)
{
    cleanup_arena struct arena arena = ARENA_INIT(ARENA_BYTES);
    const struct http_request *request = exchange_request(exchange);
    struct service *service = data;
    struct object object = {0};

    /* The request is read again rather than kept. */
    if (!read_object(service, exchange, &arena, &object))
        return;
    if (request->body.len == 0 || !has_digest(request)) {
        fail(exchange, 400, "BadDigest", "the body is empty, or not what was signed");
    } else if (object.has_number) {
        keep_part(service, exchange, &object);
    } else {
        int r = contextcache_keep(&service->contexts, object.owner, object.hash, &request->body, 1);

        if (r < 0)
            fail_to_keep(exchange, r);
        else
            answer_tag(exchange, object.hash);
    }
}

/* Before the body: nobody without a ticket makes us keep one. */
static void put_object(const struct api_call *call)
{
    cleanup_arena struct arena arena = ARENA_INIT(ARENA_BYTES);
    struct object object = {0};

    if (!read_object(call->service, call->exchange, &arena, &object))
        return;
    if (object.is_begin || object.has_id != object.has_number)
        fail(call->exchange, 400, "InvalidArgument", "a part has a number and an upload");
    else if (call->request->content_length > CONTEXTS_MAX_BYTES)
        fail(call->exchange, 400, "EntityTooLarge", "a body has at most 15 MiB");
    else if (!object.has_number || find_upload(call->service, call->exchange, &object) != NULL)
        exchange_collect(call->exchange, CONTEXTS_MAX_BYTES, on_object, call->service);
}

/* ---- uploads in parts ---- */

static void answer_upload(struct exchange *exchange, const struct object *object,
                          const char *element, const char *id_element, const char *id)
{
    cleanup_buf struct buf xml = BUF_INIT(ANSWER_BYTES);
    struct str organization = daytona_organization(object->owner);
    int r = buf_printf(&xml,
                       "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                       "<%s><Bucket>" BUCKET "</Bucket><Key>%.*s/%.*s/" OBJECT "</Key>"
                       "<%s>%s</%s></%s>",
                       element, STR_ARG(organization), STR_ARG(object->hash), id_element, id,
                       id_element, element);

    answer_xml(exchange, 200, &xml, r);
}

static void begin_upload(struct service *service, struct exchange *exchange,
                         const struct object *object)
{
    struct parts_upload *upload;
    int r = parts_begin(&service->uploads, object->owner, object->hash,
                        loop_now_ms(service->config.loop), &upload);

    if (r < 0)
        fail_to_keep(exchange, r);
    else
        answer_upload(exchange, object, "InitiateMultipartUploadResult", "UploadId", upload->id);
}

static void complete_upload(struct service *service, struct exchange *exchange,
                            const struct object *object)
{
    struct parts_upload *upload = find_upload(service, exchange, object);
    struct str pieces[PARTS_MOST];
    size_t count = 0;
    int r;

    if (upload == NULL)
        return;
    if (parts_read_list(upload, exchange_request(exchange)->body, pieces, &count) < 0) {
        fail(exchange, 400, "InvalidPart", "the list of parts is not what was uploaded");
        return;
    }
    r = contextcache_keep(&service->contexts, object->owner, object->hash, pieces, count);
    if (r < 0) {
        fail_to_keep(exchange, r);
        return;
    }
    parts_drop(&service->uploads, upload);
    answer_upload(exchange, object, "CompleteMultipartUploadResult", "ETag", "complete");
}

static void on_posted(void *data, struct exchange *exchange)
{
    cleanup_arena struct arena arena = ARENA_INIT(ARENA_BYTES);
    struct service *service = data;
    struct object object = {0};

    if (!read_object(service, exchange, &arena, &object))
        return;
    if (object.is_begin)
        begin_upload(service, exchange, &object);
    else
        complete_upload(service, exchange, &object);
}

static void post_object(const struct api_call *call)
{
    cleanup_arena struct arena arena = ARENA_INIT(ARENA_BYTES);
    struct object object = {0};

    if (!read_object(call->service, call->exchange, &arena, &object))
        return;
    if (object.is_begin == object.has_id || object.has_number)
        fail(call->exchange, 400, "InvalidArgument", "only uploads in parts begin and end so");
    else if (call->request->content_length > PARTS_MAX_LIST_BYTES)
        fail(call->exchange, 400, "EntityTooLarge", "the list of parts is too long");
    else
        exchange_collect(call->exchange, PARTS_MAX_LIST_BYTES, on_posted, call->service);
}

static void abort_upload(const struct api_call *call)
{
    cleanup_arena struct arena arena = ARENA_INIT(ARENA_BYTES);
    struct object object = {0};
    struct parts_upload *upload;

    if (!read_object(call->service, call->exchange, &arena, &object))
        return;
    if (!object.has_id) { /* objects themselves are not deleted */
        fail(call->exchange, 403, "AccessDenied", "only an upload in parts can be given up");
        return;
    }
    upload = find_upload(call->service, call->exchange, &object);
    if (upload == NULL)
        return;
    parts_drop(&call->service->uploads, upload);
    call_answer_nothing(call->exchange);
}

/* clang-format off */
static const struct endpoint endpoints[] = {
    {HTTP_METHOD_GET,  "/api/object-storage/push-access", ENDPOINT_KEY, 0, tell_access},
    {HTTP_METHOD_GET,  "/storage/*", ENDPOINT_EVERYBODY, 0, list_objects},
    {HTTP_METHOD_GET,  "/storage/*/", ENDPOINT_EVERYBODY, 0, list_objects},
    {HTTP_METHOD_PUT,  "/storage/*/*/*/" OBJECT, ENDPOINT_EVERYBODY, ENDPOINT_STREAMED, put_object},
    {HTTP_METHOD_POST, "/storage/*/*/*/" OBJECT, ENDPOINT_EVERYBODY, ENDPOINT_STREAMED, post_object},
    {HTTP_METHOD_DELETE, "/storage/*/*/*/" OBJECT, ENDPOINT_EVERYBODY, 0, abort_upload},
};
/* clang-format on */

const struct endpoint_table storage_endpoints = {endpoints, array_size(endpoints)};
