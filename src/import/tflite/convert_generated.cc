// Converts operators that make tensors from shapes and numbers: RANK, ZEROS_LIKE, RANGE, ONE_HOT,
// MATRIX_DIAG, MATRIX_SET_DIAG, BROADCAST_TO, BROADCAST_ARGS.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "import/tflite/converters.h"
#include "import/tflite/movement.h"

namespace halyard::import {
namespace {

using enum OperationType;

// The limit of constants that the importer makes from numbers in the file, in elements.
constexpr size_t kMostGenerated = size_t{1} << 20;

// Returns the dimensions of an input as in the file, where a scalar has none.
Result<Shape> dimsInFile(Node& node, size_t i, uint32_t operand) {
  HALYARD_ASSIGN_OR_RETURN(const FileTensor tensor, node.inputInfo(i));
  const Shape& dims = node.operand(operand).dimensions;
  return tensor.dims.empty() && dims == Shape{1} ? Shape() : dims;
}

Status convertRank(Node& node) {
  HALYARD_RETURN_IF_ERROR(node.expectCounts(1, 1, 1));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t x, node.input(0));
  HALYARD_ASSIGN_OR_RETURN(const Shape dims, dimsInFile(node, 0, x));
  const auto rank = static_cast<int32_t>(dims.size());
  HALYARD_ASSIGN_OR_RETURN(const uint32_t constant, node.builder().int32Tensor({1}, {&rank, 1}));
  return node.forward(0, constant);
}

// Returns a constant with zeros in every byte.
Result<uint32_t> zeros(Node& node, Operand operand) {
  const std::optional<uint32_t> size = knownByteSize(operand.type, operand.dimensions);
  if (!size) return unsupported("zeros of the shape {}", shapeText(operand.dimensions));
  operand.lifetime = Lifetime::CONSTANT_COPY;
  operand.location = {};
  return node.builder().addFilledConstant(std::move(operand), *size, 0, "zeros");
}

Status convertZerosLike(Node& node) {
  HALYARD_RETURN_IF_ERROR(node.expectCounts(1, 1, 1));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t x, node.input(0));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t constant, zeros(node, node.operand(x)));
  return node.forward(0, constant);
}

// Returns the value of a constant of one FLOAT32.
Result<float> constantFloat(Node& node, size_t i) {
  HALYARD_ASSIGN_OR_RETURN(const FileTensor tensor, node.inputInfo(i));
  if (!tensor.isConstant()) {
    return unsupported("input {} ({}) is computed at run time, only constants are supported", i,
                       tensor.text());
  }
  HALYARD_ASSIGN_OR_RETURN(const std::span<const uint8_t> bytes, node.builder().contents(tensor));
  float value = 0;
  if (bytes.size() != sizeof(value)) return badData("{} is no single value", tensor.text());
  std::memcpy(&value, bytes.data(), sizeof(value));
  return value;
}

// Returns the number of values from `start` on that lie before `limit`. TFLite divides floats as
// `Real`, so that the rounded quotient decides.
template <typename Real>
Result<size_t> rangeCount(Real start, Real limit, Real delta) {
  const Real count = std::ceil((limit - start) / delta);
  if (!(count >= 1)) {
    return unsupported("a range from {} to {} by {}: empty tensors are not supported", start, limit,
                       delta);
  }
  if (count > static_cast<Real>(kMostGenerated)) {
    return unsupported("a range of {} values, at most {} are supported", count, kMostGenerated);
  }
  return static_cast<size_t>(count);
}

Status convertIntRange(Node& node) {
  int32_t numbers[3] = {};
  for (size_t i = 0; i < 3; ++i) {
    HALYARD_ASSIGN_OR_RETURN(const std::vector<int32_t> values,
                             node.constantInts(i, "a bound of the range", 1));
    if (values.empty()) return badData("input {} has no value", i);
    numbers[i] = values[0];
  }
  const auto [start, limit, delta] = numbers;
  HALYARD_ASSIGN_OR_RETURN(const size_t count, rangeCount<double>(start, limit, delta));
  std::vector<int32_t> values(count);
  for (size_t i = 0; i < count; ++i) {
    values[i] = static_cast<int32_t>(start + static_cast<int64_t>(i) * delta);
  }
  HALYARD_RETURN_IF_ERROR(node.builder().spend(count * sizeof(int32_t)));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t constant, listOf(node, values));
  return node.forward(0, constant);
}

