#include "hal/core/version_adaptation.h"

#include <algorithm>
#include <map>

#include "model/validation/control_flow_sizes.h"
#include "model/validation/validation.h"

namespace halyard::hal {
namespace {

constexpr HalVersion kVersionOfBuffers = HalVersion::V1_3;

std::string newer(FeatureLevel needed, FeatureLevel have, std::string_view why) {
  return fmt::format("needs {}, the device has {}: {}", featureLevelName(needed),
                     featureLevelName(have), why);
}

std::string runtimesOwn(std::string_view unknown) {
  return fmt::format("is control flow of unknown sizes, which no driver gets: {}", unknown);
}

// The requirements for a device.
struct Need {
  FeatureLevel level = FeatureLevel::FL4;
  bool unknownSizes = false;  // for control flow that no driver supports

  bool covers(const Need& other) const {
    return level >= other.level && unknownSizes >= other.unknownSizes;
  }
  void add(const Need& other) {
    level = std::max(level, other.level);
    unknownSizes = unknownSizes || other.unknownSizes;
  }
};

// Returns the needs of each referenced subgraph, including all its references. The references of a
// valid model have no cycle. Only the model's size limits their depth, so nothing here recurses.
std::vector<Need> needsOfReferenced(const Model& model) {
  const size_t count = model.referenced.size();
  std::vector<Need> needs(count);
  std::vector<std::vector<uint32_t>> users(count);  // the subgraphs that refer to it
  std::vector<size_t> changed;
  for (size_t i = 0; i < count; ++i) {
    const Subgraph& subgraph = model.referenced[i];
    for (size_t n = 0; n < subgraph.operations.size(); ++n) {
      const Result<FeatureLevel> level = requiredFeatureLevel(model, subgraph, n);
      needs[i].add({level.ok() ? *level : FeatureLevel::FL8,
                    !unknownSizeAtBoundary(model, subgraph, subgraph.operations[n]).empty()});
    }
    for (const Operand& operand : subgraph.operands) {
      if (operand.lifetime == Lifetime::SUBGRAPH && operand.location.offset < count) {
        users[operand.location.offset].push_back(static_cast<uint32_t>(i));
      }
    }
    changed.push_back(i);
  }
  while (!changed.empty()) {
    const size_t i = changed.back();
    changed.pop_back();
    for (const uint32_t user : users[i]) {
      if (needs[user].covers(needs[i])) continue;
      needs[user].add(needs[i]);
      changed.push_back(user);
    }
  }
  return needs;
}

// The same for one operation of the main subgraph; nullopt when it complies.
std::optional<NoncompliantOperation> verdictOn(const Model& model, size_t index, FeatureLevel have,
                                               const std::vector<Need>& referenced) {
  const Subgraph& main = model.main;
  const Result<FeatureLevel> needed = requiredFeatureLevel(model, main, index);
  if (!needed.ok()) {
    return NoncompliantOperation{index, newer(FeatureLevel::FL8, have, needed.status().message())};
  }
  if (*needed > have) {
    return NoncompliantOperation{index, newer(*needed, have, whyNewer(model, main, index, have))};
  }
  const std::string unknown = unknownSizeAtBoundary(model, main, main.operations[index]);
  if (!unknown.empty()) return NoncompliantOperation{index, runtimesOwn(unknown)};
  const OperandIndexes& inputs = main.operations[index].inputs;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Operand& operand = main.operands[inputs[i]];
    if (operand.lifetime != Lifetime::SUBGRAPH) continue;
    const Need& inside = referenced[operand.location.offset];
    if (inside.level <= have && !inside.unknownSizes) continue;
    const std::string reference = fmt::format("input {} (operand #{}) refers to subgraph {}, which",
                                              i, inputs[i], operand.location.offset);
    return NoncompliantOperation{
        index, inside.level > have
                   ? newer(inside.level, have,
                           fmt::format("{} has operations of {}", reference,
                                       featureLevelName(inside.level)))
                   : runtimesOwn(fmt::format("{} has an operation of that sort", reference))};
  }
  return std::nullopt;
}

std::vector<NoncompliantOperation> noncompliantOperations(const Model& model, FeatureLevel have) {
  std::vector<NoncompliantOperation> found;
  // The model has no newer features and no control flow.
  if (have >= FeatureLevel::FL8 && model.referenced.empty()) return found;
  const std::vector<Need> referenced = needsOfReferenced(model);
  for (size_t i = 0; i < model.main.operations.size(); ++i) {
    if (auto verdict = verdictOn(model, i, have, referenced)) found.push_back(std::move(*verdict));
  }
  return found;
}

// Removes the pools that no operand refers to, because the version may not know their kind.
void dropUnusedPools(Model& model) {
  std::map<uint32_t, uint32_t> kept;  // new index by old index
  std::vector<SharedMemoryPtr> pools;
  for (Operand& operand : model.main.operands) {
    if (operand.lifetime != Lifetime::CONSTANT_REFERENCE) continue;
    const auto [it, isNew] =
        kept.emplace(operand.location.poolIndex, static_cast<uint32_t>(pools.size()));
    if (isNew) pools.push_back(model.pools[operand.location.poolIndex]);
    operand.location.poolIndex = it->second;
  }
  model.pools = std::move(pools);
}

std::vector<bool> usedOperands(const Subgraph& subgraph) {
  std::vector<bool> used(subgraph.operands.size(), false);
  for (const Operation& operation : subgraph.operations) {
    for (const uint32_t index : operation.inputs) used[index] = true;
    for (const uint32_t index : operation.outputs) used[index] = true;
  }
  return used;
}

// Replaces the operands that no operation uses and that are newer than `have`.
Status dropNewUnusedOperands(Model& model, FeatureLevel have) {
  const std::vector<bool> used = usedOperands(model.main);
  for (size_t i = 0; i < used.size(); ++i) {
    Operand& operand = model.main.operands[i];
    if (used[i]) continue;
    const std::string reason = whyNewer(model, operand, have);
    if (reason.empty()) continue;
    if (operand.lifetime == Lifetime::SUBGRAPH_INPUT) {
      return badData("operand #{}, an input that no operation reads, {}; the device has {}", i,
                     reason, featureLevelName(have));
    }
    operand = Operand();
    operand.type = OperandType::INT32;
    operand.lifetime = Lifetime::NO_VALUE;
  }
  return okStatus();
}

bool needsConversion(const Model& model, HalVersion version) {
  // Later versions have no new operands or pools.
  if (version >= HalVersion::V1_3) return false;
  const FeatureLevel have = featureLevelOf(version);
  if (version < HalVersion::V1_1 && model.relaxComputationFloat32toFloat16) return true;
  if (version < HalVersion::V1_2 && !model.extensionNameToPrefix.empty()) return true;
  if (version < HalVersion::V1_3 && !model.referenced.empty()) return true;
  return std::any_of(model.pools.begin(), model.pools.end(),
                     [&](const SharedMemoryPtr& pool) {
                       return requiredFeatureLevel(pool->kind()) > have;
                     }) ||
         std::any_of(
             model.main.operands.begin(), model.main.operands.end(),
             [&](const Operand& operand) { return requiredFeatureLevel(model, operand) > have; });
}

// Cuts the compliant operations out of a model.
class Slicer {
 public:
  struct Slice {
    std::shared_ptr<const Model> model;
    std::vector<size_t> operations;
  };
  Slicer(const Model& model, std::vector<bool> taken)
      : from_(model), taken_(std::move(taken)), newIndex_(model.main.operands.size()) {}

