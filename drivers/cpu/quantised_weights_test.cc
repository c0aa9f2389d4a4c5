// Tests weights that a model stores as bytes times steps, and computes with as floats. Kernels take
// the bytes, and floats are made only for others. Results are those of float weights.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <set>

#include "compiled_model.h"
#include "kernels/matrix/gemm_quant8.h"
#include "model_for_test.h"
#include "step_list.h"

namespace halyard::cpudriver {
namespace {

using testing::Builder;
using testing::inFile;
using testing::TemporaryFile;
using enum OperationType;

// How the model has its weights. With the same steps they have the same values, except where
// shifted.
enum class Stored { FLOATS, BYTES, SHIFTED_BYTES };
enum class Steps { ONE, BY_CHANNEL };
struct WeightForm {
  Stored stored;
  Steps steps = Steps::ONE;
};

uint32_t weightsOf(Builder& b, const WeightForm& form, const Shape& dims, float step = 0.01F) {
  const size_t depth = *knownElementCount(dims) / dims[0];
  std::vector<float> steps(dims[0], step);
  if (form.steps == Steps::BY_CHANNEL) {
    for (size_t c = 0; c < steps.size(); ++c) steps[c] *= 1 + 0.5F * static_cast<float>(c % 7);
  }
  std::mt19937 engine(3);
  std::vector<uint8_t> bytes(steps.size() * depth);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(engine());
  if (form.stored == Stored::FLOATS) {
    std::vector<float> values;
    for (size_t i = 0; i < bytes.size(); ++i) {
      values.push_back(steps[i / depth] * static_cast<float>(static_cast<int8_t>(bytes[i])));
    }
    return b.floats(dims, values);
  }
  const int32_t zeroPoint = form.stored == Stored::SHIFTED_BYTES ? 3 : 0;
  const uint32_t stored =
      form.steps == Steps::BY_CHANNEL
          ? b.bytesByChannel(dims, steps, bytes)
          : b.bytes(OperandType::TENSOR_QUANT8_ASYMM_SIGNED, dims, step, zeroPoint, bytes);
  const uint32_t real = b.tensor(dims);
  b.operation(DEQUANTIZE, {stored}, {real});
  return real;
}

struct Made {
  std::shared_ptr<const Model> model;
  std::vector<uint32_t> weights;  // the operands of floats
};

constexpr uint32_t kUnits = 400;

// One row, whose weights are large enough to stay bytes. `isShared`: two operations take the bytes,
// and one the floats.
Made connection(const WeightForm& form, bool isShared) {
  Builder b;
  const uint32_t weights = weightsOf(b, form, {kUnits, kUnits});
  const uint32_t bias = b.constant({kUnits});
  const uint32_t none = b.int32(0);
  uint32_t x = b.input({1, kUnits});
  if (isShared) {
    const uint32_t next = b.tensor({1, kUnits});
    b.operation(FULLY_CONNECTED, {x, weights, bias, none}, {next});
    x = next;
    b.operation(MUL, {weights, b.floats({1}, {2}), none}, {b.output({kUnits, kUnits})});
  }
  b.operation(FULLY_CONNECTED, {x, weights, bias, none}, {b.output({1, kUnits})});
  return {b.take(), {weights}};
}

// Rows that are rounded before the product.
Made roundedConnection(const WeightForm& form) {
  Builder b;
  const uint32_t weights = weightsOf(b, form, {42, 96});
  const uint32_t rounded = b.tensor({6, 96});
  b.operation(ROUND_TO_DYNAMIC_RANGE, {b.input({6, 96}), b.int32(1)}, {rounded});
  b.operation(FULLY_CONNECTED, {rounded, weights, b.constant({42}), b.int32(0)},
              {b.output({6, 42})});
  return {b.take(), {weights}};
}

// A sequence of `batch` x 20 steps. The input gate may be coupled to the forget gate. Peephole
// weights and the first cell state are stored like the matrices, and needed as floats.
Made lstm(const WeightForm& form, uint32_t batch, bool hasInputGate) {
  constexpr uint32_t kCells = 264;
  Builder b;
  Made made;
  const auto gates = [&](uint32_t depth, std::vector<uint32_t>* inputs) {
    for (int gate = 0; gate < 4; ++gate) {
      const bool isThere = gate > 0 || hasInputGate;
      inputs->push_back(isThere ? weightsOf(b, form, {kCells, depth}, 0.0005F) : b.omitted());
      if (isThere) made.weights.push_back(inputs->back());
    }
  };
  std::vector<uint32_t> inputs = {b.input({batch, 20, 240})};
  gates(240, &inputs);
  gates(kCells, &inputs);
  for (int gate = 0; gate < 3; ++gate) {
    inputs.push_back(gate > 0 || hasInputGate ? weightsOf(b, form, {kCells}, 0.001F) : b.omitted());
  }
  for (int gate = 0; gate < 4; ++gate) {
    inputs.push_back(gate > 0 || hasInputGate ? b.constant({kCells}) : b.omitted());
  }
  inputs.insert(inputs.end(), {b.omitted(), b.omitted()});
  inputs.push_back(b.input({batch, kCells}));
  inputs.push_back(weightsOf(b, form, {batch, kCells}, 0.001F));
  inputs.insert(inputs.end(), {b.int32(4), b.floatScalar(0), b.floatScalar(0), b.boolean(false)});
  for (int gate = 0; gate < 4; ++gate) inputs.push_back(b.omitted());
  b.operation(UNIDIRECTIONAL_SEQUENCE_LSTM, inputs, {b.output({batch, 20, kCells})});
  made.model = b.take();
  return made;
}

Made rnn(const WeightForm& form) {
  constexpr uint32_t kCells = 384;
  Builder b;
  const std::vector<uint32_t> weights = {weightsOf(b, form, {kCells, kCells}, 0.0005F),
                                         weightsOf(b, form, {kCells, kCells}, 0.0005F)};
  const uint32_t one = b.int32(1);  // RELU, and time first
  b.operation(UNIDIRECTIONAL_SEQUENCE_RNN,
              {b.input({20, 1, kCells}), weights[0], weights[1], b.constant({kCells}),
               b.input({1, kCells}), one, one},
              {b.output({20, 1, kCells})});
  return {b.take(), weights};
}

std::vector<std::vector<float>> outputsOf(const std::shared_ptr<const Model>& model) {
  const auto compiled = CompiledModel::compile(model, {});
  EXPECT_TRUE(compiled.ok() && *compiled != nullptr) << compiled.status().toString();
  std::vector<std::vector<float>> values;
  const auto argumentsOf = [&](const OperandIndexes& operands) {
    for (const uint32_t operand : operands) {
      values.emplace_back(*knownElementCount(model->main.operands[operand].dimensions));
    }
  };
  argumentsOf(model->main.inputIndexes);
  const size_t inputs = values.size();
  for (std::vector<float>& input : values) {
    for (size_t i = 0; i < input.size(); ++i) input[i] = 0.01F * static_cast<float>(i % 61) - 0.3F;
  }
  argumentsOf(model->main.outputIndexes);
  std::vector<cpu::Argument> arguments;
  for (std::vector<float>& each : values) {
    arguments.push_back({reinterpret_cast<uint8_t*>(each.data()), each.size() * sizeof(float), {}});
  }
  const std::span<const cpu::Argument> all = arguments;
  const hal::ExecutionResult result = (*compiled)->run(all.first(inputs), all.subspan(inputs), {});
  EXPECT_TRUE(result.status.ok()) << result.status.toString();
  values.erase(values.begin(), values.begin() + static_cast<ptrdiff_t>(inputs));
  return values;
}

// Bytes times steps are the floats, except for the last bits of steps.
void expectAlike(const std::vector<std::vector<float>>& actual,
                 const std::vector<std::vector<float>>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t output = 0; output < actual.size(); ++output) {
    ASSERT_EQ(actual[output].size(), expected[output].size());
    float greatest = 0;
    for (const float value : expected[output]) greatest = std::max(greatest, std::abs(value));
    ASSERT_GT(greatest, 0);
    for (size_t i = 0; i < actual[output].size(); ++i) {
      ASSERT_NEAR(actual[output][i], expected[output][i], 2e-6F * greatest) << output << ", " << i;
    }
  }
}

// Whether a maker has asked for the floats of one of the weights.
bool floatsAreMade(const Made& made) {
  class Recording final : public Packing {
   public:
    const void* bring(const void* data) override {
      brought.insert(data);
      return data;
    }
    void release(const void*) override {}
    void endStep(bool, const std::vector<const void*>&) override {}
    std::set<const void*> brought;
  };
  const auto plan = cpu::ExecutionPlan::make(made.model);
  EXPECT_TRUE(plan.ok()) << plan.status().toString();
  Recording packing;
  const std::vector<Step> steps = makeSteps(plan->main, &packing);
  EXPECT_FALSE(packing.brought.empty());
  return std::ranges::any_of(made.weights, [&](uint32_t operand) {
    return packing.brought.contains(plan->main.tensors[operand].data);
  });
}

// Checks whether floats are made of the weights, and that results are those of float weights. The
// constants are in the model, and then in a file. There they are read when a kernel needs them.
template <typename Make>
void check(bool areMade, const Make& make) {
  for (const Steps steps : {Steps::ONE, Steps::BY_CHANNEL}) {
    const Made made = make(WeightForm{Stored::BYTES, steps});
    EXPECT_EQ(floatsAreMade(made), areMade);
    const auto expected = outputsOf(make(WeightForm{Stored::FLOATS, steps}).model);
    const TemporaryFile file;
    for (const auto& model : {made.model, inFile(*made.model, file.fd())}) {
      ASSERT_NO_FATAL_FAILURE(expectAlike(outputsOf(model), expected));
    }
  }
}

TEST(QuantisedWeights, OfOneRowAreTakenAsBytes) {
  check(false, [](const WeightForm& form) { return connection(form, false); });
}

TEST(QuantisedWeights, LeaveMemoryWhenTheyArePacked) {
  const TemporaryFile file;
  const auto compiled =
      CompiledModel::compile(inFile(*connection({Stored::BYTES}, false).model, file.fd()), {});
  ASSERT_TRUE(compiled.ok()) << compiled.status().toString();
  // The bytes, and the floats that need not be made.
  EXPECT_GE((*compiled)->facts().releasedBytes, size_t{kUnits} * kUnits * (1 + sizeof(float)));
}

TEST(QuantisedWeights, MayBeReadAsBytesAndAsFloats) {
  check(true, [](const WeightForm& form) { return connection(form, true); });
}

TEST(QuantisedWeights, WithAZeroPointAreFloats) {
  EXPECT_TRUE(floatsAreMade(connection({Stored::SHIFTED_BYTES}, false)));
}

TEST(QuantisedWeights, OfRoundedRowsAreTakenAsBytes) {
  const Quant8Gemm* const gemm = quant8Gemm(ops::newestSimdLevel());
  const bool hasRealResults = gemm != nullptr && gemm->hasReal();
  check(!hasRealResults, roundedConnection);
}

TEST(QuantisedWeights, OfAnLstmAreTakenAsBytes) {
  for (const bool hasInputGate : {false, true}) {
    check(false, [&](const WeightForm& form) { return lstm(form, 1, hasInputGate); });
  }
}

TEST(QuantisedWeights, OfAnRnnAreTakenAsBytes) { check(false, rnn); }

// Few rows take longer with bytes. The product of the inputs has more rows than that of a step.
TEST(QuantisedWeights, OfAnLstmWithFewSequencesAreFloats) {
  check(true, [](const WeightForm& form) { return lstm(form, 2, true); });
}

}  // namespace
}  // namespace halyard::cpudriver
