/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A minimal daemon: it pairs with a gateway and answers a few calls, to test the library in a whole
 * program with real time, sockets and names.
 *
 *     gateway_client URL TOKEN [CA.pem]
 *
 *     echo    its arguments          large  {"bytes":N}: so many characters
 *     never   no answer              fail   an error of the tool
 *
 * It prints each event as a line of JSON, and disconnects when it reads a line.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/jsonwrite.h"
#include "gateway/client.h"
#include "loop/reader.h"
#include "net/tls/tls.h"

enum { TEXT_BYTES = 64 << 20, PEM_BYTES = 1 << 20, MAX_LARGE = 32 << 20 };

static struct loop *loop;
static struct gateway *gateway;
static struct httpurl url;
static struct tls_context *tls;

static void must(int r, const struct err *err)
{
    if (r == 0)
        return;
    fprintf(stderr, "gateway_client: %s\n",
            err != NULL && err->message[0] != '\0' ? err->message : err_text(r));
    exit(2);
}

static void say(const char *what, const char *value, const struct err *err)
{
    printf("{\"%s\":\"%s\",\"error\":\"%s\"}\n", what, value,
           err->code < 0 ? err_name(err->code) : "");
    fflush(stdout);
}

static int describe(void *data, enum gateway_dialect dialect, struct json_writer *writer)
{
    (void)data;
    json_splice(writer,
                dialect == GATEWAY_N8N
                    ? STR("{\"rootPath\":\"/\",\"tools\":[{\"name\":\"echo\",\"description\":"
                          "\"\",\"inputSchema\":{\"type\":\"object\",\"properties\":{}}}],"
                          "\"hostIdentifier\":\"test\",\"toolCategories\":[{\"name\":"
                          "\"filesystem\",\"enabled\":true}]}")
                    : STR("{\"rootPath\":\"/\",\"tree\":[],\"treeText\":\"\"}"));
    return 0;
}

static void write_result(struct buf *out, struct str text, const struct json_value *structured,
                         bool is_error)
{
    struct json_writer writer;

    json_writer_init(&writer, out);
    json_begin_object(&writer);
    json_key(&writer, STR("content"));
    json_begin_array(&writer);
    json_begin_object(&writer);
    json_key(&writer, STR("type"));
    json_write_str(&writer, STR("text"));
    json_key(&writer, STR("text"));
    json_write_str(&writer, text);
    json_end_object(&writer);
    json_end_array(&writer);
    if (structured != NULL) {
        json_key(&writer, STR("structuredContent"));
        json_write_value(&writer, structured);
    }
    if (is_error) {
        json_key(&writer, STR("isError"));
        json_write_bool(&writer, true);
    }
    json_end_object(&writer);
    must(json_writer_finish(&writer), NULL);
}

static void answer_large(struct str id, const struct json_value *arguments)
{
    cleanup_buf struct buf result = BUF_INIT(TEXT_BYTES);
    int64_t bytes = 0;
    char *text;

    json_get_int(arguments, STR("bytes"), &bytes);
    if (bytes < 0 || bytes > MAX_LARGE)
        bytes = 0;
    text = malloc((size_t)bytes + 1);
    if (text == NULL)
        abort();
    memset(text, 'x', (size_t)bytes);
    write_result(&result, (struct str){text, (size_t)bytes}, NULL, false);
    free(text);
    must(gateway_answer(gateway, id, buf_view(&result)), NULL);
}

static void on_call(void *data, const struct gateway_call *call)
{
    cleanup_buf struct buf result = BUF_INIT(TEXT_BYTES);

    (void)data;
    if (str_eq(call->name, STR("never"))) {
        say("got", "never", &(struct err)ERR_INIT);
        return;
    }
    if (str_eq(call->name, STR("large"))) {
        answer_large(call->id, call->arguments);
        return;
    }
    if (str_eq(call->name, STR("echo")) || str_eq(call->name, STR("read_file")))
        write_result(&result, STR("echo"), call->arguments, false);
    else
        write_result(&result, STR("no such tool"), NULL, true);
    must(gateway_answer(gateway, call->id, buf_view(&result)), NULL);
}

