/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/connect/peer.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "base/streams.h"

enum {
    LINE_BYTES = 512, /* a line of the kernel's has less than half */
    END_BYTES = 48,
    WORDS = ADDRESS_IP_BYTES / sizeof(uint32_t),
    /* IPv4 is the last word of an address: ::ffff:1.2.3.4 */
    FIRST_OF_IPV4 = WORDS - 1,
    IPV4_AT = FIRST_OF_IPV4 * sizeof(uint32_t),
    ANSWER_BYTES = 4096, /* the kernel's has some hundred */
};

/* ---- asking about one connection ---- */

enum answer {
    FOUND,
    NOT_FOUND,
    NO_ANSWER,     /* this time */
    NEVER_ANSWERS, /* this kernel has no such questions */
};

struct socket_query {
    struct nlmsghdr head;
    struct inet_diag_req_v2 body;
};

static bool is_ipv4(const struct address *address)
{
    static const uint8_t mapped[IPV4_AT] = {[IPV4_AT - 2] = 0xff, [IPV4_AT - 1] = 0xff};

    return memcmp(address->ip, mapped, sizeof(mapped)) == 0;
}

/* The kernel has the answer before this returns, so it does not block. */
static enum answer exchange_messages(const struct socket_query *question,
                                     char out_bytes[ANSWER_BYTES], size_t *out_len)
{
    cleanup_fd int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    struct sockaddr_nl from = {0};
    socklen_t from_len = sizeof(from);
    ssize_t got;

    if (fd < 0)
        return errno == EPROTONOSUPPORT ? NEVER_ANSWERS : NO_ANSWER;
    if (send(fd, question, sizeof(*question), 0) != (ssize_t)sizeof(*question))
        return NO_ANSWER;
    got = recvfrom(fd, out_bytes, ANSWER_BYTES, MSG_DONTWAIT, (struct sockaddr *)&from, &from_len);
    /* Only the kernel has pid 0. */
    if (got < 0 || from.nl_pid != 0)
        return NO_ANSWER;
    *out_len = (size_t)got;
    return FOUND;
}

static enum answer read_answer(const char *bytes, size_t len, struct inet_diag_msg *out_socket)
{
    struct nlmsghdr head;
    int error;

    if (len < NLMSG_HDRLEN + sizeof(error))
        return NO_ANSWER;
    memcpy(&head, bytes, sizeof(head));
    memcpy(&error, bytes + NLMSG_HDRLEN, sizeof(error));
    if (head.nlmsg_type == NLMSG_ERROR)
        return error == -ENOENT ? NOT_FOUND : NO_ANSWER;
    if (head.nlmsg_type != SOCK_DIAG_BY_FAMILY || len < NLMSG_HDRLEN + sizeof(*out_socket))
        return NO_ANSWER;
    memcpy(out_socket, bytes + NLMSG_HDRLEN, sizeof(*out_socket));
    return FOUND;
}

static enum answer ask(const struct address *end, const struct address *other_end,
                       struct inet_diag_msg *out_socket)
{
    size_t skipped = is_ipv4(end) ? IPV4_AT : 0;
    struct socket_query question = {
        .head = {.nlmsg_len = sizeof(question),
                 .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                 .nlmsg_flags = NLM_F_REQUEST},
        .body = {.sdiag_family = is_ipv4(end) ? AF_INET : AF_INET6,
                 .sdiag_protocol = IPPROTO_TCP,
                 .idiag_states = UINT32_MAX,
                 .id = {.idiag_sport = htons(end->port),
                        .idiag_dport = htons(other_end->port),
                        .idiag_cookie = {INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE}}},
    };
    enum answer answer;
    char bytes[ANSWER_BYTES];
    size_t len;

    memcpy(question.body.id.idiag_src, end->ip + skipped, ADDRESS_IP_BYTES - skipped);
    memcpy(question.body.id.idiag_dst, other_end->ip + skipped, ADDRESS_IP_BYTES - skipped);
    answer = exchange_messages(&question, bytes, &len);
    return answer == FOUND ? read_answer(bytes, len, out_socket) : answer;
}

/* An IPv6 socket that uses IPv4 is reported with the addresses of its own family. */
static bool is_at(uint8_t family, const uint32_t *words, uint16_t port,
                  const struct address *address)
{
    size_t skipped = family == AF_INET ? IPV4_AT : 0;

    return ntohs(port) == address->port &&
           memcmp(words, address->ip + skipped, ADDRESS_IP_BYTES - skipped) == 0;
}

