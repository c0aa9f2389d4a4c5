// Tests weights that a model stores as bytes times steps, and computes with as floats. Kernels take
// the bytes, and floats are made only for others. Results are those of float weights.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>
#include <set>

#include "compiled_model.h"
#include "kernels/matrix/gemm_quant8.h"
#include "model_for_test.h"
#include "step_list.h"

namespace halyard::cpudriver {
namespace {

using testing::Builder;
using enum OperationType;

enum class Weights { FLOAT, BYTES, BYTES_BY_CHANNEL, SHIFTED_BYTES };
constexpr Weights kStored[] = {Weights::BYTES, Weights::BYTES_BY_CHANNEL};

// Makes the same matrix in each form except SHIFTED_BYTES.
uint32_t weightsOf(Builder& b, Weights form, const Shape& dims, float scale = 0.01F) {
  const size_t channels = dims[0];
  const size_t depth = *knownElementCount(dims) / channels;
  const bool isByChannel = form != Weights::SHIFTED_BYTES && channels % 3 == 0;
  std::vector<float> scales(channels, scale);
  for (size_t c = 0; c < channels && isByChannel; ++c)
    scales[c] *= 1 + 0.5F * static_cast<float>(c % 7);
  std::mt19937 engine(3);
  std::vector<uint8_t> bytes(channels * depth);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(engine());
  const auto valueOf = [&](size_t i) { return static_cast<float>(static_cast<int8_t>(bytes[i])); };
  if (form == Weights::FLOAT) {
    std::vector<float> values;
    for (size_t i = 0; i < bytes.size(); ++i) values.push_back(scales[i / depth] * valueOf(i));
    return b.floats(dims, values);
  }
  const bool hasScales = form == Weights::BYTES_BY_CHANNEL || isByChannel;
  const uint32_t stored = hasScales ? b.bytesByChannel(dims, scales, bytes)
                                    : b.bytes(OperandType::TENSOR_QUANT8_ASYMM_SIGNED, dims, scale,
                                              form == Weights::SHIFTED_BYTES ? 3 : 0, bytes);
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
Made connection(Weights form, bool isShared) {
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
Made roundedConnection(Weights form) {
  Builder b;
  const uint32_t weights = weightsOf(b, form, {42, 96});
  const uint32_t rounded = b.tensor({6, 96});
  b.operation(ROUND_TO_DYNAMIC_RANGE, {b.input({6, 96}), b.int32(1)}, {rounded});
  b.operation(FULLY_CONNECTED, {rounded, weights, b.constant({42}), b.int32(0)},
              {b.output({6, 42})});
  return {b.take(), {weights}};
}

// A sequence of `batch` x 20 steps. The input gate may be coupled to the forget gate. The peephole
// weights, which are copied as floats, are stored like the matrices.
Made lstm(Weights form, uint32_t batch, bool hasInputGate) {
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
  for (int state = 0; state < 2; ++state) inputs.push_back(b.input({batch, kCells}));
  inputs.insert(inputs.end(), {b.int32(4), b.floatScalar(0), b.floatScalar(0), b.boolean(false)});
  for (int gate = 0; gate < 4; ++gate) inputs.push_back(b.omitted());
  b.operation(UNIDIRECTIONAL_SEQUENCE_LSTM, inputs, {b.output({batch, 20, kCells})});
  made.model = b.take();
  return made;
}

Made rnn(Weights form) {
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

// The model with its large constants in a file, whose bytes are read when a kernel needs them.
class InFile {
 public:
  explicit InFile(const Model& model) : file_(std::tmpfile()) {
    Model moved = model;
    uint32_t end = 0;
    for (Operand& operand : moved.main.operands) {
      if (operand.lifetime != Lifetime::CONSTANT_COPY || operand.location.length < 1000) continue;
      const DataLocation from = operand.location;
      EXPECT_EQ(
          ::pwrite(::fileno(file_), model.operandValues.data() + from.offset, from.length, end),
          static_cast<ssize_t>(from.length));
      operand.lifetime = Lifetime::CONSTANT_REFERENCE;
      operand.location = {0, end, from.length};
      end += (from.length + 3) / 4 * 4;
    }
    EXPECT_EQ(::ftruncate(::fileno(file_), end), 0);
    moved.pools = {SharedMemory::ofConstants(
        *SharedMemory::fromFd(end, PROT_READ, ::fileno(file_), 0).value())};
    model_ = std::make_shared<const Model>(std::move(moved));
  }
  ~InFile() { std::fclose(file_); }
  InFile(const InFile&) = delete;
  InFile& operator=(const InFile&) = delete;

  const std::shared_ptr<const Model>& model() const { return model_; }

 private:
  std::FILE* const file_;
  std::shared_ptr<const Model> model_;
};

void expectResultsOfFloats(const Made& made, const Made& floats) {
  const auto expected = outputsOf(floats.model);
  expectAlike(outputsOf(made.model), expected);
  if (::testing::Test::HasFatalFailure()) return;
  expectAlike(outputsOf(InFile(*made.model).model()), expected);
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

TEST(QuantisedWeights, OfOneRowAreTakenAsBytes) {
  for (const Weights form : kStored) {
    const Made made = connection(form, false);
    EXPECT_FALSE(floatsAreMade(made));
    expectResultsOfFloats(made, connection(Weights::FLOAT, false));
  }
}

TEST(QuantisedWeights, LeaveMemoryWhenTheyArePacked) {
  for (const Weights form : kStored) {
    const InFile file(*connection(form, false).model);
    const auto compiled = CompiledModel::compile(file.model(), {});
    ASSERT_TRUE(compiled.ok()) << compiled.status().toString();
    // The bytes, and the floats that need not be made.
    EXPECT_GE((*compiled)->facts().releasedBytes, size_t{kUnits} * kUnits * (1 + sizeof(float)));
  }
}

TEST(QuantisedWeights, MayBeReadAsBytesAndAsFloats) {
  for (const Weights form : kStored) {
    const Made made = connection(form, true);
    EXPECT_TRUE(floatsAreMade(made));
    expectResultsOfFloats(made, connection(Weights::FLOAT, true));
  }
}

TEST(QuantisedWeights, WithAZeroPointAreFloats) {
  EXPECT_TRUE(floatsAreMade(connection(Weights::SHIFTED_BYTES, false)));
}

TEST(QuantisedWeights, OfRoundedRowsAreTakenAsBytes) {
  const Quant8Gemm* const gemm = quant8Gemm(ops::newestSimdLevel());
  const bool multipliesBytes = gemm != nullptr && gemm->factors == Quant8Factors::OPPOSITE;
  for (const Weights form : kStored) {
    const Made made = roundedConnection(form);
    EXPECT_EQ(floatsAreMade(made), !multipliesBytes);
    expectResultsOfFloats(made, roundedConnection(Weights::FLOAT));
  }
}

TEST(QuantisedWeights, OfAnLstmAreTakenAsBytes) {
  for (const Weights form : kStored) {
    for (const bool hasInputGate : {false, true}) {
      const Made made = lstm(form, 1, hasInputGate);
      EXPECT_FALSE(floatsAreMade(made));
      expectResultsOfFloats(made, lstm(Weights::FLOAT, 1, hasInputGate));
    }
  }
}

TEST(QuantisedWeights, OfAnRnnAreTakenAsBytes) {
  for (const Weights form : kStored) {
    const Made made = rnn(form);
    EXPECT_FALSE(floatsAreMade(made));
    expectResultsOfFloats(made, rnn(Weights::FLOAT));
  }
}

// Few rows take longer with bytes. The product of the inputs has more rows than that of a step.
TEST(QuantisedWeights, OfAnLstmWithFewSequencesAreFloats) {
  const Made made = lstm(Weights::BYTES, 2, true);
  EXPECT_TRUE(floatsAreMade(made));
  expectResultsOfFloats(made, lstm(Weights::FLOAT, 2, true));
}

}  // namespace
}  // namespace halyard::cpudriver
