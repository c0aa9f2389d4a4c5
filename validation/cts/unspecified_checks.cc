// UnspecifiedDimensions: out = TRANSPOSE(ADD(in[A,B], constant[A,1]), permutation omitted). One
// operand's dimensions are known, open or without a rank, in the model and at the execution. The
// expected answers of all calls follow from the rules alone (docs/validation.md), not from the
// runtime.
#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>

#include "base/float16.h"
#include "validation/cts/api_world.h"

namespace halyard::validation {
namespace {

constexpr uint32_t kRight = 2;  // A
constexpr uint32_t kWrong = 3;
constexpr size_t kRegion = 64;  // bytes of a memory

enum class Tested : uint8_t { INPUT, CONSTANT, TEMPORARY, PERMUTATION, OUTPUT };
enum class Known : uint8_t { ALL, OPEN, NO_RANK, NO_TYPE };
enum class Padding : uint8_t { DEFAULT, ENABLED, DISABLED };

constexpr std::string_view kTested[] = {"input", "constant", "temporary", "permutation", "output"};
constexpr std::string_view kKnown[] = {"known", "open", "no rank", "no type"};
constexpr std::string_view kPadding[] = {"default", "enabled", "disabled"};

struct ModelCase {
  int32_t type = 0;
  Tested tested = Tested::INPUT;
  uint32_t b = 1;
  Known known = Known::OPEN;  // of the tested operand
  uint32_t a = kRight;        // of the tested operand
  bool permutationIsInput = false;

  size_t elementSize() const {
    return type == ANEURALNETWORKS_TENSOR_FLOAT32   ? 4
           : type == ANEURALNETWORKS_TENSOR_FLOAT16 ? 2
                                                    : 1;
  }
  Dims dims(Tested operand, Known how, uint32_t extent) const {
    if (how == Known::NO_RANK || how == Known::NO_TYPE) return {};
    const bool open = how == Known::OPEN;
    switch (operand) {
      case Tested::CONSTANT:
        return {extent, open ? 0u : 1u};
      case Tested::PERMUTATION:
        return {open ? 0u : 2u};
      case Tested::OUTPUT:
        return {open ? 0u : b, extent};
      default:
        return {extent, open ? 0u : b};
    }
  }
  // Whether the model's own dimensions contradict each other.
  bool contradictsItself() const {
    const Dims own = inModel(tested);
    return std::find(own.begin(), own.end(), kWrong) != own.end();
  }
  // Whether the contradiction is between dimensions that are all known, so that every execution
  // fails.
  bool alwaysFails() const {
    return contradictsItself() && tested == Tested::INPUT && known == Known::ALL;
  }
  // The dimensions of `operand` in the model.
  Dims inModel(Tested operand) const {
    if (operand == tested) return dims(operand, known, a);
    const bool whole = operand == Tested::CONSTANT || operand == Tested::PERMUTATION;
    return dims(operand, whole ? Known::ALL : Known::OPEN, kRight);
  }
};

// How the tested operand is set if it is an argument.
struct ArgumentCase {
  Known known = Known::ALL;
  uint32_t a = kRight;  // the buffer has this size, too
  int halves = 2;       // the length, in halves of the exact length
  Padding padding = Padding::DEFAULT;
  bool inMemory = false;

