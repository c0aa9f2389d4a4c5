#include "builder.h"

#include <algorithm>
#include <cstring>

#include "client/status.h"
#include "halyard/driver/nnapi_types.h"
#include "ops/operation.h"

namespace halyard::python {
namespace {

constexpr OperationType kOperations[] = {
#define HALYARD_OPERATION(code, name, definition) OperationType::name,
#include "halyard/driver/ops.inc"
#include "halyard/driver/tflite_ops.inc"
#undef HALYARD_OPERATION
};

FormDescription describe(const ops::Form& form) {
  FormDescription described{std::string(form.name), {}, {}};
  for (const ops::OperandSpec& input : form.inputs) {
    described.inputs.emplace_back(input.name);
    described.types.push_back(input.column == -1 ? operandTypeName(input.fixed) : std::string());
  }
  return described;
}

// A driver takes no model of more operands.
constexpr int32_t kMostResults = 1'000'000;

// Whether the inputs have the types of this row, where the form takes the type from a column.
bool matches(const ops::Form& form, const ops::TypeRow& row, const ops::OperationView& operation) {
  for (size_t i = 0; i < operation.inputCount(); ++i) {
    // Further inputs of a repeated one follow it.
    size_t position = i;
    if (form.repeated >= 0 && i > static_cast<size_t>(form.repeated)) {
      const size_t surplus = operation.inputCount() - form.inputs.size();
      position = i <= form.repeated + surplus ? static_cast<size_t>(form.repeated) : i - surplus;
    }
    if (position >= form.inputs.size()) return false;
    const ops::OperandSpec& spec = form.inputs[position];
    const OperandType type = operation.input(i).type;
    if (spec.column >= 0 && row.types[static_cast<size_t>(spec.column)] != type) return false;
    if (spec.column == -1 && spec.fixed != type) return false;
  }
  return true;
}

const ops::TypeRow* rowOf(const ops::Signature& signature, const ops::OperationView& operation) {
  for (const ops::Form& form : signature.forms) {
    for (const ops::TypeRow& row : signature.rows) {
      if (matches(form, row, operation)) return &row;
    }
  }
  return nullptr;
}

// As NNAPI's own runtime: a result has the quantisation of the first input of its type.
void quantise(OperandSpec& result, const ops::OperationView& operation) {
  for (size_t i = 0; i < operation.inputCount(); ++i) {
    const Operand& input = operation.input(i);
    if (static_cast<int32_t>(input.type) != result.type) continue;
    result.scale = input.scale;
    result.zeroPoint = input.zeroPoint;
    return;
  }
}

}  // namespace

std::vector<OperationDescription> allOperations() {
  std::vector<OperationDescription> all;
  for (const OperationType type : kOperations) {
    const ops::Signature& signature = ops::definitionOf(type)->signature;
    OperationDescription described{
        operationTypeName(type), static_cast<int32_t>(type), isExtension(type), {}, {}};
    for (const ops::Form& form : signature.forms) described.forms.push_back(describe(form));
    for (const ops::OperandSpec& output : signature.outputs) {
      described.outputs.emplace_back(output.name);
    }
    all.push_back(std::move(described));
  }
  return all;
}

Result<std::shared_ptr<Builder>> Builder::create() {
  std::shared_ptr<Builder> builder(new Builder);
  HALYARD_RETURN_IF_FAILED(builder->model_.create());
  return builder;
}

Result<uint32_t> Builder::addOperand(const OperandSpec& spec) {
  HALYARD_RETURN_IF_FAILED(model_.addOperand(spec.type, spec.dims, spec.scale, spec.zeroPoint));
  operands_.push_back({spec, {}, {}, false, false});
  return static_cast<uint32_t>(operands_.size() - 1);
}

Status Builder::setScales(uint32_t operand, const std::vector<float>& scales, uint32_t channelDim) {
  HALYARD_RETURN_IF_ERROR(checkIndexes({operand}));
  ANeuralNetworksSymmPerChannelQuantParams params = {};
  params.channelDim = channelDim;
  params.scaleCount = static_cast<uint32_t>(scales.size());
  params.scales = scales.data();
  HALYARD_RETURN_IF_FAILED(
      model_.setOperandSymmPerChannelQuantParams(static_cast<int32_t>(operand), params));
  operands_[operand].scales = {{scales.begin(), scales.end()}, channelDim};
  return okStatus();
}

Status Builder::setValue(uint32_t operand, std::span<const uint8_t> bytes) {
  HALYARD_RETURN_IF_ERROR(checkIndexes({operand}));
  BuiltOperand& built = operands_[operand];
  built.value.assign(bytes.begin(), bytes.end());
  HALYARD_RETURN_IF_FAILED(model_.setOperandValue(static_cast<int32_t>(operand), built.value.data(),
                                                  built.value.size()));
  built.hasValue = true;
  return okStatus();
}

Status Builder::omit(uint32_t operand) {
  HALYARD_RETURN_IF_ERROR(checkIndexes({operand}));
  HALYARD_RETURN_IF_FAILED(model_.setOperandValue(static_cast<int32_t>(operand), nullptr, 0));
  operands_[operand].omitted = true;
  return okStatus();
}

Status Builder::setModel(uint32_t operand, std::shared_ptr<const Builder> model) {
  HALYARD_RETURN_IF_FAILED(
      model_.setOperandValueFromModel(static_cast<int32_t>(operand), model->model_.get()));
  referenced_.push_back(std::move(model));
  return okStatus();
}

Status Builder::checkIndexes(const std::vector<uint32_t>& operands) const {
  for (const uint32_t operand : operands) {
    if (operand >= operands_.size()) return badData("operand #{} of {}", operand, operands_.size());
  }
  return okStatus();
}

Operand Builder::operandOf(const BuiltOperand& built) {
  Operand operand;
  operand.type = static_cast<OperandType>(built.spec.type);
  operand.dimensions = Shape(built.spec.dims.begin(), built.spec.dims.end());
  operand.scale = built.spec.scale;
  operand.zeroPoint = built.spec.zeroPoint;
  if (built.omitted) operand.lifetime = Lifetime::NO_VALUE;
  if (!built.scales.scales.empty()) operand.extraParams = built.scales;
  return operand;
}

Result<size_t> Builder::resultCount(const ops::OperationDefinition& definition,
                                    const std::vector<uint32_t>& inputs) const {
  const ops::Signature& signature = definition.signature;
  if (definition.controlFlow != ops::ControlFlow::NONE) {
    return badData("{}: found no outputs=, expected an operand for each result of its models",
                   operationTypeName(definition.type));
  }
  // SPLIT alone has a number of results that an input gives.
  constexpr size_t kSplits = 2;
  if (signature.repeatedOutput < 0 || inputs.size() <= kSplits) return signature.outputs.size();
  const BuiltOperand& splits = operands_[inputs[kSplits]];
  const std::string_view name = signature.forms[0].inputs[kSplits].name;
  int32_t count = 0;
  if (splits.value.size() != sizeof(count)) {
    return badData("{} input {} ({}): found no constant INT32, expected one, or outputs=",
                   operationTypeName(definition.type), kSplits, name);
  }
  std::memcpy(&count, splits.value.data(), sizeof(count));
  if (count < 1 || count > kMostResults) {
    return badData("{} input {} ({}): found {}, expected 1 to {}",
                   operationTypeName(definition.type), kSplits, name, count, kMostResults);
  }
  return static_cast<size_t>(count);
}

Result<std::vector<OperandSpec>> Builder::resultsOf(int32_t operation,
                                                    const std::vector<uint32_t>& inputs) const {
  HALYARD_RETURN_IF_ERROR(checkIndexes(inputs));
  const auto type = static_cast<OperationType>(operation);
  const ops::OperationDefinition* const definition = ops::definitionOf(type);
  if (definition == nullptr) return badData("no operation {}", operationTypeName(type));
  const ops::Signature& signature = definition->signature;
  HALYARD_ASSIGN_OR_RETURN(const size_t count, resultCount(*definition, inputs));
  // A model with this operation alone, for the tables.
  Model model;
  Operation asked;
  asked.type = type;
  std::vector<ops::Tensor> tensors;
  bool allKnown = true;
  for (const uint32_t index : inputs) {
    const BuiltOperand& built = operands_[index];
    Operand operand = operandOf(built);
    allKnown =
        allKnown && (built.omitted || knownByteSize(operand.type, operand.dimensions).has_value());
    // Inference only reads.
    void* const data = built.hasValue ? const_cast<uint8_t*>(built.value.data()) : nullptr;
    tensors.push_back({operand.type, operand.dimensions, operand.scale, operand.zeroPoint,
                       built.scales.scales.empty() ? nullptr : &built.scales, data, built.omitted});
    asked.inputs.push_back(static_cast<uint32_t>(model.main.operands.size()));
    model.main.operands.push_back(std::move(operand));
  }
  const ops::OperationView view(model, model.main, asked);
  const ops::TypeRow* const row = rowOf(signature, view);
  std::vector<OperandSpec> results;
  std::vector<ops::Tensor> outputs;
  for (size_t i = 0; i < count; ++i) {
    const ops::OperandSpec& output = signature.outputs[std::min(i, signature.outputs.size() - 1)];
    OperandSpec result;
    result.type = static_cast<int32_t>(output.fixed);
    if (output.column >= 0) {
      if (row == nullptr) {
        return badData("{}: no form takes these types of inputs", operationTypeName(type));
      }
      result.type = static_cast<int32_t>(row->types[static_cast<size_t>(output.column)]);
    }
    quantise(result, view);
    const auto resultType = static_cast<OperandType>(result.type);
    outputs.push_back({resultType, {}, result.scale, result.zeroPoint, nullptr, nullptr, false});
    results.push_back(std::move(result));
  }
  for (const OperandSpec& result : results) {
    asked.outputs.push_back(static_cast<uint32_t>(model.main.operands.size()));
    model.main.operands.push_back(operandOf({.spec = result}));
  }
  HALYARD_RETURN_IF_ERROR(ops::checkSignature(signature, view).status(), "{}",
                          operationTypeName(type));
  if (!allKnown || definition->infer == nullptr) return results;
  ops::OperationContext context(tensors, outputs, nullptr);
  // The computation of the operation gives the other errors.
  if (!ops::inferShapes(*definition, context).ok()) return results;
  for (size_t i = 0; i < results.size(); ++i) {
    results[i].dims.assign(outputs[i].dims.begin(), outputs[i].dims.end());
  }
  return results;
}

Status Builder::addOperation(int32_t operation, const std::vector<uint32_t>& inputs,
                             const std::vector<uint32_t>& outputs) {
  HALYARD_RETURN_IF_FAILED(model_.addOperation(operation, inputs, outputs));
  ++operationCount_;
  return okStatus();
}

Status Builder::finish(const std::vector<uint32_t>& inputs, const std::vector<uint32_t>& outputs,
                       bool allowFp16) {
  HALYARD_RETURN_IF_ERROR(checkIndexes(inputs));
  HALYARD_RETURN_IF_ERROR(checkIndexes(outputs));
  HALYARD_RETURN_IF_FAILED(model_.identifyInputsAndOutputs(inputs, outputs));
  if (allowFp16) HALYARD_RETURN_IF_FAILED(model_.relaxComputationFloat32toFloat16(true));
  HALYARD_RETURN_IF_FAILED(model_.finish());
  inputs_ = inputs;
  outputs_ = outputs;
  return okStatus();
}

// clang-format takes a line that begins with `import` for the import of a module.
halyard::import::ModelPort Builder::portOf(uint32_t operand, const std::string& name) const {
  const OperandSpec& spec = operands_[operand].spec;
  return {name,
          static_cast<OperandType>(spec.type),
          Shape(spec.dims.begin(), spec.dims.end()),
          spec.scale,
          spec.zeroPoint,
          import::ElementForm::SAME};
}

namespace {

class BuiltGraph : public Graph {
 public:
  BuiltGraph(Description description, std::shared_ptr<const Builder> builder)
      : Graph(std::move(description)), builder_(std::move(builder)) {}

