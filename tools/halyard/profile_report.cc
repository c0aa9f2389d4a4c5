#include "tools/halyard/profile_report.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <vector>

#include "tools/halyard/terminal.h"
#include "tools/halyard/text_table.h"

namespace halyard::cli {
namespace {

using Json = nlohmann::json;

std::string durationOrDash(const Json& nanoseconds) {
  if (nanoseconds.is_null()) return "-";
  const double ns = nanoseconds.get<double>();
  if (ns >= 1e9) return fmt::format("{:.3g} s", ns / 1e9);
  if (ns >= 1e6) return fmt::format("{:.3g} ms", ns / 1e6);
  return fmt::format("{:.3g} us", ns / 1e3);
}

// "4.2 GFLOP/s": an amount, divided by a time in nanoseconds.
std::string rateText(const Json& amount, const Json& nanoseconds, std::string_view unit) {
  if (amount.is_null() || nanoseconds.is_null() || nanoseconds.get<double>() <= 0) return "-";
  return fmt::format("{:.3g} {}", amount.get<double>() / nanoseconds.get<double>(), unit);
}

std::string placeText(const Json& entry) {
  const std::string device = printableMember(entry, "device");
  if (entry.at("process").is_null()) return device;
  return fmt::format("{} ({})", device, entry.at("process").get<int64_t>());
}

class ProfileText {
 public:
  ProfileText(const Json& document, const ProfileReportOptions& options)
      : document_(document), options_(options) {}

  std::string text() { return operations() + partitions() + phases() + remarks(); }

 private:
  std::string operations() const {
    std::vector<const Json*> chosen;
    for (const Json& each : document_.at("operations")) chosen.push_back(&each);
    const size_t all = chosen.size();
    const auto unmeasured = std::ranges::count_if(
        chosen, [](const Json* each) { return each->at("total_ns").is_null(); });
    if (!options_.everyOperation) {
      std::ranges::stable_sort(chosen, [](const Json* a, const Json* b) {
        return a->value("total_ns", Json(0)).is_null() ? false
               : b->at("total_ns").is_null()
                   ? true
                   : a->at("total_ns").get<double>() > b->at("total_ns").get<double>();
      });
      if (chosen.size() > options_.mostOperations) chosen.resize(options_.mostOperations);
    }
    std::vector<TableRow> rows = {
        {"OPERATION", "DEVICE (PROCESS)", "COUNT", "MEDIAN", "SHARE", "COMPUTES", "MOVES"}};
    for (const Json* each : chosen) {
      const Json& share = each->at("share");
      rows.push_back(
          {fmt::format("#{} {}", each->at("index").get<uint32_t>(), printableMember(*each, "type")),
           placeText(*each), fmt::format("{}", each->at("count").get<uint64_t>()),
           durationOrDash(each->at("median_ns")),
           share.is_null() ? "-" : fmt::format("{:.1f} %", 100 * share.get<double>()),
           rateText(each->at("flop"), each->at("median_ns"), "GFLOP/s"),
           rateText(each->at("bytes"), each->at("median_ns"), "GB/s")});
    }
    std::string text = "\n" + alignedRows(rows);
    if (chosen.size() < all) {
      text += fmt::format("and {} more (--all)\n", all - chosen.size());
    }
    if (unmeasured > 0) {
      text += fmt::format(
          "{} of {} operations have no times of their own: their devices do not "
          "mark operations, or they have not run\n",
          unmeasured, all);
    }
    return text;
  }

  std::string partitions() const {
    std::vector<TableRow> rows = {{"PARTITION", "DEVICE (PROCESS)", "OPERATIONS", "COUNT", "CALL",
                                   "DEVICE WORKS", "ITS OPERATIONS", "WAY THERE AND BACK"}};
    for (const Json& each : document_.at("partitions")) {
      rows.push_back({fmt::format("{}", each.at("index").get<size_t>()), placeText(each),
                      fmt::format("{}", each.at("operations").get<size_t>()),
                      fmt::format("{}", each.at("count").get<uint64_t>()),
                      durationOrDash(each.at("median_ns")),
                      durationOrDash(each.at("device_median_ns")),
                      durationOrDash(each.at("operations_median_ns")),
                      durationOrDash(each.at("overhead_median_ns"))});
    }
    return "\nmedians of an execution\n" + alignedRows(rows);
  }

