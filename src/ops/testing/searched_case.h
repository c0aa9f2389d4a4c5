// Cases that have been tried, also of operations for which only tables exist.
// Thread safety: pure functions.
// Ownership: values.
#pragma once

#include "halyard/driver/status.h"
#include "ops/testing/legal_case.h"

namespace halyard::ops::testing {

// Returns OK when the operation accepts the case: its signature, inference and kernel. The kernel
// fills in the outputs.
Status tryCase(const OperationDefinition& definition, LegalCase& legal);

// Returns a case that its operation accepts: the signature matches and the kernel has run. The
// outputs have values and dimensions. It comes from the operation's recipe, or from a search
// without one. The same numbers (and the same answers of `source`) give the same case everywhere.
// Returns OP_FAILED with the last reason if it finds no case.
Result<LegalCase> triedCase(const OperationDefinition& definition, const Variant& variant,
                            unsigned seed, CaseSource* source = nullptr);

// As triedCase, but never with a recipe: it draws operands from the tables alone until some are
// legal. An operation is therefore covered as soon as it has a signature.
Result<LegalCase> searchedCase(const OperationDefinition& definition, const Variant& variant,
                               unsigned seed, CaseSource* source = nullptr);

}  // namespace halyard::ops::testing
