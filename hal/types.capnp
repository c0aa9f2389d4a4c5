# Data of the NN HAL on the wire: the structs of HAL 1.0 to 1.3, each written once as the superset of
# all versions. A comment names the version that brought a field; a method of an older version leaves
# newer fields unset, and its receiver ignores them.
@0xfb5356346bb36615;

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("halyard::wire");

const protocolVersion :UInt32 = 1;
# Version of these files as a whole. Fields may be added under the same number (the usual Cap'n
# Proto evolution). A change of meaning takes a new one, and peers with different numbers do not
# talk.

const maxFdsPerMessage :UInt32 = 128;
# A message carries at most this many file descriptors. The kernel takes 253; a sender that tries
# more loses its whole connection.

enum ErrorStatus {
  none @0;
  deviceUnavailable @1;
  generalFailure @2;
  outputInsufficientSize @3;
  invalidArgument @4;
  # 1.3; older methods answer generalFailure in their place.
  missedDeadlineTransient @5;
  missedDeadlinePersistent @6;
  resourceExhaustedTransient @7;
  resourceExhaustedPersistent @8;
}
# Every method with a status also returns `message`: the fault in words, empty with `none`.

struct OperationSupport {
  # More about the answer for one operation. Peers of an earlier schema neither send nor read it.
  reason @0 :Text;   # Why the operation is not supported; one line, at most 256 bytes.
  cost @1 :Float64;  # The predicted nanoseconds of a supported operation; 0: no prediction.
}

enum DeviceStatus { available @0; busy @1; offline @2; unknown @3; }

enum OperandLifeTime {
  temporaryVariable @0;
  subgraphInput @1;   # MODEL_INPUT before 1.3
  subgraphOutput @2;  # MODEL_OUTPUT before 1.3
  constantCopy @3;
  constantReference @4;
  noValue @5;
  subgraph @6;  # 1.3
}

enum ExecutionPreference { lowPower @0; fastSingleAnswer @1; sustainedSpeed @2; }      # 1.1
enum DeviceType { unknown @0; other @1; cpu @2; gpu @3; accelerator @4; }             # 1.2
enum MeasureTiming { no @0; yes @1; }                                                 # 1.2
enum Priority { low @0; medium @1; high @2; }                                         # 1.3

# Types of operands and operations are plain numbers: extensions have values of their own.

struct PerformanceInfo {
  # Ratios to the reference CPU; smaller is better.
  execTime @0 :Float32;
  powerUsage @1 :Float32;
}

struct OperandPerformance {
  type @0 :Int32;
  info @1 :PerformanceInfo;
}

struct Capabilities {
  float32Performance @0 :PerformanceInfo;                           # 1.0, 1.1
  quantized8Performance @1 :PerformanceInfo;                        # 1.0, 1.1
  relaxedFloat32toFloat16Performance @2 :PerformanceInfo;           # 1.1
  relaxedFloat32toFloat16PerformanceScalar @3 :PerformanceInfo;     # 1.2
  relaxedFloat32toFloat16PerformanceTensor @4 :PerformanceInfo;     # 1.2
  operandPerformance @5 :List(OperandPerformance);                  # 1.2, ascending by type
  ifPerformance @6 :PerformanceInfo;                                # 1.3
  whilePerformance @7 :PerformanceInfo;                             # 1.3
}

struct DataLocation {
  poolIndex @0 :UInt32;
  offset @1 :UInt32;
  length @2 :UInt32;
}

struct SymmPerChannelQuantParams {
  scales @0 :List(Float32);
  channelDim @1 :UInt32;
}

struct Operand {
  type @0 :Int32;
  dimensions @1 :List(UInt32);
  numberOfConsumers @2 :UInt32;
  scale @3 :Float32;
  zeroPoint @4 :Int32;
  lifetime @5 :OperandLifeTime;
  location @6 :DataLocation;
  extraParams :union {  # 1.2
    none @7 :Void;
    channelQuant @8 :SymmPerChannelQuantParams;
    extension @9 :Data;
  }
}

struct Operation {
  type @0 :Int32;
  inputs @1 :List(UInt32);
  outputs @2 :List(UInt32);
}

struct Subgraph {
  # Before 1.3 these were fields of the model itself.
  operands @0 :List(Operand);
  operations @1 :List(Operation);
  inputIndexes @2 :List(UInt32);
  outputIndexes @3 :List(UInt32);
}

