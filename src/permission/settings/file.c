/* SPDX-License-Identifier: Apache-2.0 */
#include "permission/settings/file.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "permission/settings/dir.h"

enum {
    FILE_MODE = 0600,
    MAX_SET_ASIDE_TRIES = 100,
    MAX_DIRECTORY_ENTRIES = 10000,
};

static const char default_dir[] = ".n8n-gateway";
static const char lock_name[] = SETTINGS_FILE_NAME ".lock";
static const char aside_prefix[] = SETTINGS_FILE_NAME ".malformed-";

struct settings_file {
    struct authority_scope *scope;
    struct authority_watch *watch;
    int ticker_fd; /* in place of the watch; or -1 */
    int dir_fd;
    bool may_create;
    bool only_reads;
    int64_t wait_ms;
    /* What was last loaded. */
    struct authority_stat seen;
    bool has_seen;
    size_t seen_aside;
    char dir[PATH_MAX];
    char path[PATH_MAX];
    char note[SETTINGSDIR_NOTE_BYTES];
};

/* ---- opening ---- */

static int find_dir(const struct settings_file_config *config, char out_path[PATH_MAX],
                    struct err *err)
{
    const char *home = getenv("HOME");
    int len;

    if (config->dir != NULL && config->dir[0] != '/')
        return err_set(err, ERR_INVALID_ARGUMENT,
                       "the settings directory must be an absolute path");
    if (config->dir == NULL && (home == NULL || home[0] != '/'))
        return err_set(err, ERR_INVALID_ARGUMENT,
                       "HOME is not an absolute path, so there is no directory for the settings: "
                       "use --settings-dir");
    len = config->dir != NULL ? snprintf(out_path, PATH_MAX, "%s", config->dir)
                              : snprintf(out_path, PATH_MAX, "%s/%s", home, default_dir);
    return len < PATH_MAX ? 0 : err_set_plain(err, ERR_INVALID_PATH);
}

int settings_file_default_dir(char out_path[PATH_MAX], struct err *err)
{
    return find_dir(&(struct settings_file_config){.dir = NULL}, out_path, err);
}

static int open_scope(struct settings_file *file, struct authority *authority, struct err *err)
{
    const struct authority_request request = {
        .subject = {.type = AUTHORITY_CORE, .id = "settings"},
        .root = {.kind = AUTHORITY_WORKSPACE, .id = "settings", .path = file->dir},
        .access = AUTHORITY_READ | AUTHORITY_LIST | AUTHORITY_METADATA | AUTHORITY_WATCH |
                  (file->only_reads ? 0U : AUTHORITY_WRITE | AUTHORITY_MOVE),
        .reason = "the user's settings",
        .source = AUTHORITY_FROM_CORE,
        .limits = {.symlinks = AUTHORITY_SYMLINKS_REJECT},
    };
    struct authority_stat about = {.inode = 0};
    struct stat ours;
    int r = authority_request_root(authority, &request, &file->scope, err);

    if (r == 0)
        r = authority_stat(file->scope, STR_EMPTY, &about, err);
    if (r < 0)
        return r;
    /* The name leads to the directory that was looked at. */
    if (fstat(file->dir_fd, &ours) < 0 || about.inode != ours.st_ino || about.device != ours.st_dev)
        return err_set(err, ERR_BUSY, "%s was replaced in the meantime; try again", file->dir);
    r = authority_scope_path(file->scope, file->dir);
    if (r < 0)
        return err_set_plain(err, r);
    if (snprintf(file->path, sizeof(file->path), "%s/%s", file->dir, SETTINGS_FILE_NAME) >=
        (int)sizeof(file->path))
        return err_set_plain(err, ERR_INVALID_PATH);
    return 0;
}

int settings_file_open(const struct settings_file_config *config, struct settings_file **out_file,
                       struct err *err)
{
    struct settings_file *file = calloc(1, sizeof(*file));
    struct settingsdir_request request = {
        .name = SETTINGS_FILE_NAME,
        .is_default = config->dir == NULL,
        .may_make = config->may_create && !config->only_reads,
    };
    int r;

