// A client that keeps a device busy: what the crash tests are made of, in the calling process.
// Thread safety: runStress makes and joins its own threads; one call at a time, for it decides
// which drivers the process has. Ownership: values.
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
  // Names of workloads (src/workloads), or "random/OPERATIONS" for models by random, each round
  // another. Models that the device does not take as a whole are left out.
  std::vector<std::string> models;
  unsigned threads = 1;
  std::chrono::milliseconds duration{1000};
  bool compileOnly = false;
  bool mapped = false;  // constants in a mapped file
  // On one thread: each round compiles, executes and frees, 400 rounds at least, however long that
  // takes.
  bool anew = false;
  std::chrono::milliseconds pause{0};  // between rounds
  // Names of workloads that one more thread compiles meanwhile, 20 ms after each other: no rounds.
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
  // What the driver's process has gained in the second half of the rounds, with `anew`.
  int64_t moreBytes = 0;
  int64_t moreDescriptors = 0;
  int64_t moreThreads = 0;
  // Medians of early and of the last rounds, with `anew`.
  double earlyMilliseconds = 0;
  double lateMilliseconds = 0;
  std::string failure;  // of the first thread that failed, and which model; empty: none

  std::string toJson() const;
  static Result<StressResult> fromJson(const std::string& text);
};

// Through the C API, with the device named, so that nobody else takes over for it. The first call
// of a process decides which driver it has.
StressResult runStress(const StressPlan& plan);

}  // namespace halyard::validation
