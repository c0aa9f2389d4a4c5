#include "compiled.h"

#include <algorithm>

#include "client/status.h"

namespace halyard::python {
namespace nb = nanobind;
namespace {

// The devices, and the runtime's CPU device if they do not support every operation.
Result<Devices> devicesFor(const Graph& graph, const CompileOptions& options) {
  Devices devices = options.devices;
  if (devices.empty() || !options.cpuTakesTheRest) return devices;
  std::vector<bool> taken(graph.description().operationCount);
  for (const ANeuralNetworksDevice* device : devices) {
    HALYARD_ASSIGN_OR_RETURN(const std::vector<bool> supported, graph.supportedOperations(device));
    for (size_t i = 0; i < taken.size(); ++i) taken[i] = taken[i] || supported[i];
  }
  if (std::ranges::all_of(taken, [](bool each) { return each; })) return devices;
  HALYARD_ASSIGN_OR_RETURN(const std::vector<client::Device> all, client::allDevices());
  const ANeuralNetworksDevice* const cpu = all.back().handle;
  if (std::ranges::find(devices, cpu) == devices.end()) devices.push_back(cpu);
  return devices;
}

Status finish(const client::Compilation& compilation, const CompileOptions& options) {
  if (options.preference) {
    HALYARD_RETURN_IF_FAILED(compilation.setPreference(*options.preference));
  }
  if (options.priority) HALYARD_RETURN_IF_FAILED(compilation.setPriority(*options.priority));
  if (options.timeoutNs != 0) HALYARD_RETURN_IF_FAILED(compilation.setTimeout(options.timeoutNs));
  if (options.caching) {
    HALYARD_RETURN_IF_FAILED(
        compilation.setCaching(options.caching->folder.c_str(), options.caching->token.data()));
  }
  return client::toStatus(compilation.finish());
}

}  // namespace

Result<std::shared_ptr<Compiled>> Compiled::create(std::shared_ptr<const Graph> graph,
                                                   const CompileOptions& options, Status& outcome) {
  std::shared_ptr<Compiled> compiled(new Compiled(std::move(graph)));
  HALYARD_ASSIGN_OR_RETURN(const Devices devices, devicesFor(*compiled->graph_, options));
  HALYARD_ASSIGN_OR_RETURN(compiled->compilation_, compiled->graph_->createCompilation(devices));
  outcome = finish(compiled->compilation_, options);
  return compiled;
}

Result<std::string> Compiled::report() const {
  std::string json;
  HALYARD_RETURN_IF_FAILED(compilation_.report(json));
  return json;
}

Result<std::string> Compiled::profile() const {
  std::string json;
  HALYARD_RETURN_IF_FAILED(compilation_.profile(json));
  return json;
}

Result<client::Burst> Compiled::takeBurst() {
  client::Burst burst;
  if (idleBursts_.empty()) {
    HALYARD_RETURN_IF_FAILED(burst.create(handle()));
  } else {
    burst = std::move(idleBursts_.back());
    idleBursts_.pop_back();
  }
  return burst;
}

Event::~Event() {
  const nb::gil_scoped_release released;
  event_.reset();
}

Status Event::wait() const { return client::toStatus(event_.wait()); }

Result<int> Event::syncFence() const {
  int fd = -1;
  HALYARD_RETURN_IF_FAILED(event_.getSyncFenceFd(fd));
  return fd;
}

Result<std::shared_ptr<Request>> Request::create(std::shared_ptr<Compiled> compiled, bool reusable,
                                                 uint64_t timeoutNs) {
  std::shared_ptr<Request> request(new Request(std::move(compiled)));
  const client::Execution& execution = request->execution_;
  HALYARD_RETURN_IF_FAILED(request->execution_.create(request->compiled_->handle()));
  if (reusable) HALYARD_RETURN_IF_FAILED(execution.setReusable(true));
  if (timeoutNs != 0) HALYARD_RETURN_IF_FAILED(execution.setTimeout(timeoutNs));
  return request;
}

Result<ANeuralNetworksOperandType> Request::typeOf(
    uint32_t index, const std::optional<std::vector<uint32_t>>& dims) const {
  const auto& inputs = compiled_->graph().description().inputs;
  if (index >= inputs.size()) return badData("input #{} of {}", index, inputs.size());
  ANeuralNetworksOperandType type = {};
  type.type = static_cast<int32_t>(inputs[index].type);
  type.scale = inputs[index].scale;
  type.zeroPoint = inputs[index].zeroPoint;
  if (dims) {
    type.dimensionCount = static_cast<uint32_t>(dims->size());
    type.dimensions = dims->data();
  }
  return type;
}

Status Request::setInput(uint32_t index, std::unique_ptr<HeldBuffer> buffer,
                         const std::optional<std::vector<uint32_t>>& dims) {
  HALYARD_ASSIGN_OR_RETURN(const ANeuralNetworksOperandType type, typeOf(index, dims));
  HALYARD_RETURN_IF_FAILED(execution_.setInput(static_cast<int32_t>(index), dims ? &type : nullptr,
                                               buffer->data(), buffer->size()));
  buffers_.push_back(std::move(buffer));
  return okStatus();
}

Status Request::setInput(uint32_t index, MemoryPart part,
                         const std::optional<std::vector<uint32_t>>& dims) {
  HALYARD_ASSIGN_OR_RETURN(const ANeuralNetworksOperandType type, typeOf(index, dims));
  HALYARD_RETURN_IF_FAILED(
      execution_.setInputFromMemory(static_cast<int32_t>(index), dims ? &type : nullptr,
                                    part.memory->handle(), part.offset, part.length));
  memories_.push_back(std::move(part.memory));
  return okStatus();
}

Status Request::omitInput(uint32_t index) {
  return client::toStatus(execution_.setInput(static_cast<int32_t>(index), nullptr, nullptr, 0));
}

Status Request::setOutput(uint32_t index, std::unique_ptr<HeldBuffer> buffer) {
  HALYARD_RETURN_IF_FAILED(
      execution_.setOutput(static_cast<int32_t>(index), nullptr, buffer->data(), buffer->size()));
  buffers_.push_back(std::move(buffer));
  return okStatus();
}

Status Request::setOutput(uint32_t index, MemoryPart part) {
  HALYARD_RETURN_IF_FAILED(execution_.setOutputFromMemory(
      static_cast<int32_t>(index), nullptr, part.memory->handle(), part.offset, part.length));
  memories_.push_back(std::move(part.memory));
  return okStatus();
}

Status Request::compute(const client::Burst& burst, std::chrono::nanoseconds& duration) const {
  const auto start = std::chrono::steady_clock::now();
  const client::CallResult result = execution_.burstCompute(burst.get());
  duration = std::chrono::steady_clock::now() - start;
  return client::toStatus(result);
}

Result<client::Event> Request::start(const std::vector<const ANeuralNetworksEvent*>& dependencies,
                                     uint64_t timeoutNs) const {
  client::Event event;
  HALYARD_RETURN_IF_FAILED(execution_.startComputeWithDependencies(dependencies, timeoutNs, event));
  return event;
}

Result<Shape> Request::outputDimensions(uint32_t index) const {
  return client::outputDimensions(execution_, index);
}

}  // namespace halyard::python
