// Converts operators with newer options that pad, pick, shift and combine.
#include <algorithm>

#include "import/tflite/converters.h"
#include "import/tflite/movement.h"

namespace halyard::import {
namespace {

using enum OperationType;
using Field = FlatReader::Field;
using Op = tfl::BuiltinOperator;
using Opt2 = tfl::BuiltinOptions2;

// Returns the first `count` numbers of a list of the options. A live node has 8 of each.
Result<std::vector<int64_t>> numbersOf(const Node& node, Field field, std::string_view what,
                                       size_t count) {
  HALYARD_ASSIGN_OR_RETURN(std::vector<int64_t> values,
                           node.builder().file().wideOptionList(node.op().options2, field));
  if (values.size() < count) {
    return badData("{} has {} numbers, expected {}", what, values.size(), count);
  }
  values.resize(count);
  for (const int64_t value : values) {
    if (value < INT32_MIN || value > INT32_MAX) {
      return unsupported("{} has {}, which needs more than 32 bits", what, value);
    }
  }
  return values;
}

// Returns all numbers of a list. Each one is a dimension of `rank`, and comes once.
Result<std::vector<int64_t>> dimensionsOf(const Node& node, Field field, std::string_view what,
                                          size_t rank) {
  HALYARD_ASSIGN_OR_RETURN(const std::vector<int64_t> values,
                           node.builder().file().wideOptionList(node.op().options2, field));
  std::vector<bool> isTaken(rank);
  for (const int64_t value : values) {
    if (value < 0 || value >= static_cast<int64_t>(rank) || isTaken[static_cast<size_t>(value)]) {
      return badData("{} has {}, expected different numbers from 0 to {}", what, value,
                     static_cast<int64_t>(rank) - 1);
    }
    isTaken[static_cast<size_t>(value)] = true;
  }
  return values;
}

// One of the operations that a node becomes: reads the result of the one before.
struct Step {
  OperationType type;
  OperandIndexes rest;
};

// Appends the steps one after the other. Returns the result of the last one, or x.
Result<uint32_t> applySteps(Node& node, uint32_t x, std::span<const Step> steps) {
  for (const Step& step : steps) {
    HALYARD_ASSIGN_OR_RETURN(const uint32_t y, node.temporaryLike(x, "in between"));
    OperandIndexes inputs = {x};
    inputs.insert(inputs.end(), step.rest.begin(), step.rest.end());
    HALYARD_RETURN_IF_ERROR(node.builder().addOperation(step.type, std::move(inputs), {y}));
    x = y;
  }
  return x;
}

// The elements that surround those of an operand, by dimension.
struct Borders {
  std::vector<int64_t> low, high;  // before and after; negative: so many are cut off
  std::vector<int64_t> interior;   // between two neighbours
};

// Returns the operations that put elements in between, cut off what negative paddings remove, and
// add borders. The node's input `fill` is the value of new elements.
Result<std::vector<Step>> paddingSteps(Node& node, uint32_t x, const Borders& borders,
                                       size_t fill) {
  const size_t rank = node.operand(x).dimensions.size();
  std::vector<int32_t> distances, begins, sizes, paddings;
  bool isCut = false;
  for (size_t d = 0; d < rank; ++d) {
    const int64_t low = borders.low[d];
    const int64_t high = borders.high[d];
    const int64_t interior = borders.interior[d];
    if (interior < 0 || interior == INT32_MAX) {
      return badData("the interior padding of dimension {} is {}", d, interior);
    }
    const int64_t extent = (int64_t{node.operand(x).dimensions[d]} - 1) * (interior + 1) + 1;
    const int64_t left = extent + std::min<int64_t>(low, 0) + std::min<int64_t>(high, 0);
    if (left < 1 || extent > INT32_MAX) {
      return unsupported("{} elements of dimension {}, and paddings {} and {}", extent, d, low,
                         high);
    }
    isCut = isCut || left < extent;
    distances.push_back(static_cast<int32_t>(interior + 1));
    begins.push_back(static_cast<int32_t>(std::max<int64_t>(-low, 0)));
    sizes.push_back(static_cast<int32_t>(left));
    paddings.push_back(static_cast<int32_t>(std::max<int64_t>(low, 0)));
    paddings.push_back(static_cast<int32_t>(std::max<int64_t>(high, 0)));
  }
  std::vector<Step> steps;
  if (std::ranges::any_of(borders.interior, [](int64_t number) { return number != 0; })) {
    HALYARD_ASSIGN_OR_RETURN(const uint32_t list, listOf(node, distances));
    HALYARD_ASSIGN_OR_RETURN(const uint32_t value, node.input(fill));
    steps.push_back({DILATE, {list, value}});
  }
  if (isCut) {
    HALYARD_ASSIGN_OR_RETURN(const uint32_t begin, listOf(node, begins));
    HALYARD_ASSIGN_OR_RETURN(const uint32_t size, listOf(node, sizes));
    steps.push_back({SLICE, {begin, size}});
  }
  if (std::ranges::any_of(paddings, [](int32_t number) { return number != 0; })) {
    HALYARD_ASSIGN_OR_RETURN(const uint32_t list, node.builder().int32Tensor(
                                                      {static_cast<uint32_t>(rank), 2}, paddings));
    HALYARD_ASSIGN_OR_RETURN(const uint32_t value, node.constantFloat(fill, "the value"));
    steps.push_back({PAD_V2, {list, value}});
  }
  return steps;
}

Status convertStablehloPad(Node& node) {
  using Options = tfl::StablehloPadOptions;
  HALYARD_RETURN_IF_ERROR(node.expectCounts(2, 2, 1));
  HALYARD_RETURN_IF_ERROR(node.expectOptions2(Opt2::StablehloPadOptions));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t x, node.input(0));
  const size_t rank = node.operand(x).dimensions.size();
  Borders borders;
  HALYARD_ASSIGN_OR_RETURN(borders.low,
                           numbersOf(node, Options::VT_EDGE_PADDING_LOW, "the low padding", rank));
  HALYARD_ASSIGN_OR_RETURN(
      borders.high, numbersOf(node, Options::VT_EDGE_PADDING_HIGH, "the high padding", rank));
  HALYARD_ASSIGN_OR_RETURN(borders.interior, numbersOf(node, Options::VT_INTERIOR_PADDING,
                                                       "the interior padding", rank));
  HALYARD_ASSIGN_OR_RETURN(std::vector<Step> steps, paddingSteps(node, x, borders, 1));
  if (steps.empty()) return node.forward(0, x);
  const Step last = std::move(steps.back());
  steps.pop_back();
  HALYARD_ASSIGN_OR_RETURN(const uint32_t before, applySteps(node, x, steps));
  return moveElements(node, last.type, before, last.rest);
}

// A gather picks a slice of the operand for each tuple of indices.
struct GatherPlan {
  Shape operand;
  Shape batch;                      // of the indices, without their tuples
  std::vector<int64_t> offsetDims;  // of the result: those of the slices
  std::vector<int64_t> collapsed;   // of the operand: not in the result
  std::vector<int64_t> indexMap;    // number i of a tuple counts along this dimension
  std::vector<int64_t> sizes;       // of a slice
  // The slices are whole in the dimensions from here on, and tuples need not name them.
  size_t named = 0;

