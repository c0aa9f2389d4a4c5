// Provides a set of reference drivers with random personalities; each test takes a few.
// Thread safety: none. Ownership: owns the processes. They start at their first use and end with
// the set.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <random>
#include <vector>

#include "driver_processes_for_test.h"
#include "runtime/device/device_manager.h"

namespace halyard::runtime::random_models {

struct RandomPersonality {
  std::string fields;  // as DriverProcesses::add takes them
  std::string version;
};
// The same personality for the same number. A driver is old or new, fast or slow, for all or for
// some operations or types. Some drivers fail or die at an operation.
RandomPersonality randomPersonality(uint32_t number);

class RandomDrivers {
 public:
  explicit RandomDrivers(std::string executable) : executable_(std::move(executable)) {}

  // 1 to 4 random drivers, in the order of their numbers; the CPU device is the last.
  std::vector<const Device*> take(std::mt19937& random);
  const Device& cpu() { return manager_.cpu(); }
  ExtensionRegistry& extensions() { return manager_.extensions(); }
  size_t started() const { return started_.size(); }

  static constexpr uint32_t kPersonalities = 48;

 private:
  const Device& driver(uint32_t number);

  const std::string executable_;
  std::map<uint32_t, std::unique_ptr<testing::DriverProcesses>> started_;
  DeviceManager manager_{{}};
};

}  // namespace halyard::runtime::random_models
