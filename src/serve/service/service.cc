#include "serve/service/service.h"

#include <halyard/halyard.h>

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

bool usesRegions(const InferRequest& request) {
  for (const WantedOutput& output : request.outputs) {
    if (output.region) return true;
  }
  return false;
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

bool Service::begin() {
  const std::lock_guard lock(mutex_);
  if (!stopped_) ++inFlight_;
  return !stopped_;
}

void Service::end() {
  const std::lock_guard lock(mutex_);
  if (--inFlight_ == 0) idle_.notify_all();
}

void Service::infer(InferRequest& request, Clock::time_point arrival, AnswerFunction done) {
  if (!begin()) {
    done({{Fault::UNAVAILABLE, "the server shuts down"}, {}, {}});
    return;
  }
  const auto finish = [this, done = std::move(done)](InferAnswer answer) {
    done(std::move(answer));
    end();
  };
  const Repository::Found found = repository_.find(request.model, request.version);
  if (!found.model) {
    finish({found.outcome, {}, {}});
    return;
  }
  for (InputTensor& input : request.inputs) {
    if (!input.region) continue;
    Outcome outcome = regions_.read(*input.region, input.own);
    if (!outcome.ok()) {
      finish({std::move(outcome), {}, {}});
      return;
    }
    input.bytes = input.own;
  }
  if (!usesRegions(request)) {
    found.model->submit(request, arrival, finish);
    return;
  }
  found.model->submit(request, arrival, [this, &request, finish](InferAnswer answer) {
    placeOutputs(regions_, request, answer);
    finish(std::move(answer));
  });
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
