/* SPDX-License-Identifier: Apache-2.0 */
#include "screen/portalvideo.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* These headers have code of their own, which uses functions that we do not. */
#pragma push_macro("alloca")
#pragma push_macro("strerror")
#pragma push_macro("strncpy")
#undef alloca
#undef strerror
#undef strncpy
#include <pipewire/impl.h>
#include <pipewire/pipewire.h>
#include <spa/param/video/format-utils.h>
#pragma pop_macro("alloca")
#pragma pop_macro("strerror")
#pragma pop_macro("strncpy")

#include "base/cleanup.h"
#include "base/library.h"
#include "screen/backend.h"

#define LIBRARY "libpipewire-0.3.so.0"

enum { PIXEL_BYTES = 4, MAX_SIDE = 1 << 15, MAX_RATE = 240, POD_BYTES = 1024 };

/* The functions of the library that we call, by name. */
#define FUNCTIONS(X)                                                                               \
    X(pw_context_connect_fd)                                                                       \
    X(pw_context_destroy)                                                                          \
    X(pw_context_get_data_loop)                                                                    \
    X(pw_context_load_module)                                                                      \
    X(pw_context_load_spa_handle)                                                                  \
    X(pw_context_new)                                                                              \
    X(pw_core_disconnect)                                                                          \
    X(pw_data_loop_start)                                                                          \
    X(pw_data_loop_stop)                                                                           \
    X(pw_init)                                                                                     \
    X(pw_log_set_level)                                                                            \
    X(pw_loop_destroy)                                                                             \
    X(pw_loop_new)                                                                                 \
    X(pw_properties_new)                                                                           \
    X(pw_stream_add_listener)                                                                      \
    X(pw_stream_connect)                                                                           \
    X(pw_stream_dequeue_buffer)                                                                    \
    X(pw_stream_destroy)                                                                           \
    X(pw_stream_new)                                                                               \
    X(pw_stream_queue_buffer)                                                                      \
    X(pw_stream_update_params)                                                                     \
    X(pw_unload_spa_handle)

static struct {
#define X(name) __typeof__(name) *name;
    FUNCTIONS(X)
#undef X
} library;

struct stream {
    struct portalvideo *video;
    struct pw_stream *stream;
    struct spa_hook listener;
    struct pw_buffer *newest; /* not given back before there is a newer one */
    bool has_format;
    struct spa_video_info_raw format;
};

struct portalvideo {
    struct pw_loop *loop;
    struct pw_context *context;
    struct pw_core *core;
    struct spa_hook listener;
    struct stream streams[SCREEN_MAX_MONITORS];
    int count;
    uint8_t *copied; /* the last picture that was asked for */
    size_t copied_bytes;
    bool has_entered; /* this thread is the loop's */
    bool has_ended;
};

static bool load(void)
{
    return LIBRARY_FIND(dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL), FUNCTIONS);
}

/* ---- what a stream tells ---- */

static void give_back(struct stream *stream, struct pw_buffer **buffer)
{
    if (*buffer != NULL)
        (void)library.pw_stream_queue_buffer(stream->stream, steal_ptr(buffer));
}

static bool is_known(uint32_t format)
{
    return format == SPA_VIDEO_FORMAT_BGRx || format == SPA_VIDEO_FORMAT_BGRA ||
           format == SPA_VIDEO_FORMAT_RGBx || format == SPA_VIDEO_FORMAT_RGBA;
}

/*
 * Memory of the desktop, which is a file, or of PipeWire; a desktop that has only the graphics
 * card's gives no stream then.
 */
static void ask_for_memory(struct stream *stream)
{
    uint8_t room[POD_BYTES];
    struct spa_pod_builder builder = SPA_POD_BUILDER_INIT(room, sizeof(room));
    int line = (int)stream->format.size.width * PIXEL_BYTES;
    const struct spa_pod *params[1] = {spa_pod_builder_add_object(
        &builder, SPA_TYPE_OBJECT_ParamBuffers, SPA_PARAM_Buffers, SPA_PARAM_BUFFERS_buffers,
        SPA_POD_CHOICE_RANGE_Int(4, 2, 8), SPA_PARAM_BUFFERS_blocks, SPA_POD_Int(1),
        SPA_PARAM_BUFFERS_size,
        SPA_POD_CHOICE_RANGE_Int(line * (int)stream->format.size.height, line, INT32_MAX),
        SPA_PARAM_BUFFERS_stride, SPA_POD_CHOICE_RANGE_Int(line, line, INT32_MAX),
        SPA_PARAM_BUFFERS_dataType,
        SPA_POD_CHOICE_FLAGS_Int(1 << SPA_DATA_MemFd | 1 << SPA_DATA_MemPtr))};

    (void)library.pw_stream_update_params(stream->stream, params, array_size(params));
}

