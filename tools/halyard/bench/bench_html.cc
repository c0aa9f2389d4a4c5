// The page: charts first, then every figure in a table, then each model.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "report/charts.h"
#include "report/html.h"
#include "report/numbers.h"
#include "tools/halyard/bench/bench_report.h"

namespace halyard::cli {
namespace {

using Json = nlohmann::json;
using report::bytesText;
using report::durationText;
using report::percentText;
using report::text;

constexpr size_t kShownOperations = 12;

// Keeps the order in which the names first appear.
void addOnce(std::vector<std::string>* names, const std::string& name) {
  if (std::ranges::find(*names, name) == names->end()) names->push_back(name);
}

class Page {
 public:
  Page(const Json& document, const Beside& beside)
      : document_(document),
        beside_(beside),
        page_("Benchmark of models on Halyard's devices",
              fmt::format("{}. {}, {} processors. Halyard {}.",
                          document.at("date").get<std::string>(),
                          document.at("machine").get<std::string>(),
                          document.at("peaks").at("processors").get<unsigned>(),
                          document.at("halyard").get<std::string>())) {
    for (const Json& result : document.at("results")) {
      const std::string model = result.at("model");
      const std::string device = result.at("device");
      if (result.contains("error")) continue;
      addOnce(&models_, model);
      addOnce(&devices_, device);
      measured_[{model, device}] = &result;
    }
  }

  std::string build() {
    summary();
    latencyCharts();
    latencyTable();
    accuracySection();
    loadingTable();
    for (const std::string& model : models_) modelSection(model);
    failures();
    explanation();
    return page_.finish();
  }

 private:
  const Json* find(const std::string& model, const std::string& device) const {
    const auto found = measured_.find({model, device});
    return found == measured_.end() ? nullptr : found->second;
  }

  void summary() {
    const Json& peaks = document_.at("peaks");
    const auto rate = [&](const char* field, const char* unit) {
      return fmt::format("{} {}", report::shortNumber(peaks.at(field)), unit);
    };
    page_.figures(
        {{"models", std::to_string(models_.size()), fmt::format("on {} devices", devices_.size())},
         {"float32 peak", rate("float_gflop_per_s", "GFLOP/s"), "all processors"},
         {"8 bit peak", rate("byte_gop_per_s", "GOP/s"), "all processors"},
         {"reading", rate("memory_gb_per_s", "GB/s"), rate("cache_gb_per_s", "GB/s from cache")}});
  }

  // Devices, then other runtimes.
  std::vector<report::Series> latencies() const {
    std::vector<report::Series> all;
    for (const std::string& device : devices_) {
      report::Series series{device, {}, {}};
      for (const std::string& model : models_) {
        const Json* const result = find(model, device);
        const auto figure = [&](const char* name) {
          return result == nullptr
                     ? std::nullopt
                     : std::optional<double>(result->at("latency_ms").at(name).get<double>());
        };
        series.values.push_back(figure("median"));
        series.upper.push_back(figure("p90"));
      }
      all.push_back(std::move(series));
    }
    for (const std::string& runtime : beside_.runtimes()) {
      report::Series series{runtime, {}, {}};
      for (const std::string& model : models_) {
        series.values.push_back(beside_.latency(model, runtime));
      }
      if (std::ranges::any_of(series.values, [](const auto& v) { return v.has_value(); })) {
        all.push_back(std::move(series));
      }
    }
    return all;
  }

  void latencyCharts() {
    page_.heading("Latency");
    page_.raw(report::dotChart({"Median time of an execution, with a line to the 90th percentile",
                                models_, latencies(), durationText}));
    if (beside_.runtimes().empty()) return;
    const std::string& other = beside_.runtimes()[0];
    std::vector<report::Series> ratios;
    for (const std::string& device : devices_) {
      report::Series series{device, {}, {}};
      for (const std::string& model : models_) {
        const Json* const result = find(model, device);
        const auto theirs = beside_.latency(model, other);
        series.values.push_back(
            result != nullptr && theirs
                ? std::optional(result->at("latency_ms").at("median").get<double>() / *theirs)
                : std::nullopt);
      }
      ratios.push_back(std::move(series));
    }
    page_.raw(report::barChart(
        {fmt::format("Time relative to {}: below 1 is faster", other), models_, ratios}, 1.0));
  }

