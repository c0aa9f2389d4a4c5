#include "random_models/random_drivers.h"

#include <array>
#include <set>

#include "halyard/driver/nnapi_types.h"

namespace halyard::runtime::random_models {
namespace {

class Maker {
 public:
  explicit Maker(uint32_t number) : random_(number * 40503U + 7) {}

  RandomPersonality make() {
    RandomPersonality made;
    constexpr std::array kVersions = {"1.3", "1.3", "1.3", "1.2", "1.2", "1.1", "1.0"};
    made.version = kVersions[upTo(kVersions.size())];
    // Many drivers run at once, so each computes with one thread.
    made.fields = R"("threads": 1)";
    add(&made, support());
    add(&made, figures());
    if (upTo(6) == 0) add(&made, R"("bursts": false)");
    if (upTo(6) == 0) add(&made, R"("reports_timing": false)");
    if (made.version == "1.3" && upTo(3) == 0) {
      add(&made, fmt::format(R"("feature_level": {})", 4 + upTo(5)));
    }
    if (upTo(6) == 0) add(&made, faults());
    return made;
  }

 private:
  uint32_t upTo(size_t n) { return static_cast<uint32_t>(random_() % n); }
  static void add(RandomPersonality* made, const std::string& field) {
    if (!field.empty()) made->fields += ", " + field;
  }

  // Names of operations, each with a chance of `percent`.
  std::string operations(uint32_t percent) {
    std::string names;
    for (int code = 0; code <= 105; ++code) {
      const auto name = std::string(operationTypeName(static_cast<OperationType>(code)));
      if (name.starts_with("OEM") || upTo(100) >= percent) continue;
      names += fmt::format(R"({}"{}")", names.empty() ? "" : ", ", name);
    }
    return names;
  }

  std::string support() {
    switch (upTo(6)) {
      case 0:
        return "";
      case 1:
        return fmt::format(R"("supports": {{"not_operations": [{}]}})", operations(20));
      case 2:
        return fmt::format(R"("supports": {{"operations": [{}]}})", operations(35));
      case 3:
        return R"("supports": {"deciding_types": ["TENSOR_FLOAT32"]})";
      case 4:
        return R"("supports": {"not_operand_types": ["TENSOR_BOOL8", "TENSOR_INT32"]})";
      default:
        return fmt::format(R"("supports": {{"operations": [{}]}})", operations(75));
    }
  }

  std::string figure() {
    return fmt::format(R"({{"exec_time": {:.3f}, "power_usage": {:.3f}}})", 0.05 + 0.01 * upTo(120),
                       0.05 + 0.01 * upTo(200));
  }
  std::string figures() {
    std::string text = fmt::format(R"("capabilities": {{"default": {})", figure());
    if (upTo(3) == 0) text += fmt::format(R"(, "relaxed_tensor": {})", figure());
    if (upTo(3) == 0) text += fmt::format(R"(, "if": {0}, "while": {0})", figure());
    if (upTo(3) == 0) {
      text += fmt::format(R"(, "operand_types": {{"TENSOR_QUANT8_ASYMM": {}}})", figure());
    }
    return text + "}";
  }

  // Always at the same operation, so that a model meets the same fault each time.
  std::string faults() {
    constexpr std::array kOperations = {"TANH", "MUL", "QUANTIZE", "SELECT", "RESHAPE"};
    constexpr std::array kFaults = {
        R"("at": "prepare", "do": "fail", "text": "no tiles")",
        R"("at": "execute", "do": "fail", "text": "no power")",
        R"("at": "execute", "when": "after_work", "do": "fail", "text": "late")",
        R"("at": "execute", "do": "kill")",
    };
    return fmt::format(R"("faults": [{{"operation": "{}", {}}}])",
                       kOperations[upTo(kOperations.size())], kFaults[upTo(kFaults.size())]);
  }

  std::mt19937 random_;
};

}  // namespace

RandomPersonality randomPersonality(uint32_t number) { return Maker(number).make(); }

const Device& RandomDrivers::driver(uint32_t number) {
  std::unique_ptr<testing::DriverProcesses>& process = started_[number];
  if (process == nullptr) {
    const RandomPersonality personality = randomPersonality(number);
    process = std::make_unique<testing::DriverProcesses>(executable_);
    process->add(fmt::format("random-{}", number), personality.fields, personality.version.c_str());
  }
  return process->manager().devices().front();
}

std::vector<const Device*> RandomDrivers::take(std::mt19937& random) {
  std::set<uint32_t> numbers;
  const size_t count = 1 + random() % 4;
  while (numbers.size() < count) numbers.insert(static_cast<uint32_t>(random() % kPersonalities));
  std::vector<const Device*> devices;
  for (const uint32_t number : numbers) devices.push_back(&driver(number));
  devices.push_back(&cpu());
  return devices;
}

}  // namespace halyard::runtime::random_models
