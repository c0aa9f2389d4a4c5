#include "validation/vts/bad_requests.h"

namespace halyard::validation {
namespace {

using Kind = hal::RequestArgument::Kind;

// clang-format off: a row is a line where it can be.
constexpr BadRequest kRows[] = {
    {"R1", "input_missing", [](hal::Request& r) { r.inputs.pop_back(); }},
    {"R1", "input_added", [](hal::Request& r) { r.inputs.push_back(r.inputs[0]); }},
    {"R1", "no_inputs", [](hal::Request& r) { r.inputs.clear(); }},
    {"R1", "output_missing", [](hal::Request& r) { r.outputs.clear(); }},
    {"R1", "output_added", [](hal::Request& r) { r.outputs.push_back(r.outputs[0]); }},

    {"R2", "no_value_with_a_location", [](hal::Request&) {},
     [](auto r) { r.getInputs()[0].setHasNoValue(true); }, HalVersion::V1_0, false},
    {"R2", "needed_input_without_a_value", [](hal::Request& r) { r.inputs[0] = {}; }, nullptr,
     HalVersion::V1_0, true, true},

    {"R3", "pool_outside", [](hal::Request& r) { r.inputs[0].location.poolIndex = 2; }},
    {"R3", "pool_outside_by_far",
     [](hal::Request& r) { r.outputs[0].location.poolIndex = 0xffffffff; }},
    {"R3", "input_beyond_the_pool", [](hal::Request& r) { r.inputs[0].location.offset = 1 << 20; }},
    {"R3", "output_beyond_the_pool",
     [](hal::Request& r) { r.outputs[0].location.offset = 1 << 20; }},
    {"R3", "offset_that_wraps", [](hal::Request& r) { r.inputs[0].location.offset = 0xfffffff8; }},
    {"R3", "output_at_an_offset_that_wraps",
     [](hal::Request& r) { r.outputs[0].location.offset = 0xfffffff8; }},
    {"R3", "input_too_short", [](hal::Request& r) { r.inputs[1].location.length = 8; }, nullptr,
     HalVersion::V1_0, true, true},

    {"R4", "other_dimension_of_an_input", [](hal::Request& r) { r.inputs[0].dimensions = {5}; }},
    {"R4", "dimension_0_of_an_input", [](hal::Request& r) { r.inputs[0].dimensions = {0}; }},
    {"R4", "other_rank_of_an_input",
     [](hal::Request& r) {
       r.inputs[0].dimensions = {2, 2};
     }},
    {"R4", "other_dimension_of_an_output", [](hal::Request& r) { r.outputs[0].dimensions = {5}; }},
    {"R4", "other_rank_of_an_output",
     [](hal::Request& r) {
       r.outputs[0].dimensions = {4, 1};
     }},

    {"R6", "pool_of_an_unknown_kind", [](hal::Request&) {},
     [](auto r) { r.getPools()[0].getMemory().setKind(static_cast<wire::MemoryKind>(9)); },
     HalVersion::V1_0, false},
    {"R6", "pool_without_a_handle", [](hal::Request&) {},
     [](auto r) { r.getPools()[0].getMemory().getFile().disownFd(); }, HalVersion::V1_0, false},
    {"R6", "token_0",
     [](hal::Request& r) {
       r.inputs[0].location = {2, 0, 0};
       r.pools.emplace_back(uint32_t{0});
     },
     nullptr, HalVersion::V1_3, false},
    {"R6", "unknown_token_of_an_input",
     [](hal::Request& r) {
       r.inputs[0].location = {2, 0, 0};
       r.pools.emplace_back(uint32_t{100});
     },
     nullptr, HalVersion::V1_3, false},
    {"R6", "unknown_token_of_an_output",
     [](hal::Request& r) {
       r.outputs[0].location = {2, 0, 0};
       r.pools.emplace_back(uint32_t{100});
     },
     nullptr, HalVersion::V1_3, false},
};
// clang-format on

}  // namespace

std::span<const BadRequest> badRequests() { return kRows; }

std::initializer_list<Code> BadRequest::codes() const {
  static constexpr std::initializer_list<Code> kInvalid = {Code::INVALID_ARGUMENT};
  static constexpr std::initializer_list<Code> kEither = {Code::INVALID_ARGUMENT,
                                                          Code::GENERAL_FAILURE};
  return isOperations ? kEither : kInvalid;
}

}  // namespace halyard::validation
