/*
 * reply.c - reading a ProfileResponse from a stream.
 *
 * Only two levels are of interest: the response, and the ProfileToolData in it. A profile that
 * comes in several fields is put together by writing them one after the other: that is what merging
 * two messages of protobuf means.
 */
#include "capture/reply.h"

#include "capture/messages.h"
#include "wire/pb.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define MAX_FILES 32

void ss_reply_init(struct ss_reply *r, const struct ss_run_dir *dir, const char *stem)
{
	*r = (struct ss_reply){ .dir = dir, .stem = stem, .xspace.draft.fd = -1, .trace.draft.fd = -1, .tool.draft.fd = -1 };
}

static bool malformed(struct ss_err *err)
{
	return ss_fail(err, SS_EFORMAT, "the answer is not what a profiler sends");
}

/* A file of the answer may be called: letters, digits and . _ - @, not beginning with a dot. */
static bool good_name(struct ss_str s)
{
	if (!s.n || s.p[0] == '.')
		return false;
	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i];
		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || (c && strchr("._-@^", c))))
			return false;
	}
	return true;
}

static bool keep(struct ss_reply *r, struct ss_new_file *f, const char *name, struct ss_err *err)
{
	char *file = NULL;
	if (r->kept.n == MAX_FILES)
		return ss_fail(err, SS_EFORMAT, "the answer holds more than %d files", MAX_FILES);
	if (asprintf(&file, "%s.%s", r->stem, name) < 0)
		return ss_fail_mem(err);
	uint64_t bytes = f->bytes;
	if (!ss_new_file_keep(f, r->dir, file, err)) {
		free(file);
		return false;
	}
	r->bytes += bytes;
	r->kept.path[r->kept.n++] = file;
	return true;
}

/* A ProfileToolData is whole. */
static bool end_tool(struct ss_reply *r, struct ss_err *err)
{
	const struct ss_str helper = SS_STR("tf_stats_helper_result");
	r->name[r->name_n] = '\0';
	struct ss_str name = { r->name, r->name_n };
	r->sub_end = 0;
	if (r->tool.draft.fd < 0)
		return true;
	/* An intermediate result of the server's own, which no reader wants. */
	if (ss_str_ends(name, helper) || !r->tool.bytes) {
		ss_new_file_drop(&r->tool);
		return true;
	}
	if (!good_name(name))
		return ss_fail(err, SS_EFORMAT, "the answer holds a file with an unsafe name");
	return keep(r, &r->tool, r->name, err);
}

/* Both digits of a field's key and the length are known. */
static bool begin_bytes(struct ss_reply *r, struct ss_err *err)
{
	r->left = r->varint;
	r->to = SS_TO_NOBODY;
	r->state = SS_AT_BYTES;
	if (r->sub_end && r->left > r->sub_end - r->at)
		return malformed(err);
	if (!r->sub_end && r->key == PB_LEN(PROFILE_RESPONSE_TOOL_DATA)) {
		/* Read its fields instead. */
		r->sub_end = r->at + r->left;
		r->state = SS_AT_KEY;
		r->name_n = 0;
		return r->left || end_tool(r, err);
	}
	if (!r->sub_end && r->key == PB_LEN(PROFILE_RESPONSE_XSPACE)) {
		r->to = SS_TO_XSPACE;
		return r->xspace.draft.fd >= 0 || !r->left || ss_new_file_open(&r->xspace, r->dir, err);
	}
	if (!r->sub_end && r->key == PB_LEN(PROFILE_RESPONSE_ENCODED_TRACE)) {
		r->to = SS_TO_TRACE;
		return r->trace.draft.fd >= 0 || !r->left || ss_new_file_open(&r->trace, r->dir, err);
	}
	if (r->sub_end && r->key == PB_LEN(TOOL_DATA_NAME)) {
		r->to = SS_TO_NAME;
		r->name_n = 0;
		return r->left < sizeof(r->name) || malformed(err);
	}
	if (r->sub_end && r->key == PB_LEN(TOOL_DATA_DATA)) {
		r->to = SS_TO_TOOL;
		ss_new_file_drop(&r->tool); /* the last one counts */
		return !r->left || ss_new_file_open(&r->tool, r->dir, err);
	}
	return true;
}

static bool end_varint(struct ss_reply *r, struct ss_err *err)
{
	switch (r->state) {
	case SS_AT_KEY:
		if (r->varint < 8 || r->varint > UINT32_MAX)
			return malformed(err);
		r->key = (uint32_t)r->varint;
		r->to = SS_TO_NOBODY;
		if ((r->key & 7) == 0) {
			r->state = SS_AT_VARINT;
		} else if ((r->key & 7) == 2) {
			r->state = SS_AT_LENGTH;
		} else if ((r->key & 7) == 1 || (r->key & 7) == 5) {
			r->left = (r->key & 7) == 1 ? 8 : 4;
			r->state = SS_AT_BYTES;
			return !r->sub_end || r->left <= r->sub_end - r->at || malformed(err);
		} else {
			return malformed(err);
		}
		return true;
	case SS_AT_VARINT:
		if (!r->sub_end && r->key == PB_VAR(PROFILE_RESPONSE_EMPTY_TRACE))
			r->empty_trace = r->varint;
		r->state = SS_AT_KEY;
		return true;
	default:
		return begin_bytes(r, err);
	}
}