struct ExtensionNameAndPrefix {
  name @0 :Text;
  prefix @1 :UInt16;
}

interface FileDescriptor {}
# One open file: a capability without methods that carries a descriptor.

enum MemoryKind {
  ashmem @0;              # memory of the sender's making
  mmapFd @1;              # any file that can be mapped
  hardwareBufferBlob @2;  # 1.2
  hardwareBuffer @3;      # 1.2
}

struct Memory {
  # `size` bytes at `offset` of a file. The receiver must check all of it.
  kind @0 :MemoryKind;
  size @1 :UInt64;
  prot @2 :UInt32;  # 1: may be read, 2: may be written
  offset @3 :UInt64;
  # 0 with hardwareBuffer: the size follows from the description. The offset is 0 except with
  # mmapFd, where it is a multiple of the page size.
  file :union {
    fd @4 :FileDescriptor;
    sameAs @5 :UInt32;
    # The file of an earlier memory of the same list (tokens not counted), which itself has `fd`. A
    # message must not carry the same descriptor twice, as each copy counts against
    # maxFdsPerMessage.
  }
  hardwareBuffer @6 :HardwareBufferDesc;  # 1.2, with both kinds of hardware buffers
}

struct HardwareBufferDesc {  # 1.2
  # As AHardwareBuffer_Desc; the stride, too, is in pixels.
  width @0 :UInt32;
  height @1 :UInt32;
  layers @2 :UInt32;
  format @3 :UInt32;
  usage @4 :UInt64;
  stride @5 :UInt32;
}

struct Model {
  main @0 :Subgraph;
  operandValues @1 :Data;
  pools @2 :List(Memory);
  relaxComputationFloat32toFloat16 @3 :Bool;                     # 1.1
  extensionNameToPrefix @4 :List(ExtensionNameAndPrefix);        # 1.2
  referenced @5 :List(Subgraph);                                 # 1.3
}

struct RequestArgument {
  hasNoValue @0 :Bool;
  location @1 :DataLocation;
  dimensions @2 :List(UInt32);
}

struct RequestPool {
  union {
    memory @0 :Memory;
    token @1 :UInt32;  # 1.3: a buffer of the driver
  }
}

struct Request {
  inputs @0 :List(RequestArgument);
  outputs @1 :List(RequestArgument);
  pools @2 :List(RequestPool);
}

struct OutputShape {  # 1.2
  dimensions @0 :List(UInt32);
  isSufficient @1 :Bool;
}

struct Timing {  # 1.2
  # Microseconds; all bits set: not measured.
  timeOnDevice @0 :UInt64 = 0xffffffffffffffff;
  timeInDriver @1 :UInt64 = 0xffffffffffffffff;
}

struct ExtensionOperandTypeInformation {  # 1.2
  type @0 :UInt16;
  isTensor @1 :Bool;
  byteSize @2 :UInt32;
}

struct Extension {  # 1.2
  name @0 :Text;
  operandTypes @1 :List(ExtensionOperandTypeInformation);
}

struct Handle {  # 1.2
  # A cache file: exactly one descriptor when all is well.
  fds @0 :List(FileDescriptor);
}

struct QueueDescriptor {  # 1.2
  # A queue of fixed-size elements in shared memory, with its event word: one end writes, one reads.
  memory @0 :Memory;
  elementCount @1 :UInt32;
  elementSize @2 :UInt32;
  hasEventWord @3 :Bool;
}

struct ExtensionAttribute {
  token @0 :UInt32;  # prefix << 16 | code
  value @1 :Data;
}

struct ExtensionAttributes {
  # Of a compilation or an execution; feature level 8. Null with drivers below it, which would not
  # read it, and for none.
  attributes @0 :List(ExtensionAttribute);
  extensionNameToPrefix @1 :List(ExtensionNameAndPrefix);
}

struct OptionalTimePoint {  # 1.3
  union {
    none @0 :Void;
    nanosecondsSinceEpoch @1 :UInt64;  # of CLOCK_MONOTONIC
  }
}

struct OptionalTimeoutDuration {  # 1.3
  union {
    none @0 :Void;
    nanoseconds @1 :UInt64;
  }
}

struct BufferDesc {  # 1.3
  dimensions @0 :List(UInt32);
}

struct BufferRole {  # 1.3
  modelIndex @0 :UInt32;
  ioIndex @1 :UInt32;
  frequency @2 :Float32;  # 0 < frequency <= 1
}
