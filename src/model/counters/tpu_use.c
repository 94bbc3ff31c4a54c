/*
 * tpu_use.c - from counters of a TPU to the utilisation of its units.
 *
 * Each row sums counters with weights (cycles an instruction keeps its unit busy, bytes of a
 * request) and sets the sum against what the unit could have done in the counted cycles. Rows stand
 * in tables; the few that do not fit are written out below them.
 */
#include "model/counters/tpu_regs.h"

enum { V6E = 1 << SS_TPU_V6E, V7X = 1 << SS_TPU_V7X, BOTH = V6E | V7X };

#define ALL (-1)	/* every copy of the counter */
#define MAX_TERMS 8

struct term {
	double weight;		/* 0 ends the list */
	enum ss_tpu_counter counter;
	int copy;
};

struct metric {
	const char *name, *unit;
	unsigned chips;
	double per_cycle;	/* most that is possible per cycle; 0: one each few cycles, see xlu_cycles */
	struct term terms[MAX_TERMS];
};

static const struct chip {
	double clock_hz;		/* TensorCore */
	double hbm_bytes_per_s;
	uint32_t cores, hbm_stacks;
	uint64_t xlu_cycles;		/* cycles of one cross-lane instruction */
} chips[] = {
	[SS_TPU_V6E] = { 1.75e9, 1525.5 * 0x1p30, 1, 2, 4 },
	[SS_TPU_V7X] = { 1.9e9, 3433.0 * 0x1p30, 2, 4, 1 },
};

#define SPARSE_CORES 2	/* a die */
#define TILES 16	/* a SparseCore */
#define HBM_CONTROLLERS 16
#define ROUTERS 4
#define HBM_REQUEST_BYTES 32.0
#define ICI_REQUEST_BYTES 128.0
#define ICI_BYTES_PER_CYCLE 294.9473684210526

#define C(name) SS_CTR_##name

/* Cycles of matrix unit `u` by type of number. */
#define BF16(u) { 4, C(MATMUL_LMR_BF16_MXU), u }, { 8, C(MATMUL_VREG_BF16_MXU), u }, { 4, C(MATMUL_VREG_F32_MXU), u }
#define F8(u) { 8, C(MATMUL_VREG_F8_MXU), u }
#define I8(u) { 2, C(MATMUL_LMR_I8_MXU), u }, { 8, C(MATMUL_VREG_I8_MXU), u }
#define I4(u) { 2, C(MATMUL_LMR_I4_MXU), u }, { 8, C(MATMUL_VREG_I4_MXU), u }
#define XLU(u) { 1, C(PACKED_XLU), u }, { 1, C(ROTATE_PERMUTE_INSTRUCTION_XLU), u }, \
	{ 1, C(ROTATE_PERMUTE_SET_INSTRUCTION_XLU), u }, { 1, C(TRANSPOSE_XLU), u }

/*
 * Rows of a TensorCore, in the order of the table that clients expect. The names are part of that
 * table.
 */
