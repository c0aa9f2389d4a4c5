// Implements Session: one compilation and its executions.
#include "client/session.h"

#include <algorithm>

#include "client/status.h"

namespace halyard::client {
namespace {

constexpr size_t kFirstCapacity = size_t{64} << 10;
constexpr size_t kMaxCapacity = size_t{1} << 30;
// Doubling from kFirstCapacity to kMaxCapacity takes 14 attempts. A correct runtime needs 2.
constexpr int kMaxAttempts = 20;

}  // namespace

Result<std::unique_ptr<Session>> Session::create(std::shared_ptr<const halyard::Model> model) {
  HALYARD_ASSIGN_OR_RETURN(std::unique_ptr<CanonicalModel> built,
                           CanonicalModel::create(std::move(model)));
  return std::unique_ptr<Session>(new Session(std::move(built)));
}

Result<std::vector<bool>> Session::supportedOperations(const ANeuralNetworksDevice* device) const {
  return model_->supportedOperations(device);
}

Status Session::compile(const ANeuralNetworksDevice* device) {
  if (compilation_) return badState("the session has compiled already");
  if (device == nullptr) return compileFor({});
  return compileFor(std::span(&device, 1));
}

Status Session::compileFor(std::span<const ANeuralNetworksDevice* const> devices) {
  if (compilation_) return badState("the session has compiled already");
  HALYARD_ASSIGN_OR_RETURN(compilation_, model_->createCompilation(devices));
  if (preference_) {
    HALYARD_RETURN_IF_FAILED(compilation_.setPreference(*preference_));
  }
  if (caching_) {
    HALYARD_RETURN_IF_FAILED(
        compilation_.setCaching(caching_->folder.c_str(), caching_->token.data()));
  }
  HALYARD_RETURN_IF_FAILED(compilation_.finish());
  return okStatus();
}

Result<std::string> Session::report() const {
  if (!compilation_) return badState("the session has not compiled");
  std::string report;
  HALYARD_RETURN_IF_FAILED(compilation_.report(report));
  return report;
}

Result<std::string> Session::profile() const {
  if (!compilation_) return badState("the session has not compiled");
  std::string profile;
  HALYARD_RETURN_IF_FAILED(compilation_.profile(profile));
  return profile;
}

Result<std::vector<Session::OutputBuffer>> Session::makeOutputBuffers() const {
  std::vector<OutputBuffer> outputs;
  for (const uint32_t index : main().outputIndexes) {
    const Operand& operand = main().operands[index];
    const std::optional<uint32_t> size = knownByteSize(operand.type, operand.dimensions);
    outputs.push_back({size.has_value(), std::vector<uint8_t>(size.value_or(kFirstCapacity))});
  }
  return outputs;
}

Status Session::setArguments(const Execution& execution, std::span<const Input> inputs,
                             std::vector<OutputBuffer>& outputs) const {
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Input& input = inputs[i];
    const ANeuralNetworksOperandType type =
        operandType(main().operands[main().inputIndexes[i]], input.dimensions);
    const bool given = !input.omitted;
    HALYARD_RETURN_IF_FAILED(
        execution.setInput(static_cast<int32_t>(i),
                           given && !input.dimensions.empty() ? &type : nullptr,
                           given ? input.bytes.data() : nullptr, given ? input.bytes.size() : 0),
        "input #{}", i);
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    std::vector<uint8_t>& bytes = outputs[i].bytes;
    HALYARD_RETURN_IF_FAILED(
        execution.setOutput(static_cast<int32_t>(i), nullptr, bytes.data(), bytes.size()),
        "output #{}", i);
  }
  return okStatus();
}

Status Session::growBuffers(const Execution& execution, std::vector<OutputBuffer>& outputs) const {
  bool grown = false;
  bool atLimit = false;
  for (size_t i = 0; i < outputs.size(); ++i) {
    OutputBuffer& output = outputs[i];
    if (output.exact) continue;
    HALYARD_ASSIGN_OR_RETURN(const Shape dimensions, outputDimensions(execution, i), "output #{}",
                             i);
    const OperandType type = main().operands[main().outputIndexes[i]].type;
    const std::optional<uint32_t> needed = knownByteSize(type, dimensions);
    if (needed && *needed <= output.bytes.size()) continue;
    const size_t capacity = needed ? *needed : output.bytes.size() * 2;
    if (capacity > kMaxCapacity) {
      atLimit = true;
      continue;
    }
    output.bytes.assign(capacity, 0);
    grown = true;
  }
  if (grown) return okStatus();
  return makeStatus(ResultCode::OUTPUT_INSUFFICIENT_SIZE, "{}",
                    atLimit ? "an output needs more than 1 GiB"
                            : "the runtime asks for larger outputs without saying which");
}

Result<std::vector<Output>> Session::takeOutputs(const Execution& execution,
                                                 std::vector<OutputBuffer> outputs) const {
  std::vector<Output> results;
  for (size_t i = 0; i < outputs.size(); ++i) {
    HALYARD_ASSIGN_OR_RETURN(Shape dimensions, outputDimensions(execution, i), "output #{}", i);
    const OperandType type = main().operands[main().outputIndexes[i]].type;
    const std::optional<uint32_t> size = realByteSize(type, dimensions);
    if (!size || *size > outputs[i].bytes.size()) {
      return opFailed("output #{}: the runtime reports {}{}, more than its buffer of {} bytes", i,
                      operandTypeName(type), shapeText(dimensions), outputs[i].bytes.size());
    }
    outputs[i].bytes.resize(*size);
    results.push_back({std::move(dimensions), std::move(outputs[i].bytes)});
  }
  return results;
}

Result<Computation> Session::execute(std::span<const Input> inputs) const {
  if (!compilation_) return badState("the session has not compiled");
  if (inputs.size() != main().inputIndexes.size()) {
    return badData("{} inputs for a model with {}", inputs.size(), main().inputIndexes.size());
  }
  HALYARD_ASSIGN_OR_RETURN(std::vector<OutputBuffer> outputs, makeOutputBuffers());
  Computation result;
  for (;; ++result.attempts) {
    Execution execution;
    HALYARD_RETURN_IF_FAILED(execution.create(compilation_.get()));
    HALYARD_RETURN_IF_ERROR(setArguments(execution, inputs, outputs));
    const auto start = std::chrono::steady_clock::now();
    const CallResult computed = execution.compute();
    result.duration = std::chrono::steady_clock::now() - start;
    if (computed == ANEURALNETWORKS_OUTPUT_INSUFFICIENT_SIZE && result.attempts < kMaxAttempts) {
      HALYARD_RETURN_IF_ERROR(growBuffers(execution, outputs));
      continue;
    }
    HALYARD_RETURN_IF_FAILED(computed);
    HALYARD_ASSIGN_OR_RETURN(result.outputs, takeOutputs(execution, std::move(outputs)));
    return result;
  }
}

}  // namespace halyard::client
