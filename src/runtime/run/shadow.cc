#include "runtime/run/shadow.h"

#include <sys/mman.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "accuracy/accuracy.h"
#include "base/environment.h"
#include "base/environment_warning.h"
#include "base/log.h"
#include "halyard/driver/mapped_request.h"
#include "halyard/driver/trace.h"
#include "runtime/run/shadow_worker.h"

namespace halyard::runtime {
namespace {

// The largest number of verifications that wait at a time. It limits the memory for copies.
constexpr unsigned kMostPending = 2;
// A thread of the lowest class gets about 1/30 of a processor that other threads use all the time.
// With pauses it gets about half a percent.
constexpr int kPauseFactor = 5;                    // times the duration of a verification
constexpr uint32_t kLeastIntervalWithPauses = 10;  // a smaller interval is for tests

bool isForeign(const Model& model) {
  const auto inSubgraph = [](const Subgraph& subgraph) {
    return std::ranges::any_of(subgraph.operations, [](const Operation& operation) {
      return ops::definitionOf(operation.type) == nullptr;
    });
  };
  return inSubgraph(model.main) || std::ranges::any_of(model.referenced, inSubgraph);
}

// The reason why executions of the plan cannot be verified. Empty: they can be verified.
std::string obstacle(const Model& model, const Plan& plan) {
  if (!plan.whyNever.ok()) return "the model can never be computed";
  if (std::ranges::all_of(plan.steps, [](const auto& step) { return step.device->isCpu(); })) {
    return "the CPU device computes everything itself";
  }
  if (accuracy::isNondeterministic(model)) return "the model draws numbers at random";
  if (isForeign(model)) return "the CPU device does not have the model's operations";
  return {};
}

// The bytes of one argument, in any kind of memory.
Result<std::vector<uint8_t>> bytesOf(const RunArguments& arguments,
                                     const hal::RequestArgument& argument,
                                     const hal::MappedArgument& mapped, size_t length) {
  std::vector<uint8_t> bytes(length);
  if (argument.kind == hal::RequestArgument::Kind::POOL) {
    const hal::RequestPool& pool = arguments.request.pools[argument.location.poolIndex];
    if (const auto* const memory = std::get_if<SharedMemoryPtr>(&pool)) {
      if (((*memory)->prot() & PROT_READ) == 0) return opFailed("memory that may not be read");
    }
  }
  if (mapped.length < length) return opFailed("{} bytes, expected {}", mapped.length, length);
  if (length > 0) std::memcpy(bytes.data(), mapped.data, length);
  return bytes;
}

// Replaces the tokens of drivers' buffers by shared memory with the current contents of the
// buffers.
Status replaceTokens(const MemoryArguments& memories, bool areInputs, hal::Request* request) {
  for (uint32_t i = 0; i < request->pools.size(); ++i) {
    const auto* const token = std::get_if<uint32_t>(&request->pools[i]);
    if (token == nullptr) continue;
    const std::shared_ptr<DescribedMemory> memory = memories.find(*token);
    if (memory == nullptr) return opFailed("a buffer that is no memory of the execution");
    auto& list = areInputs ? request->inputs : request->outputs;
    const auto isThere = [i](const hal::RequestArgument& argument) {
      return argument.kind == hal::RequestArgument::Kind::POOL && argument.location.poolIndex == i;
    };
    if (std::ranges::none_of(list, isThere)) {
      // The buffer is only used for arguments in the other direction, which the caller does not
      // read.
      HALYARD_ASSIGN_OR_RETURN(request->pools[i], SharedMemory::create(1, "halyard shadow"));
      continue;
    }
    const std::optional<Shape> contents =
        areInputs ? memory->contents() : std::optional<Shape>(memory->initialDimensions());
    const std::optional<uint32_t> size = contents ? memory->bytes(*contents) : std::nullopt;
    if (!size) return opFailed("a driver's buffer of open size");
    HALYARD_ASSIGN_OR_RETURN(SharedMemoryPtr copy, SharedMemory::create(*size, "halyard shadow"));
    HALYARD_RETURN_IF_ERROR(memory->buffer()->copyTo(copy), "a driver's buffer");
    for (hal::RequestArgument& argument : list) {
      if (isThere(argument)) argument.location = {i, 0, *size};
    }
    request->pools[i] = std::move(copy);
  }
  return okStatus();
}

// Removes the arguments of one direction, so that their memory need not be mapped.
void dropArguments(bool dropInputs, hal::Request* request) {
  for (hal::RequestArgument& argument : dropInputs ? request->inputs : request->outputs) {
    argument = hal::RequestArgument();
  }
}

}  // namespace

uint32_t Shadow::intervalOfEnvironment() {
  const char* const text = environmentVariable("HALYARD_SHADOW");
  if (text == nullptr || *text == '\0') return 0;
  uint32_t interval = 0;
  const char* const end = text + std::strlen(text);
  const auto parsed = std::from_chars(text, end, interval);
  if (parsed.ec == std::errc() && parsed.ptr == end) return interval;
  warnOfValue("HALYARD_SHADOW", text, "a number of executions");
  return 0;
}

std::shared_ptr<Shadow> Shadow::make(uint32_t interval, std::shared_ptr<const Plan> plan,
                                     const PlanContext& context) {
  if (interval == 0) return nullptr;
  std::string reason = obstacle(*context.model, *plan);
  const bool isOff = !reason.empty();
  context.report->updateShadow([&](ShadowReport& shadow) {
    shadow.interval = interval;
    shadow.off = std::move(reason);
  });
  if (isOff) return nullptr;
  return std::shared_ptr<Shadow>(new Shadow(interval, std::move(plan), context));
}

Shadow::Shadow(uint32_t interval, std::shared_ptr<const Plan> plan, const PlanContext& context)
    : interval_(interval), plan_(std::move(plan)), model_(context.model), report_(context.report) {
  for (const ComputeStep& step : plan_->steps) {
    if (step.device->isCpu()) continue;
    if (std::ranges::find(tested_, step.device) == tested_.end()) tested_.push_back(step.device);
  }
}

Shadow::~Shadow() { wait(); }

void Shadow::wait() {
  std::unique_lock lock(mutex_);
  if (pending_ == 0) return;
  lock.unlock();
  const ShadowWorker::WithoutPauses withoutPauses(ShadowWorker::instance());
  lock.lock();
  idle_.wait(lock, [this] { return pending_ == 0; });
}

void Shadow::skip(const std::string& reason) const {
  report_->updateShadow([&](ShadowReport& shadow) { ++shadow.skipped[reason]; });
}

std::shared_ptr<Shadow::Sample> Shadow::begin(const RunArguments& arguments) {
  if (std::ranges::all_of(tested_,
                          [](const Device* device) { return device->quarantine()->isSet(); })) {
    skip("the devices are quarantined");
    return nullptr;
  }
  {
    const std::lock_guard lock(mutex_);
    if (pending_ >= kMostPending) {
      skip("earlier executions are still being verified");
      return nullptr;
    }
  }
  const trace::Scope mark(trace::Layer::RUNTIME, trace::Phase::INPUTS_AND_OUTPUTS,
                          "copy inputs for shadow verification");
  auto sample = std::make_shared<Sample>();
  const auto copy = [&]() -> Status {
    hal::Request request = arguments.request;
    dropArguments(false, &request);
    HALYARD_RETURN_IF_ERROR(replaceTokens(arguments.memories, true, &request));
    HALYARD_ASSIGN_OR_RETURN(const hal::MappedRequest mapped,
                             hal::MappedRequest::map(*model_, request));
    for (size_t i = 0; i < request.inputs.size(); ++i) {
      const hal::MappedArgument& argument = mapped.inputs()[i];
      ShadowValue value;
      value.omitted = argument.data == nullptr;
      value.dims = argument.dims;
      if (!value.omitted) {
        const OperandType type = model_->main.operands[model_->main.inputIndexes[i]].type;
        const auto size = realByteSize(type, argument.dims);
        if (!size) return opFailed("an input of open size");
        HALYARD_ASSIGN_OR_RETURN(value.bytes, bytesOf({request, arguments.memories},
                                                      request.inputs[i], argument, *size));
      }
      sample->inputs.push_back(std::move(value));
    }
    return okStatus();
  };
  // An invalid request is an error of the application. It is not reported as a skipped
  // verification.
  if (!hal::validateRequest(*model_, arguments.request, true).ok()) return nullptr;
  if (const Status copied = copy(); !copied.ok()) {
    skip("inputs: " + copied.message());
    return nullptr;
  }
  return sample;
}

void Shadow::end(std::shared_ptr<Sample> sample, const RunArguments& arguments,
                 std::span<const hal::OutputShape> shapes) {
  const trace::Scope mark(trace::Layer::RUNTIME, trace::Phase::INPUTS_AND_OUTPUTS,
                          "copy outputs for shadow verification");
  const auto copy = [&]() -> Status {
    hal::Request request = arguments.request;
    dropArguments(true, &request);
    HALYARD_RETURN_IF_ERROR(replaceTokens(arguments.memories, false, &request));
    HALYARD_ASSIGN_OR_RETURN(const hal::MappedRequest mapped,
                             hal::MappedRequest::map(*model_, request));
    for (size_t i = 0; i < request.outputs.size(); ++i) {
      ShadowValue value;
      value.dims = shapes[i].dimensions;
      value.omitted = mapped.outputs()[i].data == nullptr;
      if (!value.omitted) {
        const OperandType type = model_->main.operands[model_->main.outputIndexes[i]].type;
        const auto size = realByteSize(type, value.dims);
        if (!size) return opFailed("an output of open size");
        HALYARD_ASSIGN_OR_RETURN(
            value.bytes,
            bytesOf({request, arguments.memories}, request.outputs[i], mapped.outputs()[i], *size));
      }
      sample->outputs.push_back(std::move(value));
    }
    return okStatus();
  };
  if (const Status copied = copy(); !copied.ok()) return skip("outputs: " + copied.message());
  {
    const std::lock_guard lock(mutex_);
    ++pending_;
  }
  const auto work = [this, sample]() -> std::chrono::nanoseconds {
    const hal::TimePoint start = hal::Clock::now();
    verify(*sample);
    const auto pause = (hal::Clock::now() - start) * kPauseFactor;
    const bool pauses = interval_ >= kLeastIntervalWithPauses;
    const std::lock_guard lock(mutex_);
    --pending_;
    idle_.notify_all();
    return pauses ? pause : std::chrono::nanoseconds(0);
  };
  const bool posted = ShadowWorker::instance().post(work);
  if (posted) return;
  const std::lock_guard lock(mutex_);
  --pending_;
}

Result<std::vector<ShadowValue>> Shadow::compute(const Sample& sample) {
  if (prepared_ == nullptr) {
    hal::PrepareOptions options;
    options.priority = hal::Priority::LOW;
    HALYARD_ASSIGN_OR_RETURN(prepared_,
                             ShadowWorker::instance().cpu().prepareModel(model_, options));
  }
  std::vector<ShadowValue> outputs = sample.outputs;
  for (ShadowValue& output : outputs) output.bytes.assign(output.bytes.size() + 1, 0);
  hal::ExecuteOptions options;
  options.loopTimeout = hal::kMaximumLoopTimeout;
  const hal::ExecutionResult result =
      prepared_->executeSynchronously(requestFor(sample.inputs, outputs), options);
  // The CPU device may report other dimensions, which need more memory.
  const bool tooSmall = result.status.code() == ResultCode::OUTPUT_INSUFFICIENT_SIZE;
  if (!result.status.ok() && !tooSmall) return result.status;
  for (size_t i = 0; i < outputs.size(); ++i) {
    outputs[i].bytes.pop_back();
    if (i < result.outputShapes.size()) outputs[i].dims = result.outputShapes[i].dimensions;
  }
  return outputs;
}

void Shadow::verify(const Sample& sample) {
  const auto expected = compute(sample);
  if (!expected.ok()) return skip("the CPU device: " + expected.status().toString());
  const accuracy::Scope scope = accuracy::scopeOf(*model_);
  std::string difference;
  double absolute = 0;
  double relative = 0;
  for (size_t i = 0; i < sample.outputs.size(); ++i) {
    const ShadowValue& actual = sample.outputs[i];
    if (actual.omitted) continue;
    if ((*expected)[i].dims != actual.dims) {
      difference = fmt::format("output {} has dimensions {}, expected {}", i,
                               shapeText(actual.dims), shapeText((*expected)[i].dims));
      break;
    }
    const OperandType type = model_->main.operands[model_->main.outputIndexes[i]].type;
    const accuracy::Comparison compared = accuracy::compareValues(
        type, accuracy::criteriaFor(type, scope, model_->relaxComputationFloat32toFloat16),
        (*expected)[i].bytes, actual.bytes);
    absolute = std::max(absolute, compared.largestAbsolute);
    relative = std::max(relative, compared.largestRelative);
    if (compared.failed && difference.empty()) {
      difference = fmt::format("output {}, {}, by the criteria for {}: {}", i,
                               operandTypeName(type), accuracy::scopeName(scope), compared.text);
    }
  }
  report_->updateShadow([&](ShadowReport& shadow) {
    ++shadow.verified;
    shadow.failed += difference.empty() ? 0 : 1;
    shadow.largestAbsolute = std::max(shadow.largestAbsolute, absolute);
    shadow.largestRelative = std::max(shadow.largestRelative, relative);
  });
  if (!difference.empty()) condemn(sample, difference);
}

void Shadow::condemn(const Sample& sample, const std::string& difference) {
  std::vector<const Device*> guilty = tested_;
  std::string doubt;
  if (tested_.size() > 1) {
    auto found = findGuilty(*plan_, *model_, sample.inputs, ShadowWorker::instance().cpu());
    if (found.ok() && !found->empty()) {
      guilty = std::move(*found);
    } else {
      doubt = fmt::format("; which of the model's devices is to blame cannot be told: {}",
                          found.ok() ? "each step alone is right" : found.status().message());
    }
  }
  for (const Device* device : guilty) {
    ReportEvent event;
    event.kind = ReportEvent::Kind::QUARANTINED;
    event.device = device->name();
    event.cause = fmt::format("its results differ from the CPU device's: {}{}", difference, doubt);
    device->quarantine()->set(event.cause);
    logWarning("device {} is not used any more in this process: {}", device->name(), event.cause);
    report_->add(std::move(event));
  }
}

}  // namespace halyard::runtime
