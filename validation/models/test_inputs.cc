#include "validation/models/test_inputs.h"

#include <filesystem>
#include <limits>

#include "measure/run_inputs.h"

namespace halyard::validation {

namespace fs = std::filesystem;

namespace {

// Random inputs after the few pictures of Halyard: twelve pictures are too few to show a rare
// error.
constexpr size_t kNumbersBehindFew = 288;

}  // namespace

Result<TestInputs> TestInputs::open(const import::ImportedModel& model, const Plan& plan) {
  TestInputs inputs(model, plan.seed);
  HALYARD_ASSIGN_OR_RETURN(inputs.pictures_,
                           measure::TestPictures::open(model, plan.data, plan.labels));
  const fs::path models = plan.prefix / "share/halyard/models";
  std::error_code error;
  const bool takesOwn = plan.data.empty() && measure::isForFashionMnist(model);
  if (inputs.pictures_ == nullptr && takesOwn && fs::is_directory(models / "images", error)) {
    HALYARD_ASSIGN_OR_RETURN(
        inputs.pictures_,
        measure::TestPictures::open(model, models / "images", models / "fashion_mnist_labels.txt"));
    if (inputs.pictures_ != nullptr) inputs.numbersBehind_ = kNumbersBehindFew;
  }
  return inputs;
}

std::string TestInputs::name() const {
  if (pictures_ == nullptr) return "random numbers";
  return pictures_->name() + (numbersBehind_ > 0 ? " and random numbers" : "");
}

size_t TestInputs::most() const {
  return pictures_ != nullptr ? pictures_->size() + numbersBehind_
                              : std::numeric_limits<size_t>::max();
}

Result<TestInputs::Input> TestInputs::get(size_t n, size_t count) const {
  Input input;
  if (pictures_ != nullptr && (numbersBehind_ == 0 || n < pictures_->size())) {
    const size_t i = numbersBehind_ == 0 ? pictures_->pick(n, count) : n;
    HALYARD_ASSIGN_OR_RETURN(input.bytes.emplace_back(), pictures_->input(i));
    input.right = pictures_->classOf(i);
    return input;
  }
  measure::InputOptions random;
  random.randomSeed = seed_ + n;
  HALYARD_ASSIGN_OR_RETURN(measure::PreparedInputs prepared,
                           measure::prepareInputs(ports_, random));
  for (measure::PreparedInput& each : prepared.inputs) input.bytes.push_back(std::move(each.bytes));
  return input;
}

}  // namespace halyard::validation
