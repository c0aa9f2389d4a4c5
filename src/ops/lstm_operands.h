// The common operands of LSTM operations as rows of their tables: the weights of one cell with its
// optional parts, and the scalars.
// Thread safety: pure functions.
// Ownership: tables own their names.
#pragma once

#include <array>
#include <string_view>

#include "ops/linking.h"
#include "ops/operand_table.h"

namespace halyard::ops {

// Optional parts of a cell. Those of a backward cell are shifted left by kBackwardParts bits.
inline constexpr Parts kInputGatePart = 1u << 0;  // absent: coupled to the forget gate (CIFG)
inline constexpr Parts kPeepholePart = 1u << 1;
inline constexpr Parts kProjectionPart = 1u << 2;
inline constexpr Parts kLayerNormPart = 1u << 3;
inline constexpr unsigned kBackwardPartsShift = 8;

// The gates in the order of the operands.
enum Gate : size_t { kInputGate, kForgetGate, kCellGate, kOutputGate };
inline constexpr size_t kGates = 4;

// Positions relative to the first of the rows of lstmWeightRows, in groups of four by gate where
// each gate has one. Three gates have peephole weights: input, forget, output.
inline constexpr size_t kLstmInputWeights = 0;
inline constexpr size_t kLstmRecurrentWeights = 4;
inline constexpr size_t kLstmPeephole = 8;
inline constexpr size_t kLstmBias = 11;
inline constexpr size_t kLstmProjection = 15;
inline constexpr size_t kLstmProjectionBias = 16;
inline constexpr size_t kLstmWeightRows = 17;

// Sizes by letter: C cells, P outputs, I inputs. Types are tensors of the main type; the names
// start with `prefix`.
OperandTable lstmWeightRows(std::string_view prefix = "");
OperandTable lstmLayerNormRows(std::string_view prefix = "");
// Weights of an auxiliary input of size A, for one cell. The first cell's forget weights lead
// kAuxWeights.
OperandTable lstmAuxRows(std::string_view prefix);

// Returns the same rows for the backward cell: letters D, Q and J in place of C, P and I.
OperandTable backwardRows(OperandTable rows);

// Without projection the outputs are the cells: `outputs` and `cells` are letters.
void solveLstmSizes(DimensionSolver& sizes, Parts parts, char outputs = 'P', char cells = 'C');

// Reads a clip at input i: 0 (off) or more. `value` keeps its default if the input is omitted.
Status readClip(const OperationContext& context, size_t i, std::string_view name, float* value);

}  // namespace halyard::ops
