// A model as bytes: for drivers that cache the model itself, or data that follows from it easily.
// Thread safety: pure functions; several may read one model at once. Ownership: results own their
// data; nothing refers to the model that they were made from.
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
  // writes. These are the small ones, and all except floats and quantised numbers. For a model
  // cache.
  std::vector<uint8_t> structure;
  // The other constants, one behind the other, without a mark where one begins. Any bytes here can
  // only make the numbers of a result wrong. For a data cache.
  std::vector<uint8_t> values;
};

// A valid model as bytes. Data in pools is copied in, once for all its users. BAD_DATA for a model
// with more than 4 GiB of constants; UNMAPPABLE when a pool cannot be read.
HALYARD_EXPORT Result<ModelBytes> serializeModel(const Model& model);

// The model again, valid, without pools: each constant is in operandValues, aligned to 64 bytes.
// Accepts any bytes. BAD_DATA, with the place, for bytes that serializeModel has not made. Also
// when `values` has not exactly the length that `structure` names. Takes memory in proportion to
// the bytes.
HALYARD_EXPORT Result<ValidModel> parseModel(std::span<const uint8_t> structure,
                                             std::span<const uint8_t> values);

}  // namespace halyard
