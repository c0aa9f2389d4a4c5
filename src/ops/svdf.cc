// SVDF: a fully connected layer with filters split in features and time, and a memory of the last
// steps.
#include <algorithm>
#include <cstring>

#include "ops/operand_checks.h"
#include "ops/operand_table.h"
#include "ops/operation.h"
#include "ops/recurrent_activation.h"
#include "ops/sequence.h"
#include "ops/work.h"

namespace halyard::ops {
namespace {

enum Input : size_t { kInput, kFeature, kTime, kBias, kStateIn, kRank, kActivation };

// Sizes by letter: B batch, I input, F filters, M memory of each, S memory of all, U units.
const OperandTable& table() {
  return madeOnce([] {
    OperandTable result = {
        tensorRow("input", "BI"),
        tensorRow("weights_feature", "FI"),
        tensorRow("weights_time", "FM"),
        tensorRow("bias", "U"),
        tensorRow("state_in", "BS"),
        fixedRow("rank", "", OperandType::INT32),
        fixedRow("activation", "", OperandType::INT32),
    };
    result[kBias].mayLack = true;
    return result;
  });
}
const OperandTable& outputs() {
  return madeOnce([] {
    return OperandTable{tensorRow("state_out", "BS"), tensorRow("output", "BU")};
  });
}

Status readRank(const OperationContext& context, uint32_t filters, uint32_t* rank) {
  int32_t value = 0;
  HALYARD_RETURN_IF_ERROR(context.read(kRank, &value), "rank");
  if (value <= 0 || filters % static_cast<uint32_t>(value) != 0) {
    return opFailed("input {} (rank) is {}, expected a divisor of {}, the number of filters",
                    +kRank, value, filters);
  }
  *rank = static_cast<uint32_t>(value);
  return okStatus();
}

Status infer(OperationContext& context) {
  const Tensor& feature = context.input(kFeature);
  const Tensor& time = context.input(kTime);
  DimensionSolver sizes;
  // The weights determine S and U. match() reports wrong shapes of the weights.
  if (feature.rank() == 2 && time.rank() == 2) {
    uint32_t rank = 0;
    HALYARD_RETURN_IF_ERROR(readRank(context, feature.dims[0], &rank));
    sizes.define('U', feature.dims[0] / rank);
    sizes.define('S', uint64_t{feature.dims[0]} * time.dims[1]);
  }
  HALYARD_RETURN_IF_ERROR(sizes.match(context, table()));
  RecurrentActivation activation = RecurrentActivation::NONE;
  HALYARD_RETURN_IF_ERROR(
      unlessIncomplete(readRecurrentActivation(context, kActivation, &activation)));
  return sizes.setOutputs(context, outputs());
}

// Updates one filter's memory. The newest value takes the last place, all are weighted, and all
// move down by one, which leaves the last place empty.
float runFilter(const float* before, const float* weights, size_t memory, float newest,
                float* after) {
  float sum = newest * weights[memory - 1];
  for (size_t m = 0; m + 1 < memory; ++m) sum += before[m] * weights[m];
  for (size_t m = 0; m + 2 < memory; ++m) after[m] = before[m + 1];
  if (memory > 1) after[memory - 2] = newest;
  after[memory - 1] = 0;
  return sum;
}

Status compute(OperationContext& context) {
  const Tensor& feature = context.input(kFeature);
  const Tensor& time = context.input(kTime);
  const size_t filters = feature.dims[0];
  const size_t memory = time.dims[1];
  const size_t batch = context.input(kInput).dims[0];
  uint32_t rank = 0;
  HALYARD_RETURN_IF_ERROR(readRank(context, feature.dims[0], &rank));
  RecurrentActivation activation = RecurrentActivation::NONE;
  HALYARD_RETURN_IF_ERROR(readRecurrentActivation(context, kActivation, &activation));
  auto* newest = context.scratch<float>(batch * filters);
  RewindingServices services(context.services());
  multiplyGates(services, batch, context.input(kInput).as<float>(),
                {{feature.as<float>()}, filters, feature.dims[1]}, false, newest);

  const size_t units = filters / rank;
  const auto* weights = time.as<float>();
  const auto* stateIn = context.input(kStateIn).as<float>();
  const float* bias = context.hasInput(kBias) ? context.input(kBias).as<float>() : nullptr;
  auto* stateOut = context.output(0).as<float>();
  auto* output = context.output(1).as<float>();
  constexpr size_t kGrainValues = 8192;
  const size_t grain = std::max<size_t>(1, kGrainValues / (rank * memory));
  services.parallelFor(batch * units, grain, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const size_t unit = i % units;
      float sum = bias == nullptr ? 0 : bias[unit];
      for (size_t r = 0; r < rank; ++r) {
        const size_t filter = unit * rank + r;
        const size_t row = i / units * filters + filter;
        sum += runFilter(stateIn + row * memory, weights + filter * memory, memory, newest[row],
                         stateOut + row * memory);
      }
      output[i] = sum;
    }
    activate(activation, output + begin, end - begin);
  });
  return okStatus();
}

double work(std::span<const Tensor> inputs, std::span<const Tensor> /*outputs*/) {
  return workOfRows(inputs, {{kFeature, kTime}});
}

OperationDefinition define() {
  OperationDefinition definition;
  definition.type = OperationType::SVDF;
  definition.signature.rows = floatRows(FeatureLevel::FL1);
  definition.signature.forms = {{"", specsOf(table()), {}}};
  definition.signature.outputs = specsOf(outputs());
  definition.infer = infer;
  definition.reference = compute;
  definition.work = work;
  return definition;
}

}  // namespace

const OperationDefinition& svdf() {
  return madeOnce([] { return define(); });
}

}  // namespace halyard::ops
