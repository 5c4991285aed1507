/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sockets of the host that someone listens on. A read-only mount does not prevent a command from
 * connecting, and the server may do for it what the sandbox does not allow.
 */
#include "isolate/box/places.h"

#include <limits.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "base/streams.h"
#include "isolate/box/internal.h"

enum {
    PLACES_MAX_SOCKETS = 64,
    FIELDS_BEFORE_PATH = 7,
    LINE_BYTES = 512,      /* a name in there has 108 at most */
    LIST_BYTES = 32 << 10, /* the kernel sends no larger message */
};

static const char host_sockets[] = "/proc/net/unix";

/* A sandbox has its own of these, except for places in them. */
static const char *const own_folders[] = {"/run", "/var/run", "/dev", "/proc", "/sys"};

static bool is_own(const struct places *places, size_t named, const char *path)
{
    for (size_t i = 0; i < named; i++)
        if (places->items[i].access != BOX_HIDDEN && box_is_beneath(path, places->items[i].path))
            return false;
    for (size_t i = 0; i < array_size(own_folders); i++)
        if (box_is_beneath(path, own_folders[i]))
            return true;
    return false;
}

/* A command may talk to sockets in what it may change. */
static bool is_in_writable(const struct places *places, size_t named, const char *path)
{
    for (size_t i = 0; i < named; i++)
        if (places->items[i].access == BOX_WRITE && box_is_beneath(path, places->items[i].path))
            return true;
    return false;
}

/* ---- one of them ---- */

struct hiding {
    struct places *places;
    size_t named; /* how many places there were before */
};

static bool is_full(const struct hiding *hiding)
{
    return hiding->places->count - hiding->named >= PLACES_MAX_SOCKETS ||
           hiding->places->count >= BOX_MAX_PLACES;
}

/* What has the name now may be something else. */
static int hide(const struct hiding *hiding, const char *path, struct err *err)
{
    struct places *places = hiding->places;
    __attribute__((uninitialized)) char found[PATH_MAX];
    struct stat about;

    if (path[0] != '/' || is_full(hiding) || is_own(places, hiding->named, path) ||
        realpath(path, found) == NULL || is_own(places, hiding->named, found) ||
        stat(found, &about) < 0 || !S_ISSOCK(about.st_mode) ||
        is_in_writable(places, hiding->named, found))
        return 0;
    return places_add(places, found, BOX_HIDDEN, err);
}

/* ---- the list, by netlink ---- */

static bool cut_message(struct str *rest, struct nlmsghdr *out_head, struct str *out_body)
{
    if (rest->len < sizeof(*out_head))
        return false;
    memcpy(out_head, rest->ptr, sizeof(*out_head));
    if (out_head->nlmsg_len < sizeof(*out_head) || out_head->nlmsg_len > rest->len)
        return false;
    *out_body = str_slice(*rest, sizeof(*out_head), out_head->nlmsg_len - sizeof(*out_head));
    *rest = str_slice(*rest, NLMSG_ALIGN(out_head->nlmsg_len), rest->len);
    return true;
}

static bool cut_field(struct str *rest, struct nlattr *out_head, struct str *out_body)
{
    if (rest->len < sizeof(*out_head))
        return false;
    memcpy(out_head, rest->ptr, sizeof(*out_head));
    if (out_head->nla_len < sizeof(*out_head) || out_head->nla_len > rest->len)
        return false;
    *out_body = str_slice(*rest, sizeof(*out_head), out_head->nla_len - sizeof(*out_head));
    *rest = str_slice(*rest, NLA_ALIGN(out_head->nla_len), rest->len);
    return true;
}

/*
 * An accepted end, which has the name of its listener. Datagram sockets do not count: the kernel
 * calls one established as soon as somebody is connected to it, and anybody may still send to it.
 */
static bool is_end_of_connection(struct str about)
{
    struct unix_diag_msg head = {.udiag_type = SOCK_DGRAM};

    memcpy(&head, about.ptr, about.len < sizeof(head) ? about.len : sizeof(head));
    return head.udiag_state == TCP_ESTABLISHED && head.udiag_type != SOCK_DGRAM;
}