    if (file == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    file->dir_fd = file->ticker_fd = -1;
    file->may_create = request.may_make;
    file->only_reads = config->only_reads;
    file->wait_ms = config->wait_ms > 0 ? config->wait_ms : SETTINGS_FILE_WAIT_MS;
    r = find_dir(config, file->dir, err);
    request.path = file->dir;
    if (r == 0)
        r = settingsdir_open(&request, &file->dir_fd, file->note, err);
    if (r == 0)
        r = open_scope(file, config->authority, err);
    if (r < 0) {
        settings_file_free(file);
        return r;
    }
    *out_file = file;
    return 0;
}

void settings_file_free(struct settings_file *file)
{
    if (file == NULL)
        return;
    authority_watch_free(file->watch);
    if (file->ticker_fd >= 0)
        close(file->ticker_fd);
    authority_scope_free(file->scope);
    if (file->dir_fd >= 0)
        close(file->dir_fd);
    free(file);
}

/* ---- what lies aside ---- */

struct aside {
    size_t count;
    char newest[SETTINGS_FILE_NAME_BYTES];
};

static int look_at_entry(void *data, const struct authority_entry *entry)
{
    struct aside *aside = data;

    if (!str_starts_with(entry->name, str_from(aside_prefix)))
        return 0;
    aside->count++;
    /* The time is in the name, so the last in order is the newest. */
    if (entry->name.len < sizeof(aside->newest) &&
        str_compare(entry->name, str_from(aside->newest)) > 0) {
        memcpy(aside->newest, entry->name.ptr, entry->name.len);
        aside->newest[entry->name.len] = '\0';
    }
    return 0;
}

static int find_aside(struct settings_file *file, struct aside *out_aside, struct err *err)
{
    const struct authority_list_options options = {.max_entries = MAX_DIRECTORY_ENTRIES};

    *out_aside = (struct aside){.count = 0};
    return authority_list(file->scope, STR_EMPTY, &options, look_at_entry, out_aside, err);
}

int settings_file_look_aside(struct settings_file *file, struct settings_findings *out_findings,
                             struct err *err)
{
    struct aside aside;
    int r = find_aside(file, &aside, err);

    if (r < 0)
        return r;
    *out_findings = (struct settings_findings){.is_set_aside = aside.count > 0};
    memcpy(out_findings->set_aside, aside.newest, sizeof(out_findings->set_aside));
    return 0;
}

/* ---- reading ---- */

static int take_piece(void *data, struct str piece)
{
    return buf_append_str(data, piece);
}

/* Reads the text into the arena; ERR_SETTINGS if it is too large for settings. */
static int read_text(const struct settings_file *file, struct arena *arena, struct str *out_text,
                     struct authority_stat *out_stat, char out_note[SETTINGSDIR_NOTE_BYTES],
                     struct err *err)
{
    cleanup_buf struct buf text = BUF_INIT(SETTINGS_MAX_BYTES);
    int r = settingsdir_check_file(file->dir_fd, SETTINGS_FILE_NAME, out_note, err);

    if (r == 0)
        r = authority_read_pieces(file->scope, STR(SETTINGS_FILE_NAME), NULL, out_stat, take_piece,
                                  &text, err);
    if (r == ERR_TOO_LARGE)
        return err_set(err, ERR_SETTINGS, "larger than %d MiB", SETTINGS_MAX_BYTES >> 20);
    if (r < 0)
        return r;
    return arena_copy_str(arena, buf_view(&text), out_text) ? 0 : err_set_plain(err, arena->error);
}

/* Reads the file without changing anything. */
static int read_settings(const struct settings_file *file, struct arena *arena,
                         struct settings *out_settings, struct authority_stat *out_stat,
                         char out_note[SETTINGSDIR_NOTE_BYTES], struct err *err)
{
    struct str text;
    int r = read_text(file, arena, &text, out_stat, out_note, err);

    return r == 0 ? settings_parse(arena, text, out_settings, err) : r;
}

/* Puts the file's name before the message, since that is where the user has to look. */
static int name_file(const struct settings_file *file, int code, const struct err *why,
                     struct err *err)
{
    if (code != ERR_SETTINGS)
        return err_set(err, code, "%s", why->message);
    return err_set_field(err, code, why->field, "%s is malformed: %s", file->path, why->message);
}

int settings_file_reload(struct settings_file *file, struct arena *arena,
                         struct settings *out_settings, struct settings_findings *out_findings,
                         struct err *err)
{
    struct settings_findings findings = {.is_set_aside = false};
    struct authority_stat about = {.inode = 0};
    struct settings settings;
    struct aside aside;
    struct err why = ERR_INIT;
    int r = read_settings(file, arena, &settings, &about, file->note, &why);

