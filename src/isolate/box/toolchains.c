/* SPDX-License-Identifier: Apache-2.0 */
#include "isolate/box/toolchains.h"

#include "base/cleanup.h"

/*
 * Folders of programs and libraries only. Not ~/.cargo, ~/.npm, ~/.gradle, ~/.dotnet or ~/.m2 as a
 * whole: beside the packages they keep tokens, logs and keys.
 */
const char *const toolchains[] = {
    ".asdf",
    ".bun/bin",
    ".bun/install/global",
    ".cabal/bin",
    ".cargo/bin",
    ".cargo/git",
    ".cargo/registry",
    ".deno/bin",
    ".elan",
    ".ghcup",
    ".goenv",
    ".jenv",
    ".juliaup",
    ".local/bin",
    ".local/lib",
    ".local/share/fnm",
    ".local/share/mise/installs",
    ".local/share/pipx/venvs",
    ".local/share/pnpm",
    ".local/share/uv",
    ".m2/repository",
    ".nodenv",
    ".npm-global/bin",
    ".npm-global/lib",
    ".nvm",
    ".pyenv",
    ".rbenv",
    ".rustup",
    ".rvm",
    ".sdkman",
    ".volta",
    "anaconda3",
    "go/bin",
    "go/pkg",
    "miniconda3",
    "miniforge3",
};

const size_t toolchains_count = array_size(toolchains);
