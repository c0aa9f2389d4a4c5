// Fuzzes the body of an inference over HTTP. The first two bytes choose the length of its JSON.
#include <cstdlib>
#include <string_view>

#include "serve/protocol/json_infer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace halyard::serve;
  if (size < 2) return 0;
  const size_t length = data[0] + size_t{256} * data[1];
  const std::string_view body(reinterpret_cast<const char*>(data) + 2, size - 2);
  const auto request =
      parseJsonInfer(body, length == 0 ? std::nullopt : std::optional(length), Clock::time_point());
  if (!request.ok()) return 0;
  // The values of an input without a region have the size of its shape, or follow the JSON.
  for (const InputTensor& input : request->inputs) {
    const size_t bytes = datatypeSize(input.datatype) * elementCount(input.shape).value_or(0);
    if (!input.own.empty() && bytes != 0 && input.own.size() != bytes) std::abort();
  }
  return 0;
}
