/* SPDX-License-Identifier: Apache-2.0 */
#include "isolate/userbrowser.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "isolate/helper.h"

enum { LINE_BYTES = 512, MAX_WAITING = 64, PROFILE_BYTES = 32, LAST_PROFILE = 20 };
enum { ADDRESS = 1, STATE = 3, USER = 7 }; /* fields of /proc/net/tcp */

#define PATH_PREFIX  "/devtools/browser/"
#define RELAY_PREFIX "/extension/"

/*
 * Where they keep their profiles, in the directory of settings or else in the home, and the command
 * that a user would start.
 */
static const struct place {
    const char *name;
    const char *directory;
    bool is_in_home;
    const char *command;
} places[] = {
    {"chromium", "chromium", false, "/usr/bin/chromium"},
    {"chromium", "snap/chromium/common/chromium", true, "/snap/bin/chromium"},
    {"chromium", ".var/app/org.chromium.Chromium/config/chromium", true, NULL},
    {"chrome", "google-chrome", false, "/usr/bin/google-chrome-stable"},
    {"chrome", "google-chrome-beta", false, "/usr/bin/google-chrome-beta"},
    {"chrome", "google-chrome-unstable", false, "/usr/bin/google-chrome-unstable"},
    {"chrome", ".var/app/com.google.Chrome/config/google-chrome", true, NULL},
    {"brave", "BraveSoftware/Brave-Browser", false, "/usr/bin/brave-browser"},
    {"brave", ".var/app/com.brave.Browser/config/BraveSoftware/Brave-Browser", true, NULL},
    {"edge", "microsoft-edge", false, "/usr/bin/microsoft-edge-stable"},
    {"edge", ".var/app/com.microsoft.Edge/config/microsoft-edge", true, NULL},
};

/* ---- the file ---- */

static bool parse_port(struct str text, uint16_t *out_port)
{
    int64_t number;

    for (size_t i = 0; i < text.len; i++)
        if (!isdigit((unsigned char)text.ptr[i]))
            return false;
    if (text.len == 0 || text.ptr[0] == '0' || !str_to_int64(text, &number) || number > UINT16_MAX)
        return false;
    *out_port = (uint16_t)number;
    return true;
}

/* It becomes a part of a request. */
static bool is_path(struct str text)
{
    struct str id = str_slice(text, strlen(PATH_PREFIX), text.len);

    for (size_t i = 0; i < id.len; i++)
        if (!isalnum((unsigned char)id.ptr[i]) && id.ptr[i] != '-')
            return false;
    return str_starts_with(text, STR(PATH_PREFIX)) && id.len > 0 &&
           text.len < USERBROWSER_PATH_BYTES;
}

bool userbrowser_parse(struct str text, struct userbrowser *out_browser)
{
    struct str port;

    if (text.len > 0 && text.ptr[text.len - 1] == '\n')
        text.len--;
    if (!str_cut(&text, '\n', &port) || !parse_port(port, &out_browser->port) || !is_path(text))
        return false;
    snprintf(out_browser->path, sizeof(out_browser->path), "%.*s", STR_ARG(text));
    return true;
}

static bool write_name(const struct place *place, const char *file, char out_name[PATH_MAX])
{
    const char *home = getenv("HOME");
    const char *settings = getenv("XDG_CONFIG_HOME");
    int len;

    if (!place->is_in_home && settings != NULL && settings[0] == '/')
        len = snprintf(out_name, PATH_MAX, "%s/%s/%s", settings, place->directory, file);
    else if (home != NULL && home[0] == '/')
        len = snprintf(out_name, PATH_MAX, "%s/%s%s/%s", home, place->is_in_home ? "" : ".config/",
                       place->directory, file);
    else
        return false;
    return len < PATH_MAX;
}