  Result<client::Compilation> createCompilation(const Devices& devices) const override {
    client::Compilation created;
    ANeuralNetworksModel* const model = builder_->model().get();
    HALYARD_RETURN_IF_FAILED(devices.empty() ? created.create(model)
                                             : created.createForDevices(model, devices));
    return created;
  }
  Result<std::vector<bool>> supportedOperations(
      const ANeuralNetworksDevice* device) const override {
    std::vector<bool> supported;
    HALYARD_RETURN_IF_FAILED(builder_->model().getSupportedOperationsForDevices(
        {&device, 1}, description().operationCount, supported));
    return supported;
  }

 private:
  const std::shared_ptr<const Builder> builder_;
};

}  // namespace

Result<std::shared_ptr<const Graph>> Builder::graphOf(std::shared_ptr<const Builder> builder,
                                                      const std::vector<std::string>& inputNames,
                                                      const std::vector<std::string>& outputNames) {
  if (inputNames.size() != builder->inputs_.size() ||
      outputNames.size() != builder->outputs_.size()) {
    return badData("{} and {} names for {} inputs and {} outputs", inputNames.size(),
                   outputNames.size(), builder->inputs_.size(), builder->outputs_.size());
  }
  Description description;
  description.operationCount = builder->operationCount_;
  for (size_t i = 0; i < inputNames.size(); ++i) {
    description.inputs.push_back(builder->portOf(builder->inputs_[i], inputNames[i]));
  }
  for (size_t i = 0; i < outputNames.size(); ++i) {
    description.outputs.push_back(builder->portOf(builder->outputs_[i], outputNames[i]));
  }
  return std::shared_ptr<const Graph>(
      std::make_shared<BuiltGraph>(std::move(description), std::move(builder)));
}

}  // namespace halyard::python
