// Report: the nodes that the delegate takes of each graph, the reasons against the others, and all
// errors since.
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

  const std::string path_;
  const bool verbose_;
  std::mutex mutex_;
  nlohmann::json graphs_ = nlohmann::json::array();
  nlohmann::json errors_ = nlohmann::json::array();
};

}  // namespace halyard::tflite
