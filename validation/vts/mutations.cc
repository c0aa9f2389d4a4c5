#include "validation/vts/mutations.h"

#include <algorithm>

#include "model/validation/validation.h"

namespace halyard::validation {
namespace {

using enum OperandType;

class Mutator {
 public:
  Mutator(const Model& model, FeatureLevel level, const std::function<Status(const Mutation&)>& use)
      : base_(model), level_(level), use_(use), consumers_(countConsumers(model.main)) {}

  Status run() {
    HALYARD_RETURN_IF_ERROR(operands());
    HALYARD_RETURN_IF_ERROR(lifetimes());
    HALYARD_RETURN_IF_ERROR(consumers());
    HALYARD_RETURN_IF_ERROR(operations());
    HALYARD_RETURN_IF_ERROR(order());
    return removals();
  }

 private:
  size_t operandCount() const { return base_.main.operands.size(); }

  // Uses the mutation only if the rules forbid it.
  Status give(std::string what, const std::function<void(Model&)>& change) {
    Mutation mutation{std::move(what), base_, {}};
    change(mutation.model);
    if (validatedForLevel(mutation.model, level_).ok()) return okStatus();
    return use_(mutation);
  }

  Status changeOperand(size_t i, std::string_view what,
                       const std::function<void(Operand&)>& change) {
    return give(fmt::format("operand {} with {}", i, what),
                [&](Model& model) { change(model.main.operands[i]); });
  }

  // Types, ranks, scales and zero points of operands.
  Status operands() {
    for (size_t i = 0; i < operandCount(); ++i) {
      const Operand& operand = base_.main.operands[i];
      for (const int32_t type : {-1, 16, 9999, 10002}) {
        HALYARD_RETURN_IF_ERROR(changeOperand(i, fmt::format("type {}", type), [&](Operand& o) {
          o.type = static_cast<OperandType>(type);
          o.scale = 0;
          o.zeroPoint = 0;
          o.extraParams = {};
        }));
      }
      if (isScalarType(operand.type)) {
        HALYARD_RETURN_IF_ERROR(
            changeOperand(i, "a dimension 0", [](Operand& o) { o.dimensions = {0}; }));
      }
      for (const float scale : {0.0f, 1.0f, -1.0f}) {
        if (scale == operand.scale) continue;
        HALYARD_RETURN_IF_ERROR(
            changeOperand(i, fmt::format("scale {}", scale), [&](Operand& o) { o.scale = scale; }));
      }
      for (const int32_t zero : {-32769, -129, -1, 1, 128, 256, 32768, 65536}) {
        if (zero == operand.zeroPoint) continue;
        HALYARD_RETURN_IF_ERROR(changeOperand(i, fmt::format("zero point {}", zero),
                                              [&](Operand& o) { o.zeroPoint = zero; }));
      }
      HALYARD_RETURN_IF_ERROR(otherTypes(i));
    }
    return okStatus();
  }

  // Every other type, with matching other members.
  Status otherTypes(size_t i) {
    const Operand& operand = base_.main.operands[i];
    if (operand.lifetime == Lifetime::SUBGRAPH || isConstant(i)) return okStatus();
    for (const OperandType type :
         {FLOAT32, INT32, UINT32, BOOL, FLOAT16, TENSOR_FLOAT32, TENSOR_INT32, TENSOR_QUANT8_ASYMM,
          TENSOR_QUANT16_SYMM, TENSOR_FLOAT16, TENSOR_BOOL8, TENSOR_QUANT16_ASYMM,
          TENSOR_QUANT8_SYMM, TENSOR_QUANT8_ASYMM_SIGNED}) {
      if (type == operand.type) continue;
      HALYARD_RETURN_IF_ERROR(
          changeOperand(i, fmt::format("type {}", operandTypeName(type)), [&](Operand& o) {
            o.type = type;
            o.extraParams = {};
            o.zeroPoint = 0;
            const OperandTypeTraits& traits = *operandTypeTraits(type);
            o.scale = traits.scale == ScaleRule::POSITIVE ? 1.0f : 0.0f;
            if (isScalarType(type)) o.dimensions = {};
            if (!isScalarType(type) && o.dimensions.empty()) o.dimensions = {1};
          }));
    }
    return okStatus();
  }

