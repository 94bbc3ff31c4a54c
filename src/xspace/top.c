/* top.c - see top.h. */
#include "xspace/top.h"

#include "wire/pb.h"
#include "xspace/fields.h"

#define TEXT_LOOK_BYTES 4096	/* of a damaged file, to find a copy as text */
#define TEXT_LETTERS 8		/* beyond ASCII in it: fewer could be chance */

/*
 * The tags of messages are control characters; messages of programs have none but line ends, tabs
 * and colours.
 */
static bool is_text(struct ss_str s)
{
	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];
		if (c == 0x7f || (c < ' ' && c != '\n' && c != '\r' && c != '\t' && c != '\x1b'))
			return false;
	}
	return true;
}

static bool is_map_entry(struct ss_str message)
{
	struct ss_pb c = ss_pb_lenient(message);
	struct ss_pb_field f;
	return ss_pb_next(&c, &f) && f.key == PB_VAR(1) && ss_pb_next(&c, &f) && f.key == PB_LEN(2);
}

/* A name, metadata or an id, and nothing that an XPlane does not have. */
static bool is_bare_plane(struct ss_str bytes)
{
	struct ss_pb c = ss_pb_lenient(bytes);
	struct ss_pb_field f;
	bool named = false, metadata = false;
	while (ss_pb_next(&c, &f))
		switch (f.key) {
		case PB_LEN(XPLANE_NAME):
			if (named || !f.bytes.n || !is_text(f.bytes))
				return false;
			named = true;
			break;
		case PB_LEN(XPLANE_EVENT_METADATA):
		case PB_LEN(XPLANE_STAT_METADATA):
			if (!is_map_entry(f.bytes))
				return false;
			metadata = true;
			break;
		case PB_VAR(XPLANE_ID):
		case PB_LEN(XPLANE_LINES):
		case PB_LEN(XPLANE_STATS):
			break;
		default:
			return false;
		}
	return named && metadata;
}

/* A writer puts the fields that it knows first, and this reader knows its first four. */
struct ss_xspace_top ss_xspace_top_of(struct ss_str bytes)
{
	struct ss_xspace_top t = { 0 };
	struct ss_pb c = ss_pb_lenient(bytes);
	struct ss_pb_field f;
	for (bool first = true; ss_pb_next(&c, &f); first = false) {
		bool known = f.key >> 3 <= XSPACE_HOSTNAMES;
		t.other_front |= first && (!known || (f.key & 7) != 2);
		t.foreign |= t.other_front || (known && (f.key & 7) != 2);
		switch (f.key) {
		case PB_LEN(XSPACE_PLANES):
			t.planes++;
			break;
		case PB_LEN(XSPACE_HOSTNAMES):
			t.hostnames++;
			t.foreign |= !is_text(f.bytes);
			break;
		case PB_LEN(XSPACE_ERRORS):
			t.errors++;
			t.foreign |= !is_text(f.bytes);
			break;
		case PB_LEN(XSPACE_WARNINGS):
			t.warnings++;
			t.foreign |= !is_text(f.bytes);
			break;
		}
	}
	if (t.foreign)
		t.hostnames = t.errors = t.warnings = 0;
	t.bare_plane = !t.planes && is_bare_plane(bytes);
	return t;
}

/* A profile begins with the tag 0x0a, and lengths from 128 on make no UTF-8. */
const char *ss_xspace_text_copy(struct ss_str bytes)
{
	struct ss_str head = ss_utf8_front(ss_str_sub(bytes, 0, TEXT_LOOK_BYTES), TEXT_LOOK_BYTES);
	bool marked = ss_str_starts(head, SS_STR("\xef\xbb\xbf")), crlf = ss_str_starts(head, SS_STR("\r\n"));
	size_t letters = 0;
	for (size_t i = 0; i < head.n; i++)
		letters += (unsigned char)head.p[i] >= 0xc0;
	bool recoded = letters >= TEXT_LETTERS && ss_utf8_valid(head);
	return marked || crlf || recoded ? ". It was written or copied as text, which changes its bytes: copy the original "
	    "again as binary" : "";
}
