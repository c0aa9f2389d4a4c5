#include "import/tflite/model_mutator.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <memory>
#include <random>

#include "import/tflite/tflite_objects_generated.h"

namespace halyard::import {
namespace {

using namespace tfl_objects;

constexpr uint32_t kMaxDepth = 64;
constexpr uint32_t kMaxTables = 100'000;
// Values of extents, indexes and counts that often cause errors.
constexpr int32_t kInteresting[] = {-1,
                                    0,
                                    1,
                                    2,
                                    3,
                                    4,
                                    7,
                                    8,
                                    127,
                                    128,
                                    255,
                                    256,
                                    65535,
                                    65536,
                                    1 << 24,
                                    (1 << 30) + 1,
                                    -2,
                                    -7,
                                    -128,
                                    -129,
                                    32767,
                                    0x7fffffff,
                                    -0x7fffffff - 1};

class Mutator {
 public:
  Mutator(ModelT& model, uint32_t seed, const ByteMutator& mutateBytes)
      : model_(model), random_(seed), mutateBytes_(mutateBytes) {}

  void mutate() {
    void (Mutator::*const kinds[])() = {
        &Mutator::changeShape,     &Mutator::changeShape,        &Mutator::changeType,
        &Mutator::changeBuffer,    &Mutator::changeConstant,     &Mutator::changeConstant,
        &Mutator::changeScales,    &Mutator::changeArguments,    &Mutator::changeArguments,
        &Mutator::changeOperator,  &Mutator::changeOptions,      &Mutator::changeOrder,
        &Mutator::changeInterface, &Mutator::changeQuantisation, &Mutator::changeCalls};
    const size_t count = 1 + below(4);
    for (size_t i = 0; i < count; ++i) (this->*kinds[below(std::size(kinds))])();
  }

 private:
  size_t below(size_t bound) { return bound == 0 ? 0 : random_() % bound; }
  bool oneIn(size_t n) { return below(n) == 0; }
  int32_t number() {
    if (oneIn(4)) return static_cast<int32_t>(random_());
    return kInteresting[below(std::size(kInteresting))];
  }
  // Returns one of the entries that are not null; null if all are.
  template <typename T>
  T* some(std::vector<std::unique_ptr<T>>& all) {
    return all.empty() ? nullptr : all[below(all.size())].get();
  }
  SubGraphT* graph() { return some(model_.subgraphs); }
  TensorT* tensor() {
    SubGraphT* const within = graph();
    return within == nullptr ? nullptr : some(within->tensors);
  }
  OperatorT* operation() {
    SubGraphT* const within = graph();
    return within == nullptr ? nullptr : some(within->operators);
  }
  // Replaces, adds, removes or swaps entries.
  template <typename T, typename Make>
  void changeList(std::vector<T>& list, Make make) {
    const size_t what = below(5);
    if (what == 0 || list.empty()) {
      list.insert(list.begin() + static_cast<std::ptrdiff_t>(below(list.size() + 1)), make());
    } else if (what == 1) {
      list.erase(list.begin() + static_cast<std::ptrdiff_t>(below(list.size())));
    } else if (what == 2) {
      std::swap(list[below(list.size())], list[below(list.size())]);
    } else {
      list[below(list.size())] = make();
    }
  }

