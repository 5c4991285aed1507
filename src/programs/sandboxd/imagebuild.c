/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the steps of an image, one after the other, those that are not there yet. */
#include "programs/sandboxd/images_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/hex.h"
#include "base/printable.h"
#include "base/utf8.h"
#include "isolate/webproxy.h"
#include "programs/sandboxd/contexts.h"
#include "programs/sandboxd/imagenames.h"
#include "programs/sandboxd/preset.h"

enum {
    MOST_STEPS = ROOM_MAX_LAYERS,
    MAX_STEP_BYTES = 64 << 10,
    MAX_ENV_BYTES = 256 << 10,
    LOG_BYTES = 8 << 10, /* the end of a step's output */
    STEP_TIMEOUT_MS = 30 * 60 * 1000,
    BUILD_ARENA_BYTES = 16 << 20,
    NAME_BYTES = 32,
    MOST_SOURCES = 64, /* of a COPY */
    SHOWN_BYTES = 64,
    WRONG_BYTES = 256,
};

/*
 * Unpacks the build context, maybe of several archives one behind the other, and copies from it;
 * the first word is the target. A link in the context leads to nothing outside it.
 */
static const char copy_script[] =
    "set -e\n"
    "at=/tmp/.gatehouse-context\n"
    "trap 'rm -rf \"$at\" \"$at.tar\"' EXIT\n"
    "mkdir -m 700 \"$at\"\n"
    "tar -xif \"$at.tar\" -C \"$at\" --no-same-owner --no-same-permissions\n"
    "to=$1\n"
    "shift\n"
    "IFS=\n" /* patterns are expanded, spaces stay */
    "for from; do shift; set -- \"$@\" $at/$from; done\n"
    "[ $# -eq 1 ] || to=$to/\n"
    "for from; do\n"
    "    if ! from=$(realpath -e -- \"$from\"); then exit 1; fi\n"
    "    case $from/ in\n"
    "    \"$at\"/*) ;;\n"
    "    *) echo \"$from: outside the build context\" >&2; exit 1 ;;\n"
    "    esac\n"
    "    if [ -d \"$from\" ]; then\n"
    "        mkdir -p -- \"$to\"\n"
    "        cp -R -- \"$from/.\" \"$to\"\n"
    "    else\n"
    "        case $to in */) mkdir -p -- \"$to\" ;; *) mkdir -p -- \"$(dirname -- \"$to\")\" ;; "
    "esac\n"
    "        cp -- \"$from\" \"$to\"\n"
    "    fi\n"
    "done\n";

/* IMPORT is no step that anybody can write: images_import() makes it, with the archive's digest. */
enum word { FROM, RUN, ENV, WORKDIR, COPY, IMPORT, WORDS };
static const char *const words[WORDS] = {
    [FROM] = "FROM",       [RUN] = "RUN",   [ENV] = "ENV",
    [WORKDIR] = "WORKDIR", [COPY] = "COPY", [IMPORT] = "IMPORT"};

struct step {
    enum word word;
    struct str rest;
};

struct build {
    struct list node;
    struct images *images;
    struct arena arena;
    struct step *steps;
    size_t count;
    size_t at; /* the step that is under way */
    char owner[SANDBOXSTORE_ID_BYTES];
    char key[SANDBOXSTORE_KEY_BYTES];    /* of the layer that is being built; or empty */
    char parent[SANDBOXSTORE_KEY_BYTES]; /* what is there */
    char room_id[ROOM_ID_BYTES];
    bool is_builder;  /* it builds `key`; others that want the same wait for it */
    bool is_released; /* what it waited for has failed */
    struct room *room;
    struct room_exec *exec;
    struct context *context;       /* for COPY; or NULL */
    int archive;                   /* for IMPORT; or -1 */
    struct str name;               /* that the image gets; or empty */
    struct network_policy network; /* or empty */
    struct webgrant web;           /* of the room, if that has hosts */
    struct buf log;
    struct err failure; /* why the room is being deleted */
    bool is_paused;     /* somebody reads its output too slowly */
    size_t told;        /* steps that its events are about */
    struct images_events events;
};

/* ---- reading steps ---- */

