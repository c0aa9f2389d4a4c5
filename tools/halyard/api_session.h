// ApiSession: runs a canonical model through the public C API, as an application would.
// Thread safety: none; one thread at a time uses a session. Sessions are independent.
// Ownership: a session shares the model and owns every API object that it makes.
#pragma once

#include <android/NeuralNetworks.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "model/model.h"

namespace halyard::cli {

// A device of the process; lives as long as the process.
struct ApiDevice {
  const ANeuralNetworksDevice* handle = nullptr;
  std::string name;
};

// All devices, in the runtime's order (its own CPU device is the last).
Result<std::vector<ApiDevice>> listApiDevices();

// The process that the device's driver runs in; 0 while it is not running.
Result<int64_t> driverProcessId(const ANeuralNetworksDevice* device);

// A failed call as a Status: its code, and the runtime's own text if it left one. OK for NO_ERROR.
// Must be called before the thread's next NNAPI call.
Status apiStatus(int code, std::string_view call);

// One input of an execution. The bytes are borrowed until execute returns.
struct ApiInput {
  std::span<const uint8_t> bytes;
  Shape dimensions;      // empty: as the model says, which must then be fully known
  bool omitted = false;  // the execution goes without this input
};

// One result: its real dimensions (empty for a scalar) and exactly their bytes.
struct ApiOutput {
  Shape dimensions;
  std::vector<uint8_t> bytes;
};

struct ApiExecution {
  std::vector<ApiOutput> outputs;
  std::chrono::nanoseconds duration{};  // of the last compute call alone
  int attempts = 1;  // more than 1 when buffers for outputs of unknown size had to grow
};

class ApiSession {
 public:
  // Builds and finishes the API's model: operands in the same order, so that indices agree;
  // constants in operandValues are referred to in place; each pool becomes one memory. BAD_DATA for
  // what this class does not pass on (referenced subgraphs, extensions, pools without a file
  // descriptor that can be mapped) and for constants outside their pool; otherwise the API's
  // errors.
  static Result<std::unique_ptr<ApiSession>> create(std::shared_ptr<const Model> model);

  // For one device, by model.main.operations: whether it can run each operation.
  Result<std::vector<bool>> supportedOperations(const ANeuralNetworksDevice* device) const;

  // Compiles for exactly one device, or with nullptr for whichever the runtime chooses. Once.
  Status compile(const ANeuralNetworksDevice* device);

  // Runs the compiled model once; `inputs` in the order of model.main.inputIndexes. Outputs whose
  // size the model leaves open start with a buffer of 64 KiB, and the execution is repeated with a
  // larger one as long as the API answers OUTPUT_INSUFFICIENT_SIZE (up to 1 GiB an output).
  Result<ApiExecution> execute(std::span<const ApiInput> inputs) const;

 private:
  struct FreeModel {
    void operator()(ANeuralNetworksModel* p) const { ANeuralNetworksModel_free(p); }
  };
  struct FreeMemory {
    void operator()(ANeuralNetworksMemory* p) const { ANeuralNetworksMemory_free(p); }
  };
  struct FreeCompilation {
    void operator()(ANeuralNetworksCompilation* p) const { ANeuralNetworksCompilation_free(p); }
  };
  struct FreeExecution {
    void operator()(ANeuralNetworksExecution* p) const { ANeuralNetworksExecution_free(p); }
  };

  // The buffer of one output and what is known of its size.
  struct OutputBuffer {
    bool exact = false;  // the model fixes the size
    std::vector<uint8_t> bytes;
  };

  explicit ApiSession(std::shared_ptr<const Model> model) : model_(std::move(model)) {}

  Status build();
  Status addMemories();
  Status addOperand(uint32_t index);
  Status setConstant(uint32_t index);
  Result<std::vector<OutputBuffer>> makeOutputBuffers() const;
  Status setArguments(ANeuralNetworksExecution* execution, std::span<const ApiInput> inputs,
                      std::vector<OutputBuffer>& outputs) const;
  Result<Shape> outputDimensions(ANeuralNetworksExecution* execution, size_t output) const;
  Status growBuffers(ANeuralNetworksExecution* execution, std::vector<OutputBuffer>& outputs) const;
  Result<std::vector<ApiOutput>> takeOutputs(ANeuralNetworksExecution* execution,
                                             std::vector<OutputBuffer> outputs) const;

  // In the order of the API's rule of lifetimes: what is declared later is freed first.
  const std::shared_ptr<const Model> model_;
  std::vector<std::unique_ptr<ANeuralNetworksMemory, FreeMemory>> memories_;
  std::unique_ptr<ANeuralNetworksModel, FreeModel> apiModel_;
  std::unique_ptr<ANeuralNetworksCompilation, FreeCompilation> compilation_;
};

}  // namespace halyard::cli
