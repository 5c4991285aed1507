/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <stdio.h>
#include <unistd.h>

#include "base/err.h"
#include "http_fixture.h"
#include "net/http/router.h"

enum { GOT_BYTES = 1 << 20 };

static struct http_fixture *fixture;
static struct assets *assets;
static struct router router;
static struct origin_policy policy;

static void name_it(struct exchange *exchange, const char *name)
{
    const struct http_request *request = exchange_request(exchange);
    const struct str parts[] = {str_from(name), STR(" "), request->path, STR(" "), request->body};

    exchange_answer(exchange,
                    &(struct http_answer){.status = 200, .parts = parts, .part_count = 5});
}

static void on_list(void *data, struct exchange *exchange)
{
    assert_ptr_equal(data, &router);
    name_it(exchange, "list");
}

static void on_add(void *data, struct exchange *exchange)
{
    (void)data;
    name_it(exchange, "add");
}

static void on_below(void *data, struct exchange *exchange)
{
    (void)data;
    name_it(exchange, "below");
}

static void on_head(void *data, struct exchange *exchange)
{
    (void)data;
    assert_int_equal(exchange_request(exchange)->body.len, 0);
    exchange_collect(exchange, 4, on_add, NULL);
}

static const struct route ROUTES[] = {
    {.method = HTTP_METHOD_GET, .path = STR_LITERAL("/things"), .handle = on_list},
    {.method = HTTP_METHOD_POST,
     .path = STR_LITERAL("/things"),
     .max_body_bytes = 8,
     .handle = on_add},
    {.method = HTTP_METHOD_DELETE, .path = STR_LITERAL("/things/*"), .handle = on_below},
    {.method = HTTP_METHOD_PUT,
     .path = STR_LITERAL("/things/*"),
     .takes_head = true,
     .handle = on_head},
};

static const struct asset ASSETS[] = {
    {.path = STR_LITERAL("/index.html"), .content = STR_LITERAL("<p>Hello")},
    {.path = STR_LITERAL("/app.js"), .content = STR_LITERAL("x()"), .is_immutable = true},
    {.path = STR_LITERAL("/data"),
     .content = STR_LITERAL("?"),
     .type = STR_LITERAL("application/x-thing")},
};

static int begin(void **state)
{
    const struct httpserver_config config = {.on_request = router_handle, .data = &router};

    (void)state;
    fixture = malloc(sizeof(*fixture));
    assert_non_null(fixture);
    assert_int_equal(assets_new(ASSETS, array_size(ASSETS), &assets), 0);
    policy = (struct origin_policy){.is_loopback = true, .port = 80};
    router = (struct router){.routes = ROUTES,
                             .count = array_size(ROUTES),
                             .data = &router,
                             .policy = &policy,
                             .assets = assets};
    http_fixture_init(fixture, &config);
    return 0;
}

static int end(void **state)
{
    (void)state;
    http_fixture_done(fixture);
    free(fixture);
    assets_free(assets);
    return 0;
}

/* Begins with, and has in it; either may be NULL. */
static void assert_answer(const char *request, const char *status, const char *has)
{
    cleanup_buf struct buf got = BUF_INIT(GOT_BYTES);
    char line[32];
    int fd = http_fixture_connect(fixture);

    assert_true(http_fixture_send(fixture, fd, str_from(request)));
    http_fixture_turn(fixture);
    http_fixture_receive(fixture, fd, &got);
    snprintf(line, sizeof(line), "HTTP/1.1 %s ", status);
    if (!str_starts_with(buf_view(&got), str_from(line)) ||
        (has != NULL && str_find(buf_view(&got), str_from(has)) == SIZE_MAX))
        fail_msg("%s\n%.*s", request, STR_ARG(buf_view(&got)));
    close(fd);
    http_fixture_turn(fixture);
}

#define HOST " HTTP/1.1\r\nHost: localhost\r\n"

static void routes_are_found_by_method_and_path(void **state)
{
    (void)state;
    assert_answer("GET /things" HOST "\r\n", "200", "list /things ");
    assert_answer("GET /things?a=b" HOST "\r\n", "200", "list /things ");
    assert_answer("GET /th%69ngs" HOST "\r\n", "200", "list /things ");
    assert_answer("POST /things" HOST "Content-Length: 3\r\n\r\nabc", "200", "add /things abc");
    assert_answer("DELETE /things/a/b%20c" HOST "\r\n", "200", "below /things/a/b c ");
    assert_answer("PUT /things/a" HOST "Content-Length: 3\r\n\r\nabc", "200", "add /things/a abc");
}

static void bodies_have_the_ceiling_of_their_route(void **state)
{
    (void)state;
    assert_answer("POST /things" HOST "Content-Length: 8\r\n\r\nabcdefgh", "200", "abcdefgh");
    assert_answer("POST /things" HOST "Content-Length: 9\r\n\r\nabcdefghi", "413", NULL);
    assert_answer("GET /things" HOST "Content-Length: 1\r\n\r\na", "413", NULL);
    assert_answer("PUT /things/a" HOST "Content-Length: 5\r\n\r\nabcde", "413", NULL);
}

static void what_is_not_there_is_not_found(void **state)
{
    (void)state;
    assert_answer("GET /"
                  "thing" HOST "\r\n",
                  "404", "not_found");
    assert_answer("GET /things/" HOST "\r\n", "405", NULL);
    assert_answer("GET /Things" HOST "\r\n", "404", NULL);
    assert_answer("POST /nowhere" HOST "Content-Length: 3\r\n\r\nabc", "404", NULL);
}