/* "RUN npm ci" */
static bool read_step(struct str text, struct step *out_step)
{
    struct str rest = str_trim(text);
    struct str word = STR_EMPTY;

    for (size_t i = 0; i < rest.len && rest.ptr[i] != ' ' && rest.ptr[i] != '\t'; i++)
        word = str_slice(rest, 0, i + 1);
    rest = str_trim(str_slice(rest, word.len, rest.len));
    for (size_t i = 0; i < IMPORT; i++)
        if (str_eq_nocase(word, str_from(words[i]))) {
            *out_step = (struct step){(enum word)i, rest};
            return rest.len > 0;
        }
    return false;
}

static bool is_preset(const struct step *step)
{
    return step->word == FROM && str_eq(step->rest, STR("builder"));
}

/* "NAME=value", "NAME value"; quotes around the value go. */
static bool read_variable(struct str rest, struct str *out_name, struct str *out_value)
{
    size_t at = 0;

    while (at < rest.len && rest.ptr[at] != '=' && rest.ptr[at] != ' ')
        at++;
    *out_name = str_slice(rest, 0, at);
    *out_value = str_trim(str_slice(rest, at + 1, rest.len));
    if (out_value->len >= 2 && (out_value->ptr[0] == '"' || out_value->ptr[0] == '\'') &&
        out_value->ptr[out_value->len - 1] == out_value->ptr[0])
        *out_value = str_slice(*out_value, 1, out_value->len - 2);
    return at > 0 && at < rest.len;
}

/* The next word of a step; false at the end. */
static bool next_word(struct str *rest, struct str *out_word)
{
    size_t len = 0;

    *rest = str_trim(*rest);
    while (len < rest->len && rest->ptr[len] != ' ' && rest->ptr[len] != '\t')
        len++;
    *out_word = str_slice(*rest, 0, len);
    *rest = str_slice(*rest, len, rest->len);
    return len > 0;
}

/* "from… to": relative paths that stay in the context, and one that is not empty. */
static bool is_copy(struct str rest)
{
    struct str word;
    size_t count = 0;

    while (next_word(&rest, &word)) {
        struct str path = word;
        struct str part;

        if (word.ptr[0] == '-' || ++count > MOST_SOURCES + 1)
            return false;
        if (str_trim(rest).len == 0)
            break; /* the target */
        while (str_cut(&path, '/', &part))
            if (str_eq(part, STR("..")))
                return false;
    }
    return count >= 2;
}

static const char *check_step(struct str text, bool is_first, bool has_context)
{
    struct str name;
    struct str value;
    struct step step;

    if (!read_step(text, &step))
        return "a step is FROM, RUN, ENV, WORKDIR or COPY, and what follows";
    if (step.word == FROM && !is_first)
        return "FROM may only be the first step";
    if (step.word == ENV && !read_variable(step.rest, &name, &value))
        return "ENV needs a name and a value";
    if (step.word == WORKDIR &&
        (step.rest.ptr[0] != '/' || step.rest.len >= SANDBOXSTORE_PATH_BYTES))
        return "WORKDIR needs an absolute path";
    if (step.word == COPY && !has_context)
        return "COPY needs a build context";
    if (step.word == COPY && !is_copy(step.rest))
        return "COPY needs paths in the build context and a target, no options";
    return NULL;
}

const char *images_check_steps(struct arena *arena, const struct json_value *steps,
                               bool has_context)
{
    size_t at = 0;

    if (steps->type == JSON_NULL)
        return NULL;
    if (steps->type != JSON_ARRAY)
        return "dockerfile_steps must be a list of texts";
    if (steps->size > MOST_STEPS)
        return "there are more than 127 steps";
    json_each_item (item, steps) {
        char said[WRONG_BYTES];
        char shown[SHOWN_BYTES + PRINTABLE_CUT_BYTES];
        const char *wrong;

        if (item->type != JSON_STRING || item->size > MAX_STEP_BYTES || str_has_nul(json_str(item)))
            return "dockerfile_steps must be a list of texts, at most 64 KiB each";
        wrong = check_step(json_str(item), at++ == 0, has_context);
        if (wrong == NULL)
            continue;
        (void)printable_cut(json_str(item), PRINTABLE_LINE, shown, SHOWN_BYTES);
        snprintf(said, sizeof(said), "step %zu, '%s': %s", at, shown, wrong);
        wrong = arena_copy(arena, str_from(said));
        return wrong != NULL ? wrong : err_text(arena->error);
    }
    return NULL;
}

