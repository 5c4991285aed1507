/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The events of one execution as lines of JSON, numbered from 0, kept up to a limit:
 *
 *     {"seq":0,"type":"started","exec_id":"…"}
 *     {"seq":1,"type":"stdout","data":"hi\n"}
 *     {"seq":2,"type":"exit","exit_code":0,…}
 *
 * The events of an image's steps are lines of the same kind:
 *
 *     {"seq":0,"type":"step","step":1,"steps":2,"text":"RUN npm ci","cached":false}
 *     {"seq":9,"type":"image","image_id":"…"}
 *
 * A character that is split between two pieces of output stays whole. The API that we imitate ends
 * the output of each stream with a newline, invented if need be; so does this, unless it is asked
 * for the bytes as they are.
 */
#ifndef PROGRAMS_SANDBOXD_TRANSCRIPT_H
#define PROGRAMS_SANDBOXD_TRANSCRIPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

enum transcript_stream { TRANSCRIPT_STDOUT, TRANSCRIPT_STDERR, TRANSCRIPT_STREAMS };

struct transcript_event;

struct transcript {
    bool is_plain;  /* the first generation of the API: no numbers, no `started` */
    bool is_exact;  /* no newline is invented; an addition of ours to the API */
    bool is_base64; /* output as its bytes are, in base64; the same */
    bool is_over;   /* has its last event */
    int error;      /* ERR_NO_MEMORY: events were lost */
    struct transcript_event **events;
    size_t begin; /* of the kept ones, in `events` */
    size_t count;
    size_t room;
    int64_t first; /* the number of the first kept one */
    size_t bytes;  /* of the kept ones */
    struct {
        char split[4]; /* the beginning of a character */
        size_t split_len;
        bool has_output;
        char last; /* byte of the output */
    } streams[TRANSCRIPT_STREAMS];
};

struct transcript_exit {
    int exit_code; /* -1: killed by a signal */
    int64_t took_ms;
    bool is_timed_out;
    bool is_killed;
};

void transcript_init(struct transcript *transcript, bool is_plain);
void transcript_done(struct transcript *transcript);

void transcript_add_start(struct transcript *transcript, struct str exec_id);
void transcript_add_output(struct transcript *transcript, enum transcript_stream stream,
                           struct str bytes);
/* The next of the steps that make an image; `is_cached` if nothing is to be done for it. */
void transcript_add_step(struct transcript *transcript, size_t step, size_t steps, struct str text,
                         bool is_cached);
/* The last event, one of these three; what comes later is ignored. */
void transcript_add_exit(struct transcript *transcript, const struct transcript_exit *exit);
void transcript_add_error(struct transcript *transcript, struct str text);
void transcript_add_image(struct transcript *transcript, struct str id);

/* The number that the next event will have. */
static inline int64_t transcript_next(const struct transcript *transcript)
{
    return transcript->first + (int64_t)transcript->count;
}

/* The line of a kept event, with its newline; empty if there is none. */
struct str transcript_line(const struct transcript *transcript, int64_t seq);

/* Drops the oldest events, but none from `keep` on, until max_bytes are left. */
void transcript_trim(struct transcript *transcript, size_t max_bytes, int64_t keep);

#endif
