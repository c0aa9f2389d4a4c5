// The CPU driver, in this process and in its own, against the executor.
#include "cpu_driver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "compiled_model.h"
#include "hal/client/remote_device.h"
#include "hal/manifest/manifest.h"
#include "halyard/driver/capabilities_file.h"
#include "model_for_test.h"
#include "test_definitions.h"

namespace halyard::cpudriver {
namespace {

using testing::Builder;
using ::testing::HasSubstr;

// A convolution, whose result is an output and is also read, and a SIN, for which there is no
// kernel.
std::shared_ptr<const Model> smallModel(const Shape& input = {1, 6, 5, 3}) {
  Builder builder;
  const uint32_t image = builder.input(input);
  const uint32_t filter = builder.constant({8, 3, 3, 3});
  const uint32_t bias = builder.constant({8});
  const uint32_t one = builder.int32(1);
  const uint32_t relu = builder.int32(1);
  Shape dims = input;
  dims.back() = 8;
  const uint32_t features = builder.output(dims);
  const uint32_t result = builder.output(dims);
  builder.operation(OperationType::CONV_2D, {image, filter, bias, one, one, one, relu}, {features});
  builder.operation(OperationType::SIN, {features}, {result});
  return builder.take();
}

struct Outcome {
  hal::ExecutionResult result;
  std::vector<float> features;
  std::vector<float> values;
};

constexpr size_t kInputs = 6 * 5 * 3;
constexpr size_t kOutputs = 6 * 5 * 8;

Outcome run(hal::PreparedModel& model, const hal::ExecuteOptions& options = {},
            size_t room = kOutputs, const Shape& dims = {}) {
  std::vector<float> input(kInputs);
  for (size_t i = 0; i < input.size(); ++i) input[i] = static_cast<float>(i % 13) * 0.2f - 1;
  Outcome outcome;
  outcome.features.resize(kOutputs);
  outcome.values.resize(kOutputs);
  const auto argument = [](std::vector<float>& values, size_t count) {
    hal::RequestArgument made;
    made.kind = hal::RequestArgument::Kind::POINTER;
    made.pointer = values.data();
    made.length = static_cast<uint32_t>(count * sizeof(float));
    return made;
  };
  hal::Request request;
  request.inputs = {argument(input, kInputs)};
  request.inputs[0].dimensions = dims;
  request.outputs = {argument(outcome.features, room), argument(outcome.values, kOutputs)};
  outcome.result = model.executeSynchronously(request, options);
  return outcome;
}

std::shared_ptr<hal::PreparedModel> prepare(hal::Device& device,
                                            std::shared_ptr<const Model> model) {
  auto prepared = device.prepareModel(validated(std::move(model)).value(), {});
  EXPECT_TRUE(prepared.ok()) << prepared.status().toString();
  return prepared.ok() ? *prepared : nullptr;
}

Outcome expected() {
  static const Outcome outcome = [] {
    const auto executor = cpu::Executor::create(smallModel(), nullptr);
    EXPECT_TRUE(executor.ok());
    std::vector<float> input(kInputs);
    for (size_t i = 0; i < input.size(); ++i) input[i] = static_cast<float>(i % 13) * 0.2f - 1;
    Outcome made{{}, std::vector<float>(kOutputs), std::vector<float>(kOutputs)};
    const cpu::Argument in[] = {{input.data(), kInputs * 4, {}, false}};
    const cpu::Argument out[] = {{made.features.data(), kOutputs * 4, {}, false},
                                 {made.values.data(), kOutputs * 4, {}, false}};
    made.result = (*executor)->execute(in, out, {});
    EXPECT_TRUE(made.result.status.ok());
    return made;
  }();
  return outcome;
}

void expectRight(const Outcome& outcome) {
  ASSERT_TRUE(outcome.result.status.ok()) << outcome.result.status.toString();
  const Outcome right = expected();
  for (size_t i = 0; i < kOutputs; ++i) {
    ASSERT_NEAR(outcome.features[i], right.features[i], 1e-5) << i;
    ASSERT_NEAR(outcome.values[i], right.values[i], 1e-5) << i;
  }
}

TEST(CpuDriverFigures, AreThoseOfTheFile) {
  const auto device = makeCpuDriver();
  ASSERT_TRUE(device.ok()) << device.status().toString();
  const auto file = hal::loadCapabilities(HALYARD_SOURCE_DIR "/drivers/cpu/capabilities.json");
  ASSERT_TRUE(file.ok()) << file.status().toString();
  const hal::Capabilities& figures = (*device)->info().capabilities;
  EXPECT_EQ(figures.ifPerformance.execTime, file->ifPerformance.execTime);
  for (const OperandType type :
       {OperandType::TENSOR_FLOAT32, OperandType::TENSOR_QUANT8_ASYMM, OperandType::TENSOR_INT32}) {
    EXPECT_EQ(figures.lookup(type).execTime, file->lookup(type).execTime);
    EXPECT_EQ(figures.lookup(type).powerUsage, file->lookup(type).powerUsage);
  }
  // Measured: not the value that every driver begins with.
  EXPECT_NE(figures.lookup(OperandType::TENSOR_FLOAT32).execTime, 1.0f);
}

TEST(CpuDriverTest, ComputesInThisProcess) {
  const auto device = makeCpuDriver();
  ASSERT_TRUE(device.ok());
  EXPECT_EQ((*device)->info().name, "halyard-cpu");
  EXPECT_TRUE(hal::validateDeviceInfo((*device)->info()).ok());
  const auto model = prepare(**device, smallModel());
  // The second run has memory that the first has left.
  expectRight(run(*model));
  expectRight(run(*model));
}

TEST(CpuDriverTest, ComputesInItsOwnProcess) {
  const auto manifest = hal::loadManifest(HALYARD_BINARY_DIR "/share/halyard/drivers.d/cpu.json");
  ASSERT_TRUE(manifest.ok()) << manifest.status().toString();
  auto loop = hal::RpcLoop::start();
  ASSERT_TRUE(loop.ok()) << loop.status().toString();
  const auto remote = hal::RemoteDevice::open(*loop, *manifest);
  ASSERT_TRUE(remote.ok()) << remote.status().toString();
  EXPECT_NE((*remote)->processId(), ::getpid());
  const auto model = prepare(**remote, smallModel());
  for (int i = 0; i < 3; ++i) expectRight(run(*model));
}

TEST(CpuDriverTest, RequestsThatThePlanDoesNotTakeAreComputedToo) {
  const auto device = makeCpuDriver();
  ASSERT_TRUE(device.ok());
  const auto model = prepare(**device, smallModel());
  const Outcome tooSmall = run(*model, {}, kOutputs - 1);
  EXPECT_EQ(tooSmall.result.status.code(), ResultCode::OUTPUT_INSUFFICIENT_SIZE);
  ASSERT_EQ(tooSmall.result.outputShapes.size(), 2u);
  EXPECT_FALSE(tooSmall.result.outputShapes[0].isSufficient);
  EXPECT_TRUE(tooSmall.result.outputShapes[1].isSufficient);
}

// Later temporaries do not reuse its memory.
TEST(CpuDriverTest, AnOutputThatIsReadStaysAsItIs) {
  Builder builder;
  const Shape dims = {1, 4, 4, 4};
  const uint32_t input = builder.input(dims);
  const uint32_t early = builder.output(dims);
  builder.operation(OperationType::LOGISTIC, {input}, {early});
  uint32_t last = early;
  for (int i = 0; i < 4; ++i) {
    const uint32_t next = i == 3 ? builder.output(dims) : builder.tensor(dims);
    builder.operation(OperationType::LOGISTIC, {last}, {next});
    last = next;
  }
  const auto device = makeCpuDriver();
  ASSERT_TRUE(device.ok());
  const auto prepared = prepare(**device, builder.take());
  ASSERT_NE(prepared, nullptr);
  std::vector<float> in(64, 0.5F);
  std::vector<float> first(64);
  std::vector<float> second(64);
  const auto argument = [](std::vector<float>& values) {
    hal::RequestArgument made;
    made.kind = hal::RequestArgument::Kind::POINTER;
    made.pointer = values.data();
    made.length = static_cast<uint32_t>(values.size() * sizeof(float));
    return made;
  };
  hal::Request request;
  request.inputs = {argument(in)};
  request.outputs = {argument(first), argument(second)};
  ASSERT_TRUE(prepared->executeSynchronously(request, {}).status.ok());
  EXPECT_THAT(first, ::testing::Each(::testing::FloatNear(0.6224593F, 1e-6F)));
}

TEST(CpuDriverTest, ModelsWithUnknownSizesAreComputedToo) {
  const auto device = makeCpuDriver();
  ASSERT_TRUE(device.ok());
  const auto unknown = smallModel({1, 0, 5, 3});
  const auto compiled = CompiledModel::compile(unknown, {});
  ASSERT_TRUE(compiled.ok()) << compiled.status().toString();
  EXPECT_EQ(*compiled, nullptr);
  const auto model = prepare(**device, unknown);
  expectRight(run(*model, {}, kOutputs, {1, 6, 5, 3}));
}

// The plan knows the dimensions of outputs that the model leaves open; the caller does not.
TEST(CpuDriverTest, RepeatedRequestsAreToldTheShapesThatTheModelLeavesOpen) {
  const auto device = makeCpuDriver();
  ASSERT_TRUE(device.ok());
  for (const bool isOpen : {false, true}) {
    Model open = *smallModel();
    if (isOpen) open.main.operands[open.main.outputIndexes[1]].dimensions.clear();
    const auto model = prepare(**device, std::make_shared<const Model>(open));
    std::vector<float> input(kInputs);
    std::vector<float> features(kOutputs);
    std::vector<float> values(kOutputs);
    hal::Request request;
    const auto argument = [](std::vector<float>& from) {
      hal::RequestArgument made;
      made.kind = hal::RequestArgument::Kind::POINTER;
      made.pointer = from.data();
      made.length = static_cast<uint32_t>(from.size() * sizeof(float));
      return made;
    };
    request.inputs = {argument(input)};
    request.outputs = {argument(features), argument(values)};
    const auto repeated = model->createReusableExecution(request);
    ASSERT_TRUE(repeated.ok()) << repeated.status().toString();
    for (int i = 0; i < 2; ++i) {
      const hal::ExecutionResult result = (*repeated)->compute({});
      ASSERT_TRUE(result.status.ok()) << result.status.toString();
      ASSERT_EQ(result.outputShapes.size(), isOpen ? 2u : 0u);
      if (!isOpen) continue;
      EXPECT_EQ(result.outputShapes[1].dimensions, (Shape{1, 6, 5, 8}));
    }
  }
}

TEST(CpuDriverTest, SaysWhatItHasMadeOfAModel) {
  const auto compiled = CompiledModel::compile(smallModel(), {});
  ASSERT_TRUE(compiled.ok()) << compiled.status().toString();
  const CompiledModel::Facts facts = (*compiled)->facts();
  EXPECT_EQ(facts.steps, 2u);
  EXPECT_GE(facts.ownKernels, 1u);
  EXPECT_GE(facts.arenaBytes, kOutputs * sizeof(float));
}

TEST(CpuDriverTest, DeadlinesAndCancellationEndExecutions) {
  const auto device = makeCpuDriver();
  ASSERT_TRUE(device.ok());
  const auto model = prepare(**device, smallModel());
  hal::ExecuteOptions late;
  late.deadline = hal::Clock::now();
  EXPECT_EQ(run(*model, late).result.status.code(), ResultCode::MISSED_DEADLINE_PERSISTENT);
  std::stop_source client;
  client.request_stop();
  hal::ExecuteOptions cancelled;
  cancelled.cancel = client.get_token();
  EXPECT_EQ(run(*model, cancelled).result.status.code(), ResultCode::OP_FAILED);
  hal::ExecuteOptions ample;
  ample.deadline = hal::Clock::now() + std::chrono::hours(1);
  expectRight(run(*model, ample));
}

// Unaligned memory, and outputs in memory that is larger than they are.
TEST(CpuDriverTest, RequestsWithUnalignedMemoryAreComputedToo) {
  const auto device = makeCpuDriver();
  ASSERT_TRUE(device.ok());
  const auto model = prepare(**device, smallModel());
  std::vector<uint8_t> input(kInputs * 4 + 1);
  std::vector<uint8_t> features(kOutputs * 4 + 3);
  std::vector<float> values(kOutputs + 5, 7.0f);
  for (size_t i = 0; i < kInputs; ++i) {
    const float value = static_cast<float>(i % 13) * 0.2f - 1;
    std::memcpy(input.data() + 1 + i * 4, &value, 4);
  }
  const auto argument = [](void* data, size_t length) {
    hal::RequestArgument made;
    made.kind = hal::RequestArgument::Kind::POINTER;
    made.pointer = data;
    made.length = static_cast<uint32_t>(length);
    return made;
  };
  hal::Request request;
  request.inputs = {argument(input.data() + 1, kInputs * 4)};
  request.outputs = {argument(features.data() + 3, kOutputs * 4),
                     argument(values.data(), values.size() * 4)};
  const auto repeated = model->createReusableExecution(request);
  ASSERT_TRUE(repeated.ok());
  for (int round = 0; round < 2; ++round) {
    Outcome outcome{
        round == 0 ? model->executeSynchronously(request, {}) : (*repeated)->compute({}),
        std::vector<float>(kOutputs), std::vector<float>(kOutputs)};
    std::memcpy(outcome.features.data(), features.data() + 3, kOutputs * 4);
    std::memcpy(outcome.values.data(), values.data(), kOutputs * 4);
    expectRight(outcome);
    EXPECT_EQ(values[kOutputs], 7.0f);
  }
}

TEST(CpuDriverTest, RequestsWithoutAnInputFail) {
  const auto device = makeCpuDriver();
  ASSERT_TRUE(device.ok());
  const auto model = prepare(**device, smallModel());
  std::vector<float> outputs(kOutputs);
  hal::RequestArgument output;
  output.kind = hal::RequestArgument::Kind::POINTER;
  output.pointer = outputs.data();
  output.length = kOutputs * 4;
  hal::Request request;
  request.inputs.resize(1);
  request.inputs[0].kind = hal::RequestArgument::Kind::NO_VALUE;
  request.outputs = {output, output};
  const hal::ExecutionResult result = model->executeSynchronously(request, {});
  EXPECT_EQ(result.status.code(), ResultCode::OP_FAILED) << result.status.toString();
}

// It compiles in a few milliseconds: applications keep no files for it.
TEST(CpuDriverTest, NeedsNoCacheFiles) {
  const auto device = makeCpuDriver();
  ASSERT_TRUE(device.ok());
  EXPECT_EQ((*device)->info().modelCacheFiles, 0u);
  EXPECT_EQ((*device)->info().dataCacheFiles, 0u);
  hal::PrepareOptions options;
  options.cache = std::make_shared<const hal::CacheFiles>();
  const auto cached = (*device)->prepareModelFromCache(validated(smallModel()).value(), options);
  EXPECT_EQ(cached.status().code(), ResultCode::OP_FAILED) << cached.status().toString();
}

TEST(CpuDriverTest, EveryPreferenceComputesTheSame) {
  const auto device = makeCpuDriver();
  ASSERT_TRUE(device.ok());
  using enum hal::ExecutionPreference;
  for (const hal::ExecutionPreference preference :
       {LOW_POWER, FAST_SINGLE_ANSWER, SUSTAINED_SPEED}) {
    hal::PrepareOptions options;
    options.preference = preference;
    const auto model = (*device)->prepareModel(validated(smallModel()).value(), options);
    ASSERT_TRUE(model.ok()) << model.status().toString();
    expectRight(run(**model));
  }
}

TEST(CpuDriverTest, ArgumentsAreChecked) {
  const auto make = [](const std::vector<std::string>& arguments) {
    return makeCpuDriver(arguments);
  };
  EXPECT_TRUE(make({}).ok());
  EXPECT_TRUE(make({"--threads=2"}).ok());
  EXPECT_TRUE(make({"--threads=256"}).ok());
  const std::vector<std::vector<std::string>> wrongs = {
      {"--threads=0"},  {"--threads=257"},
      {"--threads=2x"}, {"--threads="},
      {"threads"},      {""},
      {"--no-cache"},   {"--threads=2", "--threads=2"}};
  for (const auto& wrong : wrongs) {
    const auto device = make(wrong);
    EXPECT_EQ(device.status().code(), ResultCode::BAD_DATA) << wrong[0];
    EXPECT_THAT(device.status().message(), HasSubstr("--threads=N")) << wrong[0];
  }
}

}  // namespace
}  // namespace halyard::cpudriver
