#include "graph.h"

#include <algorithm>

#include "measure/device_choice.h"

namespace halyard::python {
namespace {

Result<import::ImportedModel> read(const GraphSource& source, import::ImportOptions options) {
  options.keepsOpenDimensions = source.keepsOpenDimensions;
  options.inputShapes = source.shapes;
  if (source.hasStates) options.states = import::StateUse::ALL;
  options.allowFloat16 = source.allowFloat16;
  return source.path.empty() ? import::importTflite(source.bytes, options)
                             : import::importTfliteFile(source.path, options);
}

bool hasName(const std::vector<import::ModelPort>& ports, const std::string& name) {
  return std::ranges::find(ports, name, &import::ModelPort::name) != ports.end();
}

// Names of states need not be unique in a file, and may be those of inputs and outputs.
std::string uniqueName(const Description& description, const std::string& name) {
  std::string unique = name;
  for (int i = 2; hasName(description.inputs, unique) || hasName(description.outputs, unique);
       ++i) {
    unique = fmt::format("{} ({})", name, i);
  }
  return unique;
}

Description describe(const import::ImportedModel& imported) {
  Description description = {imported.inputs, imported.outputs,
                             imported.model.main.operations.size()};
  for (const import::ModelState& state : imported.states) {
    import::ModelPort port = state.port;
    port.name = uniqueName(description, port.name);
    description.inputs.push_back(port);
    description.outputs.push_back(std::move(port));
    description.firstValues.push_back(state.first);
  }
  return description;
}

class ImportedGraph : public Graph {
 public:
  ImportedGraph(const import::ImportedModel& imported,
                std::unique_ptr<client::CanonicalModel> model)
      : Graph(describe(imported)), model_(std::move(model)) {}

  Result<client::Compilation> createCompilation(const Devices& devices) const override {
    return model_->createCompilation(devices);
  }
  Result<std::vector<bool>> supportedOperations(
      const ANeuralNetworksDevice* device) const override {
    return model_->supportedOperations(device);
  }

 private:
  const std::unique_ptr<client::CanonicalModel> model_;
};

}  // namespace

Result<std::shared_ptr<const Graph>> importGraph(const GraphSource& source,
                                                 const Devices& devices) {
  HALYARD_ASSIGN_OR_RETURN(const import::ImportOptions options, measure::importOptionsFor(devices));
  HALYARD_ASSIGN_OR_RETURN(import::ImportedModel imported, read(source, options));
  const auto shared = std::make_shared<const import::ImportedModel>(std::move(imported));
  HALYARD_ASSIGN_OR_RETURN(auto model, client::CanonicalModel::create(
                                           std::shared_ptr<const Model>(shared, &shared->model)));
  return std::shared_ptr<const Graph>(std::make_shared<ImportedGraph>(*shared, std::move(model)));
}

Result<Description> describeFile(const GraphSource& source) {
  import::ImportOptions options;
  options.extension = import::ExtensionUse::WHERE_NEEDED;
  HALYARD_ASSIGN_OR_RETURN(const import::ImportedModel imported, read(source, options));
  return describe(imported);
}

}  // namespace halyard::python
