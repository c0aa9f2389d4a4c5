#include "serve/metrics/metrics.h"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <sstream>
#include <vector>

namespace halyard::serve {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using Models = std::vector<std::shared_ptr<ServedModel>>;

std::vector<ClientMetric::Label> labelsOf(const ServedModel& model) {
  return {{"model", model.name()}, {"version", model.version()}};
}

// Collects the samples of one metric over all models.
class Family {
 public:
  Family(std::string name, std::string help, MetricType type) {
    family_.name = std::move(name);
    family_.help = std::move(help);
    family_.type = type;
  }

  void add(std::vector<ClientMetric::Label> labels, double value) {
    ClientMetric& metric = family_.metric.emplace_back();
    metric.label = std::move(labels);
    if (family_.type == MetricType::Gauge) {
      metric.gauge.value = value;
    } else {
      metric.counter.value = value;
    }
  }
  ClientMetric& addMetric(std::vector<ClientMetric::Label> labels) {
    ClientMetric& metric = family_.metric.emplace_back();
    metric.label = std::move(labels);
    return metric;
  }
  MetricFamily take() { return std::move(family_); }

 private:
  MetricFamily family_;
};

struct Sample {
  const ServedModel* model;
  ModelStatistics sums;
  Scheduler::Load load;
};

// A counter or gauge that is one number of each model.
struct Row {
  const char* name;
  const char* tritonName;  // null: Triton has no such metric
  const char* help;
  MetricType type;
  double (*value)(const Sample&);
};

double seconds(const DurationSum& sum) { return static_cast<double>(sum.ns) / 1e9; }

constexpr Row kRows[] = {
    {"halyard_inference_requests_total", "nv_inference_request_success", "Requests with an answer",
     MetricType::Counter,
     [](const Sample& s) { return static_cast<double>(s.sums.success.count); }},
    {"halyard_inferences_total", "nv_inference_count", "Inferences; a batch of n counts n",
     MetricType::Counter, [](const Sample& s) { return static_cast<double>(s.sums.inferences); }},
    {"halyard_executions_total", "nv_inference_exec_count", "Executions of the model",
     MetricType::Counter, [](const Sample& s) { return static_cast<double>(s.sums.executions); }},
    {"halyard_recoveries_total", nullptr, "Compilations after the death of a driver",
     MetricType::Counter, [](const Sample& s) { return static_cast<double>(s.sums.recoveries); }},
    {"halyard_queue_length", "nv_inference_pending_request_count", "Requests that wait",
     MetricType::Gauge, [](const Sample& s) { return static_cast<double>(s.load.queued); }},
    {"halyard_instances_running", nullptr, "Instances that compute", MetricType::Gauge,
     [](const Sample& s) { return static_cast<double>(s.load.running); }},
    {"halyard_instances", nullptr, "Instances of the model", MetricType::Gauge,
     [](const Sample& s) { return static_cast<double>(s.load.instances); }},
    {"halyard_success_seconds_total", "nv_inference_request_duration_us",
     "Time from arrival to answer, of successes", MetricType::Counter,
     [](const Sample& s) { return seconds(s.sums.success); }},
    {"halyard_queue_seconds_total", "nv_inference_queue_duration_us", "Time in the queue",
     MetricType::Counter, [](const Sample& s) { return seconds(s.sums.queue); }},
    {"halyard_input_seconds_total", "nv_inference_compute_input_duration_us",
     "Time to copy inputs, for each request", MetricType::Counter,
     [](const Sample& s) { return seconds(s.sums.input); }},
    {"halyard_compute_seconds_total", "nv_inference_compute_infer_duration_us",
     "Time to compute, for each request", MetricType::Counter,
     [](const Sample& s) { return seconds(s.sums.infer); }},
    {"halyard_output_seconds_total", "nv_inference_compute_output_duration_us",
     "Time to copy outputs, for each request", MetricType::Counter,
     [](const Sample& s) { return seconds(s.sums.output); }},
};

// Triton counts microseconds.
double tritonScale(const Row& row) {
  return std::string_view(row.tritonName).ends_with("_us") ? 1e6 : 1;
}

MetricFamily failuresOf(const std::vector<Sample>& samples) {
  Family family("halyard_inference_failures_total", "Failed requests by reason",
                MetricType::Counter);
  for (const Sample& sample : samples) {
    for (size_t fault = 1; fault < kFaultCount; ++fault) {
      auto labels = labelsOf(*sample.model);
      labels.push_back({"reason", std::string(faultName(static_cast<Fault>(fault)))});
      family.add(std::move(labels), static_cast<double>(sample.sums.failures[fault]));
    }
  }
  return family.take();
}

MetricFamily tritonFailuresOf(const std::vector<Sample>& samples) {
  Family family("nv_inference_request_failure", "Failed requests by reason", MetricType::Counter);
  const auto count = [](const Sample& sample, std::initializer_list<Fault> faults) {
    uint64_t sum = 0;
    for (const Fault fault : faults) sum += sample.sums.failures[static_cast<size_t>(fault)];
    return static_cast<double>(sum);
  };
  for (const Sample& sample : samples) {
    const auto add = [&](const char* reason, double value) {
      auto labels = labelsOf(*sample.model);
      labels.push_back({"reason", reason});
      family.add(std::move(labels), value);
    };
    add("REJECTED", count(sample, {Fault::OVERLOADED, Fault::UNAVAILABLE, Fault::LATE}));
    add("CANCELED", count(sample, {Fault::CANCELLED}));
    add("BACKEND", count(sample, {Fault::INTERNAL}));
    add("OTHER",
        count(sample, {Fault::INVALID, Fault::TOO_LARGE, Fault::UNSUPPORTED, Fault::NOT_FOUND}));
  }
  return family.take();
}

MetricFamily latenciesOf(const std::vector<Sample>& samples) {
  Family family("halyard_request_seconds", "Time from arrival to answer, of successes",
                MetricType::Histogram);
  for (const Sample& sample : samples) {
    ClientMetric& metric = family.addMetric(labelsOf(*sample.model));
    uint64_t below = 0;
    for (size_t i = 0; i < sample.sums.latencies.size(); ++i) {
      below += sample.sums.latencies[i];
      const double bound = i < kLatencyBounds.size() ? static_cast<double>(kLatencyBounds[i]) / 1e6
                                                     : std::numeric_limits<double>::infinity();
      metric.histogram.bucket.push_back({below, bound});
    }
    metric.histogram.sample_count = below;
    metric.histogram.sample_sum = seconds(sample.sums.success);
  }
  return family.take();
}

}  // namespace

