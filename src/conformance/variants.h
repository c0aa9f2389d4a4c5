// Variants: the ways in which one conformance case is run.
// Thread safety: pure functions over a constant table. Ownership: results own their data.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "conformance/vectors.h"
#include "halyard/driver/status.h"

namespace halyard::conformance {

enum class Variant : uint8_t {
  PLAIN,
  UNKNOWN_DIMENSIONS,
  UNKNOWN_RANK,
  INTERNAL_INPUTS,
  POOLS,
  RELAXED,
  TWICE,
  THREADS,
  ASYNC,
  BURST,
  FENCED,
};

// The function of the API that makes an execution run.
enum class Launch : uint8_t {
  COMPUTE,  // and wait, the one that the HAL has too
  ASYNC,    // startCompute, then wait for the event
  BURST,    // burstCompute
  FENCED,   // startComputeWithDependencies or executeFenced, then wait for the event or the fence
};

// What a variant does otherwise than plain.
struct VariantTraits {
  std::string_view name;  // as on the command line
  std::string_view description;
  Variant variant;
  OutputShapes outputShapes = OutputShapes::KNOWN;
  bool internalInputs = false;
  bool pools = false;  // constants, inputs and outputs in shared memory
  bool relaxed = false;
  Launch launch = Launch::COMPUTE;
  unsigned compilations = 1;  // of one model
  unsigned threads = 1;       // that use one compilation at once
  unsigned executions = 1;    // one after the other, of each compilation in each thread
};

// In the order of the enumeration.
std::span<const VariantTraits> allVariants();
const VariantTraits& traitsOf(Variant variant);
std::optional<Variant> variantFromName(std::string_view name);

// The case as the variant runs it: its model, and where that decides over the tolerance, the case
// itself. What a case that expects failure has wrong may be its outputs: their shapes stay.
//
// internal-inputs puts an operation that changes no value between each input of the model and what
// used to be that input. For tensors of rank 1 to 4 of float16, float32 and the two asymmetric
// 8-bit types that is ADD of a zero (the negative one for floats, for -0 + 0 is +0); for any other
// rank, and for BOOL8, INT32, QUANT16_ASYMM, QUANT16_SYMM and QUANT8_SYMM, CAST to the same type.
// Inputs that are omitted, scalars, of unknown shape, or per-channel quantised stay as they are.
//
// With open output shapes, the runner also gives the first output a buffer that is one byte too
// small, and expects to be told the real shapes.
//
// OUT_OF_MEMORY or OP_FAILED when there is no memory for pools.
Result<VectorCase> applyVariant(VectorCase vectorCase, Variant variant);

}  // namespace halyard::conformance
