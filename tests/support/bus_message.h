/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of D-Bus that are never sent: on a connection to nobody. */
#ifndef TESTS_SUPPORT_BUS_MESSAGE_H
#define TESTS_SUPPORT_BUS_MESSAGE_H

#include <stdlib.h>
#include <sys/socket.h>
#include <systemd/sd-bus.h>
#include <unistd.h>

static sd_bus *bus_message_bus;
static int bus_message_peer = -1;

/* 0, or negative. */
static inline int bus_message_open(void)
{
    int ends[2];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) < 0)
        return -1;
    bus_message_peer = ends[1];
    if (sd_bus_new(&bus_message_bus) < 0 || sd_bus_set_fd(bus_message_bus, ends[0], ends[0]) < 0)
        return -1;
    return sd_bus_start(bus_message_bus);
}

static inline void bus_message_close(void)
{
    bus_message_bus = sd_bus_close_unref(bus_message_bus);
    close(bus_message_peer);
}

static inline sd_bus_message *bus_message_new(void)
{
    sd_bus_message *message = NULL;

    if (sd_bus_message_new_signal(bus_message_bus, &message, "/a", "a.b", "Response") < 0)
        abort();
    return message;
}

#endif
