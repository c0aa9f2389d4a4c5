#include "validation/misuse/table.h"

#include <halyard/halyard.h>

#include <utility>

namespace halyard::misuse {
namespace {

std::vector<std::string>& findings() {
  thread_local std::vector<std::string> texts;
  return texts;
}

// The row's text with the device's name in place of "{device}".
std::string expectedText(const Misuse& row, const ANeuralNetworksDevice* device) {
  static constexpr std::string_view kPlace = "{device}";
  const size_t at = row.text.find(kPlace);
  if (at == std::string::npos) return row.text;
  const char* name = "";
  ROW_OK(ANeuralNetworksDevice_getName(device, &name));
  std::string text = row.text;
  return text.replace(at, kPlace.size(), name);
}

// Returns true when the device is too old for the row.
bool runRow(const Misuse& row, const ANeuralNetworksDevice* device, bool checksDriversText) {
  const std::string expected = expectedText(row, device);
  World world(device);
  const int code = row.call(world);
  const int lastCode = halyard_lastErrorCode();
  const std::string text = halyard_lastErrorText();
  if (code != row.code) {
    note(fmt::format("it answered {} ({}), expected {}", code, code == 0 ? "" : text, row.code));
  } else {
    if (lastCode != code) note(fmt::format("the last error's code is {}, not {}", lastCode, code));
    const std::string prefix = row.function() + ": ";
    const bool checksText = checksDriversText || !row.driversText;
    if (!text.starts_with(prefix) ||
        (checksText && text.find(expected, prefix.size()) == std::string::npos)) {
      note(fmt::format("its text is '{}', expected '{}{}'", text, prefix,
                       checksText ? expected : "..."));
    }
  }
  if (row.after) row.after(world);
  return world.isTooOld();
}

}  // namespace

void note(std::string finding) { findings().push_back(std::move(finding)); }
std::vector<std::string> takeFindings() { return std::exchange(findings(), {}); }

void checkCode(int actual, int code, std::string_view text, std::string_view call) {
  const std::string found = halyard_lastErrorText();
  if (actual != code) {
    note(fmt::format("{} answered {} ({}), expected {}", call, actual, actual == 0 ? "" : found,
                     code));
  } else if (code != ANEURALNETWORKS_NO_ERROR && found.find(text) == std::string::npos) {
    note(fmt::format("{} said '{}', expected '{}' in it", call, found, text));
  }
}

std::string Misuse::function() const {
  const std::string prefix = name.starts_with("SL_") ? "SL_" : "";
  // The second '_' behind the prefix ends the object and the function.
  const size_t object = name.find('_', prefix.size());
  return prefix + "ANeuralNetworks" +
         name.substr(prefix.size(), name.find('_', object + 1) - prefix.size());
}

Status tryMisuse(const Misuse& row, const ANeuralNetworksDevice* device, bool checksDriversText) {
  (void)takeFindings();
  if (runRow(row, device, checksDriversText)) {
    (void)takeFindings();
    runRow(row, World::cpu(), checksDriversText);
  }
  const std::vector<std::string> found = takeFindings();
  if (found.empty()) return okStatus();
  return opFailed("{}: {}", row.name, fmt::join(found, "; "));
}

std::vector<Misuse> joined(std::initializer_list<std::vector<Misuse>> tables) {
  std::vector<Misuse> all;
  for (const std::vector<Misuse>& table : tables) all.insert(all.end(), table.begin(), table.end());
  return all;
}

std::vector<Misuse> allMisuses() {
  return joined({deviceMisuses(), operandMisuses(), graphMisuses(), compilationMisuses(),
                 executionMisuses(), argumentMisuses(), eventAndBurstMisuses(), memoryMisuses(),
                 extensionMisuses(), supportLibraryMisuses()});
}

}  // namespace halyard::misuse
