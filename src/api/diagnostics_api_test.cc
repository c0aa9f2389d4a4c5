// Tests of the diagnostic callbacks of the support library, on the CPU device.
// support_library_test.c uses a driver.
#include <android/NeuralNetworksSupportLibraryImpl.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <thread>

#include "api/api_for_test.h"

namespace halyard::api::testing {
namespace {

using ::testing::ElementsAre;
using Hash = std::array<uint8_t, 32>;

struct Facts {
  int32_t session = 0;
  Hash hash = {};
  std::string devices;
  int32_t inputs = -1;
  int32_t outputs = -1;
  bool controlFlow = false;
  int32_t result = -1;
  uint64_t nanoseconds = 0;
};

// The callbacks write here. Only for callbacks of one thread at a time.
struct Told {
  std::vector<Facts> compilations;
  std::vector<Facts> executions;
  std::vector<int> modes;
};

Hash hashAt(const uint8_t* bytes) {
  Hash hash;
  std::copy(bytes, bytes + hash.size(), hash.begin());
  return hash;
}

void tellCompilation(const void* context, const ANeuralNetworksDiagnosticCompilationInfo* info) {
  auto* const told = static_cast<Told*>(const_cast<void*>(context));
  told->compilations.push_back(
      {SL_ANeuralNetworksDiagnosticCompilationInfo_getSessionId(info),
       hashAt(SL_ANeuralNetworksDiagnosticCompilationInfo_getModelArchHash(info)),
       SL_ANeuralNetworksDiagnosticCompilationInfo_getDeviceIds(info),
       SL_ANeuralNetworksDiagnosticCompilationInfo_getInputDataClass(info),
       SL_ANeuralNetworksDiagnosticCompilationInfo_getOutputDataClass(info),
       SL_ANeuralNetworksDiagnosticCompilationInfo_isControlFlowUsed(info),
       SL_ANeuralNetworksDiagnosticCompilationInfo_getErrorCode(info),
       SL_ANeuralNetworksDiagnosticCompilationInfo_getCompilationTimeNanos(info)});
}

void tellExecution(const void* context, const ANeuralNetworksDiagnosticExecutionInfo* info) {
  auto* const told = static_cast<Told*>(const_cast<void*>(context));
  told->modes.push_back(SL_ANeuralNetworksDiagnosticExecutionInfo_getExecutionMode(info));
  told->executions.push_back(
      {SL_ANeuralNetworksDiagnosticExecutionInfo_getSessionId(info),
       hashAt(SL_ANeuralNetworksDiagnosticExecutionInfo_getModelArchHash(info)),
       SL_ANeuralNetworksDiagnosticExecutionInfo_getDeviceIds(info),
       SL_ANeuralNetworksDiagnosticExecutionInfo_getInputDataClass(info),
       SL_ANeuralNetworksDiagnosticExecutionInfo_getOutputDataClass(info),
       SL_ANeuralNetworksDiagnosticExecutionInfo_isControlFlowUsed(info),
       static_cast<int32_t>(SL_ANeuralNetworksDiagnosticExecutionInfo_getErrorCode(info)),
       SL_ANeuralNetworksDiagnosticExecutionInfo_getRuntimeExecutionTimeNanos(info)});
}

class DiagnosticsApi : public ::testing::Test {
 protected:
  void SetUp() override {
    SL_ANeuralNetworksDiagnostic_registerCallbacks(tellCompilation, tellExecution, &told_);
  }
  void TearDown() override {
    SL_ANeuralNetworksDiagnostic_registerCallbacks(nullptr, nullptr, nullptr);
  }

