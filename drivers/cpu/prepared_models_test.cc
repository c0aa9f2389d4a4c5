// Models whose sizes only executions know, as clients of the driver have them: in this process, and
// in the driver's own.
#include "prepared_models.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <vector>

#include "cpu/cpu_device.h"
#include "cpu_driver.h"
#include "hal/client/remote_device.h"
#include "hal/manifest/manifest.h"
#include "model_for_test.h"
#include "test_definitions.h"
#include "testing/layers_model.h"
#include "trace_marks_for_test.h"

namespace halyard::cpudriver {
namespace {

using testing::Builder;
using ::testing::HasSubstr;
using testing::Marks;
using testing::marksOf;
using testing::ModelForTest;

constexpr OperandType kType = OperandType::TENSOR_QUANT8_ASYMM;

// A request for `batch` images.
struct Images {
  explicit Images(uint32_t batch, uint8_t first = 0)
      : in(*knownByteSize(kType, ModelForTest::inputDims(batch))),
        out(*knownByteSize(kType, ModelForTest::outputDims(batch))) {
    for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<uint8_t>(first + 37 * i);
    request.inputs = {argument(in)};
    request.inputs[0].dimensions = ModelForTest::inputDims(batch);
    request.outputs = {argument(out)};
  }
  Images(const Images&) = delete;
  Images& operator=(const Images&) = delete;

  static hal::RequestArgument argument(std::vector<uint8_t>& bytes) {
    hal::RequestArgument made;
    made.kind = hal::RequestArgument::Kind::POINTER;
    made.pointer = bytes.data();
    made.length = static_cast<uint32_t>(bytes.size());
    return made;
  }

  std::vector<uint8_t> in;
  std::vector<uint8_t> out;
  hal::Request request;
};

class OpenModelsTest : public ::testing::Test {
 protected:
  OpenModelsTest() {
    auto made = makeCpuDriver();
    EXPECT_TRUE(made.ok()) << made.status().toString();
    driver_ = *made;
  }

  static std::shared_ptr<hal::PreparedModel> prepare(hal::Device& device,
                                                     std::shared_ptr<const Model> model,
                                                     const hal::PrepareOptions& options = {}) {
    auto prepared = device.prepareModel(validated(std::move(model)).value(), options);
    EXPECT_TRUE(prepared.ok()) << prepared.status().toString();
    return prepared.ok() ? *prepared : nullptr;
  }

  static std::vector<uint8_t> compute(hal::PreparedModel& model, uint32_t batch,
                                      uint8_t first = 0) {
    Images images(batch, first);
    const hal::ExecutionResult result = model.executeSynchronously(images.request, {});
    EXPECT_TRUE(result.status.ok()) << result.status.toString();
    EXPECT_EQ(result.outputShapes.size(), 1u);
    if (result.outputShapes.size() == 1) {
      EXPECT_EQ(result.outputShapes[0].dimensions, ModelForTest::outputDims(batch));
      EXPECT_TRUE(result.outputShapes[0].isSufficient);
    }
    return images.out;
  }

  // The runtime's own device has the reference kernels.
  std::vector<uint8_t> expected(uint32_t batch, uint8_t first = 0) {
    return compute(*reference_, batch, first);
  }

