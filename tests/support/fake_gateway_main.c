/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fake gateway as a program: a daemon connects to it, and whoever started it drives it with
 * lines of JSON on standard input and reads lines of JSON on standard output.
 *
 *     fake_gateway [--port N] [--token T] [--static-key K] [--ping MS] [--dialect n8n|seed|both]
 *                  [--tls CHAIN.pem KEY.pem]
 *
 *     {"do":"token"}                                     {"token":"gw_..."}
 *     {"do":"call","name":"x","arguments":{}}            {"called":"gw_..."}, later an answer:
 *         {"answer":"gw_...","ms":3,"bytes":20,"sha256":"...","body":{...}}   (body below 1 MiB)
 *     {"do":"bench","name":"x","arguments":{},"n":1000,"concurrency":8}      {"bench":{...}}
 *     {"do":"raw","text":"..."} {"do":"drop"} {"do":"end"} {"do":"forget"} {"do":"dismiss"}
 *     {"do":"fail","endpoint":"events","status":503,"count":2,"body":"{}"}
 *     {"do":"delay","endpoint":"response","ms":100}
 *     {"do":"state"}                                     {"state":{...}}
 *
 * A credential that a daemon creates is shown as the answer "credentials".
 *
 * At its start, and whenever a daemon comes or goes, it says so: {"listening":...}, {"streams":1}.
 * It ends with its standard input.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/json.h"
#include "base/jsonwrite.h"
#include "base/sha256.h"
#include "fake_gateway.h"
#include "loop/reader.h"
#include "net/tls/tls.h"

enum {
    LINE_BYTES = 32 << 20,
    SHOWN_BYTES = 1 << 20,
    ARENA_BYTES = 256 << 20,
    PEM_BYTES = 64 << 10,
    MAX_BENCH = 1000000,
    NAME_BYTES = 128,
};

static struct loop *loop;
static struct fake_gateway *server;
static struct tls_context *tls;
static struct buf input = BUF_INIT(LINE_BYTES);
static struct reader *reader;
static size_t told_streams;

/* A benchmark under way. */
static struct {
    char name[NAME_BYTES];
    struct buf arguments;
    size_t wanted, sent, done;
    double *took_ms;
    struct {
        char id[FAKE_ID_BYTES];
        double since_ms;
    } * open;
    size_t concurrency;
    double since_ms;
} bench = {.arguments = BUF_INIT(LINE_BYTES)};

static void say(struct buf *line)
{
    if (buf_append_char(line, '\n') < 0 || fwrite(line->data, 1, line->len, stdout) != line->len)
        abort();
    fflush(stdout);
}

static void stop(const char *why)
{
    fprintf(stderr, "fake_gateway: %s\n", why);
    exit(2);
}

static void must(int r)
{
    if (r < 0)
        stop(err_text(r));
}

static double now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/* ---- benchmark ---- */

static int compare(const void *a, const void *b)
{
    double left = *(const double *)a;
    double right = *(const double *)b;

    return (left > right) - (left < right);
}

static void bench_send(size_t slot)
{
    if (bench.sent == bench.wanted) {
        bench.open[slot].id[0] = '\0';
        return;
    }
    bench.sent++;
    bench.open[slot].since_ms = now_ms();
    fake_gateway_call(server, bench.name, buf_view(&bench.arguments), bench.open[slot].id);
}

static void bench_finish(void)
{
    cleanup_buf struct buf line = BUF_INIT(LINE_BYTES);
    double wall = now_ms() - bench.since_ms;
    size_t n = bench.done;

    qsort(bench.took_ms, n, sizeof(*bench.took_ms), compare);
    must(buf_printf(&line,
                    "{\"bench\":{\"n\":%zu,\"wallMs\":%.3f,\"perSecond\":%.1f,\"p50\":%.4f,"
                    "\"p90\":%.4f,\"p99\":%.4f,\"max\":%.4f}}",
                    n, wall, (double)n / wall * 1000, bench.took_ms[n / 2],
                    bench.took_ms[n * 9 / 10], bench.took_ms[n * 99 / 100], bench.took_ms[n - 1]));
    say(&line);
    free(bench.took_ms);
    free(bench.open);
    bench.wanted = 0;
}