/* The lengths come first, so that no part can pass into the next. */
static void make_key(struct build *build, const struct step *step)
{
    const struct str parts[] = {str_from(build->owner), str_from(build->parent),
                                str_from(words[step->word]), step->rest,
                                str_from(step->word == COPY ? build->context->digest : "")};
    /* Other steps have the keys that they had before there were contexts. */
    const size_t count = array_size(parts) - (step->word == COPY ? 0 : 1);
    unsigned char digest[SHA256_BYTES];
    struct sha256 hash;

    sha256_init(&hash);
    for (size_t i = 0; i < count; i++) {
        char length[24];

        snprintf(length, sizeof(length), "%zu:", parts[i].len);
        sha256_add(&hash, str_from(length));
        sha256_add(&hash, parts[i]);
    }
    sha256_end(&hash, digest);
    hex_text(build->key, digest, sizeof(digest));
}

/* ---- who listens ---- */

static void ignore_end(void *data, const struct err *err, struct str log, const char *key)
{
    (void)data;
    (void)err;
    (void)log;
    (void)key;
}

static void tell_output(const struct build *build, enum room_stream stream, struct str bytes)
{
    if (build->events.on_output != NULL && bytes.len > 0)
        build->events.on_output(build->events.data, stream, bytes);
}

/* The name in its FROM if no name of the operator's fits, or an empty text; cut if it is long. */
static void find_missing(const struct build *build, const struct step *step,
                         char out_name[SANDBOXSTORE_MAX_NAME_BYTES + 1])
{
    struct str rest = step->rest;
    struct str name = STR_EMPTY;

    if (step->word == FROM && !is_preset(step) && build->parent[0] == '\0')
        (void)next_word(&rest, &name);
    name = str_slice(name, 0, SANDBOXSTORE_MAX_NAME_BYTES);
    snprintf(out_name, SANDBOXSTORE_MAX_NAME_BYTES + 1, "%.*s", (int)utf8_valid_length(name),
             name.ptr);
}

static void tell_warning(const struct build *build, const struct step *step)
{
    cleanup_buf struct buf text = BUF_INIT(SANDBOXSTORE_PATH_BYTES);
    char missing[SANDBOXSTORE_MAX_NAME_BYTES + 1];

    find_missing(build, step, missing);
    if (missing[0] != '\0' && buf_append_str(&text, STR("warning: ")) == 0 &&
        images_write_warning(&text, missing) == 0 && buf_append_char(&text, '\n') == 0)
        tell_output(build, ROOM_STDERR, buf_view(&text));
}

static void tell_step(struct build *build, bool is_cached)
{
    const struct step *step = &build->steps[build->at];
    cleanup_buf struct buf text = BUF_INIT(MAX_STEP_BYTES + NAME_BYTES);

    if (build->at < build->told)
        return; /* it was waited for, and is there now */
    build->told = build->at + 1;
    if (build->events.on_step == NULL || buf_printf(&text, "%s ", words[step->word]) < 0 ||
        buf_append_str(&text, step->rest) < 0)
        return;
    build->events.on_step(build->events.data, build->at + 1, build->count, buf_view(&text),
                          is_cached);
    tell_warning(build, step);
}

/* Whether both are about the layer that is being built: one builds it, others wait for it. */
static bool is_about(const struct build *build, const char *key)
{
    return key[0] != '\0' && strcmp(build->key, key) == 0;
}

static bool is_somebody_behind(const struct images *images, const char *key)
{
    list_each (node, &images->builds) {
        const struct build *build = list_entry(node, struct build, node);

        if (is_about(build, key) && build->events.is_behind != NULL &&
            build->events.is_behind(build->events.data))
            return true;
    }
    return false;
}

void images_pace(struct images *images)
{
    list_each (node, &images->builds) {
        struct build *build = list_entry(node, struct build, node);
        const bool is_behind = build->exec != NULL && is_somebody_behind(build->images, build->key);

        if (build->exec == NULL || is_behind == build->is_paused)
            continue;
        build->is_paused = is_behind;
        if (is_behind)
            room_exec_pause(build->exec);
        else
            room_exec_resume(build->exec);
    }
}

