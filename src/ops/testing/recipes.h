// The recipes of all operations, and cases made from them. A recipe says what an operation's tables
// cannot: how the shapes and values of its operands hang together.
// Thread safety: pure functions over constant tables.
// Ownership: values.
#pragma once

#include <map>

#include "halyard/driver/status.h"
#include "ops/testing/legal_case.h"

namespace halyard::ops::testing {

// Fills in the operands of a builder, in order, and notes what properties need to know.
using Recipe = void (*)(CaseBuilder&);

// All operations, also those of kTfliteExtension, but IF and WHILE, whose operands are models.
const std::map<OperationType, Recipe>& allRecipes();

// A case by its operation's recipe; the same for the same numbers, everywhere. Not tried: see
// LegalCase::problem.
LegalCase legalCase(const OperationDefinition& definition, const Variant& variant, unsigned round,
                    unsigned seed, CaseSource* source = nullptr);

}  // namespace halyard::ops::testing
