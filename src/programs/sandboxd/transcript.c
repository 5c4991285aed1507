/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/sandboxd/transcript.h"

#include <stdlib.h>

#include "base/base64.h"
#include "base/err.h"
#include "base/jsonwrite.h"
#include "base/utf8.h"

enum {
    EVENT_MAX_BYTES = 64 << 20, /* the longest line; output comes in far smaller pieces */
    FIRST_ROOM = 16,
};

struct transcript_event {
    size_t len;
    char line[];
};

void transcript_init(struct transcript *transcript, bool is_plain)
{
    *transcript = (struct transcript){.is_plain = is_plain};
}

void transcript_done(struct transcript *transcript)
{
    for (size_t i = 0; i < transcript->count; i++)
        free(transcript->events[transcript->begin + i]);
    free(transcript->events);
    *transcript = (struct transcript){.is_over = true};
}

/* ---- events ---- */

static bool make_room(struct transcript *transcript)
{
    struct transcript_event **grown;
    size_t room;

    if (transcript->begin + transcript->count < transcript->room)
        return true;
    if (transcript->begin > transcript->room / 2) {
        memmove(transcript->events, transcript->events + transcript->begin,
                transcript->count * sizeof(struct transcript_event *));
        transcript->begin = 0;
        return true;
    }
    room = transcript->room > 0 ? transcript->room * 2 : FIRST_ROOM;
    grown = realloc(transcript->events, room * sizeof(struct transcript_event *));
    if (grown == NULL)
        return false;
    transcript->events = grown;
    transcript->room = room;
    return true;
}

static void add(struct transcript *transcript, struct str json)
{
    struct transcript_event *event = malloc(sizeof(*event) + json.len + 1);

    if (event == NULL || !make_room(transcript)) {
        free(event);
        transcript->error = ERR_NO_MEMORY;
        return;
    }
    event->len = json.len + 1;
    memcpy(event->line, json.ptr, json.len);
    event->line[json.len] = '\n';
    transcript->events[transcript->begin + transcript->count++] = event;
    transcript->bytes += event->len;
}

static void begin(const struct transcript *transcript, struct json_writer *json, struct buf *out,
                  struct str type)
{
    json_writer_init(json, out);
    json_begin_object(json);
    if (!transcript->is_plain)
        json_put_int(json, STR("seq"), transcript_next(transcript));
    json_put_str(json, STR("type"), type);
}

static void end(struct transcript *transcript, struct json_writer *json, struct buf *out)
{
    int r;

    json_end_object(json);
    r = json_writer_finish(json);
    if (r == 0)
        add(transcript, buf_view(out));
    else
        transcript->error = r;
}

void transcript_add_start(struct transcript *transcript, struct str exec_id)
{
    cleanup_buf struct buf out = BUF_INIT(EVENT_MAX_BYTES);
    struct json_writer json;

    if (transcript->is_plain)
        return;
    begin(transcript, &json, &out, STR("started"));
    json_put_str(&json, STR("exec_id"), exec_id);
    end(transcript, &json, &out);
}

/* ---- output ---- */

/* The length of the beginning of a character at the end of the text; 0 if none is cut off. */
static size_t split_length(struct str text)
{
    for (size_t back = 1; back <= 3 && back <= text.len; back++) {
        unsigned char byte = (unsigned char)text.ptr[text.len - back];
        size_t whole = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC2 ? 2 : 1;

        if ((byte & 0xC0) != 0x80)
            return byte <= 0xF4 && whole > back ? back : 0;
    }
    return 0;
}

static void write_output(struct transcript *transcript, enum transcript_stream stream,
                         struct str text)
{
    cleanup_buf struct buf out = BUF_INIT(EVENT_MAX_BYTES);
    cleanup_buf struct buf encoded = BUF_INIT(EVENT_MAX_BYTES);
    struct json_writer json;

    if (text.len == 0)
        return;
    begin(transcript, &json, &out, stream == TRANSCRIPT_STDOUT ? STR("stdout") : STR("stderr"));
    if (transcript->is_base64) {
        transcript->error = base64_append(&encoded, text);
        json_put_str(&json, STR("data"), buf_view(&encoded));
        json_put_str(&json, STR("encoding"), STR("base64"));
    } else {
        json_put_str_lossy(&json, STR("data"), text);
    }
    end(transcript, &json, &out);
    transcript->streams[stream].has_output = true;
    transcript->streams[stream].last = text.ptr[text.len - 1];
}