void images_unwatch(struct images *images, const void *data)
{
    list_each (node, &images->builds) {
        struct build *build = list_entry(node, struct build, node);

        if (build->events.data == data)
            build->events = (struct images_events){.done = ignore_end};
    }
}

/* ---- the end ---- */

static void advance(struct build *build);

/* The next one that waits for a layer of this key or, if that is NULL, is released; or NULL. */
static struct build *find_waiting(const struct images *images, const char *key)
{
    list_each (node, &images->builds) {
        struct build *build = list_entry(node, struct build, node);

        if (key == NULL ? build->is_released : !build->is_builder && is_about(build, key))
            return build;
    }
    return NULL;
}

static void end_build(struct build *build, const struct err *err, struct str log, const char *key)
{
    list_remove(&build->node);
    build->events.done(build->events.data, err, log, key);
    context_unref(build->context);
    if (build->archive >= 0)
        close(build->archive);
    buf_done(&build->log);
    arena_done(&build->arena);
    free(build);
}

/* Whether a step that fails in one of them fails in the other, too. */
static bool is_alike(const struct build *a, const struct build *b)
{
    return network_is_same(&a->network, &b->network);
}

/* Those that waited for the same layer fail with it, or build it with their own network. */
static void fail(struct build *build, const struct err *err)
{
    struct images *images = build->images;
    struct err copy = *err;
    struct build *other;
    char key[SANDBOXSTORE_KEY_BYTES];

    memcpy(key, build->key, sizeof(key));
    list_remove(&build->node);
    while ((other = find_waiting(images, key)) != NULL) {
        other->is_released = !images->service->is_stopping && !is_alike(build, other);
        other->key[0] = '\0';
        if (!other->is_released)
            end_build(other, &copy, buf_view(&build->log), NULL);
    }
    end_build(build, &copy, buf_view(&build->log), NULL);
    while ((other = find_waiting(images, NULL)) != NULL) {
        other->is_released = false;
        tell_output(other, ROOM_STDERR, STR("failed with the network of another request\n"));
        advance(other);
    }
}

static void succeed(struct build *build)
{
    struct layer *layer = images_layer(build->images, build->parent);
    char key[SANDBOXSTORE_KEY_BYTES];
    struct err err = ERR_INIT;
    int r = 0;

    memcpy(key, build->parent, sizeof(key));
    if (layer != NULL) {
        layer->record.is_image = true;
        layer->record.used_s = loop_wall_ms(build->images->service->config.loop) / 1000;
        (void)sandboxstore_save_layer(build->images->service->config.store, &layer->record);
    }
    if (build->name.len > 0)
        r = imagenames_set(build->images, build->name, str_from(key));
    if (r < 0)
        err_set(&err, r, "cannot keep the name of the image: %s", err_text(r));
    end_build(build, r < 0 ? &err : NULL, STR_EMPTY, r < 0 ? NULL : key);
}

/* ---- a layer ---- */

/* All variables so far, with the one of this step. */
static int write_env(const struct build *build, const struct step *step, struct buf *out)
{
    cleanup_arena struct arena arena = ARENA_INIT(BUILD_ARENA_BYTES);
    const struct json_limits limits = {MAX_ENV_BYTES, 4};
    const struct layer *parent = images_layer(build->images, build->parent);
    const struct json_value *env = NULL;
    struct str name = STR_EMPTY;
    struct str value = STR_EMPTY;
    struct json_writer json;
    int r = 0;

    if (parent != NULL)
        r = json_parse(&arena, parent->record.env, limits, &env, NULL);
    if (r < 0)
        return r;
    if (step->word == ENV)
        (void)read_variable(step->rest, &name, &value);
    json_writer_init(&json, out);
    json_begin_object(&json);
    if (env != NULL)
        json_each_member (key, env)
            if (!str_eq(json_str(key), name))
                json_put_str(&json, json_str(key), json_str(key + 1));
    if (name.len > 0)
        json_put_str(&json, name, value);
    json_end_object(&json);
    return json_writer_finish(&json);
}

