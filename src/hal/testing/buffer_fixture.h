// The vocabulary of the tests of buffers, and their fixture: see buffer_cases.h.
// Thread safety: one thread at a time. Ownership: the fixture owns the device.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <cstring>
#include <functional>

#include "hal/testing/test_device.h"

namespace halyard::hal::testing {

struct BufferDevice {
  const char* name;
  std::function<std::shared_ptr<Device>()> open;
};
inline std::string nameOf(const ::testing::TestParamInfo<BufferDevice>& info) {
  return info.param.name;
}
inline void PrintTo(const BufferDevice& device, std::ostream* out) { *out << device.name; }

inline SharedMemoryPtr floats(const std::vector<float>& values) {
  auto memory = SharedMemory::create(values.size() * sizeof(float), "test").value();
  std::memcpy(memory->mapped().value()->data(), values.data(), memory->size());
  return memory;
}
inline std::vector<float> valuesOf(const SharedMemoryPtr& memory) {
  std::vector<float> values(memory->size() / sizeof(float));
  std::memcpy(values.data(), memory->mapped().value()->data(), memory->size());
  return values;
}

// An argument of an execution: memory or a buffer.
struct Arg {
  Arg(SharedMemoryPtr memory, Shape dims = {})  // NOLINT(google-explicit-constructor)
      : pool(memory), length(static_cast<uint32_t>(memory->size())), dimensions(std::move(dims)) {}
  Arg(const std::unique_ptr<Buffer>& buffer, Shape dims = {})  // NOLINT
      : pool(buffer->token()), dimensions(std::move(dims)) {}
  explicit Arg(uint32_t token) : pool(token) {}
  RequestPool pool;
  uint32_t length = 0;
  Shape dimensions;
};

inline Request requestOf(const std::vector<Arg>& inputs, const std::vector<Arg>& outputs) {
  Request request;
  const auto add = [&](const std::vector<Arg>& from, std::vector<RequestArgument>& to) {
    for (const Arg& arg : from) {
      RequestArgument argument;
      argument.kind = RequestArgument::Kind::POOL;
      argument.location = {static_cast<uint32_t>(request.pools.size()), 0, arg.length};
      argument.dimensions = arg.dimensions;
      request.pools.push_back(arg.pool);
      to.push_back(std::move(argument));
    }
  };
  add(inputs, request.inputs);
  add(outputs, request.outputs);
  return request;
}

class BufferTest : public ::testing::TestWithParam<BufferDevice> {
 protected:
  using Models = std::vector<std::shared_ptr<PreparedModel>>;
  using Roles = std::vector<BufferRole>;

  void SetUp() override {
    device_ = GetParam().open();
    ASSERT_NE(device_, nullptr);
    add_ = prepare(addModel(4));
    open_ = prepare(addModel(0));
  }

  std::shared_ptr<PreparedModel> prepare(Model model) { return prepareOn(*device_, model); }
  static std::shared_ptr<PreparedModel> prepareOn(Device& device, Model model) {
    auto prepared = device.prepareModel(validated(std::move(model)).value(), {});
    EXPECT_TRUE(prepared.ok()) << prepared.status().toString();
    return prepared.ok() ? *prepared : nullptr;
  }

  Result<std::unique_ptr<Buffer>> tryAllocate(const Shape& dims, const Models& models,
                                              const Roles& inputs, const Roles& outputs) {
    return device_->allocate(dims, models, inputs, outputs);
  }
  // A buffer for the first input and the output of `model`.
  std::unique_ptr<Buffer> allocate(const std::shared_ptr<PreparedModel>& model, Shape dims = {}) {
    auto buffer = tryAllocate(dims, {model}, {{0, 0, 1.0f}}, {{0, 0, 1.0f}});
    EXPECT_TRUE(buffer.ok()) << buffer.status().toString();
    return buffer.ok() ? std::move(*buffer) : nullptr;
  }
  std::unique_ptr<Buffer> filled(const std::shared_ptr<PreparedModel>& model,
                                 const std::vector<float>& values) {
    auto buffer = allocate(model, {static_cast<uint32_t>(values.size())});
    EXPECT_TRUE(buffer->copyFrom(floats(values), {}).ok());
    return buffer;
  }
  static void expectHolds(Buffer& buffer, const std::vector<float>& values) {
    const auto out = floats(std::vector<float>(values.size()));
    const Status status = buffer.copyTo(out);
    EXPECT_TRUE(status.ok()) << status.toString();
    EXPECT_EQ(valuesOf(out), values);
  }
  static void expectUninitialised(Buffer& buffer, size_t size) {
    const Status status = buffer.copyTo(floats(std::vector<float>(size)));
    EXPECT_EQ(status.code(), ResultCode::OP_FAILED) << status.toString();
    EXPECT_THAT(status.message(), ::testing::HasSubstr("not initialised"));
  }
  static ExecutionResult run(const std::shared_ptr<PreparedModel>& model, const Request& request,
                             const ExecuteOptions& options = {}) {
    ExecutionResult result = model->executeSynchronously(request, options);
    if (!result.status.ok()) {
      EXPECT_TRUE(result.outputShapes.empty() ||
                  result.status.code() == ResultCode::OUTPUT_INSUFFICIENT_SIZE);
      EXPECT_FALSE(result.timing.timeOnDevice || result.timing.timeInDriver);
    }
    return result;
  }
  static void expectRuns(const std::shared_ptr<PreparedModel>& model, const Request& request) {
    const ExecutionResult result = run(model, request);
    EXPECT_TRUE(result.status.ok()) << result.status.toString();
  }
  static void expectFails(const std::shared_ptr<PreparedModel>& model, const Request& request,
                          ResultCode code, const std::string& text) {
    SCOPED_TRACE(text);
    const Status status = run(model, request).status;
    EXPECT_EQ(status.code(), code) << status.toString();
    EXPECT_THAT(status.message(), ::testing::HasSubstr(text));
  }
  const SharedMemoryPtr ones_ = floats({1, 1, 1, 1});
  std::shared_ptr<Device> device_;
  std::shared_ptr<PreparedModel> add_;   // of four elements
  std::shared_ptr<PreparedModel> open_;  // of any number of elements
};

// a[4] + b[4], with another type or quantisation.
inline Model addModelOf(OperandType type, float scale, int32_t zeroPoint) {
  Model model = addModel(4);
  for (const size_t i : {0, 1, 3}) {
    model.main.operands[i].type = type;
    model.main.operands[i].scale = scale;
    model.main.operands[i].zeroPoint = zeroPoint;
  }
  return model;
}

// addModel(4) whose activation is an input of the model, which is a scalar.
inline Model scalarInputModel() {
  Model model = addModel(4);
  Operand& activation = model.main.operands[2];
  activation.lifetime = Lifetime::SUBGRAPH_INPUT;
  activation.location = {};
  model.operandValues.clear();
  model.main.inputIndexes = {0, 1, 2};
  return model;
}

// The result of a fenced execution that waits for no fence.
inline Status runFenced(PreparedModel& model, const Request& request) {
  const FencedResult result = model.executeFenced(request, {}, {}, std::nullopt);
  if (!result.status.ok()) {
    EXPECT_FALSE(result.fence.valid());
    EXPECT_EQ(result.execution, nullptr);
    return result.status;
  }
  if (result.fence.valid()) {
    pollfd waited{result.fence.get(), POLLIN, 0};
    EXPECT_EQ(::poll(&waited, 1, 60'000), 1);
  }
  return result.execution->getExecutionInfo().status;
}

// ---- 8.1: allocate ----

}  // namespace halyard::hal::testing
