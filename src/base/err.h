/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every error of the product, in one table: its name in protocols, its text for people, whether a
 * rule or the machine refused, and its HTTP status and JSON-RPC code (MCP clients take -32001 for a
 * timeout; -32010 is ours for everything without a code of its own). Upper layers add rows, never
 * tables.
 *
 * Functions that can fail return 0 or one of these negative codes. If a caller needs a message, the
 * last parameter is a struct err, which may be NULL.
 */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#include <stddef.h>

enum err_category {
    /* A rule refused, and will refuse the same request again. */
    ERR_POLICY,
    /* The machine failed; the same request may succeed another time. */
    ERR_OPERATIONAL,
};

/* clang-format off */
/*      code                    name on the wire       category     HTTP  JSON-RPC  text */
#define ERR_TABLE(X) \
    X(ERR_INTERNAL,            "internal",            OPERATIONAL, 500, -32603, "internal error") \
    X(ERR_NO_MEMORY,           "no_memory",           OPERATIONAL, 503, -32603, "out of memory") \
    X(ERR_IO,                  "io",                  OPERATIONAL, 500, -32603, "I/O error") \
    X(ERR_TIMED_OUT,           "timed_out",           OPERATIONAL, 504, -32001, "timed out") \
    X(ERR_CANCELLED,           "cancelled",           OPERATIONAL, 499, -32010, "cancelled") \
    X(ERR_BUSY,                "busy",                OPERATIONAL, 503, -32010, "too many requests are waiting; try again later") \
    X(ERR_WORKERS_LOST,        "workers_lost",        OPERATIONAL, 503, -32010, "too many workers hang in the kernel; restart gatehouse") \
    X(ERR_UNSUPPORTED,         "unsupported",         OPERATIONAL, 501, -32010, "not supported on this machine") \
    X(ERR_NOT_FOUND,           "not_found",           OPERATIONAL, 404, -32010, "not found") \
    X(ERR_ALREADY_EXISTS,      "already_exists",      OPERATIONAL, 409, -32010, "already exists") \
    X(ERR_PERMISSION_DENIED,   "permission_denied",   OPERATIONAL, 403, -32010, "permission denied by the system") \
    X(ERR_NO_SPACE,            "no_space",            OPERATIONAL, 507, -32010, "no space left on the device") \
    X(ERR_TOO_MANY_FILES,      "too_many_files",      OPERATIONAL, 503, -32010, "too many open files") \
    X(ERR_CROSS_DEVICE,        "cross_device",        OPERATIONAL, 500, -32010, "on another file system") \
    X(ERR_NOT_A_DIRECTORY,     "not_a_directory",     OPERATIONAL, 409, -32010, "not a directory") \
    X(ERR_NOT_EMPTY,           "not_empty",           OPERATIONAL, 409, -32010, "directory is not empty") \
    X(ERR_AUDIT_UNAVAILABLE,   "audit_unavailable",   OPERATIONAL, 503, -32010, "the audit log could not be written, so nothing was changed") \
    X(ERR_INVALID_PATH,        "invalid_path",        POLICY,      400, -32602, "not a valid path") \
    X(ERR_PATH_OUTSIDE_ROOT,   "path_outside_root",   POLICY,      403, -32602, "outside the root") \
    X(ERR_SYMLINK_REJECTED,    "symlink_rejected",    POLICY,      403, -32602, "symbolic links are not followed here") \
    X(ERR_HARDLINK_REJECTED,   "hardlink_rejected",   POLICY,      403, -32602, "the file has other hard links") \
    X(ERR_NOT_REGULAR_FILE,    "not_regular_file",    POLICY,      403, -32602, "not a regular file") \
    X(ERR_CROSSES_MOUNT,       "crosses_mount",       POLICY,      403, -32602, "another file system is mounted there") \
    X(ERR_ROOT_PROTECTED,      "root_protected",      POLICY,      403, -32602, "the root itself cannot be moved or removed") \
    X(ERR_DENIED_BY_POLICY,    "denied_by_policy",    POLICY,      403, -32010, "denied") \
    X(ERR_ASK_UNAVAILABLE,     "ask_unavailable",     POLICY,      403, -32010, "there is nobody to ask for permission") \
    X(ERR_ACCESS_MISSING,      "access_missing",      POLICY,      403, -32010, "this access was not granted") \
    X(ERR_GRANT_EXPIRED,       "grant_expired",       POLICY,      403, -32010, "the grant has expired") \
    X(ERR_GRANT_REVOKED,       "grant_revoked",       POLICY,      403, -32010, "the grant was revoked") \
    X(ERR_ARCHIVE_FORMAT,      "archive_format",      POLICY,      400, -32602, "not a readable archive") \
    X(ERR_ARCHIVE_ENTRY_PATH,  "archive_entry_path",  POLICY,      400, -32602, "the archive has a path that leads outside or appears twice") \
    X(ERR_ARCHIVE_ENTRY_LINK,  "archive_entry_link",  POLICY,      400, -32602, "the archive contains a link") \
    X(ERR_ARCHIVE_ENTRY_TYPE,  "archive_entry_type",  POLICY,      400, -32602, "the archive contains something other than files and directories") \
    X(ERR_ARCHIVE_BYTES,       "archive_limit_bytes", POLICY,      413, -32602, "the archive has too much content") \
    X(ERR_ARCHIVE_ENTRIES,     "archive_limit_entries", POLICY,    413, -32602, "the archive has too many entries") \
    X(ERR_ARCHIVE_RATIO,       "archive_limit_ratio", POLICY,      413, -32602, "the archive unpacks to far more than its size") \
    X(ERR_ARCHIVE_DEPTH,       "archive_limit_depth", POLICY,      413, -32602, "the archive is nested too deeply") \
    X(ERR_MEDIA_FORMAT,        "media_format",        POLICY,      422, -32602, "not a readable image or document of this kind") \
    X(ERR_MEDIA_LIMIT,         "media_limit",         POLICY,      422, -32602, "the image or document takes too much memory or time") \
    X(ERR_TOO_LARGE,           "too_large",           POLICY,      413, -32602, "larger than the limit") \
    X(ERR_INVALID_ARGUMENT,    "invalid_argument",    POLICY,      400, -32602, "invalid argument") \
    X(ERR_INVALID_UTF8,        "invalid_utf8",        POLICY,      400, -32700, "not valid UTF-8") \
    X(ERR_INVALID_JSON,        "invalid_json",        POLICY,      400, -32700, "not valid JSON") \
    X(ERR_JSON_DEPTH,          "json_depth",          POLICY,      400, -32700, "JSON nested too deeply") \
    X(ERR_JSON_DUPLICATE_KEY,  "json_duplicate_key",  POLICY,      400, -32700, "duplicate key in a JSON object") \
    X(ERR_SCHEMA_UNSUPPORTED,  "schema_unsupported",  POLICY,      400, -32602, "the schema uses an unsupported feature") \
    X(ERR_SCHEMA_MISMATCH,     "schema_mismatch",     POLICY,      400, -32602, "does not match the schema") \
    X(ERR_PATTERN_COST,        "pattern_cost",        OPERATIONAL, 400, -32602, "the pattern takes too many steps on a line; simplify it") \
    X(ERR_HTTP_SYNTAX,         "http_syntax",         POLICY,      400, -32600, "malformed HTTP request") \
    X(ERR_HTTP_HOST,           "http_host",           POLICY,      400, -32600, "the request has no Host header, or several") \
    X(ERR_HTTP_FRAMING,        "http_framing",        POLICY,      400, -32600, "the length of the request body is ambiguous") \
    X(ERR_HTTP_PATH,           "http_path",           POLICY,      400, -32600, "the path is ambiguous") \
    X(ERR_HTTP_TARGET_LENGTH,  "http_target_length",  POLICY,      414, -32600, "the first line of the request is too long") \
    X(ERR_HTTP_HEAD_LENGTH,    "http_head_length",    POLICY,      431, -32600, "the request has too many or too long headers") \
    X(ERR_HTTP_EXPECTATION,    "http_expectation",    POLICY,      417, -32600, "unknown Expect header in the request") \
    X(ERR_HTTP_METHOD,         "http_method",         POLICY,      501, -32600, "unsupported HTTP method") \
    X(ERR_HTTP_CODING,         "http_coding",         POLICY,      501, -32600, "unsupported transfer coding") \
    X(ERR_HTTP_VERSION,        "http_version",        POLICY,      505, -32600, "only HTTP/1.0 and HTTP/1.1 are supported") \
    X(ERR_HTTP_SLOW,           "http_slow",           OPERATIONAL, 408, -32001, "the request arrived too slowly") \
    X(ERR_HTTP_ANSWER,         "http_answer",         OPERATIONAL, 502, -32010, "malformed HTTP response from the server") \
    X(ERR_HTTP_REDIRECT,       "http_redirect",       POLICY,      502, -32010, "the server redirects, and redirects are not followed") \
    X(ERR_HOST_UNKNOWN,        "host_unknown",        OPERATIONAL, 502, -32010, "unknown host name") \
    X(ERR_UNREACHABLE,         "unreachable",         OPERATIONAL, 502, -32010, "no response from this address") \
    X(ERR_CONNECTION_LOST,     "connection_lost",     OPERATIONAL, 502, -32010, "the connection was closed too early") \
    X(ERR_PROXY,               "proxy",               OPERATIONAL, 502, -32010, "the proxy does not connect") \
    X(ERR_SERVER_DENIED,       "server_denied",       POLICY,      403, -32010, "connections to this server are not allowed") \
    X(ERR_ORIGIN_DENIED,       "origin_denied",       POLICY,      403, -32010, "requests from this origin are not allowed") \
    X(ERR_HOST_DENIED,         "host_denied",         POLICY,      403, -32010, "requests for this host name are not allowed") \
    X(ERR_UNAUTHORIZED,        "unauthorized",        POLICY,      401, -32010, "a valid key is required") \
    X(ERR_RATE_LIMITED,        "rate_limited",        POLICY,      429, -32010, "too many attempts; try again later") \
    X(ERR_SCOPE_MISSING,       "scope_missing",       POLICY,      403, -32010, "the key does not allow this") \
    X(ERR_SESSION_OVER,        "session_over",        OPERATIONAL, 404, -32001, "the session no longer exists") \
    X(ERR_INVALID_REQUEST,     "invalid_request",     POLICY,      400, -32600, "invalid request") \
    X(ERR_TLS_UNTRUSTED,       "tls_untrusted",       POLICY,      502, -32010, "the certificate is not signed by a trusted authority") \
    X(ERR_TLS_WRONG_HOST,      "tls_wrong_host",      POLICY,      502, -32010, "the certificate is for another host") \
    X(ERR_TLS_EXPIRED,         "tls_expired",         POLICY,      502, -32010, "the certificate has expired or is not valid yet") \
    X(ERR_TLS_CERTIFICATE,     "tls_certificate",     POLICY,      502, -32010, "the certificate is not acceptable") \
    X(ERR_TLS_VERSION,         "tls_version",         POLICY,      502, -32010, "no common TLS version") \
    X(ERR_TLS_HANDSHAKE,       "tls_handshake",       OPERATIONAL, 502, -32010, "the TLS handshake failed") \
    X(ERR_TLS_BROKEN,          "tls_broken",          OPERATIONAL, 502, -32010, "the TLS connection is corrupt") \
    X(ERR_TLS_TRUNCATED,       "tls_truncated",       OPERATIONAL, 502, -32010, "the TLS connection was closed without notice; data may be missing") \
    X(ERR_HOST_KEY,            "host_key",            POLICY,      502, -32010, "the server's host key is not among the known ones") \
    X(ERR_LOGIN_REFUSED,       "login_refused",       OPERATIONAL, 502, -32010, "the server refused the login") \
    X(ERR_TRANSFER_FAILED,     "transfer_failed",     OPERATIONAL, 502, -32010, "the server did not carry out the transfer") \
    X(ERR_WS_HANDSHAKE,        "websocket_handshake", POLICY,      400, -32010, "not a WebSocket handshake") \
    X(ERR_WS_VERSION,          "websocket_version",   POLICY,      426, -32010, "unsupported WebSocket version; use 13") \
    X(ERR_WS_PROTOCOL,         "websocket_protocol",  POLICY,      400, -32010, "WebSocket protocol error") \
    X(ERR_WS_CLOSED,           "websocket_closed",    OPERATIONAL, 410, -32010, "the WebSocket was closed") \
    X(ERR_GATEWAY_DENIED,      "gateway_denied",      POLICY,      403, -32010, "the server rejected the key; a new pairing token is needed") \
    X(ERR_GATEWAY_MISSING,     "gateway_missing",     OPERATIONAL, 502, -32010, "no gateway at this address") \
    X(ERR_GATEWAY_STATUS,      "gateway_status",      OPERATIONAL, 502, -32010, "the server returned an error") \
    X(ERR_GATEWAY_ANSWER,      "gateway_answer",      OPERATIONAL, 502, -32010, "the server's response is not that of a gateway") \
    X(ERR_UNKNOWN_OPTION,      "unknown_option",      POLICY,      400, -32602, "unknown option") \
    X(ERR_INVALID_OPTION,      "invalid_option",      POLICY,      400, -32602, "invalid option value") \
    X(ERR_SETTINGS,            "settings_malformed",  POLICY,      500, -32010, "the settings are malformed") \
    X(ERR_CLIENT_CAPABILITY,   "client_capability",   POLICY,      400, -32010, "the client does not support a required capability") \
    X(ERR_TOOL_FAILED,         "tool_failed",         OPERATIONAL, 500, -32010, "the tool failed; see its result") \
    X(ERR_ASK_FAILED,          "ask_failed",          OPERATIONAL, 502, -32010, "the client failed to answer") \
    X(ERR_STATE_INVALID,       "state_invalid",       POLICY,      400, -32602, "the request state does not belong to this request") \
    X(ERR_STATE_EXPIRED,       "state_expired",       POLICY,      400, -32602, "the request state has expired: start over") \
    X(ERR_STATE_USED,          "state_used",          POLICY,      400, -32602, "the request state was already used or dropped: start over") \
    X(ERR_HEADER_MISMATCH,     "header_mismatch",     POLICY,      400, -32600, "a header contradicts the message")
