/*
 * analysis.h - the service ProfileAnalysis over gRPC: the runs, the answers of the tools, and taking
 * profiles, for programs that use it. It gives the same answers as the HTTP routes.
 */
#ifndef SS_SERVE_ANALYSIS_H
#define SS_SERVE_ANALYSIS_H

#include "rpc/grpc_server.h"
#include "serve/call.h"

struct ss_analysis;

struct ss_analysis_config {
	const char *bind;
	uint16_t port;		/* 0: any that is free */
	const char *token;	/* required if other machines can reach the port */
	const struct ss_tls *tls;	/* NULL: none */
	ss_http_handler *handler; /* of the routes */
	struct ss_server_state *srv;
};

/* Listens when it returns; NULL on failure. */
struct ss_analysis *ss_analysis_start(const struct ss_analysis_config *config, struct ss_err *err);
uint16_t ss_analysis_port(const struct ss_analysis *a);
void ss_analysis_stop(struct ss_analysis *a);

#endif
