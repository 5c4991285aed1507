/* SPDX-License-Identifier: Apache-2.0 */
/* gatehouse-sandboxctl: the commands of `gatehouse sandbox` that ask a sandbox service. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/jsonwrite.h"
#include "cli/runner.h"
#include "cli/sandbox.h"
#include "programs/sandboxctl/ctl.h"

static bool may_reach(void *data, const struct httpurl *url)
{
    return httpurl_same_origin(&((const struct ctl *)data)->url, url);
}

static int make_filter(void *data, struct str host, struct filter **out_filter, struct err *err)
{
    return authorities_make_filter(&((struct ctl *)data)->authorities, host, out_filter, err);
}

/* What is not given is left to the service. */
static int put_limits(struct json_writer *json, const struct option_values *values, struct err *err)
{
    const int64_t memory = options_int(values, SANDBOX_CREATE_MEMORY);
    const int64_t processes = options_int(values, SANDBOX_CREATE_PIDS);
    const char *cores = options_text(values, SANDBOX_CREATE_CPUS);
    unsigned percent = 0;
    int r = cores != NULL ? sandbox_read_cores(cores, &percent, err) : 0;

    if (r < 0)
        return r;
    if (cores != NULL && percent == 0)
        return err_set_field(err, ERR_INVALID_OPTION, "--cpus",
                             "--cpus needs more than 0: each sandbox of a service has a limit");
    if (memory == 0 && processes == 0 && percent == 0)
        return 0;
    json_key(json, STR("resource_limits"));
    json_begin_object(json);
    if (memory > 0)
        json_put_int(json, STR("memory_mb"), memory >> 20);
    if (percent > 0)
        json_put_int(json, STR("cpu_percent"), percent);
    if (processes > 0)
        json_put_int(json, STR("pids_max"), processes);
    json_end_object(json);
    return 0;
}

static int put_network(struct json_writer *json, const struct option_values *values,
                       struct err *err)
{
    const struct option_list allowed = options_list(values, SANDBOX_CREATE_ALLOW_IP);
    const struct option_list denied = options_list(values, SANDBOX_CREATE_DENY_IP);
    const struct option_list hosts = options_list(values, SANDBOX_CREATE_DOMAIN);

    if (denied.count > 0 && allowed.count == 0)
        return err_set_field(err, ERR_INVALID_OPTION, "--deny-ip",
                             "--deny-ip makes exceptions from --allow-ip, which is missing");
    if (allowed.count == 0 && hosts.count == 0)
        return 0;
    json_key(json, STR("network_policy"));
    json_begin_object(json);
    ctl_put_list(json, STR("allowed_ips"), allowed);
    ctl_put_list(json, STR("denied_ips"), denied);
    ctl_put_list(json, STR("allowed_domains"), hosts);
    json_end_object(json);
    return 0;
}

static int create(struct ctl *ctl, const struct option_values *values, struct err *err)
{
    cleanup_arena struct arena arena = ARENA_INIT(2 * (size_t)CTL_MAX_TEXT_BYTES);
    cleanup_buf struct buf body = BUF_INIT(CTL_MAX_BODY_BYTES);
    const char *given = options_text(values, SANDBOX_CREATE_IMAGE);
    const char *wanted = options_text(values, SANDBOX_CREATE_ID);
    const struct json_value *answer;
    char image[CTL_ID_BYTES];
    struct json_writer json;
    struct str id;
    int r = given != NULL ? ctl_find_image(ctl, given, image, NULL, err) : 0;

    if (r < 0)
        return r;
    json_writer_init(&json, &body);
    json_begin_object(&json);
    if (given != NULL)
        json_put_str(&json, STR("image_id"), str_from(image));
    if (wanted != NULL)
        json_put_str(&json, STR("id"), str_from(wanted));
    json_put_bool(&json, STR("ephemeral"), options_is_on(values, SANDBOX_CREATE_EPHEMERAL));
    r = put_limits(&json, values, err);
    if (r == 0)
        r = put_network(&json, values, err);
    if (r < 0)
        return r;
    json_end_object(&json);
    r = json_writer_finish(&json);
    if (r < 0)
        return err_set_plain(err, r);
    r = ctl_ask_json(ctl, HTTP_METHOD_POST, "/sandboxes", &body, &arena, &answer, err);
    if (r < 0)
        return r;
    if (!json_get_str(answer, STR("id"), &id))
        return err_set(err, ERR_TOOL_FAILED, "the service's answer makes no sense");
    ctl_write(STDOUT_FILENO, id);
    ctl_write(STDOUT_FILENO, STR("\n"));
    return 0;
}

