/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program's tables with a row for every kind of option, for the tests of options, the completion
 * scripts and the fuzz target.
 */
#ifndef TESTS_SUPPORT_OPTION_SAMPLE_H
#define TESTS_SUPPORT_OPTION_SAMPLE_H

#include "base/cleanup.h"
#include "base/options/options.h"

/* Options of the program. */
enum { OPT_HELP, OPT_VERBOSE, OPT_COLOUR, OPT_LEVEL, OPT_GLOBAL_COUNT };

/* Options of `connect`. */
enum {
    OPT_PORT,
    OPT_DIR,
    OPT_OFFSET,
    OPT_NAME,
    OPT_LOG_FILE,
    OPT_KEY,
    OPT_PIN,
    OPT_WRITE,
    OPT_SHELL,
    OPT_ORIGINS,
    OPT_TIMEOUT,
    OPT_LIMIT,
    OPT_CONNECT_COUNT
};

static const char *const sample_levels[] = {"silent", "error", "warn", "info", "debug", NULL};
static const char *const sample_modes[] = {"deny", "ask", "allow", NULL};
static const char *const sample_formats[] = {"text", "json", NULL};

static const struct option sample_global[OPT_GLOBAL_COUNT] = {
    [OPT_HELP] = {.name = "help", .letter = 'h', .is_final = true, .help = "show this page"},
    [OPT_VERBOSE] = {.name = "verbose", .letter = 'v', .env = "APP_VERBOSE", .help = "say more"},
    [OPT_COLOUR] = {.name = "colour", .fallback = "yes", .help = "use colours"},
    [OPT_LEVEL] = {.name = "log-level",
                   .letter = 'l',
                   .type = OPTION_CHOICE,
                   .choices = sample_levels,
                   .placeholder = "LEVEL",
                   .fallback = "info",
                   .env = "APP_LOG_LEVEL",
                   .help = "what's worth [a] line: least to log"},
};

static const struct option sample_connect[OPT_CONNECT_COUNT] = {
    [OPT_PORT] = {.name = "port",
                  .letter = 'p',
                  .type = OPTION_INT,
                  .min = 1,
                  .max = 65535,
                  .fallback = "7655",
                  .env = "APP_PORT",
                  .help = "local port to listen on"},
    [OPT_DIR] = {.name = "filesystem-dir",
                 .alias = "dir",
                 .letter = 'd',
                 .type = OPTION_DIR,
                 .env = "APP_DIR",
                 .help = "directory that is opened"},
    [OPT_OFFSET] = {.name = "offset", .type = OPTION_INT, .help = "any number"},
    [OPT_NAME] = {.name = "name",
                  .letter = 'n',
                  .type = OPTION_TEXT,
                  .env = "APP_NAME",
                  .help = "name of this machine"},
    [OPT_LOG_FILE] = {.name = "log-file",
                      .type = OPTION_PATH,
                      .env = "APP_LOG_FILE",
                      .help = "file to log to"},
    [OPT_KEY] = {.name = "key",
                 .letter = 'k',
                 .type = OPTION_TEXT,
                 .is_secret = true,
                 .fallback = "hidden-default",
                 .env = "APP_KEY",
                 .help = "key of the instance"},
    [OPT_PIN] = {.name = "pin",
                 .type = OPTION_INT,
                 .is_secret = true,
                 .min = 1000,
                 .max = 9999,
                 .env = "APP_PIN",
                 .help = "four digits"},
    [OPT_WRITE] = {.name = "write-access",
                   .letter = 'w',
                   .env = "APP_WRITE",
                   .group = "Permissions",
                   .help = "allow changes"},
    [OPT_SHELL] = {.name = "permission-shell",
                   .type = OPTION_CHOICE,
                   .choices = sample_modes,
                   .placeholder = "MODE",
                   .fallback = "deny",
                   .env = "APP_PERMISSION_SHELL",
                   .group = "Permissions",
                   .help = "mode of the shell group"},
    [OPT_ORIGINS] = {.name = "allowed-origins",
                     .letter = 'o',
                     .type = OPTION_LIST,
                     .env = "APP_ORIGINS",
                     .group = "Permissions",
                     .help = "origins that may ask"},
    [OPT_TIMEOUT] = {.name = "timeout",
                     .type = OPTION_DURATION,
                     .min = 1,
                     .max = 3600000,
                     .fallback = "30s",
                     .env = "APP_TIMEOUT",
                     .group = "Limits",
                     .help = "longest run of a command"},
    [OPT_LIMIT] = {.name = "max-file-size",
                   .type = OPTION_BYTES,
                   .min = 1024,
                   .max = 1 << 30,
                   .fallback = "512KB",
                   .env = "APP_LIMIT",
                   .group = "Limits",
                   .help = "largest file"},
};

static const struct option_argument sample_connect_arguments[] = {
    {.name = "URL", .type = OPTION_TEXT, .help = "address of the instance"},
    {.name = "TOKEN",
     .type = OPTION_TEXT,
     .is_optional = true,
     .is_secret = true,
     .help = "pairing token"},
    {.name = "DIR", .type = OPTION_DIR, .is_optional = true, .help = "same as --filesystem-dir"},
};

static const struct option_argument sample_show_arguments[] = {
    {.name = "FORMAT", .type = OPTION_CHOICE, .choices = sample_formats, .help = "how to print"},
    {.name = "FILE",
     .type = OPTION_PATH,
     .is_optional = true,
     .is_rest = true,
     .help = "files to show"},
};

static const struct option_argument sample_remove_arguments[] = {
    {.name = "NAME", .type = OPTION_TEXT, .names = "boxes", .help = "the box"},
};

static const struct option sample_list[] = {
    {.name = "all", .letter = 'a', .help = "stopped ones as well"},
};

static const struct option_command sample_box_commands[] = {
    {.name = "list",
     .alias = "ls",
     .summary = "List the boxes.",
     .options = sample_list,
     .option_count = 1},
    {.name = "remove",
     .alias = "rm",
     .summary = "Remove a box.",
     .arguments = sample_remove_arguments,
     .argument_count = array_size(sample_remove_arguments)},
};

static const struct option_command sample_commands[] = {
    {.name = "connect",
     .summary = "Connect this machine to an instance.",
     .options = sample_connect,
     .option_count = array_size(sample_connect),
     .arguments = sample_connect_arguments,
     .argument_count = array_size(sample_connect_arguments)},
    {.name = "show",
     .summary = "Print what's there: files.",
     .arguments = sample_show_arguments,
     .argument_count = array_size(sample_show_arguments)},
    {.name = "box",
     .summary = "Work with boxes.",
     .commands = sample_box_commands,
     .command_count = array_size(sample_box_commands)},
};

static const struct option_command sample_program = {
    .name = "my-app",
    .summary = "A sample of everything.",
    .options = sample_global,
    .option_count = array_size(sample_global),
    .commands = sample_commands,
    .command_count = array_size(sample_commands),
};

#endif
