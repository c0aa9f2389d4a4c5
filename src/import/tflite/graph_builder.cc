// Builds the model: operands for tensors, constants, operations with inferred shapes.
#include "import/tflite/graph_builder.h"

#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/float16.h"
#include "base/made_once.h"
#include "model/validation/validation.h"
#include "ops/operation.h"

namespace halyard::import {
namespace {

// Constants up to this size are part of the model itself, as in the C API, which copies values up
// to 128 bytes at once.
constexpr size_t kMaxInlineConstant = 128;
// If the constants for a separate pool have at most this total size, they go into the model, too.
// Making and passing a pool takes longer than copying the bytes.
constexpr size_t kMaxInlineTogether = 4096;
constexpr size_t kPoolAlignment = 64;
// An estimate for the number of operands in a model without a tensor in the file.
constexpr size_t kOwnOperands = 16;

size_t alignUp(size_t value) {
  return (value + kPoolAlignment - 1) / kPoolAlignment * kPoolAlignment;
}

std::optional<OperandType> plainOperandType(tfl::TensorType type) {
  switch (type) {
    case tfl::TensorType::FLOAT32:
    case tfl::TensorType::COMPLEX64:
      return OperandType::TENSOR_FLOAT32;
    case tfl::TensorType::FLOAT16:
      return OperandType::TENSOR_FLOAT16;
    case tfl::TensorType::INT32:
    case tfl::TensorType::INT64:
      return OperandType::TENSOR_INT32;
    case tfl::TensorType::BOOL:
      return OperandType::TENSOR_BOOL8;
    case tfl::TensorType::UINT8:
      return OperandType::TENSOR_QUANT8_ASYMM;
    case tfl::TensorType::INT8:
      return OperandType::TENSOR_QUANT8_ASYMM_SIGNED;
    case tfl::TensorType::INT16:
      return OperandType::TENSOR_QUANT16_SYMM;
    default:
      return std::nullopt;
  }
}

// Writes without a mapping, whose pages would be faulted in one by one.
Status writeTo(const SharedMemory& pool, size_t offset, std::span<const uint8_t> bytes) {
  while (!bytes.empty()) {
    const ssize_t count =
        ::pwrite(pool.fd(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return errnoStatus(ResultCode::OUT_OF_MEMORY, errno, "memory for constants");
    offset += static_cast<size_t>(count);
    bytes = bytes.subspan(static_cast<size_t>(count));
  }
  return okStatus();
}

}  // namespace

ElementForm formOf(tfl::TensorType type) {
  if (type == tfl::TensorType::INT64) return ElementForm::INT64;
  return type == tfl::TensorType::COMPLEX64 ? ElementForm::COMPLEX64 : ElementForm::SAME;
}

Shape orScalar(Shape dims, tfl::TensorType type) {
  if (!dims.empty()) return dims;
  return {type == tfl::TensorType::COMPLEX64 ? 2u : 1u};
}

GraphBuilder::GraphBuilder(const VerifiedFile& file, const ImportOptions& options)
    : options_(options),
      ownBudget_(std::make_unique<Budget>(file.bytes().size())),
      budget_(*ownBudget_),
      calls_({&file}),
      graph_(file) {
  // Most operands are tensors of the file, and a few are scalars. A low estimate is harmless.
  const size_t operands = file.tensorCount() + kOwnOperands;
  model_.main.operands.reserve(operands);
  if (keepsNames()) names_.reserve(operands);
  constants_.reserve(operands);
  model_.main.operations.reserve(file.operatorCount());
}

Status Budget::spend(uint64_t bytes) {
  if (bytes > left_) {
    return badData("needs more memory than a file of its size may: {} bytes more than {} are left",
                   bytes - left_, left_);
  }
  left_ -= bytes;
  return okStatus();
}

// Whether a batch may replace the first dimension of this input.
Status GraphBuilder::checkHasBatch(const FileTensor& tensor) {
  if (tensor.dims.empty()) return badData("{} has no dimension for a batch", tensor.text());
  if (tensor.dims[0] != 1 && !tensor.isOpen(0)) {
    return badData("{} has the first dimension {}, expected 1 or an open one for a batch",
                   tensor.text(), tensor.dims[0]);
  }
  return okStatus();
}

Status GraphBuilder::giveShape(const FileTensor& tensor, Operand& operand) {
  const std::string name = displayName(file().tensorName(tensor.index));
  for (const InputShape& shape : options_.inputShapes) {
    if (shape.name != name) continue;
    bool fits = shape.dims.size() == tensor.dims.size();
    for (size_t d = 0; fits && d < shape.dims.size(); ++d) {
      fits = shape.dims[d] == tensor.dims[d] || (tensor.isOpen(d) && shape.dims[d] > 0);
    }
    if (fits) {
      operand.dimensions = shape.dims;
      return okStatus();
    }
    std::vector<std::string> known;
    for (size_t d = 0; d < tensor.dims.size(); ++d) {
      known.push_back(tensor.isOpen(d) ? "?" : std::to_string(tensor.dims[d]));
    }
    return badData("{} has the shape [{}] in the file, and {} does not fit", tensor.text(),
                   fmt::join(known, ","), shapeText(shape.dims));
  }
  return okStatus();
}

// Checks whether each shape is that of an input.
Status GraphBuilder::checkShapes() const {
  std::vector<std::string> names;
  for (const int32_t index : file().inputs()) {
    names.push_back(displayName(file().tensorName(index)));
  }
  for (const InputShape& shape : options_.inputShapes) {
    if (std::ranges::find(names, shape.name) != names.end()) continue;
    return badData("no input '{}' for the shape {}; the model has {}", shape.name,
                   shapeText(shape.dims), fmt::join(names, ", "));
  }
  return okStatus();
}

Status GraphBuilder::beginGraph() {
  HALYARD_RETURN_IF_ERROR(checkShapes());
  const std::span<const int32_t> inputs = file().inputs();
  for (size_t i = 0; i < inputs.size(); ++i) {
    const int32_t index = inputs[i];
    HALYARD_ASSIGN_OR_RETURN(FileTensor tensor, file().tensor(index), "model input {}", i);
    if (tensor.isConstant()) {
      return badData("model input {}: {} is a constant", i, tensor.text());
    }
    if (tensor.isVariable) {
      return unsupported("model input {}: {} is a variable", i, tensor.text());
    }
    if (isBound(index)) {
      return badData("model input {}: {} is an input already", i, tensor.text());
    }
    HALYARD_ASSIGN_OR_RETURN(Operand operand, describe(tensor), "model input {}", i);
    operand.dimensions = orScalar(std::move(operand.dimensions), tensor.type);
    for (size_t d = 0; d < tensor.dims.size() && options_.keepsOpenDimensions; ++d) {
      if (tensor.isOpen(d)) operand.dimensions[d] = 0;
    }
    if (options_.batch != 0) {
      HALYARD_RETURN_IF_ERROR(checkHasBatch(tensor), "model input {}", i);
      operand.dimensions[0] = options_.batch;
    }
    HALYARD_RETURN_IF_ERROR(giveShape(tensor, operand), "model input {}", i);
    operand.lifetime = Lifetime::SUBGRAPH_INPUT;
    HALYARD_ASSIGN_OR_RETURN(const uint32_t added, addOperand(std::move(operand), tensor));
    HALYARD_RETURN_IF_ERROR(bind(tensor, added));
    model_.main.inputIndexes.push_back(added);
  }
  graph_.outputs.assign(file().outputs().begin(), file().outputs().end());
  std::ranges::sort(graph_.outputs);
  const auto twice = std::ranges::adjacent_find(graph_.outputs);
  if (twice != graph_.outputs.end()) {
    return badData("tensor {} is listed twice among the model's outputs", *twice);
  }
  return okStatus();
}

bool GraphBuilder::isModelOutput(int32_t tensor) const {
  return std::binary_search(graph_.outputs.begin(), graph_.outputs.end(), tensor);
}

std::optional<uint32_t> GraphBuilder::known(int32_t tensor) const {
  const Binding found = binding(tensor);
  if (found.state != TensorState::BOUND) return std::nullopt;
  return found.operand;
}

GraphBuilder::Binding GraphBuilder::binding(int32_t tensor) const {
  const auto i = static_cast<size_t>(tensor);
  return i < graph_.bindings.size() ? graph_.bindings[i] : Binding();
}

void GraphBuilder::setBinding(int32_t tensor, Binding binding) {
  graph_.bindings[static_cast<size_t>(tensor)] = binding;
}

Result<Operand> GraphBuilder::describe(const FileTensor& tensor) const {
  Operand operand;
  const std::optional<OperandType> type = plainOperandType(tensor.type);
  if (!type) {
    return unsupported("{} is of type {}, which is not supported here", tensor.text(),
                       tensorTypeName(tensor.type));
  }
  operand.type = *type;
  operand.dimensions = tensor.dims;
  const bool isPairs = tensor.type == tfl::TensorType::COMPLEX64;
  if (isPairs && !operand.dimensions.empty()) operand.dimensions.back() *= 2;
  const bool is16Bits = *type == OperandType::TENSOR_QUANT16_SYMM;
  if (!isQuant8Asymm(*type) && !is16Bits) return operand;
  if (tensor.scales.empty()) {
    if (is16Bits) {
      return unsupported("{} is INT16 without a scale, which is not supported here", tensor.text());
    }
    // Plain integers, which few converters take: see kTakesUnscaled.
    operand.scale = 1;
    return operand;
  }
  if (tensor.scales.size() > 1) {
    return unsupported("{} is quantised per channel, which only constant filters may be",
                       tensor.text());
  }
  const OperandTypeTraits& traits = *operandTypeTraits(*type);
  const int64_t zeroPoint = tensor.zeroPoints.empty() ? 0 : tensor.zeroPoints[0];
  if (zeroPoint < traits.zeroPointMin || zeroPoint > traits.zeroPointMax) {
    return badData("{} has zero point {}, expected {} to {}", tensor.text(), zeroPoint,
                   traits.zeroPointMin, traits.zeroPointMax);
  }
  if (!(tensor.scales[0] > 0)) {
    return badData("{} has scale {}, expected a positive number", tensor.text(), tensor.scales[0]);
  }
  operand.scale = tensor.scales[0];
  operand.zeroPoint = static_cast<int32_t>(zeroPoint);
  return operand;
}

Result<uint32_t> GraphBuilder::read(int32_t index) {
  if (isBound(index)) return readBound(index);
  HALYARD_ASSIGN_OR_RETURN(const FileTensor tensor, file().tensor(index));
  return read(tensor);
}

Result<uint32_t> GraphBuilder::readBound(int32_t index) const {
  const Binding found = binding(index);
  if (found.state == TensorState::OPAQUE) {
    return unsupported(
        "tensor {} holds integers in NNAPI where the file has floats, it can only be an output of "
        "the model",
        index);
  }
  if (operand(found.operand).type == OperandType::TENSOR_QUANT8_SYMM_PER_CHANNEL) {
    return unsupported("tensor {} is quantised per channel, which only constant filters may be",
                       index);
  }
  return found.operand;
}

Result<uint32_t> GraphBuilder::read(const FileTensor& tensor) {
  if (isBound(tensor.index)) return readBound(tensor.index);
  if (tensor.isVariable) {
    return unsupported("{} is a variable that keeps state: not supported", tensor.text());
  }
  if (!tensor.isConstant()) {
    return badData("{} is read before anything writes it", tensor.text());
  }
  HALYARD_ASSIGN_OR_RETURN(Operand operand, describe(tensor));
  operand.dimensions = orScalar(std::move(operand.dimensions), tensor.type);
  const bool isWide = tensor.type == tfl::TensorType::INT64;
  HALYARD_ASSIGN_OR_RETURN(const uint32_t added, isWide
                                                     ? addNarrowed(std::move(operand), tensor)
                                                     : addFileConstant(std::move(operand), tensor));
  HALYARD_RETURN_IF_ERROR(bind(tensor, added));
  return added;
}

// Adds a constant of INT64 as INT32, if no value changes.
Result<uint32_t> GraphBuilder::addNarrowed(Operand operand, const FileTensor& tensor) {
  HALYARD_ASSIGN_OR_RETURN(const std::span<const uint8_t> wide, contents(tensor));
  const size_t count = wide.size() / sizeof(int64_t);
  HALYARD_ASSIGN_OR_RETURN(const std::span<uint8_t> narrow, newBytes(count * sizeof(int32_t)));
  for (size_t i = 0; i < count; ++i) {
    int64_t value = 0;
    std::memcpy(&value, wide.data() + i * sizeof(value), sizeof(value));
    if (value < INT32_MIN || value > INT32_MAX) {
      return unsupported("{} is INT64 and has the value {}, NNAPI's integers have 32 bits",
                         tensor.text(), value);
    }
    const auto kept = static_cast<int32_t>(value);
    std::memcpy(narrow.data() + i * sizeof(kept), &kept, sizeof(kept));
  }
  HALYARD_ASSIGN_OR_RETURN(const uint32_t added,
                           addOwnConstant(std::move(operand), narrow, nameOf(tensor)), "{}",
                           tensor.text());
  return added;
}

Result<uint32_t> GraphBuilder::write(int32_t index, std::optional<OperandType> type) {
  HALYARD_ASSIGN_OR_RETURN(FileTensor tensor, file().tensor(index));
  if (isBound(index) || tensor.isConstant()) {
    return badData("{} is written, but has a value already", tensor.text());
  }
  if (tensor.isVariable) {
    return unsupported("{} is a variable that keeps state: not supported", tensor.text());
  }
  Operand operand;
  if (type) {
    operand.type = *type;
    operand.dimensions = tensor.dims;
  } else {
    HALYARD_ASSIGN_OR_RETURN(operand, describe(tensor));
    for (size_t d = 0; d < tensor.dims.size(); ++d) {
      const bool isBatch = options_.batch != 0 && d == 0 && tensor.dims[0] == 1;
      if (tensor.isOpen(d) || isBatch) operand.dimensions[d] = 0;
    }
  }
  if (isModelOutput(index)) operand.lifetime = Lifetime::SUBGRAPH_OUTPUT;
  HALYARD_ASSIGN_OR_RETURN(const uint32_t added, addOperand(std::move(operand), tensor));
  if (type) {
    const bool isWhole =
        *type == OperandType::TENSOR_INT32 && tensor.type == tfl::TensorType::FLOAT32;
    setBinding(index,
               {TensorState::OPAQUE, isWhole ? ElementForm::WHOLE : ElementForm::SAME, added});
  } else {
    HALYARD_RETURN_IF_ERROR(bind(tensor, added));
  }
  return added;
}

Status GraphBuilder::bind(const FileTensor& tensor, uint32_t operand) {
  if (isBound(tensor.index)) return badData("{} has a value already", tensor.text());
  setBinding(tensor.index, {TensorState::BOUND, import::formOf(tensor.type), operand});
  return okStatus();
}

Result<uint32_t> GraphBuilder::addOperand(Operand operand, std::string name) {
  HALYARD_RETURN_IF_ERROR(budget_.spend(sizeof(Operand) + name.size()));
  HALYARD_RETURN_IF_ERROR(
      validateOperandType(operand.type, operand.dimensions, operand.scale, operand.zeroPoint));
  model_.main.operands.push_back(std::move(operand));
  if (keepsNames()) names_.push_back(std::move(name));
  constants_.emplace_back();
  return static_cast<uint32_t>(model_.main.operands.size() - 1);
}

Result<uint32_t> GraphBuilder::addOperand(Operand operand, const FileTensor& tensor) {
  HALYARD_ASSIGN_OR_RETURN(const uint32_t added, addOperand(std::move(operand), nameOf(tensor)),
                           "{}", tensor.text());
  return added;
}

Result<uint32_t> GraphBuilder::addTemporary(OperandType type, Shape dims, float scale,
                                            int32_t zeroPoint, std::string name) {
  Operand operand;
  operand.type = type;
  operand.dimensions = std::move(dims);
  operand.scale = scale;
  operand.zeroPoint = zeroPoint;
  return addOperand(std::move(operand), std::move(name));
}

Result<uint32_t> GraphBuilder::addFileConstant(Operand operand, const FileTensor& tensor) {
  HALYARD_ASSIGN_OR_RETURN(const uint32_t added,
                           addConstant(std::move(operand), {nullptr, tensor.data}, nameOf(tensor)),
                           "{}", tensor.text());
  return added;
}

Result<uint32_t> GraphBuilder::addConstant(Operand operand, Constant constant, std::string name) {
  const std::optional<uint32_t> need = knownByteSize(operand.type, operand.dimensions);
  const size_t size = constant.bytes.length;
  if (!need || *need != size) {
    return badData("has {} bytes, {} needs {}", size, operandText(operand),
                   need ? std::to_string(*need) : "an unknown number");
  }
  operand.lifetime =
      size <= kMaxInlineConstant ? Lifetime::CONSTANT_COPY : Lifetime::CONSTANT_REFERENCE;
  HALYARD_ASSIGN_OR_RETURN(const uint32_t added, addOperand(std::move(operand), std::move(name)));
  constants_[added] = constant;
  return added;
}

Result<std::span<uint8_t>> GraphBuilder::newBytes(size_t size) {
  HALYARD_RETURN_IF_ERROR(budget_.spend(size));
  // Memory of operator new is aligned for any type.
  auto& bytes = owned_.emplace_back(std::make_unique_for_overwrite<uint8_t[]>(size));
  return std::span<uint8_t>(bytes.get(), size);
}

Result<uint32_t> GraphBuilder::addOwnConstant(Operand operand, std::span<const uint8_t> bytes,
                                              std::string name) {
  return addConstant(std::move(operand), {bytes.data(), {0, bytes.size()}}, std::move(name));
}

Result<uint32_t> GraphBuilder::addFilledConstant(Operand operand, size_t size, uint8_t value,
                                                 std::string name) {
  std::span<const uint8_t>& known = filled_[{size, value}];
  if (known.empty()) {
    HALYARD_ASSIGN_OR_RETURN(const std::span<uint8_t> bytes, newBytes(size));
    std::ranges::fill(bytes, value);
    known = bytes;
  }
  return addOwnConstant(std::move(operand), known, std::move(name));
}

std::string GraphBuilder::nameOf(const FileTensor& tensor) const {
  return keepsNames() ? displayName(file().tensorName(tensor.index)) : std::string();
}

const std::string& GraphBuilder::operandName(uint32_t index) const {
  return keepsNames() ? names_[index] : madeOnce([] { return std::string(); });
}

Result<uint32_t> GraphBuilder::cachedConstant(OperandType type, Shape dims, const void* bytes,
                                              size_t size) {
  std::string key;
  const auto append = [&key](const void* what, size_t length) {
    key.append(static_cast<const char*>(what), length);
  };
  const auto rank = static_cast<uint8_t>(dims.size());
  append(&type, sizeof(type));
  append(&rank, sizeof(rank));
  append(dims.data(), dims.size() * sizeof(dims[0]));
  append(bytes, size);
  const auto found = smallConstants_.find(key);
  if (found != smallConstants_.end()) return found->second;
  Operand operand;
  operand.type = type;
  operand.dimensions = std::move(dims);
  HALYARD_ASSIGN_OR_RETURN(const std::span<uint8_t> own, newBytes(size));
  std::copy_n(static_cast<const uint8_t*>(bytes), size, own.data());
  HALYARD_ASSIGN_OR_RETURN(const uint32_t added, addOwnConstant(std::move(operand), own, ""));
  smallConstants_.emplace(std::move(key), added);
  return added;
}

Result<uint32_t> GraphBuilder::int32Scalar(int32_t value) {
  return cachedConstant(OperandType::INT32, {}, &value, sizeof(value));
}

Result<uint32_t> GraphBuilder::boolScalar(bool value) {
  const uint8_t byte = value ? 1 : 0;
  return cachedConstant(OperandType::BOOL, {}, &byte, sizeof(byte));
}

Result<uint32_t> GraphBuilder::floatScalar(OperandType tensorType, float value) {
  if (tensorType == OperandType::TENSOR_FLOAT16) {
    const Float16 half = toFloat16(value);
    return cachedConstant(OperandType::FLOAT16, {}, &half, sizeof(half));
  }
  return cachedConstant(OperandType::FLOAT32, {}, &value, sizeof(value));
}

Result<uint32_t> GraphBuilder::float32Tensor(float value) {
  return cachedConstant(OperandType::TENSOR_FLOAT32, {1}, &value, sizeof(value));
}

Result<uint32_t> GraphBuilder::omitted(OperandType type) {
  const auto found = omitted_.find(type);
  if (found != omitted_.end()) return found->second;
  Operand operand;
  operand.type = type;
  operand.lifetime = Lifetime::NO_VALUE;
  // The operand has a valid type although nothing reads it: a quantised one needs a scale.
  const ScaleRule rule = operandTypeTraits(type)->scale;
  if (rule == ScaleRule::POSITIVE) operand.scale = 1;
  HALYARD_ASSIGN_OR_RETURN(const uint32_t added, addOperand(std::move(operand), ""));
  omitted_[type] = added;
  return added;
}

Result<uint32_t> GraphBuilder::int32Tensor(Shape dims, std::span<const int32_t> values) {
  return cachedConstant(OperandType::TENSOR_INT32, std::move(dims), values.data(),
                        values.size_bytes());
}

Result<std::span<const uint8_t>> GraphBuilder::contents(const FileTensor& tensor) {
  HALYARD_ASSIGN_OR_RETURN(const std::span<const uint8_t> bytes,
                           contents(Constant{nullptr, tensor.data}), "{}", tensor.text());
  return bytes;
}

Result<std::span<const uint8_t>> GraphBuilder::contents(const Constant& constant) {
  const uint8_t* bytes = constant.own;
  if (bytes == nullptr) bytes = file().bytes().at(constant.bytes.offset, constant.bytes.length);
  if (bytes == nullptr) return file().bytes().whyNot();
  return std::span<const uint8_t>(bytes, constant.bytes.length);
}

// Returns whether the constant is used at its place in the file.
bool GraphBuilder::staysInFile(uint32_t operand) const {
  const Operand& constant = model_.main.operands[operand];
  const FileRange& bytes = constants_[operand].bytes;
  return constant.lifetime == Lifetime::CONSTANT_REFERENCE && constants_[operand].own == nullptr &&
         file().bytes().placeInPool(bytes.offset, bytes.length).has_value() &&
         bytes.offset % std::max(elementSize(constant.type), 1u) == 0;
}

Status GraphBuilder::placeConstants() {
  // Constants that share bytes in the file also share them in the model.
  Placed placed;
  size_t poolSize = 0;
  for (uint32_t i = 0; i < constants_.size(); ++i) {
    Operand& operand = model_.main.operands[i];
    const FileRange& bytes = constants_[i].bytes;
    if (bytes.empty()) continue;
    if (staysInFile(i)) {
      operand.location = {poolIndex(file().bytes().pool()),
                          *file().bytes().placeInPool(bytes.offset, bytes.length),
                          static_cast<uint32_t>(bytes.size())};
      continue;
    }
    const auto [at, isNew] = placed.try_emplace(constants_[i]);
    if (isNew && operand.lifetime == Lifetime::CONSTANT_COPY) {
      HALYARD_ASSIGN_OR_RETURN(const std::span<const uint8_t> from, contents(constants_[i]));
      at->second = appendConstant(model_, from.data(), from.size());
    } else if (isNew) {
      HALYARD_RETURN_IF_ERROR(budget_.spend(bytes.size()));
      if (poolSize + bytes.size() > UINT32_MAX) {
        return unsupported("has more than 4 GiB of constants: not supported");
      }
      at->second = {0, static_cast<uint32_t>(poolSize), static_cast<uint32_t>(bytes.size())};
      poolSize = alignUp(poolSize + bytes.size());
    }
    operand.location = at->second;
  }
  if (poolSize > kMaxInlineTogether) return copyToPool(placed, poolSize);
  if (poolSize != 0) return copyInline(std::move(placed));
  return okStatus();
}

Status GraphBuilder::copyInline(Placed placed) {
  for (auto& [source, location] : placed) {
    if (source.bytes.length <= kMaxInlineConstant) continue;
    HALYARD_ASSIGN_OR_RETURN(const std::span<const uint8_t> from, contents(source));
    location = appendConstant(model_, from.data(), from.size());
  }
  for (uint32_t i = 0; i < constants_.size(); ++i) {
    Operand& operand = model_.main.operands[i];
    if (operand.lifetime != Lifetime::CONSTANT_REFERENCE || staysInFile(i)) continue;
    operand.lifetime = Lifetime::CONSTANT_COPY;
    operand.location = placed.at(constants_[i]);
  }
  return okStatus();
}

// Copies constants into a pool of memory, which follows the file's pool if there is one.
Status GraphBuilder::copyToPool(const Placed& placed, size_t poolSize) {
  HALYARD_ASSIGN_OR_RETURN(SharedMemoryPtr pool,
                           SharedMemory::create(poolSize, "halyard-constants"));
  for (const auto& [source, location] : placed) {
    if (source.bytes.length <= kMaxInlineConstant) continue;
    HALYARD_ASSIGN_OR_RETURN(const std::span<const uint8_t> from, contents(source));
    HALYARD_RETURN_IF_ERROR(writeTo(*pool, location.offset, from));
  }
  const auto index = static_cast<uint32_t>(model_.pools.size());
  model_.pools.push_back(std::move(pool));
  for (uint32_t i = 0; i < constants_.size(); ++i) {
    Operand& operand = model_.main.operands[i];
    const bool isInPool = operand.lifetime == Lifetime::CONSTANT_REFERENCE && !staysInFile(i);
    if (isInPool && !constants_[i].bytes.empty()) operand.location.poolIndex = index;
  }
  return okStatus();
}

Result<ImportedModel> GraphBuilder::finish() {
  HALYARD_RETURN_IF_ERROR(giveOutputs(file().outputs()));
  HALYARD_RETURN_IF_ERROR(giveStates());
  if (!knownInts_.empty()) dropUnread();
  nameExtension();
  HALYARD_RETURN_IF_ERROR(placeConstants());

  ImportedModel result;
  result.inputs = ports(file().inputs());
  result.outputs = ports(file().outputs());
  for (State& state : states_) {
    result.states.push_back({state.tensor,
                             port(std::move(state.name), state.before, ElementForm::SAME),
                             std::move(state.first)});
  }
  HALYARD_RETURN_IF_ERROR(file().check());
  result.description = displayName(file().description(), 1000);
  result.operandNames = std::move(names_);
  result.model = std::move(model_);
  result.model.relaxComputationFloat32toFloat16 = options_.allowFloat16;
  return result;
}

}  // namespace halyard::import
