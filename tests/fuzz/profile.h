/* profile.h - small profiles that fuzz targets have with them, for they run where there are no other files (see CMakeLists.txt). */
#ifndef SS_FUZZ_PROFILE_H
#define SS_FUZZ_PROFILE_H

extern const char fuzz_tpu[], fuzz_tpu_end[], fuzz_gpu[], fuzz_gpu_end[], fuzz_torch[], fuzz_torch_end[], fuzz_graph[],
	fuzz_graph_end[];

#endif
