// Helpers of the tests of the tables.
// Thread safety: one thread.
// Ownership: values.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "validation/misuse/table.h"

namespace halyard::misuse {

constexpr const char* kCpuDevice = "nnapi-reference";

inline const ANeuralNetworksDevice* deviceNamed(const std::string& name) {
  std::vector<client::Device> devices;
  EXPECT_EQ(client::listDevices(devices), 0);
  const ANeuralNetworksDevice* const device = client::deviceNamed(devices, name);
  EXPECT_NE(device, nullptr) << "no device " << name;
  return device;
}

// Every row is a test of its own.
class MisuseTable : public ::testing::TestWithParam<Misuse> {};
inline std::string rowName(const ::testing::TestParamInfo<Misuse>& info) { return info.param.name; }

// A test with a World on the CPU device. A finding up to the World's end fails the test.
class WithAWorld : public ::testing::Test {
 protected:
  void SetUp() override { world_.emplace(deviceNamed(kCpuDevice)); }
  void TearDown() override {
    world_.reset();
    for (const std::string& finding : takeFindings()) ADD_FAILURE() << finding;
  }
  World& world() { return *world_; }

 private:
  std::optional<World> world_;
};

// Expects that some row misuses each function of a symbol version of public_symbols.txt.
void expectRowsForEveryFunction(const std::vector<Misuse>& rows, const std::string& version);

}  // namespace halyard::misuse
