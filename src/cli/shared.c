/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/shared.h"

#include "base/domainlist.h"

const char *const shared_modes[] = {"deny", "ask", "allow", NULL};
const char *const shared_levels[] = {"silent", "error", "warn", "info", "debug", NULL};
const char *const shared_log_formats[] = {"text", "json", NULL};
const char *const shared_autoruns[] = {"ask", "allow", NULL};
const char *const shared_audit_syncs[] = {"never", "changes", "all", NULL};
const char *const shared_hard_links[] = {[SHARED_HARD_LINKS_REJECT] = "reject",
                                         [SHARED_HARD_LINKS_ALLOW] = "allow",
                                         [SHARED_HARD_LINKS_ALLOW + 1] = NULL};
const char *const shared_networks[] = {[SHARED_NETWORK_NONE] = "none",
                                       [SHARED_NETWORK_ALLOW] = "allow",
                                       [SHARED_NETWORK_ALLOW + 1] = NULL};

static int check_absolute(const struct option_values *values, size_t option, const char *name,
                          struct err *err)
{
    const struct option_list list = options_list(values, option);

    for (size_t i = 0; i < list.count; i++)
        if (list.items[i][0] != '/')
            return err_set(err, ERR_INVALID_OPTION, "--%s: '%s' does not begin with /", name,
                           list.items[i]);
    return 0;
}

int shared_check_domains(const struct option_values *values, size_t option, const char *name,
                         struct err *err)
{
    const struct option_list list = options_list(values, option);
    struct domainlist hosts = {.count = 0};
    struct err why = ERR_INIT;

    for (size_t i = 0; i < list.count; i++)
        if (domainlist_add(&hosts, str_from(list.items[i]), &why) < 0)
            return err_set(err, ERR_INVALID_OPTION, "--%s: %s", name, why.message);
    return 0;
}

int shared_check_shell(const struct option_values *values, const struct shared_shell *rows,
                       struct err *err)
{
    int r = check_absolute(values, rows->writable, "shell-writable", err);

    if (r == 0)
        r = check_absolute(values, rows->readable, "shell-readable", err);
    if (r == 0)
        r = shared_check_domains(values, rows->domain, "shell-domain", err);
    if (r < 0)
        return r;
    if (options_choice(values, rows->network) == SHARED_NETWORK_ALLOW &&
        options_source(values, rows->domain) == OPTION_FLAG)
        return err_set(err, ERR_INVALID_OPTION,
                       "--shell-domain has no effect with --shell-network allow, which opens the "
                       "whole network: drop one of them");
    /* Where they would hold nothing they would only look safe. */
    if (options_is_on(values, rows->open) &&
        (options_source(values, rows->network) == OPTION_FLAG ||
         options_source(values, rows->domain) == OPTION_FLAG ||
         options_source(values, rows->writable) == OPTION_FLAG ||
         options_source(values, rows->readable) == OPTION_FLAG))
        return err_set(
            err, ERR_INVALID_OPTION,
            "--shell-network, --shell-domain, --shell-writable and --shell-readable have "
            "no effect with the sandbox disabled: drop them or "
            "--dangerously-disable-shell-sandbox");
    return 0;
}

enum log_level shared_log_level(const struct option_values *values, size_t option)
{
    return (enum log_level)options_choice(values, option);
}

bool shared_log_is_json(const struct option_values *values, size_t option)
{
    return options_choice(values, option) == 1;
}
