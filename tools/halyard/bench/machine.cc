#include "tools/halyard/bench/machine.h"

#include <fmt/chrono.h>
#include <sys/utsname.h>
#include <time.h>

#include <chrono>
#include <filesystem>
#include <fstream>

namespace halyard::cli {

std::string machineName() {
  utsname names{};
  (void)::uname(&names);
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (!line.starts_with("model name")) continue;
    const size_t colon = line.find(": ");
    if (colon == std::string::npos) break;
    return line.substr(colon + 2) + ", " + names.machine;
  }
  return names.machine;
}

std::string dateText() {
  return fmt::format("{:%Y-%m-%d %H:%M} UTC", fmt::gmtime(std::chrono::system_clock::now()));
}

std::optional<double> energyUsed() {
  std::error_code error;
  std::optional<double> joules;
  for (const auto& zone : std::filesystem::directory_iterator("/sys/class/powercap", error)) {
    // Counts whole packages only: intel-rapl:0, not its parts such as intel-rapl:0:0.
    const std::string name = zone.path().filename().string();
    if (!name.starts_with("intel-rapl:") || name.find(':', 11) != std::string::npos) continue;
    double microjoules = 0;
    if (std::ifstream(zone.path() / "energy_uj") >> microjoules) {
      joules = joules.value_or(0) + microjoules / 1e6;
    }
  }
  return joules;
}

std::optional<double> processorTime(int64_t pid) {
  clockid_t clock = 0;
  timespec time{};
  if (::clock_getcpuclockid(static_cast<pid_t>(pid), &clock) != 0) return std::nullopt;
  if (::clock_gettime(clock, &time) != 0) return std::nullopt;
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

}  // namespace halyard::cli
