#include "tools/halyard/repeated_run.h"

#include <utility>

namespace halyard::cli {
namespace {

constexpr size_t kOpenOutputBytes = size_t{64} << 10;

constexpr std::pair<ComputeMode, std::string_view> kModes[] = {
    {ComputeMode::SYNC, "sync"}, {ComputeMode::BURST, "burst"}, {ComputeMode::FENCED, "fenced"}};

}  // namespace

Result<ComputeMode> computeModeNamed(std::string_view name) {
  for (const auto& [mode, known] : kModes) {
    if (name == known) return mode;
  }
  return badData("no mode '{}', expected sync, burst or fenced", name);
}

std::string_view computeModeName(ComputeMode mode) {
  return kModes[static_cast<size_t>(mode)].second;
}

Result<std::unique_ptr<RepeatedRun>> RepeatedRun::create(const ApiSession& session,
                                                         std::vector<std::vector<uint8_t>> inputs,
                                                         ComputeMode mode) {
  const Subgraph& main = session.model().main;
  if (session.compilation() == nullptr) return badState("the session has not compiled");
  if (inputs.size() != main.inputIndexes.size()) {
    return badData("{} inputs for a model with {}", inputs.size(), main.inputIndexes.size());
  }
  std::unique_ptr<RepeatedRun> run(new RepeatedRun());
  run->mode_ = mode;
  run->inputs_ = std::move(inputs);
  ANeuralNetworksExecution* execution = nullptr;
  HALYARD_API_CALL(ANeuralNetworksExecution_create, session.compilation(), &execution);
  run->execution_.reset(execution);
  HALYARD_API_CALL(ANeuralNetworksExecution_setReusable, execution, true);
  for (size_t i = 0; i < run->inputs_.size(); ++i) {
    const std::vector<uint8_t>& bytes = run->inputs_[i];
    const Operand& operand = main.operands[main.inputIndexes[i]];
    Shape dims = operand.dimensions;
    for (uint32_t& extent : dims) extent = std::max(extent, 1u);
    const ANeuralNetworksOperandType type = apiOperandType(operand, dims);
    const bool isOpen = dims != operand.dimensions;
    HALYARD_API_CALL(ANeuralNetworksExecution_setInput, execution, static_cast<int32_t>(i),
                     isOpen ? &type : nullptr, bytes.data(), bytes.size());
  }
  for (size_t i = 0; i < main.outputIndexes.size(); ++i) {
    const Operand& operand = main.operands[main.outputIndexes[i]];
    run->outputTypes_.push_back(operand.type);
    auto& bytes = run->outputs_.emplace_back(
        knownByteSize(operand.type, operand.dimensions).value_or(kOpenOutputBytes));
    HALYARD_API_CALL(ANeuralNetworksExecution_setOutput, execution, static_cast<int32_t>(i),
                     nullptr, bytes.data(), bytes.size());
  }
  if (mode == ComputeMode::BURST) {
    ANeuralNetworksBurst* burst = nullptr;
    HALYARD_API_CALL(ANeuralNetworksBurst_create, session.compilation(), &burst);
    run->burst_.reset(burst);
  }
  return run;
}

Status RepeatedRun::compute() const {
  switch (mode_) {
    case ComputeMode::SYNC:
      HALYARD_API_CALL(ANeuralNetworksExecution_compute, execution_.get());
      return okStatus();
    case ComputeMode::BURST:
      HALYARD_API_CALL(ANeuralNetworksExecution_burstCompute, execution_.get(), burst_.get());
      return okStatus();
    case ComputeMode::FENCED: {
      ANeuralNetworksEvent* created = nullptr;
      HALYARD_API_CALL(ANeuralNetworksExecution_startComputeWithDependencies, execution_.get(),
                       nullptr, 0, 0, &created);
      const ApiHandle<ANeuralNetworksEvent> event(created);
      HALYARD_API_CALL(ANeuralNetworksEvent_wait, event.get());
      return okStatus();
    }
  }
  return okStatus();
}

Result<ApiOutput> RepeatedRun::output(size_t i) const {
  HALYARD_ASSIGN_OR_RETURN(Shape dims, apiOutputDimensions(execution_.get(), i), "output #{}", i);
  const auto size = realByteSize(outputTypes_[i], dims);
  if (!size || *size > outputs_[i].size()) {
    return opFailed("output #{}: {}{} in a buffer of {} bytes", i, operandTypeName(outputTypes_[i]),
                    shapeText(dims), outputs_[i].size());
  }
  return ApiOutput{std::move(dims),
                   std::vector<uint8_t>(outputs_[i].begin(), outputs_[i].begin() + *size)};
}

}  // namespace halyard::cli