  client::Compilation compile(ANeuralNetworksModel* model) {
    return compileFor(model, deviceNamed(kCpuDevice));
  }
  // a + b with two floats each.
  client::Compilation compileSum(const client::Dims& out = {2}) {
    model_ = addModel({2}, {2}, out);
    EXPECT_NN_OK(model_.finish());
    return compile(model_.get());
  }
  client::Execution executionOf(const client::Compilation& compilation) {
    auto execution = newExecution(compilation.get());
    EXPECT_NN_OK(execution.setInput(0, nullptr, in_, sizeof in_));
    EXPECT_NN_OK(execution.setInput(1, nullptr, in_, sizeof in_));
    EXPECT_NN_OK(execution.setOutput(0, nullptr, out_, sizeof out_));
    return execution;
  }
  // The facts about a model with one input and one output.
  Facts factsOf(int32_t operation, const client::OperandDescription& in,
                const client::OperandDescription& out) {
    const auto model = newModel();
    EXPECT_NN_OK(model.addOperand(*in.get()));
    EXPECT_NN_OK(model.addOperand(*out.get()));
    EXPECT_NN_OK(model.addOperation(operation, {0}, {1}));
    EXPECT_NN_OK(model.identifyInputsAndOutputs({0}, {1}));
    EXPECT_NN_OK(model.finish());
    const auto compilation = compile(model.get());
    return told_.compilations.back();
  }

