/* SPDX-License-Identifier: Apache-2.0 */
#include "fake_portal.h"

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* These headers have code of their own, which uses functions that we do not. */
#pragma push_macro("alloca")
#pragma push_macro("strerror")
#pragma push_macro("strncpy")
#undef alloca
#undef strerror
#undef strncpy
#include <pipewire/pipewire.h>
#include <spa/param/video/format-utils.h>
#pragma pop_macro("alloca")
#pragma pop_macro("strerror")
#pragma pop_macro("strncpy")

enum { PIXEL_BYTES = 4, POD_BYTES = 1024, TEXT_BYTES = 64, TICK_NS = 40000000, MAX_ROUNDS = 500 };

struct fake_monitor fake_monitors[FAKE_MAX_MONITORS];
int fake_video_count;
bool fake_video_shrinks;

static struct {
    struct pw_loop *loop;
    struct pw_context *context;
    struct pw_core *core;
    struct pw_registry *registry;
    struct spa_hook listener;
    bool has_red_first;
    struct {
        struct pw_stream *stream;
        struct spa_hook listener;
    } streams[FAKE_MAX_MONITORS];
    struct { /* nodes that want a stream, and ports of nodes */
        uint32_t node;
        uint32_t wants;
    } wishes[64];
    int wish_count;
    struct {
        uint32_t node;
        uint32_t port;
        bool is_out;
        bool is_linked;
    } ports[128];
    int port_count;
} video;

/* ---- links: usually a session manager makes them ---- */

static void make_link(uint32_t out_node, uint32_t out_port, uint32_t in_node, uint32_t in_port)
{
    struct pw_properties *properties = pw_properties_new(NULL, NULL);

    pw_properties_setf(properties, PW_KEY_LINK_OUTPUT_NODE, "%u", out_node);
    pw_properties_setf(properties, PW_KEY_LINK_OUTPUT_PORT, "%u", out_port);
    pw_properties_setf(properties, PW_KEY_LINK_INPUT_NODE, "%u", in_node);
    pw_properties_setf(properties, PW_KEY_LINK_INPUT_PORT, "%u", in_port);
    (void)pw_core_create_object(video.core, "link-factory", PW_TYPE_INTERFACE_Link, PW_VERSION_LINK,
                                &properties->dict, 0);
    pw_properties_free(properties);
}

static void link_all(void)
{
    for (int i = 0; i < video.port_count; i++)
        for (int w = 0; w < video.wish_count && !video.ports[i].is_out; w++)
            for (int o = 0; o < video.port_count && !video.ports[i].is_linked; o++)
                if (video.ports[i].node == video.wishes[w].node && video.ports[o].is_out &&
                    video.ports[o].node == video.wishes[w].wants) {
                    video.ports[i].is_linked = true;
                    make_link(video.ports[o].node, video.ports[o].port, video.ports[i].node,
                              video.ports[i].port);
                }
}

static void on_global(void *data, uint32_t id, uint32_t permissions, const char *type,
                      uint32_t version, const struct spa_dict *properties)
{
    const char *name = properties != NULL ? spa_dict_lookup(properties, PW_KEY_NODE_NAME) : NULL;
    const char *node = properties != NULL ? spa_dict_lookup(properties, PW_KEY_NODE_ID) : NULL;
    const char *direction =
        properties != NULL ? spa_dict_lookup(properties, PW_KEY_PORT_DIRECTION) : NULL;

    (void)data;
    (void)permissions;
    (void)version;
    if (strcmp(type, PW_TYPE_INTERFACE_Node) == 0 && name != NULL &&
        strncmp(name, "gatehouse-", 10) == 0 && video.wish_count < 64) {
        video.wishes[video.wish_count].node = id;
        video.wishes[video.wish_count++].wants = (uint32_t)strtoul(name + 10, NULL, 10);
    } else if (strcmp(type, PW_TYPE_INTERFACE_Port) == 0 && node != NULL && direction != NULL &&
               video.port_count < 128) {
        video.ports[video.port_count].node = (uint32_t)strtoul(node, NULL, 10);
        video.ports[video.port_count].port = id;
        video.ports[video.port_count].is_linked = false;
        video.ports[video.port_count++].is_out = strcmp(direction, "out") == 0;
    }
    link_all();
}

/* Numbers are used again. */
static void on_global_remove(void *data, uint32_t id)
{
    (void)data;
    for (int i = 0; i < video.wish_count; i++)
        if (video.wishes[i].node == id)
            video.wishes[i--] = video.wishes[--video.wish_count];
    for (int i = 0; i < video.port_count; i++)
        if (video.ports[i].port == id)
            video.ports[i--] = video.ports[--video.port_count];
}

static const struct pw_registry_events registry_events = {
    .version = PW_VERSION_REGISTRY_EVENTS,
    .global = on_global,
    .global_remove = on_global_remove,
};

/* ---- streams ---- */

