/*
 * top.h - the top level of a file: how many fields of an XSpace it has, and whether it is one. Only
 * the wire format is looked at, so bytes of another kind, or of a file whose front is lost, may
 * look like some of its fields.
 */
#ifndef SS_XSPACE_TOP_H
#define SS_XSPACE_TOP_H

#include "base/str.h"

struct ss_xspace_top {
	uint32_t planes, hostnames, errors, warnings;
	bool bare_plane;	/* it is one XPlane, without the XSpace around it */
	bool other_front;	/* it does not begin with a field of an XSpace */
	bool foreign;		/* the same, or a field has a form that no XSpace has: its texts do not count */
};

struct ss_xspace_top ss_xspace_top_of(struct ss_str bytes);
/* What a copy as text left of the first bytes, and what to do; "": nothing shows such a copy. */
const char *ss_xspace_text_copy(struct ss_str bytes);

#endif
