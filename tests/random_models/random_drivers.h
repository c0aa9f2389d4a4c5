// A crowd of reference drivers with random personalities, of which each test takes a few.
// Thread safety: none. Ownership: owns the processes, which are started when they are first taken
// and live as long as the crowd.
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
// The same for the same number: an old driver or a new one, for everything, for some operations or
// some types, fast or slow, and now and then one that fails or dies with some operation.
RandomPersonality randomPersonality(uint32_t number);

class RandomDrivers {
 public:
  explicit RandomDrivers(std::string executable) : executable_(std::move(executable)) {}

  // 1 to 4 of them, by chance, in the order of their numbers; the CPU device is the last.
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