static const struct metric tensor_core[] = {
	{ "Clocks Skipped", "cycles", V7X, 1, { { 1, C(CLOCKS_SKIPPED), 0 } } },
	{ "Ext Throttle Clocks Skipped", "cycles", V7X, 1, { { 1, C(EXT_THROTTLE_CLOCKS_SKIPPED), 0 } } },
	{ "LDIDT Droop Clocks Skipped", "cycles", V7X, 1, { { 1, C(LDIDT_DROOP_CLOCKS_SKIPPED), 0 } } },
	{ "Scalar Unit", "instructions", BOTH, 2, { { 1, C(SCALAR_ALU_INSTRUCTION), ALL } } },
	{ "Vector ALUs", "instructions", BOTH, 4, { { 1, C(VECTOR_ALU_INSTRUCTION), ALL } } },
	{ "VPU Utilization", "instructions", BOTH, 4,
	  { { 1, C(VPU_VALU_FADD_OPS), ALL }, { 1, C(VPU_VALU_FMUL_OPS), ALL }, { 1, C(VPU_VALU_MISC_OPS), ALL },
	    { 1, C(VPU_VALU_INT_OPS), ALL }, { 1, C(VPU_VALU_FMAC_OPS), ALL } } },
	{ "Vmem Stores", "instructions", BOTH, 1, { { 1, C(VST_INSTRUCTION), 0 } } },
	{ "Vmem Loads", "instructions", BOTH, 2, { { 1, C(VLD_INSTRUCTION), ALL } } },
	{ "No MXU Busy", "cycles", BOTH, 1, { { 1, C(MXU_BUSY), 0 } } },
	{ "1 MXU Busy", "cycles", BOTH, 1, { { 1, C(MXU_BUSY), 1 } } },
	{ "2 MXU Busy", "cycles", BOTH, 1, { { 1, C(MXU_BUSY), 2 } } },
	{ "Avg MXU Busy", "cycles", BOTH, 1, { { 0.5, C(MXU_BUSY), 1 }, { 1, C(MXU_BUSY), 2 } } },
	{ "MXU0", "cycles", BOTH, 1, { BF16(0), F8(0), I8(0), I4(0) } },
	{ "MXU1", "cycles", BOTH, 1, { BF16(1), F8(1), I8(1), I4(1) } },
	/* 8-bit floats run at the pace of bfloat16 on v6e and are counted with it there. */
	{ "MXU BF16", "cycles", V6E, 2, { BF16(ALL), F8(ALL) } },
	{ "MXU BF16", "cycles", V7X, 2, { BF16(ALL) } },
	{ "MXU I8", "cycles", V6E, 2, { I8(ALL) } },
	{ "MXU I4", "cycles", V6E, 2, { I4(ALL) } },
	{ "MXU E4M3 + E5M2", "cycles", V7X, 2, { F8(ALL) } },
	{ "MXU matpush", "cycles", BOTH, 2, { { 1, C(MATPUSH_CYCLES_MXU), ALL } } },
	{ "No XLU Busy", "cycles", BOTH, 1, { { 1, C(XLU_BUSY), 0 } } },
	{ "1 XLU Busy", "cycles", BOTH, 1, { { 1, C(XLU_BUSY), 1 } } },
	{ "2 XLUs Busy", "cycles", BOTH, 1, { { 1, C(XLU_BUSY), 2 } } },
	{ "Avg XLU Busy", "cycles", BOTH, 1, { { 0.5, C(XLU_BUSY), 1 }, { 1, C(XLU_BUSY), 2 } } },
	{ "XLU0", "instructions", BOTH, 0, { XLU(0) } },
	{ "XLU1", "instructions", BOTH, 0, { XLU(1) } },
};

/* Rows of a SparseCore's tiles, summed over tiles, and of its sequencer. */
static const struct metric tiles[] = {
	{ "TEC Scalar Issue", "instructions", BOTH, 1, { { 1, C(TEC_SCALAR_ISSUE), 0 } } },
	{ "TEC Scalar Issue: S0 slot", "instructions", BOTH, 1, { { 1, C(TEC_S0_INSTRUCTION), 0 } } },
	{ "TEC Scalar Issue: S1 slot", "instructions", BOTH, 1, { { 1, C(TEC_S1_INSTRUCTION), 0 } } },
	{ "TEC Scalar Issue: Smisc slot", "instructions", BOTH, 1, { { 1, C(TEC_SMISC_INSTRUCTION), 0 } } },
	{ "SC Vector Issue", "instructions", BOTH, 1, { { 1, C(VECTOR_ISSUE), 0 } } },
	{ "SC Vector Issue:V0 Slot", "instructions", V6E, 1, { { 1, C(V0_INSTRUCTION), 0 } } },
	{ "SC Vector Issue: V0 Slot", "instructions", V7X, 1, { { 1, C(V0_INSTRUCTION), 0 } } },
	{ "SC Vector Issue: V1 Slot", "instructions", BOTH, 1, { { 1, C(V1_INSTRUCTION), 0 } } },
	{ "SC Vector Issue: V2 Slot", "instructions", BOTH, 1, { { 1, C(V2_INSTRUCTION), 0 } } },
	{ "SC Vector Issue: VLD Slot", "instructions", BOTH, 1, { { 1, C(TILE_VLD_INSTRUCTION), 0 } } },
	{ "SC Vector Issue: VST Slot", "instructions", BOTH, 1, { { 1, C(TILE_VST_INSTRUCTION), 0 } } },
	{ "SC Vector Issue:VEX Slot", "instructions", V6E, 1, { { 1, C(VEX_INSTRUCTION), 0 } } },
	{ "SC Vector Issue: VEX Slot", "instructions", V7X, 1, { { 1, C(VEX_INSTRUCTION), 0 } } },
	{ "SC Vector Issue:VRES Slot", "instructions", V6E, 1, { { 1, C(VRES_INSTRUCTION), 0 } } },
	{ "SC Vector Issue: VRES Slot", "instructions", V7X, 1, { { 1, C(VRES_INSTRUCTION), 0 } } },
};