  std::string text() const {
    return fmt::format("{} with A = {}, {} half of the length, padding {}, in {}",
                       kKnown[static_cast<size_t>(known)], a, halves,
                       kPadding[static_cast<size_t>(padding)], inMemory ? "memory" : "a buffer");
  }
};

bool isWhole(const Dims& dims) {
  return !dims.empty() && std::find(dims.begin(), dims.end(), 0u) == dims.end();
}
bool fits(const Dims& model, const Dims& told) {
  if (model.empty()) return true;
  if (model.size() != told.size()) return false;
  for (size_t i = 0; i < model.size(); ++i) {
    if (model[i] != 0 && model[i] != told[i]) return false;
  }
  return true;
}
size_t count(const Dims& dims) {
  return std::accumulate(dims.begin(), dims.end(), size_t{1}, std::multiplies<>());
}

std::vector<uint8_t> encode(int32_t type, const std::vector<int>& values) {
  std::vector<uint8_t> bytes;
  const auto append = [&](auto value) {
    const auto* const raw = reinterpret_cast<const uint8_t*>(&value);
    bytes.insert(bytes.end(), raw, raw + sizeof value);
  };
  for (const int value : values) {
    if (type == ANEURALNETWORKS_TENSOR_FLOAT32) append(static_cast<float>(value));
    if (type == ANEURALNETWORKS_TENSOR_FLOAT16) append(toFloat16(static_cast<float>(value)));
    if (type == ANEURALNETWORKS_TENSOR_QUANT8_ASYMM) append(static_cast<uint8_t>(value));
  }
  return bytes;
}

std::vector<int> counting(size_t size, int step = 1) {
  std::vector<int> values(size);
  for (size_t i = 0; i < size; ++i) values[i] = static_cast<int>(i + 1) * step;
  return values;
}

ANeuralNetworksOperandType typeOf(const ModelCase& c, const Dims& dims, bool isPermutation) {
  const bool quantised = !isPermutation && c.type == ANEURALNETWORKS_TENSOR_QUANT8_ASYMM;
  return {isPermutation ? int32_t{ANEURALNETWORKS_TENSOR_INT32} : c.type,
          static_cast<uint32_t>(dims.size()), dims.empty() ? nullptr : dims.data(),
          quantised ? 1.0f : 0.0f, 0};
}

// Operands: 0 in, 1 constant, 2 temporary, 3 permutation, 4 out, 5 activation.
Result<client::Model> beginModel(const ModelCase& c) {
  HALYARD_ASSIGN_OR_RETURN(client::Model model, newModel());
  for (const Tested operand :
       {Tested::INPUT, Tested::CONSTANT, Tested::TEMPORARY, Tested::PERMUTATION, Tested::OUTPUT}) {
    const Dims dims = c.inModel(operand);
    HALYARD_EXPECT_OK(model.addOperand(typeOf(c, dims, operand == Tested::PERMUTATION)));
  }
  HALYARD_EXPECT_OK(model.addOperand(ANEURALNETWORKS_INT32));
  const int32_t none = ANEURALNETWORKS_FUSED_NONE;
  HALYARD_EXPECT_OK(model.setOperandValue(5, &none, sizeof none));
  if (!c.permutationIsInput) {
    HALYARD_EXPECT_OK(model.setOperandValue(3, nullptr, 0));
  }
  return model;
}

Status endModel(const client::Model& model, const ModelCase& c) {
  HALYARD_EXPECT_OK(model.addOperation(ANEURALNETWORKS_ADD, {0, 1, 5}, {2}));
  HALYARD_EXPECT_OK(model.addOperation(ANEURALNETWORKS_TRANSPOSE, {2, 3}, {4}));
  client::Indexes inputs = {0};
  if (c.permutationIsInput) inputs.push_back(3);
  HALYARD_EXPECT_OK(model.identifyInputsAndOutputs(inputs, {4}));
  return okStatus();
}

// The finished model.
Result<client::Model> modelOfCase(const ModelCase& c) {
  HALYARD_ASSIGN_OR_RETURN(client::Model model, beginModel(c));
  const uint32_t extent = c.tested == Tested::CONSTANT ? c.a : kRight;
  const std::vector<uint8_t> constant = encode(c.type, counting(extent, 10));
  HALYARD_EXPECT_OK(model.setOperandValue(1, constant.data(), constant.size()));
  HALYARD_RETURN_IF_ERROR(endModel(model, c));
  HALYARD_EXPECT_OK(model.finish());
  return model;
}

// A model with such a constant is invalid: its dimensions are not all known, or its length is
// wrong.
Status expectInvalid(const ModelCase& c, int halves, bool inMemory) {
  HALYARD_ASSIGN_OR_RETURN(const client::Model model, beginModel(c));
  std::vector<uint8_t> bytes(kRegion);
  const size_t length = c.elementSize() * c.a * static_cast<size_t>(halves) / 2;
  HALYARD_ASSIGN_OR_RETURN(const FileMemory file, FileMemory::make(kRegion));
  const int set = inMemory ? model.setOperandValueFromMemory(1, file.memory.get(), 0, length)
                           : model.setOperandValue(1, bytes.data(), length);
  if (set != ANEURALNETWORKS_NO_ERROR) {
    return expectCode(set, ANEURALNETWORKS_BAD_DATA, "setting the constant's value");
  }
  HALYARD_RETURN_IF_ERROR(endModel(model, c));
  HALYARD_EXPECT_CODE(model.finish(), ANEURALNETWORKS_BAD_DATA);
  return okStatus();
}

// One execution of a compiled model, with the expected answer of each call.
class Run {
 public:
  // `level`: of the device. Below feature level 3, outputs cannot have open dimensions.
  Run(const ModelCase& model, const ArgumentCase& argument, int64_t level)
      : m_(model), a_(argument), mayBeOpen_(level >= ANEURALNETWORKS_FEATURE_LEVEL_3) {}

