// What every function answers to nothing, to what is too much, and out of turn.
#include "validation/cts/api_world.h"

namespace halyard::validation {
namespace {

CheckResult nothing(ApiWorld&) {
  constexpr int kNull = ANEURALNETWORKS_UNEXPECTED_NULL;
  HALYARD_EXPECT_CODE(ANeuralNetworksModel_create(nullptr), kNull);
  HALYARD_EXPECT_CODE(ANeuralNetworksModel_finish(nullptr), kNull);
  HALYARD_EXPECT_CODE(ANeuralNetworksModel_addOperand(nullptr, nullptr), kNull);
  HALYARD_EXPECT_CODE(ANeuralNetworksModel_setOperandValue(nullptr, 0, nullptr, 0), kNull);
  HALYARD_EXPECT_CODE(ANeuralNetworksModel_addOperation(nullptr, 0, 0, nullptr, 0, nullptr), kNull);
  HALYARD_EXPECT_CODE(
      ANeuralNetworksModel_identifyInputsAndOutputs(nullptr, 0, nullptr, 0, nullptr), kNull);
  HALYARD_EXPECT_CODE(ANeuralNetworksModel_relaxComputationFloat32toFloat16(nullptr, true), kNull);
  HALYARD_EXPECT_CODE(ANeuralNetworksCompilation_create(nullptr, nullptr), kNull);
  HALYARD_EXPECT_CODE(ANeuralNetworksCompilation_finish(nullptr), kNull);
  HALYARD_EXPECT_CODE(ANeuralNetworksCompilation_setPreference(nullptr, 0), kNull);
  HALYARD_EXPECT_CODE(ANeuralNetworksCompilation_setPriority(nullptr, 90), kNull);
  HALYARD_EXPECT_CODE(ANeuralNetworksCompilation_setTimeout(nullptr, 1), kNull);
  HALYARD_EXPECT_CODE(ANeuralNetworksCompilation_setCaching(nullptr, nullptr, nullptr), kNull);
  HALYARD_EXPECT_CODE(ANeuralNetworksExecution_create(nullptr, nullptr), kNull);
  HALYARD_EXPECT_CODE(ANeuralNetworksExecution_compute(nullptr), kNull);
  HALYARD_EXPECT_CODE(ANeuralNetworksExecution_startCompute(nullptr, nullptr), kNull);
  HALYARD_EXPECT_CODE(ANeuralNetworksExecution_burstCompute(nullptr, nullptr), kNull);
  HALYARD_EXPECT_CODE(ANeuralNetworksBurst_create(nullptr, nullptr), kNull);
  HALYARD_EXPECT_CODE(ANeuralNetworksEvent_wait(nullptr), kNull);
  HALYARD_EXPECT_CODE(ANeuralNetworksMemory_createFromDesc(nullptr, nullptr), kNull);
  HALYARD_EXPECT_CODE(ANeuralNetworksMemory_copy(nullptr, nullptr), kNull);
  HALYARD_EXPECT_CODE(ANeuralNetworksMemoryDesc_create(nullptr), kNull);
  HALYARD_EXPECT_CODE(ANeuralNetworksMemoryDesc_finish(nullptr), kNull);
  HALYARD_EXPECT_CODE(ANeuralNetworksDevice_getName(nullptr, nullptr), kNull);
  HALYARD_EXPECT_CODE(ANeuralNetworks_getDeviceCount(nullptr), kNull);
  ANeuralNetworksModel_free(nullptr);
  ANeuralNetworksCompilation_free(nullptr);
  ANeuralNetworksExecution_free(nullptr);
  ANeuralNetworksBurst_free(nullptr);
  ANeuralNetworksEvent_free(nullptr);
  ANeuralNetworksMemory_free(nullptr);
  ANeuralNetworksMemoryDesc_free(nullptr);
  return CheckResult::passed();
}

CheckResult models(ApiWorld& world) {
  HALYARD_ASSIGN_OR_RETURN(const auto empty, newModel());
  HALYARD_EXPECT_CODE(ANeuralNetworksModel_finish(empty.get()), ANEURALNETWORKS_BAD_DATA);
  HALYARD_ASSIGN_OR_RETURN(const auto model, world.sum({4}, {4}, {4}));
  constexpr int kState = ANEURALNETWORKS_BAD_STATE;
  const ANeuralNetworksOperandType scalar = {ANEURALNETWORKS_INT32, 0, nullptr, 0, 0};
  HALYARD_EXPECT_CODE(ANeuralNetworksModel_addOperand(model.get(), &scalar), kState);
  HALYARD_EXPECT_CODE(ANeuralNetworksModel_finish(model.get()), kState);
  const uint32_t zero = 0;
  HALYARD_EXPECT_CODE(
      ANeuralNetworksModel_identifyInputsAndOutputs(model.get(), 1, &zero, 1, &zero), kState);
  HALYARD_ASSIGN_OR_RETURN(const auto open, newModel());
  ANeuralNetworksCompilation* compilation = nullptr;
  const ANeuralNetworksDevice* const device = world.device();
  HALYARD_EXPECT_CODE(
      ANeuralNetworksCompilation_createForDevices(open.get(), &device, 1, &compilation), kState);
  HALYARD_EXPECT_CODE(
      ANeuralNetworksCompilation_createForDevices(model.get(), &device, 0, &compilation),
      ANEURALNETWORKS_BAD_DATA);
  const ANeuralNetworksDevice* const twice[] = {device, device};
  HALYARD_EXPECT_CODE(
      ANeuralNetworksCompilation_createForDevices(model.get(), twice, 2, &compilation),
      ANEURALNETWORKS_BAD_DATA);
  return CheckResult::passed();
}

CheckResult compilations(ApiWorld& world) {
  HALYARD_ASSIGN_OR_RETURN(const auto model, world.sum({4}, {4}, {4}));
  ANeuralNetworksCompilation* made = nullptr;
  const ANeuralNetworksDevice* const device = world.device();
  HALYARD_EXPECT_OK(ANeuralNetworksCompilation_createForDevices(model.get(), &device, 1, &made));
  const ApiHandle<ANeuralNetworksCompilation> compilation(made);
  constexpr int kData = ANEURALNETWORKS_BAD_DATA;
  constexpr int kState = ANEURALNETWORKS_BAD_STATE;
  HALYARD_EXPECT_CODE(ANeuralNetworksCompilation_setPreference(made, 40), kData);
  HALYARD_EXPECT_CODE(ANeuralNetworksCompilation_setPriority(made, 1), kData);
  ANeuralNetworksExecution* execution = nullptr;
  ANeuralNetworksBurst* burst = nullptr;
  HALYARD_EXPECT_CODE(ANeuralNetworksExecution_create(made, &execution), kState);
  HALYARD_EXPECT_CODE(ANeuralNetworksBurst_create(made, &burst), kState);
  for (const int32_t preference :
       {ANEURALNETWORKS_PREFER_LOW_POWER, ANEURALNETWORKS_PREFER_FAST_SINGLE_ANSWER,
        ANEURALNETWORKS_PREFER_SUSTAINED_SPEED}) {
    HALYARD_EXPECT_OK(ANeuralNetworksCompilation_setPreference(made, preference));
  }
  for (const int priority : {ANEURALNETWORKS_PRIORITY_LOW, ANEURALNETWORKS_PRIORITY_MEDIUM,
                             ANEURALNETWORKS_PRIORITY_HIGH}) {
    HALYARD_EXPECT_OK(ANeuralNetworksCompilation_setPriority(made, priority));
  }
  HALYARD_EXPECT_OK(ANeuralNetworksCompilation_finish(made));
  HALYARD_EXPECT_CODE(ANeuralNetworksCompilation_finish(made), kState);
  HALYARD_EXPECT_CODE(
      ANeuralNetworksCompilation_setPreference(made, ANEURALNETWORKS_PREFER_LOW_POWER), kState);
  HALYARD_EXPECT_CODE(ANeuralNetworksCompilation_setTimeout(made, 1), kState);
  return CheckResult::passed();
}

// Arguments of executions: numbers, lengths, twice the same, a burst of another compilation.
CheckResult executions(ApiWorld& world) {
  HALYARD_ASSIGN_OR_RETURN(const CompiledSum sum, CompiledSum::make(world));
  HALYARD_ASSIGN_OR_RETURN(const auto execution, sum.execution());
  std::vector<uint8_t> buffer(64);
  const size_t size = 4 * world.elementSize();
  constexpr int kData = ANEURALNETWORKS_BAD_DATA;
  ANeuralNetworksExecution* const e = execution.get();
  for (const int32_t index : {-1, 2}) {
    HALYARD_EXPECT_CODE(ANeuralNetworksExecution_setInput(e, index, nullptr, buffer.data(), size),
                        kData);
  }
  for (const int32_t index : {-1, 1}) {
    HALYARD_EXPECT_CODE(ANeuralNetworksExecution_setOutput(e, index, nullptr, buffer.data(), size),
                        kData);
  }
  for (const size_t wrong : {size - 1, size + 1, size_t{0}}) {
    HALYARD_EXPECT_CODE(ANeuralNetworksExecution_setInput(e, 0, nullptr, buffer.data(), wrong),
                        kData);
    HALYARD_EXPECT_CODE(ANeuralNetworksExecution_setOutput(e, 0, nullptr, buffer.data(), wrong),
                        kData);
  }
  HALYARD_EXPECT_CODE(ANeuralNetworksExecution_setInput(e, 0, nullptr, nullptr, size),
                      ANEURALNETWORKS_UNEXPECTED_NULL);
  HALYARD_EXPECT_OK(ANeuralNetworksExecution_setInput(e, 0, nullptr, buffer.data(), size));
  HALYARD_EXPECT_CODE(ANeuralNetworksExecution_setInput(e, 0, nullptr, buffer.data(), size),
                      ANEURALNETWORKS_BAD_STATE);
  HALYARD_ASSIGN_OR_RETURN(const CompiledSum other, CompiledSum::make(world));
  ANeuralNetworksBurst* made = nullptr;
  HALYARD_EXPECT_OK(ANeuralNetworksBurst_create(other.compilation.get(), &made));
  const ApiHandle<ANeuralNetworksBurst> burst(made);
  HALYARD_EXPECT_OK(ANeuralNetworksExecution_setInput(e, 1, nullptr, buffer.data(), size));
  HALYARD_EXPECT_OK(ANeuralNetworksExecution_setOutput(e, 0, nullptr, buffer.data() + 32, size));
  HALYARD_EXPECT_CODE(ANeuralNetworksExecution_burstCompute(e, made), kData);
  return CheckResult::passed();
}

}  // namespace

void listArgumentChecks(ApiChecks& checks) {
  checks.addAny("arguments/null", "functions refuse NULL, and free functions ignore it", nothing);
  checks.add("arguments/models", "models are checked, and closed once they are finished", models);
  checks.add("arguments/compilations", "compilations are checked, and closed once finished",
             compilations);
  checks.add("arguments/executions", "inputs and outputs are checked when they are set",
             executions);
}

}  // namespace halyard::validation
