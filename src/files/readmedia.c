/* SPDX-License-Identifier: Apache-2.0 */
/*
 * read_file of images and PDF documents. One over the limit goes to gatehouse-media, which makes a
 * smaller picture of it or takes out as many pages as the limit allows; without that it is refused.
 */
#include "files/tool.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/base64.h"
#include "base/checked.h"
#include "files/media.h"
#include "files/resources.h"
#include "media/client.h"

enum { INPUT_BYTES = 128 << 20, NOTE_BYTES = 200 };

/* Of what is returned; the rest is about the file, and of one over the limit only. */
struct about {
    const char *type;
    size_t size;
    const char *note; /* NULL: the file as it is */
    uint64_t total_bytes;
    uint32_t first_page; /* 0: all of them */
    uint32_t last_page;
    uint32_t total_pages;
};

/* {path, mimeType, sizeBytes, …} */
static int write_about(struct str path, const struct about *about, struct buf *out)
{
    struct json_writer w;

    json_writer_init(&w, out);
    json_begin_object(&w);
    json_put_str(&w, STR("path"), path);
    json_put_str(&w, STR("mimeType"), str_from(about->type));
    json_put_int(&w, STR("sizeBytes"), (int64_t)about->size);
    if (about->note != NULL) {
        json_put_int(&w, STR("totalBytes"), (int64_t)about->total_bytes);
        json_put_str(&w, STR("note"), str_from(about->note));
    }
    if (about->first_page != 0) {
        json_put_int(&w, STR("startPage"), about->first_page);
        json_put_int(&w, STR("endPage"), about->last_page);
        json_put_int(&w, STR("totalPages"), about->total_pages);
        if (about->last_page < about->total_pages)
            json_put_int(&w, STR("nextStartPage"), about->last_page + 1);
    }
    json_end_object(&w);
    return json_writer_finish(&w);
}

static int append_json_str(struct buf *out, struct str text)
{
    struct json_writer w;

    json_writer_init(&w, out);
    json_write_str(&w, text);
    return json_writer_finish(&w);
}

static int append_content(const struct tool_call *call, const char *type, struct str bytes,
                          struct buf *out)
{
    bool is_image = media_is_image(type);
    int r;

    if (is_image) {
        r = buf_append_str(out, STR("{\"content\":[{\"type\":\"image\",\"data\":\""));
        if (r == 0)
            r = base64_append(out, bytes);
        return r == 0 ? buf_printf(out, "\",\"mimeType\":\"%s\"}", type) : r;
    }
    r = buf_append_str(out, STR("{\"content\":[{\"type\":\"resource\",\"resource\":{\"uri\":\""));
    if (r == 0)
        r = resource_append_uri(call->box, tool_name(call, 0), out);
    if (r == 0)
        r = buf_printf(out, "\",\"mimeType\":\"%s\",\"blob\":\"", type);
    if (r == 0)
        r = base64_append(out, bytes);
    return r == 0 ? buf_append_str(out, STR("\"}}")) : r;
}

/* Writes the whole result itself, so that the encoded bytes are written once and in place. */
static int write_result(struct tool_call *call, const struct about *about, struct str bytes,
                        struct buf *out)
{
    cleanup_buf struct buf words = BUF_INIT(out->max);
    size_t room;
    int r = write_about(call->resources[0].given, about, &words);

    if (r < 0)
        return r;
    if (!checked_add(bytes.len / 3 * 4 + 4, 4 * words.len + 4 * (size_t)PATH_MAX, &room))
        return ERR_TOO_LARGE;
    r = buf_reserve(out, room <= out->max - out->len ? room : out->max - out->len);
    if (r == 0)
        r = append_content(call, about->type, bytes, out);
    if (r == 0)
        r = buf_append_str(out, STR(",{\"type\":\"text\",\"text\":"));
    if (r == 0)
        r = append_json_str(out, buf_view(&words));
    if (r == 0)
        r = buf_append_str(out, STR("}]"));
    if (r == 0 && call->box->config.result_form != TOOLRESULT_TEXT) {
        r = buf_append_str(out, STR(",\"structuredContent\":"));
        if (r == 0)
            r = buf_append_str(out, buf_view(&words));
    }
    if (r == 0)
        r = buf_append_char(out, '}');
    call->is_whole_result = true;
    return r;
}

int tool_write_media(struct tool_call *call, const char *type, struct str bytes, struct buf *out)
{
    const struct about about = {.type = type, .size = bytes.len};

    return write_result(call, &about, bytes, out);
}

