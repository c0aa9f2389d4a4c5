#include "validation/models/models_suite.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <thread>

#include "accuracy/accuracy.h"
#include "measure/labels.h"
#include "measure/model_figures.h"
#include "measure/model_source.h"
#include "report/statistics.h"
#include "validation/kit/target.h"
#include "validation/models/comparison.h"
#include "validation/models/litert.h"
#include "validation/models/model_on_device.h"
#include "validation/models/test_inputs.h"

namespace halyard::validation {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using ImportedPtr = std::shared_ptr<const import::ImportedModel>;
using measure::MachinePeaks;

// The extent of a quick and of a full run.
struct Extent {
  size_t pictures;
  size_t randomInputs;
  double seconds;  // for executions on both devices; a slow one sees fewer inputs
  double latencySeconds;
  double warmUpSeconds;
  std::chrono::seconds limit;
};
constexpr Extent kQuick{2000, 20, 10, 0.3, 0.1, std::chrono::seconds(180)};
constexpr Extent kFull{1'000'000, 100, 300, 2, 0.5, std::chrono::seconds(900)};
constexpr size_t kTimedInputs = 3;

struct ModelToCheck {
  std::string name;   // of the checks
  std::string model;  // a file, or the name of a workload
  Plan plan;

  const Extent& extent() const { return plan.full ? kFull : kQuick; }
};

// One model on the device and on the CPU device.
class AccuracyRun {
 public:
  AccuracyRun(const ModelToCheck& what, ImportedPtr imported, TestInputs inputs)
      : what_(what), imported_(std::move(imported)), inputs_(std::move(inputs)) {}

  Result<CheckResult> run(const Support& support) {
    const std::shared_ptr<const Model> model(imported_, &imported_->model);
    HALYARD_ASSIGN_OR_RETURN(CompiledModel tested, compileForDevice(support, model));
    HALYARD_ASSIGN_OR_RETURN(CompiledModel reference, compileForCpu(support, model));
    HALYARD_ASSIGN_OR_RETURN(const size_t count, affordable(tested, reference));
    std::vector<OperandType> types;
    for (const import::ModelPort& port : imported_->outputs) types.push_back(port.type);
    Comparison comparison(std::move(types), measure::scoredClasses(*imported_));
    for (size_t n = 0; n < count; ++n) {
      HALYARD_ASSIGN_OR_RETURN(const TestInputs::Input input, inputs_.get(n, count));
      HALYARD_ASSIGN_OR_RETURN(const auto expected, reference.compute(*imported_, input.bytes));
      HALYARD_ASSIGN_OR_RETURN(const auto actual, tested.compute(*imported_, input.bytes));
      HALYARD_RETURN_IF_ERROR(comparison.add(expected, actual, input.right), "input {}", n);
    }
    CheckResult result = comparison.verdict();
    result.figures = comparison.figures();
    std::string note = fmt::format("on {}", inputs_.name());
    if (support.supported < support.operations) {
      note += fmt::format("; {} of {} operations on the CPU device",
                          support.operations - support.supported, support.operations);
    }
    if (comparison.judgesClasses()) note += addLiteRt(count, &result);
    result.reason += (result.reason.empty() ? "" : "\n") + note;
    return result;
  }

 private:
  // The number of inputs that the time allows.
  Result<size_t> affordable(CompiledModel& tested, CompiledModel& reference) const {
    const Extent& extent = what_.extent();
    const size_t wanted =
        std::min(inputs_.most(), inputs_.arePictures() ? extent.pictures : extent.randomInputs);
    Clock::time_point start;
    // The first execution is not timed, because it differs from later ones.
    for (size_t n = 0; n <= kTimedInputs; ++n) {
      if (n == 1) start = Clock::now();
      HALYARD_ASSIGN_OR_RETURN(const TestInputs::Input input, inputs_.get(n % wanted, wanted));
      HALYARD_RETURN_IF_ERROR(reference.compute(*imported_, input.bytes).status());
      HALYARD_RETURN_IF_ERROR(tested.compute(*imported_, input.bytes).status());
    }
    const double each = std::chrono::duration<double>(Clock::now() - start).count() / kTimedInputs;
    const auto most = static_cast<size_t>(extent.seconds / std::max(each, 1e-9));
    return std::clamp<size_t>(most, 1, wanted);
  }

