/* SPDX-License-Identifier: Apache-2.0 */
#include "shell/keys.h"

#include <string.h>

#include "base/cleanup.h"

static const struct {
    struct str name;
    struct str bytes;
} keys[] = {
    {STR_LITERAL("enter"), STR_LITERAL("\r")},
    {STR_LITERAL("tab"), STR_LITERAL("\t")},
    {STR_LITERAL("escape"), STR_LITERAL("\x1b")},
    {STR_LITERAL("backspace"), STR_LITERAL("\x7f")},
    {STR_LITERAL("delete"), STR_LITERAL("\x1b[3~")},
    {STR_LITERAL("up"), STR_LITERAL("\x1b[A")},
    {STR_LITERAL("down"), STR_LITERAL("\x1b[B")},
    {STR_LITERAL("right"), STR_LITERAL("\x1b[C")},
    {STR_LITERAL("left"), STR_LITERAL("\x1b[D")},
    {STR_LITERAL("home"), STR_LITERAL("\x1b[H")},
    {STR_LITERAL("end"), STR_LITERAL("\x1b[F")},
    {STR_LITERAL("pageup"), STR_LITERAL("\x1b[5~")},
    {STR_LITERAL("pagedown"), STR_LITERAL("\x1b[6~")},
    /* As others call them. */
    {STR_LITERAL("return"), STR_LITERAL("\r")},
    {STR_LITERAL("esc"), STR_LITERAL("\x1b")},
    {STR_LITERAL("space"), STR_LITERAL(" ")},
    {STR_LITERAL("arrowup"), STR_LITERAL("\x1b[A")},
    {STR_LITERAL("arrowdown"), STR_LITERAL("\x1b[B")},
    {STR_LITERAL("arrowright"), STR_LITERAL("\x1b[C")},
    {STR_LITERAL("arrowleft"), STR_LITERAL("\x1b[D")},
};

enum { NAME_BYTES = 16 };

/* "Page_Down" and "Ctrl + C" are pagedown and ctrlc. Longer ones are no keys. */
static struct str letters_of(struct str name, char out[NAME_BYTES])
{
    size_t len = 0;

    for (size_t i = 0; i < name.len; i++) {
        if (strchr("-_+ ", name.ptr[i]) != NULL && name.ptr[i] != '\0')
            continue;
        if (len == NAME_BYTES)
            return STR_EMPTY;
        out[len++] = name.ptr[i] >= 'A' && name.ptr[i] <= 'Z' ? (char)(name.ptr[i] + ('a' - 'A'))
                                                              : name.ptr[i];
    }
    return (struct str){out, len};
}

struct str key_bytes(struct str name)
{
    static const char controls[] = "\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e"
                                   "\x0f\x10\x11\x12\x13\x14\x15\x16\x17\x18\x19\x1a";
    static const struct str control[] = {STR_LITERAL("ctrl"), STR_LITERAL("control"),
                                         STR_LITERAL("^")};
    char letters[NAME_BYTES];

    name = letters_of(name, letters);
    for (size_t i = 0; i < array_size(keys); i++)
        if (str_eq(keys[i].name, name))
            return keys[i].bytes;
    for (size_t i = 0; i < array_size(control); i++)
        if (name.len == control[i].len + 1 && str_starts_with(name, control[i]) &&
            name.ptr[control[i].len] >= 'a' && name.ptr[control[i].len] <= 'z')
            return (struct str){controls + (name.ptr[control[i].len] - 'a'), 1};
    return STR_EMPTY;
}