static int hide_described(const struct hiding *hiding, struct str about, struct err *err)
{
    struct str fields = str_slice(about, sizeof(struct unix_diag_msg), about.len);
    char path[sizeof(((struct sockaddr_un *)NULL)->sun_path) + 1] = "";
    struct nlattr head;
    struct str name;

    if (is_end_of_connection(about))
        return 0;
    while (cut_field(&fields, &head, &name))
        if (head.nla_type == UNIX_DIAG_NAME && name.len < sizeof(path))
            memcpy(path, name.ptr, name.len);
    return hide(hiding, path, err);
}

/* The last message says whether the list is complete. */
static int end_of_list(struct str body)
{
    int code = -1;

    if (body.len >= sizeof(code))
        memcpy(&code, body.ptr, sizeof(code));
    return code < 0 ? ERR_UNSUPPORTED : 0;
}

/* Of a part of the list, which may be its last. */
static int hide_listed(const struct hiding *hiding, struct str part, bool *out_is_last,
                       struct err *err)
{
    struct nlmsghdr head;
    struct str body;
    int r = 0;

    while (r == 0 && !*out_is_last && cut_message(&part, &head, &body)) {
        *out_is_last = head.nlmsg_type == NLMSG_DONE;
        if (head.nlmsg_type == SOCK_DIAG_BY_FAMILY)
            r = hide_described(hiding, body, err);
        else
            r = *out_is_last ? end_of_list(body) : ERR_UNSUPPORTED;
    }
    return r;
}

static int ask_kernel(void)
{
    const struct {
        struct nlmsghdr head;
        struct unix_diag_req request;
    } question = {
        .head = {.nlmsg_len = sizeof(question),
                 .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                 .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
        .request = {.sdiag_family = AF_UNIX,
                    .udiag_states = UINT32_MAX,
                    .udiag_show = UDIAG_SHOW_NAME},
    };
    cleanup_fd int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);

    return fd >= 0 && send(fd, &question, sizeof(question), 0) == (ssize_t)sizeof(question)
               ? steal_fd(&fd)
               : -1;
}

/* ERR_UNSUPPORTED if the kernel does not tell. Several times as fast as its text. */
static int hide_by_netlink(const struct hiding *hiding, char list[LIST_BYTES], struct err *err)
{
    cleanup_fd int fd = ask_kernel();
    bool is_last = false;
    int r = fd >= 0 ? 0 : ERR_UNSUPPORTED;

    while (r == 0 && !is_last) {
        /* Each part is there when the last one was read. Returns the length also if it is cut. */
        ssize_t got = recv(fd, list, LIST_BYTES, MSG_DONTWAIT | MSG_TRUNC);

        r = got > 0 && got <= LIST_BYTES
                ? hide_listed(hiding, (struct str){list, (size_t)got}, &is_last, err)
                : ERR_UNSUPPORTED;
    }
    return r;
}

/* ---- the list, as text ---- */

/*
 * Of "Num RefCount Protocol Flags Type St Inode Path"; NULL if there is no path, or not a file's.
 */
static const char *path_in(char *line)
{
    char *at = line;

    for (int i = 0; i < FIELDS_BEFORE_PATH; i++) {
        at += strspn(at, " ");
        at += strcspn(at, " ");
    }
    at += strspn(at, " ");
    at[strcspn(at, "\n")] = '\0';
    return at[0] == '/' ? at : NULL;
}

static int hide_by_text(const struct hiding *hiding, char list[LIST_BYTES], struct err *err)
{
    cleanup_file FILE *file = fopen(host_sockets, "re");
    char line[LINE_BYTES];
    int r = 0;

    /* In few reads: for each the kernel looks for its place in the list. */
    if (file != NULL)
        (void)setvbuf(file, list, _IOFBF, LIST_BYTES);
    while (r == 0 && file != NULL && fgets(line, sizeof(line), file) != NULL) {
        const char *path = path_in(line);

        /* A name may hold anything, a line that looks like another one, too. */
        if (path != NULL)
            r = hide(hiding, path, err);
    }
    return r;
}

int places_hide_sockets(struct places *places, struct err *err)
{
    static char list[LIST_BYTES];
    const struct hiding hiding = {.places = places, .named = places->count};
    int r = hide_by_netlink(&hiding, list, err);

    return r == ERR_UNSUPPORTED ? hide_by_text(&hiding, list, err) : r;
}
