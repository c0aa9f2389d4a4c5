// Findings: the faults that a row of a table finds beside its call's code, while its objects are
// made and after the call.
// Thread safety: each thread has findings of its own.
// Ownership: texts are copied.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace halyard::misuse {

void note(std::string finding);
// Removes and returns the thread's findings.
std::vector<std::string> takeFindings();

// Notes a call that does not return `code`, or whose text does not contain `text`.
void checkCode(int actual, int code, std::string_view text, std::string_view call);

#define ROW_ERROR(call, code, text) ::halyard::misuse::checkCode((call), (code), (text), #call)
#define ROW_OK(call) ROW_ERROR(call, 0, "")
#define ROW_EQ(actual, expected) \
  ::halyard::misuse::checkEqual((actual), (expected), #actual, #expected)

template <typename A, typename B>
void checkEqual(const A& actual, const B& expected, std::string_view what,
                std::string_view wanted) {
  if (actual == expected) return;
  if constexpr (std::is_arithmetic_v<A>) {
    note(fmt::format("{} is {}, expected {}", what, actual, wanted));
  } else {
    note(fmt::format("{} is not {}", what, wanted));
  }
}

}  // namespace halyard::misuse
