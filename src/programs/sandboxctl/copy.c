/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `gatehouse sandbox cp`: files and folders, between this machine and a sandbox. On this machine
 * the authority reads and writes (tree.h), below the folder that the user named: the names that a
 * sandbox gives to its files lead nowhere else.
 */
#include "programs/sandboxctl/ctl.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hex.h"
#include "base/jsonwrite.h"
#include "base/sha256.h"
#include "programs/sandboxctl/tree.h"

enum {
    PIECE_BYTES = 8 << 20, /* the service takes 10 MiB at a time */
    PROGRESS_BYTES = 80,
};

#define MAX_FILE_BYTES                                                                             \
    (UINT64_C(4) << 30) /* out of a sandbox: it is in memory before it is written */

struct copying {
    struct ctl *ctl;
    struct tree tree; /* on this machine */
    char sandbox[CTL_ID_BYTES];
    char inside[PATH_MAX]; /* the path in the sandbox */
    size_t done;
    uint64_t bytes;      /* copied so far */
    struct sha256 *hash; /* of what is sent; or NULL */
};

/* ---- words ---- */

/* "SANDBOX:PATH"; a colon behind anything else is part of a name. */
static bool split(const char *word, char out_sandbox[CTL_ID_BYTES], const char **out_path)
{
    size_t len = strspn(word, "0123456789abcdef-");

    if (len == 0 || len >= CTL_ID_BYTES || word[len] != ':')
        return false;
    snprintf(out_sandbox, CTL_ID_BYTES, "%.*s", (int)len, word);
    *out_path = word + len + 1;
    return true;
}

static bool is_long(int printed, size_t room)
{
    return printed < 0 || (size_t)printed >= room;
}

static int too_long(struct err *err)
{
    return err_set(err, ERR_INVALID_PATH, "the path is too long");
}

/* Relative ones begin at the home directory. */
static int find_inside(struct copying *copying, const char *path, struct err *err)
{
    const char *home = path[0] == '/' ? "" : "/home/user/";
    size_t len;

    if (is_long(snprintf(copying->inside, PATH_MAX, "%s%s", home, path), PATH_MAX))
        return too_long(err);
    len = strlen(copying->inside);
    while (len > 1 && copying->inside[len - 1] == '/')
        copying->inside[--len] = '\0';
    return 0;
}

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash != NULL ? slash + 1 : path;
}

/* ---- progress ---- */

static void show_progress(const struct copying *copying)
{
    char words[PROGRESS_BYTES];

    snprintf(words, sizeof(words), "%zu of %zu files, %.1f MiB", copying->done, copying->tree.files,
             (double)copying->bytes / (1 << 20));
    ctl_progress(words);
}

/* ---- requests ---- */

/* The path of an item in the sandbox. */
static int inside_path(const struct copying *copying, struct str name, const char *behind,
                       char out_path[PATH_MAX], struct err *err)
{
    const char *slash = name.len > 0 && strcmp(copying->inside, "/") != 0 ? "/" : "";

    return is_long(snprintf(out_path, PATH_MAX, "%s%s%.*s%s", copying->inside, slash, STR_ARG(name),
                            behind),
                   PATH_MAX)
               ? too_long(err)
               : 0;
}

/* "/sandboxes/ID/WHAT?path=PATH[MORE]" */
static int make_target(const struct copying *copying, const char *what, const char *path,
                       const char *more, char out_target[CTL_TARGET_BYTES], struct err *err)
{
    cleanup_buf struct buf text = BUF_INIT(CTL_TARGET_BYTES - 1);
    int r = buf_printf(&text, "/sandboxes/%s/%s?path=", copying->sandbox, what);

    if (r == 0)
        r = ctl_encode(&text, str_from(path));
    if (r == 0)
        r = buf_append_str(&text, str_from(more));
    if (r < 0)
        return too_long(err);
    memcpy(out_target, text.data, text.len);
    out_target[text.len] = '\0';
    return 0;
}

/* Whether the path in the sandbox is there, and a folder. */
static int look_inside(struct copying *copying, bool *out_exists, bool *out_is_directory,
                       struct err *err)
{
    cleanup_arena struct arena arena = ARENA_INIT(CTL_MAX_TEXT_BYTES);
    const struct json_limits limits = {CTL_MAX_TEXT_BYTES, 4};
    const struct json_value *answer;
    struct ctl_request request;
    struct str type = STR_EMPTY;
    int r;

