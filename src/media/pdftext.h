/* SPDX-License-Identifier: Apache-2.0 */
/* The text of PDF documents, by the program pdftotext in a sandbox of its own. */
#ifndef MEDIA_PDFTEXT_H
#define MEDIA_PDFTEXT_H

#include "media/wire.h"

/*
 * Does a request of MEDIA_JOB_TEXT. The caller is not confined, and touches nothing of the
 * document but its bytes. ERR_UNSUPPORTED without pdftotext, or where sandboxes do not work.
 */
int pdftext_work(const struct media_request *request, struct buf *space,
                 struct media_answer *out_answer, struct err *err);

#endif
