/* SPDX-License-Identifier: Apache-2.0 */
#include "isolate/x11place.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/secret.h"
#include "base/str.h"

enum { DIGITS = 5, FILE_BYTES = 64 << 10, PRIVATE_FILE = 0600, FAMILY_WILD = 0xFFFF };

/* ":1", ":1.0" or "unix:1"; others are elsewhere. */
static bool read_number(const char *display, int *out_number)
{
    size_t len = 0;

    if (strncmp(display, "unix:", strlen("unix:")) == 0)
        display += strlen("unix");
    if (*display++ != ':')
        return false;
    *out_number = 0;
    while (len < DIGITS && isdigit((unsigned char)display[len]))
        *out_number = 10 * *out_number + (display[len++] - '0');
    return len > 0 && (display[len] == '\0' || display[len] == '.');
}

static void find_authority(char out_path[PATH_MAX])
{
    const char *given = getenv("XAUTHORITY");
    const char *home = getenv("HOME");

    out_path[0] = '\0';
    if (given != NULL)
        snprintf(out_path, PATH_MAX, "%s", given);
    else if (home != NULL)
        snprintf(out_path, PATH_MAX, "%s/.Xauthority", home);
}

bool x11place_find(struct x11place *out_place)
{
    const char *display = getenv("DISPLAY");
    struct stat about;

    if (display == NULL || !read_number(display, &out_place->number))
        return false;
    snprintf(out_place->socket, sizeof(out_place->socket), "/tmp/.X11-unix/X%d", out_place->number);
    if (lstat(out_place->socket, &about) < 0 || !S_ISSOCK(about.st_mode))
        return false;
    find_authority(out_place->authority);
    return true;
}

/* ---- the cookie ---- */

/* A length of two bytes, and as many bytes. */
static bool take_field(struct str *rest, struct str *out_field)
{
    size_t len;

    if (rest->len < 2)
        return false;
    len = (size_t)((unsigned char)rest->ptr[0] << 8 | (unsigned char)rest->ptr[1]);
    *rest = str_slice(*rest, 2, rest->len);
    if (rest->len < len)
        return false;
    *out_field = str_slice(*rest, 0, len);
    *rest = str_slice(*rest, len, rest->len);
    return true;
}

struct cookie {
    struct str name; /* of the method */
    struct str data;
};

/* Entries have a family, an address, a number, a method and its data. One for this host is best. */
static bool find_cookie(struct str rest, int number, struct cookie *out_cookie)
{
    char host[HOST_NAME_MAX + 1] = "";
    char text[16];
    bool is_found = false;

    (void)gethostname(host, sizeof(host) - 1);
    snprintf(text, sizeof(text), "%d", number);
    while (rest.len > 2) {
        struct str address;
        struct str display;
        struct cookie cookie;
        bool is_here;

        rest = str_slice(rest, 2, rest.len);
        if (!take_field(&rest, &address) || !take_field(&rest, &display) ||
            !take_field(&rest, &cookie.name) || !take_field(&rest, &cookie.data))
            break;
        if (display.len > 0 && !str_eq_c(display, text))
            continue;
        is_here = str_eq_c(address, host);
        if (!is_found || is_here)
            *out_cookie = cookie;
        is_found = true;
        if (is_here)
            break;
    }
    return is_found;
}

static bool put(FILE *file, struct str text)
{
    return fputc((int)(text.len >> 8), file) != EOF && fputc((int)(text.len & 0xFF), file) != EOF &&
           fwrite(text.ptr, 1, text.len, file) == text.len;
}

static bool write_cookie(const struct cookie *cookie, const char *path)
{
    FILE *file;
    bool is_good;
    int fd;

    (void)unlink(path);
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, PRIVATE_FILE);
    file = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (file == NULL) {
        if (fd >= 0)
            close(fd);
        return false;
    }
    is_good = fputc(FAMILY_WILD >> 8, file) != EOF && fputc(FAMILY_WILD & 0xFF, file) != EOF &&
              put(file, STR_EMPTY) && put(file, STR_EMPTY) && put(file, cookie->name) &&
              put(file, cookie->data);
    return fclose(file) == 0 && is_good;
}

bool x11place_write_cookie(const struct x11place *place, const char *path)
{
    static char room[FILE_BYTES];
    cleanup_fd int fd = open(place->authority, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct cookie cookie;
    ssize_t got = fd >= 0 ? read(fd, room, sizeof(room)) : -1;
    bool is_written = got > 0 &&
                      find_cookie((struct str){room, (size_t)got}, place->number, &cookie) &&
                      write_cookie(&cookie, path);

    secret_wipe(room, sizeof(room));
    return is_written;
}
