/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the completion script of the sample program: bash, zsh or fish. */
#include <stdio.h>
#include <string.h>

#include "base/options/complete.h"
#include "option_sample.h"

int main(int argc, char **argv)
{
    static const char *const shells[] = {
        [OPTION_BASH] = "bash", [OPTION_ZSH] = "zsh", [OPTION_FISH] = "fish"};
    cleanup_buf struct buf script = BUF_INIT(1 << 20);

    for (size_t i = 0; argc == 2 && i < array_size(shells); i++) {
        if (strcmp(argv[1], shells[i]) != 0)
            continue;
        if (options_complete(&sample_program, (enum option_shell)i, &script) < 0)
            return 1;
        return fwrite(script.data, 1, script.len, stdout) == script.len ? 0 : 1;
    }
    return 2;
}
