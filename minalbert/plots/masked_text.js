// A text that the reader types, swapped and masked as minalbert/data does it, random number for random number.

// ---- Random numbers with addresses: data/random_draws.py ----

const WORD = (1n << 64n) - 1n, GOLDEN = 0x9E3779B97F4A7C15n, HALF = 32n;
const SWAP = 5n, SPAN = 10n, REPLACE = 11n, REPLACEMENT = 12n;

function mix(x) {
  x = ((x ^ (x >> 30n)) * 0xBF58476D1CE4E5B9n) & WORD;
  x = ((x ^ (x >> 27n)) * 0x94D049BB133111EBn) & WORD;
  return x ^ (x >> 31n);
}

const after = (x, steps) => mix((x + BigInt(steps + 1) * GOLDEN) & WORD);
const keyOf = (seed, epoch, number) => after(after(after(BigInt(seed), 0), epoch), number);
const bits = (key, choice, index = 0) => after(mix(key ^ ((choice * 0xD1342543DE82EF95n) & WORD)), index);
const below = (random, end) => Number(((random >> HALF) * BigInt(end)) >> HALF);
const chance = (random, probability) => Number(random >> HALF) < Math.round(probability * 2 ** 32);

// ---- Words and pieces. A long word has several pieces, as rare words have; real tokenizers learn theirs. ----

const PIECE = 6, MOST = 60; // letters of a piece; pieces of a segment that are read
const MASK = 4;

function pieces(text) {
  const words = text.toLowerCase().match(/[\p{L}\p{N}]+|[^\s\p{L}\p{N}]/gu) ?? [];
  const cut = (word) => word.match(new RegExp(`.{1,${PIECE}}`, "gu")).map((part, i) => (i ? "##" : "") + part);
  return words.flatMap(cut).slice(0, MOST);
}

// ---- Masking, for one row: data/masking.py ----

const BOUNDS = [6 / 11, 9 / 11].map((bound) => Math.round(bound * 2 ** 32)); // of p(n) ∝ 1/n, n = 1, 2, 3

function toEven(x) {
  const near = Math.round(x);
  return x % 1 === 0.5 && near % 2 ? near - 1 : near;
}

const budgetOf = (length) => Math.min(Math.max(toEven(length * 0.15), 1), 20);

// words: [start, stop, segment]. Returns the places of the hidden tokens, in order.
function hiddenPlaces(words, budget, key) {
  const shuffled = words.map((_, i) => i), taken = new Set(), hidden = [];
  for (let rank = 0; rank < words.length && budget > 0; rank++) {
    const random = bits(key, SPAN, rank), pick = rank + below(random, words.length - rank), word = shuffled[pick];
    shuffled[pick] = shuffled[rank];
    const lengths = Number(random & 0xFFFFFFFFn);
    let n = 1 + BOUNDS.filter((bound) => lengths >= bound).length;
    const fits = (count) => words[word + count - 1]?.[2] === words[word][2] &&
      words[word + count - 1][1] - words[word][0] <= budget;
    while (n && !fits(n)) n--;
    const span = [...Array(n)].map((_, i) => word + i);
    if (span.some((one) => taken.has(one))) continue;
    for (const one of span) {
      taken.add(one);
      for (let place = words[one][0]; place < words[one][1]; place++) hidden.push(place);
    }
    if (n) budget -= words[word + n - 1][1] - words[word][0];
  }
  return hidden.sort((a, b) => a - b);
}

function replaced(id, key, column, vocabulary) {
  const random = bits(key, REPLACE, column);
  if (chance(random, 0.8)) return MASK;
  return chance(random, 0.9) ? id : MASK + 1 + below(bits(key, REPLACEMENT, column), vocabulary - MASK - 1);
}

// All of one instance, from two texts. Ids count the pieces of these texts in alphabetical order, from 5 on.
function instance(texts, seed, epoch) {
  const key = keyOf(seed, epoch, 0), given = texts.map(pieces), label = Number(chance(bits(key, SWAP), 0.5));
  const segments = label ? [given[1], given[0]] : given, tokens = segments.flat();
  const names = [...new Set(tokens)].sort(), ids = tokens.map((name) => MASK + 1 + names.indexOf(name));
  const segment = (place) => Number(place >= segments[0].length);
  const begins = tokens.map((name, i) => !name.startsWith("##") || i === segments[0].length);
  const starts = [...tokens.keys()].filter((i) => !i || begins[i]);
  const words = starts.map((start, i) => [start, starts[i + 1] ?? tokens.length, segment(start)]);
  const hidden = hiddenPlaces(words, budgetOf(tokens.length + 3), key);
  const read = [...ids];
  for (const place of hidden) {
    read[place] = replaced(ids[place], key, 1 + place + segment(place), names.length + MASK + 1);
  }
  return { label, names, segments: segments.map((one) => one.length), ids, hidden, read };
}

// ---- The page ----

const first = ({ texts, seed }) => ({ texts: [...texts], seed, epoch: 0 });

function controls(state, change) {
  const boxes = state.texts.map((text, n) => {
    const box = make("textarea", { rows: 2, maxlength: 1000 });
    box.value = text;
    box.addEventListener("input", () => change({ texts: state.texts.map((old, i) => i === n ? box.value : old) }));
    return { element: make("label", {}, n ? "second half" : "first half", box), mark: () => {} };
  });
  const again = button("next epoch", () => change({ epoch: state.epoch + 1 }));
  return [...boxes, { element: make("div", { class: "choices" }, again), mark: () => {} }];
}

function shown({ texts, seed, epoch }) {
  const { label, names, segments, ids, hidden, read } = instance(texts, seed, epoch);
  const name = (id) => id === MASK ? "[MASK]" : names[id - MASK - 1];
  const token = (text, kind = "") => make("span", { class: `token mono ${kind}` }, text);
  const cells = read.map((id, place) => token(name(id), hidden.includes(place) ? "hidden" : ""));
  const line = make("p", { class: "line" }, token("[CLS]"), ...cells.slice(0, segments[0]), token("[SEP]"),
    ...cells.slice(segments[0]), token("[SEP]"));
  const kind = (place) => read[place] === MASK ? "[MASK]" : read[place] === ids[place] ? "kept" : "exchanged";
  const guesses = hidden.map((place) => `${name(ids[place])} (${kind(place)})`).join(", ");
  return [make("p", { class: "order" }, `Epoch ${epoch}: `, make("b", {}, label ? "swapped, label 1" : "in order, label 0")),
    line, make("p", { class: "guesses" }, `To be guessed, ${hidden.length} of ${read.length} tokens: ${guesses || "none"}.`)];
}

if (typeof module !== "undefined") module.exports = { instance, pieces }; // for node
