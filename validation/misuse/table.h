// A table of misuses of the C API. A row is a call that must fail, with its code and text, on any
// device. The runtime's tests and the area "api" of the validation kit run the same rows.
// Thread safety: several threads may run rows.
// Ownership: rows own their captures.
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
  // The function without "ANeuralNetworks", '_' and the fault, in CamelCase:
  // "Model_addOperand_NullType", "SL_Device_getVendorExtensionName_NullResult".
  std::string name;
  int code;
  // A part of the text, which names the fault. The whole text begins with the function's name.
  // "{device}" is replaced by the device's name.
  std::string text;
  std::function<int(World&)> call;
  // Checks the conditions that must hold after the call.
  std::function<void(World&)> after = nullptr;
  // The driver writes the text: it may be any text.
  bool driversText = false;

  // The function's full name, such as "ANeuralNetworksModel_addOperand".
  std::string function() const;
};
inline void PrintTo(const Misuse& row, std::ostream* out) { *out << row.name; }

// Runs a row in a new World with the device, or with the CPU device when the device's interface is
// too old for the row. OP_FAILED with all findings. `checksDriversText`: also checks texts that the
// driver writes.
Status tryMisuse(const Misuse& row, const ANeuralNetworksDevice* device,
                 bool checksDriversText = false);

// The rows that need only one device.
std::vector<Misuse> allMisuses();
// The rows that need two devices. Both offer com.acme.things, and they describe com.acme.disputed
// differently.
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
std::vector<Misuse> supportLibraryMisuses();

std::vector<Misuse> joined(std::initializer_list<std::vector<Misuse>> tables);

constexpr bool kDriversText = true;
constexpr int kUnexpectedNull = ANEURALNETWORKS_UNEXPECTED_NULL;
constexpr int kBadData = ANEURALNETWORKS_BAD_DATA;
constexpr int kBadState = ANEURALNETWORKS_BAD_STATE;
constexpr int kOpFailed = ANEURALNETWORKS_OP_FAILED;

}  // namespace halyard::misuse
