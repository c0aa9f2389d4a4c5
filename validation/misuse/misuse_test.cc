// Runs the rows that need only a device, and calls that are not misuses.
#include <android/NeuralNetworksSupportLibraryImpl.h>
#include <halyard/halyard.h>

#include "validation/misuse/misuse_for_test.h"

namespace halyard::misuse {
namespace {

INSTANTIATE_TEST_SUITE_P(All, MisuseTable, ::testing::ValuesIn(allMisuses()), rowName);

TEST(MisuseTables, HaveRowsForEveryFunction) {
  expectRowsForEveryFunction(allMisuses(), "LIBNEURALNETWORKS");
  expectRowsForEveryFunction(allMisuses(), "LIBNEURALNETWORKS_SUPPORT_LIBRARY");
}

TEST(MisuseTables, NothingIsFreedWithNull) {
  ANeuralNetworksBurst_free(nullptr);
  ANeuralNetworksCompilation_free(nullptr);
  ANeuralNetworksEvent_free(nullptr);
  ANeuralNetworksExecution_free(nullptr);
  ANeuralNetworksMemory_free(nullptr);
  ANeuralNetworksMemoryDesc_free(nullptr);
  ANeuralNetworksModel_free(nullptr);
}

// A fact without an info is zero, and leaves an error.
template <typename Function, typename... More>
void expectNothing(const std::string& name, Function function, More... more) {
  EXPECT_FALSE(function(nullptr)) << name;
  EXPECT_EQ(halyard_lastErrorCode(), kUnexpectedNull) << name;
  EXPECT_EQ(halyard_lastErrorText(), name + ": the info is null");
  if constexpr (sizeof...(more) > 0) expectNothing(more...);
}
#define FACT(name) "SL_ANeuralNetworksDiagnostic" #name, SL_ANeuralNetworksDiagnostic##name

TEST(MisuseTables, FactsOfNoInfo) {
  expectNothing(
      FACT(CompilationInfo_getSessionId), FACT(CompilationInfo_getNnApiVersion),
      FACT(CompilationInfo_getModelArchHash), FACT(CompilationInfo_getDeviceIds),
      FACT(CompilationInfo_getErrorCode), FACT(CompilationInfo_getInputDataClass),
      FACT(CompilationInfo_getOutputDataClass), FACT(CompilationInfo_getCompilationTimeNanos),
      FACT(CompilationInfo_isCachingEnabled), FACT(CompilationInfo_isControlFlowUsed),
      FACT(CompilationInfo_areDynamicTensorsUsed), FACT(ExecutionInfo_getSessionId),
      FACT(ExecutionInfo_getNnApiVersion), FACT(ExecutionInfo_getModelArchHash),
      FACT(ExecutionInfo_getDeviceIds), FACT(ExecutionInfo_getExecutionMode),
      FACT(ExecutionInfo_getInputDataClass), FACT(ExecutionInfo_getOutputDataClass),
      FACT(ExecutionInfo_getErrorCode), FACT(ExecutionInfo_getRuntimeExecutionTimeNanos),
      FACT(ExecutionInfo_getDriverExecutionTimeNanos),
      FACT(ExecutionInfo_getHardwareExecutionTimeNanos), FACT(ExecutionInfo_isCachingEnabled),
      FACT(ExecutionInfo_isControlFlowUsed), FACT(ExecutionInfo_areDynamicTensorsUsed));
}
#undef FACT

TEST(MisuseTables, WhatReturnsNoCode) {
  EXPECT_EQ(ANeuralNetworks_getRuntimeFeatureLevel(), ANEURALNETWORKS_FEATURE_LEVEL_8);
  EXPECT_EQ(ANeuralNetworks_getDefaultLoopTimeout(), 2'000'000'000u);
  EXPECT_EQ(ANeuralNetworks_getMaximumLoopTimeout(), 15'000'000'000u);
}

// A row finds each difference from its description: in the code, in the text, and in the conditions
// before and after the call.
TEST(MisuseTables, ARowThatIsWrongIsFound) {
  const auto create = [](World&) { return ANeuralNetworksModel_create(nullptr); };
  const auto found = [](const Misuse& row) {
    return tryMisuse(row, deviceNamed(kCpuDevice)).message();
  };
  EXPECT_EQ(found({"Model_create_Null", kUnexpectedNull, "model is null", create}), "");
  EXPECT_THAT(found({"Model_create_Null", kBadData, "model is null", create}),
              ::testing::HasSubstr("it answered 3"));
  EXPECT_THAT(found({"Model_create_Null", kUnexpectedNull, "the moon", create}),
              ::testing::HasSubstr("the moon"));
  EXPECT_THAT(found({"Model_finish_Null", kUnexpectedNull, "model is null", create}),
              ::testing::HasSubstr("expected 'ANeuralNetworksModel_finish: "));
  EXPECT_THAT(found({"Model_create_Null", kUnexpectedNull, "", create,
                     [](World& w) { ROW_EQ(w.number, 78u); }}),
              ::testing::HasSubstr("w.number is 77, expected 78u"));
  EXPECT_THAT(found({"Model_create_Null", kUnexpectedNull, "",
                     [](World& w) {
                       w.finished(w.model());
                       return ANeuralNetworksModel_create(nullptr);
                     }}),
              ::testing::HasSubstr("ANeuralNetworksModel_finish(model) answered 4"));
}

using Misuses = WithAWorld;

TEST_F(Misuses, TheCpuIsAtOnceThere) {
  ROW_OK(ANeuralNetworksDevice_wait(world().device()));
  int64_t level = 0;
  ROW_OK(ANeuralNetworksDevice_getFeatureLevel(world().device(), &level));
  EXPECT_EQ(level, ANeuralNetworks_getRuntimeFeatureLevel());
}

// Freeing an execution does not stop it. The World waits for its end.
TEST_F(Misuses, ExecutionsAreNotFreedWhileTheyAreComputed) {
  ANeuralNetworksExecution* const execution = world().computing();
  ANeuralNetworksExecution_free(execution);
  ROW_ERROR(ANeuralNetworksExecution_compute(execution), kBadState, "being computed");
}

TEST_F(Misuses, CopiesOntoThemselvesAlwaysSucceed) {
  ANeuralNetworksMemory* const memory = world().described(world().compiled());
  ROW_OK(ANeuralNetworksMemory_copy(memory, memory));
}

}  // namespace
}  // namespace halyard::misuse
