#include "validation/random_graphs/interpreter.h"

#include <algorithm>

#include "model/shape_agreement.h"
#include "ops/operation.h"

namespace halyard::random_graphs {
namespace {

constexpr unsigned kMostInterpretedRounds = 1000;

// A value of another round may have other dimensions than those that the model declares.
Status checkDeclaredDims(const Subgraph& subgraph, const std::vector<TestOperand>& values) {
  for (size_t i = 0; i < values.size(); ++i) {
    const Shape& declared = subgraph.operands[i].dimensions;
    const Shape& dims = values[i].tensor.dims;
    if (!isShapeOf(declared, dims)) {
      return opFailed("operand #{} of a branch or round: its dimensions are {}, declared {}", i,
                      shapeText(dims), shapeText(declared));
    }
  }
  return okStatus();
}

Result<std::vector<TestOperand>> outputsOf(const Model& model, const Operand& reference,
                                           std::span<const TestOperand> inputs) {
  const Subgraph& subgraph = model.referenced[reference.location.offset];
  HALYARD_ASSIGN_OR_RETURN(std::vector<TestOperand> values, interpret(model, subgraph, inputs));
  HALYARD_RETURN_IF_ERROR(checkDeclaredDims(subgraph, values));
  std::vector<TestOperand> outputs;
  for (const uint32_t index : subgraph.outputIndexes) outputs.push_back(values[index]);
  return outputs;
}

Result<bool> isTrue(const std::vector<TestOperand>& values) {
  if (values.size() != 1 || values[0].bytes.size() != 1) {
    return opFailed("a condition has {} values, expected one of one byte", values.size());
  }
  return values[0].bytes[0] != 0;
}

Result<std::vector<TestOperand>> branch(const Model& model, const Subgraph& subgraph,
                                        const Operation& operation,
                                        std::span<const TestOperand> inputs) {
  HALYARD_ASSIGN_OR_RETURN(const bool condition, isTrue({inputs[0]}));
  const Operand& chosen = subgraph.operands[operation.inputs[condition ? 1 : 2]];
  return outputsOf(model, chosen, inputs.subspan(3));
}

Result<std::vector<TestOperand>> loop(const Model& model, const Subgraph& subgraph,
                                      const Operation& operation,
                                      std::span<const TestOperand> inputs) {
  const Operand& condition = subgraph.operands[operation.inputs[0]];
  const Operand& body = subgraph.operands[operation.inputs[1]];
  std::vector<TestOperand> values(inputs.begin() + 2, inputs.end());
  for (unsigned round = 0; round < kMostInterpretedRounds; ++round) {
    HALYARD_ASSIGN_OR_RETURN(const auto answer, outputsOf(model, condition, values));
    HALYARD_ASSIGN_OR_RETURN(const bool goesOn, isTrue(answer));
    if (!goesOn) {
      values.resize(operation.outputs.size());
      return values;
    }
    HALYARD_ASSIGN_OR_RETURN(std::vector<TestOperand> next, outputsOf(model, body, values));
    std::move(next.begin(), next.end(), values.begin());
  }
  return opFailed("a loop of more than {} rounds", kMostInterpretedRounds);
}

}  // namespace

TestOperand operandOf(const Operand& operand) {
  TestOperand result = TestOperand::output(operand.type, operand.scale, operand.zeroPoint);
  if (!isScalarType(operand.type)) result.tensor.dims = operand.dimensions;
  result.tensor.channelQuant = std::get_if<SymmPerChannelQuantParams>(&operand.extraParams);
  result.tensor.omitted = operand.lifetime == Lifetime::NO_VALUE;
  return result;
}

Result<std::vector<uint8_t>> constantBytes(const Model& model, const Operand& operand) {
  const DataLocation& at = operand.location;
  if (operand.lifetime == Lifetime::CONSTANT_COPY) {
    const uint8_t* const from = model.operandValues.data() + at.offset;
    return std::vector<uint8_t>(from, from + at.length);
  }
  HALYARD_ASSIGN_OR_RETURN(const Mapping mapping, model.pools[at.poolIndex]->map());
  const auto* const from = static_cast<const uint8_t*>(mapping.data()) + at.offset;
  return std::vector<uint8_t>(from, from + at.length);
}

Result<std::vector<TestOperand>> evaluate(const Model& model, const Subgraph& subgraph,
                                          const Operation& operation,
                                          std::span<const TestOperand> inputs) {
  const ops::OperationDefinition* const definition = ops::definitionOf(operation.type);
  if (definition == nullptr) return badData("no operation {}", operationTypeName(operation.type));
  switch (definition->controlFlow) {
    case ops::ControlFlow::BRANCH:
      return branch(model, subgraph, operation, inputs);
    case ops::ControlFlow::LOOP:
      return loop(model, subgraph, operation, inputs);
    case ops::ControlFlow::NONE:
      break;
  }
  std::vector<TestOperand> copies(inputs.begin(), inputs.end());
  std::vector<TestOperand> outputs;
  for (const uint32_t index : operation.outputs) {
    outputs.push_back(operandOf(subgraph.operands[index]));
  }
  HALYARD_RETURN_IF_ERROR(ops::testing::runOperation(operation.type, copies, outputs), "{}",
                          operationTypeName(operation.type));
  return outputs;
}

Result<std::vector<TestOperand>> interpret(const Model& model, const Subgraph& subgraph,
                                           std::span<const TestOperand> inputs) {
  if (inputs.size() != subgraph.inputIndexes.size()) {
    return badData("{} inputs for a subgraph with {}", inputs.size(), subgraph.inputIndexes.size());
  }
  std::vector<TestOperand> values(subgraph.operands.size());
  for (size_t i = 0; i < values.size(); ++i) {
    const Operand& operand = subgraph.operands[i];
    values[i] = operandOf(operand);
    if (operand.lifetime == Lifetime::CONSTANT_COPY ||
        operand.lifetime == Lifetime::CONSTANT_REFERENCE) {
      HALYARD_ASSIGN_OR_RETURN(values[i].bytes, constantBytes(model, operand), "operand #{}", i);
    }
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    TestOperand& value = values[subgraph.inputIndexes[i]];
    value.tensor.dims = inputs[i].tensor.dims;
    value.tensor.omitted = inputs[i].tensor.omitted;
    value.bytes = inputs[i].bytes;
  }
  for (const Operation& operation : subgraph.operations) {
    std::vector<TestOperand> in;
    for (const uint32_t index : operation.inputs) in.push_back(values[index]);
    HALYARD_ASSIGN_OR_RETURN(std::vector<TestOperand> out,
                             evaluate(model, subgraph, operation, in));
    for (size_t i = 0; i < out.size(); ++i) {
      TestOperand& value = values[operation.outputs[i]];
      value.tensor.dims = std::move(out[i].tensor.dims);
      value.bytes = std::move(out[i].bytes);
    }
  }
  return values;
}

}  // namespace halyard::random_graphs
