#include "hal/core/operation_support.h"

#include <algorithm>
#include <cmath>

#include "hal/core/error_status.h"

namespace halyard::hal {
namespace {

std::string lineOf(const std::string& text) {
  // Control characters and parts of characters become '?', which is never longer.
  std::string line = safeText(text);
  std::ranges::replace(line, '\n', ' ');
  size_t length = std::min(line.size(), OperationSupport::kMaxReasonBytes);
  const auto isWithinCharacter = [&](size_t at) {
    return at < line.size() && (static_cast<unsigned char>(line[at]) & 0xc0) == 0x80;
  };
  while (isWithinCharacter(length)) --length;
  line.resize(length);
  return line;
}

}  // namespace

void normalise(SupportedOperations& operations) {
  size_t bytes = 0;
  for (OperationSupport& each : operations) {
    const bool isUsable = each.cost && std::isfinite(*each.cost) && *each.cost > 0;
    if (!each.supported || !isUsable) each.cost = std::nullopt;
    if (each.supported || bytes >= kMaxReasonsBytes) each.reason.clear();
    if (each.reason.empty()) continue;
    each.reason = lineOf(each.reason);
    bytes += each.reason.size();
  }
}

}  // namespace halyard::hal
