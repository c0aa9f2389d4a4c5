#include "validation/random_graphs/shrinker.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "accuracy/accuracy.h"
#include "model/validation/validation.h"
#include "ops/operation.h"
#include "validation/random_graphs/surgery.h"

namespace halyard::random_graphs {
namespace {

using conformance::VectorCase;

// The first `size` slices of a tensor along an axis.
std::vector<uint8_t> headOf(const std::vector<uint8_t>& bytes, const Shape& dims, size_t axis,
                            uint32_t size) {
  size_t outer = 1;
  for (size_t d = 0; d < axis; ++d) outer *= dims[d];
  const size_t line = bytes.size() / outer;
  const size_t kept = line / dims[axis] * size;
  std::vector<uint8_t> result;
  result.reserve(kept * outer);
  for (size_t i = 0; i < outer; ++i) {
    const auto begin = bytes.begin() + static_cast<std::ptrdiff_t>(i * line);
    result.insert(result.end(), begin, begin + static_cast<std::ptrdiff_t>(kept));
  }
  return result;
}

bool isFinite(const VectorCase& candidate) {
  const Subgraph& main = candidate.model.main;
  for (size_t i = 0; i < candidate.outputs.size(); ++i) {
    const OperandType type = main.operands[main.outputIndexes[i]].type;
    const size_t size = elementSize(type);
    if (candidate.outputs[i].bytes.empty() || size == 0) return false;
    for (size_t k = 0; k < candidate.outputs[i].bytes.size() / size; ++k) {
      if (!std::isfinite(accuracy::elementNumber(type, candidate.outputs[i].bytes, k))) {
        return false;
      }
    }
  }
  return true;
}

class Shrinking {
 public:
  Shrinking(VectorCase failing, const std::function<bool(const VectorCase&)>& fails,
            const ShrinkLimits& limits)
      : best_(std::move(failing)), fails_(fails), limits_(limits) {}

  VectorCase run() {
    do {
      if (!blameOne()) dropOperations();
    } while (enterSubgraph());
    while (shrinkDimensions()) {
    }
    return std::move(best_);
  }

 private:
  size_t count() const { return best_.model.main.operations.size(); }

  bool tryCandidate(VectorCase candidate) {
    if (trials_ >= limits_.trials) return false;
    if (!recompute(&candidate).ok() || !isFinite(candidate)) return false;
    if (!validateModel(candidate.model).ok()) return false;
    ++trials_;
    if (!fails_(candidate)) return false;
    best_ = std::move(candidate);
    return true;
  }

  bool tryKeeping(const std::vector<TestOperand>& values, const std::vector<bool>& keep) {
    Result<VectorCase> candidate = cutOut(best_, values, keep);
    return candidate.ok() && tryCandidate(std::move(*candidate));
  }

  // Tries each operation alone with its inputs.
  bool blameOne() {
    const auto values = valuesOf(best_);
    if (!values.ok() || count() < 2) return count() == 1;
    for (size_t i = 0; i < count(); ++i) {
      std::vector<bool> keep(count());
      keep[i] = true;
      if (tryKeeping(*values, keep)) return true;
    }
    return false;
  }

  // Tries one model of an IF or WHILE alone, with the values that it gets first.
  bool enterSubgraph() {
    if (count() != 1) return false;
    const Operation& operation = best_.model.main.operations[0];
    const ops::OperationDefinition* definition = ops::definitionOf(operation.type);
    if (definition == nullptr || definition->controlFlow == ops::ControlFlow::NONE) return false;
    const auto values = valuesOf(best_);
    if (!values.ok()) return false;
    const bool isBranch = definition->controlFlow == ops::ControlFlow::BRANCH;
    const std::vector<uint32_t> arguments(operation.inputs.begin() + (isBranch ? 3 : 2),
                                          operation.inputs.end());
    for (const uint32_t input : operation.inputs) {
      const Operand& operand = best_.model.main.operands[input];
      if (operand.lifetime != Lifetime::SUBGRAPH) continue;
      VectorCase inner;
      inner.name = best_.name;
      inner.relaxed = best_.relaxed;
      inner.model = best_.model;
      inner.model.main = best_.model.referenced[operand.location.offset];
      for (const uint32_t argument : arguments) {
        inner.inputs.push_back({(*values)[argument].bytes, (*values)[argument].tensor.omitted});
      }
      if (inner.inputs.size() != inner.model.main.inputIndexes.size()) continue;
      inner.outputs.resize(inner.model.main.outputIndexes.size());
      if (tryCandidate(compacted(std::move(inner)))) return true;
    }
    return false;
  }

  // Leaves out shorter and shorter runs of operations.
  void dropOperations() {
    for (size_t length = count() / 2; length >= 1;) {
      bool dropped = false;
      for (size_t begin = 0; begin < count() && count() > 1;) {
        const auto values = valuesOf(best_);
        if (!values.ok()) return;
        std::vector<bool> keep(count(), true);
        const size_t end = std::min(begin + length, count());
        if (end - begin == count()) break;
        std::fill(keep.begin() + static_cast<std::ptrdiff_t>(begin),
                  keep.begin() + static_cast<std::ptrdiff_t>(end), false);
        if (tryKeeping(*values, keep)) {
          dropped = true;
        } else {
          begin += length;
        }
      }
      if (!dropped || length > count()) length /= 2;
      if (trials_ >= limits_.trials) return;
    }
  }

