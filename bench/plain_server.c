/* SPDX-License-Identifier: Apache-2.0 */
#include "plain_server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PIECE_BYTES = 256 << 10, HEAD_BYTES = 4096 };

static char piece[PIECE_BYTES];

static void put(int fd, const char *bytes, size_t len)
{
    while (len > 0) {
        ssize_t done = write(fd, bytes, len);

        if (done <= 0)
            _exit(1);
        bytes += done;
        len -= (size_t)done;
    }
}

static void receive(int client, const char *path, size_t length, const char *first,
                    size_t first_len)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    if (fd < 0)
        _exit(1);
    put(fd, first, first_len);
    for (size_t left = length - first_len; left > 0;) {
        ssize_t got = read(client, piece, left < sizeof(piece) ? left : sizeof(piece));

        if (got <= 0)
            _exit(1);
        put(fd, piece, (size_t)got);
        left -= (size_t)got;
    }
    close(fd);
    snprintf(piece, sizeof(piece), "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    put(client, piece, strlen(piece));
}

static void give(int client, const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat about;
    ssize_t got;

    if (fd < 0 || fstat(fd, &about) < 0)
        _exit(1);
    snprintf(piece, sizeof(piece), "HTTP/1.1 200 OK\r\nContent-Length: %lld\r\n\r\n",
             (long long)about.st_size);
    put(client, piece, strlen(piece));
    while ((got = read(fd, piece, sizeof(piece))) > 0)
        put(client, piece, (size_t)got);
    close(fd);
}

/* One request; 0 at the end of the connection. */
static int serve(int client, const char *path)
{
    char head[HEAD_BYTES + 1];
    size_t len = 0;
    const char *end = NULL;
    const char *length;

    while (end == NULL && len < HEAD_BYTES) {
        ssize_t got = read(client, head + len, HEAD_BYTES - len);

        if (got <= 0)
            return 0;
        len += (size_t)got;
        head[len] = '\0';
        end = strstr(head, "\r\n\r\n");
    }
    if (end == NULL)
        _exit(1);
    end += 4;
    length = strstr(head, "Content-Length: ");
    if (strncmp(head, "GET ", 4) == 0)
        give(client, path);
    else
        receive(client, path,
                length != NULL ? strtoull(length + strlen("Content-Length: "), NULL, 10) : 0, end,
                len - (size_t)(end - head));
    return 1;
}

pid_t plain_server_start(const char *folder, unsigned short *out_port)
{
    struct sockaddr_in here = {.sin_family = AF_INET};
    socklen_t size = sizeof(here);
    char path[4096];
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int on = 1;
    pid_t pid;

    here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    snprintf(path, sizeof(path), "%s/plain", folder);
    if (listener < 0 || bind(listener, (struct sockaddr *)&here, sizeof(here)) < 0 ||
        listen(listener, 1) < 0 || getsockname(listener, (struct sockaddr *)&here, &size) < 0)
        return -1;
    *out_port = ntohs(here.sin_port);
    pid = fork();
    if (pid != 0) {
        close(listener);
        return pid;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) {
        int client = accept(listener, NULL, NULL);

        if (client < 0)
            _exit(1);
        setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
        while (serve(client, path) > 0)
            ;
        close(client);
    }
}
