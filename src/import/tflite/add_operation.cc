// GraphBuilder::addOperation: checks operations, infers their shapes, and folds those that the
// importer can compute.
#include <algorithm>
#include <cstring>

#include "import/tflite/graph_builder.h"
#include "ops/inline_services.h"
#include "ops/operation.h"

namespace halyard::import {
namespace {

// The limit in bytes for each input and output of a folded operation. Shapes and a few factors fit.
// The computation with weights is left to devices.
constexpr size_t kMostFolded = 128;

bool isTensor(const Operand& operand) { return !isScalarType(operand.type); }

// Returns whether only an execution knows the shape.
bool isOpen(const Operand& operand) {
  return isTensor(operand) && !knownElementCount(operand.dimensions);
}

// Returns whether the operation only moves elements of this input, independent of their values.
bool moves(OperationType type, size_t input) {
  using enum OperationType;
  switch (type) {
    case EXPAND_DIMS:
    case GATHER:
    case RESHAPE:
    case REVERSE:
    case SLICE:
    case SPLIT:
    case TILE:
      return input == 0;
    case PACK:
      return input != 0;
    default:
      return false;
  }
}

}  // namespace

Status GraphBuilder::addOperation(OperationType type, OperandIndexes inputs,
                                  OperandIndexes outputs) {
  if (isTfliteOperation(type) && options_.extension == ExtensionUse::NONE) {
    return unsupported(
        "{} is an operation of the extension {}, which no device of the model offers",
        operationTypeName(type), kTfliteExtension);
  }
  if (movesBooleans(type, inputs)) return moveBooleans(type, std::move(inputs), outputs);
  const ops::OperationDefinition* definition = ops::definitionOf(type);
  Operation operation{type, std::move(inputs), std::move(outputs)};
  const Result<FeatureLevel> level = ops::checkSignature(
      definition->signature, ops::OperationView(model_, model_.main, operation));
  if (!level.ok()) {
    return unsupported("{} of NNAPI does not take it: {}", operationTypeName(type),
                       level.status().message());
  }
  HALYARD_ASSIGN_OR_RETURN(const bool isInferred, inferOutputs(operation));
  // Under the delegate, the dimensions in the file are not those of the execution if they depend on
  // values.
  if (!isInferred && options_.states == StateUse::OF_TENSORS) {
    for (const uint32_t output : operation.outputs) operand(output).dimensions.clear();
  }
  if (isInferred && isFoldable(operation)) {
    HALYARD_ASSIGN_OR_RETURN(const bool isFolded, fold(operation));
    if (isFolded) return okStatus();
  }
  model_.main.operations.push_back(std::move(operation));
  return okStatus();
}

bool GraphBuilder::movesBooleans(OperationType type, const OperandIndexes& inputs) const {
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (moves(type, i) && operand(inputs[i]).type == OperandType::TENSOR_BOOL8) return true;
  }
  return false;
}

// NNAPI moves integers in many ways, but no booleans. So they become integers in between.
Status GraphBuilder::moveBooleans(OperationType type, OperandIndexes inputs,
                                  const OperandIndexes& outputs) {
  constexpr int32_t kNumbers[] = {0, 1};
  HALYARD_ASSIGN_OR_RETURN(const uint32_t zero, int32Tensor({1}, {&kNumbers[0], 1}));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t one, int32Tensor({1}, {&kNumbers[1], 1}));
  const auto integersFor = [this](uint32_t booleans) {
    return addTemporary(OperandType::TENSOR_INT32, operand(booleans).dimensions, 0, 0,
                        operandName(booleans) + " (integers)");
  };
  for (uint32_t& input : inputs) {
    if (operand(input).type != OperandType::TENSOR_BOOL8) continue;
    HALYARD_ASSIGN_OR_RETURN(const uint32_t integers, integersFor(input));
    HALYARD_RETURN_IF_ERROR(addOperation(OperationType::SELECT_V2, {input, one, zero}, {integers}));
    input = integers;
  }
  OperandIndexes moved;
  for (const uint32_t output : outputs) {
    HALYARD_ASSIGN_OR_RETURN(const uint32_t integers, integersFor(output));
    moved.push_back(integers);
  }
  HALYARD_RETURN_IF_ERROR(addOperation(type, std::move(inputs), moved));
  for (size_t i = 0; i < outputs.size(); ++i) {
    HALYARD_RETURN_IF_ERROR(addOperation(OperationType::NOT_EQUAL, {moved[i], zero}, {outputs[i]}));
  }
  return okStatus();
}

