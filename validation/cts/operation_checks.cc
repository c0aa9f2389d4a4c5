// Which call refuses an operation, and whether supported operations compile. addOperation refuses
// operations that make a model invalid. Errors that only a computation can find appear in the
// computation; such a model compiles.
#include <cmath>
#include <cstring>

#include "validation/cts/api_world.h"

namespace halyard::validation {
namespace {

constexpr int32_t kFloat = ANEURALNETWORKS_TENSOR_FLOAT32;
constexpr int32_t kInts = ANEURALNETWORKS_TENSOR_INT32;
constexpr int32_t kQuant = ANEURALNETWORKS_TENSOR_QUANT8_ASYMM;
constexpr int32_t kSigned = ANEURALNETWORKS_TENSOR_QUANT8_ASYMM_SIGNED;

// A model under construction. It keeps the first error, and reports it at the end.
class Builder {
 public:
  static Result<Builder> make() {
    Builder builder;
    HALYARD_ASSIGN_OR_RETURN(builder.model_, newModel());
    return builder;
  }

  uint32_t operand(int32_t type, Dims dims = {}, float scale = 0, int32_t zero = 0) {
    dims_.push_back(std::move(dims));
    const Dims& own = dims_.back();
    keep(expectCode(model_.addOperand(type, own, scale, zero), ANEURALNETWORKS_NO_ERROR,
                    "addOperand"));
    return static_cast<uint32_t>(dims_.size() - 1);
  }
  template <typename T>
  uint32_t constant(int32_t type, Dims dims, const std::vector<T>& values, float scale = 0) {
    const uint32_t index = operand(type, std::move(dims), scale);
    keep(expectCode(model_.setOperandValue(static_cast<int32_t>(index), values.data(),
                                           values.size() * sizeof(T)),
                    ANEURALNETWORKS_NO_ERROR, "setOperandValue"));
    return index;
  }
  uint32_t scalar(int32_t value) { return constant<int32_t>(ANEURALNETWORKS_INT32, {}, {value}); }
  uint32_t real(float value) { return constant<float>(ANEURALNETWORKS_FLOAT32, {}, {value}); }
  uint32_t reference(const Builder& model) {
    const uint32_t index = operand(ANEURALNETWORKS_MODEL);
    keep(
        expectCode(model_.setOperandValueFromModel(static_cast<int32_t>(index), model.model_.get()),
                   ANEURALNETWORKS_NO_ERROR, "setOperandValueFromModel"));
    return index;
  }

  const client::Model& built() const { return model_; }
  // Expects that addOperation answers `expected`.
  Status expectAdd(int32_t type, const client::Indexes& inputs, const client::Indexes& outputs,
                   int expected) {
    HALYARD_RETURN_IF_ERROR(Status(problem_));
    return expectCode(model_.addOperation(type, inputs, outputs), expected, "addOperation");
  }
  Status finish(const client::Indexes& inputs, const client::Indexes& outputs) {
    HALYARD_EXPECT_OK(model_.identifyInputsAndOutputs(inputs, outputs));
    HALYARD_EXPECT_OK(model_.finish());
    return okStatus();
  }

 private:
  void keep(Status status) {
    if (problem_.ok()) problem_ = std::move(status);
  }

