// Python, off the page's thread: an endless loop freezes nothing there, and the page can end it.

const MOST = 20000;                                  // characters that a run may print
let python, run, left;

self.onmessage = ({ data: [kind, content] }) => (kind === "start" ? start(content) : runLesson(content));

const report = (kind, content) => self.postMessage([kind, content]);

async function start({ pyodide, numpy, site }) {
  try {
    report("step", "Fetching Python: some 6 MB.");
    python = await interpreter(pyodide);
    report("step", "Fetching minalbert.");
    await fetchMinalbert(site);
    report("step", "Fetching NumPy: some 3 MB.");
    const lacking = await lacksNumpy(numpy ?? "numpy", host(numpy ?? pyodide));
    if (lacking) report("lacking", lacking);
    else report("ready", `${versions(["numpy", "minalbert"])}: ready.`);
  } catch (error) {
    console.warn(error);
    report("failed", error.message.trim().split("\n").at(-1));        // of Python's errors, what went wrong
  }
}

async function interpreter(pyodide) {
  const { loadPyodide } = await import(pyodide + "pyodide.mjs").catch(() => {
    throw new Error(`Python could not be fetched from ${host(pyodide)}.`);
  });
  const stdout = { batched: print };
  const python = await loadPyodide({ indexURL: pyodide }).catch((error) => {
    console.warn(error);
    throw new Error(`Python was not fetched in full from ${host(pyodide)}, or this browser cannot run it.`);
  });
  python.setStdin({ error: true });
  python.setStdout(stdout);
  python.setStderr(stdout);
  return python;
}

async function fetchMinalbert(site) {
  const { wheel } = await (await fetched("wheel.json", site)).json();
  python.unpackArchive(await (await fetched(wheel, site)).arrayBuffer(), "whl");
  python.runPython(await (await fetched("run.py", site)).text());
  run = python.globals.get("run");
}

async function fetched(name, site) {
  const answer = await fetch(new URL(name, site)).catch(() => null);
  if (!answer?.ok) throw new Error(`${name} could not be fetched from this site, ${host(site)}.`);
  return answer;
}

async function lacksNumpy(numpy, from) {
  try {
    await python.loadPackage(numpy, { messageCallback() {}, errorCallback() {} });
    python.runPython("import numpy");
  } catch (error) {
    console.warn(error);
    return `NumPy could not be fetched from ${from}: ${versions([])} runs, but these lessons need NumPy.`;
  }
  return null;
}

function versions(packages) {
  const versions = packages.map((name) => `${name} ${python.pyimport(name).__version__}`);
  return [`Python ${python.runPython("__import__('platform').python_version()")}`, ...versions].join(", ");
}

const host = (address) => new URL(address).host;

function runLesson({ source, name }) {
  left = MOST;
  try {
    report("ended", run(source, name) ?? null);
  } catch (error) {                                  // not a mistake of the reader's: Pyodide itself has ended
    report("broken", error.message);
  }
}

function print(line) {
  if (left < 0) return;
  left -= line.length + 1;
  report("printed", left < 0 ? "… and more, which is not shown" : line);
}
