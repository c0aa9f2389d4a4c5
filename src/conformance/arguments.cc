#include "conformance/arguments.h"

#include <algorithm>
#include <cstring>

namespace halyard::conformance {
namespace {

constexpr uint8_t kPattern = 0xa5;
// The gap between arguments, before the first and after the last.
constexpr size_t kGap = 64;

}  // namespace

Status Arguments::place(std::span<const size_t> lengths, bool inPool, Area* area) {
  size_t total = kGap;
  for (const size_t length : lengths) {
    if (length > kMaxBytes || total > kMaxBytes) {
      return makeStatus(ResultCode::RESOURCE_EXHAUSTED_PERSISTENT,
                        "the case needs arguments of more than {} bytes", kMaxBytes);
    }
    area->slots.push_back(
        {false, nullptr, static_cast<uint32_t>(total), static_cast<uint32_t>(length)});
    total += (length + kGap - 1) / kGap * kGap + kGap;
  }
  if (inPool) {
    HALYARD_ASSIGN_OR_RETURN(area->memory, SharedMemory::create(total, "conformance-arguments"));
    HALYARD_ASSIGN_OR_RETURN(area->mapping, area->memory->map());
    area->all = {area->mapping.data(), total};
  } else {
    area->bytes.resize(total);
    area->all = area->bytes;
  }
  std::memset(area->all.data(), kPattern, total);
  for (Slot& slot : area->slots) slot.data = area->all.data() + slot.offset;
  return okStatus();
}

Result<Arguments> Arguments::make(const VectorCase& vectorCase, std::span<const size_t> capacities,
                                  bool inPools) {
  Arguments made;
  std::vector<size_t> lengths;
  for (const VectorInput& input : vectorCase.inputs) lengths.push_back(input.bytes.size());
  HALYARD_RETURN_IF_ERROR(place(lengths, inPools, &made.inputs_), "inputs");
  for (size_t i = 0; i < lengths.size(); ++i) {
    const VectorInput& input = vectorCase.inputs[i];
    made.inputs_.slots[i].omitted = input.omitted;
    if (!input.bytes.empty()) {
      std::memcpy(made.inputs_.slots[i].data, input.bytes.data(), input.bytes.size());
    }
  }
  HALYARD_RETURN_IF_ERROR(place(capacities, inPools, &made.outputs_), "outputs");
  return made;
}

Status Arguments::checkUntouched(const VectorCase& vectorCase) const {
  for (size_t i = 0; i < inputs_.slots.size(); ++i) {
    const std::vector<uint8_t>& bytes = vectorCase.inputs[i].bytes;
    if (!std::equal(bytes.begin(), bytes.end(), inputs_.slots[i].data)) {
      return opFailed("the execution changed input {}", i);
    }
  }
  for (const Area* area : {&inputs_, &outputs_}) {
    size_t from = 0;
    for (size_t i = 0; i <= area->slots.size(); ++i) {
      const size_t to = i < area->slots.size() ? area->slots[i].offset : area->all.size();
      for (size_t at = from; at < to; ++at) {
        if (area->all[at] == kPattern) continue;
        const char* const what = area == &inputs_ ? "input" : "output";
        if (i == 0) return opFailed("the execution wrote before the first {}", what);
        return opFailed("the execution wrote {} bytes after the end of {} {}", at - from, what,
                        i - 1);
      }
      if (i < area->slots.size()) from = to + area->slots[i].length;
    }
  }
  return okStatus();
}

}  // namespace halyard::conformance
