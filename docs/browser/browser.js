// The page: buttons, text and what Python printed. Python itself runs in worker.js.

const app = document.querySelector(".python");
const button = app.querySelector(".start");
const message = app.querySelector(".message");
const instead = app.querySelector(".instead");
const BUTTON = {
  off: "Start Python", starting: "Python is starting", ready: "Python is ready", running: "Python is running",
  lacking: "Start Python again", failed: "Start Python again",
};

let worker, state, rested, running;                  // rested: the state that a run goes back to

function become(next, sentence) {
  state = next;
  if (state === "ready" || state === "lacking") rested = [state, sentence];
  button.textContent = BUTTON[state];
  button.ariaDisabled = !canStart();
  instead.hidden = state !== "lacking" && state !== "failed";
  message.textContent = sentence;
  for (const lesson of lessons) lesson.refresh();
}

const canStart = () => ["off", "lacking", "failed"].includes(state);
const canRun = () => ["ready", "lacking"].includes(state);

function start(sentence = "Python is starting.") {
  worker?.terminate();
  const mine = worker = new Worker(new URL("worker.js", import.meta.url), { type: "module" });
  mine.onmessage = ({ data: [kind, content] }) => mine === worker && on[kind](content);  // what it says late is lost
  mine.onerror = () => on.failed("worker.js could not be fetched, or this browser is too old for it.");
  worker.postMessage(["start", {
    pyodide: address("pyodide"), numpy: address("numpy"), site: new URL(".", import.meta.url).href,
  }]);
  become("starting", sentence);
}

// The address bar may name files of this site only: else a link to this page could run anyone's script in it.
function address(name) {
  const asked = new URLSearchParams(location.search).get(name);
  const own = asked && new URL(asked, location);
  return own && own.origin === location.origin ? own.href : app.dataset[name];
}

const on = {
  step: (sentence) => become("starting", sentence),
  ready: (sentence) => become("ready", sentence),
  lacking: (sentence) => become("lacking", sentence),
  failed(sentence) {
    worker.terminate();
    become("failed", sentence);
  },
  printed: (line) => running.print(line + "\n"),
  ended(mistake) {
    running.end(mistake);
    become(...rested);
  },
  broken: (why) => stop(`Python has ended: ${why}`),
};

function stop(why) {
  running.end(why);
  start(`${why} Python is starting again.`);
}

class Lesson {
  constructor(place) {
    this.name = place.dataset.lesson;
    this.editor = made("textarea", { id: `code-${this.name}`, spellcheck: false, autocapitalize: "off", wrap: "off" });
    this.editor.autocomplete = "off";
    this.output = made("pre", { role: "log", ariaLive: "polite", ariaLabel: `Output of ${this.name}`, tabIndex: 0 });
    this.runs = made("button", { type: "button", textContent: "Run", onclick: () => this.run() });
    this.stops = made("button", { type: "button", textContent: "Stop", onclick: () => this.stop() });
    this.resets = made("button", { type: "button", textContent: "Reset", onclick: () => this.reset() });
    this.editor.onkeydown = (event) => {
      if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey || event.shiftKey)) return;
      event.preventDefault();
      this.run();
    };
    const label = made("label", { htmlFor: this.editor.id, textContent: this.name });
    const hint = made("span", { className: "hint", textContent: "Ctrl+Enter or Shift+Enter runs it" });
    const buttons = made("p", { className: "buttons" });
    buttons.append(this.runs, this.stops, this.resets, hint);
    place.replaceChildren(label, this.editor, buttons, this.output);
    this.fetch();
  }

  async fetch() {
    const answer = await fetch(new URL(this.name, import.meta.url)).catch(() => null);
    if (!answer?.ok) return this.output.replaceChildren(`${this.name} could not be fetched from this site.`);
    this.source = (await answer.text()).trimEnd();
    this.reset();
  }

  reset() {
    this.editor.value = this.source ?? "";
    this.editor.setSelectionRange(0, 0);
    this.editor.rows = this.editor.value.split("\n").length;
  }

  run() {
    if (state === "running") return;
    this.output.replaceChildren();
    if (!canRun()) return this.print(state === "starting" ? "Python is still starting." : "Press Start Python first.");
    running = this;
    worker.postMessage(["run", { source: this.editor.value, name: this.name }]);
    become("running", `${this.name} is running.`);
  }

  stop() {
    if (state === "running" && running === this) stop("Stopped.");
  }

  print(text) {
    this.output.append(text);
  }

  end(mistake) {
    this.print(mistake ?? (this.output.textContent ? "" : "Nothing was printed."));
  }

  refresh() {
    this.runs.ariaDisabled = !canRun();
    this.stops.ariaDisabled = !(state === "running" && running === this);
  }
}

const made = (tag, properties) => Object.assign(document.createElement(tag), properties);

const lessons = Array.from(document.querySelectorAll(".lesson"), (place) => new Lesson(place));
button.onclick = () => canStart() && start();
button.hidden = false;
become("off", "Nothing has been fetched from elsewhere yet.");
