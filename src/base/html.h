/*
 * html.h - what a piece of HTML says: some sentences come with links, and not every reader is a
 * browser.
 */
#ifndef SS_BASE_HTML_H
#define SS_BASE_HTML_H

#include "base/buf.h"

/* Without its tags, with < > & and quotes for their entities. Appended to `out`. */
void ss_html_plain(struct ss_buf *out, struct ss_str html);

#endif
