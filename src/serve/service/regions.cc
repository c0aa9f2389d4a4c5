#include "serve/service/regions.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace halyard::serve {
namespace {

constexpr size_t kMostRegions = 1024;
constexpr uint64_t kMostBytes = uint64_t{1} << 40;

Outcome invalid(std::string text) { return {Fault::INVALID, std::move(text)}; }

}  // namespace

Outcome Regions::refusal() {
  return {Fault::UNSUPPORTED, "this server takes no shared memory (--shared-memory)"};
}

Outcome Regions::add(const RegionInfo& info) {
  if (!allowed_) return refusal();
  if (info.name.empty() || info.size == 0 || info.size > kMostBytes || info.offset > kMostBytes) {
    return invalid("a region needs a name and a size of 1 byte to 1 TiB");
  }
  // One path element, so that the key stays within /dev/shm.
  const std::string plain = info.key.starts_with("/") ? info.key.substr(1) : info.key;
  if (plain.empty() || plain.find('/') != std::string::npos) {
    return invalid(
        fmt::format("region '{}': '{}' is no key of POSIX shared memory", info.name, info.key));
  }
  auto region = std::make_shared<Region>();
  region->info = info;
  region->fd = UniqueFd(::shm_open(("/" + plain).c_str(), O_RDWR | O_CLOEXEC, 0));
  struct stat status = {};
  if (region->fd.get() < 0 || ::fstat(region->fd.get(), &status) != 0) {
    return invalid(fmt::format("region '{}': the key '{}' cannot be opened: {}", info.name,
                               info.key, std::generic_category().message(errno)));
  }
  if (static_cast<uint64_t>(status.st_size) < info.offset + info.size) {
    return invalid(fmt::format("region '{}': '{}' has {} bytes, expected at least {}", info.name,
                               info.key, status.st_size, info.offset + info.size));
  }
  const std::lock_guard lock(mutex_);
  if (regions_.size() >= kMostRegions) return invalid("there are too many regions");
  if (!regions_.emplace(info.name, std::move(region)).second) {
    return invalid(fmt::format("region '{}' is registered already", info.name));
  }
  return {};
}

Outcome Regions::remove(const std::string& name) {
  if (!allowed_) return {};
  const std::lock_guard lock(mutex_);
  if (name.empty()) {
    regions_.clear();
  } else {
    regions_.erase(name);
  }
  return {};
}

Outcome Regions::list(const std::string& name, std::vector<RegionInfo>& infos) const {
  const std::lock_guard lock(mutex_);
  for (const auto& [each, region] : regions_) {
    if (name.empty() || name == each) infos.push_back(region->info);
  }
  if (!name.empty() && infos.empty()) {
    return {Fault::NOT_FOUND, fmt::format("there is no region '{}'", name)};
  }
  return {};
}

Outcome Regions::find(const RegionPart& part, std::shared_ptr<const Region>& region) const {
  if (!allowed_) return refusal();
  const std::lock_guard lock(mutex_);
  const auto found = regions_.find(part.region);
  if (found == regions_.end()) return invalid(fmt::format("there is no region '{}'", part.region));
  const RegionInfo& info = found->second->info;
  if (part.offset > info.size || part.size > info.size - part.offset) {
    return invalid(fmt::format("bytes {} to {} of region '{}', which has {}", part.offset,
                               part.offset + part.size, part.region, info.size));
  }
  region = found->second;
  return {};
}

Outcome Regions::read(const RegionPart& part, std::vector<uint8_t>& bytes) const {
  std::shared_ptr<const Region> region;
  Outcome outcome = find(part, region);
  if (!outcome.ok()) return outcome;
  bytes.resize(part.size);
  for (size_t at = 0; at < bytes.size();) {
    const auto offset = static_cast<off_t>(region->info.offset + part.offset + at);
    const ssize_t got = ::pread(region->fd.get(), bytes.data() + at, bytes.size() - at, offset);
    if (got <= 0) return invalid(fmt::format("region '{}' has become shorter", part.region));
    at += static_cast<size_t>(got);
  }
  return {};
}

Outcome Regions::write(const RegionPart& part, std::string_view bytes) const {
  std::shared_ptr<const Region> region;
  Outcome outcome = find(part, region);
  if (!outcome.ok()) return outcome;
  if (bytes.size() > part.size) {
    return invalid(fmt::format("the output has {} bytes, its part of region '{}' has {}",
                               bytes.size(), part.region, part.size));
  }
  for (size_t at = 0; at < bytes.size();) {
    const auto offset = static_cast<off_t>(region->info.offset + part.offset + at);
    const ssize_t put = ::pwrite(region->fd.get(), bytes.data() + at, bytes.size() - at, offset);
    if (put <= 0) return invalid(fmt::format("region '{}' cannot be written", part.region));
    at += static_cast<size_t>(put);
  }
  return {};
}

}  // namespace halyard::serve
