/* fuzz_xml.c - any bytes as XML: every token lies inside, what opens is closed, decoding stays within bounds. */
#include "location/bucket.h"
#include "wire/xml.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void walk(struct ss_str text, struct ss_arena *arena)
{
	struct ss_xml x = ss_xml_of(text);
	struct ss_xmltok t;
	size_t opened = 0, closed = 0;
	while (ss_xml_next(&x, &t)) {
		if (t.text.n && (t.text.p < text.p || t.text.p + t.text.n > text.p + text.n))
			abort();
		opened += t.kind == SS_XML_OPEN;
		closed += t.kind == SS_XML_CLOSE;
		if (closed > opened || opened - closed > SS_XML_DEPTH || opened - closed != x.depth)
			abort();
		if (t.kind == SS_XML_OPEN && t.text.n % 3 == 0) {
			if (ss_xml_text(&x, arena).n > text.n)
				abort();
			closed = opened - x.depth;
		}
	}
	if (!x.bad && opened != closed)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ss_str text = { (const char *)data, size };
	struct ss_arena arena = { 0 };
	walk(text, &arena);
	struct ss_str key = ss_xml_find(text, "Key", &arena), percent = ss_percent(key, size & 1, &arena);
	if (percent.n > 3 * key.n || ss_utc_ns(ss_xml_find(text, "LastModified", &arena)) < 0)
		abort();
	ss_arena_release(&arena);
	return 0;
}
