// Figures of other runtimes, measured by bench/peers and shown beside Halyard's.
// Thread safety: a value. Ownership: owns the figures that it read.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "halyard/driver/status.h"

namespace halyard::cli {

class Beside {
 public:
  // No other runtime.
  Beside() = default;
  // Reads the JSON of bench/peers/run --json. BAD_DATA when the text is not that document.
  static Result<Beside> load(const std::string& path);
  static Result<Beside> parse(const std::string& text);

  // Names such as "LiteRT, 2 threads", of runtimes that measured at least one model. LiteRT is
  // first.
  const std::vector<std::string>& runtimes() const { return runtimes_; }
  // Milliseconds, with the greatest number of threads in the figures.
  std::optional<double> latency(const std::string& model, const std::string& runtime) const;
  std::optional<double> top1(const std::string& model) const;  // of LiteRT

 private:
  std::vector<std::string> runtimes_;
  std::map<std::string, std::map<std::string, double>> latencies_;  // by model and runtime
  std::map<std::string, double> top1_;
};

}  // namespace halyard::cli
