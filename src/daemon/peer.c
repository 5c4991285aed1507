/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/peer.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"

enum {
    LINE_BYTES = 512, /* a line of the kernel's has less than half */
    END_BYTES = 48,
    WORDS = ADDRESS_IP_BYTES / sizeof(uint32_t),
    /* IPv4 is the last word of an address: ::ffff:1.2.3.4 */
    FIRST_OF_IPV4 = WORDS - 1,
};

/* Columns of a line, counted from its beginning. */
enum { OWN_END = 1, OTHER_END = 2, UID = 7, INODE = 9, COLUMNS };

static void close_file(FILE **file)
{
    if (*file != NULL)
        fclose(*file);
}

/* "0100007F:1DE7": its words as the machine reads them. */
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

/* A socket that nobody holds has no inode, and counts as root's with some kernels. */
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

static bool find(const char *table, size_t first_word, const struct address *peer,
                 const struct address *own, uid_t *out_uid)
{
    cleanup_with(close_file) FILE *file = fopen(table, "re");
    char line[LINE_BYTES];
    char own_end[END_BYTES];
    char other_end[END_BYTES];

    write_end(peer, first_word, own_end);
    write_end(own, first_word, other_end);
    while (file != NULL && fgets(line, sizeof(line), file) != NULL)
        if (read_owner(str_from(line), own_end, other_end, out_uid))
            return true;
    return false;
}

int peer_uid(const struct address *peer, const struct address *own, uid_t *out_uid)
{
    uid_t uid;

    /* A socket for IPv6 can speak IPv4, and then stands in the other table. */
    if (!find("/proc/net/tcp", FIRST_OF_IPV4, peer, own, &uid) &&
        !find("/proc/net/tcp6", 0, peer, own, &uid))
        return ERR_NOT_FOUND;
    *out_uid = uid;
    return 0;
}
