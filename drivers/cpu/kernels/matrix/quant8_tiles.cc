// The rule for the use of the unit.
#include "kernels/matrix/quant8_tiles.h"

namespace halyard::cpudriver {

size_t tileUnits(size_t units) {
  size_t most = std::min(units, TileSizes::kMostUnits);
  while (units % most != 0) --most;
  return most;
}

bool suitsTiles(const Quant8Shape& shape) {
  // Cycles of 16 rows and 16 columns. The sums of tiles come to the vectors through memory.
  constexpr size_t kProduct = 16;
  constexpr size_t kSums = 48;
  constexpr size_t kVectorUnit = 8;
  constexpr size_t kLeastRows = 8;
  if (shape.rows < kLeastRows) return false;
  const size_t products = shape.units / tileUnits(shape.units);
  return shape.pieces * products * kProduct + kSums < shape.pieces * shape.units * kVectorUnit;
}

}  // namespace halyard::cpudriver
