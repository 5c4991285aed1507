/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/certificate.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "cli/namedfile.h"

enum { LOOK_MS = 1000 };

static const char *const options[CERTIFICATE_FILES] = {"--tls-cert", "--tls-key"};

static void stamp(const char *path, struct certificate_stamp *out_stamp)
{
    struct stat about;

    *out_stamp = (struct certificate_stamp){.is_there = false};
    if (stat(path, &about) < 0)
        return;
    *out_stamp = (struct certificate_stamp){.device = about.st_dev,
                                            .inode = about.st_ino,
                                            .size = about.st_size,
                                            .changed = about.st_mtim,
                                            .is_there = true};
}

static bool is_same(const struct certificate_stamp *a, const struct certificate_stamp *b)
{
    return a->is_there == b->is_there && a->device == b->device && a->inode == b->inode &&
           a->size == b->size && a->changed.tv_sec == b->changed.tv_sec &&
           a->changed.tv_nsec == b->changed.tv_nsec;
}

static int make_context(struct str chain, struct str key_pem, struct tls_context **out_context,
                        struct err *err)
{
    cleanup_secret_text struct secret_text key = SECRET_TEXT_INIT;
    struct err why = ERR_INIT;
    int r = secret_text_set(&key, key_pem);

    if (r < 0)
        return err_set(err, ERR_INVALID_OPTION, "--tls-key: %s", err_text(r));
    r = tls_server_context_new(chain, &key, &clock_system, out_context, &why);
    return r < 0 ? err_set(err, ERR_INVALID_OPTION, "--tls-cert and --tls-key: %s",
                           why.message[0] != '\0' ? why.message : err_text(r))
                 : 0;
}

/* What was seen is noted first: a change while we read is seen again. */
static int load(struct certificate *certificate, struct tls_context **out_context, struct err *err)
{
    cleanup_buf struct buf chain = BUF_INIT(TLS_MAX_PEM_BYTES);
    cleanup_buf struct buf key = BUF_INIT(SECRET_TEXT_MAX_BYTES);
    struct buf *const texts[CERTIFICATE_FILES] = {&chain, &key};
    const char *why = NULL;
    int r = 0;

    for (size_t i = 0; i < CERTIFICATE_FILES; i++)
        stamp(certificate->paths[i], &certificate->seen[i]);
    for (size_t i = 0; i < CERTIFICATE_FILES && r == 0; i++) {
        why = namedfile_read(certificate->paths[i], texts[i]);
        if (why != NULL)
            r = err_set(err, ERR_INVALID_OPTION, "%s: cannot read '%s': %s", options[i],
                        certificate->paths[i], why);
    }
    if (r == 0)
        r = make_context(buf_view(&chain), buf_view(&key), out_context, err);
    if (key.data != NULL)
        secret_wipe(key.data, key.len);
    return r;
}

int certificate_open(struct certificate *certificate, const char *chain_path, const char *key_path,
                     const struct log *log, struct err *err)
{
    const char *const given[CERTIFICATE_FILES] = {chain_path, key_path};

    if (chain_path == NULL && key_path == NULL)
        return 0;
    if (chain_path == NULL || key_path == NULL)
        return err_set(err, ERR_INVALID_OPTION, "--tls-cert and --tls-key need each other");
    certificate->log = log;
    for (size_t i = 0; i < CERTIFICATE_FILES; i++) {
        cleanup_free char *absolute = NULL;
        char directory[PATH_MAX];

        /* Names stay as they are: a link that later points elsewhere is followed then. */
        if (given[i][0] != '/' && getcwd(directory, sizeof(directory)) == NULL)
            return err_set(err, ERR_NOT_FOUND, "the current directory no longer exists");
        if (snprintf(certificate->paths[i], PATH_MAX, "%s%s%s", given[i][0] == '/' ? "" : directory,
                     given[i][0] == '/' ? "" : "/", given[i]) >= PATH_MAX)
            return err_set(err, ERR_INVALID_OPTION, "%s: the path is too long", options[i]);
        absolute = realpath(certificate->paths[i], NULL);
        if (absolute == NULL)
            return err_set(err, ERR_INVALID_OPTION, "%s: cannot read '%s': %s", options[i],
                           certificate->paths[i], err_errno_text(errno));
        snprintf(certificate->directories[2 * i], PATH_MAX, "%s", certificate->paths[i]);
        snprintf(certificate->directories[2 * i + 1], PATH_MAX, "%s", absolute);
    }
    return load(certificate, &certificate->context, err);
}

int certificate_check_address(const struct certificate *certificate, const struct address *address,
                              bool is_behind_proxy, struct err *err)
{
    return address_is_loopback(address) || certificate->context != NULL || is_behind_proxy
               ? 0
               : err_set(err, ERR_INVALID_OPTION,
                         "--listen: other machines would send passwords and keys unencrypted; use "
                         "--tls-cert and --tls-key, or --behind-proxy if a proxy provides TLS");
}

size_t certificate_places(struct certificate *certificate,
                          struct landlock_place out_places[CERTIFICATE_PLACES])
{
    size_t count = 0;

    if (certificate->context == NULL)
        return 0;
    for (size_t i = 0; i < CERTIFICATE_PLACES; i++) {
        char *path = certificate->directories[i];
        char *slash = strrchr(path, '/');

        if (slash == NULL || slash == path)
            continue; /* never the root */
        *slash = '\0';
        out_places[count++] = (struct landlock_place){.path = path, .rights = LANDLOCK_MAY_READ};
    }
    return count;
}

static void look(void *data)
{
    struct certificate *certificate = data;
    struct tls_context *context = NULL;
    struct err err = ERR_INIT;
    bool is_same_pair = true;

    for (size_t i = 0; i < CERTIFICATE_FILES; i++) {
        struct certificate_stamp now;

        stamp(certificate->paths[i], &now);
        is_same_pair = is_same_pair && is_same(&now, &certificate->seen[i]);
    }
    if (is_same_pair)
        return;
    if (load(certificate, &context, &err) < 0) {
        log_write(certificate->log, LOG_WARN, "the new certificate is not used, the old one stays",
                  LOG_TEXT("error", err.message));
        return;
    }
    tls_context_unref(certificate->context); /* connections keep theirs */
    certificate->context = context;
    log_write(certificate->log, LOG_INFO, "new connections get the new certificate");
}

void certificate_watch(struct certificate *certificate, struct loop *loop)
{
    if (certificate->context == NULL)
        return;
    timer_init(&certificate->look, loop, look, certificate);
    timer_start_repeating(&certificate->look, LOOK_MS);
}

void certificate_close(struct certificate *certificate)
{
    timer_stop(&certificate->look);
    if (certificate->context != NULL)
        tls_context_unref(certificate->context);
    certificate->context = NULL;
}

int certificate_make_filter(struct certificate *certificate, struct filter **out_filter)
{
    return tls_server_new(certificate->context, out_filter);
}
