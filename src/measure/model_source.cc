#include "measure/model_source.h"

#include <filesystem>

#include "measure/run_inputs.h"
#include "workloads/workloads.h"

namespace halyard::measure {
namespace {

void addPorts(const Model& model, const std::vector<uint32_t>& indexes,
              std::vector<import::ModelPort>* ports) {
  for (const uint32_t index : indexes) {
    const Operand& operand = model.main.operands[index];
    ports->push_back({"", operand.type, operand.dimensions, operand.scale, operand.zeroPoint});
  }
}

}  // namespace

Result<std::shared_ptr<const import::ImportedModel>> loadBenchModel(
    const std::string& model, const import::ImportOptions& options) {
  const workloads::Workload* const workload = workloads::findWorkload(model);
  auto result = std::make_shared<import::ImportedModel>();
  std::error_code error;
  if (workload != nullptr && !std::filesystem::exists(model, error)) {
    result->model = *workload->make();
    if (options.allowFloat16) result->model.relaxComputationFloat32toFloat16 = true;
    addPorts(result->model, result->model.main.inputIndexes, &result->inputs);
    addPorts(result->model, result->model.main.outputIndexes, &result->outputs);
    result->operandNames.resize(result->model.main.operands.size());
    return std::shared_ptr<const import::ImportedModel>(std::move(result));
  }
  HALYARD_ASSIGN_OR_RETURN(*result, import::importTfliteFile(model, options));
  return std::shared_ptr<const import::ImportedModel>(std::move(result));
}

std::string benchModelName(const std::string& model) {
  return std::filesystem::path(model).stem().string();
}

std::vector<std::string> defaultBenchModels() {
  return {"mobilenet_v1_float", "mobilenet_v2_float", "mobilenet_v1_uint8", "mobilenet_v2_uint8",
          "mobilenet_v1_int8",  "mobilenet_v2_int8",  "lstm_acoustic_float"};
}

Result<std::vector<std::vector<uint8_t>>> randomInputs(const import::ImportedModel& model) {
  InputOptions random;
  random.randomSeed = 1;
  HALYARD_ASSIGN_OR_RETURN(PreparedInputs prepared, prepareInputs(model.inputs, random));
  std::vector<std::vector<uint8_t>> inputs;
  for (PreparedInput& input : prepared.inputs) inputs.push_back(std::move(input.bytes));
  return inputs;
}

}  // namespace halyard::measure
