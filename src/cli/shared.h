/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Options that several commands share: fields for the rows of their tables, which may add a
 * variable of their own, the choices, and checks of combinations.
 */
#ifndef CLI_SHARED_H
#define CLI_SHARED_H

#include "base/log.h"
#include "base/options/options.h"

/* In the order of enum permission_mode; NULL-terminated, like the others. */
extern const char *const shared_modes[];
/* In the order of enum log_level. */
extern const char *const shared_levels[];
/* The level that an option with those choices has. */
enum log_level shared_log_level(const struct option_values *values, size_t option);
/* Whether an option SHARED_LOG_FORMAT says so. */
bool shared_log_is_json(const struct option_values *values, size_t option);
extern const char *const shared_log_formats[];
/* In the order of enum audit_sync. */
extern const char *const shared_audit_syncs[];
extern const char *const shared_autoruns[];
enum { SHARED_AUTORUN_ASK, SHARED_AUTORUN_ALLOW };
/* In the order of enum shared_hard_links. */
extern const char *const shared_hard_links[];
/* In the order of enum shared_network. */
extern const char *const shared_networks[];

enum shared_network { SHARED_NETWORK_NONE, SHARED_NETWORK_ALLOW };

#define SHARED_LOG_FORMAT                                                                          \
    .name = "log-format", .type = OPTION_CHOICE, .choices = shared_log_formats,                    \
    .env = "GATEHOUSE_LOG_FORMAT", .fallback = "text",                                             \
    .help = "form of the log's lines: text, or a JSON object each"

/* ---- files ---- */

#define SHARED_MAX_FILE_SIZE                                                                       \
    .name = "max-file-size", .type = OPTION_BYTES, .min = 1, .max = INT64_C(64) << 20,             \
    .fallback = "512KiB", .help = "size limit of files to read whole, write or edit"

#define SHARED_MAX_LINES                                                                           \
    .name = "max-lines", .type = OPTION_INT, .min = 1, .max = 1000000, .fallback = "500",          \
    .help = "maximum number of lines one read returns"

#define SHARED_MAX_MATCHES                                                                         \
    .name = "max-matches", .type = OPTION_INT, .min = 1, .max = INT64_C(1000000000),               \
    .fallback = "1000000", .help = "stop a search after this many matches"

/* Folders besides those that a command takes as arguments. */
#define SHARED_RO                                                                                  \
    .name = "ro", .type = OPTION_LIST, .placeholder = "DIR",                                       \
    .help = "also serve DIR, in which nothing is ever changed; repeatable or comma-separated"

#define SHARED_RW                                                                                  \
    .name = "rw", .type = OPTION_LIST, .placeholder = "DIR",                                       \
    .help = "also serve DIR, in which files may be changed; repeatable or comma-separated"

enum { SHARED_MAX_FOLDERS = 32 }; /* in all */

#define SHARED_STATE_DIR                                                                           \
    .name = "state-dir", .type = OPTION_DIR, .env = "GATEHOUSE_STATE_DIR",                         \
    .help = "directory of the audit log and the undo data (default: "                              \
            "~/.local/state/gatehouse)"

#define SHARED_AUDIT_SYNC                                                                          \
    .name = "audit-sync", .type = OPTION_CHOICE, .choices = shared_audit_syncs,                    \
    .env = "GATEHOUSE_AUDIT_SYNC", .fallback = "never",                                            \
    .help = "which records of the audit log the disk must have before the work goes on, so that "  \
            "a power cut loses none: never, those before changes, or all"

#define SHARED_SENSITIVE                                                                           \
    .name = "sensitive", .type = OPTION_CHOICE, .choices = shared_modes,                           \
    .env = "GATEHOUSE_SENSITIVE", .fallback = "ask", .group = "Consent",                           \
    .help = "reading files that usually hold secrets (.env, private keys, tokens), where reading " \
            "is allowed"

#define SHARED_AUTORUN                                                                             \
    .name = "autorun", .type = OPTION_CHOICE, .choices = shared_autoruns,                          \
    .env = "GATEHOUSE_AUTORUN", .fallback = "ask", .group = "Consent",                             \
    .help = "changing files that other programs run by themselves (Git's hooks and settings, "     \
            "start-up files of shells), where changing is allowed; unless allowed, commands "      \
            "cannot change them"

#define SHARED_DENY                                                                                \
    .name = "deny", .type = OPTION_LIST, .env = "GATEHOUSE_DENY", .placeholder = "GLOB",           \
    .help = "hide files matching GLOB, like '**/.env'; repeatable or comma-separated; wins over "  \
            "--allow"

#define SHARED_ALLOW                                                                               \
    .name = "allow", .type = OPTION_LIST, .env = "GATEHOUSE_ALLOW", .placeholder = "GLOB",         \
    .help = "hide all files that do not match GLOB; repeatable or comma-separated"

/* Commands see whole folders: nothing else can be told to a sandbox. */
#define SHARED_ALLOW_REFUSAL                                                                       \
    "--allow does not apply to commands, which see the whole folder: use --deny, or "              \
    "--permission-shell deny"
#define SHARED_DENY_REFUSAL                                                                        \
    "--deny hides nothing from commands without a sandbox: omit it, or "                           \
    "--dangerously-disable-shell-sandbox"

