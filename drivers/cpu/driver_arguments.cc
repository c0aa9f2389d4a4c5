#include "driver_arguments.h"

#include <charconv>
#include <set>
#include <string_view>

namespace halyard::cpudriver {
namespace {

constexpr unsigned kMostThreads = 256;

std::optional<unsigned> readThreads(std::string_view text) {
  unsigned threads = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, threads);
  const bool good = error == std::errc() && stop == end && threads >= 1 && threads <= kMostThreads;
  return good ? std::optional(threads) : std::nullopt;
}

Status wrong(const std::string& argument) {
  return badData(
      "argument '{}', expected --threads=N with N from 1 to {}, --cache=FOLDER, "
      "--cache-all, --no-cache, or --no-tuning, each once at most",
      argument, kMostThreads);
}

}  // namespace

Result<DriverArguments> readArguments(std::span<const std::string> arguments) {
  constexpr std::string_view kThreads = "--threads=";
  constexpr std::string_view kCache = "--cache=";
  constexpr std::string_view kCacheAll = "--cache-all";
  constexpr std::string_view kNoCache = "--no-cache";
  constexpr std::string_view kNoTuning = "--no-tuning";
  DriverArguments read;
  std::set<std::string_view> seen;
  for (const std::string& argument : arguments) {
    const std::string_view text = argument;
    std::string_view option;
    if (text.starts_with(kThreads)) {
      option = kThreads;
      const auto threads = readThreads(text.substr(kThreads.size()));
      if (!threads) return wrong(argument);
      read.threads = *threads;
    } else if (text.starts_with(kCache) && text.size() > kCache.size()) {
      option = kCache;
      read.cacheFolder = text.substr(kCache.size());
    } else if (text == kCacheAll) {
      option = kCacheAll;
      read.cachesAll = true;
    } else if (text == kNoCache) {
      option = kNoCache;
      read.caches = false;
    } else if (text == kNoTuning) {
      option = kNoTuning;
      read.tunes = false;
    }
    if (option.empty() || !seen.insert(option).second) return wrong(argument);
  }
  return read;
}

}  // namespace halyard::cpudriver
