// Verbose messages by subject, controlled by NNAPI's property debug.nn.vlog. They go where all
// messages go (base/log.h).
// Thread safety: any thread.
// Ownership: none.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/log.h"

namespace halyard {

// The bits are those of NNAPI.
enum class VlogTag : uint8_t {
  MODEL,
  COMPILATION,
  EXECUTION,
  CPU_EXECUTOR,
  MANAGER,
  DRIVER,
  MEMORY
};

// Reads the environment variable debug.nn.vlog. Shells that do not allow such names can set
// HALYARD_VLOG. The value lists names of tags (model, compilation, execution, cpuexe, manager,
// driver, memory), separated by spaces, commas or colons, or is "all" or "1". An unknown name
// causes an error line, once in a process, and is ignored. An unknown value of HALYARD_LOG causes a
// warning. The library calls this when a model is created, when a driver starts, and before the
// first message.
void readVlogTags();
// Returns the bits of a list of names. Unknown names are ignored and appended to `unknown`, which
// may be null.
uint32_t vlogTagsOf(std::string_view list, std::vector<std::string>* unknown);

// Returns whether messages of the subject are on. With HALYARD_LOG=info, those of compilations are.
bool vlogIsOn(VlogTag tag);

// Writes one line "halyard: info: TEXT".
template <typename... Args>
void vlog(VlogTag tag, fmt::format_string<Args...> format, Args&&... args) {
  if (vlogIsOn(tag)) writeLogLine("info", fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace halyard
