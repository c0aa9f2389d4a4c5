#include "operation_definitions.h"

#include <gtest/gtest.h>

namespace halyard::cpudriver {
namespace {

const ops::OperationDefinition& mayNotBeCalled() {
  ADD_FAILURE() << "called";
  return ops::add();
}

TEST(OperationDefinitions, KnowsTheFunctionOfADefinition) {
  EXPECT_TRUE(isDefinedBy(ops::add(), ops::add));
  EXPECT_FALSE(isDefinedBy(ops::add(), ops::sub));
  EXPECT_TRUE(
      isDefinedBy(*ops::definitionOf(OperationType::TRANSPOSE_CONV_2D), ops::transposeConv2d));
}

TEST(OperationDefinitions, MakesNoDefinitionToCompareWithIt) {
  EXPECT_FALSE(isDefinedBy(ops::add(), mayNotBeCalled));
}

TEST(OperationDefinitions, OnesThatAreNotTheApisAreNobodys) {
  const ops::OperationDefinition copy = ops::add();
  EXPECT_FALSE(isDefinedBy(copy, ops::add));
  ops::OperationDefinition extension;
  extension.type = static_cast<OperationType>(0x10001);
  EXPECT_FALSE(isDefinedBy(extension, ops::add));
}

}  // namespace
}  // namespace halyard::cpudriver
