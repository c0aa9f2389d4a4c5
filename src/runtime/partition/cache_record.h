// CacheRecord: what became of the cache when a part of a model was prepared.
// Thread safety: plain data. Ownership: owns its text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace halyard::runtime {

struct CacheRecord {
  enum class State : uint8_t {
    OFF,   // there are no files: nothing could be found, and nothing is kept
    MISS,  // compiled, with files to save it in
    HIT,   // came from the files
  };
  State state = State::OFF;
  std::string reason;         // why OFF or MISS; empty with HIT
  uint64_t bytesRead = 0;     // in the files that it came from
  uint64_t bytesWritten = 0;  // in the files when it was compiled; a driver may write later
  // Nanoseconds; 0 where there was nothing to do.
  double keyNs = 0;      // digest of the model
  double openNs = 0;     // files found and opened, other processes waited for
  double loadNs = 0;     // the driver, from the files: with all its verification; also if it failed
  double compileNs = 0;  // the driver, with all that it saved at once
  double saveNs = 0;     // new files put in the place of the old ones
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
