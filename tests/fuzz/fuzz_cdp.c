/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as the stream of a browser, split as the first byte says: answers and events do not
 * depend on how it is split. The rest is also read as an address and as a stream of our own.
 */
#include <assert.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/hostrange.h"
#include "browser/cdp.h"
#include "browser/url.h"
#include "browser/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { COMMANDS = 3 };

struct seen {
    size_t events;
    size_t bytes;
    int error;
};

static int on_send(void *data, struct str message)
{
    (void)data;
    assert(message.len > 0);
    return 0;
}

static void on_event(void *data, struct str session, struct str method,
                     const struct json_value *params)
{
    struct seen *seen = data;

    assert(params->type == JSON_OBJECT);
    seen->events++;
    seen->bytes += session.len + method.len;
}

static void run(struct str stream, size_t step, struct seen *seen)
{
    struct monitor monitor;
    struct cdp *cdp;
    const struct cdp_config config = {
        .monitor = &monitor, .send = on_send, .on_event = on_event, .data = seen};
    struct cdp_command *commands[COMMANDS];
    int r = monitor_init(&monitor);

    assert(r == 0);
    r = cdp_new(&config, &cdp);
    assert(r == 0);
    monitor_enter(&monitor);
    for (size_t i = 0; i < COMMANDS; i++) {
        r = cdp_begin(cdp, STR_EMPTY, "A.a", STR_EMPTY, &commands[i], NULL);
        assert(r == 0);
    }
    cdp_forget(cdp, commands[0]);
    for (size_t at = 0; at < stream.len && seen->error == 0; at += step)
        seen->error = cdp_receive(cdp, str_slice(stream, at, step));
    cdp_end(cdp);
    for (size_t i = 1; i < COMMANDS; i++) {
        cleanup_cdp_answer struct cdp_answer answer = CDP_ANSWER_INIT;

        r = cdp_finish(cdp, commands[i], 0, NULL, NULL, &answer, NULL);
        assert(r < 0 || answer.result->type == JSON_OBJECT);
    }
    cdp_free(cdp);
    monitor_leave(&monitor);
    monitor_done(&monitor);
}

static void cut(struct str stream, size_t step)
{
    struct browser_wire wire = BROWSER_WIRE_INIT;
    struct str message;
    int r = 0;

    for (size_t at = 0; at < stream.len && r == 0; at += step) {
        r = browser_wire_feed(&wire, str_slice(stream, at, step));
        do {
            if (r == 0)
                r = browser_wire_next(&wire, &message);
        } while (r == 0 && message.len > 0);
    }
    browser_wire_done(&wire);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str stream = {(const char *)data + 1, size - 1};
    struct seen whole = {0};
    struct seen split = {0};
    struct browser_url url;
    size_t step;

    if (size < 2)
        return 0;
    step = (size_t)data[0] % 61 + 1;
    run(stream, stream.len, &whole);
    run(stream, step, &split);
    /* Of a message that does not end, or does not end well, a part may count. */
    if (stream.ptr[stream.len - 1] == '\0')
        assert((whole.error == 0) == (split.error == 0));
    if (whole.error == 0 && split.error == 0 && stream.ptr[stream.len - 1] == '\0')
        assert(whole.events == split.events && whole.bytes == split.bytes);
    cut(stream, step);
    if (browser_url_parse(stream, &url)) {
        assert(url.host.len <= stream.len);
        (void)hostrange_is_private(url.host);
    }
    return 0;
}