/* Its files, if it has any, are there; now its record. */
static void finish_layer(struct build *build, bool has_files)
{
    cleanup_buf struct buf env = BUF_INIT(MAX_ENV_BYTES);
    const struct step *step = &build->steps[build->at];
    const struct layer *parent = images_layer(build->images, build->parent);
    struct service *service = build->images->service;
    struct sandboxstore_layer stored = {.has_files = has_files, .is_system = step->word == IMPORT};
    char key[SANDBOXSTORE_KEY_BYTES];
    struct build *other;
    struct err err = ERR_INIT;
    int r = write_env(build, step, &env);

    stored.created_s = loop_wall_ms(service->config.loop) / 1000;
    stored.used_s = stored.created_s;
    stored.env = buf_view(&env);
    memcpy(stored.key, build->key, sizeof(stored.key));
    memcpy(stored.parent, build->parent, sizeof(stored.parent));
    memcpy(stored.owner, build->owner, sizeof(stored.owner));
    if (step->word == FROM)
        find_missing(build, step, stored.missing);
    else if (parent != NULL)
        memcpy(stored.missing, parent->record.missing, sizeof(stored.missing));
    if (step->word == WORKDIR)
        snprintf(stored.workdir, sizeof(stored.workdir), "%.*s", STR_ARG(step->rest));
    else if (parent != NULL)
        memcpy(stored.workdir, parent->record.workdir, sizeof(stored.workdir));
    if (r == 0)
        r = sandboxstore_save_layer(service->config.store, &stored);
    if (r == 0 && images_add_layer(build->images, &stored) == NULL)
        r = ERR_NO_MEMORY;
    if (step->word == FROM && stored.missing[0] != '\0')
        log_write(service->config.log, LOG_WARN,
                  "an image is built on this machine's system, whatever its FROM says",
                  LOG_STR("from", step->rest));
    if (r < 0) {
        err_set(&err, r, "cannot keep step %zu: %s", build->at + 1, err_text(r));
        fail(build, &err);
        return;
    }
    memcpy(key, build->key, sizeof(key));
    memcpy(build->parent, build->key, sizeof(build->parent));
    build->key[0] = '\0';
    build->is_builder = false;
    build->at++;
    /* First the others, because this build may end in the next call. */
    while ((other = find_waiting(build->images, key)) != NULL) {
        other->key[0] = '\0';
        advance(other);
    }
    advance(build);
}

static void on_frozen(void *data, const struct err *err)
{
    struct build *build = data;

    if (err != NULL)
        fail(build, err);
    else
        finish_layer(build, true);
}

static void on_failed_gone(void *data, const struct err *err)
{
    struct build *build = data;

    (void)err; /* what stays is swept at the next start */
    fail(build, &build->failure);
}

/* Removes the half layer, then tells. */
static void abandon(struct build *build)
{
    struct room_keeper *keeper = build->images->service->config.keeper;

    if (keeper == NULL || room_delete(keeper, build->room_id, on_failed_gone, build) < 0)
        fail(build, &build->failure);
}

static void on_stopped(void *data, const struct err *err)
{
    struct build *build = data;
    struct room_keeper *keeper = build->images->service->config.keeper;
    int r;

    if (err != NULL)
        build->failure = *err;
    if (build->failure.code == 0 && keeper == NULL)
        err_set_plain(&build->failure, ERR_SESSION_OVER);
    if (build->failure.code == 0) {
        r = build->steps[build->at].word == IMPORT
                ? room_freeze_system(keeper, build->room_id, build->key, on_frozen, build)
                : room_freeze(keeper, build->room_id, build->key, on_frozen, build);
        if (r == 0)
            return;
        err_set_plain(&build->failure, r);
    }
    abandon(build);
}

static void leave(struct build *build)
{
    room_exec_free(build->exec);
    build->exec = NULL;
    build->is_paused = false;
    if (build->room == NULL || room_stop(build->room, on_stopped, build) < 0)
        abandon(build);
}

