// The reference driver's arguments.
#include "reference_device.h"

#include "halyard/tflite_extension.h"
#include "personality_device.h"

namespace halyard::drivers {

Result<std::shared_ptr<hal::Device>> makeReferenceDevice(std::span<const std::string> arguments) {
  Personality personality = defaultPersonality();
  // The extensions of the CPU device. A file replaces all of this.
  personality.info.extensions = {{std::string(kTfliteExtension), {}}};
  constexpr std::string_view kOption = "--personality";
  if (!arguments.empty()) {
    if (arguments[0] != kOption || arguments.size() != 2) {
      return badData("argument '{}', expected nothing or {} FILE", arguments[0], kOption);
    }
    HALYARD_ASSIGN_OR_RETURN(personality, loadPersonality(arguments[1]));
  }
  return makePersonalityDevice(std::move(personality));
}

}  // namespace halyard::drivers
