/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who commits. The home's settings of git may hold passwords in headers, URLs and helpers, so a
 * sandbox does not show them; but without a name and an address no command could commit. These two
 * are read from the section [user], and written into the sandbox's home.
 */
#include "isolate/box/internal.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/streams.h"

enum { LINE_BYTES = 512, MOST_LINES = 4096 };

static const char *const files[] = {"/.config/git/config", "/.gitconfig"};

/* Cuts blanks off both ends. */
static char *trim(char *text)
{
    size_t len;

    text += strspn(text, " \t\r\n");
    len = strlen(text);
    while (len > 0 && strchr(" \t\r\n", text[len - 1]) != NULL)
        text[--len] = '\0';
    return text;
}

/* A value without escapes and comments, with or without quotes around it; NULL for any other. */
static char *plain_value(char *text)
{
    size_t len = strlen(text);

    if (len > 1 && text[0] == '"' && text[len - 1] == '"') {
        text[len - 1] = '\0';
        text++;
    }
    return *text != '\0' && strpbrk(text, "\"\\#;") == NULL ? text : NULL;
}

static void read_line(struct box_git_user *user, char *line, bool *in_user)
{
    char *equals;
    char *value;

    line = trim(line);
    if (line[0] == '[') {
        *in_user = strcasecmp(line, "[user]") == 0;
        return;
    }
    equals = strchr(line, '=');
    if (!*in_user || equals == NULL)
        return;
    *equals = '\0';
    value = plain_value(trim(equals + 1));
    if (value == NULL)
        return;
    line = trim(line);
    if (strcasecmp(line, "name") == 0)
        snprintf(user->name, sizeof(user->name), "%s", value);
    else if (strcasecmp(line, "email") == 0)
        snprintf(user->email, sizeof(user->email), "%s", value);
}

static void read_file(struct box_git_user *user, const char *path)
{
    cleanup_file FILE *file = NULL;
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    char line[LINE_BYTES];
    bool in_user = false;
    struct stat about;

    if (fd < 0)
        return;
    file = fstat(fd, &about) == 0 && S_ISREG(about.st_mode) ? fdopen(fd, "r") : NULL;
    if (file == NULL) {
        close(fd);
        return;
    }
    for (int i = 0; i < MOST_LINES && fgets(line, sizeof(line), file) != NULL; i++)
        read_line(user, line, &in_user);
}

void box_git_find(const char *home, struct box_git_user *out_user)
{
    for (size_t i = 0; i < array_size(files); i++) {
        char path[BOX_PATH_BYTES];

        if (snprintf(path, sizeof(path), "%s%s", home, files[i]) < (int)sizeof(path))
            read_file(out_user, path);
    }
}

static bool is_in_place(const struct box *box, const char *path)
{
    for (size_t i = 0; i < box->place_count; i++)
        if (box->places[i].access != BOX_HIDDEN && box_is_beneath(path, box->places[i].path))
            return true;
    return false;
}

void box_git_write(const struct box *box)
{
    const struct box_git_user *user = &box->git_user;
    char text[2 * BOX_GIT_BYTES + 64];
    char path[BOX_PATH_BYTES];
    cleanup_fd int fd = -1;
    int len;

    /* A home that a place shows has its own, and is the host's. */
    if (box->real_home == NULL || (user->name[0] == '\0' && user->email[0] == '\0') ||
        snprintf(path, sizeof(path), "%s/.gitconfig", box->real_home) >= (int)sizeof(path) ||
        is_in_place(box, path))
        return;
    len =
        snprintf(text, sizeof(text), "[user]\n%s%s%s%s%s%s",
                 user->name[0] != '\0' ? "\tname = \"" : "", user->name,
                 user->name[0] != '\0' ? "\"\n" : "", user->email[0] != '\0' ? "\temail = \"" : "",
                 user->email, user->email[0] != '\0' ? "\"\n" : "");
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0444);
    if (fd >= 0 && write(fd, text, (size_t)len) != len)
        (void)unlink(path);
}
