/* SPDX-License-Identifier: Apache-2.0 */
/* The wire of gatehouse-transfer, the names of servers, which may be reached, and credentials. */
#include "test.h"

#include <arpa/inet.h>
#include <sys/stat.h>

#include "../authority/scene.h"
#include "base/cleanup.h"
#include "transfer/client.h"
#include "transfer/credential.h"
#include "transfer/route.h"

static struct transfer_place place_of(const char *url)
{
    struct transfer_place place;

    assert_int_equal(transfer_read_place(str_from(url), &place, NULL), 0);
    return place;
}

/* ---- the wire ---- */

static void a_request_comes_back_as_it_was(void **state)
{
    const struct transfer_request request = {.operation = TRANSFER_PUT,
                                             .protocol = TRANSFER_SFTP,
                                             .port = 2222,
                                             .max_bytes = 7,
                                             .host = STR("files.example"),
                                             .target = STR("in/a b"),
                                             .credential = STR("backup"),
                                             .content = STR("content")};
    struct transfer_request again;
    cleanup_buf struct buf out = BUF_INIT(1 << 20);

    (void)state;
    assert_int_equal(transfer_write_request(&request, &out), 0);
    assert_int_equal(transfer_read_request(buf_view(&out), &again, NULL), 0);
    assert_int_equal(again.operation, TRANSFER_PUT);
    assert_int_equal(again.protocol, TRANSFER_SFTP);
    assert_int_equal(again.port, 2222);
    assert_int_equal(again.max_bytes, 7);
    assert_true(str_eq(again.host, request.host) && str_eq(again.target, request.target));
    assert_true(str_eq(again.credential, request.credential));
    assert_true(str_eq(again.content, request.content));
    /* Neither less nor more. */
    for (size_t len = 0; len < out.len; len++)
        assert_int_equal(transfer_read_request(str_slice(buf_view(&out), 0, len), &again, NULL),
                         ERR_INVALID_ARGUMENT);
    assert_int_equal(buf_append_char(&out, 'x'), 0);
    assert_int_equal(transfer_read_request(buf_view(&out), &again, NULL), ERR_INVALID_ARGUMENT);
}

static void requests_beyond_the_limits_are_refused(void **state)
{
    static const struct transfer_request right = {.operation = TRANSFER_GET,
                                                  .protocol = TRANSFER_FTP,
                                                  .port = 21,
                                                  .host = STR_LITERAL("a.example"),
                                                  .target = STR_LITERAL("x"),
                                                  .credential = STR_LITERAL("c")};
    struct transfer_request wrong[12];
    struct transfer_request again;

    (void)state;
    for (size_t i = 0; i < array_size(wrong); i++)
        wrong[i] = right;
    wrong[0].operation = TRANSFER_OPERATION_END;
    wrong[1].protocol = TRANSFER_PROTOCOL_END;
    wrong[2].protocol = TRANSFER_SSH; /* has no files */
    wrong[3].operation = TRANSFER_EXEC;
    wrong[4].port = 0;
    wrong[5].host = STR("A.example");
    wrong[6].host = STR("127.1");
    wrong[7].target = STR("a\r\nDELE b");
    wrong[8].credential = STR("../x");
    wrong[9].content = STR("not of get");
    wrong[10].max_bytes = UINT32_MAX;
    wrong[11].operation = TRANSFER_PROBE;
    for (size_t i = 0; i < array_size(wrong); i++) {
        cleanup_buf struct buf out = BUF_INIT(1 << 20);

        assert_int_equal(transfer_write_request(&wrong[i], &out), 0);
        assert_int_equal(transfer_read_request(buf_view(&out), &again, NULL), ERR_INVALID_ARGUMENT);
    }
}

static void answers_and_errors_come_back(void **state)
{
    static const int codes[] = {ERR_SERVER_DENIED, ERR_HOST_KEY, ERR_LOGIN_REFUSED, ERR_TOO_LARGE};
    const struct transfer_entry entry = {.kind = 'f', .size = UINT64_C(1) << 40, .name = STR("n")};
    cleanup_free struct transfer_answer *answer = calloc(1, sizeof(*answer));
    cleanup_buf struct buf space = BUF_INIT(1 << 20);
    struct transfer_entry again;

    (void)state;
    assert_int_equal(transfer_write_entry(&entry, &space), 0);
    assert_true(transfer_read_entry(buf_view(&space), &again));
    assert_true(again.kind == 'f' && again.size == entry.size && str_eq(again.name, entry.name));
    assert_false(transfer_read_entry(STR("f12345678"), &again));
    for (size_t i = 0; i < array_size(codes); i++) {
        cleanup_buf struct buf out = BUF_INIT(1 << 20);
        struct err err = ERR_INIT;

        err_set(&err, codes[i], "words about it");
        assert_int_equal(transfer_write_error(&err, &out), 0);
        err = (struct err)ERR_INIT;
        assert_int_equal(transfer_read_answer(buf_view(&out), answer, &err), codes[i]);
        assert_string_equal(err.message, "words about it");
    }
}

