/* export_html.h - a run as one file of HTML. */
#ifndef SS_CLI_EXPORT_HTML_H
#define SS_CLI_EXPORT_HTML_H

#include "emit/out.h"

/* `path`: a run's directory, or one file. */
bool cli_export_html(const char *path, struct ss_out *o, struct ss_err *err);

#endif
