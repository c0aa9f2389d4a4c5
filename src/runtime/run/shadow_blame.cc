#include "runtime/run/shadow_blame.h"

#include <algorithm>
#include <map>

#include "accuracy/accuracy.h"

namespace halyard::runtime {
namespace {

hal::RequestArgument argumentFor(const ShadowValue& value, const uint8_t* data) {
  hal::RequestArgument argument;
  if (value.omitted) return argument;
  argument.kind = hal::RequestArgument::Kind::POINTER;
  argument.pointer = const_cast<uint8_t*>(data);  // an input is not written
  argument.length = static_cast<uint32_t>(value.bytes.size());
  return argument;
}

class Blame {
 public:
  Blame(const Plan& plan, const Model& model, hal::Device& cpu)
      : plan_(plan), model_(model), cpu_(cpu) {}

  Result<std::vector<const Device*>> run(std::span<const ShadowValue> inputs) {
    for (size_t i = 0; i < inputs.size(); ++i) values_[model_.main.inputIndexes[i]] = inputs[i];
    for (const PlanNode& node : plan_.sequence) {
      const auto* const compute = std::get_if<ComputeNode>(&node.what);
      if (compute == nullptr) return opFailed("control flow");
      HALYARD_RETURN_IF_ERROR(runStep(plan_.steps[compute->step]));
    }
    return guilty_;
  }

 private:
  Status runStep(const ComputeStep& step) {
    const Subgraph& main = step.model->main;
    std::vector<ShadowValue> inputs;
    for (const uint32_t operand : step.inputs) {
      const auto found = values_.find(operand);
      if (found == values_.end()) return opFailed("operand #{} has no value", operand);
      inputs.push_back(found->second);
    }
    std::vector<ShadowValue> expected;
    for (const uint32_t index : main.outputIndexes) {
      const Operand& operand = main.operands[index];
      const auto bytes = knownByteSize(operand.type, operand.dimensions);
      if (!bytes) return opFailed("a value of unknown size");
      expected.push_back({false, std::vector<uint8_t>(*bytes), operand.dimensions});
    }
    std::vector<ShadowValue> actual = expected;
    HALYARD_ASSIGN_OR_RETURN(const auto prepared, cpu_.prepareModel(step.model, {}));
    HALYARD_RETURN_IF_ERROR(
        prepared->executeSynchronously(requestFor(inputs, expected), {}).status);
    for (size_t i = 0; i < expected.size(); ++i) values_[step.outputs[i]] = expected[i];
    if (step.device->isCpu()) return okStatus();
    HALYARD_RETURN_IF_ERROR(
        step.prepared->executeSynchronously(requestFor(inputs, actual), {}).status);
    if (differs(*step.model, expected, actual) &&
        std::ranges::find(guilty_, step.device) == guilty_.end()) {
      guilty_.push_back(step.device);
    }
    return okStatus();
  }

  static bool differs(const Model& model, const std::vector<ShadowValue>& expected,
                      const std::vector<ShadowValue>& actual) {
    const accuracy::Scope scope = accuracy::scopeOf(model);
    for (size_t i = 0; i < expected.size(); ++i) {
      const OperandType type = model.main.operands[model.main.outputIndexes[i]].type;
      const auto criteria =
          accuracy::criteriaFor(type, scope, model.relaxComputationFloat32toFloat16);
      if (accuracy::compareValues(type, criteria, expected[i].bytes, actual[i].bytes).failed) {
        return true;
      }
    }
    return false;
  }

  const Plan& plan_;
  const Model& model_;
  hal::Device& cpu_;
  std::map<uint32_t, ShadowValue> values_;  // indexed by operand of the main subgraph
  std::vector<const Device*> guilty_;
};

}  // namespace

hal::Request requestFor(std::span<const ShadowValue> inputs, std::span<ShadowValue> outputs) {
  hal::Request request;
  for (const ShadowValue& value : inputs) {
    request.inputs.push_back(argumentFor(value, value.bytes.data()));
    if (!value.omitted) request.inputs.back().dimensions = value.dims;
  }
  for (ShadowValue& value : outputs) {
    request.outputs.push_back(argumentFor(value, value.bytes.data()));
  }
  return request;
}

Result<std::vector<const Device*>> findGuilty(const Plan& plan, const Model& model,
                                              std::span<const ShadowValue> inputs,
                                              hal::Device& cpu) {
  return Blame(plan, model, cpu).run(inputs);
}

}  // namespace halyard::runtime
