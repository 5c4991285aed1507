/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A state contains the host's data and the keys of its questions, with a MAC over that and over
 * everything it belongs to: this service, the principal that was asked, the tool, its arguments. It
 * is opaque text to the client.
 *
 *     version 1 | slot 2 | nonce 16 | due 8 | round 1 | count 1
 *     count times: kind 1 | length 1 | key
 *     the host's bytes | MAC 32
 *
 * It is valid once: the slot drops the nonce when it comes back. Slots are few; a principal with
 * too many loses its own oldest first, and must then start again.
 */
#include "mcp/internal.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/hash.h"
#include "base/rand.h"
#include "base/secret.h"

enum {
    STATE_VERSION = 1,
    HEADER_BYTES = 1 + 2 + MCP_NONCE_BYTES + 8 + 1 + 1,
    LARGEST_BYTES = HEADER_BYTES + MCP_MAX_QUESTIONS * (2 + MCP_MAX_KEY_BYTES) +
                    MCP_MAX_STATE_BYTES + SHA256_BYTES,
    LARGEST_TEXT_BYTES = (LARGEST_BYTES + 2) / 3 * 4,
};

static struct str bytes_of(const void *bytes, size_t len)
{
    return (struct str){bytes, len};
}

/*
 * Values in document order, each preceded by its kind and size: no two documents have the same
 * bytes.
 */
static void digest_value(const struct json_value *value, unsigned char out_digest[SHA256_BYTES])
{
    struct sha256 hash;

    sha256_init(&hash);
    for (size_t i = 0; i < json_span(value); i++) {
        uint32_t head[2] = {value[i].type, htobe32(value[i].size)};
        int64_t number = value[i].integer;

        sha256_add(&hash, bytes_of(head, sizeof(head)));
        if (value[i].type == JSON_STRING || value[i].type == JSON_NUMBER)
            sha256_add(&hash, json_str(&value[i]));
        else if (value[i].type == JSON_INT || value[i].type == JSON_BOOL)
            sha256_add(&hash, bytes_of(&number, sizeof(number)));
    }
    sha256_end(&hash, out_digest);
}

/* What a state belongs to besides its arguments. */
static struct str name_of(const struct mcp_request *request)
{
    if (request->kind == MCP_TOOL_CALL)
        return request->tool.tool->name;
    return request->kind == MCP_PROMPT_GET ? request->prompt.prompt->name : request->uri;
}

static const struct json_value *arguments_of(const struct mcp_request *request)
{
    if (request->kind == MCP_TOOL_CALL)
        return request->tool.arguments;
    return request->kind == MCP_PROMPT_GET ? request->prompt.arguments : &mcp_empty_object;
}

static void sign(const struct mcp_session *session, const struct mcp_call *call, struct str body,
                 unsigned char out_mac[SHA256_BYTES])
{
    const struct mcp_service *service = session->service;
    unsigned char digest[SHA256_BYTES];
    unsigned char work = (unsigned char)call->request.kind;
    struct hmac mac;

    digest_value(arguments_of(&call->request), digest);
    hmac_init(&mac, bytes_of(service->state_key, sizeof(service->state_key)));
    hmac_add_part(&mac, STR("MCP request state"));
    hmac_add_part(&mac, service->server->name);
    hmac_add_part(&mac, session->principal);
    hmac_add_part(&mac, bytes_of(&work, 1));
    hmac_add_part(&mac, name_of(&call->request));
    hmac_add_part(&mac, bytes_of(digest, sizeof(digest)));
    hmac_add_part(&mac, body);
    hmac_end(&mac, out_mac);
}

static uint64_t owner_of(const struct mcp_session *session)
{
    return hash_str(hash_process_key(), session->principal);
}

/* A free one; else the oldest of an owner with too many, else the oldest of all. */
static struct mcp_issued *choose_slot(const struct mcp_service *service, uint64_t owner,
                                      int64_t now_ms)
{
    struct mcp_issued *free_one = NULL;
    struct mcp_issued *own = NULL;
    struct mcp_issued *oldest = &service->issued[0];
    size_t own_count = 0;

    for (size_t i = 0; i < MCP_MAX_STATES; i++) {
        struct mcp_issued *slot = &service->issued[i];

        if (!slot->is_out || slot->due_ms <= now_ms) {
            free_one = slot;
            continue;
        }
        if (slot->due_ms < oldest->due_ms)
            oldest = slot;
        if (slot->owner != owner)
            continue;
        own_count++;
        if (own == NULL || slot->due_ms < own->due_ms)
            own = slot;
    }
    if (own_count >= MCP_MAX_STATES_OF_ONE)
        return own;
    return free_one != NULL ? free_one : oldest;
}

static int write_body(const struct mcp_service *service, const struct mcp_issued *slot,
                      const struct mcp_round *round, unsigned number, struct buf *out)
{
    unsigned char header[HEADER_BYTES] = {STATE_VERSION};
    uint16_t index = htobe16((uint16_t)(slot - service->issued));
    uint64_t due = htobe64((uint64_t)slot->due_ms);
    int r;

    memcpy(header + 1, &index, sizeof(index));
    memcpy(header + 3, slot->nonce, MCP_NONCE_BYTES);
    memcpy(header + 3 + MCP_NONCE_BYTES, &due, sizeof(due));
    header[HEADER_BYTES - 2] = (unsigned char)number;
    header[HEADER_BYTES - 1] = (unsigned char)round->count;
    r = buf_append(out, header, sizeof(header));
    for (size_t i = 0; r == 0 && i < round->count; i++) {
        const struct mcp_question *question = &round->questions[i];
        unsigned char head[2] = {(unsigned char)question->kind, (unsigned char)question->key.len};

        r = buf_append(out, head, sizeof(head));
        if (r == 0)
            r = buf_append_str(out, question->key);
    }
    return r < 0 ? r : buf_append_str(out, round->state);
}