/* As many as were named, or none if a name is wrong; the first that fails ends it. */
static int remove_all(struct ctl *ctl, const struct option_values *values, struct err *err)
{
    char(*ids)[CTL_ID_BYTES] =
        arena_alloc_array(values->arena, values->argument_count, sizeof(*ids));
    int r = ids == NULL ? err_set_plain(err, values->arena->error) : 0;

    for (size_t i = 0; i < values->argument_count && r == 0; i++)
        r = ctl_find_id(ctl, "/sandboxes", values->arguments[i], ids[i], err);
    for (size_t i = 0; i < values->argument_count && r == 0; i++) {
        char target[CTL_TARGET_BYTES];

        snprintf(target, sizeof(target), "/sandboxes/%s", ids[i]);
        r = ctl_ask(ctl, HTTP_METHOD_DELETE, target, NULL, err);
    }
    return r;
}

static int work(struct ctl *ctl, const struct option_values *values, struct err *err)
{
    const struct option_command *command = values->command;

    if (command == &sandbox_commands[SANDBOX_CREATE])
        return create(ctl, values, err);
    if (command == &sandbox_commands[SANDBOX_EXEC])
        return ctl_exec(ctl, values, err);
    if (command == &sandbox_commands[SANDBOX_CP])
        return ctl_copy(ctl, values, err);
    if (command == &sandbox_commands[SANDBOX_LS])
        return ctl_list(ctl, values, "/sandboxes", err);
    if (command == &sandbox_commands[SANDBOX_LOGS])
        return ctl_logs(ctl, values, err);
    if (command == &sandbox_commands[SANDBOX_INSPECT])
        return ctl_inspect(ctl, values, err);
    if (command == &sandbox_commands[SANDBOX_STATS])
        return ctl_stats(ctl, values, err);
    if (command == &sandbox_commands[SANDBOX_RM])
        return remove_all(ctl, values, err);
    if (command == &sandbox_image_commands[SANDBOX_IMAGE_LS])
        return ctl_list(ctl, values, "/images", err);
    if (command == &sandbox_image_commands[SANDBOX_IMAGE_BUILD])
        return ctl_build(ctl, values, err);
    if (command == &sandbox_image_commands[SANDBOX_IMAGE_RM])
        return ctl_remove_images(ctl, values, err);
    if (command == &sandbox_image_commands[SANDBOX_IMAGE_IMPORT])
        return ctl_import(ctl, values, err);
    if (command == &sandbox_image_commands[SANDBOX_IMAGE_NAME])
        return ctl_name_image(ctl, values, err);
    return err_set(err, ERR_INVALID_OPTION, "this program asks a sandbox service; see --help");
}

static int run(const struct option_values *values, struct arena *arena, struct err *err)
{
    struct ctl ctl = {.authorities = AUTHORITIES_INIT, .body = BUF_INIT(CTL_MAX_TEXT_BYTES)};
    const struct httpclient_config config = {
        .may_reach = may_reach, .make_filter = make_filter, .data = &ctl};
    int r = ctl_find_service(&ctl, values, err);

    (void)arena;
    if (r == 0) {
        r = loop_new(&clock_system, &ctl.loop);
        if (r == 0)
            r = httpclient_new(ctl.loop, &config, &ctl.client);
        r = r < 0 ? err_set_plain(err, r) : work(&ctl, values, err);
    }
    if (ctl.client != NULL)
        httpclient_free(ctl.client);
    if (ctl.loop != NULL)
        loop_free(ctl.loop);
    authorities_done(&ctl.authorities);
    buf_done(&ctl.body);
    secret_done(&ctl.key);
    return r;
}

static const struct runner runner = {
    .program = SANDBOXCTL_PROGRAM,
    .title = "gatehouse sandbox",
    .see = "'gatehouse sandbox --help'",
    .command = SANDBOX_COMMAND,
    .keeps_input = true,
    .failed_status = SANDBOX_EXIT_FAILED,
    .checks_options_late = true,
    .run = run,
};

int main(int argc, char **argv)
{
    return runner_main(&runner, argc, argv);
}
