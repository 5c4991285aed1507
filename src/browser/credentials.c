/* SPDX-License-Identifier: Apache-2.0 */
/* Secrets of pages, and the credentials that the server makes of them. */
#include "browser/browsertools_internal.h"

#include "base/cleanup.h"
#include "base/secret.h"
#include "browser/jsonf.h"

enum { CREDENTIAL_BYTES = 8 << 20 };

int browser_call_keep_secret(struct browser_call *call, struct str secret, struct buf *out)
{
    cleanup_buf struct buf object = BUF_INIT(BROWSER_RESULT_BYTES);
    struct browser_secrets *secrets = call->tools->secrets;
    struct err err = ERR_INIT;
    struct str key = STR_EMPTY;
    struct str field = STR_EMPTY;
    int r;

    (void)json_get_str(call->arguments, STR("credentialsKey"), &key);
    (void)json_get_str(call->arguments, STR("field"), &field);
    if (browser_secrets_put(secrets, key, field, secret, &err) < 0)
        return toolresult_write_error(&err, call->tools->config.form, out);
    r = buf_append_str(&object, STR("{\"ok\":true,\"fieldsCaptured\":"));
    if (r == 0)
        r = browser_secrets_write_names(secrets, key, &object);
    if (r == 0)
        r = buf_append_char(&object, '}');
    return r == 0 ? toolresult_write_object(out, buf_view(&object), call->tools->config.form, false)
                  : r;
}

int browser_call_keep_redacted(struct browser_call *call, struct buf *out)
{
    const struct json_value *element = json_get(call->arguments, STR("element"));
    struct err err = ERR_INIT;
    struct str mark = STR_EMPTY;
    struct str key;

    (void)json_get_str(element, STR("redactedKey"), &mark);
    if (browser_redacted_find(call->tools->redacted, str_from(call->page_host), mark, &key, &err) <
        0)
        return toolresult_write_error(&err, call->tools->config.form, out);
    return browser_call_keep_secret(call, key, out);
}

static void on_created(void *context, const struct err *err, struct str id)
{
    struct browser_call *call = context;
    cleanup_buf struct buf result = BUF_INIT(BROWSER_RESULT_BYTES);
    cleanup_buf struct buf object = BUF_INIT(BROWSER_RESULT_BYTES);
    struct str key = STR_EMPTY;
    bool clears = true;
    int r;

    list_remove(&call->post);
    if (err != NULL) {
        r = toolresult_write_error(err, call->tools->config.form, &result);
    } else {
        (void)json_get_str(call->arguments, STR("credentialsKey"), &key);
        (void)json_get_bool(call->arguments, STR("clear"), &clears);
        if (clears)
            browser_secrets_drop(call->tools->secrets, key);
        r = jsonf(&object, "{\"ok\":true,\"credentialId\":%s}", id);
        if (r == 0)
            r = toolresult_write_object(&result, buf_view(&object), call->tools->config.form,
                                        false);
    }
    browser_call_end(call, r, &result);
}

static int write_credential(const struct browser_call *call, struct buf *out, struct err *err)
{
    struct str key = STR_EMPTY;
    struct str project = STR_EMPTY;
    int r;

    (void)json_get_str(call->arguments, STR("credentialsKey"), &key);
    r = jsonf(out, "{\"name\":%v,\"type\":%v,\"data\":", json_get(call->arguments, STR("name")),
              json_get(call->arguments, STR("type")));
    if (r < 0)
        return err_set_plain(err, r);
    r = browser_secrets_write_data(call->tools->secrets, key,
                                   json_get(call->arguments, STR("data")),
                                   json_get(call->arguments, STR("resolveData")), out, err);
    if (r == 0 && json_get_str(call->arguments, STR("projectId"), &project))
        r = jsonf(out, ",\"projectId\":%s", project);
    return r == 0 ? buf_append_char(out, '}') : r;
}

/* Nobody can make the server forget it, so it cannot be cancelled. */
int browser_call_post(struct browser_call *call, struct err *err)
{
    const struct browser_credentials *credentials = call->tools->config.credentials;
    struct buf body = BUF_INIT(CREDENTIAL_BYTES);
    int r = write_credential(call, &body, err);

    if (r == 0) {
        list_append(&call->tools->posts, &call->post);
        r = credentials->create(credentials->data, &body, on_created, call, &call->credential, err);
        if (r < 0)
            list_remove(&call->post);
    }
    if (body.len > 0)
        secret_wipe(body.data, body.len);
    buf_done(&body);
    return r;
}

void browser_tools_drop_posts(struct browser_tools *tools)
{
    struct err err = ERR_INIT;

    err_set_plain(&err, ERR_CANCELLED);
    while (!list_is_empty(&tools->posts)) {
        struct browser_call *call = list_entry(tools->posts.next, struct browser_call, post);

        tools->config.credentials->cancel(call->credential);
        on_created(call, &err, STR_EMPTY);
    }
}