static void on_status(void *data, const struct gateway_status *status)
{
    static const char *const names[] = {
        [RECONNECT_OFF] = "off",           [RECONNECT_PAIRING] = "pairing",
        [RECONNECT_OPENING] = "opening",   [RECONNECT_OPEN] = "open",
        [RECONNECT_WAITING] = "waiting",   [RECONNECT_RENEW_WAITING] = "renew-waiting",
        [RECONNECT_RENEWING] = "renewing", [RECONNECT_REFUSED] = "refused",
        [RECONNECT_LEAVING] = "leaving",
    };

    (void)data;
    say("status", names[status->state], &status->why);
}

static void on_ended(void *data, enum gateway_end end, const struct err *err)
{
    static const char *const names[] = {[GATEWAY_END_FAILED] = "failed",
                                        [GATEWAY_END_DISMISSED] = "dismissed",
                                        [GATEWAY_END_LEFT] = "left"};

    (void)data;
    say("ended", names[end], err);
    loop_stop(loop);
}

static void on_undelivered(void *data, struct str id, const struct err *err)
{
    (void)data;
    (void)id;
    say("undelivered", "", err);
}

static const struct gateway_owner OWNER = {.describe = describe,
                                           .on_call = on_call,
                                           .on_status = on_status,
                                           .on_ended = on_ended,
                                           .on_undelivered = on_undelivered};

static bool only_that_server(void *data, const struct httpurl *asked)
{
    (void)data;
    return httpurl_same_origin(asked, &url);
}

static int make_filter(void *data, struct str host, struct filter **out_filter, struct err *err)
{
    (void)data;
    return tls_client_new(tls, host, out_filter, err);
}

static const char *get_environment(const char *name)
{
    return getenv(name);
}

static void on_input(void *data, struct str bytes)
{
    (void)data;
    (void)bytes;
    gateway_leave(gateway);
}

static void on_input_end(void *data, int error)
{
    (void)data;
    (void)error;
    loop_stop(loop);
}

static void trust(const char *path)
{
    static char bytes[PEM_BYTES];
    struct tls_trust whom = {.authorities_dir = path == NULL ? "/etc/ssl/certs" : NULL};
    struct err err = ERR_INIT;
    FILE *file = path != NULL ? fopen(path, "rb") : NULL;

    if (path != NULL && file == NULL)
        must(ERR_NOT_FOUND, NULL);
    whom.authorities_pem =
        file != NULL ? (struct str){bytes, fread(bytes, 1, sizeof(bytes), file)} : STR_EMPTY;
    if (file != NULL)
        fclose(file);
    must(tls_client_context_new(&whom, &clock_system, &tls, &err), &err);
}

int main(int argc, char **argv)
{
    const struct reader_events reading = {.on_bytes = on_input, .on_end = on_input_end};
    struct httpproxies proxies;
    struct httpclient_config asking = {
        .may_reach = only_that_server, .make_filter = make_filter, .proxies = &proxies};
    struct gateway_config config = {.owner = &OWNER};
    struct secret key = SECRET_INIT;
    struct err err = ERR_INIT;
    struct reader *reader;

    if (argc < 3)
        must(ERR_INVALID_ARGUMENT, NULL);
    must(httpurl_parse(str_from(argv[1]), &url, &err), &err);
    must(secret_set(&key, str_from(argv[2])), NULL);
    trust(argc > 3 ? argv[3] : NULL);
    must(httpproxies_from(get_environment, &proxies, &err), &err);
    must(loop_new(&clock_system, &loop), NULL);
    must(httpclient_new(loop, &asking, &config.http), NULL);
    config.loop = loop;
    must(gateway_new(&config, &gateway), NULL);
    must(reader_new(loop, STDIN_FILENO, &reading, &reader), NULL);
    must(gateway_pair(gateway, &url, &key, &err), &err);
    loop_run(loop);
    reader_free(reader);
    gateway_free(gateway);
    httpclient_free(config.http);
    loop_free(loop);
    tls_context_unref(tls);
    httpproxies_done(&proxies);
    return 0;
}
