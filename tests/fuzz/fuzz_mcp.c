/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines to an MCP session over the fixture host; a line with '!' before it
 * makes the host do something in between, and @q1 or @s1 in a line stand for
 * what the session itself has sent (see fixture_expand()). Whatever comes, the session sends
 * only valid messages, and no more responses than there were requests.
 */
#include <assert.h>
#include <stdint.h>

#include "../support/mcp_fixture.h"
#include "protocol/jsonrpc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ARENA_BYTES = 64 << 20, MESSAGE_BYTES = 1 << 20 };

/* What the session said since the last look: each a message, the requests but ours none. */
static size_t check_output(struct mcp_fixture *fixture)
{
    size_t answers = 0;
    struct str line;

    while (fixture_next(fixture, &line)) {
        cleanup_arena struct arena arena = ARENA_INIT(ARENA_BYTES);
        const struct json_value *document;
        struct jsonrpc_message message;
        struct str id;

        assert(json_parse(&arena, line, JSON_LIMITS_DEFAULT, &document, NULL) == 0);
        assert(jsonrpc_read(&arena, document, &message, &id, NULL) == 0);
        if (message.kind == JSONRPC_REQUEST)
            assert(str_eq(message.method, STR("roots/list")) ||
                   str_eq(message.method, STR("elicitation/create")) ||
                   str_eq(message.method, STR("sampling/createMessage")));
        if (message.kind == JSONRPC_RESPONSE)
            answers++;
    }
    return answers;
}

/* What a transport would look at first; a request is answered under the id that it was told. */
static void look_at(struct mcp_fixture *fixture, struct str line)
{
    struct mcp_message *message;
    struct str name;

    assert(mcp_message_parse(fixture->service, line, &message) == 0);
    name = mcp_message_name(message);
    assert(name.len <= line.len && mcp_message_revision(message).len <= line.len);
    assert(mcp_message_kind(message) != MCP_REQUEST || mcp_message_id(message).len > 0);
    assert(mcp_message_kind(message) != MCP_BATCH || mcp_message_id(message).len == 0);
    mcp_message_free(message);
}

static void do_something(struct mcp_fixture *fixture, struct str line)
{
    switch (line.len > 0 ? line.ptr[0] : '\0') {
    case 'f':
        if (fixture->parked_count > 0)
            fixture_finish(fixture, 0);
        return;
    case 'x':
        if (fixture->parked_count > 0)
            fixture_fail(fixture, fixture->parked_count - 1, ERR_NOT_FOUND);
        return;
    case 'p':
        if (fixture->parked_count > 0)
            mcp_call_progress(fixture->parked[0], line.len, 0, "on the way");
        return;
    case 'u':
        mcp_session_resource_updated(fixture->session, str_slice(line, 1, SIZE_MAX));
        return;
    case 'c':
        mcp_session_resources_changed(fixture->session);
        return;
    case 'e':
        mcp_session_end_streams(fixture->session);
        return;
    case 'o':
        assert(fixture_set_offer(fixture, line.len % FIXTURE_OFFERS) == 0);
        return;
    case 't':
        fixture_pass(fixture, (int64_t)line.len * 20000);
        return;
    case 'm':
        fixture->origin = line.len - 1;
        return;
    case 's':
        fixture->config.is_stateless = !fixture->config.is_stateless;
        return;
    case 'a':
        fixture->config.principal = fixture->config.principal.len > 0 ? STR_EMPTY : STR("ann");
        return;
    case 'i':
        fixture->ends_cancelled = !fixture->ends_cancelled;
        return;
    case 'r':
        fixture_close(fixture);
        while (fixture->parked_count > 0)
            fixture_finish(fixture, 0);
        assert(check_output(fixture) == 0);
        assert(fixture_open(fixture) == 0);
        return;
    default:
        return;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct mcp_fixture fixture;
    struct str rest = {(const char *)data, size};
    struct str line;
    size_t answers = 0;
    size_t asked = 0;

    fixture_init(&fixture);
    fixture.server.max_message_bytes = MESSAGE_BYTES;
    fixture.server.page_size = 2;
    fixture_offer_more(&fixture);
    assert(fixture_open(&fixture) == 0);
    while (str_cut(&rest, '\n', &line)) {
        cleanup_buf struct buf expanded = BUF_INIT(FIXTURE_SENT_BYTES);

        assert(fixture_expand(&fixture, line, &expanded) == 0);
        line = buf_view(&expanded);
        if (line.len > 0 && line.ptr[0] == '!') {
            do_something(&fixture, str_slice(line, 1, SIZE_MAX));
        } else {
            asked += str_starts_with(str_trim(line), STR("[")) ? MCP_MAX_BATCH : 1;
            look_at(&fixture, line);
            fixture_say(&fixture, line);
        }
        answers += check_output(&fixture);
        assert(answers <= asked);
        assert(mcp_session_call_count(fixture.session) <= fixture.parked_count);
    }
    fixture_done(&fixture);
    return 0;
}
