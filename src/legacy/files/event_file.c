/* event_file.c - see event_file.h. Field numbers are those of event.proto, summary.proto and meta_graph.proto. */
#include "legacy/files/event_file.h"

#include "wire/pb.h"

#define KERAS_PLUGIN "graph_keras_model"

enum {
	EVENT_WALL_TIME = 1,
	EVENT_STEP = 2,
	EVENT_GRAPH_DEF = 4,
	EVENT_SUMMARY = 5,
	EVENT_TAGGED_METADATA = 8,
	EVENT_META_GRAPH_DEF = 9,
	SUMMARY_VALUE = 1,
	VALUE_TAG = 1,
	VALUE_TENSOR = 8,
	VALUE_METADATA = 9,
	METADATA_PLUGIN = 1,
	TAGGED_RUN_METADATA = 2,
	PLUGIN_NAME = 1,
	TENSOR_STRING_VAL = 8,
	META_GRAPH_GRAPH_DEF = 2,
};

/* False when the bytes are no Event. */
static bool tf_event_read(struct ss_str record, struct ss_tf_event *out)
{
	struct ss_pb c = ss_pb_of(record);
	struct ss_pb_field f;
	*out = (struct ss_tf_event){ .bytes = record };
	while (ss_pb_next(&c, &f))
		switch (f.key) {
		case PB_I64(EVENT_WALL_TIME):
			out->wall_time_s = ss_pb_double(f.u);
			break;
		case PB_VAR(EVENT_STEP):
			out->step = (int64_t)f.u;
			break;
		case PB_LEN(EVENT_GRAPH_DEF):
			out->graph_def = f.bytes;
			break;
		case PB_LEN(EVENT_META_GRAPH_DEF):
			out->meta_graph_def = f.bytes;
			break;
		case PB_LEN(EVENT_SUMMARY):
			out->summary = f.bytes;
			break;
		case PB_LEN(EVENT_TAGGED_METADATA):
			out->tagged_metadata = f.bytes;
			break;
		}
	return !c.bad;
}

bool ss_event_file_is(struct ss_str bytes)
{
	struct ss_tfrecord r = ss_tfrecord_of(bytes);
	struct ss_str record;
	/* A length whose checksum fits: nothing else begins like that. */
	return ss_tfrecord_next(&r, &record) || (r.cut && bytes.n >= SS_TFRECORD_HEAD_BYTES);
}

static void end_tally(const struct ss_tfrecord *r, struct ss_event_tally *tally)
{
	tally->nrecords = r->nrecords;
	tally->cut = r->cut;
	tally->bad = r->bad;
	tally->bad_at = tally->cut_at = r->at;
}

/* The last field `number` of a message; p NULL if it has none. */
static struct ss_str last_field(struct ss_str message, uint32_t number)
{
	struct ss_pb c = ss_pb_of(message);
	struct ss_pb_field f;
	struct ss_str found = { NULL, 0 };
	while (message.p && ss_pb_next(&c, &f))
		if (f.key == PB_LEN(number))
			found = f.bytes;
	return found;
}

/* What a summary holds for one of two plugins of TensorBoard, the text of a tensor; p NULL if there is none. */
static struct ss_str text_for_plugin(struct ss_str summary, const char *name, const char *other)
{
	struct ss_pb c = ss_pb_of(summary);
	struct ss_pb_field f;
	struct ss_str found = { NULL, 0 };
	while (summary.p && ss_pb_next(&c, &f)) {
		if (f.key != PB_LEN(SUMMARY_VALUE))
			continue;
		struct ss_str plugin = last_field(last_field(f.bytes, VALUE_METADATA), METADATA_PLUGIN);
		struct ss_str of = last_field(plugin, PLUGIN_NAME);
		if (ss_str_is(of, name) || ss_str_is(of, other))
			found = last_field(last_field(f.bytes, VALUE_TENSOR), TENSOR_STRING_VAL);
	}
	return found;
}

/* Which of an event's fields hold a graph, from the best to the least. */
enum source { SOURCE_NONE, SOURCE_RUN_METADATA, SOURCE_META_GRAPH, SOURCE_GRAPH };

static enum source source_of(const struct ss_tf_event *e, struct ss_str *found)
{
	*found = e->graph_def;
	if (found->p)
		return SOURCE_GRAPH;
	*found = last_field(e->meta_graph_def, META_GRAPH_GRAPH_DEF);
	if (found->p)
		return SOURCE_META_GRAPH;
	*found = text_for_plugin(e->summary, "graph_run_metadata_graph", "graph_run_metadata");
	if (!found->p)
		*found = last_field(e->tagged_metadata, TAGGED_RUN_METADATA);
	return found->p ? SOURCE_RUN_METADATA : SOURCE_NONE;
}

