// A client that keeps a device busy, in the calling process. The crash checks consist of such
// clients.
// Thread safety: runStress makes and joins its own threads. Only one call at a time, because it
// sets the drivers of the process.
// Ownership: values.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "halyard/driver/status.h"

namespace halyard::validation {

struct StressPlan {
  std::string manifest;  // of the driver; empty: the runtime's own CPU device
  std::string device;    // its name
  // Names of workloads (src/workloads), or "random/OPERATIONS" for another random model in each
  // round. Models that the device does not take as a whole are left out.
  std::vector<std::string> models;
  unsigned threads = 1;
  std::chrono::milliseconds duration{1000};
  bool compileOnly = false;
  bool mapped = false;  // constants in a mapped file
  // On one thread. Each round compiles, executes and frees. At least 400 rounds run, even beyond
  // the duration.
  bool anew = false;
  std::chrono::milliseconds pause{0};  // between rounds
  // Names of workloads that one more thread compiles meanwhile, with 20 ms between them. They do
  // not count as rounds.
  std::vector<std::string> beside;
  uint64_t seed = 1;  // of random models
  // The process kills itself (SIGKILL) with this chance, in percent, at a random time.
  unsigned killPercent = 0;

  std::string toJson() const;
  static Result<StressPlan> fromJson(const std::string& text);
};

struct StressResult {
  uint64_t rounds = 0;          // models compiled, or executed
  uint64_t unsupported = 0;     // models left out
  double meanMilliseconds = 0;  // of a round
  // The growth of the driver's process in the second half of the rounds, with `anew`.
  int64_t moreBytes = 0;
  int64_t moreDescriptors = 0;
  int64_t moreThreads = 0;
  // With `anew`: medians of early rounds and of the last rounds.
  double earlyMilliseconds = 0;
  double lateMilliseconds = 0;
  std::string failure;  // of the first thread that failed, with its model; empty without a failure

  std::string toJson() const;
  static Result<StressResult> fromJson(const std::string& text);
};

// Uses the C API and names the device, so that no other device replaces it. The first call in a
// process decides which driver it has.
StressResult runStress(const StressPlan& plan);

}  // namespace halyard::validation
