// Builds and finishes models by the rules of the API's model functions.
#include "runtime/model/model_builder.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include "base/verbose_log.h"
#include "model/graph_dump.h"
#include "model/validation/validation.h"
#include "ops/operation.h"
#include "runtime/cache/cache_key.h"

namespace halyard::runtime {
namespace {

constexpr size_t kImmediatelyCopied = 128;  // ANEURALNETWORKS_MAX_SIZE_OF_IMMEDIATELY_COPIED_VALUES
// Larger constants go to a pool, unless their total is at most this size. Making and passing a pool
// takes longer than copying the bytes.
constexpr uint64_t kMostInModel = 4096;
constexpr uint32_t kPendingPool = UINT32_MAX;  // a large constant that finish() will place
constexpr uint32_t kMaxEntries = 0xFFFFFFFE;
// The capacity for a small model. Unused memory is not touched.
constexpr size_t kFewOperands = 64;
constexpr size_t kFewOperations = 32;

// Adds `source` and its referenced subgraphs to `target.referenced`. Returns its index there.
uint32_t appendReferenced(Model& target, const Model& source) {
  std::vector<uint32_t> poolIndex;
  for (const SharedMemoryPtr& pool : source.pools) {
    const auto it = std::find(target.pools.begin(), target.pools.end(), pool);
    poolIndex.push_back(static_cast<uint32_t>(it - target.pools.begin()));
    if (it == target.pools.end()) target.pools.push_back(pool);
  }
  std::vector<uint8_t>& values = target.operandValues;
  values.resize((values.size() + 3) / 4 * 4);
  const auto valueShift = static_cast<uint32_t>(values.size());
  values.insert(values.end(), source.operandValues.begin(), source.operandValues.end());

  const auto self = static_cast<uint32_t>(target.referenced.size());
  const auto append = [&](const Subgraph& subgraph) {
    target.referenced.push_back(subgraph);
    for (Operand& operand : target.referenced.back().operands) {
      if (operand.lifetime == Lifetime::CONSTANT_COPY) operand.location.offset += valueShift;
      if (operand.lifetime == Lifetime::CONSTANT_REFERENCE) {
        operand.location.poolIndex = poolIndex[operand.location.poolIndex];
      }
      // The main subgraph comes first, then its referenced ones in order.
      if (operand.lifetime == Lifetime::SUBGRAPH) operand.location.offset += self + 1;
    }
  };
  append(source.main);
  for (const Subgraph& subgraph : source.referenced) append(subgraph);
  return self;
}

}  // namespace

Status validateGivenType(OperandType type, const Shape& dimensions, float scale,
                         int32_t zeroPoint) {
  if (type == OperandType::TENSOR_INT32) return validateOperandType(type, dimensions, 0, 0);
  return validateOperandType(type, dimensions, scale, zeroPoint);
}

ModelBuilder::ModelBuilder(ExtensionRegistry& extensions)
    : extensions_(extensions), constantDigests_(std::make_shared<ConstantDigests>()) {
  building_.main.operands.reserve(kFewOperands);
  building_.main.operations.reserve(kFewOperations);
}

Status ModelBuilder::checkBuilding() const {
  switch (state_) {
    case State::BUILDING:
      return okStatus();
    case State::FINISHED:
      return badState("the model is finished and cannot be changed any more");
    case State::INVALID:
      return badState("the model failed to finish and cannot be changed any more");
  }
  return okStatus();
}

Status ModelBuilder::checkFinished() const {
  if (state_ == State::BUILDING) return badState("the model is not finished");
  if (state_ == State::INVALID) return badState("the model failed to finish");
  return okStatus();
}

Result<Operand*> ModelBuilder::changeableOperand(uint32_t index) {
  HALYARD_ASSIGN_OR_RETURN(Operand * operand, operandAt(index));
  if (!building_.main.operations.empty()) areOperationsChecked_ = false;
  return operand;
}

Result<Operand*> ModelBuilder::operandAt(uint32_t index) {
  if (index >= building_.main.operands.size()) {
    return badData("operand #{} of {}", index, building_.main.operands.size());
  }
  return &building_.main.operands[index];
}

Status ModelBuilder::addOperand(OperandType type, Shape dimensions, float scale,
                                int32_t zeroPoint) {
  HALYARD_RETURN_IF_ERROR(checkBuilding());
  const size_t index = building_.main.operands.size();
  if (index >= kMaxEntries) return badData("a model holds at most {} operands", kMaxEntries);
  HALYARD_RETURN_IF_ERROR(validateGivenType(type, dimensions, scale, zeroPoint), "operand #{}",
                          index);
  if (isExtension(type)) {
    HALYARD_ASSIGN_OR_RETURN(const hal::ExtensionOperandType entry, extensions_.operandType(type),
                             "operand #{}", index);
    if (!entry.isTensor && !dimensions.empty()) {
      return badData("operand #{}: {} is a scalar, but has dimensions {}", index,
                     operandTypeName(type), shapeText(dimensions));
    }
    HALYARD_RETURN_IF_ERROR(extensions_.byteSize(type, dimensions).status(), "operand #{}", index);
  }
  Operand operand;
  operand.type = type;
  operand.dimensions = std::move(dimensions);
  operand.scale = scale;
  operand.zeroPoint = zeroPoint;
  building_.main.operands.push_back(std::move(operand));
  return okStatus();
}

Result<std::optional<uint32_t>> ModelBuilder::requiredSize(const Operand& operand) const {
  if (operand.type == OperandType::OEM_SCALAR) return std::optional<uint32_t>();
  HALYARD_ASSIGN_OR_RETURN(const std::optional<uint32_t> size,
                           extensions_.byteSize(operand.type, operand.dimensions));
  if (!size) {
    return badData("a value for {} whose dimensions are not all known", operandText(operand));
  }
  return size;
}

Status ModelBuilder::checkValueLength(const Operand& operand, size_t length) const {
  if (length > UINT32_MAX) return badData("{} bytes, at most 4294967295 are possible", length);
  if (operand.type == OperandType::MODEL) return badData("a value for an operand of type MODEL");
  HALYARD_ASSIGN_OR_RETURN(const std::optional<uint32_t> needed, requiredSize(operand));
  if (needed && *needed != length) {
    return badData("{} bytes for {}, which needs {}", length, operandText(operand), *needed);
  }
  return okStatus();
}

void ModelBuilder::forgetValue(uint32_t index) {
  std::erase_if(largeConstants_, [index](const LargeConstant& c) { return c.operand == index; });
  std::erase_if(references_, [index](const Reference& r) { return r.operand == index; });
}

Status ModelBuilder::setOperandValue(uint32_t index, const void* buffer, size_t length) {
  HALYARD_RETURN_IF_ERROR(checkBuilding());
  HALYARD_ASSIGN_OR_RETURN(Operand * operand, changeableOperand(index));
  if (buffer == nullptr) {
    forgetValue(index);
    operand->lifetime = Lifetime::NO_VALUE;
    operand->location = {};
    return okStatus();
  }
  if (length == 0) return badData("operand #{}: a buffer of length 0", index);
  HALYARD_RETURN_IF_ERROR(checkValueLength(*operand, length), "operand #{}", index);
  forgetValue(index);
  if (length > kImmediatelyCopied) {
    operand->lifetime = Lifetime::CONSTANT_REFERENCE;
    operand->location = {kPendingPool, 0, static_cast<uint32_t>(length)};
    largeConstants_.push_back({index, buffer, static_cast<uint32_t>(length)});
    return okStatus();
  }
  if (operand->lifetime == Lifetime::CONSTANT_COPY && operand->location.length == length) {
    std::memcpy(building_.operandValues.data() + operand->location.offset, buffer, length);
    return okStatus();
  }
  operand->lifetime = Lifetime::CONSTANT_COPY;
  operand->location = appendConstant(building_, buffer, length);
  return okStatus();
}

Status ModelBuilder::setOperandValueFromMemory(uint32_t index, const Memory& memory, size_t offset,
                                               size_t length) {
  HALYARD_RETURN_IF_ERROR(checkBuilding());
  HALYARD_ASSIGN_OR_RETURN(Operand * operand, changeableOperand(index));
  HALYARD_RETURN_IF_ERROR(checkValueLength(*operand, length), "operand #{}", index);
  if (memory.opaque()) {
    return badData("operand #{}: a hardware buffer that is no BLOB cannot hold constants", index);
  }
  HALYARD_RETURN_IF_ERROR(memory.checkRange(offset, length), "operand #{}", index);
  if (offset > UINT32_MAX) return badData("operand #{}: offset {} is too large", index, offset);
  forgetValue(index);
  auto& pools = building_.pools;
  const auto it = std::find(pools.begin(), pools.end(), memory.constants());
  operand->location = {static_cast<uint32_t>(it - pools.begin()), static_cast<uint32_t>(offset),
                       static_cast<uint32_t>(length)};
  if (it == pools.end()) pools.push_back(memory.constants());
  operand->lifetime = Lifetime::CONSTANT_REFERENCE;
  return okStatus();
}

Status ModelBuilder::setOperandValueFromModel(uint32_t index, const ModelBuilder& value) {
  HALYARD_RETURN_IF_ERROR(checkBuilding());
  HALYARD_RETURN_IF_ERROR(value.checkFinished(), "the referenced model");
  HALYARD_ASSIGN_OR_RETURN(Operand * operand, changeableOperand(index));
  // A placeholder for the operations that use the operand. finish() attaches the real subgraphs.
  std::vector<Subgraph>& shown = building_.referenced;
  if (operand->lifetime != Lifetime::SUBGRAPH) {
    operand->location = {0, static_cast<uint32_t>(shown.size()), 0};
    shown.emplace_back();
  }
  operand->lifetime = Lifetime::SUBGRAPH;
  shown[operand->location.offset] = value.model()->main;
  forgetValue(index);
  references_.push_back({index, value.model().share()});
  return okStatus();
}

Status ModelBuilder::setOperandSymmPerChannelQuantParams(uint32_t index,
                                                         SymmPerChannelQuantParams params) {
  HALYARD_RETURN_IF_ERROR(checkBuilding());
  HALYARD_ASSIGN_OR_RETURN(Operand * operand, changeableOperand(index));
  if (operand->type != OperandType::TENSOR_QUANT8_SYMM_PER_CHANNEL) {
    return badData("operand #{} is {}, expected TENSOR_QUANT8_SYMM_PER_CHANNEL", index,
                   operandTypeName(operand->type));
  }
  if (params.channelDim >= operand->dimensions.size()) {
    return badData("operand #{}: channel dimension {} of a tensor {}", index, params.channelDim,
                   shapeText(operand->dimensions));
  }
  const uint32_t channels = operand->dimensions[params.channelDim];
  if (channels == 0 || params.scales.size() != channels) {
    return badData("operand #{}: {} scales for channel dimension {} of {}", index,
                   params.scales.size(), params.channelDim, shapeText(operand->dimensions));
  }
  for (size_t i = 0; i < params.scales.size(); ++i) {
    if (!(params.scales[i] > 0)) {
      return badData("operand #{}: scale {} of channel {}, expected more than 0", index,
                     params.scales[i], i);
    }
  }
  operand->extraParams = std::move(params);
  return okStatus();
}

Status ModelBuilder::setOperandExtensionData(uint32_t index, const void* data, size_t length) {
  HALYARD_RETURN_IF_ERROR(checkBuilding());
  HALYARD_ASSIGN_OR_RETURN(Operand * operand, changeableOperand(index));
  if (!isExtension(operand->type)) {
    return badData("operand #{} is {}, expected an extension type", index,
                   operandTypeName(operand->type));
  }
  if (data == nullptr) {
    operand->extraParams = std::monostate();
    return okStatus();
  }
  if (length == 0) return badData("operand #{}: data of length 0", index);
  const auto* bytes = static_cast<const uint8_t*>(data);
  operand->extraParams = std::vector<uint8_t>(bytes, bytes + length);
  return okStatus();
}

Status ModelBuilder::addOperation(OperationType type, std::span<const uint32_t> inputs,
                                  std::span<const uint32_t> outputs) {
  HALYARD_RETURN_IF_ERROR(checkBuilding());
  Subgraph& main = building_.main;
  const size_t index = main.operations.size();
  if (index >= kMaxEntries) return badData("a model holds at most {} operations", kMaxEntries);
  const auto context = [&] { return operationText(index, type); };
  if (inputs.empty() || outputs.empty()) {
    return badData("{}: {} inputs and {} outputs, at least one of each is needed", context(),
                   inputs.size(), outputs.size());
  }
  for (uint32_t operand : inputs) {
    if (operand >= main.operands.size()) {
      return badData("{}: input operand #{} of {}", context(), operand, main.operands.size());
    }
  }
  for (uint32_t operand : outputs) {
    if (operand >= main.operands.size()) {
      return badData("{}: output operand #{} of {}", context(), operand, main.operands.size());
    }
  }
  if (isExtension(type) &&
      extensions_.nameOf(static_cast<uint16_t>(static_cast<uint32_t>(type) >> 16)).empty()) {
    return badData("{} belongs to no extension", context());
  }
  for (uint32_t operand : inputs) {
    // The referenced subgraph determines the operation's other operands.
    if (main.operands[operand].type == OperandType::MODEL &&
        main.operands[operand].lifetime != Lifetime::SUBGRAPH) {
      return badData("{}: input operand #{} is of type MODEL, and no model has been set for it",
                     context(), operand);
    }
  }
  main.operations.push_back(
      {type, {inputs.begin(), inputs.end()}, {outputs.begin(), outputs.end()}});
  const Result<FeatureLevel> level = requiredFeatureLevel(building_, main, index);
  if (!level.ok()) {
    main.operations.pop_back();
    return level.status();
  }
  operationsLevel_ = std::max(operationsLevel_, *level);
  return okStatus();
}

Status ModelBuilder::identifyInputsAndOutputs(std::span<const uint32_t> inputs,
                                              std::span<const uint32_t> outputs) {
  HALYARD_RETURN_IF_ERROR(checkBuilding());
  if (inputs.empty() || outputs.empty()) {
    return badData("{} inputs and {} outputs, at least one of each is needed", inputs.size(),
                   outputs.size());
  }
  Subgraph& main = building_.main;
  const auto mark = [&](std::span<const uint32_t> list, Lifetime lifetime,
                        std::string_view what) -> Status {
    for (uint32_t index : list) {
      HALYARD_ASSIGN_OR_RETURN(Operand * operand, operandAt(index), "model {}", what);
      if (operand->lifetime != Lifetime::TEMPORARY_VARIABLE) {
        return badData("model {}: operand #{} is already a {}", what, index,
                       lifetimeName(operand->lifetime));
      }
      operand->lifetime = lifetime;
    }
    return okStatus();
  };
  HALYARD_RETURN_IF_ERROR(mark(inputs, Lifetime::SUBGRAPH_INPUT, "input"));
  HALYARD_RETURN_IF_ERROR(mark(outputs, Lifetime::SUBGRAPH_OUTPUT, "output"));
  main.inputIndexes.assign(inputs.begin(), inputs.end());
  main.outputIndexes.assign(outputs.begin(), outputs.end());
  return okStatus();
}

Status ModelBuilder::relaxComputationFloat32toFloat16(bool allow) {
  HALYARD_RETURN_IF_ERROR(checkBuilding());
  building_.relaxComputationFloat32toFloat16 = allow;
  return okStatus();
}

Status ModelBuilder::copyLargeConstants() {
  if (largeConstants_.empty()) return okStatus();
  // Values given from the same memory are stored once.
  std::map<std::pair<const void*, uint32_t>, uint64_t> offsets;
  uint64_t size = 0;
  for (const LargeConstant& constant : largeConstants_) {
    const bool isNew = offsets.try_emplace({constant.data, constant.length}, size).second;
    if (isNew) size = (size + constant.length + 3) / 4 * 4;
  }
  if (size > UINT32_MAX) return badData("the constants need {} bytes, at most 4294967295", size);
  const bool isInModel = size <= kMostInModel;
  DataLocation begin;
  Mapping mapping;
  uint8_t* to = nullptr;
  if (isInModel) {
    std::vector<uint8_t>& values = building_.operandValues;
    begin.offset = static_cast<uint32_t>((values.size() + 3) / 4 * 4);
    values.resize(begin.offset + size);
    to = values.data() + begin.offset;
  } else {
    HALYARD_ASSIGN_OR_RETURN(SharedMemoryPtr pool,
                             SharedMemory::create(static_cast<size_t>(size), "halyard-constants"));
    HALYARD_ASSIGN_OR_RETURN(mapping, pool->map());
    begin.poolIndex = static_cast<uint32_t>(building_.pools.size());
    building_.pools.push_back(std::move(pool));
    to = mapping.data();
  }
  for (const auto& [source, offset] : offsets) {
    std::memcpy(to + offset, source.first, source.second);
  }
  for (const LargeConstant& constant : largeConstants_) {
    Operand& operand = building_.main.operands[constant.operand];
    operand.lifetime = isInModel ? Lifetime::CONSTANT_COPY : Lifetime::CONSTANT_REFERENCE;
    const auto offset = static_cast<uint32_t>(offsets.at({constant.data, constant.length}));
    operand.location = {begin.poolIndex, begin.offset + offset, constant.length};
  }
  largeConstants_.clear();
  return okStatus();
}

// Sorts into the order for drivers: a stack of ready operations, last in first out.
Status ModelBuilder::sortOperations() {
  Subgraph& main = building_.main;
  const auto isComputed = [&](uint32_t index) {
    const Lifetime lifetime = main.operands[index].lifetime;
    return lifetime == Lifetime::TEMPORARY_VARIABLE || lifetime == Lifetime::SUBGRAPH_OUTPUT;
  };
  // The readers of operand i are consumers[begin[i]] to consumers[begin[i + 1] - 1].
  std::vector<uint32_t> begin(main.operands.size() + 2, 0);
  for (const Operation& operation : main.operations) {
    for (uint32_t index : operation.inputs) {
      if (isComputed(index)) ++begin[index + 2];
    }
  }
  for (size_t i = 2; i < begin.size(); ++i) begin[i] += begin[i - 1];
  std::vector<uint32_t> consumers(begin.back());
  std::vector<uint32_t> missing(main.operations.size(), 0);
  std::vector<uint32_t> ready;
  ready.reserve(main.operations.size());
  for (uint32_t n = 0; n < main.operations.size(); ++n) {
    for (uint32_t index : main.operations[n].inputs) {
      if (!isComputed(index)) continue;
      ++missing[n];
      consumers[begin[index + 1]++] = n;
    }
    if (missing[n] == 0) ready.push_back(n);
  }
  applicationOrder_.clear();
  applicationOrder_.reserve(main.operations.size());
  while (!ready.empty()) {
    const uint32_t n = ready.back();
    ready.pop_back();
    applicationOrder_.push_back(n);
    for (uint32_t index : main.operations[n].outputs) {
      for (uint32_t i = begin[index]; i < begin[index + 1]; ++i) {
        const uint32_t consumer = consumers[i];
        // An operand written twice counts down twice; validation reports that case.
        if (missing[consumer] > 0 && --missing[consumer] == 0) ready.push_back(consumer);
      }
    }
  }
  if (applicationOrder_.size() != main.operations.size()) {
    for (uint32_t n = 0; n < main.operations.size(); ++n) {
      if (missing[n] == 0) continue;
      return badData("{} is in a cycle, or reads an operand that is never written",
                     operationText(n, main.operations[n].type));
    }
  }
  std::vector<Operation> sorted;
  sorted.reserve(main.operations.size());
  for (uint32_t n : applicationOrder_) sorted.push_back(std::move(main.operations[n]));
  main.operations = std::move(sorted);
  return okStatus();
}

void ModelBuilder::attachReferencedModels() {
  building_.referenced.clear();
  for (const Reference& reference : references_) {
    const uint32_t index = appendReferenced(building_, *reference.model);
    building_.main.operands[reference.operand].location = {0, index, 0};
  }
}

void ModelBuilder::fillExtensionTable() {
  std::set<uint16_t> prefixes;
  const auto collect = [&](const Subgraph& subgraph) {
    for (const Operand& operand : subgraph.operands) {
      if (isExtension(operand.type)) {
        prefixes.insert(static_cast<uint16_t>(static_cast<uint32_t>(operand.type) >> 16));
      }
    }
    for (const Operation& operation : subgraph.operations) {
      if (isExtension(operation.type)) {
        prefixes.insert(static_cast<uint16_t>(static_cast<uint32_t>(operation.type) >> 16));
      }
    }
  };
  collect(building_.main);
  for (const Subgraph& subgraph : building_.referenced) collect(subgraph);
  for (uint16_t prefix : prefixes) {
    building_.extensionNameToPrefix.push_back({extensions_.nameOf(prefix), prefix});
  }
}

// Drivers may depend on the number of inputs. An input of a newer level with its default value only
// states the old behaviour, so drivers do not get it. Unused operands stay, because other operands'
// indices depend on them.
void ModelBuilder::leaveOutDefaults() {
  Subgraph& main = building_.main;
  for (Operation& operation : main.operations) {
    const ops::OperationDefinition* const definition = ops::definitionOf(operation.type);
    if (definition == nullptr) continue;
    operation.inputs.resize(ops::inputsWithoutDefaults(
        definition->signature, ops::OperationView(building_, main, operation)));
  }
}

Result<FeatureLevel> ModelBuilder::finishAfterCopy() {
  if (building_.main.inputIndexes.empty() || building_.main.outputIndexes.empty()) {
    return badData("the model's inputs and outputs have not been identified");
  }
  HALYARD_RETURN_IF_ERROR(sortOperations());
  attachReferencedModels();
  fillExtensionTable();
  if (areOperationsChecked_ && references_.empty()) {
    return validateCheckedOperations(building_, operationsLevel_);
  }
  return validateModel(building_);
}

Status ModelBuilder::finish() {
  HALYARD_RETURN_IF_ERROR(checkBuilding());
  HALYARD_RETURN_IF_ERROR(copyLargeConstants());
  Result<FeatureLevel> level = finishAfterCopy();
  if (!level.ok()) {
    state_ = State::INVALID;
    return level.takeStatus();
  }
  leaveOutDefaults();
  // Still valid: a default input is one that the operation may lack.
  finished_ = validByConstruction(std::make_shared<const Model>(std::move(building_)), *level);
  building_ = Model();
  state_ = State::FINISHED;
  cpu::SureFailures failures = cpu::sureFailures(**finished_);
  if (!failures.empty()) {
    sureFailures_ = std::make_shared<const cpu::SureFailures>(std::move(failures));
  }
  if (vlogIsOn(VlogTag::MODEL)) {
    for (const std::string& line : graphDump(**finished_, "ModelBuilder::finish")) {
      vlog(VlogTag::MODEL, "{}", line);
    }
  }
  return okStatus();
}

}  // namespace halyard::runtime