/* ---- names of servers ---- */

static void a_url_is_taken_apart(void **state)
{
    struct transfer_place place = place_of("sftp://Files.Example:2222/in/a%20b%3F");

    (void)state;
    assert_int_equal(place.protocol, TRANSFER_SFTP);
    assert_int_equal(place.port, 2222);
    assert_string_equal(place.host, "files.example");
    assert_false(place.is_address);
    assert_true(str_eq((struct str){place.path, place.path_len}, STR("in/a b?")));
    place = place_of("ftp://192.0.2.7");
    assert_true(place.is_address && place.port == 21 && place.path_len == 0);
    place = place_of("ssh://[2001:db8::1]");
    assert_true(place.is_address && place.port == 22);
    assert_string_equal(place.host, "2001:db8::1");
}

static void other_spellings_are_refused(void **state)
{
    static const char *const urls[] = {
        "",
        "http://a.example/",
        "FTP://a.example/",
        "ftp:a.example",
        "ftp://",
        "ftp:///x",
        "ftp://user@a.example/",
        "ftp://a.example:0/",
        "ftp://a.example:65536/",
        "ftp://a.example:+21/",
        "ftp://a.example:021/",
        "ftp://a.example:/",
        "ftp://a.example./",
        "ftp://a_b.example/",
        "ftp://127.1/",
        "ftp://2130706433/",
        "ftp://0x7f000001/",
        "ftp://0x7f.1/",
        "ftp://0177.0.0.1/",
        "ftp://127.0.0.01/",
        "ftp://[127.0.0.1]/",
        "ftp://::1/",
        "ftp://[::1/",
        "ftp://[::1]x/",
        "ftp://[0:0::1]/",
        "ftp://[::ffff:127.0.0.1]/",
        "ftp://[fe80::1%25lo]/",
        "ftp://a.example/x?y",
        "ftp://a.example/x#y",
        "ftp://a.example/%0a",
        "ftp://a.example/%00",
        "ftp://a.example/%4",
        "ftp://a.example?/",
        "ftp://a\\b/",
    };
    struct transfer_place place;

    (void)state;
    for (size_t i = 0; i < array_size(urls); i++)
        if (transfer_read_place(str_from(urls[i]), &place, NULL) != ERR_INVALID_ARGUMENT)
            fail_msg("%s", urls[i]);
}

/* ---- which may be reached ---- */

static bool is_public(const char *text)
{
    struct sockaddr_storage address = {0};
    struct sockaddr_in four = {.sin_family = AF_INET};
    struct sockaddr_in6 six = {.sin6_family = AF_INET6};

    if (inet_pton(AF_INET, text, &four.sin_addr) == 1)
        memcpy(&address, &four, sizeof(four));
    else if (inet_pton(AF_INET6, text, &six.sin6_addr) == 1)
        memcpy(&address, &six, sizeof(six));
    return route_is_public((const struct sockaddr *)&address);
}

static void private_and_odd_addresses_are_not_public(void **state)
{
    static const char *const closed[] = {
        "0.0.0.0",     "10.1.2.3",  "100.64.0.1",  "127.0.0.1",  "169.254.169.254", "172.16.0.1",
        "172.31.9.9",  "192.0.0.1", "192.168.1.1", "198.19.0.1", "224.0.0.1",       "255.1.1.1",
        "240.0.0.1",   "::",        "::1",         "fe80::1",    "fc00::1",         "ff02::1",
        "2002:7f00::", "2001::1",   "2001:db8::1", "64:ff9b::1", "::ffff:8.8.8.8"};
    static const char *const open[] = {"8.8.8.8",   "172.32.0.1",   "100.128.0.1",
                                       "192.0.1.1", "2606:4700::1", "2a00::1"};

    (void)state;
    for (size_t i = 0; i < array_size(closed); i++)
        if (is_public(closed[i]))
            fail_msg("%s", closed[i]);
    for (size_t i = 0; i < array_size(open); i++)
        if (!is_public(open[i]))
            fail_msg("%s", open[i]);
}

