// CompiledGraph: nodes of an interpreter as a compiled model, for one set of shapes.
// Thread safety: one thread at a time may call run(). report() may be called at any time.
// Ownership: owns all objects of the API. Borrows the tensors' memory during run().
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "client/canonical_model.h"
#include "client/nnapi.h"
#include "halyard/driver/status.h"
#include "import/tflite/importer.h"
#include "tflite_delegate/delegate_options.h"

namespace halyard::tflite {

// What all compilations of a delegate share.
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
  static Result<std::unique_ptr<CompiledGraph>> create(import::ImportedModel model,
                                                       const CompileSettings& settings);

  // The dimensions of an output, in the order of the graph.
  const Shape& outputDims(size_t i) const { return ports_.outputs[i].dims; }
  // Computes once. The lists have the order of the graph. BAD_DATA when a size is not that of its
  // tensor, or when an integer of 64 bits does not fit into 32.
  Status run(std::span<const Bytes> inputs, std::span<const Bytes> outputs);
  // halyard_compilationReport.
  Result<std::string> report() const;
  size_t operationCount() const { return model_->model().main.operations.size(); }

 private:
  struct Ports {
    std::vector<import::ModelPort> inputs;
    std::vector<import::ModelPort> outputs;
  };

  CompiledGraph() = default;
  Status compile(const CompileSettings& settings);
  Status checkSizes(const std::vector<import::ModelPort>& ports,
                    std::span<const Bytes> bytes) const;
  // Makes the execution for arguments at these places.
  Status bind(std::span<const Bytes> inputs, std::span<const Bytes> outputs);

  Ports ports_;
  std::unique_ptr<client::CanonicalModel> model_;
  client::Compilation compilation_;
  uint64_t timeoutNs_ = 0;  // 0: none
  // Values of 64-bit integers in 32 bits, by port; empty for all other ports.
  std::vector<std::vector<int32_t>> narrowInputs_;
  std::vector<std::vector<int32_t>> narrowOutputs_;
  std::vector<Bytes> boundInputs_;
  std::vector<Bytes> boundOutputs_;
  client::Execution execution_;
};

}  // namespace halyard::tflite
