#include "validation/vts/request_rows.h"

#include "validation/vts/models.h"

namespace halyard::validation {
namespace {

using Sizes = SizedRequest::Sizes;

uint32_t sizeOf(const hal::RequestPool& pool) {
  return static_cast<uint32_t>(std::get<SharedMemoryPtr>(pool)->size());
}

hal::RequestArgument& omitted(hal::RequestArgument& argument) {
  argument = {};
  argument.kind = hal::RequestArgument::Kind::NO_VALUE;
  return argument;
}

// clang-format off: one line for each row where possible.
constexpr BadRequest kBadRows[] = {
    {"R1", "input_missing", [](hal::Request& r) { r.inputs.pop_back(); }},
    {"R1", "first_input_missing", [](hal::Request& r) { r.inputs.erase(r.inputs.begin()); }},
    {"R1", "input_added", [](hal::Request& r) { r.inputs.push_back(r.inputs[0]); }},
    {"R1", "no_inputs", [](hal::Request& r) { r.inputs.clear(); }},
    {"R1", "output_missing", [](hal::Request& r) { r.outputs.clear(); }},
    {"R1", "output_added", [](hal::Request& r) { r.outputs.push_back(r.outputs[0]); }},

    {"R2", "no_value_with_a_location", nullptr,
     [](auto r) { r.getInputs()[0].setHasNoValue(true); }, false},
    {"R2", "no_value_with_a_pool",
     [](hal::Request& r) { omitted(r.inputs[0]).location.poolIndex = 1; },
     [](auto r) { r.getInputs()[0].initLocation().setPoolIndex(1); }, false},
    {"R2", "no_value_with_an_offset",
     [](hal::Request& r) { omitted(r.inputs[0]).location.offset = 4; },
     [](auto r) { r.getInputs()[0].initLocation().setOffset(4); }, false},
    {"R2", "no_value_with_a_length",
     [](hal::Request& r) { omitted(r.inputs[0]).location.length = 16; },
     [](auto r) { r.getInputs()[0].initLocation().setLength(16); }, false},
    {"R2", "no_value_with_dimensions",
     [](hal::Request& r) { omitted(r.inputs[0]).dimensions = {4}; },
     [](auto r) { r.getInputs()[0].initDimensions(1).set(0, 4); }, false},
    {"R2", "needed_input_without_a_value", [](hal::Request& r) { r.inputs[0] = {}; }, nullptr, true,
     true},

    {"R3", "pool_outside", [](hal::Request& r) { r.inputs[0].location.poolIndex = 2; }},
    {"R3", "pool_outside_by_far",
     [](hal::Request& r) { r.outputs[0].location.poolIndex = 0xffffffff; }},
    {"R3", "input_beyond_the_pool", [](hal::Request& r) { r.inputs[0].location.offset = 1 << 20; }},
    {"R3", "output_beyond_the_pool",
     [](hal::Request& r) { r.outputs[0].location.offset = 1 << 20; }},
    {"R3", "input_beyond_the_pool_by_4",
     [](hal::Request& r) { r.inputs[1].location.offset = sizeOf(r.pools[0]) - 12; }},
    {"R3", "output_beyond_the_pool_by_4",
     [](hal::Request& r) { r.outputs[0].location.offset = sizeOf(r.pools[1]) - 12; }},
    {"R3", "length_that_wraps", [](hal::Request& r) { r.inputs[1].location.length = 0xffffffff; }},
    {"R3", "offset_that_wraps", [](hal::Request& r) { r.inputs[0].location.offset = 0xfffffff8; }},
    {"R3", "output_at_an_offset_that_wraps",
     [](hal::Request& r) { r.outputs[0].location.offset = 0xfffffff8; }},
    {"R3", "input_too_short", [](hal::Request& r) { r.inputs[1].location.length = 8; }, nullptr,
     true, true},

    {"R4", "other_dimension_of_an_input", [](hal::Request& r) { r.inputs[0].dimensions = {5}; }},
    {"R4", "dimension_0_of_an_input", [](hal::Request& r) { r.inputs[0].dimensions = {0}; }},
    {"R4", "other_rank_of_an_input",
     [](hal::Request& r) {
       r.inputs[0].dimensions = {2, 2};
     }},
    {"R4", "other_dimension_of_an_output", [](hal::Request& r) { r.outputs[0].dimensions = {5}; }},
    {"R4", "smaller_dimension_of_an_output",
     [](hal::Request& r) { r.outputs[0].dimensions = {3}; }},
    {"R4", "other_rank_of_an_output",
     [](hal::Request& r) {
       r.outputs[0].dimensions = {4, 1};
     }},

    {"R6", "pool_of_an_unknown_kind", nullptr,
     [](auto r) { r.getPools()[0].getMemory().setKind(static_cast<wire::MemoryKind>(9)); }, false},
    {"R6", "pool_without_a_handle", nullptr,
     [](auto r) { r.getPools()[0].getMemory().getFile().disownFd(); }, false},
    {"R6", "token_0",
     [](hal::Request& r) {
       r.inputs[0].location = {2, 0, 0};
       r.pools.emplace_back(uint32_t{0});
     },
     nullptr, false},
    {"R6", "token_with_a_location",
     [](hal::Request& r) {
       r.inputs[0].location = {2, 4, 16};
       r.pools.emplace_back(uint32_t{100});
     },
     nullptr, false},
    {"R6", "unknown_token_of_an_input",
     [](hal::Request& r) {
       r.inputs[0].location = {2, 0, 0};
       r.pools.emplace_back(uint32_t{100});
     },
     nullptr, false},
    {"R6", "unknown_token_of_an_output",
     [](hal::Request& r) {
       r.outputs[0].location = {2, 0, 0};
       r.pools.emplace_back(uint32_t{100});
     },
     nullptr, false},
};

constexpr SizedRequest kSizedRows[] = {
    {"R4", "same_dimensions", Sizes::KNOWN,
     [](hal::Request& r) {
       r.inputs[0].dimensions = {4};
       r.outputs[0].dimensions = {4};
     },
     HalVersion::V1_0},
    {"R4", "open_input_left_open", Sizes::ALL_OPEN,
     [](hal::Request& r) { r.outputs[0].dimensions = {4}; }, std::nullopt},
    {"R4", "open_input_left_open_by_0", Sizes::ALL_OPEN,
     [](hal::Request& r) {
       r.inputs[0].dimensions = {0};
       r.inputs[1].dimensions = {4};
       r.outputs[0].dimensions = {4};
     },
     std::nullopt},
    {"R4", "open_sizes_that_are_given", Sizes::ALL_OPEN,
     [](hal::Request& r) {
       for (hal::RequestArgument& input : r.inputs) input.dimensions = {4};
       r.outputs[0].dimensions = {4};
     },
     HalVersion::V1_0},
    {"R5", "output_left_open", Sizes::OPEN_OUTPUT, nullptr, HalVersion::V1_2},
    {"R5", "output_left_open_by_0", Sizes::OPEN_OUTPUT,
     [](hal::Request& r) { r.outputs[0].dimensions = {0}; }, HalVersion::V1_2},
    {"R7", "whole_pools", Sizes::KNOWN,
     [](hal::Request& r) {
       for (hal::RequestArgument& input : r.inputs) input.location.length = 0;
       r.outputs[0].location.length = 0;
     },
     HalVersion::V1_0},
};
// clang-format on

}  // namespace

std::span<const BadRequest> badRequests() { return kBadRows; }

std::span<const SizedRequest> sizedRequests() { return kSizedRows; }

hal::Request BadRequest::spoilt(hal::Request good) const {
  if (change != nullptr) change(good);
  return good;
}

std::initializer_list<Code> BadRequest::codes() const {
  static constexpr std::initializer_list<Code> kInvalid = {Code::INVALID_ARGUMENT};
  static constexpr std::initializer_list<Code> kEither = {Code::INVALID_ARGUMENT,
                                                          Code::GENERAL_FAILURE};
  return isOperations ? kEither : kInvalid;
}

Model SizedRequest::model() const {
  Model made = addModel(4);
  if (sizes == Sizes::KNOWN) return made;
  made.main.operands[3].dimensions = {0};
  if (sizes == Sizes::OPEN_OUTPUT) return made;
  for (const size_t input : {0, 1}) made.main.operands[input].dimensions = {0};
  return made;
}

}  // namespace halyard::validation
