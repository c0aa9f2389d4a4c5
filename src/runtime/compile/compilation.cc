// Creates compilations: divides a model among devices and prepares it there.
#include "runtime/compile/compilation.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <system_error>

#include "base/log.h"
#include "base/signals_blocked.h"
#include "runtime/compile/preparation.h"
#include "runtime/device/strict_mode.h"
#include "runtime/partition/step_model.h"
#include "runtime/report/plan_report.h"

namespace halyard::runtime {
namespace {

constexpr uint32_t kPreferredAlignment = 64;
// In bytes; drivers before feature level 5 get no padding.
constexpr uint32_t kPreferredPadding = 64;

constexpr uint64_t kBytesWorthAThread = uint64_t{256} << 10;

constexpr int32_t kPriorityLow = 90;
constexpr int32_t kPriorityMedium = 100;
constexpr int32_t kPriorityHigh = 110;

std::atomic<uint64_t> nextCompilation = 1;

// Checks a descriptor from the application.
Status checkCacheFile(int fd) {
  const int flags = ::fcntl(fd, F_GETFL);
  if (flags < 0) return badData("{} is no descriptor", fd);
  if ((flags & O_PATH) != 0 || (flags & O_ACCMODE) != O_RDWR) {
    return badData("descriptor {} is not open for reading and writing", fd);
  }
  struct stat st {};
  if (::fstat(fd, &st) != 0) return errnoStatus(ResultCode::BAD_DATA, errno, "fstat");
  if (!S_ISREG(st.st_mode)) return badData("descriptor {} is not of a regular file", fd);
  return okStatus();
}

}  // namespace

std::optional<hal::TimePoint> deadlineAfter(uint64_t duration) {
  if (duration == 0) return std::nullopt;
  const hal::TimePoint now = hal::Clock::now();
  const auto left = static_cast<uint64_t>((hal::TimePoint::max() - now).count());
  if (duration >= left) return hal::TimePoint::max();
  return now + std::chrono::nanoseconds(duration);
}

Compilation::Compilation(const ModelBuilder& model, std::vector<const Device*> devices,
                         bool explicitDevices)
    : id_(nextCompilation++),
      model_(model.model()),
      sureFailures_(model.sureFailures()),
      applicationOrder_(model.applicationOrder()),
      extensions_(model.extensions()),
      devices_(std::move(devices)),
      explicitDevices_(explicitDevices),
      constantDigests_(model.constantDigests()),
      report_(std::make_shared<Report>(model_->relaxComputationFloat32toFloat16)) {}

Result<std::unique_ptr<Compilation>> Compilation::create(const ModelBuilder& model,
                                                         std::vector<const Device*> devices,
                                                         bool explicitDevices) {
  HALYARD_RETURN_IF_ERROR(model.checkFinished());
  return std::unique_ptr<Compilation>(new Compilation(model, std::move(devices), explicitDevices));
}

Status Compilation::setPreference(int32_t preference) {
  if (state_ != State::CREATED) return badState("the compilation is finished");
  if (preference < 0 || preference > 2) {
    return badData(
        "preference {}, expected 0 (low power), 1 (fast single answer) or 2 (sustained "
        "speed)",
        preference);
  }
  preference_ = static_cast<hal::ExecutionPreference>(preference);
  return okStatus();
}

Status Compilation::setPriority(int32_t priority) {
  if (state_ != State::CREATED) return badState("the compilation is finished");
  switch (priority) {
    case kPriorityLow:
      priority_ = hal::Priority::LOW;
      return okStatus();
    case kPriorityMedium:
      priority_ = hal::Priority::MEDIUM;
      return okStatus();
    case kPriorityHigh:
      priority_ = hal::Priority::HIGH;
      return okStatus();
    default:
      return badData("priority {}, expected 90 (low), 100 (medium) or 110 (high)", priority);
  }
}

Status Compilation::setTimeout(uint64_t duration) {
  if (state_ != State::CREATED) return badState("the compilation is finished");
  if (!hasSingleExplicitDevice()) {
    return badData("a timeout needs a compilation created for exactly one device");
  }
  timeout_ = duration;
  return okStatus();
}

Status Compilation::addExtensionAttribute(const char* extensionName, uint16_t code,
                                          const void* data, size_t length) {
  if (state_ != State::CREATED) return badState("the compilation is finished");
  if (!hasSingleExplicitDevice()) {
    return badData("an extension's attribute needs a compilation created for exactly one device");
  }
  return attributes_.add(extensions_, *devices_.front(), extensionName, code, data, length);
}

Status Compilation::setCaching(const std::string& folder, const hal::Token& token) {
  if (state_ != State::CREATED) return badState("the compilation is finished");
  caching_ = {token, folder.empty() || folder.back() == '/' ? folder : folder + '/', nullptr};
  return okStatus();
}

Status Compilation::setCachingFromFds(std::span<const int> modelCache,
                                      std::span<const int> dataCache, const hal::Token& token) {
  if (state_ != State::CREATED) return badState("the compilation is finished");
  if (!hasSingleExplicitDevice()) {
    return badData("descriptors for a cache need a compilation created for exactly one device");
  }
  const hal::DeviceInfo& info = devices_.front()->info();
  if (modelCache.size() != info.modelCacheFiles || dataCache.size() != info.dataCacheFiles) {
    return badData("{} model and {} data cache files, device {} needs {} and {}", modelCache.size(),
                   dataCache.size(), info.name, info.modelCacheFiles, info.dataCacheFiles);
  }
  auto descriptors = std::make_shared<CachingRequest::Descriptors>();
  const auto take = [](std::span<const int> fds, std::string_view kind,
                       std::vector<UniqueFd>* to) -> Status {
    for (size_t i = 0; i < fds.size(); ++i) {
      HALYARD_RETURN_IF_ERROR(checkCacheFile(fds[i]), "{} cache file {}", kind, i);
      to->emplace_back(::fcntl(fds[i], F_DUPFD_CLOEXEC, 0));
      if (!to->back().valid()) return errnoStatus(ResultCode::OUT_OF_MEMORY, errno, "descriptors");
    }
    return okStatus();
  };
  HALYARD_RETURN_IF_ERROR(take(modelCache, "model", &descriptors->modelCache));
  HALYARD_RETURN_IF_ERROR(take(dataCache, "data", &descriptors->dataCache));
  caching_ = {token, std::string(), std::move(descriptors)};
  return okStatus();
}

Status Compilation::setShadow(uint32_t interval) {
  if (state_ != State::CREATED) return badState("the compilation is finished");
  shadowInterval_ = interval;
  return okStatus();
}

Status Compilation::checkValid() const {
  if (state_ == State::CREATED) return badState("the compilation is not finished");
  if (state_ == State::INVALID) return badState("the compilation failed to finish");
  return okStatus();
}

bool Compilation::mayBeSaved() const {
  return caching_ && std::ranges::any_of(devices_, [this](const Device* device) {
           return !device->isCpu() && hal::savesFor(device->info(), preference_);
         });
}

std::jthread Compilation::startDigesting() const {
  uint64_t bytes = 0;
  for (const SharedMemoryPtr& pool : model_->pools) bytes += pool->size();
  if (bytes < kBytesWorthAThread) return {};
  try {
    const SignalsBlocked blocked;
    return std::jthread([digests = constantDigests_, model = model_] { digests->learn(*model); });
  } catch (const std::system_error&) {
    return {};  // the key computes each digest when it needs it
  }
}

void Compilation::planNothing() {
  const auto nameOf = [this](uint32_t n) {
    return operationText(applicationOrder_[n], model_->main.operations[n].type);
  };
  const auto& [first, reason] = *sureFailures_->begin();
  auto plan = std::make_shared<Plan>();
  plan->whyNever = reason;
  plan->whyNever.annotate("the model can never be computed: " + nameOf(first));
  report_->setDecisions(describeSureFailures(*model_, *sureFailures_, applicationOrder_, devices_));
  ReportEvent event;
  event.kind = ReportEvent::Kind::NEVER_COMPUTED;
  for (const auto& [n, status] : *sureFailures_) event.operations.push_back(applicationOrder_[n]);
  std::ranges::sort(event.operations);
  event.cause = plan->whyNever.toString();
  report_->add(std::move(event));
  logWarning("{}; every execution will fail", plan->whyNever.message());
  plan_ = std::move(plan);
}

void Compilation::makeRunner(std::shared_ptr<const CachedPreparation> caching) {
  PlanContext context(model_);
  context.applicationOrder = applicationOrder_;
  context.devices = devices_;
  context.mayRecover =
      !explicitDevices_ && partitionMode() == PartitionMode::WITH_FALLBACK && plan_->whyNever.ok();
  context.options = {preference_, priority_, std::nullopt};
  context.report = report_;
  context.caching = std::move(caching);
  context.compilation = id_;
  shadow_ = Shadow::make(shadowInterval_ ? *shadowInterval_ : Shadow::intervalOfEnvironment(),
                         plan_, context);
  runner_ = std::make_unique<PlanRunner>(plan_, std::move(context));
}

Status Compilation::prepare() {
  if (sureFailures_ != nullptr) {
    planNothing();
    makeRunner(nullptr);
    return okStatus();
  }
  PreparationOptions options;
  options.explicitDevices = explicitDevices_;
  options.mode = partitionMode();
  options.prepare = {preference_, priority_, deadlineAfter(timeout_), nullptr, attributes_.get()};
  options.costs = CostSettings::ofThisMachine();
  if (caching_) {
    options.caching = std::make_shared<const CachedPreparation>(*caching_, constantDigests_);
  }
  {
    const std::jthread digesting = mayBeSaved() ? startDigesting() : std::jthread();
    HALYARD_ASSIGN_OR_RETURN(
        plan_, preparePlan(model_, applicationOrder_, devices_, options, report_.get()));
  }
  makeRunner(options.caching);
  return okStatus();
}

Status Compilation::finish() {
  if (state_ != State::CREATED) return badState("the compilation is finished already");
  const hal::TimePoint start = hal::Clock::now();
  Status status = prepare();
  state_ = status.ok() ? State::VALID : State::INVALID;
  const DiagnosticCallbacks* const callbacks = diagnosticCallbacks();
  if (callbacks != nullptr && callbacks->compilation) {
    const std::chrono::nanoseconds time = hal::Clock::now() - start;
    callbacks->compilation({facts(), status.code(), static_cast<uint64_t>(time.count())});
  }
  return status;
}

const CompilationFacts& Compilation::facts() const {
  std::call_once(factsComputed_, [this] {
    const Subgraph& main = model_->main;
    facts_ = {.modelHash = architectureHash(*model_),
              .deviceIds = deviceIds(devices_),
              .inputs = dataClassOf(main, main.inputIndexes),
              .outputs = dataClassOf(main, main.outputIndexes),
              .hasControlFlow = !model_->referenced.empty(),
              .hasCache = caching_.has_value(),
              .hasDynamicTemporaries = plan_ != nullptr && plan_->hasDynamicTemporaries};
  });
  return facts_;
}

uint32_t Compilation::preferredAlignment() const { return kPreferredAlignment; }

uint32_t Compilation::preferredPadding() const {
  uint32_t padding = 1;
  for (const ComputeStep& step : plan_->steps) {
    const bool padded = step.device->isCpu() || step.device->featureLevel() >= FeatureLevel::FL5;
    padding = std::max(padded ? kPreferredPadding : 1, padding);
  }
  return padding;
}

Result<std::vector<bool>> supportedOperations(const ModelBuilder& model,
                                              std::span<const Device* const> devices) {
  HALYARD_RETURN_IF_ERROR(model.checkFinished());
  const std::vector<uint32_t>& order = model.applicationOrder();
  const auto nameOf = [&](uint32_t n) {
    return operationText(order[n], model.model()->main.operations[n].type);
  };
  std::vector<bool> result(order.size(), false);
  const ValidModel asModel = subgraphAsModel(model.model(), kMainSubgraph);
  for (const Device* device : devices) {
    const Result<hal::SupportedOperations> supported =
        device->hal().getSupportedOperations(asModel);
    if (!supported.ok() || supported->size() != order.size()) {
      // A device that gives no valid answer supports no operations. The application may use the
      // other devices.
      logWarning("device {}: supported operations: {}", device->name(),
                 supported.ok() ? "an answer of the wrong length" : supported.status().toString());
      continue;
    }
    for (size_t i = 0; i < order.size(); ++i) {
      if ((*supported)[i].supported) result[order[i]] = true;
    }
  }
  if (model.sureFailures() == nullptr) return result;
  for (const auto& [n, reason] : *model.sureFailures()) {
    result[order[n]] = false;
    logWarning("{}: {}; it can never be computed, so that no device supports it", nameOf(n),
               reason.message());
  }
  return result;
}

}  // namespace halyard::runtime
