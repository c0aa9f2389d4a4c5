// Tests of trailing inputs with default values, which may be left out: their positions, and the
// remaining inputs of an operation.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "model/validation/validation.h"
#include "ops/each_case_for_test.h"

namespace halyard::ops::testing {
namespace {

using enum OperandType;
using enum OperationType;

// For each form with optional inputs: the first one, and all defaults from there on.
struct Defaults {
  size_t first = 0;
  std::vector<int32_t> values;
  bool operator==(const Defaults&) const = default;
};

TEST(DefaultInputs, AreThoseOfTheRuntimesSpecification) {
  const std::map<OperationType, std::vector<Defaults>> expected = {
      {AVERAGE_POOL_2D, {{10, {0}}, {7, {0}}}},
      {L2_POOL_2D, {{10, {0}}, {7, {0}}}},
      {MAX_POOL_2D, {{10, {0}}, {7, {0}}}},
      {CONV_2D, {{10, {0, 1, 1}}, {7, {0, 1, 1}}}},
      {DEPTHWISE_CONV_2D, {{11, {0, 1, 1}}, {8, {0, 1, 1}}}},
      {DEPTH_TO_SPACE, {{2, {0}}}},
      {SPACE_TO_DEPTH, {{2, {0}}}},
      {BATCH_TO_SPACE_ND, {{2, {0}}}},
      {SPACE_TO_BATCH_ND, {{3, {0}}}},
      {L2_NORMALIZATION, {{1, {-1}}}},
      {LOCAL_RESPONSE_NORMALIZATION, {{5, {-1}}}},
      {SOFTMAX, {{2, {-1}}}},
      {RESIZE_BILINEAR, {{3, {0, 0, 0}}, {3, {0, 0, 0}}}},
      {RESIZE_NEAREST_NEIGHBOR, {{4, {0, 0}}, {4, {0, 0}}}},
  };
  std::map<OperationType, std::vector<Defaults>> found;
  for (const auto& [type, recipe] : allRecipes()) {
    for (const Form& form : definitionOf(type)->signature.forms) {
      if (form.counts.empty()) {
        for (const OperandSpec& spec : form.inputs) EXPECT_FALSE(spec.defaultValue);
        continue;
      }
      Defaults defaults{std::ranges::min_element(form.counts, {}, &CountRule::count)->count, {}};
      for (size_t i = defaults.first; i < form.inputs.size(); ++i) {
        if (!form.inputs[i].defaultValue) break;
        defaults.values.push_back(*form.inputs[i].defaultValue);
      }
      if (!defaults.values.empty()) found[type].push_back(defaults);
    }
  }
  ASSERT_EQ(found.size(), expected.size());
  for (const auto& [type, defaults] : expected) {
    EXPECT_EQ(found[type], defaults) << operationTypeName(type);
  }
}

// A trailing input in a model.
struct Tail {
  OperandType type = INT32;
  int32_t value = 0;
  Lifetime lifetime = Lifetime::CONSTANT_COPY;
};
Tail flag(bool value) { return {BOOL, value ? 1 : 0}; }
Tail number(int32_t value) { return {INT32, value}; }

// Returns the number of inputs left for a case with the form's shortest list followed by `tail`.
size_t leftOf(OperationType type, size_t form, const std::vector<Tail>& tail) {
  const OperationDefinition& definition = *definitionOf(type);
  for (const Variant& variant : variantsOf(definition.signature)) {
    if (variant.form != form) continue;
    Model model = toModel(legalCase(definition, variant, 0, 1));
    Operation& operation = model.main.operations[0];
    for (const Tail& each : tail) {
      Operand operand;
      operand.type = each.type;
      operand.lifetime = each.lifetime;
      if (each.lifetime == Lifetime::CONSTANT_COPY) {
        operand.location = appendConstant(model, &each.value, each.type == BOOL ? 1 : 4);
      }
      operation.inputs.push_back(static_cast<uint32_t>(model.main.operands.size()));
      model.main.operands.push_back(operand);
    }
    const OperationView view(model, model.main, operation);
    EXPECT_TRUE(checkSignature(definition.signature, view).ok())
        << checkSignature(definition.signature, view).status().toString();
    return inputsWithoutDefaults(definition.signature, view);
  }
  ADD_FAILURE() << "no such form";
  return 0;
}

TEST(DefaultInputs, AreLeftOutFromTheEndAsFarAsAListMayEnd) {
  constexpr size_t kExplicit = 0;
  constexpr size_t kImplicit = 1;
  for (const auto& [form, fewest] : {std::pair{kExplicit, size_t{10}}, {kImplicit, size_t{7}}}) {
    EXPECT_EQ(leftOf(CONV_2D, form, {}), fewest);
    EXPECT_EQ(leftOf(CONV_2D, form, {flag(false)}), fewest);
    EXPECT_EQ(leftOf(CONV_2D, form, {flag(true)}), fewest + 1);
    EXPECT_EQ(leftOf(CONV_2D, form, {flag(false), number(1), number(1)}), fewest);
    EXPECT_EQ(leftOf(CONV_2D, form, {flag(true), number(1), number(1)}), fewest + 1);
    // Dilations come in pairs.
    EXPECT_EQ(leftOf(CONV_2D, form, {flag(false), number(2), number(1)}), fewest + 3);
    EXPECT_EQ(leftOf(CONV_2D, form, {flag(false), number(1), number(2)}), fewest + 3);
    // Later inputs count, too.
    EXPECT_EQ(leftOf(DEPTHWISE_CONV_2D, form, {flag(false), number(3), number(3)}), fewest + 4);
    EXPECT_EQ(leftOf(MAX_POOL_2D, form, {flag(false)}), fewest);
    EXPECT_EQ(leftOf(MAX_POOL_2D, form, {flag(true)}), fewest + 1);
  }
  EXPECT_EQ(leftOf(RESIZE_BILINEAR, 0, {flag(false), flag(false), flag(false)}), 3u);
  EXPECT_EQ(leftOf(RESIZE_BILINEAR, 1, {flag(false), flag(true), flag(false)}), 5u);
  EXPECT_EQ(leftOf(RESIZE_BILINEAR, 0, {flag(true), flag(false)}), 4u);
  EXPECT_EQ(leftOf(RESIZE_BILINEAR, 0, {flag(false), flag(false), flag(true)}), 6u);
  EXPECT_EQ(leftOf(RESIZE_NEAREST_NEIGHBOR, 0, {flag(false), flag(false)}), 4u);
  EXPECT_EQ(leftOf(SOFTMAX, 0, {number(-1)}), 2u);
  EXPECT_EQ(leftOf(SOFTMAX, 0, {number(0)}), 3u);
}

// Only inputs that are known when the model is finished, and cheap to read.
TEST(DefaultInputs, AreConstantsInTheModelItself) {
  EXPECT_EQ(leftOf(SOFTMAX, 0, {{INT32, -1, Lifetime::SUBGRAPH_INPUT}}), 3u);
  EXPECT_EQ(leftOf(SOFTMAX, 0, {{INT32, -1, Lifetime::TEMPORARY_VARIABLE}}), 3u);
  EXPECT_EQ(leftOf(SOFTMAX, 0, {{INT32, -1, Lifetime::CONSTANT_REFERENCE}}), 3u);
}

// In a legal case, only the inputs that the tables allow are left out.
TEST(DefaultInputs, WhatIsLeftIsLegalAndNeedsNoMore) {
  forEachCase(3, 1000, [](const OperationDefinition& definition, const LegalCase& legal) {
    Model model = toModel(legal);
    Operation& operation = model.main.operations[0];
    const auto level = [&] { return requiredFeatureLevel(model, model.main, 0); };
    const Result<FeatureLevel> before = level();
    const size_t left =
        inputsWithoutDefaults(definition.signature, OperationView(model, model.main, operation));
    EXPECT_LE(left, operation.inputs.size());
    operation.inputs.resize(left);
    const Result<FeatureLevel> after = level();
    EXPECT_TRUE(before.ok() && after.ok()) << after.status().toString();
    if (before.ok() && after.ok()) {
      EXPECT_LE(*after, *before);
    }
    return before.ok();
  });
}

}  // namespace
}  // namespace halyard::ops::testing