  std::optional<Slice> run() {
    const Subgraph& main = from_.main;
    findRoles();
    auto model = std::make_shared<Model>();
    to_ = model.get();
    Slice slice;
    for (size_t i = 0; i < main.operations.size(); ++i) {
      if (!taken_[i]) continue;
      Operation operation;
      operation.type = main.operations[i].type;
      for (const uint32_t index : main.operations[i].inputs) {
        if (main.operands[index].lifetime == Lifetime::SUBGRAPH) return std::nullopt;
        operation.inputs.push_back(operandOf(index));
      }
      for (const uint32_t index : main.operations[i].outputs) {
        operation.outputs.push_back(operandOf(index));
      }
      to_->main.operations.push_back(std::move(operation));
      slice.operations.push_back(i);
    }
    if (slice.operations.empty() || to_->main.outputIndexes.empty()) return std::nullopt;
    to_->operandValues = from_.operandValues;
    to_->pools = from_.pools;
    to_->extensionNameToPrefix = from_.extensionNameToPrefix;
    slice.model = std::move(model);
    return slice;
  }

 private:
  // Finds the operands that each operation in the slice writes, and the operands that operations
  // inside and outside read.
  void findRoles() {
    const Subgraph& main = from_.main;
    written_.resize(main.operands.size());
    readInside_.resize(main.operands.size());
    readOutside_.resize(main.operands.size());
    for (size_t i = 0; i < main.operations.size(); ++i) {
      for (const uint32_t index : main.operations[i].outputs) {
        if (taken_[i]) written_[index] = true;
      }
      for (const uint32_t index : main.operations[i].inputs) {
        (taken_[i] ? readInside_ : readOutside_)[index] = true;
      }
    }
  }

