
// The worker that answers the page: the simulator, unpacked as it arrives. What is asked before it runs waits.
const ready = (async () => {
  const packed = await fetch("fencepost.wasm.gz");
  if (!packed.ok) throw new Error("the simulator cannot be loaded: " + packed.status);
  const go = new Go();
  const plain = new Response(packed.body.pipeThrough(new DecompressionStream("gzip")), {headers: {"Content-Type": "application/wasm"}});
  const {instance} = await WebAssembly.instantiateStreaming(plain, go.importObject);
  go.run(instance);
})();
onmessage = async ({data: {number, request}}) => {
  try {
    await ready;
    postMessage({number, answer: JSON.parse(fencepost(request, progress => postMessage({number, progress: JSON.parse(progress)})))});
  } catch (err) {
    postMessage({number, failed: err.message});
  }
};
