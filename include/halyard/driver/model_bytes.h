// A model as bytes: for drivers that cache the model itself, or what is as simple to get from it.
// Thread safety: pure functions; several may read one model at once.
// Ownership: results own their data; nothing refers to the model that they were made from.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "halyard/driver/export.h"
#include "halyard/driver/model.h"
#include "halyard/driver/status.h"
#include "halyard/driver/valid_model.h"

namespace halyard {

// Divided as the files of a compilation cache are. The bytes are of this version of Halyard and of
// this byte order: others refuse them.
struct ModelBytes {
  // Operations, operands, shapes, and the constants that may decide where an operation reads or
  // writes: the small ones, and all that are neither floats nor quantised numbers. For a model
  // cache.
  std::vector<uint8_t> structure;
  // The other constants, one behind the other, without any sign of where one begins: whatever
  // stands there, nothing but the numbers of a result can be wrong. For a data cache.
  std::vector<uint8_t> values;
};

// A valid model as bytes; what lies in pools is copied in, once for all that use it. BAD_DATA for a
// model with more than 4 GiB of constants; UNMAPPABLE when a pool cannot be read.
HALYARD_EXPORT Result<ModelBytes> serializeModel(const Model& model);

// The model again, without pools: each constant is in operandValues, aligned to 64 bytes.
// Any bytes may be given: BAD_DATA, saying where, for what serializeModel has not made, also when
// `values` has not exactly the length that `structure` tells of. Takes memory in proportion to the
// bytes.
HALYARD_EXPORT Result<ValidModel> parseModel(std::span<const uint8_t> structure,
                                             std::span<const uint8_t> values);

}  // namespace halyard
