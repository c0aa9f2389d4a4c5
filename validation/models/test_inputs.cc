#include "validation/models/test_inputs.h"

#include <filesystem>
#include <limits>

#include "tools/halyard/run_inputs.h"

namespace halyard::validation {

namespace fs = std::filesystem;

Result<TestInputs> TestInputs::open(const import::ImportedModel& model, const Plan& plan) {
  TestInputs inputs(model, plan.seed);
  HALYARD_ASSIGN_OR_RETURN(inputs.pictures_,
                           cli::TestPictures::open(model, plan.data, plan.labels));
  const fs::path models = plan.prefix / "share/halyard/models";
  std::error_code error;
  const bool takesOwn = plan.data.empty() && cli::isForFashionMnist(model);
  if (inputs.pictures_ == nullptr && takesOwn && fs::is_directory(models / "images", error)) {
    HALYARD_ASSIGN_OR_RETURN(
        inputs.pictures_,
        cli::TestPictures::open(model, models / "images", models / "fashion_mnist_labels.txt"));
  }
  return inputs;
}

std::string TestInputs::name() const {
  return pictures_ != nullptr ? pictures_->name() : "random numbers";
}

size_t TestInputs::most() const {
  return pictures_ != nullptr ? pictures_->size() : std::numeric_limits<size_t>::max();
}

Result<TestInputs::Input> TestInputs::get(size_t n, size_t count) const {
  Input input;
  if (pictures_ != nullptr) {
    const size_t i = pictures_->pick(n, count);
    HALYARD_ASSIGN_OR_RETURN(input.bytes.emplace_back(), pictures_->input(i));
    input.right = pictures_->classOf(i);
    return input;
  }
  cli::InputOptions random;
  random.randomSeed = seed_ + n;
  HALYARD_ASSIGN_OR_RETURN(cli::PreparedInputs prepared, cli::prepareInputs(ports_, random));
  for (cli::PreparedInput& each : prepared.inputs) input.bytes.push_back(std::move(each.bytes));
  return input;
}

}  // namespace halyard::validation
