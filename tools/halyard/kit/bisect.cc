// halyard bisect: finds the operation of a model whose result on a device differs from the CPU's.
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/shell_word.h"
#include "command_line/shared_options.h"
#include "conformance/case_source.h"
#include "conformance/hal_target.h"
#include "conformance/variants.h"
#include "cpu/cpu_device.h"
#include "hal/session/client_session.h"
#include "hal/session/session_services.h"
#include "import/tflite/importer.h"
#include "measure/device_choice.h"
#include "measure/run_inputs.h"
#include "media/file_bytes.h"
#include "model/dump.h"
#include "tools/halyard/kit/commands.h"
#include "tools/halyard/kit/conformance_target.h"
#include "tools/halyard/terminal.h"
#include "tools/halyard/text_table.h"
#include "validation/random_graphs/bisect.h"

namespace halyard::cli {
namespace {

using conformance::VectorCase;
using random_graphs::Bisection;
using random_graphs::OperationFinding;

struct BisectOptions {
  std::string model;
  std::string device;
  std::string via = "hal";
  std::string caseName;
  std::string image;
  std::vector<std::string> arrays;
  uint64_t seed = 1;
  std::string folder = ".";
  bool all = false;
  bool allowFloat16 = false;
};

bool isVectorFile(const std::string& path) {
  return path.ends_with(".jsonl") || path.ends_with(".jsonl.gz");
}

Result<VectorCase> readVector(const BisectOptions& options) {
  conformance::CaseFilter filter;
  if (!options.caseName.empty()) filter.names = {options.caseName};
  conformance::CaseSource source({options.model}, filter);
  const auto found = source.next();
  if (!found)
    return badData("{}: no case{}", options.model, filter.isEmpty() ? "" : " of this name");
  HALYARD_RETURN_IF_ERROR(found->error);
  return conformance::parseVectorCase(found->text);
}

Result<measure::InputOptions> inputOptions(const BisectOptions& options) {
  measure::InputOptions inputs;
  inputs.image = options.image;
  inputs.randomSeed = options.seed;
  for (const std::string& text : options.arrays) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
      return badData("--input {}: expected is NAME=FILE.npy", text);
    }
    inputs.arrays.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  return inputs;
}

Result<VectorCase> importModel(const BisectOptions& options, const measure::InputOptions& wanted) {
  HALYARD_ASSIGN_OR_RETURN(
      import::ImportedModel imported,
      import::importTfliteFile(options.model, {.extension = import::ExtensionUse::WHERE_NEEDED}));
  HALYARD_ASSIGN_OR_RETURN(const measure::PreparedInputs prepared,
                           measure::prepareInputs(imported.inputs, wanted));
  VectorCase result;
  result.name = std::filesystem::path(options.model).stem().string();
  result.model = std::move(imported.model);
  for (size_t i = 0; i < prepared.inputs.size(); ++i) {
    Operand& operand = result.model.main.operands[result.model.main.inputIndexes[i]];
    if (!isScalarType(operand.type)) operand.dimensions = prepared.inputs[i].dimensions;
    result.inputs.push_back({prepared.inputs[i].bytes, false});
  }
  return result;
}

std::string numberText(const std::optional<accuracy::Comparison>& comparison, bool relative) {
  if (!comparison) return "-";
  if (comparison->elements == 0) return comparison->failed ? "error" : "0";
  return fmt::format("{:.3g}",
                     relative ? comparison->largestRelative : comparison->largestAbsolute);
}

std::string verdictText(const std::optional<accuracy::Comparison>& comparison) {
  if (!comparison) return "-";
  return comparison->failed ? "WRONG" : "ok";
}

// Shows the operations around the findings, or all.
bool isShown(const Bisection& findings, size_t index) {
  constexpr size_t kAround = 3;
  for (const auto& found : {findings.firstWrong, findings.firstDiverging}) {
    if (found && index + kAround >= *found && index <= *found + kAround) return true;
  }
  return false;
}

void printTable(const Bisection& findings, bool all) {
  std::vector<TableRow> rows = {
      {"", "OPERATION", "OWN", "ABSOLUTE", "RELATIVE", "IN THE MODEL", "ABSOLUTE", "RELATIVE", ""}};
  for (const OperationFinding& finding : findings.operations) {
    if (!all && !isShown(findings, finding.index)) continue;
    rows.push_back({fmt::format("#{}", finding.index), operationTypeName(finding.type),
                    verdictText(finding.own), numberText(finding.own, false),
                    numberText(finding.own, true), verdictText(finding.accumulated),
                    numberText(finding.accumulated, false), numberText(finding.accumulated, true),
                    printable(finding.note)});
  }
  if (rows.size() > 1) writeOutput(alignedRows(rows));
}

std::string conclusion(const Bisection& findings) {
  const auto name = [&](size_t index) {
    return operationText(index, findings.operations[index].type);
  };
  if (findings.firstWrong) {
    return fmt::format("{} is the first that is wrong by itself: {}", name(*findings.firstWrong),
                       findings.operations[*findings.firstWrong].own->text);
  }
  if (findings.firstDiverging) {
    return fmt::format(
        "no operation is wrong by itself; {} is the first that is not what it should be after all "
        "that came before{}: {}",
        name(*findings.firstDiverging),
        findings.usedPrefixes ? ", while intermediate results are no outputs" : "",
        findings.operations[*findings.firstDiverging].accumulated->text);
  }
  if (findings.modelDiffers) {
    return fmt::format("the model as a whole differs, and none of its parts: {}",
                       findings.difference);
  }
  return "nothing differs";
}

std::string nameOf(const BisectOptions& options) {
  const std::filesystem::path stem = std::filesystem::path(options.model).stem();
  return (stem.extension() == ".jsonl" ? stem.stem() : stem).string();
}

Status writeSmallest(const BisectOptions& options, const Bisection& findings) {
  const std::filesystem::path base =
      std::filesystem::path(options.folder) / fmt::format("bisect_{}", nameOf(options));
  const std::string vectors = base.string() + ".jsonl";
  const std::string picture = base.string() + ".dot";
  const auto write = [](const std::string& path, const std::string& text) {
    return media::writeFileBytes(path,
                                 {reinterpret_cast<const uint8_t*>(text.data()), text.size()});
  };
  HALYARD_ASSIGN_OR_RETURN(const std::string line, conformance::vectorLine(*findings.smallest));
  HALYARD_RETURN_IF_ERROR(write(vectors, line + "\n"));
  HALYARD_RETURN_IF_ERROR(
      write(picture, modelGraphviz(findings.smallest->model, {}, /*drawConstants=*/true)));
  print(
      "the smallest part that fails: {}, {}\n  {}\n  halyard conformance {} --device {} --via {}\n",
      vectors, picture, printable(findings.smallestDifference), shellWord(vectors), options.device,
      options.via);
  return okStatus();
}

Result<VectorCase> readCase(const BisectOptions& options, const measure::InputOptions& wanted) {
  HALYARD_ASSIGN_OR_RETURN(VectorCase vectorCase, isVectorFile(options.model)
                                                      ? readVector(options)
                                                      : importModel(options, wanted));
  if (!options.allowFloat16) return vectorCase;
  return conformance::applyVariant(std::move(vectorCase), conformance::Variant::RELAXED);
}

CommandResult runBisect(const BisectOptions& options) {
  const auto inputs = inputOptions(options);
  if (!inputs.ok()) return {inputs.status(), true};
  auto vectorCase = readCase(options, *inputs);
  if (!vectorCase.ok()) return {vectorCase.takeStatus()};
  auto tested = openConformanceTarget(options.via, {&options.device, 1});
  if (!tested.ok()) return refusedChoice(tested.takeStatus());
  const auto reference = conformance::makeHalTarget(hal::ClientSession::ofRuntime(
      cpu::makeCpuDevice(cpu::cpuDeviceInfo(), 0), std::make_shared<hal::SessionServices>()));
  const auto findings = random_graphs::bisect(**tested, *reference, std::move(*vectorCase));
  if (!findings.ok()) return {findings.status()};
  printTable(*findings, options.all);
  print("{}\n", printable(conclusion(*findings)));
  if (!findings->smallest) return {};
  if (Status status = writeSmallest(options, *findings); !status.ok()) return {std::move(status)};
  return {opFailed("the results differ"), false, true};
}

}  // namespace

