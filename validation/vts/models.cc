#include "validation/vts/models.h"

#include <algorithm>
#include <cstring>

namespace halyard::validation {
namespace {

constexpr uint8_t kPattern = 0xa5;
constexpr size_t kMargin = 64;
constexpr uint32_t kChainElements = 1024;

Operand tensor(Kind kind, Shape dimensions, Lifetime lifetime) {
  Operand operand;
  operand.type = kind.type;
  operand.dimensions = std::move(dimensions);
  operand.scale = kind.scale;
  operand.zeroPoint = kind.zeroPoint;
  operand.lifetime = lifetime;
  return operand;
}

Operand constant(Model& model, Operand operand, std::span<const uint8_t> bytes) {
  operand.lifetime = Lifetime::CONSTANT_COPY;
  operand.location = appendConstant(model, bytes.data(), bytes.size());
  return operand;
}

Operand scalarZero(Model& model) {
  Operand operand;
  operand.type = OperandType::INT32;
  const uint8_t zeros[4] = {};
  return constant(model, operand, zeros);
}

size_t aligned(size_t offset) { return (offset + 63) / 64 * 64; }

}  // namespace

Model addModel(uint32_t n, Kind kind) {
  Model model;
  model.main.operands = {tensor(kind, {n}, Lifetime::SUBGRAPH_INPUT),
                         tensor(kind, {n}, Lifetime::SUBGRAPH_INPUT), scalarZero(model),
                         tensor(kind, {n}, Lifetime::SUBGRAPH_OUTPUT)};
  model.main.operations = {{OperationType::ADD, {0, 1, 2}, {3}}};
  model.main.inputIndexes = {0, 1};
  model.main.outputIndexes = {3};
  return model;
}

std::vector<uint8_t> filled(Kind kind, size_t count, unsigned value) {
  if (kind.type != OperandType::TENSOR_FLOAT32) {
    return std::vector<uint8_t>(count, static_cast<uint8_t>(value));
  }
  const std::vector<float> values(count, static_cast<float>(value));
  std::vector<uint8_t> bytes(count * sizeof(float));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

Model chainModel(bool multiplies, unsigned length, Kind kind) {
  Model model;
  model.main.operands = {tensor(kind, {kChainElements}, Lifetime::SUBGRAPH_INPUT),
                         constant(model, tensor(kind, {kChainElements}, Lifetime::CONSTANT_COPY),
                                  filled(kind, kChainElements, 1)),
                         scalarZero(model)};
  uint32_t last = 0;
  for (unsigned i = 0; i < length; ++i) {
    const bool isLast = i + 1 == length;
    const auto out = static_cast<uint32_t>(model.main.operands.size());
    Kind own = kind;
    // The scale of a quantised product must be larger than the product of its inputs' scales.
    if (multiplies && kind.type != OperandType::TENSOR_FLOAT32) {
      own.scale = model.main.operands[last].scale * kind.scale * 1.0001f;
    }
    model.main.operands.push_back(tensor(
        own, {kChainElements}, isLast ? Lifetime::SUBGRAPH_OUTPUT : Lifetime::TEMPORARY_VARIABLE));
    model.main.operations.push_back(
        {multiplies ? OperationType::MUL : OperationType::ADD, {last, 1, 2}, {out}});
    last = out;
  }
  model.main.inputIndexes = {0};
  model.main.outputIndexes = {last};
  return model;
}

Model endlessModel() {
  Model model;
  const Kind kind = kFloat;
  Operand flag;
  flag.type = OperandType::TENSOR_BOOL8;
  flag.dimensions = {1};
  flag.lifetime = Lifetime::SUBGRAPH_OUTPUT;
  Subgraph condition;  // x >= x
  condition.operands = {tensor(kind, {1}, Lifetime::SUBGRAPH_INPUT), flag};
  condition.operations = {{OperationType::GREATER_EQUAL, {0, 0}, {1}}};
  condition.inputIndexes = {0};
  condition.outputIndexes = {1};
  Subgraph body;  // x = relu(x)
  body.operands = {tensor(kind, {1}, Lifetime::SUBGRAPH_INPUT),
                   tensor(kind, {1}, Lifetime::SUBGRAPH_OUTPUT)};
  body.operations = {{OperationType::RELU, {0}, {1}}};
  body.inputIndexes = {0};
  body.outputIndexes = {1};
  model.referenced = {condition, body};
  const auto subgraph = [](uint32_t index) {
    Operand operand;
    operand.type = OperandType::MODEL;
    operand.lifetime = Lifetime::SUBGRAPH;
    operand.location.offset = index;
    return operand;
  };
  model.main.operands = {subgraph(0), subgraph(1), tensor(kind, {1}, Lifetime::SUBGRAPH_INPUT),
                         tensor(kind, {1}, Lifetime::SUBGRAPH_OUTPUT)};
  model.main.operations = {{OperationType::WHILE, {0, 1, 2}, {3}}};
  model.main.inputIndexes = {2};
  model.main.outputIndexes = {3};
  return model;
}

Result<RequestMemory> RequestMemory::make(std::span<const conformance::VectorInput> inputs,
                                          std::span<const size_t> outputBytes) {
  RequestMemory made;
  size_t end = 0;
  for (const conformance::VectorInput& input : inputs) {
    hal::RequestArgument argument;
    if (!input.omitted) {
      argument.kind = hal::RequestArgument::Kind::POOL;
      argument.location = {0, static_cast<uint32_t>(end),
                           static_cast<uint32_t>(input.bytes.size())};
      made.given_.resize(aligned(end + input.bytes.size()));
      std::copy(input.bytes.begin(), input.bytes.end(),
                made.given_.begin() + static_cast<std::ptrdiff_t>(end));
      end = made.given_.size();
    }
    made.request_.inputs.push_back(argument);
  }
  made.given_.resize(std::max<size_t>(made.given_.size(), 64));
  size_t at = kMargin;
  for (const size_t bytes : outputBytes) {
    hal::RequestArgument argument;
    argument.kind = hal::RequestArgument::Kind::POOL;
    const size_t room = std::max<size_t>(bytes, 1);
    argument.location = {1, static_cast<uint32_t>(at), static_cast<uint32_t>(room)};
    made.request_.outputs.push_back(argument);
    made.places_.push_back({at, room});
    at = aligned(at + room + kMargin);
  }
  HALYARD_ASSIGN_OR_RETURN(made.inputs_, SharedMemory::create(made.given_.size(), "inputs"));
  HALYARD_ASSIGN_OR_RETURN(made.outputs_, SharedMemory::create(at + kMargin, "outputs"));
  HALYARD_ASSIGN_OR_RETURN(const Mapping* const mapping, made.inputs_->mapped());
  std::copy(made.given_.begin(), made.given_.end(), mapping->data());
  made.request_.pools = {made.inputs_, made.outputs_};
  made.clearOutputs();
  return made;
}

Result<RequestMemory> RequestMemory::make(const std::vector<std::vector<uint8_t>>& inputs,
                                          const std::vector<size_t>& outputBytes) {
  std::vector<conformance::VectorInput> given;
  for (const std::vector<uint8_t>& bytes : inputs) given.push_back({bytes, false});
  return make(given, outputBytes);
}

void RequestMemory::clearOutputs() const {
  const auto mapping = outputs_->mapped();
  if (mapping.ok()) std::fill_n((*mapping)->data(), outputs_->size(), kPattern);
}

std::vector<uint8_t> RequestMemory::output(size_t i, size_t bytes) const {
  const auto mapping = outputs_->mapped();
  if (!mapping.ok()) return {};
  const uint8_t* const from = (*mapping)->data() + places_[i].offset;
  return {from, from + std::min(bytes, places_[i].bytes)};
}

Status RequestMemory::checkUntouched() const {
  HALYARD_ASSIGN_OR_RETURN(const Mapping* const in, inputs_->mapped());
  if (std::memcmp(in->data(), given_.data(), given_.size()) != 0) {
    return opFailed("the execution has changed an input");
  }
  HALYARD_ASSIGN_OR_RETURN(const Mapping* const out, outputs_->mapped());
  size_t from = 0;
  for (size_t i = 0; i <= places_.size(); ++i) {
    const size_t to = i < places_.size() ? places_[i].offset : outputs_->size();
    for (size_t at = from; at < to; ++at) {
      if (out->data()[at] != kPattern) {
        return opFailed("the execution has written beside its outputs: byte {} of their memory",
                        at);
      }
    }
    if (i < places_.size()) from = places_[i].offset + places_[i].bytes;
  }
  return okStatus();
}

}  // namespace halyard::validation
