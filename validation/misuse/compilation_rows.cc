// Misuses of the functions of compilations.
#include "validation/misuse/table.h"

namespace halyard::misuse {
namespace {

using Devices = std::vector<const ANeuralNetworksDevice*>;

int create(World& w, ANeuralNetworksModel* model) {
  return ANeuralNetworksCompilation_create(model, w.out<ANeuralNetworksCompilation>());
}
int createFor(World& w, ANeuralNetworksModel* model, const Devices& devices, uint32_t count) {
  return ANeuralNetworksCompilation_createForDevices(model, devices.data(), count,
                                                     w.out<ANeuralNetworksCompilation>());
}
void expectNull(World& w) { w.expectOutIsNull(); }

std::vector<Misuse> compilationCreateRows() {
  const std::string forDevices = "Compilation_createForDevices_";
  return {
      {"Compilation_create_NullModel", kUnexpectedNull, "model is null",
       [](World& w) { return create(w, nullptr); }},
      {"Compilation_create_NullResult", kUnexpectedNull, "compilation is null",
       [](World& w) { return ANeuralNetworksCompilation_create(w.finishedSum(), nullptr); }},
      {"Compilation_create_UnfinishedModel", kBadState, "the model is not finished",
       [](World& w) { return create(w, w.sum()); }, expectNull},
      {"Compilation_create_InvalidModel", kBadState, "the model failed to finish",
       [](World& w) { return create(w, w.invalid()); }, expectNull},
      {forDevices + "NullModel", kUnexpectedNull, "model is null",
       [](World& w) { return createFor(w, nullptr, {w.device()}, 1); }},
      {forDevices + "NullDevices", kUnexpectedNull, "devices is null",
       [](World& w) {
         return ANeuralNetworksCompilation_createForDevices(w.finishedSum(), nullptr, 1,
                                                            w.out<ANeuralNetworksCompilation>());
       }},
      {forDevices + "NullResult", kUnexpectedNull, "compilation is null",
       [](World& w) {
         const ANeuralNetworksDevice* const device = w.device();
         return ANeuralNetworksCompilation_createForDevices(w.finishedSum(), &device, 1, nullptr);
       }},
      {forDevices + "NoDevices", kBadData, "the list of devices is empty",
       [](World& w) { return createFor(w, w.finishedSum(), {w.device()}, 0); }, expectNull},
      {forDevices + "NullDevice", kUnexpectedNull, "devices[0] is null",
       [](World& w) { return createFor(w, w.finishedSum(), {nullptr}, 1); }, expectNull},
      {forDevices + "SecondDeviceNull", kUnexpectedNull, "devices[1] is null",
       [](World& w) {
         return createFor(w, w.finishedSum(), {w.device(), nullptr}, 2);
       },
       expectNull},
      {forDevices + "DeviceTwice", kBadData, "devices[0] and devices[1] are the same",
       [](World& w) {
         return createFor(w, w.finishedSum(), {w.device(), w.device()}, 2);
       },
       expectNull},
      {forDevices + "UnknownDevice", kBadData, "devices[0] is no device of this process",
       [](World& w) {
         return createFor(w, w.finishedSum(), {reinterpret_cast<ANeuralNetworksDevice*>(&w)}, 1);
       },
       expectNull},
      {forDevices + "UnfinishedModel", kBadState, "the model is not finished",
       [](World& w) { return createFor(w, w.sum(), {w.device()}, 1); }, expectNull},
      {forDevices + "InvalidModel", kBadState, "the model failed to finish",
       [](World& w) { return createFor(w, w.invalid(), {w.device()}, 1); }, expectNull},
  };
}

using CompilationSetter = std::function<int(World&, ANeuralNetworksCompilation*)>;

// The rows that are the same for every function that changes a compilation.
void addCompilationSetter(std::vector<Misuse>& rows, const std::string& name,
                          const CompilationSetter& set) {
  rows.push_back({name + "_NullCompilation", kUnexpectedNull, "compilation is null",
                  [=](World& w) { return set(w, nullptr); }});
  rows.push_back({name + "_FinishedCompilation", kBadState, "the compilation is finished",
                  [=](World& w) { return set(w, w.compiled()); }});
  rows.push_back({name + "_FailedCompilation", kBadState, "the compilation is finished",
                  [=](World& w) { return set(w, w.failedCompilation()); }});
}
// Expects that the compilation can still be finished after the failed call.
void expectUsable(World& w) { ROW_OK(ANeuralNetworksCompilation_finish(w.usedCompilation)); }
Misuse badValue(const std::string& name, const std::string& text, const CompilationSetter& set) {
  return {name, kBadData, text,
          [=](World& w) { return set(w, w.usedCompilation = w.compilation()); }, expectUsable};
}

std::vector<Misuse> compilationSetterRows() {
  constexpr auto setPreference = ANeuralNetworksCompilation_setPreference;
  constexpr auto setPriority = ANeuralNetworksCompilation_setPriority;
  constexpr auto setTimeout = ANeuralNetworksCompilation_setTimeout;
  constexpr auto setCaching = ANeuralNetworksCompilation_setCaching;
  static constexpr uint8_t kToken[ANEURALNETWORKS_BYTE_SIZE_OF_CACHE_TOKEN] = {};
  std::vector<Misuse> rows;
  addCompilationSetter(rows, "Compilation_setPreference",
                       [](World&, ANeuralNetworksCompilation* c) { return setPreference(c, 1); });
  addCompilationSetter(rows, "Compilation_setPriority",
                       [](World&, ANeuralNetworksCompilation* c) { return setPriority(c, 100); });
  addCompilationSetter(rows, "Compilation_setTimeout",
                       [](World&, ANeuralNetworksCompilation* c) { return setTimeout(c, 1); });
  addCompilationSetter(rows, "Compilation_setCaching", [](World&, ANeuralNetworksCompilation* c) {
    return setCaching(c, "/tmp", kToken);
  });
  for (const int32_t preference : {3, 40, -1}) {
    rows.push_back(badValue(
        "Compilation_setPreference_Value" + std::string(preference < 0 ? "Minus" : "") +
            std::to_string(std::abs(preference)),
        "preference " + std::to_string(preference),
        [=](World&, ANeuralNetworksCompilation* c) { return setPreference(c, preference); }));
  }
  for (const int priority : {0, 89, 95, 111}) {
    rows.push_back(badValue(
        "Compilation_setPriority_Value" + std::to_string(priority),
        "priority " + std::to_string(priority) + ", expected 90 (low), 100 (medium) or 110 (high)",
        [=](World&, ANeuralNetworksCompilation* c) { return setPriority(c, priority); }));
  }
  rows.push_back({"Compilation_setTimeout_DevicesOfTheRuntimesChoice", kBadData,
                  "created for exactly one device",
                  [](World& w) {
                    w.usedCompilation = w.freeCompilation(w.finishedSum());
                    return setTimeout(w.usedCompilation, 1);
                  },
                  expectUsable});
  // The state is checked first.
  rows.push_back({"Compilation_setTimeout_FinishedAndOfTheRuntimesChoice", kBadState,
                  "the compilation is finished",
                  [](World& w) { return setTimeout(w.freelyCompiled(), 1); }});
  rows.push_back({"Compilation_setCaching_NullDirectory", kUnexpectedNull, "cacheDir is null",
                  [](World& w) { return setCaching(w.compilation(), nullptr, kToken); }});
  rows.push_back({"Compilation_setCaching_NullToken", kUnexpectedNull, "token is null",
                  [](World& w) { return setCaching(w.compilation(), "/tmp", nullptr); }});
  return rows;
}

std::vector<Misuse> compilationFinishRows() {
  constexpr auto finish = ANeuralNetworksCompilation_finish;
  return {
      {"Compilation_finish_NullCompilation", kUnexpectedNull, "compilation is null",
       [](World&) { return finish(nullptr); }},
      {"Compilation_finish_FinishedCompilation", kBadState, "finished already",
       [](World& w) { return finish(w.usedCompilation = w.compiled()); },
       // The finished compilation stays valid.
       [](World& w) { ROW_OK(ANeuralNetworksExecution_compute(w.ready(w.usedCompilation))); }},
      {"Compilation_finish_FailedCompilation", kBadState, "finished already",
       [](World& w) { return finish(w.failedCompilation()); }},
      {"Compilation_finish_OperationThatNoNamedDeviceHas", kBadData,
       "{device} does not support operation #0 OEM_OPERATION",
       [](World& w) { return finish(w.usedCompilation = w.compilation(w.oem())); },
       [](World& w) {
         ROW_ERROR(
             ANeuralNetworksExecution_create(w.usedCompilation, w.out<ANeuralNetworksExecution>()),
             kBadState, "the compilation failed to finish");
         w.expectOutIsNull();
         ROW_ERROR(ANeuralNetworksMemoryDesc_addInputRole(w.desc(), w.usedCompilation, 0, 1),
                   kBadData, "the compilation failed to finish");
       }},
      {"Compilation_finish_OperationThatNoDeviceHas", kBadData, "operation #0 OEM_OPERATION",
       [](World& w) { return finish(w.freeCompilation(w.oem())); }},
  };
}

std::vector<Misuse> preferredRows() {
  struct Query {
    const char* name;
    const char* argument;
    const char* what;
    uint32_t count;
    int (*call)(const ANeuralNetworksCompilation*, uint32_t, uint32_t*);
  };
  const Query queries[] = {
      {"AlignmentForInput", "alignment", "input", 2,
       ANeuralNetworksCompilation_getPreferredMemoryAlignmentForInput},
      {"PaddingForInput", "padding", "input", 2,
       ANeuralNetworksCompilation_getPreferredMemoryPaddingForInput},
      {"AlignmentForOutput", "alignment", "output", 1,
       ANeuralNetworksCompilation_getPreferredMemoryAlignmentForOutput},
      {"PaddingForOutput", "padding", "output", 1,
       ANeuralNetworksCompilation_getPreferredMemoryPaddingForOutput},
  };
  std::vector<Misuse> rows;
  for (const Query& q : queries) {
    const std::string name = std::string("Compilation_getPreferredMemory") + q.name;
    const auto untouched = [](World& w) { ROW_EQ(w.number, 77u); };
    rows.push_back({name + "_NullCompilation", kUnexpectedNull, "compilation is null",
                    [=](World& w) { return q.call(nullptr, 0, &w.number); }});
    rows.push_back({name + "_NullResult", kUnexpectedNull, std::string(q.argument) + " is null",
                    [=](World& w) { return q.call(w.compiled(), 0, nullptr); }});
    rows.push_back({name + "_UnfinishedCompilation", kBadState, "the compilation is not finished",
                    [=](World& w) { return q.call(w.compilation(), 9, &w.number); }, untouched});
    rows.push_back({name + "_FailedCompilation", kBadState, "the compilation failed to finish",
                    [=](World& w) { return q.call(w.failedCompilation(), 0, &w.number); },
                    untouched});
    rows.push_back({name + "_IndexTooLarge", kBadData,
                    fmt::format("{} {} of a model with {}", q.what, q.count, q.count),
                    [=](World& w) { return q.call(w.compiled(), q.count, &w.number); }, untouched});
  }
  return rows;
}

}  // namespace

std::vector<Misuse> compilationMisuses() {
  return joined(
      {compilationCreateRows(), compilationSetterRows(), compilationFinishRows(), preferredRows()});
}

}  // namespace halyard::misuse