Status convertFloatRange(Node& node) {
  HALYARD_ASSIGN_OR_RETURN(const float start, constantFloat(node, 0));
  HALYARD_ASSIGN_OR_RETURN(const float limit, constantFloat(node, 1));
  HALYARD_ASSIGN_OR_RETURN(const float delta, constantFloat(node, 2));
  HALYARD_ASSIGN_OR_RETURN(const size_t count, rangeCount(start, limit, delta));
  HALYARD_ASSIGN_OR_RETURN(const std::span<uint8_t> bytes,
                           node.builder().newBytes(count * sizeof(float)));
  // TFLite adds, and so rounds, once for each value.
  float value = start;
  for (size_t i = 0; i < count; ++i, value += delta) {
    std::memcpy(bytes.data() + i * sizeof(value), &value, sizeof(value));
  }
  Operand operand;
  operand.type = OperandType::TENSOR_FLOAT32;
  operand.dimensions = {static_cast<uint32_t>(count)};
  HALYARD_ASSIGN_OR_RETURN(const uint32_t constant,
                           node.builder().addOwnConstant(std::move(operand), bytes, "range"));
  return node.forward(0, constant);
}

Status convertRange(Node& node) {
  HALYARD_RETURN_IF_ERROR(node.expectCounts(3, 3, 1));
  HALYARD_ASSIGN_OR_RETURN(const FileTensor to, node.outputInfo(0));
  if (to.type == tfl::TensorType::FLOAT32) return convertFloatRange(node);
  return convertIntRange(node);
}

// Each index is compared with 0 to depth - 1 along the new axis.
Status convertOneHot(Node& node) {
  HALYARD_RETURN_IF_ERROR(node.expectCounts(4, 4, 1));
  GraphBuilder& builder = node.builder();
  HALYARD_ASSIGN_OR_RETURN(const std::vector<int32_t> depth, node.constantInts(1, "the depth", 1));
  if (depth.empty() || depth[0] < 1 || static_cast<size_t>(depth[0]) > kMostGenerated) {
    return unsupported("the depth is {}, expected 1 to {}", depth.empty() ? 0 : depth[0],
                       kMostGenerated);
  }
  HALYARD_ASSIGN_OR_RETURN(const uint32_t indices, node.input(0));
  HALYARD_ASSIGN_OR_RETURN(Shape dims, dimsInFile(node, 0, indices));
  const auto* options = node.options<tfl::OneHotOptions>();
  HALYARD_ASSIGN_OR_RETURN(const size_t axis,
                           Node::normalizedAxis(options->axis(), dims.size() + 1));
  Shape classes(dims.size() + 1, 1);
  classes[axis] = static_cast<uint32_t>(depth[0]);
  dims.insert(dims.begin() + static_cast<ptrdiff_t>(axis), 1);
  HALYARD_ASSIGN_OR_RETURN(const uint32_t column, node.reshapedTo(indices, std::move(dims)));
  std::vector<int32_t> numbers(static_cast<size_t>(depth[0]));
  std::iota(numbers.begin(), numbers.end(), 0);
  HALYARD_ASSIGN_OR_RETURN(const uint32_t list, builder.int32Tensor(std::move(classes), numbers));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t isHot,
                           builder.addTemporary(OperandType::TENSOR_BOOL8, {}, 0, 0, "is hot"));
  HALYARD_RETURN_IF_ERROR(builder.addOperation(EQUAL, {column, list}, {isHot}));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t on, node.input(2));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t off, node.input(3));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t y, node.output(0));
  return builder.addOperation(SELECT_V2, {isHot, on, off}, {y});
}

// Returns a constant with true on the diagonal.
Result<uint32_t> diagonalMask(Node& node, uint32_t rows, uint32_t columns) {
  HALYARD_ASSIGN_OR_RETURN(const std::span<uint8_t> bytes,
                           node.builder().newBytes(size_t{rows} * columns));
  std::ranges::fill(bytes, uint8_t{0});
  for (size_t i = 0; i < std::min(rows, columns); ++i) bytes[i * columns + i] = 1;
  Operand mask;
  mask.type = OperandType::TENSOR_BOOL8;
  mask.dimensions = {rows, columns};
  return node.builder().addOwnConstant(std::move(mask), bytes, "diagonal");
}

Status convertMatrixDiag(Node& node) {
  HALYARD_RETURN_IF_ERROR(node.expectCounts(1, 1, 1));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t x, node.input(0));
  Shape dims = node.operand(x).dimensions;
  HALYARD_ASSIGN_OR_RETURN(const uint32_t mask, diagonalMask(node, dims.back(), dims.back()));
  dims.insert(dims.end() - 1, 1);
  HALYARD_ASSIGN_OR_RETURN(const uint32_t rows, node.reshapedTo(x, std::move(dims)));
  Operand zero = node.operand(x);
  zero.dimensions = {1};
  // TFLite stores 0 also where the zero point is another value.
  HALYARD_ASSIGN_OR_RETURN(const uint32_t rest, zeros(node, std::move(zero)));
  return moveElements(node, SELECT_V2, mask, {rows, rest}, x);
}