static void on_room_end(void *data, const struct err *why)
{
    struct build *build = data;
    const bool is_starting = webgrant_is_awaited(&build->web);

    build->room = NULL;
    webgrant_close(&build->web);
    if (!is_starting)
        return; /* a command that was running fails with it */
    build->failure = (struct err)ERR_INIT;
    if (why != NULL)
        build->failure = *why;
    else
        err_set(&build->failure, ERR_SESSION_OVER, "the sandbox ended while it was started");
    abandon(build);
}

static void on_output(void *data, enum room_stream stream, struct str bytes)
{
    struct build *build = data;

    list_each_safe (node, &build->images->builds)
        if (is_about(list_entry(node, struct build, node), build->key))
            tell_output(list_entry(node, struct build, node), stream, bytes);
    images_pace(build->images);
    if (bytes.len > LOG_BYTES)
        bytes = str_slice(bytes, bytes.len - LOG_BYTES, LOG_BYTES);
    if (build->log.len + bytes.len > LOG_BYTES)
        buf_drop_front(&build->log, build->log.len + bytes.len - LOG_BYTES);
    (void)buf_append_str(&build->log, bytes);
}

static void on_exit_(void *data, const struct room_exit *exit)
{
    struct build *build = data;
    const struct step *step = &build->steps[build->at];

    if (exit->timed_out)
        err_set(&build->failure, ERR_INVALID_ARGUMENT, "step %zu took too long", build->at + 1);
    else if (exit->code != 0)
        err_set(&build->failure, ERR_INVALID_ARGUMENT, "step %zu failed with exit code %d: %s %.*s",
                build->at + 1, exit->code, words[step->word], STR_ARG(utf8_cut(step->rest, 100)));
    leave(build);
}

static void on_exec_fail(void *data, const struct err *err)
{
    struct build *build = data;

    build->failure = *err;
    leave(build);
}

/* NULL without memory. */
static const char *const *copy_words(struct build *build, struct str rest)
{
    const char **argv = arena_alloc_array(&build->arena, MOST_SOURCES + 7, sizeof(*argv));
    size_t count = 0;
    struct str word;

    if (argv == NULL)
        return NULL;
    argv[count++] = "/bin/sh";
    argv[count++] = "-c";
    argv[count++] = copy_script;
    argv[count++] = "COPY";
    argv[count++] = NULL; /* the target: its word comes last */
    while (next_word(&rest, &word)) {
        const char *text = arena_copy(&build->arena, word);

        if (text == NULL)
            return NULL;
        if (str_trim(rest).len == 0)
            argv[4] = text;
        else
            argv[count++] = text;
    }
    argv[count] = NULL;
    return argv;
}

/* What the step runs, as root of the room. */
static int choose_command(struct build *build, struct room_command *command)
{
    const struct step *step = &build->steps[build->at];
    const char *text = arena_copy(&build->arena, step->rest);
    const char **mkdir_words = arena_alloc_array(&build->arena, 7, sizeof(*mkdir_words));
    int r;

    *command = (struct room_command){.timeout_ms = STEP_TIMEOUT_MS, .is_root = true};
    if (text == NULL || mkdir_words == NULL)
        return ERR_NO_MEMORY;
    memcpy(mkdir_words, (const char *[]){"mkdir", "-p", "-m", "0777", "--", text, NULL},
           7 * sizeof(*mkdir_words));
    if (step->word == RUN)
        command->shell = text;
    else
        command->argv = step->word == COPY     ? copy_words(build, step->rest)
                        : step->word == IMPORT ? images_import_words(&build->arena, step->rest)
                                               : mkdir_words;
    if (command->shell == NULL && command->argv == NULL)
        return ERR_NO_MEMORY;
    r = images_apply(build->images, build->parent, &build->arena, command);
    if (r == 0 && command->workdir == NULL)
        command->workdir = "/";
    return r;
}

static void stop_room(struct build *build)
{
    build->exec = NULL;
    if (build->room == NULL || room_stop(build->room, on_stopped, build) < 0)
        abandon(build);
}

static void run_step(struct build *build)
{
    const struct room_exec_events events = {
        .on_output = on_output, .on_exit = on_exit_, .on_fail = on_exec_fail, .data = build};
    struct room_command command;
    int r = choose_command(build, &command);

    if (r < 0)
        err_set_plain(&build->failure, r);
    else
        r = room_exec(build->room, &command, &events, &build->exec, &build->failure);
    if (r < 0)
        stop_room(build);
}

