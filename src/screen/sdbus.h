/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of libsystemd's D-Bus client that we call, loaded when a session bus is looked for:
 * a process that uses another display does not pay for it.
 */
#ifndef SCREEN_SDBUS_H
#define SCREEN_SDBUS_H

#include <stdbool.h>
#include <systemd/sd-bus.h>

#define SDBUS_LIBRARY "libsystemd.so.0"

#define SDBUS_FUNCTIONS(X)                                                                         \
    X(sd_bus_add_match)                                                                            \
    X(sd_bus_call)                                                                                 \
    X(sd_bus_close_unref)                                                                          \
    X(sd_bus_error_free)                                                                           \
    X(sd_bus_get_fd)                                                                               \
    X(sd_bus_get_unique_name)                                                                      \
    X(sd_bus_is_ready)                                                                             \
    X(sd_bus_message_append)                                                                       \
    X(sd_bus_message_at_end)                                                                       \
    X(sd_bus_message_close_container)                                                              \
    X(sd_bus_message_enter_container)                                                              \
    X(sd_bus_message_exit_container)                                                               \
    X(sd_bus_message_get_path)                                                                     \
    X(sd_bus_message_get_sender)                                                                   \
    X(sd_bus_message_get_signature)                                                                \
    X(sd_bus_message_new_method_call)                                                              \
    X(sd_bus_message_open_container)                                                               \
    X(sd_bus_message_peek_type)                                                                    \
    X(sd_bus_message_read)                                                                         \
    X(sd_bus_message_rewind)                                                                       \
    X(sd_bus_message_skip)                                                                         \
    X(sd_bus_message_unref)                                                                        \
    X(sd_bus_open_user)                                                                            \
    X(sd_bus_process)

struct sdbus {
#define X(name) __typeof__(name) *name;
    SDBUS_FUNCTIONS(X)
#undef X
};

extern struct sdbus sdbus;

/* False: the library is not there, or lacks something. */
bool sdbus_load(void);

#endif
