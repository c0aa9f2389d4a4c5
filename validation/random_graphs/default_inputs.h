// Operations whose last inputs may be left out: random cases of them, without and with ever more of
// these inputs.
// Thread safety: pure functions over constant tables. Ownership: results own their data.
#pragma once

#include <vector>

#include "validation/random_graphs/choices.h"

namespace halyard::random_graphs {

// The choices with the fewest inputs, of forms that may have more.
std::vector<Choice> shortestChoices();

// The numbers of inputs that the choice may have, ascending, its own first. `withDefaults`: those
// only that add nothing but inputs with default values, by the tables.
std::vector<size_t> lengthsOf(const Choice& choice, bool withDefaults);

// Gives the one operation of a case of the choice so many inputs; those added have their defaults,
// or no value. BAD_DATA when nothing stands for one that is left out.
Status lengthen(Model& model, const Choice& choice, size_t inputs);

}  // namespace halyard::random_graphs
