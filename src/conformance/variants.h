// Variants: the different ways of running one conformance case.
// Thread safety: pure functions over a constant table.
// Ownership: results own their data.
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

// The function of the API that runs an execution.
enum class Launch : uint8_t {
  COMPUTE,  // compute, which the HAL has, too
  ASYNC,    // startCompute, then a wait for the event
  BURST,    // burstCompute
  FENCED,   // startComputeWithDependencies or executeFenced, then a wait for the event or the fence
};

// The differences of a variant from the plain one.
struct VariantTraits {
  std::string_view name;  // the name on the command line
  std::string_view description;
  Variant variant;
  OutputShapes outputShapes = OutputShapes::KNOWN;
  bool internalInputs = false;
  bool pools = false;  // constants, inputs and outputs in shared memory
  bool relaxed = false;
  Launch launch = Launch::COMPUTE;
  unsigned compilations = 1;  // number of compilations of one model
  unsigned threads = 1;       // number of threads that use one compilation at once
  unsigned executions = 1;    // number in sequence, of each compilation in each thread
};

// Returns all variants in the order of the enumeration.
std::span<const VariantTraits> allVariants();
const VariantTraits& traitsOf(Variant variant);
std::optional<Variant> variantFromName(std::string_view name);

// Returns the case for the variant: its model, and for some variants the case itself, because it
// decides the tolerance. A case that expects failure may have wrong outputs, so their shapes stay.
//
// internal-inputs puts an operation that changes no value between each input of the model and the
// operations that read it. For tensors of rank 1 to 4 of float16, float32 and the two asymmetric
// 8-bit types, it is ADD of a zero. Floats use the negative zero, because -0 + 0 is +0. For any
// other rank, and for BOOL8, INT32, QUANT16_ASYMM, QUANT16_SYMM and QUANT8_SYMM, it is CAST to the
// same type. Inputs that are omitted, scalars, of unknown shape, or per-channel quantised stay
// unchanged.
//
// With open output shapes, the runner also gives the first output a buffer that is one byte too
// small. It expects an error with the real shapes.
//
// Returns OUT_OF_MEMORY or OP_FAILED when there is no memory for pools.
Result<VectorCase> applyVariant(VectorCase vectorCase, Variant variant);

}  // namespace halyard::conformance