/* True when the answer was one of the benchmark's. */
static bool bench_take(struct str id)
{
    if (bench.wanted == 0)
        return false;
    for (size_t i = 0; i < bench.concurrency; i++)
        if (str_eq_c(id, bench.open[i].id)) {
            bench.took_ms[bench.done++] = now_ms() - bench.open[i].since_ms;
            bench_send(i);
            if (bench.done == bench.wanted)
                bench_finish();
            return true;
        }
    return false;
}

/* ---- what the server tells ---- */

static void on_answer(void *data, const struct fake_answer *answer)
{
    cleanup_buf struct buf line = BUF_INIT(LINE_BYTES);
    unsigned char digest[SHA256_BYTES];
    struct sha256 hash;
    struct json_writer writer;
    char hex[2 * SHA256_BYTES + 1];

    (void)data;
    if (bench_take(answer->id))
        return;
    sha256_init(&hash);
    sha256_add(&hash, answer->body);
    sha256_end(&hash, digest);
    for (size_t i = 0; i < SHA256_BYTES; i++)
        snprintf(hex + 2 * i, 3, "%02x", digest[i]);
    json_writer_init(&writer, &line);
    json_begin_object(&writer);
    json_key(&writer, STR("answer"));
    json_write_str(&writer, answer->id);
    json_key(&writer, STR("ms"));
    json_write_int(&writer, answer->took_ms);
    json_key(&writer, STR("bytes"));
    json_write_int(&writer, (int64_t)answer->body.len);
    json_key(&writer, STR("sha256"));
    json_write_str(&writer, str_from(hex));
    if (answer->body.len < SHOWN_BYTES) {
        json_key(&writer, STR("text"));
        json_write_str_lossy(&writer, answer->body);
    }
    json_end_object(&writer);
    must(json_writer_finish(&writer));
    say(&line);
}

static void on_change(void *data)
{
    cleanup_buf struct buf line = BUF_INIT(LINE_BYTES);
    struct fake_gateway_state state;

    (void)data;
    fake_gateway_state(server, &state);
    if (state.streams == told_streams)
        return;
    told_streams = state.streams;
    must(buf_printf(&line, "{\"streams\":%zu}", state.streams));
    say(&line);
}

/* ---- commands ---- */

static void do_token(const struct json_value *command)
{
    cleanup_buf struct buf line = BUF_INIT(LINE_BYTES);

    (void)command;
    must(buf_printf(&line, "{\"token\":\"%s\"}", fake_gateway_token(server)));
    say(&line);
}

static void arguments_of(const struct json_value *command, struct buf *out)
{
    const struct json_value *arguments = json_get(command, STR("arguments"));
    struct json_writer writer;

    if (arguments == NULL) {
        must(buf_append_str(out, STR("{}")));
        return;
    }
    json_writer_init(&writer, out);
    json_write_value(&writer, arguments);
    must(json_writer_finish(&writer));
}

static void name_of(const struct json_value *command, char out_name[NAME_BYTES])
{
    struct str name = STR("echo");

    json_get_str(command, STR("name"), &name);
    snprintf(out_name, NAME_BYTES, "%.*s", STR_ARG(name));
}

static void do_call(const struct json_value *command)
{
    cleanup_buf struct buf arguments = BUF_INIT(LINE_BYTES);
    cleanup_buf struct buf line = BUF_INIT(LINE_BYTES);
    char name[NAME_BYTES];
    char id[FAKE_ID_BYTES];

    name_of(command, name);
    arguments_of(command, &arguments);
    fake_gateway_call(server, name, buf_view(&arguments), id);
    must(buf_printf(&line, "{\"called\":\"%s\"}", id));
    say(&line);
}

