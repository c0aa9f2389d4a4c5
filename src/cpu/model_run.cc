// Arguments to values and targets, and the results' shapes back.
#include "cpu/model_run.h"

#include <cstring>
#include <utility>

#include "ops/operand_checks.h"

namespace halyard::cpu {
namespace {

// Dimensions by the model and by the request together. BAD_DATA when they contradict each other.
Result<Shape> combineDims(const Operand& operand, const Shape& given) {
  if (given.empty()) return operand.dimensions;
  if (isScalarType(operand.type)) return badData("a scalar with dimensions {}", shapeText(given));
  const Shape& declared = operand.dimensions;
  if (declared.empty()) return given;
  Shape combined = declared;
  bool agree = given.size() == declared.size();
  for (size_t i = 0; agree && i < given.size(); ++i) {
    if (combined[i] == 0) combined[i] = given[i];
    agree = given[i] == 0 || given[i] == combined[i];
  }
  if (!agree) {
    return badData("has dimensions {}, the model says {}", shapeText(given), shapeText(declared));
  }
  return combined;
}

}  // namespace

ModelRun::ModelRun(const ExecutionPlan& plan, ThreadPool* threads,
                   const hal::ExecuteOptions& options, std::span<const Argument> inputs,
                   std::span<const Argument> outputs)
    : plan_(plan),
      subgraph_(plan.model->main),
      inputs_(inputs),
      outputs_(outputs),
      services_{plan, threads, options, blocks_},
      main_(plan.main, services_),
      options_(options) {}

hal::ExecutionResult ModelRun::run() {
  hal::ExecutionResult result;
  result.status = runAll();
  const ResultCode code = result.status.code();
  if (code == ResultCode::NO_ERROR || code == ResultCode::OUTPUT_INSUFFICIENT_SIZE) {
    result.outputShapes = std::move(outputShapes_);
  }
  return result;
}

Status ModelRun::runAll() {
  HALYARD_RETURN_IF_ERROR(checkMayGoOn(options_, ResultCode::MISSED_DEADLINE_PERSISTENT),
                          "before the execution");
  HALYARD_RETURN_IF_ERROR(bindInputs());
  HALYARD_RETURN_IF_ERROR(bindOutputs());
  HALYARD_RETURN_IF_ERROR(main_.run());
  return reportInsufficient();
}

Status ModelRun::reportInsufficient() {
  std::string text;
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const ops::Tensor& tensor = main_.output(i);
    outputShapes_.push_back({tensor.dims, main_.isSufficient(i)});
    if (main_.isSufficient(i)) continue;
    text += fmt::format("{}output {} is {}{} of {} bytes, its buffer has {}",
                        text.empty() ? "" : "; ", i, operandTypeName(tensor.type),
                        ops::realShapeText(tensor.dims), byteSizeOf(tensor), outputs_[i].length);
  }
  if (text.empty()) return okStatus();
  return Status(ResultCode::OUTPUT_INSUFFICIENT_SIZE, std::move(text));
}

Status ModelRun::bindInputs() {
  if (inputs_.size() != subgraph_.inputIndexes.size()) {
    return badData("{} inputs, the model has {}", inputs_.size(), subgraph_.inputIndexes.size());
  }
  for (size_t i = 0; i < inputs_.size(); ++i) {
    HALYARD_ASSIGN_OR_RETURN(const ops::Tensor value, inputValue(i), "input {}", i);
    HALYARD_RETURN_IF_ERROR(main_.bindInput(i, value));
  }
  return okStatus();
}

Result<ops::Tensor> ModelRun::inputValue(size_t position) {
  const Argument& argument = inputs_[position];
  const uint32_t index = subgraph_.inputIndexes[position];
  const Operand& operand = subgraph_.operands[index];
  ops::Tensor tensor = plan_.main.tensors[index];
  if (argument.data == nullptr) {
    if (argument.length != 0) return badData("is null, but {} bytes long", argument.length);
    tensor.omitted = true;
    return tensor;
  }
  HALYARD_ASSIGN_OR_RETURN(tensor.dims, combineDims(operand, argument.dims));
  const std::optional<uint32_t> needed = knownByteSize(operand.type, tensor.dims);
  // The size of an extension's type is its driver's to know, and no operation here reads it.
  if (!needed && !isExtension(operand.type)) {
    return badData("{}{}: dimensions are not all known, or too large",
                   operandTypeName(operand.type), shapeText(tensor.dims));
  }
  if (argument.length < needed.value_or(0)) {
    return badData("has {} bytes, {}{} needs {}", argument.length, operandTypeName(operand.type),
                   isScalarType(operand.type) ? "" : shapeText(tensor.dims), *needed);
  }
  tensor.data = argument.data;
  if (argument.shared || !isAlignedFor(operand.type, argument.data)) {
    const size_t bytes = needed.value_or(0);
    BlockPool::Block copy = blocks_.acquire(bytes);
    if (copy.data() == nullptr) {
      return makeStatus(ResultCode::OUT_OF_MEMORY, "no memory for {} bytes", bytes);
    }
    copyInChunks(copy.data(), argument.data, bytes);
    tensor.data = copy.data();
    inputCopies_.push_back(std::move(copy));
  }
  return tensor;
}

Status ModelRun::bindOutputs() {
  if (outputs_.size() != subgraph_.outputIndexes.size()) {
    return badData("{} outputs, the model has {}", outputs_.size(), subgraph_.outputIndexes.size());
  }
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const Operand& operand = subgraph_.operands[subgraph_.outputIndexes[i]];
    if (outputs_[i].data == nullptr && outputs_[i].length != 0) {
      return badData("output {} is null, but {} bytes long", i, outputs_[i].length);
    }
    HALYARD_ASSIGN_OR_RETURN(Shape dims, combineDims(operand, outputs_[i].dims), "output {}", i);
    main_.declareOutput(i, std::move(dims));
    main_.bindOutput(i, {outputs_[i].data, outputs_[i].length, outputs_[i].shared});
  }
  return okStatus();
}

}  // namespace halyard::cpu
