/* SPDX-License-Identifier: Apache-2.0 */
#include "transfer/ftp.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/library.h"

#define LIBRARY       "libcurl.so.4"
#define LIBRARY_OTHER "libcurl-gnutls.so.4"

enum {
    TIMEOUT_S = 40,
    ANSWER_S = 20,
    URL_BYTES = 4 * TRANSFER_PATH_BYTES,
    BUFFER_BYTES = 64 << 10,
    PASSWORD_BYTES = 1024
};

/* Of libcurl's interface: numbers that do not change. */
enum {
    OPT_WRITEDATA = 10001,
    OPT_URL = 10002,
    OPT_PROXY = 10004,
    OPT_READDATA = 10009,
    OPT_WRITEFUNCTION = 20011,
    OPT_READFUNCTION = 20012,
    OPT_TIMEOUT = 13,
    OPT_UPLOAD = 46,
    OPT_DIRLISTONLY = 48,
    OPT_CONNECTTIMEOUT = 78,
    OPT_BUFFERSIZE = 98,
    OPT_NOSIGNAL = 99,
    OPT_SERVER_RESPONSE_TIMEOUT = 112,
    OPT_INFILESIZE_LARGE = 30115,
    OPT_FTP_SKIP_PASV_IP = 137,
    OPT_FTP_FILEMETHOD = 138,
    OPT_SOCKOPTFUNCTION = 20148,
    OPT_OPENSOCKETFUNCTION = 20163,
    OPT_OPENSOCKETDATA = 10164,
    OPT_USERNAME = 10173,
    OPT_PASSWORD = 10174,
    OPT_PROTOCOLS = 181,
};
enum { PROTOCOL_FTP = 1 << 2, METHOD_SINGLE_CWD = 3, GLOBAL_DEFAULT = 3, ALREADY_CONNECTED = 2 };
enum {
    CODE_OK = 0,
    CODE_CANNOT_CONNECT = 7,
    CODE_ACCESS_DENIED = 9,
    CODE_PARTIAL = 18,
    CODE_CANNOT_RETRIEVE = 19,
    CODE_UPLOAD_FAILED = 25,
    CODE_TIMED_OUT = 28,
    CODE_SEND_ERROR = 55,
    CODE_RECEIVE_ERROR = 56,
    CODE_LOGIN_DENIED = 67,
    CODE_FILE_NOT_FOUND = 78,
};
#define BAD_SOCKET (-1)

/* As libcurl declares it; the address is as long as it says. */
struct curl_address {
    int family;
    int type;
    int protocol;
    unsigned len;
    struct sockaddr address;
};

static struct {
    int (*curl_global_init)(long flags);
    void *(*curl_easy_init)(void);
    int (*curl_easy_setopt)(void *handle, int option, ...);
    int (*curl_easy_perform)(void *handle);
} library;

#define FUNCTIONS(X)                                                                               \
    X(curl_global_init)                                                                            \
    X(curl_easy_init)                                                                              \
    X(curl_easy_setopt)                                                                            \
    X(curl_easy_perform)

int ftp_open(struct err *err)
{
    void *handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);

    if (handle == NULL)
        handle = dlopen(LIBRARY_OTHER, RTLD_NOW | RTLD_LOCAL);
    if (!LIBRARY_FIND(handle, FUNCTIONS) || library.curl_global_init(GLOBAL_DEFAULT) != CODE_OK)
        return err_set(err, ERR_UNSUPPORTED, "transfers by FTP need libcurl (package libcurl4)");
    return 0;
}

/* ---- one transfer ---- */

struct transfer {
    const struct transfer_route *route;
    int dialer;
    struct buf *space;
    size_t max_bytes;
    bool is_too_large;
    struct str left; /* of what is sent */
};

static size_t on_received(char *bytes, size_t size, size_t count, void *data)
{
    struct transfer *transfer = data;
    size_t len = size * count;

    if (len > transfer->max_bytes - transfer->space->len ||
        buf_append(transfer->space, bytes, len) < 0) {
        transfer->is_too_large = true;
        return 0; /* ends it */
    }
    return len;
}

static size_t on_wanted(char *bytes, size_t size, size_t count, void *data)
{
    struct transfer *transfer = data;
    size_t len = transfer->left.len < size * count ? transfer->left.len : size * count;

    memcpy(bytes, transfer->left.ptr, len);
    transfer->left = str_slice(transfer->left, len, transfer->left.len);
    return len;
}

