// Target: what conformance cases are run on: a device, and the interface that leads to it.
// Thread safety: as each method says. Ownership: a BuiltModel outlives what it compiled; a Target
// outlives its models.
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

// One execution that is to be made.
struct ExecutionRequest {
  const VectorCase& vectorCase;        // its inputs
  std::span<const size_t> capacities;  // bytes of each output's buffer, at least one
  bool inPools = false;                // arguments in shared memory
  Launch launch = Launch::COMPUTE;
  std::optional<std::chrono::nanoseconds> loopTimeout;  // else the interface's default
};

struct ExecutionOutcome {
  Status status;
  // With OK, and with OUTPUT_INSUFFICIENT_SIZE (then without bytes): one per output.
  std::vector<ActualOutput> outputs;
  std::vector<bool> sufficient;
};

class CompiledModel {
 public:
  virtual ~CompiledModel() = default;
  // May be called from several threads at once.
  virtual ExecutionOutcome execute(const ExecutionRequest& request) = 0;
};

class BuiltModel {
 public:
  virtual ~BuiltModel() = default;
  // What the device does not support, as in "operation 3, SELECT: TENSOR_FLOAT32 rank 5"; nullopt
  // when it supports the whole model. An error when the device could not be asked.
  virtual Result<std::optional<std::string>> unsupported() = 0;
  // Whether the device supports each operation of the main subgraph.
  virtual Result<std::vector<bool>> supportedOperations() = 0;
  virtual Result<std::unique_ptr<CompiledModel>> compile() = 0;
};

class Target {
 public:
  virtual ~Target() = default;
  virtual const std::string& device() const = 0;
  // "api" or "hal".
  virtual std::string_view via() const = 0;
  // OK when the interface has what the variant needs; otherwise why not.
  virtual Status supports(Variant variant) = 0;
  // The model, found valid.
  virtual Result<std::unique_ptr<BuiltModel>> build(std::shared_ptr<const Model> model) = 0;
  // The process of the device's driver; 0 when it is not running.
  virtual int64_t processId() = 0;
};

// For BuiltModel::unsupported: describes the first operation that is false in `supported`; nullopt
// when there is none. `deviceLevel`: of the device, as the API counts; 0 when not known.
std::optional<std::string> firstUnsupported(const Model& model, const std::vector<bool>& supported,
                                            int64_t deviceLevel);

}  // namespace halyard::conformance