static void on_context_there(void *data, const struct err *err)
{
    struct build *build = data;

    if (err == NULL) {
        run_step(build);
        return;
    }
    build->failure = *err;
    stop_room(build);
}

/* The archive is unpacked in the room: whatever it contains, it reaches nothing else. */
static void bring_context(struct build *build)
{
    const struct context *context = build->context;
    int r =
        build->steps[build->at].word == IMPORT
            ? room_file_write(build->room, IMAGES_ARCHIVE, 0, build->archive, UINT64_MAX,
                              on_context_there, build)
            : room_file_put(build->room, IMAGES_ARCHIVE, ROOM_WRITE_REPLACE,
                            (struct str){context->bytes, context->len}, on_context_there, build);

    if (r < 0) {
        err_set_plain(&build->failure, r);
        stop_room(build);
    }
}

static void on_web(void *data, const struct err *err)
{
    struct build *build = data;

    if (err != NULL) {
        build->failure = *err;
        stop_room(build);
    } else if (build->steps[build->at].word == COPY || build->steps[build->at].word == IMPORT) {
        bring_context(build);
    } else {
        run_step(build);
    }
}

static void on_started(void *data, const struct err *err, struct room *room,
                       const struct room_reached *reached)
{
    struct build *build = data;
    struct err failed = ERR_INIT;
    int r;

    (void)reached;
    if (err != NULL) {
        build->failure = *err;
        abandon(build);
        return;
    }
    build->room = room;
    if (build->network.hosts.count == 0) {
        on_web(build, NULL);
        return;
    }
    r = webgrant_open(&build->web, build->images->service->config.web, room, &build->network.hosts,
                      build->owner, on_web, build);
    if (r < 0) {
        err_set_plain(&failed, r);
        on_web(build, &failed);
    }
}

static void on_refused(void *data, const struct room_refusal *refusal)
{
    const struct build *build = data;

    service_note_refusal(build->images->service, "image", build->key, refusal);
}

static void start_room(struct build *build)
{
    struct service *service = build->images->service;
    const char *layers[ROOM_MAX_LAYERS];
    struct room_plan plan = {
        .id = build->room_id,
        .layers = layers,
        .network = build->network.addresses.count > 0 ? ROOM_NETWORK_LISTED
                   : build->network.hosts.count > 0   ? ROOM_NETWORK_NONE
                                                      : service->config.build_network,
        .addresses = &build->network.addresses,
        .variables = build->network.hosts.count > 0 ? webproxy_variables : NULL,
        .is_build = true,
        .on_refused = on_refused,
        .on_end = on_room_end,
        .data = build};
    struct err err = ERR_INIT;
    int r = images_layers(build->images, build->parent, layers, &plan.layer_count, &err);
    char name[NAME_BYTES + 1];

    snprintf(name, sizeof(name), "%.*s", NAME_BYTES, build->key);
    snprintf(build->room_id, sizeof(build->room_id), "build-%s", name);
    build->is_builder = true;
    build->failure = (struct err)ERR_INIT;
    buf_clear(&build->log);
    if (r == 0 && service->config.keeper == NULL)
        r = err_set_plain(&err, ERR_BUSY);
    if (r == 0)
        r = room_start(service->config.keeper, &plan, on_started, build, &err);
    if (r < 0)
        fail(build, &err);
}

/* ---- one step after the other ---- */

/* Who builds the layer that this one needs; or NULL. */
static const struct build *find_builder(const struct build *build)
{
    list_each (node, &build->images->builds) {
        const struct build *other = list_entry(node, struct build, node);

        if (other->is_builder && is_about(other, build->key))
            return other;
    }
    return NULL;
}

/* Builds on the image that the operator's table has for the name. */
static void resolve_from(struct build *build, const struct step *step)
{
    struct str rest = step->rest;
    struct str name;
    const char *key = step->word == FROM && !is_preset(step) && next_word(&rest, &name)
                          ? imagenames_find(build->images, name)
                          : NULL;

    if (key != NULL)
        snprintf(build->parent, sizeof(build->parent), "%s", key);
}

