// halyard graph: prints the imported model as text or as a Graphviz graph.
#include <memory>
#include <string>

#include "import/tflite/importer.h"
#include "media/file_bytes.h"
#include "model/dump.h"
#include "tools/halyard/command.h"
#include "tools/halyard/terminal.h"

namespace halyard::cli {
namespace {

struct GraphOptions {
  std::string model;
  std::string output;
  bool text = false;
  bool constants = false;
};

Status showGraph(const GraphOptions& options) {
  HALYARD_ASSIGN_OR_RETURN(
      const import::ImportedModel imported,
      import::importTfliteFile(options.model, {.names = import::OperandNames::KEPT,
                                               .extension = import::ExtensionUse::WHERE_NEEDED}));
  const std::string document =
      options.text ? modelText(imported.model, imported.operandNames)
                   : modelGraphviz(imported.model, imported.operandNames, options.constants);
  if (!options.output.empty()) {
    return media::writeFileBytes(
        options.output, {reinterpret_cast<const uint8_t*>(document.data()), document.size()});
  }
  writeOutput(document);
  return okStatus();
}

}  // namespace

Command addGraphCommand(CLI::App& parent) {
  auto options = std::make_shared<GraphOptions>();
  CLI::App* app = parent.add_subcommand("graph", "Show a model as Halyard sees it");
  app->footer("The graph is in Graphviz' language: halyard graph MODEL | dot -Tsvg -o model.svg");
  app->add_option("MODEL", options->model, "A model, .tflite")->required();
  app->add_option("--output,-o", options->output, "File to write instead of standard output")
      ->option_text("FILE");
  CLI::Option* text =
      app->add_flag("--text", options->text, "A line for each operand and operation instead");
  app->add_flag("--constants", options->constants, "Draw every constant by itself")->excludes(text);
  return {app, [options] { return CommandResult{showGraph(*options), false}; }};
}

}  // namespace halyard::cli
