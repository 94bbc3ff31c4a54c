/*
 * chrome.h - a timeline as Chrome trace JSON.
 *
 * ss_chrome_write gives XProf's exact answer to trace_viewer@: keys,
 * order and values are those its clients read. Times are printed exactly (XProf prints the nearest
 * double with 17 digits: equal once read).
 */
#ifndef SS_EMIT_CHROME_H
#define SS_EMIT_CHROME_H

#include "emit/out.h"
#include "table/timeline.h"

/*
 * The answer to trace_viewer@. Failures stay in `o` (ss_out_finish); lack of scratch memory counts
 * as one.
 */
void ss_chrome_write(struct ss_out *o, const struct ss_timeline *tl);
/*
 * The answer to trace_viewer, whose slices are pulled. ss_chrome_write calls it where there is a
 * pull.
 */
void ss_chrome_write_file(struct ss_out *o, const struct ss_timeline *tl);

#endif
