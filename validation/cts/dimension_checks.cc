// UnknownDimensions: out = (in0 + in1) + constant 2, all of 3 x 3. Any size may be open.
#include <algorithm>

#include "validation/cts/api_world.h"

namespace halyard::validation {
namespace {

// When one dimension, which is 3, is known.
enum Kind : uint32_t {
  KNOWN,       // in the model, and again at the execution
  KNOWN_ONCE,  // in the model; no type at the execution
  OPEN_RIGHT,  // open in the model, 3 at the execution
  OPEN_WRONG,  // open in the model, 2 at the execution
  KINDS,
};
constexpr uint32_t kSize = 3;
constexpr size_t kOperands = 3;  // in0, in1, out
constexpr size_t kDimensions = 2 * kOperands;

struct Combination {
  Kind kinds[kDimensions] = {};

  explicit Combination(uint32_t number) {
    for (Kind& kind : kinds) {
      kind = static_cast<Kind>(number % KINDS);
      number /= KINDS;
    }
  }
  Dims inModel(size_t operand) const {
    Dims dims(2);
    for (size_t i = 0; i < 2; ++i) dims[i] = kinds[2 * operand + i] >= OPEN_RIGHT ? 0 : kSize;
    return dims;
  }
  Dims atExecution(size_t operand) const {
    Dims dims(2);
    for (size_t i = 0; i < 2; ++i) dims[i] = kinds[2 * operand + i] == OPEN_WRONG ? 2 : kSize;
    return dims;
  }
  // The operand has no type at the execution if both of its dimensions are KNOWN_ONCE.
  bool hasType(size_t operand) const {
    const Kind first = kinds[2 * operand];
    const Kind second = kinds[2 * operand + 1];
    return first >= OPEN_RIGHT || second >= OPEN_RIGHT || first == KNOWN || second == KNOWN;
  }
  bool isRight() const {
    return std::none_of(std::begin(kinds), std::end(kinds),
                        [](Kind kind) { return kind == OPEN_WRONG; });
  }
  std::string text() const {
    static constexpr char kLetters[] = {'k', 'n', 'r', 'w'};
    std::string letters;
    for (const Kind kind : kinds) letters += kLetters[kind];
    return letters;
  }
};

Result<client::Model> modelOfCombination(const ApiWorld& world, const Combination& combination) {
  HALYARD_ASSIGN_OR_RETURN(client::Model model, newModel());
  const Dims open = {0, 0};
  const Dims full = {kSize, kSize};
  const Dims dims[] = {combination.inModel(0), combination.inModel(1), open, full,
                       combination.inModel(2)};
  for (const Dims& each : dims) {
    HALYARD_EXPECT_OK(model.addOperand(world.tensor(each)));
  }
  HALYARD_EXPECT_OK(model.addOperand(ANEURALNETWORKS_INT32));
  const int32_t none = ANEURALNETWORKS_FUSED_NONE;
  const std::vector<uint8_t> two = world.elements(kSize * kSize, 2);
  HALYARD_EXPECT_OK(model.setOperandValue(5, &none, sizeof none));
  HALYARD_EXPECT_OK(model.setOperandValue(3, two.data(), two.size()));
  HALYARD_EXPECT_OK(model.addOperation(ANEURALNETWORKS_ADD, {0, 1, 5}, {2}));
  HALYARD_EXPECT_OK(model.addOperation(ANEURALNETWORKS_ADD, {2, 3, 5}, {4}));
  HALYARD_EXPECT_OK(model.identifyInputsAndOutputs({0, 1}, {4}));
  HALYARD_EXPECT_OK(model.finish());
  return model;
}

Status runOne(const ApiWorld& world, ANeuralNetworksCompilation* compilation,
              const Combination& combination, bool fenced) {
  client::Execution execution;
  HALYARD_EXPECT_OK(execution.create(compilation));
  std::vector<std::vector<uint8_t>> buffers;
  for (size_t i = 0; i < kOperands; ++i) {
    const Dims dims = combination.atExecution(i);
    const ANeuralNetworksOperandType type = world.tensor(dims);
    const ANeuralNetworksOperandType* const told = combination.hasType(i) ? &type : nullptr;
    buffers.push_back(world.elements(size_t{dims[0]} * dims[1], static_cast<int>(i + 1)));
    if (i < 2) {
      HALYARD_EXPECT_OK(
          execution.setInput(static_cast<int32_t>(i), told, buffers[i].data(), buffers[i].size()));
    } else {
      HALYARD_EXPECT_OK(execution.setOutput(0, told, buffers[i].data(), buffers[i].size()));
    }
  }
  int code = 0;
  if (fenced) {
    ANeuralNetworksEvent* event = nullptr;
    code = ANeuralNetworksExecution_startComputeWithDependencies(execution.get(), nullptr, 0, 0,
                                                                 &event);
    const client::Event owner(event);
    if (code == ANEURALNETWORKS_NO_ERROR) code = ANeuralNetworksEvent_wait(event);
  } else {
    code = execution.compute();
  }
  if (!combination.isRight()) {
    if (code != ANEURALNETWORKS_NO_ERROR) return okStatus();
    return opFailed("ran although a size is wrong");
  }
  HALYARD_EXPECT_CODE(code, ANEURALNETWORKS_NO_ERROR);
  HALYARD_EXPECT(buffers[2] == world.elements(kSize * kSize, 1 + 2 + 2));
  return okStatus();
}

Status tryCombination(const ApiWorld& world, const Combination& combination, bool fenced) {
  HALYARD_ASSIGN_OR_RETURN(const auto model, modelOfCombination(world, combination));
  HALYARD_ASSIGN_OR_RETURN(const bool takes, world.takes(model, 2));
  if (!takes) return okStatus();
  HALYARD_ASSIGN_OR_RETURN(const auto compilation, world.compile(model));
  return runOne(world, compilation.get(), combination, fenced);
}

}  // namespace

void listDimensionChecks(ApiChecks& checks) {
  // One combination of kinds for in0 in each check. For the other operands every combination, or
  // every fifth.
  constexpr uint32_t kOfOthers = KINDS * KINDS * KINDS * KINDS;
  const uint32_t step = checks.full() ? 1 : 5;
  for (uint32_t first = 0; first < KINDS * KINDS; ++first) {
    for (const bool fenced : {false, true}) {
      Check& check =
          checks.add(fmt::format("unknown_dimensions/{}/{}", Combination(first).text().substr(0, 2),
                                 fenced ? "fenced" : "compute"),
                     "sizes may be left open until the execution, and must fit then",
                     [first, step, fenced](ApiWorld& world) -> CheckResult {
                       for (uint32_t i = first % step; i < kOfOthers; i += step) {
                         const Combination combination(first + i * KINDS * KINDS);
                         HALYARD_RETURN_IF_ERROR(tryCombination(world, combination, fenced),
                                                 "in0, in1, out: {}", combination.text());
                       }
                       return CheckResult::passed();
                     });
      check.expectedSeconds = 0.15;
    }
  }
}

}  // namespace halyard::validation