  // Adds LiteRT's top-1 on the same pictures. An error of LiteRT becomes a note, because the driver
  // has no part in it.
  std::string addLiteRt(size_t count, CheckResult* result) const {
    std::vector<uint8_t> all;
    std::vector<std::optional<size_t>> right;
    std::vector<std::vector<uint8_t>> first;
    for (size_t n = 0; n < count; ++n) {
      const auto input = inputs_.get(n, count);
      if (!input.ok()) return "";
      if (n == 0) first = input->bytes;
      if (!input->right) continue;
      all.insert(all.end(), input->bytes[0].begin(), input->bytes[0].end());
      right.push_back(input->right);
    }
    const auto litert = LiteRt::start(what_.plan.prefix, what_.model, *imported_, first);
    if (!litert.ok()) return "; " + litert.status().toString();
    if (*litert == nullptr) return "";
    const auto classes = (*litert)->classes(all);
    if (!classes.ok()) return "; " + classes.status().toString();
    if (classes->size() != right.size()) return "; LiteRT: an answer of another length";
    size_t found = 0;
    for (size_t n = 0; n < right.size(); ++n) found += (*classes)[n] == right[n];
    result->figures.push_back({"litert_top_1_percent", 100 * static_cast<double>(found) /
                                                           static_cast<double>(right.size())});
    return "";
  }

  const ModelToCheck& what_;
  const ImportedPtr imported_;
  const TestInputs inputs_;
};

// The result of a failure: a crash if the driver's process has ended.
CheckResult failed(const Status& status) {
  if (status.code() != ResultCode::DEAD_OBJECT) return status;
  return CheckResult::crashed(status.toString());
}

// The model and the device's support of it, or the reason why there is nothing to check.
struct Prepared {
  ImportedPtr imported;
  Support support;
};
Result<Prepared> prepare(const Target& target, const ModelToCheck& what, CheckResult* skipped) {
  Prepared prepared;
  auto imported = measure::loadBenchModel(what.model);
  if (!imported.ok()) {
    *skipped =
        CheckResult::skipped("the model cannot be imported: " + imported.status().toString());
    return prepared;
  }
  prepared.imported = std::move(*imported);
  if (accuracy::isNondeterministic(prepared.imported->model)) {
    *skipped = CheckResult::skipped("the model's results are drawn at random");
    return prepared;
  }
  const std::shared_ptr<const Model> model(prepared.imported, &prepared.imported->model);
  HALYARD_ASSIGN_OR_RETURN(prepared.support, supportOf(target.spec(), model));
  if (prepared.support.supported == 0) {
    *skipped = CheckResult::skipped(
        fmt::format("the device takes none of the {} operations", prepared.support.operations));
  }
  return prepared;
}

CheckResult checkAccuracy(const Target& target, const ModelToCheck& what) {
  CheckResult skipped;
  auto prepared = prepare(target, what, &skipped);
  if (!prepared.ok()) return failed(prepared.status());
  if (skipped.outcome == Outcome::SKIPPED) return skipped;
  auto inputs = TestInputs::open(*prepared->imported, what.plan);
  if (!inputs.ok()) return CheckResult::skipped(inputs.status().toString());
  auto result = AccuracyRun(what, prepared->imported, std::move(*inputs)).run(prepared->support);
  return result.ok() ? std::move(*result) : failed(result.status());
}

double numberIn(const nlohmann::json& figures, const char* part, const char* name) {
  return figures.at(part).at(name).get<double>();
}

void addLiteRtLatency(const ModelToCheck& what, const import::ImportedModel& imported,
                      double median, CheckResult* result) {
  const auto inputs = measure::randomInputs(imported);
  if (!inputs.ok()) return;
  const auto litert = LiteRt::start(what.plan.prefix, what.model, imported, *inputs);
  if (litert.ok() && *litert == nullptr) return;
  const auto measured = litert.ok() ? (*litert)->medianMilliseconds(what.extent().latencySeconds)
                                    : Result<double>(litert.status());
  if (!measured.ok()) {
    result->reason = measured.status().toString();
    return;
  }
  result->figures.push_back({"litert_median_ms", *measured});
  result->figures.push_back({"times_as_fast_as_litert", *measured / median});
}

CheckResult checkLatency(const Target& target, const ModelToCheck& what) {
  CheckResult skipped;
  auto prepared = prepare(target, what, &skipped);
  if (!prepared.ok()) return failed(prepared.status());
  if (skipped.outcome == Outcome::SKIPPED) return skipped;
  const Support& support = prepared->support;
  if (support.supported < support.operations) {
    return CheckResult::skipped(fmt::format("the device takes {} of the {} operations",
                                            support.supported, support.operations));
  }
  measure::BenchOptions options;
  options.seconds = what.extent().latencySeconds;
  options.warmUp = what.extent().warmUpSeconds;
  options.operations = false;
  options.accuracy = false;
  MachinePeaks peaks;
  peaks.processors = std::max(1u, std::thread::hardware_concurrency());
  const auto own = measure::measureModel(what.model, target.spec().name, options, peaks);
  if (!own.ok()) return failed(own.status());
  const std::shared_ptr<const Model> model(prepared->imported, &prepared->imported->model);
  HALYARD_ASSIGN_OR_RETURN(const auto inputs, measure::randomInputs(*prepared->imported));
  HALYARD_ASSIGN_OR_RETURN(CompiledModel tested, compileForDevice(support, model));
  HALYARD_ASSIGN_OR_RETURN(CompiledModel reference, compileForCpu(support, model));
  const auto times = timeInTurns(tested, reference, inputs, 2 * what.extent().latencySeconds);
  if (!times.ok()) return failed(times.status());
  const double median = report::medianOf(times->device);
  CheckResult result;
  result.figures = {{"median_ms", median},
                    {"p90_ms", report::percentileOf(times->device, 0.9)},
                    {"per_second", numberIn(*own, "throughput", "per_second")},
                    {"compile_ms", numberIn(*own, "load_ms", "cold_compile")},
                    {"compile_cached_ms", numberIn(*own, "load_ms", "warm_compile")},
                    {"reference_median_ms", report::medianOf(times->cpu)},
                    {"times_as_fast", times->timesAsFast}};
  addLiteRtLatency(what, *prepared->imported, median, &result);
  return result;
}

Status addModels(const std::string& path, std::vector<std::string>* models) {
  std::error_code error;
  if (fs::is_regular_file(path, error)) {
    // A run that only skips the checks of this model would look like a success.
    HALYARD_RETURN_IF_ERROR(measure::loadBenchModel(path).status());
    models->push_back(path);
    return okStatus();
  }
  std::vector<std::string> found;
  for (const auto& entry : fs::directory_iterator(path, error)) {
    if (entry.path().extension() == ".tflite") found.push_back(entry.path().string());
  }
  if (error) return badData("{}: {}", path, error.message());
  if (found.empty()) return badData("{}: has no .tflite file", path);
  std::ranges::sort(found);
  models->insert(models->end(), found.begin(), found.end());
  return okStatus();
}

Result<std::vector<std::string>> modelsOf(const Plan& plan) {
  std::vector<std::string> models;
  for (const std::string& path : plan.models) HALYARD_RETURN_IF_ERROR(addModels(path, &models));
  if (!models.empty()) return models;
  const fs::path own = plan.prefix / "share/halyard/models";
  std::error_code error;
  if (fs::is_directory(own, error)) HALYARD_RETURN_IF_ERROR(addModels(own, &models));
  // Well-known architectures with random weights.
  if (plan.full) {
    const std::vector<std::string> workloads = measure::defaultBenchModels();
    models.insert(models.end(), workloads.begin(), workloads.end());
  }
  return models;
}

// An error in the data is reported before the first check.
Status checkData(const Plan& plan) {
  measure::Labels labels;
  if (!plan.labels.empty()) {
    HALYARD_ASSIGN_OR_RETURN(labels, measure::Labels::load(plan.labels));
  }
  if (plan.data.empty()) return okStatus();
  return measure::DataSet::open(plan.data, labels).status();
}

Check checkOf(const ModelToCheck& what) {
  Check check;
  check.limit = what.extent().limit;
  return check;
}

}  // namespace

