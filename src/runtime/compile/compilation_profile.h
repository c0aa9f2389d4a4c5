// The profile of a compilation: the durations of its operations and partitions in a trace.
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
// Operations have the application's indices and order. An operation that the trace does not contain
// has the device of the plan, and null for its times. An operation that several devices have
// computed has an entry for each of them.
// The time of an IF or WHILE includes the time of its models. An IF or WHILE that the runtime
// executes itself has no time.
// `share` is relative to the total of all operations. `bytes` is null for an extension operation,
// and when a size is unknown. `flop` is null also when no multiplications are counted for the
// operation.
//
// Fields of a partition:
// - `median_ns`: from the runtime's call of the device to its result.
// - `device_median_ns`: the duration of the execution as the device reports it.
// - `operations_median_ns`: the sum of the operations of an execution.
// - `overhead_median_ns`: `median_ns` minus `device_median_ns`, which is the cost of the call
//   itself.
//
// `phases` covers the whole process, see trace/accounting.h.
//
// `compilation` must have finished. `running`: whether the trace is still running.
std::string profileJson(const Compilation& compilation, const trace::Timeline& timeline,
                        bool running);

}  // namespace halyard::runtime
