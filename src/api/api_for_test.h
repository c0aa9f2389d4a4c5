// Support for tests of the C API: GoogleTest macros for calls, and small models of client/nnapi.h.
// Thread safety: one thread at a time. Ownership: each object owns its API object.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "client/nnapi.h"
#include "client/sum_model.h"

namespace halyard::api::testing {

// The call returns `code`, and its text contains `text`.
#define EXPECT_NN_ERROR(call, code, text)                                          \
  do {                                                                             \
    EXPECT_EQ((call), (code)) << halyard_lastErrorText();                          \
    EXPECT_EQ(halyard_lastErrorCode(), (code));                                    \
    EXPECT_THAT(std::string(halyard_lastErrorText()), ::testing::HasSubstr(text)); \
  } while (false)
#define ASSERT_NN_OK(call) ASSERT_EQ((call), ANEURALNETWORKS_NO_ERROR) << halyard_lastErrorText()
#define EXPECT_NN_OK(call) EXPECT_EQ((call), ANEURALNETWORKS_NO_ERROR) << halyard_lastErrorText()

inline client::Model newModel() {
  client::Model model;
  EXPECT_NN_OK(model.create());
  return model;
}

// out = a + b in float32, not finished. Operands: 0 is a, 1 is b, 2 the activation, 3 out.
inline client::Model addModel(const client::Dims& a, const client::Dims& b,
                              const client::Dims& out) {
  client::Model model = newModel();
  EXPECT_NN_OK(client::addSum(model.get(), a, b, out));
  return model;
}

inline const ANeuralNetworksDevice* deviceNamed(const std::string& name) {
  std::vector<client::Device> devices;
  EXPECT_NN_OK(client::listDevices(devices));
  const ANeuralNetworksDevice* const device = client::deviceNamed(devices, name);
  EXPECT_NE(device, nullptr) << "no device " << name;
  return device;
}

// A finished compilation for one device.
inline client::Compilation compileFor(ANeuralNetworksModel* model,
                                      const ANeuralNetworksDevice* device) {
  client::Compilation compilation;
  EXPECT_NN_OK(compilation.createForDevices(model, {&device, 1}));
  EXPECT_NN_OK(compilation.finish());
  return compilation;
}

inline client::Execution newExecution(ANeuralNetworksCompilation* compilation) {
  client::Execution execution;
  EXPECT_NN_OK(execution.create(compilation));
  return execution;
}

constexpr const char* kCpuDevice = "nnapi-reference";

}  // namespace halyard::api::testing
