#include "serve/service/service.h"

#include <halyard/halyard.h>

#include <algorithm>

namespace halyard::serve {
namespace {

// Writes outputs into their regions.
void placeOutputs(const Regions& regions, const InferRequest& request, InferAnswer& answer) {
  for (size_t i = 0; i < request.outputs.size() && answer.outcome.ok(); ++i) {
    if (!request.outputs[i].region) continue;
    Outcome outcome = regions.write(*request.outputs[i].region, answer.outputs[i].bytes);
    if (outcome.ok()) continue;
    answer.outputs.clear();
    answer.outcome = std::move(outcome);
  }
}

}  // namespace

Service::Service(ModelFolder folder, Repository::Options options, bool sharedMemory)
    : repository_(std::move(folder), std::move(options)), regions_(sharedMemory) {}

std::string Service::version() { return halyard_version(); }

std::vector<std::string> Service::extensions() const {
  std::vector<std::string> names = {"binary_tensor_data", "classification", "model_configuration",
                                    "model_repository",   "parameters",     "schedule_policy",
                                    "statistics"};
  if (regions_.allowed()) names.emplace_back("system_shared_memory");
  return names;
}

uint64_t Service::inFlight() const {
  const std::lock_guard lock(mutex_);
  return inFlight_;
}

Service::InFlight Service::begin() {
  {
    const std::lock_guard lock(mutex_);
    if (stopped_) return nullptr;
    ++inFlight_;
  }
  return {this, [](Service* service) {
            const std::lock_guard lock(service->mutex_);
            if (--service->inFlight_ == 0) service->idle_.notify_all();
          }};
}

// Reads the inputs in regions. The client chooses the size of a region's part, so nothing is read
// before the model has found it right.
Outcome Service::readInputs(ServedModel& model, InferRequest& request,
                            Clock::time_point arrival) const {
  const auto isInRegion = [](const InputTensor& input) { return input.region.has_value(); };
  if (std::ranges::none_of(request.inputs, isInRegion)) return {};
  if (!regions_.allowed()) return Regions::refusal();
  Outcome outcome = model.check(request, arrival);
  for (InputTensor& input : request.inputs) {
    if (!outcome.ok()) break;
    if (!input.region) continue;
    outcome = regions_.read(*input.region, input.own);
    input.bytes = input.own;
  }
  return outcome;
}

void Service::infer(InferRequest& request, Clock::time_point arrival, AnswerFunction done) {
  InFlight inFlight = begin();
  if (!inFlight) {
    done({{Fault::UNAVAILABLE, "the server shuts down"}, {}, {}});
    return;
  }
  const Repository::Found found = repository_.find(request.model, request.version);
  if (!found.model) {
    done({found.outcome, {}, {}});
    return;
  }
  Outcome read = readInputs(*found.model, request, arrival);
  if (!read.ok()) {
    done({std::move(read), {}, {}});
    return;
  }
  auto finish = [this, &request, inFlight = std::move(inFlight),
                 done = std::move(done)](InferAnswer answer) mutable {
    placeOutputs(regions_, request, answer);
    done(std::move(answer));
    inFlight.reset();
  };
  found.model->submit(request, arrival, std::move(finish));
}

void Service::stop() {
  ready_ = false;
  std::unique_lock lock(mutex_);
  stopped_ = true;
  idle_.wait(lock, [this] { return inFlight_ == 0; });
  lock.unlock();
  repository_.stop();
}

}  // namespace halyard::serve
