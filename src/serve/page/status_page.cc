#include "serve/page/status_page.h"

#include <memory>
#include <nlohmann/json.hpp>

#include "client/status.h"
#include "report/html.h"
#include "report/numbers.h"
#include "report/statistics.h"

namespace halyard::serve {
namespace {

using nlohmann::json;
using report::Table;
using report::text;
using Models = std::vector<std::shared_ptr<ServedModel>>;

constexpr size_t kMostEvents = 20;  // of one model

// A field as HTML; "-" if the object lacks it.
std::string fieldOf(const json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end() || found->is_null()) return "-";
  return text(found->is_string() ? found->get<std::string>() : found->dump());
}

std::string microsecondsText(double microseconds) {
  return text(microseconds == 0 ? "-" : report::durationText(microseconds / 1000));
}

uint64_t failuresOf(const ModelStatistics& sums) {
  uint64_t failures = 0;
  for (const uint64_t each : sums.failures) failures += each;
  return failures;
}

std::vector<std::string> rowOf(const ServedModel& model) {
  const ModelStatistics sums = model.statistics();
  const Scheduler::Load load = model.load();
  const double batch = sums.executions == 0 ? 0
                                            : static_cast<double>(sums.inferences) /
                                                  static_cast<double>(sums.executions);
  return {text(model.name()),
          text(model.version()),
          report::badge(report::Verdict::GOOD, "ready"),
          std::to_string(sums.success.count),
          std::to_string(failuresOf(sums)),
          microsecondsText(report::percentileOf(sums.recent, 0.5)),
          microsecondsText(report::percentileOf(sums.recent, 0.99)),
          text(report::shortNumber(batch)),
          fmt::format("{} of {}", load.queued, model.settings().queueLimit),
          fmt::format("{} of {}", load.running, load.instances),
          std::to_string(sums.recoveries)};
}

void addModels(const Service& service, const Models& models, report::HtmlPage& page) {
  Table table{{{"model"},
               {"version"},
               {"state"},
               {"answers", true},
               {"failures", true},
               {"p50", true},
               {"p99", true},
               {"mean batch", true},
               {"queue", true},
               {"instances busy", true},
               {"recoveries", true}},
              {}};
  for (const auto& model : models) table.rows.push_back(rowOf(*model));
  const auto index = service.repository().index(false);
  if (index.ok()) {
    for (const IndexEntry& entry : *index) {
      if (entry.state == "READY") continue;
      table.rows.push_back({text(entry.name), text(entry.version),
                            report::badge(report::Verdict::WARNING, entry.state),
                            text(entry.reason)});
    }
  }
  page.heading("Models");
  page.table(table);
  for (const auto& model : models) {
    if (model->batchRefusal().empty()) continue;
    page.paragraph(fmt::format("{} has no batches: {}", model->name(), model->batchRefusal()));
  }
}

void addDevices(report::HtmlPage& page) {
  const Result<std::string> document = client::devicesJson();
  if (!document.ok()) return;
  const json parsed = json::parse(*document, nullptr, /*allow_exceptions=*/false);
  const auto devices = parsed.is_object() ? parsed.find("devices") : parsed.end();
  if (!parsed.is_object() || devices == parsed.end() || !devices->is_array()) return;
  Table table{{{"device"}, {"type"}, {"version"}, {"process", true}}, {}};
  for (const json& device : *devices) {
    table.rows.push_back({fieldOf(device, "name"), fieldOf(device, "type"),
                          fieldOf(device, "version"), fieldOf(device, "process")});
  }
  page.heading("Devices");
  page.table(table);
}

// The last events of the report: where work went, and why.
void addFallbacks(const Models& models, report::HtmlPage& page) {
  Table table{{{"model"}, {"event"}, {"from"}, {"to"}, {"times", true}, {"reason"}}, {}};
  for (const auto& model : models) {
    const Result<std::string> report = model->report();
    if (!report.ok()) continue;
    const json parsed = json::parse(*report, nullptr, /*allow_exceptions=*/false);
    if (!parsed.is_object() || !parsed.contains("events")) continue;
    const json& events = parsed["events"];
    const size_t first = events.size() > kMostEvents ? events.size() - kMostEvents : 0;
    for (size_t i = events.size(); i-- > first;) {
      const json& event = events[i];
      table.rows.push_back({text(model->name()), fieldOf(event, "kind"), fieldOf(event, "device"),
                            fieldOf(event, "target"), fieldOf(event, "count"),
                            fieldOf(event, "cause")});
    }
  }
  page.heading("Fallbacks");
  if (table.rows.empty()) {
    page.paragraph("All operations run where they were planned.");
  } else {
    page.table(table);
  }
}

}  // namespace

std::string statusPage(const Service& service) {
  const Models models = service.repository().ready();
  report::HtmlPage page("Halyard serve",
                        fmt::format("version {}, {}, {} requests in flight", Service::version(),
                                    service.isReady() ? "ready" : "not ready", service.inFlight()));
  addModels(service, models, page);
  addDevices(page);
  addFallbacks(models, page);
  return page.finish();
}

}  // namespace halyard::serve
