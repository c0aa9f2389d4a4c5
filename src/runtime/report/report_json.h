// The report of a compilation as JSON: the document of halyard_compilationReport and of `halyard
// explain --json`.
// Thread safety: pure functions.
// Ownership: results own their data.
#pragma once

#include <string>

#include "runtime/report/report.h"

namespace halyard::runtime {

//   {"allow_fp16": false,
//    "operations": [{"index": 3, "type": "CONV_2D", "device": "acme-npu", "partition": 0,
//                    "interpreted": false, "others": [{"device": "...", "reason": "..."}]}],
//    "partitions": [{"device": "acme-npu", "operations": [3, 4], "within": "",
//                    "operation_count": 2, "predicted_ns": {"compute": 1.5e6, "boundary": 2e4},
//                    "sizes_unknown": false, "bytes_in": 64, "bytes_out": 64, "executions": 10,
//                    "measured_mean_ns": 1.6e6, "measured_last_ns": 1.6e6,
//                    "copied_bytes_mean": 128, "copied_bytes_last": 128}],
//    "events": [{"kind": "PREPARE_FAILED", "device": "...", "target": "...", "partition": 0,
//                "operations": [3], "cause": "...", "count": 1, "unix_ns": 17...}]}
//
// "allow_fp16": devices may compute float32 with the range and precision of float16.
// Operations have the application's indices and order. Measurements are null before the first
// execution. A partition of -1 means no partition. Texts are UTF-8 for any bytes of drivers.
std::string reportJson(const Report& report);

}  // namespace halyard::runtime
