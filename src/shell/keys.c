/* SPDX-License-Identifier: Apache-2.0 */
#include "shell/keys.h"

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
};

struct str key_bytes(struct str name)
{
    static const char controls[] = "\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e"
                                   "\x0f\x10\x11\x12\x13\x14\x15\x16\x17\x18\x19\x1a";
    const struct str control = STR("ctrl-");

    for (size_t i = 0; i < array_size(keys); i++)
        if (str_eq(keys[i].name, name))
            return keys[i].bytes;
    if (name.len == control.len + 1 && str_starts_with(name, control) &&
        name.ptr[control.len] >= 'a' && name.ptr[control.len] <= 'z')
        return (struct str){controls + (name.ptr[control.len] - 'a'), 1};
    return STR_EMPTY;
}
