/* SPDX-License-Identifier: Apache-2.0 */
#include "media/pdf.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/library.h"

enum { MAX_PAGES = 20000 };

/* qpdf's: a set of bits of which this one is fatal. */
enum { QPDF_ERRORS = 2 };

struct document; /* struct _qpdf_data */
struct problem;  /* struct _qpdf_error */

/* As libqpdf declares them; a QPDF_BOOL is an int. */
static struct {
    struct document *(*qpdf_init)(void);
    void (*qpdf_cleanup)(struct document **document);
    void (*qpdf_silence_errors)(struct document *document);
    void (*qpdf_set_suppress_warnings)(struct document *document, int value);
    int (*qpdf_has_error)(struct document *document);
    struct problem *(*qpdf_get_error)(struct document *document);
    const char *(*qpdf_get_error_message_detail)(struct document *document,
                                                 struct problem *problem);
    int (*qpdf_empty_pdf)(struct document *document);
    int (*qpdf_read_memory)(struct document *document, const char *name, const char *bytes,
                            unsigned long long len, const char *password);
    int (*qpdf_get_num_pages)(struct document *document);
    unsigned int (*qpdf_get_page_n)(struct document *document, size_t index);
    int (*qpdf_add_page)(struct document *document, struct document *from, unsigned int page,
                         int is_first);
    int (*qpdf_init_write_memory)(struct document *document);
    void (*qpdf_set_deterministic_ID)(struct document *document, int value);
    int (*qpdf_write)(struct document *document);
    size_t (*qpdf_get_buffer_length)(struct document *document);
    const unsigned char *(*qpdf_get_buffer)(struct document *document);
} library;

#define FUNCTIONS(X)                                                                               \
    X(qpdf_init)                                                                                   \
    X(qpdf_cleanup)                                                                                \
    X(qpdf_silence_errors)                                                                         \
    X(qpdf_set_suppress_warnings)                                                                  \
    X(qpdf_has_error)                                                                              \
    X(qpdf_get_error)                                                                              \
    X(qpdf_get_error_message_detail)                                                               \
    X(qpdf_empty_pdf)                                                                              \
    X(qpdf_read_memory)                                                                            \
    X(qpdf_get_num_pages)                                                                          \
    X(qpdf_get_page_n)                                                                             \
    X(qpdf_add_page)                                                                               \
    X(qpdf_init_write_memory)                                                                      \
    X(qpdf_set_deterministic_ID)                                                                   \
    X(qpdf_write)                                                                                  \
    X(qpdf_get_buffer_length)                                                                      \
    X(qpdf_get_buffer)

const struct str pdf_sample =
    STR_LITERAL("%PDF-1.4\n"
                "1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n"
                "2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n"
                "3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 100]/Contents 4 0 R"
                "/Resources<</Font<</F 5 0 R>>>>>>endobj\n"
                "4 0 obj<</Length 39>>stream\n"
                "BT /F 18 Tf 20 40 Td (Gatehouse) Tj ET\n\n"
                "endstream endobj\n"
                "5 0 obj<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>endobj\n"
                "trailer<</Root 1 0 R/Size 6>>\n"
                "startxref\n0\n%%EOF\n");

int pdf_open(struct err *err)
{
    static const char *const names[] = {"libqpdf.so.30", "libqpdf.so.29"}; /* Debian 13 and 12 */

    for (size_t i = 0; i < array_size(names); i++)
        if (LIBRARY_FIND(dlopen(names[i], RTLD_NOW | RTLD_LOCAL), FUNCTIONS))
            return 0;
    return err_set(err, ERR_UNSUPPORTED,
                   "PDF documents need libqpdf, which is not installed (package libqpdf29, "
                   "libqpdf29t64 or libqpdf30)");
}

/* ---- parts of the work ---- */

static int refuse(struct document *document, struct err *err)
{
    struct problem *problem =
        library.qpdf_has_error(document) ? library.qpdf_get_error(document) : NULL;

    return err_set(err, ERR_MEDIA_FORMAT, "the document cannot be used: %s",
                   problem != NULL ? library.qpdf_get_error_message_detail(document, problem)
                                   : "it is damaged");
}

static struct document *make_document(void)
{
    struct document *document = library.qpdf_init();

    if (document == NULL)
        abort(); /* no memory; the program that asks hears of it */
    library.qpdf_silence_errors(document);
    library.qpdf_set_suppress_warnings(document, 1);
    return document;
}

static int read_document(struct str bytes, struct document **out_document, uint32_t *out_pages,
                         struct err *err)
{
    struct document *document = make_document();
    int pages;

    if (!str_starts_with(bytes, STR("%PDF-")))
        return err_set(err, ERR_MEDIA_FORMAT, "it is no PDF document");
    if ((library.qpdf_read_memory(document, "document", bytes.ptr, bytes.len, NULL) &
         QPDF_ERRORS) != 0)
        return refuse(document, err);
    pages = library.qpdf_get_num_pages(document);
    if (pages <= 0)
        return refuse(document, err);
    if (pages > MAX_PAGES)
        return err_set(err, ERR_MEDIA_LIMIT, "%d pages are more than the limit, %d", pages,
                       MAX_PAGES);
    *out_document = document;
    *out_pages = (uint32_t)pages;
    return 0;
}

static int add_pages(struct document *to, struct document *from, uint32_t first, uint32_t last,
                     struct err *err)
{
    for (uint32_t i = first; i <= last; i++)
        if ((library.qpdf_add_page(to, from, library.qpdf_get_page_n(from, i - 1), 0) &
             QPDF_ERRORS) != 0)
            return refuse(to, err);
    return 0;
}

static struct document *make_empty(void)
{
    struct document *document = make_document();

