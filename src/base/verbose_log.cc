// Stores the tags as bits, and reads them again at every readVlogTags call.
#include "base/verbose_log.h"

#include <array>
#include <atomic>
#include <string>
#include <vector>

#include "base/environment.h"
#include "base/environment_warning.h"
#include "base/first_time.h"

namespace halyard {
namespace {

constexpr std::array<std::string_view, 7> kNames = {"model",   "compilation", "execution", "cpuexe",
                                                    "manager", "driver",      "memory"};
constexpr uint32_t kAll = (1u << kNames.size()) - 1;
constexpr uint32_t kTagsUnread = 1u << 31;

std::atomic<uint32_t> tags = kTagsUnread;

uint32_t fromEnvironment() {
  const char* text = environmentVariable("debug.nn.vlog");
  const char* source = "debug.nn.vlog";
  if (text == nullptr) {
    source = "HALYARD_VLOG";
    text = environmentVariable(source);
  }
  if (text == nullptr) return 0;
  std::vector<std::string> unknown;
  const uint32_t bits = vlogTagsOf(text, &unknown);
  for (const std::string& name : unknown) {
    const std::string line = fmt::format("{}: unknown tag '{}'; there are {}, and all", source,
                                         name, fmt::join(kNames, ", "));
    if (firstTime(line)) writeLogLine("error", line);
  }
  return bits;
}

}  // namespace

uint32_t vlogTagsOf(std::string_view list, std::vector<std::string>* unknown) {
  constexpr std::string_view kSeparators = " ,:";
  uint32_t bits = 0;
  while (true) {
    const size_t begin = list.find_first_not_of(kSeparators);
    if (begin == std::string_view::npos) return bits;
    list.remove_prefix(begin);
    const std::string_view name = list.substr(0, list.find_first_of(kSeparators));
    list.remove_prefix(name.size());
    if (name == "1" || name == "all") {
      bits |= kAll;
      continue;
    }
    size_t tag = 0;
    while (tag < kNames.size() && kNames[tag] != name) ++tag;
    if (tag < kNames.size()) {
      bits |= 1u << tag;
    } else if (unknown != nullptr) {
      unknown->emplace_back(name);
    }
  }
}

void readVlogTags() {
  tags.store(fromEnvironment(), std::memory_order_relaxed);
  const char* const level = environmentVariable("HALYARD_LOG");
  const bool isKnown =
      level == nullptr || *level == '\0' || logLevelIs("quiet") || logLevelIs("info");
  if (!isKnown) warnOfValue("HALYARD_LOG", level, "one of: quiet, info");
}

bool vlogIsOn(VlogTag tag) {
  uint32_t now = tags.load(std::memory_order_relaxed);
  if (now == kTagsUnread) {
    readVlogTags();
    now = tags.load(std::memory_order_relaxed);
  }
  if ((now >> static_cast<unsigned>(tag) & 1) != 0) return true;
  return tag == VlogTag::COMPILATION && logLevelIs("info");
}

}  // namespace halyard