  uint32_t batchCount() const { return *knownElementCount(batch.empty() ? Shape{1} : batch); }
};

Result<GatherPlan> readGather(Node& node, uint32_t x, uint32_t indices) {
  using Options = tfl::StablehloGatherOptions;
  GatherPlan plan;
  plan.operand = node.operand(x).dimensions;
  const size_t rank = plan.operand.size();
  const Shape& dims = node.operand(indices).dimensions;
  HALYARD_ASSIGN_OR_RETURN(plan.offsetDims, dimensionsOf(node, Options::VT_OFFSET_DIMS,
                                                         "offset_dims", rank + dims.size()));
  HALYARD_ASSIGN_OR_RETURN(plan.collapsed, dimensionsOf(node, Options::VT_COLLAPSED_SLICE_DIMS,
                                                        "collapsed_slice_dims", rank));
  HALYARD_ASSIGN_OR_RETURN(
      plan.indexMap, dimensionsOf(node, Options::VT_START_INDEX_MAP, "start_index_map", rank));
  HALYARD_ASSIGN_OR_RETURN(plan.sizes,
                           numbersOf(node, Options::VT_SLICE_SIZES, "slice_sizes", rank));
  for (size_t d = 0; d < rank; ++d) {
    if (plan.sizes[d] < 1 || plan.sizes[d] > plan.operand[d]) {
      return badData("slice_sizes has {} for dimension {} of {}", plan.sizes[d], d,
                     shapeText(plan.operand));
    }
    if (plan.sizes[d] != plan.operand[d]) plan.named = d + 1;
  }
  for (const int64_t d : plan.collapsed) {
    if (plan.sizes[static_cast<size_t>(d)] != 1) {
      return badData("dimension {} is collapsed, and the slices have {} elements there", d,
                     plan.sizes[static_cast<size_t>(d)]);
    }
    plan.named = std::max(plan.named, static_cast<size_t>(d) + 1);
  }
  plan.named = std::max<size_t>(plan.named, 1);
  HALYARD_ASSIGN_OR_RETURN(
      const int64_t vectorDim,
      node.builder().file().wideOption(node.op().options2, Options::VT_INDEX_VECTOR_DIM));
  // Without a dimension for tuples, each index is one.
  const auto last = static_cast<int64_t>(dims.size());
  const bool hasTuples = vectorDim == last - 1;
  if (!hasTuples && vectorDim != last) {
    return unsupported("index_vector_dim is {}, expected the last dimension of {}", vectorDim,
                       shapeText(dims));
  }
  if ((hasTuples ? dims.back() : 1) != plan.indexMap.size()) {
    return badData("start_index_map has {} numbers, the indices are {}", plan.indexMap.size(),
                   shapeText(dims));
  }
  plan.batch.assign(dims.begin(), dims.end() - (hasTuples ? 1 : 0));
  if (plan.offsetDims.size() + plan.collapsed.size() != rank) {
    return badData("{} offset_dims and {} collapsed_slice_dims, the operand is {}",
                   plan.offsetDims.size(), plan.collapsed.size(), shapeText(plan.operand));
  }
  return plan;
}

Result<uint32_t> temporary(Node& node, OperandType type, Shape dims, std::string_view what) {
  return node.builder().addTemporary(type, std::move(dims), 0, 0, std::string(what));
}

// Returns the first element of each slice: [batch, named], inside of the operand.
Result<uint32_t> startsOf(Node& node, const GatherPlan& plan, uint32_t indices) {
  GraphBuilder& builder = node.builder();
  const auto named = static_cast<uint32_t>(plan.named);
  const auto length = static_cast<uint32_t>(plan.indexMap.size());
  HALYARD_ASSIGN_OR_RETURN(const uint32_t tuples,
                           node.reshapedTo(indices, {plan.batchCount(), length}));
  std::vector<int32_t> columns(named, 0);
  std::vector<int32_t> limits(named, 0);
  for (size_t i = 0; i < plan.indexMap.size(); ++i) {
    const auto d = static_cast<size_t>(plan.indexMap[i]);
    if (d >= plan.named) continue;  // the slices begin at 0
    columns[d] = static_cast<int32_t>(i);
    limits[d] = static_cast<int32_t>(plan.operand[d] - plan.sizes[d]);
  }
  // A dimension that no index counts along begins at 0, since its limit is 0.
  const int32_t zero = 0;
  HALYARD_ASSIGN_OR_RETURN(const uint32_t axis, builder.int32Scalar(1));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t order, listOf(node, columns));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t least, builder.int32Tensor({1}, {&zero, 1}));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t most, builder.int32Tensor({1, named}, limits));
  uint32_t last = tuples;
  for (const Step& step :
       {Step{GATHER, {axis, order}}, Step{MAXIMUM, {least}}, Step{MINIMUM, {most}}}) {
    HALYARD_ASSIGN_OR_RETURN(const uint32_t next, temporary(node, OperandType::TENSOR_INT32,
                                                            {plan.batchCount(), named}, "starts"));
    OperandIndexes inputs = {last};
    inputs.insert(inputs.end(), step.rest.begin(), step.rest.end());
    HALYARD_RETURN_IF_ERROR(builder.addOperation(step.type, std::move(inputs), {next}));
    last = next;
  }
  return last;
}