  client::Model model_;
  std::vector<Dims> dims_;
  Status problem_;
};

// An execution with arguments of the given byte counts. Inputs contain `input`.
struct Arguments {
  std::vector<size_t> inputs;
  std::vector<size_t> outputs;
};
Result<client::Execution> newExecution(ANeuralNetworksCompilation* compilation,
                                       const Arguments& arguments, std::vector<uint8_t>* buffer) {
  client::Execution execution;
  HALYARD_EXPECT_OK(execution.create(compilation));
  for (size_t i = 0; i < arguments.inputs.size(); ++i) {
    HALYARD_EXPECT_OK(
        execution.setInput(static_cast<int32_t>(i), nullptr, buffer->data(), arguments.inputs[i]));
  }
  for (size_t i = 0; i < arguments.outputs.size(); ++i) {
    HALYARD_EXPECT_OK(execution.setOutput(static_cast<int32_t>(i), nullptr, buffer->data() + 256,
                                          arguments.outputs[i]));
  }
  return execution;
}

// Expects that the model compiles for the device, and that every way to compute it fails.
Status expectNever(const ApiWorld& world, Builder& model, const Arguments& arguments) {
  HALYARD_ASSIGN_OR_RETURN(const bool takes, world.takes(model.built(), 1));
  if (takes) return opFailed("an operation that can never be computed is said to be supported");
  HALYARD_ASSIGN_OR_RETURN(const auto compilation, world.compile(model.built()));
  std::vector<uint8_t> buffer(512);
  for (int round = 0; round < 2; ++round) {
    HALYARD_ASSIGN_OR_RETURN(auto execution, newExecution(compilation.get(), arguments, &buffer));
    HALYARD_EXPECT_CODE(execution.compute(), ANEURALNETWORKS_OP_FAILED);
    HALYARD_ASSIGN_OR_RETURN(execution, newExecution(compilation.get(), arguments, &buffer));
    client::Event event;
    HALYARD_EXPECT_OK(execution.startCompute(event));
    HALYARD_EXPECT_CODE(event.wait(), ANEURALNETWORKS_OP_FAILED);
    HALYARD_ASSIGN_OR_RETURN(execution, newExecution(compilation.get(), arguments, &buffer));
    client::Burst burst;
    HALYARD_EXPECT_OK(burst.create(compilation.get()));
    HALYARD_EXPECT_CODE(execution.burstCompute(burst.get()), ANEURALNETWORKS_OP_FAILED);
    HALYARD_ASSIGN_OR_RETURN(execution, newExecution(compilation.get(), arguments, &buffer));
    int code = execution.startComputeWithDependencies({}, 0, event);
    if (code == ANEURALNETWORKS_NO_ERROR) code = event.wait();
    HALYARD_RETURN_IF_ERROR(expectCode(code, ANEURALNETWORKS_OP_FAILED, "the fenced execution"));
  }
  return okStatus();
}

// Sums with an invalid activation, with shapes that do not match, and with a result of another
// shape.
CheckResult neverComputed(ApiWorld& world) {
  struct Sum {
    Dims a;
    Dims b;
    Dims out;
    int32_t activation;
  };
  for (const Sum& sum : {Sum{{2, 2}, {2, 2}, {2, 2}, 999}, Sum{{3, 2}, {2, 2}, {3, 2}, 0},
                         Sum{{2, 3}, {2, 3}, {3, 2}, 0}}) {
    HALYARD_ASSIGN_OR_RETURN(Builder model, Builder::make());
    const uint32_t a = model.operand(kFloat, sum.a);
    const uint32_t b = model.operand(kFloat, sum.b);
    const uint32_t activation = model.scalar(sum.activation);
    const uint32_t out = model.operand(kFloat, sum.out);
    HALYARD_RETURN_IF_ERROR(
        model.expectAdd(ANEURALNETWORKS_ADD, {a, b, activation}, {out}, ANEURALNETWORKS_NO_ERROR));
    HALYARD_RETURN_IF_ERROR(model.finish({a, b}, {out}));
    const auto bytes = [](const Dims& dims) { return size_t{4} * dims[0] * dims[1]; };
    HALYARD_RETURN_IF_ERROR(
        expectNever(world, model, {{bytes(sum.a), bytes(sum.b)}, {bytes(sum.out)}}),
        "activation {}, [{},{}] + [{},{}]", sum.activation, sum.a[0], sum.a[1], sum.b[0], sum.b[1]);
  }
  return CheckResult::passed();
}

// Quantised results that must have a fixed scale and declare another; paddings of another rank.
CheckResult refusedWhenComputed(ApiWorld& world) {
  for (const int32_t type : {kQuant, kSigned}) {
    for (const int32_t operation : {ANEURALNETWORKS_TANH, ANEURALNETWORKS_LOGISTIC,
                                    ANEURALNETWORKS_SOFTMAX, ANEURALNETWORKS_L2_NORMALIZATION}) {
      HALYARD_ASSIGN_OR_RETURN(Builder model, Builder::make());
      const uint32_t x = model.operand(type, {2, 2}, 0.5f);
      const uint32_t y = model.operand(type, {2, 2}, 0.5f, 1);
      std::vector<uint32_t> inputs = {x};
      if (operation == ANEURALNETWORKS_SOFTMAX) inputs.push_back(model.real(1));
      HALYARD_RETURN_IF_ERROR(model.expectAdd(operation, inputs, {y}, ANEURALNETWORKS_NO_ERROR),
                              "operation {}", operation);
      HALYARD_RETURN_IF_ERROR(model.finish({x}, {y}));
      HALYARD_RETURN_IF_ERROR(expectNever(world, model, {{4}, {4}}), "operation {}", operation);
    }
  }
  for (const int32_t operation : {ANEURALNETWORKS_PAD_V2, ANEURALNETWORKS_SPACE_TO_BATCH_ND}) {
    HALYARD_ASSIGN_OR_RETURN(Builder model, Builder::make());
    const uint32_t x = model.operand(kFloat, {1, 2, 2, 1});
    std::vector<uint32_t> inputs = {x};
    if (operation == ANEURALNETWORKS_PAD_V2) {
      inputs.push_back(model.constant<int32_t>(kInts, {8}, std::vector<int32_t>(8)));
      inputs.push_back(model.real(0));
    } else {
      inputs.push_back(model.constant<int32_t>(kInts, {2}, {1, 1}));
      inputs.push_back(model.constant<int32_t>(kInts, {4}, std::vector<int32_t>(4)));
    }
    const uint32_t y = model.operand(kFloat, {1, 2, 2, 1});
    HALYARD_RETURN_IF_ERROR(model.expectAdd(operation, inputs, {y}, ANEURALNETWORKS_NO_ERROR));
    HALYARD_RETURN_IF_ERROR(model.finish({x}, {y}));
    HALYARD_RETURN_IF_ERROR(expectNever(world, model, {{16}, {16}}), "operation {}", operation);
  }
  return CheckResult::passed();
}

// x -> relu(x), with this number of inputs and outputs.
Result<Builder> branch(uint32_t inputs, uint32_t outputs, const Dims& dims = {2}) {
  HALYARD_ASSIGN_OR_RETURN(Builder model, Builder::make());
  std::vector<uint32_t> in;
  std::vector<uint32_t> out;
  for (uint32_t i = 0; i < inputs; ++i) in.push_back(model.operand(kFloat, dims));
  for (uint32_t i = 0; i < outputs; ++i) {
    out.push_back(model.operand(kFloat, dims));
    HALYARD_RETURN_IF_ERROR(
        model.expectAdd(ANEURALNETWORKS_RELU, {in[0]}, {out[i]}, ANEURALNETWORKS_NO_ERROR));
  }
  HALYARD_RETURN_IF_ERROR(model.finish(in, out));
  return model;
}

// IF and WHILE with one value and one result. The subgraphs fit or do not fit.
CheckResult controlFlow(ApiWorld&) {
  HALYARD_ASSIGN_OR_RETURN(Builder fitting, branch(1, 1));
  HALYARD_ASSIGN_OR_RETURN(Builder equal, Builder::make());
  const uint32_t x = equal.operand(kFloat, {1});
  const uint32_t same = equal.operand(ANEURALNETWORKS_TENSOR_BOOL8, {1});
  HALYARD_RETURN_IF_ERROR(
      equal.expectAdd(ANEURALNETWORKS_EQUAL, {x, x}, {same}, ANEURALNETWORKS_NO_ERROR));
  HALYARD_RETURN_IF_ERROR(equal.finish({x}, {same}));
  HALYARD_ASSIGN_OR_RETURN(Builder fittingBody, branch(1, 1, {1}));
  const auto expectIf = [&](Builder& second, int code) -> Status {
    HALYARD_ASSIGN_OR_RETURN(Builder model, Builder::make());
    const uint32_t condition = model.operand(ANEURALNETWORKS_TENSOR_BOOL8, {1});
    const uint32_t first = model.reference(fitting);
    const uint32_t other = model.reference(second);
    const uint32_t value = model.operand(kFloat, {2});
    const uint32_t result = model.operand(kFloat, {2});
    return model.expectAdd(ANEURALNETWORKS_IF, {condition, first, other, value}, {result}, code);
  };
  const auto expectWhile = [&](Builder& body, int code) -> Status {
    HALYARD_ASSIGN_OR_RETURN(Builder model, Builder::make());
    const uint32_t condition = model.reference(equal);
    const uint32_t other = model.reference(body);
    const uint32_t value = model.operand(kFloat, {1});
    const uint32_t result = model.operand(kFloat, {1});
    return model.expectAdd(ANEURALNETWORKS_WHILE, {condition, other, value}, {result}, code);
  };
  HALYARD_RETURN_IF_ERROR(expectIf(fitting, ANEURALNETWORKS_NO_ERROR));
  HALYARD_RETURN_IF_ERROR(expectWhile(fittingBody, ANEURALNETWORKS_NO_ERROR));
  for (const auto& [inputs, outputs] : {std::pair<uint32_t, uint32_t>{2, 1}, {1, 2}}) {
    HALYARD_ASSIGN_OR_RETURN(Builder wrong, branch(inputs, outputs));
    HALYARD_RETURN_IF_ERROR(expectIf(wrong, ANEURALNETWORKS_BAD_DATA), "IF: {} inputs, {} outputs",
                            inputs, outputs);
    HALYARD_ASSIGN_OR_RETURN(Builder wrongBody, branch(inputs, outputs, {1}));
    HALYARD_RETURN_IF_ERROR(expectWhile(wrongBody, ANEURALNETWORKS_BAD_DATA),
                            "WHILE: {} inputs, {} outputs", inputs, outputs);
  }
  HALYARD_ASSIGN_OR_RETURN(Builder otherShape, branch(1, 1, {3}));
  HALYARD_RETURN_IF_ERROR(expectIf(otherShape, ANEURALNETWORKS_BAD_DATA), "IF: another shape");
  HALYARD_RETURN_IF_ERROR(expectWhile(otherShape, ANEURALNETWORKS_BAD_DATA),
                          "WHILE: another shape");
  return CheckResult::passed();
}

// PACK and REVERSE: ranks of inputs and output, axes.
CheckResult ranksAndAxes(ApiWorld&) {
  struct Call {
    Dims in;
    Dims out;
    int32_t axis;
    int code;
  };
  constexpr int kOk = ANEURALNETWORKS_NO_ERROR;
  constexpr int kBad = ANEURALNETWORKS_BAD_DATA;
  for (const Call& call :
       {Call{{2, 3}, {2, 2, 3}, 2, kOk}, Call{{}, {}, 7, kOk}, Call{{2, 3}, {2, 3}, 0, kBad},
        Call{{2, 3}, {2, 2, 3, 1}, 0, kBad}, Call{{2, 3}, {2, 2, 3}, 3, kBad},
        Call{{2, 3}, {}, -1, kBad}, Call{{}, {2, 2, 3}, 3, kBad}}) {
    HALYARD_ASSIGN_OR_RETURN(Builder model, Builder::make());
    const uint32_t axis = model.scalar(call.axis);
    const uint32_t a = model.operand(kFloat, call.in);
    const uint32_t b = model.operand(kFloat, call.in);
    const uint32_t out = model.operand(kFloat, call.out);
    HALYARD_RETURN_IF_ERROR(model.expectAdd(ANEURALNETWORKS_PACK, {axis, a, b}, {out}, call.code),
                            "PACK of rank {} to rank {}, axis {}", call.in.size(), call.out.size(),
                            call.axis);
  }
  for (const Call& call :
       {Call{{2, 3}, {2, 3}, 1, kOk}, Call{{}, {}, 7, kOk}, Call{{2, 3}, {2, 3, 1}, 0, kBad},
        Call{{2, 3}, {}, 2, kBad}, Call{{}, {2, 3}, -1, kBad}}) {
    HALYARD_ASSIGN_OR_RETURN(Builder model, Builder::make());
    const uint32_t x = model.operand(kFloat, call.in);
    const uint32_t axis = model.constant<int32_t>(kInts, {1}, {call.axis});
    const uint32_t y = model.operand(kFloat, call.out);
    HALYARD_RETURN_IF_ERROR(model.expectAdd(ANEURALNETWORKS_REVERSE, {x, axis}, {y}, call.code),
                            "REVERSE of rank {} to rank {}, axis {}", call.in.size(),
                            call.out.size(), call.axis);
  }
  return CheckResult::passed();
}

// Constants that a device may refuse. It must support and compute the model, or neither.
CheckResult constantsOfOtherMakers(ApiWorld& world) {
  int ran = 0;
  std::vector<uint8_t> buffer(512);
  const auto compute = [&](Builder& model, const Arguments& arguments) -> Result<bool> {
    HALYARD_ASSIGN_OR_RETURN(const bool takes, world.takes(model.built(), 1));
    if (!takes) return false;
    HALYARD_ASSIGN_OR_RETURN(const auto compilation, world.compile(model.built()));
    HALYARD_ASSIGN_OR_RETURN(const auto execution,
                             newExecution(compilation.get(), arguments, &buffer));
    HALYARD_EXPECT_OK(execution.compute());
    ++ran;
    return true;
  };
  {
    HALYARD_ASSIGN_OR_RETURN(Builder model, Builder::make());
    const uint32_t x = model.operand(kFloat, {1, 1, 1, 2});
    const uint32_t y = model.operand(kFloat, {1, 1, 1, 2});
    HALYARD_RETURN_IF_ERROR(
        model.expectAdd(ANEURALNETWORKS_LOCAL_RESPONSE_NORMALIZATION,
                        {x, model.scalar(1), model.real(0), model.real(1), model.real(0.5f)}, {y},
                        ANEURALNETWORKS_NO_ERROR));
    HALYARD_RETURN_IF_ERROR(model.finish({x}, {y}));
    const float values[] = {3, 4};
    std::memcpy(buffer.data(), values, sizeof values);
    HALYARD_ASSIGN_OR_RETURN(const bool computed, compute(model, {{8}, {8}}),
                             "LOCAL_RESPONSE_NORMALIZATION with bias 0");
    float results[2];
    std::memcpy(results, buffer.data() + 256, sizeof results);
    HALYARD_EXPECT(!computed ||
                   (std::abs(results[0] - 0.6f) < 1e-3f && std::abs(results[1] - 0.8f) < 1e-3f));
  }
  {
    HALYARD_ASSIGN_OR_RETURN(Builder model, Builder::make());
    const uint32_t x = model.operand(kQuant, {1, 1, 1, 2}, 0.5f);
    const uint32_t filter =
        model.operand(ANEURALNETWORKS_TENSOR_QUANT8_SYMM_PER_CHANNEL, {2, 1, 1, 2});
    const float scales[] = {0.5f, 1};
    const ANeuralNetworksSymmPerChannelQuantParams channels = {0, 2, scales};
    HALYARD_EXPECT_OK(
        model.built().setOperandSymmPerChannelQuantParams(static_cast<int32_t>(filter), channels));
    const int8_t weights[] = {1, 1, 1, 1};
    HALYARD_EXPECT_OK(
        model.built().setOperandValue(static_cast<int32_t>(filter), weights, sizeof weights));
    const uint32_t bias = model.constant<int32_t>(kInts, {2}, {4, 4}, 0.125f);
    const uint32_t y = model.operand(kQuant, {1, 1, 1, 2}, 1);
    HALYARD_RETURN_IF_ERROR(model.expectAdd(
        ANEURALNETWORKS_CONV_2D,
        {x, filter, bias, model.scalar(ANEURALNETWORKS_PADDING_VALID), model.scalar(1),
         model.scalar(1), model.scalar(ANEURALNETWORKS_FUSED_NONE)},
        {y}, ANEURALNETWORKS_NO_ERROR));
    HALYARD_RETURN_IF_ERROR(model.finish({x}, {y}));
    buffer[0] = 8;
    buffer[1] = 4;
    HALYARD_ASSIGN_OR_RETURN(const bool computed, compute(model, {{2}, {2}}),
                             "CONV_2D by channel, with a scale of the bias");
    // (8 + 4 + 4) * 0.25 and * 0.5: the scale of the bias is not used.
    HALYARD_EXPECT(!computed || (buffer[256] == 4 && buffer[257] == 8));
  }
  return ran > 0 ? CheckResult::passed() : CheckResult::skipped("the device takes none of them");
}

}  // namespace

void listOperationChecks(ApiChecks& checks) {
  checks.addAny("operations/never_computed",
                "a model that can never be computed is not supported, compiles, and always fails",
                neverComputed);
  checks.addAny("operations/refused_when_computed",
                "what only computing needs is accepted in a model, and fails there",
                refusedWhenComputed);
  checks.addAny("operations/control_flow",
                "IF and WHILE are refused with models that do not fit them", controlFlow);
  checks.addAny("operations/ranks_and_axes",
                "PACK and REVERSE are refused with ranks and axes that do not go together",
                ranksAndAxes);
  checks.addAny("operations/unusual_constants",
                "constants as some converters write them are computed, or not supported",
                constantsOfOtherMakers);
}

}  // namespace halyard::validation
