/* SPDX-License-Identifier: Apache-2.0 */
/* Where the service is: at --url, or the user's own one, which is started if it does not run. */
#include "programs/sandboxctl/ctl.h"

#include <limits.h>
#include <poll.h>
#include <stdlib.h>

#include "cli/programs.h"
#include "cli/sandbox.h"
#include "session/state.h"
#include "workspace/ownservice.h"

static int find_own(struct ctl *ctl, const struct option_values *values, struct err *err)
{
    const char *given = options_text(values, SANDBOX_ASK_STATE_DIR);
    char state[PATH_MAX];
    const struct ownservice_config config = {.state_dir = state,
                                             .program = SANDBOXD_PROGRAM,
                                             .libexec = GATEHOUSE_LIBEXECDIR,
                                             .only_running =
                                                 options_is_on(values, SANDBOX_ASK_NO_START)};
    struct ownservice *service;
    int r = given != NULL ? session_state_absolute_path(given, state, err)
                          : session_state_default_dir(state, err);

    if (r < 0)
        return r;
    if (ownservice_new(&config, &service) < 0)
        return err_set_plain(err, ERR_NO_MEMORY);
    while ((r = ownservice_step(service, &ctl->url, &ctl->key, err)) == ERR_BUSY)
        (void)poll(NULL, 0, OWNSERVICE_STEP_MS);
    ownservice_free(service);
    if (r == 0)
        *err = (struct err)ERR_INIT; /* that it did not run before is no error of what follows */
    return r;
}

static int find_given(struct ctl *ctl, const char *url, struct err *err)
{
    int r = httpurl_parse(str_from(url), &ctl->url, err);

    if (r == 0 && httpurl_is_exposed(&ctl->url))
        r = err_set(err, ERR_INVALID_OPTION,
                    "--url: the key would be sent unprotected to another machine; use https://");
    return r;
}

int ctl_find_service(struct ctl *ctl, const struct option_values *values, struct err *err)
{
    const char *given = options_text(values, SANDBOX_ASK_URL);
    const char *file = options_text(values, SANDBOX_ASK_CA_FILE);
    const char *key = getenv(SANDBOX_KEY_ENV);
    int r = given != NULL ? find_given(ctl, given, err) : find_own(ctl, values, err);

    if (r == 0 && file != NULL && ctl->url.is_tls)
        r = authorities_read(file, &ctl->authorities.pem, err);
    /* The key in the service's file is for the address in the file, and for no other. */
    if (r == 0 && key != NULL && key[0] != '\0' && secret_set(&ctl->key, str_from(key)) < 0)
        r = err_set(err, ERR_INVALID_OPTION, SANDBOX_KEY_ENV " is too long");
    if (r == 0 && ctl->key.len == 0)
        r = err_set(err, ERR_INVALID_OPTION, "set the service's key in " SANDBOX_KEY_ENV);
    return r;
}