  bool isConstant(size_t i) const {
    const Lifetime lifetime = base_.main.operands[i].lifetime;
    return lifetime == Lifetime::CONSTANT_COPY || lifetime == Lifetime::CONSTANT_REFERENCE;
  }

  Status lifetimes() {
    for (size_t i = 0; i < operandCount(); ++i) {
      const Lifetime own = base_.main.operands[i].lifetime;
      for (const Lifetime other : {Lifetime::TEMPORARY_VARIABLE, Lifetime::SUBGRAPH_INPUT,
                                   Lifetime::SUBGRAPH_OUTPUT, Lifetime::CONSTANT_COPY}) {
        if (other == own || own == Lifetime::SUBGRAPH || own == Lifetime::NO_VALUE) continue;
        for (const bool listed : {false, true}) {
          HALYARD_RETURN_IF_ERROR(
              give(fmt::format("operand {} as {}{}", i, lifetimeName(other),
                               listed ? ", listed so" : ""),
                   [&](Model& model) { changeLifetime(model, i, other, listed); }));
        }
      }
    }
    return okStatus();
  }

  static void changeLifetime(Model& model, size_t i, Lifetime to, bool listed) {
    Operand& operand = model.main.operands[i];
    operand.lifetime = to;
    operand.location = {};
    if (to == Lifetime::CONSTANT_COPY) {
      const auto size = knownByteSize(operand.type, operand.dimensions);
      const std::vector<uint8_t> zeros(std::min(size.value_or(4), 32768u));
      operand.location = appendConstant(model, zeros.data(), zeros.size());
    }
    if (!listed) return;
    const auto index = static_cast<uint32_t>(i);
    for (auto* list : {&model.main.inputIndexes, &model.main.outputIndexes}) {
      std::erase(*list, index);
    }
    if (to == Lifetime::SUBGRAPH_INPUT) model.main.inputIndexes.push_back(index);
    if (to == Lifetime::SUBGRAPH_OUTPUT) model.main.outputIndexes.push_back(index);
  }

  // Only the message contains this number.
  Status consumers() {
    for (size_t i = 0; i < operandCount(); ++i) {
      for (const uint32_t wrong : {consumers_[i] - 1, consumers_[i] + 1}) {
        if (wrong == UINT32_MAX) continue;
        const auto index = static_cast<unsigned>(i);
        HALYARD_RETURN_IF_ERROR(use_({fmt::format("operand {} with {} consumers", i, wrong), base_,
                                      [index, wrong](wire::Model::Builder model) {
                                        model.getMain().getOperands()[index].setNumberOfConsumers(
                                            wrong);
                                      }}));
      }
    }
    return okStatus();
  }

  Status operations() {
    const auto outside = static_cast<uint32_t>(operandCount());
    for (size_t i = 0; i < base_.main.operations.size(); ++i) {
      const Operation& operation = base_.main.operations[i];
      const auto change = [&](std::string what, const std::function<void(Operation&)>& edit) {
        return give(fmt::format("operation {} with {}", i, what),
                    [&](Model& model) { edit(model.main.operations[i]); });
      };
      for (const int32_t type : {9999, 10001}) {
        HALYARD_RETURN_IF_ERROR(change(fmt::format("type {}", type), [&](Operation& o) {
          o.type = static_cast<OperationType>(type);
        }));
      }
      for (size_t k = 0; k < operation.inputs.size(); ++k) {
        HALYARD_RETURN_IF_ERROR(change(fmt::format("input {} outside", k),
                                       [&](Operation& o) { o.inputs[k] = outside; }));
        HALYARD_RETURN_IF_ERROR(change(fmt::format("input {} removed", k), [&](Operation& o) {
          o.inputs.erase(o.inputs.begin() + static_cast<std::ptrdiff_t>(k));
        }));
      }
      for (size_t k = 0; k < operation.outputs.size(); ++k) {
        HALYARD_RETURN_IF_ERROR(change(fmt::format("output {} outside", k),
                                       [&](Operation& o) { o.outputs[k] = outside; }));
        HALYARD_RETURN_IF_ERROR(change(fmt::format("output {} removed", k), [&](Operation& o) {
          o.outputs.erase(o.outputs.begin() + static_cast<std::ptrdiff_t>(k));
        }));
      }
      HALYARD_RETURN_IF_ERROR(additions(i));
    }
    return okStatus();
  }