  Told told_;
  const float in_[2] = {1, 2};
  float out_[2] = {};
  client::Model model_;
};

TEST_F(DiagnosticsApi, EachWayToExecuteHasItsMode) {
  const auto compilation = compileSum();
  ASSERT_EQ(told_.compilations.size(), 1u);
  EXPECT_EQ(told_.compilations[0].result, ANEURALNETWORKS_NO_ERROR);
  EXPECT_THAT(told_.compilations[0].devices, ::testing::StartsWith("nnapi-reference="));
  EXPECT_NE(told_.compilations[0].nanoseconds, UINT64_MAX);
  ASSERT_NN_OK(executionOf(compilation).compute());
  client::Event event;
  const auto asynchronous = executionOf(compilation);
  ASSERT_NN_OK(asynchronous.startCompute(event));
  ASSERT_NN_OK(event.wait());
  EXPECT_EQ(told_.executions.size(), 2u);
  client::Burst burst;
  ASSERT_NN_OK(burst.create(compilation.get()));
  ASSERT_NN_OK(executionOf(compilation).burstCompute(burst.get()));
  const auto dependent = executionOf(compilation);
  ASSERT_NN_OK(dependent.startComputeWithDependencies({}, 0, event));
  ASSERT_NN_OK(event.wait());
  EXPECT_THAT(told_.modes,
              ElementsAre(ANNDIAG_EXECUTION_MODE_SYNC, ANNDIAG_EXECUTION_MODE_ASYNC,
                          ANNDIAG_EXECUTION_MODE_BURST, ANNDIAG_EXECUTION_MODE_ASYNC_WITH_DEPS));
  for (size_t i = 0; i < told_.executions.size(); ++i) {
    const Facts& facts = told_.executions[i];
    EXPECT_EQ(facts.result, ANEURALNETWORKS_NO_ERROR) << i;
    EXPECT_EQ(facts.session, told_.compilations[0].session) << i;
    EXPECT_EQ(facts.hash, told_.compilations[0].hash) << i;
    EXPECT_EQ(facts.devices, told_.compilations[0].devices) << i;
    EXPECT_EQ(facts.nanoseconds == UINT64_MAX,
              told_.modes[i] == ANNDIAG_EXECUTION_MODE_ASYNC_WITH_DEPS)
        << i;
  }
}

TEST_F(DiagnosticsApi, ErrorsAreTold) {
  const auto compilation = compileSum({0});
  auto execution = newExecution(compilation.get());
  EXPECT_NN_ERROR(execution.compute(), ANEURALNETWORKS_BAD_DATA, "input 0 has not been set");
  ASSERT_EQ(told_.executions.size(), 1u);
  EXPECT_EQ(told_.executions[0].result, ANEURALNETWORKS_BAD_DATA);
  // A refused call ends nothing.
  EXPECT_EQ(execution.compute(), ANEURALNETWORKS_BAD_STATE);
  EXPECT_EQ(told_.executions.size(), 1u);

  execution = newExecution(compilation.get());
  ASSERT_NN_OK(execution.setInput(0, nullptr, in_, sizeof in_));
  ASSERT_NN_OK(execution.setInput(1, nullptr, in_, sizeof in_));
  ASSERT_NN_OK(execution.setOutput(0, nullptr, out_, 4));
  EXPECT_EQ(execution.compute(), ANEURALNETWORKS_OUTPUT_INSUFFICIENT_SIZE);
  ASSERT_EQ(told_.executions.size(), 2u);
  EXPECT_EQ(told_.executions[1].result, ANEURALNETWORKS_OUTPUT_INSUFFICIENT_SIZE);
  client::Dims dims;
  EXPECT_EQ(execution.getOutputOperandDimensions(0, dims),
            ANEURALNETWORKS_OUTPUT_INSUFFICIENT_SIZE);

  // With dependencies, the dimensions of outputs must be known.
  execution = executionOf(compilation);
  client::Event event;
  EXPECT_EQ(execution.startComputeWithDependencies({}, 0, event), ANEURALNETWORKS_BAD_DATA);
  ASSERT_EQ(told_.executions.size(), 3u);
  EXPECT_EQ(told_.executions[2].result, ANEURALNETWORKS_BAD_DATA);
  EXPECT_EQ(told_.modes[2], ANNDIAG_EXECUTION_MODE_ASYNC_WITH_DEPS);
}

TEST_F(DiagnosticsApi, ClassesOfInputsAndOutputs) {
  const client::OperandDescription floats(ANEURALNETWORKS_TENSOR_FLOAT32, {2});
  const client::OperandDescription halves(ANEURALNETWORKS_TENSOR_FLOAT16, {2});
  const client::OperandDescription bytes(ANEURALNETWORKS_TENSOR_QUANT8_ASYMM, {2}, 0.5F, 3);
  const client::OperandDescription integers(ANEURALNETWORKS_TENSOR_INT32, {2});
  Facts facts = factsOf(ANEURALNETWORKS_DEQUANTIZE, bytes, floats);
  EXPECT_EQ(facts.inputs, ANNDIAG_DATA_CLASS_QUANT);
  EXPECT_EQ(facts.outputs, ANNDIAG_DATA_CLASS_FLOAT32);
  facts = factsOf(ANEURALNETWORKS_CAST, integers, halves);
  EXPECT_EQ(facts.inputs, ANNDIAG_DATA_CLASS_OTHER);
  EXPECT_EQ(facts.outputs, ANNDIAG_DATA_CLASS_FLOAT16);

  // Two outputs of different classes, and an input of no class beside a float.
  const auto model = newModel();
  for (const auto* type : {&floats, &integers, &halves, &floats}) {
    ASSERT_NN_OK(model.addOperand(*type->get()));
  }
  ASSERT_NN_OK(model.addOperation(ANEURALNETWORKS_CAST, {1}, {2}));
  ASSERT_NN_OK(model.addOperation(ANEURALNETWORKS_RELU, {0}, {3}));
  ASSERT_NN_OK(model.identifyInputsAndOutputs({0, 1}, {2, 3}));
  ASSERT_NN_OK(model.finish());
  const auto compilation = compile(model.get());
  EXPECT_EQ(told_.compilations.back().inputs, ANNDIAG_DATA_CLASS_FLOAT32);
  EXPECT_EQ(told_.compilations.back().outputs, ANNDIAG_DATA_CLASS_MIXED);
}

TEST_F(DiagnosticsApi, ControlFlow) {
  const client::OperandDescription floats(ANEURALNETWORKS_TENSOR_FLOAT32, {2});
  const auto branch = newModel();
  ASSERT_NN_OK(branch.addOperand(*floats.get()));
  ASSERT_NN_OK(branch.addOperand(*floats.get()));
  ASSERT_NN_OK(branch.addOperation(ANEURALNETWORKS_RELU, {0}, {1}));
  ASSERT_NN_OK(branch.identifyInputsAndOutputs({0}, {1}));
  ASSERT_NN_OK(branch.finish());
  const auto model = newModel();
  ASSERT_NN_OK(model.addOperand(ANEURALNETWORKS_TENSOR_BOOL8, {1}));
  for (const int32_t index : {1, 2}) {
    ASSERT_NN_OK(model.addOperand(ANEURALNETWORKS_MODEL));
    ASSERT_NN_OK(model.setOperandValueFromModel(index, branch.get()));
  }
  ASSERT_NN_OK(model.addOperand(*floats.get()));
  ASSERT_NN_OK(model.addOperand(*floats.get()));
  ASSERT_NN_OK(model.addOperation(ANEURALNETWORKS_IF, {0, 1, 2, 3}, {4}));
  ASSERT_NN_OK(model.identifyInputsAndOutputs({0, 3}, {4}));
  ASSERT_NN_OK(model.finish());
  const auto compilation = compile(model.get());
  EXPECT_TRUE(told_.compilations.back().controlFlow);
  const auto plain = compile(branch.get());
  EXPECT_FALSE(told_.compilations.back().controlFlow);
}

TEST_F(DiagnosticsApi, ACallbackMayCallTheApiAndReplaceItself) {
  struct Context {
    Told told;
    int compilations = 0;
  } context;
  SL_ANeuralNetworksDiagnostic_registerCallbacks(
      [](const void* raw, const ANeuralNetworksDiagnosticCompilationInfo*) {
        auto* const at = static_cast<Context*>(const_cast<void*>(raw));
        ++at->compilations;
        uint32_t count = 0;
        EXPECT_NN_OK(ANeuralNetworks_getDeviceCount(&count));
        SL_ANeuralNetworksDiagnostic_registerCallbacks(nullptr, tellExecution, &at->told);
      },
      nullptr, &context);
  const auto compilation = compileSum();
  const auto second = compile(model_.get());
  EXPECT_EQ(context.compilations, 1);
  ASSERT_NN_OK(executionOf(compilation).compute());
  EXPECT_EQ(context.told.executions.size(), 1u);
  EXPECT_EQ(told_.executions.size(), 0u);
}

TEST_F(DiagnosticsApi, ARegistrationCountsFromThenOn) {
  SL_ANeuralNetworksDiagnostic_registerCallbacks(nullptr, nullptr, nullptr);
  const auto compilation = compileSum();
  EXPECT_EQ(told_.compilations.size(), 0u);
  ASSERT_NN_OK(executionOf(compilation).compute());
  EXPECT_EQ(told_.executions.size(), 0u);
  SL_ANeuralNetworksDiagnostic_registerCallbacks(tellCompilation, tellExecution, &told_);
  ASSERT_NN_OK(executionOf(compilation).compute());
  ASSERT_EQ(told_.executions.size(), 1u);
  EXPECT_EQ(told_.executions[0].inputs, ANNDIAG_DATA_CLASS_FLOAT32);
}

TEST_F(DiagnosticsApi, WithoutAnInfoThereIsNoFact) {
  EXPECT_EQ(SL_ANeuralNetworksDiagnosticCompilationInfo_getDeviceIds(nullptr), nullptr);
  EXPECT_EQ(halyard_lastErrorCode(), ANEURALNETWORKS_UNEXPECTED_NULL);
  EXPECT_STREQ(halyard_lastErrorText(),
               "SL_ANeuralNetworksDiagnosticCompilationInfo_getDeviceIds: the info is null");
  EXPECT_EQ(SL_ANeuralNetworksDiagnosticExecutionInfo_getExecutionMode(nullptr),
            ANNDIAG_EXECUTION_MODE_UNKNOWN);
  EXPECT_EQ(SL_ANeuralNetworksDiagnosticExecutionInfo_getErrorCode(nullptr), 0u);
}

TEST_F(DiagnosticsApi, ManyThreads) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 100;
  static std::atomic<int> ends;
  ends = 0;
  const auto count = [](const void*, const ANeuralNetworksDiagnosticExecutionInfo* info) {
    EXPECT_EQ(SL_ANeuralNetworksDiagnosticExecutionInfo_getErrorCode(info), 0u);
    ++ends;
  };
  SL_ANeuralNetworksDiagnostic_registerCallbacks(nullptr, count, nullptr);
  const auto compilation = compileSum();
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      float out[2] = {};
      const auto execution = newExecution(compilation.get());
      EXPECT_NN_OK(execution.setInput(0, nullptr, in_, sizeof in_));
      EXPECT_NN_OK(execution.setInput(1, nullptr, in_, sizeof in_));
      EXPECT_NN_OK(execution.setOutput(0, nullptr, out, sizeof out));
      EXPECT_NN_OK(execution.setReusable(true));
      for (int round = 0; round < kRounds; ++round) EXPECT_NN_OK(execution.compute());
    });
  }
  for (int i = 0; i < kRounds; ++i) {
    SL_ANeuralNetworksDiagnostic_registerCallbacks(nullptr, count, nullptr);
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(ends, kThreads * kRounds);
}

}  // namespace
}  // namespace halyard::api::testing
