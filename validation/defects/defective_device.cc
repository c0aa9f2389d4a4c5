#include "validation/defects/defective_device.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "device_arena.h"
#include "personality.h"
#include "personality_device.h"

namespace halyard::defects {
namespace {

// Counters that the models of a process share.
struct Counts {
  std::atomic<uint64_t> executions = 0;
  std::atomic<unsigned> running = 0;
  std::atomic<uint64_t> models = 0;
};

class DefectiveModel final : public hal::PreparedModel {
 public:
  DefectiveModel(const Defect& defect, std::shared_ptr<Counts> counts,
                 hal::ExecutionPreference preference, std::shared_ptr<const Model> model,
                 std::shared_ptr<hal::PreparedModel> inner)
      : defect_(defect),
        counts_(std::move(counts)),
        preference_(preference),
        number_(++counts_->models),
        model_(std::move(model)),
        inner_(std::move(inner)) {}

  hal::ExecutionResult executeSynchronously(const hal::Request& request,
                                            const hal::ExecuteOptions& options) override {
    hal::ExecuteOptions own = options;
    if (defect_.options != nullptr) defect_.options(own);
    ++counts_->running;
    hal::ExecutionResult result = inner_->executeSynchronously(request, own);
    if (result.status.ok() && defect_.computed != nullptr) spoil(request, result);
    --counts_->running;
    return result;
  }

 private:
  void spoil(const hal::Request& request, hal::ExecutionResult& result) {
    const auto mapped = hal::MappedRequest::map(*model_, request);
    if (!mapped.ok()) return;
    Computed computed{.model = *model_,
                      .inputs = mapped->inputs(),
                      .outputs = mapped->outputs(),
                      .outputBytes = {},
                      .number = ++counts_->executions,
                      .numberOfModel = ++executions_,
                      .running = counts_->running,
                      .isNewest = number_ == counts_->models,
                      .preference = preference_,
                      .kept = kept_,
                      .result = result};
    for (size_t i = 0; i < computed.outputs.size(); ++i) {
      const Operand& operand = model_->main.operands[model_->main.outputIndexes[i]];
      const Shape& dims =
          i < result.outputShapes.size() ? result.outputShapes[i].dimensions : operand.dimensions;
      computed.outputBytes.push_back(realByteSize(operand.type, dims).value_or(0));
    }
    defect_.computed(computed);
  }

  const Defect& defect_;
  const std::shared_ptr<Counts> counts_;
  const hal::ExecutionPreference preference_;
  const uint64_t number_;
  std::atomic<uint64_t> executions_ = 0;
  KeptOutputs kept_;
  const std::shared_ptr<const Model> model_;
  const std::shared_ptr<hal::PreparedModel> inner_;
};

class DefectiveMemory final : public drivers::ArenaMemory {
 public:
  DefectiveMemory(const MemoryFlaws& flaws, const hal::MemoryOrder& order)
      : ArenaMemory(order.bytes), flaws_(flaws) {
    if (!order.roles.empty()) model_ = order.roles.front().preparedModel;
  }

  Status read(std::span<uint8_t> destination, const Shape& dimensions) override {
    if (!flaws_.outlivesModel) {
      // The server releases models in the background.
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      if (model_.expired()) std::ranges::fill(bytes(), uint8_t{0});
    }
    HALYARD_RETURN_IF_ERROR(ArenaMemory::read(destination, dimensions));
    if (flaws_.givesCopies) return okStatus();
    if (first_.empty()) first_.assign(destination.begin(), destination.end());
    first_.resize(destination.size());
    std::ranges::copy(first_, destination.begin());
    return okStatus();
  }
  Status write(std::span<const uint8_t> source, const Shape& dimensions) override {
    return flaws_.takesCopies ? ArenaMemory::write(source, dimensions) : okStatus();
  }

 private:
  const MemoryFlaws& flaws_;
  std::weak_ptr<hal::PreparedModel> model_;
  std::vector<uint8_t> first_;
};

class DefectiveDevice final : public hal::Device {
 public:
  DefectiveDevice(const Defect& defect, std::shared_ptr<hal::Device> inner)
      : defect_(defect), inner_(std::move(inner)), info_(inner_->info()) {
    info_.name = "test-defect";
    if (defect_.cache != nullptr) info_.modelCacheFiles = 1;
    if (defect_.info != nullptr) defect_.info(info_);
  }