    *out_exists = false;
    *out_is_directory = false;
    request_init(&request, copying->ctl);
    r = make_target(copying, "stat", copying->inside, "", request.target, err);
    if (r == 0)
        r = request_send(&request, HTTP_METHOD_GET, NULL, err);
    if (r == 0)
        r = request_wait(&request, err);
    if (r == 0 && json_parse(&arena, buf_view(&request.body), limits, &answer, NULL) == 0 &&
        json_get_str(answer, STR("type"), &type)) {
        *out_exists = true;
        *out_is_directory = str_eq(type, STR("directory"));
    }
    /* A missing file and a missing sandbox are both 404; the next request tells them apart. */
    if (request.status == 404 && r < 0 && strstr(err->message, "no such sandbox") == NULL)
        r = 0;
    request_done(&request);
    return r;
}

/* ---- into a sandbox ---- */

static int send_piece(const struct copying *copying, const struct tree_item *item, const char *path,
                      bool is_first, struct buf *piece, struct err *err)
{
    char target[CTL_TARGET_BYTES];
    int r = make_target(copying, "files", path,
                        !is_first       ? ""
                        : item->may_run ? "&overwrite=true&executable=true"
                                        : "&overwrite=true",
                        target, err);

    return r == 0 ? ctl_ask(copying->ctl, is_first ? HTTP_METHOD_PUT : HTTP_METHOD_POST, target,
                            piece, err)
                  : r;
}

static int rename_inside(const struct copying *copying, const char *from, const char *to,
                         struct err *err)
{
    cleanup_buf struct buf body = BUF_INIT(CTL_MAX_BODY_BYTES);
    char target[CTL_TARGET_BYTES];
    struct json_writer json;
    int r;

    json_writer_init(&json, &body);
    json_begin_object(&json);
    json_put_str(&json, STR("src"), str_from(from));
    json_put_str(&json, STR("dest"), str_from(to));
    json_put_bool(&json, STR("overwrite"), true);
    json_end_object(&json);
    r = json_writer_finish(&json);
    if (r < 0)
        return err_set_plain(err, r);
    snprintf(target, sizeof(target), "/sandboxes/%s/files/move", copying->sandbox);
    return ctl_ask(copying->ctl, HTTP_METHOD_POST, target, &body, err);
}

/* A large file comes in pieces, beside its name, and gets it when it is whole. */
static int send_file(struct copying *copying, const struct tree_item *item, struct err *err)
{
    bool is_large = item->size > PIECE_BYTES;
    struct err why = ERR_INIT;
    char outside[PATH_MAX];
    char path[PATH_MAX];
    char part[PATH_MAX];
    uint64_t sent = 0;
    int r = inside_path(copying, item->name, "", path, err);

    if (r == 0)
        r = inside_path(copying, item->name, is_large ? ".gatehouse-part" : "", part, err);
    if (r < 0)
        return r;
    r = tree_name(&copying->tree, item->name, outside, err);
    if (r < 0)
        return r;
    do {
        cleanup_buf struct buf piece = BUF_INIT(PIECE_BYTES);
        const struct authority_read_options options = {.offset = sent, .max_bytes = PIECE_BYTES};
        uint64_t len;

        r = authority_read_bytes(copying->tree.scope, str_from(outside), &options, &piece, &why);
        if (r < 0)
            return err_set(err, r, "cannot read '%.200s': %s", outside, why.message);
        len = piece.len;
        if (len == 0 && sent > 0)
            break;
        if (copying->hash != NULL)
            sha256_add(copying->hash, buf_view(&piece));
        r = send_piece(copying, item, part, sent == 0, &piece, err);
        sent += len;
        copying->bytes += len;
        show_progress(copying);
    } while (r == 0 && sent < item->size);
    return r == 0 && is_large ? rename_inside(copying, part, path, err) : r;
}

static int send_folder(const struct copying *copying, const struct tree_item *item, struct err *err)
{
    char target[CTL_TARGET_BYTES];
    char path[PATH_MAX];
    int r = inside_path(copying, item->name, "", path, err);

    if (r == 0)
        r = make_target(copying, "mkdir", path, "&recursive=true", target, err);
    return r == 0 ? ctl_ask(copying->ctl, HTTP_METHOD_POST, target, NULL, err) : r;
}

static int copy_in(struct copying *copying, const struct option_values *values, const char *from,
                   const char *to, struct err *err)
{
    bool is_into = to[0] == '\0' || to[strlen(to) - 1] == '/';
    bool is_directory = false;
    bool exists = false;
    size_t len;
    int r = tree_open(&copying->tree, values, from, false, err);

    if (r == 0)
        r = tree_gather(&copying->tree, err);
    if (r == 0)
        r = find_inside(copying, to, err);
    if (r == 0)
        r = look_inside(copying, &exists, &is_directory, err);
    if (r < 0)
        return r;
    len = strlen(copying->inside);
    if ((is_directory || is_into) && is_long(snprintf(copying->inside + len, PATH_MAX - len, "%s%s",
                                                      len > 1 ? "/" : "", copying->tree.name),
                                             PATH_MAX - len))
        return too_long(err);
    for (size_t i = 0; i < copying->tree.count && r == 0; i++) {
        const struct tree_item *item = &copying->tree.items[i];

        r = item->is_directory ? send_folder(copying, item, err) : send_file(copying, item, err);
        copying->done += item->is_directory ? 0 : 1;
        show_progress(copying);
    }
    return r;
}

