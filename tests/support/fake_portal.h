/* SPDX-License-Identifier: Apache-2.0 */
/* The pictures of the fake portal: streams of a real PipeWire, linked to whoever asks for them. */
#ifndef TESTS_SUPPORT_FAKE_PORTAL_H
#define TESTS_SUPPORT_FAKE_PORTAL_H

#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-bus.h>

enum { FAKE_MAX_MONITORS = 4 };

struct fake_monitor {
    int width; /* in pixels */
    int height;
    int x;
    int y;
    int scale;
    unsigned colour; /* RRGGBB; its upper left quarter is white */
};

extern struct fake_monitor fake_monitors[FAKE_MAX_MONITORS];
extern int fake_video_count;
/* Before the start: the memory of pictures becomes shorter and longer again all the time. */
extern bool fake_video_shrinks;

/* `form`: "BGRx" or "RGBx". Waits until all streams have a number. */
bool fake_video_start(const char *socket, const char *form, char **monitors, int count);
int fake_video_fd(void);
void fake_video_hear(void);
uint32_t fake_video_node(const struct fake_monitor *monitor);
/* -1: no stream of ours */
int fake_video_index(uint32_t node);
/* A new connection to PipeWire, for somebody else. */
int fake_video_connect(const char *socket);

#endif