int tool_read_up_to(const struct tool_call *call, uint64_t limit, struct buf *out, struct err *err)
{
    const struct authority_read_options options = {.max_bytes = limit + 1, .cancel = call->cancel};

    buf_clear(out);
    out->max = limit < SIZE_MAX / 2 ? (size_t)limit + 1 : SIZE_MAX / 2;
    return authority_read_bytes(call->box->config.files, tool_name(call, 0), &options, out, err);
}

/* ---- over the limit ---- */

/* `why` is what could be done about it beside raising the limit; or empty. */
static int refuse(const struct tool_call *call, const char *type, const char *why, struct err *err)
{
    char name[TOOL_SHOWN_BYTES];
    struct authority_stat about;
    int r = authority_stat(call->box->config.files, tool_name(call, 0), &about, err);

    if (r < 0)
        return r;
    return err_set(err, ERR_TOO_LARGE,
                   "%s (%s) has %" PRIu64 " bytes; the limit is %" PRIu64
                   " bytes, which the user can raise with --max-file-size%s%s",
                   tool_show(call->resources[0].given, name), type, about.size,
                   call->box->config.max_file_bytes, why[0] != '\0' ? ". " : "", why);
}

/* What is asked, and the answer; too large for the stack of a worker. */
struct errand {
    struct media_request request;
    struct media_answer answer;
    struct buf input;
    struct buf space;
};

static struct errand *make_errand(void)
{
    struct errand *errand = calloc(1, sizeof(*errand));

    if (errand != NULL)
        buf_init(&errand->space, MEDIA_MAX_BYTES);
    return errand;
}

static void free_errand(struct errand *const *errand)
{
    if (*errand == NULL)
        return;
    buf_done(&(*errand)->input);
    buf_done(&(*errand)->space);
    free(*errand);
}
#define cleanup_errand cleanup_with(free_errand)

static void describe(struct media_request *request, const struct tool_call *call, bool is_image)
{
    uint64_t most = call->box->config.max_file_bytes;
    int64_t page = tool_int(call, STR("startPage"), 1);

    request->max_bytes = most < MEDIA_MAX_BYTES ? (uint32_t)most : MEDIA_MAX_BYTES;
    request->operation = is_image ? MEDIA_FIT : MEDIA_PART;
    if (is_image)
        return;
    request->range_count = 1;
    request->ranges[0].first = page < 1 ? 1 : page > INT32_MAX ? INT32_MAX : (uint32_t)page;
}

static int write_smaller(struct tool_call *call, const struct errand *errand, struct buf *out)
{
    const struct media_answer *answer = &errand->answer;
    struct about about = {.type = "application/pdf",
                          .size = answer->outputs[0].len,
                          .total_bytes = errand->input.len};
    char note[NOTE_BYTES];
    char type[32];

    if (errand->request.operation == MEDIA_FIT) {
        snprintf(type, sizeof(type), "image/%s", media_format_name(answer->format));
        snprintf(note, sizeof(note),
                 "scaled down from %u x %u pixels, because the file is over the size limit",
                 answer->width, answer->height);
        about.type = type;
    } else {
        snprintf(
            note, sizeof(note), "pages %u to %u of %u, because the file is over the size limit%s",
            answer->first, answer->last, answer->total,
            answer->last < answer->total ? "; to read on, use nextStartPage as startPage" : "");
        about.first_page = answer->first;
        about.last_page = answer->last;
        about.total_pages = answer->total;
    }
    about.note = note;
    return write_result(call, &about, answer->outputs[0], out);
}

int tool_read_large_media(struct tool_call *call, const char *type, struct buf *out,
                          struct err *err)
{
    bool is_image = media_is_image(type);
    cleanup_errand struct errand *errand = NULL;
    struct err why = ERR_INIT;
    int r;

    if (call->box->config.media == NULL)
        return refuse(call, type, "", err);
    errand = make_errand();
    if (errand == NULL)
        return ERR_NO_MEMORY;
    r = tool_read_up_to(call, INPUT_BYTES, &errand->input, err);
    if (r < 0)
        return r;
    if (errand->input.len > INPUT_BYTES)
        return refuse(call, type, "", err);
    describe(&errand->request, call, is_image);
    errand->request.input_count = 1;
    errand->request.inputs[0] = buf_view(&errand->input);
    r = media_ask(call->box->config.media, media_job_of(errand->request.operation),
                  &errand->request, call->cancel, &errand->space, &errand->answer, &why);
    if (r == ERR_CANCELLED || r == ERR_TIMED_OUT || r == ERR_NO_MEMORY)
        return r;
    if (r == ERR_INVALID_ARGUMENT)
        return err_set(err, r, "startPage: %s", why.message);
    if (r < 0)
        return refuse(call, type, why.message, err);
    return errand->answer.output_count == 1 ? write_smaller(call, errand, out) : ERR_INTERNAL;
}