  // Returns the operand's index in the slice, and adds it at the first request.
  uint32_t operandOf(uint32_t index) {
    if (newIndex_[index]) return *newIndex_[index];
    Operand operand = from_.main.operands[index];
    switch (operand.lifetime) {
      case Lifetime::SUBGRAPH_INPUT:
        return *(newIndex_[index] = inputLike(std::move(operand)));
      case Lifetime::TEMPORARY_VARIABLE:
      case Lifetime::SUBGRAPH_OUTPUT:
        // Results of operations outside the slice become inputs.
        if (!written_[index]) return *(newIndex_[index] = inputLike(std::move(operand)));
        if (operand.lifetime == Lifetime::TEMPORARY_VARIABLE && !readInside_[index] &&
            readOutside_[index]) {
          operand.lifetime = Lifetime::SUBGRAPH_OUTPUT;
        }
        break;
      default:
        break;
    }
    newIndex_[index] = add(std::move(operand));
    if (to_->main.operands.back().lifetime == Lifetime::SUBGRAPH_OUTPUT) {
      to_->main.outputIndexes.push_back(*newIndex_[index]);
    }
    return *newIndex_[index];
  }

  // Returns an input of the slice. Inputs of the same form share one.
  uint32_t inputLike(Operand operand) {
    operand.lifetime = Lifetime::SUBGRAPH_INPUT;
    for (const uint32_t index : to_->main.inputIndexes) {
      const Operand& other = to_->main.operands[index];
      if (other.type == operand.type && other.dimensions == operand.dimensions &&
          other.scale == operand.scale && other.zeroPoint == operand.zeroPoint &&
          other.extraParams == operand.extraParams) {
        return index;
      }
    }
    const uint32_t index = add(std::move(operand));
    to_->main.inputIndexes.push_back(index);
    return index;
  }

  uint32_t add(Operand operand) {
    to_->main.operands.push_back(std::move(operand));
    return static_cast<uint32_t>(to_->main.operands.size() - 1);
  }

  const Model& from_;
  const std::vector<bool> taken_;
  std::vector<std::optional<uint32_t>> newIndex_;
  std::vector<bool> written_;
  std::vector<bool> readInside_;
  std::vector<bool> readOutside_;
  Model* to_ = nullptr;
};

bool same(PerformanceInfo a, PerformanceInfo b) {
  return a.execTime == b.execTime && a.powerUsage == b.powerUsage;
}

Status checkSame(PerformanceInfo a, std::string_view what, PerformanceInfo b,
                 std::string_view expected, HalVersion version) {
  if (same(a, b)) return okStatus();
  return badData(
      "{} has execution time {} and power usage {}, {} has {} and {}: HAL {} has one figure for "
      "both",
      what, a.execTime, a.powerUsage, expected, b.execTime, b.powerUsage, halVersionName(version));
}

}  // namespace

Status compliantWith(const Model& model, FeatureLevel have,
                     std::vector<NoncompliantOperation>* all) {
  std::vector<NoncompliantOperation> found = noncompliantOperations(model, have);
  Status status;
  if (!found.empty()) {
    const NoncompliantOperation& first = found.front();
    status = badData("{} {}", operationText(first.index, model.main.operations[first.index].type),
                     first.reason);
  }
  if (all != nullptr) *all = std::move(found);
  return status;
}

Result<ValidModel> convertTo(const ValidModel& model, HalVersion version) {
  if (!needsConversion(*model, version)) return model;
  auto converted = std::make_shared<Model>(*model);
  HALYARD_RETURN_IF_ERROR(dropNewUnusedOperands(*converted, featureLevelOf(version)));
  if (version < HalVersion::V1_1) converted->relaxComputationFloat32toFloat16 = false;
  if (version < HalVersion::V1_2) {
    converted->extensionNameToPrefix.clear();
    dropUnusedPools(*converted);
  }
  if (version < HalVersion::V1_3) converted->referenced.clear();
  return validated(std::move(converted));
}

