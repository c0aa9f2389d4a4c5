// The recipes of all operations, and cases made from them. A recipe has the rules that an
// operation's tables cannot express: the relations between the shapes and values of its operands.
// Thread safety: pure functions over constant tables.
// Ownership: values.
#pragma once

#include <map>

#include "halyard/driver/status.h"
#include "ops/testing/legal_case.h"

namespace halyard::ops::testing {

// Adds the operands to a builder in order, and notes facts for the properties.
using Recipe = void (*)(CaseBuilder&);

// Returns all operations, including those of kTfliteExtension, except IF and WHILE, whose operands
// are models.
const std::map<OperationType, Recipe>& allRecipes();

// Returns a case from its operation's recipe. The same numbers give the same case everywhere. The
// case has not been tried: see LegalCase::problem.
LegalCase legalCase(const OperationDefinition& definition, const Variant& variant, unsigned round,
                    unsigned seed, CaseSource* source = nullptr);

}  // namespace halyard::ops::testing
