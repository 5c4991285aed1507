/* SPDX-License-Identifier: Apache-2.0 */
/* Takes PDF documents apart and puts them together with libqpdf, which is loaded if installed. */
#ifndef MEDIA_PDF_H
#define MEDIA_PDF_H

#include "media/wire.h"

/* Before confining. ERR_UNSUPPORTED without the library. */
int pdf_open(struct err *err);

/*
 * Does a request of MEDIA_JOB_DOCUMENT. `space` gets the outputs. What it allocates is left to the
 * end of the process.
 */
int pdf_work(const struct media_request *request, struct buf *space,
             struct media_answer *out_answer, struct err *err);

/* A document of one page with the word "Gatehouse", to try things with. */
extern const struct str pdf_sample;
#define PDF_SAMPLE_WORD "Gatehouse"

#endif
