// halyard explain: how a model is divided among the devices, with the reasons.
#include <halyard/halyard.h>

#include <memory>
#include <string>
#include <vector>

#include "client/session.h"
#include "command_line/shared_options.h"
#include "import/tflite/importer.h"
#include "measure/device_choice.h"
#include "measure/model_runs.h"
#include "tools/halyard/cache_choice.h"
#include "tools/halyard/command.h"
#include "tools/halyard/explanation.h"
#include "tools/halyard/terminal.h"

namespace halyard::cli {
namespace {

struct ExplainOptions {
  std::string model;
  std::vector<std::string> devices;
  unsigned runs = 0;
  bool json = false;
  bool allowFloat16 = false;
  CacheOptions cache{.byDefault = false, .off = false, .folder = {}};
  ExplanationOptions text;
};

struct FreeText {
  void operator()(char* text) const { halyard_free(text); }
};

// Prints the report of the compilation, also when the compilation fails.
Status explain(const ExplainOptions& options,
               const std::vector<const ANeuralNetworksDevice*>& devices) {
  HALYARD_ASSIGN_OR_RETURN(import::ImportOptions how, measure::importOptionsFor(devices));
  how.allowFloat16 = options.allowFloat16;
  HALYARD_ASSIGN_OR_RETURN(import::ImportedModel read,
                           import::importTfliteFile(options.model, how));
  const auto imported = std::make_shared<const import::ImportedModel>(std::move(read));
  HALYARD_ASSIGN_OR_RETURN(
      const std::unique_ptr<client::Session> session,
      client::Session::create(std::shared_ptr<const Model>(imported, &imported->model)), "{}",
      options.model);
  if (auto cache = chooseCache(options.cache, options.model)) session->setCaching(*cache);
  Status status = session->compileFor(devices);
  if (status.ok() && options.runs > 0)
    status = measure::runOften(*session, *imported, options.runs);
  Result<std::string> report = session->report();
  // A compilation that fails early has no report.
  if (!report.ok()) return status.ok() ? report.takeStatus() : status;
  if (options.json) {
    print("{}\n", *report);
    return status;
  }
  HALYARD_ASSIGN_OR_RETURN(const std::string text, explanation(*report, options.text));
  print("model   {}, {} operations\n", printable(options.model),
        imported->model.main.operations.size());
  writeOutput(text);
  return status;
}

}  // namespace

Command addExplainCommand(CLI::App& parent) {
  auto options = std::make_shared<ExplainOptions>();
  CLI::App* app = parent.add_subcommand(
      "explain", "Show which device computes which operation, and why not another");
  app->footer(fmt::format(
      "D is {}.\n\nThe compilation is the one that an application gets. Without --device the\n"
      "runtime chooses among all devices and falls back to its own; with it, among those only.\n"
      "Costs are predicted from the devices' figures and this machine's, or by the driver itself.\n"
      "MEASURED is the mean of the executions, COPIED that of the bytes that they copied.",
      measure::kDeviceRule));
  app->add_option("MODEL", options->model, "A model, .tflite")->required();
  app->add_option("--device", options->devices, "A device that may be used; once for each")
      ->allow_extra_args(false)
      ->option_text("D");
  command_line::addAllowFloat16Option(*app, options->allowFloat16);
  app->add_option("--runs", options->runs, "Executions with random inputs, to measure")
      ->check(CLI::Range(0, 1'000'000))
      ->option_text("N");
  addCacheOptions(app, &options->cache);
  CLI::Option* json = app->add_flag("--json", options->json, "The whole report as JSON");
  app->add_flag("--all", options->text.everyOperation,
                "A line for each operation, and every reason")
      ->excludes(json);
  return {app, [options]() -> CommandResult {
            const auto devices = measure::devicesOf(options->devices);
            if (!devices.ok()) return refusedChoice(devices.status());
            return {explain(*options, *devices)};
          }};
}

}  // namespace halyard::cli
