// Writes a trace as a file for Perfetto (ui.perfetto.dev) and chrome://tracing: the JSON of
// Chrome's Trace Event Format.
// Thread safety: pure functions.
// Ownership: results own their data.
#pragma once

#include <string>

#include "trace/timeline.h"

namespace halyard::trace {

//   {"displayTimeUnit": "ms",
//    "otherData": {"clock": "CLOCK_MONOTONIC", "version": 1, "begin_us": ..., "end_us": ...,
//                  "processes": [{"pid": 71, "name": "...", "driver": true, "records": 812,
//                                 "lost": 0, "rejected": 0, "cut": 0, "problem": null}]},
//    "traceEvents": [{"ph": "M", "name": "process_name", "pid": 71, "args": {"name": "..."}},
//                    {"ph": "M", "name": "thread_name", ...},
//                    {"ph": "X", "name": "[NN_LD_PCO]CONV_2D #3", "cat": "LD,PCO", "ts": 12.345,
//                     "dur": 4.2, "pid": 71, "tid": 72, "args": {"operation": 3}}]}
//
// Times are microseconds of CLOCK_MONOTONIC in all processes. `name` is the mark's text. `problem`
// gives the reason why a driver has no records.
std::string traceJson(const Timeline& timeline);

}  // namespace halyard::trace
