// The profile of a compilation: what its operations and partitions have taken in a trace.
// Thread safety: pure functions. Ownership: results own their data.
#pragma once

#include <string>

#include "runtime/compile/compilation.h"
#include "trace/timeline.h"

namespace halyard::runtime {

//   {"version": 1, "running": false, "duration_ns": 8.1e9,
//    "operations": [{"index": 3, "type": "CONV_2D", "device": "acme-npu", "process": 71,
//                    "partition": 0, "count": 20, "median_ns": 41000, "min_ns": 39000,
//                    "total_ns": 830000, "share": 0.31, "bytes": 4096, "flop": 2.1e6,
//                    "sizes_unknown": false}],
//    "partitions": [{"index": 0, "device": "acme-npu", "process": 71, "operations": 65,
//                    "count": 20, "median_ns": 61000, "device_median_ns": 42000,
//                    "operations_median_ns": 41500, "overhead_median_ns": 19000}],
//    "phases": [{"starting_mark": "", "executions": 20, "counted_executions": 20,
//                "layers": {"LR": {"PC": {"total_ns": 1, "self_ns": 1, "counted_ns": 1}}}}],
//    "processes": [{"process": 71, "name": "acme-npu", "driver": true, "records": 812, "lost": 0,
//                   "rejected": 0, "cut": 0, "problem": null}]}
//
// Operations are the application's, in its order; those that nobody has recorded have null for
// their times and the plan's device. An operation that has been computed by several devices has an
// entry for each. Of IF and WHILE the time of their models is in theirs; those that the runtime
// runs part by part have none. `share` is of the total of all operations. `flop` and `bytes` are
// null where the definition does not know them. Of a partition: `median_ns` from the runtime's call
// of the device to its result, `device_median_ns` what the device says it has worked,
// `operations_median_ns` the sum of its operations in an execution, `overhead_median_ns` the
// difference of the first two: getting there and back. `phases` is of the whole process, by
// trace/accounting.h.
//
// `compilation` must have finished. `running`: of the trace.
std::string profileJson(const Compilation& compilation, const trace::Timeline& timeline,
                        bool running);

}  // namespace halyard::runtime