  const hal::DeviceInfo& info() const override { return info_; }
  hal::DeviceStatus status() override { return inner_->status(); }

  Result<hal::SupportedOperations> getSupportedOperations(const ValidModel& model) override {
    auto answers = inner_->getSupportedOperations(model);
    if (answers.ok() && defect_.supported != nullptr) defect_.supported(*model, *answers);
    return answers;
  }

  Result<std::shared_ptr<hal::PreparedModel>> prepareModel(
      const ValidModel& model, const hal::PrepareOptions& options) override {
    HALYARD_ASSIGN_OR_RETURN(std::shared_ptr<hal::PreparedModel> prepared,
                             prepareInner(model, options));
    if (defect_.cache != nullptr && options.cache != nullptr) {
      Status saved = saveNaively(*model, *options.cache, *defect_.cache);
      if (!saved.ok() && !defect_.cache->toleratesBadFiles) return saved;
    }
    return wrap(options.preference, model.share(), std::move(prepared));
  }

  Result<hal::DeviceMemoryPtr> allocateMemory(const hal::MemoryOrder& order) override {
    if (defect_.memory == nullptr) return inner_->allocateMemory(order);
    if (!defect_.memory->isSeparate) {
      static const hal::DeviceMemoryPtr common =
          std::make_shared<drivers::ArenaMemory>(size_t{1} << 24);
      if (order.bytes <= size_t{1} << 24) return common;
    }
    return hal::DeviceMemoryPtr(std::make_shared<DefectiveMemory>(*defect_.memory, order));
  }

  Result<hal::CachedModel> prepareModelFromCache(const std::optional<ValidModel>& model,
                                                 const hal::PrepareOptions& options) override {
    if (defect_.cache == nullptr) return inner_->prepareModelFromCache(model, options);
    HALYARD_ASSIGN_OR_RETURN(const ValidModel loaded, loadNaively(*options.cache, *defect_.cache));
    HALYARD_ASSIGN_OR_RETURN(std::shared_ptr<hal::PreparedModel> prepared,
                             prepareInner(loaded, {}));
    hal::CachedModel cached;
    cached.prepared = wrap(options.preference, loaded.share(), std::move(prepared));
    cached.interface = loaded.share();
    return cached;
  }

 private:
  // The inner device may get another model.
  Result<std::shared_ptr<hal::PreparedModel>> prepareInner(const ValidModel& model,
                                                           const hal::PrepareOptions& options) {
    ValidModel computed = model;
    if (defect_.model != nullptr) {
      Model other = *model;
      defect_.model(other);
      HALYARD_ASSIGN_OR_RETURN(computed, validated(std::move(other)));
    }
    auto prepared = inner_->prepareModel(computed, options);
    if (prepared.ok() && defect_.prepared != nullptr) defect_.prepared();
    return prepared;
  }

  std::shared_ptr<hal::PreparedModel> wrap(hal::ExecutionPreference preference,
                                           std::shared_ptr<const Model> model,
                                           std::shared_ptr<hal::PreparedModel> prepared) {
    return std::make_shared<DefectiveModel>(defect_, counts_, preference, std::move(model),
                                            std::move(prepared));
  }

  const Defect& defect_;
  const std::shared_ptr<hal::Device> inner_;
  hal::DeviceInfo info_;
  const std::shared_ptr<Counts> counts_ = std::make_shared<Counts>();
};

}  // namespace

Result<std::shared_ptr<hal::Device>> makeDefectiveDevice(const Defect& defect) {
  HALYARD_ASSIGN_OR_RETURN(drivers::Personality personality,
                           drivers::parsePersonality(defect.personality));
  HALYARD_ASSIGN_OR_RETURN(std::shared_ptr<hal::Device> inner,
                           drivers::makePersonalityDevice(std::move(personality)));
  return std::shared_ptr<hal::Device>(std::make_shared<DefectiveDevice>(defect, std::move(inner)));
}

}  // namespace halyard::defects
