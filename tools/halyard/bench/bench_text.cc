#include <fmt/format.h>

#include <vector>

#include "report/numbers.h"
#include "tools/halyard/bench/bench_report.h"
#include "tools/halyard/terminal.h"
#include "tools/halyard/text_table.h"

namespace halyard::cli {
namespace {

using Json = nlohmann::json;
using report::bytesText;
using report::durationText;

std::string timesText(const Json& result, const Beside& beside) {
  std::string text;
  const std::string model = result.at("model");
  for (const std::string& runtime : beside.runtimes()) {
    const auto latency = beside.latency(model, runtime);
    if (!latency) continue;
    text +=
        fmt::format("{}{} {} (x {:.2f})", text.empty() ? "" : "; ", runtime, durationText(*latency),
                    result.at("latency_ms").at("median").get<double>() / *latency);
  }
  return text;
}

}  // namespace

std::string benchText(const Json& document, const Beside& beside) {
  std::vector<TableRow> rows = {{"MODEL", "DEVICE", "MEDIAN", "P90", "PER S", "COLD", "WARM",
                                 "FIRST", "PEAK MEMORY", "OF PEAK", "TOP-1"}};
  std::string failures;
  std::string others;
  for (const Json& result : document.at("results")) {
    const std::string model = printable(result.at("model").get<std::string>());
    const std::string device = printable(result.at("device").get<std::string>());
    if (result.contains("error")) {
      failures += fmt::format("{} on {}: {}\n", model, device,
                              printable(result["error"].get<std::string>()));
      continue;
    }
    const Json& latency = result.at("latency_ms");
    const Json& load = result.at("load_ms");
    const Json& memory = result.at("peak_memory_bytes");
    const Json& accuracy = result.at("accuracy");
    rows.push_back(
        {model, device, durationText(latency.at("median")), durationText(latency.at("p90")),
         report::shortNumber(result.at("throughput").at("per_second")),
         durationText(load.at("cold_compile")),
         load.contains("warm_compile") ? durationText(load.at("warm_compile")) : "-",
         durationText(load.at("cold_first")),
         bytesText(memory.at("application").get<double>() + memory.at("driver").get<double>()),
         result.contains("efficiency") ? report::percentText(result["efficiency"].at("share"))
                                       : "-",
         accuracy.is_null() ? "-" : report::percentText(accuracy.at("top_1"))});
    const std::string times = timesText(result, beside);
    if (!times.empty()) others += fmt::format("{} on {}: {}\n", model, device, times);
  }
  const Json& peaks = document.at("peaks");
  std::string text = fmt::format(
      "machine  {}, {} processors: {} GFLOP/s, {} G operations/s in 8 bits, {} GB/s from cache, {} "
      "from memory\n\n",
      printable(document.at("machine").get<std::string>()), peaks.at("processors").get<unsigned>(),
      report::shortNumber(peaks.at("float_gflop_per_s")),
      report::shortNumber(peaks.at("byte_gop_per_s")),
      report::shortNumber(peaks.at("cache_gb_per_s")),
      report::shortNumber(peaks.at("memory_gb_per_s")));
  text += alignedRows(rows);
  if (!others.empty()) text += "\n" + others;
  if (!failures.empty()) text += "\nNot measured:\n" + failures;
  return text;
}

}  // namespace halyard::cli
