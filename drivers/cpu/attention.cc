// Goes from the last operation back to what writes its left side.
#include "attention.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "ops/axis_lines.h"

namespace halyard::cpudriver {
namespace {

// Fewer rows are not worth the packing of all keys.
constexpr size_t kLeastRows = 8;
constexpr size_t kMostDepth = 1024;

class AttentionMatcher {
 public:
  explicit AttentionMatcher(const FusionGraph& graph) : graph_(graph) {}

  std::optional<Attention> match(size_t last) {
    const auto product = takeProductOf(last);
    const auto values = product ? productOf(*product) : std::nullopt;
    if (!values || values->adjointLeft || values->adjointRight) return std::nullopt;
    const auto scores = takeSoftmax(values->left);
    if (!scores || !(takeMasked(*scores) || takeProduct(*scores))) return std::nullopt;
    found_.inputs.insert(found_.inputs.begin() + 2, values->right);
    if (!takeShape()) return std::nullopt;
    takeHeads();
    return found_;
  }

 private:
  struct Product {
    uint32_t left;
    uint32_t right;
    bool adjointLeft;
    bool adjointRight;
  };

  const ops::Tensor& inputOf(size_t i, size_t input) const {
    return graph_.tensor(graph_.operation(i).inputs[input]);
  }
  bool isFloat(uint32_t operand) const {
    return graph_.tensor(operand).type == OperandType::TENSOR_FLOAT32;
  }

  // A product of float matrices.
  std::optional<Product> productOf(size_t i) const {
    const OperandIndexes& inputs = graph_.operation(i).inputs;
    if (graph_.definition(i).type != OperationType::BATCH_MATMUL || !isFloat(inputs[0]) ||
        !isFloat(inputs[1]) || inputOf(i, 2).data == nullptr || inputOf(i, 3).data == nullptr) {
      return std::nullopt;
    }
    return Product{inputs[0], inputs[1], *inputOf(i, 2).as<uint8_t>() != 0,
                   *inputOf(i, 3).as<uint8_t>() != 0};
  }

  // The operation that writes a value that one operation reads, once.
  std::optional<size_t> producerOf(uint32_t operand) {
    const auto producer = graph_.producer(operand);
    if (!producer || !graph_.onlyReader(operand)) return std::nullopt;
    found_.before.push_back(*producer);
    return producer;
  }

  // The scores whose softmax `operand` is.
  std::optional<uint32_t> takeSoftmax(uint32_t operand) {
    const auto i = producerOf(operand);
    if (!i || graph_.definition(*i).type != OperationType::SOFTMAX) return std::nullopt;
    std::vector<ops::Tensor> inputs;
    for (const uint32_t input : graph_.operation(*i).inputs) {
      inputs.push_back(graph_.tensor(input));
    }
    const ops::OperationContext context(inputs, {}, nullptr);
    size_t axis = 0;
    if (!context.read(1, &found_.shape.beta).ok() ||
        !ops::readOptionalAxis(context, 2, &axis).ok() || axis + 1 != inputs[0].rank()) {
      return std::nullopt;
    }
    return graph_.operation(*i).inputs[0];
  }

  // The inputs of a sum, product or quotient without an activation that alone makes `operand`.
  const OperandIndexes* arithmetic(uint32_t operand, OperationType type) const {
    const auto i = graph_.producer(operand);
    if (!i || graph_.definition(*i).type != type || !graph_.onlyReader(operand)) return nullptr;
    const ops::Tensor& code = inputOf(*i, 2);
    if (code.data == nullptr || *code.as<int32_t>() != 0) return nullptr;
    return &graph_.operation(*i).inputs;
  }

  // Scores are the sum of a product and a mask.
  bool takeMasked(uint32_t scores) {
    const OperandIndexes* const terms = arithmetic(scores, OperationType::ADD);
    if (terms == nullptr) return false;
    const Shape& dims = graph_.tensor(scores).dims;
    for (const size_t at : {size_t{0}, size_t{1}}) {
      const Attention before = found_;
      found_.before.push_back(*graph_.producer(scores));
      const uint32_t other = (*terms)[1 - at];
      if (graph_.tensor(other).dims == dims && takeMask((*terms)[at], dims) && takeProduct(other)) {
        found_.inputs.push_back((*terms)[at]);
        return true;
      }
      found_ = before;
    }
    return false;
  }

  // A mask has all keys of one row or of all rows, for all batches or for each.
  bool takeMask(uint32_t operand, const Shape& dims) {
    const ops::Tensor& mask = graph_.tensor(operand);
    if (mask.rank() > dims.size() || mask.rank() < 1 || mask.dims.back() != dims.back()) {
      return false;
    }
    const size_t keys = dims.back();
    const size_t rows = dims[dims.size() - 2];
    const size_t ofMask = mask.rank() < 2 ? 1 : mask.dims[mask.rank() - 2];
    if (ofMask != 1 && ofMask != rows) return false;
    const size_t batches = mask.elementCount() / keys / ofMask;
    if (batches != 1 && batches != batchOf(dims)) return false;
    found_.shape.hasMask = true;
    found_.shape.maskOfRow = ofMask == 1 ? 0 : keys;
    found_.shape.maskOfBatch = batches == 1 ? 0 : keys * ofMask;
    return true;
  }