  void changeShape() {
    TensorT* const changed = tensor();
    if (changed == nullptr) return;
    if (!changed->shape.empty() && oneIn(2)) {
      // Uses a neighbour or a multiple, which is closer to the operators' rules.
      int32_t& extent = changed->shape[below(changed->shape.size())];
      const auto wide = static_cast<int64_t>(extent);
      const int64_t others[] = {wide + 1, wide - 1, wide * 2, wide / 2};
      extent = static_cast<int32_t>(others[below(std::size(others))]);
      return;
    }
    changeList(changed->shape, [this] { return number(); });
  }
  void changeType() {
    TensorT* const changed = tensor();
    if (changed == nullptr) return;
    const auto& types = EnumValuesTensorType();
    changed->type = oneIn(8) ? static_cast<TensorType>(number()) : types[below(std::size(types))];
  }
  void changeBuffer() {
    TensorT* const changed = tensor();
    if (changed == nullptr) return;
    changed->buffer = oneIn(4) ? static_cast<uint32_t>(number())
                               : static_cast<uint32_t>(below(model_.buffers.size() + 1));
    if (oneIn(4)) changed->is_variable = !changed->is_variable;
  }
  void changeConstant() {
    BufferT* const changed = some(model_.buffers);
    if (changed == nullptr) return;
    std::vector<uint8_t>& data = changed->data;
    switch (below(4)) {
      case 0:
        data.resize(oneIn(2) ? below(data.size() + 1) : data.size() + 1 + below(16));
        return;
      case 1:
        mutateBytes_(data, static_cast<uint32_t>(random_()));
        return;
      default:
        // Changes 32-bit numbers: an axis, an extent, a permutation.
        if (data.size() < 4) return;
        const int32_t value = number();
        const auto* const bytes = reinterpret_cast<const uint8_t*>(&value);
        std::copy_n(bytes, 4,
                    data.begin() + static_cast<std::ptrdiff_t>(4 * below(data.size() / 4)));
    }
  }
  QuantizationParametersT* quantisation() {
    TensorT* const of = tensor();
    if (of == nullptr) return nullptr;
    if (of->quantization == nullptr) of->quantization = std::make_unique<QuantizationParametersT>();
    return of->quantization.get();
  }
  void changeScales() {
    QuantizationParametersT* const changed = quantisation();
    if (changed == nullptr) return;
    constexpr float kScales[] = {0,
                                 -1,
                                 1,
                                 0.5f,
                                 1e-30f,
                                 1e30f,
                                 1 / 255.0f,
                                 std::numeric_limits<float>::infinity(),
                                 std::numeric_limits<float>::quiet_NaN()};
    changeList(changed->scale, [&] { return kScales[below(std::size(kScales))]; });
  }
  void changeQuantisation() {
    QuantizationParametersT* const changed = quantisation();
    if (changed == nullptr) return;
    if (oneIn(3)) {
      changed->quantized_dimension = number();
    } else {
      changeList(changed->zero_point, [this] { return int64_t{number()}; });
    }
  }
  void changeArguments() {
    OperatorT* const changed = operation();
    if (changed == nullptr) return;
    size_t tensors = 0;
    for (const auto& each : model_.subgraphs) tensors = std::max(tensors, each->tensors.size());
    const auto make = [&] {
      return oneIn(6) ? number() : static_cast<int32_t>(below(tensors + 1)) - 1;
    };
    const size_t which = below(6);
    changeList(which == 0   ? changed->outputs
               : which == 1 ? changed->intermediates
                            : changed->inputs,
               make);
  }
  void changeOperator() {
    OperatorT* const changed = operation();
    OperatorCodeT* const code = some(model_.operator_codes);
    if (changed == nullptr || code == nullptr) return;
    const auto& all = EnumValuesBuiltinOperator();
    switch (below(4)) {
      case 0:
        changed->opcode_index = static_cast<uint32_t>(below(model_.operator_codes.size() + 1));
        return;
      case 1:
        code->version = number();
        return;
      case 2:
        code->custom_code = oneIn(2)   ? "TFLite_Detection_PostProcess"
                            : oneIn(2) ? "Convolution2DTransposeBias"
                                       : "FlexMap";
        [[fallthrough]];
      default: {
        const auto chosen = static_cast<int32_t>(all[below(std::size(all))]);
        code->builtin_code = chosen;
        code->deprecated_builtin_code = static_cast<int8_t>(std::min(chosen, 127));
      }
    }
  }
  // Takes the options of another operator of the model, of another kind or with other values.
  void changeOptions() {
    OperatorT* const changed = operation();
    OperatorT* const other = operation();
    if (changed == nullptr || other == nullptr) return;
    if (oneIn(4)) {
      changed->builtin_options.Reset();
    } else {
      changed->builtin_options = other->builtin_options;
      changed->builtin_options_2 = other->builtin_options_2;
    }
    if (!changed->custom_options.empty()) {
      mutateBytes_(changed->custom_options, static_cast<uint32_t>(random_()));
    }
  }
  // Changes the subgraphs that an operator calls.
  void changeCalls() {
    OperatorT* const changed = operation();
    if (changed == nullptr) return;
    const auto make = [&] {
      return oneIn(6) ? number() : static_cast<int32_t>(below(model_.subgraphs.size()));
    };
    if (IfOptionsT* const options = changed->builtin_options.AsIfOptions()) {
      (oneIn(2) ? options->then_subgraph_index : options->else_subgraph_index) = make();
    }
    if (WhileOptionsT* const options = changed->builtin_options.AsWhileOptions()) {
      (oneIn(2) ? options->cond_subgraph_index : options->body_subgraph_index) = make();
    }
    if (CallOnceOptionsT* const options = changed->builtin_options.AsCallOnceOptions()) {
      options->init_subgraph_index = make();
    }
    auto& newer = changed->builtin_options_2;
    if (StableHLOCompositeOptionsT* const options = newer.AsStableHLOCompositeOptions()) {
      options->decomposition_subgraph_index = make();
    }
    if (StablehloCaseOptionsT* const options = newer.AsStablehloCaseOptions()) {
      changeList(options->branch_subgraph_indices, make);
    }
    if (StablehloReduceWindowOptionsT* const options = newer.AsStablehloReduceWindowOptions()) {
      options->body_subgraph_index = make();
    }
  }
  void changeOrder() {
    SubGraphT* const changed = graph();
    if (changed == nullptr || changed->operators.empty()) return;
    auto& operators = changed->operators;
    if (oneIn(2)) {
      std::swap(operators[below(operators.size())], operators[below(operators.size())]);
    } else if (oneIn(2)) {
      operators.push_back(std::make_unique<OperatorT>(*operators[below(operators.size())]));
    } else {
      operators.erase(operators.begin() + static_cast<std::ptrdiff_t>(below(operators.size())));
    }
  }
  void changeInterface() {
    SubGraphT* const changed = graph();
    if (changed == nullptr) return;
    const auto make = [&] {
      return oneIn(6) ? number() : static_cast<int32_t>(below(changed->tensors.size()));
    };
    changeList(oneIn(2) ? changed->inputs : changed->outputs, make);
  }

