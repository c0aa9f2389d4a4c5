// Code shared by the converters of operators that move elements.
// Thread safety: as Node.
// Ownership: none.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "import/tflite/node.h"

namespace halyard::import {

// Appends `type` of `first` and `rest` as the node's first output, with the quantisation of `like`.
inline Status moveElements(Node& node, OperationType type, uint32_t first, OperandIndexes rest,
                           uint32_t like) {
  HALYARD_ASSIGN_OR_RETURN(const uint32_t y, node.output(0));
  HALYARD_RETURN_IF_ERROR(node.shareQuantization(y, like));
  rest.insert(rest.begin(), first);
  return node.builder().addOperation(type, std::move(rest), {y});
}
inline Status moveElements(Node& node, OperationType type, uint32_t x, OperandIndexes rest) {
  return moveElements(node, type, x, std::move(rest), x);
}

inline Result<uint32_t> listOf(Node& node, const std::vector<int32_t>& values) {
  return node.builder().int32Tensor({static_cast<uint32_t>(values.size())}, values);
}

// Returns the one value of a constant integer input.
inline Result<int32_t> singleInt(const Node& node, size_t i, std::string_view what) {
  HALYARD_ASSIGN_OR_RETURN(const std::vector<int32_t> values, node.constantInts(i, what, 1));
  if (values.empty()) return badData("{} has no value", what);
  return values[0];
}

}  // namespace halyard::import
