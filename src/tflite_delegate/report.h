// Report: the nodes that the delegate takes of each graph, the reasons against the others, and all
// errors since.
// Without a file it keeps nothing. A list in the file has at most kMostEntries, since a program may
// run for months: `left_out` counts the others.
// Thread safety: all methods may be called from any thread. Ownership: owns its text.
#pragma once

#include <cstdint>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>

#include "halyard/driver/status.h"
#include "tflite_delegate/selection.h"

namespace halyard::tflite {

class Report {
 public:
  static constexpr size_t kMostEntries = 256;

  // `path` is the file to write; empty for none. `verbose`: also a line on stderr for each entry.
  Report(std::string path, bool verbose) : path_(std::move(path)), verbose_(verbose) {}

  // Adds a graph, and returns its number in the report.
  size_t addGraph(const Selection& selection);
  // Adds what an interpreter gets as an error.
  void addError(const Status& status);
  // Adds the reports of a partition's compilation, when its kernel ends.
  void addCompilation(size_t graph, const LiveGraph& nodes, const CompiledGraph& compiled);

 private:
  // With the lock. Failures to write are no errors of the interpreter: they are said on stderr.
  void write();
  void say(const std::string& line) const;
  // With the lock.
  void append(nlohmann::json& list, nlohmann::json entry);

  const std::string path_;
  const bool verbose_;
  std::mutex mutex_;
  size_t graphCount_ = 0;
  size_t leftOut_ = 0;
  nlohmann::json graphs_ = nlohmann::json::array();
  nlohmann::json errors_ = nlohmann::json::array();
};

}  // namespace halyard::tflite
