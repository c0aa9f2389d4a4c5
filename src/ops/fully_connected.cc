// FULLY_CONNECTED: signature, shapes, and a matrix product.
#include "ops/gemm.h"
#include "ops/multiply_accumulate.h"
#include "ops/operand_checks.h"
#include "ops/operation.h"
#include "ops/work.h"

namespace halyard::ops {
namespace {

constexpr size_t kInput = 0;
constexpr size_t kWeights = 1;
constexpr size_t kBias = 2;
constexpr size_t kActivation = 3;

Signature makeSignature() {
  Signature signature;
  signature.rows = multiplyAccumulateRows(false);
  signature.forms = {{"",
                      {typed("input", 0, rankBetween(2, 4)), typed("weights", 1, rank(2)),
                       typed("bias", 2, rank(1)).withRankOfComputation(), int32("activation")},
                      {},
                      -1}};
  signature.outputs = {typed("output", 0, rank(2))};
  signature.check = [](const OperationView& operation, FeatureLevel& level) {
    return checkFilterQuantization(operation, 0, level);
  };
  return signature;
}

Status infer(OperationContext& context) {
  const Tensor& input = context.input(kInput);
  const Tensor& weights = context.input(kWeights);
  HALYARD_RETURN_IF_ERROR(checkRank(input, 2, 4, "input"));
  HALYARD_RETURN_IF_ERROR(checkRank(weights, 2, 2, "weights"));
  const uint32_t units = weights.dims[0];
  const uint32_t depth = weights.dims[1];
  if (units == 0 || depth == 0) {
    return opFailed("weights are zero-sized {}", realShapeText(weights.dims));
  }
  for (size_t d = 1; d < input.rank(); ++d) {
    if (input.dims[d] != 0) continue;
    return opFailed("input {} has a zero-sized dimension that is not the batch",
                    realShapeText(input.dims));
  }
  const size_t elements = input.elementCount();
  if (elements % depth != 0) {
    return opFailed("input {} cannot be split into rows of {}, the second dimension of weights {}",
                    realShapeText(input.dims), depth, realShapeText(weights.dims));
  }
  HALYARD_RETURN_IF_ERROR(checkFilterAndBias(input, weights, context.input(kBias), units));
  FuseCode activation;
  HALYARD_RETURN_IF_ERROR(unlessIncomplete(readFuseCode(context, kActivation, &activation)));
  context.output(0).dims = {static_cast<uint32_t>(elements / depth), units};
  return okStatus();
}

// Left and right are in gemm's form. Output adds the bias and stores.
template <typename T, typename Output>
void multiply(OperationContext& context, GemmProblem<T>& problem, const Output& output,
              typename Output::Value* results) {
  problem.rows = context.output(0).dims[0];
  problem.columns = context.output(0).dims[1];
  problem.store = [&](const GemmTile<T>& tile) {
    for (size_t row = tile.rowBegin; row < tile.rowEnd; ++row) {
      output.store(tile.sums + (row - tile.rowBegin) * tile.stride, tile.columnBegin,
                   tile.columnEnd - tile.columnBegin,
                   results + row * problem.columns + tile.columnBegin);
    }
  };
  gemm(context.services(), problem);
}

void multiplyFloat(OperationContext& context, FuseCode activation) {
  const auto* input = context.input(kInput).as<float>();
  const auto* weights = context.input(kWeights).as<float>();
  GemmProblem<float> problem;
  problem.depth = context.input(kWeights).dims[1];
  problem.left = [&](size_t begin, size_t, float*) { return input + begin * problem.depth; };
  problem.right = [&](size_t column, float*) { return weights + column * problem.depth; };
  multiply(context, problem, FloatOutput(context.input(kBias), activation),
           context.output(0).as<float>());
}

template <typename X>
void multiplyQuantized(OperationContext& context, FuseCode activation) {
  const Tensor& input = context.input(kInput);
  const Tensor& weights = context.input(kWeights);
  GemmProblem<int16_t> problem;
  problem.depth = weights.dims[1];
  problem.left = [&](size_t begin, size_t end, int16_t* buffer) {
    const size_t stride = gemmRowStride<int16_t>(problem.depth);
    for (size_t row = begin; row < end; ++row) {
      runBest<&subtractZeroPoint<X>>(input.as<X>() + row * problem.depth, problem.depth,
                                     input.zeroPoint, buffer + (row - begin) * stride);
    }
    return buffer;
  };
  problem.right = [&](size_t column, int16_t* buffer) {
    centerFilter(weights, column * problem.depth, problem.depth, buffer);
    return buffer;
  };
  const QuantizedOutput<X> output(context, input, weights, context.input(kBias), context.output(0),
                                  activation);
  multiply(context, problem, output, context.output(0).as<X>());
}

Status reference(OperationContext& context) {
  FuseCode activation = FuseCode::NONE;
  HALYARD_RETURN_IF_ERROR(readFuseCode(context, kActivation, &activation));
  switch (context.input(kInput).type) {
    case OperandType::TENSOR_FLOAT32:
      multiplyFloat(context, activation);
      return okStatus();
    case OperandType::TENSOR_QUANT8_ASYMM:
      multiplyQuantized<uint8_t>(context, activation);
      return okStatus();
    case OperandType::TENSOR_QUANT8_ASYMM_SIGNED:
      multiplyQuantized<int8_t>(context, activation);
      return okStatus();
    default:
      return opFailed("input is {}, for which there is no kernel",
                      operandTypeName(context.input(kInput).type));
  }
}

double work(std::span<const Tensor> inputs, std::span<const Tensor> outputs) {
  return workElements(outputs[0]) * workDimension(inputs[kWeights], 1);
}

}  // namespace

const OperationDefinition& fullyConnected() {
  return madeOnce([] {
    return OperationDefinition{.type = OperationType::FULLY_CONNECTED,
                               .signature = makeSignature(),
                               .infer = infer,
                               .reference = reference,
                               .acceptsZeroSized = true,
                               .work = work};
  });
}

}  // namespace halyard::ops
