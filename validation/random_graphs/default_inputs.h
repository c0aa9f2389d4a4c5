// Operations whose last inputs may be left out: random cases of them, with each legal number of
// these inputs.
// Thread safety: pure functions over constant tables.
// Ownership: results own their data.
#pragma once

#include <vector>

#include "validation/random_graphs/choices.h"

namespace halyard::random_graphs {

// The choices with the fewest inputs, of forms that may have more.
std::vector<Choice> shortestChoices();

// The numbers of inputs that the choice may have, ascending, its own first. `withDefaults`: only
// those that add nothing except inputs with default values in the tables.
std::vector<size_t> lengthsOf(const Choice& choice, bool withDefaults);

// Gives the case's only operation `inputs` inputs. Added inputs have their defaults, or no value.
// BAD_DATA when an added input has neither.
Status lengthen(Model& model, const Choice& choice, size_t inputs);

}  // namespace halyard::random_graphs