static void on_param(void *data, uint32_t id, const struct spa_pod *param)
{
    struct stream *stream = data;
    struct spa_video_info_raw format = {0};
    uint32_t type = 0;
    uint32_t subtype = 0;

    if (id != SPA_PARAM_Format)
        return;
    give_back(stream, &stream->newest);
    stream->has_format = false;
    if (param == NULL)
        return;
    if (spa_format_parse(param, &type, &subtype) < 0 || type != SPA_MEDIA_TYPE_video ||
        subtype != SPA_MEDIA_SUBTYPE_raw || spa_format_video_raw_parse(param, &format) < 0 ||
        !is_known(format.format) || format.size.width == 0 || format.size.height == 0 ||
        format.size.width > MAX_SIDE || format.size.height > MAX_SIDE ||
        (uint64_t)format.size.width * format.size.height > INT32_MAX / PIXEL_BYTES) {
        stream->video->has_ended = true;
        return;
    }
    stream->format = format;
    stream->has_format = true;
    ask_for_memory(stream);
}

/* Some buffers only tell that the pointer moved. */
static bool has_picture(const struct pw_buffer *buffer)
{
    const struct spa_data *data = buffer->buffer->n_datas > 0 ? buffer->buffer->datas : NULL;

    return data != NULL && (data->type == SPA_DATA_MemFd ? data->fd >= 0 : data->data != NULL) &&
           data->chunk != NULL && data->chunk->size > 0 &&
           ((uint32_t)data->chunk->flags & SPA_CHUNK_FLAG_CORRUPTED) == 0;
}

static void on_process(void *data)
{
    struct stream *stream = data;
    struct pw_buffer *buffer;

    while ((buffer = library.pw_stream_dequeue_buffer(stream->stream)) != NULL) {
        if (has_picture(buffer)) {
            give_back(stream, &stream->newest);
            stream->newest = buffer;
        } else {
            give_back(stream, &buffer);
        }
    }
}

static void on_remove(void *data, struct pw_buffer *buffer)
{
    struct stream *stream = data;

    if (stream->newest == buffer)
        stream->newest = NULL;
}

static void on_state(void *data, enum pw_stream_state old, enum pw_stream_state state,
                     const char *error)
{
    struct stream *stream = data;

    (void)error;
    if (state == PW_STREAM_STATE_ERROR ||
        (state == PW_STREAM_STATE_UNCONNECTED && old != PW_STREAM_STATE_UNCONNECTED))
        stream->video->has_ended = true;
}

static const struct pw_stream_events stream_events = {
    .version = PW_VERSION_STREAM_EVENTS,
    .state_changed = on_state,
    .param_changed = on_param,
    .remove_buffer = on_remove,
    .process = on_process,
};

static void on_core_error(void *data, uint32_t id, int seq, int result, const char *message)
{
    struct portalvideo *video = data;

    (void)seq;
    (void)result;
    (void)message;
    if (id == PW_ID_CORE)
        video->has_ended = true;
}

static const struct pw_core_events core_events = {
    .version = PW_VERSION_CORE_EVENTS,
    .error = on_core_error,
};

/* ---- opening ---- */

/*
 * Since version 1, streams of pictures need this module and a plugin that it loads with the first
 * one. A confined process finds it if it was loaded before, and never unloaded: a plugin without
 * something to adapt fails to start, but stays.
 */
static void load_adapter(struct portalvideo *video)
{
    const struct spa_dict_item plugin =
        SPA_DICT_ITEM_INIT(SPA_KEY_LIBRARY_NAME, "videoconvert/libspa-videoconvert");
    const struct spa_dict info = SPA_DICT_INIT(&plugin, 1);
    struct spa_handle *handle;

    if (library.pw_context_load_module(video->context, "libpipewire-module-adapter", NULL, NULL) ==
        NULL)
        return;
    handle = library.pw_context_load_spa_handle(video->context, "video.adapt", &info);
    if (handle != NULL)
        (void)library.pw_unload_spa_handle(handle);
}

