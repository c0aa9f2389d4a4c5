#include "measure/repeated_run.h"

#include <algorithm>
#include <utility>

#include "client/status.h"

namespace halyard::measure {
namespace {

constexpr size_t kOpenOutputBytes = size_t{64} << 10;
constexpr size_t kPlaceAlignment = 64;  // in bytes, between inputs or outputs

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

Result<std::unique_ptr<RepeatedRun>> RepeatedRun::create(
    const client::Session& session, const std::vector<std::vector<uint8_t>>& inputs,
    ComputeMode mode) {
  const Subgraph& main = session.model().main;
  if (session.compilation() == nullptr) return badState("the session has not compiled");
  if (inputs.size() != main.inputIndexes.size()) {
    return badData("{} inputs for a model with {}", inputs.size(), main.inputIndexes.size());
  }
  std::vector<size_t> sizes;
  for (const std::vector<uint8_t>& bytes : inputs) sizes.push_back(bytes.size());
  for (const uint32_t index : main.outputIndexes) {
    const Operand& operand = main.operands[index];
    sizes.push_back(knownByteSize(operand.type, operand.dimensions).value_or(kOpenOutputBytes));
  }
  std::unique_ptr<RepeatedRun> run(new RepeatedRun());
  run->mode_ = mode;
  std::vector<size_t> offsets;
  HALYARD_RETURN_IF_ERROR(run->share(sizes, &offsets));
  HALYARD_RETURN_IF_FAILED(run->execution_.create(session.compilation()));
  HALYARD_RETURN_IF_FAILED(run->execution_.setReusable(true));
  HALYARD_RETURN_IF_ERROR(run->bindInputs(main, inputs, offsets.data()));
  sizes.erase(sizes.begin(), sizes.begin() + static_cast<ptrdiff_t>(inputs.size()));
  HALYARD_RETURN_IF_ERROR(run->bindOutputs(main, sizes, offsets.data() + inputs.size()));
  if (mode == ComputeMode::BURST) {
    HALYARD_RETURN_IF_FAILED(run->burst_.create(session.compilation()));
  }
  return run;
}

// Makes one memory with a place for each size.
Status RepeatedRun::share(const std::vector<size_t>& sizes, std::vector<size_t>* offsets) {
  size_t end = 0;
  for (const size_t size : sizes) {
    offsets->push_back(end);
    end += (size + kPlaceAlignment - 1) / kPlaceAlignment * kPlaceAlignment;
  }
  HALYARD_ASSIGN_OR_RETURN(const SharedMemoryPtr shared,
                           SharedMemory::create(std::max<size_t>(end, 1), "halyard-arguments"));
  HALYARD_ASSIGN_OR_RETURN(mapping_, shared->map());
  HALYARD_ASSIGN_OR_RETURN(memory_, client::memoryOf(*shared));
  return okStatus();
}

Status RepeatedRun::bindInputs(const Subgraph& main,
                               const std::vector<std::vector<uint8_t>>& inputs,
                               const size_t* offsets) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto index = static_cast<int32_t>(i);
    inputs_.emplace_back(mapping_.data() + offsets[i], inputs[i].size());
    if (inputs[i].empty()) {
      HALYARD_RETURN_IF_FAILED(execution_.setInput(index, nullptr, nullptr, 0));
      continue;
    }
    std::ranges::copy(inputs[i], inputs_[i].begin());
    const Operand& operand = main.operands[main.inputIndexes[i]];
    Shape dims = operand.dimensions;
    for (uint32_t& extent : dims) extent = std::max(extent, 1u);
    const ANeuralNetworksOperandType type = client::operandType(operand, dims);
    const bool isOpen = dims != operand.dimensions;
    HALYARD_RETURN_IF_FAILED(execution_.setInputFromMemory(
        index, isOpen ? &type : nullptr, memory_.get(), offsets[i], inputs[i].size()));
  }
  return okStatus();
}

Status RepeatedRun::bindOutputs(const Subgraph& main, const std::vector<size_t>& sizes,
                                const size_t* offsets) {
  for (size_t i = 0; i < sizes.size(); ++i) {
    outputTypes_.push_back(main.operands[main.outputIndexes[i]].type);
    outputs_.emplace_back(mapping_.data() + offsets[i], sizes[i]);
    HALYARD_RETURN_IF_FAILED(execution_.setOutputFromMemory(static_cast<int32_t>(i), nullptr,
                                                            memory_.get(), offsets[i], sizes[i]));
  }
  return okStatus();
}

Status RepeatedRun::compute() const {
  switch (mode_) {
    case ComputeMode::SYNC:
      HALYARD_RETURN_IF_FAILED(execution_.compute());
      return okStatus();
    case ComputeMode::BURST:
      HALYARD_RETURN_IF_FAILED(execution_.burstCompute(burst_.get()));
      return okStatus();
    case ComputeMode::FENCED: {
      client::Event event;
      HALYARD_RETURN_IF_FAILED(execution_.startComputeWithDependencies({}, 0, event));
      HALYARD_RETURN_IF_FAILED(event.wait());
      return okStatus();
    }
  }
  return okStatus();
}

Result<client::Output> RepeatedRun::output(size_t i) const {
  HALYARD_ASSIGN_OR_RETURN(Shape dims, client::outputDimensions(execution_, i), "output #{}", i);
  const auto size = realByteSize(outputTypes_[i], dims);
  if (!size || *size > outputs_[i].size()) {
    return opFailed("output #{}: {}{} in a buffer of {} bytes", i, operandTypeName(outputTypes_[i]),
                    shapeText(dims), outputs_[i].size());
  }
  return client::Output{std::move(dims),
                        std::vector<uint8_t>(outputs_[i].data(), outputs_[i].data() + *size)};
}

}  // namespace halyard::measure
