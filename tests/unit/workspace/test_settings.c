/* SPDX-License-Identifier: Apache-2.0 */
#include "workspace/settings.h"

#include <stdlib.h>
#include <string.h>

#include "test.h"

static const char *const variables[] = {
    "N8N_INSTANCE_AI_SANDBOX_ENABLED",
    "N8N_INSTANCE_AI_SANDBOX_PROVIDER",
    "N8N_INSTANCE_AI_SANDBOX_IMAGE",
    "N8N_INSTANCE_AI_SANDBOX_TIMEOUT",
    "DAYTONA_API_URL",
    "DAYTONA_API_KEY",
    "N8N_SANDBOX_SERVICE_URL",
    "N8N_SANDBOX_SERVICE_API_KEY",
    "GATEHOUSE_SANDBOX_AUTH_HEADER",
    "GATEHOUSE_SANDBOX_KEY",
    "NODE_ENV",
};

static void set(const char *name, const char *value)
{
    assert_int_equal(setenv(name, value, 1), 0);
}

static int clear(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_size(variables); i++)
        unsetenv(variables[i]);
    return 0;
}

static void assert_refused(const char *provider, const char *words)
{
    struct workspace_settings settings;
    struct err err = ERR_INIT;

    assert_int_equal(workspace_settings_read(&settings, provider, &err), ERR_INVALID_OPTION);
    if (strstr(err.message, words) == NULL)
        fail_msg("'%s' is not in '%s'", words, err.message);
}

static void assert_key(const struct workspace_settings *settings, const char *key)
{
    assert_true(secret_eq(&settings->key, str_from(key)));
}

static void without_variables_there_are_no_workspaces(void **state)
{
    struct workspace_settings settings;

    (void)state;
    assert_int_equal(workspace_settings_read(&settings, NULL, NULL), 0);
    assert_false(settings.is_enabled);
    assert_int_equal(settings.provider, WORKSPACE_ISOLATED);
    assert_string_equal(settings.image, "daytonaio/sandbox:0.5.0");
    assert_int_equal(settings.timeout_ms, 300000);
    assert_int_equal(settings.key.len, 0);
}

static void the_command_line_counts_as_enabled(void **state)
{
    struct workspace_settings settings;

    (void)state;
    set("N8N_INSTANCE_AI_SANDBOX_ENABLED", "false");
    set("N8N_INSTANCE_AI_SANDBOX_PROVIDER", "daytona");
    assert_int_equal(workspace_settings_read(&settings, "isolated", NULL), 0);
    assert_true(settings.is_enabled);
    assert_int_equal(settings.provider, WORKSPACE_ISOLATED);
}

static void what_is_disabled_needs_nothing(void **state)
{
    struct workspace_settings settings;

    (void)state;
    set("N8N_INSTANCE_AI_SANDBOX_PROVIDER", "daytona");
    assert_int_equal(workspace_settings_read(&settings, NULL, NULL), 0);
    assert_false(settings.is_enabled);
}

static void the_service_of_n8n_has_an_address_and_a_key(void **state)
{
    struct workspace_settings settings;

    (void)state;
    set("N8N_INSTANCE_AI_SANDBOX_ENABLED", "true");
    set("N8N_INSTANCE_AI_SANDBOX_PROVIDER", "n8n-sandbox");
    assert_refused(NULL, "N8N_SANDBOX_SERVICE_URL");
    set("N8N_SANDBOX_SERVICE_URL", "https://sandbox.example");
    assert_refused(NULL, "N8N_SANDBOX_SERVICE_API_KEY");
    set("N8N_SANDBOX_SERVICE_API_KEY", "sbk_1");
    assert_int_equal(workspace_settings_read(&settings, NULL, NULL), 0);
    assert_string_equal(settings.url, "https://sandbox.example");
    assert_string_equal(settings.header, "X-Api-Key");
    assert_key(&settings, "sbk_1");
    workspace_settings_done(&settings);
}

static void another_header_may_carry_the_key(void **state)
{
    struct workspace_settings settings;

    (void)state;
    set("N8N_SANDBOX_SERVICE_URL", "https://sandbox.example");
    set("GATEHOUSE_SANDBOX_AUTH_HEADER", "X-Team-Key:  blue: green");
    assert_int_equal(workspace_settings_read(&settings, "n8n-sandbox", NULL), 0);
    assert_string_equal(settings.header, "X-Team-Key");
    assert_key(&settings, "blue: green");
    set("GATEHOUSE_SANDBOX_AUTH_HEADER", "no header");
    assert_refused("n8n-sandbox", "GATEHOUSE_SANDBOX_AUTH_HEADER");
    set("GATEHOUSE_SANDBOX_AUTH_HEADER", "Two Words: x");
    assert_refused("n8n-sandbox", "GATEHOUSE_SANDBOX_AUTH_HEADER");
    set("GATEHOUSE_SANDBOX_AUTH_HEADER", "Name: a\r\nHost: b");
    assert_refused("n8n-sandbox", "visible ASCII");
    set("GATEHOUSE_SANDBOX_AUTH_HEADER", "Name:");
    assert_refused("n8n-sandbox", "GATEHOUSE_SANDBOX_AUTH_HEADER");
}

