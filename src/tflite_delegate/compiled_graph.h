// CompiledGraph: nodes of an interpreter as a compiled model, for one set of shapes.
// Thread safety: one thread at a time may call run(). report() may be called at any time.
// Ownership: owns all objects of the API. Borrows the tensors' memory during run().
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "client/canonical_model.h"
#include "client/nnapi.h"
#include "halyard/driver/status.h"
#include "tflite_delegate/delegate_options.h"
#include "tflite_delegate/graph_writer.h"

namespace halyard::tflite {

// The runtime's own CPU device, which computes every operation.
inline constexpr std::string_view kCpuDevice = "nnapi-reference";

// The settings of all compilations of a delegate.
struct CompileSettings {
  DelegateOptions options;
  // The devices that compile; empty: those that the runtime chooses.
  std::vector<const ANeuralNetworksDevice*> devices;
  import::ImportOptions import;
};

// The memory of a tensor.
struct Bytes {
  void* data = nullptr;
  size_t size = 0;
  bool operator==(const Bytes&) const = default;
};

class CompiledGraph {
 public:
  // Compiles. The errors are those of the API. BAD_DATA also for an output whose size depends on
  // values of the inputs.
  static Result<std::unique_ptr<CompiledGraph>> create(ImportedGraph graph,
                                                       const CompileSettings& settings);

  // The dimensions of an output's tensor, in the order of the graph.
  Shape outputDims(size_t i) const;
  // The interpreter's variables that the graph reads and writes.
  const std::vector<int32_t>& states() const { return states_; }
  // Computes once. The lists have the order of the graph, and of states(). After a failure the
  // states are as before. BAD_DATA when a size is not that of its
  // tensor, or when an integer of 64 bits does not fit into 32.
  Status run(std::span<const Bytes> inputs, std::span<const Bytes> outputs,
             std::span<const Bytes> states);
  // halyard_compilationReport.
  Result<std::string> report() const;
  size_t operationCount() const { return model_->model().main.operations.size(); }

 private:
  struct Ports {
    std::vector<import::ModelPort> inputs;
    std::vector<import::ModelPort> outputs;
    std::vector<import::ModelPort> states;
  };

  CompiledGraph() = default;
  Status compile(const CompileSettings& settings);
  Status checkSizes(const std::vector<import::ModelPort>& ports,
                    std::span<const Bytes> bytes) const;
  // Makes the execution for arguments at these places.
  Status bind(std::span<const Bytes> inputs, std::span<const Bytes> outputs,
              std::span<const Bytes> states);

  Ports ports_;
  std::vector<int32_t> states_;
  std::unique_ptr<client::CanonicalModel> model_;
  client::Compilation compilation_;
  uint64_t timeoutNs_ = 0;  // 0: none
  // By port, the 32-bit integers of a tensor with another type; empty for all other ports.
  std::vector<std::vector<int32_t>> convertedInputs_;
  std::vector<std::vector<int32_t>> convertedOutputs_;
  std::vector<Bytes> boundInputs_;
  std::vector<Bytes> boundOutputs_;
  std::vector<Bytes> boundStates_;
  std::vector<std::vector<uint8_t>> newStates_;  // by state; copied to the tensors at the end
  client::Execution execution_;
};

}  // namespace halyard::tflite
