// Divides a model and prepares it, and divides it again when a device fails.
#include "runtime/compile/preparation.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/environment.h"
#include "base/environment_warning.h"
#include "base/first_time.h"
#include "base/log.h"
#include "base/verbose_log.h"
#include "halyard/driver/trace.h"
#include "model/validation/validation.h"
#include "runtime/device/strict_mode.h"
#include "runtime/partition/partitioner.h"
#include "runtime/partition/plan_builder.h"
#include "runtime/partition/support.h"
#include "runtime/report/plan_report.h"

namespace halyard::runtime {
namespace {

// After this number of failed attempts, the CPU device computes the whole model.
constexpr int kMostDivisions = 5;

bool isDeadline(const Status& status) {
  return status.code() == ResultCode::MISSED_DEADLINE_TRANSIENT ||
         status.code() == ResultCode::MISSED_DEADLINE_PERSISTENT;
}

// Whether the status is about the whole device rather than about some operations.
bool concernsDevice(const Status& status) {
  return status.code() == ResultCode::DEAD_OBJECT ||
         status.code() == ResultCode::UNAVAILABLE_DEVICE;
}

std::string namesOf(const std::vector<const Device*>& devices) {
  std::string names;
  for (const Device* device : devices) names += (names.empty() ? "" : ", ") + device->name();
  return names;
}

struct Failure {
  size_t step = 0;
  Status status;
};

class Preparation {
 public:
  Preparation(const ValidModel& model, const std::vector<uint32_t>& order,
              const std::vector<const Device*>& devices, const PreparationOptions& options,
              Report* report)
      : model_(model),
        order_(order),
        options_(options),
        isStrict_(!requiredDevices().empty()),
        candidates_(candidatesOf(devices)),
        all_(devices),
        support_(model, candidates_,
                 [this](const Device& device, uint32_t subgraph, const ValidModel& asModel) {
                   return ask(device, subgraph, asModel);
                 }),
        report_(*report),
        nameOf_([this](uint32_t subgraph, uint32_t operation) {
          return nameOf(subgraph, operation);
        }) {}

  Result<std::shared_ptr<const Plan>> run();

 private:
  std::vector<const Device*> candidatesOf(const std::vector<const Device*>& devices);
  std::string nameOf(uint32_t subgraph, uint32_t operation) const;
  bool mayFallBack() const {
    return !options_.explicitDevices && options_.mode == PartitionMode::WITH_FALLBACK;
  }

  Result<hal::SupportedOperations> ask(const Device& device, uint32_t subgraph,
                                       const ValidModel& asModel);
  // Whether the single candidate gets the whole model without a division. False for control flow,
  // which the runtime may execute itself, and when the decisions are logged.
  bool isWholeForOne() {
    return candidates_.size() == 1 && model_->referenced.empty() &&
           !vlogIsOn(VlogTag::COMPILATION) && support_.takesAll(kMainSubgraph, 0);
  }
  Result<Plan> divide();
  Result<Plan> everythingOnCpu();
  void describe(const Plan& plan);
  std::optional<Failure> prepareSteps(Plan* plan);
  Status prepareStep(ComputeStep* step, bool isWhole);
  void recordFailure(const Plan& plan, const Failure& failure);
  // Reports that the model is divided again without the failed device.
  void recordDivisionWithout(const Plan& plan, const std::string& failedDevice,
                             const Status& cause);
  // Removes the failed operations, or the whole device, from the support table.
  void mask(const Plan& plan, const Failure& failure);
  Result<std::shared_ptr<const Plan>> fallBack(Status cause, const std::string& failedDevice);
  Status refuse(const Status& cause, const std::string& failedDevice);
  std::vector<uint32_t> applicationOperations(const ComputeStep& step) const;
  void logDecisions(const SubgraphChoice& choice);

