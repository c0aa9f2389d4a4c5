// Cases that have been tried, also of operations of which only the tables are known.
// Thread safety: pure functions.
// Ownership: values.
#pragma once

#include "halyard/driver/status.h"
#include "ops/testing/legal_case.h"

namespace halyard::ops::testing {

// OK when the operation accepts the case: its signature, inference and kernel, which fills in the
// outputs.
Status tryCase(const OperationDefinition& definition, LegalCase& legal);

// A case whose operation accepts it: the signature matches and the kernel has run; the outputs have
// values and dimensions. By the operation's recipe, or searched where it has none. The same for the
// same numbers (and the same answers of `source`), everywhere. OP_FAILED with the last reason when
// none is found.
Result<LegalCase> triedCase(const OperationDefinition& definition, const Variant& variant,
                            unsigned seed, CaseSource* source = nullptr);

// As triedCase, never with a recipe: operands by the tables alone, at random until some are legal.
// So an operation is covered as soon as it has a signature.
Result<LegalCase> searchedCase(const OperationDefinition& definition, const Variant& variant,
                               unsigned seed, CaseSource* source = nullptr);

}  // namespace halyard::ops::testing
