// Finds the device that a user names.
#include "measure/device_choice.h"

#include <algorithm>
#include <optional>

namespace halyard::measure {
namespace {

std::optional<size_t> indexOf(std::span<const std::string> names, std::string_view name) {
  const auto it = std::find(names.begin(), names.end(), name);
  if (it == names.end()) return std::nullopt;
  return static_cast<size_t>(it - names.begin());
}

}  // namespace

Result<size_t> chooseDevice(std::span<const std::string> names, std::string_view wanted) {
  if (const auto index = indexOf(names, wanted)) return *index;
  // This comes before the CPU device "nnapi-reference", because "halyard-reference" has the same
  // ending.
  if (const auto index = indexOf(names, fmt::format("halyard-{}", wanted))) return *index;
  if (wanted == "cpu") {
    if (const auto index = indexOf(names, "nnapi-reference")) return *index;
  }
  const std::string ending = fmt::format("-{}", wanted);
  std::optional<size_t> found;
  bool several = false;
  for (size_t i = 0; i < names.size() && !wanted.empty(); ++i) {
    if (!names[i].ends_with(ending)) continue;
    several = found.has_value();
    found = i;
    if (several) break;
  }
  if (found && !several) return *found;
  return badData("{} device '{}'; the devices are: {}", several ? "more than one" : "no", wanted,
                 fmt::join(names, ", "));
}

}  // namespace halyard::measure
