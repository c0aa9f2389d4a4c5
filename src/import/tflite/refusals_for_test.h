// Code shared by the tests of refusals: an accepted model, a change, and the expected error text.
// Thread safety: pure functions.
// Ownership: results are values.
#pragma once

#include <gmock/gmock.h>

#include <functional>
#include <ostream>
#include <string>

#include "import/tflite/import_for_test.h"
#include "import/tflite/sample_models.h"

namespace halyard::import {

struct Refusal {
  std::string name;
  std::function<ModelWriter()> base;
  std::function<void(ModelWriter&)> change;
  std::string text;
};

inline void PrintTo(const Refusal& refusal, std::ostream* out) { *out << refusal.name; }

// Its test, SayWhy, is in refusals_test.cc.
class Refusals : public testing::TestWithParam<Refusal> {};

// Returns options with one error.
template <typename Maker>
void setOptions(ModelWriter& w, size_t node, tfl::BuiltinOptions type, Maker maker) {
  w.nodes[node].optionsType = type;
  w.nodes[node].options = [maker](flatbuffers::FlatBufferBuilder& b) { return maker(b).Union(); };
}

template <size_t N>
auto valuesIn(const Refusal (&cases)[N]) {
  return testing::ValuesIn(cases, cases + N);
}
inline constexpr auto kName = [](const auto& sample) { return sample.param.name; };

}  // namespace halyard::import