/* Nobody else's, and nothing that waits when it is opened. */
static bool read_file(const char *name, struct userbrowser *out_browser)
{
    cleanup_fd int fd = open(name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    char room[USERBROWSER_FILE_BYTES];
    struct stat about;
    ssize_t got;

    if (fd < 0 || fstat(fd, &about) < 0 || !S_ISREG(about.st_mode) || about.st_uid != geteuid())
        return false;
    got = read(fd, room, sizeof(room));
    return got > 0 && (size_t)got < sizeof(room) &&
           userbrowser_parse((struct str){room, (size_t)got}, out_browser);
}

/* ---- the port ---- */

/* A line of the kernel's table; the fields that matter, or empty ones. */
struct entry {
    struct str address;
    struct str state;
    struct str user;
};

static void split(struct str line, struct entry *out_entry)
{
    struct str fields[USER + 1] = {STR_EMPTY};
    size_t count = 0;
    struct str field;

    while (count <= USER && str_cut(&line, ' ', &field))
        if (field.len > 0)
            fields[count++] = field;
    *out_entry = (struct entry){fields[ADDRESS], fields[STATE], fields[USER]};
}

/*
 * A file may be older than the browser that wrote it, and the port be another user's by now. The
 * table begins with a head and those that listen.
 */
static bool is_ours(uint16_t port)
{
    FILE *table = fopen("/proc/net/tcp", "re");
    char line[LINE_BYTES];
    char address[16];
    char user[16];
    bool is_found = false;

    if (table == NULL)
        return false;
    snprintf(address, sizeof(address), "%08X:%04X", (unsigned)htonl(INADDR_LOOPBACK), port);
    snprintf(user, sizeof(user), "%u", (unsigned)geteuid());
    while (!is_found && fgets(line, sizeof(line), table) != NULL) {
        struct entry entry;

        split(str_from(line), &entry);
        if (!str_eq(entry.state, STR("0A")) && !str_eq(entry.state, STR("st")))
            break;
        is_found = str_eq_c(entry.address, address) && str_eq_c(entry.user, user);
    }
    (void)fclose(table);
    return is_found;
}

static int connect_to(uint16_t port)
{
    const struct sockaddr_in address = {.sin_family = AF_INET,
                                        .sin_port = htons(port),
                                        .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd >= 0 && connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0) {
        close(fd);
        return -1;
    }
    return fd;
}

int userbrowser_connect(struct str name, struct userbrowser *out_browser, int *out_fd,
                        struct err *err)
{
    char file[PATH_MAX];

    for (size_t i = 0; i < array_size(places); i++) {
        if ((name.len > 0 && !str_eq_c(name, places[i].name)) ||
            !write_name(&places[i], "DevToolsActivePort", file) || !read_file(file, out_browser) ||
            !is_ours(out_browser->port))
            continue;
        *out_fd = connect_to(out_browser->port);
        if (*out_fd >= 0)
            return 0;
    }
    return err_set(err, ERR_NOT_FOUND, "no browser of yours lets itself be debugged");
}

int userbrowser_listen(uint16_t *out_port, int *out_fd, struct err *err)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    socklen_t len = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0 || bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ||
        listen(fd, MAX_WAITING) < 0 || getsockname(fd, (struct sockaddr *)&address, &len) < 0) {
        int error = errno;

        if (fd >= 0)
            close(fd);
        return err_set(err, err_from_errno(error), "cannot listen for the browser: %s",
                       err_errno_text(error));
    }
    *out_port = ntohs(address.sin_port);
    *out_fd = fd;
    return 0;
}

/* ---- the extension ---- */

bool userbrowser_address(uint16_t port, struct str path,
                         char out_address[USERBROWSER_ADDRESS_BYTES])
{
    static const char shape[] = RELAY_PREFIX "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";

    if (port == 0 || path.len != strlen(shape) || !str_starts_with(path, STR(RELAY_PREFIX)))
        return false;
    for (size_t i = strlen(RELAY_PREFIX); i < path.len; i++)
        if (shape[i] == 'x' ? !isxdigit((unsigned char)path.ptr[i]) : path.ptr[i] != shape[i])
            return false;
    snprintf(out_address, USERBROWSER_ADDRESS_BYTES,
             USERBROWSER_ORIGIN "/connect.html?mcpRelayUrl=ws://127.0.0.1:%u%.*s", port,
             STR_ARG(path));
    return true;
}

/* The first profile of this browser that has the extension. */
static bool find_profile(const struct place *place, char out_profile[PROFILE_BYTES])
{
    for (int i = 0; i <= LAST_PROFILE; i++) {
        char inside[PROFILE_BYTES + sizeof("/Extensions/" USERBROWSER_EXTENSION)];
        char name[PATH_MAX];

        if (i == 0)
            snprintf(out_profile, PROFILE_BYTES, "Default");
        else
            snprintf(out_profile, PROFILE_BYTES, "Profile %d", i);
        snprintf(inside, sizeof(inside), "%s/Extensions/" USERBROWSER_EXTENSION, out_profile);
        if (write_name(place, inside, name) && access(name, R_OK) == 0)
            return true;
    }
    return false;
}

/* setsid(1) leaves it to the system: it is the user's, not a part of us. */
static int start(const char *command, const char *profile, const char *address, struct err *err)
{
    char option[sizeof("--profile-directory=") + PROFILE_BYTES];
    const char *const argv[] = {"setsid", "--fork", command, option, address, NULL};
    const struct helper helper = {
        .path = "/usr/bin/setsid", .argv = argv, .env = (const char *const *)environ};
    int status = 0;
    pid_t pid;
    int r;

    snprintf(option, sizeof(option), "--profile-directory=%s", profile);
    r = helper_start(&helper, &pid, err);
    if (r < 0)
        return r;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0
               ? 0
               : err_set(err, ERR_TOOL_FAILED, "cannot start %s", command);
}

static bool is_set(const char *variable)
{
    const char *value = getenv(variable);

    return value != NULL && value[0] != '\0';
}

int userbrowser_open(struct str name, uint16_t port, struct str path, struct err *err)
{
    char address[USERBROWSER_ADDRESS_BYTES];
    char profile[PROFILE_BYTES];

    if (!userbrowser_address(port, path, address))
        return err_set_plain(err, ERR_INVALID_ARGUMENT);
    if (geteuid() == 0)
        return err_set(err, ERR_UNSUPPORTED, "no browser starts for root");
    if (!is_set("DISPLAY") && !is_set("WAYLAND_DISPLAY"))
        return err_set(err, ERR_UNSUPPORTED, "there is no display");
    for (size_t i = 0; i < array_size(places); i++)
        if ((name.len == 0 || str_eq_c(name, places[i].name)) && places[i].command != NULL &&
            helper_is_installed(places[i].command) && find_profile(&places[i], profile))
            return start(places[i].command, profile, address, err);
    return err_set(err, ERR_NOT_FOUND, "no browser of yours has n8n's extension");
}