  static uint32_t addOperand(Model& model, Lifetime lifetime) {
    Operand operand;
    operand.type = INT32;
    operand.lifetime = lifetime;
    const auto index = static_cast<uint32_t>(model.main.operands.size());
    model.main.operands.push_back(operand);
    (lifetime == Lifetime::SUBGRAPH_INPUT ? model.main.inputIndexes : model.main.outputIndexes)
        .push_back(index);
    return index;
  }

  Status additions(size_t i) {
    HALYARD_RETURN_IF_ERROR(
        give(fmt::format("operation {} with an input added", i), [&](Model& model) {
          const uint32_t added = addOperand(model, Lifetime::SUBGRAPH_INPUT);
          model.main.operations[i].inputs.push_back(added);
        }));
    HALYARD_RETURN_IF_ERROR(
        give(fmt::format("operation {} with an output added", i), [&](Model& model) {
          const uint32_t added = addOperand(model, Lifetime::SUBGRAPH_OUTPUT);
          model.main.operations[i].outputs.push_back(added);
        }));
    return give(fmt::format("operation {} twice", i), [&](Model& model) {
      const Operation copy = model.main.operations[i];
      model.main.operations.push_back(copy);
    });
  }

  Status order() {
    if (base_.main.operations.size() < 2) return okStatus();
    for (size_t i = 0; i < base_.main.operations.size(); ++i) {
      HALYARD_RETURN_IF_ERROR(
          give(fmt::format("operation {} moved to the front", i), [&](Model& model) {
            auto& list = model.main.operations;
            std::rotate(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(i),
                        list.begin() + static_cast<std::ptrdiff_t>(i) + 1);
          }));
      HALYARD_RETURN_IF_ERROR(
          give(fmt::format("operation {} moved to the end", i), [&](Model& model) {
            auto& list = model.main.operations;
            std::rotate(list.begin() + static_cast<std::ptrdiff_t>(i),
                        list.begin() + static_cast<std::ptrdiff_t>(i) + 1, list.end());
          }));
    }
    return okStatus();
  }

  // Removes an operand from the table. Larger indices stay, so that the last one is outside.
  Status removals() {
    for (size_t i = 0; i < operandCount(); ++i) {
      HALYARD_RETURN_IF_ERROR(give(fmt::format("operand {} removed", i), [&](Model& model) {
        auto& list = model.main.operands;
        list.erase(list.begin() + static_cast<std::ptrdiff_t>(i));
      }));
    }
    for (size_t i = 0; i < base_.main.operations.size(); ++i) {
      HALYARD_RETURN_IF_ERROR(give(fmt::format("operation {} removed", i), [&](Model& model) {
        auto& list = model.main.operations;
        list.erase(list.begin() + static_cast<std::ptrdiff_t>(i));
      }));
    }
    return okStatus();
  }

  const Model& base_;
  const FeatureLevel level_;
  const std::function<Status(const Mutation&)>& use_;
  const std::vector<uint32_t> consumers_;
};

}  // namespace

Status forEachMutation(const Model& model, FeatureLevel level,
                       const std::function<Status(const Mutation&)>& use) {
  return Mutator(model, level, use).run();
}

}  // namespace halyard::validation
