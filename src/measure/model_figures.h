// What one model takes on one device: measured in this process, through the C API.
// Thread safety: none; one measurement at a time. Ownership: results own their data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "halyard/driver/status.h"
#include "measure/machine_peaks.h"
#include "measure/repeated_run.h"

namespace halyard::measure {

struct BenchOptions {
  double seconds = 1;   // of executions that count
  double warmUp = 0.2;  // seconds of executions before
  ComputeMode mode = ComputeMode::SYNC;
  std::optional<int32_t> preference;  // to compile for; nullopt: the default
  bool cache = true;                  // measure loading from a cache, too
  bool operations = true;
  bool accuracy = true;
  std::string data;    // folder of a data set; empty: Fashion-MNIST for models that fit it
  std::string labels;  // file with the names of the classes, for `data`
  size_t images = 0;   // how many of them at most; 0: all
};

// docs/benchmark.md describes the document: an element of "results". The process's peak memory is
// that of everything it has done before, too: measure one model in a process.
Result<nlohmann::json> measureModel(const std::string& model, const std::string& device,
                                    const BenchOptions& options, const MachinePeaks& peaks);

}  // namespace halyard::measure
