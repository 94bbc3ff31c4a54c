/* grpc.c - statuses, deadlines and messages as they stand on the wire. */
#include "rpc/grpc.h"

#include <stdarg.h>
#include <stdio.h>

const char *ss_grpc_code_name(enum ss_grpc_code code)
{
	static const char *const names[] = {
		"OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS",
		"PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED",
		"INTERNAL", "UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED",
	};
	return (unsigned)code < SS_COUNT(names) ? names[code] : "UNKNOWN";
}

bool ss_grpc_fail(struct ss_grpc_status *s, enum ss_grpc_code code, const char *fmt, ...)
{
	va_list ap;
	if (s->code != SS_GRPC_OK)
		return false;
	s->code = code;
	va_start(ap, fmt);
	vsnprintf(s->text, sizeof(s->text), fmt, ap);
	va_end(ap);
	return false;
}

enum ss_grpc_code ss_grpc_code_of(struct ss_str text)
{
	uint64_t v;
	return ss_str_to_u64(text, &v) && v <= SS_GRPC_UNAUTHENTICATED ? (enum ss_grpc_code)v : SS_GRPC_UNKNOWN;
}

enum ss_grpc_code ss_grpc_code_of_http(unsigned status)
{
	switch (status) {
	case 400:
		return SS_GRPC_INTERNAL;
	case 401:
		return SS_GRPC_UNAUTHENTICATED;
	case 403:
		return SS_GRPC_PERMISSION_DENIED;
	case 404:
		return SS_GRPC_UNIMPLEMENTED;
	case 429:
	case 502:
	case 503:
	case 504:
		return SS_GRPC_UNAVAILABLE;
	default:
		return SS_GRPC_UNKNOWN;
	}
}

enum ss_grpc_code ss_grpc_code_of_h2(uint32_t error)
{
	switch (error) {
	case 0x7:	/* REFUSED_STREAM */
		return SS_GRPC_UNAVAILABLE;
	case 0x8:	/* CANCEL */
		return SS_GRPC_CANCELLED;
	case 0xb:	/* ENHANCE_YOUR_CALM */
		return SS_GRPC_RESOURCE_EXHAUSTED;
	case 0xc:	/* INADEQUATE_SECURITY */
		return SS_GRPC_PERMISSION_DENIED;
	default:
		return SS_GRPC_INTERNAL;
	}
}

enum ss_grpc_code ss_grpc_code_of_err(enum ss_errcode code)
{
	switch (code) {
	case SS_OK:
		return SS_GRPC_OK;
	case SS_ENOMEM:
		return SS_GRPC_RESOURCE_EXHAUSTED;
	case SS_ENOTFOUND:
	case SS_ENODATA:
		return SS_GRPC_NOT_FOUND;
	case SS_EINVAL:
		return SS_GRPC_INVALID_ARGUMENT;
	case SS_EBUSY:
	case SS_ELATER:
		return SS_GRPC_UNAVAILABLE;
	default:
		return SS_GRPC_INTERNAL;
	}
}

void ss_grpc_percent_encode(struct ss_buf *out, const char *text)
{
	static const char hex[] = "0123456789ABCDEF";
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;
		if (c >= 0x20 && c <= 0x7e && c != '%') {
			ss_buf_char(out, (char)c);
			continue;
		}
		ss_buf_char(out, '%');
		ss_buf_char(out, hex[c >> 4]);
		ss_buf_char(out, hex[c & 15]);
	}
}

void ss_grpc_percent_decode(char *out, size_t cap, struct ss_str text)
{
	size_t n = 0;
	for (size_t i = 0; i < text.n && n + 1 < cap; i++) {
		int high = -1, low = -1;
		if (text.p[i] == '%' && i + 2 < text.n) {
			high = ss_hex_digit(text.p[i + 1]);
			low = ss_hex_digit(text.p[i + 2]);
		}
		/* A NUL would hide what comes after it. */
		if (high >= 0 && low >= 0 && (high || low)) {
			out[n++] = (char)(high << 4 | low);
			i += 2;
		} else {
			out[n++] = text.p[i] ? text.p[i] : ' ';
		}
	}
	out[n] = '\0';
}

