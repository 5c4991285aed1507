/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gatehouse-workspacehost: holds the workspaces of a program that can reach no network, and the
 * keys of their provider.
 */
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "cli/runner.h"
#include "cli/workspacehost.h"
#include "isolate/companion.h"
#include "isolate/confine.h"
#include "net/tls/tls.h"
#include "workspace/host.h"

/* Debian's directory, and OpenSSL's default; OpenSSL names another by SSL_CERT_DIR. */
#define AUTHORITIES_DIR     "/etc/ssl/certs"
#define AUTHORITIES_DIR_ENV "SSL_CERT_DIR"

/* TLS costs memory: not before it is needed. */
static int make_filter(void *data, struct str host, struct filter **out_filter, struct err *err)
{
    struct tls_context **context = data;
    const char *dir = getenv(AUTHORITIES_DIR_ENV);
    const struct tls_trust trust = {.authorities_dir =
                                        dir != NULL && *dir != '\0' ? dir : AUTHORITIES_DIR};
    int r = 0;

    if (*context == NULL)
        r = tls_client_context_new(&trust, &clock_system, context, err);
    return r == 0 ? tls_client_new(*context, host, out_filter, err) : r;
}

static int run(const struct option_values *values, struct arena *arena, struct err *err)
{
    const int kept[] = {STDERR_FILENO, COMPANION_FD};
    struct tls_context *context = NULL;
    const struct workspacehost_config config = {
        .fd = COMPANION_FD,
        .state_dir = options_text(values, WORKSPACEHOST_OPTION_STATE_DIR),
        .service_program = SANDBOXD_PROGRAM,
        .libexec = GATEHOUSE_LIBEXECDIR,
        .make_filter = make_filter,
        .filter_data = &context,
    };
    int r = confine_close_fds(kept, array_size(kept), err);

    (void)arena;
    if (r == 0 && config.state_dir == NULL)
        r = err_set(err, ERR_INVALID_OPTION, "--state-dir is missing");
    if (r == 0)
        r = workspacehost_serve(&config, err);
    if (context != NULL)
        tls_context_unref(context);
    return r;
}

static const struct runner runner = {
    .program = WORKSPACEHOST_PROGRAM,
    .title = WORKSPACEHOST_PROGRAM,
    .see = "gatehouse-workspacehost(8)",
    .command = WORKSPACEHOST_COMMAND,
    .closes_descriptors = true,
    .run = run,
};

int main(int argc, char **argv)
{
    companion_follow_parent();
    signal(SIGPIPE, SIG_IGN);
    return runner_main(&runner, argc, argv);
}
