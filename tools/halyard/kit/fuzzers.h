// Finds the libFuzzer programs of the project, and runs one of them.
// Thread safety: none needed. Ownership: values; a run's process ends with the call.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "halyard/driver/status.h"

namespace halyard::cli {

struct Fuzzer {
  std::string name;  // "server" of server_fuzz
  std::filesystem::path program;
  std::vector<std::filesystem::path> seeds;         // folders
  std::vector<std::filesystem::path> dictionaries;  // files
};

// The fuzzers in a folder, by name: each program NAME_fuzz. The file NAME_fuzz.seeds beside it
// lists its inputs in lines "seeds FOLDER" and "dictionary FILE", relative to the folder. BAD_DATA
// for any other line. Empty when the folder does not exist.
Result<std::vector<Fuzzer>> findFuzzers(const std::filesystem::path& folder);

struct FuzzSettings {
  std::chrono::seconds duration{60};
  std::filesystem::path corpus;   // the folder for new inputs; created if needed
  std::filesystem::path crashes;  // the folder for inputs that crash; created if needed
  std::function<void(uint64_t runs, uint64_t coverage)> progress;  // may be empty
};

struct FuzzResult {
  uint64_t runs = 0;
  uint64_t coverage = 0;                     // edges of the program that the run reached
  std::vector<std::filesystem::path> found;  // inputs that crash, hang, or exhaust memory
  std::string problem;                       // the reason of a crash; empty without one
  std::string log;                           // the last lines of the output
};

// OP_FAILED when the program cannot start or a folder cannot be created.
Result<FuzzResult> runFuzzer(const Fuzzer& fuzzer, const FuzzSettings& settings);

}  // namespace halyard::cli
