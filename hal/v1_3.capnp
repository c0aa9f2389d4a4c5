# Interfaces of NN HAL 1.3: control flow, priorities and deadlines, fenced execution, buffers of the
# driver.
@0xfa27566bc690d0f7;

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("halyard::wire::v1_3");
using T = import "types.capnp";
using V10 = import "v1_0.capnp";
using V12 = import "v1_2.capnp";

interface IDevice extends(V12.IDevice) {
  getCapabilities13 @0 () -> (status :T.ErrorStatus, message :Text, capabilities :T.Capabilities);
  getSupportedOperations13 @1 (model :T.Model)
      -> (status :T.ErrorStatus, message :Text, supported :List(Bool),
          details :List(T.OperationSupport));
  # About the operations of `main`.
  prepareModel13 @2 (model :T.Model, preference :T.ExecutionPreference, priority :T.Priority,
                     deadline :T.OptionalTimePoint, modelCache :List(T.Handle),
                     dataCache :List(T.Handle), token :Data, callback :IPreparedModelCallback,
                     attributes :T.ExtensionAttributes)
      -> (status :T.ErrorStatus, message :Text);
  prepareModelFromCache13 @3 (deadline :T.OptionalTimePoint, modelCache :List(T.Handle),
                              dataCache :List(T.Handle), token :Data,
                              callback :IPreparedModelCallback)
      -> (status :T.ErrorStatus, message :Text);
  allocate @4 (desc :T.BufferDesc, preparedModels :List(V10.IPreparedModel),
               inputRoles :List(T.BufferRole), outputRoles :List(T.BufferRole))
      -> (status :T.ErrorStatus, message :Text, buffer :IBuffer, token :UInt32);
  getFeatureLevel @5 () -> (status :T.ErrorStatus, message :Text, level :UInt32,
                            ownMemory :Bool, imports :UInt32);
  # 4 to 8: the newest of NNAPI's feature levels whose operations and types the device takes. NN HAL
  # 1.3 is level 4; the later ones came with another interface on Android, and travel over this one.
  # `ownMemory`: the device computes in memory of its own. It then copies arguments in shared memory,
  # except the kinds in `imports`. 1: memory of the host, 2: dma-bufs.
  prepareSupported13 @6 (model :T.Model, preference :T.ExecutionPreference, priority :T.Priority,
                         deadline :T.OptionalTimePoint, callback :IPreparedModelCallback,
                         attributes :T.ExtensionAttributes, obsoleteAtOnce :Bool)
      -> (status :T.ErrorStatus, message :Text, supported :List(Bool),
          obsoletePrepared :AnyPointer, details :List(T.OperationSupport));
  # getSupportedOperations13 and prepareModel13 without cache files in one call, so that the model
  # travels once. The call answers as getSupportedOperations13 does. If all operations are supported,
  # the preparation begins after the answer, and `callback` gets its result. Otherwise `callback` is
  # dropped uncalled. The obsolete fields keep their numbers; no peer reads or writes them.
}

interface IPreparedModel extends(V12.IPreparedModel) {
  execute13 @0 (request :T.Request, measure :T.MeasureTiming, deadline :T.OptionalTimePoint,
                loopTimeoutDuration :T.OptionalTimeoutDuration, callback :IExecutionCallback,
                attributes :T.ExtensionAttributes)
      -> (status :T.ErrorStatus, message :Text);
  executeSynchronously13 @1 (request :T.Request, measure :T.MeasureTiming,
                             deadline :T.OptionalTimePoint,
                             loopTimeoutDuration :T.OptionalTimeoutDuration,
                             attributes :T.ExtensionAttributes)
      -> (status :T.ErrorStatus, message :Text, outputShapes :List(T.OutputShape),
          timing :T.Timing, copiedBytes :UInt64);
  executeFenced @2 (request :T.Request, waitFor :List(T.FileDescriptor), measure :T.MeasureTiming,
                    deadline :T.OptionalTimePoint,
                    loopTimeoutDuration :T.OptionalTimeoutDuration,
                    duration :T.OptionalTimeoutDuration,
                    attributes :T.ExtensionAttributes)
      -> (status :T.ErrorStatus, message :Text, syncFence :T.FileDescriptor,
          callback :IFencedExecutionCallback);
  # A null `syncFence` with `none`: the execution is complete.
}

interface IPreparedModelCallback extends(V12.IPreparedModelCallback) {
  notify13 @0 (status :T.ErrorStatus, message :Text, preparedModel :IPreparedModel);
}

interface IExecutionCallback extends(V12.IExecutionCallback) {
  notify13 @0 (status :T.ErrorStatus, message :Text, outputShapes :List(T.OutputShape),
               timing :T.Timing, copiedBytes :UInt64);
}

interface IFencedExecutionCallback {
  getExecutionInfo @0 () -> (status :T.ErrorStatus, message :Text, timingLaunched :T.Timing,
                             timingFenced :T.Timing);
}

interface IBuffer {
  # Dropping the last reference frees the buffer and its token.
  copyTo @0 (dst :T.Memory) -> (status :T.ErrorStatus, message :Text);
  copyFrom @1 (src :T.Memory, dimensions :List(UInt32))
      -> (status :T.ErrorStatus, message :Text);
}
