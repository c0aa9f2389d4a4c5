// A table of misuses of the C API: a row is a call that must fail, with its code and text, whatever
// the device. The runtime's tests and the area "api" of the validation kit run the same rows.
// Thread safety: rows may be run by several threads. Ownership: rows own what they hold.
#pragma once

#include <functional>
#include <initializer_list>
#include <ostream>
#include <string>
#include <vector>

#include "halyard/driver/status.h"
#include "validation/misuse/world.h"

namespace halyard::misuse {

struct Misuse {
  // The function without "ANeuralNetworks", '_' and what is wrong, in CamelCase:
  // "Model_addOperand_NullType".
  std::string name;
  int code;
  // Part of the text, which has to name what is wrong; all of it begins with the function's name.
  // "{device}" stands for the device's name.
  std::string text;
  std::function<int(World&)> call;
  // What must hold after the call.
  std::function<void(World&)> after = nullptr;
  // The text is the driver's own, and may be any.
  bool driversText = false;

  // "ANeuralNetworksModel_addOperand".
  std::string function() const;
};
inline void PrintTo(const Misuse& row, std::ostream* out) { *out << row.name; }

// Runs a row in a World that nobody has used before: with the device, or with the CPU device when
// its interface is too old for the row. OP_FAILED with all that is not as it must be.
// `checksDriversText`: also where the text is the driver's own.
Status tryMisuse(const Misuse& row, const ANeuralNetworksDevice* device,
                 bool checksDriversText = false);

// Those that need nothing but a device.
std::vector<Misuse> allMisuses();
// Those that need two devices that offer com.acme.things, and disagree about com.acme.disputed.
std::vector<Misuse> offeredExtensionMisuses();

// The parts of allMisuses().
std::vector<Misuse> argumentMisuses();
std::vector<Misuse> compilationMisuses();
std::vector<Misuse> deviceMisuses();
std::vector<Misuse> eventAndBurstMisuses();
std::vector<Misuse> executionMisuses();
std::vector<Misuse> extensionMisuses();
std::vector<Misuse> graphMisuses();
std::vector<Misuse> memoryMisuses();
std::vector<Misuse> operandMisuses();

std::vector<Misuse> joined(std::initializer_list<std::vector<Misuse>> tables);

constexpr bool kDriversText = true;
constexpr int kUnexpectedNull = ANEURALNETWORKS_UNEXPECTED_NULL;
constexpr int kBadData = ANEURALNETWORKS_BAD_DATA;
constexpr int kBadState = ANEURALNETWORKS_BAD_STATE;
constexpr int kOpFailed = ANEURALNETWORKS_OP_FAILED;

}  // namespace halyard::misuse
