/*
 * xml.h - reading XML in place, token by token, as servers answer with it: elements and texts. Attributes are passed over. A
 * document type, which could define entities, is malformed here, and so is nesting of more than SS_XML_DEPTH.
 *
 *	struct ss_xml x = ss_xml_of(text);
 *	struct ss_xmltok t;
 *	while (ss_xml_next(&x, &t)) ...
 */
#ifndef SS_WIRE_XML_H
#define SS_WIRE_XML_H

#include "base/arena.h"

#define SS_XML_DEPTH 64

enum ss_xmlkind { SS_XML_OPEN, SS_XML_CLOSE, SS_XML_TEXT };

struct ss_xmltok {
	enum ss_xmlkind kind;
	struct ss_str text;	/* the element's name without a prefix; of a text the bytes as they stand */
	bool plain;		/* a text without entities: CDATA */
};

struct ss_xml {
	const char *at, *end;
	struct ss_str closes;	/* the element that was opened and closed in one */
	unsigned depth;
	bool bad;		/* what is malformed ends the walk */
};

struct ss_xml ss_xml_of(struct ss_str text);
bool ss_xml_next(struct ss_xml *x, struct ss_xmltok *t);
/*
 * After SS_XML_OPEN: the text of the element, up to where it is closed; elements in it are passed over. p is NULL when memory is
 * out.
 */
struct ss_str ss_xml_text(struct ss_xml *x, struct ss_arena *arena);
/* The text of the first element of this name, at any depth; "": there is none. */
struct ss_str ss_xml_find(struct ss_str document, const char *name, struct ss_arena *arena);

#endif
