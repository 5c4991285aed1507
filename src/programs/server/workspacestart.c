/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/server/workspacestart.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/serve.h"
#include "session/state.h"
#include "workspace/firstfiles.h"
#include "workspace/revival.h"
#include "workspace/wire.h"

/* What each new workspace begins with. */
struct beginning {
    const char *state_dir;
    struct str setup; /* steps, or empty */
    struct str files; /* as the wire has them */
};

/* `name` may be NULL: as the environment says. */
static int start(const char *name, const struct beginning *beginning,
                 struct workspace_client *clients[WORKSPACE_PROVIDERS], struct err *err)
{
    struct workspace_settings settings;
    const struct workspace_client_config config = {.libexec = GATEHOUSE_LIBEXECDIR,
                                                   .state_dir = beginning->state_dir,
                                                   .error_fd = STDERR_FILENO,
                                                   .settings = &settings,
                                                   .setup = beginning->setup,
                                                   .files = beginning->files};
    int r = workspace_settings_read(&settings, name, err);

    if (r < 0)
        return r;
    if (settings.is_enabled && clients[settings.provider] == NULL)
        r = workspace_client_start(&config, &clients[settings.provider], err);
    workspace_settings_done(&settings);
    return r;
}

/* In the starter. */
static int start_again(void *data, enum workspace_provider provider,
                       struct workspace_client **out_client, struct err *err)
{
    struct workspace_client *clients[WORKSPACE_PROVIDERS] = {NULL};
    int r = start(workspace_provider_name(provider), data, clients, err);

    *out_client = clients[provider];
    return r;
}

/* ---- first files ---- */

/* Those with secrets stay out: agents are no users of this machine. */
static int read_files(const struct option_values *values, const char *state_dir, struct log *log,
                      struct buf *out, struct err *err)
{
    const struct session_state_config config = {
        .state_dir = state_dir,
        .only_reads = true,
        .audit_sync = (enum audit_sync)options_choice(values, SERVE_OPTION_AUDIT_SYNC),
        .backend = AUTHORITY_LINUX};
    char path[PATH_MAX];
    const struct firstfiles_folder folder = {
        .path = path, .given = options_text(values, SERVE_OPTION_WORKSPACE_FILES)};
    struct session_state state = SESSION_STATE_INIT;
    size_t left_out = 0;
    int r;

    if (folder.given == NULL)
        return 0;
    r = session_state_absolute_path(folder.given, path, err);
    if (r == 0)
        r = session_state_open(&config, &state, err);
    if (r == 0)
        r = firstfiles_read(state.authority, &folder, out, &left_out, err);
    session_state_close(&state);
    if (left_out > 0)
        log_write(log, LOG_WARN, "files that may hold secrets stay out of workspaces",
                  LOG_INT("count", (int64_t)left_out));
    return r;
}

/* Variables may be for another program; what the server was told itself is not ignored. */
static int refuse_idle(const struct option_values *values, struct err *err)
{
    static const size_t idle[] = {SERVE_OPTION_WORKSPACE_SETUP, SERVE_OPTION_WORKSPACE_FILES};

    for (size_t i = 0; i < array_size(idle); i++)
        if (options_source(values, idle[i]) == OPTION_FLAG ||
            options_source(values, idle[i]) == OPTION_FILE)
            return err_set(err, ERR_INVALID_OPTION, "--%s is for --workspace",
                           serve_options[idle[i]].name);
    return 0;
}

/* ---- all ---- */

static int is_offered(const struct option_list *names, bool *out_is_offered, struct err *err)
{
    struct workspace_settings settings;
    int r;

    *out_is_offered = true;
    if (names->count > 0)
        return 0;
    r = workspace_settings_read(&settings, NULL, err);
    if (r < 0)
        return r;
    *out_is_offered = settings.is_enabled;
    workspace_settings_done(&settings);
    return 0;
}

static int start_all(const struct option_list *names, struct beginning *beginning,
                     struct workspace_offer *offer, struct err *err)
{
    int r = names->count == 0 ? start(NULL, beginning, offer->clients, err) : 0;

    for (size_t i = 0; i < names->count && r == 0; i++)
        r = start(names->items[i], beginning, offer->clients, err);
    return r == 0 ? workspace_revival_fork(start_again, beginning, &offer->starter_fd, err) : r;
}

int workspacestart_open(const struct option_values *values, const char *state_path, struct log *log,
                        struct workspace_offer *out_offer, struct err *err)
{
    cleanup_buf struct buf files = BUF_INIT(WORKSPACE_WIRE_BYTES);
    const struct option_list names = options_list(values, SERVE_OPTION_WORKSPACE);
    const char *setup = options_text(values, SERVE_OPTION_WORKSPACE_SETUP);
    char state_dir[PATH_MAX];
    struct beginning beginning = {.state_dir = state_dir,
                                  .setup = setup != NULL ? str_from(setup) : STR_EMPTY};
    bool is_wanted;
    int r;

    *out_offer = (struct workspace_offer){
        .idle_ms = options_int(values, SERVE_OPTION_WORKSPACE_IDLE), .starter_fd = -1};
    /* The user's, which has the sandbox service's state beside the server's. */
    snprintf(state_dir, sizeof(state_dir), "%s", state_path);
    *strrchr(state_dir, '/') = '\0';
    r = is_offered(&names, &is_wanted, err);
    if (r < 0 || !is_wanted)
        return r < 0 ? r : refuse_idle(values, err);
    r = read_files(values, state_dir, log, &files, err);
    beginning.files = buf_view(&files);
    return r == 0 ? start_all(&names, &beginning, out_offer, err) : r;
}

bool workspacestart_has_any(const struct workspace_offer *offer)
{
    for (size_t i = 0; i < WORKSPACE_PROVIDERS; i++)
        if (offer->clients[i] != NULL)
            return true;
    return false;
}

void workspacestart_close(struct workspace_offer *offer)
{
    if (workspacestart_has_any(offer) && offer->starter_fd >= 0)
        close(offer->starter_fd);
    for (size_t i = 0; i < WORKSPACE_PROVIDERS; i++)
        workspace_client_free(offer->clients[i]);
    *offer = (struct workspace_offer){.starter_fd = -1};
}