static void paint(const struct fake_monitor *monitor, uint8_t *to)
{
    for (int y = 0; y < monitor->height; y++)
        for (int x = 0; x < monitor->width; x++) {
            bool is_white = x < monitor->width / 2 && y < monitor->height / 2;
            unsigned colour = is_white ? 0xFFFFFF : monitor->colour;
            uint8_t *pixel = to + ((size_t)y * (size_t)monitor->width + (size_t)x) * PIXEL_BYTES;

            pixel[video.has_red_first ? 0 : 2] = (uint8_t)(colour >> 16);
            pixel[1] = (uint8_t)(colour >> 8);
            pixel[video.has_red_first ? 2 : 0] = (uint8_t)colour;
            pixel[3] = 0;
        }
}

/* ---- memory that shrinks ---- */

struct shrinking {
    int fd;
    off_t bytes;
};

static void *shrink(void *data)
{
    const struct shrinking *memory = data;

    while (true) {
        const struct timespec moment = {.tv_nsec = 300000};

        (void)!ftruncate(memory->fd, 0);
        (void)nanosleep(&moment, NULL);
        (void)!ftruncate(memory->fd, memory->bytes);
        (void)nanosleep(&moment, NULL);
    }
    return NULL;
}

/* Of our own, without a seal, and black. */
static void on_add_buffer(void *data, struct pw_buffer *buffer)
{
    const struct fake_monitor *monitor = data;
    struct spa_data *inside = &buffer->buffer->datas[0];
    struct shrinking *memory;
    pthread_t thread;

    if (!fake_video_shrinks)
        return;
    memory = malloc(sizeof(*memory));
    if (memory == NULL)
        return;
    memory->fd = memfd_create("shrinking", MFD_CLOEXEC);
    memory->bytes = (off_t)monitor->width * monitor->height * PIXEL_BYTES;
    inside->type = SPA_DATA_MemFd;
    inside->flags = SPA_DATA_FLAG_READWRITE;
    inside->fd = memory->fd;
    inside->mapoffset = 0;
    inside->maxsize = (uint32_t)memory->bytes;
    inside->data = NULL;
    if (pthread_create(&thread, NULL, shrink, memory) == 0)
        pthread_detach(thread);
}

static void on_process(void *data)
{
    struct fake_monitor *monitor = data;
    struct pw_stream *stream = video.streams[monitor - fake_monitors].stream;
    struct pw_buffer *buffer = pw_stream_dequeue_buffer(stream);
    struct spa_data *inside;

    if (buffer == NULL)
        return;
    inside = &buffer->buffer->datas[0];
    if (inside->data != NULL)
        paint(monitor, inside->data);
    inside->chunk->offset = 0;
    inside->chunk->stride = monitor->width * PIXEL_BYTES;
    inside->chunk->size = (uint32_t)(monitor->width * monitor->height * PIXEL_BYTES);
    pw_stream_queue_buffer(stream, buffer);
}

static void on_param(void *data, uint32_t id, const struct spa_pod *param)
{
    const struct fake_monitor *monitor = data;
    uint8_t room[POD_BYTES];
    struct spa_pod_builder builder = SPA_POD_BUILDER_INIT(room, sizeof(room));
    const struct spa_pod *params[1];

    if (id != SPA_PARAM_Format || param == NULL)
        return;
    params[0] = spa_pod_builder_add_object(
        &builder, SPA_TYPE_OBJECT_ParamBuffers, SPA_PARAM_Buffers, SPA_PARAM_BUFFERS_buffers,
        SPA_POD_CHOICE_RANGE_Int(4, 2, 8), SPA_PARAM_BUFFERS_blocks, SPA_POD_Int(1),
        SPA_PARAM_BUFFERS_size, SPA_POD_Int(monitor->width * monitor->height * PIXEL_BYTES),
        SPA_PARAM_BUFFERS_stride, SPA_POD_Int(monitor->width * PIXEL_BYTES),
        SPA_PARAM_BUFFERS_dataType, SPA_POD_CHOICE_FLAGS_Int(1 << SPA_DATA_MemFd));
    pw_stream_update_params(video.streams[monitor - fake_monitors].stream, params, 1);
}

static const struct pw_stream_events stream_events = {
    .version = PW_VERSION_STREAM_EVENTS,
    .param_changed = on_param,
    .add_buffer = on_add_buffer,
    .process = on_process,
};

static void on_tick(void *data, uint64_t expirations)
{
    (void)data;
    (void)expirations;
    for (int i = 0; i < fake_video_count; i++)
        if (pw_stream_get_state(video.streams[i].stream, NULL) == PW_STREAM_STATE_STREAMING)
            pw_stream_trigger_process(video.streams[i].stream);
}

