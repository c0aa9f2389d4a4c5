// RepeatedRun: repeats the same execution of a compiled model, like an application with a loop.
// Inputs and outputs are in memory that a driver shares, and are bound once. A repetition is only
// the call that computes.
// Thread safety: one thread at a time may use a run. Runs of one session are independent.
// Ownership: owns its buffers and API objects. The session must outlive it.
#pragma once

#include <android/NeuralNetworks.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "client/session.h"

namespace halyard::measure {

enum class ComputeMode : uint8_t {
  SYNC,    // ANeuralNetworksExecution_compute
  BURST,   // ANeuralNetworksExecution_burstCompute
  FENCED,  // ANeuralNetworksExecution_startComputeWithDependencies and a wait for its event
};
// Takes "sync", "burst" or "fenced". BAD_DATA for other names.
Result<ComputeMode> computeModeNamed(std::string_view name);
std::string_view computeModeName(ComputeMode mode);

class RepeatedRun {
 public:
  // The session must have a finished compilation. Inputs are copied; an empty one has no bytes.
  // Outputs of unknown size get 64 KiB.
  static Result<std::unique_ptr<RepeatedRun>> create(
      const client::Session& session, const std::vector<std::vector<uint8_t>>& inputs,
      ComputeMode mode = ComputeMode::SYNC);

  Status compute() const;

  // The bytes of an input for the next computation.
  std::span<uint8_t> input(size_t i) const { return inputs_[i]; }
  size_t outputCount() const { return outputs_.size(); }
  // The value of an output after the last computation.
  Result<client::Output> output(size_t i) const;

 private:
  RepeatedRun() = default;
  Status share(const std::vector<size_t>& sizes, std::vector<size_t>* offsets);
  Status bindInputs(const Subgraph& main, const std::vector<std::vector<uint8_t>>& inputs,
                    const size_t* offsets);
  Status bindOutputs(const Subgraph& main, const std::vector<size_t>& sizes, const size_t* offsets);

  ComputeMode mode_ = ComputeMode::SYNC;
  std::vector<OperandType> outputTypes_;
  Mapping mapping_;  // of the memory for all inputs and outputs
  std::vector<std::span<uint8_t>> inputs_;
  std::vector<std::span<uint8_t>> outputs_;
  client::Memory memory_;
  client::Execution execution_;
  client::Burst burst_;
};

}  // namespace halyard::measure