  // Changes every dimension of size `from` in the chosen operands to `to`.
  std::optional<VectorCase> resized(uint32_t from, uint32_t to, std::optional<uint32_t> onlyOperand,
                                    std::optional<size_t> onlyAxis) const {
    VectorCase changed = best_;
    Subgraph& main = changed.model.main;
    bool any = false;
    for (uint32_t index = 0; index < main.operands.size(); ++index) {
      Operand& operand = main.operands[index];
      const bool isConstant = operand.lifetime == Lifetime::CONSTANT_COPY;
      if (!isConstant && operand.lifetime != Lifetime::SUBGRAPH_INPUT) continue;
      if ((onlyOperand && *onlyOperand != index) || isScalarType(operand.type)) continue;
      for (size_t axis = 0; axis < operand.dimensions.size(); ++axis) {
        if (operand.dimensions[axis] != from || (onlyAxis && *onlyAxis != axis)) continue;
        any = cutOperand(index, axis, to, &changed) || any;
      }
    }
    if (!any) return std::nullopt;
    return changed;
  }

  static bool cutOperand(uint32_t index, size_t axis, uint32_t to, VectorCase* changed) {
    Subgraph& main = changed->model.main;
    Operand& operand = main.operands[index];
    if (operand.lifetime == Lifetime::CONSTANT_COPY) {
      const auto bytes = constantBytes(changed->model, operand);
      if (!bytes.ok()) return false;
      const std::vector<uint8_t> head = headOf(*bytes, operand.dimensions, axis, to);
      operand.location = appendConstant(changed->model, head.data(), head.size());
    } else {
      const auto at = std::ranges::find(main.inputIndexes, index) - main.inputIndexes.begin();
      conformance::VectorInput& input = changed->inputs[static_cast<size_t>(at)];
      if (input.omitted) return false;
      input.bytes = headOf(input.bytes, operand.dimensions, axis, to);
    }
    operand.dimensions[axis] = to;
    auto* const channels = std::get_if<SymmPerChannelQuantParams>(&operand.extraParams);
    if (channels != nullptr && channels->channelDim == axis) channels->scales.resize(to);
    return true;
  }

  // First the same size in all operands, so that they still match; then single dimensions.
  bool shrinkDimensions() {
    std::set<uint32_t> sizes;
    for (const Operand& operand : best_.model.main.operands) {
      if (operand.lifetime != Lifetime::CONSTANT_COPY &&
          operand.lifetime != Lifetime::SUBGRAPH_INPUT) {
        continue;
      }
      for (const uint32_t d : operand.dimensions) {
        if (d > 1) sizes.insert(d);
      }
    }
    for (auto it = sizes.rbegin(); it != sizes.rend(); ++it) {
      if (resizeTo(*it, std::nullopt, std::nullopt)) return true;
    }
    for (uint32_t index = 0; index < best_.model.main.operands.size(); ++index) {
      const Shape dims = best_.model.main.operands[index].dimensions;
      for (size_t axis = 0; axis < dims.size(); ++axis) {
        if (dims[axis] > 1 && resizeTo(dims[axis], index, axis)) return true;
      }
    }
    return false;
  }

  bool resizeTo(uint32_t from, std::optional<uint32_t> operand, std::optional<size_t> axis) {
    std::set<uint32_t> targets = {1, from / 2, from - 1};
    for (const uint32_t to : targets) {
      if (to == 0 || to >= from) continue;
      auto candidate = resized(from, to, operand, axis);
      if (!candidate) return false;
      if (tryCandidate(compacted(std::move(*candidate)))) return true;
    }
    return false;
  }

  // Removes the bytes of constants that have become smaller.
  static VectorCase compacted(VectorCase changed) {
    std::vector<TestOperand> values(changed.model.main.operands.size());
    const Subgraph& main = changed.model.main;
    for (size_t i = 0; i < main.operands.size(); ++i) values[i] = operandOf(main.operands[i]);
    for (size_t i = 0; i < main.inputIndexes.size(); ++i) {
      values[main.inputIndexes[i]].bytes = changed.inputs[i].bytes;
      values[main.inputIndexes[i]].tensor.omitted = changed.inputs[i].omitted;
    }
    auto result = cutOut(changed, values, std::vector<bool>(main.operations.size(), true));
    return result.ok() ? std::move(*result) : std::move(changed);
  }

  VectorCase best_;
  const std::function<bool(const VectorCase&)>& fails_;
  const ShrinkLimits limits_;
  size_t trials_ = 0;
};

}  // namespace

VectorCase shrink(VectorCase failing, const std::function<bool(const VectorCase&)>& fails,
                  const ShrinkLimits& limits) {
  return Shrinking(std::move(failing), fails, limits).run();
}

}  // namespace halyard::random_graphs
