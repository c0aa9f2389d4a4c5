// Small models with known results: chains, broadcasts, and models that look alike.
#include <stdlib.h>

#include <filesystem>

#include "validation/cts/api_world.h"

namespace halyard::validation {
namespace {

constexpr int32_t kNone = ANEURALNETWORKS_FUSED_NONE;

// out = a OP b, not finished. Operands: 0 a, 1 b, 2 activation, 3 out.
Result<client::Model> binary(const ApiWorld& world, int32_t operation, const Dims& a, const Dims& b,
                             const Dims& out) {
  HALYARD_ASSIGN_OR_RETURN(client::Model model, newModel());
  HALYARD_EXPECT_OK(model.addOperand(world.tensor(a)));
  HALYARD_EXPECT_OK(model.addOperand(world.tensor(b)));
  HALYARD_EXPECT_OK(model.addOperand(ANEURALNETWORKS_INT32));
  ANeuralNetworksOperandType result = world.tensor(out);
  // The scale of a product must be larger than the product of the factors' scales.
  if (result.scale > 0 && operation == ANEURALNETWORKS_MUL) result.scale = 2;
  HALYARD_EXPECT_OK(model.addOperand(result));
  HALYARD_EXPECT_OK(model.setOperandValue(2, &kNone, sizeof kNone));
  HALYARD_EXPECT_OK(model.addOperation(operation, {0, 1, 2}, {3}));
  return model;
}

Status run(ANeuralNetworksCompilation* compilation, const std::vector<std::vector<uint8_t>>& inputs,
           const std::vector<uint8_t>& expected, bool fenced = false) {
  client::Execution execution;
  HALYARD_EXPECT_OK(execution.create(compilation));
  for (size_t i = 0; i < inputs.size(); ++i) {
    HALYARD_EXPECT_OK(
        execution.setInput(static_cast<int32_t>(i), nullptr, inputs[i].data(), inputs[i].size()));
  }
  std::vector<uint8_t> out(expected.size());
  HALYARD_EXPECT_OK(execution.setOutput(0, nullptr, out.data(), out.size()));
  if (fenced) {
    client::Event event;
    HALYARD_EXPECT_OK(execution.startComputeWithDependencies({}, 0, event));
    HALYARD_EXPECT_OK(event.wait());
  } else {
    HALYARD_EXPECT_OK(execution.compute());
  }
  HALYARD_EXPECT(out == expected);
  return okStatus();
}

// out = a + b + c.
CheckResult addThree(ApiWorld& world) {
  const Dims dims = {3, 4};
  HALYARD_ASSIGN_OR_RETURN(const auto model, binary(world, ANEURALNETWORKS_ADD, dims, dims, dims));
  for (int i = 0; i < 2; ++i) HALYARD_EXPECT_OK(model.addOperand(world.tensor(dims)));
  HALYARD_EXPECT_OK(model.addOperation(ANEURALNETWORKS_ADD, {3, 4, 2}, {5}));
  HALYARD_EXPECT_OK(model.identifyInputsAndOutputs({0, 1, 4}, {5}));
  HALYARD_EXPECT_OK(model.finish());
  HALYARD_ASSIGN_OR_RETURN(const bool takes, world.takes(model, 2));
  if (!takes) return CheckResult::skipped("the device does not take the model");
  HALYARD_ASSIGN_OR_RETURN(const auto compilation, world.compile(model));
  const std::vector<std::vector<uint8_t>> inputs = {world.elements(12, 1), world.elements(12, 20),
                                                    world.elements(12, 40)};
  for (const bool fenced : {false, true}) {
    HALYARD_RETURN_IF_ERROR(run(compilation.get(), inputs, world.elements(12, 61), fenced));
  }
  return CheckResult::passed();
}

// [2,2] and [2] along the last axis.
CheckResult broadcast(ApiWorld& world) {
  size_t ran = 0;
  for (const int32_t operation : {ANEURALNETWORKS_ADD, ANEURALNETWORKS_MUL}) {
    HALYARD_ASSIGN_OR_RETURN(const auto model, binary(world, operation, {2, 2}, {2}, {2, 2}));
    HALYARD_EXPECT_OK(model.identifyInputsAndOutputs({0, 1}, {3}));
    HALYARD_EXPECT_OK(model.finish());
    HALYARD_ASSIGN_OR_RETURN(const bool takes, world.takes(model, 1));
    if (!takes) continue;
    ++ran;
    HALYARD_ASSIGN_OR_RETURN(const auto compilation, world.compile(model));
    const bool isFloat = world.elementSize() == 4;
    const std::vector<uint8_t> sums = world.elements({12, 24, 16, 28});
    const std::vector<uint8_t> products =
        isFloat ? world.elements({20, 80, 60, 160}) : world.elements({10, 40, 30, 80});
    HALYARD_RETURN_IF_ERROR(
        run(compilation.get(), {world.elements({2, 4, 6, 8}), world.elements({10, 20})},
            operation == ANEURALNETWORKS_ADD ? sums : products),
        "operation {}", operation);
  }
  return ran > 0 ? CheckResult::passed() : CheckResult::skipped("the device does not broadcast");
}

// Models that differ only in a constant, compiled side by side, with one token and without a token.
CheckResult alike(ApiWorld& world) {
  std::error_code error;
  char pattern[] = "/tmp/halyard-cts-XXXXXX";
  HALYARD_EXPECT(::mkdtemp(pattern) != nullptr);
  const std::shared_ptr<void> folder(nullptr,
                                     [&](void*) { std::filesystem::remove_all(pattern, error); });
  const uint8_t token[ANEURALNETWORKS_BYTE_SIZE_OF_CACHE_TOKEN] = {7};
  for (const bool cached : {false, true}) {
    std::vector<client::Model> models;
    std::vector<client::Compilation> compilations;
    std::vector<std::vector<uint8_t>> constants;
    for (int value = 1; value <= 3; ++value) {
      HALYARD_ASSIGN_OR_RETURN(auto model, binary(world, ANEURALNETWORKS_ADD, {100}, {100}, {100}));
      constants.push_back(world.elements(100, value));
      HALYARD_EXPECT_OK(model.setOperandValue(1, constants.back().data(), constants.back().size()));
      HALYARD_EXPECT_OK(model.identifyInputsAndOutputs({0}, {3}));
      HALYARD_EXPECT_OK(model.finish());
      HALYARD_ASSIGN_OR_RETURN(const bool takes, world.takes(model, 1));
      if (!takes) return CheckResult::skipped("the device does not add constants");
      ANeuralNetworksCompilation* made = nullptr;
      const ANeuralNetworksDevice* const device = world.device();
      HALYARD_EXPECT_OK(
          ANeuralNetworksCompilation_createForDevices(model.get(), &device, 1, &made));
      compilations.emplace_back(made);
      if (cached) HALYARD_EXPECT_OK(ANeuralNetworksCompilation_setCaching(made, pattern, token));
      HALYARD_EXPECT_OK(ANeuralNetworksCompilation_finish(made));
      models.push_back(std::move(model));
    }
    for (int value = 1; value <= 3; ++value) {
      HALYARD_RETURN_IF_ERROR(run(compilations[static_cast<size_t>(value - 1)].get(),
                                  {world.elements(100, 10)}, world.elements(100, 10 + value)),
                              "10 + {}{}", value, cached ? ", with a cache" : "");
    }
  }
  return CheckResult::passed();
}

}  // namespace

void listModelChecks(ApiChecks& checks) {
  checks.add("models/add_three", "two sums after one another, computed and fenced", addThree);
  checks.add("models/broadcast", "a sum and a product of tensors of different ranks", broadcast);
  checks.add("models/alike", "models that differ in a constant only are kept apart", alike)
      .requirements = {"ND-035", "ND-072"};
}

}  // namespace halyard::validation
