// SpeedStore: keeps the measured speed of a device between processes, since a measurement takes
// longer than most preparations.
// Thread safety: all methods may be called from several threads at once.
// Ownership: owns its file in the driver's folder.
#pragma once

#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>

#include "halyard/driver/blob_cache.h"
#include "plan/device_speed.h"

namespace halyard::vulkandriver {

class SpeedStore {
 public:
  // `identity`: of the device and of the driver's build; another one's speed does not count.
  // Without a usable file, the speed is kept in memory only.
  SpeedStore(const std::string& identity, const std::filesystem::path& file);

  // The speed from the file, or a new measurement; absent if the device fails.
  std::optional<DeviceSpeed> speedOf(const std::shared_ptr<VulkanDevice>& device);

 private:
  std::optional<DeviceSpeed> saved();

  hal::BlobStore store_;
  std::mutex mutex_;
  std::optional<DeviceSpeed> speed_;
  bool isKnown_ = false;
};

}  // namespace halyard::vulkandriver