int ctl_send_archive(struct ctl *ctl, const struct option_values *values, const char *file,
                     const struct archive_place *place, char out_digest[CTL_ID_BYTES],
                     struct err *err)
{
    unsigned char digest[SHA256_BYTES];
    struct sha256 hash;
    struct copying copying = {.ctl = ctl, .hash = &hash};
    int r;

    sha256_init(&hash);
    snprintf(copying.sandbox, sizeof(copying.sandbox), "%s", place->sandbox);
    snprintf(copying.inside, sizeof(copying.inside), "%s", place->path);
    tree_init(&copying.tree);
    r = tree_open(&copying.tree, values, file, false, err);
    if (r == 0)
        r = tree_gather(&copying.tree, err);
    if (r == 0 && (copying.tree.count != 1 || copying.tree.items[0].is_directory))
        r = err_set(err, ERR_INVALID_OPTION, "'%.200s' is no file", file);
    if (r == 0)
        r = send_file(&copying, &copying.tree.items[0], err);
    tree_done(&copying.tree);
    ctl_progress(NULL);
    sha256_end(&hash, digest);
    hex_text(out_digest, digest, sizeof(digest));
    return r;
}

/* ---- out of a sandbox ---- */

static int list_inside(struct copying *copying, struct err *err)
{
    cleanup_arena struct arena arena = ARENA_INIT(4 * (size_t)CTL_MAX_TEXT_BYTES);
    const struct json_value *answer = NULL;
    char target[CTL_TARGET_BYTES];
    struct tree_item item = {.is_directory = true};
    int r = make_target(copying, "files", copying->inside, "&recursive=true", target, err);

    if (r == 0)
        r = ctl_ask_json(copying->ctl, HTTP_METHOD_GET, target, NULL, &arena, &answer, err);
    if (r == 0)
        r = tree_add(&copying->tree, &item, err);
    if (r < 0 || answer == NULL)
        return r;
    json_each_item (entry, answer) {
        item = (struct tree_item){.is_directory = false};
        if (!json_get_str(entry, STR("name"), &item.name) || item.name.len == 0 ||
            str_has_nul(item.name))
            return err_set(err, ERR_TOOL_FAILED, "the service's answer makes no sense");
        (void)json_get_bool(entry, STR("is_dir"), &item.is_directory);
        r = tree_add(&copying->tree, &item, err);
        if (r < 0)
            return r;
    }
    return 0;
}

/* The content of one file, in memory until it is whole. */
struct arriving {
    struct copying *copying;
    int fd;
    uint64_t bytes;
    int error;
};

static void take_piece(void *data, struct str piece)
{
    struct arriving *arriving = data;

    arriving->bytes += piece.len;
    if (arriving->bytes > MAX_FILE_BYTES)
        arriving->error = ERR_TOO_LARGE;
    while (arriving->error == 0 && piece.len > 0) {
        ssize_t put = write(arriving->fd, piece.ptr, piece.len);

        if (put < 0 && errno != EINTR)
            arriving->error = err_from_errno(errno);
        else if (put > 0)
            piece = str_slice(piece, (size_t)put, piece.len);
    }
    arriving->copying->bytes += piece.len;
}

static int put_file(const struct copying *copying, const struct tree_item *item, int fd,
                    bool may_run, struct err *err)
{
    const struct authority_move_options options = {
        .may_replace = true, .make_parents = true, .is_exact = true};
    struct err why = ERR_INIT;
    char outside[PATH_MAX];
    int r = tree_name(&copying->tree, item->name, outside, &why);

    if (r == 0)
        r = fchmod(fd, may_run ? 0755 : 0644) < 0 || lseek(fd, 0, SEEK_SET) < 0
                ? err_from_errno(errno)
                : 0;
    if (r == 0)
        r = authority_copy_in_fd(copying->tree.scope, str_from(outside), fd, &options, &why);
    return r < 0 ? err_set(err, r, "cannot write '%.200s': %s", outside,
                           why.code != 0 ? why.message : err_text(r))
                 : 0;
}

/* Links that lead nowhere, or to a folder, look like files until they are read. */
static bool is_missing(int status)
{
    return status == 404 || status == 400;
}