static const void *ip_of(const struct sockaddr_storage *address, size_t *out_len)
{
    /* SAFETY: the storage is large enough for either, and the family says which it is. */
    if (address->ss_family == AF_INET) {
        *out_len = sizeof(struct in_addr);
        return &((const struct sockaddr_in *)address)->sin_addr;
    }
    *out_len = sizeof(struct in6_addr);
    return &((const struct sockaddr_in6 *)address)->sin6_addr;
}

/* The server may name another address for data: there is no way to it. */
static int on_socket(void *data, int purpose, struct curl_address *wanted)
{
    const struct transfer *transfer = data;
    struct sockaddr_storage address = {0};
    size_t len;
    size_t wanted_len;
    const void *ours = ip_of(&transfer->route->address, &len);
    const void *theirs;

    (void)purpose;
    if (wanted->len > sizeof(address))
        return BAD_SOCKET;
    memcpy(&address, &wanted->address, wanted->len);
    if (address.ss_family != transfer->route->address.ss_family)
        return BAD_SOCKET;
    theirs = ip_of(&address, &wanted_len);
    if (memcmp(ours, theirs, len) != 0)
        return BAD_SOCKET;
    /* SAFETY: the port is at the same place in addresses of both families. */
    return route_dial(transfer->dialer,
                      ntohs(((const struct sockaddr_in *)(const void *)&address)->sin_port));
}

static int on_socket_made(void *data, int fd, int purpose)
{
    (void)data;
    (void)fd;
    (void)purpose;
    return ALREADY_CONNECTED;
}

/* With the address instead of the name, so that nothing is resolved again. */
static bool write_url(const struct transfer_request *request, const struct transfer_route *route,
                      char out_url[URL_BYTES])
{
    char host[NI_MAXHOST];
    bool is_six = route->address.ss_family == AF_INET6;
    size_t at;

    /* SAFETY: the storage holds an address of this length. */
    if (getnameinfo((const struct sockaddr *)&route->address, route->address_len, host,
                    sizeof(host), NULL, 0, NI_NUMERICHOST) != 0)
        return false;
    at = (size_t)snprintf(out_url, URL_BYTES, is_six ? "ftp://[%s]:%u/" : "ftp://%s:%u/", host,
                          (unsigned)request->port);
    for (size_t i = 0; i < request->target.len; i++) {
        unsigned char c = (unsigned char)request->target.ptr[i];
        bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                        (c >= '0' && c <= '9') || c == '/' || c == '-' || c == '_' || c == '.';

        if (at + 4 >= URL_BYTES)
            return false;
        at += (size_t)snprintf(out_url + at, URL_BYTES - at, is_plain ? "%c" : "%%%02X", c);
    }
    /* Of a directory; it may stand there already. */
    if (request->operation == TRANSFER_LIST && out_url[at - 1] != '/')
        snprintf(out_url + at, URL_BYTES - at, "/");
    return true;
}

static int judge(const struct transfer *transfer, int code, struct err *err)
{
    if (transfer->is_too_large)
        return err_set(err, ERR_TOO_LARGE, "the server sends more than the limit");
    switch (code) {
    case CODE_OK:
        return 0;
    case CODE_CANNOT_CONNECT:
        return err_set(err, ERR_UNREACHABLE, "no connection to the server for this");
    case CODE_ACCESS_DENIED:
    case CODE_CANNOT_RETRIEVE:
    case CODE_FILE_NOT_FOUND:
        return err_set(err, ERR_NOT_FOUND, "the server has no such file, or does not show it");
    case CODE_UPLOAD_FAILED:
        return err_set(err, ERR_PERMISSION_DENIED, "the server does not take this file");
    case CODE_TIMED_OUT:
        return err_set(err, ERR_TIMED_OUT, "the server takes too long");
    case CODE_LOGIN_DENIED:
        return err_set_plain(err, ERR_LOGIN_REFUSED);
    case CODE_PARTIAL:
    case CODE_SEND_ERROR:
    case CODE_RECEIVE_ERROR:
        return err_set(err, ERR_CONNECTION_LOST, "the server closed the connection too early");
    default:
        return err_set(err, ERR_TRANSFER_FAILED, "the transfer failed (libcurl: %d)", code);
    }
}