  const ValidModel& model_;
  const std::vector<uint32_t>& order_;
  const PreparationOptions& options_;
  const bool isStrict_;
  std::vector<OperationReport::RejectedDevice> leftOut_;
  const std::vector<const Device*> candidates_;
  const std::vector<const Device*>& all_;
  SupportTable support_;
  std::optional<CostModel> costs_;  // set when the model is divided
  Report& report_;
  const OperationNamer nameOf_;
  std::vector<ComputeStep> prepared_;  // steps that were prepared in a failed attempt
  size_t failedOperations_ = 0;        // in the step that failed last
  // The prepared whole model of the only candidate, from prepareIfSupported.
  std::optional<CachedPreparation::EarlierResult> whole_;
};

std::vector<const Device*> Preparation::candidatesOf(const std::vector<const Device*>& devices) {
  std::vector<const Device*> candidates;
  const bool cpuOnly = !options_.explicitDevices && options_.mode == PartitionMode::NONE;
  for (const Device* device : devices) {
    if (!strictModeAllows(device->name())) {
      leftOut_.push_back({device->name(), "HALYARD_REQUIRE_DEVICE does not name it"});
    } else if (cpuOnly && !device->isCpu()) {
      leftOut_.push_back(
          {device->name(), "HALYARD_PARTITION=0 leaves everything to the CPU device"});
    } else {
      candidates.push_back(device);
    }
  }
  return candidates;
}

std::string Preparation::nameOf(uint32_t subgraph, uint32_t operation) const {
  const OperationType type = subgraphAt(*model_, subgraph).operations[operation].type;
  if (subgraph == kMainSubgraph) return operationText(order_[operation], type);
  return fmt::format("{} of subgraph {}", operationText(operation, type), subgraph);
}

std::vector<uint32_t> Preparation::applicationOperations(const ComputeStep& step) const {
  std::vector<uint32_t> result;
  if (step.subgraph != kMainSubgraph) return result;
  for (const uint32_t operation : step.operations) result.push_back(order_[operation]);
  std::sort(result.begin(), result.end());
  return result;
}

void Preparation::logDecisions(const SubgraphChoice& choice) {
  if (!vlogIsOn(VlogTag::COMPILATION)) return;
  const std::vector<Operation>& operations = subgraphAt(*model_, choice.subgraph).operations;
  for (uint32_t n = 0; n < operations.size(); ++n) {
    for (size_t d = 0; d < candidates_.size(); ++d) {
      if (support_.takes(choice.subgraph, n, d)) continue;
      vlog(VlogTag::COMPILATION, "compilation: Device {} can't do operation {}: {}",
           candidates_[d]->name(), nameOf(choice.subgraph, n),
           support_.reason(choice.subgraph, n, d));
    }
    const uint32_t device = choice.deviceOf[n];
    vlog(VlogTag::COMPILATION, "compilation: findBestDeviceForEachOperation({}) = {} ({})",
         nameOf(choice.subgraph, n), device,
         device < candidates_.size() ? candidates_[device]->name() : "control flow");
  }
  for (const auto& [operation, list] : choice.inner) {
    for (const auto& each : list) logDecisions(*each);
  }
}

// If the only candidate gets no cache files, it also prepares the model in this call. So the model
// is sent to another process only once.
Result<hal::SupportedOperations> Preparation::ask(const Device& device, uint32_t subgraph,
                                                  const ValidModel& asModel) {
  const bool mayPrepare =
      candidates_.size() == 1 && subgraph == kMainSubgraph && model_->referenced.empty() &&
      !whyNoFiles(options_.caching.get(), device, options_.prepare.preference).empty();
  if (!mayPrepare) return device.hal().getSupportedOperations(asModel);
  const trace::Scope mark(trace::Layer::RUNTIME, trace::Phase::COMPILATION, device.name());
  const hal::TimePoint begin = hal::Clock::now();
  HALYARD_ASSIGN_OR_RETURN(hal::SupportedPreparation answer,
                           device.hal().prepareIfSupported(asModel, options_.prepare));
  if (answer.prepared) {
    whole_ =
        CachedPreparation::EarlierResult{std::move(*answer.prepared), hal::Clock::now() - begin};
  }
  return std::move(answer.supported);
}

Result<Plan> Preparation::divide() {
  const trace::Scope mark(trace::Layer::RUNTIME, trace::Phase::COMPILATION, "divide the model");
  if (!costs_) {
    costs_.emplace(*model_, candidates_, options_.prepare.preference, options_.costs);
  }
  HALYARD_ASSIGN_OR_RETURN(const auto choice, choosePartitions(support_, *costs_, nameOf_));
  logDecisions(*choice);
  return buildPlan(support_, *costs_, *choice, nameOf_);
}

Result<Plan> Preparation::everythingOnCpu() {
  SupportTable support(model_, {candidates_[support_.cpu()]});
  CostModel costs(*model_, support.devices(), options_.prepare.preference, options_.costs);
  HALYARD_ASSIGN_OR_RETURN(const auto choice, choosePartitions(support, costs, nameOf_));
  return buildPlan(support, costs, *choice, nameOf_);
}

void Preparation::describe(const Plan& plan) {
  if (!costs_) {
    return report_.setDecisionsLater(
        1, [sole = SoleDevice{model_, candidates_[0], order_, leftOut_, options_.prepare.preference,
                              options_.costs, support_.costs(kMainSubgraph, 0)}] {
          return describeSoleDevice(sole);
        });
  }
  report_.setDecisions(describeDecisions(plan, support_, *costs_, order_, leftOut_));
  if (!vlogIsOn(VlogTag::COMPILATION)) return;
  for (size_t s = 0; s < plan.steps.size(); ++s) {
    const ComputeStep& step = plan.steps[s];
    vlog(VlogTag::COMPILATION,
         "compilation: step {} of {}: {} operations from {} on, on device {}, predicted {}", s,
         plan.steps.size(), step.operations.size(), nameOf(step.subgraph, step.operations[0]),
         step.device->name(), durationText(step.predicted.total()));
  }
}

Status Preparation::prepareStep(ComputeStep* step, bool isWhole) {
  const trace::Scope mark(trace::Layer::RUNTIME, trace::Phase::COMPILATION, step->device->name());
  const std::optional<CachedPreparation::EarlierResult> earlier =
      std::exchange(whole_, std::nullopt);
  CachedPreparation::Part part = partOf(*step, isWhole);
  if (earlier && isWhole && step->device == candidates_[0]) part.earlier = &*earlier;
  HALYARD_ASSIGN_OR_RETURN(
      step->prepared,
      preparePart(*step->device, options_.caching.get(), part, options_.prepare, &step->cache),
      "device {}", step->device->name());
  return okStatus();
}

std::optional<Failure> Preparation::prepareSteps(Plan* plan) {
  const auto isSame = [](const ComputeStep& a, const ComputeStep& b) {
    return a.device == b.device && a.subgraph == b.subgraph && a.operations == b.operations &&
           a.inputs == b.inputs && a.outputs == b.outputs;
  };
  std::optional<Failure> failure;
  for (size_t s = 0; s < plan->steps.size() && !failure; ++s) {
    ComputeStep& step = plan->steps[s];
    const auto before = std::find_if(prepared_.begin(), prepared_.end(),
                                     [&](const ComputeStep& each) { return isSame(each, step); });
    if (before != prepared_.end()) {
      step.model = before->model;
      step.prepared = before->prepared;
      step.cache = before->cache;
      report_.setCache(s, step.cache);
      continue;
    }
    Status status = prepareStep(&step, plan->simple);
    report_.setCache(s, step.cache);
    if (!status.ok()) failure = Failure{s, std::move(status)};
  }
  prepared_.clear();
  if (!failure) return failure;
  for (ComputeStep& step : plan->steps) {
    if (step.prepared != nullptr) prepared_.push_back(step);
  }
  return failure;
}

void Preparation::recordFailure(const Plan& plan, const Failure& failure) {
  const ComputeStep& step = plan.steps[failure.step];
  ReportEvent event;
  event.kind = ReportEvent::Kind::PREPARE_FAILED;
  event.device = step.device->name();
  event.partition = static_cast<int32_t>(failure.step);
  event.operations = applicationOperations(step);
  event.cause = failure.status.toString();
  report_.add(std::move(event));
  failedOperations_ = step.operations.size();
}

void Preparation::recordDivisionWithout(const Plan& plan, const std::string& failedDevice,
                                        const Status& cause) {
  ReportEvent event;
  event.kind = ReportEvent::Kind::REPARTITIONED;
  event.device = failedDevice;
  event.target = plan.simple ? plan.steps[0].device->name() : "";
  event.cause = cause.toString();
  if (firstTime(event.cause)) {
    logWarning("{}: going on without that device for {} operations", event.cause,
               failedOperations_);
  }
  report_.add(std::move(event));
}

void Preparation::mask(const Plan& plan, const Failure& failure) {
  const ComputeStep& step = plan.steps[failure.step];
  const auto device = static_cast<size_t>(
      std::find(candidates_.begin(), candidates_.end(), step.device) - candidates_.begin());
  if (concernsDevice(failure.status)) {
    support_.maskDevice(device, failure.status);
  } else {
    support_.mask(step.subgraph, step.operations, device, failure.status);
  }
}

// In strict mode, returns the error for a model that the required devices cannot compute.
Status Preparation::refuse(const Status& cause, const std::string& failedDevice) {
  ReportEvent event;
  event.kind = ReportEvent::Kind::STRICT_REFUSED;
  event.device = failedDevice;
  event.cause = cause.toString();
  report_.add(std::move(event));
  return strictRefusal("no other device may take over", {}, cause.message()).withCode(cause.code());
}

Result<std::shared_ptr<const Plan>> Preparation::fallBack(Status cause,
                                                          const std::string& failedDevice) {
  if (!support_.hasCpu()) return isStrict_ ? refuse(cause, failedDevice) : cause;
  if (hasVendorOperations(*model_)) return cause;
  HALYARD_ASSIGN_OR_RETURN(Plan plan, everythingOnCpu());
  Status status = prepareStep(&plan.steps[0], plan.simple);
  if (!status.ok()) return status;
  ReportEvent event;
  event.kind = ReportEvent::Kind::CPU_FALLBACK;
  event.device = failedDevice;
  event.target = plan.steps[0].device->name();
  event.cause = cause.toString();
  if (firstTime(event.cause)) {
    logWarning("{}: everything is computed by {}", event.cause, event.target);
  }
  report_.add(std::move(event));
  describe(plan);
  report_.setCache(0, plan.steps[0].cache);
  return std::make_shared<const Plan>(std::move(plan));
}

Result<std::shared_ptr<const Plan>> Preparation::run() {
  if (candidates_.empty()) {
    Status status =
        strictRefusal("the model", namesOf(all_), "these are the devices that may be used");
    return refuse(status, {});
  }
  std::optional<Failure> failure;
  std::string failedDevice;
  for (int attempt = 0; attempt < kMostDivisions; ++attempt) {
    // The first attempt may need no division. After a failure the model is always divided, for the
    // report.
    const bool isWhole = attempt == 0 && isWholeForOne();
    Result<Plan> plan =
        isWhole ? simplePlan(*model_, support_.asModel(kMainSubgraph), *candidates_[0]) : divide();
    if (!plan.ok()) {
      // After a failure, the status of that failure is more useful.
      Status status = failure ? failure->status : plan.takeStatus();
      if (!failure) {
        report_.setDecisions(describeSupport(support_, order_, leftOut_));
        const Status& asked = support_.askStatus(kMainSubgraph, 0);
        if (candidates_.size() == 1 && !asked.ok()) status = asked;
        const bool isCallers =
            status.code() == ResultCode::BAD_DATA || status.code() == ResultCode::UNEXPECTED_NULL;
        if (isStrict_) return refuse(status, {});
        if (isCallers) return status;
      }
      return mayFallBack() ? fallBack(std::move(status), failedDevice) : status;
    }
    describe(*plan);
    if (failure) recordDivisionWithout(*plan, failedDevice, failure->status);
    failure = prepareSteps(&*plan);
    if (!failure) return std::make_shared<const Plan>(std::move(*plan));
    const ComputeStep& failed = plan->steps[failure->step];
    failedDevice = failed.device->name();
    recordFailure(*plan, *failure);
    const bool cpuHasAll = failed.device->isCpu() && plan->simple;
    if (!mayFallBack() || isDeadline(failure->status) || cpuHasAll) return failure->status;
    if (failed.device->isCpu()) break;
    mask(*plan, *failure);
  }
  return fallBack(failure->status, failedDevice);
}

}  // namespace

PartitionMode partitionMode() {
  const char* const text = environmentVariable("HALYARD_PARTITION");
  const std::string_view value = text == nullptr ? "" : text;
  if (value == "0") return PartitionMode::NONE;
  if (value == "2") return PartitionMode::WITHOUT_FALLBACK;
  if (!value.empty() && value != "1") warnOfValue("HALYARD_PARTITION", value, "one of: 0, 1, 2");
  return PartitionMode::WITH_FALLBACK;
}

Result<std::shared_ptr<const Plan>> preparePlan(const ValidModel& model,
                                                const std::vector<uint32_t>& order,
                                                const std::vector<const Device*>& devices,
                                                const PreparationOptions& options, Report* report) {
  return Preparation(model, order, devices, options, report).run();
}

}  // namespace halyard::runtime