void transcript_add_output(struct transcript *transcript, enum transcript_stream stream,
                           struct str bytes)
{
    cleanup_buf struct buf joined = BUF_INIT(EVENT_MAX_BYTES);
    struct str text = bytes;
    size_t split;

    if (transcript->is_over || bytes.len == 0)
        return;
    if (transcript->streams[stream].split_len > 0) {
        if (buf_append(&joined, transcript->streams[stream].split,
                       transcript->streams[stream].split_len) < 0 ||
            buf_append_str(&joined, bytes) < 0) {
            transcript->error = ERR_NO_MEMORY;
            return;
        }
        text = buf_view(&joined);
    }
    split = transcript->is_base64 ? 0 : split_length(text);
    memcpy(transcript->streams[stream].split, text.ptr + text.len - split, split);
    transcript->streams[stream].split_len = split;
    write_output(transcript, stream, str_slice(text, 0, text.len - split));
}

/* Half a character that nothing follows, and the newline that the API invents. */
static void end_streams(struct transcript *transcript)
{
    for (enum transcript_stream i = TRANSCRIPT_STDOUT; i < TRANSCRIPT_STREAMS; i++) {
        char rest[5];
        size_t len = transcript->streams[i].split_len;

        memcpy(rest, transcript->streams[i].split, len);
        if (!transcript->is_exact && !transcript->is_base64 &&
            (len > 0 || (transcript->streams[i].has_output && transcript->streams[i].last != '\n')))
            rest[len++] = '\n';
        write_output(transcript, i, (struct str){rest, len});
    }
}

void transcript_add_step(struct transcript *transcript, size_t step, size_t steps, struct str text,
                         bool is_cached)
{
    cleanup_buf struct buf out = BUF_INIT(EVENT_MAX_BYTES);
    struct json_writer json;

    if (transcript->is_over)
        return;
    end_streams(transcript);
    memset(transcript->streams, 0, sizeof(transcript->streams));
    begin(transcript, &json, &out, STR("step"));
    json_put_int(&json, STR("step"), (int64_t)step);
    json_put_int(&json, STR("steps"), (int64_t)steps);
    json_put_str_lossy(&json, STR("text"), text);
    json_put_bool(&json, STR("cached"), is_cached);
    end(transcript, &json, &out);
}

/* ---- the end ---- */

void transcript_add_exit(struct transcript *transcript, const struct transcript_exit *exit)
{
    cleanup_buf struct buf out = BUF_INIT(EVENT_MAX_BYTES);
    struct json_writer json;

    if (transcript->is_over)
        return;
    end_streams(transcript);
    begin(transcript, &json, &out, STR("exit"));
    json_put_int(&json, STR("exit_code"), exit->exit_code);
    json_put_bool(&json, STR("success"), exit->exit_code == 0);
    json_put_int(&json, STR("execution_time_ms"), exit->took_ms);
    json_put_bool(&json, STR("timed_out"), exit->is_timed_out);
    json_put_bool(&json, STR("killed"), exit->is_killed);
    end(transcript, &json, &out);
    transcript->is_over = true;
}

void transcript_add_error(struct transcript *transcript, struct str text)
{
    cleanup_buf struct buf out = BUF_INIT(EVENT_MAX_BYTES);
    struct json_writer json;

    if (transcript->is_over)
        return;
    end_streams(transcript);
    begin(transcript, &json, &out, STR("error"));
    json_put_str_lossy(&json, STR("error"), text);
    end(transcript, &json, &out);
    transcript->is_over = true;
}

void transcript_add_image(struct transcript *transcript, struct str id)
{
    cleanup_buf struct buf out = BUF_INIT(EVENT_MAX_BYTES);
    struct json_writer json;

    if (transcript->is_over)
        return;
    end_streams(transcript);
    begin(transcript, &json, &out, STR("image"));
    json_put_str(&json, STR("image_id"), id);
    end(transcript, &json, &out);
    transcript->is_over = true;
}

/* ---- reading ---- */

struct str transcript_line(const struct transcript *transcript, int64_t seq)
{
    const struct transcript_event *event;

    if (seq < transcript->first || seq >= transcript_next(transcript))
        return STR_EMPTY;
    event = transcript->events[transcript->begin + (size_t)(seq - transcript->first)];
    return (struct str){event->line, event->len};
}

void transcript_trim(struct transcript *transcript, size_t max_bytes, int64_t keep)
{
    while (transcript->bytes > max_bytes && transcript->count > 0 && transcript->first < keep) {
        struct transcript_event *event = transcript->events[transcript->begin];

        transcript->bytes -= event->len;
        free(event);
        transcript->begin++;
        transcript->count--;
        transcript->first++;
    }
}
