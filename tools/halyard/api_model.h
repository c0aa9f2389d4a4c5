// ApiModel: a canonical model as the public C API holds it, as an application would build it.
// Thread safety: create and the static functions from any thread; one object is used by one thread
// at a time, but for what the API allows with the handles it gives.
// Ownership: shares the model and owns every API object that it makes.
#pragma once

#include <android/NeuralNetworks.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "halyard/driver/model.h"
#include "halyard/driver/status.h"

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

// Owners of the API's handles.
struct FreeApiObject {
  void operator()(ANeuralNetworksModel* p) const { ANeuralNetworksModel_free(p); }
  void operator()(ANeuralNetworksMemory* p) const { ANeuralNetworksMemory_free(p); }
  void operator()(ANeuralNetworksCompilation* p) const { ANeuralNetworksCompilation_free(p); }
  void operator()(ANeuralNetworksExecution* p) const { ANeuralNetworksExecution_free(p); }
  void operator()(ANeuralNetworksEvent* p) const { ANeuralNetworksEvent_free(p); }
  void operator()(ANeuralNetworksBurst* p) const { ANeuralNetworksBurst_free(p); }
};
template <typename T>
using ApiHandle = std::unique_ptr<T, FreeApiObject>;

// The operand's type with other dimensions, which are borrowed.
ANeuralNetworksOperandType apiOperandType(const Operand& operand, const Shape& dimensions);

// Shared memory as the API takes it. BAD_DATA for kinds without a descriptor that can be mapped.
Result<ApiHandle<ANeuralNetworksMemory>> apiMemory(const SharedMemory& memory);

// What the API knows of an output's dimensions after a computation, also one that failed with
// OUTPUT_INSUFFICIENT_SIZE. `sufficient`, unless null, receives whether this output's buffer was.
Result<Shape> apiOutputDimensions(ANeuralNetworksExecution* execution, size_t output,
                                  bool* sufficient = nullptr);

class ApiModel {
 public:
  // Builds and finishes the API's models, one for each subgraph: operands in the same order, so
  // that indices agree; constants in operandValues are referred to in place; each pool becomes one
  // memory. BAD_DATA for what this class does not pass on (extensions, pools without a file
  // descriptor that can be mapped), for constants outside their pool and for subgraphs that refer
  // to themselves; otherwise the API's errors.
  static Result<std::unique_ptr<ApiModel>> create(std::shared_ptr<const Model> model);

  const Model& model() const { return *model_; }

  // For one device, by model.main.operations: whether it can run each operation.
  Result<std::vector<bool>> supportedOperations(const ANeuralNetworksDevice* device) const;

  // Compiles for exactly one device, or with nullptr for whichever the runtime chooses. The model
  // must outlive what it gives.
  Result<ApiHandle<ANeuralNetworksCompilation>> compile(const ANeuralNetworksDevice* device) const;
  // A compilation that is still to be finished, for these devices; with none, for all.
  Result<ApiHandle<ANeuralNetworksCompilation>> createCompilation(
      std::span<const ANeuralNetworksDevice* const> devices) const;

 private:
  explicit ApiModel(std::shared_ptr<const Model> model) : model_(std::move(model)) {}

  Status build();
  Status addMemories();
  Result<ApiHandle<ANeuralNetworksModel>> buildSubgraph(const Subgraph& subgraph) const;
  Status addOperand(ANeuralNetworksModel* to, const Operand& operand, uint32_t index) const;
  Status setConstant(ANeuralNetworksModel* to, const Operand& operand, uint32_t index) const;

  // In the order of the API's rule of lifetimes: what is declared later is freed first.
  const std::shared_ptr<const Model> model_;
  std::vector<ApiHandle<ANeuralNetworksMemory>> memories_;
  std::vector<ApiHandle<ANeuralNetworksModel>> referenced_;  // as in the model
  ApiHandle<ANeuralNetworksModel> main_;
};

}  // namespace halyard::cli

// Returns the Status of a failed API call; the call's name is only a fall-back for its text.
#define HALYARD_API_CALL(function, ...) \
  HALYARD_RETURN_IF_ERROR(::halyard::cli::apiStatus(function(__VA_ARGS__), #function))
