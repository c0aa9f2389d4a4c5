// Builder: a model operation by operation, through the C API, which checks each one at once. It
// finds the types and shapes of results by the tables and the inference of src/ops.
// Thread safety: one thread at a time.
// Ownership: owns copies of all constants; finish() gives everything to the Graph.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "client/nnapi.h"
#include "graph.h"
#include "halyard/driver/model.h"
#include "halyard/driver/status.h"
#include "ops/operation.h"

namespace halyard::python {

// The type of an operand, in the terms of the C API.
struct OperandSpec {
  int32_t type = 0;
  std::vector<uint32_t> dims;
  float scale = 0;
  int32_t zeroPoint = 0;
};

// One list of inputs that an operation takes.
struct FormDescription {
  std::string name;
  std::vector<std::string> inputs;
  // The type of each input, if it is the same in each use; otherwise empty.
  std::vector<std::string> types;
};
struct OperationDescription {
  std::string name;  // as in the C API: "CONV_2D"
  int32_t code = 0;
  bool isOfExtension = false;  // of halyard.tflite
  std::vector<FormDescription> forms;
  std::vector<std::string> outputs;
};
// All operations that a Builder can add.
std::vector<OperationDescription> allOperations();

class Builder {
 public:
  static Result<std::shared_ptr<Builder>> create();

  Result<uint32_t> addOperand(const OperandSpec& spec);
  Status setScales(uint32_t operand, const std::vector<float>& scales, uint32_t channelDim);
  // Copies the bytes.
  Status setValue(uint32_t operand, std::span<const uint8_t> bytes);
  Status omit(uint32_t operand);
  Status setModel(uint32_t operand, std::shared_ptr<const Builder> model);
  const OperandSpec& spec(uint32_t operand) const { return operands_[operand].spec; }

  // The specs of the results, as far as the operation determines them. Quantisation comes from the
  // first input of the same type.
  Result<std::vector<OperandSpec>> resultsOf(int32_t operation,
                                             const std::vector<uint32_t>& inputs) const;
  Status addOperation(int32_t operation, const std::vector<uint32_t>& inputs,
                      const std::vector<uint32_t>& outputs);
  Status finish(const std::vector<uint32_t>& inputs, const std::vector<uint32_t>& outputs,
                bool allowFp16);
  // The finished model. The builder must not change any more.
  static Result<std::shared_ptr<const Graph>> graphOf(std::shared_ptr<const Builder> builder,
                                                      const std::vector<std::string>& inputNames,
                                                      const std::vector<std::string>& outputNames);

  const client::Model& model() const { return model_; }

 private:
  struct BuiltOperand {
    OperandSpec spec;
    SymmPerChannelQuantParams scales = {};
    std::vector<uint8_t> value = {};
    bool hasValue = false;
    bool omitted = false;
  };

  Builder() = default;
  Status checkIndexes(const std::vector<uint32_t>& operands) const;
  // The operand without its value.
  static Operand operandOf(const BuiltOperand& built);
  // The number of results of an operation without given ones. An error if it is not known.
  Result<size_t> resultCount(const ops::OperationDefinition& definition,
                             const std::vector<uint32_t>& inputs) const;
  import::ModelPort portOf(uint32_t operand, const std::string& name) const;

  // A deque, since the API refers to long values in place.
  std::deque<BuiltOperand> operands_;
  std::vector<std::shared_ptr<const Builder>> referenced_;
  std::vector<uint32_t> inputs_;
  std::vector<uint32_t> outputs_;
  size_t operationCount_ = 0;
  client::Model model_;  // freed first
};

}  // namespace halyard::python
