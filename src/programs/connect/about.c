/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/connect/about.h"

#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <unistd.h>

#include "gateway/reply.h"

enum { HOST_BYTES = HOST_NAME_MAX + 1, IDENTIFIER_BYTES = 512 };

static void write_tools(const struct machine_about *about, struct json_writer *json)
{
    json_begin_array(json);
    for (size_t i = 0; i < catalog_tool_count; i++)
        if (about->offers(about->data, &catalog_tools[i]))
            json_splice(json, catalog_listings[i].text);
    json_end_array(json);
}

static bool offers_group(const struct machine_about *about, enum catalog_group group)
{
    for (size_t i = 0; i < catalog_tool_count; i++)
        if (catalog_tools[i].group == group && about->offers(about->data, &catalog_tools[i]))
            return true;
    return false;
}

static void begin_category(struct json_writer *json, struct str name, bool is_enabled)
{
    json_begin_object(json);
    json_put_str(json, STR("name"), name);
    json_put_bool(json, STR("enabled"), is_enabled);
}

static void write_categories(const struct machine_about *about, struct json_writer *json)
{
    static const struct {
        struct str name;
        enum catalog_group group;
    } others[] = {
        {STR_LITERAL("shell"), CATALOG_SHELL},
        {STR_LITERAL("screenshot"), CATALOG_COMPUTER},
        {STR_LITERAL("mouse-keyboard"), CATALOG_COMPUTER},
        {STR_LITERAL("browser"), CATALOG_BROWSER},
    };

    json_begin_array(json);
    begin_category(json, STR("filesystem"), offers_group(about, CATALOG_FILESYSTEM_READ));
    json_put_bool(json, STR("writeAccess"), offers_group(about, CATALOG_FILESYSTEM_WRITE));
    json_end_object(json);
    for (size_t i = 0; i < array_size(others); i++) {
        begin_category(json, others[i].name, offers_group(about, others[i].group));
        json_end_object(json);
    }
    json_end_array(json);
}

/* "bob@laptop", as users know their machines. */
static void write_identifier(struct json_writer *json)
{
    char text[IDENTIFIER_BYTES];
    char host[HOST_BYTES] = "localhost";
    const struct passwd *user = getpwuid(getuid());

    if (gethostname(host, sizeof(host)) < 0)
        snprintf(host, sizeof(host), "localhost");
    host[sizeof(host) - 1] = '\0';
    snprintf(text, sizeof(text), "%s@%s", user != NULL ? user->pw_name : "user", host);
    json_write_str_lossy(json, str_from(text));
}

int about_write(const struct machine_about *about, struct json_writer *json)
{
    json_begin_object(json);
    json_put_str_lossy(json, STR("rootPath"), str_from(about->root_path));
    json_key(json, STR("tools"));
    write_tools(about, json);
    json_key(json, STR("hostIdentifier"));
    write_identifier(json);
    json_key(json, STR("toolCategories"));
    write_categories(about, json);
    json_key(json, STR(GATEWAY_EXTENSIONS));
    json_splice(json, STR(GATEWAY_EXTENSIONS_VALUE));
    json_end_object(json);
    return 0;
}
