// The commands that check drivers. Their code is in the program halyard-kit, which `halyard` starts
// for them. In a wheel, `halyard` contains them.
//
// Thread safety: one thread parses and runs.
// Ownership: CLI::App objects belong to their parent.
#pragma once

#include <vector>

#include "tools/halyard/command.h"

namespace halyard::cli {

// The file name of the program, which is beside `halyard`.
inline constexpr const char* kKitProgram = "halyard-kit";

struct KitCommand {
  const char* name;
  const char* description;
};

inline constexpr KitCommand kBisectCommand = {
    "bisect", "Find the operation that a device computes otherwise than the CPU device"};
inline constexpr KitCommand kConformanceCommand = {
    "conformance", "Run cases with known results on a device, and report differences"};
inline constexpr KitCommand kCrashTestCommand = {"crash-test",
                                                 "Try devices with many clients at once"};
inline constexpr KitCommand kFuzzCommand = {"fuzz", "Look for inputs that crash, hang or corrupt"};
inline constexpr KitCommand kRandomGraphsCommand = {
    "random-graphs", "Run random models on a device, and report differences from the CPU device"};
inline constexpr KitCommand kValidateCommand = {"validate",
                                                "Check a driver, and report its faults"};

inline constexpr KitCommand kKitCommands[] = {kConformanceCommand, kBisectCommand,
                                              kValidateCommand,    kRandomGraphsCommand,
                                              kCrashTestCommand,   kFuzzCommand};

// Adds these commands to `parent`. kit/kit_commands.cc runs them in this process.
// forwarded_kit_commands.cc starts halyard-kit, and OP_FAILED says that it is not installed. A
// program links one of the two.
std::vector<Command> addKitCommands(CLI::App& parent);

}  // namespace halyard::cli
