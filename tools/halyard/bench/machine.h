// The machine's name, the date and the used energy, for reports.
// Thread safety: any thread. Ownership: results own their text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace halyard::cli {

// "AMD EPYC, x86_64".
std::string machineName();
// "2026-11-22 10:15 UTC".
std::string dateText();

// Joules that the processors have used since a fixed moment (RAPL, /sys/class/powercap); nullopt
// where the machine has no counter. The counter wraps around after hours: a difference below 0 is
// not valid.
std::optional<double> energyUsed();

// Seconds of processor time that a process has used; nullopt when there is no such process.
std::optional<double> processorTime(int64_t pid);

}  // namespace halyard::cli
