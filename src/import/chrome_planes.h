/*
 * chrome_planes.h - processes and devices of a trace in Chrome's JSON, and the planes that they become.
 *
 * A process is a plane. Work of a GPU is recognized by its category (kineto.h), not by the labels of
 * processes: traces that were split or trimmed have no labels, and others label every GPU of the
 * machine. So a device is a plane of its own, made by its first event, and ranges that are drawn over a
 * device are one beside it, as they are no work.
 */
#ifndef SS_IMPORT_CHROME_PLANES_H
#define SS_IMPORT_CHROME_PLANES_H

#include "import/kineto.h"
#include "import/space_out.h"

struct ss_chrome_plane {
	struct ss_str name, label; /* of the process, as metadata events have them */
	struct ss_str pid;	   /* of a device: the process that stands for it */
	int64_t device;
	bool is_device, marks;	   /* marks: ranges over a device and waits for it */
};

struct ss_chrome_planes {
	SS_VEC(struct ss_chrome_plane) v; /* by plane */
	bool any_device;
};

/* The place of an event of a device, from its arguments. */
struct ss_chrome_place {
	enum ss_kineto kind;
	struct ss_str pid, tid;
	const struct ss_so_arg *args;
	size_t nargs;
};

/* Numbers of plane and line, SS_NONE when memory is out (o->no_memory). */
uint32_t ss_chrome_process(struct ss_chrome_planes *c, struct ss_space_out *o, struct ss_str pid);
uint32_t ss_chrome_thread(struct ss_space_out *o, uint32_t plane, struct ss_str tid);
/* Find the line of device work, or of marks over a device; sets *line. */
uint32_t ss_chrome_stream(struct ss_chrome_planes *c, struct ss_space_out *o, const struct ss_chrome_place *e, uint32_t *line);

/*
 * Give planes, and lines of devices, their names, once all events are there. Finds the host's name
 * in those of XProf's processes.
 */
bool ss_chrome_name_planes(struct ss_chrome_planes *c, struct ss_space_out *o, struct ss_str *hostname);

#endif