static const struct metric sequencer[] = {
	{ "SCS Scalar Issue", "instructions", BOTH, 1, { { 1, C(SCALAR_ISSUE), 0 } } },
	{ "SCS: S0 Slot", "instructions", BOTH, 1, { { 1, C(S0_INSTRUCTION), 0 } } },
	{ "SCS: S1 Slot", "instructions", BOTH, 1, { { 1, C(S1_INSTRUCTION), 0 } } },
	{ "SCS: Smisc Slot", "instructions", BOTH, 1, { { 1, C(SMISC_INSTRUCTION), 0 } } },
};

struct chip_use {
	enum ss_tpu_chip chip;
	const struct ss_tpu_sample *s;
	const struct ss_tpu_use_options *opt;
	struct ss_tpu_use *out;
	size_t n;
};

/* A counter that the sample does not hold counts 0. */
static uint64_t read_one(const struct chip_use *j, enum ss_tpu_counter c, struct ss_tpu_place at, uint32_t copy)
{
	uint64_t id;
	if (!ss_tpu_counter_id(j->chip, c, at, copy, &id))
		return 0;
	uint32_t i = ss_u64map_get(&j->s->index, id);
	if (i == SS_NONE)
		return 0;
	return j->opt->summed ? j->s->sum[i] : j->s->last[i];
}

static double read_copies(const struct chip_use *j, enum ss_tpu_counter c, struct ss_tpu_place at)
{
	double sum = 0;
	for (uint32_t copy = 0; copy < ss_tpu_counter_copies(c); copy++)
		sum += (double)read_one(j, c, at, copy);
	return sum;
}

static double achieved(const struct chip_use *j, const struct metric *m, struct ss_tpu_place at)
{
	double sum = 0;
	for (size_t i = 0; i < MAX_TERMS && m->terms[i].weight > 0; i++) {
		const struct term *t = &m->terms[i];
		sum += t->weight * (t->copy == ALL ? read_copies(j, t->counter, at)
						   : (double)read_one(j, t->counter, at, (uint32_t)t->copy));
	}
	return sum;
}

static void add(struct chip_use *j, uint32_t node, const char *name, double did, double could, const char *unit)
{
	j->out[j->n++] = (struct ss_tpu_use){ node, name, unit, did, could };
}

/* v6e counts in the core itself; v7x skips cycles, and only its power manager sees all of them. */
static enum ss_tpu_counter core_clock(const struct chip_use *j)
{
	return j->chip == SS_TPU_V7X ? C(CYCLE_COUNT) : C(CYCLES);
}

/* Counted cycles of a core's clock, or those of the time that was asked for instead. */
static uint64_t core_cycles(const struct chip_use *j, uint32_t core)
{
	uint64_t cycles = read_one(j, core_clock(j), (struct ss_tpu_place){ .die = core }, 0);
	double asked = j->opt->duration_s * chips[j->chip].clock_hz;
	if (asked > 0 && asked < 0x1p63 && (cycles == 0 || j->opt->force_duration))
		return (uint64_t)asked;
	return cycles;
}

static void add_tensor_core(struct chip_use *j, uint32_t core)
{
	uint64_t cycles = core_cycles(j, core);
	if (!cycles)
		return;
	for (size_t i = 0; i < SS_COUNT(tensor_core); i++) {
		const struct metric *m = &tensor_core[i];
		uint64_t xlu = cycles / chips[j->chip].xlu_cycles;
		double peak = m->per_cycle > 0 ? m->per_cycle * (double)cycles : (double)xlu;
		if (m->chips & 1u << j->chip)
			add(j, core, m->name, achieved(j, m, (struct ss_tpu_place){ .die = core }), peak, m->unit);
	}
}

