// The worker that answers the page's requests. It decompresses and starts the simulator; requests wait until it runs.
const ready = (async () => {
  const [{BrotliDecode}, packed] = await Promise.all([import("./brotli.js"), fetch("fencepost.wasm.br")]);
  if (!packed.ok) throw new Error("the simulator cannot be loaded: " + packed.status);
  const go = new Go(), program = BrotliDecode(new Int8Array(await packed.arrayBuffer()));
  const {instance} = await WebAssembly.instantiate(program, go.importObject);
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