static void only_named_servers_are_allowed(void **state)
{
    const struct transfer_place places[] = {place_of("sftp://127.0.0.1:2222"),
                                            place_of("ftp://localhost:2121")};
    const struct route_allowed allowed = {places, array_size(places)};
    struct transfer_place server = place_of("sftp://127.0.0.1:2222/x");
    struct transfer_route route;

    (void)state;
    assert_int_equal(route_check(&allowed, &server, NULL), 0);
    assert_int_equal(route_find(&allowed, &server, &route, NULL), 0);
    /* A name that leads to this machine does not open it. */
    server = place_of("ftp://localhost:2121");
    assert_int_equal(route_check(&allowed, &server, NULL), 0);
    assert_int_equal(route_find(&allowed, &server, &route, NULL), ERR_SERVER_DENIED);
    server = place_of("sftp://127.0.0.1:2223");
    assert_int_equal(route_check(&allowed, &server, NULL), ERR_SERVER_DENIED);
    server = place_of("ssh://127.0.0.1:2222");
    assert_int_equal(route_check(&allowed, &server, NULL), ERR_SERVER_DENIED);
    server = place_of("sftp://127.0.0.2:2222");
    assert_int_equal(route_check(&allowed, &server, NULL), ERR_SERVER_DENIED);
}

/* ---- credentials ---- */

static int find(const char *text, const char *name, const char *url, const char *tenant)
{
    const struct transfer_place server = place_of(url);
    cleanup_credential struct credential credential = CREDENTIAL_INIT;

    return credential_find(str_from(text), str_from(name), &server, tenant, &credential, NULL);
}

static void a_credential_is_of_one_server_and_one_tenant(void **state)
{
    static const char text[] =
        "{\"a\":{\"url\":\"sftp://x.example\",\"user\":\"u\",\"password\":\"p\"},"
        "\"b\":{\"url\":\"ftp://x.example\",\"user\":\"u\",\"password\":\"p\","
        "\"tenant\":\"anna\"},\"c\":{\"url\":\"ftp://x.example\"},\"d\":1}";

    (void)state;
    assert_int_equal(find(text, "a", "sftp://x.example:22/in", NULL), 0);
    assert_int_equal(find(text, "a", "ssh://x.example", NULL), ERR_ACCESS_MISSING);
    assert_int_equal(find(text, "a", "sftp://x.example:2222", NULL), ERR_ACCESS_MISSING);
    assert_int_equal(find(text, "a", "sftp://y.example", NULL), ERR_ACCESS_MISSING);
    assert_int_equal(find(text, "a", "sftp://x.example", "anna"), ERR_ACCESS_MISSING);
    assert_int_equal(find(text, "b", "ftp://x.example", "anna"), 0);
    assert_int_equal(find(text, "b", "ftp://x.example", NULL), ERR_ACCESS_MISSING);
    assert_int_equal(find(text, "b", "ftp://x.example", "bob"), ERR_ACCESS_MISSING);
    assert_int_equal(find(text, "c", "ftp://x.example", NULL), ERR_INTERNAL);
    assert_int_equal(find(text, "d", "ftp://x.example", NULL), ERR_ACCESS_MISSING);
    assert_int_equal(find("[]", "a", "ftp://x.example", NULL), ERR_INTERNAL);
    assert_int_equal(find("{", "a", "ftp://x.example", NULL), ERR_INTERNAL);
}

static void a_file_that_others_can_read_is_not_used(void **state)
{
    const struct transfer_place server = place_of("ftp://x.example");
    struct scene scene;
    char path[PATH_MAX];

    (void)state;
    scene_make(&scene);
    make_file(scene.fd, "c.json",
              "{\"a\":{\"url\":\"ftp://x.example\",\"user\":\"u\",\"password\":\"p\"}}");
    snprintf(path, sizeof(path), "%s/c.json", scene.path);
    for (unsigned mode = 0600; mode <= 0644; mode += 044) {
        cleanup_credential struct credential credential = CREDENTIAL_INIT;

        assert_int_equal(fchmodat(scene.fd, "c.json", mode, 0), 0);
        assert_int_equal(credential_load(path, STR("a"), &server, NULL, &credential, NULL),
                         mode == 0600 ? 0 : ERR_INTERNAL);
        assert_true(mode != 0600 || str_eq(secret_text_reveal(&credential.password), STR("p")));
    }
    scene_drop(&scene);
}

TEST_MAIN(cmocka_unit_test(a_request_comes_back_as_it_was),
          cmocka_unit_test(requests_beyond_the_limits_are_refused),
          cmocka_unit_test(answers_and_errors_come_back), cmocka_unit_test(a_url_is_taken_apart),
          cmocka_unit_test(other_spellings_are_refused),
          cmocka_unit_test(private_and_odd_addresses_are_not_public),
          cmocka_unit_test(only_named_servers_are_allowed),
          cmocka_unit_test(a_credential_is_of_one_server_and_one_tenant),
          cmocka_unit_test(a_file_that_others_can_read_is_not_used))