  const ModelForTest test_{kType};
  const std::shared_ptr<hal::PreparedModel> reference_ =
      prepare(*cpu::makeCpuDevice(cpu::cpuDeviceInfo(), 1), test_.open());
  std::shared_ptr<hal::Device> driver_;
};

TEST_F(OpenModelsTest, AreComputedByTheDriversOwnKernels) {
  const auto known = prepare(*driver_, test_.model());
  (void)test_.run(*known);
  const Marks all = marksOf([&] { EXPECT_FALSE(test_.run(*known).empty()); });
  ASSERT_GT(all.steps, 0u);
  for (const bool knowsRank : {true, false}) {
    const auto open = prepare(*driver_, test_.open(knowsRank));
    for (const uint32_t batch : {1u, 5u}) {
      for (int use = 0; use < 2; ++use) {
        const Marks marks = marksOf([&] { EXPECT_EQ(compute(*open, batch), expected(batch)); });
        EXPECT_EQ(marks.steps, all.steps) << "use " << use;
      }
      const Marks marks = marksOf([&] { (void)compute(*open, batch); });
      EXPECT_EQ(marks.executors, 0u);
    }
  }
}

TEST_F(OpenModelsTest, ARepeatedExecutionKeepsWhatIsMadeForItsSizes) {
  const auto open = prepare(*driver_, test_.open());
  Images images(3);
  auto repeated = open->createReusableExecution(images.request);
  ASSERT_TRUE(repeated.ok()) << repeated.status().toString();
  for (uint8_t round = 0; round < 3; ++round) {
    std::ranges::fill(images.in, static_cast<uint8_t>(round * 60));
    std::ranges::fill(images.out, uint8_t{0});
    const Marks marks = marksOf([&] {
      const hal::ExecutionResult result = (*repeated)->compute({});
      EXPECT_TRUE(result.status.ok()) << result.status.toString();
      // The model does not say how large the output is.
      ASSERT_EQ(result.outputShapes.size(), 1u);
      EXPECT_EQ(result.outputShapes[0].dimensions, ModelForTest::outputDims(3));
    });
    EXPECT_GT(marks.steps, 0u);
    EXPECT_EQ(marks.executors, 0u);
    Images right(3);
    right.in = images.in;
    ASSERT_TRUE(reference_->executeSynchronously(right.request, {}).status.ok());
    EXPECT_EQ(images.out, right.out);
    // More than are kept.
    for (uint32_t batch = 4; batch < 24; ++batch) (void)compute(*open, batch);
  }
}

TEST_F(OpenModelsTest, SayWhatAnOutputNeeds) {
  const auto open = prepare(*driver_, test_.open());
  for (int use = 0; use < 2; ++use) {
    Images images(4);
    images.out.resize(ModelForTest::outputDims(4)[1] * 4 - 1);
    images.request.outputs = {Images::argument(images.out)};
    const hal::ExecutionResult result = open->executeSynchronously(images.request, {});
    EXPECT_EQ(result.status.code(), ResultCode::OUTPUT_INSUFFICIENT_SIZE);
    ASSERT_EQ(result.outputShapes.size(), 1u);
    EXPECT_EQ(result.outputShapes[0].dimensions, ModelForTest::outputDims(4));
    EXPECT_FALSE(result.outputShapes[0].isSufficient);
  }
}

TEST_F(OpenModelsTest, RefuseWhatTheExecutorRefuses) {
  const auto open = prepare(*driver_, test_.open());
  const auto refused = [&](const auto& spoil) {
    Images images(2);
    spoil(images.request);
    const hal::ExecutionResult is = open->executeSynchronously(images.request, {});
    const hal::ExecutionResult should = reference_->executeSynchronously(images.request, {});
    EXPECT_FALSE(is.status.ok());
    EXPECT_EQ(is.status.code(), should.status.code()) << is.status.toString();
    EXPECT_EQ(is.status.message(), should.status.message());
  };
  refused([](hal::Request& request) { request.inputs[0].dimensions = {}; });
  refused([](hal::Request& request) { request.inputs[0].dimensions = {2, 6, 6}; });
  refused([](hal::Request& request) { request.inputs[0].dimensions = {3, 6, 6, 4}; });
  refused([](hal::Request& request) { request.inputs[0].dimensions = {2, 6, 4, 4}; });
  refused([](hal::Request& request) {
    request.inputs[0] = {};
    request.inputs[0].kind = hal::RequestArgument::Kind::NO_VALUE;
  });
}

TEST_F(OpenModelsTest, OutputsThatAreDeclaredOtherwiseFail) {
  const auto open = prepare(*driver_, test_.open());
  Images images(2);
  images.request.outputs[0].dimensions = {3, 12};
  const hal::ExecutionResult result = open->executeSynchronously(images.request, {});
  EXPECT_EQ(result.status.code(), ResultCode::OP_FAILED) << result.status.toString();
}

TEST_F(OpenModelsTest, KeepDeadlines) {
  const auto open = prepare(*driver_, test_.open());
  Images images(2);
  hal::ExecuteOptions late;
  late.deadline = hal::Clock::now();
  EXPECT_EQ(open->executeSynchronously(images.request, late).status.code(),
            ResultCode::MISSED_DEADLINE_PERSISTENT);
  hal::ExecuteOptions ample;
  ample.deadline = hal::Clock::now() + std::chrono::hours(1);
  ample.measureTiming = true;
  const hal::ExecutionResult result = open->executeSynchronously(images.request, ample);
  ASSERT_TRUE(result.status.ok()) << result.status.toString();
  EXPECT_EQ(images.out, expected(2));
  EXPECT_GT(result.timing.timeOnDevice, 0u);
  EXPECT_LE(result.timing.timeOnDevice, result.timing.timeInDriver);
}

// Without kernels there is still the executor.
TEST_F(OpenModelsTest, WhatCannotBeCompiledTheExecutorComputes) {
  const auto resources = std::make_shared<DriverResources>(1);
  auto planned = cpu::ExecutionPlan::make(test_.open());
  ASSERT_TRUE(planned.ok()) << planned.status().toString();
  const auto plan = std::make_shared<const cpu::ExecutionPlan>(std::move(*planned));
  auto plans = std::make_unique<ShapePlans>(
      plan, CompiledModel::Resources{&resources->byPriority[1], &resources->idle, nullptr});
  ShapePlans& all = *plans;
  OpenPreparedModel open(test_.open(), resources, std::move(plans), reference_);
  for (const bool repeats : {false, true}) {
    Images images(repeats ? 3 : 2);
    auto mapped = hal::MappedRequest::map(*test_.open(), images.request);
    ASSERT_TRUE(mapped.ok());
    all.get(mapped->inputs())->abandon();
    std::unique_ptr<hal::ReusableExecution> repeated;
    if (repeats) {
      auto made = open.createReusableExecution(images.request);
      ASSERT_TRUE(made.ok()) << made.status().toString();
      repeated = std::move(*made);
    }
    ::testing::internal::CaptureStderr();
    for (int use = 0; use < 2; ++use) {
      std::ranges::fill(images.out, uint8_t{0});
      const Marks marks = marksOf([&] {
        const hal::ExecutionResult result =
            repeats ? repeated->compute({}) : open.executeSynchronously(images.request, {});
        EXPECT_TRUE(result.status.ok()) << result.status.toString();
      });
      EXPECT_EQ(marks.steps, 0u);
      EXPECT_GT(marks.executors, 0u);
      EXPECT_EQ(images.out, expected(repeats ? 3 : 2));
    }
    EXPECT_THAT(::testing::internal::GetCapturedStderr(),
                HasSubstr(repeats ? "inputs of [3,6,6,4] are left to the executor: making"
                                  : "inputs of [2,6,6,4] are left to the executor: making"));
  }
}

// The executor computes models with a branch whose sizes are not known.
TEST_F(OpenModelsTest, ControlFlowIsComputedToo) {
  const auto branch = [](OperationType type) {
    Subgraph subgraph;
    Operand tensor;
    tensor.type = OperandType::TENSOR_FLOAT32;
    tensor.dimensions = {0, 4};
    tensor.lifetime = Lifetime::SUBGRAPH_INPUT;
    subgraph.operands.push_back(tensor);
    tensor.lifetime = Lifetime::SUBGRAPH_OUTPUT;
    subgraph.operands.push_back(tensor);
    subgraph.inputIndexes = {0};
    subgraph.outputIndexes = {1};
    subgraph.operations.push_back({type, {0}, {1}});
    return subgraph;
  };
  Builder builder;
  const uint32_t condition =
      builder.quantized(OperandType::TENSOR_BOOL8, {1}, 0, 0, Lifetime::SUBGRAPH_INPUT);
  const uint32_t x = builder.input({0, 4});
  const uint32_t y = builder.output({0, 4});
  Model model = *builder.take();
  for (uint32_t i = 0; i < 2; ++i) {
    Operand reference;
    reference.type = OperandType::MODEL;
    reference.lifetime = Lifetime::SUBGRAPH;
    reference.location.offset = i;
    model.main.operands.push_back(reference);
  }
  model.main.operations.push_back({OperationType::IF, {condition, 3, 4, x}, {y}});
  model.referenced = {branch(OperationType::RELU), branch(OperationType::NEG)};
  const auto open = prepare(*driver_, std::make_shared<const Model>(model));
  ASSERT_NE(open, nullptr);
  for (const uint32_t rows : {1u, 3u}) {
    for (const uint8_t chosen : {0, 1}) {
      std::vector<uint8_t> is = {chosen};
      std::vector<float> in(rows * 4, -2.0f);
      std::vector<float> out(rows * 4);
      hal::Request request;
      const auto argument = [](std::vector<float>& values) {
        hal::RequestArgument made;
        made.kind = hal::RequestArgument::Kind::POINTER;
        made.pointer = values.data();
        made.length = static_cast<uint32_t>(values.size() * sizeof(float));
        return made;
      };
      request.inputs = {Images::argument(is), argument(in)};
      request.inputs[1].dimensions = {rows, 4};
      request.outputs = {argument(out)};
      const hal::ExecutionResult result = open->executeSynchronously(request, {});
      ASSERT_TRUE(result.status.ok()) << result.status.toString();
      EXPECT_THAT(out, ::testing::Each(chosen == 1 ? 0.0f : 2.0f));
      EXPECT_EQ(result.outputShapes[0].dimensions, (Shape{rows, 4}));
    }
  }
}

TEST_F(OpenModelsTest, AreComputedWithOneThreadWhereThatIsWhatIsWanted) {
  hal::PrepareOptions options;
  for (const auto preference :
       {hal::ExecutionPreference::LOW_POWER, hal::ExecutionPreference::SUSTAINED_SPEED}) {
    options.preference = preference;
    const auto open = prepare(*driver_, test_.open(), options);
    for (const uint32_t batch : {2u, 1u, 2u}) {
      EXPECT_EQ(compute(*open, batch), expected(batch));
    }
  }
}

TEST_F(OpenModelsTest, AreComputedInTheDriversOwnProcess) {
  const auto manifest = hal::loadManifest(HALYARD_BINARY_DIR "/share/halyard/drivers.d/cpu.json");
  ASSERT_TRUE(manifest.ok()) << manifest.status().toString();
  auto loop = hal::RpcLoop::start();
  ASSERT_TRUE(loop.ok()) << loop.status().toString();
  const auto remote = hal::RemoteDevice::open(*loop, *manifest);
  ASSERT_TRUE(remote.ok()) << remote.status().toString();
  const auto open = prepare(**remote, test_.open());
  for (uint8_t round = 0; round < 3; ++round) {
    for (uint32_t batch = 1; batch < 12; ++batch) {
      // The second has what the first of these sizes has made, and the same packet.
      for (int use = 0; use < 2; ++use) {
        EXPECT_EQ(compute(*open, batch, round), expected(batch, round));
      }
    }
  }
  Images small(3);
  small.out.resize(1);
  small.request.outputs = {Images::argument(small.out)};
  const hal::ExecutionResult result = open->executeSynchronously(small.request, {});
  EXPECT_EQ(result.status.code(), ResultCode::OUTPUT_INSUFFICIENT_SIZE);
  ASSERT_EQ(result.outputShapes.size(), 1u);
  EXPECT_EQ(result.outputShapes[0].dimensions, ModelForTest::outputDims(3));
}

}  // namespace
}  // namespace halyard::cpudriver
