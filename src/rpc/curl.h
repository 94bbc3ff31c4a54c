/*
 * curl.h - libcurl's functions and constants, without its headers. Internal to this folder.
 */
#ifndef SS_RPC_CURL_H
#define SS_RPC_CURL_H

#include <stdbool.h>

struct curl_slist;

/* A pointer to each, called as the function is. */
struct ss_curl {
#define F(type, name, parameters) type(*name) parameters;
#include "rpc/curl.def"
};

enum {
#define C(name, value) SS_##name = (value),
#include "rpc/curl.def"
};

struct ss_err;
/* SS_ENOTFOUND without libcurl. The first call must come before other threads may call it. */
bool ss_curl_load(struct ss_curl *lib, struct ss_err *err);

#endif