// Returns the places of all elements of a slice relative to its first one: [1, count, named].
Result<uint32_t> offsetsOf(Node& node, const GatherPlan& plan, uint32_t count) {
  HALYARD_RETURN_IF_ERROR(node.builder().spend(uint64_t{count} * plan.named * sizeof(int32_t)));
  std::vector<int32_t> places;
  for (uint32_t i = 0; i < count; ++i) {
    std::vector<int32_t> place(plan.named);
    uint32_t rest = i;
    for (size_t d = plan.named; d-- > 0; rest /= static_cast<uint32_t>(plan.sizes[d])) {
      place[d] = static_cast<int32_t>(rest % static_cast<uint32_t>(plan.sizes[d]));
    }
    places.insert(places.end(), place.begin(), place.end());
  }
  return node.builder().int32Tensor({1, count, static_cast<uint32_t>(plan.named)}, places);
}

// Gives the node's output the slices, of which the batch's dimensions come first.
Status arrangeSlices(Node& node, const GatherPlan& plan, uint32_t slices) {
  Shape shape = plan.batch;
  for (size_t d = 0; d < plan.operand.size(); ++d) {
    if (std::ranges::find(plan.collapsed, static_cast<int64_t>(d)) != plan.collapsed.end()) {
      continue;
    }
    shape.push_back(static_cast<uint32_t>(plan.sizes[d]));
  }
  if (shape.empty()) shape = {1};
  std::vector<int32_t> order;  // by dimension of the result
  auto nextOffset = static_cast<int32_t>(plan.batch.size());
  int32_t nextBatch = 0;
  for (size_t d = 0; d < shape.size(); ++d) {
    const bool isOffset =
        std::ranges::find(plan.offsetDims, static_cast<int64_t>(d)) != plan.offsetDims.end();
    order.push_back(isOffset ? nextOffset++ : nextBatch++);
  }
  if (plan.batch.size() + plan.offsetDims.size() != 0 &&
      (nextBatch != static_cast<int32_t>(plan.batch.size()) ||
       nextOffset != static_cast<int32_t>(shape.size()))) {
    return badData("offset_dims do not fit a result of {} dimensions", shape.size());
  }
  HALYARD_ASSIGN_OR_RETURN(const uint32_t y, node.output(0));
  if (std::ranges::is_sorted(order)) return node.reshapeAs(slices, std::move(shape), y);
  HALYARD_ASSIGN_OR_RETURN(const uint32_t whole, node.reshapedTo(slices, std::move(shape)));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t permutation, listOf(node, order));
  return node.builder().addOperation(TRANSPOSE, {whole, permutation}, {y});
}

