/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the desktop portal answers to a request: a number and a table of named values. It comes from
 * another process, so types, counts and ranges are checked, and what we do not know is skipped.
 */
#ifndef SCREEN_PORTALRESULTS_H
#define SCREEN_PORTALRESULTS_H

#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-bus.h>

#include "base/err.h"
#include "screen/backend.h"

enum { PORTALRESULTS_PATH_BYTES = 256, PORTALRESULTS_TOKEN_BYTES = 512 };

/* How the request ended. */
enum { PORTALRESULTS_DONE, PORTALRESULTS_REFUSED };

/* A monitor: where it is, in logical places, and the PipeWire node with its pictures. */
struct portalresults_stream {
    uint32_t node;
    bool has_position;
    bool has_size;
    struct screen_area area;
};

struct portalresults {
    uint32_t end;
    char session[PORTALRESULTS_PATH_BYTES]; /* "": none */
    uint32_t devices;                       /* those that the user granted */
    char token[PORTALRESULTS_TOKEN_BYTES];  /* to get the same again without a question; "": none */
    struct portalresults_stream streams[SCREEN_MAX_MONITORS];
    int stream_count;
};

/* ERR_INVALID_ARGUMENT: not what the interface says. Reads the message from its start. */
int portalresults_read(sd_bus_message *message, struct portalresults *out_results, struct err *err);

#endif
