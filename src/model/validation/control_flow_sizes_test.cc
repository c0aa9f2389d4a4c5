#include "model/validation/control_flow_sizes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/validation/validation.h"

namespace halyard {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr auto kFloats = OperandType::TENSOR_FLOAT32;

uint32_t add(Subgraph& subgraph, OperandType type, Shape dims, Lifetime lifetime,
             uint32_t reference = 0) {
  Operand operand;
  operand.type = type;
  operand.dimensions = std::move(dims);
  operand.lifetime = lifetime;
  operand.location.offset = reference;
  subgraph.operands.push_back(std::move(operand));
  const auto index = static_cast<uint32_t>(subgraph.operands.size() - 1);
  if (lifetime == Lifetime::SUBGRAPH_INPUT) subgraph.inputIndexes.push_back(index);
  if (lifetime == Lifetime::SUBGRAPH_OUTPUT) subgraph.outputIndexes.push_back(index);
  return index;
}

// x -> -x, with the given dimensions.
Subgraph negation(const Shape& in, const Shape& out) {
  Subgraph subgraph;
  const uint32_t x = add(subgraph, kFloats, in, Lifetime::SUBGRAPH_INPUT);
  const uint32_t y = add(subgraph, kFloats, out, Lifetime::SUBGRAPH_OUTPUT);
  subgraph.operations = {{OperationType::NEG, {x}, {y}}};
  return subgraph;
}

struct Dims {
  Shape in{2};
  Shape out{2};
};

// An IF with two negations.
Model choice(const Dims& outer, const Dims& thenDims, const Dims& elseDims) {
  Model model;
  Subgraph& main = model.main;
  const uint32_t flag = add(main, OperandType::TENSOR_BOOL8, {1}, Lifetime::SUBGRAPH_INPUT);
  const uint32_t yes = add(main, OperandType::MODEL, {}, Lifetime::SUBGRAPH, 0);
  const uint32_t no = add(main, OperandType::MODEL, {}, Lifetime::SUBGRAPH, 1);
  const uint32_t x = add(main, kFloats, outer.in, Lifetime::SUBGRAPH_INPUT);
  const uint32_t y = add(main, kFloats, outer.out, Lifetime::SUBGRAPH_OUTPUT);
  main.operations = {{OperationType::IF, {flag, yes, no, x}, {y}}};
  model.referenced = {negation(thenDims.in, thenDims.out), negation(elseDims.in, elseDims.out)};
  return model;
}

std::string unknownOf(const Model& model) {
  EXPECT_TRUE(validateModel(model).ok()) << validateModel(model).status().toString();
  return unknownSizeAtBoundary(model, model.main, model.main.operations[0]);
}

TEST(ControlFlowSizesTest, KnownSizesAreForEveryone) {
  const Model model = choice({}, {}, {});
  EXPECT_EQ(unknownOf(model), "");
}

TEST(ControlFlowSizesTest, TheFirstUnknownOperandIsNamed) {
  EXPECT_EQ(unknownOf(choice({{0}, {2}}, {}, {})), "input 3 is TENSOR_FLOAT32[?], of unknown size");
  EXPECT_THAT(unknownOf(choice({{2}, {}}, {}, {})), HasSubstr("output 0 is TENSOR_FLOAT32"));
  EXPECT_THAT(unknownOf(choice({}, {{0}, {2}}, {})), HasSubstr("input 0 of the then-model is"));
  EXPECT_THAT(unknownOf(choice({}, {}, {{2}, {0}})), HasSubstr("output 0 of the else-model is"));
}

TEST(ControlFlowSizesTest, NoDriverGetsAModelWithSuchOperands) {
  EXPECT_TRUE(
      validatedForLevel(std::make_shared<const Model>(choice({}, {}, {})), FeatureLevel::FL8).ok());
  for (const Model& model : {choice({{0}, {2}}, {}, {}), choice({{2}, {}}, {}, {}),
                             choice({}, {{0}, {2}}, {}), choice({}, {}, {{2}, {}})}) {
    const Status refused =
        validatedForLevel(std::make_shared<const Model>(model), FeatureLevel::FL8).status();
    EXPECT_EQ(refused.code(), ResultCode::BAD_DATA);
    EXPECT_THAT(refused.message(),
                AllOf(HasSubstr("operation #0 IF: a driver has no control flow of unknown sizes"),
                      HasSubstr("of unknown size")));
  }
  // Within another branch.
  Model outer = choice({}, {}, {});
  Model inner = choice({{0}, {2}}, {}, {});
  inner.main.operands[1].location.offset = inner.main.operands[2].location.offset = 1;
  inner.main.inputIndexes = {3};
  inner.main.operands[0].lifetime = Lifetime::CONSTANT_COPY;
  const uint8_t yes = 1;
  inner.main.operands[0].location = appendConstant(outer, &yes, sizeof yes);
  outer.referenced[0] = inner.main;
  ASSERT_TRUE(validateModel(outer).ok()) << validateModel(outer).status().toString();
  const Status refused =
      validatedForLevel(std::make_shared<const Model>(outer), FeatureLevel::FL8).status();
  EXPECT_EQ(refused.code(), ResultCode::BAD_DATA);
}

TEST(ControlFlowSizesTest, OtherOperationsMayHaveUnknownSizes) {
  Model model;
  model.main = negation({0}, {0});
  EXPECT_EQ(unknownOf(model), "");
}

}  // namespace
}  // namespace halyard