// GATHER_ND with the tuples of all elements. Dimensions that the slices have whole are not named.
Status convertStablehloGather(Node& node) {
  HALYARD_RETURN_IF_ERROR(node.expectCounts(2, 2, 1));
  HALYARD_RETURN_IF_ERROR(node.expectOptions2(Opt2::StablehloGatherOptions));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t x, node.input(0));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t indices, node.input(1));
  HALYARD_ASSIGN_OR_RETURN(const GatherPlan plan, readGather(node, x, indices));
  HALYARD_ASSIGN_OR_RETURN(uint32_t places, startsOf(node, plan, indices));
  const auto named = static_cast<uint32_t>(plan.named);
  uint64_t count = 1;
  for (size_t d = 0; d < plan.named; ++d) count *= static_cast<uint64_t>(plan.sizes[d]);
  if (count != 1) {
    constexpr uint64_t kMost = 1 << 20;
    if (count > kMost)
      return unsupported("slices of {} elements, expected at most {}", count, kMost);
    const auto elements = static_cast<uint32_t>(count);
    HALYARD_ASSIGN_OR_RETURN(const uint32_t offsets, offsetsOf(node, plan, elements));
    HALYARD_ASSIGN_OR_RETURN(const uint32_t starts,
                             node.reshapedTo(places, {plan.batchCount(), 1, named}));
    HALYARD_ASSIGN_OR_RETURN(places, temporary(node, OperandType::TENSOR_INT32,
                                               {plan.batchCount(), elements, named}, "places"));
    HALYARD_ASSIGN_OR_RETURN(const uint32_t none, node.builder().int32Scalar(0));
    HALYARD_RETURN_IF_ERROR(node.builder().addOperation(ADD, {starts, offsets, none}, {places}));
  }
  HALYARD_ASSIGN_OR_RETURN(const uint32_t slices, node.temporaryLike(x, "slices"));
  HALYARD_RETURN_IF_ERROR(node.builder().addOperation(GATHER_ND, {x, places}, {slices}));
  return arrangeSlices(node, plan, slices);
}