/* The units of grpc-timeout, from fine to coarse. */
static const struct {
	char letter;
	int64_t ns;
} units[] = {
	{ 'n', 1 }, { 'u', 1000 }, { 'm', 1000000 }, { 'S', 1000000000 }, { 'M', 60000000000 }, { 'H', 3600000000000 },
};

void ss_grpc_timeout_print(char out[24], int64_t ns)
{
	const int64_t max = 99999999;
	int64_t v = max;
	size_t i = 0;
	for (; i < SS_COUNT(units); i++) {
		v = ns < 1 ? 1 : (ns - 1) / units[i].ns + 1;
		if (v <= max)
			break;
	}
	snprintf(out, 24, "%lld%c", (long long)v, units[i < SS_COUNT(units) ? i : SS_COUNT(units) - 1].letter);
}

bool ss_grpc_timeout_parse(struct ss_str text, int64_t *ns)
{
	uint64_t v;
	if (text.n < 2 || text.n > 9 || text.p[0] < '0' || text.p[0] > '9' ||
	    !ss_str_to_u64(ss_str_sub(text, 0, text.n - 1), &v))
		return false;
	for (size_t i = 0; i < SS_COUNT(units); i++)
		if (units[i].letter == text.p[text.n - 1]) {
			*ns = (int64_t)v > INT64_MAX / units[i].ns ? INT64_MAX : (int64_t)v * units[i].ns;
			return true;
		}
	return false;
}

void ss_grpc_prefix(uint8_t out[SS_GRPC_PREFIX], uint32_t n)
{
	out[0] = 0;
	for (int i = 0; i < 4; i++)
		out[1 + i] = (uint8_t)(n >> (24 - 8 * i));
}

/* The length, once the prefix is whole. */
static bool begin_message(struct ss_grpc_unframer *u, uint64_t max_bytes, struct ss_grpc_status *status)
{
	const uint8_t *p = u->prefix;
	u->length = (uint64_t)p[1] << 24 | (uint64_t)p[2] << 16 | (uint64_t)p[3] << 8 | p[4];
	if (p[0] == 1)
		return ss_grpc_fail(status, SS_GRPC_UNIMPLEMENTED,
				    "the message is compressed, although compression was not requested");
	if (p[0] != 0)
		return ss_grpc_fail(status, SS_GRPC_INTERNAL, "the message does not begin as a gRPC message does");
	if (u->length > max_bytes)
		return ss_grpc_fail(status, SS_GRPC_RESOURCE_EXHAUSTED, "the message has %llu bytes, the limit is %llu",
				    (unsigned long long)u->length, (unsigned long long)max_bytes);
	return true;
}

bool ss_grpc_unframe(struct ss_grpc_unframer *u, struct ss_str *bytes, uint64_t max_bytes, struct ss_str *piece,
		     struct ss_grpc_status *status)
{
	while (bytes->n && u->nprefix < SS_GRPC_PREFIX) {
		u->prefix[u->nprefix++] = (uint8_t)bytes->p[0];
		*bytes = ss_str_sub(*bytes, 1, bytes->n);
		if (u->nprefix == SS_GRPC_PREFIX && !begin_message(u, max_bytes, status))
			return false;
	}
	if (!bytes->n)
		return false;
	uint64_t left = u->length - u->got;
	if (!left)
		return ss_grpc_fail(status, SS_GRPC_INTERNAL, "more than one message in a call that has one");
	*piece = ss_str_sub(*bytes, 0, left < bytes->n ? (size_t)left : bytes->n);
	*bytes = ss_str_sub(*bytes, piece->n, bytes->n);
	u->got += piece->n;
	return true;
}
