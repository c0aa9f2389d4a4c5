// Checks that are made of conformance vectors: the models that a driver supports, prepares and
// executes. Models and requests are changed in every way.
#include <algorithm>
#include <map>

#include "conformance/case_source.h"
#include "model/validation/control_flow_sizes.h"
#include "model/validation/validation.h"
#include "validation/random_graphs/default_inputs.h"
#include "validation/random_graphs/generator.h"
#include "validation/vts/burst_client.h"
#include "validation/vts/hal_suite.h"
#include "validation/vts/models.h"
#include "validation/vts/mutations.h"
#include "validation/vts/rules.h"
#include "validation/vts/runs.h"

namespace halyard::validation {
namespace {

namespace fs = std::filesystem;
using conformance::VectorCase;

// In a quick run, this many models of each file, with different kinds of tensors.
constexpr size_t kQuickCases = 3;

struct Source {
  std::string name;  // the file's name
  std::vector<std::string> cases;
};

// The feature level of the models that the method of a version takes. The newest method takes those
// of the device's feature level.
FeatureLevel levelOf(HalVersion method, const DeviceFacts& facts) {
  if (method < HalVersion::V1_3) return featureLevelOf(method);
  return static_cast<FeatureLevel>(std::clamp<uint32_t>(facts.featureLevel, 4, 8));
}

// Sends a case's request and checks the answer.
class CaseRun {
 public:
  CaseRun(HalClient& client, HalVersion method, const VectorCase& vectorCase)
      : client_(client), method_(method), case_(vectorCase) {
    for (const conformance::VectorOutput& output : case_.outputs) {
      sizes_.push_back(output.bytes.size());
      shapes_.push_back(output.dims);
    }
  }

  // Executes twice in every way. Results must be right, and equal bit for bit.
  Status runAll(const DriverObjectPtr& model) {
    HALYARD_ASSIGN_OR_RETURN(const RequestMemory memory, RequestMemory::make(case_.inputs, sizes_));
    for (const Path path : pathsOf(method_)) {
      for (int i = 0; i < 2; ++i) {
        memory.clearOutputs();
        ExecuteCall call;
        call.measure = i == 1 && method_ >= HalVersion::V1_2;
        HALYARD_ASSIGN_OR_RETURN(const ExecutionAnswer answer,
                                 client_.execute(method_, path, model, memory.request(), call));
        HALYARD_RETURN_IF_ERROR(expectSuccess(answer, shapes_, call.measure, isOpen()),
                                "executed {}", pathName(path));
        HALYARD_RETURN_IF_ERROR(take(memory), "executed {}", pathName(path));
      }
    }
    return okStatus();
  }

  // Leaves out each argument in turn.
  Status runWithout(const DriverObjectPtr& model) {
    HALYARD_ASSIGN_OR_RETURN(const RequestMemory memory, RequestMemory::make(case_.inputs, sizes_));
    const hal::Request& good = memory.request();
    for (size_t i = 0; i < good.inputs.size() + good.outputs.size(); ++i) {
      hal::Request bad = good;
      const bool isInput = i < good.inputs.size();
      auto& list = isInput ? bad.inputs : bad.outputs;
      list.erase(list.begin() + static_cast<std::ptrdiff_t>(isInput ? i : i - good.inputs.size()));
      const std::string what = fmt::format("without {} {}", isInput ? "input" : "output",
                                           isInput ? i : i - good.inputs.size());
      for (const Path path : pathsOf(method_)) {
        HALYARD_ASSIGN_OR_RETURN(const ExecutionAnswer answer,
                                 client_.execute(method_, path, model, bad));
        HALYARD_RETURN_IF_ERROR(expectError(answer, {Code::INVALID_ARGUMENT}), "{}, executed {}",
                                what, pathName(path));
      }
      if (method_ >= HalVersion::V1_3) {
        HALYARD_ASSIGN_OR_RETURN(const FencedAnswer answer, client_.executeFenced(model, bad));
        HALYARD_RETURN_IF_ERROR(expectError(answer, {Code::INVALID_ARGUMENT}), "{}, fenced", what);
      }
    }
    return memory.checkUntouched();
  }

