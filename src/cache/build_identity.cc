// Identifies the build of a program, and the processor.
#include <elf.h>
#include <link.h>
#include <sys/auxv.h>

#include <cstring>
#include <fstream>
#include <vector>

#include "base/sha256.h"
#include "halyard/driver/compile_cache.h"

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

namespace halyard::hal {
namespace {

// A loaded executable or library.
struct LoadedObject {
  uintptr_t address = 0;  // an address in it; 0: the executable
  bool found = false;
  std::string buildId;
  std::string path;
};

std::string buildIdNote(const uint8_t* notes, size_t size) {
  constexpr size_t kAlignment = 4;
  const auto padded = [](size_t bytes) {
    return (bytes + kAlignment - 1) / kAlignment * kAlignment;
  };
  while (size >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) head;
    std::memcpy(&head, notes, sizeof head);
    const size_t content = sizeof head + padded(head.n_namesz);
    const size_t whole = content + padded(head.n_descsz);
    if (whole > size) break;
    if (head.n_type == NT_GNU_BUILD_ID && head.n_namesz == sizeof ELF_NOTE_GNU &&
        std::memcmp(notes + sizeof head, ELF_NOTE_GNU, sizeof ELF_NOTE_GNU) == 0) {
      return hexOf({notes + content, head.n_descsz});
    }
    notes += whole;
    size -= whole;
  }
  return {};
}

int lookAtObject(dl_phdr_info* info, size_t, void* argument) {
  auto& object = *static_cast<LoadedObject*>(argument);
  bool matches = object.address == 0;  // the executable is the first object
  for (size_t i = 0; i < info->dlpi_phnum && !matches; ++i) {
    const auto& part = info->dlpi_phdr[i];
    const uintptr_t begin = info->dlpi_addr + part.p_vaddr;
    matches =
        part.p_type == PT_LOAD && object.address >= begin && object.address - begin < part.p_memsz;
  }
  if (!matches) return 0;
  object.found = true;
  object.path = info->dlpi_name[0] != '\0' ? info->dlpi_name : "/proc/self/exe";
  for (size_t i = 0; i < info->dlpi_phnum && object.buildId.empty(); ++i) {
    const auto& part = info->dlpi_phdr[i];
    if (part.p_type != PT_NOTE) continue;
    object.buildId =
        buildIdNote(reinterpret_cast<const uint8_t*>(info->dlpi_addr + part.p_vaddr), part.p_memsz);
  }
  return 1;
}

std::string digestOfFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  Sha256 digest;
  std::vector<char> block(1 << 16);
  while (file.read(block.data(), static_cast<std::streamsize>(block.size())), file.gcount() > 0) {
    digest.add(
        {reinterpret_cast<const uint8_t*>(block.data()), static_cast<size_t>(file.gcount())});
  }
  return hexOf(digest.finish());
}

std::string identityOf(uintptr_t address) {
  LoadedObject object;
  object.address = address;
  ::dl_iterate_phdr(lookAtObject, &object);
  if (!object.found) return "unknown";
  return !object.buildId.empty() ? object.buildId : digestOfFile(object.path);
}

}  // namespace

std::string CompileCache::buildIdOf(const void* address) {
  return identityOf(reinterpret_cast<uintptr_t>(address));
}

std::string CompileCache::buildIdOfThisProgram() {
  const std::string program = identityOf(0);
  const std::string library = buildIdOf(reinterpret_cast<const void*>(&buildIdOfThisProgram));
  return program == library ? program : program + "+" + library;
}

std::string CompileCache::cpuFeatures() {
  std::string text;
#if defined(__x86_64__) || defined(__i386__)
  // The instruction sets of the processor: leaf 1 without the core's number in ebx, and leaf 7.
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) != 0) {
    text += fmt::format("x86:{:08x}.{:08x}", c, d);
    constexpr unsigned kXgetbv = 1U << 27;
    if ((c & kXgetbv) != 0) {  // the registers that the system saves
      unsigned low = 0;
      unsigned high = 0;
      __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
      text += fmt::format(".{:08x}{:08x}", high, low);
    }
  }
  for (const unsigned leaf : {0U, 1U}) {
    if (__get_cpuid_count(7, leaf, &a, &b, &c, &d) != 0) {
      text += fmt::format(":{:08x}.{:08x}.{:08x}.{:08x}", leaf == 0 ? 0 : a, b, c, d);
    }
  }
#else
  text += fmt::format("hwcap:{:x}.{:x}", ::getauxval(AT_HWCAP), ::getauxval(AT_HWCAP2));
  if (const auto platform = reinterpret_cast<const char*>(::getauxval(AT_PLATFORM))) {
    text += fmt::format(":{}", platform);
  }
#endif
  return text;
}

}  // namespace halyard::hal