  static size_t batchOf(const Shape& dims) {
    size_t batch = 1;
    for (size_t d = 0; d + 2 < dims.size(); ++d) batch *= dims[d];
    return batch;
  }

  // Scores are queries times keys, perhaps with a constant factor.
  bool takeProduct(uint32_t scores) { return takeMatrices(takeScale(scores)); }

  // The factor that is no constant. A constant that is not positive would turn the order of scores.
  std::optional<uint32_t> takeFactor(const OperandIndexes& factors, OperationType type) {
    const size_t last = type == OperationType::MUL ? 2 : 1;
    for (size_t at = 0; at < last; ++at) {
      const ops::Tensor& constant = graph_.tensor(factors[1 - at]);
      if (constant.data == nullptr || constant.elementCount() != 1) continue;
      const float value = *constant.as<float>();
      if (!(value > 0)) return std::nullopt;
      found_.shape.factor *= type == OperationType::MUL ? value : 1 / value;
      return factors[at];
    }
    return std::nullopt;
  }

  // The BATCH_MATMUL that makes the result, whose heads operation `last` may put side by side.
  std::optional<size_t> takeProductOf(size_t last) {
    const uint32_t result = graph_.operation(last).outputs[0];
    const size_t heads = headsTurned(last, true);
    if (heads == 0) {
      const auto reader = graph_.onlyReader(result);
      // The attention then ends with the transposition.
      return reader && headsTurned(*reader, true) != 0 ? std::nullopt : std::optional(last);
    }
    found_.shape.resultHeads = heads;
    return producerOf(graph_.operation(last).inputs[0]);
  }

  // The heads where operation `i` turns [batch][rows][heads][columns] to
  // [batch][heads][rows][columns], or back if `isBack`; otherwise 0. Also 0 where the kernel should
  // not read or write them so.
  size_t headsTurned(size_t i, bool isBack) const {
    const OperandIndexes& inputs = graph_.operation(i).inputs;
    if (graph_.definition(i).type != OperationType::TRANSPOSE || !isFloat(inputs[0]) ||
        inputs.size() < 2 || inputOf(i, 0).rank() != 4 || inputOf(i, 1).data == nullptr) {
      return 0;
    }
    constexpr std::array<int32_t, 4> kOrder = {0, 2, 1, 3};
    if (!std::equal(kOrder.begin(), kOrder.end(), inputOf(i, 1).as<int32_t>())) return 0;
    const Shape& dims = inputOf(i, 0).dims;
    const size_t heads = dims[isBack ? 1 : 2];
    return canHaveHeads(heads, dims[3]) ? heads : 0;
  }

  // Reads operands whose heads lie side by side where they are.
  void takeHeads() {
    AttentionShape& shape = found_.shape;
    takeHeadsOf(0, &shape.queryHeads);
    if (!shape.areKeysColumns) takeHeadsOf(1, &shape.keyHeads);
    takeHeadsOf(2, &shape.valueHeads);
  }
  void takeHeadsOf(size_t input, size_t* heads) {
    const uint32_t operand = found_.inputs[input];
    const auto producer = graph_.producer(operand);
    const size_t turned = producer ? headsTurned(*producer, false) : 0;
    if (turned == 0 || !graph_.onlyReader(operand)) return;
    found_.before.push_back(*producer);
    found_.inputs[input] = graph_.operation(*producer).inputs[0];
    *heads = turned;
  }

  bool takeMatrices(uint32_t scores) {
    const auto producer = producerOf(scores);
    const auto keys = producer ? productOf(*producer) : std::nullopt;
    if (!keys || keys->adjointLeft) return false;
    found_.inputs = {takeScale(keys->left), keys->right};
    found_.shape.areKeysColumns = !keys->adjointRight;
    return true;
  }

  // The values that `operand` is, which may be multiplied with a constant or divided by one.
  uint32_t takeScale(uint32_t operand) {
    for (const OperationType type : {OperationType::MUL, OperationType::DIV}) {
      const OperandIndexes* const factors = arithmetic(operand, type);
      const Attention before = found_;
      const auto scaled = factors != nullptr ? takeFactor(*factors, type) : std::nullopt;
      if (scaled && graph_.tensor(*scaled).dims == graph_.tensor(operand).dims) {
        found_.before.push_back(*graph_.producer(operand));
        return *scaled;
      }
      found_ = before;
    }
    return operand;
  }

  bool takeShape() {
    const Shape& left = graph_.tensor(found_.inputs[0]).dims;
    const Shape& right = graph_.tensor(found_.inputs[2]).dims;
    AttentionShape& shape = found_.shape;
    shape.batch = batchOf(left);
    shape.rows = left[left.size() - 2];
    shape.depth = left.back();
    shape.keys = right[right.size() - 2];
    shape.width = right.back();
    return shape.rows >= kLeastRows && shape.depth <= kMostDepth && shape.beta > 0 &&
           std::isnormal(shape.factor) && batchOf(right) == shape.batch;
  }

  const FusionGraph& graph_;
  Attention found_;
};

}  // namespace

std::optional<Attention> attentionAt(const FusionGraph& graph, size_t last) {
  return AttentionMatcher(graph).match(last);
}

}  // namespace halyard::cpudriver
