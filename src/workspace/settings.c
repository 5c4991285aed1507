/* SPDX-License-Identifier: Apache-2.0 */
#include "workspace/settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"

enum { MAX_TIMEOUT_MS = 24 * 60 * 60 * 1000 };

const bool workspace_has_local = WORKSPACE_HAS_LOCAL;

static const char *const names[WORKSPACE_PROVIDERS + 1] = {
    [WORKSPACE_ISOLATED] = "isolated",
    [WORKSPACE_N8N_SANDBOX] = "n8n-sandbox",
    [WORKSPACE_DAYTONA] = "daytona",
    [WORKSPACE_LOCAL] = "local",
};

const char *workspace_provider_name(enum workspace_provider provider)
{
    return names[provider];
}

/* NULL if it is not set, or empty. */
static const char *variable(const char *name)
{
    const char *text = getenv(name);

    return text != NULL && text[0] != '\0' ? text : NULL;
}

static int read_switch(bool *out_is_on, struct err *err)
{
    static const char name[] = "N8N_INSTANCE_AI_SANDBOX_ENABLED";
    const char *text = variable(name);

    if (text == NULL || strcmp(text, "false") == 0 || strcmp(text, "0") == 0)
        *out_is_on = false;
    else if (strcmp(text, "true") == 0 || strcmp(text, "1") == 0)
        *out_is_on = true;
    else
        return err_set(err, ERR_INVALID_OPTION, "%s must be true or false", name);
    return 0;
}

static int read_provider(struct workspace_settings *settings, const char *given, struct err *err)
{
    const char *from = given != NULL ? "--workspace" : "N8N_INSTANCE_AI_SANDBOX_PROVIDER";
    const char *text = given != NULL ? given : variable(from);
    size_t index;

    if (text == NULL)
        return 0;
    index = str_index(str_from(text), names, WORKSPACE_PROVIDERS);
    if (index == SIZE_MAX)
        return err_set(err, ERR_INVALID_OPTION,
                       "%s must be isolated, n8n-sandbox or daytona, not '%.40s'", from, text);
    settings->provider = (enum workspace_provider)index;
    return 0;
}

static int read_timeout(struct workspace_settings *settings, struct err *err)
{
    static const char name[] = "N8N_INSTANCE_AI_SANDBOX_TIMEOUT";
    const char *text = variable(name);

    settings->timeout_ms = WORKSPACE_TIMEOUT_MS;
    if (text == NULL)
        return 0;
    if (!str_to_int64(str_from(text), &settings->timeout_ms) || settings->timeout_ms < 1 ||
        settings->timeout_ms > MAX_TIMEOUT_MS)
        return err_set(err, ERR_INVALID_OPTION, "%s must be 1 to %d milliseconds", name,
                       MAX_TIMEOUT_MS);
    return 0;
}

static int copy(const char *name, const char *text, char *out, size_t room, struct err *err)
{
    if (snprintf(out, room, "%s", text) >= (int)room)
        return err_set(err, ERR_INVALID_OPTION, "%s is too long", name);
    return 0;
}

static int read_key(struct workspace_settings *settings, const char *name, const char *text,
                    struct err *err)
{
    for (const char *at = text; *at != '\0'; at++)
        if (*at < ' ' || *at > '~')
            return err_set(err, ERR_INVALID_OPTION, "%s may only have visible ASCII characters",
                           name);
    if (secret_set(&settings->key, str_from(text)) < 0)
        return err_set(err, ERR_INVALID_OPTION, "%s needs 1 to %d characters", name,
                       SECRET_MAX_BYTES);
    return 0;
}

static int missing(enum workspace_provider provider, const char *name, struct err *err)
{
    return err_set(err, ERR_INVALID_OPTION, "the provider %s needs %s: set it", names[provider],
                   name);
}

/* "Name: value", for a service behind a proxy that checks a header of its own. */
static int read_header(struct workspace_settings *settings, const char *text, struct err *err)
{
    static const char name[] = "GATEHOUSE_SANDBOX_AUTH_HEADER";
    struct str value = str_from(text);
    struct str word;

    if (!str_cut(&value, ':', &word) || word.len == 0 ||
        strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-") !=
            word.len ||
        word.len >= WORKSPACE_HEADER_BYTES)
        return err_set(err, ERR_INVALID_OPTION, "%s must be like 'Name: value'", name);
    snprintf(settings->header, sizeof(settings->header), "%.*s", STR_ARG(word));
    /* What follows the colon goes to the end of the text. */
    return read_key(settings, name, str_trim(value).ptr, err);
}