static void do_bench(const struct json_value *command)
{
    int64_t n = 100;
    int64_t concurrency = 1;

    json_get_int(command, STR("n"), &n);
    json_get_int(command, STR("concurrency"), &concurrency);
    if (bench.wanted > 0 || n < 1 || n > MAX_BENCH || concurrency < 1 || concurrency > n)
        stop("not a benchmark that can be run");
    name_of(command, bench.name);
    buf_clear(&bench.arguments);
    arguments_of(command, &bench.arguments);
    bench.wanted = (size_t)n;
    bench.sent = 0;
    bench.done = 0;
    bench.concurrency = (size_t)concurrency;
    bench.took_ms = calloc((size_t)n, sizeof(*bench.took_ms));
    bench.open = calloc((size_t)concurrency, sizeof(*bench.open));
    if (bench.took_ms == NULL || bench.open == NULL)
        stop("no memory");
    bench.since_ms = now_ms();
    for (size_t i = 0; i < bench.concurrency; i++)
        bench_send(i);
}

static void do_raw(const struct json_value *command)
{
    struct str text = STR_EMPTY;

    json_get_str(command, STR("text"), &text);
    if (text.len > 0)
        fake_gateway_raw(server, text);
}

static void do_drop(const struct json_value *command)
{
    (void)command;
    fake_gateway_drop(server, false);
}

static void do_end(const struct json_value *command)
{
    (void)command;
    fake_gateway_drop(server, true);
}

static void do_forget(const struct json_value *command)
{
    (void)command;
    fake_gateway_forget(server);
}

static void do_dismiss(const struct json_value *command)
{
    (void)command;
    fake_gateway_dismiss(server);
}

static enum fake_endpoint endpoint_of(const struct json_value *command)
{
    struct str name = STR_EMPTY;
    enum fake_endpoint endpoint = FAKE_OTHER;

    json_get_str(command, STR("endpoint"), &name);
    if (!fake_endpoint_from(name, &endpoint))
        stop("no such endpoint");
    return endpoint;
}

static void do_fail(const struct json_value *command)
{
    struct str body = STR("{}");
    int64_t status = 0;
    int64_t count = 1;

    json_get_int(command, STR("status"), &status);
    json_get_int(command, STR("count"), &count);
    json_get_str(command, STR("body"), &body);
    fake_gateway_fail(server, endpoint_of(command), (int)status, (unsigned)count, body);
}

static void do_delay(const struct json_value *command)
{
    int64_t ms = 0;

    json_get_int(command, STR("ms"), &ms);
    fake_gateway_delay(server, endpoint_of(command), ms);
}

static void do_state(const struct json_value *command)
{
    cleanup_buf struct buf line = BUF_INIT(LINE_BYTES);
    struct fake_gateway_state state;
    struct str init;

    (void)command;
    fake_gateway_state(server, &state);
    init = state.init.len > 0 ? state.init : STR("null");
    must(buf_printf(&line,
                    "{\"state\":{\"connected\":%s,\"streams\":%zu,\"pending\":%zu,\"refused\":%u,"
                    "\"hits\":{\"init\":%u,\"events\":%u,\"response\":%u,\"disconnect\":%u,"
                    "\"other\":%u},\"seed\":%s,\"init\":%.*s}}",
                    state.is_connected ? "true" : "false", state.streams, state.pending,
                    state.refused, state.hits[FAKE_INIT], state.hits[FAKE_EVENTS],
                    state.hits[FAKE_RESPONSE], state.hits[FAKE_DISCONNECT], state.hits[FAKE_OTHER],
                    state.is_seed ? "true" : "false", STR_ARG(init)));
    say(&line);
}

static const struct {
    struct str name;
    void (*run)(const struct json_value *command);
} COMMANDS[] = {
    {STR_LITERAL("token"), do_token},   {STR_LITERAL("call"), do_call},
    {STR_LITERAL("bench"), do_bench},   {STR_LITERAL("raw"), do_raw},
    {STR_LITERAL("drop"), do_drop},     {STR_LITERAL("end"), do_end},
    {STR_LITERAL("forget"), do_forget}, {STR_LITERAL("dismiss"), do_dismiss},
    {STR_LITERAL("fail"), do_fail},     {STR_LITERAL("delay"), do_delay},
    {STR_LITERAL("state"), do_state},
};