  // The first output is one byte too small.
  Status runTooSmall(const DriverObjectPtr& model) {
    if (sizes_.empty() || sizes_[0] <= 1 || method_ < HalVersion::V1_2) return okStatus();
    std::vector<size_t> sizes = sizes_;
    --sizes[0];
    HALYARD_ASSIGN_OR_RETURN(const RequestMemory memory, RequestMemory::make(case_.inputs, sizes));
    for (const Path path : pathsOf(method_)) {
      HALYARD_ASSIGN_OR_RETURN(const ExecutionAnswer answer,
                               client_.execute(method_, path, model, memory.request()));
      HALYARD_RETURN_IF_ERROR(expectCode("execution with one byte too little room", answer.status(),
                                         {Code::OUTPUT_INSUFFICIENT_SIZE}, answer.message),
                              "executed {}", pathName(path));
      HALYARD_RETURN_IF_ERROR(checkShapes(answer.shapes), "executed {}", pathName(path));
      HALYARD_RETURN_IF_ERROR(memory.checkUntouched());
    }
    return okStatus();
  }

 private:
  // Whether the model leaves a dimension of an output open.
  bool isOpen() const {
    const Subgraph& main = case_.model.main;
    return std::any_of(main.outputIndexes.begin(), main.outputIndexes.end(), [&](uint32_t index) {
      const Operand& operand = main.operands[index];
      return !isScalarType(operand.type) && !knownElementCount(operand.dimensions);
    });
  }

  Status checkShapes(const std::vector<hal::OutputShape>& shapes) const {
    if (shapes.size() != shapes_.size()) {
      return opFailed("{} output shapes for {} outputs", shapes.size(), shapes_.size());
    }
    for (size_t i = 0; i < shapes.size(); ++i) {
      if (shapes[i].isSufficient == (i == 0)) {
        return opFailed("output {} is said {}to fit", i, i == 0 ? "" : "not ");
      }
      const Shape& said = shapes[i].dimensions;
      bool agrees = said.size() == shapes_[i].size();
      for (size_t k = 0; agrees && k < said.size(); ++k) {
        agrees = said[k] == 0 || said[k] == shapes_[i][k];
      }
      if (!agrees) {
        return opFailed("output {} is said to be [{}], expected [{}]", i, fmt::join(said, ","),
                        fmt::join(shapes_[i], ","));
      }
    }
    return okStatus();
  }

  Status take(const RequestMemory& memory) {
    std::vector<conformance::ActualOutput> actual;
    for (size_t i = 0; i < sizes_.size(); ++i) {
      actual.push_back({memory.output(i, sizes_[i]), shapes_[i]});
    }
    HALYARD_RETURN_IF_ERROR(conformance::compare(case_, actual));
    HALYARD_RETURN_IF_ERROR(memory.checkUntouched());
    if (case_.multinomialTolerance > 0) return okStatus();  // random draws
    for (size_t i = 0; !first_.empty() && i < actual.size(); ++i) {
      if (actual[i].bytes != first_[i].bytes && !case_.outputs[i].ignored) {
        return opFailed("output {} is not the same as that of an equal execution before", i);
      }
    }
    first_ = std::move(actual);
    return okStatus();
  }