  Status run(ANeuralNetworksCompilation* compilation) {
    client::Execution execution;
    HALYARD_EXPECT_OK(execution.create(compilation));
    if (a_.padding != Padding::DEFAULT) {
      HALYARD_EXPECT_OK(execution.enableInputAndOutputPadding(a_.padding == Padding::ENABLED));
    }
    bool refused = false;
    HALYARD_RETURN_IF_ERROR(set(execution.get(), Tested::INPUT, &refused), "input");
    if (m_.permutationIsInput && !refused) {
      HALYARD_RETURN_IF_ERROR(setPermutation(execution.get(), &refused), "permutation");
    }
    if (!refused) HALYARD_RETURN_IF_ERROR(set(execution.get(), Tested::OUTPUT, &refused), "output");
    const Dims out = hasType(Tested::OUTPUT) ? told(Tested::OUTPUT) : m_.inModel(Tested::OUTPUT);
    if (refused || (!mayBeOpen_ && !isWhole(out))) return okStatus();
    return compute(execution.get());
  }

 private:
  bool isTested(Tested operand) const { return m_.tested == operand; }
  // The way that an argument is set: as in the case if it is tested, otherwise valid.
  ArgumentCase of(Tested operand) const { return isTested(operand) ? a_ : ArgumentCase(); }
  Dims told(Tested operand) const { return m_.dims(operand, of(operand).known, of(operand).a); }
  bool hasType(Tested operand) const { return of(operand).known != Known::NO_TYPE; }
  size_t length(Tested operand) const {
    return m_.elementSize() * of(operand).a * m_.b * static_cast<size_t>(of(operand).halves) / 2;
  }

  // The rules for arguments: first the type, then the length.
  int expectedOf(Tested operand) const {
    constexpr int kData = ANEURALNETWORKS_BAD_DATA;
    const Dims model = m_.inModel(operand);
    const bool isInput = operand == Tested::INPUT;
    Dims dims = model;
    if (hasType(operand)) {
      dims = told(operand);
      if (isInput && !isWhole(dims)) return kData;
      if (!fits(model, dims)) return kData;
    } else if (isInput && !isWhole(model)) {
      return kData;
    }
    if (!isWhole(dims)) return ANEURALNETWORKS_NO_ERROR;
    const size_t needed = count(dims) * m_.elementSize();
    if (length(operand) < needed) return kData;
    const bool mayBeLonger = a_.padding == Padding::ENABLED;
    return length(operand) > needed && !mayBeLonger ? kData : ANEURALNETWORKS_NO_ERROR;
  }

  Status set(ANeuralNetworksExecution* execution, Tested operand, bool* refused) {
    const bool isInput = operand == Tested::INPUT;
    const Dims dims = told(operand);
    const ANeuralNetworksOperandType type = typeOf(m_, dims, false);
    const ANeuralNetworksOperandType* const given = hasType(operand) ? &type : nullptr;
    std::vector<uint8_t>& bytes = isInput ? in_ : out_;
    bytes.assign(kRegion, 0);
    if (isInput) {
      const std::vector<uint8_t> values = encode(m_.type, counting(of(operand).a * m_.b));
      std::memcpy(bytes.data(), values.data(), values.size());
    }
    int code = 0;
    if (of(operand).inMemory) {
      HALYARD_ASSIGN_OR_RETURN(file_, FileMemory::make(kRegion));
      HALYARD_RETURN_IF_ERROR(file_.write(bytes, 0));
      const auto setFromMemory = isInput ? ANeuralNetworksExecution_setInputFromMemory
                                         : ANeuralNetworksExecution_setOutputFromMemory;
      code = setFromMemory(execution, 0, given, file_.memory.get(), 0, length(operand));
    } else if (isInput) {
      code = ANeuralNetworksExecution_setInput(execution, 0, given, bytes.data(), length(operand));
    } else {
      code = ANeuralNetworksExecution_setOutput(execution, 0, given, bytes.data(), length(operand));
    }
    *refused = code != ANEURALNETWORKS_NO_ERROR;
    return expectCode(code, expectedOf(operand), isInput ? "setting in" : "setting out");
  }

