/* kineto.c - see kineto.h. */
#include "import/kineto.h"

/* "cuda_runtime", "xpu_driver": whichever library comes next is called so, too. */
static bool ends_without_case(struct ss_str s, struct ss_str end)
{
	return s.n >= end.n && ss_str_ieq(ss_str_sub(s, s.n - end.n, s.n), end);
}

enum ss_kineto ss_kineto_of(struct ss_str category)
{
	static const struct {
		struct ss_str name;
		enum ss_kineto kind;
	} names[] = {
		{ SS_STR_INIT("cpu_op"), SS_KINETO_OPERATOR },
		{ SS_STR_INIT("python_function"), SS_KINETO_PYTHON },
		{ SS_STR_INIT("kernel"), SS_KINETO_KERNEL },
		{ SS_STR_INIT("cpu_instant_event"), SS_KINETO_INSTANT },
		{ SS_STR_INIT("gpu_memcpy"), SS_KINETO_MEMCPY },
		{ SS_STR_INIT("gpu_memset"), SS_KINETO_MEMSET },
		{ SS_STR_INIT("user_annotation"), SS_KINETO_ANNOTATION },
		{ SS_STR_INIT("gpu_user_annotation"), SS_KINETO_GPU_ANNOTATION },
		{ SS_STR_INIT("operator"), SS_KINETO_OPERATOR },
		{ SS_STR_INIT("memcpy"), SS_KINETO_MEMCPY },
		{ SS_STR_INIT("memset"), SS_KINETO_MEMSET },
		{ SS_STR_INIT("concurrent_kernel"), SS_KINETO_KERNEL },
		{ SS_STR_INIT("mtia_ccp_events"), SS_KINETO_KERNEL },
		{ SS_STR_INIT("cuda_sync"), SS_KINETO_SYNC },
		{ SS_STR_INIT("runtime"), SS_KINETO_CALL },
		{ SS_STR_INIT("driver"), SS_KINETO_CALL },
	};
	for (size_t i = 0; i < SS_COUNT(names); i++)
		if (ss_str_ieq(category, names[i].name))
			return names[i].kind;
	if (ends_without_case(category, SS_STR("_runtime")) || ends_without_case(category, SS_STR("_driver")))
		return SS_KINETO_CALL;
	return SS_KINETO_OTHER;
}

bool ss_kineto_is_step(struct ss_str name)
{
	return ss_str_starts(name, SS_STR("ProfilerStep#")) || ss_str_is(name, "ProfilerStep");
}

bool ss_kineto_is_dataloader(struct ss_str name)
{
	return ss_str_starts(name, SS_STR("enumerate(DataLoader)#")) || ss_str_starts(name, SS_STR("enumerate(DataPipe)#"));
}

bool ss_kineto_is_range(struct ss_str name)
{
	return ss_kineto_is_step(name) || ss_kineto_is_dataloader(name) || ss_str_starts(name, SS_STR("Optimizer.")) ||
	       ss_str_is(name, "DataParallel.forward") || ss_str_is(name, "DistributedDataParallel.forward");
}
