/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which provider serves workspaces, and how it is reached: from the variables that n8n's Instance
 * AI has for it.
 *
 *     N8N_INSTANCE_AI_SANDBOX_ENABLED    false     whether there are workspaces at all
 *     N8N_INSTANCE_AI_SANDBOX_PROVIDER   isolated  isolated, n8n-sandbox, daytona or local
 *     N8N_INSTANCE_AI_SANDBOX_IMAGE      daytonaio/sandbox:0.5.0, for daytona
 *     N8N_INSTANCE_AI_SANDBOX_TIMEOUT    300000    of a command, in milliseconds
 *     DAYTONA_API_URL, DAYTONA_API_KEY             needed for daytona
 *     N8N_SANDBOX_SERVICE_URL                      needed for n8n-sandbox
 *     N8N_SANDBOX_SERVICE_API_KEY                  or GATEHOUSE_SANDBOX_AUTH_HEADER: "Name: value"
 *     GATEHOUSE_SANDBOX_KEY                        for isolated, if the service has a chosen key
 *     NODE_ENV                                     production: no local
 */
#ifndef WORKSPACE_SETTINGS_H
#define WORKSPACE_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/secret.h"

enum workspace_provider {
    WORKSPACE_ISOLATED,
    WORKSPACE_N8N_SANDBOX,
    WORKSPACE_DAYTONA,
    WORKSPACE_LOCAL,
    WORKSPACE_PROVIDERS
};

enum {
    WORKSPACE_URL_BYTES = 1024,
    WORKSPACE_IMAGE_BYTES = 256,
    WORKSPACE_HEADER_BYTES = 64,
    WORKSPACE_TIMEOUT_MS = 300000,
};

struct workspace_settings {
    bool is_enabled;
    enum workspace_provider provider;
    char url[WORKSPACE_URL_BYTES];       /* of the provider; empty for those of this machine */
    char header[WORKSPACE_HEADER_BYTES]; /* that carries the key */
    struct secret key;
    char image[WORKSPACE_IMAGE_BYTES];
    int64_t timeout_ms;
};

/*
 * From the environment; `provider` comes from the command line, and counts as enabled. NULL: from
 * the environment, too. ERR_INVALID_OPTION names what is missing or wrong.
 */
int workspace_settings_read(struct workspace_settings *out_settings, const char *provider,
                            struct err *err);
void workspace_settings_done(struct workspace_settings *settings);

/* Whether the build has the provider local: the option local_workspaces. */
extern const bool workspace_has_local;

/* "isolated", "n8n-sandbox", "daytona", "local" */
const char *workspace_provider_name(enum workspace_provider provider);

#endif