  ModelT& model_;
  std::minstd_rand random_;
  const ByteMutator& mutateBytes_;
};

// A file may declare the kind of an operator's options and have no options. The verifier accepts
// that, but the generated code dereferences null when it copies or packs such a union.
void dropOptionsWithoutValue(ModelT* model) {
  for (const auto& graph : model->subgraphs) {
    for (const auto& operation : graph->operators) {
      if (operation->builtin_options.value == nullptr) operation->builtin_options.Reset();
      if (operation->builtin_options_2.value == nullptr) operation->builtin_options_2.Reset();
    }
  }
}

// The verifier also ignores the alignment of a vector's numbers, which unpacking reads in place.
bool zeroPointsAreAligned(const Model& model) {
  const auto isAligned = [](const Tensor* tensor) {
    const QuantizationParameters* const quantization = tensor->quantization();
    if (quantization == nullptr || quantization->zero_point() == nullptr) return true;
    return reinterpret_cast<uintptr_t>(quantization->zero_point()->Data()) % alignof(int64_t) == 0;
  };
  if (model.subgraphs() == nullptr) return true;
  return std::ranges::all_of(*model.subgraphs(), [&](const SubGraph* graph) {
    return graph->tensors() == nullptr || std::ranges::all_of(*graph->tensors(), isAligned);
  });
}

// Changes one byte of a scalar in a table, such as the options of an operator. The table's list has
// the places of scalars but not their sizes.
void changeScalar(flatbuffers::Table* table, std::minstd_rand& random) {
  const auto* const vtable = reinterpret_cast<const uint8_t*>(table) -
                             flatbuffers::ReadScalar<flatbuffers::soffset_t>(table);
  const size_t fields =
      flatbuffers::ReadScalar<flatbuffers::voffset_t>(vtable) / sizeof(flatbuffers::voffset_t);
  if (fields <= 2) return;
  const auto field = static_cast<flatbuffers::voffset_t>((2 + random() % (fields - 2)) *
                                                         sizeof(flatbuffers::voffset_t));
  if (table->GetOptionalFieldOffset(field) == 0) return;
  *table->GetAddressOf(field) = static_cast<uint8_t>(random());
}

void changeOptionsInPlace(std::vector<uint8_t>* file, uint32_t seed) {
  std::minstd_rand random(seed);
  Model* const model = flatbuffers::GetMutableRoot<Model>(file->data());
  const auto* const graphs = model->subgraphs();
  if (graphs == nullptr || graphs->size() == 0) return;
  const auto* const operators =
      graphs->Get(static_cast<uint32_t>(random() % graphs->size()))->operators();
  if (operators == nullptr || operators->size() == 0) return;
  const auto* const chosen = operators->Get(static_cast<uint32_t>(random() % operators->size()));
  if (chosen->builtin_options() == nullptr) return;
  const size_t at =
      static_cast<size_t>(static_cast<const uint8_t*>(chosen->builtin_options()) - file->data());
  changeScalar(reinterpret_cast<flatbuffers::Table*>(file->data() + at), random);
}

}  // namespace

std::vector<uint8_t> mutateModel(std::span<const uint8_t> file, uint32_t seed,
                                 const ByteMutator& mutateBytes) {
  flatbuffers::Verifier verifier(file.data(), file.size(), kMaxDepth, kMaxTables);
  if (file.empty() || !VerifyModelBuffer(verifier)) return {};
  if (!zeroPointsAreAligned(*GetModel(file.data()))) return {};
  const std::unique_ptr<ModelT> model(GetModel(file.data())->UnPack());
  dropOptionsWithoutValue(model.get());
  // Some inputs only get changed options, whose fields have no names here.
  const bool isOptions = seed % 5 == 0;
  if (!isOptions) Mutator(*model, seed, mutateBytes).mutate();
  flatbuffers::FlatBufferBuilder builder;
  FinishModelBuffer(builder, Model::Pack(builder, model.get()));
  std::vector<uint8_t> result(builder.GetBufferPointer(),
                              builder.GetBufferPointer() + builder.GetSize());
  if (isOptions) changeOptionsInPlace(&result, seed);
  return result;
}

}  // namespace halyard::import