/* clang-format on */

enum err_index {
#define X(code, name, category, http, rpc, text) code##_INDEX,
    ERR_TABLE(X)
#undef X
        ERR_COUNT
};

enum err_code {
#define X(code, name, category, http, rpc, text) code = -(code##_INDEX + 1),
    ERR_TABLE(X)
#undef X
};

enum { ERR_MESSAGE_BYTES = 256, ERR_FIELD_BYTES = 128 };

struct err {
    int code;
    /* What happened, for a person; complete on its own, no trailing newline. */
    char message[ERR_MESSAGE_BYTES];
    /* The path, field or option it is about; or empty. */
    char field[ERR_FIELD_BYTES];
};

#define ERR_INIT                                                                                   \
    {                                                                                              \
        .code = 0                                                                                  \
    }

/*
 * Both fill err if it is not NULL, and return the code for `return err_set(...)`. Message and field
 * are cut to their size and always valid UTF-8: a character cut at the end is dropped, any other
 * invalid byte becomes a '?'.
 *
 * Cold: the compiler puts the branches that lead to them apart, so that what runs at every call
 * needs less of the processor's cache.
 */
int err_set(struct err *err, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4), cold));
int err_set_field(struct err *err, int code, const char *field, const char *format, ...)
    __attribute__((format(printf, 4, 5), cold));

/* Uses the code's own text as the message. */
int err_set_plain(struct err *err, int code) __attribute__((cold));

const char *err_name(int code);
const char *err_text(int code);
enum err_category err_category(int code);
const char *err_category_name(enum err_category category);
int err_http_status(int code);
int err_rpc_code(int code);

/* The code with this name; ERR_INTERNAL if there is none. The name need not be NUL-terminated. */
int err_from_name(const char *name, size_t len);

/* The code for an errno value: ENOSPC is ERR_NO_SPACE; values without a row are ERR_IO. */
int err_from_errno(int errno_value) __attribute__((cold));

/* "No such file or directory" for an errno value; never NULL, thread-safe. */
const char *err_errno_text(int errno_value);

#endif