/* Of SHARED_HARD_LINKS. */
enum shared_hard_links { SHARED_HARD_LINKS_REJECT, SHARED_HARD_LINKS_ALLOW };

#define SHARED_HARD_LINKS                                                                          \
    .name = "hard-links", .type = OPTION_CHOICE, .choices = shared_hard_links,                     \
    .env = "GATEHOUSE_HARD_LINKS", .fallback = "reject",                                           \
    .help = "reading files that have several names, as pnpm and uv make them; changing them is "   \
            "never allowed"

/* ---- workspaces ---- */

#define SHARED_WORKSPACE_SETUP                                                                     \
    .name = "workspace-setup", .type = OPTION_TEXT, .env = "GATEHOUSE_WORKSPACE_SETUP",            \
    .placeholder = "STEPS",                                                                        \
    .help = "make workspaces from an image of these steps, like 'RUN npm install -g tsx', one in " \
            "a line"

#define SHARED_WORKSPACE_FILES                                                                     \
    .name = "workspace-files", .type = OPTION_DIR, .env = "GATEHOUSE_WORKSPACE_FILES",             \
    .help = "write the files of this folder to each new workspace before its first call"

/* ---- web pages ---- */

#define SHARED_BROWSER_DEFAULT                                                                     \
    .name = "browser-default", .type = OPTION_TEXT, .env = "GATEHOUSE_BROWSER_DEFAULT",            \
    .old_env = "N8N_GATEWAY_BROWSER_DEFAULT", .placeholder = "NAME", .group = "Consent",           \
    .help = "the browser to start: chromium, chrome, brave or edge; persistent[:PROFILE] keeps "   \
            "logins, local is your own"

#define SHARED_BROWSER_HEADLESS                                                                    \
    .name = "browser-headless", .env = "GATEHOUSE_BROWSER_HEADLESS", .fallback = "yes",            \
    .group = "Consent", .help = "run the browser without windows on your display"

/* ---- commands ---- */

#define SHARED_SHELL_NETWORK                                                                       \
    .name = "shell-network", .type = OPTION_CHOICE, .choices = shared_networks,                    \
    .env = "GATEHOUSE_SHELL_NETWORK", .old_env = "N8N_GATEWAY_SHELL_NETWORK", .fallback = "none",  \
    .group = "Commands", .help = "network access of commands"

#define SHARED_SHELL_DOMAIN                                                                        \
    .name = "shell-domain", .type = OPTION_LIST, .env = "GATEHOUSE_SHELL_DOMAIN",                  \
    .placeholder = "HOST", .group = "Commands",                                                    \
    .help = "let commands reach HOST on the web, like github.com or *.example.com; repeatable or " \
            "comma-separated"

#define SHARED_SHELL_WRITABLE                                                                      \
    .name = "shell-writable", .type = OPTION_LIST, .env = "GATEHOUSE_SHELL_WRITABLE",              \
    .old_env = "N8N_GATEWAY_SHELL_WRITABLE", .placeholder = "DIR", .group = "Commands",            \
    .help = "let commands also change files in DIR; repeatable or comma-separated"

#define SHARED_SHELL_READABLE                                                                      \
    .name = "shell-readable", .type = OPTION_LIST, .env = "GATEHOUSE_SHELL_READABLE",              \
    .placeholder = "DIR", .group = "Commands",                                                     \
    .help = "let commands also read files in DIR; repeatable or comma-separated"

/* Not cut at commas, and not shown in errors: values are the user's, and may be secrets. */
#define SHARED_SHELL_ENV                                                                           \
    .name = "shell-env", .type = OPTION_LIST, .is_whole = true, .is_secret = true,                 \
    .env = "GATEHOUSE_SHELL_ENV", .placeholder = "NAME[=VALUE]", .group = "Commands",              \
    .help = "give commands the variable NAME, with the value that it has here or with VALUE; "     \
            "repeatable"

#define SHARED_SHELL_TIMEOUT                                                                       \
    .name = "computer-shell-timeout", .type = OPTION_DURATION,                                     \
    .env = "GATEHOUSE_COMPUTER_SHELL_TIMEOUT", .old_env = "N8N_GATEWAY_COMPUTER_SHELL_TIMEOUT",    \
    .min = 100, .max = 24 * 60 * 60 * INT64_C(1000), .fallback = "30s", .group = "Commands",       \
    .help = "time limit of a command that sets none itself"

#define SHARED_SHELL_OPEN                                                                          \
    .name = "dangerously-disable-shell-sandbox", .group = "Commands",                              \
    .help = "run commands without a sandbox: they can do everything you can"

/* Logged if SHARED_SHELL_OPEN is on. */
#define SHARED_OPEN_WARNING "commands run without a sandbox: they can do everything you can"

/* The indexes of these rows in a table. */
struct shared_shell {
    size_t network;
    size_t domain;
    size_t writable;
    size_t readable;
    size_t open;
};

/* ERR_INVALID_OPTION unless all items of the list are hosts: see base/domainlist.h. */
int shared_check_domains(const struct option_values *values, size_t option, const char *name,
                         struct err *err);

/*
 * ERR_INVALID_OPTION if a directory is not absolute or a host is none, or if an option has no
 * effect with another one.
 */
int shared_check_shell(const struct option_values *values, const struct shared_shell *rows,
                       struct err *err);

#endif
