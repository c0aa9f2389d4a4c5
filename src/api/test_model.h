// Builds small models through the C API in tests.
// Thread safety: none needed. Ownership: RAII handles free their objects.
#pragma once

#include <android/NeuralNetworks.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <halyard/halyard.h>

#include <cstring>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

namespace halyard::api::testing {

struct Freer {
  void operator()(ANeuralNetworksModel* p) const { ANeuralNetworksModel_free(p); }
  void operator()(ANeuralNetworksCompilation* p) const { ANeuralNetworksCompilation_free(p); }
  void operator()(ANeuralNetworksExecution* p) const { ANeuralNetworksExecution_free(p); }
  void operator()(ANeuralNetworksBurst* p) const { ANeuralNetworksBurst_free(p); }
  void operator()(ANeuralNetworksEvent* p) const { ANeuralNetworksEvent_free(p); }
  void operator()(ANeuralNetworksMemory* p) const { ANeuralNetworksMemory_free(p); }
};
template <typename T>
using Handle = std::unique_ptr<T, Freer>;

// The call returns `code`, and its text contains `text`.
#define EXPECT_NN_ERROR(call, code, text)                                          \
  do {                                                                             \
    EXPECT_EQ((call), (code)) << halyard_lastErrorText();                          \
    EXPECT_EQ(halyard_lastErrorCode(), (code));                                    \
    EXPECT_THAT(std::string(halyard_lastErrorText()), ::testing::HasSubstr(text)); \
  } while (false)
#define ASSERT_NN_OK(call) ASSERT_EQ((call), ANEURALNETWORKS_NO_ERROR) << halyard_lastErrorText()
#define EXPECT_NN_OK(call) EXPECT_EQ((call), ANEURALNETWORKS_NO_ERROR) << halyard_lastErrorText()

inline Handle<ANeuralNetworksModel> newModel() {
  ANeuralNetworksModel* model = nullptr;
  EXPECT_NN_OK(ANeuralNetworksModel_create(&model));
  return Handle<ANeuralNetworksModel>(model);
}

// Adds an operand; `dims` are copied.
inline int addOperand(ANeuralNetworksModel* model, int32_t type, std::vector<uint32_t> dims = {},
                      float scale = 0, int32_t zeroPoint = 0) {
  const ANeuralNetworksOperandType operand = {type, static_cast<uint32_t>(dims.size()),
                                              dims.empty() ? nullptr : dims.data(), scale,
                                              zeroPoint};
  return ANeuralNetworksModel_addOperand(model, &operand);
}

inline int addOperation(ANeuralNetworksModel* model, int32_t type, std::vector<uint32_t> inputs,
                        std::vector<uint32_t> outputs) {
  return ANeuralNetworksModel_addOperation(model, type, static_cast<uint32_t>(inputs.size()),
                                           inputs.data(), static_cast<uint32_t>(outputs.size()),
                                           outputs.data());
}

inline int identify(ANeuralNetworksModel* model, std::vector<uint32_t> inputs,
                    std::vector<uint32_t> outputs) {
  return ANeuralNetworksModel_identifyInputsAndOutputs(
      model, static_cast<uint32_t>(inputs.size()), inputs.data(),
      static_cast<uint32_t>(outputs.size()), outputs.data());
}

// out = a + b, float32, not finished. Operands: 0 a, 1 b, 2 activation, 3 out.
inline Handle<ANeuralNetworksModel> addModel(std::vector<uint32_t> a, std::vector<uint32_t> b,
                                             std::vector<uint32_t> out) {
  Handle<ANeuralNetworksModel> model = newModel();
  EXPECT_NN_OK(addOperand(model.get(), ANEURALNETWORKS_TENSOR_FLOAT32, a));
  EXPECT_NN_OK(addOperand(model.get(), ANEURALNETWORKS_TENSOR_FLOAT32, b));
  EXPECT_NN_OK(addOperand(model.get(), ANEURALNETWORKS_INT32));
  EXPECT_NN_OK(addOperand(model.get(), ANEURALNETWORKS_TENSOR_FLOAT32, out));
  const int32_t none = ANEURALNETWORKS_FUSED_NONE;
  EXPECT_NN_OK(ANeuralNetworksModel_setOperandValue(model.get(), 2, &none, sizeof(none)));
  EXPECT_NN_OK(addOperation(model.get(), ANEURALNETWORKS_ADD, {0, 1, 2}, {3}));
  EXPECT_NN_OK(identify(model.get(), {0, 1}, {3}));
  return model;
}

inline ANeuralNetworksDevice* deviceNamed(const std::string& name) {
  uint32_t count = 0;
  EXPECT_NN_OK(ANeuralNetworks_getDeviceCount(&count));
  for (uint32_t i = 0; i < count; ++i) {
    ANeuralNetworksDevice* device = nullptr;
    const char* found = nullptr;
    EXPECT_NN_OK(ANeuralNetworks_getDevice(i, &device));
    EXPECT_NN_OK(ANeuralNetworksDevice_getName(device, &found));
    if (name == found) return device;
  }
  ADD_FAILURE() << "no device " << name;
  return nullptr;
}

// A compilation for one device, finished.
inline Handle<ANeuralNetworksCompilation> compileFor(ANeuralNetworksModel* model,
                                                     const ANeuralNetworksDevice* device) {
  ANeuralNetworksCompilation* compilation = nullptr;
  EXPECT_NN_OK(ANeuralNetworksCompilation_createForDevices(model, &device, 1, &compilation));
  EXPECT_NN_OK(ANeuralNetworksCompilation_finish(compilation));
  return Handle<ANeuralNetworksCompilation>(compilation);
}

inline Handle<ANeuralNetworksExecution> newExecution(ANeuralNetworksCompilation* compilation) {
  ANeuralNetworksExecution* execution = nullptr;
  EXPECT_NN_OK(ANeuralNetworksExecution_create(compilation, &execution));
  return Handle<ANeuralNetworksExecution>(execution);
}

constexpr const char* kCpuDevice = "nnapi-reference";

}  // namespace halyard::api::testing