  using Columns = std::array<double, 9>;

  // Initialisation, preparation, compilation, I/O, compute, results, execution, termination, total.
  static Columns columnsOf(const Json& layer) {
    const auto at = [&](const char* phase) {
      const auto it = layer.find(phase);
      return it == layer.end() ? 0.0 : it->at("self_ns").get<double>() / 1e6;
    };
    const double io = at("PIO");
    const double results = at("PR");
    const double execution = at("PE");
    Columns columns = {at("PI"), at("PP"),  at("PC"), io, execution - io - results,
                       results,  execution, at("PT"), 0};
    columns[8] = columns[0] + columns[1] + columns[2] + execution + columns[7];
    return columns;
  }

  static TableRow rowOf(std::string name, const Columns& columns) {
    TableRow row = {std::move(name)};
    for (const double value : columns) {
      std::string text = fmt::format("{:.2f}", value);
      row.push_back(text == "0.00" || text == "-0.00" ? "-" : std::move(text));
    }
    return row;
  }

  std::string phases() const {
    constexpr std::array<std::pair<const char*, const char*>, 5> kLayers = {
        {{"LA", "application"}, {"LR", "runtime"}, {"LI", "IPC"}, {"LD", "driver"}, {"LC", "CPU"}}};
    std::string text;
    for (const Json& run : document_.at("phases")) {
      std::vector<TableRow> rows = {{"MILLISECONDS", "INIT", "PREPARE", "COMPILE", "I/O", "COMPUTE",
                                     "RESULTS", "EXECUTION", "TERMINATE", "TOTAL"}};
      Columns sum = {};
      for (const auto& [code, name] : kLayers) {
        const auto layer = run.at("layers").find(code);
        const bool isThere = layer != run.at("layers").end();
        if (!isThere && std::string_view(code) == "LC") continue;
        const Columns columns = isThere ? columnsOf(*layer) : Columns();
        for (size_t i = 0; i < sum.size(); ++i) sum[i] += columns[i];
        rows.push_back(rowOf(name, columns));
      }
      rows.push_back(rowOf("total", sum));
      text +=
          fmt::format("\n{} execution{}, {} of them counted; each layer without those below it\n",
                      run.at("executions").get<uint64_t>(),
                      run.at("executions").get<uint64_t>() == 1 ? "" : "s",
                      run.at("counted_executions").get<uint64_t>());
      text += alignedRows(rows);
    }
    return text;
  }

  std::string remarks() const {
    std::string text;
    for (const Json& process : document_.at("processes")) {
      const std::string name = fmt::format("{} ({})", printableMember(process, "name"),
                                           process.at("process").get<int64_t>());
      if (!process.at("problem").is_null()) {
        text += fmt::format("{} recorded nothing: {}\n", name, printableMember(process, "problem"));
      }
      if (const auto lost = process.at("lost").get<uint64_t>(); lost > 0) {
        text += fmt::format("{}: there was no room for {} slices\n", name, lost);
      }
      const auto refused =
          process.at("rejected").get<uint64_t>() + process.at("cut").get<uint64_t>();
      if (refused > 0) {
        text += fmt::format("{}: {} slices contradict the calls and were cut or left out\n", name,
                            refused);
      }
    }
    return text.empty() ? text : "\n" + text;
  }

  const Json& document_;
  const ProfileReportOptions& options_;
};

}  // namespace

Result<std::string> profileReport(std::string_view json, const ProfileReportOptions& options) {
  try {
    const Json document = Json::parse(json);
    return ProfileText(document, options).text();
  } catch (const Json::exception& error) {
    return opFailed("the profile cannot be read: {}", error.what());
  }
}

}  // namespace halyard::cli
