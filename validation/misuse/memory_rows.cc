// Misuses of the functions of memories and memory descriptors.
#include "validation/misuse/table.h"

namespace halyard::misuse {
namespace {

using Memory = ANeuralNetworksMemory;

std::vector<Misuse> memoryCreateRows() {
  const auto fromFd = [](World& w, size_t size, int protection, int fd, size_t offset) {
    return ANeuralNetworksMemory_createFromFd(size, protection, fd, offset, w.out<Memory>());
  };
  const auto noMemory = [](World& w) { w.expectOutIsNull(); };
  // A file of 4096 bytes, closed with the World.
  const auto file = [](World& w) {
    const int fd = ::memfd_create("misuse", MFD_CLOEXEC);
    ROW_EQ(::ftruncate(fd, 4096), 0);
    w.atEnd([fd] { ::close(fd); });
    return fd;
  };
  return {
      {"Memory_createFromFd_NullResult", kUnexpectedNull, "memory is null",
       [=](World& w) {
         return ANeuralNetworksMemory_createFromFd(64, PROT_READ, file(w), 0, nullptr);
       }},
      {"Memory_createFromFd_DescriptorMinusOne", kOpFailed, "file descriptor -1",
       [=](World& w) { return fromFd(w, 64, PROT_READ, -1, 0); }, noMemory},
      {"Memory_createFromFd_ClosedDescriptor", kOpFailed, "file descriptor 99999",
       [=](World& w) { return fromFd(w, 64, PROT_READ, 99999, 0); }, noMemory},
      {"Memory_createFromFd_SizeZero", kBadData, "size 0",
       [=](World& w) { return fromFd(w, 0, PROT_READ, file(w), 0); }, noMemory},
      {"Memory_createFromFd_OtherProtection", kBadData, "protection 0x4",
       [=](World& w) { return fromFd(w, 64, PROT_EXEC, file(w), 0); }, noMemory},
      {"Memory_createFromFd_OffsetWithinAPage", kBadData, "offset 64 is not a multiple",
       [=](World& w) { return fromFd(w, 64, PROT_READ, file(w), 64); }, noMemory},
      {"Memory_createFromAHardwareBuffer_NullResult", kUnexpectedNull, "memory is null",
       [](World&) { return ANeuralNetworksMemory_createFromAHardwareBuffer(nullptr, nullptr); }},
      {"Memory_createFromAHardwareBuffer_NullBuffer", kUnexpectedNull, "ahwb is null",
       [](World& w) {
         return ANeuralNetworksMemory_createFromAHardwareBuffer(nullptr, w.out<Memory>());
       },
       noMemory},
      {"Memory_createFromDesc_NullResult", kUnexpectedNull, "memory is null",
       [](World& w) {
         return ANeuralNetworksMemory_createFromDesc(w.inputDesc(w.compiled()), nullptr);
       }},
      {"Memory_createFromDesc_NullDescriptor", kUnexpectedNull, "desc is null",
       [](World& w) { return ANeuralNetworksMemory_createFromDesc(nullptr, w.out<Memory>()); },
       noMemory},
      {"Memory_createFromDesc_UnfinishedDescriptor", kBadState,
       "the memory descriptor is not finished",
       [](World& w) { return ANeuralNetworksMemory_createFromDesc(w.desc(), w.out<Memory>()); },
       noMemory},
      {"Memory_createFromDesc_SizeThatNobodyKnows", kOpFailed, "TENSOR_FLOAT32[?]",
       [](World& w) {
         // Drivers may have memory that grows. The CPU device does not.
         ANeuralNetworksModel* const open = w.finished(w.sum({0}, {1}, {0}));
         return ANeuralNetworksMemory_createFromDesc(
             w.inputDesc(w.finished(w.compilationFor(open, w.cpu()))), w.out<Memory>());
       },
       noMemory},
  };
}

int copy(const Memory* source, const Memory* destination) {
  return ANeuralNetworksMemory_copy(source, destination);
}
// A memory for an input [2] of floats, with contents.
Memory* filled(World& w) {
  Memory* const memory = w.described(w.compiled());
  ROW_OK(copy(w.memory(8), memory));
  return memory;
}
// A refused copy leaves its destination without contents.
void expectUninitialised(World& w) {
  ROW_ERROR(copy(w.usedMemory, w.memory(8)), kBadData, "not initialised");
}

std::vector<Misuse> copyRows() {
  return {
      {"Memory_copy_NullSource", kUnexpectedNull, "src is null",
       [](World& w) { return copy(nullptr, w.memory()); }},
      {"Memory_copy_NullDestination", kUnexpectedNull, "dst is null",
       [](World& w) { return copy(w.memory(), nullptr); }},
      {"Memory_copy_UninitialisedSource", kBadData, "the source is not initialised",
       [](World& w) { return copy(w.described(w.compiled()), w.memory(8)); }},
      {"Memory_copy_UninitialisedSourceToADescribedMemory", kBadData, "not initialised",
       [](World& w) { return copy(w.described(w.compiled()), w.usedMemory = filled(w)); },
       expectUninitialised},
      {"Memory_copy_SharedMemoriesOfDifferentSizes", kBadData,
       "the source has 16 bytes, the destination 8",
       [](World& w) { return copy(w.memory(16), w.memory(8)); }},
      {"Memory_copy_SharedMemoryOfAnotherSize", kBadData,
       "the source has 12 bytes, the destination 8",
       [](World& w) { return copy(w.memory(12), w.usedMemory = filled(w)); }, expectUninitialised},
      {"Memory_copy_ToSharedMemoryOfAnotherSize", kBadData,
       "the source has 8 bytes, the destination 12",
       [](World& w) { return copy(filled(w), w.memory(12)); }},
      {"Memory_copy_OtherDimensions", kBadData,
       "the source has dimensions [2], the destination [2,1]",
       [](World& w) {
         w.usedMemory = w.described(w.compiled(w.finished(w.sum({2, 1}, {2, 1}, {2, 1}))));
         ROW_OK(copy(w.memory(8), w.usedMemory));
         return copy(filled(w), w.usedMemory);
       },
       expectUninitialised},
      {"Memory_copy_AnotherType", kBadData, "the destination for TENSOR_INT32[2]",
       [](World& w) {
         ANeuralNetworksModel* const m = w.model();
         ROW_OK(addOperand(m, ANEURALNETWORKS_TENSOR_INT32, {2}));
         ROW_OK(addOperand(m, ANEURALNETWORKS_TENSOR_FLOAT32, {2}));
         ROW_OK(addOperation(m, ANEURALNETWORKS_CAST, {0}, {1}));
         ROW_OK(identifyInputsAndOutputs(m, {0}, {1}));
         w.usedMemory = w.described(w.compiled(w.finished(m)));
         return copy(filled(w), w.usedMemory);
       },
       expectUninitialised},
      {"Memory_copy_SourceThatMayNotBeRead", ANEURALNETWORKS_UNMAPPABLE, "may not be read",
       [](World& w) { return copy(w.memory(8, PROT_WRITE), w.usedMemory = filled(w)); },
       expectUninitialised},
      {"Memory_copy_DestinationThatMayNotBeWritten", ANEURALNETWORKS_UNMAPPABLE,
       "may not be written", [](World& w) { return copy(w.memory(8), w.memory(8, PROT_READ)); }},
  };
}

using Desc = ANeuralNetworksMemoryDesc;

std::vector<Misuse> roleRows() {
  struct Function {
    const char* name;
    const char* what;
    const char* count;
    int (*add)(Desc*, const ANeuralNetworksCompilation*, uint32_t, float);
  };
  const Function functions[] = {
      {"MemoryDesc_addInputRole_", "input", "2", ANeuralNetworksMemoryDesc_addInputRole},
      {"MemoryDesc_addOutputRole_", "output", "1", ANeuralNetworksMemoryDesc_addOutputRole},
  };
  std::vector<Misuse> rows;
  for (const Function& f : functions) {
    const std::string name = f.name;
    const std::string what = f.what;
    const auto row = [&](const std::string& misuse, int code, const std::string& text,
                         std::function<int(World&)> call) {
      rows.push_back({name + misuse, code, text, std::move(call)});
    };
    row("NullDescriptor", kUnexpectedNull, "desc is null",
        [=](World& w) { return f.add(nullptr, w.compiled(), 0, 1); });
    row("NullCompilation", kUnexpectedNull, "compilation is null",
        [=](World& w) { return f.add(w.desc(), nullptr, 0, 1); });
    row("FinishedDescriptor", kBadState, "the memory descriptor is finished",
        [=](World& w) { return f.add(w.inputDesc(w.compiled()), w.compilation(), 9, 7); });
    row("UnfinishedCompilation", kBadData, "the compilation is not finished",
        [=](World& w) { return f.add(w.desc(), w.compilation(), 0, 1); });
    row("FailedCompilation", kBadData, "the compilation failed to finish",
        [=](World& w) { return f.add(w.desc(), w.failedCompilation(), 0, 1); });
    row("IndexTooLarge", kBadData, what + " " + f.count + " of a model with " + f.count,
        [=](World& w) {
          return f.add(w.desc(), w.compiled(), static_cast<uint32_t>(std::stoi(f.count)), 1);
        });
    row("RoleTwice", kBadData, what + " 0 of this compilation is a role already", [=](World& w) {
      Desc* const desc = w.desc();
      ANeuralNetworksCompilation* const c = w.compiled();
      ROW_OK(f.add(desc, c, 0, 1));
      return f.add(desc, c, 0, 0.5f);
    });
    for (const auto& [label, frequency] : std::vector<std::pair<std::string, float>>{
             {"Zero", 0.0f}, {"Negative", -0.5f}, {"AboveOne", 1.5f}, {"NotANumber", NAN}}) {
      row("Frequency" + label, kBadData, "expected more than 0 and at most 1",
          [=, value = frequency](World& w) { return f.add(w.desc(), w.compiled(), 0, value); });
    }
    row("AnotherType", kBadData, "the roles so far are for TENSOR_FLOAT32[2]", [=](World& w) {
      ANeuralNetworksModel* const m = w.model();
      ROW_OK(addOperand(m, ANEURALNETWORKS_TENSOR_INT32, {2}));
      ROW_OK(addOperand(m, ANEURALNETWORKS_TENSOR_INT32, {2}));
      ROW_OK(addOperation(m, ANEURALNETWORKS_ABS, {0}, {1}));
      ROW_OK(identifyInputsAndOutputs(m, {0}, {1}));
      Desc* const desc = w.desc();
      ROW_OK(f.add(desc, w.compiled(), 0, 1));
      return f.add(desc, w.compiled(w.finished(m)), 0, 1);
    });
    row("AnotherScale", kBadData, "the roles so far are for", [=](World& w) {
      const auto relu = [&w](float scale) {
        ANeuralNetworksModel* const m = w.model();
        ROW_OK(addOperand(m, ANEURALNETWORKS_TENSOR_QUANT8_ASYMM, {2}, scale, 1));
        ROW_OK(addOperand(m, ANEURALNETWORKS_TENSOR_QUANT8_ASYMM, {2}, scale, 1));
        ROW_OK(addOperation(m, ANEURALNETWORKS_RELU, {0}, {1}));
        ROW_OK(identifyInputsAndOutputs(m, {0}, {1}));
        return w.compiled(w.finished(m));
      };
      Desc* const desc = w.desc();
      ROW_OK(f.add(desc, relu(0.5f), 0, 1));
      return f.add(desc, relu(0.25f), 0, 1);
    });
    row("OtherDimensions", kBadData, "has dimensions [3]; the memory has [2]", [=](World& w) {
      Desc* const desc = w.desc();
      ROW_OK(f.add(desc, w.compiled(), 0, 1));
      return f.add(desc, w.compiled(w.finished(w.sum({3}, {3}, {3}))), 0, 1);
    });
    row("OtherDimensionsThanSet", kBadData, "has dimensions [2]; the memory has [3]",
        [=](World& w) {
          Desc* const desc = w.desc();
          const uint32_t three = 3;
          ROW_OK(ANeuralNetworksMemoryDesc_setDimensions(desc, 1, &three));
          return f.add(desc, w.compiled(), 0, 1);
        });
  }
  rows.push_back({"MemoryDesc_addInputRole_ScalarWithDimensionsSet", kBadData,
                  "input 2 is a scalar; the memory has dimensions [2]", [](World& w) {
                    Desc* const desc = w.desc();
                    const uint32_t two = 2;
                    ROW_OK(ANeuralNetworksMemoryDesc_setDimensions(desc, 1, &two));
                    return ANeuralNetworksMemoryDesc_addInputRole(
                        desc, w.compiled(w.sumWithActivationInput()), 2, 1);
                  }});
  return rows;
}

std::vector<Misuse> descRows() {
  const auto set = [](Desc* desc, const Dims& dims) {
    return ANeuralNetworksMemoryDesc_setDimensions(desc, static_cast<uint32_t>(dims.size()),
                                                   dims.data());
  };
  return {
      {"MemoryDesc_create_NullResult", kUnexpectedNull, "desc is null",
       [](World&) { return ANeuralNetworksMemoryDesc_create(nullptr); }},
      {"MemoryDesc_setDimensions_NullDescriptor", kUnexpectedNull, "desc is null",
       [=](World&) { return set(nullptr, {2}); }},
      {"MemoryDesc_setDimensions_NullDimensions", kUnexpectedNull, "dimensions is null, rank 1",
       [](World& w) { return ANeuralNetworksMemoryDesc_setDimensions(w.desc(), 1, nullptr); }},
      {"MemoryDesc_setDimensions_FinishedDescriptor", kBadState,
       "the memory descriptor is finished",
       [=](World& w) { return set(w.inputDesc(w.compiled()), {3}); }},
      {"MemoryDesc_setDimensions_OtherThanTheRoles", kBadData, "dimensions [3]; the memory has [2]",
       [=](World& w) {
         Desc* const desc = w.desc();
         ROW_OK(ANeuralNetworksMemoryDesc_addInputRole(desc, w.compiled(), 0, 1));
         return set(desc, {3});
       }},
      {"MemoryDesc_setDimensions_OtherThanBefore", kBadData,
       "dimensions [2,3]; the memory has [2,4]",
       [=](World& w) {
         Desc* const desc = w.desc();
         ROW_OK(set(desc, {2, 4}));
         ROW_OK(set(desc, {0, 4}));
         ROW_OK(set(desc, {}));
         return set(desc, {2, 3});
       }},
      {"MemoryDesc_setDimensions_AnotherRank", kBadData, "dimensions [2,1]; the memory has [2]",
       [=](World& w) {
         Desc* const desc = w.desc();
         ROW_OK(set(desc, {2}));
         return set(desc, {2, 1});
       }},
      {"MemoryDesc_setDimensions_OfAScalar", kBadData, "dimensions [1] for a scalar",
       [=](World& w) {
         Desc* const desc = w.desc();
         ROW_OK(ANeuralNetworksMemoryDesc_addInputRole(desc, w.compiled(w.sumWithActivationInput()),
                                                       2, 1));
         ROW_OK(set(desc, {}));
         return set(desc, {1});
       }},
      {"MemoryDesc_finish_NullDescriptor", kUnexpectedNull, "desc is null",
       [](World&) { return ANeuralNetworksMemoryDesc_finish(nullptr); }},
      {"MemoryDesc_finish_FinishedDescriptor", kBadState, "finished already",
       [](World& w) { return ANeuralNetworksMemoryDesc_finish(w.inputDesc(w.compiled())); }},
      {"MemoryDesc_finish_WithoutRoles", kBadData, "without roles",
       [](World& w) { return ANeuralNetworksMemoryDesc_finish(w.desc()); }},
  };
}

}  // namespace

std::vector<Misuse> memoryMisuses() {
  return joined({memoryCreateRows(), copyRows(), roleRows(), descRows()});
}

}  // namespace halyard::misuse