static bool add_stream(int index)
{
    struct fake_monitor *monitor = &fake_monitors[index];
    uint8_t room[POD_BYTES];
    struct spa_pod_builder builder = SPA_POD_BUILDER_INIT(room, sizeof(room));
    const struct spa_pod *params[1] = {spa_pod_builder_add_object(
        &builder, SPA_TYPE_OBJECT_Format, SPA_PARAM_EnumFormat, SPA_FORMAT_mediaType,
        SPA_POD_Id(SPA_MEDIA_TYPE_video), SPA_FORMAT_mediaSubtype,
        SPA_POD_Id(SPA_MEDIA_SUBTYPE_raw), SPA_FORMAT_VIDEO_format,
        SPA_POD_Id(video.has_red_first ? SPA_VIDEO_FORMAT_RGBx : SPA_VIDEO_FORMAT_BGRx),
        SPA_FORMAT_VIDEO_size,
        SPA_POD_Rectangle(&SPA_RECTANGLE((uint32_t)monitor->width, (uint32_t)monitor->height)),
        SPA_FORMAT_VIDEO_framerate, SPA_POD_Fraction(&SPA_FRACTION(0, 1)))};

    video.streams[index].stream =
        pw_stream_new(video.core, "fake-monitor",
                      pw_properties_new(PW_KEY_MEDIA_CLASS, "Video/Source", PW_KEY_NODE_NAME,
                                        "fake-monitor", NULL));
    if (video.streams[index].stream == NULL)
        return false;
    pw_stream_add_listener(video.streams[index].stream, &video.streams[index].listener,
                           &stream_events, monitor);
    return pw_stream_connect(
               video.streams[index].stream, PW_DIRECTION_OUTPUT, PW_ID_ANY,
               PW_STREAM_FLAG_DRIVER |
                   (fake_video_shrinks ? PW_STREAM_FLAG_ALLOC_BUFFERS : PW_STREAM_FLAG_MAP_BUFFERS),
               params, 1) >= 0;
}

static bool are_all_known(void)
{
    for (int i = 0; i < fake_video_count; i++)
        if (pw_stream_get_node_id(video.streams[i].stream) == PW_ID_ANY)
            return false;
    return true;
}

/* WIDTHxHEIGHT+X+Y@SCALE:RRGGBB */
static struct fake_monitor read_monitor(const char *text)
{
    int numbers[5];

    for (int i = 0; i < 5; i++) {
        char *end;

        numbers[i] = (int)strtol(text, &end, 10);
        text = *end != '\0' ? end + 1 : end;
    }
    return (struct fake_monitor){.width = numbers[0],
                                 .height = numbers[1],
                                 .x = numbers[2],
                                 .y = numbers[3],
                                 .scale = numbers[4],
                                 .colour = (unsigned)strtoul(text, NULL, 16)};
}

bool fake_video_start(const char *socket, const char *form, char **monitors, int count)
{
    struct timespec tick = {.tv_nsec = TICK_NS};
    struct spa_source *timer;
    int fd = fake_video_connect(socket);

    pw_init(NULL, NULL);
    video.has_red_first = strcmp(form, "RGBx") == 0;
    video.loop = pw_loop_new(NULL);
    video.context = pw_context_new(video.loop, NULL, 0);
    video.core = video.context != NULL ? pw_context_connect_fd(video.context, fd, NULL, 0) : NULL;
    if (video.core == NULL || count > FAKE_MAX_MONITORS)
        return false;
    pw_loop_enter(video.loop);
    video.registry = pw_core_get_registry(video.core, PW_VERSION_REGISTRY, 0);
    pw_registry_add_listener(video.registry, &video.listener, &registry_events, NULL);
    for (int i = 0; i < count; i++) {
        fake_monitors[i] = read_monitor(monitors[i]);
        if (!add_stream(i))
            return false;
        fake_video_count++;
    }
    timer = pw_loop_add_timer(video.loop, on_tick, NULL);
    pw_loop_update_timer(video.loop, timer, &tick, &tick, false);
    for (int i = 0; i < MAX_ROUNDS && !are_all_known(); i++)
        (void)pw_loop_iterate(video.loop, 20);
    return are_all_known();
}

int fake_video_fd(void)
{
    return pw_loop_get_fd(video.loop);
}

void fake_video_hear(void)
{
    while (pw_loop_iterate(video.loop, 0) > 0)
        ;
}

uint32_t fake_video_node(const struct fake_monitor *monitor)
{
    return pw_stream_get_node_id(video.streams[monitor - fake_monitors].stream);
}

int fake_video_index(uint32_t node)
{
    for (int i = 0; i < fake_video_count; i++)
        if (fake_video_node(&fake_monitors[i]) == node)
            return i;
    return -1;
}

int fake_video_connect(const char *socket_path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    snprintf(address.sun_path, sizeof(address.sun_path), "%s", socket_path);
    /* Its name is there a moment before it listens. */
    for (int i = 0; i < MAX_ROUNDS && fd >= 0; i++) {
        if (connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
            return fd;
        (void)poll(NULL, 0, 20);
    }
    close(fd);
    return -1;
}