int mcp_state_issue(struct mcp_session *session, const struct mcp_call *call,
                    const struct mcp_round *round, unsigned number, struct buf *out)
{
    struct mcp_service *service = session->service;
    cleanup_buf struct buf body = BUF_INIT(LARGEST_BYTES);
    int64_t now_ms = clock_monotonic_ms(service->clock);
    unsigned char mac[SHA256_BYTES];
    struct mcp_issued *slot;
    int r;

    if (service->issued == NULL)
        service->issued = calloc(MCP_MAX_STATES, sizeof(*service->issued));
    if (service->issued == NULL)
        return ERR_NO_MEMORY;
    slot = choose_slot(service, owner_of(session), now_ms);
    *slot = (struct mcp_issued){
        .owner = owner_of(session),
        .due_ms = mcp_due_ms(service, round),
        .is_out = true,
    };
    rand_bytes(slot->nonce, sizeof(slot->nonce));
    r = write_body(service, slot, round, number, &body);
    if (r < 0)
        return r;
    sign(session, call, buf_view(&body), mac);
    r = buf_append(&body, mac, sizeof(mac));
    return r < 0 ? r : base64_append(out, buf_view(&body));
}

static int refuse(struct err *err, int code)
{
    return err_set_field(err, code, "requestState", "%s", err_text(code));
}

/* Whether the nonce is the issued one; it is then used up. */
static bool take_nonce(struct mcp_service *service, const char *header)
{
    struct mcp_issued *slot;
    uint16_t index;

    memcpy(&index, header + 1, sizeof(index));
    index = be16toh(index);
    if (service->issued == NULL || index >= MCP_MAX_STATES)
        return false;
    slot = &service->issued[index];
    if (!slot->is_out || !secret_bytes_eq(slot->nonce, header + 3, MCP_NONCE_BYTES))
        return false;
    slot->is_out = false;
    return true;
}

/* The body has our MAC, so it is as we wrote it; it is parsed as if it were not. */
static int read_body(struct mcp_call *call, struct str body, struct mcp_asking **out_asking)
{
    struct arena *arena = &call->message->arena;
    size_t count = (unsigned char)body.ptr[HEADER_BYTES - 1];
    struct mcp_asking *asking =
        arena_alloc(arena, sizeof(*asking) + count * sizeof(asking->asked[0]));
    char *copy = arena_copy(arena, body);
    struct str rest;

    if (asking == NULL || copy == NULL)
        return arena->error;
    rest = (struct str){copy + HEADER_BYTES, body.len - HEADER_BYTES};
    *asking = (struct mcp_asking){
        .call = call,
        .number = (unsigned char)copy[HEADER_BYTES - 2],
        .count = count,
    };
    list_init(&asking->link);
    for (size_t i = 0; i < count; i++) {
        size_t kind = rest.len >= 2 ? (unsigned char)rest.ptr[0] : MCP_ASKS;
        size_t len = rest.len >= 2 ? (unsigned char)rest.ptr[1] : 0;

        if (kind >= MCP_ASKS || rest.len - 2 < len)
            return ERR_STATE_INVALID;
        asking->asked[i] = (struct mcp_asked){
            .call = call,
            .kind = (enum mcp_asks)kind,
            .key = str_slice(rest, 2, len),
        };
        rest = str_slice(rest, 2 + len, SIZE_MAX);
    }
    asking->state = rest;
    *out_asking = asking;
    return 0;
}

int mcp_state_redeem(struct mcp_session *session, struct mcp_call *call, struct str text,
                     struct mcp_asking **out_asking, struct err *err)
{
    struct mcp_service *service = session->service;
    cleanup_buf struct buf bytes = BUF_INIT(LARGEST_TEXT_BYTES);
    unsigned char mac[SHA256_BYTES];
    struct str body;
    uint64_t due;
    bool is_out;
    int r;

    if (text.len > LARGEST_TEXT_BYTES || base64_decode(&bytes, text) < 0 ||
        bytes.len < HEADER_BYTES + SHA256_BYTES)
        return refuse(err, ERR_STATE_INVALID);
    body = str_slice(buf_view(&bytes), 0, bytes.len - SHA256_BYTES);
    sign(session, call, body, mac);
    if (!secret_bytes_eq(mac, body.ptr + body.len, SHA256_BYTES) || body.ptr[0] != STATE_VERSION)
        return refuse(err, ERR_STATE_INVALID);
    is_out = take_nonce(service, body.ptr);
    memcpy(&due, body.ptr + 3 + MCP_NONCE_BYTES, sizeof(due));
    if ((int64_t)be64toh(due) <= clock_monotonic_ms(service->clock))
        return refuse(err, ERR_STATE_EXPIRED);
    if (!is_out)
        return refuse(err, ERR_STATE_USED);
    r = read_body(call, body, out_asking);
    return r < 0 ? refuse(err, r) : 0;
}
