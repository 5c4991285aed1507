/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/sandboxd/imageimport.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/hex.h"
#include "programs/sandboxd/files.h"
#include "programs/sandboxd/imagenames.h"

const char *const *images_import_words(struct arena *arena, struct str digest)
{
    enum { WORDS = 8 };
    const char **argv = arena_alloc_array(arena, WORDS, sizeof(*argv));
    const char *script = arena_copy(arena, imageimport_script);
    const char *text = arena_copy(arena, digest);

    if (argv == NULL || script == NULL || text == NULL)
        return NULL;
    memcpy(argv,
           (const char *[WORDS]){"/bin/sh", "-c", script, "IMPORT", text, IMAGES_ARCHIVE,
                                 ROOM_SYSTEM, NULL},
           WORDS * sizeof(*argv));
    return argv;
}

/* ---- the request ---- */

struct import {
    struct service *service;
    struct exchange *exchange;
    struct sandbox_use use;
    struct sandbox *sandbox; /* while its file is being opened */
    char path[ROOM_PATH_BYTES];
    char name[SANDBOXSTORE_MAX_NAME_BYTES + 1];
    struct images_archive archive;
};

static void begin(void *data, const struct images_events *events)
{
    const struct import *import = data;

    images_import(import->service->images, &import->archive, events);
}

static void on_opened(void *data, const struct err *err, int fd, const struct room_entry *entry)
{
    struct import *import = data;

    (void)entry;
    service_release(import->sandbox); /* the open file needs it no longer */
    import->archive.fd = fd;
    import->archive.name = str_from(import->name);
    if (err != NULL)
        call_fail(import->exchange, files_status(err->code), err->message);
    else if (!images_answer_log(import->service->images, import->exchange, begin, import))
        close(fd);
    free(import);
}

static void on_ready(void *data, struct sandbox *sandbox, const struct err *err)
{
    struct import *import = data;
    struct err failed = ERR_INIT;
    int r;

    if (err != NULL) {
        if (err->code == ERR_SESSION_OVER)
            call_fail_restarted(import->exchange);
        else
            call_fail_err(import->exchange, err);
        free(import);
        return;
    }
    import->sandbox = sandbox;
    r = room_file_open(sandbox->room, import->path, on_opened, import);
    if (r == 0)
        return;
    service_release(sandbox);
    err_set_plain(&failed, r);
    call_fail_err(import->exchange, &failed);
    free(import);
}

static bool is_digest(struct str text)
{
    return text.len == SANDBOXSTORE_KEY_BYTES - 1 && hex_is_small(text);
}

/* What is wrong with it, or NULL. */
static const char *read_request(const struct json_value *object, struct import *import,
                                struct str *out_sandbox)
{
    struct str digest = STR_EMPTY;
    struct str path = STR_EMPTY;
    struct str name = STR_EMPTY;
    const char *wrong;

    if (!call_member_str(object, STR("name"), &name))
        return "name must be a text";
    wrong = imagenames_check(name);
    if (wrong != NULL)
        return wrong;
    if (!call_member_str(object, STR("sha256"), &digest) || !is_digest(digest))
        return "sha256 must be the archive's SHA-256, as 64 lower-case hexadecimal digits";
    if (!call_member_str(object, STR("path"), &path) || path.len == 0 ||
        path.len >= sizeof(import->path) || path.ptr[0] != '/' || str_has_nul(path))
        return "path must be an absolute path in the sandbox";
    if (!call_member_str(object, STR("sandbox"), out_sandbox))
        return "sandbox must be the id of one of your sandboxes";
    snprintf(import->name, sizeof(import->name), "%.*s", STR_ARG(name));
    snprintf(import->path, sizeof(import->path), "%.*s", STR_ARG(path));
    snprintf(import->archive.digest, sizeof(import->archive.digest), "%.*s", STR_ARG(digest));
    return NULL;
}

void imageimport_create(const struct api_call *call)
{
    cleanup_arena struct arena arena = ARENA_INIT(CALL_ARENA_BYTES);
    const struct json_value *object = call_object(call, &arena, false);
    struct import *import = object != NULL ? calloc(1, sizeof(*import)) : NULL;
    struct str id = STR_EMPTY;
    struct sandbox *sandbox = NULL;
    const char *wrong;

    if (object == NULL)
        return;
    if (import == NULL) {
        call_fail(call->exchange, 503, err_text(ERR_NO_MEMORY));
        return;
    }
    wrong = read_request(object, import, &id);
    if (wrong == NULL)
        sandbox = service_find(call->service, id, call->owner);
    if (sandbox == NULL) {
        call_fail(call->exchange, wrong != NULL ? 400 : 404,
                  wrong != NULL ? wrong : "there is no such sandbox");
        free(import);
        return;
    }
    import->service = call->service;
    import->exchange = call->exchange;
    import->use = (struct sandbox_use){.ready = on_ready, .data = import};
    list_init(&import->use.node);
    service_use(sandbox, &import->use);
}
