// Writes docs/operations.md, the reference of all operations, from their signatures to standard
// output.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "halyard/driver/nnapi_types.h"
#include "ops/operation.h"

namespace {

using halyard::FeatureLevel;
using halyard::OperandType;
using halyard::OperationType;
using halyard::ops::CountRule;
using halyard::ops::Form;
using halyard::ops::OperandSpec;
using halyard::ops::OperationDefinition;
using halyard::ops::RankRule;
using halyard::ops::Signature;
using halyard::ops::TypeRow;

// The columns of the overview, in this order; all other types go into the last column.
constexpr std::pair<OperandType, const char*> kMainTypes[] = {
    {OperandType::TENSOR_FLOAT32, "float32"},
    {OperandType::TENSOR_FLOAT16, "float16"},
    {OperandType::TENSOR_QUANT8_ASYMM, "quant8"},
    {OperandType::TENSOR_QUANT8_ASYMM_SIGNED, "quant8 signed"},
    {OperandType::TENSOR_INT32, "int32"},
    {OperandType::TENSOR_BOOL8, "bool8"},
};

int number(FeatureLevel level) { return static_cast<int>(level); }

// The lowest level at which any form of the operation is legal.
FeatureLevel introducedAt(OperationType type) {
  if (isExtension(type)) return halyard::ops::definitionOf(type)->signature.rows[0].since;
  const int code = static_cast<int>(type);
  if (code <= 28) return FeatureLevel::FL1;
  if (code <= 37) return FeatureLevel::FL2;
  if (code <= 94) return FeatureLevel::FL3;
  if (code <= 101) return FeatureLevel::FL4;
  return code <= 103 ? FeatureLevel::FL6 : FeatureLevel::FL7;
}

std::string anchorOf(const std::string& name) {
  std::string anchor = name;
  std::transform(anchor.begin(), anchor.end(), anchor.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return anchor;
}

// The operand whose type orders an operation's rows in the overview. It is the first input, or else
// the first output, that is a tensor of several types. Null when all types are fixed.
const OperandSpec* mainOperand(const Signature& signature) {
  const auto varies = [&](const OperandSpec& spec) {
    return spec.column >= 0 &&
           !halyard::isScalarType(signature.rows[0].types[static_cast<size_t>(spec.column)]);
  };
  for (const std::vector<OperandSpec>* specs : {&signature.forms[0].inputs, &signature.outputs}) {
    const auto found = std::find_if(specs->begin(), specs->end(), varies);
    if (found != specs->end()) return &*found;
  }
  return nullptr;
}

// The types of the main operand, each with the level from which it is legal.
std::map<OperandType, FeatureLevel> mainTypes(const OperationDefinition& definition) {
  const Signature& signature = definition.signature;
  const FeatureLevel since = introducedAt(definition.type);
  const OperandSpec* operand = mainOperand(signature);
  if (operand == nullptr) return {{signature.forms[0].inputs[0].fixed, since}};
  std::map<OperandType, FeatureLevel> levels;
  for (const TypeRow& row : signature.rows) {
    const OperandType type = row.types[static_cast<size_t>(operand->column)];
    const FeatureLevel level = std::max(row.since, since);
    const auto [it, isNew] = levels.emplace(type, level);
    if (!isNew) it->second = std::min(it->second, level);
  }
  return levels;
}

bool takesAnyType(const Signature& signature) {
  const auto& inputs = signature.forms[0].inputs;
  return std::any_of(signature.outputs.begin(), signature.outputs.end(),
                     [](const OperandSpec& s) { return s.column == OperandSpec::kAnyType; }) ||
         std::any_of(inputs.begin(), inputs.end(),
                     [](const OperandSpec& s) { return s.column == OperandSpec::kAnyType; });
}

std::string codeOf(OperationType type) {
  const auto code = static_cast<uint32_t>(type);
  if (halyard::isBaseOperation(type)) return std::to_string(code);
  return fmt::format("{} {}", halyard::kTfliteExtension, code & 0xffff);
}

std::string overviewRow(const OperationDefinition& definition) {
  const std::string name = halyard::operationTypeName(definition.type);
  const FeatureLevel since = introducedAt(definition.type);
  std::string row = fmt::format("| {} | [{}](#{}) | {} ", codeOf(definition.type), name,
                                anchorOf(name), number(since));
  std::map<OperandType, FeatureLevel> levels = mainTypes(definition);
  const bool any = takesAnyType(definition.signature);
  if (any) levels.clear();
  for (const auto& [type, title] : kMainTypes) {
    const auto it = levels.find(type);
    row +=
        it == levels.end() ? (any ? "| any " : "| – ") : fmt::format("| {} ", number(it->second));
    levels.erase(type);
  }
  std::vector<std::string> others;
  for (const auto& [type, level] : levels) {
    others.push_back(fmt::format("{} {}", halyard::operandTypeName(type), number(level)));
  }
  return row + fmt::format("| {} |\n", fmt::join(others, ", "));
}

std::string rankText(const OperandSpec& spec, bool isInput) {
  std::vector<std::string> texts;
  for (const RankRule& rule : spec.ranks) {
    std::string text = rule.min == rule.max    ? fmt::format("{}", rule.min)
                       : rule.max == UINT8_MAX ? fmt::format("{} or more", rule.min)
                                               : fmt::format("{} to {}", rule.min, rule.max);
    if (rule.since > FeatureLevel::FL1) text += fmt::format(" (level {})", number(rule.since));
    texts.push_back(std::move(text));
  }
  // Outputs do not repeat the condition.
  const bool waits = isInput && spec.rankIsOfComputation && !texts.empty();
  return fmt::format("{}{}", fmt::join(texts, ", "), waits ? ", when computed" : "");
}

std::string typeText(const OperandSpec& spec, const Signature& signature) {
  if (spec.column == OperandSpec::kAnyType) return "any";
  if (spec.column < 0) return halyard::operandTypeName(spec.fixed);
  // A column with only one type needs no table.
  std::vector<OperandType> types;
  for (const TypeRow& row : signature.rows) {
    const OperandType type = row.types[static_cast<size_t>(spec.column)];
    if (std::find(types.begin(), types.end(), type) == types.end()) types.push_back(type);
  }
  if (types.size() == 1) return halyard::operandTypeName(types[0]);
  return fmt::format("*T{}*", spec.column);
}

std::string defaultText(const OperandSpec& spec) {
  if (!spec.defaultValue) return "";
  if (spec.fixed != OperandType::BOOL) return fmt::format(", then {}", *spec.defaultValue);
  return *spec.defaultValue != 0 ? ", then true" : ", then false";
}

// The first level at which a list may leave out operand i; empty if it never may.
std::string presenceText(const std::vector<CountRule>& counts, const OperandSpec& spec, size_t i) {
  std::string text;
  const bool mayEnd = std::any_of(counts.begin(), counts.end(),
                                  [&](const CountRule& rule) { return rule.count <= i; });
  if (mayEnd) {
    FeatureLevel level = FeatureLevel::FL8;
    for (const CountRule& rule : counts) {
      if (rule.count > i) level = std::min(level, rule.since);
    }
    text = "may be left out" + defaultText(spec);
    if (level > FeatureLevel::FL1) text += fmt::format("; level {}", number(level));
  }
  if (spec.omittable) text += text.empty() ? "may have no value" : "; may have no value";
  return text;
}

std::string operandTable(const std::vector<OperandSpec>& specs,
                         const std::vector<CountRule>& counts, int repeated, bool isInput,
                         const Signature& signature) {
  std::string text = fmt::format("| {} | | type | rank | |\n|---|---|---|---|---|\n",
                                 isInput ? "input" : "output");
  for (size_t i = 0; i < specs.size(); ++i) {
    const bool isRepeated = repeated == static_cast<int>(i);
    const bool isShifted = repeated >= 0 && static_cast<int>(i) > repeated;
    std::string note = presenceText(counts, specs[i], i);
    if (isRepeated) note = note.empty() ? "any number" : "any number; " + note;
    text += fmt::format(
        "| {} | {} | {} | {} | {} |\n",
        isShifted ? std::string("last") : fmt::format("{}{}", i, isRepeated ? "…" : ""),
        specs[i].name, typeText(specs[i], signature), rankText(specs[i], isInput), note);
  }
  return text + "\n";
}

std::string typeTable(const OperationDefinition& definition) {
  const Signature& signature = definition.signature;
  const size_t columns = signature.rows.empty() ? 0 : signature.rows[0].types.size();
  if (columns == 0) return "";
  std::vector<size_t> shown;
  for (size_t c = 0; c < columns; ++c) {
    const bool varies =
        std::any_of(signature.rows.begin(), signature.rows.end(),
                    [&](const TypeRow& row) { return row.types[c] != signature.rows[0].types[c]; });
    if (varies || columns == 1) shown.push_back(c);
  }
  if (shown.empty()) return "";
  std::string head = "|";
  std::string rule = "|";
  for (size_t c : shown) {
    head += fmt::format(" *T{}* |", c);
    rule += "---|";
  }
  std::string text = head + " level |\n" + rule + "---|\n";
  for (const TypeRow& row : signature.rows) {
    text += "|";
    for (size_t c : shown) text += fmt::format(" {} |", halyard::operandTypeName(row.types[c]));
    text += fmt::format(" {} |\n", number(std::max(row.since, introducedAt(definition.type))));
  }
  return text + "\n";
}

std::string section(const OperationDefinition& definition) {
  const Signature& signature = definition.signature;
  const FeatureLevel since = introducedAt(definition.type);
  std::string text =
      fmt::format("## {}\n\nOperation {}, {}.{}\n\n", halyard::operationTypeName(definition.type),
                  codeOf(definition.type), halyard::featureLevelName(since),
                  definition.acceptsZeroSized ? " Takes zero-sized tensors." : "");
  for (const Form& form : signature.forms) {
    if (!form.name.empty()) text += fmt::format("**{}**\n\n", form.name);
    text += operandTable(form.inputs, form.counts, form.repeated, true, signature);
  }
  text += operandTable(signature.outputs, signature.outputCounts, signature.repeatedOutput, false,
                       signature);
  text += typeTable(definition);
  if (signature.check != nullptr) {
    text +=
        "Further relations between the operands are checked when the model is built; the error "
        "names them.\n\n";
  }
  return text;
}

constexpr const char* kIntroduction =
    R"(# Operations

Made from the signatures in `src/ops` by `operations-page`; do not edit. What each operation computes
is NNAPI's definition, and `halyard/tflite_extension.h`'s for the operations of Halyard's extension,
which come last; here is what Halyard accepts.

A number in a table is the NNAPI feature level from which on something is legal: 1 to 4 are HAL 1.0
to 1.3, 6 and 7 came after them. Both devices that Halyard brings, the runtime's own
`nnapi-reference` and the driver `reference`, run every operation below in every type and form; a
driver of HAL 1.0 to 1.2 is only offered what its version has. `halyard devices` lists the devices of
a machine.

The last operations are those of Halyard's own extension `halyard.tflite`, with their codes in it;
`halyard/tflite_extension.h` says what they compute. Only devices that offer the extension run them,
which the driver `reference` does when its personality says so.

The overview goes by the first input that can be a tensor of several types, or else the first output;
each operation's own tables have all operands.

The last input that *may be left out* can be missing from the list of inputs, together with all
behind it. An operand that *may have no value* keeps its place in the list and is omitted by value.
Types *T0*, *T1*, … go together: one row of the operation's table of types holds for all of them.

A model with another rank of an input is none, but for those that say *when computed*: with them, and
with another rank of a result, a model is legal and its executions fail.

)";

std::string page() {
  std::string text = kIntroduction;
  text += "| code | operation | level ";
  std::string rule = "|---|---|---";
  for (const auto& [type, title] : kMainTypes) {
    text += fmt::format("| {} ", title);
    rule += "|---";
  }
  text += "| other |\n" + rule + "|---|\n";
  std::string sections;
  for (const int first : {0, int{halyard::kTfliteExtensionPrefix} << 16}) {
    for (int code = first;; ++code) {
      const auto* definition = halyard::ops::definitionOf(static_cast<OperationType>(code));
      if (definition == nullptr) break;
      text += overviewRow(*definition);
      sections += section(*definition);
    }
  }
  text += "\n" + sections;
  while (text.ends_with("\n\n")) text.pop_back();
  return text;
}

}  // namespace

int main() {
  const std::string text = page();
  return std::fwrite(text.data(), 1, text.size(), stdout) == text.size() ? 0 : 1;
}
