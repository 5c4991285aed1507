/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "mcp/http_resource.h"

static void the_document_names_servers_and_scopes(void **state)
{
    const struct str issuers[] = {STR("https://login.example")};
    const struct str scopes[] = {STR("files.read"), STR("files.write")};
    struct mcp_http_resource resource;

    (void)state;
    assert_int_equal(mcp_http_resource_init(&resource,
                                            &(struct mcp_http_resource_config){
                                                .address = STR("https://gate.example/mcp"),
                                                .name = STR("The \"gate\""),
                                                .issuers = issuers,
                                                .issuer_count = 1,
                                                .scopes = scopes,
                                                .scope_count = 2},
                                            NULL),
                     0);
    assert_str(buf_view(&resource.document),
               "{\"resource\":\"https://gate.example/mcp\","
               "\"resource_name\":\"The \\\"gate\\\"\","
               "\"authorization_servers\":[\"https://login.example\"],"
               "\"scopes_supported\":[\"files.read\",\"files.write\"],"
               "\"bearer_methods_supported\":[\"header\"]}");
    assert_str(buf_view(&resource.address),
               "https://gate.example/.well-known/oauth-protected-resource/mcp");
    mcp_http_resource_done(&resource);
}

static void a_path_of_nothing_adds_nothing(void **state)
{
    const struct str issuers[] = {STR("https://login.example")};
    static const char *const addresses[] = {"http://localhost:8080", "http://localhost:8080/"};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct mcp_http_resource resource;

        assert_int_equal(mcp_http_resource_init(
                             &resource,
                             &(struct mcp_http_resource_config){.address = str_from(addresses[i]),
                                                                .issuers = issuers,
                                                                .issuer_count = 1},
                             NULL),
                         0);
        assert_str(buf_view(&resource.address),
                   "http://localhost:8080/.well-known/oauth-protected-resource");
        mcp_http_resource_done(&resource);
    }
}

static void addresses_that_would_break_a_header_are_refused(void **state)
{
    const struct str issuers[] = {STR("https://login.example")};
    static const char *const addresses[] = {"",
                                            "gate.example/mcp",
                                            "ftp://gate.example/mcp",
                                            "https://",
                                            "https:///mcp",
                                            "https://gate.example/\"x",
                                            "https://gate.example/a b",
                                            "https://gate.example/a\r\nX: y",
                                            "https://gate.example/mcp?x",
                                            "https://gate.example/#"};

    (void)state;
    for (size_t i = 0; i < sizeof(addresses) / sizeof(addresses[0]); i++) {
        struct mcp_http_resource resource;

        assert_int_equal(mcp_http_resource_init(
                             &resource,
                             &(struct mcp_http_resource_config){.address = str_from(addresses[i]),
                                                                .issuers = issuers,
                                                                .issuer_count = 1},
                             NULL),
                         ERR_INVALID_ARGUMENT);
        mcp_http_resource_done(&resource);
    }
}

TEST_MAIN(cmocka_unit_test(the_document_names_servers_and_scopes),
          cmocka_unit_test(a_path_of_nothing_adds_nothing),
          cmocka_unit_test(addresses_that_would_break_a_header_are_refused))
