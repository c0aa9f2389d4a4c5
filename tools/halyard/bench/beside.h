// What bench/peers has measured of other runtimes, to be shown beside Halyard's figures.
// Thread safety: a value. Ownership: owns what is read.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "halyard/driver/status.h"

namespace halyard::cli {

class Beside {
 public:
  // Nothing beside.
  Beside() = default;
  // The JSON of bench/peers/run --json. BAD_DATA for what is none.
  static Result<Beside> load(const std::string& path);
  static Result<Beside> parse(const std::string& text);

  // "LiteRT, 2 threads" and the like, of those that have measured at least one model, LiteRT first.
  const std::vector<std::string>& runtimes() const { return runtimes_; }
  // Milliseconds, with the greatest number of threads that was measured.
  std::optional<double> latency(const std::string& model, const std::string& runtime) const;
  std::optional<double> top1(const std::string& model) const;  // LiteRT's

 private:
  std::vector<std::string> runtimes_;
  std::map<std::string, std::map<std::string, double>> latencies_;  // by model and runtime
  std::map<std::string, double> top1_;
};

}  // namespace halyard::cli
