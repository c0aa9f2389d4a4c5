// Signature: the operands that an operation takes, as data. Model validation, version compliance,
// the support table of the documentation and the generators of random graphs read these tables.
// Thread safety: immutable once built; checkSignature is a pure function.
// Ownership: names point to static storage.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "halyard/driver/model.h"
#include "halyard/driver/nnapi_types.h"
#include "halyard/driver/status.h"

namespace halyard::ops {

// From this feature level on, the rank may be min..max. A position may have several rules, for
// example {{FL1, 2, 2}, {FL1, 4, 4}, {FL3, 1, 4}}. A rule applies when the rank is known.
struct RankRule {
  FeatureLevel since;
  uint8_t min;
  uint8_t max;
};
using RankRules = std::vector<RankRule>;
// Exactly rank n at every level.
inline RankRules rank(uint8_t n) { return {{FeatureLevel::FL1, n, n}}; }
inline RankRules rankBetween(uint8_t min, uint8_t max) { return {{FeatureLevel::FL1, min, max}}; }

// One position in an operand list. Its type is fixed, or a column of the signature's type rows, or
// any. All operands with a column must match the same row.
struct OperandSpec {
  std::string_view name;  // as in error texts and documentation: "filter"
  int column = -1;        // of TypeRow::types; -1: `fixed` gives the type; kAnyType
  OperandType fixed = OperandType::INT32;
  RankRules ranks;         // empty: any rank
  bool omittable = false;  // may be present without a value (NO_VALUE)
  // A model may declare another rank. Then the computation of the operation fails.
  bool rankIsOfComputation = false;
  // For an optional INT32 or BOOL at the end of a list: the value that an omitted operand has.
  std::optional<int32_t> defaultValue = std::nullopt;

  static constexpr int kAnyType = -2;
  OperandSpec orOmitted() const {
    OperandSpec copy = *this;
    copy.omittable = true;
    return copy;
  }
  OperandSpec withRankOfComputation() const {
    OperandSpec copy = *this;
    copy.rankIsOfComputation = true;
    return copy;
  }
  OperandSpec withDefault(int32_t value) const {
    OperandSpec copy = *this;
    copy.defaultValue = value;
    return copy;
  }
};
inline OperandSpec typed(std::string_view name, int column, RankRules ranks = {}) {
  return {name, column, OperandType::INT32, std::move(ranks), false};
}
inline OperandSpec fixed(std::string_view name, OperandType type, RankRules ranks = {}) {
  return {name, -1, type, std::move(ranks), false};
}
inline OperandSpec anyType(std::string_view name) {
  return {name, OperandSpec::kAnyType, OperandType::INT32, {}, false};
}
inline OperandSpec int32(std::string_view name) { return fixed(name, OperandType::INT32); }
// Numbers that control the computation: sizes, paddings, axes.
inline OperandSpec int32List(std::string_view name, RankRules ranks = rank(1)) {
  return fixed(name, OperandType::TENSOR_INT32, std::move(ranks)).withRankOfComputation();
}
inline OperandSpec boolean(std::string_view name) { return fixed(name, OperandType::BOOL); }

// One legal combination of types, one type per column, and its first legal level.
struct TypeRow {
  FeatureLevel since;
  std::vector<OperandType> types;
};

// A legal length of an operand list, and its first legal level.
struct CountRule {
  uint32_t count;
  FeatureLevel since;
};

// One legal list of inputs. The types distinguish lists of the same length.
struct Form {
  std::string_view name;  // "implicit padding"; empty when there is only one form
  std::vector<OperandSpec> inputs;
  std::vector<CountRule> counts;  // empty: exactly inputs.size(); otherwise prefixes of `inputs`
  // Index of the input that may occur any number of times (at least once), or -1.
  int repeated = -1;
};

// An operation of a model with its operands. The indices have been checked.
class OperationView {
 public:
  OperationView(const Model& model, const Subgraph& subgraph, const Operation& operation)
      : model_(model), subgraph_(subgraph), operation_(operation) {}
  size_t inputCount() const { return operation_.inputs.size(); }
  size_t outputCount() const { return operation_.outputs.size(); }
  const Operand& input(size_t i) const { return subgraph_.operands[operation_.inputs[i]]; }
  const Operand& output(size_t i) const { return subgraph_.operands[operation_.outputs[i]]; }
  const Operation& operation() const { return operation_; }
  const Model& model() const { return model_; }
  // Returns the INT32, or the first element of the TENSOR_INT32, of input i if it is a constant in
  // the model itself. Returns nullopt for a value that only an execution or a pool has.
  std::optional<int32_t> constantInt(size_t i) const;

 private:
  const Model& model_;
  const Subgraph& subgraph_;
  const Operation& operation_;
};

struct Signature {
  std::vector<TypeRow> rows;
  std::vector<Form> forms;
  // The computation determines the ranks of outputs. The ranks in these specs do not restrict them.
  std::vector<OperandSpec> outputs;
  std::vector<CountRule> outputCounts = {};  // empty: exactly outputs.size()
  int repeatedOutput = -1;
  // Checks relations that the tables cannot express and that every valid model has, such as the
  // scale of a product or PAD's zero point. Inference checks the relations that only the
  // computation needs. The function raises `level` to the level that the operation needs, or
  // returns an error. May be null.
  Status (*check)(const OperationView& operation, FeatureLevel& level) = nullptr;
};

// Returns the feature level that the operation needs by its signature. BAD_DATA names the position,
// the expected and the actual operand: "input 1 (filter) is TENSOR_INT32, expected ...".
Result<FeatureLevel> checkSignature(const Signature& signature, const OperationView& operation);

// Returns the number of inputs that the operation still needs after default values at the end are
// left out. checkSignature must accept the operation. An input can be left out if it is a constant
// in the model itself with its default value. The remaining list always has a legal length.
size_t inputsWithoutDefaults(const Signature& signature, const OperationView& operation);

// Explains why an operation needs more than level `have`; checkSignature must accept it. The text
// gives the operand and what that level expects, such as "input 0 (input) is TENSOR_FLOAT16,
// expected TENSOR_FLOAT32". Empty when the operation does not need more.
std::string whyNewer(const Signature& signature, const OperationView& operation, FeatureLevel have);

}  // namespace halyard::ops
