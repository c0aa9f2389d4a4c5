// Matches the operands of an operation against its signature.
#include "model/signature.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <string>

namespace halyard::ops {
namespace {

// The place where a candidate (form, type row) stops matching. Inputs count from 0; outputs follow.
struct Mismatch {
  size_t position = 0;
  bool isInput = true;
  size_t index = 0;
  std::string_view name;
  std::string expected;  // a type name, or "rank 4"
  bool isRank = false;
};

// Joins items to a text such as "7, 8 or 10".
std::string orList(const std::vector<std::string>& items) {
  if (items.empty()) return "nothing";
  if (items.size() == 1) return items[0];
  const std::vector<std::string> head(items.begin(), items.end() - 1);
  return fmt::format("{} or {}", fmt::join(head, ", "), items.back());
}

// Returns the spec for position i of `count` operands. The spec at `repeated`, if any, applies
// several times.
const OperandSpec& specAt(const std::vector<OperandSpec>& specs, int repeated, size_t count,
                          size_t i) {
  if (repeated < 0) return specs[i];
  const auto first = static_cast<size_t>(repeated);
  const size_t extra = count - specs.size();
  if (i < first) return specs[i];
  if (i <= first + extra) return specs[first];
  return specs[i - extra];
}

// Returns whether a list of `count` operands is legal. Raises `level` to the level that this length
// needs.
bool countAllowed(const std::vector<OperandSpec>& specs, const std::vector<CountRule>& counts,
                  int repeated, size_t count, FeatureLevel& level) {
  if (repeated >= 0) return count >= specs.size();
  if (counts.empty()) return count == specs.size();
  for (const CountRule& rule : counts) {
    if (rule.count == count) {
      level = std::max(level, rule.since);
      return true;
    }
  }
  return false;
}

std::string rankText(const RankRules& rules) {
  std::vector<std::string> texts;
  for (const RankRule& rule : rules) {
    texts.push_back(rule.min == rule.max ? fmt::format("{}", rule.min)
                                         : fmt::format("{} to {}", rule.min, rule.max));
  }
  return "rank " + orList(texts);
}

// Checks one operand against one spec under one row of types. Fills `mismatch`, unless it is null,
// when they do not match.
bool operandMatches(const OperandSpec& spec, const TypeRow* row, const Operand& operand,
                    bool checksRank, FeatureLevel& level, Mismatch* mismatch) {
  if (spec.column == OperandSpec::kAnyType) return true;
  const OperandType expected =
      spec.column < 0 ? spec.fixed : row->types[static_cast<size_t>(spec.column)];
  if (operand.type != expected) {
    if (mismatch != nullptr) mismatch->expected = operandTypeName(expected);
    return false;
  }
  if (!checksRank || spec.ranks.empty() || operand.dimensions.empty()) return true;
  const size_t rank = operand.dimensions.size();
  const RankRule* best = nullptr;
  for (const RankRule& rule : spec.ranks) {
    if (rank < rule.min || rank > rule.max) continue;
    if (best == nullptr || rule.since < best->since) best = &rule;
  }
  if (best == nullptr) {
    if (mismatch != nullptr) {
      mismatch->expected = rankText(spec.ranks);
      mismatch->isRank = true;
    }
    return false;
  }
  level = std::max(level, best->since);
  return true;
}

// Returns true when all operands match the form under the row. Otherwise fills `mismatch`, unless
// it is null.
bool candidateMatches(const Signature& signature, const Form& form, const TypeRow* row,
                      const OperationView& operation, FeatureLevel& level, Mismatch* mismatch) {
  const size_t inputs = operation.inputCount();
  for (size_t i = 0; i < inputs; ++i) {
    const OperandSpec& spec = specAt(form.inputs, form.repeated, inputs, i);
    if (mismatch != nullptr) *mismatch = {i, true, i, spec.name, "", false};
    if (!operandMatches(spec, row, operation.input(i), !spec.rankIsOfComputation, level,
                        mismatch)) {
      return false;
    }
  }
  const size_t outputs = operation.outputCount();
  for (size_t i = 0; i < outputs; ++i) {
    const OperandSpec& spec = specAt(signature.outputs, signature.repeatedOutput, outputs, i);
    if (mismatch != nullptr) *mismatch = {inputs + i, false, i, spec.name, "", false};
    if (!operandMatches(spec, row, operation.output(i), false, level, mismatch)) return false;
  }
  return true;
}

Status countError(const Signature& signature, size_t inputs) {
  std::set<size_t> legal;
  bool openEnded = false;
  for (const Form& form : signature.forms) {
    openEnded = openEnded || form.repeated >= 0;
    if (form.counts.empty()) legal.insert(form.inputs.size());
    for (const CountRule& rule : form.counts) legal.insert(rule.count);
  }
  if (openEnded) return badData("takes at least {} inputs, has {}", *legal.begin(), inputs);
  std::vector<std::string> texts;
  for (size_t count : legal) texts.push_back(std::to_string(count));
  return badData("takes {} input{}, has {}", orList(texts),
                 texts == std::vector<std::string>{"1"} ? "" : "s", inputs);
}

Status outputCountError(const Signature& signature, size_t outputs) {
  std::vector<std::string> texts;
  for (const CountRule& rule : signature.outputCounts) texts.push_back(std::to_string(rule.count));
  if (texts.empty()) texts.push_back(std::to_string(signature.outputs.size()));
  return badData("has {} output{}, expected {}{}", outputs, outputs == 1 ? "" : "s",
                 signature.repeatedOutput >= 0 ? "at least " : "", orList(texts));
}

Status mismatchError(const OperationView& operation, const Mismatch& at,
                     const std::set<std::string>& expected) {
  const Operand& operand = at.isInput ? operation.input(at.index) : operation.output(at.index);
  const std::string place = fmt::format("{} {}{}", at.isInput ? "input" : "output", at.index,
                                        at.name.empty() ? "" : fmt::format(" ({})", at.name));
  const std::vector<std::string> list(expected.begin(), expected.end());
  if (at.isRank) {
    return badData("{} has rank {} {}, expected {}", place, operand.dimensions.size(),
                   shapeText(operand.dimensions), orList(list));
  }
  return badData("{} is {}, expected {}", place, operandTypeName(operand.type), orList(list));
}

// Calls `visit` for each form that takes this number of inputs and each row of types. The row is
// null if the signature has no rows. `visit` also gets the level that they need, at least `level`.
template <typename Visit>
void forEachCandidate(const Signature& signature, const OperationView& operation,
                      FeatureLevel level, Visit visit) {
  for (const Form& form : signature.forms) {
    FeatureLevel needed = level;
    if (!countAllowed(form.inputs, form.counts, form.repeated, operation.inputCount(), needed)) {
      continue;
    }
    if (signature.rows.empty()) visit(form, nullptr, needed);
    for (const TypeRow& row : signature.rows) visit(form, &row, std::max(needed, row.since));
  }
}

// Describes the error of an operation that no candidate takes. Most operations are correct, so
// mismatches are only collected here.
Status noCandidate(const Signature& signature, const OperationView& operation) {
  std::optional<Mismatch> furthest;
  std::set<std::string> expected;
  forEachCandidate(
      signature, operation, FeatureLevel::FL1,
      [&](const Form& form, const TypeRow* row, FeatureLevel level) {
        Mismatch mismatch;
        (void)candidateMatches(signature, form, row, operation, level, &mismatch);
        // The operation most likely means the candidate that matches furthest.
        if (!furthest || mismatch.position > furthest->position ||
            (mismatch.position == furthest->position && mismatch.isRank && !furthest->isRank)) {
          furthest = mismatch;
          expected.clear();
        }
        if (mismatch.position == furthest->position && mismatch.isRank == furthest->isRank) {
          expected.insert(mismatch.expected);
        }
      });
  if (!furthest) return countError(signature, operation.inputCount());
  return mismatchError(operation, *furthest, expected);
}

template <typename Rule>
void keepUpTo(std::vector<Rule>& rules, FeatureLevel have) {
  std::erase_if(rules, [have](const Rule& rule) { return rule.since > have; });
}

void keepRanksUpTo(std::vector<OperandSpec>& specs, FeatureLevel have) {
  for (OperandSpec& spec : specs) {
    RankRules kept = spec.ranks;
    keepUpTo(kept, have);
    if (!kept.empty()) spec.ranks = std::move(kept);  // an empty list would allow every rank
  }
}

// Returns the signature as of level `have`. It has no forms if the operation did not exist then.
Signature signatureAt(Signature signature, FeatureLevel have) {
  const bool hadRows = !signature.rows.empty();
  keepUpTo(signature.rows, have);
  std::erase_if(signature.forms, [have](Form& form) {
    const bool hadCounts = !form.counts.empty();
    keepUpTo(form.counts, have);
    keepRanksUpTo(form.inputs, have);
    return hadCounts && form.counts.empty();
  });
  const bool hadOutputCounts = !signature.outputCounts.empty();
  keepUpTo(signature.outputCounts, have);
  keepRanksUpTo(signature.outputs, have);
  if ((hadRows && signature.rows.empty()) || (hadOutputCounts && signature.outputCounts.empty())) {
    signature.forms.clear();
  }
  return signature;
}

// Returns the level that introduced the operation.
FeatureLevel firstLevel(const Signature& signature) {
  FeatureLevel level = FeatureLevel::FL1;
  while (level < FeatureLevel::FL8 && signatureAt(signature, level).forms.empty()) {
    level = static_cast<FeatureLevel>(static_cast<uint8_t>(level) + 1);
  }
  return level;
}

// Returns whether input i is a constant in the model itself with the spec's default value.
bool hasDefaultValue(const OperandSpec& spec, const OperationView& operation, size_t i) {
  const Operand& operand = operation.input(i);
  if (!spec.defaultValue || operand.type != spec.fixed) return false;
  if (spec.fixed == OperandType::INT32) return operation.constantInt(i) == spec.defaultValue;
  if (operand.lifetime != Lifetime::CONSTANT_COPY) return false;
  const bool value = operation.model().operandValues[operand.location.offset] != 0;
  return value == (*spec.defaultValue != 0);
}

// Returns the shortest legal length that includes the first `needed` operands, at most `count`.
size_t shortestFrom(const std::vector<CountRule>& counts, size_t needed, size_t count) {
  for (const CountRule& rule : counts) {
    if (rule.count >= needed) count = std::min<size_t>(count, rule.count);
  }
  return count;
}

}  // namespace

std::optional<int32_t> OperationView::constantInt(size_t i) const {
  const Operand& operand = input(i);
  const DataLocation& at = operand.location;
  int32_t value = 0;
  const bool isInt =
      operand.type == OperandType::INT32 || operand.type == OperandType::TENSOR_INT32;
  if (!isInt || operand.lifetime != Lifetime::CONSTANT_COPY || at.length < sizeof(value) ||
      uint64_t{at.offset} + at.length > model_.operandValues.size()) {
    return std::nullopt;
  }
  std::memcpy(&value, model_.operandValues.data() + at.offset, sizeof(value));
  return value;
}

size_t inputsWithoutDefaults(const Signature& signature, const OperationView& operation) {
  const size_t count = operation.inputCount();
  size_t least = count;
  forEachCandidate(
      signature, operation, FeatureLevel::FL1,
      [&](const Form& form, const TypeRow* row, FeatureLevel level) {
        if (form.counts.empty()) return;
        size_t needed = count;
        while (needed > 0 && hasDefaultValue(form.inputs[needed - 1], operation, needed - 1)) {
          --needed;
        }
        const size_t shortest = shortestFrom(form.counts, needed, count);
        if (shortest >= least) return;
        if (!candidateMatches(signature, form, row, operation, level, nullptr)) return;
        least = shortest;
      });
  return least;
}

std::string whyNewer(const Signature& signature, const OperationView& operation,
                     FeatureLevel have) {
  const Result<FeatureLevel> needed = checkSignature(signature, operation);
  if (needed.ok() && *needed <= have) return {};
  const Signature old = signatureAt(signature, have);
  if (old.forms.empty()) {
    return fmt::format("the operation came with {}", featureLevelName(firstLevel(signature)));
  }
  const Result<FeatureLevel> then = checkSignature(old, operation);
  if (!then.ok()) return then.status().message();
  // Only the relations between the operands are newer than `have`.
  return fmt::format("its operands go together in this way from {} on",
                     featureLevelName(needed.ok() ? *needed : *then));
}

Result<FeatureLevel> checkSignature(const Signature& signature, const OperationView& operation) {
  FeatureLevel outputLevel = FeatureLevel::FL1;
  if (!countAllowed(signature.outputs, signature.outputCounts, signature.repeatedOutput,
                    operation.outputCount(), outputLevel)) {
    return outputCountError(signature, operation.outputCount());
  }
  std::optional<FeatureLevel> found;
  forEachCandidate(signature, operation, outputLevel,
                   [&](const Form& form, const TypeRow* row, FeatureLevel level) {
                     if (found && *found <= level) return;
                     if (!candidateMatches(signature, form, row, operation, level, nullptr)) return;
                     found = found ? std::min(*found, level) : level;
                   });
  if (!found) return noCandidate(signature, operation);
  if (signature.check != nullptr) HALYARD_RETURN_IF_ERROR(signature.check(operation, *found));
  return *found;
}

}  // namespace halyard::ops