    (void)library.qpdf_empty_pdf(document);
    return document;
}

/* Appends it; it can be written once. */
static int write_document(struct document *document, struct buf *space, struct err *err)
{
    int r;

    if ((library.qpdf_init_write_memory(document) & QPDF_ERRORS) != 0)
        return refuse(document, err);
    library.qpdf_set_deterministic_ID(document, 1);
    if ((library.qpdf_write(document) & QPDF_ERRORS) != 0)
        return refuse(document, err);
    r = buf_append(space, library.qpdf_get_buffer(document),
                   library.qpdf_get_buffer_length(document));
    return r < 0 ? err_set_plain(err, r) : 0;
}

static int write_pages(struct document *from, uint32_t first, uint32_t last, struct buf *space,
                       struct err *err)
{
    struct document *part = make_empty();
    int r = add_pages(part, from, first, last, err);

    if (r == 0)
        r = write_document(part, space, err);
    library.qpdf_cleanup(&part);
    return r;
}

/* ---- operations ---- */

/* Views of `space` are taken at the end, since it moves as it grows. */
static int split(const struct media_request *request, struct document *document, uint32_t pages,
                 struct buf *space, struct media_answer *out_answer, struct err *err)
{
    bool by_page = request->range_count == 0;
    size_t count = by_page ? pages : request->range_count;
    size_t lengths[MEDIA_MAX_OUTPUTS];
    size_t at = 0;

    if (count > MEDIA_MAX_OUTPUTS)
        return err_set(err, ERR_MEDIA_LIMIT, "at most %d parts; name the pages of each",
                       MEDIA_MAX_OUTPUTS);
    for (size_t i = 0; i < count; i++) {
        uint32_t page = (uint32_t)i + 1;
        struct media_range range = by_page ? (struct media_range){page, page} : request->ranges[i];
        uint32_t last = range.last != 0 ? range.last : pages;
        size_t before = space->len;
        int r;

        if (last > pages || range.first > last)
            return err_set(err, ERR_INVALID_ARGUMENT, "the document has %u pages", pages);
        r = write_pages(document, range.first, last, space, err);
        if (r < 0)
            return r;
        lengths[i] = space->len - before;
    }
    for (size_t i = 0; i < count; i++) {
        out_answer->outputs[i] = str_slice(buf_view(space), at, lengths[i]);
        at += lengths[i];
    }
    out_answer->output_count = count;
    return 0;
}

static int merge(const struct media_request *request, struct buf *space,
                 struct media_answer *out_answer, struct err *err)
{
    struct document *all = make_empty();
    uint64_t total = 0;
    int r = 0;

    for (size_t i = 0; i < request->input_count && r == 0; i++) {
        struct document *document;
        uint32_t pages;

        r = read_document(request->inputs[i], &document, &pages, err);
        if (r == 0)
            r = add_pages(all, document, 1, pages, err);
        total += r == 0 ? pages : 0;
        if (r == 0 && total > MAX_PAGES)
            r = err_set(err, ERR_MEDIA_LIMIT, "together they have more than %d pages", MAX_PAGES);
    }
    if (r == 0)
        r = write_document(all, space, err);
    if (r < 0)
        return r;
    out_answer->total = (uint32_t)total;
    out_answer->output_count = 1;
    out_answer->outputs[0] = buf_view(space);
    return 0;
}

/* Doubles the pages while they fit, then halves the steps. One page at least. */
static int part(const struct media_request *request, struct document *document, uint32_t pages,
                struct buf *space, struct media_answer *out_answer, struct err *err)
{
    cleanup_buf struct buf tried = BUF_INIT(space->max);
    uint32_t first = request->ranges[0].first;
    uint32_t fits = 0; /* so many pages do */
    uint32_t step = 1;
    bool grows = true;

    if (first > pages)
        return err_set(err, ERR_INVALID_ARGUMENT, "the document has %u pages", pages);
    while (step > 0) {
        uint32_t count = fits + step;
        bool is_small = count <= pages - first + 1;
        int r = 0;

        buf_clear(&tried);
        if (is_small)
            r = write_pages(document, first, first + count - 1, &tried, err);
        if (r < 0)
            return r;
        is_small = is_small && tried.len <= request->max_bytes;
        if (is_small) {
            buf_clear(space);
            r = buf_append_str(space, buf_view(&tried));
            fits = count;
        }
        if (r < 0)
            return err_set_plain(err, r);
        grows = grows && is_small;
        step = grows ? step * 2 : step / 2;
    }
    if (fits == 0)
        return err_set(err, ERR_TOO_LARGE, "page %u alone is larger than the limit", first);
    out_answer->first = first;
    out_answer->last = first + fits - 1;
    out_answer->total = pages;
    out_answer->output_count = 1;
    out_answer->outputs[0] = buf_view(space);
    return 0;
}

static int probe(struct buf *space, struct err *err)
{
    struct document *document;
    uint32_t pages;
    int r = read_document(pdf_sample, &document, &pages, err);

    return r == 0 ? write_pages(document, 1, pages, space, err) : r;
}

int pdf_work(const struct media_request *request, struct buf *space,
             struct media_answer *out_answer, struct err *err)
{
    struct document *document;
    uint32_t pages;
    int r;

    if (request->operation == MEDIA_PROBE)
        return probe(space, err);
    if (request->operation == MEDIA_MERGE)
        return merge(request, space, out_answer, err);
    r = read_document(request->inputs[0], &document, &pages, err);
    if (r < 0)
        return r;
    return request->operation == MEDIA_SPLIT
               ? split(request, document, pages, space, out_answer, err)
               : part(request, document, pages, space, out_answer, err);
}
