/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/connect/gatewaysession_internal.h"

#include "gateway/reconnect.h"

/* Errors that may go away without anybody's action. */
static bool passes_by_itself(int code)
{
    switch (code) {
    case ERR_HOST_UNKNOWN:
    case ERR_UNREACHABLE:
    case ERR_CONNECTION_LOST:
    case ERR_TIMED_OUT:
    case ERR_PROXY:
    case ERR_GATEWAY_STATUS:
        return true;
    default:
        return false;
    }
}

static void join_again(void *data)
{
    struct gateway_session *session = data;
    struct err err = ERR_INIT;

    if (gateway_session_join(session, &err) < 0)
        gateway_session_fail(session, &err);
}

void gateway_session_again_init(struct gateway_session *session)
{
    timer_init(&session->again, session->config.loop, join_again, session);
}

bool gateway_session_try_again(struct gateway_session *session, const struct err *err)
{
    if (!session->config.is_patient || session->key.len == 0 || !passes_by_itself(err->code))
        return false;
    session->again_ms = session->again_ms == 0 ? RECONNECT_FIRST_MS : session->again_ms * 2;
    if (session->again_ms > RECONNECT_MAX_MS)
        session->again_ms = RECONNECT_MAX_MS;
    gateway_session_tell_waiting(session, session->again_ms, err);
    timer_start(&session->again, session->again_ms);
    session->config.on_change(session->config.data);
    return true;
}
