// One compilation and its executions.
#include "tools/halyard/api_session.h"

#include <halyard/halyard.h>

#include <algorithm>

namespace halyard::cli {
namespace {

constexpr size_t kFirstCapacity = size_t{64} << 10;
constexpr size_t kMaxCapacity = size_t{1} << 30;
// From kFirstCapacity to kMaxCapacity by doubling takes 14; a correct runtime needs 2.
constexpr int kMaxAttempts = 20;

}  // namespace

Result<std::unique_ptr<ApiSession>> ApiSession::create(std::shared_ptr<const Model> model) {
  HALYARD_ASSIGN_OR_RETURN(std::unique_ptr<ApiModel> built, ApiModel::create(std::move(model)));
  return std::unique_ptr<ApiSession>(new ApiSession(std::move(built)));
}

Result<std::vector<bool>> ApiSession::supportedOperations(
    const ANeuralNetworksDevice* device) const {
  return model_->supportedOperations(device);
}

Status ApiSession::compile(const ANeuralNetworksDevice* device) {
  if (compilation_) return badState("the session has compiled already");
  if (device == nullptr) return compileFor({});
  return compileFor(std::span(&device, 1));
}

Status ApiSession::compileFor(std::span<const ANeuralNetworksDevice* const> devices) {
  if (compilation_) return badState("the session has compiled already");
  HALYARD_ASSIGN_OR_RETURN(compilation_, model_->createCompilation(devices));
  if (preference_) {
    HALYARD_API_CALL(ANeuralNetworksCompilation_setPreference, compilation_.get(), *preference_);
  }
  if (cache_) {
    HALYARD_API_CALL(ANeuralNetworksCompilation_setCaching, compilation_.get(),
                     cache_->folder.c_str(), cache_->token.data());
  }
  HALYARD_API_CALL(ANeuralNetworksCompilation_finish, compilation_.get());
  return okStatus();
}

Result<std::string> ApiSession::report() const {
  if (!compilation_) return badState("the session has not compiled");
  char* created = nullptr;
  const int code = halyard_compilationReport(compilation_.get(), &created);
  if (code != ANEURALNETWORKS_NO_ERROR) {
    return Status(static_cast<ResultCode>(code), "the runtime gave no report");
  }
  std::string report = created;
  halyard_free(created);
  return report;
}

Result<std::string> ApiSession::profile() const {
  if (!compilation_) return badState("the session has not compiled");
  char* created = nullptr;
  const int code = halyard_compilationProfile(compilation_.get(), &created);
  if (code != ANEURALNETWORKS_NO_ERROR) {
    return Status(static_cast<ResultCode>(code), "the runtime gave no profile");
  }
  std::string profile = created;
  halyard_free(created);
  return profile;
}

Result<std::vector<ApiSession::OutputBuffer>> ApiSession::makeOutputBuffers() const {
  std::vector<OutputBuffer> outputs;
  for (const uint32_t index : main().outputIndexes) {
    const Operand& operand = main().operands[index];
    const std::optional<uint32_t> size = knownByteSize(operand.type, operand.dimensions);
    outputs.push_back({size.has_value(), std::vector<uint8_t>(size.value_or(kFirstCapacity))});
  }
  return outputs;
}

Status ApiSession::setArguments(ANeuralNetworksExecution* execution,
                                std::span<const ApiInput> inputs,
                                std::vector<OutputBuffer>& outputs) const {
  for (size_t i = 0; i < inputs.size(); ++i) {
    const ApiInput& input = inputs[i];
    const ANeuralNetworksOperandType type =
        apiOperandType(main().operands[main().inputIndexes[i]], input.dimensions);
    const bool given = !input.omitted;
    HALYARD_RETURN_IF_ERROR(
        apiStatus(ANeuralNetworksExecution_setInput(
                      execution, static_cast<int32_t>(i),
                      given && !input.dimensions.empty() ? &type : nullptr,
                      given ? input.bytes.data() : nullptr, given ? input.bytes.size() : 0),
                  "ANeuralNetworksExecution_setInput"),
        "input #{}", i);
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    HALYARD_RETURN_IF_ERROR(apiStatus(ANeuralNetworksExecution_setOutput(
                                          execution, static_cast<int32_t>(i), nullptr,
                                          outputs[i].bytes.data(), outputs[i].bytes.size()),
                                      "ANeuralNetworksExecution_setOutput"),
                            "output #{}", i);
  }
  return okStatus();
}

Status ApiSession::growBuffers(ANeuralNetworksExecution* execution,
                               std::vector<OutputBuffer>& outputs) const {
  bool grown = false;
  bool atLimit = false;
  for (size_t i = 0; i < outputs.size(); ++i) {
    OutputBuffer& output = outputs[i];
    if (output.exact) continue;
    HALYARD_ASSIGN_OR_RETURN(const Shape dimensions, apiOutputDimensions(execution, i),
                             "output #{}", i);
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

Result<std::vector<ApiOutput>> ApiSession::takeOutputs(ANeuralNetworksExecution* execution,
                                                       std::vector<OutputBuffer> outputs) const {
  std::vector<ApiOutput> results;
  for (size_t i = 0; i < outputs.size(); ++i) {
    HALYARD_ASSIGN_OR_RETURN(Shape dimensions, apiOutputDimensions(execution, i), "output #{}", i);
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

Result<ApiExecution> ApiSession::execute(std::span<const ApiInput> inputs) const {
  if (!compilation_) return badState("the session has not compiled");
  if (inputs.size() != main().inputIndexes.size()) {
    return badData("{} inputs for a model with {}", inputs.size(), main().inputIndexes.size());
  }
  HALYARD_ASSIGN_OR_RETURN(std::vector<OutputBuffer> outputs, makeOutputBuffers());
  ApiExecution result;
  for (;; ++result.attempts) {
    ANeuralNetworksExecution* created = nullptr;
    HALYARD_API_CALL(ANeuralNetworksExecution_create, compilation_.get(), &created);
    const ApiHandle<ANeuralNetworksExecution> execution(created);
    HALYARD_RETURN_IF_ERROR(setArguments(execution.get(), inputs, outputs));
    const auto start = std::chrono::steady_clock::now();
    const int code = ANeuralNetworksExecution_compute(execution.get());
    result.duration = std::chrono::steady_clock::now() - start;
    if (code == ANEURALNETWORKS_OUTPUT_INSUFFICIENT_SIZE && result.attempts < kMaxAttempts) {
      HALYARD_RETURN_IF_ERROR(growBuffers(execution.get(), outputs));
      continue;
    }
    HALYARD_RETURN_IF_ERROR(apiStatus(code, "ANeuralNetworksExecution_compute"));
    HALYARD_ASSIGN_OR_RETURN(result.outputs, takeOutputs(execution.get(), std::move(outputs)));
    return result;
  }
}

}  // namespace halyard::cli