// Drops operations that only led to shapes that the importer has already found.
void GraphBuilder::dropUnread() {
  std::vector<bool> isRead(model_.main.operands.size());
  for (const uint32_t output : model_.main.outputIndexes) isRead[output] = true;
  std::vector<Operation>& operations = model_.main.operations;
  std::vector<bool> isKept(operations.size());
  for (size_t i = operations.size(); i-- > 0;) {
    const auto outputs = std::span(operations[i].outputs.begin(), operations[i].outputs.end());
    isKept[i] = std::ranges::any_of(outputs, [&](uint32_t output) { return isRead[output]; });
    for (const uint32_t input : operations[i].inputs) isRead[input] = isRead[input] || isKept[i];
  }
  size_t kept = 0;
  for (size_t i = 0; i < operations.size(); ++i) {
    if (isKept[i]) {
      if (kept != i) operations[kept] = std::move(operations[i]);
      ++kept;
      continue;
    }
    // A temporary without a writer is not allowed.
    for (const uint32_t output : operations[i].outputs) {
      operand(output).lifetime = Lifetime::NO_VALUE;
    }
  }
  operations.resize(kept);
}

// Returns a constant's bytes for inference. Returns nullptr if they are not available, or if they
// are large, lie in the file and `isLargeToo` is false.
const uint8_t* GraphBuilder::valueOf(uint32_t operand, bool isLargeToo) {
  const Constant& constant = constants_[operand];
  if (constant.own != nullptr || constant.bytes.empty()) return constant.own;
  if (!isLargeToo && staysInFile(operand)) return nullptr;
  return file().bytes().at(constant.bytes.offset, constant.bytes.length);
}

std::span<const int32_t> GraphBuilder::knownInts(uint32_t index) {
  const auto known = knownInts_.find(index);
  if (known != knownInts_.end()) return known->second;
  const size_t size = constants_[index].bytes.length;
  const uint8_t* const bytes = valueOf(index, false);
  if (operand(index).type != OperandType::TENSOR_INT32 || size > kMostFolded || bytes == nullptr) {
    return {};
  }
  // The values are read once, into aligned memory.
  std::vector<int32_t>& values = knownInts_[index];
  values.resize(size / sizeof(int32_t));
  std::memcpy(values.data(), bytes, size);
  return values;
}

// tensors_: the inputs, followed by the outputs, whose dimensions the function finds.
Status GraphBuilder::infer(const Operation& operation, bool withLarge) {
  const auto fill = [&](uint32_t index, ops::Tensor& tensor) {
    const Operand& from = operand(index);
    tensor.type = from.type;
    tensor.dims = from.dimensions;  // reuses the memory of an earlier tensor
    tensor.scale = from.scale;
    tensor.zeroPoint = from.zeroPoint;
    tensor.channelQuant = std::get_if<SymmPerChannelQuantParams>(&from.extraParams);
    tensor.omitted = from.lifetime == Lifetime::NO_VALUE;
    // Inference only reads.
    tensor.data = const_cast<uint8_t*>(valueOf(index, withLarge));
  };
  const size_t inputs = operation.inputs.size();
  const size_t outputs = operation.outputs.size();
  if (tensors_.size() < inputs + outputs) tensors_.resize(inputs + outputs);
  for (size_t i = 0; i < inputs; ++i) fill(operation.inputs[i], tensors_[i]);
  for (size_t i = 0; i < outputs; ++i) fill(operation.outputs[i], tensors_[inputs + i]);
  ops::OperationContext context({tensors_.data(), inputs}, {tensors_.data() + inputs, outputs},
                                nullptr);
  return ops::inferShapes(*ops::definitionOf(operation.type), context);
}