static void add_hbm(struct chip_use *j, uint32_t core)
{
	static const char *const names[] = { "HBM Rd+Wr - core 0", "HBM Rd+Wr - core 1" };
	const struct chip *chip = &chips[j->chip];
	/*
	 * The core's own counter, on v7x too: memory is measured against the cycles that were not
	 * skipped.
	 */
	uint64_t own = read_one(j, C(CYCLES), (struct ss_tpu_place){ .die = core }, 0);
	double cycles = (double)(core_clock(j) == C(CYCLES) ? core_cycles(j, core) : own), reads = 0, writes = 0;
	if (cycles <= 0)
		return;
	for (uint32_t stack = 0; stack < chip->hbm_stacks; stack++)
		for (uint32_t k = 0; k < HBM_CONTROLLERS; k++) {
			struct ss_tpu_place at = { core, stack, k };
			reads += read_copies(j, C(RD_RESP_PS), at);
			writes += read_copies(j, C(WR_REQ_PS), at) + read_copies(j, C(PARTIAL_WRITE_REQ_PS), at);
		}
	reads *= HBM_REQUEST_BYTES;
	writes *= HBM_REQUEST_BYTES;
	add(j, 0, names[core], reads + writes, chip->hbm_bytes_per_s * (cycles / chip->clock_hz), "bytes");
	if (reads + writes > 0) {
		add(j, core, "HBM Read Ratio", reads, reads + writes, "percent");
		add(j, core, "HBM Write Ratio", writes, reads + writes, "percent");
	}
}

/* The interconnect belongs to the chip; clients expect its rows once for every core. */
static void add_ici(struct chip_use *j)
{
	double cycles = (double)core_cycles(j, 0), reads = 0, writes = 0;
	if (cycles <= 0)
		return;
	for (uint32_t r = 0; r < ROUTERS; r++) {
		struct ss_tpu_place at = { .group = r };
		reads += read_copies(j, C(BN_RD_REQ), at) + read_copies(j, C(BN_RD_REQ_1), at);
		writes += read_copies(j, C(BN_WR_REQ), at) + read_copies(j, C(BN_WR_REQ_1), at);
	}
	add(j, 0, "ICI (Read)", ICI_REQUEST_BYTES * reads, ICI_BYTES_PER_CYCLE * cycles, "bytes");
	add(j, 0, "ICI (Write)", ICI_REQUEST_BYTES * writes, ICI_BYTES_PER_CYCLE * cycles, "bytes");
}

static void add_sparse_core(struct chip_use *j, uint32_t die, uint32_t sc)
{
	struct ss_tpu_place first = { die, sc, 0 };
	uint32_t node = die * SPARSE_CORES + sc;
	double tile_cycles = (double)read_one(j, C(TILE_CYCLES), first, 0);
	double cycles = (double)read_one(j, C(SCS_CYCLES), first, 0);
	for (size_t i = 0; i < SS_COUNT(tiles); i++) {
		double sum = 0;
		for (uint32_t tile = 0; tile < TILES; tile++)
			sum += achieved(j, &tiles[i], (struct ss_tpu_place){ die, sc, tile });
		if (tiles[i].chips & 1u << j->chip)
			add(j, node, tiles[i].name, sum, TILES * tile_cycles, tiles[i].unit);
	}
	for (size_t i = 0; i < SS_COUNT(sequencer); i++)
		add(j, node, sequencer[i].name, achieved(j, &sequencer[i], first), cycles, sequencer[i].unit);
}

size_t ss_tpu_utilization(enum ss_tpu_chip chip, const struct ss_tpu_sample *s, const struct ss_tpu_use_options *opt,
			  struct ss_tpu_use out[SS_TPU_MAX_USES], double *longest_s)
{
	struct chip_use j = { .chip = chip, .s = s, .opt = opt, .out = out };
	*longest_s = 0;
	if (chip == SS_TPU_OTHER)
		return 0;
	for (uint32_t core = 0; core < chips[chip].cores; core++) {
		double time_s = (double)core_cycles(&j, core) / chips[chip].clock_hz;
		if (time_s > *longest_s)
			*longest_s = time_s;
		add_tensor_core(&j, core);
		add_hbm(&j, core);
		add_ici(&j);
	}
	for (uint32_t die = 0; die < chips[chip].cores; die++)
		for (uint32_t sc = 0; sc < SPARSE_CORES; sc++)
			add_sparse_core(&j, die, sc);
	return j.n;
}
