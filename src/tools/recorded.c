/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/recorded.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tools/tool.h"

enum { AUDIT_BYTES = 16 << 20 };

int recorded_default_state(char out_path[PATH_MAX], struct err *err)
{
    const char *state = getenv("XDG_STATE_HOME");
    const char *home = getenv("HOME");
    int len = -1;

    /* The specification of these variables: a relative path counts as none. */
    if (state != NULL && state[0] == '/')
        len = snprintf(out_path, PATH_MAX, "%s/gatehouse", state);
    else if (home != NULL && home[0] == '/')
        len = snprintf(out_path, PATH_MAX, "%s/.local/state/gatehouse", home);
    if (len < 0 || len >= PATH_MAX)
        return err_set(err, ERR_INVALID_ARGUMENT,
                       "HOME says nothing useful, so there is no place to keep the record: use "
                       "--state-dir");
    return 0;
}

int recorded_absolute(const char *name, char out_path[PATH_MAX], struct err *err)
{
    char directory[PATH_MAX] = "";

    if (name[0] != '/' && getcwd(directory, sizeof(directory)) == NULL)
        return err_set(err, ERR_NOT_FOUND, "the current directory is gone");
    if (snprintf(out_path, PATH_MAX, "%s%s%s", directory, name[0] != '/' ? "/" : "", name) >=
        PATH_MAX)
        return err_set(err, ERR_INVALID_PATH, "the name of the folder is too long");
    return 0;
}

static int open_record(struct recorded *recorded, struct err *err)
{
    struct audit_config config = {
        .name = "audit.jsonl", .max_bytes = AUDIT_BYTES, .gathers_reads = true};
    int r = audit_dir_open(recorded->state_path, &recorded->audit_dir_fd, err);

    if (r < 0)
        return r;
    config.dir_fd = recorded->audit_dir_fd;
    r = audit_file_open(&config, &recorded->audit, err);
    if (r == 0)
        r = authority_add_listener(recorded->authority, audit_file_record, recorded->audit);
    return r;
}

/* Other sessions keep their record there, wherever this one keeps its own. */
static int protect_default_state(struct authority *authority, struct err *err)
{
    char path[PATH_MAX];
    int r;

    if (recorded_default_state(path, NULL) < 0)
        return 0; /* there is none */
    r = authority_protect(authority, path, err);
    /* What is not there or cannot be looked at is out of reach for the tools as well. */
    return r == ERR_NOT_FOUND || r == ERR_NOT_A_DIRECTORY || r == ERR_PERMISSION_DENIED ? 0 : r;
}

/* Whoever sees this chose the directory, or can. */
static int refuse_state(const struct recorded *recorded, int code, const struct err *why,
                        struct err *err)
{
    char shown[TOOL_SHOWN_BYTES];
    char words[ERR_MESSAGE_BYTES];

    snprintf(words, sizeof(words), "%s", why->code != 0 ? why->message : err_text(code));
    tool_show(str_from(recorded->state_path), shown);
    return err_set(err, code, "'%s': %s; --state-dir names another", shown, words);
}

static int open_state(struct recorded *recorded, const struct recorded_config *given,
                      struct err *err)
{
    const struct authority_config config = {
        .backend = AUTHORITY_LINUX,
        .state_dir = given->only_reads ? NULL : recorded->state_path,
    };
    struct err why = ERR_INIT;
    int r = authority_new(&config, &recorded->authority, &why);

    if (r < 0)
        return refuse_state(recorded, r, &why, err);
    r = protect_default_state(recorded->authority, err);
    if (r < 0)
        return r;
    if (!given->is_recorded_elsewhere)
        r = open_record(recorded, &why);
    /* An authority protects by itself what it was given. */
    if (r == 0 && given->only_reads)
        r = authority_protect(recorded->authority, recorded->state_path, &why);
    return r < 0 ? refuse_state(recorded, r, &why, err) : 0;
}

int recorded_open(const struct recorded_config *config, struct recorded *recorded, struct err *err)
{
    int r;

    *recorded = (struct recorded){.audit_dir_fd = -1};
    r = config->state_dir != NULL ? recorded_absolute(config->state_dir, recorded->state_path, err)
                                  : recorded_default_state(recorded->state_path, err);
    return r == 0 ? open_state(recorded, config, err) : r;
}

const char *recorded_flush(struct recorded *recorded)
{
    bool was_failing = recorded->is_failing;

    audit_file_flush(recorded->audit);
    recorded->is_failing = audit_file_untold(recorded->audit) > 0;
    if (recorded->is_failing == was_failing)
        return NULL;
    return was_failing ? "the record is written again, and tells how much it misses"
                       : "the record cannot be written: changes are refused, and what is read "
                         "goes unrecorded";
}

void recorded_close(struct recorded *recorded)
{
    authority_free(recorded->authority);
    audit_file_close(recorded->audit);
    if (recorded->audit_dir_fd >= 0)
        close(recorded->audit_dir_fd);
    *recorded = (struct recorded){.audit_dir_fd = -1};
}
