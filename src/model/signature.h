// Signature: which operands an operation takes, as data. Model validation, version compliance, the
// support table of the docs and the generators of random graphs all read the same tables.
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

// The rank may be min..max from this feature level on. Several rules may stand side by side, for
// example {{FL1, 2, 2}, {FL1, 4, 4}, {FL3, 1, 4}}. Applies when the rank is known.
struct RankRule {
  FeatureLevel since;
  uint8_t min;
  uint8_t max;
};
using RankRules = std::vector<RankRule>;
// Exactly n, at every level.
inline RankRules rank(uint8_t n) { return {{FeatureLevel::FL1, n, n}}; }
inline RankRules rankBetween(uint8_t min, uint8_t max) { return {{FeatureLevel::FL1, min, max}}; }

// One position in an operand list. Its type is fixed, or one column of the signature's type rows
// (all operands that name columns must match one row together), or any.
struct OperandSpec {
  std::string_view name;  // as in error texts and docs: "filter"
  int column = -1;        // of TypeRow::types; -1: `fixed` counts; kAnyType
  OperandType fixed = OperandType::INT32;
  RankRules ranks;         // empty: any rank
  bool omittable = false;  // may be present without a value (NO_VALUE)
  // A model may declare another rank, and computing the operation fails then.
  bool rankIsOfComputation = false;
  // Of an INT32 or BOOL that a list may end before: the value that leaving it out stands for.
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
// Numbers that say how to compute: sizes, paddings, axes.
inline OperandSpec int32List(std::string_view name, RankRules ranks = rank(1)) {
  return fixed(name, OperandType::TENSOR_INT32, std::move(ranks)).withRankOfComputation();
}
inline OperandSpec boolean(std::string_view name) { return fixed(name, OperandType::BOOL); }

// One legal combination of types, one per column, and the level from which it is legal.
struct TypeRow {
  FeatureLevel since;
  std::vector<OperandType> types;
};

// A legal length of an operand list, and the level from which it is.
struct CountRule {
  uint32_t count;
  FeatureLevel since;
};

// One legal list of inputs. Lists that share a length are told apart by their types.
struct Form {
  std::string_view name;  // "implicit padding"; empty when there is only one form
  std::vector<OperandSpec> inputs;
  std::vector<CountRule> counts;  // empty: exactly inputs.size(); otherwise prefixes of `inputs`
  // Index of the input that may stand any number of times (at least once), or -1.
  int repeated = -1;
};

// An operation as it stands in a model, with its operands. Indices have been checked.
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
  // The INT32, or the first element of the TENSOR_INT32, that input i has as a constant in the
  // model itself; nullopt for what only an execution, or a pool, knows.
  std::optional<int32_t> constantInt(size_t i) const;

 private:
  const Model& model_;
  const Subgraph& subgraph_;
  const Operation& operation_;
};

struct Signature {
  std::vector<TypeRow> rows;
  std::vector<Form> forms;
  // What their ranks come to is a matter of computation, whatever their specs say.
  std::vector<OperandSpec> outputs;
  std::vector<CountRule> outputCounts = {};  // empty: exactly outputs.size()
  int repeatedOutput = -1;
  // Relations that tables cannot say, and that a model must keep to be one (the scale of a product,
  // PAD's zero point); what only computing needs is inference's to check. Raises `level` to what
  // the operation needs, or says what is wrong. May be null.
  Status (*check)(const OperationView& operation, FeatureLevel& level) = nullptr;
};

// The feature level that the operation needs by its signature, or BAD_DATA with the position, what
// was expected there and what was found ("input 1 (filter) is TENSOR_INT32, expected ...").
Result<FeatureLevel> checkSignature(const Signature& signature, const OperationView& operation);

// How many inputs are left of an operation that checkSignature accepts, without the trailing ones
// that are constants in the model itself with their default values. Only as many are left out as
// make a list of a legal length. All of them, where there is nothing to leave out.
size_t inputsWithoutDefaults(const Signature& signature, const OperationView& operation);

// Why an operation that checkSignature accepts needs more than level `have`: what that level
// expects in its place, such as "input 0 (input) is TENSOR_FLOAT16, expected TENSOR_FLOAT32". Empty
// when it does not need more.
std::string whyNewer(const Signature& signature, const OperationView& operation, FeatureLevel have);

}  // namespace halyard::ops