std::string metricsText(const Service& service, bool tritonNames) {
  const Models models = service.repository().ready();
  std::vector<Sample> samples;
  for (const auto& model : models) {
    samples.push_back({model.get(), model->statistics(), model->load()});
  }
  std::vector<MetricFamily> families;
  Family server("halyard_requests_in_flight", "Requests of all models without an answer yet",
                MetricType::Gauge);
  server.add({}, static_cast<double>(service.inFlight()));
  families.push_back(server.take());
  for (const Row& row : kRows) {
    Family family(row.name, row.help, row.type);
    for (const Sample& sample : samples) family.add(labelsOf(*sample.model), row.value(sample));
    families.push_back(family.take());
    if (!tritonNames || row.tritonName == nullptr) continue;
    Family triton(row.tritonName, row.help, row.type);
    for (const Sample& sample : samples) {
      triton.add(labelsOf(*sample.model), row.value(sample) * tritonScale(row));
    }
    families.push_back(triton.take());
  }
  families.push_back(failuresOf(samples));
  if (tritonNames) families.push_back(tritonFailuresOf(samples));
  families.push_back(latenciesOf(samples));
  std::ostringstream text;
  prometheus::TextSerializer().Serialize(text, families);
  return text.str();
}

}  // namespace halyard::serve
