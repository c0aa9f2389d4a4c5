// Verbose messages by subject, as NNAPI's property debug.nn.vlog asks for them; they go where all
// messages go (base/log.h).
// Thread safety: any thread. Ownership: none.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/log.h"

namespace halyard {

// The bits are NNAPI's.
enum class VlogTag : uint8_t {
  MODEL,
  COMPILATION,
  EXECUTION,
  CPU_EXECUTOR,
  MANAGER,
  DRIVER,
  MEMORY
};

// Reads the environment variable debug.nn.vlog or, for shells that know no such names,
// HALYARD_VLOG: names of tags (model, compilation, execution, cpuexe, manager, driver, memory)
// separated by spaces, commas or colons, or "all" or "1". A name that is none is an error line, and
// ignored. Done when a model is created, when a driver starts, and before the first message.
void readVlogTags();
// The bits of a list of names; unknown ones are left out and appended to `unknown`, which may be
// null.
uint32_t vlogTagsOf(std::string_view list, std::vector<std::string>* unknown);

// Whether somebody wants to read about the subject. With HALYARD_LOG=info that is so of
// compilations.
bool vlogIsOn(VlogTag tag);

// One line "halyard: info: TEXT".
template <typename... Args>
void vlog(VlogTag tag, fmt::format_string<Args...> format, Args&&... args) {
  if (vlogIsOn(tag)) writeLogLine("info", fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace halyard
