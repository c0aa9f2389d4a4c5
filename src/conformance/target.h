// Target: the place where conformance cases run: a device, and the interface to it.
// Thread safety: as each method says.
// Ownership: a BuiltModel outlives its compilations; a Target outlives its models.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "conformance/variants.h"
#include "conformance/vectors.h"
#include "halyard/driver/status.h"

namespace halyard::conformance {

// One requested execution.
struct ExecutionRequest {
  const VectorCase& vectorCase;        // its inputs are used
  std::span<const size_t> capacities;  // size of each output's buffer in bytes, at least one
  bool inPools = false;                // arguments are in shared memory
  Launch launch = Launch::COMPUTE;
  std::optional<std::chrono::nanoseconds> loopTimeout;  // unset: the interface's default
};

struct ExecutionOutcome {
  Status status;
  // With OK and OUTPUT_INSUFFICIENT_SIZE (then without bytes): one element per output.
  std::vector<ActualOutput> outputs;
  std::vector<bool> sufficient;
};

class CompiledModel {
 public:
  virtual ~CompiledModel() = default;
  // Several threads may call it at once.
  virtual ExecutionOutcome execute(const ExecutionRequest& request) = 0;
};

class BuiltModel {
 public:
  virtual ~BuiltModel() = default;
  // Describes the part that the device does not support, as in "operation 3, SELECT: TENSOR_FLOAT32
  // rank 5"; nullopt when it supports the whole model. Returns an error when the device could not
  // be asked.
  virtual Result<std::optional<std::string>> unsupported() = 0;
  // Returns whether the device supports each operation of the main subgraph.
  virtual Result<std::vector<bool>> supportedOperations() = 0;
  virtual Result<std::unique_ptr<CompiledModel>> compile() = 0;
};

class Target {
 public:
  virtual ~Target() = default;
  virtual const std::string& device() const = 0;
  // Returns "api" or "hal".
  virtual std::string_view via() const = 0;
  // Returns OK when the interface supports the variant; otherwise the reason.
  virtual Status supports(Variant variant) = 0;
  // Builds and validates the model.
  virtual Result<std::unique_ptr<BuiltModel>> build(std::shared_ptr<const Model> model) = 0;
  // Returns the process of the device's driver; 0 when it is not running.
  virtual int64_t processId() = 0;
};

// For BuiltModel::unsupported: describes the first operation that is false in `supported`; nullopt
// when all are true. `deviceLevel`: the device's level in the API's numbers; 0 when unknown.
std::optional<std::string> firstUnsupported(const Model& model, const std::vector<bool>& supported,
                                            int64_t deviceLevel);

}  // namespace halyard::conformance