void ss_event_file_keras(struct ss_str bytes, struct ss_str *json, uint64_t *n, struct ss_event_tally *tally)
{
	struct ss_tfrecord r = ss_tfrecord_of(bytes);
	struct ss_str record;
	*tally = (struct ss_event_tally){ 0 };
	*json = (struct ss_str){ NULL, 0 };
	*n = 0;
	while (ss_tfrecord_next(&r, &record)) {
		struct ss_tf_event e;
		bool read = tf_event_read(record, &e);
		struct ss_str found = { NULL, 0 };
		if (read)
			found = text_for_plugin(e.summary, KERAS_PLUGIN, KERAS_PLUGIN);
		if (read && !found.p)
			continue;
		if (!read || !ss_tfrecord_intact(record)) {
			tally->ndamaged++;
			continue;
		}
		*json = found;
		++*n;
	}
	end_tally(&r, tally);
}

void ss_event_file_graph(struct ss_str bytes, struct ss_event_graph *out, struct ss_event_tally *tally)
{
	struct ss_tfrecord r = ss_tfrecord_of(bytes);
	struct ss_str record, found;
	enum source best = SOURCE_NONE;
	*tally = (struct ss_event_tally){ 0 };
	*out = (struct ss_event_graph){ { NULL, 0 }, { NULL, 0 }, 0 };
	while (ss_tfrecord_next(&r, &record)) {
		struct ss_tf_event e;
		bool read = tf_event_read(record, &e);
		enum source source = read ? source_of(&e, &found) : SOURCE_NONE;
		if (read && source == SOURCE_NONE)
			continue;
		if (!read || !ss_tfrecord_intact(record)) {
			tally->ndamaged++;
			continue;
		}
		if (source < best)
			continue;
		out->n = source == best ? out->n + 1 : 1;
		best = source;
		if (source == SOURCE_RUN_METADATA)
			out->run_metadata = found;
		else
			*out = (struct ss_event_graph){ found, { NULL, 0 }, out->n };
	}
	end_tally(&r, tally);
}

bool ss_event_file_tells_graph(struct ss_str head)
{
	struct ss_event_graph found;
	struct ss_event_tally tally;
	struct ss_str keras;
	uint64_t n;
	ss_event_file_keras(head, &keras, &n, &tally);
	ss_event_file_graph(head, &found, &tally);
	if (found.graph.p || found.run_metadata.p || keras.p)
		return true;
	if (!tally.cut || head.n - tally.cut_at < SS_TFRECORD_HEAD_BYTES)
		return false;
	/* A graph is mostly longer than what was read of it: its field is named at the begin of its record. */
	size_t body = tally.cut_at + SS_TFRECORD_HEAD_BYTES;
	struct ss_pb c = ss_pb_lenient(ss_str_sub(head, body, head.n));
	struct ss_pb_field f;
	while (ss_pb_next(&c, &f))
		if (f.key == PB_LEN(EVENT_GRAPH_DEF) || f.key == PB_LEN(EVENT_META_GRAPH_DEF))
			return true;
	return false;
}

static bool tags_of(const struct ss_tf_event *e, ss_event_tag_fn *fn, void *arg, struct ss_err *err)
{
	struct ss_pb c = ss_pb_of(e->summary);
	struct ss_pb_field f;
	while (ss_pb_next(&c, &f)) {
		if (f.key != PB_LEN(SUMMARY_VALUE))
			continue;
		struct ss_pb v = ss_pb_of(f.bytes);
		struct ss_str tag = { NULL, 0 };
		while (ss_pb_next(&v, &f))
			if (f.key == PB_LEN(VALUE_TAG))
				tag = f.bytes;
		if (tag.p && !v.bad && !fn(arg, e, tag, err))
			return false;
	}
	return true;
}

bool ss_event_file_tags(struct ss_str bytes, ss_event_tag_fn *fn, void *arg, struct ss_event_tally *tally,
			struct ss_err *err)
{
	struct ss_tfrecord r = ss_tfrecord_of(bytes);
	struct ss_str record;
	uint64_t ndamaged = 0;
	while (ss_tfrecord_next(&r, &record)) {
		struct ss_tf_event e;
		if (!ss_tfrecord_intact(record) || !tf_event_read(record, &e))
			ndamaged++;
		else if (!tags_of(&e, fn, arg, err))
			return false;
	}
	end_tally(&r, tally);
	tally->ndamaged = ndamaged;
	return true;
}
