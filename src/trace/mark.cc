// Codes as tables, rules as predicates.
#include "trace/mark.h"

#include <array>
#include <optional>

namespace halyard::trace {
namespace {

constexpr std::array<std::string_view, kLayers> kLayerCodes = {"LA", "LR", "LI", "LD",
                                                               "LC", "LO", "LU", "LX"};
constexpr std::array<std::string_view, kPhases> kPhaseCodes = {
    "PO", "PWU", "PBM", "PI", "PP", "PC", "PE", "PT", "PU", "PIO", "PTR", "PCO", "PR"};

template <size_t n>
std::optional<size_t> indexOf(const std::array<std::string_view, n>& codes, std::string_view code) {
  for (size_t i = 0; i < n; ++i) {
    if (codes[i] == code) return i;
  }
  return std::nullopt;
}

bool isPartOfExecution(Phase phase) { return isOfExecution(phase) && phase != Phase::EXECUTION; }

bool mayContainPhase(Phase outer, Phase inner) {
  if (inner == outer || inner == Phase::UNSPECIFIED || inner == Phase::INITIALIZATION) return true;
  switch (outer) {
    case Phase::OVERALL:
      return true;
    case Phase::WARMUP:
    case Phase::BENCHMARK:
      return isOfExecution(inner);
    case Phase::EXECUTION:
      return isPartOfExecution(inner);
    default:
      return false;
  }
}

bool mayContainLayer(Layer outer, Layer inner) {
  if (inner == outer || inner == Layer::UTILITY) return true;
  switch (outer) {
    case Layer::APPLICATION:
      return inner == Layer::RUNTIME;
    case Layer::RUNTIME:
      return inner == Layer::IPC || inner == Layer::CPU;
    case Layer::IPC:
      return inner == Layer::DRIVER;
    default:
      return false;
  }
}

}  // namespace

std::string_view layerCode(Layer layer) { return kLayerCodes[static_cast<size_t>(layer)]; }
std::string_view phaseCode(Phase phase) { return kPhaseCodes[static_cast<size_t>(phase)]; }

std::string markText(const Mark& mark) {
  const std::string_view variant = mark.variant == Variant::SWITCH     ? "[SW]"
                                   : mark.variant == Variant::SUBTRACT ? "[SUB]"
                                                                       : "";
  return fmt::format("{}[NN_{}_{}]{}", variant, layerCode(mark.layer), phaseCode(mark.phase),
                     mark.detail);
}

Result<Mark> parseMark(std::string_view text) {
  const std::string whole(text);
  Mark mark;
  if (text.starts_with("[SW]")) {
    mark.variant = Variant::SWITCH;
    text.remove_prefix(4);
  } else if (text.starts_with("[SUB]")) {
    mark.variant = Variant::SUBTRACT;
    text.remove_prefix(5);
  }
  if (!text.starts_with("[NN_")) return badData("'{}' is no mark: [NN_ is expected", whole);
  text.remove_prefix(4);
  const size_t between = text.find('_');
  const size_t close = text.find(']');
  if (close == std::string_view::npos || between == std::string_view::npos || between > close) {
    return badData("'{}' is no mark: [NN_<layer>_<phase>] is expected", whole);
  }
  const auto layer = indexOf(kLayerCodes, text.substr(0, between));
  if (!layer) return badData("'{}': unknown layer '{}'", whole, text.substr(0, between));
  const std::string_view code = text.substr(between + 1, close - between - 1);
  const auto phase = indexOf(kPhaseCodes, code);
  if (!phase) return badData("'{}': unknown phase '{}'", whole, code);
  mark.layer = static_cast<Layer>(*layer);
  mark.phase = static_cast<Phase>(*phase);
  mark.detail = text.substr(close + 1);
  return mark;
}

bool isOfExecution(Phase phase) {
  return phase == Phase::EXECUTION || phase >= Phase::INPUTS_AND_OUTPUTS;
}

Status checkNesting(const Mark& outer, const Mark& inner) {
  if (inner.variant == Variant::SUBTRACT) return okStatus();
  if (inner.layer == Layer::IGNORED || outer.layer == Layer::IGNORED) return okStatus();
  if (!mayContainPhase(outer.phase, inner.phase)) {
    return badData("{} within {}: phase {} is no part of phase {}", markText(inner),
                   markText(outer), phaseCode(inner.phase), phaseCode(outer.phase));
  }
  if (!mayContainLayer(outer.layer, inner.layer)) {
    return badData("{} within {}: layer {} does not call layer {}", markText(inner),
                   markText(outer), layerCode(outer.layer), layerCode(inner.layer));
  }
  return okStatus();
}

}  // namespace halyard::trace
