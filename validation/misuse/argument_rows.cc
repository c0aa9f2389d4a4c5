// Misuses of the functions that set an execution's arguments, in the order of their checks.
#include "validation/misuse/table.h"

namespace halyard::misuse {
namespace {

using Execution = ANeuralNetworksExecution;
using Type = ANeuralNetworksOperandType;

// The four functions. Bytes come from, or go to, the World's arrays or a memory of 64 bytes.
int input(World& w, Execution* e, int32_t index, const Type* type, size_t length) {
  return ANeuralNetworksExecution_setInput(e, index, type, w.values, length);
}
int output(World& w, Execution* e, int32_t index, const Type* type, size_t length) {
  return ANeuralNetworksExecution_setOutput(e, index, type, w.result, length);
}
int inputFromMemory(World& w, Execution* e, int32_t index, const Type* type, size_t length) {
  return ANeuralNetworksExecution_setInputFromMemory(e, index, type, w.memory(), 0, length);
}
int outputFromMemory(World& w, Execution* e, int32_t index, const Type* type, size_t length) {
  return ANeuralNetworksExecution_setOutputFromMemory(e, index, type, w.memory(), 0, length);
}

struct Function {
  const char* name;
  bool isInput;
  bool fromMemory;
  int (*set)(World&, Execution*, int32_t, const Type*, size_t);
  std::string what() const { return isInput ? "input" : "output"; }
};
const Function kFunctions[] = {
    {"Execution_setInput", true, false, input},
    {"Execution_setOutput", false, false, output},
    {"Execution_setInputFromMemory", true, true, inputFromMemory},
    {"Execution_setOutputFromMemory", false, true, outputFromMemory},
};

// Expects that the argument can still be set: the failed call has changed nothing.
std::function<void(World&)> usable(const Function& f) {
  return [f](World& w) { ROW_OK(f.set(w, w.usedExecution, 0, nullptr, 8)); };
}

// All dimensions of the model are known: out[2] = a[2] + b[2].
void addFixedRows(std::vector<Misuse>& rows, const Function& f) {
  const std::string name = f.name;
  const auto wrongType = [&](const std::string& what, const std::string& text, int32_t code,
                             Dims dims, float scale = 0, int32_t zeroPoint = 0) {
    rows.push_back({name + "_" + what, kBadData, text,
                    [=](World& w) {
                      const OperandDescription type(code, dims, scale, zeroPoint);
                      return f.set(w, w.usedExecution = w.execution(), 0, type.get(), 8);
                    },
                    usable(f)});
  };
  const std::string count = f.isInput ? "2" : "1";
  rows.push_back({name + "_IndexTooLarge", kBadData,
                  f.what() + " " + count + " of a model with " + count,
                  [=](World& w) { return f.set(w, w.execution(), std::stoi(count), nullptr, 8); }});
  rows.push_back({name + "_IndexNegative", kBadData, f.what() + " 4294967295 of a model with",
                  [=](World& w) { return f.set(w, w.execution(), -1, nullptr, 8); }});
  rows.push_back({name + "_TypeWithCountButNoDimensions", kBadData, "1 dimensions with a null",
                  [=](World& w) {
                    const Type type = {ANEURALNETWORKS_TENSOR_FLOAT32, 1, nullptr, 0, 0};
                    return f.set(w, w.usedExecution = w.execution(), 0, &type, 8);
                  },
                  usable(f)});
  rows.push_back({name + "_TypeWithDimensionsButNoCount", kBadData, "0 dimensions with a real",
                  [=](World& w) {
                    const uint32_t two = 2;
                    const Type type = {ANEURALNETWORKS_TENSOR_FLOAT32, 0, &two, 0, 0};
                    return f.set(w, w.usedExecution = w.execution(), 0, &type, 8);
                  },
                  usable(f)});
  wrongType("UnknownType", "unknown type 99", 99, {2});
  wrongType("TypeOfNoExtension", "belongs to no extension", 0x7ffe0001, {2});
  wrongType("TypeWithAScale", "scale 0.5", ANEURALNETWORKS_TENSOR_FLOAT32, {2}, 0.5f);
  wrongType("TypeWithoutAScale", "scale 0", ANEURALNETWORKS_TENSOR_QUANT8_ASYMM, {2});
  wrongType("TypeWithAZeroPoint", "zero point 3", ANEURALNETWORKS_TENSOR_FLOAT32, {2}, 0, 3);
  wrongType("TypeThatOverflows", "needs more than 4294967295 bytes", ANEURALNETWORKS_TENSOR_FLOAT32,
            {5, 4, 4, 786433, 5, 3, 16777216, 4, 5});
  wrongType("AnotherRank", "dimensions [1,2], the model has [2]", ANEURALNETWORKS_TENSOR_FLOAT32,
            {1, 2});
  wrongType("AnotherDimension", "dimensions [3], the model has [2]", ANEURALNETWORKS_TENSOR_FLOAT32,
            {3});
  if (f.isInput) {
    wrongType("TypeWithAnUnknownDimension", "dimensions [?] are not all known",
              ANEURALNETWORKS_TENSOR_FLOAT32, {0});
    wrongType("TypeWithoutARank", "dimensions [...] are not all known",
              ANEURALNETWORKS_TENSOR_FLOAT32, {});
  } else {
    // A type may not make a known dimension of the model unknown.
    wrongType("TypeWithAnUnknownDimension", "dimensions [?], the model has [2]",
              ANEURALNETWORKS_TENSOR_FLOAT32, {0});
    wrongType("TypeWithoutARank", "dimensions [...], the model has [2]",
              ANEURALNETWORKS_TENSOR_FLOAT32, {});
  }
  rows.push_back(
      {name + "_SetTwice", kBadState, f.what() + " 0 has been set already", [=](World& w) {
         Execution* const e = w.execution();
         ROW_OK(f.set(w, e, 0, nullptr, 8));
         return f.set(w, e, 0, nullptr, 8);
       }});
  // The other function of the pair, with and without memory, has set the argument.
  const Function& other = kFunctions[(&f - kFunctions + 2) % 4];
  rows.push_back(
      {name + "_SetByTheOtherFunction", kBadState, "0 has been set already", [=](World& w) {
         Execution* const e = w.execution();
         ROW_OK(other.set(w, e, 0, nullptr, 8));
         return f.set(w, e, 0, nullptr, 8);
       }});
  // The index is checked before the type, and an earlier setting before the length.
  rows.push_back({name + "_IndexAndType", kBadData, "of a model with", [=](World& w) {
                    const OperandDescription type(99, {2});
                    return f.set(w, w.execution(), 9, type.get(), 8);
                  }});
  rows.push_back({name + "_SetTwiceAndLength", kBadState, "has been set already", [=](World& w) {
                    Execution* const e = w.execution();
                    ROW_OK(f.set(w, e, 0, nullptr, 8));
                    return f.set(w, e, 0, nullptr, 4);
                  }});
  rows.push_back(
      {name + "_TooShort", kBadData, "4 bytes for TENSOR_FLOAT32[2], which needs 8",
       [=](World& w) { return f.set(w, w.usedExecution = w.execution(), 0, nullptr, 4); },
       usable(f)});
  rows.push_back(
      {name + "_TooLongWithoutPadding", kBadData, "12 bytes for TENSOR_FLOAT32[2]",
       [=](World& w) { return f.set(w, w.usedExecution = w.execution(), 0, nullptr, 12); },
       usable(f)});
  rows.push_back({name + "_TooShortWithPadding", kBadData, "4 bytes for TENSOR_FLOAT32[2]",
                  [=](World& w) {
                    Execution* const e = w.usedExecution = w.execution();
                    ROW_OK(ANeuralNetworksExecution_enableInputAndOutputPadding(e, true));
                    return f.set(w, e, 0, nullptr, 4);
                  },
                  // With padding, a longer buffer is valid.
                  [=](World& w) { ROW_OK(f.set(w, w.usedExecution, 0, nullptr, 12)); }});
}

// Rows for a model with open dimensions: out[?] = a[?] + b[1].
void addOpenRows(std::vector<Misuse>& rows, const Function& f) {
  const std::string name = f.name;
  const auto open = [](World& w) {
    return w.usedExecution = w.execution(w.compiled(w.finished(w.sum({0}, {1}, {0}))));
  };
  if (f.isInput) {
    rows.push_back({name + "_NoTypeForUnknownDimensions", kBadData, "input 0 needs a type",
                    [=](World& w) { return f.set(w, open(w), 0, nullptr, 8); }});
  }
  rows.push_back({name + "_TypeTooLongForTheBuffer", kBadData,
                  "8 bytes for TENSOR_FLOAT32[3], which needs 12", [=](World& w) {
                    const OperandDescription type(ANEURALNETWORKS_TENSOR_FLOAT32, {3});
                    return f.set(w, open(w), 0, type.get(), 8);
                  }});
}

void addPointerRows(std::vector<Misuse>& rows, const Function& f) {
  const std::string name = f.name;
  const auto null = [f](Execution* e, size_t length) {
    return f.isInput ? ANeuralNetworksExecution_setInput(e, 0, nullptr, nullptr, length)
                     : ANeuralNetworksExecution_setOutput(e, 0, nullptr, nullptr, length);
  };
  // The null buffer is checked before the state.
  rows.push_back({name + "_NullBuffer", kUnexpectedNull, "buffer is null, length 8",
                  [=](World& w) { return null(w.computed(), 8); }});
  rows.push_back(
      {name + "_BufferWithLengthZero", kBadData, "a real buffer with length 0",
       [=](World& w) { return f.set(w, w.usedExecution = w.execution(), 0, nullptr, 0); },
       usable(f)});
  rows.push_back({name + "_LengthAbove32Bits", kBadData, "4294967296 bytes are too many",
                  [=](World& w) {
                    return f.set(w, w.usedExecution = w.execution(), 0, nullptr, size_t{1} << 32);
                  },
                  usable(f)});
}

void addMemoryRows(std::vector<Misuse>& rows, const Function& f) {
  const std::string name = f.name;
  const auto set = [f](Execution* e, const ANeuralNetworksMemory* memory, size_t offset,
                       size_t length, const Type* type = nullptr, int32_t index = 0) {
    return f.isInput
               ? ANeuralNetworksExecution_setInputFromMemory(e, index, type, memory, offset, length)
               : ANeuralNetworksExecution_setOutputFromMemory(e, index, type, memory, offset,
                                                              length);
  };
  const auto bad = [&](const std::string& what, const std::string& text,
                       std::function<int(World&)> call) {
    rows.push_back({name + "_" + what, kBadData, text, std::move(call), usable(f)});
  };
  // A memory of a descriptor for the first output, or the first input.
  const auto described = [f](World& w, ANeuralNetworksCompilation* c) {
    ANeuralNetworksMemoryDesc* const desc = w.desc();
    ROW_OK(f.isInput ? ANeuralNetworksMemoryDesc_addInputRole(desc, c, 0, 1)
                     : ANeuralNetworksMemoryDesc_addOutputRole(desc, c, 0, 1));
    return w.fromDesc(w.finished(desc));
  };
  rows.push_back({name + "_NullMemory", kUnexpectedNull, "memory is null",
                  [=](World& w) { return set(w.execution(), nullptr, 0, 8); }});
  bad("BehindTheEnd", "lie outside the memory of 64 bytes",
      [=](World& w) { return set(w.usedExecution = w.execution(), w.memory(64), 60, 8); });
  bad("OffsetThatOverflows", "lie outside", [=](World& w) {
    return set(w.usedExecution = w.execution(), w.memory(64), SIZE_MAX - 3, 8);
  });
  bad("BothZero", "offset and length are both 0",
      [=](World& w) { return set(w.usedExecution = w.execution(), w.memory(), 0, 0); });
  bad("PartOfAnImage", "expected 0 with a hardware buffer that is no BLOB",
      [=](World& w) { return set(w.usedExecution = w.execution(), w.image(), 0, 8); });
  bad("MemoryWithoutTheRole", "has no role", [=](World& w) {
    ANeuralNetworksCompilation* const c = w.compiled();
    ANeuralNetworksMemoryDesc* const desc = w.desc();
    ROW_OK(f.isInput ? ANeuralNetworksMemoryDesc_addInputRole(desc, c, 1, 1)
                     : ANeuralNetworksMemoryDesc_addInputRole(desc, c, 0, 1));
    return set(w.usedExecution = w.execution(c), w.fromDesc(w.finished(desc)), 0, 0);
  });
  bad("MemoryOfAnotherCompilation", "has no role", [=](World& w) {
    return set(w.usedExecution = w.execution(), described(w, w.compiled()), 0, 0);
  });
  bad("PartOfADescribedMemory", "used as a whole", [=](World& w) {
    ANeuralNetworksCompilation* const c = w.compiled();
    return set(w.usedExecution = w.execution(c), described(w, c), 0, 8);
  });
  rows.push_back({name + "_DimensionsThatADescribedMemoryHasNot", kBadData,
                  "dimensions [3]; the memory was made for [2]", [=](World& w) {
                    ANeuralNetworksCompilation* const c =
                        w.compiled(w.finished(w.sum({0}, {1}, {0})));
                    ANeuralNetworksMemoryDesc* const desc = w.desc();
                    ROW_OK(f.isInput ? ANeuralNetworksMemoryDesc_addInputRole(desc, c, 0, 1)
                                     : ANeuralNetworksMemoryDesc_addOutputRole(desc, c, 0, 1));
                    const uint32_t two = 2;
                    ROW_OK(ANeuralNetworksMemoryDesc_setDimensions(desc, 1, &two));
                    const OperandDescription type(ANEURALNETWORKS_TENSOR_FLOAT32, {3});
                    return set(w.execution(c), w.fromDesc(w.finished(desc)), 0, 0, type.get());
                  }});
  // The memory is checked before an earlier setting.
  rows.push_back({name + "_SetTwiceAndMemory", kBadData, "lie outside", [=](World& w) {
                    Execution* const e = w.execution();
                    ROW_OK(f.set(w, e, 0, nullptr, 8));
                    return set(e, w.memory(64), 60, 8);
                  }});
}

std::vector<Misuse> argumentRows() {
  std::vector<Misuse> rows;
  for (const Function& f : kFunctions) {
    addFixedRows(rows, f);
    addOpenRows(rows, f);
    if (f.fromMemory) {
      addMemoryRows(rows, f);
    } else {
      addPointerRows(rows, f);
    }
  }
  return rows;
}

}  // namespace

std::vector<Misuse> argumentMisuses() { return argumentRows(); }

}  // namespace halyard::misuse
