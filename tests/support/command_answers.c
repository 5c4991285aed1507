/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints the names of commands, for test_command.py. Standard input has commands, each followed by
 * a NUL; for each it prints one letter, a (as is) or n, then the name and a NUL. The arguments are
 * the directories of PATH.
 */
#include <stdio.h>

#include "base/arena.h"
#include "base/buf.h"
#include "permission/commandline/commandline.h"

enum { INPUT_MAX_BYTES = 64 << 20, ANSWER_MAX_BYTES = 1 << 20 };

static int answer(struct str command, const char *const *path_dirs)
{
    cleanup_arena struct arena arena = ARENA_INIT(ANSWER_MAX_BYTES);
    struct str name;
    bool is_as_is;

    if (command_normalise(&arena, command, path_dirs, false, &name, &is_as_is) < 0)
        return 1;
    putchar(is_as_is ? 'a' : 'n');
    fwrite(name.ptr, 1, name.len, stdout);
    putchar('\0');
    return 0;
}

int main(int argc, char **argv)
{
    cleanup_buf struct buf input = BUF_INIT(INPUT_MAX_BYTES);
    struct str rest;
    struct str command;
    size_t got;

    do {
        if (buf_reserve(&input, 64 << 10) < 0)
            return 1;
        got = fread(input.data + input.len, 1, 64 << 10, stdin);
        input.len += got;
    } while (got > 0);
    rest = buf_view(&input);
    while (argc > 0 && str_cut(&rest, '\0', &command) && rest.ptr != NULL)
        if (answer(command, (const char *const *)(argv + 1)) != 0)
            return 1;
    return fflush(stdout) == 0 ? 0 : 1;
}
