#include "validation/crash/stress.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <random>
#include <span>
#include <thread>

#include "client/session.h"
#include "client/status.h"
#include "halyard/driver/unique_fd.h"
#include "validation/kit/process_figures.h"
#include "validation/random_graphs/generator.h"
#include "workloads/workloads.h"

namespace halyard::validation {
namespace {

using Clock = std::chrono::steady_clock;
using Json = nlohmann::json;
using client::Session;
using ModelPtr = std::shared_ptr<const Model>;

constexpr size_t kSamplesKept = 200'000;
constexpr uint64_t kFewestRounds = 200;  // enough to see a leak
// The rounds that warm up, and the number of rounds in each median: those after the warm-up, and
// the last ones.
constexpr size_t kWarmUpRounds = 20;
constexpr size_t kComparedRounds = 80;

constexpr std::chrono::milliseconds kBesidePause(20);

double medianOf(std::span<double> samples) {
  const auto middle = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2);
  std::nth_element(samples.begin(), middle, samples.end());
  return *middle;
}

// A model with the values of its inputs; omitted ones are empty.
struct StressModel {
  std::string name;
  ModelPtr model;
  std::vector<std::vector<uint8_t>> inputs;
};

// Moves the constants to a file without a name, as if a model file was mapped. No file is left
// behind.
Result<ModelPtr> withMappedConstants(const ModelPtr& model) {
  if (model->operandValues.empty() || !model->pools.empty()) return model;
  const size_t size = model->operandValues.size();
  UniqueFd file(::open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (!file.valid()) file.reset(::memfd_create("constants", MFD_CLOEXEC));
  if (!file.valid() || ::ftruncate(file.get(), static_cast<off_t>(size)) != 0) {
    return errnoStatus(ResultCode::OP_FAILED, errno, "making a file for constants");
  }
  for (size_t done = 0; done < size;) {
    const ssize_t count = ::pwrite(file.get(), model->operandValues.data() + done, size - done,
                                   static_cast<off_t>(done));
    if (count <= 0) return errnoStatus(ResultCode::OP_FAILED, errno, "writing constants");
    done += static_cast<size_t>(count);
  }
  auto mapped = std::make_shared<Model>(*model);
  HALYARD_ASSIGN_OR_RETURN(SharedMemoryPtr pool,
                           SharedMemory::fromFd(size, PROT_READ, file.get(), 0));
  mapped->pools.push_back(std::move(pool));
  const auto move = [](Subgraph& subgraph) {
    for (Operand& operand : subgraph.operands) {
      if (operand.lifetime == Lifetime::CONSTANT_COPY) {
        operand.lifetime = Lifetime::CONSTANT_REFERENCE;
      }
    }
  };
  move(mapped->main);
  for (Subgraph& subgraph : mapped->referenced) move(subgraph);
  mapped->operandValues.clear();
  return ModelPtr(std::move(mapped));
}

// Zeroes, which are valid inputs of every workload.
std::vector<uint8_t> plainInput(const Operand& operand) {
  return std::vector<uint8_t>(knownByteSize(operand.type, operand.dimensions).value_or(0));
}

Result<StressModel> workload(const std::string& name) {
  const workloads::Workload* const found = workloads::findWorkload(name);
  if (found == nullptr) return badData("no workload '{}'", name);
  StressModel made{name, found->make(), {}};
  for (const uint32_t index : made.model->main.inputIndexes) {
    made.inputs.push_back(plainInput(made.model->main.operands[index]));
  }
  return made;
}

Result<StressModel> randomModel(const std::string& name, size_t operations, uint64_t seed) {
  static const std::vector<random_graphs::Choice> choices = random_graphs::allChoices();
  random_graphs::GraphOptions options;
  options.seed = seed;
  options.operations = operations;
  options.choices = choices;
  HALYARD_ASSIGN_OR_RETURN(conformance::VectorCase graph, random_graphs::generateGraph(options));
  StressModel made{fmt::format("{} of seed {}", name, seed),
                   std::make_shared<const Model>(std::move(graph.model)),
                   {}};
  for (const auto& input : graph.inputs) made.inputs.push_back(input.bytes);
  return made;
}

class Stress {
 public:
  explicit Stress(const StressPlan& plan) : plan_(plan) {}

  StressResult run() {
    const Status prepared = prepare();
    if (!prepared.ok()) {
      result_.failure = prepared.toString();
      return result_;
    }
    if (models_.empty() && randomOperations_ == 0) return result_;
    if (plan_.anew && !models_.empty()) {
      if (const Status status = measureGrowth(); !status.ok()) fail(status.toString());
      return result_;
    }
    end_ = Clock::now() + plan_.duration;
    std::vector<std::jthread> threads;
    for (unsigned i = 0; i < plan_.threads; ++i) threads.emplace_back([this, i] { work(i); });
    if (!beside_.empty()) threads.emplace_back([this] { compileBeside(); });
    threads.clear();
    if (!samples_.empty()) {
      result_.meanMilliseconds = std::accumulate(samples_.begin(), samples_.end(), 0.0) /
                                 static_cast<double>(samples_.size());
    }
    return result_;
  }

 private:
  Status prepare() {
    ::setenv("HALYARD_DRIVER_FILES", plan_.manifest.c_str(), 1);
    HALYARD_ASSIGN_OR_RETURN(const std::vector<client::Device> devices, client::allDevices());
    for (const client::Device& device : devices) {
      if (device.name == plan_.device) device_ = device.handle;
    }
    if (device_ == nullptr) return badData("the runtime has no device '{}'", plan_.device);
    constexpr std::string_view kRandom = "random/";
    for (const std::string& name : plan_.models) {
      if (name.starts_with(kRandom)) {
        const char* const end = name.data() + name.size();
        if (std::from_chars(name.data() + kRandom.size(), end, randomOperations_).ptr != end ||
            randomOperations_ == 0) {
          return badData("model '{}' is not random/OPERATIONS", name);
        }
        continue;
      }
      HALYARD_ASSIGN_OR_RETURN(StressModel model, workload(name));
      HALYARD_RETURN_IF_ERROR(addIfSupported(std::move(model), &models_));
    }
    for (const std::string& name : plan_.beside) {
      HALYARD_ASSIGN_OR_RETURN(StressModel model, workload(name));
      HALYARD_RETURN_IF_ERROR(addIfSupported(std::move(model), &beside_));
    }
    return okStatus();
  }

  Status addIfSupported(StressModel model, std::vector<StressModel>* models) {
    HALYARD_ASSIGN_OR_RETURN(const bool supported, isSupported(model));
    if (!supported) {
      ++result_.unsupported;
      return okStatus();
    }
    if (plan_.mapped) {
      HALYARD_ASSIGN_OR_RETURN(model.model, withMappedConstants(model.model));
    }
    models->push_back(std::move(model));
    return okStatus();
  }

  Result<bool> isSupported(const StressModel& model) const {
    HALYARD_ASSIGN_OR_RETURN(const auto session, client::Session::create(model.model));
    HALYARD_ASSIGN_OR_RETURN(const std::vector<bool> supported,
                             session->supportedOperations(device_));
    return std::all_of(supported.begin(), supported.end(), [](bool one) { return one; });
  }

  // All 0 when the driver has no process of its own.
  Result<ProcessFigures> driversFigures() const {
    HALYARD_ASSIGN_OR_RETURN(const int64_t process, client::driverProcessId(device_));
    if (process == 0) return ProcessFigures();
    return figuresOf(static_cast<pid_t>(process));
  }
  // Runs rounds for half of the time, at least kFewestRounds, and then the same number again.
  Status measureGrowth() {
    const auto half = Clock::now() + plan_.duration / 2;
    uint64_t rounds = 0;
    for (; rounds < kFewestRounds || Clock::now() < half; ++rounds) {
      HALYARD_RETURN_IF_ERROR(roundAnew(rounds));
    }
    HALYARD_ASSIGN_OR_RETURN(const ProcessFigures before, driversFigures());
    for (uint64_t i = 0; i < rounds; ++i) HALYARD_RETURN_IF_ERROR(roundAnew(i));
    HALYARD_ASSIGN_OR_RETURN(const ProcessFigures after, driversFigures());
    const auto more = [](size_t now, size_t then) {
      return static_cast<int64_t>(now) - static_cast<int64_t>(then);
    };
    result_.moreBytes = more(after.memoryBytes, before.memoryBytes);
    result_.moreDescriptors = more(after.descriptors, before.descriptors);
    result_.moreThreads = more(after.threads, before.threads);
    result_.earlyMilliseconds =
        medianOf(std::span(samples_).subspan(kWarmUpRounds, kComparedRounds));
    result_.lateMilliseconds = medianOf(std::span(samples_).last(kComparedRounds));
    return okStatus();
  }
  Status roundAnew(uint64_t round) {
    const StressModel& model = models_[round % models_.size()];
    return timed(model, [&] { return compileAndExecute(model); });
  }

  void work(unsigned thread) {
    std::mt19937_64 random(plan_.seed * 1009 + thread);
    // The sessions of this thread. Rounds that only execute reuse them.
    std::map<size_t, std::unique_ptr<client::Session>> sessions;
    // At least one round, even on a slow machine.
    uint64_t round = thread;
    do {
      Status status = randomOperations_ != 0 ? randomRound(random())
                                             : knownRound(round % models_.size(), sessions);
      if (!status.ok()) return fail(status.toString());
      if (plan_.pause.count() > 0) std::this_thread::sleep_for(plan_.pause);
      ++round;
    } while (Clock::now() < end_ && !failed_);
  }

  void compileBeside() {
    for (size_t i = 0; Clock::now() < end_ && !failed_; ++i) {
      const StressModel& model = beside_[i % beside_.size()];
      if (Status status = compiled(model).takeStatus(); !status.ok()) {
        return fail(status.annotate(model.name).toString());
      }
      std::this_thread::sleep_for(kBesidePause);
    }
  }

  Status knownRound(size_t index, std::map<size_t, std::unique_ptr<client::Session>>& sessions) {
    const StressModel& model = models_[index];
    if (plan_.compileOnly) return timed(model, [&] { return compiled(model).takeStatus(); });
    std::unique_ptr<client::Session>& session = sessions[index];
    if (session == nullptr) {
      HALYARD_ASSIGN_OR_RETURN(session, compiled(model), "{}", model.name);
    }
    return timed(model, [&] { return execute(*session, model); });
  }

  // Models that the device does not take do not count as rounds.
  Status randomRound(uint64_t seed) {
    auto model = randomModel("random", randomOperations_, seed);
    if (!model.ok()) return okStatus();
    HALYARD_ASSIGN_OR_RETURN(const bool supported, isSupported(model.value()), "{}",
                             model.value().name);
    if (!supported) {
      const std::lock_guard lock(mutex_);
      ++result_.unsupported;
      return okStatus();
    }
    return timed(model.value(), [&] {
      return plan_.compileOnly ? compiled(model.value()).takeStatus()
                               : compileAndExecute(model.value());
    });
  }

  Status compileAndExecute(const StressModel& model) const {
    HALYARD_ASSIGN_OR_RETURN(const auto session, compiled(model));
    return execute(*session, model);
  }

  Result<std::unique_ptr<client::Session>> compiled(const StressModel& model) const {
    HALYARD_ASSIGN_OR_RETURN(std::unique_ptr<client::Session> session,
                             client::Session::create(model.model));
    HALYARD_RETURN_IF_ERROR(session->compile(device_), "compiling");
    return session;
  }

  static Status execute(const client::Session& session, const StressModel& model) {
    std::vector<client::Input> inputs;
    for (const std::vector<uint8_t>& bytes : model.inputs)
      inputs.push_back({bytes, {}, bytes.empty()});
    return session.execute(inputs).takeStatus();
  }

  template <typename Work>
  Status timed(const StressModel& model, Work round) {
    const auto start = Clock::now();
    Status status = round();
    if (!status.ok()) return status.annotate(model.name);
    const double took = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
    const std::lock_guard lock(mutex_);
    ++result_.rounds;
    if (samples_.size() < kSamplesKept) samples_.push_back(took);
    return okStatus();
  }

  void fail(std::string text) {
    const std::lock_guard lock(mutex_);
    if (result_.failure.empty()) result_.failure = std::move(text);
    failed_ = true;
  }

  const StressPlan& plan_;
  Clock::time_point end_;
  const ANeuralNetworksDevice* device_ = nullptr;
  std::vector<StressModel> models_;
  std::vector<StressModel> beside_;
  size_t randomOperations_ = 0;
  std::atomic<bool> failed_ = false;
  std::mutex mutex_;
  StressResult result_;
  std::vector<double> samples_;
};

void killAtRandom(const StressPlan& plan) {
  std::random_device device;
  std::mt19937 random(device());
  if (random() % 100 >= plan.killPercent) return;
  const auto when = std::chrono::milliseconds(
      random() % static_cast<uint64_t>(std::max<int64_t>(1, plan.duration.count())));
  std::thread([when] {
    std::this_thread::sleep_for(when);
    ::kill(::getpid(), SIGKILL);
  }).detach();
}

}  // namespace

StressResult runStress(const StressPlan& plan) {
  if (plan.killPercent > 0) killAtRandom(plan);
  return Stress(plan).run();
}

std::string StressPlan::toJson() const {
  return Json{{"manifest", manifest},
              {"device", device},
              {"models", models},
              {"threads", threads},
              {"ms", duration.count()},
              {"compile_only", compileOnly},
              {"mapped", mapped},
              {"anew", anew},
              {"pause_ms", pause.count()},
              {"seed", seed},
              {"kill_percent", killPercent},
              {"beside", beside}}
      .dump();
}

Result<StressPlan> StressPlan::fromJson(const std::string& text) {
  const Json json = Json::parse(text, nullptr, false);
  try {
    StressPlan plan;
    plan.manifest = json.at("manifest");
    plan.device = json.at("device");
    plan.models = json.at("models").get<std::vector<std::string>>();
    plan.threads = json.at("threads");
    plan.duration = std::chrono::milliseconds(json.at("ms").get<int64_t>());
    plan.compileOnly = json.at("compile_only");
    plan.mapped = json.at("mapped");
    plan.beside = json.at("beside").get<std::vector<std::string>>();
    plan.anew = json.at("anew");
    plan.pause = std::chrono::milliseconds(json.at("pause_ms").get<int64_t>());
    plan.seed = json.at("seed");
    plan.killPercent = json.at("kill_percent");
    return plan;
  } catch (const Json::exception& error) {
    return badData("the plan of a client is not right: {}", error.what());
  }
}

std::string StressResult::toJson() const {
  return Json{{"rounds", rounds},
              {"unsupported", unsupported},
              {"mean_ms", meanMilliseconds},
              {"more_bytes", moreBytes},
              {"more_descriptors", moreDescriptors},
              {"more_threads", moreThreads},
              {"early_ms", earlyMilliseconds},
              {"late_ms", lateMilliseconds},
              {"failure", failure}}
      .dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<StressResult> StressResult::fromJson(const std::string& text) {
  const Json json = Json::parse(text, nullptr, false);
  try {
    StressResult result;
    result.rounds = json.at("rounds");
    result.unsupported = json.at("unsupported");
    result.meanMilliseconds = json.at("mean_ms");
    result.moreBytes = json.at("more_bytes");
    result.moreDescriptors = json.at("more_descriptors");
    result.moreThreads = json.at("more_threads");
    result.earlyMilliseconds = json.at("early_ms");
    result.lateMilliseconds = json.at("late_ms");
    result.failure = json.at("failure");
    return result;
  } catch (const Json::exception& error) {
    return badData("the result of a client is not right: {}", error.what());
  }
}

}  // namespace halyard::validation