// The inputs are the operand, the first value, and lists: the window, its strides and dilations.
Status convertReduceWindow(Node& node) {
  HALYARD_RETURN_IF_ERROR(node.expectCounts(5, 5, 1));
  HALYARD_RETURN_IF_ERROR(node.expectOptions2(Opt2::ReduceWindowOptions));
  HALYARD_ASSIGN_OR_RETURN(const int32_t function,
                           node.builder().file().optionNumber(
                               node.op().options2, tfl::ReduceWindowOptions::VT_REDUCE_FUNCTION));
  OperandIndexes inputs;
  for (const size_t i : {0, 1}) {
    HALYARD_ASSIGN_OR_RETURN(const uint32_t input, node.input(i));
    inputs.push_back(input);
  }
  for (const size_t i : {2, 3, 4}) {
    constexpr std::string_view kNames[] = {"the window", "the strides", "the dilations"};
    HALYARD_ASSIGN_OR_RETURN(const std::vector<int32_t> values,
                             node.constantInts(i, kNames[i - 2], kMostDimensions));
    HALYARD_ASSIGN_OR_RETURN(const uint32_t list, listOf(node, values));
    inputs.push_back(list);
  }
  HALYARD_ASSIGN_OR_RETURN(const uint32_t code, node.builder().int32Scalar(function));
  inputs.push_back(code);
  HALYARD_ASSIGN_OR_RETURN(const uint32_t y, node.output(0));
  return node.builder().addOperation(REDUCE_WINDOW, std::move(inputs), {y});
}

// Returns the function of a subgraph that combines two values by one operator.
Result<tfl::ReduceWindowFunction> functionOf(const Node& node, int32_t index) {
  using enum tfl::ReduceWindowFunction;
  constexpr std::pair<Op, tfl::ReduceWindowFunction> kFunctions[] = {
      {Op::STABLEHLO_ADD, ADD},         {Op::STABLEHLO_MULTIPLY, MUL},
      {Op::STABLEHLO_MINIMUM, MINIMUM}, {Op::STABLEHLO_MAXIMUM, MAXIMUM},
      {Op::STABLEHLO_AND, ALL},         {Op::STABLEHLO_OR, ANY}};
  HALYARD_ASSIGN_OR_RETURN(const auto body, node.builder().file().subgraph(index));
  const std::span<const int32_t> inputs = body->inputs();
  if (body->operatorCount() != 1 || inputs.size() != 2 ||
      !std::ranges::is_permutation(body->op(0).inputs, inputs) ||
      !std::ranges::equal(body->op(0).outputs, body->outputs())) {
    return unsupported("{} is not one operator that combines its two inputs", body->text());
  }
  const auto* const found = std::ranges::find(kFunctions, body->builtin(0),
                                              &std::pair<Op, tfl::ReduceWindowFunction>::first);
  if (found != std::end(kFunctions)) return found->second;
  return unsupported("{} combines values by {}", body->text(), body->operatorName(0));
}

// Returns the numbers of a list that a file may leave out.
Result<std::vector<int64_t>> numbersOr(const Node& node, Field field, std::string_view what,
                                       size_t count, int64_t otherwise) {
  HALYARD_ASSIGN_OR_RETURN(const std::vector<int64_t> values,
                           node.builder().file().wideOptionList(node.op().options2, field));
  if (values.empty()) return std::vector<int64_t>(count, otherwise);
  return numbersOf(node, field, what, count);
}

