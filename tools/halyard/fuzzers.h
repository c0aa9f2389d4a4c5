// The libFuzzer programs that there are, and running one of them.
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

// Those in a folder, by name: each program NAME_fuzz with what NAME_fuzz.seeds beside it says, in
// lines "seeds FOLDER" and "dictionary FILE", relative to the folder. BAD_DATA for a line that is
// none of these; nothing when there is no such folder.
Result<std::vector<Fuzzer>> findFuzzers(const std::filesystem::path& folder);

struct FuzzSettings {
  std::chrono::seconds duration{60};
  std::filesystem::path corpus;   // a folder for what is found on the way; made if need be
  std::filesystem::path crashes;  // a folder for inputs that crash; made if need be
  std::function<void(uint64_t runs, uint64_t coverage)> progress;  // may be empty
};

struct FuzzResult {
  uint64_t runs = 0;
  uint64_t coverage = 0;                     // edges of the program that were reached
  std::vector<std::filesystem::path> found;  // inputs that crashed it, hung, or took all memory
  std::string problem;                       // what it died of; empty: nothing
  std::string log;                           // the end of what it wrote
};

// OP_FAILED when the program cannot be started or its folders not be made.
Result<FuzzResult> runFuzzer(const Fuzzer& fuzzer, const FuzzSettings& settings);

}  // namespace halyard::cli
