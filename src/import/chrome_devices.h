/* chrome_devices.h - what a trace of PyTorch says of its GPUs. */
#ifndef SS_IMPORT_CHROME_DEVICES_H
#define SS_IMPORT_CHROME_DEVICES_H

#include "import/space_out.h"

/*
 * `text` is the member "deviceProperties" of the trace, a list of {"id", "name", "numSms",
 * "computeMajor", "computeMinor", "totalGlobalMem" ...}. The planes of these GPUs get their model,
 * multiprocessors and memory as XProf's recorder writes them. Clock and bandwidth are not told, so
 * peaks stay unknown. What is no such list is passed over.
 */
void ss_chrome_devices(struct ss_space_out *o, struct ss_str text);

#endif
