// Tests of the definitions of IF and WHILE. The executor's tests run them.
#include <gtest/gtest.h>

#include "ops/operation.h"

namespace halyard::ops::testing {
namespace {

TEST(ControlFlow, HasNoFunctionsOfItsOwn) {
  for (const OperationType type : {OperationType::IF, OperationType::WHILE}) {
    const OperationDefinition* const definition = definitionOf(type);
    ASSERT_NE(definition, nullptr);
    EXPECT_NE(definition->controlFlow, ControlFlow::NONE);
    EXPECT_EQ(definition->infer, nullptr);
    EXPECT_EQ(definition->reference, nullptr);
  }
}

}  // namespace
}  // namespace halyard::ops::testing