    /* Even a malformed one is looked at once. */
    file->has_seen = about.inode != 0;
    file->seen = about;
    /* Looked for last, so that one renamed meanwhile is seen. */
    if (find_aside(file, &aside, r == 0 ? &why : NULL) == 0)
        file->seen_aside = aside.count;
    else if (r == 0)
        r = why.code;
    if (r < 0)
        return name_file(file, r, &why, err);
    if (aside.count > 0) {
        findings.is_set_aside = true;
        memcpy(findings.set_aside, aside.newest, sizeof(findings.set_aside));
        permission_modes_cap_ask(&settings.modes);
    }
    *out_settings = settings;
    *out_findings = findings;
    return 0;
}

/* ---- making the file, and putting it aside ---- */

static int write_file(struct settings_file *file, struct str text, enum authority_create create,
                      struct err *err)
{
    const struct authority_write_options options = {.create = create, .mode = FILE_MODE};
    struct err why = ERR_INIT;
    int r = authority_write_bytes(file->scope, STR(SETTINGS_FILE_NAME), text, &options, &why);

    if (r < 0)
        return err_set(err, r, "cannot write %s, so it is unchanged: %s", file->path, why.message);
    return 0;
}

/* The lock is held. */
static int make_file(struct settings_file *file, struct err *err)
{
    cleanup_buf struct buf text = BUF_INIT(SETTINGS_MAX_BYTES);
    int r = settings_write_template(&text);

    if (r < 0)
        return err_set_plain(err, r);
    return write_file(file, buf_view(&text), AUTHORITY_CREATE_NEW, err);
}

/* The lock is held. An existing file of that name is never replaced. */
static int put_aside(struct settings_file *file, char out_name[SETTINGS_FILE_NAME_BYTES],
                     struct err *err)
{
    const struct authority_move_options options = {.may_replace = false};
    time_t now = (time_t)(clock_wall_ms(&clock_system) / 1000);
    char stamp[32] = "";
    struct tm utc;
    int r = ERR_ALREADY_EXISTS;

    if (gmtime_r(&now, &utc) != NULL)
        (void)strftime(stamp, sizeof(stamp), "%Y%m%dT%H%M%SZ", &utc);
    for (int i = 0; r == ERR_ALREADY_EXISTS && i < MAX_SET_ASIDE_TRIES; i++) {
        if (i == 0)
            snprintf(out_name, SETTINGS_FILE_NAME_BYTES, "%s%s", aside_prefix, stamp);
        else
            snprintf(out_name, SETTINGS_FILE_NAME_BYTES, "%s%s-%02d", aside_prefix, stamp, i);
        r = authority_move(file->scope, STR(SETTINGS_FILE_NAME), str_from(out_name), &options, err);
    }
    return r;
}

static int lock(struct settings_file *file, int *out_fd, struct err *err)
{
    return settingsdir_lock(file->dir_fd, lock_name, file->wait_ms, out_fd, err);
}

/* Another process may have created or repaired it before we got the lock. */
static int mend(struct settings_file *file, struct arena *arena,
                struct settings_findings *out_findings, struct err *err)
{
    cleanup_fd int lock_fd = -1;
    struct authority_stat about;
    struct settings settings;
    struct err why = ERR_INIT;
    int r = lock(file, &lock_fd, err);

    if (r < 0)
        return r;
    r = read_settings(file, arena, &settings, &about, file->note, &why);
    if (r == ERR_SETTINGS) {
        r = put_aside(file, out_findings->set_aside, err);
        if (r < 0)
            return r;
        snprintf(out_findings->why, sizeof(out_findings->why), "%s", why.message);
        r = ERR_NOT_FOUND;
    }
    if (r == ERR_NOT_FOUND) {
        r = make_file(file, err);
        out_findings->is_created = r == 0;
        return r;
    }
    return r < 0 ? name_file(file, r, &why, err) : 0;
}

int settings_file_load(struct settings_file *file, struct arena *arena,
                       struct settings *out_settings, struct settings_findings *out_findings,
                       struct err *err)
{
    struct settings_findings mended = {.is_set_aside = false};
    int r = settings_file_reload(file, arena, out_settings, out_findings, err);

