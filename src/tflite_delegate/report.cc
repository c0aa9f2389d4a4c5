#include "tflite_delegate/report.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>

namespace halyard::tflite {
namespace {

nlohmann::json nodeList(const LiveGraph& graph) {
  nlohmann::json nodes = nlohmann::json::array();
  for (const LiveNode& node : graph.nodes) nodes.push_back(node.index);
  return nodes;
}

// A rename would put a file in the place of a device, a pipe or a link.
bool isReplaceable(const std::string& path) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::symlink_status(path, error);
  return !std::filesystem::exists(status) || std::filesystem::is_regular_file(status);
}

}  // namespace

size_t Report::addGraph(const Selection& selection) {
  nlohmann::json partitions = nlohmann::json::array();
  size_t taken = 0;
  for (const Partition& partition : selection.partitions) {
    taken += partition.graph.nodes.size();
    partitions.push_back({{"nodes", nodeList(partition.graph)},
                          {"inputs", partition.graph.inputs},
                          {"outputs", partition.graph.outputs}});
  }
  nlohmann::json refused = nlohmann::json::array();
  for (const RefusedNode& node : selection.refused) {
    refused.push_back(
        {{"node", node.node}, {"operator", node.operatorName}, {"reason", node.reason}});
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  const size_t number = graphCount_++;
  say(fmt::format("graph {}: {} of {} nodes in {} partitions", number, taken,
                  taken + selection.refused.size(), selection.partitions.size()));
  for (const RefusedNode& node : selection.refused) {
    say(fmt::format("graph {}: node {} {} stays with the interpreter: {}", number, node.node,
                    node.operatorName, node.reason));
  }
  append(graphs_, {{"partitions", std::move(partitions)},
                   {"refused", std::move(refused)},
                   {"constants_mapped", selection.model.pool() != nullptr},
                   {"compilations", nlohmann::json::array()}});
  write();
  return number;
}

void Report::addError(const Status& status) {
  const std::lock_guard<std::mutex> lock(mutex_);
  say(status.toString());
  append(errors_, status.toString());
  write();
}

void Report::addCompilation(size_t graph, const LiveGraph& nodes, const CompiledGraph& compiled) {
  if (path_.empty() && !verbose_) return;
  const Result<std::string> text = compiled.report();
  nlohmann::json report;
  if (text.ok()) report = nlohmann::json::parse(*text, nullptr, false);
  const std::lock_guard<std::mutex> lock(mutex_);
  if (report.is_object()) {
    for (const auto& event : report.value("events", nlohmann::json::array())) {
      say(fmt::format("graph {}: {}", graph, event.dump()));
    }
  }
  if (graph >= graphs_.size()) return;
  append(graphs_[graph]["compilations"], {{"nodes", nodeList(nodes)}, {"report", report}});
  write();
}

void Report::append(nlohmann::json& list, nlohmann::json entry) {
  if (path_.empty()) return;
  if (list.size() < kMostEntries) {
    list.push_back(std::move(entry));
  } else {
    ++leftOut_;
  }
}

void Report::say(const std::string& line) const {
  if (!verbose_) return;
  const std::string text = "halyard delegate: " + line + "\n";
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
}

void Report::write() {
  if (path_.empty()) return;
  const nlohmann::json document = {{"version", 1},
                                   {"process", ::getpid()},
                                   {"graphs", graphs_},
                                   {"errors", errors_},
                                   {"left_out", leftOut_}};
  // Another process may read the report at any time.
  const bool isRenamed = isReplaceable(path_);
  const std::string written = isRenamed ? fmt::format("{}.{}.tmp", path_, ::getpid()) : path_;
  std::ofstream file(written);
  file << document.dump(1) << '\n';
  file.close();
  if (file && (!isRenamed || std::rename(written.c_str(), path_.c_str()) == 0)) return;
  fmt::print(stderr, "halyard delegate: the report {} cannot be written: {}\n", path_,
             std::strerror(errno));
  if (isRenamed) std::remove(written.c_str());
}

}  // namespace halyard::tflite