static enum answer ask_for_owner(const struct address *peer, const struct address *own,
                                 uid_t *out_uid)
{
    struct inet_diag_msg found;
    enum answer answer = ask(peer, own, &found);

    /* A kernel without this kind of query says the same, so check whether it knows the listener. */
    if (answer == NOT_FOUND)
        return ask(own, own, &found) == FOUND ? NOT_FOUND : NEVER_ANSWERS;
    if (answer != FOUND)
        return answer;
    /* Without a connection it returns the listener, which is another socket. */
    if (found.idiag_inode == 0 ||
        !is_at(found.idiag_family, found.id.idiag_src, found.id.idiag_sport, peer) ||
        !is_at(found.idiag_family, found.id.idiag_dst, found.id.idiag_dport, own))
        return NOT_FOUND;
    *out_uid = found.idiag_uid;
    return FOUND;
}

/* ---- looking through the tables ---- */

/* Columns of a line, counted from its start. */
enum { OWN_END = 1, OTHER_END = 2, UID = 7, INODE = 9, COLUMNS };

/* "0100007F:1DE7": its words in host byte order. */
static void write_end(const struct address *address, size_t first_word, char out_text[END_BYTES])
{
    size_t len = 0;

    for (size_t i = first_word; i < WORDS; i++) {
        uint32_t word;

        memcpy(&word, address->ip + i * sizeof(word), sizeof(word));
        len += (size_t)snprintf(out_text + len, END_BYTES - len, "%08" PRIX32, word);
    }
    snprintf(out_text + len, END_BYTES - len, ":%04X", address->port);
}

static bool read_columns(struct str line, struct str out_columns[COLUMNS])
{
    size_t count = 0;
    struct str column;

    line = str_trim(line);
    while (count < COLUMNS && line.len > 0) {
        (void)str_cut(&line, ' ', &column);
        if (column.len > 0)
            out_columns[count++] = column;
    }
    return count == COLUMNS;
}

/* A socket that nobody holds has no inode, and counts as root's on some kernels. */
static bool read_owner(struct str line, const char *own_end, const char *other_end, uid_t *out_uid)
{
    struct str columns[COLUMNS];
    int64_t uid;
    int64_t inode;

    if (!read_columns(line, columns) || !str_eq_c(columns[OWN_END], own_end) ||
        !str_eq_c(columns[OTHER_END], other_end) || !str_to_int64(columns[UID], &uid) ||
        !str_to_int64(columns[INODE], &inode) || inode == 0)
        return false;
    *out_uid = (uid_t)uid;
    return true;
}

static int find(const char *table, size_t first_word, const struct address *peer,
                const struct address *own, size_t *bytes_left, uid_t *out_uid)
{
    cleanup_file FILE *file = fopen(table, "re");
    char line[LINE_BYTES];
    char own_end[END_BYTES];
    char other_end[END_BYTES];

    write_end(peer, first_word, own_end);
    write_end(own, first_word, other_end);
    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        size_t len = strlen(line);

        if (len > *bytes_left)
            return ERR_TOO_LARGE;
        *bytes_left -= len;
        if (read_owner(str_from(line), own_end, other_end, out_uid))
            return 0;
    }
    return ERR_NOT_FOUND;
}

int peer_uid(struct peer_lookup *lookup, const struct address *peer, const struct address *own,
             uid_t *out_uid)
{
    enum answer answer =
        lookup->has_only_tables ? NEVER_ANSWERS : ask_for_owner(peer, own, out_uid);
    size_t bytes_left = lookup->max_table_bytes;
    int r;

    if (answer == FOUND || answer == NOT_FOUND)
        return answer == FOUND ? 0 : ERR_NOT_FOUND;
    /* Asking in vain may have the kernel look for a module each time. */
    lookup->has_only_tables = answer == NEVER_ANSWERS;
    /* An IPv6 socket can use IPv4, and is then in the other table. */
    r = find("/proc/net/tcp", FIRST_OF_IPV4, peer, own, &bytes_left, out_uid);
    return r == ERR_NOT_FOUND ? find("/proc/net/tcp6", 0, peer, own, &bytes_left, out_uid) : r;
}
