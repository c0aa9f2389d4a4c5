// Float weights that are bytes times a step. Importers make such weights of quantised ones.
// Thread safety: pure functions.
// Ownership: borrows everything.
#pragma once

#include <cstddef>
#include <cstdint>

namespace halyard::cpudriver {

// A step that all values are multiples of, by factors from -128 to 127; 0 if there is no such step.
// `likely` is tried first.
float byteStepOf(const float* values, size_t count, float likely);

// The factors of values that are such multiples.
void toByteFactors(const float* values, size_t count, float step, int8_t* factors);

}  // namespace halyard::cpudriver