  // The permutation is omitted. Its type is refused only if it does not fit the model.
  Status setPermutation(ANeuralNetworksExecution* execution, bool* refused) {
    const Dims model = m_.inModel(Tested::PERMUTATION);
    const Dims dims = told(Tested::PERMUTATION);
    const ANeuralNetworksOperandType type = typeOf(m_, dims, true);
    const int code = ANeuralNetworksExecution_setInput(
        execution, 1, hasType(Tested::PERMUTATION) ? &type : nullptr, nullptr, 0);
    const bool saysLess = hasType(Tested::PERMUTATION) && !fits(model, dims);
    *refused = code != ANEURALNETWORKS_NO_ERROR;
    return expectCode(code, saysLess ? ANEURALNETWORKS_BAD_DATA : ANEURALNETWORKS_NO_ERROR,
                      "setting the permutation");
  }

  // Whether the argument has a wrong dimension, by its type at the execution, or else in the model.
  bool isWrong(Tested operand) const {
    Dims dims = m_.inModel(operand);
    const bool isArgument = operand == Tested::INPUT || operand == Tested::OUTPUT;
    if (isArgument && hasType(operand) && !told(operand).empty()) dims = told(operand);
    return std::find(dims.begin(), dims.end(), kWrong) != dims.end();
  }
  int expectedOfRun() const {
    for (const Tested operand :
         {Tested::INPUT, Tested::CONSTANT, Tested::TEMPORARY, Tested::OUTPUT}) {
      if (isWrong(operand)) return ANEURALNETWORKS_OP_FAILED;
    }
    return length(Tested::OUTPUT) < m_.elementSize() * kRight * m_.b
               ? ANEURALNETWORKS_OUTPUT_INSUFFICIENT_SIZE
               : ANEURALNETWORKS_NO_ERROR;
  }

  Status compute(ANeuralNetworksExecution* execution) {
    const int expected = expectedOfRun();
    HALYARD_EXPECT_CODE(ANeuralNetworksExecution_compute(execution), expected);
    if (expected == ANEURALNETWORKS_OP_FAILED) return okStatus();
    uint32_t rank = 0;
    HALYARD_EXPECT_CODE(ANeuralNetworksExecution_getOutputOperandRank(execution, 0, &rank),
                        expected);
    HALYARD_EXPECT(rank == 2);
    Dims dims(2);
    HALYARD_EXPECT_CODE(
        ANeuralNetworksExecution_getOutputOperandDimensions(execution, 0, dims.data()), expected);
    HALYARD_EXPECT((dims == Dims{m_.b, kRight}));
    if (expected != ANEURALNETWORKS_NO_ERROR) return okStatus();
    std::vector<int> sums;
    for (uint32_t j = 0; j < m_.b; ++j) {
      for (uint32_t i = 0; i < kRight; ++i) {
        sums.push_back(static_cast<int>(i * m_.b + j + 1 + 10 * (i + 1)));
      }
    }
    const std::vector<uint8_t> right = encode(m_.type, sums);
    if (of(Tested::OUTPUT).inMemory) {
      HALYARD_ASSIGN_OR_RETURN(out_, file_.read(kRegion, 0));
    }
    out_.resize(right.size());
    HALYARD_EXPECT(out_ == right);
    return okStatus();
  }

