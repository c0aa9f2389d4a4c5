// BATCH_MATMUL: signature, shapes, and a matrix product for each matrix of the batch.
#include <algorithm>
#include <cmath>

#include "ops/gemm.h"
#include "ops/layout.h"
#include "ops/multiply_accumulate.h"
#include "ops/operand_checks.h"
#include "ops/operation.h"
#include "ops/type_rows.h"
#include "ops/work.h"

namespace halyard::ops {
namespace {

constexpr size_t kLeft = 0;
constexpr size_t kRight = 1;
constexpr size_t kAdjointLeft = 2;
constexpr size_t kAdjointRight = 3;

struct MatmulPlan {
  bool adjointLeft = false;
  bool adjointRight = false;
  size_t batch = 1;
  size_t rows = 0;
  size_t columns = 0;
  size_t depth = 0;
};

Signature makeSignature() {
  using enum OperandType;
  Signature signature;
  signature.rows = singleTypeRows({{TENSOR_FLOAT32, FeatureLevel::FL6},
                                   {TENSOR_FLOAT16, FeatureLevel::FL6},
                                   {TENSOR_QUANT8_ASYMM_SIGNED, FeatureLevel::FL6},
                                   {TENSOR_INT32, FeatureLevel::FL6}});
  signature.forms = {{"",
                      {typed("x", 0, rankBetween(2, 4)), typed("y", 0, rankBetween(2, 4)),
                       boolean("adjoint x"), boolean("adjoint y")},
                      {},
                      -1}};
  signature.outputs = {typed("output", 0, rankBetween(2, 4))};
  return signature;
}

Status makePlan(const OperationContext& context, MatmulPlan* plan) {
  const Tensor& left = context.input(kLeft);
  const Tensor& right = context.input(kRight);
  HALYARD_RETURN_IF_ERROR(context.read(kAdjointLeft, &plan->adjointLeft), "adjoint x");
  HALYARD_RETURN_IF_ERROR(context.read(kAdjointRight, &plan->adjointRight), "adjoint y");
  HALYARD_RETURN_IF_ERROR(checkRank(left, 2, 4, "x"));
  HALYARD_RETURN_IF_ERROR(checkRank(right, left.rank(), left.rank(), "y"));
  // The general rule allows zero-sized integers, because they are lists elsewhere.
  if (right.elementCount() == 0) return opFailed("y is zero-sized {}", realShapeText(right.dims));
  const size_t matrixAt = left.rank() - 2;
  for (size_t d = 0; d < matrixAt; ++d) {
    if (left.dims[d] != right.dims[d]) {
      return opFailed("x is {} and y is {}, expected the same dimension {}",
                      realShapeText(left.dims), realShapeText(right.dims), d);
    }
    plan->batch *= left.dims[d];
  }
  plan->rows = left.dims[matrixAt + (plan->adjointLeft ? 1 : 0)];
  plan->depth = left.dims[matrixAt + (plan->adjointLeft ? 0 : 1)];
  plan->columns = right.dims[matrixAt + (plan->adjointRight ? 0 : 1)];
  const size_t rightDepth = right.dims[matrixAt + (plan->adjointRight ? 1 : 0)];
  if (plan->depth != rightDepth) {
    return opFailed("x {}{} has rows of {} values, y {}{} has columns of {}",
                    realShapeText(left.dims), plan->adjointLeft ? ", adjoint," : "", plan->depth,
                    realShapeText(right.dims), plan->adjointRight ? ", adjoint," : "", rightDepth);
  }
  return okStatus();
}

Status infer(OperationContext& context) {
  MatmulPlan plan;
  HALYARD_RETURN_IF_ERROR(makePlan(context, &plan));
  Shape dims = context.input(kLeft).dims;
  dims[dims.size() - 2] = static_cast<uint32_t>(plan.rows);
  dims[dims.size() - 1] = static_cast<uint32_t>(plan.columns);
  context.output(0).dims = std::move(dims);
  return okStatus();
}

// The matrices in the product's layout: left [batch][rows][depth], right [batch][columns][depth].
struct Sides {
  Tensor left;
  Tensor right;
};

Sides arrange(OperationContext& context, const MatmulPlan& plan) {
  Sides sides = {context.input(kLeft), context.input(kRight)};
  if (plan.adjointLeft) {
    sides.left.data = transposedMatrices(context, sides.left, plan.batch, plan.depth, plan.rows);
  }
  if (!plan.adjointRight) {
    sides.right.data =
        transposedMatrices(context, sides.right, plan.batch, plan.depth, plan.columns);
  }
  return sides;
}

// rowsOf(side, row, rows, buffer) returns rows of a side, gemmRowStride apart.
template <typename T, typename Output, typename RowsOf>
void multiply(OperationContext& context, const MatmulPlan& plan, const Sides& sides,
              const RowsOf& rowsOf, const Output& output) {
  auto* results = context.output(0).as<typename Output::Value>();
  const auto problemOf = [&](size_t matrix) {
    GemmProblem<T> problem;
    problem.rows = plan.rows;
    problem.columns = plan.columns;
    problem.depth = plan.depth;
    problem.left = [&, matrix](size_t begin, size_t end, T* buffer) -> const T* {
      return rowsOf(sides.left, matrix * plan.rows + begin, end - begin, buffer);
    };
    problem.right = [&, matrix](size_t column, T* buffer) -> const T* {
      return rowsOf(sides.right, matrix * plan.columns + column, 1, buffer);
    };
    problem.store = [&, matrix](const GemmTile<T>& tile) {
      for (size_t row = tile.rowBegin; row < tile.rowEnd; ++row) {
        output.store(tile.sums + (row - tile.rowBegin) * tile.stride, tile.columnBegin,
                     tile.columnEnd - tile.columnBegin,
                     results + (matrix * plan.rows + row) * plan.columns + tile.columnBegin);
      }
    };
    return problem;
  };
  gemmEach<T>(context.services(), plan.batch, plan.rows * plan.columns * plan.depth, problemOf);
}

struct PlainOutput {
  using Value = float;
  void store(const float* sums, size_t, size_t count, float* results) const {
    std::copy_n(sums, count, results);
  }
};

void multiplyFloat(OperationContext& context, const MatmulPlan& plan, const Sides& sides) {
  multiply<float>(
      context, plan, sides,
      [&](const Tensor& side, size_t row, size_t, float*) {
        return side.as<float>() + row * plan.depth;
      },
      PlainOutput());
}

void multiplyQuantized(OperationContext& context, const MatmulPlan& plan, const Sides& sides) {
  Tensor bias;
  bias.type = OperandType::TENSOR_INT32;
  bias.dims = {static_cast<uint32_t>(plan.columns)};
  bias.data = context.scratch<int32_t>(plan.columns);
  std::fill_n(bias.as<int32_t>(), plan.columns, 0);
  const QuantizedOutput<int8_t> output(context, sides.left, sides.right, bias, context.output(0),
                                       FuseCode::NONE);
  multiply<int16_t>(
      context, plan, sides,
      [&](const Tensor& side, size_t row, size_t rows, int16_t* buffer) {
        const size_t stride = gemmRowStride<int16_t>(plan.depth);
        for (size_t r = 0; r < rows; ++r) {
          runBest<&subtractZeroPoint<int8_t>>(side.as<int8_t>() + (row + r) * plan.depth,
                                              plan.depth, side.zeroPoint, buffer + r * stride);
        }
        return buffer;
      },
      output);
}

// The sums are unsigned, because they wrap around.
HALYARD_ALWAYS_INLINE void dotInts(const uint32_t* left, const uint32_t* right, size_t depth,
                                   size_t columns, uint32_t* results) {
  for (size_t column = 0; column < columns; ++column, right += depth) {
    uint32_t sum = 0;
    for (size_t k = 0; k < depth; ++k) sum += left[k] * right[k];
    results[column] = sum;
  }
}

void multiplyInt(OperationContext& context, const MatmulPlan& plan, const Sides& sides) {
  constexpr size_t kWorkPerRange = 1 << 18;
  const size_t work = std::max<size_t>(plan.columns * plan.depth, 1);
  const auto* left = sides.left.as<uint32_t>();
  const auto* right = sides.right.as<uint32_t>();
  auto* results = context.output(0).as<uint32_t>();
  context.services().parallelFor(
      plan.batch * plan.rows, kWorkPerRange / work + 1, [&](size_t begin, size_t end) {
        for (size_t row = begin; row < end; ++row) {
          runBest<&dotInts>(left + row * plan.depth,
                            right + row / plan.rows * plan.columns * plan.depth, plan.depth,
                            plan.columns, results + row * plan.columns);
        }
      });
}

Status reference(OperationContext& context) {
  MatmulPlan plan;
  HALYARD_RETURN_IF_ERROR(makePlan(context, &plan));
  const Sides sides = arrange(context, plan);
  switch (sides.left.type) {
    case OperandType::TENSOR_FLOAT32:
      multiplyFloat(context, plan, sides);
      return okStatus();
    case OperandType::TENSOR_QUANT8_ASYMM_SIGNED:
      multiplyQuantized(context, plan, sides);
      return okStatus();
    case OperandType::TENSOR_INT32:
      multiplyInt(context, plan, sides);
      return okStatus();
    default:
      return opFailed("x is {}, for which there is no kernel", operandTypeName(sides.left.type));
  }
}

double work(std::span<const Tensor> inputs, std::span<const Tensor> outputs) {
  // rows x depth, depth x columns and rows x columns values for each batch element, adjoint or not.
  double batch = 1;
  for (size_t d = 0; d + 2 < outputs[0].rank(); ++d) batch *= outputs[0].dims[d];
  return std::sqrt(workElements(inputs[kLeft]) * workElements(inputs[kRight]) *
                   workElements(outputs[0]) / batch);
}

}  // namespace

const OperationDefinition& batchMatmul() {
  return madeOnce([] {
    return OperationDefinition{.type = OperationType::BATCH_MATMUL,
                               .signature = makeSignature(),
                               .infer = infer,
                               .reference = reference,
                               .work = work};
  });
}

}  // namespace halyard::ops
