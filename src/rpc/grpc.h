/*
 * grpc.h - what both sides of a gRPC call share: statuses, and how they, deadlines and messages
 * look on the wire. The wire is HTTP/2 as "gRPC over HTTP/2" describes it; only unary calls, and
 * only messages that are not compressed.
 */
#ifndef SS_RPC_GRPC_H
#define SS_RPC_GRPC_H

#include "base/buf.h"

#include <stdint.h>

/* The numbers are the protocol's. */
enum ss_grpc_code {
	SS_GRPC_OK = 0,
	SS_GRPC_CANCELLED = 1,
	SS_GRPC_UNKNOWN = 2,
	SS_GRPC_INVALID_ARGUMENT = 3,
	SS_GRPC_DEADLINE_EXCEEDED = 4,
	SS_GRPC_NOT_FOUND = 5,
	SS_GRPC_ALREADY_EXISTS = 6,
	SS_GRPC_PERMISSION_DENIED = 7,
	SS_GRPC_RESOURCE_EXHAUSTED = 8,
	SS_GRPC_FAILED_PRECONDITION = 9,
	SS_GRPC_ABORTED = 10,
	SS_GRPC_OUT_OF_RANGE = 11,
	SS_GRPC_UNIMPLEMENTED = 12,
	SS_GRPC_INTERNAL = 13,
	SS_GRPC_UNAVAILABLE = 14,
	SS_GRPC_DATA_LOSS = 15,
	SS_GRPC_UNAUTHENTICATED = 16,
};

struct ss_grpc_status {
	enum ss_grpc_code code;
	char text[500];		/* UTF-8 as far as the other side kept to it; "" for none */
};

/* "UNAVAILABLE"; "UNKNOWN" for numbers the protocol does not have. */
const char *ss_grpc_code_name(enum ss_grpc_code code);
/* Set it, unless a failure is there already; always returns false. */
bool ss_grpc_fail(struct ss_grpc_status *s, enum ss_grpc_code code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* A number as a header has it; anything unknown is UNKNOWN. */
enum ss_grpc_code ss_grpc_code_of(struct ss_str text);
/* The gRPC status for a status of HTTP or an error of HTTP/2, if gRPC's own status is missing. */
enum ss_grpc_code ss_grpc_code_of_http(unsigned status);
enum ss_grpc_code ss_grpc_code_of_h2(uint32_t error);
/* One of our errors as the status that the other side gets. */
enum ss_grpc_code ss_grpc_code_of_err(enum ss_errcode code);

/* grpc-message: bytes outside of printable ASCII, and '%', as %XX. What is malformed is left as it is. */
void ss_grpc_percent_encode(struct ss_buf *out, const char *text);
void ss_grpc_percent_decode(char *out, size_t cap, struct ss_str text);

/* grpc-timeout: at most eight digits and a unit; rounded up to what can be said. */
void ss_grpc_timeout_print(char out[24], int64_t ns);
/* False when malformed. More than 292 years become the largest value. */
bool ss_grpc_timeout_parse(struct ss_str text, int64_t *ns);

#define SS_GRPC_PREFIX 5	/* bytes before a message: compressed?, length */
void ss_grpc_prefix(uint8_t out[SS_GRPC_PREFIX], uint32_t n);

/*
 * Takes the one message of a unary call out of the bytes of DATA frames, in pieces as they come.
 */
struct ss_grpc_unframer {
	uint8_t prefix[SS_GRPC_PREFIX];
	size_t nprefix;
	uint64_t length, got;	/* of the message */
};

/*
 * The next piece of the message in *bytes, which is shortened by what was read; false when there is
 * none, or with a failure in `status`: compressed, longer than `max_bytes`, a second message.
 */
bool ss_grpc_unframe(struct ss_grpc_unframer *u, struct ss_str *bytes, uint64_t max_bytes, struct ss_str *piece,
		     struct ss_grpc_status *status);
/* Is a whole message there? */
static inline bool ss_grpc_whole(const struct ss_grpc_unframer *u)
{
	return u->nprefix == SS_GRPC_PREFIX && u->got == u->length;
}

#endif