static int fetch_file(struct copying *copying, const struct tree_item *item, struct err *err)
{
    cleanup_fd int fd = memfd_create("copy", MFD_CLOEXEC);
    struct arriving arriving = {.copying = copying, .fd = fd};
    struct ctl_request request;
    char path[PATH_MAX];
    bool may_run;
    int status;
    int r = inside_path(copying, item->name, "", path, err);

    if (r < 0 || fd < 0)
        return r < 0 ? r : err_set_plain(err, ERR_NO_MEMORY);
    request_init(&request, copying->ctl);
    request.take = take_piece;
    request.data = &arriving;
    r = make_target(copying, "files/content", path, "", request.target, err);
    if (r == 0)
        r = request_send(&request, HTTP_METHOD_GET, NULL, err);
    if (r == 0)
        r = request_wait(&request, err);
    status = request.status;
    may_run = request.is_executable;
    request_done(&request);
    if (r < 0 && item->name.len > 0 && is_missing(status)) {
        tree_leave_out(&copying->tree, item->name, err->message);
        return 0;
    }
    if (r == 0 && arriving.error < 0)
        r = err_set(err, arriving.error, "'%.200s': %s", path, err_text(arriving.error));
    return r == 0 ? put_file(copying, item, fd, may_run, err) : r;
}

static int make_folder(const struct copying *copying, const struct tree_item *item, struct err *err)
{
    const struct authority_mkdir_options options = {.make_parents = true, .may_exist = true};
    struct err why = ERR_INIT;
    char outside[PATH_MAX];
    int r = tree_name(&copying->tree, item->name, outside, &why);

    if (r == 0 && outside[0] == '\0')
        return 0; /* the folder itself */
    if (r == 0)
        r = authority_mkdir(copying->tree.scope, str_from(outside), &options, &why);
    return r < 0 ? err_set(err, r, "cannot create '%.200s': %s", outside,
                           why.code != 0 ? why.message : err_text(r))
                 : 0;
}

/* An existing folder gets it inside, as cp(1) does. */
static int choose_name(struct copying *copying, struct err *err)
{
    struct authority_stat about;
    struct err why = ERR_INIT;
    char name[PATH_MAX];

    if (copying->tree.name[0] != '\0' &&
        (authority_stat(copying->tree.scope, str_from(copying->tree.name), &about, &why) < 0 ||
         about.type != AUTHORITY_DIRECTORY))
        return 0;
    if (is_long(snprintf(name, sizeof(name), "%s%s%s", copying->tree.name,
                         copying->tree.name[0] != '\0' ? "/" : "", last_part(copying->inside)),
                sizeof(name)))
        return too_long(err);
    memcpy(copying->tree.name, name, sizeof(name));
    return 0;
}

static int copy_out(struct copying *copying, const struct option_values *values, const char *from,
                    const char *to, struct err *err)
{
    struct tree_item file = {.name = STR_EMPTY};
    bool is_directory = false;
    bool exists = false;
    int r = find_inside(copying, from, err);

    if (r == 0)
        r = look_inside(copying, &exists, &is_directory, err);
    if (r == 0 && !exists)
        r = err_set(err, ERR_NOT_FOUND, "the sandbox has no '%.200s'", copying->inside);
    if (r == 0)
        r = tree_open(&copying->tree, values, to, true, err);
    if (r == 0)
        r = choose_name(copying, err);
    if (r == 0 && is_directory)
        r = list_inside(copying, err);
    else if (r == 0)
        r = tree_add(&copying->tree, &file, err);
    for (size_t i = 0; r == 0 && i < copying->tree.count; i++) {
        const struct tree_item *item = &copying->tree.items[i];

        r = item->is_directory ? make_folder(copying, item, err) : fetch_file(copying, item, err);
        copying->done += item->is_directory ? 0 : 1;
        show_progress(copying);
    }
    return r;
}

int ctl_copy(struct ctl *ctl, const struct option_values *values, struct err *err)
{
    struct copying copying = {.ctl = ctl};
    const char *from = options_argument(values, 0);
    const char *to = options_argument(values, 1);
    char sandbox[CTL_ID_BYTES];
    const char *inside;
    bool is_out = split(from, sandbox, &inside);
    bool is_in = !is_out && split(to, sandbox, &inside);
    int r;

    if (!is_out && !is_in)
        return err_set(err, ERR_INVALID_OPTION,
                       "name one of the two as SANDBOX:PATH, like 4f2a:/home/user/notes.txt");
    tree_init(&copying.tree);
    r = ctl_find_id(ctl, "/sandboxes", sandbox, copying.sandbox, err);
    if (r == 0)
        r = is_in ? copy_in(&copying, values, from, inside, err)
                  : copy_out(&copying, values, inside, to, err);
    ctl_progress(NULL);
    if (r == 0 && copying.tree.left_out > 0)
        r = 1; /* not all of it is there */
    tree_done(&copying.tree);
    return r;
}