static void run_line(struct str line)
{
    cleanup_arena struct arena arena = ARENA_INIT(ARENA_BYTES);
    const struct json_limits limits = {LINE_BYTES, JSON_DEFAULT_MAX_DEPTH};
    const struct json_value *command;
    struct str name;

    if (json_parse(&arena, line, limits, &command, NULL) < 0 ||
        !json_get_str(command, STR("do"), &name))
        stop("a line that is no command");
    for (size_t i = 0; i < array_size(COMMANDS); i++)
        if (str_eq(name, COMMANDS[i].name)) {
            COMMANDS[i].run(command);
            return;
        }
    stop("a command that is not known");
}

static void on_input(void *data, struct str bytes)
{
    const char *end;

    (void)data;
    must(buf_append_str(&input, bytes));
    while (input.len > 0 && (end = memchr(input.data, '\n', input.len)) != NULL) {
        size_t len = (size_t)(end - input.data);

        run_line((struct str){input.data, len});
        buf_drop_front(&input, len + 1);
    }
}

static void on_input_end(void *data, int error)
{
    (void)data;
    (void)error;
    loop_stop(loop);
}

/* ---- the program ---- */

static void read_file(const char *path, char *bytes, size_t max, struct str *out)
{
    FILE *file = fopen(path, "rb");

    if (file == NULL)
        stop("a file of --tls cannot be read");
    *out = (struct str){bytes, fread(bytes, 1, max, file)};
    fclose(file);
}

static int make_filter(void *data, struct filter **out_filter)
{
    (void)data;
    return tls_server_new(tls, out_filter);
}

static void use_tls(const char *chain_path, const char *key_path)
{
    static char chain_bytes[PEM_BYTES];
    static char key_bytes[PEM_BYTES];
    struct secret_text key = SECRET_TEXT_INIT;
    struct str chain;
    struct str key_pem;

    read_file(chain_path, chain_bytes, sizeof(chain_bytes), &chain);
    read_file(key_path, key_bytes, sizeof(key_bytes), &key_pem);
    must(secret_text_set(&key, key_pem));
    must(tls_server_context_new(chain, &key, &clock_system, &tls, NULL));
    secret_text_done(&key);
}

static void read_options(int argc, char **argv, struct fake_gateway_config *config)
{
    for (int i = 1; i + 1 < argc; i += 2) {
        struct str name = str_from(argv[i]);
        struct str value = str_from(argv[i + 1]);
        int64_t number = 0;

        str_to_int64(value, &number);
        if (str_eq(name, STR("--port"))) {
            config->port = (uint16_t)number;
        } else if (str_eq(name, STR("--token"))) {
            config->token = argv[i + 1];
        } else if (str_eq(name, STR("--static-key"))) {
            config->static_key = argv[i + 1];
        } else if (str_eq(name, STR("--ping"))) {
            config->ping_ms = number;
        } else if (str_eq(name, STR("--dialect"))) {
            config->has_no_n8n = str_eq(value, STR("seed"));
            config->has_no_seed = str_eq(value, STR("n8n"));
        } else if (str_eq(name, STR("--tls")) && i + 2 < argc) {
            use_tls(argv[i + 1], argv[i + 2]);
            config->make_filter = make_filter;
            i++;
        } else {
            stop("an option that is not known");
        }
    }
}

int main(int argc, char **argv)
{
    struct fake_gateway_config config = {
        .ping_ms = 15000, .on_answer = on_answer, .on_change = on_change};
    const struct reader_events events = {.on_bytes = on_input, .on_end = on_input_end};
    cleanup_buf struct buf line = BUF_INIT(LINE_BYTES);

    read_options(argc, argv, &config);
    must(loop_new(&clock_system, &loop));
    config.loop = loop;
    must(fake_gateway_new(&config, &server));
    must(reader_new(loop, STDIN_FILENO, &events, &reader));
    must(buf_printf(&line, "{\"listening\":%u,\"token\":\"%s\"}", fake_gateway_port(server),
                    fake_gateway_token(server)));
    say(&line);
    loop_run(loop);
    reader_free(reader);
    fake_gateway_free(server);
    tls_context_unref(tls);
    loop_free(loop);
    buf_done(&input);
    buf_done(&bench.arguments);
    return 0;
}
