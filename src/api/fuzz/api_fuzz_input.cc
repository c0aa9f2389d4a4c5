#include "api/fuzz/api_fuzz_input.h"

#include "api/fuzz/calls.h"

namespace halyard::api::fuzz {

Summary runApiFuzzInput(std::span<const uint8_t> input) {
  constexpr int kMaxCalls = 400;
  ByteSource bytes(input);
  ObjectTable table;
  const std::span<const Call> groups[] = {modelCalls(), compilationCalls(), executionCalls(),
                                          memoryCalls()};
  for (int i = 0; i < kMaxCalls && !bytes.empty(); ++i) {
    const auto& group = groups[bytes.byte() % std::size(groups)];
    group[bytes.byte() % group.size()](table, bytes);
  }
  return {table.executed};
}

}  // namespace halyard::api::fuzz