    if ((r != ERR_NOT_FOUND && r != ERR_SETTINGS) || !file->may_create)
        return r;
    r = mend(file, arena, &mended, err);
    if (r == 0)
        r = settings_file_reload(file, arena, out_settings, out_findings, err);
    if (r < 0)
        return r;
    out_findings->is_created = mended.is_created;
    memcpy(out_findings->why, mended.why, sizeof(mended.why));
    if (mended.why[0] != '\0')
        memcpy(out_findings->set_aside, mended.set_aside, sizeof(mended.set_aside));
    return 0;
}

/* ---- changing rules ---- */

typedef int change_fn(struct arena *arena, struct settings *settings, const void *data,
                      struct err *err);

static int change(struct settings_file *file, change_fn *apply, const void *data, struct err *err)
{
    cleanup_arena struct arena arena = ARENA_INIT(SETTINGS_ARENA_BYTES);
    cleanup_buf struct buf text = BUF_INIT(SETTINGS_MAX_BYTES);
    cleanup_fd int lock_fd = -1;
    char note[SETTINGSDIR_NOTE_BYTES]; /* the file's own may be read and written meanwhile */
    struct authority_stat about;
    struct settings settings;
    struct err why = ERR_INIT;
    int r;

    if (file->only_reads)
        return err_set_plain(err, ERR_ACCESS_MISSING);
    r = lock(file, &lock_fd, err);
    if (r < 0)
        return r;
    r = read_settings(file, &arena, &settings, &about, note, &why);
    if (r == ERR_NOT_FOUND && file->may_create) {
        r = make_file(file, &why);
        if (r == 0)
            r = read_settings(file, &arena, &settings, &about, note, &why);
    }
    if (r < 0)
        return name_file(file, r, &why, err);
    r = apply(&arena, &settings, data, err);
    if (r < 0)
        return r;
    r = settings_write(&settings, &text);
    if (r < 0)
        return err_set(err, r, "%s would become too large, so it is unchanged", file->path);
    return write_file(file, buf_view(&text), AUTHORITY_REPLACE_OLD, err);
}

static int apply_add(struct arena *arena, struct settings *settings, const void *data,
                     struct err *err)
{
    return settings_add(arena, settings, data, err);
}

int settings_file_add_rule(struct settings_file *file, const struct rule *rule, struct err *err)
{
    return change(file, apply_add, rule, err);
}

static int apply_revoke(struct arena *arena, struct settings *settings, const void *data,
                        struct err *err)
{
    const struct str *id = data;
    size_t index;
    int r = settings_find(settings, *id, &index, err);

    return r == 0 ? settings_revoke(arena, settings, index, err) : r;
}

int settings_file_revoke(struct settings_file *file, struct str id, struct err *err)
{
    return change(file, apply_revoke, &id, err);
}

/* ---- watching ---- */

/* Other programs can have all inotify instances or watches of the user; then a clock ticks. */
int settings_file_watch(struct settings_file *file, int *out_fd, bool *out_is_timed,
                        struct err *err)
{
    int r;

    if (file->watch != NULL || file->ticker_fd >= 0)
        return err_set(err, ERR_ALREADY_EXISTS, "the settings are already being watched");
    r = authority_watch(file->scope, STR_EMPTY, &file->watch, out_fd, err);
    *out_is_timed = r < 0;
    if (r == 0)
        return 0;
    file->ticker_fd = clock_ticker(SETTINGS_FILE_LOOK_MS);
    if (file->ticker_fd < 0)
        return r;
    *out_fd = file->ticker_fd;
    return 0;
}

bool settings_file_changed(struct settings_file *file)
{
    struct authority_stat now;
    struct aside aside;
    uint64_t ticks;
    bool is_there;

    if (file->watch != NULL)
        (void)authority_watch_read(file->watch, NULL, NULL);
    if (file->ticker_fd >= 0)
        (void)!read(file->ticker_fd, &ticks, sizeof(ticks));
    is_there = authority_stat(file->scope, STR(SETTINGS_FILE_NAME), &now, NULL) == 0;
    if (is_there != file->has_seen)
        return true;
    if (find_aside(file, &aside, NULL) < 0 || aside.count != file->seen_aside)
        return true;
    return is_there &&
           (now.inode != file->seen.inode || now.size != file->seen.size ||
            now.modified_ms != file->seen.modified_ms || now.modified_ns != file->seen.modified_ns);
}

/* ---- words ---- */

const char *settings_file_dir(const struct settings_file *file)
{
    return file->dir;
}

const char *settings_file_note(const struct settings_file *file)
{
    return file->note;
}
