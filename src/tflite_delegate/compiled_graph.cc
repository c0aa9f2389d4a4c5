#include "tflite_delegate/compiled_graph.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "client/status.h"

namespace halyard::tflite {
namespace {

using import::ElementForm;
using import::ModelPort;

// The bytes of the interpreter's tensor.
size_t tensorBytes(const ModelPort& port) {
  const size_t bytes = knownByteSize(port.type, port.dims).value_or(0);
  return port.form == ElementForm::INT64 ? 2 * bytes : bytes;
}

bool isConverted(const ModelPort& port) {
  return port.form == ElementForm::INT64 || port.form == ElementForm::WHOLE;
}

std::vector<std::vector<int32_t>> convertedValues(const std::vector<ModelPort>& ports) {
  std::vector<std::vector<int32_t>> values(ports.size());
  for (size_t i = 0; i < ports.size(); ++i) {
    if (!isConverted(ports[i])) continue;
    values[i].resize(knownByteSize(ports[i].type, ports[i].dims).value_or(0) / sizeof(int32_t));
  }
  return values;
}

// From a tensor's 64-bit integers.
Status narrow(const void* from, std::vector<int32_t>& to) {
  const auto* bytes = static_cast<const uint8_t*>(from);
  for (int32_t& value : to) {
    int64_t wide = 0;
    std::memcpy(&wide, bytes, sizeof(wide));
    bytes += sizeof(wide);
    value = static_cast<int32_t>(wide);
    if (value != wide) {
      return badData("has the value {}, and NNAPI's integers have 32 bits", wide);
    }
  }
  return okStatus();
}

// To a tensor's elements of type T.
template <typename T>
void convert(const std::vector<int32_t>& from, void* to) {
  auto* bytes = static_cast<uint8_t*>(to);
  for (const int32_t value : from) {
    const auto element = static_cast<T>(value);
    std::memcpy(bytes, &element, sizeof(element));
    bytes += sizeof(element);
  }
}

}  // namespace

Result<std::unique_ptr<CompiledGraph>> CompiledGraph::create(ImportedGraph graph,
                                                             const CompileSettings& settings) {
  std::unique_ptr<CompiledGraph> created(new CompiledGraph);
  import::ImportedModel& imported = graph.model;
  Ports& all = created->ports_;
  all = {std::move(imported.inputs), std::move(imported.outputs), {}};
  for (import::ModelState& state : imported.states) all.states.push_back(std::move(state.port));
  created->states_ = std::move(graph.states);
  for (const std::vector<ModelPort>* ports : {&all.inputs, &all.outputs, &all.states}) {
    for (const ModelPort& port : *ports) {
      if (knownByteSize(port.type, port.dims)) continue;
      return badData("the size of tensor '{}' depends on values that only an execution knows",
                     port.name);
    }
  }
  created->convertedInputs_ = convertedValues(created->ports_.inputs);
  created->convertedOutputs_ = convertedValues(created->ports_.outputs);
  for (const ModelPort& state : all.states) {
    created->newStates_.emplace_back(tensorBytes(state));
  }
  auto model = std::make_shared<Model>(std::move(imported.model));
  HALYARD_ASSIGN_OR_RETURN(created->model_, client::CanonicalModel::create(std::move(model)));
  HALYARD_RETURN_IF_ERROR(created->compile(settings));
  return created;
}

Status CompiledGraph::compile(const CompileSettings& settings) {
  const DelegateOptions& options = settings.options;
  HALYARD_ASSIGN_OR_RETURN(compilation_, model_->createCompilation(settings.devices));
  if (options.preference) HALYARD_RETURN_IF_FAILED(compilation_.setPreference(*options.preference));
  if (options.priority) HALYARD_RETURN_IF_FAILED(compilation_.setPriority(*options.priority));
  timeoutNs_ = options.timeoutNs.value_or(0);
  if (timeoutNs_ != 0) HALYARD_RETURN_IF_FAILED(compilation_.setTimeout(timeoutNs_));
  if (!options.cacheFolder.empty()) {
    // The runtime distinguishes models by their content as well.
    std::array<uint8_t, ANEURALNETWORKS_BYTE_SIZE_OF_CACHE_TOKEN> token = {};
    std::memcpy(token.data(), "halyard tflite delegate", 23);
    HALYARD_RETURN_IF_FAILED(compilation_.setCaching(options.cacheFolder.c_str(), token.data()));
  }
  HALYARD_RETURN_IF_FAILED(compilation_.finish());
  return okStatus();
}

Shape CompiledGraph::outputDims(size_t i) const {
  Shape dims = ports_.outputs[i].dims;
  // A complex number is two floats for the model.
  if (ports_.outputs[i].form == ElementForm::COMPLEX64) dims.back() /= 2;
  return dims;
}

Status CompiledGraph::checkSizes(const std::vector<ModelPort>& ports,
                                 std::span<const Bytes> bytes) const {
  if (ports.size() != bytes.size()) {
    return badData("{} tensors for {} ports", bytes.size(), ports.size());
  }
  for (size_t i = 0; i < ports.size(); ++i) {
    const size_t expected = tensorBytes(ports[i]);
    if (bytes[i].data != nullptr && bytes[i].size == expected) continue;
    return badData("tensor '{}' has {} bytes{}, expected {}", ports[i].name, bytes[i].size,
                   bytes[i].data == nullptr ? " and no memory" : "", expected);
  }
  return okStatus();
}

Status CompiledGraph::bind(std::span<const Bytes> inputs, std::span<const Bytes> outputs,
                           std::span<const Bytes> states) {
  HALYARD_RETURN_IF_ERROR(checkSizes(ports_.inputs, inputs), "inputs");
  HALYARD_RETURN_IF_ERROR(checkSizes(ports_.outputs, outputs), "outputs");
  HALYARD_RETURN_IF_ERROR(checkSizes(ports_.states, states), "states");
  boundInputs_.clear();
  client::Execution execution;
  HALYARD_RETURN_IF_FAILED(execution.create(compilation_.get()));
  HALYARD_RETURN_IF_FAILED(execution.setReusable(true));
  if (timeoutNs_ != 0) HALYARD_RETURN_IF_FAILED(execution.setTimeout(timeoutNs_));
  // The interpreter has no limit for loops, so the API's greatest one applies.
  if (!model_->model().referenced.empty()) {
    HALYARD_RETURN_IF_FAILED(execution.setLoopTimeout(ANeuralNetworks_getMaximumLoopTimeout()));
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::vector<int32_t>& values = convertedInputs_[i];
    const void* const data = values.empty() ? inputs[i].data : values.data();
    const size_t size = values.empty() ? inputs[i].size : values.size() * sizeof(int32_t);
    HALYARD_RETURN_IF_FAILED(execution.setInput(static_cast<int32_t>(i), nullptr, data, size));
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    std::vector<int32_t>& values = convertedOutputs_[i];
    void* const data = values.empty() ? outputs[i].data : values.data();
    const size_t size = values.empty() ? outputs[i].size : values.size() * sizeof(int32_t);
    HALYARD_RETURN_IF_FAILED(execution.setOutput(static_cast<int32_t>(i), nullptr, data, size));
  }
  for (size_t i = 0; i < states.size(); ++i) {
    HALYARD_RETURN_IF_FAILED(execution.setInput(static_cast<int32_t>(inputs.size() + i), nullptr,
                                                states[i].data, states[i].size));
    HALYARD_RETURN_IF_FAILED(execution.setOutput(static_cast<int32_t>(outputs.size() + i), nullptr,
                                                 newStates_[i].data(), newStates_[i].size()));
  }
  execution_ = std::move(execution);
  boundStates_.assign(states.begin(), states.end());
  boundInputs_.assign(inputs.begin(), inputs.end());
  boundOutputs_.assign(outputs.begin(), outputs.end());
  return okStatus();
}

Status CompiledGraph::run(std::span<const Bytes> inputs, std::span<const Bytes> outputs,
                          std::span<const Bytes> states) {
  if (!execution_ || !std::ranges::equal(inputs, boundInputs_) ||
      !std::ranges::equal(outputs, boundOutputs_) || !std::ranges::equal(states, boundStates_)) {
    HALYARD_RETURN_IF_ERROR(bind(inputs, outputs, states));
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (convertedInputs_[i].empty()) continue;
    HALYARD_RETURN_IF_ERROR(narrow(inputs[i].data, convertedInputs_[i]), "tensor '{}'",
                            ports_.inputs[i].name);
  }
  HALYARD_RETURN_IF_FAILED(execution_.compute());
  for (size_t i = 0; i < states.size(); ++i) {
    std::memcpy(states[i].data, newStates_[i].data(), newStates_[i].size());
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (ports_.outputs[i].form == ElementForm::INT64) {
      convert<int64_t>(convertedOutputs_[i], outputs[i].data);
    } else if (ports_.outputs[i].form == ElementForm::WHOLE) {
      convert<float>(convertedOutputs_[i], outputs[i].data);
    }
  }
  return okStatus();
}

Result<std::string> CompiledGraph::report() const {
  std::string json;
  HALYARD_RETURN_IF_FAILED(compilation_.report(json));
  return json;
}

}  // namespace halyard::tflite
