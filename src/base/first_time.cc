#include "base/first_time.h"

#include <functional>
#include <mutex>
#include <unordered_set>

#include "base/process_generation.h"

namespace halyard {
namespace {

constexpr size_t kMostKept = 1000;

struct Said {
  std::mutex mutex;
  std::unordered_set<size_t> texts;
};

constinit PerProcess<Said> ofProcess;

}  // namespace

bool firstTime(std::string_view text) {
  Said& said = ofProcess.get();
  const std::lock_guard lock(said.mutex);
  if (said.texts.size() >= kMostKept) said.texts.clear();
  return said.texts.insert(std::hash<std::string_view>()(text)).second;
}

}  // namespace halyard