  void latencyTable() {
    report::Table table{{{"Model"},
                         {"Device"},
                         {"Median", true},
                         {"90 %", true},
                         {"99 %", true},
                         {"Least", true},
                         {"Executions", true},
                         {"Per second", true},
                         {"Of peak", true}},
                        {}};
    for (const auto& runtime : beside_.runtimes()) table.columns.push_back({runtime, true});
    forEach([&](const std::string& model, const std::string& device, const Json& result) {
      const Json& latency = result.at("latency_ms");
      std::vector<std::string> row = {report::unbroken(model), report::unbroken(device)};
      for (const char* name : {"median", "p90", "p99", "least"}) {
        row.push_back(text(durationText(latency.at(name))));
      }
      row.push_back(std::to_string(latency.at("count").get<size_t>()));
      row.push_back(report::shortNumber(result.at("throughput").at("per_second")));
      row.push_back(result.contains("efficiency") ? percentText(result["efficiency"].at("share"))
                                                  : "-");
      for (const auto& runtime : beside_.runtimes()) {
        const auto theirs = beside_.latency(model, runtime);
        row.push_back(theirs ? text(durationText(*theirs)) : "-");
      }
      table.rows.push_back(std::move(row));
    });
    page_.table(table);
  }

  void accuracySection() {
    report::Table table{
        {{"Model"}, {"Device"}, {"Data"}, {"Images", true}, {"Top-1", true}, {"Top-5", true}}, {}};
    const bool hasOthers = !beside_.runtimes().empty();
    if (hasOthers) table.columns.push_back({"LiteRT's top-1", true});
    forEach([&](const std::string& model, const std::string& device, const Json& result) {
      const Json& accuracy = result.at("accuracy");
      if (accuracy.is_null()) return;
      std::vector<std::string> row = {report::unbroken(model),
                                      report::unbroken(device),
                                      text(accuracy.at("data").get<std::string>()),
                                      std::to_string(accuracy.at("images").get<size_t>()),
                                      exactPercent(accuracy.at("top_1")),
                                      exactPercent(accuracy.at("top_5"))};
      const auto theirs = beside_.top1(model);
      if (hasOthers) row.push_back(theirs ? exactPercent(*theirs) : "-");
      table.rows.push_back(std::move(row));
    });
    if (table.rows.empty()) return;
    page_.heading("Accuracy");
    std::vector<std::string> rows;
    for (const std::string& model : models_) {
      for (const std::string& device : devices_) {
        const Json* const result = find(model, device);
        if (result != nullptr && !result->at("accuracy").is_null()) addOnce(&rows, model);
      }
    }
    std::vector<report::Series> series;
    for (const std::string& device : devices_) {
      report::Series one{device, {}, {}};
      for (const std::string& model : rows) {
        const Json* const result = find(model, device);
        const bool known = result != nullptr && !result->at("accuracy").is_null();
        one.values.push_back(known ? std::optional<double>(result->at("accuracy").at("top_1"))
                                   : std::nullopt);
      }
      series.push_back(std::move(one));
    }
    if (hasOthers) {
      report::Series one{"LiteRT", {}, {}};
      for (const std::string& model : rows) one.values.push_back(beside_.top1(model));
      series.push_back(std::move(one));
    }
    page_.raw(
        report::barChart({"Share of images whose best class is right", rows, series, percentText}));
    page_.table(table);
  }

  static std::string exactPercent(double share) { return fmt::format("{:.2f} %", share * 100); }

  void loadingTable() {
    page_.heading("Loading and memory");
    page_.paragraph(
        "Cold is compiling with an empty cache, warm is from what that has left. Memory is the "
        "most "
        "that was resident at a time.");
    report::Table table{{{"Model"},
                         {"Device"},
                         {"File", true},
                         {"Cold compile", true},
                         {"First execution", true},
                         {"Warm compile", true},
                         {"First execution", true},
                         {"Application", true},
                         {"Driver", true}},
                        {}};
    forEach([&](const std::string& model, const std::string& device, const Json& result) {
      const Json& load = result.at("load_ms");
      const Json& memory = result.at("peak_memory_bytes");
      std::vector<std::string> row = {report::unbroken(model), report::unbroken(device)};
      for (const char* name :
           {"import", "cold_compile", "cold_first", "warm_compile", "warm_first"}) {
        row.push_back(load.contains(name) ? text(durationText(load.at(name))) : "-");
      }
      row.push_back(text(bytesText(memory.at("application"))));
      const double driver = memory.at("driver");
      row.push_back(driver > 0 ? text(bytesText(driver)) : "in the application");
      table.rows.push_back(std::move(row));
    });
    page_.table(table);
  }

