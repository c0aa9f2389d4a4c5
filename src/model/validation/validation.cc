// Validates models: operands, lists, order, operations. See validation.h.
#include "model/validation/validation.h"

#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "base/first_index.h"
#include "model/signature.h"
#include "model/validation/control_flow_sizes.h"
#include "model/validation/extension_table.h"
#include "ops/operation.h"

namespace halyard {
namespace {

Status validateExtraParams(const Operand& operand) {
  const auto* quant = std::get_if<SymmPerChannelQuantParams>(&operand.extraParams);
  if (operand.type == OperandType::TENSOR_QUANT8_SYMM_PER_CHANNEL) {
    if (quant == nullptr) return badData("per-channel quantisation parameters are missing");
    if (quant->channelDim >= operand.dimensions.size()) {
      return badData("channel dimension {} of a tensor {}", quant->channelDim,
                     shapeText(operand.dimensions));
    }
    const uint32_t channels = operand.dimensions[quant->channelDim];
    if (channels == 0)
      return badData("the size of channel dimension {} is unknown", quant->channelDim);
    if (quant->scales.size() != channels) {
      return badData("{} per-channel scales for {} channels", quant->scales.size(), channels);
    }
    const float* const scales = quant->scales.data();
    const size_t bad = firstIndex(channels, [scales](size_t i) {
      return !(scales[i] > 0) | (scales[i] > std::numeric_limits<float>::max());
    });
    if (bad == channels) return okStatus();
    return badData("scale {} of channel {}, expected a positive number", scales[bad], bad);
  }
  if (quant != nullptr) {
    return badData("{} with per-channel quantisation parameters", operandTypeName(operand.type));
  }
  if (std::holds_alternative<std::vector<uint8_t>>(operand.extraParams) &&
      !isExtension(operand.type)) {
    return badData("{} with extension parameters", operandTypeName(operand.type));
  }
  return okStatus();
}

Status validateLocation(const Model& model, const Operand& operand) {
  const DataLocation& at = operand.location;
  const uint64_t end = uint64_t{at.offset} + at.length;
  switch (operand.lifetime) {
    case Lifetime::CONSTANT_COPY:
      if (at.poolIndex != 0)
        return badData("pool {} of a copied constant, expected 0", at.poolIndex);
      if (end > model.operandValues.size()) {
        return badData("constant at bytes {} to {} of {} bytes of operand values", at.offset, end,
                       model.operandValues.size());
      }
      return okStatus();
    case Lifetime::CONSTANT_REFERENCE:
      if (at.poolIndex >= model.pools.size()) {
        return badData("constant in pool {} of {} pools", at.poolIndex, model.pools.size());
      }
      if (end > model.pools[at.poolIndex]->size()) {
        return badData("constant at bytes {} to {} of a pool of {} bytes", at.offset, end,
                       model.pools[at.poolIndex]->size());
      }
      return okStatus();
    case Lifetime::SUBGRAPH:
      if (at.poolIndex != 0 || at.length != 0) return badData("a subgraph reference with data");
      if (at.offset >= model.referenced.size()) {
        return badData("reference to subgraph {} of {}", at.offset, model.referenced.size());
      }
      return okStatus();
    case Lifetime::TEMPORARY_VARIABLE:
    case Lifetime::SUBGRAPH_INPUT:
    case Lifetime::SUBGRAPH_OUTPUT:
    case Lifetime::NO_VALUE:
      if (at.poolIndex != 0 || at.offset != 0 || at.length != 0) {
        return badData("{} with the location of a constant", lifetimeName(operand.lifetime));
      }
      return okStatus();
  }
  return badData("unknown lifetime {}", static_cast<int>(operand.lifetime));
}

Status validateOperand(const Model& model, const Operand& operand) {
  HALYARD_RETURN_IF_ERROR(
      validateOperandType(operand.type, operand.dimensions, operand.scale, operand.zeroPoint));
  HALYARD_RETURN_IF_ERROR(validateExtraParams(operand));
  if ((operand.type == OperandType::MODEL) != (operand.lifetime == Lifetime::SUBGRAPH)) {
    return badData("type {} with lifetime {}", operandTypeName(operand.type),
                   lifetimeName(operand.lifetime));
  }
  HALYARD_RETURN_IF_ERROR(validateLocation(model, operand));
  if (operand.lifetime != Lifetime::CONSTANT_COPY &&
      operand.lifetime != Lifetime::CONSTANT_REFERENCE) {
    return okStatus();
  }
  const OperandTypeTraits* traits = operandTypeTraits(operand.type);
  if (traits == nullptr || traits->scale == ScaleRule::UNCHECKED) return okStatus();
  const std::optional<uint32_t> size = knownByteSize(operand.type, operand.dimensions);
  if (!size)
    return badData("a constant needs known dimensions, has {}", shapeText(operand.dimensions));
  if (*size != operand.location.length) {
    return badData("a constant of {} bytes, its type and dimensions need {}",
                   operand.location.length, *size);
  }
  return okStatus();
}

// Validates one of a subgraph's lists of inputs or outputs.
Status validateList(const Subgraph& subgraph, std::span<const uint32_t> list, Lifetime lifetime,
                    std::string_view what) {
  std::vector<bool> listed(subgraph.operands.size(), false);
  for (size_t i = 0; i < list.size(); ++i) {
    const uint32_t index = list[i];
    if (index >= subgraph.operands.size()) {
      return badData("{} {} is operand #{} of {}", what, i, index, subgraph.operands.size());
    }
    if (subgraph.operands[index].lifetime != lifetime) {
      return badData("{} {} is operand #{} with lifetime {}", what, i, index,
                     lifetimeName(subgraph.operands[index].lifetime));
    }
    if (listed[index]) return badData("operand #{} is listed twice as {}", index, what);
    listed[index] = true;
  }
  for (size_t i = 0; i < listed.size(); ++i) {
    if (subgraph.operands[i].lifetime == lifetime && !listed[i]) {
      return badData("operand #{} has lifetime {} but is not in the list of {}s", i,
                     lifetimeName(lifetime), what);
    }
  }
  return okStatus();
}

Status validateIndices(const Subgraph& subgraph, const Operation& operation) {
  for (size_t i = 0; i < operation.inputs.size(); ++i) {
    if (operation.inputs[i] >= subgraph.operands.size()) {
      return badData("input {} is operand #{} of {}", i, operation.inputs[i],
                     subgraph.operands.size());
    }
  }
  for (size_t i = 0; i < operation.outputs.size(); ++i) {
    if (operation.outputs[i] >= subgraph.operands.size()) {
      return badData("output {} is operand #{} of {}", i, operation.outputs[i],
                     subgraph.operands.size());
    }
  }
  return okStatus();
}

// Walks the operations in order. Each input must have a value before its use, and each output must
// get exactly one value.
Status validateOrder(const Subgraph& subgraph) {
  std::vector<bool> known(subgraph.operands.size());
  for (size_t i = 0; i < known.size(); ++i) {
    const Lifetime lifetime = subgraph.operands[i].lifetime;
    known[i] = lifetime != Lifetime::TEMPORARY_VARIABLE && lifetime != Lifetime::SUBGRAPH_OUTPUT;
  }
  for (size_t n = 0; n < subgraph.operations.size(); ++n) {
    const Operation& operation = subgraph.operations[n];
    for (uint32_t index : operation.inputs) {
      if (!known[index]) {
        return badData("{} reads operand #{} before it is written",
                       operationText(n, operation.type), index);
      }
    }
    for (uint32_t index : operation.outputs) {
      if (known[index]) {
        return badData("{} writes operand #{}, which has a value already ({})",
                       operationText(n, operation.type), index,
                       lifetimeName(subgraph.operands[index].lifetime));
      }
      known[index] = true;
    }
  }
  for (size_t i = 0; i < known.size(); ++i) {
    if (!known[i]) {
      return badData("operand #{} ({}) is never written", i,
                     lifetimeName(subgraph.operands[i].lifetime));
    }
  }
  return okStatus();
}

// Indices of the subgraphs that `subgraph` refers to directly.
std::set<uint32_t> references(const Subgraph& subgraph) {
  std::set<uint32_t> result;
  for (const Operand& operand : subgraph.operands) {
    if (operand.lifetime == Lifetime::SUBGRAPH) result.insert(operand.location.offset);
  }
  return result;
}

// Searches the references depth-first. `path` holds the subgraphs being visited, `done` the cleared
// ones.
Status checkAcyclic(const Model& model, const Subgraph& subgraph, std::vector<uint8_t>& state) {
  // The search is iterative, because a hostile model may nest as deep as its size allows.
  struct Frame {
    std::vector<uint32_t> pending;
    uint32_t self;
  };
  constexpr uint32_t kMain = UINT32_MAX;
  const auto frameOf = [](const Subgraph& graph, uint32_t self) {
    const std::set<uint32_t> refs = references(graph);
    return Frame{{refs.begin(), refs.end()}, self};
  };
  std::vector<Frame> stack{frameOf(subgraph, kMain)};
  while (!stack.empty()) {
    Frame& top = stack.back();
    if (top.pending.empty()) {
      if (top.self != kMain) state[top.self] = 2;
      stack.pop_back();
      continue;
    }
    const uint32_t next = top.pending.back();
    top.pending.pop_back();
    if (next >= model.referenced.size()) continue;  // validateLocation reports it
    if (state[next] == 1) return badData("subgraph {} refers to itself in a cycle", next);
    if (state[next] == 2) continue;
    state[next] = 1;
    stack.push_back(frameOf(model.referenced[next], next));
  }
  return okStatus();
}

// Finds the first operation that needs more than `have`.
Status checkOperationLevels(const Model& model, const Subgraph& subgraph, FeatureLevel have) {
  for (size_t i = 0; i < subgraph.operations.size(); ++i) {
    HALYARD_ASSIGN_OR_RETURN(const FeatureLevel level, requiredFeatureLevel(model, subgraph, i));
    if (level > have) return newerOperation(model, subgraph, i, level, have);
  }
  return okStatus();
}

// `checked`: the level that the operations need, if each of them has been checked already.
Result<FeatureLevel> validateSubgraph(const Model& model, const Subgraph& subgraph,
                                      std::optional<FeatureLevel> checked = std::nullopt) {
  if (subgraph.operands.empty()) return badData("there are no operands");
  if (subgraph.operations.empty()) return badData("there are no operations");
  for (size_t i = 0; i < subgraph.operands.size(); ++i) {
    HALYARD_RETURN_IF_ERROR(validateOperand(model, subgraph.operands[i]), "operand #{}", i);
  }
  HALYARD_RETURN_IF_ERROR(
      validateList(subgraph, subgraph.inputIndexes, Lifetime::SUBGRAPH_INPUT, "model input"));
  HALYARD_RETURN_IF_ERROR(
      validateList(subgraph, subgraph.outputIndexes, Lifetime::SUBGRAPH_OUTPUT, "model output"));
  for (size_t i = 0; i < subgraph.operations.size(); ++i) {
    HALYARD_RETURN_IF_ERROR(validateIndices(subgraph, subgraph.operations[i]), "{}",
                            operationText(i, subgraph.operations[i].type));
  }
  FeatureLevel level = checked.value_or(FeatureLevel::FL1);
  for (size_t i = 0; !checked && i < subgraph.operations.size(); ++i) {
    HALYARD_ASSIGN_OR_RETURN(const FeatureLevel needed, requiredFeatureLevel(model, subgraph, i));
    level = std::max(level, needed);
  }
  HALYARD_RETURN_IF_ERROR(validateOrder(subgraph));
  return level;
}

Status validatePools(const Model& model) {
  for (size_t i = 0; i < model.pools.size(); ++i) {
    const SharedMemoryPtr& pool = model.pools[i];
    if (pool == nullptr || pool->fd() < 0) return badData("pool {} has no file descriptor", i);
    if (pool->size() == 0 && pool->kind() != MemoryKind::HARDWARE_BUFFER) {
      return badData("pool {} is of size 0", i);
    }
    if ((pool->prot() & ~(PROT_READ | PROT_WRITE)) != 0) {
      return badData("pool {} has protection bits {:#x}", i, pool->prot());
    }
  }
  return okStatus();
}

}  // namespace

Status validateOperandType(OperandType type, const Shape& dimensions, float scale,
                           int32_t zeroPoint) {
  const auto name = [type] { return operandTypeName(type); };
  const OperandTypeTraits* traits = operandTypeTraits(type);
  if (traits == nullptr) {
    if (!isExtension(type)) return badData("{}", name());
    if (scale != 0 || zeroPoint != 0) {
      return badData("{} with scale {} and zero point {}, expected 0 and 0", name(), scale,
                     zeroPoint);
    }
    return checkSizeFits(type, dimensions);
  }
  if (traits->scalar && !dimensions.empty()) {
    return badData("{} is a scalar, but has dimensions {}", name(), shapeText(dimensions));
  }
  HALYARD_RETURN_IF_ERROR(checkSizeFits(type, dimensions));
  const bool finite = std::isfinite(scale);
  switch (traits->scale) {
    case ScaleRule::UNCHECKED:
      return okStatus();
    case ScaleRule::ZERO:
      if (scale != 0) return badData("{} with scale {}, expected 0", name(), scale);
      break;
    case ScaleRule::NON_NEGATIVE:
      if (!finite || scale < 0)
        return badData("{} with scale {}, expected 0 or more", name(), scale);
      break;
    case ScaleRule::POSITIVE:
      if (!finite || scale <= 0)
        return badData("{} with scale {}, expected more than 0", name(), scale);
      break;
  }
  if (zeroPoint < traits->zeroPointMin || zeroPoint > traits->zeroPointMax) {
    return badData("{} with zero point {}, expected {} to {}", name(), zeroPoint,
                   traits->zeroPointMin, traits->zeroPointMax);
  }
  return okStatus();
}

Result<FeatureLevel> requiredFeatureLevel(const Model& model, const Subgraph& subgraph,
                                          size_t operationIndex) {
  const Operation& operation = subgraph.operations[operationIndex];
  const auto context = [&] { return operationText(operationIndex, operation.type); };
  FeatureLevel level = FeatureLevel::FL1;
  for (uint32_t index : operation.inputs) {
    level = std::max(level, requiredFeatureLevel(model, subgraph.operands[index]));
  }
  for (uint32_t index : operation.outputs) {
    level = std::max(level, requiredFeatureLevel(model, subgraph.operands[index]));
  }
  if (operation.type == OperationType::OEM_OPERATION) return level;
  if (isExtension(operation.type)) level = std::max(level, FeatureLevel::FL3);
  const ops::OperationDefinition* definition = ops::definitionOf(operation.type);
  if (definition == nullptr && isExtension(operation.type)) return level;
  if (definition == nullptr) return badData("{}", context());  // "unknown operation 4711"
  HALYARD_ASSIGN_OR_RETURN(
      const FeatureLevel needed,
      ops::checkSignature(definition->signature, ops::OperationView(model, subgraph, operation)),
      "{}", context());
  return std::max(level, needed);
}

FeatureLevel requiredFeatureLevel(MemoryKind kind) {
  const bool old = kind == MemoryKind::ASHMEM || kind == MemoryKind::MMAP_FD;
  return old ? FeatureLevel::FL1 : FeatureLevel::FL3;
}

FeatureLevel requiredFeatureLevel(const Model& model, const Operand& operand) {
  FeatureLevel level = FeatureLevel::FL1;
  const OperandTypeTraits* traits = operandTypeTraits(operand.type);
  level = std::max(level, traits ? traits->since : FeatureLevel::FL3);
  const bool scalar = traits != nullptr && traits->scalar;
  if (!scalar && operand.dimensions.empty()) level = std::max(level, FeatureLevel::FL3);
  if (operand.lifetime == Lifetime::SUBGRAPH) level = std::max(level, FeatureLevel::FL4);
  // A model under construction may refer to a pool that is created when the model is finished.
  if (operand.lifetime == Lifetime::CONSTANT_REFERENCE &&
      operand.location.poolIndex < model.pools.size()) {
    level = std::max(level, requiredFeatureLevel(model.pools[operand.location.poolIndex]->kind()));
  }
  return level;
}

std::string whyNewer(const Model& model, const Operand& operand, FeatureLevel have) {
  if (requiredFeatureLevel(model, operand) <= have) return {};
  const std::string name = operandTypeName(operand.type);
  const OperandTypeTraits* traits = operandTypeTraits(operand.type);
  const FeatureLevel typeLevel = traits ? traits->since : FeatureLevel::FL3;
  if (typeLevel > have) {
    return fmt::format("is of type {}, which needs {}", name, featureLevelName(typeLevel));
  }
  if (operand.lifetime == Lifetime::CONSTANT_REFERENCE) {
    const MemoryKind kind = model.pools[operand.location.poolIndex]->kind();
    if (requiredFeatureLevel(kind) > have) {
      return fmt::format("is a constant in a pool of kind {}, which needs {}", memoryKindName(kind),
                         featureLevelName(requiredFeatureLevel(kind)));
    }
  }
  return fmt::format("is a {} of unknown rank, which needs {}", name,
                     featureLevelName(FeatureLevel::FL3));
}

std::string whyNewer(const Model& model, const Subgraph& subgraph, size_t operationIndex,
                     FeatureLevel have) {
  const Operation& operation = subgraph.operations[operationIndex];
  const auto inList = [&](std::span<const uint32_t> list, std::string_view what) -> std::string {
    for (size_t i = 0; i < list.size(); ++i) {
      const std::string reason = whyNewer(model, subgraph.operands[list[i]], have);
      if (!reason.empty()) return fmt::format("{} {} (operand #{}) {}", what, i, list[i], reason);
    }
    return {};
  };
  const ops::OperationDefinition* definition = ops::definitionOf(operation.type);
  std::string reason = inList(operation.inputs, "input");
  if (reason.empty()) reason = inList(operation.outputs, "output");
  if (reason.empty() && definition != nullptr) {
    reason =
        ops::whyNewer(definition->signature, ops::OperationView(model, subgraph, operation), have);
  }
  if (reason.empty() && isExtension(operation.type) && have < FeatureLevel::FL3) {
    reason = fmt::format("extensions need {}", featureLevelName(FeatureLevel::FL3));
  }
  return reason;
}

Status newerOperation(const Model& model, const Subgraph& subgraph, size_t operationIndex,
                      FeatureLevel needed, FeatureLevel have) {
  return badData("{} needs {}, the device has {}: {}",
                 operationText(operationIndex, subgraph.operations[operationIndex].type),
                 featureLevelName(needed), featureLevelName(have),
                 whyNewer(model, subgraph, operationIndex, have));
}

Result<FeatureLevel> validateModel(const Model& model) {
  HALYARD_RETURN_IF_ERROR(validatePools(model));
  HALYARD_RETURN_IF_ERROR(validateExtensionTable(model.extensionNameToPrefix));
  std::vector<uint8_t> state(model.referenced.size(), 0);
  HALYARD_RETURN_IF_ERROR(checkAcyclic(model, model.main, state));
  HALYARD_ASSIGN_OR_RETURN(FeatureLevel level, validateSubgraph(model, model.main));
  for (size_t i = 0; i < model.referenced.size(); ++i) {
    HALYARD_ASSIGN_OR_RETURN(const FeatureLevel needed,
                             validateSubgraph(model, model.referenced[i]), "referenced subgraph {}",
                             i);
    level = std::max({level, needed, FeatureLevel::FL4});
  }
  return level;
}

Result<FeatureLevel> validateCheckedOperations(const Model& model, FeatureLevel level) {
  HALYARD_RETURN_IF_ERROR(validatePools(model));
  HALYARD_RETURN_IF_ERROR(validateExtensionTable(model.extensionNameToPrefix));
  if (!model.referenced.empty()) return validateModel(model);
  return validateSubgraph(model, model.main, level);
}

class ModelValidator {
 public:
  static ValidModel make(std::shared_ptr<const Model> model, FeatureLevel level) {
    return ValidModel(std::move(model), level);
  }
};

Result<ValidModel> validated(std::shared_ptr<const Model> model) {
  if (model == nullptr) return badData("there is no model");
  HALYARD_ASSIGN_OR_RETURN(const FeatureLevel level, validateModel(*model));
  return ModelValidator::make(std::move(model), level);
}

Result<ValidModel> validated(Model model) {
  return validated(std::make_shared<const Model>(std::move(model)));
}

ValidModel validByConstruction(std::shared_ptr<const Model> model, FeatureLevel level) {
  return ModelValidator::make(std::move(model), level);
}

Result<ValidModel> validatedForLevel(std::shared_ptr<const Model> model, FeatureLevel have) {
  HALYARD_ASSIGN_OR_RETURN(ValidModel valid, validated(std::move(model)));
  HALYARD_RETURN_IF_ERROR(checkForLevel(valid, have));
  return valid;
}

Result<ValidModel> validatedForLevel(Model model, FeatureLevel have) {
  return validatedForLevel(std::make_shared<const Model>(std::move(model)), have);
}

Status checkForLevel(const ValidModel& valid, FeatureLevel have) {
  const Model& model = *valid;
  if (valid.level() > have) {
    HALYARD_RETURN_IF_ERROR(checkOperationLevels(model, model.main, have));
    for (size_t i = 0; i < model.referenced.size(); ++i) {
      HALYARD_RETURN_IF_ERROR(checkOperationLevels(model, model.referenced[i], have),
                              "referenced subgraph {}", i);
    }
    if (!model.referenced.empty() && have < FeatureLevel::FL4) {
      return badData("the model's subgraphs need {}, the device has {}",
                     featureLevelName(FeatureLevel::FL4), featureLevelName(have));
    }
  }
  HALYARD_RETURN_IF_ERROR(checkBoundarySizes(model));
  if (have >= FeatureLevel::FL4) return okStatus();  // no later level has added operand features
  for (size_t i = 0; i < model.pools.size(); ++i) {
    const MemoryKind kind = model.pools[i]->kind();
    if (requiredFeatureLevel(kind) > have) {
      return badData("pool {} is of kind {}, which needs {}; the device has {}", i,
                     memoryKindName(kind), featureLevelName(requiredFeatureLevel(kind)),
                     featureLevelName(have));
    }
  }
  for (size_t i = 0; i < model.main.operands.size(); ++i) {
    const std::string reason = whyNewer(model, model.main.operands[i], have);
    if (!reason.empty()) {
      return badData("operand #{} {}; the device has {}", i, reason, featureLevelName(have));
    }
  }
  return okStatus();
}

}  // namespace halyard
