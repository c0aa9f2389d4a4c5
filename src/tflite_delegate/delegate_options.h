// The options of the delegate, by key and value.
// Thread safety: plain data. Ownership: owns its texts.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "halyard/driver/status.h"

namespace halyard::tflite {

struct DelegateOptions {
  std::vector<std::string> devices;  // names (measure/device_choice.h); empty: the runtime chooses
  // The named devices compute all nodes of the delegate. Otherwise the CPU device of the runtime
  // computes the operations that they do not support.
  bool requireDevice = false;
  std::string cacheFolder;  // of compilations; empty: none
  std::optional<int32_t> preference;
  std::optional<int32_t> priority;
  std::optional<uint64_t> timeoutNs;  // of a compilation, and of an execution
  bool allowFloat16 = false;
  size_t maxPartitions = 0;  // 0: no limit
  size_t minOperations = 1;  // of a partition
  bool claimsAll = false;    // also partitions that, as predicted, do not pay
  std::string report;        // the file to write; empty: none
  bool verbose = false;
};

// The keys with a description of their values, for the documentation and for errors.
struct OptionKey {
  std::string_view key;
  std::string_view values;
};
std::span<const OptionKey> optionKeys();

// BAD_DATA names an unknown key, or a value that its key does not have.
Result<DelegateOptions> parseOptions(
    std::span<const std::pair<std::string_view, std::string_view>> options);

}  // namespace halyard::tflite