  const ModelCase m_;
  const ArgumentCase a_;
  const bool mayBeOpen_;
  FileMemory file_;
  std::vector<uint8_t> in_, out_;
};

// All ways to set the tested operand.
std::vector<ArgumentCase> argumentCases(Tested tested) {
  if (tested == Tested::CONSTANT || tested == Tested::TEMPORARY) return {ArgumentCase()};
  std::vector<ArgumentCase> cases;
  for (const Known known : {Known::ALL, Known::OPEN, Known::NO_RANK, Known::NO_TYPE}) {
    if (tested == Tested::PERMUTATION) {
      cases.push_back({known, kRight, 2, Padding::DEFAULT, false});
      continue;
    }
    for (const uint32_t a : {kRight, kWrong}) {
      for (const int halves : {1, 2, 4}) {
        for (const Padding padding : {Padding::DEFAULT, Padding::ENABLED, Padding::DISABLED}) {
          for (const bool inMemory : {false, true}) {
            cases.push_back({known, a, halves, padding, inMemory});
          }
        }
      }
    }
  }
  return cases;
}

std::vector<ModelCase> modelCases(int32_t type, Tested tested) {
  std::vector<ModelCase> cases;
  for (const uint32_t b : {1u, 2u}) {
    for (const Known known : {Known::ALL, Known::OPEN, Known::NO_RANK}) {
      for (const uint32_t a : {kRight, kWrong}) {
        if (tested == Tested::PERMUTATION && a == kWrong) continue;
        cases.push_back({type, tested, b, known, a, false});
        if (tested != Tested::PERMUTATION) continue;
        cases.push_back(cases.back());
        cases.back().permutationIsInput = true;
      }
    }
  }
  return cases;
}

std::string textOf(const ModelCase& c) {
  return fmt::format("{} {} in the model with A = {}, B = {}",
                     kTested[static_cast<size_t>(c.tested)], kKnown[static_cast<size_t>(c.known)],
                     c.a, c.b);
}

CheckResult tryAllCases(const ApiWorld& world, int32_t type, Tested tested, size_t step) {
  size_t runs = 0;
  size_t left = 0;
  for (const ModelCase& c : modelCases(type, tested)) {
    if (tested == Tested::CONSTANT) {
      for (const int halves : {1, 2, 4}) {
        if (halves == 2 && c.known == Known::ALL) continue;
        for (const bool inMemory : {false, true}) {
          HALYARD_RETURN_IF_ERROR(expectInvalid(c, halves, inMemory), "{}, {} halves", textOf(c),
                                  halves);
        }
      }
      if (c.known != Known::ALL) continue;
    }
    HALYARD_ASSIGN_OR_RETURN(const auto model, modelOfCase(c), "{}", textOf(c));
    HALYARD_ASSIGN_OR_RETURN(const bool takes, world.takes(model, 2));
    // A model with a contradiction may be unsupported. If every execution of it fails, it must
    // still compile.
    if (!takes && !c.contradictsItself()) {
      ++left;
      continue;
    }
    auto compiled = world.compile(model);
    if (!takes && !compiled.ok() && !c.alwaysFails()) {
      ++left;
      continue;
    }
    HALYARD_ASSIGN_OR_RETURN(const auto compilation, std::move(compiled), "{}", textOf(c));
    const std::vector<ArgumentCase> arguments = argumentCases(tested);
    // The step shares no divisor with the lengths of the loops above, so it visits every value of
    // each loop.
    for (size_t i = runs % step; i<arguments.size(); i += arguments.size()> step ? step : 1) {
      ++runs;
      HALYARD_RETURN_IF_ERROR(Run(c, arguments[i], world.level()).run(compilation.get()), "{}; {}",
                              textOf(c), arguments[i].text());
    }
  }
  if (runs == 0) return CheckResult::skipped("the device does not take the models");
  return CheckResult::passed(fmt::format("{} executions, {} models not taken", runs, left));
}

}  // namespace

void listUnspecifiedChecks(ApiChecks& checks) {
  const std::pair<int32_t, std::string_view> types[] = {
      {ANEURALNETWORKS_TENSOR_FLOAT32, "float32"},
      {ANEURALNETWORKS_TENSOR_QUANT8_ASYMM, "quant8"},
      {ANEURALNETWORKS_TENSOR_FLOAT16, "float16"}};
  const size_t step = checks.full() ? 1 : 5;
  for (const auto& [type, name] : types) {
    for (size_t i = 0; i < std::size(kTested); ++i) {
      Check& check = checks.addAny(
          fmt::format("unspecified_dimensions/{}/{}", name, kTested[i]),
          "what is known of dimensions, in the model and at the execution, decides what each call "
          "answers",
          [type = type, i, step](ApiWorld& world) {
            return tryAllCases(world, type, static_cast<Tested>(i), step);
          });
      check.expectedSeconds = 0.1;
    }
  }
}

}  // namespace halyard::validation
