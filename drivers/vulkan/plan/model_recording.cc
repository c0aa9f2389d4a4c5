#include "plan/model_recording.h"

#include <algorithm>

#include "cpu/arena_plan.h"
#include "cpu/shape_propagation.h"
#include "halyard/driver/constants.h"
#include "kernels/kernel_list.h"

namespace halyard::vulkandriver {
namespace {

// The operand as kernels see it: constants with their data.
Status describe(const Model& model, uint32_t index, ops::Tensor* tensor) {
  const Operand& operand = model.main.operands[index];
  if (operand.lifetime == Lifetime::SUBGRAPH) return badData("it has subgraphs");
  *tensor = cpu::declaredTensor(operand);
  tensor->omitted = operand.lifetime == Lifetime::NO_VALUE;
  if (tensor->omitted) return okStatus();
  if (!isScalarType(operand.type) && !knownElementCount(operand.dimensions)) {
    return badData("operand {} has the shape {}, which is not known before an execution", index,
                   shapeText(operand.dimensions));
  }
  if (isConstant(operand)) {
    HALYARD_ASSIGN_OR_RETURN(const std::span<const uint8_t> bytes, constantData(model, operand));
    // Kernels read constants only.
    tensor->data = const_cast<uint8_t*>(bytes.data());
  }
  return okStatus();
}

Status recordOperation(const Model& model, const Operation& operation, Recording& recording) {
  const Kernel kernel = kernelOf(operation.type);
  if (kernel == nullptr) {
    return badData("the device has no kernel for {}", operationTypeName(operation.type));
  }
  const ops::OperationDefinition* const definition = ops::definitionOf(operation.type);
  std::vector<ops::Tensor> inputs(operation.inputs.size());
  std::vector<ops::Tensor> outputs(operation.outputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    HALYARD_RETURN_IF_ERROR(describe(model, operation.inputs[i], &inputs[i]));
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    HALYARD_RETURN_IF_ERROR(describe(model, operation.outputs[i], &outputs[i]));
  }
  std::vector<Shape> declared;
  for (const ops::Tensor& output : outputs) declared.push_back(output.dims);
  ops::OperationContext context(inputs, outputs, nullptr);
  const Status inferred = ops::inferShapes(*definition, context);
  if (inferred.code() == ResultCode::INCOMPLETE) {
    return badData("{}, and the device needs it as a constant", inferred.message());
  }
  HALYARD_RETURN_IF_ERROR(Status(inferred));
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].dims != declared[i]) {
      return badData("output {} is declared as {}, expected {}", i, shapeText(declared[i]),
                     shapeText(outputs[i].dims));
    }
  }
  return kernel({operation.type, context, operation.inputs, operation.outputs}, recording);
}

constexpr size_t kAlignment = 64;  // of places

uint64_t placeOf(const Operand& operand) {
  return uint64_t{knownByteSize(operand.type, operand.dimensions).value_or(0)} + kAlignment;
}

// The memory for temporaries by their lifetimes.
uint64_t temporaryBytes(const Subgraph& main) {
  cpu::LifetimePlanner planner(main.operands.size());
  for (size_t step = 0; step < main.operations.size(); ++step) {
    for (const uint32_t output : main.operations[step].outputs) {
      const Operand& operand = main.operands[output];
      if (operand.lifetime != Lifetime::TEMPORARY_VARIABLE) continue;
      planner.write(output, placeOf(operand), step);
    }
    for (const uint32_t input : main.operations[step].inputs) planner.extend(input, step);
  }
  return planner.place(kAlignment).bytes;
}

// At least the memory of the model's operands. Parts of the model may become models of their own,
// in which any temporary may be an input or an output.
uint64_t operandBytes(const Subgraph& main, const Recording& recording, bool isWhole) {
  uint64_t total = isWhole ? temporaryBytes(main) : 0;
  for (uint32_t i = 0; i < main.operands.size(); ++i) {
    const Operand& operand = main.operands[i];
    if (isConstant(operand) && !recording.uses(i)) continue;
    if (isWhole && operand.lifetime == Lifetime::TEMPORARY_VARIABLE) continue;
    total += placeOf(operand);
  }
  return total;
}

std::vector<Status> recordOperations(const Model& model, Recording& recording) {
  std::vector<Status> answers;
  for (const Operation& operation : model.main.operations) {
    recording.beginOperation();
    answers.push_back(recordOperation(model, operation, recording));
  }
  return answers;
}

}  // namespace

std::vector<Status> recordModel(const Model& model, uint64_t mostBytes, Recording& recording) {
  recording.setRelaxed(model.relaxComputationFloat32toFloat16);
  const Recording empty = recording;
  std::vector<Status> answers = recordOperations(model, recording);
  const bool isWhole = std::ranges::all_of(answers, [](const Status& s) { return s.ok(); });
  const uint64_t needed =
      operandBytes(model.main, recording, isWhole) + recording.bytes(kAlignment);
  if (needed > mostBytes) {
    // Supporting an operation is a promise for the whole model.
    answers.assign(answers.size(), badData("the model needs {} bytes of the device, at most {}",
                                           needed, mostBytes));
  } else if (recording.wantsSpare()) {
    recording = empty;
    recording.setSpare(mostBytes - needed);
    answers = recordOperations(model, recording);
  }
  return answers;
}

}  // namespace halyard::vulkandriver