static void advance(struct build *build)
{
    while (build->at < build->count) {
        const struct step *step = &build->steps[build->at];
        const struct build *builder;
        bool is_there;

        resolve_from(build, step);
        make_key(build, step);
        is_there = images_layer(build->images, build->key) != NULL;
        tell_step(build, is_there);
        if (is_there) {
            memcpy(build->parent, build->key, sizeof(build->parent));
            build->key[0] = '\0';
            build->at++;
            continue;
        }
        builder = find_builder(build);
        if (builder != NULL) {
            tell_output(build, ROOM_STDOUT, buf_view(&builder->log));
            return; /* finish_layer() of that one goes on */
        }
        if (step->word != FROM && step->word != ENV) {
            start_room(build);
        } else {
            build->is_builder = true;
            finish_layer(build, false);
        }
        return;
    }
    succeed(build);
}

/* With those of a preset. False without memory. */
static bool read_steps(struct build *build, const struct json_value *steps)
{
    build->steps =
        arena_alloc_array(&build->arena, steps->size + PRESET_BUILDER_STEPS, sizeof(*build->steps));
    if (build->steps == NULL)
        return false;
    json_each_item (item, steps) {
        struct step *step = &build->steps[build->count++];
        struct str text;

        if (!arena_copy_str(&build->arena, json_str(item), &text) || !read_step(text, step))
            return false;
        for (size_t i = 0; is_preset(step) && i < PRESET_BUILDER_STEPS; i++)
            (void)read_step(preset_builder[i], &build->steps[build->count++]);
    }
    return true;
}

/* NULL without memory, which `done` was told. */
static struct build *new_build(struct images *images, const struct images_events *events)
{
    struct build *build = calloc(1, sizeof(*build));
    struct err err = ERR_INIT;

    if (build == NULL) {
        err_set_plain(&err, ERR_NO_MEMORY);
        events->done(events->data, &err, STR_EMPTY, NULL);
        return NULL;
    }
    *build = (struct build){.images = images, .archive = -1, .events = *events};
    buf_init(&build->log, LOG_BYTES);
    arena_init(&build->arena, BUILD_ARENA_BYTES);
    list_init(&build->node);
    list_append(&images->builds, &build->node);
    return build;
}

static void begin(struct build *build, bool has_steps)
{
    struct err err = ERR_INIT;

    err_set_plain(&err, ERR_NO_MEMORY);
    if (has_steps)
        advance(build);
    else
        fail(build, &err);
}

void images_build(struct images *images, const struct images_request *request,
                  const struct images_events *events)
{
    struct build *build = new_build(images, events);

    if (build == NULL) {
        context_unref(request->context);
        return;
    }
    build->context = request->context;
    if (request->network != NULL)
        build->network = *request->network;
    snprintf(build->owner, sizeof(build->owner), "%s", request->owner);
    begin(build, read_steps(build, request->steps));
}

void images_import(struct images *images, const struct images_archive *archive,
                   const struct images_events *events)
{
    struct build *build = new_build(images, events);
    struct str digest;

    if (build == NULL) {
        close(archive->fd);
        return;
    }
    build->archive = archive->fd;
    build->steps = arena_alloc_array(&build->arena, 1, sizeof(*build->steps));
    build->count = 1;
    if (build->steps == NULL ||
        !arena_copy_str(&build->arena, str_from(archive->digest), &digest) ||
        !arena_copy_str(&build->arena, archive->name, &build->name)) {
        begin(build, false);
        return;
    }
    build->steps[0] = (struct step){IMPORT, digest};
    begin(build, true);
}

bool images_is_building_on(const struct images *images, const char *key)
{
    list_each (node, &images->builds)
        if (strcmp(list_entry(node, struct build, node)->parent, key) == 0)
            return true;
    return false;
}

void images_free_builds(struct images *images)
{
    while (!list_is_empty(&images->builds)) {
        struct build *build = list_entry(images->builds.next, struct build, node);
        struct err err = ERR_INIT;

        build->exec = NULL;
        build->room = NULL;
        webgrant_close(&build->web);
        build->is_builder = true;
        err_set(&err, ERR_BUSY, "the service is stopping");
        fail(build, &err);
    }
}