static bool take_byte(struct ss_reply *r, uint8_t byte, struct ss_err *err)
{
	r->varint = (r->shift ? r->varint : 0) | (uint64_t)(byte & 0x7f) << r->shift;
	r->shift += 7;
	if (byte & 0x80)
		return r->shift < 70 || malformed(err);
	r->shift = 0;
	return end_varint(r, err);
}

/* Take the available bytes of a field's value. */
static bool take_bytes(struct ss_reply *r, struct ss_str bytes, struct ss_err *err)
{
	switch (r->to) {
	case SS_TO_XSPACE:
		return ss_new_file_write(&r->xspace, bytes, err);
	case SS_TO_TRACE:
		return ss_new_file_write(&r->trace, bytes, err);
	case SS_TO_TOOL:
		return ss_new_file_write(&r->tool, bytes, err);
	case SS_TO_NAME:
		memcpy(r->name + r->name_n, bytes.p, bytes.n);
		r->name_n += bytes.n;
		return true;
	default:
		return true;
	}
}

/* End a message. A ProfileToolData must end between two fields. */
static bool settle(struct ss_reply *r, struct ss_err *err)
{
	if (r->state == SS_AT_BYTES && !r->left)
		r->state = SS_AT_KEY;
	if (!r->sub_end || r->at < r->sub_end)
		return true;
	return r->state == SS_AT_KEY && !r->shift ? end_tool(r, err) : malformed(err);
}

bool ss_reply_take(void *arg, struct ss_str piece, uint64_t total, struct ss_err *err)
{
	struct ss_reply *r = arg;
	(void)total;
	while (piece.n) {
		size_t n = 1;
		if (r->state == SS_AT_BYTES) {
			n = r->left < piece.n ? (size_t)r->left : piece.n;
			if (!take_bytes(r, ss_str_sub(piece, 0, n), err))
				return false;
			r->left -= n;
			r->at += n;
		} else {
			r->at++;
			if (!take_byte(r, (uint8_t)piece.p[0], err))
				return false;
		}
		piece = ss_str_sub(piece, n, piece.n);
		if (!settle(r, err))
			return false;
	}
	return true;
}

/*
 * Do the bytes consist of an XSpace's fields, from the first to the last? Only their beginnings are
 * looked at.
 */
static bool is_xspace(const struct ss_new_file *f)
{
	uint64_t at = 0, key, n;
	uint8_t head[24];
	while (at < f->bytes) {
		ssize_t got = pread(f->draft.fd, head, sizeof(head), (off_t)at);
		const uint8_t *p = head, *end = head + (got > 0 ? got : 0);
		/* Planes, errors, warnings and hostnames. */
		if (!ss_pb_varint(&p, end, &key) || !ss_pb_varint(&p, end, &n) || key < PB_LEN(1) || key > PB_LEN(4) ||
		    (key & 7) != 2)
			return false;
		at += (uint64_t)(p - head);
		if (n > f->bytes - at)
			return false;
		at += n;
	}
	return f->bytes > 0;
}

bool ss_reply_finish(struct ss_reply *r, struct ss_err *err)
{
	if (r->state != SS_AT_KEY || r->shift || r->sub_end)
		return malformed(err);
	if (r->xspace.draft.fd >= 0 && !is_xspace(&r->xspace))
		return ss_fail(err, SS_EFORMAT, "the answer holds no profile: its %llu bytes are not an XSpace",
			       (unsigned long long)r->xspace.bytes);
	return (r->xspace.draft.fd < 0 || keep(r, &r->xspace, "xplane.pb", err)) &&
	       (r->trace.draft.fd < 0 || keep(r, &r->trace, "trace", err));
}

void ss_reply_undo(struct ss_reply *r)
{
	char path[PATH_MAX];
	for (size_t i = 0; i < r->kept.n; i++)
		if (snprintf(path, sizeof(path), "%s/%s", r->dir->path.p, r->kept.path[i]) < (int)sizeof(path))
			unlink(path);
	ss_reply_release(r);
}

void ss_reply_release(struct ss_reply *r)
{
	ss_new_file_drop(&r->xspace);
	ss_new_file_drop(&r->trace);
	ss_new_file_drop(&r->tool);
	for (size_t i = 0; i < r->kept.n; i++)
		free(r->kept.path[i]);
	r->kept.n = 0;
}
