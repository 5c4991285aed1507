/* SPDX-License-Identifier: Apache-2.0 */
#include "authority/archive/internal.h"

#include "base/cleanup.h"

struct extraction {
    const struct backend_ops *ops;
    struct backend_root *tree;
    const struct backend_lookup *lookup;
    struct archive_stream *stream;
    struct backend_stage *stage;
    const struct archive_gate *gate;
};

static int make_directory(void *context, struct str name)
{
    struct extraction *x = context;

    return x->ops->mkdir(x->tree, x->lookup, name, 0755, false);
}

static int write_content(struct extraction *x, struct str name, struct err *err)
{
    const struct archive_rules *rules = x->gate->rules;

    while (true) {
        struct str bytes;
        int r = archive_stream_read(x->stream, &bytes, err);

        if (r < 0 || bytes.len == 0)
            return r;
        r = x->ops->stage_write(x->stage, bytes.ptr, bytes.len);
        if (r < 0)
            return archive_refuse(err, r, name, err_text(r));
        if (rules->progress != NULL)
            rules->progress(rules->progress_data, x->gate->result.bytes,
                            archive_stream_total(x->stream));
    }
}

static int write_file(struct extraction *x, const struct archive_item *item, struct err *err)
{
    int r;

    r = x->ops->stage(x->tree, x->lookup, item->name, BACKEND_CREATE_NEW, item->mode, &x->stage);
    if (r < 0)
        return archive_refuse(err, r, item->name, err_text(r));
    r = write_content(x, item->name, err);
    if (r < 0)
        return r;
    /* The tree is synced as a whole when it is published. */
    r = x->ops->stage_publish(steal_ptr(&x->stage), false);
    if (r < 0)
        return archive_refuse(err, r, item->name, err_text(r));
    return 0;
}

/* The gate has created the directory; checks that it has no content. */
static int pass_directory(struct extraction *x, struct err *err)
{
    struct str bytes;
    int r = archive_stream_read(x->stream, &bytes, err);

    if (r == 0 && bytes.len > 0)
        return err_set(err, ERR_ARCHIVE_FORMAT, "a directory entry has content");
    return r;
}

static void extraction_done(struct extraction *x)
{
    if (x->stage != NULL)
        x->ops->stage_drop(x->stage);
    archive_stream_close(x->stream);
}

int archive_extract(struct backend *backend, struct backend_file *archive, uint64_t archive_size,
                    struct backend_root *tree, const struct backend_lookup *lookup,
                    const struct archive_rules *rules, struct authority_archive_result *out_result,
                    struct err *err)
{
    cleanup_archive_locale struct archive_locale locale;
    cleanup_archive_gate struct archive_gate gate;
    cleanup_with(extraction_done) struct extraction x = {
        .ops = backend->ops,
        .tree = tree,
        .lookup = lookup,
        .gate = &gate,
    };
    struct archive_item item;
    int r;

    archive_locale_begin(&locale);
    r = archive_gate_init(&gate, rules, archive_size, err);
    gate.make_directory = make_directory;
    gate.context = &x;
    if (r == 0)
        r = archive_stream_open(backend, archive, archive_size, &gate, &x.stream, err);
    if (r < 0)
        return r;
    while (archive_stream_next(x.stream, &item, &r, err)) {
        r = item.is_directory ? pass_directory(&x, err) : write_file(&x, &item, err);
        if (r < 0)
            return r;
    }
    if (r < 0)
        return r;
    *out_result = gate.result;
    return 0;
}
