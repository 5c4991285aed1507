/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as what a room and its service send each other: the records of a list and the strings
 * of a command. What is accepted lies within the bytes.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "isolate/room/outer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST = 64 };

static void check_list(struct str bytes, size_t count)
{
    struct room_entry entries[MOST];

    if (!room_list_parse(bytes, entries, count))
        return;
    for (size_t i = 0; i < count; i++) {
        const char *end = bytes.ptr + bytes.len;

        assert(entries[i].name >= bytes.ptr && entries[i].name < end);
        assert(memchr(entries[i].name, '\0', (size_t)(end - entries[i].name)) != NULL);
        assert(entries[i].type <= ROOM_OTHER);
    }
}

static void check_order(struct str bytes, unsigned words, unsigned variables)
{
    const struct room_order order = {
        .bytes = bytes.len, .word_count = words, .env_count = variables};
    char *strings[1 + 2 * MOST];
    char *copy = malloc(bytes.len + 1);

    assert(copy != NULL);
    if (bytes.len > 0)
        memcpy(copy, bytes.ptr, bytes.len);
    copy[bytes.len] = '\0';
    if (room_order_parse(&order, copy, strings))
        for (size_t i = 0; i < room_order_strings(&order); i++) {
            assert(strings[i] >= copy && strings[i] < copy + bytes.len);
            assert(strings[i] + strlen(strings[i]) <= copy + bytes.len);
        }
    free(copy);
}

/* Two bytes say how many things there shall be. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str bytes;
    char name[ROOM_ID_BYTES] = "";

    if (size < 2)
        return 0;
    bytes = (struct str){(const char *)data + 2, size - 2};
    check_list(bytes, data[0] % MOST);
    check_order(bytes, data[0] % MOST, data[1] % MOST);
    if (bytes.len > 0)
        memcpy(name, bytes.ptr, bytes.len < sizeof(name) ? bytes.len : sizeof(name));
    name[sizeof(name) - 1] = '\0';
    if (room_is_name(name))
        assert(strchr(name, '/') == NULL && name[0] != '.');
    return 0;
}