static int read_n8n_sandbox(struct workspace_settings *settings, struct err *err)
{
    const char *url = variable("N8N_SANDBOX_SERVICE_URL");
    const char *key = variable("N8N_SANDBOX_SERVICE_API_KEY");
    const char *header = variable("GATEHOUSE_SANDBOX_AUTH_HEADER");

    if (url == NULL)
        return missing(WORKSPACE_N8N_SANDBOX, "N8N_SANDBOX_SERVICE_URL", err);
    if (copy("N8N_SANDBOX_SERVICE_URL", url, settings->url, sizeof(settings->url), err) < 0)
        return ERR_INVALID_OPTION;
    if (header != NULL)
        return read_header(settings, header, err);
    if (key == NULL)
        return missing(WORKSPACE_N8N_SANDBOX,
                       "N8N_SANDBOX_SERVICE_API_KEY or GATEHOUSE_SANDBOX_AUTH_HEADER", err);
    snprintf(settings->header, sizeof(settings->header), "X-Api-Key");
    return read_key(settings, "N8N_SANDBOX_SERVICE_API_KEY", key, err);
}

static int read_daytona(struct workspace_settings *settings, struct err *err)
{
    cleanup_secret struct secret bearer = SECRET_INIT;
    const char *url = variable("DAYTONA_API_URL");
    const char *key = variable("DAYTONA_API_KEY");
    int len;

    if (url == NULL)
        return missing(WORKSPACE_DAYTONA, "DAYTONA_API_URL", err);
    if (key == NULL)
        return missing(WORKSPACE_DAYTONA, "DAYTONA_API_KEY", err);
    if (copy("DAYTONA_API_URL", url, settings->url, sizeof(settings->url), err) < 0)
        return ERR_INVALID_OPTION;
    snprintf(settings->header, sizeof(settings->header), "Authorization");
    len = snprintf(bearer.bytes, sizeof(bearer.bytes), "Bearer %s", key);
    if (len < 0 || len >= (int)sizeof(bearer.bytes))
        return err_set(err, ERR_INVALID_OPTION, "DAYTONA_API_KEY is too long");
    return read_key(settings, "DAYTONA_API_KEY", bearer.bytes, err);
}

/* For a service that was started with a key of the user's choice, which it does not write down. */
static int read_isolated(struct workspace_settings *settings, struct err *err)
{
    const char *key = variable("GATEHOUSE_SANDBOX_KEY");

    return key != NULL ? read_key(settings, "GATEHOUSE_SANDBOX_KEY", key, err) : 0;
}

/* Its folder and its commands are on this machine, which no deployment should offer to agents. */
static int check_local(struct err *err)
{
    const char *mode = variable("NODE_ENV");

    if (!workspace_has_local)
        return err_set(err, ERR_INVALID_OPTION,
                       "the provider local is for development and not in this build, because its "
                       "files and commands are on this machine; use isolated");
    if (mode != NULL && strcmp(mode, "production") == 0)
        return err_set(err, ERR_INVALID_OPTION,
                       "the provider local is for development: its files and commands are on this "
                       "machine, and NODE_ENV is production; use isolated");
    return 0;
}

int workspace_settings_read(struct workspace_settings *out_settings, const char *provider,
                            struct err *err)
{
    struct workspace_settings settings = {.provider = WORKSPACE_ISOLATED};
    const char *image = variable("N8N_INSTANCE_AI_SANDBOX_IMAGE");
    int r = read_switch(&settings.is_enabled, err);

    settings.is_enabled = settings.is_enabled || provider != NULL;
    if (r == 0)
        r = read_provider(&settings, provider, err);
    if (r == 0)
        r = read_timeout(&settings, err);
    if (r == 0)
        r = copy("N8N_INSTANCE_AI_SANDBOX_IMAGE", image != NULL ? image : "daytonaio/sandbox:0.5.0",
                 settings.image, sizeof(settings.image), err);
    if (r == 0 && settings.is_enabled && settings.provider == WORKSPACE_ISOLATED)
        r = read_isolated(&settings, err);
    if (r == 0 && settings.is_enabled && settings.provider == WORKSPACE_N8N_SANDBOX)
        r = read_n8n_sandbox(&settings, err);
    if (r == 0 && settings.is_enabled && settings.provider == WORKSPACE_DAYTONA)
        r = read_daytona(&settings, err);
    if (r == 0 && settings.is_enabled && settings.provider == WORKSPACE_LOCAL)
        r = check_local(err);
    if (r == 0)
        *out_settings = settings;
    secret_done(&settings.key);
    return r;
}

void workspace_settings_done(struct workspace_settings *settings)
{
    secret_done(&settings->key);
}
