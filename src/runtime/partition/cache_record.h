// CacheRecord: the use of the cache in the preparation of a model's part.
// Thread safety: plain data.
// Ownership: owns its text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace halyard::runtime {

struct CacheRecord {
  enum class State : uint8_t {
    OFF,   // no files: nothing could be found, and nothing is stored
    MISS,  // compiled, with files to save it in
    HIT,   // loaded from the files
  };
  State state = State::OFF;
  std::string reason;         // reason for OFF or MISS; empty with HIT
  uint64_t bytesRead = 0;     // size of the files that it came from
  uint64_t bytesWritten = 0;  // size of the files after compilation; a driver may write later
  // Nanoseconds; 0 for a step that was not needed.
  double keyNs = 0;      // digest of the model
  double openNs = 0;     // finding and opening files, waiting for other processes
  double loadNs = 0;     // the driver's load from the files, with verification; also if it failed
  double compileNs = 0;  // the driver's compilation, with all that it saved at once
  double saveNs = 0;     // replacing the old files by new ones
};

constexpr std::string_view cacheStateName(CacheRecord::State state) {
  switch (state) {
    case CacheRecord::State::MISS:
      return "miss";
    case CacheRecord::State::HIT:
      return "hit";
    default:
      return "off";
  }
}

}  // namespace halyard::runtime
