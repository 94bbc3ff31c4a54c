/*
 * shape_kernel_utilization.c - devices, their kernels, and the metrics of each as nested objects.
 */
#include "xprof/shape.h"

static void breakdown(struct ss_json *j, const struct ss_table *t, size_t row)
{
	static const char *const types[] = { "BF16", "FP8", "Int4", "Int8" };
	ss_json_key(j, "mxu_cycles_breakdown");
	ss_json_open(j, '{');
	for (size_t i = 0; i < SS_COUNT(types); i++)
		ss_json_f64(j, types[i], ss_cell_f64(t, row, types[i]));
	ss_json_close(j, '}');
}

/* Metrics stand in the order of their kernels: `m` is the first not yet printed. */
static void metrics(struct ss_json *j, const struct ss_table *t, size_t kernel, size_t *m)
{
	ss_json_key(j, "other_metrics");
	ss_json_open(j, '{');
	for (; *m < t->nrows && (size_t)ss_cell_i64(t, *m, "kernel") == kernel; ++*m) {
		ss_json_str(j, NULL, ss_cell_str(t, *m, "name"));
		ss_out_char(j->o, ':');
		ss_out_f64(j->o, ss_cell_f64(t, *m, "percent"));
	}
	ss_json_close(j, '}');
}

void ss_shape_kernel_utilization(struct ss_out *o, const struct ss_result *r)
{
	struct ss_json j = { o, true };
	const struct ss_table *devices = ss_result_find(r, "devices"), *kernels = ss_result_find(r, "kernels");
	size_t k = 0, m = 0;
	ss_json_open(&j, '{');
	ss_json_key(&j, "devices");
	ss_json_open(&j, '[');
	for (size_t d = 0; d < devices->nrows; d++) {
		ss_json_key(&j, NULL);
		ss_json_open(&j, '{');
		ss_json_int(&j, "device_id", ss_cell_i64(devices, d, "device_id"));
		ss_json_str(&j, "device_type", ss_cell_str(devices, d, "device_type"));
		ss_json_key(&j, "kernels");
		ss_json_open(&j, '[');
		for (; k < kernels->nrows && (size_t)ss_cell_i64(kernels, k, "device") == d; k++) {
			ss_json_key(&j, NULL);
			ss_json_open(&j, '{');
			ss_json_f64(&j, "duration_us", ss_cell_f64(kernels, k, "duration_us"));
			ss_json_str(&j, "kernel_name", ss_cell_str(kernels, k, "kernel_name"));
			breakdown(&j, kernels, k);
			ss_json_key(&j, "mxu_is_anomaly");
			ss_out_z(o, ss_cell_bool(kernels, k, "mxu_is_anomaly") ? "true" : "false");
			ss_json_f64(&j, "mxu_utilization", ss_cell_f64(kernels, k, "mxu_utilization"));
			metrics(&j, ss_result_find(r, "metrics"), k, &m);
			ss_json_close(&j, '}');
		}
		ss_json_close(&j, ']');
		ss_json_close(&j, '}');
	}
	ss_json_close(&j, ']');
	ss_json_str(&j, "status", SS_STR("SUCCESS"));
	ss_json_close(&j, '}');
}
