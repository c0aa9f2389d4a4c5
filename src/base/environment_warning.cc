#include "base/environment_warning.h"

#include "base/first_time.h"
#include "base/log.h"

namespace halyard {

void warnOfValue(std::string_view variable, std::string_view value, std::string_view expected) {
  if (!firstTime(fmt::format("{}={}", variable, value))) return;
  logWarning("{} is \"{}\", but must be {}; it has no effect", variable, value, expected);
}

}  // namespace halyard
