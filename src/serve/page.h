/*
 * page.h - the page, compiled in: the files of web/page.bin, which scripts/embed-page takes apart at build time.
 */
#ifndef SS_SERVE_PAGE_H
#define SS_SERVE_PAGE_H

#include <stddef.h>

struct ss_page_file {
	const char *path;		/* "/app.js"; the page itself is "/" */
	const char *type;
	const unsigned char *begin, *end;	/* gzip */
};

/* NULL path at the end. */
extern const struct ss_page_file ss_page_files[];

#endif