Command addBisectCommand(CLI::App& parent) {
  auto options = std::make_shared<BisectOptions>();
  CLI::App* app = parent.add_subcommand(kBisectCommand.name, kBisectCommand.description);
  app->footer(
      "Each operation is computed alone, with the CPU device's inputs (OWN), and in the model, "
      "after\n"
      "all that came before (IN THE MODEL); the largest errors of its outputs are shown, and "
      "whether\n"
      "they are too large. Inputs are random unless given. docs/bisect.md says more.\n"
      "\n"
      "Exit status: 0 nothing differs, 1 something does, 2 misuse.");
  app->add_option("MODEL", options->model, "A model, .tflite, or a vector, .jsonl")->required();
  app->add_option("--device", options->device, fmt::format("The device: {}", measure::kDeviceRule))
      ->required()
      ->option_text("D");
  app->add_option("--via", options->via,
                  "api: through the C API; hal: straight to the device (default: hal)")
      ->check(CLI::IsMember({"api", "hal"}))
      ->option_text("api|hal");
  command_line::addAllowFloat16Option(*app, options->allowFloat16);
  app->add_option("--case", options->caseName, "Which case of a file of vectors (the first)")
      ->option_text("NAME");
  app->add_option("--image", options->image, "Picture for the input that has the shape of one")
      ->option_text("FILE");
  app->add_option("--input", options->arrays, "Value of an input (its name or number)")
      ->allow_extra_args(false)
      ->option_text("NAME=FILE.npy");
  app->add_option("--random-inputs", options->seed, "Random values for all other inputs (1)")
      ->check(command_line::isWholeNumber())
      ->option_text("SEED");
  app->add_option("--output,-o", options->folder, "Where to write the smallest part that fails")
      ->check(CLI::ExistingDirectory)
      ->option_text("FOLDER");
  app->add_flag("--all", options->all, "Show every operation");
  return {app, [options] { return runBisect(*options); }};
}

}  // namespace halyard::cli