  void modelSection(const std::string& model) {
    page_.heading(model);
    for (const std::string& device : devices_) {
      const Json* const result = find(model, device);
      if (result == nullptr) continue;
      page_.subheading(device);
      const Json& latency = result->at("latency_ms");
      const Json& stored = latency.at("histogram");
      const report::Histogram histogram{stored.at("start"), stored.at("step"),
                                        stored.at("counts").get<std::vector<size_t>>()};
      page_.raw(report::histogramChart(
          fmt::format("{} executions by their time", latency.at("count").get<size_t>()), histogram,
          {{"median", latency.at("median")}, {"90 %", latency.at("p90")}}, durationText));
      if (result->contains("operation_times")) operations(result->at("operation_times"));
    }
  }

  void operations(const Json& all) {
    std::vector<const Json*> slowest;
    for (const Json& each : all) {
      if (each.at("median_us").is_number()) slowest.push_back(&each);
    }
    std::ranges::stable_sort(slowest, [](const Json* a, const Json* b) {
      return a->at("median_us").get<double>() > b->at("median_us").get<double>();
    });
    if (slowest.empty()) return;
    const size_t shown = std::min(slowest.size(), kShownOperations);
    report::RowChart chart{
        fmt::format("The {} operations that take longest, and the least that the machine allows",
                    shown),
        {},
        {{"measured", {}, {}}, {"least", {}, {}}},
        [](double us) { return durationText(us / 1e3); }};
    for (size_t i = 0; i < shown; ++i) {
      chart.rows.push_back(nameOf(*slowest[i]));
      chart.series[0].values.push_back(slowest[i]->at("median_us").get<double>());
      chart.series[1].values.push_back(slowest[i]->value("floor_us", 0.0));
    }
    page_.raw(report::barChart(chart));
    page_.beginDetails(fmt::format("All {} operations", all.size()));
    report::Table table{{{"Operation"},
                         {"Device"},
                         {"Result"},
                         {"Median", true},
                         {"Least", true},
                         {"Of peak", true},
                         {"MFLOP", true},
                         {"KiB", true}},
                        {}};
    for (const Json& each : all) {
      const auto number = [&](const char* field, double unit) -> std::string {
        if (!each.contains(field) || !each[field].is_number()) return "-";
        return report::shortNumber(each[field].get<double>() / unit);
      };
      const auto duration = [&](const char* field) -> std::string {
        if (!each.contains(field) || !each[field].is_number()) return "-";
        return text(durationText(each[field].get<double>() / 1e3));
      };
      table.rows.push_back(
          {text(nameOf(each)), text(each.at("device").get<std::string>()),
           text(each.value("output", "")), duration("median_us"), duration("floor_us"),
           each.contains("share_of_peak") ? percentText(each["share_of_peak"]) : "-",
           number("flop", 1e6), number("bytes", 1024)});
    }
    page_.table(table);
    page_.endDetails();
  }

  static std::string nameOf(const Json& operation) {
    return fmt::format("#{} {}", operation.at("index").get<size_t>(),
                       operation.at("type").get<std::string>());
  }

  void failures() {
    report::Table table{{{"Model"}, {"Device"}, {""}}, {}};
    for (const Json& result : document_.at("results")) {
      if (!result.contains("error")) continue;
      table.rows.push_back(
          {text(result.at("model").get<std::string>()),
           text(result.at("device").get<std::string>()),
           report::badge(report::Verdict::BAD, result["error"].get<std::string>())});
    }
    if (table.rows.empty()) return;
    page_.heading("Not measured");
    page_.table(table);
  }

  void explanation() {
    page_.heading("How it was measured");
    page_.paragraph(fmt::format(
        "Each model on each device in a process of its own, by NNAPI's calls ({}), with random "
        "inputs, {} s to warm up and {} s that count. Per second: as many threads as processors, "
        "each "
        "with an execution of its own. The least time of an operation is that of its arithmetic at "
        "the machine's peak, or of reading and writing its operands, whichever is more; the peaks "
        "are "
        "loops in registers and over memory in the same run. Other runtimes: bench/peers, with "
        "Halyard in turns.",
        document_.at("mode").get<std::string>(),
        report::shortNumber(document_.at("warm_up_seconds")),
        report::shortNumber(document_.at("seconds"))));
  }

  template <typename F>
  void forEach(F f) const {
    for (const std::string& model : models_) {
      for (const std::string& device : devices_) {
        if (const Json* const result = find(model, device)) f(model, device, *result);
      }
    }
  }

  const Json& document_;
  const Beside& beside_;
  report::HtmlPage page_;
  std::vector<std::string> models_;
  std::vector<std::string> devices_;
  std::map<std::pair<std::string, std::string>, const Json*> measured_;
};

}  // namespace

std::string benchHtml(const Json& document, const Beside& beside) {
  return Page(document, beside).build();
}

}  // namespace halyard::cli