/* Lines of names, some with the directory before them. */
static void split_names(struct str text, struct buf *entries, struct transfer_answer *out_answer)
{
    size_t starts[TRANSFER_MAX_ENTRIES + 1] = {0};
    struct str line;

    while (str_cut(&text, '\n', &line)) {
        const char *slash;
        struct transfer_entry entry = {.kind = '?', .size = TRANSFER_UNKNOWN_SIZE};

        line = str_trim(line);
        slash = line.len > 0 ? memrchr(line.ptr, '/', line.len) : NULL;
        entry.name =
            slash == NULL ? line : str_slice(line, (size_t)(slash - line.ptr) + 1, line.len);
        if (entry.name.len == 0 || str_eq_c(entry.name, ".") || str_eq_c(entry.name, ".."))
            continue;
        if (out_answer->output_count == TRANSFER_MAX_ENTRIES) {
            out_answer->status = 1;
            break;
        }
        starts[out_answer->output_count] = entries->len;
        if (transfer_write_entry(&entry, entries) < 0)
            break;
        out_answer->output_count++;
    }
    starts[out_answer->output_count] = entries->len;
    for (size_t i = 0; i < out_answer->output_count; i++)
        out_answer->outputs[i] = (struct str){entries->data + starts[i], starts[i + 1] - starts[i]};
}

static void set_login(void *curl, const struct credential *credential)
{
    char password[PASSWORD_BYTES];

    /* To send it; the library has its own copy. */
    snprintf(password, sizeof(password), "%.*s",
             STR_ARG(secret_text_reveal(&credential->password)));
    (void)library.curl_easy_setopt(curl, OPT_USERNAME, credential->user);
    (void)library.curl_easy_setopt(curl, OPT_PASSWORD, password);
    secret_wipe(password, sizeof(password));
}

static void set_options(void *curl, const struct transfer_request *request, const char *url,
                        struct transfer *transfer)
{
    int (*set)(void *, int, ...) = library.curl_easy_setopt;
    bool is_put = request->operation == TRANSFER_PUT;

    (void)set(curl, OPT_URL, url);
    (void)set(curl, OPT_PROTOCOLS, (long)PROTOCOL_FTP);
    (void)set(curl, OPT_PROXY, ""); /* none, whatever the environment says */
    (void)set(curl, OPT_NOSIGNAL, 1L);
    (void)set(curl, OPT_TIMEOUT, (long)TIMEOUT_S);
    (void)set(curl, OPT_CONNECTTIMEOUT, (long)ANSWER_S);
    (void)set(curl, OPT_SERVER_RESPONSE_TIMEOUT, (long)ANSWER_S);
    (void)set(curl, OPT_BUFFERSIZE, (long)BUFFER_BYTES);
    (void)set(curl, OPT_FTP_SKIP_PASV_IP, 1L);
    (void)set(curl, OPT_FTP_FILEMETHOD, (long)METHOD_SINGLE_CWD);
    (void)set(curl, OPT_OPENSOCKETFUNCTION, on_socket);
    (void)set(curl, OPT_OPENSOCKETDATA, transfer);
    (void)set(curl, OPT_SOCKOPTFUNCTION, on_socket_made);
    (void)set(curl, OPT_WRITEFUNCTION, on_received);
    (void)set(curl, OPT_WRITEDATA, transfer);
    (void)set(curl, OPT_READFUNCTION, on_wanted);
    (void)set(curl, OPT_READDATA, transfer);
    (void)set(curl, OPT_UPLOAD, is_put ? 1L : 0L);
    if (is_put)
        (void)set(curl, OPT_INFILESIZE_LARGE, (int64_t)request->content.len);
    (void)set(curl, OPT_DIRLISTONLY, request->operation == TRANSFER_LIST ? 1L : 0L);
}

int ftp_work(const struct transfer_request *request, const struct transfer_route *route,
             const struct credential *credential, int dialer, struct buf *space,
             struct transfer_answer *out_answer, struct err *err)
{
    cleanup_buf struct buf names = BUF_INIT(TRANSFER_MAX_BYTES);
    bool is_list = request->operation == TRANSFER_LIST;
    struct transfer transfer = {.route = route,
                                .dialer = dialer,
                                .space = is_list ? &names : space,
                                .max_bytes = request->max_bytes,
                                .left = request->content};
    static char url[URL_BYTES];
    void *curl = library.curl_easy_init();
    int r;

    if (curl == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    if (!write_url(request, route, url))
        return err_set(err, ERR_INVALID_ARGUMENT, "the path is too long");
    set_login(curl, credential);
    set_options(curl, request, url, &transfer);
    r = judge(&transfer, library.curl_easy_perform(curl), err);
    if (r == 0 && is_list)
        split_names(buf_view(&names), space, out_answer);
    if (r == 0 && request->operation == TRANSFER_GET)
        out_answer->outputs[out_answer->output_count++] = buf_view(space);
    return r; /* what the library has is left to the end of the process */
}