static void other_methods_are_told_which_there_are(void **state)
{
    (void)state;
    assert_answer("PUT /things" HOST "\r\n", "405", "Allow: GET, HEAD, POST, OPTIONS\r\n");
    assert_answer("GET /things/1" HOST "\r\n", "405", "Allow: PUT, DELETE, OPTIONS\r\n");
    assert_answer("POST /app.js" HOST "\r\n", "405", "Allow: GET, HEAD, OPTIONS\r\n");
    assert_answer("OPTIONS /things" HOST "\r\n", "204", "Allow: GET, HEAD, POST, OPTIONS\r\n");
    assert_answer("OPTIONS *" HOST "\r\n", "204", "Allow: OPTIONS\r\n");
}

static void head_is_get_without_the_body(void **state)
{
    (void)state;
    assert_answer("HEAD /things" HOST "\r\n", "200", "Content-Length: 13\r\n\r\n");
}

static void paths_with_tricks_are_refused(void **state)
{
    (void)state;
    assert_answer("GET /things/../things" HOST "\r\n", "400", "http_path");
    assert_answer("GET /things%2f1" HOST "\r\n", "400", "http_path");
    assert_answer("GET /things/%2e%2e/" HOST "\r\n", "400", "http_path");
    assert_answer("GET //things" HOST "\r\n", "400", "http_path");
}

static void strangers_are_turned_away_before_anything_else(void **state)
{
    (void)state;
    assert_answer("GET /things HTTP/1.1\r\nHost: evil.example\r\n\r\n", "403", "host_denied");
    assert_answer("GET /nowhere HTTP/1.1\r\nHost: evil.example\r\n\r\n", "403", "host_denied");
    assert_answer("GET /things HTTP/1.0\r\n\r\n", "403", "host_denied");
    assert_answer("GET /things" HOST "Origin: https://evil.example\r\n\r\n", "403",
                  "origin_denied");
    assert_answer("OPTIONS /things" HOST "Origin: https://evil.example\r\n\r\n", "403", NULL);
    assert_answer("GET /things" HOST "Origin: http://localhost\r\n\r\n", "200", NULL);
}

static void files_of_the_page_have_type_tag_and_guards(void **state)
{
    (void)state;
    assert_answer("GET /" HOST "\r\n", "200", "\r\n\r\n<p>Hello");
    assert_answer("GET /index.html" HOST "\r\n", "200",
                  "Content-Type: text/html; charset=utf-8\r\n");
    assert_answer("GET /data" HOST "\r\n", "200", "Content-Type: application/x-thing\r\n");
    assert_answer("GET /app.js" HOST "\r\n", "200",
                  "Cache-Control: public, max-age=31536000, immutable\r\n");
    assert_answer("GET /" HOST "\r\n", "200", "Cache-Control: no-cache\r\n");
    assert_answer("GET /" HOST "\r\n", "200", "frame-ancestors 'none'");
    assert_answer("GET /" HOST "\r\n", "200", "X-Content-Type-Options: nosniff\r\n");
    assert_answer("HEAD /" HOST "\r\n", "200", "Content-Length: 8\r\n");
}

static void who_has_it_already_is_told_so(void **state)
{
    cleanup_buf struct buf got = BUF_INIT(GOT_BYTES);
    int fd = http_fixture_connect(fixture);
    char tag[32] = "";
    char request[256];
    size_t at;

    (void)state;
    assert_true(http_fixture_send(fixture, fd, STR("GET /" HOST "\r\n")));
    http_fixture_turn(fixture);
    http_fixture_receive(fixture, fd, &got);
    at = str_find(buf_view(&got), STR("ETag: ")) + 6;
    memcpy(tag, got.data + at, 18);
    assert_int_equal(tag[0], '"');
    assert_int_equal(tag[17], '"');
    close(fd);
    snprintf(request, sizeof(request), "GET /" HOST "If-None-Match: %s\r\n\r\n", tag);
    assert_answer(request, "304", tag);
    snprintf(request, sizeof(request), "GET /" HOST "If-None-Match: \"a\", W/%s\r\n\r\n", tag);
    assert_answer(request, "304", tag);
    assert_answer("GET /" HOST "If-None-Match: *\r\n\r\n", "304", NULL);
    assert_answer("GET /" HOST "If-None-Match: \"a\"\r\n\r\n", "200", NULL);
}

static void a_path_twice_in_a_table_is_a_mistake(void **state)
{
    const struct asset twice[] = {ASSETS[1], ASSETS[1]};
    struct assets *none;

    (void)state;
    assert_int_equal(assets_new(twice, 2, &none), ERR_ALREADY_EXISTS);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)
TEST_MAIN(CASE(routes_are_found_by_method_and_path), CASE(bodies_have_the_ceiling_of_their_route),
          CASE(what_is_not_there_is_not_found), CASE(other_methods_are_told_which_there_are),
          CASE(head_is_get_without_the_body), CASE(paths_with_tricks_are_refused),
          CASE(strangers_are_turned_away_before_anything_else),
          CASE(files_of_the_page_have_type_tag_and_guards), CASE(who_has_it_already_is_told_so),
          CASE(a_path_twice_in_a_table_is_a_mistake))
