/* SPDX-License-Identifier: Apache-2.0 */
#include "transfer/wire.h"

#include <string.h>

#include "ipc/bytes.h"

enum { REQUEST_STRINGS = 4, BITS = 8 };

/* Errors as one byte; what is not here is a failure. */
static const int codes[] = {
    0,
    ERR_INTERNAL,
    ERR_INVALID_ARGUMENT,
    ERR_UNSUPPORTED,
    ERR_NO_MEMORY,
    ERR_TOO_LARGE,
    ERR_TIMED_OUT,
    ERR_NOT_FOUND,
    ERR_PERMISSION_DENIED,
    ERR_ACCESS_MISSING,
    ERR_SERVER_DENIED,
    ERR_HOST_UNKNOWN,
    ERR_UNREACHABLE,
    ERR_CONNECTION_LOST,
    ERR_HOST_KEY,
    ERR_LOGIN_REFUSED,
    ERR_TRANSFER_FAILED,
};
enum { CODE_INTERNAL = 1 };

/* ---- requests ---- */

bool transfer_is_credential(struct str name)
{
    for (size_t i = 0; i < name.len; i++) {
        char c = name.ptr[i];

        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
              c == '-' || c == '_' || c == '.'))
            return false;
    }
    return name.len > 0 && name.len <= TRANSFER_MAX_CREDENTIAL_BYTES;
}

/* No control characters, which FTP would read as the next command. */
static bool is_path(struct str path)
{
    for (size_t i = 0; i < path.len; i++) {
        unsigned char c = (unsigned char)path.ptr[i];

        if (c < ' ' || c == 0x7f)
            return false;
    }
    return path.len <= TRANSFER_MAX_TARGET_BYTES;
}

static bool is_command(struct str command)
{
    return command.len > 0 && command.len <= TRANSFER_MAX_TARGET_BYTES &&
           memchr(command.ptr, '\0', command.len) == NULL;
}

/* The protocol that has the operation, and what comes with it. */
static bool is_valid(const struct transfer_request *request)
{
    bool is_exec = request->operation == TRANSFER_EXEC;

    if (request->operation == TRANSFER_PROBE)
        return request->host.len == 0 && request->target.len == 0 && request->credential.len == 0 &&
               request->content.len == 0;
    return is_exec == (request->protocol == TRANSFER_SSH) && transfer_is_host(request->host) &&
           request->port != 0 && transfer_is_credential(request->credential) &&
           (is_exec ? is_command(request->target) : is_path(request->target)) &&
           (request->operation == TRANSFER_PUT || request->content.len == 0);
}

int transfer_write_request(const struct transfer_request *request, struct buf *out)
{
    const char head[] = {(char)request->operation, (char)request->protocol,
                         (char)(unsigned char)(request->port & 0xff),
                         (char)(unsigned char)(request->port >> BITS)};
    const struct str strings[REQUEST_STRINGS] = {request->host, request->target,
                                                 request->credential, request->content};
    int r = buf_append(out, head, sizeof(head));

    if (r == 0)
        r = bytes_put_u32(out, request->max_bytes);
    return r == 0 ? bytes_put_strings(out, strings, REQUEST_STRINGS, TRANSFER_MAX_BYTES) : r;
}

int transfer_read_request(struct str bytes, struct transfer_request *out_request, struct err *err)
{
    struct bytes_rest rest = {.bytes = bytes};
    struct str strings[REQUEST_STRINGS] = {STR_EMPTY, STR_EMPTY, STR_EMPTY, STR_EMPTY};
    unsigned operation = bytes_take_u8(&rest);
    unsigned protocol = bytes_take_u8(&rest);
    unsigned low = bytes_take_u8(&rest);
    unsigned high = bytes_take_u8(&rest);
    uint32_t max_bytes = bytes_take_u32(&rest);

    bytes_take_strings(&rest, REQUEST_STRINGS, strings);
    if (rest.is_short || operation == 0 || operation >= TRANSFER_OPERATION_END || protocol == 0 ||
        protocol >= TRANSFER_PROTOCOL_END || max_bytes > TRANSFER_MAX_BYTES)
        return err_set(err, ERR_INVALID_ARGUMENT, "the request is not complete");
    *out_request = (struct transfer_request){.operation = (enum transfer_operation)operation,
                                             .protocol = (enum transfer_protocol)protocol,
                                             .port = (uint16_t)(low | high << BITS),
                                             .max_bytes = max_bytes,
                                             .host = strings[0],
                                             .target = strings[1],
                                             .credential = strings[2],
                                             .content = strings[3]};
    return is_valid(out_request)
               ? 0
               : err_set(err, ERR_INVALID_ARGUMENT, "the request has an unknown form");
}

/* ---- answers ---- */

static size_t code_of(int error)
{
    for (size_t i = 0; i < array_size(codes); i++)
        if (codes[i] == error)
            return i;
    return CODE_INTERNAL;
}

int transfer_write_answer(const struct transfer_answer *answer, struct buf *out)
{
    const uint32_t numbers[] = {(uint32_t)code_of(answer->code), answer->status,
                                (uint32_t)answer->output_count};
    int r = bytes_put_numbers(out, numbers, array_size(numbers));

    return r == 0
               ? bytes_put_strings(out, answer->outputs, answer->output_count, TRANSFER_MAX_BYTES)
               : r;
}

int transfer_write_error(const struct err *err, struct buf *out)
{
    struct transfer_answer answer = {.code = err->code, .output_count = 1};

    answer.outputs[0] = str_from(err->message);
    return transfer_write_answer(&answer, out);
}

int transfer_read_answer(struct str bytes, struct transfer_answer *out_answer, struct err *err)
{
    struct bytes_rest rest = {.bytes = bytes};
    uint32_t code = bytes_take_u32(&rest);

    *out_answer = (struct transfer_answer){.status = bytes_take_u32(&rest)};
    out_answer->output_count = bytes_take_u32(&rest);
    if (rest.is_short || code >= array_size(codes) ||
        out_answer->output_count > TRANSFER_MAX_OUTPUTS)
        return err_set(err, ERR_INTERNAL, "gatehouse-transfer sent an answer of an unknown form");
    bytes_take_strings(&rest, out_answer->output_count, out_answer->outputs);
    if (rest.is_short || (code != 0 && out_answer->output_count != 1))
        return err_set(err, ERR_INTERNAL, "gatehouse-transfer sent an answer that is not complete");
    out_answer->code = codes[code];
    return code == 0 ? 0 : err_set(err, codes[code], "%.*s", STR_ARG(out_answer->outputs[0]));
}

int transfer_write_entry(const struct transfer_entry *entry, struct buf *out)
{
    char head[TRANSFER_ENTRY_HEAD] = {entry->kind};
    int r;

    for (size_t i = 1; i < sizeof(head); i++)
        head[i] = (char)(unsigned char)(entry->size >> (BITS * (i - 1)));
    r = buf_append(out, head, sizeof(head));
    return r == 0 ? buf_append_str(out, entry->name) : r;
}

bool transfer_read_entry(struct str bytes, struct transfer_entry *out_entry)
{
    if (bytes.len <= TRANSFER_ENTRY_HEAD)
        return false;
    *out_entry = (struct transfer_entry){.kind = bytes.ptr[0],
                                         .name = str_slice(bytes, TRANSFER_ENTRY_HEAD, bytes.len)};
    for (size_t i = 1; i < TRANSFER_ENTRY_HEAD; i++)
        out_entry->size |= (uint64_t)(unsigned char)bytes.ptr[i] << (BITS * (i - 1));
    return true;
}