Status convertMatrixSetDiag(Node& node) {
  HALYARD_RETURN_IF_ERROR(node.expectCounts(2, 2, 1));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t x, node.input(0));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t diagonal, node.input(1));
  const Shape dims = node.operand(x).dimensions;
  if (dims.size() < 2) return badData("the input is {}, expected a matrix", shapeText(dims));
  const uint32_t rows = dims[dims.size() - 2];
  const uint32_t columns = dims.back();
  HALYARD_ASSIGN_OR_RETURN(const uint32_t mask, diagonalMask(node, rows, columns));
  Shape spread(dims.begin(), dims.end() - 2);
  // Of as many values as columns, each one lies in a column; otherwise it lies in a row.
  spread.push_back(columns <= rows ? 1 : rows);
  spread.push_back(columns <= rows ? columns : 1);
  HALYARD_ASSIGN_OR_RETURN(const uint32_t values, node.reshapedTo(diagonal, std::move(spread)));
  return moveElements(node, SELECT_V2, mask, {values, x}, x);
}

Status convertBroadcastTo(Node& node) {
  HALYARD_RETURN_IF_ERROR(node.expectCounts(2, 2, 1));
  HALYARD_ASSIGN_OR_RETURN(const std::vector<int32_t> target,
                           node.constantInts(1, "the new shape", kMostDimensions));
  HALYARD_ASSIGN_OR_RETURN(uint32_t x, node.input(0));
  Shape dims = node.operand(x).dimensions;
  if (target.size() < dims.size()) {
    return badData("{} does not broadcast to {} dimensions", shapeText(dims), target.size());
  }
  dims.insert(dims.begin(), target.size() - dims.size(), 1);
  std::vector<int32_t> multiples;
  Shape wanted;
  for (size_t d = 0; d < dims.size(); ++d) {
    const auto own = static_cast<int32_t>(dims[d]);
    if (target[d] < 1 || (own != 1 && own != target[d])) {
      return badData("{} does not broadcast to {} at dimension {}", shapeText(dims), target[d], d);
    }
    multiples.push_back(target[d] / own);
    wanted.push_back(static_cast<uint32_t>(target[d]));
  }
  if (node.operand(x).type == OperandType::TENSOR_BOOL8) {
    // NNAPI does not tile booleans.
    Operand all = node.operand(x);
    all.dimensions = wanted;
    HALYARD_ASSIGN_OR_RETURN(const uint32_t none, zeros(node, std::move(all)));
    HALYARD_ASSIGN_OR_RETURN(const uint32_t y, node.output(0));
    return node.builder().addOperation(LOGICAL_OR, {x, none}, {y});
  }
  HALYARD_ASSIGN_OR_RETURN(x, node.reshapedTo(x, std::move(dims)));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t list, listOf(node, multiples));
  return moveElements(node, TILE, x, {list});
}

Status convertBroadcastArgs(Node& node) {
  HALYARD_RETURN_IF_ERROR(node.expectCounts(2, 2, 1));
  HALYARD_ASSIGN_OR_RETURN(std::vector<int32_t> a,
                           node.constantInts(0, "the first shape", kMostDimensions));
  HALYARD_ASSIGN_OR_RETURN(std::vector<int32_t> b,
                           node.constantInts(1, "the second shape", kMostDimensions));
  const size_t rank = std::max(a.size(), b.size());
  a.insert(a.begin(), rank - a.size(), 1);
  b.insert(b.begin(), rank - b.size(), 1);
  for (size_t d = 0; d < rank; ++d) {
    if (a[d] != b[d] && a[d] != 1 && b[d] != 1) {
      return badData("{} and {} at dimension {} do not broadcast", a[d], b[d], d);
    }
    if (a[d] == 1) a[d] = b[d];
  }
  HALYARD_ASSIGN_OR_RETURN(const uint32_t constant, listOf(node, a));
  return node.forward(0, constant);
}

using Op = tfl::BuiltinOperator;
using Opt = tfl::BuiltinOptions;

constexpr Converter kGeneratedConverters[] = {
    {Op::RANK, Opt::RankOptions, kMayLack, convertRank, kTakesInt64 | kTakesOpenDimensions},
    {Op::ZEROS_LIKE, Opt::ZerosLikeOptions, kMayLack, convertZerosLike, kTakesInt64},
    {Op::RANGE, Opt::RangeOptions, kMayLack, convertRange, kTakesInt64},
    {Op::ONE_HOT, Opt::OneHotOptions, kNeeds, convertOneHot, kTakesInt64 | kTakesUnscaled},
    {Op::MATRIX_DIAG, Opt::MatrixDiagOptions, kMayLack, convertMatrixDiag, kTakesInt64},
    {Op::MATRIX_SET_DIAG, Opt::MatrixSetDiagOptions, kMayLack, convertMatrixSetDiag, kTakesInt64},
    {Op::BROADCAST_TO, Opt::BroadcastToOptions, kMayLack, convertBroadcastTo,
     kTakesInt64 | kTakesInt16},
    {Op::BROADCAST_ARGS, Opt::NONE, kMayLack, convertBroadcastArgs, kTakesInt64},
};

}  // namespace

std::span<const Converter> generatedConverters() { return kGeneratedConverters; }

}  // namespace halyard::import
