#include "tools/halyard/preference.h"

#include <android/NeuralNetworks.h>

#include <map>
#include <string>

namespace halyard::cli {

void addPreferenceOption(CLI::App* app, std::optional<int32_t>* preference) {
  static const std::map<std::string, int32_t> kNames = {
      {"low-power", ANEURALNETWORKS_PREFER_LOW_POWER},
      {"fast-single-answer", ANEURALNETWORKS_PREFER_FAST_SINGLE_ANSWER},
      {"sustained-speed", ANEURALNETWORKS_PREFER_SUSTAINED_SPEED}};
  app->add_option_function<std::string>(
         "--preference", [preference](const std::string& name) { *preference = kNames.at(name); },
         "What to compile for: low-power, fast-single-answer (as without it) or sustained-speed, "
         "for which drivers may measure while they compile")
      ->check(CLI::IsMember(&kNames))
      ->option_text("P");
}

}  // namespace halyard::cli