  HalClient& client_;
  const HalVersion method_;
  const VectorCase& case_;
  std::vector<size_t> sizes_;
  std::vector<Shape> shapes_;
  std::vector<conformance::ActualOutput> first_;
};

// The oldest version whose method takes the model, if the driver serves one.
Result<std::optional<HalVersion>> methodFor(HalClient& client, const VectorCase& vectorCase) {
  const auto needed = validateModel(vectorCase.model);
  HALYARD_RETURN_IF_ERROR(needed.status());
  HALYARD_ASSIGN_OR_RETURN(const DeviceFacts facts, client.facts(client.version()));
  for (const HalVersion version : servedVersions(client.version())) {
    if (*needed <= levelOf(version, facts)) return std::optional(version);
  }
  return std::optional<HalVersion>();
}

using CaseUse =
    std::function<Status(HalClient&, HalVersion, const VectorCase&, const DriverObjectPtr&)>;

// Each case of a file that the driver supports. Skipped when the driver supports no case.
CheckResult forEachCase(HalClient& client, const Source& source, bool prepares,
                        const CaseUse& use) {
  std::string skip = "no case is right for the driver's HAL version";
  size_t done = 0;
  for (const std::string& text : source.cases) {
    HALYARD_ASSIGN_OR_RETURN(const VectorCase vectorCase, conformance::parseVectorCase(text));
    // No driver supports control flow of unknown sizes.
    if (vectorCase.expectFailure || !checkBoundarySizes(vectorCase.model).ok()) continue;
    HALYARD_ASSIGN_OR_RETURN(const std::optional<HalVersion> oldest, methodFor(client, vectorCase));
    if (!oldest) continue;
    // The newest method takes every model. The oldest method for the model is tested too.
    std::vector<HalVersion> methods = {client.version()};
    if (*oldest != client.version()) methods.push_back(*oldest);
    for (const HalVersion method : methods) {
      DriverObjectPtr model;
      if (prepares) {
        HALYARD_ASSIGN_OR_RETURN(const PreparedOrSkip prepared,
                                 prepareIfSupported(client, method, vectorCase.model),
                                 "case {}, HAL {}", vectorCase.name, halVersionName(method));
        if (prepared.model == nullptr) {
          skip = prepared.skip;
          continue;
        }
        model = prepared.model;
      }
      HALYARD_RETURN_IF_ERROR(use(client, method, vectorCase, model), "case {}, HAL {}",
                              vectorCase.name, halVersionName(method));
      ++done;
    }
  }
  return done > 0 ? CheckResult::passed() : CheckResult::skipped(skip);
}

Status executes(HalClient& client, HalVersion method, const VectorCase& vectorCase,
                const DriverObjectPtr& model) {
  return CaseRun(client, method, vectorCase).runAll(model);
}

Status refusesRequests(HalClient& client, HalVersion method, const VectorCase& vectorCase,
                       const DriverObjectPtr& model) {
  CaseRun run(client, method, vectorCase);
  HALYARD_RETURN_IF_ERROR(run.runWithout(model));
  return run.runTooSmall(model);
}

Status refusesModels(HalClient& client, HalVersion method, const VectorCase& vectorCase,
                     const DriverObjectPtr& /*model*/) {
  HALYARD_ASSIGN_OR_RETURN(const DeviceFacts facts, client.facts(method));
  return forEachMutation(vectorCase.model, levelOf(method, facts), [&](const Mutation& mutation) {
    return expectModelRefused(client, method, mutation.model, mutation.edit)
        .annotate(mutation.what);
  });
}

// Reads the cases of each file; in a quick run a few, with different first types.
Result<std::vector<Source>> readSources(const Plan& plan) {
  std::vector<std::string> roots;
  const fs::path own = plan.prefix / "share/halyard/vectors";
  std::error_code error;
  if (fs::exists(own, error)) roots.push_back(own.string());
  for (const std::string& path : plan.vectors) roots.push_back(path);
  std::vector<Source> sources;
  for (const std::string& root : roots) {
    HALYARD_ASSIGN_OR_RETURN(const std::vector<std::string> files,
                             conformance::findVectorFiles({root}));
    for (const std::string& file : files) {
      Source source;
      source.name = fs::is_directory(root) ? fs::path(file).lexically_relative(root).string()
                                           : fs::path(file).filename().string();
      source.name = source.name.substr(0, source.name.find(".jsonl"));
      std::map<std::string, size_t> kinds;
      conformance::CaseSource cases({file}, {});
      while (const auto one = cases.next()) {
        if (!one->error.ok()) return one->error;
        // Cases differ mainly by their types, at the begin of the text.
        const size_t at = one->text.find("\"type\"");
        const std::string kind = at == std::string::npos ? "" : one->text.substr(at, 40);
        if (!plan.full && (kinds.size() >= kQuickCases || kinds[kind]++ > 0)) continue;
        source.cases.push_back(one->text);
      }
      if (!source.cases.empty()) sources.push_back(std::move(source));
    }
  }
  return sources;
}

// One operation with each legal number of inputs with default values. The runtime leaves these
// inputs out. So a driver that supports a longer list must support the shortest.
Result<size_t> runLengths(HalClient& client, const random_graphs::Choice& choice, uint64_t seed) {
  const Result<VectorCase> graph = random_graphs::generateGraph({seed, 1, {choice}});
  if (!graph.ok()) return 0;  // this row of the tables has no legal case
  HALYARD_ASSIGN_OR_RETURN(const DeviceFacts facts, client.facts(client.version()));
  size_t runs = 0;
  bool takesShortest = false;
  for (const size_t length : random_graphs::lengthsOf(choice, true)) {
    VectorCase longer = *graph;
    HALYARD_RETURN_IF_ERROR(random_graphs::lengthen(longer.model, choice, length));
    HALYARD_ASSIGN_OR_RETURN(const FeatureLevel needed, validateModel(longer.model));
    if (needed > levelOf(client.version(), facts)) continue;
    const auto context = [&] {
      return fmt::format("{} of {} with {} inputs, seed {}",
                         operationTypeName(choice.definition->type),
                         operandTypeName(choice.mainType()), length, seed);
    };
    HALYARD_ASSIGN_OR_RETURN(const PreparedOrSkip prepared,
                             prepareIfSupported(client, client.version(), longer.model), "{}",
                             context());
    if (length == choice.variant.inputs) takesShortest = prepared.model != nullptr;
    if (prepared.model == nullptr) continue;
    if (!takesShortest) {
      return opFailed(
          "{} is taken, and not without those that have their default values: {} inputs, in which "
          "form the runtime asks for it",
          context(), choice.variant.inputs);
    }
    HALYARD_RETURN_IF_ERROR(CaseRun(client, client.version(), longer).runAll(prepared.model), "{}",
                            context());
    ++runs;
  }
  return runs;
}

CheckResult takesDefaultsLeftOut(HalClient& client,
                                 const std::vector<random_graphs::Choice>& choices,
                                 uint64_t seeds) {
  size_t runs = 0;
  for (const random_graphs::Choice& choice : choices) {
    for (uint64_t seed = 1; seed <= seeds; ++seed) {
      HALYARD_ASSIGN_OR_RETURN(const size_t more, runLengths(client, choice, seed));
      runs += more;
    }
  }
  return runs > 0 ? CheckResult::passed(fmt::format("{} lists of inputs", runs))
                  : CheckResult::skipped("the driver does not take the operation");
}

void listDefaultInputs(HalChecks& checks) {
  std::map<std::string, std::vector<random_graphs::Choice>> choices;
  for (const random_graphs::Choice& choice : random_graphs::shortestChoices()) {
    if (random_graphs::lengthsOf(choice, true).size() < 2) continue;
    choices[operationTypeName(choice.definition->type)].push_back(choice);
  }
  const uint64_t seeds = checks.plan().full ? 10 : 1;
  for (auto& [name, own] : choices) {
    Check& check =
        checks.add(HalVersion::V1_0, fmt::format("default_inputs/{}", name),
                   "the operation is taken without its trailing inputs with default values, and "
                   "gives the same results",
                   {"ND-025", "ND-052"}, [own = std::move(own), seeds](HalClient& client) {
                     return takesDefaultsLeftOut(client, own, seeds);
                   });
    check.limit = std::chrono::seconds(checks.plan().full ? 600 : 120);
    check.expectedSeconds = 0.1;
  }
}

}  // namespace

Status listVectorChecks(HalChecks& checks) {
  HALYARD_ASSIGN_OR_RETURN(std::vector<Source> read, readSources(checks.plan()));
  const auto sources = std::make_shared<const std::vector<Source>>(std::move(read));
  for (size_t i = 0; i < sources->size(); ++i) {
    const std::string& name = (*sources)[i].name;
    const auto add = [&](const char* group, std::string what, std::vector<std::string> requirements,
                         bool prepares, CaseUse use) {
      Check& check = checks.add(HalVersion::V1_0, fmt::format("{}/{}", group, name),
                                std::move(what), std::move(requirements),
                                [sources, i, prepares, use = std::move(use)](HalClient& client) {
                                  return forEachCase(client, (*sources)[i], prepares, use);
                                });
      check.limit = std::chrono::seconds(checks.plan().full ? 600 : 120);
      check.expectedSeconds = 0.1;
    };
    add("promise",
        fmt::format("what is claimed of {} is prepared and gives the right results", name),
        {"ND-020", "ND-021", "ND-041", "ND-052"}, true, executes);
    add("requests",
        fmt::format("requests for {} without an argument, or without room, are refused", name),
        {"ND-044", "ND-047"}, true, refusesRequests);
    add("mutations", fmt::format("models of {} that break one rule are refused", name), {"ND-031"},
        false, refusesModels);
  }
  listDefaultInputs(checks);
  return okStatus();
}

}  // namespace halyard::validation