static int open_context(struct portalvideo *video, struct err *err)
{
    static const char *const modules[] = {"libpipewire-module-protocol-native",
                                          "libpipewire-module-client-node"};

    video->loop = library.pw_loop_new(NULL);
    /* No file of settings: it could start threads, and other connections. */
    if (video->loop != NULL)
        video->context = library.pw_context_new(
            video->loop, library.pw_properties_new(PW_KEY_CONFIG_NAME, "null", NULL), 0);
    if (video->context == NULL)
        return err_set(err, ERR_UNSUPPORTED, "libpipewire cannot be used here");
    for (size_t i = 0; i < array_size(modules); i++)
        if (library.pw_context_load_module(video->context, modules[i], NULL, NULL) == NULL)
            return err_set(err, ERR_UNSUPPORTED,
                           "%s cannot be loaded: are the modules of PipeWire installed?",
                           modules[i]);
    load_adapter(video);
    /* A process is confined before it has threads. */
    library.pw_data_loop_stop(library.pw_context_get_data_loop(video->context));
    pw_loop_enter(video->loop);
    video->has_entered = true;
    return 0;
}

int portalvideo_new(struct portalvideo **out_video, struct err *err)
{
    struct portalvideo *video;
    int r;

    if (!load())
        return err_set(err, ERR_UNSUPPORTED, "%s cannot be loaded: is it installed?", LIBRARY);
    (void)setenv("PIPEWIRE_DLCLOSE", "false", 1);
    library.pw_init(NULL, NULL);
    library.pw_log_set_level(SPA_LOG_LEVEL_NONE); /* the errors that we return say it */
    video = calloc(1, sizeof(*video));
    if (video == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    r = open_context(video, err);
    if (r < 0) {
        portalvideo_free(video);
        return r;
    }
    *out_video = video;
    return 0;
}

void portalvideo_free(struct portalvideo *video)
{
    if (video == NULL)
        return;
    for (int i = 0; i < video->count; i++)
        if (video->streams[i].stream != NULL)
            library.pw_stream_destroy(video->streams[i].stream);
    if (video->core != NULL)
        (void)library.pw_core_disconnect(video->core);
    if (video->has_entered)
        pw_loop_leave(video->loop);
    if (video->context != NULL)
        library.pw_context_destroy(video->context);
    if (video->loop != NULL)
        library.pw_loop_destroy(video->loop);
    free(video->copied);
    free(video);
}

int portalvideo_fd(struct portalvideo *video)
{
    return pw_loop_get_fd(video->loop);
}

void portalvideo_hear(struct portalvideo *video)
{
    enum { MAX_ROUNDS = 64 }; /* who sends without end does not keep us here */

    for (int i = 0; i < MAX_ROUNDS && pw_loop_iterate(video->loop, 0) > 0; i++)
        ;
}

static int connect_stream(struct portalvideo *video, uint32_t node, struct err *err)
{
    uint8_t room[POD_BYTES];
    struct spa_pod_builder builder = SPA_POD_BUILDER_INIT(room, sizeof(room));
    const struct spa_pod *params[1] = {spa_pod_builder_add_object(
        &builder, SPA_TYPE_OBJECT_Format, SPA_PARAM_EnumFormat, SPA_FORMAT_mediaType,
        SPA_POD_Id(SPA_MEDIA_TYPE_video), SPA_FORMAT_mediaSubtype,
        SPA_POD_Id(SPA_MEDIA_SUBTYPE_raw), SPA_FORMAT_VIDEO_format,
        SPA_POD_CHOICE_ENUM_Id(5, SPA_VIDEO_FORMAT_BGRx, SPA_VIDEO_FORMAT_BGRx,
                               SPA_VIDEO_FORMAT_BGRA, SPA_VIDEO_FORMAT_RGBx, SPA_VIDEO_FORMAT_RGBA),
        SPA_FORMAT_VIDEO_size,
        SPA_POD_CHOICE_RANGE_Rectangle(&SPA_RECTANGLE(1920, 1080), &SPA_RECTANGLE(1, 1),
                                       &SPA_RECTANGLE(MAX_SIDE, MAX_SIDE)),
        SPA_FORMAT_VIDEO_framerate,
        SPA_POD_CHOICE_RANGE_Fraction(&SPA_FRACTION(30, 1), &SPA_FRACTION(0, 1),
                                      &SPA_FRACTION(MAX_RATE, 1)))};
    struct stream *stream = &video->streams[video->count++];
    char name[32];

    *stream = (struct stream){.video = video};
    snprintf(name, sizeof(name), "gatehouse-%u", node);
    stream->stream =
        library.pw_stream_new(video->core, name,
                              library.pw_properties_new(PW_KEY_NODE_NAME, name, PW_KEY_MEDIA_TYPE,
                                                        "Video", PW_KEY_MEDIA_CATEGORY, "Capture",
                                                        PW_KEY_MEDIA_ROLE, "Screen", NULL));
    if (stream->stream == NULL)
        return err_set_plain(err, ERR_NO_MEMORY);
    library.pw_stream_add_listener(stream->stream, &stream->listener, &stream_events, stream);
    if (library.pw_stream_connect(stream->stream, PW_DIRECTION_INPUT, node,
                                  PW_STREAM_FLAG_AUTOCONNECT, params, array_size(params)) < 0)
        return err_set(err, ERR_IO, "PipeWire refused a stream of the screen");
    return 0;
}

int portalvideo_connect(struct portalvideo *video, int fd, const uint32_t *nodes, int count,
                        struct err *err)
{
    int r = 0;

    if (library.pw_data_loop_start(library.pw_context_get_data_loop(video->context)) < 0) {
        close(fd);
        return err_set(err, ERR_IO, "libpipewire cannot start its thread");
    }
    video->core = library.pw_context_connect_fd(video->context, fd, NULL, 0);
    if (video->core == NULL)
        return err_set(err, ERR_IO, "libpipewire cannot use the desktop's connection");
    pw_core_add_listener(video->core, &video->listener, &core_events, video);
    for (int i = 0; i < count && r == 0; i++)
        r = connect_stream(video, nodes[i], err);
    return r;
}

/* ---- what has come ---- */

bool portalvideo_has_ended(const struct portalvideo *video)
{
    return video->has_ended;
}

bool portalvideo_size(const struct portalvideo *video, int index, int *out_width, int *out_height)
{
    const struct stream *stream = &video->streams[index];

    if (!stream->has_format)
        return false;
    *out_width = (int)stream->format.size.width;
    *out_height = (int)stream->format.size.height;
    return true;
}

/*
 * The desktop's memory is read, not mapped: it can shorten the file at any time, and a page that
 * has gone would end the process.
 */
static bool copy(struct portalvideo *video, const struct spa_data *data, uint64_t offset,
                 size_t len)
{
    uint8_t *room = len > video->copied_bytes ? realloc(video->copied, len) : video->copied;
    size_t done = 0;

    if (room == NULL)
        return false;
    video->copied_bytes = len > video->copied_bytes ? len : video->copied_bytes;
    video->copied = room;
    while (done < len) {
        ssize_t n = pread((int)data->fd, room + done, len - done, (off_t)(offset + done));

        if (n == 0 || (n < 0 && errno != EINTR))
            return false;
        done += n > 0 ? (size_t)n : 0;
    }
    return true;
}

bool portalvideo_picture(struct portalvideo *video, int index, struct waylandpixels *out_pixels)
{
    enum { XRGB = 1, XBGR = 0x34324258 }; /* of wl_shm */
    const struct stream *stream = &video->streams[index];
    uint64_t line = (uint64_t)stream->format.size.width * PIXEL_BYTES;
    const struct spa_data *data;
    uint64_t offset;
    uint64_t len;
    int32_t stride;
    bool is_file;

    if (!stream->has_format || stream->newest == NULL)
        return false;
    /* The chunk is in memory that the other side can write: each number is read once. */
    data = &stream->newest->buffer->datas[0];
    is_file = data->type == SPA_DATA_MemFd;
    offset = *(const volatile uint32_t *)&data->chunk->offset;
    stride = *(const volatile int32_t *)&data->chunk->stride;
    if (stride == 0)
        stride = (int32_t)line;
    if (stride < 0 || (uint64_t)stride < line)
        return false;
    len = (uint64_t)stride * (stream->format.size.height - 1) + line;
    if (len > WAYLANDPIXELS_MAX_BYTES || offset + len > data->maxsize ||
        (is_file && !copy(video, data, data->mapoffset + offset, len)))
        return false;
    *out_pixels = (struct waylandpixels){
        .bytes = is_file ? video->copied : (const uint8_t *)data->data + offset,
        .width = (int)stream->format.size.width,
        .height = (int)stream->format.size.height,
        .stride = (size_t)stride,
        .format = stream->format.format == SPA_VIDEO_FORMAT_RGBx ||
                          stream->format.format == SPA_VIDEO_FORMAT_RGBA
                      ? XBGR
                      : XRGB,
    };
    return true;
}