std::optional<ModelSlice> sliceFor(const ValidModel& model, FeatureLevel have) {
  std::vector<bool> taken(model->main.operations.size(), true);
  for (const NoncompliantOperation& operation : noncompliantOperations(*model, have)) {
    taken[operation.index] = false;
  }
  std::optional<Slicer::Slice> slice = Slicer(*model, std::move(taken)).run();
  if (!slice) return std::nullopt;
  Result<ValidModel> valid = validated(std::move(slice->model));
  if (!valid.ok() || valid->level() > have) return std::nullopt;
  return ModelSlice{std::move(*valid), std::move(slice->operations)};
}

Result<SupportedOperations> supportedOperations(const ValidModel& model, FeatureLevel have,
                                                const AskSupported& ask) {
  std::vector<NoncompliantOperation> newer;
  if (compliantWith(*model, have, &newer).ok()) return ask(model);
  SupportedOperations supported(
      model->main.operations.size(),
      OperationSupport::no("its driver cannot be asked about a part of this model"));
  for (NoncompliantOperation& each : newer) supported[each.index].reason = std::move(each.reason);
  const std::optional<ModelSlice> slice = sliceFor(model, have);
  if (!slice) return supported;
  HALYARD_ASSIGN_OR_RETURN(SupportedOperations answers, ask(slice->model),
                           "the operations that {} has", featureLevelName(have));
  if (answers.size() != slice->operations.size()) {
    return opFailed("it answers for {} operations; {} were asked about", answers.size(),
                    slice->operations.size());
  }
  for (size_t i = 0; i < answers.size(); ++i) {
    supported[slice->operations[i]] = std::move(answers[i]);
  }
  return supported;
}

Status compliantWith(const Capabilities& capabilities, HalVersion version) {
  if (version >= HalVersion::V1_2) return okStatus();
  const PerformanceInfo float32 = capabilities.lookup(OperandType::TENSOR_FLOAT32);
  const PerformanceInfo quant8 = capabilities.lookup(OperandType::TENSOR_QUANT8_ASYMM);
  const PerformanceInfo relaxed = capabilities.relaxedFloat32toFloat16PerformanceTensor;
  const auto nameOf = [](OperandType type) { return operandTypeName(type); };
  HALYARD_RETURN_IF_ERROR(checkSame(capabilities.lookup(OperandType::FLOAT32),
                                    nameOf(OperandType::FLOAT32), float32,
                                    nameOf(OperandType::TENSOR_FLOAT32), version));
  HALYARD_RETURN_IF_ERROR(checkSame(capabilities.relaxedFloat32toFloat16PerformanceScalar,
                                    "relaxed scalar performance", relaxed,
                                    "relaxed tensor performance", version));
  if (version < HalVersion::V1_1) {
    HALYARD_RETURN_IF_ERROR(checkSame(relaxed, "relaxed tensor performance", float32,
                                      nameOf(OperandType::TENSOR_FLOAT32), version));
  }
  for (const OperandTypeTraits& traits : allOperandTypes()) {
    const bool isFloat =
        traits.type == OperandType::FLOAT32 || traits.type == OperandType::TENSOR_FLOAT32;
    if (traits.since != FeatureLevel::FL1 || isFloat) continue;
    HALYARD_RETURN_IF_ERROR(checkSame(capabilities.lookup(traits.type), nameOf(traits.type), quant8,
                                      nameOf(OperandType::TENSOR_QUANT8_ASYMM), version));
  }
  return okStatus();
}

Status compliantWith(MemoryKind kind, HalVersion version) {
  if (requiredFeatureLevel(kind) <= featureLevelOf(version)) return okStatus();
  return badData("memory of kind {} needs {}, the prepared model has HAL {}", memoryKindName(kind),
                 featureLevelName(requiredFeatureLevel(kind)), halVersionName(version));
}

Status compliantWith(const Request& request, HalVersion version) {
  for (size_t i = 0; i < request.pools.size(); ++i) {
    if (const auto* memory = std::get_if<SharedMemoryPtr>(&request.pools[i])) {
      if (*memory == nullptr) continue;  // validateRequest reports it
      HALYARD_RETURN_IF_ERROR(compliantWith((*memory)->kind(), version), "request pool {}", i);
    } else if (version < kVersionOfBuffers) {
      return badData(
          "request pool {} is a buffer of the driver, which needs HAL {}; the prepared "
          "model has HAL {}",
          i, halVersionName(kVersionOfBuffers), halVersionName(version));
    }
  }
  return okStatus();
}

}  // namespace halyard::hal
