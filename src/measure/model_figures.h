// Measures one model on one device, in this process, through the C API.
// Thread safety: one measurement at a time. Ownership: results own their data.
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
  double seconds = 1;   // of counted executions
  double warmUp = 0.2;  // seconds of executions before the counted ones
  ComputeMode mode = ComputeMode::SYNC;
  std::optional<int32_t> preference;  // preference of the compilation; nullopt: the default
  bool allowFloat16 = false;          // float32 may be computed as float16
  bool cache = true;                  // also measures loading from a cache
  bool operations = true;
  bool accuracy = true;
  std::string data;    // folder of a data set; empty: Fashion-MNIST if the model fits it
  std::string labels;  // file with the labels of the classes for `data`
  size_t images = 0;   // largest number of pictures; 0: all
};

// Returns an element of "results" in the document of docs/benchmark.md. The peak memory of the
// process includes earlier work. So measure one model per process.
Result<nlohmann::json> measureModel(const std::string& model, const std::string& device,
                                    const BenchOptions& options, const MachinePeaks& peaks);

}  // namespace halyard::measure
