/*
 * archive.c - names that lead somewhere else than below the directory into which an archive is
 * unpacked.
 */
#include "wire/archive.h"

#define MOST_COMPONENTS 64
#define COMPONENT_BYTES 255

const char *ss_member_refused(struct ss_str name)
{
	size_t components = 0;
	if (name.n > SS_MEMBER_NAME_BYTES)
		return "is not read: its name is too long";
	if (!name.n || ss_str_chr(name, '\0') != SS_NPOS)
		return "is not read: its name is damaged";
	if (name.p[0] == '/')
		return "is not read: its name is an absolute path, which leads out of the archive";
	while (name.n) {
		size_t slash = ss_str_chr(name, '/');
		struct ss_str one = ss_str_sub(name, 0, slash == SS_NPOS ? name.n : slash);
		name = ss_str_sub(name, slash == SS_NPOS ? name.n : slash + 1, name.n);
		if (ss_str_is(one, ".."))
			return "is not read: its name has '..', which leads out of the archive";
		if (one.n > COMPONENT_BYTES || ++components > MOST_COMPONENTS)
			return "is not read: its name is too long, or nested too deep";
	}
	return NULL;
}
