// Turns arguments into values and targets, and returns the results' shapes.
#include "cpu/model_run.h"

#include <cstring>
#include <utility>

#include "ops/operand_checks.h"

namespace halyard::cpu {

ModelRun::ModelRun(const ExecutionPlan& plan, KernelScratch& kernels,
                   std::span<const Argument> inputs, std::span<const Argument> outputs,
                   StepRun* steps)
    : plan_(plan),
      subgraph_(plan.model->main),
      services_{plan, kernels, blocks_},
      main_(plan.main, services_),
      bound_(bindInputs(inputs)) {
  main_.useSteps(steps);
  if (bound_.ok()) bound_ = bindOutputs(outputs);
}

Status ModelRun::bindInputs(std::span<const Argument> inputs) {
  if (inputs.size() != subgraph_.inputIndexes.size()) {
    return badData("{} inputs, the model has {}", inputs.size(), subgraph_.inputIndexes.size());
  }
  inputs_.reserve(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    HALYARD_ASSIGN_OR_RETURN(Input input, bindInput(inputs[i], subgraph_.inputIndexes[i]),
                             "input {}", i);
    inputs_.push_back(std::move(input));
  }
  return okStatus();
}

Result<ModelRun::Input> ModelRun::bindInput(const Argument& argument, uint32_t index) const {
  const Operand& operand = subgraph_.operands[index];
  ops::Tensor tensor = plan_.main.tensors[index];
  if (argument.data == nullptr) {
    if (argument.length != 0) return badData("is null, but {} bytes long", argument.length);
    tensor.omitted = true;
    return Input{std::move(tensor), nullptr, 0, false};
  }
  HALYARD_ASSIGN_OR_RETURN(tensor.dims, combineDims(operand, argument.dims));
  const std::optional<uint32_t> needed = knownByteSize(operand.type, tensor.dims);
  // Only a driver knows the size of its extension's types, and no operation here reads them.
  if (!needed && !isExtension(operand.type)) {
    return badData("{}{}: dimensions are not all known, or too large",
                   operandTypeName(operand.type), shapeText(tensor.dims));
  }
  if (argument.length < needed.value_or(0)) {
    return badData("has {} bytes, {}{} needs {}", argument.length, operandTypeName(operand.type),
                   isScalarType(operand.type) ? "" : shapeText(tensor.dims), *needed);
  }
  tensor.data = argument.data;
  const bool isCopied = argument.shared || !isAlignedFor(operand.type, argument.data);
  return Input{std::move(tensor), argument.data, needed.value_or(0), isCopied};
}

Status ModelRun::bindOutputs(std::span<const Argument> outputs) {
  if (outputs.size() != subgraph_.outputIndexes.size()) {
    return badData("{} outputs, the model has {}", outputs.size(), subgraph_.outputIndexes.size());
  }
  shapesKnown_ = true;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Operand& operand = subgraph_.operands[subgraph_.outputIndexes[i]];
    if (outputs[i].data == nullptr && outputs[i].length != 0) {
      return badData("output {} is null, but {} bytes long", i, outputs[i].length);
    }
    HALYARD_ASSIGN_OR_RETURN(Shape dims, combineDims(operand, outputs[i].dims), "output {}", i);
    shapesKnown_ = shapesKnown_ && (isScalarType(operand.type) || knownElementCount(dims));
    outputDims_.push_back(std::move(dims));
    outputLengths_.push_back(outputs[i].length);
    main_.bindOutput(i, {outputs[i].data, outputs[i].length, outputs[i].shared});
  }
  return okStatus();
}

hal::ExecutionResult ModelRun::run(const hal::ExecuteOptions& options, bool allShapes) {
  services_.options = &options;
  hal::ExecutionResult result;
  result.status = runAll();
  if (result.status.ok()) reportShapes(allShapes, &result);
  return result;
}

Status ModelRun::runAll() {
  HALYARD_RETURN_IF_ERROR(checkMayGoOn(*services_.options, ResultCode::MISSED_DEADLINE_PERSISTENT),
                          "before the execution");
  if (!bound_.ok()) return bound_;
  if (inputsGiven_) {
    main_.rewind();
  } else {
    main_.reset();
    for (size_t i = 0; i < outputDims_.size(); ++i) main_.declareOutput(i, outputDims_[i]);
  }
  HALYARD_RETURN_IF_ERROR(giveInputs());
  inputsGiven_ = plan_.main.fixed;
  return main_.run();
}

Status ModelRun::giveInputs() {
  for (size_t i = 0; i < inputs_.size(); ++i) {
    Input& input = inputs_[i];
    if (input.isCopied) {
      BlockPool::Block& copy = inputCopies_.emplace_back(blocks_.acquire(input.bytes));
      if (copy.data() == nullptr) {
        return makeStatus(ResultCode::OUT_OF_MEMORY, "input {}: no memory for {} bytes", i,
                          input.bytes);
      }
      copyInChunks(copy.data(), input.data, input.bytes);
      input.value.data = copy.data();
    } else if (inputsGiven_) {
      continue;
    }
    HALYARD_RETURN_IF_ERROR(main_.bindInput(i, input.value));
  }
  return okStatus();
}

void ModelRun::reportShapes(bool all, hal::ExecutionResult* result) const {
  if (shapesKnown_ && !all && main_.isSufficient()) return;
  std::string text;
  for (size_t i = 0; i < outputLengths_.size(); ++i) {
    const ops::Tensor& tensor = main_.output(i);
    result->outputShapes.push_back({tensor.dims, main_.isSufficient(i)});
    if (main_.isSufficient(i)) continue;
    text += fmt::format("{}output {} is {}{} of {} bytes, its buffer has {}",
                        text.empty() ? "" : "; ", i, operandTypeName(tensor.type),
                        ops::realShapeText(tensor.dims), byteSizeOf(tensor), outputLengths_[i]);
  }
  if (!text.empty()) result->status = Status(ResultCode::OUTPUT_INSUFFICIENT_SIZE, std::move(text));
}

void ModelRun::releaseMemory() {
  for (BlockPool::Block& copy : inputCopies_) blocks_.release(std::move(copy));
  inputCopies_.clear();
  main_.releaseMemory();
  services_.kernels.release();
}

}  // namespace halyard::cpu