// A REDUCE_WINDOW of an operand that has its borders, and elements in between.
Status convertStablehloReduceWindow(Node& node) {
  using Options = tfl::StablehloReduceWindowOptions;
  HALYARD_RETURN_IF_ERROR(node.expectCounts(2, 2, 1));
  HALYARD_RETURN_IF_ERROR(node.expectOptions2(Opt2::StablehloReduceWindowOptions));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t x, node.input(0));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t init, node.input(1));
  const size_t rank = node.operand(x).dimensions.size();
  HALYARD_ASSIGN_OR_RETURN(
      const auto window, numbersOf(node, Options::VT_WINDOW_DIMENSIONS, "window_dimensions", rank));
  HALYARD_ASSIGN_OR_RETURN(const auto strides,
                           numbersOr(node, Options::VT_WINDOW_STRIDES, "window_strides", rank, 1));
  HALYARD_ASSIGN_OR_RETURN(const auto dilations, numbersOr(node, Options::VT_WINDOW_DILATIONS,
                                                           "window_dilations", rank, 1));
  HALYARD_ASSIGN_OR_RETURN(const auto distances,
                           numbersOr(node, Options::VT_BASE_DILATIONS, "base_dilations", rank, 1));
  HALYARD_ASSIGN_OR_RETURN(const auto padding,
                           numbersOr(node, Options::VT_PADDING, "padding", 2 * rank, 0));
  Borders borders;
  for (size_t d = 0; d < rank; ++d) {
    borders.low.push_back(padding[2 * d]);
    borders.high.push_back(padding[2 * d + 1]);
    borders.interior.push_back(distances[d] - 1);
  }
  HALYARD_ASSIGN_OR_RETURN(
      const int32_t index,
      node.builder().file().optionNumber(node.op().options2, Options::VT_BODY_SUBGRAPH_INDEX));
  HALYARD_ASSIGN_OR_RETURN(const tfl::ReduceWindowFunction function, functionOf(node, index));
  HALYARD_ASSIGN_OR_RETURN(const std::vector<Step> steps, paddingSteps(node, x, borders, 1));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t padded, applySteps(node, x, steps));
  OperandIndexes inputs = {padded, init};
  for (const auto& values : {window, strides, dilations}) {
    HALYARD_ASSIGN_OR_RETURN(const uint32_t list,
                             listOf(node, std::vector<int32_t>(values.begin(), values.end())));
    inputs.push_back(list);
  }
  HALYARD_ASSIGN_OR_RETURN(const uint32_t code,
                           node.builder().int32Scalar(static_cast<int32_t>(function)));
  inputs.push_back(code);
  HALYARD_ASSIGN_OR_RETURN(const uint32_t y, node.output(0));
  return node.builder().addOperation(REDUCE_WINDOW, std::move(inputs), {y});
}

constexpr Converter kStablehloConverters[] = {
    {Op::STABLEHLO_PAD, tfl::BuiltinOptions::NONE, OptionsNeed::OPTIONAL, convertStablehloPad,
     kTakesInt64},
    {Op::STABLEHLO_GATHER, tfl::BuiltinOptions::NONE, OptionsNeed::OPTIONAL, convertStablehloGather,
     kTakesInt64},
    {Op::STABLEHLO_SHIFT_LEFT, tfl::BuiltinOptions::NONE, OptionsNeed::OPTIONAL,
     convertPlain<LEFT_SHIFT, 2>},
    {Op::REDUCE_WINDOW, tfl::BuiltinOptions::NONE, OptionsNeed::OPTIONAL, convertReduceWindow},
    {Op::STABLEHLO_REDUCE_WINDOW, tfl::BuiltinOptions::NONE, OptionsNeed::OPTIONAL,
     convertStablehloReduceWindow},
};

}  // namespace

std::span<const Converter> stablehloConverters() { return kStablehloConverters; }

}  // namespace halyard::import
