// Regions: shared memory that local clients have registered (POSIX shm_open).
// Thread safety: any thread.
// Ownership: owns a descriptor for each region.
//
// The server reads and writes with pread and pwrite. So a client that makes a region smaller, or
// changes it during a request, cannot harm the server.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "halyard/driver/unique_fd.h"
#include "serve/protocol/infer.h"

namespace halyard::serve {

struct RegionInfo {
  std::string name;
  std::string key;  // of shm_open
  uint64_t offset = 0;
  uint64_t size = 0;
};

class Regions {
 public:
  // Without `allowed`, every function that uses a region returns UNSUPPORTED.
  explicit Regions(bool allowed) : allowed_(allowed) {}

  bool allowed() const { return allowed_; }
  // The outcome of each use of a region on a server that allows none.
  static Outcome refusal();
  // INVALID for a key that cannot be opened, a region that is too small or a name in use.
  Outcome add(const RegionInfo& info);
  // An empty name removes all regions. Requests that use a region keep it.
  Outcome remove(const std::string& name);
  // An empty name lists all regions. NOT_FOUND for an unknown one.
  Outcome list(const std::string& name, std::vector<RegionInfo>& infos) const;

  Outcome read(const RegionPart& part, std::vector<uint8_t>& bytes) const;
  Outcome write(const RegionPart& part, std::string_view bytes) const;

 private:
  struct Region {
    RegionInfo info;
    UniqueFd fd;
  };
  Outcome find(const RegionPart& part, std::shared_ptr<const Region>& region) const;

  const bool allowed_;
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const Region>> regions_;
};

}  // namespace halyard::serve