static void daytona_has_an_address_a_key_and_an_image(void **state)
{
    struct workspace_settings settings;

    (void)state;
    assert_refused("daytona", "DAYTONA_API_URL");
    set("DAYTONA_API_URL", "https://app.daytona.example/api");
    assert_refused("daytona", "DAYTONA_API_KEY");
    set("DAYTONA_API_KEY", "dtn_1");
    set("N8N_INSTANCE_AI_SANDBOX_IMAGE", "node:22");
    assert_int_equal(workspace_settings_read(&settings, "daytona", NULL), 0);
    assert_string_equal(settings.header, "Authorization");
    assert_string_equal(settings.image, "node:22");
    assert_key(&settings, "Bearer dtn_1");
    workspace_settings_done(&settings);
}

static void values_that_make_no_sense_are_named(void **state)
{
    (void)state;
    assert_refused("docker", "--workspace");
    set("N8N_INSTANCE_AI_SANDBOX_PROVIDER", "docker");
    assert_refused(NULL, "N8N_INSTANCE_AI_SANDBOX_PROVIDER");
    clear(NULL);
    set("N8N_INSTANCE_AI_SANDBOX_ENABLED", "perhaps");
    assert_refused(NULL, "N8N_INSTANCE_AI_SANDBOX_ENABLED");
    clear(NULL);
    for (size_t i = 0; i < 4; i++) {
        static const char *const times[] = {"0", "-1", "5m", "99999999999999999999"};

        set("N8N_INSTANCE_AI_SANDBOX_TIMEOUT", times[i]);
        assert_refused("isolated", "N8N_INSTANCE_AI_SANDBOX_TIMEOUT");
    }
}

static void the_local_provider_is_refused_with_the_reason(void **state)
{
    struct workspace_settings settings;

    (void)state;
    set("NODE_ENV", "production");
    assert_refused("local", workspace_has_local ? "NODE_ENV is production" : "not in this build");
    set("NODE_ENV", "development");
    if (workspace_has_local)
        assert_int_equal(workspace_settings_read(&settings, "local", NULL), 0);
    else
        assert_refused("local", "files and commands are on this machine; use isolated");
}

/* The eight variables of n8n's Instance AI, each with what it means when it is left out. */
static void all_variables_have_their_defaults(void **state)
{
    struct workspace_settings settings;

    (void)state;
    set("N8N_INSTANCE_AI_SANDBOX_ENABLED", "true");
    assert_int_equal(workspace_settings_read(&settings, NULL, NULL), 0);
    assert_true(settings.is_enabled);
    assert_int_equal(settings.provider, WORKSPACE_ISOLATED); /* the seed's is daytona */
    assert_string_equal(settings.image, "daytonaio/sandbox:0.5.0");
    assert_int_equal(settings.timeout_ms, 300000);
    assert_string_equal(settings.url, "");
    for (size_t i = 0; i < array_size(variables); i++)
        set(variables[i], ""); /* empty is left out */
    assert_int_equal(workspace_settings_read(&settings, NULL, NULL), 0);
    assert_false(settings.is_enabled);
    assert_int_equal(settings.provider, WORKSPACE_ISOLATED);
    assert_int_equal(settings.timeout_ms, 300000);
    assert_refused("daytona", "DAYTONA_API_URL");
    set("DAYTONA_API_URL", "https://daytona.example/api");
    assert_refused("daytona", "DAYTONA_API_KEY");
    assert_refused("n8n-sandbox", "N8N_SANDBOX_SERVICE_URL");
    set("N8N_SANDBOX_SERVICE_URL", "https://sandbox.example");
    assert_refused("n8n-sandbox", "N8N_SANDBOX_SERVICE_API_KEY");
}

TEST_MAIN(cmocka_unit_test_setup(without_variables_there_are_no_workspaces, clear),
          cmocka_unit_test_setup(the_command_line_counts_as_enabled, clear),
          cmocka_unit_test_setup(what_is_disabled_needs_nothing, clear),
          cmocka_unit_test_setup(the_service_of_n8n_has_an_address_and_a_key, clear),
          cmocka_unit_test_setup(another_header_may_carry_the_key, clear),
          cmocka_unit_test_setup(daytona_has_an_address_a_key_and_an_image, clear),
          cmocka_unit_test_setup(values_that_make_no_sense_are_named, clear),
          cmocka_unit_test_setup(all_variables_have_their_defaults, clear),
          cmocka_unit_test_setup(the_local_provider_is_refused_with_the_reason, clear))
