/*
 * google_finding.h - what the sources of Google credentials share: google_credentials.c, and google_federation.c (accounts of
 * other providers, and service accounts that are impersonated).
 */
#ifndef SS_LOCATION_GOOGLE_FINDING_H
#define SS_LOCATION_GOOGLE_FINDING_H

#include "location/google_credentials.h"
#include "rpc/fetch.h"
#include "wire/json_tree.h"

#define SS_GOOGLE_CREDENTIAL_BYTES ((size_t)1 << 20)
#define SS_GOOGLE_LIFE_S 3600
#define SS_GOOGLE_TOKENS "https://oauth2.googleapis.com/token"
#define SS_GOOGLE_READ "https://www.googleapis.com/auth/devstorage.read_only"
#define SS_GOOGLE_ALL "https://www.googleapis.com/auth/cloud-platform"

struct ss_google_finding {
	struct ss_google *g;
	struct ss_arena *arena;
	unsigned *requests;
	struct ss_err *err;
	const char *scope;	/* of the token: what it allows */
	/* Get a token as a credentials file, or an object in it, says. `level` is the number of objects around it. */
	bool (*of_json)(struct ss_google_finding *f, const struct ss_jnode *n, struct ss_str from, unsigned level);
};

/* Send `body`, with `headers` unless NULL, to a token service and use the token that it answers with. */
bool ss_google_exchange(struct ss_google_finding *f, struct ss_str url, struct ss_str body, const char *const *headers,
			struct ss_str from);
/* Use the token of an answer. */
bool ss_google_take_token(struct ss_google_finding *f, struct ss_str body, struct ss_str from);
int64_t ss_google_now_s(void);
/* Base 64, of URLs in their letters and without "=". */
void ss_google_put_base64(struct ss_buf *b, struct ss_str s, bool of_url);
/* "Basic ..." of the two, for a header. */
struct ss_str ss_google_basic(struct ss_google_finding *f, struct ss_str id, struct ss_str secret);
/* "NAME=VALUE", with "&" before it unless it is the first. */
void ss_google_put(struct ss_google_finding *f, struct ss_buf *b, const char *name, struct ss_str value);

/* "type": "external_account", a workload of another provider. */
bool ss_google_external(struct ss_google_finding *f, const struct ss_jnode *n, struct ss_str from);
/* The same for a user with a refresh token. */
bool ss_google_external_user(struct ss_google_finding *f, const struct ss_jnode *n, struct ss_str from);
/* "type": "impersonated_service_account" */
bool ss_google_impersonated(struct ss_google_finding *f, const struct ss_jnode *n, struct ss_str from, unsigned level);

#endif
