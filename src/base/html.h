/*
 * html.h - text as HTML, and HTML as text: some sentences contain links, and not every reader is a
 * browser.
 */
#ifndef SS_BASE_HTML_H
#define SS_BASE_HTML_H

#include "base/buf.h"

/* The replacement of `c` in text and in quoted attributes; empty: `c` itself. */
struct ss_str ss_html_entity(char c);
/* Text with its entities. Appended to `out`. */
void ss_html_escape(struct ss_buf *out, struct ss_str text);

/* Without its tags, with < > & and quotes for their entities. Appended to `out`. */
void ss_html_plain(struct ss_buf *out, struct ss_str html);

#endif
