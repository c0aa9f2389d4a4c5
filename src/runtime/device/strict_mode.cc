// HALYARD_REQUIRE_DEVICE.
#include "runtime/device/strict_mode.h"

#include <algorithm>

#include "base/environment.h"

namespace halyard::runtime {
namespace {

constexpr const char* kVariable = "HALYARD_REQUIRE_DEVICE";

std::string_view value() {
  const char* const text = environmentVariable(kVariable);
  return text == nullptr ? std::string_view() : std::string_view(text);
}

}  // namespace

std::vector<std::string> requiredDevices() {
  std::vector<std::string> names;
  std::string_view rest = value();
  while (!rest.empty()) {
    const size_t comma = std::min(rest.find(','), rest.size());
    std::string_view name = rest.substr(0, comma);
    while (name.starts_with(' ')) name.remove_prefix(1);
    while (name.ends_with(' ')) name.remove_suffix(1);
    if (!name.empty()) names.emplace_back(name);
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  return names;
}

bool strictModeAllows(std::string_view device) {
  const std::vector<std::string> names = requiredDevices();
  return names.empty() || std::find(names.begin(), names.end(), device) != names.end();
}

Status strictRefusal(std::string_view what, std::string_view device, std::string_view reason) {
  if (device.empty()) return opFailed("{}={}: {}: {}", kVariable, value(), what, reason);
  return opFailed("{}={} does not let device {} compute {}: {}", kVariable, value(), device, what,
                  reason);
}

}  // namespace halyard::runtime