Result<bool> GraphBuilder::inferOutputs(const Operation& operation) {
  const auto isUnknown = [&](uint32_t input) {
    return operand(input).lifetime != Lifetime::NO_VALUE && isOpen(operand(input));
  };
  if (std::ranges::any_of(operation.inputs, isUnknown)) return false;
  Status status = infer(operation, /*withLarge=*/false);
  // Shapes rarely depend on the values of a large constant.
  if (status.code() == ResultCode::INCOMPLETE) status = infer(operation, /*withLarge=*/true);
  if (status.code() == ResultCode::INCOMPLETE) return false;
  if (!status.ok()) {
    return unsupported("{} of NNAPI does not take it: {}", operationTypeName(operation.type),
                       status.message());
  }
  const std::span<ops::Tensor> outputs(tensors_.data() + operation.inputs.size(),
                                       operation.outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    Operand& declared = operand(operation.outputs[i]);
    const Shape& dims = outputs[i].dims;
    const bool empty = std::ranges::find(dims, 0u) != dims.end();
    if (empty || !checkSizeFits(declared.type, dims).ok()) {
      return badData("output {} has the impossible shape {}", i, shapeText(dims));
    }
    const auto agree = [](uint32_t of, uint32_t found) { return of == 0 || of == found; };
    if (!declared.dimensions.empty() && !std::ranges::equal(declared.dimensions, dims, agree)) {
      return badData("output {} is {} in the file, its inputs make it {}", i,
                     shapeText(declared.dimensions), shapeText(dims));
    }
    declared.dimensions = dims;
  }
  return true;
}

// Returns whether the operation is small, and all its inputs are known or only moved.
bool GraphBuilder::isFoldable(const Operation& operation) {
  const ops::OperationDefinition& definition = *ops::definitionOf(operation.type);
  if (definition.controlFlow != ops::ControlFlow::NONE || definition.isRandom) return false;
  for (size_t i = 0; i < operation.inputs.size(); ++i) {
    const uint32_t input = operation.inputs[i];
    if (operand(input).lifetime == Lifetime::NO_VALUE) continue;
    const size_t size = constants_[input].bytes.length;
    const bool isKnown = size != 0 && size <= kMostFolded && valueOf(input, false) != nullptr;
    if (!isKnown && !(moves(operation.type, i) && !knownInts(input).empty())) return false;
  }
  return std::ranges::all_of(operation.outputs, [&](uint32_t output) {
    const Operand& to = operand(output);
    return to.lifetime != Lifetime::SUBGRAPH_OUTPUT &&
           knownByteSize(to.type, to.dimensions).value_or(UINT32_MAX) <= kMostFolded;
  });
}

// Computes a foldable operation. Completely known outputs become constants; of other outputs the
// known elements are kept. Returns whether nothing is left to compute. tensors_: the result of
// inference.
Result<bool> GraphBuilder::fold(const Operation& operation) {
  const size_t inputs = operation.inputs.size();
  const std::span<ops::Tensor> outputs(tensors_.data() + inputs, operation.outputs.size());
  bool isWhole = true;
  for (size_t i = 0; i < inputs; ++i) {
    const uint32_t input = operation.inputs[i];
    if (tensors_[i].data != nullptr || tensors_[i].omitted) continue;
    isWhole = false;
    // A kernel only reads its inputs.
    tensors_[i].data = const_cast<int32_t*>(knownInts(input).data());
  }
  std::vector<std::span<uint8_t>> results;
  for (ops::Tensor& output : outputs) {
    HALYARD_ASSIGN_OR_RETURN(results.emplace_back(),
                             newBytes(output.elementCount() * elementSize(output.type)));
    output.data = results.back().data();
  }
  ops::InlineServices services;
  ops::OperationContext context({tensors_.data(), inputs}, outputs, &services);
  Status status = ops::runReference(*ops::definitionOf(operation.type), context);
  if (!status.ok()) {
    return badData("{} of constants fails: {}", operationTypeName(operation.type),
                   status.message());
  }
  bool isComplete = true;
  for (size_t i = 0; i < outputs.size() && !isWhole; ++i) {
    std::vector<int32_t> values(results[i].size() / sizeof(int32_t));
    std::memcpy(values.data(), results[i].data(), results[i].size());
    isComplete = isComplete && std::ranges::find(values, kOpenInt) == values.end();
    keepKnownInts(operation.outputs[i], std::move(values));
  }
  if (!isComplete) return false;
  for (size_t i = 0; i < outputs.size(); ++i) {
    operand(operation.outputs[i]).lifetime = Lifetime::CONSTANT_COPY;
    constants_[operation.outputs[i]] = {results[i].data(), {0, results[i].size()}};
  }
  return true;
}

}  // namespace halyard::import