Result<std::vector<Check>> listModels(const TargetSpec& /*target*/, const Plan& plan) {
  HALYARD_RETURN_IF_ERROR(checkData(plan));
  HALYARD_ASSIGN_OR_RETURN(const std::vector<std::string> models, modelsOf(plan));
  std::vector<Check> checks;
  for (const std::string& model : models) {
    std::string name = measure::benchModelName(model);
    std::ranges::replace(name, ' ', '_');
    const ModelToCheck what{name, model, plan};
    Check accuracy = checkOf(what);
    accuracy.name = name + "/accuracy";
    accuracy.what = fmt::format("{} is as accurate as on the CPU device", name);
    accuracy.requirements = {"ND-021", "ND-052"};
    accuracy.expectedSeconds = plan.full ? 8 : 1;
    accuracy.run = [what](Target& target) { return checkAccuracy(target, what); };
    Check latency = checkOf(what);
    latency.name = name + "/latency";
    latency.what = fmt::format("{} compiles, also from a cache, and runs; how fast", name);
    latency.requirements = {"ND-021", "ND-040"};
    latency.expectedSeconds = plan.full ? 10 : 1.5;
    latency.run = [what](Target& target) { return checkLatency(target, what); };
    checks.push_back(std::move(accuracy));
    checks.push_back(std::move(latency));
  }
  return checks;
}

}  // namespace halyard::validation
