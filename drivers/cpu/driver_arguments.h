// The arguments that the CPU driver's manifest may have.
// Thread safety: a pure function. Ownership: values.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "halyard/driver/status.h"

namespace halyard::cpudriver {

struct DriverArguments {
  unsigned threads = 0;  // 0: as many as there are processors
  bool caches = true;
  bool cachesAll = false;   // also what is compiled too quickly for caching to pay
  bool tunes = true;        // measures what was compiled for sustained speed
  std::string cacheFolder;  // of the store of cached compilations; empty: the usual one
};

// --threads=N, --cache=FOLDER, --cache-all, --no-cache, --no-tuning, each once at most. BAD_DATA
// for anything else.
Result<DriverArguments> readArguments(std::span<const std::string> arguments);

}  // namespace halyard::cpudriver
