#include "graph.h"

#include <unordered_map>
#include <unordered_set>

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

// Names that differ, from names of a file, which need not: "y", "y (2)".
class UniqueNames {
 public:
  void reserve(const std::string& name) { taken_.insert(name); }
  std::string take(const std::string& name) {
    std::string unique = name;
    while (!taken_.insert(unique).second) {
      unique = fmt::format("{} ({})", name, ++repetitions_[name] + 1);
    }
    return unique;
  }

 private:
  std::unordered_set<std::string> taken_;
  std::unordered_map<std::string, size_t> repetitions_;
};

std::vector<import::ModelPort> namedUniquely(std::vector<import::ModelPort> ports) {
  UniqueNames names;
  for (import::ModelPort& port : ports) port.name = names.take(port.name);
  return ports;
}

Description describe(const import::ImportedModel& imported) {
  Description description = {namedUniquely(imported.inputs), namedUniquely(imported.outputs),
                             imported.model.main.operations.size()};
  // A state is an input and an output of the same name.
  UniqueNames names;
  for (const import::ModelPort& port : description.inputs) names.reserve(port.name);
  for (const import::ModelPort& port : description.outputs) names.reserve(port.name);
  for (const import::ModelState& state : imported.states) {
    import::ModelPort port = state.port;
    port.name = names.take(port.name);
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
