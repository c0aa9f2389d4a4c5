// A table of misuses of the C API: a row is a call that must fail, with its code and text. Every
// row is a test of its own, in a World that nobody has used before. Thread safety: none needed.
// Ownership: tables live as long as the program.
#pragma once

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "api/misuse/world_for_test.h"

namespace halyard::api::testing {

struct Misuse {
  // The function without "ANeuralNetworks", '_' and what is wrong, in CamelCase:
  // "Model_addOperand_NullType". The name of the row's test.
  std::string name;
  int code;
  // Part of the text, which has to name what is wrong; all of it begins with the function's name.
  std::string text;
  std::function<int(World&)> call;
  // What must hold after the call.
  std::function<void(World&)> after = nullptr;
};
inline void PrintTo(const Misuse& row, std::ostream* out) { *out << row.name; }

class MisuseTable : public ::testing::TestWithParam<Misuse> {};

// For INSTANTIATE_TEST_SUITE_P.
inline std::string rowName(const ::testing::TestParamInfo<Misuse>& info) { return info.param.name; }

constexpr int kUnexpectedNull = ANEURALNETWORKS_UNEXPECTED_NULL;
constexpr int kBadData = ANEURALNETWORKS_BAD_DATA;
constexpr int kBadState = ANEURALNETWORKS_BAD_STATE;
constexpr int kOpFailed = ANEURALNETWORKS_OP_FAILED;

}  // namespace halyard::api::testing
