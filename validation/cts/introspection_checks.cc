// Devices: their properties, and the operations of models that they support.
#include <android/NeuralNetworksOEM.h>

#include "validation/cts/api_world.h"

namespace halyard::validation {
namespace {

CheckResult deviceFacts(ApiWorld& world) {
  const char* name = nullptr;
  const char* version = nullptr;
  int32_t type = -1;
  int64_t level = 0;
  HALYARD_EXPECT_OK(ANeuralNetworksDevice_getName(world.device(), &name));
  HALYARD_EXPECT_OK(ANeuralNetworksDevice_getVersion(world.device(), &version));
  HALYARD_EXPECT_OK(ANeuralNetworksDevice_getType(world.device(), &type));
  HALYARD_EXPECT_OK(ANeuralNetworksDevice_getFeatureLevel(world.device(), &level));
  HALYARD_EXPECT(*name != '\0');
  HALYARD_EXPECT(*version != '\0');
  // Old interfaces do not report the type.
  const bool hasType = world.level() >= ANEURALNETWORKS_FEATURE_LEVEL_3;
  HALYARD_EXPECT(type >=
                     (hasType ? ANEURALNETWORKS_DEVICE_OTHER : ANEURALNETWORKS_DEVICE_UNKNOWN) &&
                 type <= ANEURALNETWORKS_DEVICE_ACCELERATOR);
  HALYARD_EXPECT(level >= ANEURALNETWORKS_FEATURE_LEVEL_1);
  HALYARD_EXPECT(level <= ANeuralNetworks_getRuntimeFeatureLevel());
  HALYARD_EXPECT_OK(ANeuralNetworksDevice_wait(world.device()));
  return CheckResult::passed(fmt::format("{} {}", name, version));
}

// Two devices together support an operation if one of them does.
CheckResult supportIsAUnion(ApiWorld& world) {
  HALYARD_ASSIGN_OR_RETURN(const auto model, world.sum({4}, {4}, {4}));
  if (world.isCpu()) return CheckResult::skipped("it is the CPU device itself");
  bool both = false;
  const ANeuralNetworksDevice* const devices[] = {world.device(), world.cpu()};
  HALYARD_EXPECT_OK(
      ANeuralNetworksModel_getSupportedOperationsForDevices(model.get(), devices, 2, &both));
  HALYARD_EXPECT(both);
  bool one = false;
  const ANeuralNetworksDevice* const twice[] = {world.device(), world.device()};
  HALYARD_EXPECT_CODE(
      ANeuralNetworksModel_getSupportedOperationsForDevices(model.get(), twice, 2, &one),
      ANEURALNETWORKS_BAD_DATA);
  return CheckResult::passed();
}

// The same answer at each call.
CheckResult supportIsStable(ApiWorld& world) {
  HALYARD_ASSIGN_OR_RETURN(const auto model, world.sum({4}, {4}, {4}));
  const ANeuralNetworksDevice* const device = world.device();
  for (int i = 0; i < 5; ++i) {
    bool supported = false;
    HALYARD_EXPECT_OK(
        ANeuralNetworksModel_getSupportedOperationsForDevices(model.get(), &device, 1, &supported));
    HALYARD_EXPECT(supported);
  }
  return CheckResult::passed();
}

// An operation that the device does not take is refused if this is the only device.
CheckResult unsupportedIsRefused(ApiWorld& world) {
  HALYARD_ASSIGN_OR_RETURN(const auto model, newModel());
  const Dims dims = {2};
  for (int i = 0; i < 2; ++i) HALYARD_EXPECT_OK(model.addOperand(world.tensor(dims)));
  HALYARD_EXPECT_OK(model.addOperation(ANEURALNETWORKS_OEM_OPERATION, {0}, {1}));
  HALYARD_EXPECT_OK(model.identifyInputsAndOutputs({0}, {1}));
  HALYARD_EXPECT_OK(model.finish());
  bool supported = true;
  const ANeuralNetworksDevice* const device = world.device();
  HALYARD_EXPECT_OK(
      ANeuralNetworksModel_getSupportedOperationsForDevices(model.get(), &device, 1, &supported));
  if (supported) return CheckResult::skipped("the device takes OEM operations");
  client::Compilation compilation;
  HALYARD_EXPECT_OK(compilation.createForDevices(model.get(), {&device, 1}));
  HALYARD_EXPECT_CODE(compilation.finish(), ANEURALNETWORKS_BAD_DATA);
  ANeuralNetworksExecution* execution = nullptr;
  HALYARD_EXPECT_CODE(ANeuralNetworksExecution_create(compilation.get(), &execution),
                      ANEURALNETWORKS_BAD_STATE);
  return CheckResult::passed();
}

}  // namespace

void listIntrospectionChecks(ApiChecks& checks) {
  checks.addAny("introspection/device", "name, version, type and feature level are there",
                deviceFacts);
  checks.add("introspection/support_of_two", "two devices support what one of them does",
             supportIsAUnion);
  checks.add("introspection/support_again", "asked again, a device supports the same",
             supportIsStable);
  checks.add("introspection/unsupported", "what the device does not take is refused at finish",
             unsupportedIsRefused);
}

}  // namespace halyard::validation
